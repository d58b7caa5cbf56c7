"""IncrementalPCA: batches, merged parts and single rows give what PCA gives on all rows."""

import pickle
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from eigenlens import PCA, IncrementalPCA
from eigenlens.testing.exact import exact_variances

D = 40
SPECTRA = {
    "flat": np.ones(D),
    "1/j": 1 / np.arange(1, D + 1),
    "0.8^j": 0.8 ** np.arange(D),
    "spikes over noise": np.where(np.arange(D) < 4, [8, 6, 4, 2] + [0] * (D - 4), 0) + 0.1,
}


def draw(spectrum, n=2000, far=1e3, seed=0):
    """Rows with these variances in random directions, means up to `far` deviations."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((D, D)))[0]
    X = rng.standard_normal((n, D)) * np.sqrt(spectrum) @ Q
    return X + rng.uniform(-far, far, D) * X.std(axis=0)


def batches(X, seed=0):
    """The rows in another order, cut at random: from one row to many."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(1, len(X), size=12))
    return [part for part in np.split(X[rng.permutation(len(X))], cuts) if len(part)]


def assert_same(stream, X, k):
    """Hold the mean, the variances above 1e-5 of the first, and projectors at gaps of 1e-3."""
    whole = PCA(n_components=k, svd_solver="full").fit(X)
    deviation = X.std(axis=0).max()
    assert np.abs(stream.mean_ - whole.mean_).max() <= 1e-10 * np.abs(whole.mean_).max()
    assert np.abs(stream.mean_ - whole.mean_).max() <= 1e-10 * max(1, np.abs(X).max() / deviation)
    assert stream.noise_variance_ == pytest.approx(whole.noise_variance_, rel=1e-10)
    variances = whole.explained_variance_
    large = variances > 1e-5 * variances[0]
    np.testing.assert_allclose(stream.explained_variance_[large], variances[large], rtol=1e-10)
    all_variances = exact_variances(X).astype(float)
    gaps = -np.diff(all_variances, append=0)
    for j in np.flatnonzero(gaps[:k] >= 1e-3 * all_variances[0]):
        P, Q = (V[: j + 1].T @ V[: j + 1] for V in (stream.components_, whole.components_))
        assert np.abs(P - Q).max() <= 1e-8


@pytest.mark.parametrize("far", [0, 1e3])
@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("k", [6, D])
def test_random_batches_are_the_batch(name, far, k):
    X = draw(SPECTRA[name], far=far)
    stream = IncrementalPCA(n_components=k)
    for batch in batches(X):
        stream.partial_fit(batch)
    assert stream.n_samples_seen_ == len(X)
    assert_same(stream, X, k)
    assert_same(IncrementalPCA(n_components=k, batch_size=7).fit(X), X, k)


@pytest.mark.parametrize("far", [0, 1e3])
@pytest.mark.parametrize("name", SPECTRA)
def test_seven_merged_parts_are_the_whole(name, far):
    X = draw(SPECTRA[name], far=far)
    parts = [IncrementalPCA(n_components=6).partial_fit(part) for part in np.array_split(X, 7)]
    merged = parts[0]
    for part in parts[1:]:
        assert merged.merge(part) is merged
    assert merged.n_samples_seen_ == len(X)
    assert_same(merged, X, 6)


def test_single_rows_are_the_batch():
    X = draw(SPECTRA["1/j"], n=150)
    stream = IncrementalPCA(n_components=3)
    for row in X:
        stream.partial_fit(row[None])
    assert_same(stream, X, 3)


def test_sparse_batches_are_the_batch_and_a_mean_far_above_its_deviation_keeps_its_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, D)) * (rng.random((600, D)) < 0.1)
    X[:, 3] = 1e8 + rng.standard_normal(600)
    stream = IncrementalPCA(n_components=5)
    for batch in batches(X):
        stream.partial_fit(sparse.csr_array(batch))
    exact = exact_variances(X).astype(float)[:5]
    np.testing.assert_allclose(stream.explained_variance_, exact, rtol=1e-12)
    scores = stream.transform(sparse.csr_array(X))
    np.testing.assert_allclose(scores, stream.transform(X), atol=1e-6)


def test_float32_batches():
    X = draw(SPECTRA["1/j"], far=10)
    stream = IncrementalPCA(n_components=4)
    for batch in batches(X.astype(np.float32)):
        stream.partial_fit(batch)
    assert stream.components_.dtype == stream.explained_variance_.dtype == np.float32
    exact = exact_variances(X.astype(np.float32)).astype(float)[:4]
    np.testing.assert_allclose(stream.explained_variance_, exact, rtol=1e-5)
    assert stream.certificate_.holds


