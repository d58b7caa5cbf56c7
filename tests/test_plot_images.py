"""Pictures of images, kernels and robust parts: the numbers behind them, and what is drawn."""

import re
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_circles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from eigenlens import (
    NMF,
    PCA,
    IncrementalPCA,
    KernelPCA,
    RobustPCA,
    VectorQuantizer,
    datasets,
    plot,
)
from eigenlens.measure import RecoveryRegion
from eigenlens.plot import (
    ComponentImagesDisplay,
    KernelComponentsDisplay,
    KernelLiftDisplay,
    PartsDisplay,
    PhaseDiagramDisplay,
    PreimagePathDisplay,
    ReconstructionDisplay,
    SeparationDisplay,
    TraversalDisplay,
)
from eigenlens.plot.images import arranged, is_signed, limits, montage, shape_of, show
from tools import pictures as pictures_tool
from tools.scoreboard import FIGURES

HOSTILE = ["$x^2$", "<script>alert(1)</script>"]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:300]


@pytest.fixture(scope="module")
def pca(digits):
    return PCA(6).fit(digits)


@pytest.fixture(scope="module")
def nmf(digits):
    return NMF(9, random_state=0).fit(digits)


@pytest.fixture(scope="module")
def circles():
    return make_circles(120, factor=0.4, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def curved(circles):
    model = KernelPCA(4, kernel="rbf", gamma=2.0, preimage="fixed_point", random_state=0)
    return model.fit(circles[0])


@pytest.fixture(scope="module")
def pursuit():
    problem = datasets.planted_pursuit(40, 36, rank=2, density=0.05, random_state=0)
    return problem, RobustPCA(random_state=0).fit(problem.X)


def pictures(display):
    """Give the images that were drawn, panel by panel."""
    return [panel.images[0].get_array() for panel in np.ravel(display.ax_) if panel.images]


def drawn(display):
    """Draw to the last letter, and give the titles."""
    display.figure_.canvas.draw()
    titles = [panel.get_title(loc) for panel in np.ravel(display.ax_) for loc in ("left", "center")]
    return [title for title in titles if title]


# ---------------------------------------------------------------------------------------- images


def test_shape_is_given_or_a_square():
    assert shape_of(64) == (8, 8)
    assert shape_of(30, (5, 6)) == (5, 6)
    assert shape_of(27, [3, 3, 3]) == (3, 3, 3)


@pytest.mark.parametrize(
    ("n", "shape"),
    [(30, None), (64, (8, 9)), (64, (64,)), (64, (4, 4, 4)), (64, (-8, -8)), (0, None)],
)
def test_wrong_shape_has_a_remedy(n, shape):
    with pytest.raises(ValueError, match=f"ows of {n} numbers.*product is {n}"):
        shape_of(n, shape)


def test_limits():
    assert limits(np.array([1.0, 3.0, np.nan])) == (1, 3)
    assert limits(np.array([1.0, -3.0]), signed=True) == (-3, 3)
    assert limits(np.full(3, 2.0)) == (1.5, 2.5)
    assert limits(np.full(3, np.nan)) == (0, 1)
    assert limits(np.zeros(0), signed=True) == (-1, 1)
    assert not is_signed(np.array([5.0, -1e-15]))
    assert is_signed(np.array([5.0, -1.0]))


def test_arranged_holds_all():
    for n in range(1, 40):
        rows, columns = arranged(n)
        assert rows * columns >= n > (rows - 1) * columns
        assert columns >= rows


def test_montage_keeps_every_pixel():
    images = np.arange(5 * 6, dtype=float).reshape(5, 2, 3) + 1
    board = montage(images)
    assert board.shape == (2 * 3 + 1, 3 * 4 + 1)
    assert_array_equal(board[1:3, 5:8], images[1])
    assert_array_equal(board[4:6, 1:4], images[3])
    assert np.nansum(board) == images.sum()


def test_colours_are_brought_between_0_and_1():
    _, ax = plt.subplots()
    image = np.random.default_rng(0).normal(size=(4, 5, 3))
    image[0, 0, 0] = np.nan
    found = show(ax, image, signed=True).get_array()
    assert_allclose(found[1:], 0.5 + image[1:] / (2 * np.nanmax(np.abs(image))))
    assert len(ax.get_xticks()) == 0


# ------------------------------------------------------------------------------------ components


def test_components_are_drawn_about_zero(pca):
    display = ComponentImagesDisplay.from_estimator(pca, most=4)
    assert_allclose(display.components.reshape(4, -1), pca.components_[:4])
    assert_allclose(display.mean.ravel(), pca.mean_)
    found = pictures(display)
    assert_allclose(found[0].ravel(), pca.mean_)
    assert_allclose(found[3].ravel(), pca.components_[2])
    low, high = display.ax_.flat[3].images[0].get_clim()
    assert_allclose([-low, high], np.abs(pca.components_[2]).max())
    share = 100 * pca.explained_variance_ratio_[2]
    assert drawn(display)[3] == f"component 3 ({share:.1f} %)"


def test_parts_and_prototypes_are_grey(nmf, digits):
    for model in (nmf, VectorQuantizer(5, random_state=0).fit(digits)):
        display = ComponentImagesDisplay.from_estimator(model)
        assert display.mean is None
        image = display.ax_.flat[1].images[0]
        assert image.get_cmap().name == "gray"
        assert image.get_clim() == limits(display.components[1])


def test_a_mean_that_was_taken_off_is_not_shown(digits):
    model = make_pipeline(StandardScaler(), IncrementalPCA(2)).fit(digits)
    assert ComponentImagesDisplay.from_estimator(model).mean is None


def test_components_need_an_image_and_a_linear_model(pca, curved):
    with pytest.raises(ValueError, match=r"image_shape=\(8, 9\) does not fit rows of 64"):
        ComponentImagesDisplay.from_estimator(pca, image_shape=(8, 9))
    with pytest.raises(ValueError, match="Rows of 30 numbers"):
        ComponentImagesDisplay.from_estimator(PCA(2).fit(datasets.breast_cancer().X))
    with pytest.raises(ValueError, match="KernelPCA has no components_"):
        ComponentImagesDisplay.from_estimator(curved)


def test_colour_images():
    X = np.random.default_rng(0).uniform(size=(20, 4 * 5 * 3))
    display = ComponentImagesDisplay.from_estimator(PCA(3).fit(X), image_shape=(4, 5, 3))
    assert display.components.shape == (3, 4, 5, 3)
    drawn(display)


# -------------------------------------------------------------------------------- reconstruction


def test_reconstruction_is_that_of_the_model(pca, digits):
    display = ReconstructionDisplay.from_estimator(pca, digits, rows=(3, 7))
    expected = pca.inverse_transform(pca.transform(digits[[3, 7]]))
    assert_allclose(display.after, expected)
    found = pictures(display)
    assert_allclose(found[1].ravel(), digits[7])
    assert_allclose(found[2].ravel(), expected[0])
    assert_allclose(found[5].ravel(), digits[7] - expected[1])
    assert drawn(display)[0] == "row 3"


def test_reconstruction_in_the_units_of_the_table(digits):
    model = make_pipeline(MinMaxScaler((-1, 1)), PCA(64, random_state=0)).fit(digits)
    display = ReconstructionDisplay.from_estimator(model, digits, rows=(0,))
    assert_allclose(display.after, digits[:1], atol=1e-10)


def test_denoised_with_errors_before_and_after(digits):
    noisy = digits + 4 * np.random.default_rng(0).standard_normal(digits.shape)
    model = KernelPCA(20, kernel="rbf", gamma=5e-4, preimage="auto", random_state=0)
    pipe = make_pipeline(StandardScaler(with_std=False), model).fit(digits)
    display = ReconstructionDisplay.from_estimator(pipe, noisy, truth=digits, rows=(0, 1))
    shift = pipe[0].mean_
    assert_allclose(display.after, pipe[-1].denoise(noisy[:2] - shift) + shift)
    off, left = (
        np.sqrt(np.mean((part[0] - digits[0]) ** 2)) for part in (display.before, display.after)
    )
    titles = drawn(display)
    assert left < off
    assert titles[0] == f"row 0: off {off:.2g}"
    assert titles[2] == f"off {left:.2g}"


def test_rows_of_a_table_are_lines_with_names():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 9)) * 10.0 ** np.arange(9))
    X.columns = [*HOSTILE, "x" * 60, *map(str, range(6))]
    model = make_pipeline(StandardScaler(), PCA(2)).fit(X)
    display = ReconstructionDisplay.from_estimator(model, X, rows=(4,))
    scaled = (X.to_numpy() - X.mean().to_numpy()) / X.std(ddof=0).to_numpy()
    assert display.image_shape is None
    assert_allclose(display.before[0], scaled[4])
    assert_allclose(display.ax_[0, 0].lines[0].get_ydata(), scaled[4])
    assert_allclose(display.after[0], model[-1].inverse_transform(model.transform(X))[4])
    drawn(display)
    names = [text.get_text() for text in display.ax_[0, 0].get_xticklabels()]
    assert names[0] == r"\$x^2\$"
    assert len(names[2]) == 24


