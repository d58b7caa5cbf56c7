"""Pictures: the numbers behind them, what is drawn, and that every one can be drawn anywhere."""

import re
from itertools import combinations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from displays import FACTORIES, path
from matplotlib.text import Annotation, Text
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.decomposition import NMF
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap as SklearnIsomap
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenlens import MDS, PCA, VectorQuantizer, correlation, datasets, plot
from eigenlens.measure import diagnostics, normalised_stress, outlier_map, shepard_correlation
from eigenlens.plot import (
    BiplotDisplay,
    CorrelationDisplay,
    EllipseDisplay,
    HistogramsDisplay,
    LoadingsDisplay,
    OutlierMapDisplay,
    PlaneDisplay,
    ScoresDisplay,
    ScreeDisplay,
    ShepardDisplay,
    SparseLoadingsDisplay,
    SparsePathDisplay,
)
from eigenlens.plot.display import label
from eigenlens.plot.inputs import last_step, names_of
from eigenlens.plot.labels import name_beside

PUBLIC = sorted(set(plot.__all__) - {"Display", "Panels"})


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def cancer():
    """Return the table as a frame, its classes, and a pipeline of scaling and PCA."""
    table = datasets.breast_cancer()
    X = pd.DataFrame(table.X, columns=table.names)
    y = pd.Series(np.array(table.target_names)[table.target], name="diagnosis")
    return X, y, make_pipeline(StandardScaler(), PCA(4)).fit(X)


def boxes(texts):
    """Return the places of all words that are drawn, as [x0, y0, x1, y1]."""
    shown = [text for text in texts if text.get_visible() and text.get_text().strip()]
    return np.array([Text.get_window_extent(text).extents for text in shown])


def overlapping(texts):
    """Return how many pairs of words cover each other, by more than a pixel of their margins."""
    return sum(
        bool((a[:2] + 1 < b[2:]).all() and (b[:2] + 1 < a[2:]).all())
        for a, b in combinations(boxes(texts), 2)
    )


def words(display):
    return [text.get_text() for text in display.figure_.findobj(Text) if text.get_text()]


def leaders(display):
    """Return the annotations that have words."""
    return [text for text in display.figure_.findobj(Annotation) if text.get_text()]


# ------------------------------------------------------------------------------------- all of them


def test_every_display_has_a_factory():
    assert sorted(FACTORIES) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_drawn_with_hostile_names_and_again_on_given_axes(name):
    display = FACTORIES[name](None)
    assert type(display).__name__ == name
    for text in words(display):
        assert not re.search(r"(?<!\\)\$", text.replace(r"$\mathdefault", "")) or "10^" in text
        assert "\n" not in text.strip() or "component" in text
        assert len(text) < 80
    figure = plt.figure(figsize=(14, 5))
    ax = figure.add_subplot(1, 2, 2, projection=display.projection)
    before = display.figure_
    assert display.plot(ax) is display
    assert display.figure_ is figure is not before
    drawn = np.ravel(display.ax_)
    assert ax in drawn or all(panel.figure is figure for panel in drawn)
    figure.draw_without_rendering()  # mathematics that is none would raise


def test_labels_are_never_mathematics():
    assert label("$x^2$") == r"\$x^2\$"
    assert label("_hidden").startswith(" ")
    assert len(label("x" * 100)) == 24


def test_axes_of_the_wrong_kind():
    X = np.eye(4)[:, :3]
    model = PCA(2).fit(X)
    with pytest.raises(ValueError, match=r"three dimensions, and ax has two.*projection='3d'"):
        PlaneDisplay.from_estimator(model, X, ax=plt.subplot())
    with pytest.raises(ValueError, match="two dimensions, and ax has three"):
        ScoresDisplay.from_estimator(model, X, ax=plt.subplot(projection="3d"))
    with pytest.raises(ValueError, match=r"ax has 3 axes.*1 x 2 panels.*subplots\(1, 2\)"):
        LoadingsDisplay.from_estimator(model, ax=plt.subplots(3)[1])


# ------------------------------------------------------------------------------------- inputs


