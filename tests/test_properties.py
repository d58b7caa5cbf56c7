"""No table breaks a fit: the answer is finite and keeps the contract, or a sentence says why not.

Each property counts what it tried, which the summary of the run adds up. ``make properties`` tries
more than fifty thousand tables.
"""

from __future__ import annotations

import re
import signal
import warnings
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest
from hostile import tables
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import get_tags

import eigenlens
from eigenlens import correlation
from eigenlens.testing import estimators
from eigenlens.testing.compare import fitted
from eigenlens.testing.exact import exact_variances

EPS = np.finfo(float).eps
FEW = 50  # tables that a property is tried on in each run of the tests
SECONDS = 60  # a fit of a table of 60 x 60 that takes longer hangs

counts = st.one_of(st.none(), st.integers(1, 6), st.integers(1, 60))
few = st.integers(1, 6)
flags = st.booleans()


def choice(*values):
    return st.sampled_from(values)


# what is drawn for each class beside its table
PARAMETERS = {
    "PCA": {
        "n_components": st.one_of(
            counts,
            st.just(0),
            choice(0.5, 0.95, 0.999999, 1e-9),
            choice("mle", "cv", "parallel", "flip", "deflation", "gavish-donoho", "consensus"),
        ),
        "whiten": flags,
        "svd_solver": choice(
            "auto", "full", "covariance_eigh", "gram_eigh", "arpack", "randomized"
        ),
    },
    "IncrementalPCA": {
        "n_components": st.one_of(counts, choice(0.5, 0.99, "mle")),
        "whiten": flags,
        "batch_size": st.one_of(st.none(), st.integers(1, 70)),
        "max_memory": choice(1e9, 1.0),
    },
    "KernelPCA": {
        "n_components": st.one_of(counts, choice(0.5, 0.99)),
        "kernel": choice(
            "linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "matern", "chi2"
        ),
        "gamma": choice(None, "scale", "median", 1.0, 1e-9, 1e9),
        "eigen_solver": choice("auto", "dense", "arpack", "randomized"),
        "remove_zero_eig": flags,
        "approximation": choice(None, None, "nystrom"),
        "fit_inverse_transform": flags,
    },
    "SparsePCA": {
        "n_components": st.one_of(st.none(), few),
        "alpha": choice(0.0, 1e-9, 0.1, 1.0, 1e9),
        "formulation": choice("l1", "l0", "elastic-net", "scotlass"),
        "method": choice("lars", "cd"),
    },
    "MiniBatchSparsePCA": {
        "n_components": st.one_of(st.none(), few),
        "alpha": choice(0.0, 1e-9, 1.0, 1e9),
        "batch_size": st.integers(1, 70),
    },
    "DictionaryLearning": {
        "n_components": st.one_of(st.none(), few),
        "alpha": choice(0.0, 1e-9, 1.0, 1e9),
        "fit_algorithm": choice("lars", "cd"),
        "transform_algorithm": choice("omp", "lars", "lasso_lars", "lasso_cd", "threshold"),
        "positive_code": flags,
        "positive_dict": flags,
        "split_sign": flags,
    },
    "MiniBatchDictionaryLearning": {
        "n_components": st.one_of(st.none(), few),
        "alpha": choice(0.0, 1e-9, 1.0, 1e9),
        "transform_algorithm": choice("omp", "lars", "lasso_lars", "lasso_cd", "threshold"),
        "batch_size": st.integers(1, 70),
        "positive_code": flags,
    },
    "NMF": {
        "n_components": st.one_of(choice("auto", None), few),
        "init": choice(None, "random", "nndsvd", "nndsvda", "nndsvdar"),
        "solver": choice("cd", "mu"),
        "beta_loss": choice("frobenius", "kullback-leibler", "itakura-saito", 0.5, 1.5, 3.0),
        "alpha_W": choice(0.0, 0.1),
        "l1_ratio": choice(0.0, 0.5, 1.0),
    },
    "MiniBatchNMF": {
        "n_components": st.one_of(choice("auto", None), few),
        "init": choice(None, "random", "nndsvd", "nndsvda"),
        "beta_loss": choice("frobenius", "kullback-leibler", "itakura-saito", 1.5),
        "batch_size": st.integers(1, 70),
    },
    "VectorQuantizer": {
        "n_components": st.integers(1, 20),
        "solver": choice("auto", "kmeans", "minibatch"),
        "init": choice("k-means++", "random"),
    },
    "RobustPCA": {
        "n_components": st.one_of(st.none(), few),
        "solver": choice("auto", "admm", "ialm", "altproj"),
        "outliers": choice("entries", "rows"),
        "noise": choice(None, None, "auto", 0.1),
        "center": flags,
    },
    "MDS": {
        "n_components": few,
        "metric_mds": flags,
        "init": choice("classical_mds", "random"),
        "solver": choice("auto", "smacof", "sgd"),
        "n_landmarks": st.one_of(st.none(), few),
    },
    "Isomap": {
        "n_components": few,
        "n_neighbors": st.integers(1, 20),
        "path_method": choice("auto", "FW", "D"),
        "eigen_solver": choice("auto", "dense", "arpack"),
        "n_landmarks": st.one_of(st.none(), few),
    },
    "TSNE": {
        "perplexity": choice(0.5, 3.0, 30.0),
        "init": choice("pca", "random"),
        "max_iter": st.just(250),
        "engine": choice("auto", "exact", "opentsne-bh"),
    },
}  # fmt: skip

