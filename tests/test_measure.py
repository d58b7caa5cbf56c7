"""Diagnostics, bootstrap and rotation: identities, levels, coverage, planted structure."""

import tracemalloc

import numpy as np
import polars as pl
import pytest
import sklearn.decomposition
from scipy import sparse, stats
from scipy.linalg import orthogonal_procrustes
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from eigenlens import PCA, IncrementalPCA, correlation, covariance, datasets
from eigenlens.measure import align, bootstrap, diagnostics, promax, varimax
from eigenlens.measure.blocks import correlations, projections
from eigenlens.measure.bootstrap import _turned

# ------------------------------------------------------------------------------ diagnostics


def table(kind):
    X = datasets.planted_subspace(120, 7, rank=4, noise=0.3, random_state=3).X
    if kind == "float32":
        return (X + 3).astype(np.float32)
    if kind == "scaled":
        return X / X.std(axis=0)
    if kind == "uncentred":
        return X * 10.0 ** np.arange(-3, 4) + 1e5
    if kind == "wide":
        return np.random.default_rng(0).standard_normal((12, 40)) @ np.diag(np.linspace(3, 1, 40))
    return sparse.csr_array(np.where(np.abs(X) > 0.3, X, 0)) if kind == "sparse" else X


def dense(X):
    return (X.toarray() if sparse.issparse(X) else X).astype(np.float64)


KINDS = ["dense", "float32", "scaled", "uncentred", "wide", "sparse"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, None], ids=["two", "all"])
def test_identities(kind, k):
    X = table(kind)
    model = PCA(n_components=k, svd_solver="covariance_eigh").fit(X)
    found = diagnostics(model, X)
    # float32 scores are what transform gives; the rest is judged by them
    exact = {"atol": 2e-5 if kind == "float32" else 1e-9}
    rows, columns = found.rows, found.columns
    assert rows.training
    np.testing.assert_array_equal(rows.scores, model.transform(X))
    live = model.explained_variance_ > 1e-12 * model.explained_variance_[0]
    np.testing.assert_allclose(rows.contributions.sum(axis=0), live, **exact)
    np.testing.assert_allclose(columns.contributions.sum(axis=0), 1, **exact)
    np.testing.assert_allclose(columns.contributions.T, model.components_**2, **exact)
    expected = np.corrcoef(dense(X).T, model.transform(X)[:, live].T)[: X.shape[1], X.shape[1] :]
    np.testing.assert_allclose(columns.loadings[:, live], expected, **exact)
    assert not columns.loadings[:, ~live].any()
    np.testing.assert_array_equal(columns.cos2, columns.loadings**2)
    centred = dense(X) - dense(X).mean(axis=0)
    share = (centred @ model.components_.T.astype(float)) ** 2
    np.testing.assert_allclose(rows.cos2, share / (centred**2).sum(axis=1)[:, None], **exact)
    left = 1 - rows.spe / (centred**2).sum(axis=1)
    np.testing.assert_allclose(rows.cos2.sum(axis=1), left, **exact)
    if k is None:
        np.testing.assert_allclose(rows.cos2.sum(axis=1), 1, **exact)
        np.testing.assert_allclose(columns.cos2.sum(axis=1), 1, **exact)


def test_distances_by_their_definitions():
    X = table("uncentred")
    model = PCA(n_components=3).fit(X)
    found = diagnostics(model, X).rows
    covariance = np.cov(model.transform(X).T)
    T = model.transform(X)
    expected = np.einsum("ij,jk,ik->i", T, np.linalg.inv(covariance), T)
    np.testing.assert_allclose(found.t2, expected, rtol=1e-8)
    error = X - model.inverse_transform(T)
    np.testing.assert_allclose(found.spe, (error**2).sum(axis=1), rtol=1e-6)
    assert found.t2.sum() == pytest.approx((len(X) - 1) * 3)