def test_the_last_step_and_its_table(cancer):
    X, _, pipeline = cancer
    model, before = last_step(pipeline, X)
    assert model is pipeline[-1]
    assert_allclose(before, pipeline[0].transform(X))
    alone, same = last_step(model, before)
    assert alone is model
    assert same is before


def test_names_of_columns(cancer):
    X, _, pipeline = cancer
    assert names_of(pipeline, None, None, 30) == list(X)
    bare = make_pipeline(StandardScaler(), PCA(2)).fit(X.to_numpy())
    assert names_of(bare, X, None, 30) == list(X)
    assert names_of(bare, X.to_numpy(), None, 30)[:2] == ["x0", "x1"]
    assert names_of(bare, X, ["a"] * 29 + [""], 30)[-3:] == ["a.27", "a.28", "x29"]
    frame = pl.DataFrame(X.to_numpy(), schema=list(X))
    assert names_of(bare, frame, None, 30) == list(X)


def test_mistakes_are_told_with_a_remedy(cancer):
    X, y, pipeline = cancer
    model, Z = last_step(pipeline, X)
    words = pd.DataFrame({"a": [1, 2], "town": ["x", "y"]})
    quantizer = VectorQuantizer(2, random_state=0).fit(Z[:20])
    isomap = SklearnIsomap(n_neighbors=8).fit(Z[:40])
    mistakes = [
        (lambda: ScoresDisplay.from_estimator(PCA(2), X), NotFittedError, "not fitted"),
        (lambda: ScoresDisplay.from_estimator(model, Z[:, :3]), ValueError, "3 columns.*to 30"),
        (
            lambda: ScoresDisplay.from_estimator(model, Z, components=(0, 7)),
            ValueError,
            "has 4: 0 to 3.*with more",
        ),
        (lambda: ScoresDisplay.from_estimator(model, Z, components=(0,)), ValueError, "or three"),
        (lambda: ScoresDisplay.from_estimator(model, Z, y[:3]), ValueError, "one value for each"),
        (lambda: LoadingsDisplay.from_estimator(isomap), ValueError, "no components_.*PCA"),
        (lambda: LoadingsDisplay.from_estimator(model, kind="pie"), ValueError, "'heatmap'"),
        (lambda: LoadingsDisplay.from_estimator(model, names="ab"), ValueError, "2 names for 30"),
        (lambda: ScreeDisplay.from_estimator(quantizer), ValueError, "no variances.*PCA"),
        (lambda: OutlierMapDisplay.from_estimator(isomap, Z[:40]), TypeError, "eigenlens.PCA"),
        (lambda: OutlierMapDisplay.from_estimator(model, Z, kind="x"), ValueError, "'classical'"),
        (lambda: PlaneDisplay.from_estimator(model, Z), ValueError, "to three columns"),
        (lambda: EllipseDisplay.from_data(X), ValueError, "30 columns.*Choose two"),
        (lambda: EllipseDisplay.from_data(X.iloc[:, :2], level=95), ValueError, "0.95"),
        (lambda: CorrelationDisplay.from_data(words), ValueError, "Column town of X.*Leave"),
        (lambda: CorrelationDisplay.from_data(X, order="x"), ValueError, "'clustered'"),
        (lambda: HistogramsDisplay.from_data(X, X["mean area"]), ValueError, "qcut"),
        (lambda: BiplotDisplay.from_estimator(model, Z, components=(0,)), ValueError, "be two"),
        (lambda: SparsePathDisplay.from_path(path(), dense=isomap), ValueError, r"PCA\(1\)"),
        (
            lambda: SparseLoadingsDisplay.from_estimators(model, PCA(2).fit(Z[:, :3])),
            ValueError,
            "same table",
        ),
    ]
    for call, error, match in mistakes:
        with pytest.raises(error, match=match):
            call()


# ------------------------------------------------------------------------------------- scree