# methods whose fits take long, and which are tried on fewer tables
SHARE = {"TSNE": 0.2, "MDS": 0.5, "RobustPCA": 0.5, "DictionaryLearning": 0.5}


@pytest.fixture
def trying(record_property):
    """Try a property on many tables, and count how that ended for the summary of the run."""

    def trying(holds, *drawn, share=1.0):
        ended = Counter()
        # fits take long: few tables, but in the long run
        most = FEW if settings().derandomize else settings().max_examples
        examples = max(1, int(share * most))

        @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
        @given(st.tuples(*drawn))
        def counted(values):
            with _in_time():
                ended[holds(*values)] += 1

        try:
            counted()
        finally:
            record_property("tables", dict(ended))

    return trying


@st.composite
def fits(draw, estimator):
    """Draw a model of that class, and a table that it may take."""
    kind, tags = type(estimator), get_tags(estimator).input_tags
    table = draw(tables(least=0.0 if tags.positive_only else None, sparse=tags.sparse))
    chosen = draw(st.fixed_dictionaries({}, optional=PARAMETERS[kind.__name__]))
    n, d = table.shape
    # mostly no more than there can be
    for name, most in {"n_components": min(n, d), "n_neighbors": n - 1, "n_landmarks": n}.items():
        if isinstance(count := chosen.get(name), int):
            chosen[name] = count % (most + 2)
    if "random_state" in estimator.get_params():
        chosen["random_state"] = 0
    return kind(**chosen), table


every_estimator = pytest.mark.parametrize(
    "estimator", estimators(), ids=lambda one: type(one).__name__
)


@every_estimator
def test_no_table_breaks_a_fit(estimator, trying):
    trying(_fit, fits(estimator), share=SHARE.get(type(estimator).__name__, 1.0))


def _fit(drawn):
    """Fit and look at everything; return how it ended."""
    model, table = drawn
    before = table.cells()
    with _heard():
        try:
            scores = model.fit_transform(table.X)
            again = model.transform(table.X)
        except (ValueError, TypeError, NotImplementedError) as error:
            return _refused(error)
        finally:
            assert np.array_equal(before, table.cells()), "fit changed the table"
        _look(model, len(before), scores, again)
        _look_back(model, before.shape, scores)
        _look_at_claims(model, before, scores)
        _look_at_copy(model, table, before, scores)
    return "fitted"


@pytest.mark.parametrize("svd_solver", ["full", "covariance_eigh", "gram_eigh", "auto"])
def test_pca_has_the_variances_of_any_table(svd_solver, trying):
    trying(lambda table: _has_true_variances(eigenlens.PCA(svd_solver=svd_solver), table), tables())


def test_incremental_pca_has_the_variances_of_any_batches(trying):
    def holds(table, batch_size):
        return _has_true_variances(eigenlens.IncrementalPCA(batch_size=batch_size), table)

    trying(holds, tables(), st.integers(1, 70))


def _has_true_variances(model, table):
    X = table.cells()
    try:
        model.fit(table.X)
    except ValueError as error:
        return _refused(error)
    # in units in which squares of what is small do not vanish, and none is rounded
    largest = max(float(np.abs(X.astype(np.longdouble)).max()), np.finfo(float).tiny)
    unit = float(np.ldexp(1.0, np.frexp(largest)[1] - 1))
    truth = exact_variances(X.astype(np.longdouble) / unit)[: len(model.explained_variance_)]
    found = model.explained_variance_
    rounding = 1e-4 if found.dtype == np.float32 else 1e-9
    # what can be told from zero: beside the mean, and as a number at all
    least = len(X) * EPS**2 + np.finfo(found.dtype).tiny / np.longdouble(unit) ** 2
    found = found.astype(np.longdouble) / np.longdouble(unit) ** 2
    assert np.abs(found - truth).max(initial=0) <= rounding * truth.max(initial=0) + least
    return "fitted"