def test_reconstruction_mistakes(pca, digits):
    with pytest.raises(ValueError, match=r"rows=\(0, 300\) are not all in X, which has 300"):
        ReconstructionDisplay.from_estimator(pca, digits, rows=(0, 300))
    with pytest.raises(ValueError, match=r"truth has shape \(3, 64\) and X has \(300, 64\)"):
        ReconstructionDisplay.from_estimator(pca, digits, truth=digits[:3])
    no_way_back = LinearDiscriminantAnalysis().fit(digits[:, :2], digits[:, 30] > 5)
    with pytest.raises(ValueError, match="LinearDiscriminantAnalysis has no inverse_transform"):
        ReconstructionDisplay.from_estimator(no_way_back, digits[:, :2])


# ------------------------------------------------------------------------------------ separation


def test_separation_adds_up(pursuit):
    problem, model = pursuit
    for display in (
        SeparationDisplay.from_estimator(model),
        SeparationDisplay.from_estimator(model, problem.X),
    ):
        assert_allclose(display.low_rank + display.sparse, display.table, atol=1e-6)
        assert_allclose(display.table, problem.X, atol=1e-6)
        assert_allclose(display.share, np.mean(problem.sparse != 0))
        table, low_rank, sparse = display.ax_[0]
        assert table.images[0].get_clim() == low_rank.images[0].get_clim()
        assert sum(sparse.images[0].get_clim()) == 0
        assert drawn(display)[1:] == [
            "low rank: rank 2",
            f"sparse: {display.share:.1%} of the cells".replace("%", " %"),
        ]