def test_scree_has_all_variances_and_the_rules():
    X = datasets.planted_subspace(200, 12, rank=3, noise=0.1, random_state=0).X
    model = PCA("consensus", random_state=0).fit(X)
    display = ScreeDisplay.from_estimator(model)
    assert len(display.shares) == 12
    assert_allclose(display.shares.sum(), 1)
    assert display.rules == {one.rule: one.k for one in model.choice_.choices}
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert_allclose(heights, 100 * display.shares)
    words = " ".join(text.get_text() for text in display.figure_.findobj(plt.Annotation))
    assert all(rule in words for rule in display.rules)


# ------------------------------------------------------------------------------------- loadings


def test_bars_are_the_strongest_weights(cancer):
    X, _, pipeline = cancer
    display = LoadingsDisplay.from_estimator(pipeline, components=(0, 2), most=12)
    assert display.ax_.shape == (1, 2)
    for panel, component in zip(display.ax_.flat, pipeline[-1].components_[[0, 2]], strict=True):
        order = np.argsort(-np.abs(component))[:12]
        assert_allclose([bar.get_width() for bar in panel.patches], component[order])
        assert [tick.get_text() for tick in panel.get_yticklabels()] == list(X.columns[order])
    display.figure_.draw_without_rendering()
    names = [tick for panel in display.ax_.flat for tick in panel.get_yticklabels()]
    assert overlapping(names) == 0
    assert "12 of 30 columns" in display.ax_[0, 0].get_xlabel()


def test_bars_of_zeros_are_left_out():
    model = PCA(2).fit(np.diag([3.0, 2.0, 1.0, 0.0]))
    model.components_ = np.array([[1.0, 0, 0, 0], [0, 0, 0, 0]])
    display = LoadingsDisplay.from_estimator(model)
    assert [len(panel.patches) for panel in display.ax_.flat] == [1, 0]
    assert display.ax_.flat[1].get_xlabel() == "no column has a weight"


def test_heatmap_has_names_and_numbers_at_30_columns(cancer):
    X, _, pipeline = cancer
    display = LoadingsDisplay.from_estimator(pipeline, kind="heatmap")
    ax = display.ax_[0, 0]
    weights = pipeline[-1].components_.T
    image = ax.images[0]
    assert_allclose(image.get_array(), weights)
    assert image.norm.vmin == -image.norm.vmax == -np.abs(weights).max()
    assert_allclose(image.cmap(image.norm(0.0))[:3], 1, atol=0.05)  # white
    assert len(ax.texts) == weights.size
    assert_allclose([float(text.get_text()) for text in ax.texts], weights.ravel(), atol=0.0051)
    display.figure_.draw_without_rendering()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(X)
    for texts in (ax.get_yticklabels(), ax.get_xticklabels(), ax.texts):
        assert overlapping(texts) == 0


def test_heatmap_without_room_has_no_numbers(cancer):
    small = plt.figure(figsize=(3, 3), layout="constrained").subplots()
    display = LoadingsDisplay.from_estimator(cancer[2], kind="heatmap", most=20, ax=small)
    assert display.ax_[0, 0] is small
    assert small.images[0].get_array().shape == (20, 4)
    assert not small.texts


# ------------------------------------------------------------------------------------- biplot


@pytest.fixture(scope="module")
def biplot(cancer):
    X, y, pipeline = cancer
    display = BiplotDisplay.from_estimator(pipeline, X, y)
    display.figure_.draw_without_rendering()
    yield display
    plt.close(display.figure_)


def test_biplot_is_scores_and_correlations(cancer, biplot):
    X, y, pipeline = cancer
    model, Z = last_step(pipeline, X)
    scores = model.transform(Z)[:, :2]
    assert_allclose(biplot.scores, scores)
    loadings = diagnostics(model, Z).columns.loadings[:, :2]
    order = [list(X).index(name) for name in biplot.names]
    assert sorted(order) == list(range(30))
    assert_allclose(biplot.arrows, loadings[order])
    assert (np.diff(np.hypot(*biplot.arrows.T)) <= 1e-12).all()
    points = np.concatenate([part.get_offsets() for part in biplot.ax_.collections])
    assert_allclose(
        points, np.concatenate([scores[y == level] for level in ("benign", "malignant")])
    )
    above, right = biplot.ax_.child_axes
    low, high = biplot.ax_.get_xlim()
    assert_allclose(above.get_xlim(), [low / biplot.factor, high / biplot.factor], atol=1e-9)
    assert above.get_xlabel() == "correlation with component 1"
    assert right.get_ylabel() == "correlation with component 2"