def test_whitening_changes_the_scores_alone():
    X = table("dense")
    plain, white = (
        diagnostics(PCA(n_components=3, whiten=whiten).fit(X), X) for whiten in (False, True)
    )
    assert white.rows.training
    for name in ("contributions", "cos2", "t2", "spe", "t2_limit", "spe_limit"):
        np.testing.assert_allclose(getattr(white.rows, name), getattr(plain.rows, name), rtol=1e-10)
    np.testing.assert_allclose(white.columns.loadings, plain.columns.loadings, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_supplementary_rows_equal_transform(kind):
    X = table(kind)
    train, new = X[: X.shape[0] // 2], X[X.shape[0] // 2 :]
    model = PCA(n_components=2, svd_solver="covariance_eigh").fit(train)
    found = diagnostics(model, train, supplementary_rows=new).supplementary_rows
    np.testing.assert_array_equal(found.scores, model.transform(new))
    assert not found.training
    assert found.contributions is None
    alone = diagnostics(model, new).rows
    np.testing.assert_array_equal(alone.t2, found.t2)
    np.testing.assert_array_equal(alone.spe, found.spe)
    assert alone.t2_limit == found.t2_limit
    assert alone.spe_limit == pytest.approx(found.spe_limit, rel=0.35)  # h from rows, not spectrum


def test_supplementary_columns():
    X, y = load_iris(return_X_y=True)
    model = PCA(n_components=2).fit(X)
    extra = np.c_[y, X[:, 0], np.ones(len(X))]
    found = diagnostics(model, X, supplementary_columns=extra)
    np.testing.assert_allclose(
        found.supplementary_columns.loadings[0], np.corrcoef(y, model.transform(X).T)[0, 1:]
    )
    np.testing.assert_allclose(
        found.supplementary_columns.loadings[1], found.columns.loadings[0], rtol=1e-12
    )
    assert np.isnan(found.supplementary_columns.loadings[2]).all()  # a constant
    single = diagnostics(model, X, supplementary_columns=y).supplementary_columns
    np.testing.assert_allclose(
        single.loadings[0], found.supplementary_columns.loadings[0], rtol=1e-12
    )
    with pytest.raises(ValueError, match="3 rows and X has 150"):
        diagnostics(model, X, supplementary_columns=[1, 2, 3])


def test_names_are_kept():
    iris = load_iris(as_frame=True)
    X = iris.data.set_index("flower" + iris.data.index.astype(str))
    model = PCA(n_components=2).fit(X)
    found = diagnostics(model, X, supplementary_rows=X[:3], supplementary_columns=iris.target)
    assert list(found.columns.names) == list(X.columns)
    assert found.rows.names[0] == "flower0"
    frames = found.to_frames()
    assert set(frames) == {
        "rows",
        "columns",
        "supplementary_rows",
        "supplementary_columns",
        "limits",
    }
    assert frames["columns"].loc["petal width (cm)", ("loading", "pca0")] == pytest.approx(
        found.columns.loadings[3, 0]
    )
    assert frames["rows"].loc["flower7", ("distance", "SPE")] == found.rows.spe[7]
    assert list(frames["supplementary_columns"].index) == ["target"]
    assert frames["limits"].loc["T2", "supplementary_rows"] == found.supplementary_rows.t2_limit

    table = pl.DataFrame(iris.data.to_numpy(), schema=list(X.columns))
    polar = diagnostics(PCA(n_components=2).fit(table), table)
    assert list(polar.columns.names) == list(X.columns)
    np.testing.assert_allclose(polar.rows.t2, found.rows.t2, rtol=1e-12)
    for named in (X, table):
        drawn = bootstrap(PCA(2), named, n_draws=5, random_state=0)
        assert list(drawn.to_frames()["loadings"].index) == list(X.columns)
        assert list(drawn.to_frames()["variances"].index) == ["pca0", "pca1"]


def test_training_table_is_recognised():
    X = table("uncentred")
    model = PCA(n_components=2).fit(X)
    assert diagnostics(model, X[::-1]).rows.training
    assert not diagnostics(model, X[1:]).rows.training
    moved = X.copy()
    moved[0] += X.std(axis=0)
    assert not diagnostics(model, moved).rows.training
    assert not diagnostics(model, X + X.std(axis=0)).rows.training  # the same variances
    # other rows with the same means
    other = 2 * model.mean_ - X + 0.01 * (X - model.mean_)
    assert not diagnostics(model, other).rows.training
    assert diagnostics(model, moved, training=True).rows.training


def test_a_constant_column_and_a_row_at_the_mean():
    X = table("dense")
    X = np.r_[X, [X.mean(axis=0)]]
    X[:, 2] = 3.7
    found = diagnostics(PCA(n_components=3).fit(X), X)
    assert np.isnan(found.columns.loadings[2]).all()
    assert np.isfinite(np.delete(found.columns.loadings, 2, axis=0)).all()
    assert found.rows.t2[-1] == pytest.approx(0, abs=1e-20)


def test_rows_inside_the_span_do_not_stand_out():
    X = np.random.default_rng(0).standard_normal((60, 3)) @ np.ones((3, 9)) + 100
    X += np.random.default_rng(1).standard_normal((60, 3)) @ np.eye(3, 9)
    for dtype in (np.float64, np.float32):
        model = PCA(n_components=4).fit(X.astype(dtype))
        found = diagnostics(
            model, X.astype(dtype), supplementary_rows=X[:5].astype(dtype) + dtype(0.5)
        )
        assert (found.rows.spe <= found.rows.spe_limit).all()
        assert (found.supplementary_rows.spe <= found.supplementary_rows.spe_limit).all()
        off = X[:1].astype(dtype)
        off[0, -1] += 1
        assert (diagnostics(model, off).rows.spe > diagnostics(model, off).rows.spe_limit).all()


def test_components_that_are_not_orthonormal():
    """T2 is that of the span, whichever axes it has; SPE the distance from it."""
    X = table("dense")
    pca = PCA(n_components=3).fit(X)
    M = np.array([[1.0, 0.4, 0], [0, 1, 0.3], [0.2, 0, 2]])
    skew = clone(pca).fit(X)
    skew.components_ = M @ pca.components_
    straight = diagnostics(pca, X, supplementary_rows=X[:9] + 1)
    found = diagnostics(skew, X, supplementary_rows=X[:9] + 1)
    np.testing.assert_allclose(found.rows.t2, straight.rows.t2, rtol=1e-10)
    np.testing.assert_allclose(found.rows.spe, straight.rows.spe, rtol=1e-10)
    np.testing.assert_allclose(
        found.supplementary_rows.t2, straight.supplementary_rows.t2, rtol=1e-10
    )
    unit = skew.components_ / np.linalg.norm(skew.components_, axis=1, keepdims=True)
    centred = X - X.mean(axis=0)
    expected = (centred @ unit.T) ** 2 / (centred**2).sum(axis=1)[:, None]
    np.testing.assert_allclose(found.rows.cos2, expected, rtol=1e-10)
    np.testing.assert_allclose(found.columns.contributions.T, unit**2, rtol=1e-10)
    with pytest.raises(ValueError, match="supplementary_rows"):
        diagnostics(skew, X[:50])


@pytest.mark.parametrize(
    "peer",
    [
        sklearn.decomposition.PCA(n_components=3),
        IncrementalPCA(n_components=3),
        sklearn.decomposition.FactorAnalysis(n_components=2),
        sklearn.decomposition.SparsePCA(n_components=2, alpha=0.5, random_state=0),
    ],
    ids=lambda peer: type(peer).__name__,
)
def test_other_linear_estimators(peer):
    X = table("dense")
    found = diagnostics(peer.fit(X), X, supplementary_rows=X[:10] + 3)
    assert found.rows.training
    np.testing.assert_allclose(found.rows.contributions.sum(axis=0), 1)
    assert found.rows.t2_limit < found.supplementary_rows.t2_limit
    assert 0 < (found.rows.spe > found.rows.spe_limit).mean() < 0.15
    assert (found.supplementary_rows.spe > found.supplementary_rows.spe_limit).all()


def test_what_is_not_a_linear_model_is_refused():
    X = table("dense")
    with pytest.raises(NotFittedError):
        diagnostics(PCA(), X)
    with pytest.raises(TypeError, match=r"pipeline\[-1\]"):
        diagnostics(make_pipeline(StandardScaler(), PCA()).fit(X), X)
    with pytest.raises(TypeError, match="no components_ and no mean_"):
        diagnostics(sklearn.decomposition.KernelPCA(2).fit(X), X)
    with pytest.raises(ValueError, match="level=95"):
        diagnostics(PCA().fit(X), X, level=95)
    with pytest.raises(ValueError, match="NaN"):
        diagnostics(PCA().fit(X), np.where(X > 1, np.nan, X))
    with pytest.raises(ValueError, match="3 features"):
        diagnostics(PCA().fit(X), X[:, :3])


@pytest.mark.usefixtures("many_threads")
def test_the_table_is_read_in_blocks(monkeypatch):
    """Blocks, threads and sparse storage change nothing; sums are the same to the bit."""
    X = table("uncentred")
    model = PCA(n_components=3).fit(X)
    whole = correlations(X, model.transform(X)), *projections(X, model.mean_, model.components_)
    monkeypatch.setattr("eigenlens.measure.blocks.BYTES", 300)
    small = correlations(X, model.transform(X)), *projections(X, model.mean_, model.components_)
    for a, b in zip(whole, small, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    with threadpool_limits(1):
        serial = correlations(X, model.transform(X))
    np.testing.assert_array_equal(serial, small[0])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_no_second_table_is_held(kind):
    X = np.random.default_rng(0).standard_normal((40_000, 100), dtype=np.float32)
    if kind == "sparse":
        X = sparse.random_array((10_000, 2000), density=0.003, rng=0, format="csr")
    model = PCA(n_components=2, random_state=0).fit(X)
    tracemalloc.start()
    diagnostics(model, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6  # of 16 MB as float32, and 160 MB if made dense


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_correlation_of_columns_whose_squares_are_no_numbers(form, scale):
    X = np.random.default_rng(0).standard_normal((30, 3))
    expected = correlation(X)
    X[:, 1] *= scale
    np.testing.assert_allclose(correlation(form(X)), expected, rtol=1e-9)


def test_covariance_that_is_no_number():
    X = 1e200 * np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(ValueError, match="so large that their squares overflow"):
        covariance(X)


def test_weights_of_correlations_equal_repeated_rows():
    rng = np.random.default_rng(5)
    X, T, w = (
        rng.standard_normal((40, 6)) + 50,
        rng.standard_normal((40, 2)),
        rng.integers(0, 4, 40),
    )
    repeated = correlations(np.repeat(X, w, axis=0), np.repeat(T, w, axis=0))
    np.testing.assert_allclose(correlations(X, T, w.astype(float)), repeated, rtol=1e-12)


# ------------------------------------------------------------------------------ levels


def gaussian(kind, d, k, rng):
    """Return M such that rows ``z M'`` of standard normal z have the wanted covariance."""
    factors = np.linalg.qr(rng.standard_normal((d, k)))[0] * np.sqrt(np.geomspace(20, 6, k))
    if kind == "white":
        return np.eye(d)
    if kind == "factors":
        return np.c_[factors, np.eye(d)]
    # factors in the noise too, and columns of unequal noise
    weak = 1.2 * np.linalg.qr(rng.standard_normal((d, max(2, d // 4))))[0]
    return np.c_[factors, weak, np.diag(np.exp(rng.uniform(-0.7, 0.7, d)))]


@pytest.mark.parametrize(
    ("n", "d", "k", "kind"),
    [
        (50, 10, 2, "white"),
        (50, 10, 2, "factors"),
        (50, 10, 2, "structured noise"),
        (100, 50, 5, "white"),
        (60, 200, 3, "structured noise"),
        (300, 10, 9, "structured noise"),
        (400, 20, 4, "white"),
    ],
)
def test_limits_hold_their_level(n, d, k, kind):
    """Of 200 draws, 1 to 9 % of Gaussian rows pass the 95 % limits, training rows and new ones."""
    rng = np.random.default_rng([n, d, k])
    above = np.zeros(4)
    draws = 200
    for _ in range(draws):
        M = gaussian(kind, d, k, rng)
        X, new = (rng.standard_normal((rows, M.shape[1])) @ M.T + 5 for rows in (n, 100))
        found = diagnostics(PCA(n_components=k).fit(X), X, supplementary_rows=new)
        parts = found.rows, found.supplementary_rows
        above[:2] += [(part.t2 > part.t2_limit).mean() for part in parts]
        above[2:] += [(part.spe > part.spe_limit).mean() for part in parts]
    above /= draws
    assert (above > 0.01).all(), above
    assert (above < 0.09).all(), above


def test_limits_without_the_training_table():
    """From the stored spectrum alone the limits for new rows hold as well."""
    rng = np.random.default_rng(0)
    above = []
    for _ in range(200):
        M = gaussian("structured noise", 20, 3, rng)
        X, new = (rng.standard_normal((rows, M.shape[1])) @ M.T for rows in (100, 100))
        found = diagnostics(PCA(n_components=3).fit(X), new).rows
        above.append([(found.t2 > found.t2_limit).mean(), (found.spe > found.spe_limit).mean()])
    rate = np.mean(above, axis=0)
    assert (rate > 0.03).all(), rate
    assert (rate < 0.07).all(), rate


def test_limits_in_closed_form():
    """With all directions kept nothing is lost to noise: the textbook limits, to the digit."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    found = diagnostics(PCA().fit(X), X, supplementary_rows=X[:2] + 1, level=0.9)
    n, k = 40, 3
    beta = (n - 1) ** 2 / n * stats.beta.ppf(0.9, k / 2, (n - k - 1) / 2)
    assert found.rows.t2_limit == pytest.approx(beta)
    f = k * (n + 1) * (n - 1) / (n * (n - k)) * stats.f.ppf(0.9, k, n - k)
    assert found.supplementary_rows.t2_limit == pytest.approx(f)


# ------------------------------------------------------------------------------ bootstrap


def test_bootstrap_by_weights_equals_bootstrap_by_copies():
    X = table("dense")
    ours = bootstrap(PCA(n_components=3), X, n_draws=20, random_state=1)
    peer = bootstrap(sklearn.decomposition.PCA(3, svd_solver="full"), X, n_draws=20, random_state=1)
    matched = align(PCA(3).fit(X).components_, peer_components(X))
    np.testing.assert_allclose(ours.variance_draws, peer.variance_draws, rtol=1e-10)
    np.testing.assert_allclose(ours.cosines, peer.cosines, rtol=1e-9)
    for name in ("loadings", "loadings_low", "loadings_high"):
        theirs = matched.scores(getattr(peer, name))
        if (matched.signs < 0).any() and name != "loadings":
            other = name.replace("low", "x").replace("high", "low").replace("x", "high")
            theirs = np.where(matched.signs < 0, matched.scores(getattr(peer, other)), theirs)
        np.testing.assert_allclose(getattr(ours, name), theirs, rtol=1e-8, atol=1e-10)


def peer_components(X):
    return sklearn.decomposition.PCA(3, svd_solver="full").fit(X).components_


@pytest.mark.parametrize("kind", ["float32", "sparse"])
def test_bootstrap_of_other_tables(kind):
    X = table(kind)
    found = bootstrap(PCA(n_components=2), X, n_draws=20, random_state=0)
    same = bootstrap(PCA(n_components=2), dense(X), n_draws=20, random_state=0)
    for name in ("variances_low", "variances_high", "loadings_low", "loadings_high", "stability"):
        np.testing.assert_allclose(getattr(found, name), getattr(same, name), atol=1e-4)


@pytest.mark.usefixtures("many_threads")
def test_bootstrap_depends_on_the_seed_alone():
    X = table("dense")
    model = PCA(n_components=0.9)
    first = bootstrap(model, X, n_draws=12, random_state=7)
    with threadpool_limits(1):
        again = bootstrap(model, X, n_draws=12, random_state=np.random.default_rng(7))
    np.testing.assert_array_equal(first.variance_draws, again.variance_draws)
    np.testing.assert_array_equal(first.loadings_low, again.loadings_low)
    other = bootstrap(model, X, n_draws=12, random_state=8)
    assert (first.variance_draws != other.variance_draws).all()
    assert not hasattr(model, "components_")
    assert first.variance_draws.shape == (12, model.fit(X).n_components_)


def test_an_open_seed_of_the_estimator_follows_that_of_the_bootstrap():
    X = np.random.default_rng(0).standard_normal((80, 60))
    model = sklearn.decomposition.PCA(
        n_components=2, svd_solver="randomized", iterated_power=0, n_oversamples=1
    )
    a, b = (bootstrap(model, X, n_draws=6, random_state=0).variance_draws for _ in range(2))
    np.testing.assert_array_equal(a, b)


def test_a_draw_is_a_fit_to_counted_rows():
    X = table("dense")
    found = bootstrap(PCA(n_components=3), X, n_draws=4, random_state=5)
    seeds = np.random.default_rng(5).spawn(4)
    for seed, variances in zip(seeds, found.variance_draws, strict=True):
        counts = seed.multinomial(len(X), np.full(len(X), 1 / len(X)))
        spectrum = np.linalg.eigvalsh(np.cov(X.T, fweights=counts))[::-1]
        np.testing.assert_allclose(variances, spectrum[:3], rtol=1e-10)


class Shuffled(sklearn.decomposition.PCA):
    """PCA with its components in an order and with signs that change from fit to fit."""

    def fit(self, X, y=None):
        super().fit(X)
        rng = np.random.default_rng(int(abs(X[0, 0]) * 1e6))
        order, signs = rng.permutation(len(self.components_)), rng.choice([-1, 1], 3)
        self.components_ = self.components_[order] * signs[:, None]
        self.explained_variance_ = self.explained_variance_[order]
        return self


def test_order_and_signs_of_the_draws_do_not_matter():
    X = datasets.planted_subspace(200, 6, rank=3, noise=0.1, decay=0.5, random_state=0).X
    plain, shuffled = (
        bootstrap(peer(3, svd_solver="full"), X, n_draws=15, random_state=2)
        for peer in (sklearn.decomposition.PCA, Shuffled)
    )
    order = align(
        Shuffled(3, svd_solver="full").fit(X).components_,
        sklearn.decomposition.PCA(3, svd_solver="full").fit(X).components_,
    )
    np.testing.assert_allclose(
        shuffled.variance_draws, plain.variance_draws[:, order.permutation], rtol=1e-9
    )
    np.testing.assert_allclose(shuffled.cosines, plain.cosines[:, order.permutation], rtol=1e-9)
    width, expected = (b.loadings_high - b.loadings_low for b in (shuffled, plain))
    np.testing.assert_allclose(width, expected[:, order.permutation], rtol=1e-6)


def test_the_number_of_components_is_that_of_the_full_fit():
    X = np.random.default_rng(0).standard_normal((30, 10))
    k = PCA(n_components=0.7).fit(X).n_components_
    by_rule, by_number = (
        bootstrap(PCA(n_components=rank), X, n_draws=10, random_state=0) for rank in (0.7, k)
    )
    np.testing.assert_array_equal(by_rule.variance_draws, by_number.variance_draws)


def test_a_turned_draw_has_the_variances_and_loadings_of_its_axes():
    rng = np.random.default_rng(0)
    C = np.cov(rng.standard_normal((50, 6)).T)
    variances, V = (part[..., ::-1][..., :3] for part in np.linalg.eigh(C))
    target = np.linalg.qr(rng.standard_normal((6, 3)))[0].T
    deviations = np.sqrt(np.diag(C))
    loadings = V * np.sqrt(variances) / deviations[:, None]
    turned, shared, cosines = _turned(target, V.T, variances, loadings)
    R = orthogonal_procrustes(V, target.T)[0]
    axes = V @ R
    np.testing.assert_allclose(turned, np.diag(axes.T @ C @ axes), rtol=1e-12)
    expected = C @ axes / np.sqrt(turned) / deviations[:, None]
    np.testing.assert_allclose(shared, expected, rtol=1e-10)
    np.testing.assert_allclose(cosines, np.abs((target * axes.T).sum(axis=1)), rtol=1e-12)


def draws_of(lam, n, rng):
    Q = np.linalg.qr(rng.standard_normal((len(lam), len(lam))))[0]
    return rng.standard_normal((n, len(lam))) * np.sqrt(lam) @ Q.T, Q


def test_bootstrap_intervals_cover():
    """Nominal 95 % intervals of variances and loadings hold the planted values of a Gaussian."""
    rng = np.random.default_rng(11)
    lam = np.r_[10, 5, 2.5, np.ones(7)]
    variances, loadings = [], []
    for seed in range(40):
        X, Q = draws_of(lam, 150, rng)
        found = bootstrap(PCA(n_components=3), X, n_draws=50, random_state=seed)
        truth = align(PCA(n_components=3).fit(X).components_, Q.T)
        true_variances = lam[truth.permutation]
        deviations = np.sqrt(np.diag((Q * lam) @ Q.T))
        true_loadings = truth.aligned.T * np.sqrt(true_variances) / deviations[:, None]
        variances.append(
            (found.variances_low < true_variances) & (true_variances < found.variances_high)
        )
        loadings.append(
            (found.loadings_low < true_loadings) & (true_loadings < found.loadings_high)
        )
    # 120 variances: 0.95 has a deviation of 0.02; 1200 loadings, but dependent within a draw
    assert 0.90 <= np.mean(variances) <= 0.99
    assert 0.92 <= np.mean(loadings) <= 0.98


def test_deviation_of_a_variance_is_the_gaussian_one():
    """For a well separated component, log variance has deviation sqrt(2 / n)."""
    X, _ = draws_of(np.r_[50.0, 1, 1, 1], 2000, np.random.default_rng(0))
    found = bootstrap(PCA(n_components=1), X, n_draws=200, random_state=0)
    reach = np.log(found.variances_high / found.variances_low)[0] / 2
    assert reach == pytest.approx(1.96 * np.sqrt(2 / 2000), rel=0.15)


def test_stability_tells_determined_from_undetermined():
    rng = np.random.default_rng(2)
    X, _ = draws_of(np.r_[30.0, 5, 5, 0.2, 0.2, 0.2], 300, rng)
    found = bootstrap(PCA(n_components=3), X, n_draws=80, random_state=0)
    assert found.stability[0] > 0.99
    assert found.stability[1:].max() < 0.97
    turned = bootstrap(PCA(n_components=3), X, n_draws=80, procrustes=True, random_state=0)
    assert turned.stability.min() > 0.99
    width = [(b.loadings_high - b.loadings_low)[:, 1:].mean() for b in (found, turned)]
    assert width[1] < 0.5 * width[0]
    np.testing.assert_allclose(
        turned.variance_draws.sum(axis=1), found.variance_draws.sum(axis=1), rtol=1e-10
    )


def test_bootstrap_refuses_what_it_cannot_do():
    X = table("dense")
    with pytest.raises(ValueError, match="level=0"):
        bootstrap(PCA(2), X, level=0)
    with pytest.raises(ValueError, match="n_draws=1"):
        bootstrap(PCA(2), X, n_draws=1)
    skew = sklearn.decomposition.SparsePCA(2, alpha=0.3, random_state=0)
    with pytest.raises(ValueError, match="procrustes=False"):
        bootstrap(skew, X, n_draws=2, procrustes=True)
    assert bootstrap(skew, X, n_draws=3, random_state=0).stability.min() > 0.5
    with pytest.raises(ValueError, match="fewer components"):
        bootstrap(PCA(6), np.random.default_rng(0).standard_normal((7, 9)), n_draws=20)


# ------------------------------------------------------------------------------ rotation


def simple_structure(d, k, rng):
    """Each variable belongs to one factor."""
    L = np.zeros((d, k))
    L[np.arange(d), np.arange(d) % k] = rng.uniform(0.5, 0.9, d)
    return L[:, np.argsort(-(L**2).sum(axis=0))]


def criterion(B):
    return (B**2).var(axis=0).sum()


def turn(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("normalize", [True, False])
def test_varimax_recovers_simple_structure(k, normalize):
    rng = np.random.default_rng(k)
    L = simple_structure(18, k, rng)
    Q = np.linalg.qr(rng.standard_normal((k, k)))[0]
    found = varimax(L @ Q, normalize=normalize)
    np.testing.assert_allclose(found.loadings, L, atol=1e-7)
    np.testing.assert_allclose(found.rotation.T @ found.rotation, np.eye(k), atol=1e-13)
    np.testing.assert_allclose(L @ Q @ found.rotation, found.loadings, atol=1e-15)
    assert found.converged


@pytest.mark.parametrize("seed", range(5))
def test_varimax_in_the_plane_is_the_best_of_all_angles(seed):
    L = np.random.default_rng(seed).standard_normal((9, 2))
    found = varimax(L, normalize=False)
    angles = np.linspace(0, np.pi / 2, 4001)
    best = max(criterion(L @ turn(a)) for a in angles)
    assert best <= criterion(found.loadings) <= best * (1 + 1e-6)
    # Kaiser's closed form
    u, v = L[:, 0] ** 2 - L[:, 1] ** 2, 2 * L[:, 0] * L[:, 1]
    p = len(L)
    above = 2 * (u @ v) - 2 * u.sum() * v.sum() / p
    below = (u**2 - v**2).sum() - (u.sum() ** 2 - v.sum() ** 2) / p
    closed = L @ turn(np.arctan2(above, below) / 4)
    np.testing.assert_allclose(align(closed.T, found.loadings.T).aligned.T, closed, atol=1e-12)


@pytest.mark.parametrize("normalize", [True, False])
def test_varimax_against_an_optimiser_over_rotations(normalize):
    rng = np.random.default_rng(4)
    L = simple_structure(15, 3, rng) + 0.15 * rng.standard_normal((15, 3))
    L = L @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    scale = np.linalg.norm(L, axis=1, keepdims=True) if normalize else 1.0

    def rotation(angles):
        R = np.eye(3)
        for (i, j), angle in zip([(0, 1), (0, 2), (1, 2)], angles, strict=True):
            plane = np.eye(3)
            plane[np.ix_([i, j], [i, j])] = turn(angle)
            R = R @ plane
        return R

    def loss(angles):
        return -criterion((L / scale) @ rotation(angles))

    starts = rng.uniform(-1, 1, (12, 3))
    best = min((minimize(loss, s, tol=1e-14) for s in starts), key=lambda r: r.fun)
    found = varimax(L, normalize=normalize)
    assert criterion(found.loadings / scale) == pytest.approx(-best.fun, rel=1e-10)
    other = L @ rotation(best.x)
    np.testing.assert_allclose(
        align(found.loadings.T, other.T).aligned.T, found.loadings, atol=1e-5
    )


def test_varimax_never_falls_and_ends_at_a_maximum():
    L = np.random.default_rng(9).standard_normal((40, 8))
    found = varimax(L)
    assert (np.diff(found.criterion_history) > -1e-13).all()
    assert found.criterion_history[-1] > found.criterion_history[0]
    assert len(found.criterion_history) == found.n_iter + 1
    B = found.loadings / np.linalg.norm(L, axis=1, keepdims=True)
    G = B.T @ (B**3 - B * (B**2).mean(axis=0))  # symmetric at a stationary point
    np.testing.assert_allclose(G, G.T, atol=1e-7)
    again = varimax(found.loadings)
    np.testing.assert_allclose(again.loadings, found.loadings, atol=1e-7)


def test_varimax_keeps_what_the_components_explain():
    L = np.random.default_rng(1).standard_normal((12, 4))
    found = varimax(L).loadings
    np.testing.assert_allclose(found @ found.T, L @ L.T, atol=1e-12)
    sums = (found**2).sum(axis=0)
    assert (np.diff(sums) <= 0).all()
    assert (found[np.abs(found).argmax(axis=0), range(4)] > 0).all()


def test_varimax_of_loadings_without_a_choice():
    assert varimax([[0.3], [-0.8]]).loadings.ravel().tolist() == [-0.3, 0.8]
    round_the_clock = np.arange(16) * np.pi / 8 + 0.1
    circle = varimax(np.c_[np.cos(round_the_clock), np.sin(round_the_clock)])
    assert circle.n_iter == 1  # the criterion is the same at every angle, so it stays
    np.testing.assert_array_equal(np.abs(circle.rotation), np.eye(2))
    zero = varimax(np.zeros((5, 3)))
    assert zero.converged
    assert not zero.loadings.any()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert not varimax(np.random.default_rng(0).standard_normal((30, 6)), max_iter=1).converged
    with pytest.raises(ValueError, match="rows \\[1\\]"):
        varimax([[1, 2], [np.nan, 1], [0, 1]])
    with pytest.raises(ValueError, match="must be a matrix"):
        varimax([1, 2, 3])


def oblique(rng, correlation):
    """Return a pattern of one factor a variable and loadings on uncorrelated axes that carry it."""
    P = simple_structure(18, 3, rng)
    Phi = np.full((3, 3), correlation) + (1 - correlation) * np.eye(3)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    return P, Phi, P @ np.linalg.cholesky(Phi) @ Q


def test_promax_reproduces_what_the_loadings_explain():
    _, _, L = oblique(np.random.default_rng(0), 0.4)
    found = promax(L)
    P, Phi = found.loadings, found.correlations
    np.testing.assert_allclose(P @ Phi @ P.T, L @ L.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(Phi), 1, rtol=1e-15)
    np.testing.assert_allclose(L @ found.rotation, P, atol=1e-14)
    # the factors L' = scores turned: their correlations are those of the inverse rotation
    inverse = np.linalg.inv(found.rotation)
    np.testing.assert_allclose(inverse @ inverse.T, Phi, atol=1e-12)


@pytest.mark.parametrize("correlation", [0.2, 0.4])
def test_promax_recovers_correlated_factors(correlation):
    P, Phi, L = oblique(np.random.default_rng(3), correlation)
    found = promax(L)
    matched = align(P.T, found.loadings.T)
    error = np.abs(matched.aligned.T - P).max()
    straight = np.abs(align(P.T, varimax(L).loadings.T).aligned.T - P).max()
    assert error < 0.03
    assert error < straight / 4
    order = np.ix_(matched.permutation, matched.permutation)
    turned = np.outer(matched.signs, matched.signs) * found.correlations[order]
    np.testing.assert_allclose(turned, Phi, atol=0.06)


def test_promax_of_power_one_is_varimax():
    _, _, L = oblique(np.random.default_rng(3), 0.4)
    one, straight = promax(L, power=1), varimax(L)
    np.testing.assert_allclose(one.loadings, straight.loadings, atol=1e-12)
    np.testing.assert_allclose(one.correlations, np.eye(3), atol=1e-12)
    with pytest.raises(ValueError, match=r"power=0\.5"):
        promax(L, power=0.5)
    with pytest.raises(ValueError, match="rank 1"):
        promax(np.ones((4, 2)))


def test_rotation_of_a_fitted_model():
    """The road from a fit to readable loadings."""
    X = StandardScaler().fit_transform(datasets.breast_cancer().X)
    found = diagnostics(PCA(n_components=3).fit(X), X)
    rotated = varimax(found.columns.loadings)
    np.testing.assert_allclose(
        (rotated.loadings**2).sum(axis=1), found.columns.cos2.sum(axis=1), rtol=1e-10
    )


def test_rows_with_holes_are_sent_to_impute():
    X = np.random.default_rng(0).standard_normal((50, 5))
    X[3, 2] = np.nan
    pca = PCA(n_components=2, missing="em").fit(X)
    with pytest.raises(ValueError, match=r"Give estimator\.impute\(X\)"):
        diagnostics(pca, X)
    assert np.isfinite(diagnostics(pca, pca.impute(X)).rows.t2).all()