def test_one_row_as_an_image(pursuit):
    problem, model = pursuit
    X = pd.DataFrame(problem.X).add_prefix("pixel ")
    named = make_pipeline(StandardScaler(with_mean=False), RobustPCA(random_state=0)).fit(X)
    for display in (
        SeparationDisplay.from_estimator(model, row=5, image_shape=(4, 9)),
        SeparationDisplay.from_estimator(named, X, row=5),
    ):
        assert_allclose(display.low_rank + display.sparse, display.table, atol=1e-5)
        assert display.table.size == 36
    assert display.table.shape == (6, 6)
    assert_allclose(display.table.ravel(), named[:-1].transform(X)[5])


def test_separation_with_holes_and_mistakes(pursuit, pca):
    problem, model = pursuit
    X = problem.X.copy()
    X[2, 3] = np.nan
    display = SeparationDisplay.from_estimator(model, X)
    assert np.isnan(display.table[2, 3])
    drawn(display)
    with pytest.raises(ValueError, match="row=40 is not in the table, which has 40 rows: 0 to 39"):
        SeparationDisplay.from_estimator(model, row=40)
    with pytest.raises(ValueError, match="PCA has no low-rank"):
        SeparationDisplay.from_estimator(pca)


# --------------------------------------------------------------------------------------- kernels