def test_arrows_end_at_correlations_inside_the_axes(biplot):
    arrows = [text for text in biplot.ax_.texts if not text.get_text()]
    tips = biplot.factor * biplot.arrows
    assert_allclose([arrow.xy for arrow in arrows], tips, atol=1e-9)
    assert_allclose([arrow.get_position() for arrow in arrows], np.zeros((30, 2)), atol=1e-9)
    low, high = np.transpose([biplot.ax_.get_xlim(), biplot.ax_.get_ylim()])
    assert ((low < tips) & (tips < high)).all()
    assert np.abs(tips).max() > 0.5 * np.abs(biplot.scores).max()


def test_no_names_overlap_at_30_variables(biplot):
    names = leaders(biplot)
    assert sorted(text.get_text() for text in names) == sorted(biplot.names)
    assert overlapping(names) == 0
    frame = biplot.ax_.get_window_extent()
    places = boxes(names)
    assert (places[:, :2] >= frame.min).all()
    assert (places[:, 2:] <= frame.max + 1).all()
    legend = biplot.ax_.get_legend().get_window_extent().extents
    scale = biplot.ax_.child_axes[1].get_tightbbox().extents
    assert legend[0] > scale[2]


def test_lines_to_names_do_not_cross(biplot):
    pixels = biplot.ax_.transAxes.transform, biplot.ax_.transData.transform
    lines = [(pixels[0](text.xyann), pixels[1](text.xy)) for text in leaders(biplot)]

    def side(a, b, c):
        return np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    assert not any(
        side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
        for (a, b), (c, d) in combinations(lines, 2)
    )


def test_biplot_on_small_axes_names_the_longest_arrows(cancer):
    X, _, pipeline = cancer
    ax = plt.figure(figsize=(5, 2.4), layout="constrained").subplots()
    display = BiplotDisplay.from_estimator(pipeline, X, ax=ax)
    display.figure_.draw_without_rendering()
    names = leaders(display)
    assert 4 < len(names) < 30
    assert overlapping(names) == 0
    assert len(display.arrows) == 30


def test_arrows_that_leave_the_cloud_stay_on_the_axes():
    x = np.random.default_rng(0).exponential(size=(50, 1))
    X = np.hstack([x, -x, x**2, np.random.default_rng(1).random((50, 1))])
    display = BiplotDisplay.from_estimator(PCA(2).fit(X), X)
    tips = display.scores.mean(axis=0) + display.factor * display.arrows
    assert tips[:, 0].min() < display.scores[:, 0].min() - 1
    low, high = np.transpose([display.ax_.get_xlim(), display.ax_.get_ylim()])
    assert ((low < tips) & (tips < high)).all()


def test_biplot_leaves_out_constant_columns_and_dead_components():
    X = np.column_stack([np.arange(8.0), -np.arange(8.0), np.ones(8)])
    display = BiplotDisplay.from_estimator(PCA(2).fit(X), X, components=(0, 1))
    assert sorted(display.names) == ["x0", "x1"]
    assert_allclose(np.abs(display.arrows), [[1, 0], [1, 0]], atol=1e-12)


# ------------------------------------------------------------------------------------- scores


def test_scores_of_chosen_components_with_their_shares(cancer):
    X, y, pipeline = cancer
    display = ScoresDisplay.from_estimator(pipeline, X, y, components=(2, 0))
    assert_allclose(display.scores, pipeline.transform(X)[:, [2, 0]])
    shares = pipeline[-1].explained_variance_ratio_
    assert display.ax_.get_xlabel() == f"component 3 ({100 * shares[2]:.1f} %)"
    legend = display.ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["benign", "malignant"]
    assert legend.get_title().get_text() == "diagnosis"