def test_covariance_and_correlation_of_any_table(trying):
    def holds(table):
        X = table.cells()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"Columns? (.|\n)* constant")
            try:
                C, R = (np.asarray(f(table.X)) for f in (eigenlens.covariance, correlation))
            except ValueError as error:
                return _refused(error)
        assert np.isfinite(C).all()
        assert np.array_equal(C, C.T)
        assert (np.diag(C) >= 0).all()
        constant = (X[:1] == X).all(axis=0)
        assert np.isnan(np.diag(R))[constant].all()
        assert np.nanmax(np.abs(R), initial=0.0) <= 1
        return "found"

    trying(holds, tables())


def _look(model, n, scores, again):
    """Every number of the fit is finite, no variance negative, and shapes are right."""
    k = len(model.get_feature_names_out())
    for what, values in (("fit_transform", scores), ("transform", again)):
        assert values.shape == (n, k), f"{what} has shape {values.shape}, not {(n, k)}"
        assert np.isfinite(values).all(), f"{what} is not finite"
    for name in fitted(model):
        value = getattr(model, name)
        if not isinstance(value, float | np.ndarray) or np.asarray(value).dtype.kind != "f":
            continue
        assert np.isfinite(value).all(), f"{name} is not finite"
        if "variance" in name or "singular" in name or "err" in name or "inertia" in name:
            assert np.min(value, initial=0.0) >= 0, f"{name} is negative"
        if "ratio" in name:
            assert np.sum(value) <= 1 + 1e-5, f"{name} sums to {np.sum(value)}"
    certificate = getattr(model, "certificate_", None)
    if certificate is not None:
        assert certificate.value >= 0, f"{certificate!r}"
        assert certificate.holds or not model.converged_, f"converged_, but {certificate}"


def _look_back(model, shape, scores):
    if not hasattr(model, "inverse_transform"):
        return
    try:
        back = model.inverse_transform(scores)
    except NotFittedError:
        return  # it was not asked to learn the way back
    except ValueError as error:
        _refused(error)
        return
    assert back.shape == shape, f"inverse_transform has shape {back.shape}"
    assert np.isfinite(back).all(), "inverse_transform is not finite"


def _look_at_claims(model, X, scores):
    """What the class promises of its components holds, however odd the table."""
    components = getattr(model, "components_", np.zeros((0, 1)))
    V = np.asarray(components, dtype=np.float64)
    # not that of the scores, which may be in double where single precision cannot hold them
    rounding = 1e-3 if components.dtype == np.float32 else 1e-9
    if "orthonormal" in model.claims:
        assert np.abs(V @ V.T - np.eye(len(V))).max(initial=0.0) <= rounding
    if "bounded" in model.claims:
        assert (np.linalg.norm(V, axis=1) <= 1 + rounding).all()
    if "nonnegative" in model.claims:
        assert V.min(initial=0.0) >= 0
        assert scores.min(initial=0.0) >= 0


def _look_at_copy(model, table, before, scores):
    """The same cells as a plain array give the same bits, where the container alone differs."""
    if table.container in ("list", "pandas", "read-only"):
        plain = clone(model).fit_transform(before)
        assert np.array_equal(plain, scores), "a plain array gives other scores"


@every_estimator
def test_rows_that_single_precision_cannot_hold_are_refused(estimator):
    X = 9 * np.random.default_rng(0).random((12, 4)).astype(np.float32)
    model = estimator.fit(X)
    if not hasattr(model, "inverse_transform") or not hasattr(model, "components_"):
        pytest.skip("the way back is not through components")
    scores = model.transform(X)
    model.components_ = np.full_like(model.components_, 10)
    with pytest.raises(ValueError, match=r"so large .* Divide X by a constant"):
        model.inverse_transform(np.full_like(scores, 3e38))