def test_weights_in_batches_are_copies():
    X = draw(SPECTRA["0.8^j"], n=300)
    weight = np.random.default_rng(1).integers(0, 4, size=300)
    stream = IncrementalPCA(n_components=4)
    for rows in np.array_split(np.arange(300), 5):
        stream.partial_fit(X[rows], sample_weight=weight[rows])
    whole = PCA(n_components=4).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(stream.explained_variance_, whole.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(stream.components_, whole.components_, atol=1e-9)
    assert stream.noise_variance_ == pytest.approx(whole.noise_variance_, rel=1e-12)


# ------------------------------------------------------------------------ asked for when needed


def test_the_eigenproblem_waits_until_it_is_asked_for(monkeypatch):
    calls = []
    solution = IncrementalPCA._solution
    monkeypatch.setattr(IncrementalPCA, "_solution", lambda *a: calls.append(1) or solution(*a))
    X = draw(SPECTRA["1/j"])
    stream = IncrementalPCA(n_components=3)
    for batch in batches(X):
        stream.partial_fit(batch)
    check_is_fitted(stream)
    assert not calls
    _ = stream.components_, stream.explained_variance_, stream.transform(X), stream.mean_
    assert len(calls) == 1
    stream.partial_fit(X[:5])
    _ = stream.singular_values_
    assert len(calls) == 2


def test_an_unknown_attribute_is_unknown():
    stream = IncrementalPCA().partial_fit(np.eye(4))
    assert not hasattr(stream, "nonsense_")
    with pytest.raises(NotFittedError):
        check_is_fitted(IncrementalPCA())
    assert not hasattr(IncrementalPCA(), "components_")


def test_too_few_rows_so_far_is_said_when_asked():
    stream = IncrementalPCA(n_components=3).partial_fit(np.arange(8.0).reshape(2, 4) ** 2)
    check_is_fitted(stream)
    with pytest.raises(
        NotFittedError, match="has seen 2 rows, and n_components=3 needs at least 3"
    ):
        _ = stream.components_
    stream.partial_fit(np.eye(4))
    assert stream.components_.shape == (3, 4)


def test_it_can_be_copied_pickled_and_piped_before_it_is_solved():
    X = draw(SPECTRA["1/j"], n=100)
    stream = IncrementalPCA(n_components=2).partial_fit(X)
    again = pickle.loads(pickle.dumps(stream))
    np.testing.assert_array_equal(again.components_, stream.components_)
    assert not hasattr(clone(stream), "components_")
    assert make_pipeline(StandardScaler(), IncrementalPCA(2)).fit_transform(X).shape == (100, 2)


def test_the_number_of_rows_seen_can_be_set():
    X = draw(SPECTRA["1/j"], n=400, far=1)
    stream = IncrementalPCA(n_components=2).partial_fit(X[:200])
    stream.n_samples_seen_ = 200.0
    stream.partial_fit(X[200:])
    assert stream.n_samples_seen_ == 400
    assert_same(stream, X, 2)
    stream.n_samples_seen_ = 4000  # what came before counts for more in the mean
    stream.partial_fit(X[:1] + 100)
    np.testing.assert_allclose(stream.mean_, (4000 * X.mean(0) + X[0] + 100) / 4001, rtol=1e-9)


def test_a_failed_batch_changes_nothing():
    X = draw(SPECTRA["1/j"], n=100)
    stream = IncrementalPCA(n_components=2).partial_fit(X)
    before = stream.components_.copy()
    bad = X[:3].copy()
    bad[1, 1] = np.nan
    for batch, words in ((bad, "NaN"), (X[:3, :5], "features"), (X[:0], "0 sample")):
        with pytest.raises(ValueError, match=words):
            stream.partial_fit(batch)
    assert stream.n_samples_seen_ == 100
    np.testing.assert_array_equal(stream.components_, before)


def test_what_cannot_be_merged_is_refused():
    one = IncrementalPCA().partial_fit(np.eye(4))
    with pytest.raises(ValueError, match="Fit both to the same columns"):
        one.merge(IncrementalPCA().partial_fit(np.eye(5)))
    named = IncrementalPCA().partial_fit(pd.DataFrame(np.eye(4), columns=list("abcd")))
    other = IncrementalPCA().partial_fit(pd.DataFrame(np.eye(4), columns=list("abdc")))
    with pytest.raises(ValueError, match="names differ"):
        named.merge(other)
    with pytest.raises(NotFittedError):
        one.merge(IncrementalPCA())
    with pytest.raises(ValueError, match="same max_memory"):
        one.merge(IncrementalPCA(max_memory=8).partial_fit(np.eye(4)))


def test_n_components_may_be_a_fraction_or_a_rule():
    X = draw(SPECTRA["spikes over noise"], far=1)
    for k in (0.5, 0.9, "mle"):
        stream = IncrementalPCA(n_components=k)
        for batch in batches(X):
            stream.partial_fit(batch)
        assert stream.n_components_ == PCA(n_components=k).fit(X).n_components_


# ------------------------------------------------------------------------ too wide for d x d


def wide(n=300, d=200, seed=0):
    rng = np.random.default_rng(seed)
    decay = 0.7 ** np.arange(d)
    return rng.standard_normal((n, d)) * decay @ np.linalg.qr(rng.standard_normal((d, d)))[0] + 5


def truncation_warning():
    return pytest.warns(ConvergenceWarning, match=r"had to truncate.*Raise max_memory")


def truncated(rank, d, **params):
    """A model with memory for a factor of this rank."""
    return IncrementalPCA(max_memory=8 * 4 * d * rank, **params)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_past_max_memory_the_update_is_truncated_and_the_certificate_holds_the_error(kind):
    X = wide()
    exact = exact_variances(X).astype(float)
    for rank in (8, 20, 40):
        stream = truncated(rank, X.shape[1], n_components=5)
        for batch in batches(X):
            stream.partial_fit(kind(batch))
        with truncation_warning() if rank < 40 else nullcontext():
            variances = stream.explained_variance_
        assert stream.solver_ == "truncated"
        error = np.abs(variances - exact[:5]).max() / exact[0]
        assert error <= stream.certificate_.value
        assert stream.certificate_.holds == (rank == 40)
        assert stream.total_variance_ == pytest.approx(exact.sum(), rel=1e-12)
        np.testing.assert_allclose(stream.mean_, X.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(stream.var_, X.var(axis=0), rtol=1e-12)
        np.testing.assert_allclose(stream.components_ @ stream.components_.T, np.eye(5), atol=1e-12)


def test_truncated_parts_merge_and_know_their_loss():
    X = wide()
    exact = exact_variances(X).astype(float)
    first, second = (truncated(20, 200, n_components=5).partial_fit(p) for p in np.split(X, 2))
    merged = first.merge(second)
    with truncation_warning():
        error = np.abs(merged.explained_variance_ - exact[:5]).max() / exact[0]
    assert error <= merged.certificate_.value < 1e-6
    assert merged.n_samples_seen_ == 300


def test_a_truncated_update_keeps_its_digits_far_from_zero():
    X = wide()[:, :60] + 1e8
    stream = IncrementalPCA(n_components=5, max_memory=8 * 4 * 60 * 14)
    for batch in batches(X):
        stream.partial_fit(batch)
    exact = exact_variances(X).astype(float)
    with truncation_warning():
        error = np.abs(stream.explained_variance_ - exact[:5]).max() / exact[0]
    assert stream.solver_ == "truncated"
    assert error <= stream.certificate_.value


def test_truncation_that_loses_nothing_is_exact():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6)) @ rng.standard_normal((6, 200)) + 3
    stream = truncated(10, 200, n_components=6)
    for batch in batches(X):
        stream.partial_fit(batch)
    whole = PCA(n_components=6).fit(X)
    np.testing.assert_allclose(stream.explained_variance_, whole.explained_variance_, rtol=1e-10)
    assert stream.certificate_.value < 1e-12


def test_a_failed_truncated_batch_changes_nothing():
    X = wide()
    stream = truncated(40, 200, n_components=5).partial_fit(X)
    before = pickle.loads(pickle.dumps(stream))
    bad = X.copy()
    bad[-1, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        stream.partial_fit(bad)
    for model in (stream, before):
        model.partial_fit(X[:9] + 1)
    assert stream.n_samples_seen_ == 309
    np.testing.assert_array_equal(stream.components_, before.components_)


def test_truncated_batches_whose_squares_overflow_together_are_refused():
    """Single rows have no deviations of their own."""
    X = np.random.default_rng(0).normal(size=(5, 6)) * 1e155
    with pytest.raises(ValueError, match=r"squares overflow float64. Divide X by a constant"):
        truncated(1, 6, n_components=1).fit(X)