def test_scores_in_space(cancer):
    X, y, pipeline = cancer
    display = ScoresDisplay.from_estimator(pipeline, X, y, components=(0, 1, 2))
    assert display.ax_.name == "3d"
    assert display.ax_.get_zlabel() == display.axes[2]
    display.figure_.draw_without_rendering()
    drawn = display.ax_.get_legend().get_window_extent()
    assert drawn.x1 <= display.figure_.bbox.x1


def test_a_legend_of_ten_classes_is_beside_the_points(cancer):
    X, _, pipeline = cancer
    y = np.array(list("abcdefghij"))[np.arange(len(X)) % 10]
    display = ScoresDisplay.from_estimator(pipeline, X, y)
    display.figure_.draw_without_rendering()
    legend = display.ax_.get_legend()
    assert len(legend.get_texts()) == 10
    assert overlapping(legend.get_texts()) == 0
    drawn = legend.get_window_extent()
    assert drawn.x0 >= display.ax_.get_window_extent().x1
    assert drawn.x1 <= display.figure_.bbox.x1
    looks = {
        (part.get_paths()[0].vertices.tobytes(), part.get_facecolor().tobytes())
        for part in display.ax_.collections
    }
    assert len(looks) == 10


def test_numbers_have_a_colour_bar(cancer):
    X, _, pipeline = cancer
    y = X["mean area"].where(X.index > 9)
    display = ScoresDisplay.from_estimator(pipeline, X, y)
    unknown, known = display.ax_.collections
    assert len(unknown.get_offsets()) == 10
    assert_allclose(known.get_array(), y[10:])
    assert known.colorbar.ax.get_ylabel() == "mean area"


def test_models_that_place_only_their_own_rows():
    class Places(BaseEstimator):
        def fit(self, X):
            self.embedding_ = X[:, :2] + 1
            return self

    X = np.random.default_rng(0).standard_normal((20, 4))
    display = ScoresDisplay.from_estimator(Places().fit(X), X)
    assert_allclose(display.scores, X[:, :2] + 1)
    assert display.axes == ("dimension 1", "dimension 2")
    assert display.ax_.get_aspect() == 1
    with pytest.raises(ValueError, match=r"20 rows of its fit, and X has 5.*table of the fit"):
        ScoresDisplay.from_estimator(Places().fit(X), X[:5])


# ------------------------------------------------------------------------------------- outliers


@pytest.mark.parametrize("kind", ["robust", "classical"])
def test_outlier_map_is_that_of_measure(cancer, kind):
    X, _, pipeline = cancer
    display = OutlierMapDisplay.from_estimator(pipeline, X, kind=kind, level=0.9, most=15)
    model, Z = last_step(pipeline, X)
    if kind == "robust":
        found = outlier_map(model, Z, level=0.9)
        distances = np.transpose([found.score_distance, found.orthogonal_distance])
        cutoffs = [found.score_cutoff, found.orthogonal_cutoff]
        assert_array_equal(display.flagged, found.flagged)
    else:
        rows = diagnostics(model, Z, level=0.9).rows
        distances, cutoffs = np.transpose([rows.t2, rows.spe]), [rows.t2_limit, rows.spe_limit]
    assert_allclose(display.distances, distances)
    lines = [line for line in display.ax_.lines if line.get_linestyle() == "--"]
    assert_allclose([lines[0].get_xdata()[0], lines[1].get_ydata()[0]], cutoffs)
    parts = [part.get_offsets() for part in display.ax_.collections]
    out, off = (distances > cutoffs).T
    assert [len(part) for part in parts] == [
        (~out & ~off).sum(), (out & ~off).sum(), (~out & off).sum(), (out & off).sum()
    ]  # fmt: skip
    if kind == "robust":
        legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert set(legend) == {f"{kind} ({(found.kind == kind).sum()})" for kind in set(found.kind)}
    display.figure_.draw_without_rendering()
    names = leaders(display)
    assert [text.get_text() for text in names] == [str(i) for i in display.flagged[:15]]
    assert overlapping(names) == 0