def test_contours_are_scores(curved, circles):
    X, y = circles
    display = KernelComponentsDisplay.from_estimator(curved, X, y, resolution=7)
    for i, j in ((0, 0), (2, 5), (6, 1)):
        here = [[display.across[j], display.up[i]]]
        assert_allclose(display.scores[:, i, j], curved.transform(here)[0, :3])
    assert display.ax_.shape == (1, 3)
    assert display.across[0] < X[:, 0].min() < X[:, 0].max() < display.across[-1]
    points = display.ax_[0, 0].collections[-2:]
    assert sum(len(cloud.get_offsets()) for cloud in points) == len(X)
    assert drawn(display)[0].startswith("component 1 (")


def test_contours_of_frames_go_by_names(circles):
    X = pd.DataFrame(circles[0], columns=HOSTILE)
    model = make_pipeline(StandardScaler(), KernelPCA(2, kernel="rbf")).fit(X)
    display = KernelComponentsDisplay.from_estimator(model, X, circles[1] * 1.5, resolution=4)
    assert len(display.scores) == 2
    assert display.ax_[0, 0].get_xlabel() == r"\$x^2\$"
    drawn(display)


def test_kernels_need_a_plane(pca, digits, curved, circles):
    with pytest.raises(ValueError, match="X has 64 columns, and a plane has two"):
        KernelComponentsDisplay.from_estimator(pca, digits)
    with pytest.raises(ValueError, match="X has 64 columns"):
        KernelLiftDisplay.from_data(digits)
    with pytest.raises(ValueError, match="PCA has no pre-image"):
        PreimagePathDisplay.from_estimator(pca, digits)
    with pytest.raises(ValueError, match=r"components=\(7,\) are none of the 4"):
        KernelComponentsDisplay.from_estimator(curved, circles[0], components=(7,))


def test_preimage_distances_are_those_of_the_feature_space(circles):
    """Closed forms: a linear kernel has its feature space in the plane; the whole space has phi."""
    X = circles[0] + 3
    model = KernelPCA(1, kernel="linear").fit(X)
    flat = PCA(1).fit(X)
    projected = flat.inverse_transform(flat.transform(X[:1]))
    assert_allclose(model.preimage_distances(X[0], X), ((X - projected) ** 2).sum(axis=1))
    model = KernelPCA(kernel="rbf", gamma=0.3).fit(X)  # all components: the projection is the image
    apart = ((X - X[0]) ** 2).sum(axis=1)
    assert_allclose(model.preimage_distances(X[0], X), 2 - 2 * np.exp(-0.3 * apart), atol=1e-6)


def test_one_row_has_no_names_and_the_right_length(circles):
    model = KernelPCA(1, kernel="rbf").fit(pd.DataFrame(circles[0], columns=HOSTILE))
    assert len(model.preimage_path(circles[0][0], n_steps=2)) == 3
    with pytest.raises(
        ValueError, match="A row of 3 numbers was given, and KernelPCA was fitted to 2"
    ):
        model.preimage_path([1, 2, 3])


def test_paths_end_where_the_distance_is_least():
    X = 0.3 * np.random.default_rng(0).standard_normal((60, 2))
    model = KernelPCA(1, kernel="rbf", gamma=1.0, preimage="fixed_point").fit(X)
    display = PreimagePathDisplay.from_estimator(model, X, row=3, starts=4, n_steps=200)
    ends = np.array([path[-1] for path in display.paths])
    assert_allclose(ends, np.tile(model.denoise(X[3:4]), (4, 1)), atol=1e-4)
    least = model.preimage_distances(X[3], ends[:1])[0]
    assert least <= display.distances.min() + 1e-12
    begins = display.ax_.collections[-3].get_offsets()
    assert_allclose(begins, [path[0] for path in display.paths])
    assert display.distances.shape == (100, 100)
    again = PreimagePathDisplay.from_estimator(model, X, row=3, starts=4, n_steps=200)
    assert_array_equal(again.paths[1], display.paths[1])
    drawn(display)