# Warnings that go with an answer.
WARNED = [
    "n_components='.*' finds nothing above the noise",
    "The kernel is not positive definite: its smallest eigenvalue is",
    "All rows of X are equal in the feature space of the kernel",
    r"n_components=\d+ is more than the \d+ rows of X, and no more than \d+ components",
    r"\d+ landmarks give (\d+ components|\d+% of the variance), not n_components=",
    r"The number of connected components of the neighbors graph is \d+",
    r"n_components=\d+ is more than the \d+ rows of X, and no more than \d+ coordinates",
    "The provided input is a square matrix. Note that fit takes its rows as samples",
    "Nothing of X but its mean is of low rank: no component is kept",
    r"\d+ of \d+ components are all zero with alpha=",
    r"The multiplicative update \('mu'\) solver cannot update zeros present in the initialization",
    r"\s*Orthogonal matching pursuit ended prematurely due to linear dependence",
]

# Refusals, each of which says what was given and what to do.
CLEAR = [
    r"Found array with \d+ sample\(s\) \(shape=.* while a minimum of \d+ is required by",
    r"n_components=\d+ must be between \d+ and min\(n_samples, n_features\)=\d+ .* Ask for at most",
    r"n_components=\d+ invalid for n_features=\d+, need more rows .* Ask for at most",
    r"IncrementalPCA has seen \d+ rows, and n_components=\d+ needs at least .* Give more rows",
    r"Every column of X is constant.* Check that X holds the data you mean",
    r"n_components='?.*'? cannot be a string with svd_solver=.* Take svd_solver='auto'",
    r"n_components='mle' is only supported if n_samples >= n_features.* Ask for a number",
    r"n_components=\d+ must be strictly less than min.* Take svd_solver='auto'",
    r"X contains negative values, and kernel=.* Take another kernel",
    r"fit_inverse_transform takes the kernel between scores, and .* Take preimage='learned'",
    r"The 'n_components' parameter of \w+ must be ",
    r"The 'n_neighbors' parameter of \w+ must be ",
    r"The 'n_landmarks' parameter of \w+ must be ",
    r"The weights of the rows add up to at most \d+, and a covariance .* Give more rows",
    r"n_components='.*' needs dense X. Ask for a number",
    r"Sparse data was passed, but dense data is required. Use '.toarray\(\)'",
    r"only support sparse inputs with the .* Take svd_solver=",
    r"n_components=\d+ is more than n_samples=\d+. Ask for at most",
    r"n_neighbors=\d+ needs at least \d+ rows, .* Ask for at most",
    r"n_landmarks=\d+ cannot place points in \d+ dimensions, .* Some hundred",
    r"n_landmarks=\d+ points cannot settle a place in \d+ dimensions. Take at least",
    r"n_components=\d+ is more than the \d+ rows of X, which fit .* Ask for fewer",
    r"X holds distances of .* at most, and their squares vanish in .* Multiply X by",
    r"init = '.*' can only be used when n_components <= min.* take init='random'",
    r"beta_loss <= 0 and X contains zeros, .* Please add small values to X, or use",
    r"solver 'cd' does not handle beta_loss = .* Take solver='mu'",
    r"n_components=\d+ asks for a given rank, and solver='.*' finds its own. Take",
    r"solver='.*' knows no noise. Take",
    r"solver='altproj' needs n_components, the rank. Give it, or take",
    r"n_components=\d+ is more than min\(n_samples, n_features\)=\d+. Ask for at most",
    r"perplexity \(.*\) must be less than n_samples \(\d+\), .* Ask for less than",
    r"Positive constraint not supported for .* Take transform_algorithm=",
    r"approximation needs a kernel that is positive definite.* Take another kernel",
    r"the kernel is not positive definite, and of the .* another kernel, such as kernel='rbf'",
    r"The kernel \(\w+\) gives NaN or inf for some rows of X, .* or scale X",
    r"Inverse transform not implemented for sparse matrices! Take X.toarray\(\)",
    r"formulation='.*' needs (n_nonzero|l1_bound), .* Give a",
    r"values so large that their squares overflow.* [Dd]ivide X by a constant",
]


def _refused(error):
    """Count a refusal that says what to do; any other error fails the property."""
    if isinstance(error, np.linalg.LinAlgError) or not any(
        re.search(pattern, str(error)) for pattern in CLEAR
    ):
        raise error
    return "refused"


@contextmanager
def _heard():
    """Let any warning fail but those that tell of an answer what a user should know."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        for message in WARNED:
            warnings.filterwarnings("ignore", message)
        yield


@contextmanager
def _in_time():
    def late(*_):
        raise AssertionError(f"a fit takes longer than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