def test_the_index_names_the_rows():
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((40, 3)))
    X.index = [f"row {i}" for i in range(40)]
    X.iloc[7] = 50.0
    display = OutlierMapDisplay.from_estimator(
        PCA(1).fit(X.drop("row 7").set_axis(list("abc"), axis=1)), X.set_axis(list("abc"), axis=1)
    )
    assert leaders(display)[0].get_text() == "row 7"
    assert display.ax_.get_xscale() == "symlog"  # the others can still be told apart


def test_names_beside_crowded_points_keep_apart():
    ax = plt.figure(figsize=(4, 3), layout="constrained").subplots()
    points = np.random.default_rng(0).random((12, 2)) * 0.1 + 0.45
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.scatter(*points.T)
    written = name_beside(ax, points, [f"name {i}" for i in range(12)])
    assert len(written) == 12
    ax.figure.draw_without_rendering()
    assert overlapping(written) == 0
    places = ax.transData.transform(points)
    for x0, y0, x1, y1 in boxes(written):
        assert not ((places > [x0, y0]) & (places < [x1, y1])).all(axis=1).any()


# ------------------------------------------------------------------------------------- tables


def test_correlations_of_30_columns_can_be_read(cancer):
    X, _, _ = cancer
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    display = CorrelationDisplay.from_data(holes)
    assert_allclose(display.correlation, correlation(holes))
    image = display.ax_.images[0]
    assert_allclose(image.get_array(), display.correlation)
    assert (image.norm.vmin, image.norm.vmax) == (-1, 1)
    display.figure_.draw_without_rendering()
    for names in (display.ax_.get_xticklabels(), display.ax_.get_yticklabels()):
        assert [tick.get_text() for tick in names] == list(X)
        assert overlapping(names) == 0
    assert not display.ax_.texts


def test_correlations_of_few_columns_have_numbers(cancer):
    X, _, _ = cancer
    few = X.iloc[:, :11].assign(same=1.0)
    display = CorrelationDisplay.from_data(few)
    assert np.isnan(display.correlation[-1]).all()
    assert len(display.ax_.texts) == 121  # none for the constant column
    assert display.ax_.texts[1].get_text() == f"{few.corr().iloc[0, 1]:.2f}".replace("0.", ".")


def test_clustered_columns_that_go_together_are_neighbours():
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((300, 3))
    group = np.arange(12) % 3
    X = hidden[:, group] * np.where(np.arange(12) % 2, 1, -1) + 0.3 * rng.standard_normal((300, 12))
    display = CorrelationDisplay.from_data(X, order="clustered")
    assert sorted(display.order) == list(range(12))
    assert np.count_nonzero(np.diff(group[display.order])) == 2
    assert display.names == [f"x{j}" for j in display.order]
    assert_allclose(display.correlation, np.corrcoef(X[:, display.order].T), atol=1e-12)


def test_histograms_are_densities_of_each_class(cancer):
    X, y, _ = cancer
    display = HistogramsDisplay.from_data(X, y, bins=15)
    assert display.ax_.shape == (4, 8)
    values = X["worst area"].to_numpy()
    j = display.names.index("worst area")
    edges = np.histogram_bin_edges(values, 15)
    assert_allclose(display.edges[j], edges)
    for i, level in enumerate(("benign", "malignant")):
        expected = np.histogram(values[y == level], edges, density=True)[0]
        assert_allclose(display.heights[j][i], expected)
    panel = display.ax_.flat[j]
    filled = [patch.get_fill() for patch in panel.patches]
    assert filled == [True, False, True, False]
    assert_allclose(panel.patches[3].get_data().values, display.heights[j][1])
    display.figure_.draw_without_rendering()
    assert overlapping([panel.title for panel in display.ax_.flat]) == 0
    legend = display.ax_.flat[30].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["benign", "malignant"]


def test_histograms_show_the_columns_that_tell_classes_apart():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 9))
    y = np.arange(80) % 2
    X[:, [2, 7]] += 5 * y[:, None]
    X[3, 2] = np.nan
    assert HistogramsDisplay.from_data(X, y, most=2).names == ["x2", "x7"]
    assert HistogramsDisplay.from_data(X, most=2).names == ["x0", "x1"]