def test_lift_separates_rings(circles):
    X, y = circles
    X = X + np.array([5, 0])
    display = KernelLiftDisplay.from_data(X, y)
    assert_allclose(display.lifted[:, 2], (X**2).sum(axis=1))
    assert display.separated == 1.0
    assert [panel.name for panel in display.ax_.flat] == ["rectilinear", "3d"]
    # a plane in the lift is a circle in the plane: |u|^2 + (a u + b v + d) / c = 0
    a, b, c, _ = display.plane
    assert_allclose([-a / c / 2, -b / c / 2], [5, 0], atol=0.1)
    drawn(display)


def test_lift_without_two_classes(circles):
    frame = pd.DataFrame(circles[0], columns=HOSTILE)
    for target in (None, np.arange(120) % 3, np.arange(120.0)):
        display = KernelLiftDisplay.from_data(frame, target)
        assert display.plane is None
        drawn(display)


# --------------------------------------------------------------------------- traversal and parts


@pytest.mark.parametrize("whiten", [False, True])
def test_traversal_is_mean_plus_two_components(digits, whiten):
    model = PCA(3, whiten=whiten).fit(digits)
    display = TraversalDisplay.from_estimator(model, components=(0, 2), steps=3, spread=1.5)
    first, second = (
        1.5 * np.sqrt(model.explained_variance_[j]) * model.components_[j] for j in (0, 2)
    )
    for i, j in np.ndindex(3, 3):
        expected = model.mean_ + (j - 1) * first + (1 - i) * second  # up is more
        assert_allclose(display.images[i, j].ravel(), expected, atol=1e-10)
        assert_allclose(pictures(display)[3 * i + j].ravel(), expected, atol=1e-10)
    assert display.ax_[1, 0].get_ylabel().startswith("component 3")


def test_traversal_along_quantiles(digits, nmf):
    model = make_pipeline(StandardScaler(), PCA(3)).fit(digits)
    display = TraversalDisplay.from_estimator(model, X=digits, components=(1,), steps=4)
    scores = model.transform(digits)
    assert_allclose(display.across, np.quantile(scores[:, 1], [0.05, 0.35, 0.65, 0.95]))
    assert display.images.shape == (1, 4, 8, 8)
    last = model.inverse_transform([[0, display.across[-1], 0]])
    assert_allclose(display.images[0, -1].ravel(), last[0])
    display = TraversalDisplay.from_estimator(nmf, X=digits, steps=2)
    codes = nmf.transform(digits)
    code = codes.mean(axis=0)
    code[:2] = np.quantile(codes[:, :2], 0.95, axis=0)
    assert_allclose(display.images[0, 1].ravel(), code @ nmf.components_)


def test_traversal_mistakes(pca, nmf, digits):
    with pytest.raises(ValueError, match="NMF does not remember how much its scores vary"):
        TraversalDisplay.from_estimator(nmf)
    with pytest.raises(ValueError, match=r"components=\(0, 1, 2\) are 3. Choose one or two"):
        TraversalDisplay.from_estimator(pca, components=(0, 1, 2))
    with pytest.raises(ValueError, match="are not all among those of PCA, which has 6"):
        TraversalDisplay.from_estimator(pca, components=(0, 6))
    with pytest.raises(ValueError, match="steps=0"):
        TraversalDisplay.from_estimator(pca, steps=0)


@pytest.mark.parametrize("method", ["nmf", "pca", "whiten", "vq"])
def test_basis_times_code_is_the_image(digits, nmf, pca, method):
    other = {
        "whiten": PCA(6, whiten=True),
        "vq": VectorQuantizer(6, random_state=0),
    }
    model = {"nmf": nmf, "pca": pca}.get(method) or other[method].fit(digits)
    display = PartsDisplay.from_estimator(model, digits[4], most=6)
    product = np.tensordot(display.code, display.basis, 1)
    mean = 0 if display.mean is None else display.mean
    assert_allclose(display.reconstruction, product + mean)
    back = model.inverse_transform(model.transform(digits[4:5]))
    assert_allclose(display.reconstruction.ravel(), back[0], atol=1e-9)
    assert_allclose(pictures(display)[-1].ravel(), digits[4])
    assert display.ax_.shape == (1, 5 if method in ("pca", "whiten") else 4)
    shown = "6 of 9 parts" if method == "nmf" else "6 parts"
    assert any(title.endswith(shown) for title in drawn(display))
    with pytest.raises(ValueError, match="x has 2 rows"):
        PartsDisplay.from_estimator(model, digits[:2])


