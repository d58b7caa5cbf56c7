"""PCA as its users meet it: truth, peers, choices, words."""

import re

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn import datasets as sets
from sklearn import decomposition as peer
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenlens import PCA, datasets, select
from eigenlens.select.minka import log_evidence
from eigenlens.solvers.spectral import choose_solver
from eigenlens.testing import largest_angle
from eigenlens.testing.exact import exact_variances

SOLVERS = ["auto", "full", "covariance_eigh", "gram_eigh", "arpack", "randomized"]


def planted(n, d, *, mean, dtype, tiny=False, seed=0):
    rng = np.random.default_rng(seed)
    deviations = np.linspace(1, 3, d)
    if tiny:
        deviations[d // 2] = 1e-4
    return (rng.standard_normal((n, d)) * deviations + mean).astype(dtype)


# ---------------------------------------------------------------------------------------- truth


@pytest.mark.parametrize("tiny", [False, True], ids=["", "one deviation of 1e-4"])
@pytest.mark.parametrize(
    ("dtype", "mean", "tol"),
    [(np.float32, 1e3, 1e-6), (np.float64, 1e8, 1e-13)],
    ids=["float32 means of 1e3", "float64 means of 1e8"],
)
def test_large_means_cost_no_digits(dtype, mean, tol, tiny):
    """The default solver, tall data: scikit-learn's is off by factors here."""
    X = planted(20_000, 16, mean=mean, dtype=dtype, tiny=tiny)
    exact = exact_variances(X)
    pca = PCA().fit(X)
    assert pca.solver_ == "covariance_eigh"
    error = np.abs(pca.explained_variance_ / exact - 1).max()
    by_svd = np.abs(PCA(svd_solver="full").fit(X).explained_variance_ / exact - 1).max()
    assert error <= tol if not tiny else error <= max(by_svd, tol)


@pytest.mark.parametrize("svd_solver", SOLVERS)
def test_the_seeds_theorem_on_a_real_table(svd_solver):
    """The mean squared error of reconstruction is the sum of the discarded variances."""
    X = StandardScaler().fit_transform(sets.load_breast_cancer().data)
    everything = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    pca = PCA(5, svd_solver=svd_solver, random_state=0).fit(X)
    error = ((X - pca.inverse_transform(pca.transform(X))) ** 2).sum() / (len(X) - 1)
    assert error == pytest.approx(everything[5:].sum(), rel=1e-10)
    assert pca.noise_variance_ == pytest.approx(everything[5:].mean(), rel=1e-10)


def test_two_variables_with_known_correlation():
    """Closed form: unit variances with correlation r have variances 1 + r and 1 - r."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((50, 2)) - 0)[0]
    Q = np.linalg.qr(Q - Q.mean(axis=0))[0] * np.sqrt(49)
    r = 0.6
    X = Q @ np.linalg.cholesky([[1, r], [r, 1]]).T
    pca = PCA().fit(X)
    np.testing.assert_allclose(pca.explained_variance_, [1 + r, 1 - r], rtol=1e-13)
    np.testing.assert_allclose(
        pca.components_, np.array([[1, 1], [1, -1]]) / np.sqrt(2), atol=1e-13
    )


@pytest.mark.parametrize("k", [3, 10, None])
@pytest.mark.parametrize("whiten", [False, True])
def test_every_attribute_of_scikit_learns(k, whiten):
    X = sets.load_digits().data.astype(float)[:, 2:30]
    ours = PCA(k, whiten=whiten).fit(X)
    theirs = peer.PCA(k, whiten=whiten, svd_solver="full").fit(X)
    for name in vars(theirs):
        if name.endswith("_") and not name.startswith("_"):
            np.testing.assert_allclose(
                getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-10, err_msg=name
            )
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-8)
    back = theirs.inverse_transform(theirs.transform(X))
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), back, atol=1e-8)
    assert set(theirs.get_params()) <= set(ours.get_params())


def test_aligned_with_scikit_learns_randomized():
    X = sets.load_digits().data
    theirs = peer.PCA(5, svd_solver="randomized", iterated_power=20, random_state=0).fit(X)
    ours = PCA(5, svd_solver="randomized", random_state=0).fit(X)
    assert largest_angle(ours.components_, theirs.components_) < 1e-5


@pytest.mark.parametrize("decay", [0.8, 0.97])
@pytest.mark.parametrize("power", [0, 1, 3])
def test_a_sketch_that_is_stopped_is_no_rougher_than_scikit_learns(power, decay):
    """A Krylov space holds that of as many power iterations."""
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.standard_normal((900, 600)))[0] * decay ** np.arange(600)
    truth = PCA(10, svd_solver="full").fit(X)
    options = {"svd_solver": "randomized", "iterated_power": power, "random_state": 0}
    ours, theirs = PCA(10, **options).fit(X), peer.PCA(10, **options).fit(X)
    lost, lost_by_peer = (
        1 - found.explained_variance_.sum() / truth.explained_variance_.sum()
        for found in (ours, theirs)
    )
    assert -1e-12 < lost <= lost_by_peer + 1e-12
    assert (
        ours.certificate_.value
        >= 0.99
        * np.max(np.abs(ours.explained_variance_ - truth.explained_variance_))
        / truth.explained_variance_[0]
    )


# ---------------------------------------------------------------------------- likelihood


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("k", [0, 2, 6])
def test_likelihood_is_that_of_the_gaussian(k, whiten):
    X = planted(200, 6, mean=2, dtype=np.float64)
    pca = PCA(k, whiten=whiten, svd_solver="full").fit(X)
    C = pca.get_covariance()
    np.testing.assert_allclose(pca.get_precision() @ C, np.eye(6), atol=1e-12)
    expected = stats.multivariate_normal(pca.mean_, C).logpdf(X)
    np.testing.assert_allclose(pca.score_samples(X), expected, rtol=1e-10)
    assert pca.score(X) == pytest.approx(expected.mean())
    if k == 6:
        np.testing.assert_allclose(C, np.cov(X.T), rtol=1e-10)


def test_likelihood_on_the_span_where_nothing_is_left_outside():
    X = np.random.default_rng(0).standard_normal((5, 20))
    pca = PCA().fit(X)
    assert pca.noise_variance_ == 0
    inside = pca.score_samples(X)
    expected = stats.multivariate_normal(pca.mean_, pca.get_covariance(), allow_singular=True)
    np.testing.assert_allclose(inside, expected.logpdf(X), rtol=1e-6)
    assert (pca.score_samples(X + 1.0) == -np.inf).all()


# ---------------------------------------------------------------------------- choices


def minka_by_the_book(spectrum, k, n):
    """Evidence of k components, term by term as Minka prints it, O(d^2) for one k."""
    d = len(spectrum)
    v = spectrum[k:].mean()
    hat = np.r_[spectrum[:k], np.full(d - k, v)]
    m = d * k - k * (k + 1) / 2
    i = np.arange(1, k + 1)
    half = (d - i + 1) / 2
    from scipy.special import gammaln

    value = -k * np.log(2) + (gammaln(half) - half * np.log(np.pi)).sum()
    value -= n / 2 * (np.log(spectrum[:k]).sum() + (d - k) * np.log(v))
    value += (m + k) / 2 * np.log(2 * np.pi) - k / 2 * np.log(n)
    for a in range(k):
        for b in range(a + 1, d):
            value -= 0.5 * np.log((1 / hat[b] - 1 / hat[a]) * (spectrum[a] - spectrum[b]) * n)
    return value


def test_minka_agrees_with_the_printed_formula():
    spectrum = np.sort(np.random.default_rng(0).gamma(2, size=12))[::-1]
    fast = log_evidence(spectrum, 100)
    slow = np.array([minka_by_the_book(spectrum, k, 100) for k in range(1, 12)])
    np.testing.assert_allclose(np.diff(fast), np.diff(slow), rtol=1e-9)  # up to a constant


def test_minka_finds_the_planted_number():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4)) @ rng.standard_normal((4, 15)) * 3
    X += rng.standard_normal((500, 15))
    assert PCA("mle").fit(X).n_components_ == 4
    assert PCA("mle").fit(sparse.csr_array(X)).n_components_ == 4


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("shape", [(900, 40), (40, 900), (1000, 600)], ids=str)
def test_a_fraction_works_on_any_input(container, shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape) * 0.9 ** np.arange(shape[1]) * (rng.random(shape) < 0.5)
    ours = PCA(0.8, random_state=0).fit(container(X))
    assert ours.n_components_ == peer.PCA(0.8, svd_solver="full").fit(X).n_components_
    assert ours.explained_variance_ratio_.sum() > 0.8
    assert ours.explained_variance_ratio_[:-1].sum() <= 0.8


@pytest.mark.parametrize(
    ("shape", "k", "is_sparse", "expected"),
    [
        ((100, 50), 5, False, "full"),
        ((200_000, 100), 10, False, "covariance_eigh"),
        ((5000, 2000), 20, False, "covariance_eigh"),
        ((300, 20_000), 10, False, "gram_eigh"),
        ((1000, 600), None, False, "full"),
        ((100_000, 50_000), 10, False, "randomized"),
        ((50_000, 5000), 20, True, "arpack"),
        ((50_000, 300), 20, True, "covariance_eigh"),
        ((300, 50_000), 0.9, True, "gram_eigh"),
    ],
)
def test_choice_of_solver(shape, k, is_sparse, expected):
    assert choose_solver(shape, k, sparse=is_sparse) == expected
    assert PCA.choose_solver(shape, np.int64(k) if isinstance(k, int) else k, sparse=is_sparse) == (
        expected
    )


def test_the_choice_is_stored_and_used():
    X = planted(700, 20, mean=0, dtype=np.float64)
    assert PCA(3).fit(X).solver_ == PCA.choose_solver(X.shape, 3) == "covariance_eigh"


@pytest.mark.parametrize("rule", select.RULES)
def test_a_rule_by_its_name_settles_the_number_and_leaves_its_evidence(rule):
    X = datasets.planted_subspace(300, 40, 3, noise=0.1, mean=2, random_state=0).X
    pca = PCA(n_components=rule, random_state=0).fit(X)
    assert pca.n_components_ == pca.choice_.k == 3
    plain = PCA(n_components=3).fit(X)
    np.testing.assert_allclose(pca.explained_variance_, plain.explained_variance_, rtol=1e-10)
    assert not hasattr(pca.set_params(n_components=2).fit(X), "choice_")


def test_a_rule_that_finds_nothing_says_so_and_keeps_nothing():
    X = np.random.default_rng(0).standard_normal((400, 30))
    with pytest.warns(UserWarning, match="nothing above the noise"):
        pca = PCA(n_components="flip", random_state=0).fit(X)
    assert pca.n_components_ == 0
    assert pca.transform(X).shape == (400, 0)


def test_a_rule_refuses_what_it_cannot_judge():
    X = np.random.default_rng(0).standard_normal((40, 5))
    with pytest.raises(TypeError, match=r"n_components='cv' needs dense X\. Ask for a number"):
        PCA(n_components="cv").fit(sparse.csr_array(X))
    with pytest.raises(ValueError, match="cannot be used with sample_weight"):
        PCA(n_components="cv").fit(X, sample_weight=np.ones(40))
    with pytest.raises(ValueError, match="contains NaN"):
        PCA(n_components="cv").fit(np.where(X > 2, np.nan, X))


# ---------------------------------------------------------------------------- weights


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(300, 20), (30, 60)], ids=["tall", "wide"])
@pytest.mark.parametrize(
    ("svd_solver", "container"),
    [
        *((solver, np.asarray) for solver in SOLVERS),
        *((s, sparse.csr_array) for s in ("auto", "covariance_eigh", "gram_eigh", "arpack")),
    ],
)
def test_weights_equal_repetition(svd_solver, container, shape, dtype):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal(shape) * np.linspace(3, 1, shape[1]) + 5).astype(dtype)
    weight = rng.integers(0, 5, size=shape[0])
    weighted = PCA(4, svd_solver=svd_solver, random_state=0)
    weighted.fit(container(X), sample_weight=weight)
    repeated = PCA(4, svd_solver=svd_solver, random_state=0)
    repeated.fit(container(np.repeat(X, weight, axis=0)))
    tol = 1e-12 if dtype == np.float64 else 1e-5
    for name in ("mean_", "explained_variance_", "explained_variance_ratio_", "noise_variance_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=tol)
    assert largest_angle(weighted.components_, repeated.components_) < 10 * np.sqrt(tol)
    np.testing.assert_allclose(weighted.singular_values_, repeated.singular_values_, rtol=tol)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.zeros(40), "zero"),
        (np.full(40, -1.0), "negative"),
        (np.full(40, 0.02), "add up to 0.8, and a variance needs more than 1"),
        (np.ones(39), "one number for each row"),
        (np.full(40, np.nan), "NaN or inf"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weight, words):
    X = np.random.default_rng(0).standard_normal((40, 5))
    with pytest.raises(ValueError, match=words):
        PCA().fit(X, sample_weight=weight)


# ---------------------------------------------------------------------------- missing


def with_holes(X, share=0.15, seed=1):
    holes = np.random.default_rng(seed).random(X.shape) < share
    return np.where(holes, np.nan, X), holes


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_holes_are_filled_scored_and_projected(dtype):
    truth = datasets.planted_subspace(400, 12, 2, noise=0.05, mean=3, random_state=0)
    X, holes = with_holes(truth.X.astype(dtype))
    X[7] = np.nan  # a row of which nothing is known
    pca = PCA(n_components=2, missing="em").fit(X)
    assert pca.solver_ == "em"
    assert pca.certificate_.holds
    assert pca.components_.dtype == dtype
    filled = pca.impute(X)
    assert filled.dtype == dtype
    there = ~np.isnan(X)
    np.testing.assert_array_equal(filled[there], X[there])
    np.testing.assert_allclose(filled[7], pca.mean_, rtol=1e-6)
    known = np.arange(400) != 7
    error = np.sqrt(np.mean((filled - truth.X)[known][holes[known]] ** 2))
    assert error < 1.3 * 0.05
    np.testing.assert_allclose(pca.transform(X), pca.transform(filled), atol=1e-5)
    assert largest_angle(truth.components, pca.components_) < 0.05
    with pytest.raises(ValueError, match="contains NaN"):
        PCA(n_components=2).fit(truth.X).transform(X)
    with pytest.raises(ValueError, match="infinity"):
        PCA(missing="em").fit(np.where(np.isnan(X), np.inf, X))


def test_likelihood_of_a_row_with_holes_is_that_of_what_is_there():
    X, _ = with_holes(datasets.planted_subspace(100, 6, 2, noise=0.3, random_state=0).X)
    pca = PCA(n_components=2, missing="em").fit(X)
    C, row = pca.get_covariance(), X[np.isnan(X).any(axis=1)][0]
    there = ~np.isnan(row)
    law = stats.multivariate_normal(pca.mean_[there], C[np.ix_(there, there)])
    assert pca.score_samples(row[None])[0] == pytest.approx(law.logpdf(row[there]), rel=1e-10)


def test_holes_with_weights_are_holes_in_repeated_rows():
    X, _ = with_holes(datasets.planted_subspace(200, 8, 2, noise=0.2, random_state=0).X)
    weight = np.random.default_rng(2).integers(0, 4, size=200)
    weighted = PCA(2, missing="em", tol=1e-10).fit(X, sample_weight=weight)
    repeated = PCA(2, missing="em", tol=1e-10).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(
        weighted.explained_variance_, repeated.explained_variance_, rtol=1e-6
    )
    assert weighted.noise_variance_ == pytest.approx(repeated.noise_variance_, rel=1e-6)
    assert largest_angle(weighted.components_, repeated.components_) < 1e-5


def test_a_table_without_holes_gives_plain_pca():
    X = datasets.planted_subspace(200, 8, 2, noise=0.2, mean=5, random_state=0).X
    plain, em = PCA(3).fit(X), PCA(3, missing="em").fit(X)
    assert em.solver_ == plain.solver_
    np.testing.assert_array_equal(em.components_, plain.components_)


@pytest.mark.parametrize("asked", [0.9, "mle", "gavish-donoho", "consensus"])
def test_a_rule_on_a_table_with_holes(asked):
    truth = datasets.planted_subspace(300, 15, 3, noise=0.05, mean=1, random_state=0).X
    X, _ = with_holes(truth, share=0.1)
    found = PCA(n_components=asked, missing="em", random_state=0).fit(X).n_components_
    assert found == PCA(n_components=asked, random_state=0).fit(truth).n_components_


def test_too_many_components_for_a_table_with_holes_and_columns_of_holes_are_refused():
    X, _ = with_holes(np.random.default_rng(0).standard_normal((30, 5)))
    with pytest.raises(ValueError, match=r"n_components=5 must be less than .*=5 for X with holes"):
        PCA(n_components=5, missing="em").fit(X)
    assert PCA(missing="em").fit(X).n_components_ == 4
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match="Column 2 of X has no entry"):
        PCA(n_components=2, missing="em").fit(X)


# ---------------------------------------------------------------------------- iteration


def test_an_iteration_cut_short_warns_with_the_remedy(monkeypatch):
    X = sparse.random_array((3000, 1500), density=0.01, rng=0, format="csr")

    class Stop:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...
        def on_fit_task_end(self, estimator, context):
            return context.task_name == "iteration"

    pca = PCA(5, random_state=0).set_callbacks(Stop())
    with pytest.warns(ConvergenceWarning, match="Raise tol") as caught:
        pca.fit(X)
    assert len(caught) == 1
    assert not pca.converged_
    assert not pca.certificate_.holds
    assert caught[0].filename == __file__


def test_history_of_an_iterative_fit():
    X = sparse.random_array((3000, 1500), density=0.01, rng=0, format="csr")
    pca = PCA(5, random_state=0).fit(X)
    assert pca.solver_ == "arpack"
    assert pca.converged_
    assert pca.n_iter_ > 1
    assert (np.diff(pca.objective_history_) >= 0).all()
    assert pca.objective_history_[-1] == pytest.approx(pca.explained_variance_.sum())
    assert re.search("holds$", str(pca.certificate_))


def test_inside_a_pipeline_and_a_clone():
    X = sets.load_breast_cancer().data
    pipe = clone(make_pipeline(StandardScaler(), PCA(2)))
    assert pipe.fit_transform(X).shape == (569, 2)
    assert list(pipe.get_feature_names_out()) == ["pca0", "pca1"]


# ---------------------------------------------------------------------------- bad input

GOOD = planted(40, 5, mean=1, dtype=np.float64)


def spoiled(value):
    X = GOOD.copy()
    X[3, 2] = value
    return X


BAD = {
    "empty": (np.empty((0, 5)), {}, "Found array with 0 sample"),
    "no columns": (np.empty((5, 0)), {}, "0 feature"),
    "one row": (GOOD[:1], {}, "minimum of 2 is required by PCA"),
    "one dimension": (GOOD[0], {}, "Expected 2D array"),
    "all constant": (np.full((10, 3), 0.3), {}, "Every column of X is constant"),
    "squares that vanish": (1e-160 * np.eye(10, 3), {}, "vanish in float64.* multiply it by"),
    "NaN": (spoiled(np.nan), {}, "Input X contains NaN"),
    "inf": (spoiled(np.inf), {}, "Input X contains infinity"),
    "overflow": (spoiled(1e200), {}, "squares overflow float64. Divide X by a constant"),
    "text": (np.array([["a", "b"], ["c", "d"]]), {}, "X holds text .* encode them"),
    "object": (np.array([[1, "red"], [2, "blue"]], dtype=object), {}, "X holds text .*'red'"),
    "complex": (GOOD + 1j, {}, "Complex data not supported"),
    "too many components": (GOOD, {"n_components": 6}, "n_components=6 must be between 0 and .*=5"),
    "negative": (GOOD, {"n_components": -1}, "'n_components' parameter of PCA must be"),
    "fraction above one": (GOOD, {"n_components": 1.5}, "'n_components' parameter of PCA must be"),
    "unknown rule": (GOOD, {"n_components": "many"}, "'n_components' parameter of PCA must be"),
    "unknown solver": (GOOD, {"svd_solver": "magic"}, "'svd_solver' parameter of PCA must be"),
    "mle of a wide table": (GOOD.T, {"n_components": "mle"}, "only supported if n_samples >="),
    "mle by iteration": (
        GOOD,
        {"n_components": "mle", "svd_solver": "arpack"},
        "svd_solver='auto'",
    ),
    "arpack for all": (GOOD, {"n_components": 5, "svd_solver": "arpack"}, "strictly less than"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_clear_error_and_leaves_the_model_alone(name):
    X, params, message = BAD[name]
    pca = PCA(2).fit(GOOD)
    pca.set_params(**params)
    before = dict(vars(pca))
    with pytest.raises((ValueError, TypeError), match=message) as error:
        pca.fit(X)
    assert "eigenlens/solvers" not in str(error.traceback[-1].path)
    assert vars(pca) == before
    assert pca.transform(GOOD).shape == (40, 2)


@pytest.mark.parametrize("svd_solver", ["full", "randomized"])
def test_sparse_input_is_refused_by_the_solvers_that_need_it_dense(svd_solver):
    with pytest.raises(TypeError, match="auto"):
        PCA(2, svd_solver=svd_solver).fit(sparse.csr_array(GOOD))


def test_wrong_columns_and_unfitted_models():
    pca = PCA(2).fit(GOOD)
    with pytest.raises(ValueError, match="X has 3 features, but PCA is expecting 5"):
        pca.transform(GOOD[:, :3])
    with pytest.raises(
        ValueError, match="X has 5 columns, but inverse_transform takes scores on 2"
    ):
        pca.inverse_transform(GOOD)
    for method in ("transform", "inverse_transform", "score_samples"):
        with pytest.raises(NotFittedError):
            getattr(PCA(), method)(GOOD)
    for method in ("get_covariance", "get_precision"):
        with pytest.raises(NotFittedError):
            getattr(PCA(), method)()


def test_no_component_leads_back_to_the_mean():
    X = np.random.default_rng(0).standard_normal((8, 3))
    model = PCA(0).fit(X)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X)), np.tile(X.mean(axis=0), (8, 1))
    )


@pytest.mark.parametrize("solver", ["full", "covariance_eigh", "arpack", "randomized"])
def test_squares_that_single_precision_cannot_hold_are_refused(solver):
    X = np.random.default_rng(0).standard_normal((40, 30)).astype(np.float32) * np.float32(1e35)
    with pytest.raises(ValueError, match=r"squares overflow.* [Dd]ivide X by a constant"):
        PCA(2, svd_solver=solver, random_state=0).fit(X)
    assert np.isfinite(
        PCA(2, svd_solver=solver, random_state=0).fit_transform(X.astype(float))
    ).all()


def test_sparse_scores_that_single_precision_cannot_hold_are_refused():
    X = np.random.default_rng(0).standard_normal((40, 5))
    model = PCA(2).fit(sparse.csr_array(X.astype(np.float32)))
    large = sparse.csr_array(np.full((1, 5), 3e38, np.float32) * np.sign(model.components_[:1]))
    with pytest.raises(ValueError, match=r"overflow float32. Divide X by a constant"):
        model.transform(large)


def test_variances_beside_large_means_are_not_more_than_all():
    """Of a sparse table the deviations here are rounding to a tenth."""
    noise = np.random.default_rng(94).standard_normal((3, 8))
    ratio = PCA().fit(sparse.csr_array(1e15 + noise)).explained_variance_ratio_
    assert ratio.sum() <= 1 + 1e-12


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("svd_solver", ["full", "covariance_eigh", "gram_eigh"])
def test_no_variance_comes_from_the_rounding_of_the_mean(svd_solver, weighted):
    """Rows of which one is settled by the others and the mean, which no float64 holds."""
    X = 1e15 + np.random.default_rng(0).normal(size=(3, 40))
    weight = np.array([1.0, 2.0, 3.0]) if weighted else None
    variances = PCA(svd_solver=svd_solver).fit(X, sample_weight=weight).explained_variance_
    assert variances[2] <= 1e-9 * variances[0]


def test_squares_of_singular_values_that_single_precision_cannot_hold():
    X = np.zeros((3, 8), dtype=np.float32)
    X[:2, 0], X[:, 1] = [1.6e19, -1.6e19], [1e10, 2e10, 3e10]
    model = PCA(2, svd_solver="gram_eigh").fit(X)
    np.testing.assert_allclose(model.explained_variance_[0], 1.6e19**2, rtol=1e-6)
    assert model.explained_variance_.dtype == np.float32