def test_whole_numbers_have_bins_of_their_own():
    display = HistogramsDisplay.from_data(np.array([[0], [1], [1], [3]]), bins=20)
    assert_allclose(display.edges[0], [-0.5, 0.5, 1.5, 2.5, 3.5])
    assert_allclose(display.heights[0][0], [0.25, 0.5, 0, 0.25])


def test_ellipse_has_the_axes_of_the_covariance():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2)) @ [[2.0, 1.0], [0.0, 0.5]] + [5, 7]
    X[3, 0] = np.nan
    display = EllipseDisplay.from_data(X, level=0.9)
    points = np.delete(X, 3, axis=0)
    S = np.cov(points.T)
    assert_allclose(display.axes.T * display.variances @ display.axes, S)
    assert_allclose(display.mean, points.mean(axis=0))
    inner, outer = display.ax_.patches
    at = outer.get_patch_transform().transform_path(outer.get_path()).vertices - display.mean
    assert_allclose(
        (at @ np.linalg.inv(S) * at).sum(axis=1).min(), stats.chi2(2).ppf(0.9), rtol=1e-3
    )
    assert_allclose([inner.width, inner.height], 2 * np.sqrt(display.variances))
    arrows = [text for text in display.ax_.texts if not text.get_text()]
    tips = display.mean + np.sqrt(display.variances)[:, None] * display.axes
    assert_allclose([arrow.xy for arrow in arrows], tips)
    display.figure_.draw_without_rendering()
    assert display.ax_.get_aspect() == 1


# ------------------------------------------------------------------------------------- space


def test_plane_is_that_of_two_components():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 3)) + [1, 2, 3]
    model = PCA(2).fit(X)
    display = PlaneDisplay.from_estimator(model, X)
    smallest = np.linalg.svd(X - X.mean(axis=0))[2][2]
    assert_allclose(abs(display.normal @ smallest), 1)
    assert_allclose(display.feet, model.inverse_transform(model.transform(X)))
    corners = display.corners()
    assert_allclose((corners - X.mean(axis=0)) @ smallest, 0, atol=1e-12)
    heights = np.linalg.norm(display.points - display.feet, axis=1)
    assert_allclose(heights, np.abs((X - X.mean(axis=0)) @ smallest), atol=1e-12)
    lines = display.ax_.collections[0]
    assert len(lines._segments3d) == 50


def test_plane_of_components_that_are_not_orthonormal():
    X = np.random.default_rng(0).standard_normal((30, 3))
    model = PCA(2).fit(X)
    model.components_ = np.array([[3.0, 4.0, 0], [1.0, 1.0, 0]])
    display = PlaneDisplay.from_estimator(model, X)
    assert_allclose(display.normal, [0, 0, -1], atol=1e-12)
    assert_allclose(display.axes[0], [0.6, 0.8, 0])


# ------------------------------------------------------------------------------------- sparse


def test_sparse_path_is_variance_against_nonzeros():
    display = SparsePathDisplay.from_path(path(), dense=PCA(2).fit(np.diag([4.0, 3, 2, 1])))
    assert_array_equal(display.n_nonzero, [1, 2])
    line = display.ax_.lines[0]
    assert_allclose(line.get_xydata(), [[1, 40], [2, 60]])
    met, open_end = (part.get_offsets() for part in display.ax_.collections)
    assert_allclose(met, [[1, 40]])
    assert_allclose(open_end, [[2, 60]])
    share = PCA(1).fit(np.diag([4.0, 3, 2, 1])).explained_variance_ratio_[0]
    assert_allclose(display.dense, share)
    assert f"dense: {100 * share:.1f} % with 4 loadings" in words(display)
    assert SparsePathDisplay.from_path(path()).dense is None