# ----------------------------------------------------------------------------------------- phases


def test_phase_diagram_is_the_region():
    errors = np.array([[[0, 0], [0, 1]], [[0, 0], [1, 1]], [[0, 1], [1, 1]]], dtype=float)
    ranks, densities = np.array([1, 4, 10]), np.array([0.02, 0.4])
    region = RecoveryRegion("random", 20, ranks, densities, errors, tol=1e-3)
    display = PhaseDiagramDisplay.from_region(region)
    assert_array_equal(display.recovered, [[1, 0.5], [1, 0], [0.5, 0]])
    assert_allclose(display.ranks, [0.05, 0.2, 0.5])
    cells, line = display.ax_.collections
    assert_allclose(cells.get_array(), region.recovered)
    assert_allclose(cells.get_coordinates()[0, :, 0], [-0.17, 0.21, 0.59])
    assert_allclose(line.levels, 0.5)
    assert len(display.figure_.axes) == 2
    _, ax = plt.subplots()
    PhaseDiagramDisplay.from_region(region, bar=False, ax=ax)
    assert ax.figure.axes == [ax]
    one = RecoveryRegion("completion", 20, ranks[:1], densities[:1], errors[:1, :1], tol=1e-3)
    drawn(PhaseDiagramDisplay.from_region(one))


# ------------------------------------------------------------------------------------------- axes


def test_panels_on_given_axes(pca, digits, circles, pursuit):
    display = PartsDisplay.from_estimator(pca, digits[0])
    figure, axes = plt.subplots(2)
    assert display.plot(axes[1]) is display
    assert display.figure_ is figure
    widths = [panel.get_position().width for panel in display.ax_[0]]
    assert widths[1] > widths[2] > widths[3]
    _, axes = plt.subplots(1, 3)
    with pytest.raises(ValueError, match=r"ax has 3 axes, and PartsDisplay draws 1 x 5 panels"):
        display.plot(axes)
    lift = KernelLiftDisplay.from_data(*circles)
    _, axes = plt.subplots(1, 2)
    lift.plot(axes)
    assert axes[1].name == "rectilinear"  # the array of the user is left alone
    assert lift.ax_[0, 1].name == "3d"
    _, axes = plt.subplots(1, 3)
    assert SeparationDisplay.from_estimator(pursuit[1], ax=axes).ax_[0, 0] is axes[0]


# ------------------------------------------------------------------------------ pages and pictures

PAGE = Path(__file__).parents[1] / "docs" / "plots.md"
LINE = re.compile(r"^  `(plot\.(\w+)\..+)`$", re.MULTILINE)


def test_every_display_is_in_the_guide_and_its_line_draws():
    text = PAGE.read_text(encoding="utf-8")
    space = {}
    for code in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(code, space)
    lines = LINE.findall(text)
    assert {name for _, name in lines} | {"Display", "Panels"} == set(plot.__all__)
    for code, name in lines:
        assert type(eval(code, space)).__name__ == name
        plt.close("all")


@pytest.mark.parametrize("name", ["component_images", "traversal"])
def test_a_picture_is_current(name):
    assert pictures_tool.fault(name) is None


def test_pictures_are_all_there_and_small():
    found = {path.stem: path.stat().st_size for path in pictures_tool.IMAGES.glob("*.png")}
    assert set(found) == {*pictures_tool.NAMES, *(f"speed_{name}" for name in FIGURES)}
    assert max(found.values()) <= pictures_tool.MOST
    pages = [PAGE, *PAGE.parent.glob("*.md"), PAGE.parents[1] / "README.md"]
    used = re.findall(
        r"images/(\w+)\.png", "".join(page.read_text(encoding="utf-8") for page in pages)
    )
    assert set(used) == set(found)
    with pytest.raises(SystemExit, match="There is no picture nobody"):
        pictures_tool.main(["--check", "nobody"])