def test_sparse_components_are_matched_to_dense_ones():
    X = np.random.default_rng(0).standard_normal((60, 6)) * [6, 5, 4, 3, 2, 1]
    dense, sparse = PCA(4).fit(X), PCA(2).fit(X)
    V = dense.components_
    sparse.components_ = np.where(np.abs(V[[2, 0]]) > 0.5, -V[[2, 0]], 0.0)
    display = SparseLoadingsDisplay.from_estimators(dense, sparse, names=list("abcdef"), most=3)
    assert display.components == (0, 2)
    assert_allclose(display.dense, V[[0, 2]])
    assert_allclose(display.sparse, -sparse.components_[[1, 0]])
    assert_array_equal(display.columns, np.sort(display.columns))
    for i, panel in enumerate(display.ax_.flat):
        wide, thin = panel.containers
        assert_allclose([bar.get_width() for bar in wide], V[2 * i, display.columns])
        assert_allclose([bar.get_width() for bar in thin], display.sparse[i, display.columns])
    names = [tick.get_text() for tick in display.ax_.flat[0].get_yticklabels()]
    assert names == ["abcdef"[j] for j in display.columns]
    with pytest.raises(ValueError, match=r"component 1 of dense has no partner.*\[0, 2\]"):
        SparseLoadingsDisplay.from_estimators(dense, sparse, components=(1,))


# ------------------------------------------------------------------------------------- distances


def test_shepard_diagram_has_the_numbers_of_measure(cancer):
    X, _, pipeline = cancer
    Z = pipeline[0].transform(X)[:120]
    display = ShepardDisplay.from_estimator(pipeline, X[:120])
    Y = pipeline[-1].transform(Z)
    assert_allclose(display.correlation, shepard_correlation(Z, Y))
    assert_allclose(display.stress, normalised_stress(Z, Y))
    assert len(display.original) == 120 * 119 // 2
    rest = display.scale * display.original - display.embedded
    assert_allclose(rest @ display.original, 0, atol=1e-6)  # least squares
    assert_allclose(np.sqrt(rest @ rest / (display.embedded @ display.embedded)), display.stress)
    cells = display.ax_.collections[0]
    assert cells.get_array().sum() == len(display.original)
    assert display.ax_.get_title(loc="left") == (
        f"rank correlation {display.correlation:.3f}, stress {display.stress:.3f}"
    )


def test_shepard_diagram_of_a_sample(cancer):
    X, _, pipeline = cancer
    first, again = (ShepardDisplay.from_estimator(pipeline, X, most=40) for _ in range(2))
    assert len(first.original) == 40 * 39 // 2
    assert_array_equal(first.original, again.original)
    assert not np.isin(
        ShepardDisplay.from_estimator(pipeline, X, most=40, random_state=1).original,
        first.original,
    ).all()


def test_shepard_diagram_of_given_distances_and_ranks():
    points = np.random.default_rng(0).standard_normal((15, 2))
    D = np.linalg.norm(points[:, None] - points, axis=2) ** 3
    model = MDS(metric="precomputed", metric_mds=False, random_state=0).fit(D)
    display = ShepardDisplay.from_estimator(model, D)
    assert_allclose(np.sort(display.original), np.sort(D[np.triu_indices(15, 1)]))
    assert_array_equal(display.disparity, model.disparity_)
    assert [line.get_label() for line in display.ax_.lines] == ["equal, up to scale", "disparity"]


def test_shepard_diagram_in_the_metric_of_the_model():
    X = np.random.default_rng(0).standard_normal((12, 3))
    model = MDS(metric="cityblock", random_state=0).fit(X)
    display = ShepardDisplay.from_estimator(model, X)
    cityblock = np.abs(X[:, None] - X).sum(axis=2)[np.triu_indices(12, 1)]
    assert_allclose(display.original, cityblock)


def test_scores_of_parts_that_only_add_up():
    X = np.random.default_rng(0).random((30, 5))
    model = NMF(2, random_state=0).fit(X)
    display = ScoresDisplay.from_estimator(model, X)
    assert display.axes == ("component 1", "component 2")
    bars = LoadingsDisplay.from_estimator(model)
    assert bars.ax_[0, 0].get_xlim()[0] == 0
