"""Moments, covariance and correlation: any batches, weights, holes, names; digits kept."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import eigenlens
from eigenlens import Moments
from eigenlens.measure.covariance import correlation, covariance


def table(n=200, d=6, mean=0.0, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    return (mixed + mean * rng.uniform(0.5, 1, d)).astype(dtype)


def exact(X, weight=None):
    """Mean and scatter in long double."""
    A = np.asarray(X, dtype=np.longdouble)
    w = np.ones(len(A)) if weight is None else np.asarray(weight, dtype=np.longdouble)
    mean = w @ A / w.sum()
    return mean, ((A - mean).T * w) @ (A - mean)


def with_holes(X, share=0.2, seed=1):
    holes = np.random.default_rng(seed).random(X.shape) < share
    return np.where(holes, np.nan, X)


# ------------------------------------------------------------------------------------- Moments


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix, pd.DataFrame])
@pytest.mark.parametrize("mean", [0, 1e8])
def test_batches_in_any_size_give_the_sums_of_all_rows(kind, mean):
    X = table(mean=mean)
    moments = Moments()
    for batch in np.split(X, [1, 2, 50, 50, 199]):
        moments.update(kind(batch))
    exact_mean, S = exact(X)
    assert (moments.count, moments.mass) == (200, 200.0)
    assert np.abs(moments.mean - exact_mean).max() <= 1e-14 * max(1, mean)
    assert np.abs(moments.scatter - S).max() <= 1e-14 * np.abs(S).max()


def test_a_thousand_single_rows_keep_their_digits():
    X = table(1000, 5, mean=1e8)
    moments = Moments()
    for row in X:
        moments.update(row[None])
    S = exact(X)[1].astype(float)
    assert np.abs(moments.scatter - S).max() <= 1e-13 * np.abs(S).max()


def test_float32_rows_are_added_up_in_float64():
    X = table(100_000, 3, mean=1e3, dtype=np.float32)
    moments = Moments()
    for batch in np.array_split(X, 100):
        moments.update(batch)
    S = exact(X)[1].astype(float)
    assert moments.dtype == np.float32
    assert moments.scatter.dtype == np.float64
    assert np.abs(moments.scatter - S).max() <= 1e-6 * np.abs(S).max()


def test_merged_parts_in_any_order_are_the_whole():
    X = table(mean=1e4)
    parts = [Moments().update(part) for part in np.array_split(X, 7)]
    forward, backward = Moments(), Moments()
    for part in parts:
        forward.merge(part)
    for part in parts[::-1]:
        backward.merge(part)
    S = exact(X)[1].astype(float)
    for merged in (forward, backward):
        np.testing.assert_allclose(merged.scatter, S, rtol=1e-12, atol=1e-9)
    assert parts[0].count == 29
    assert forward.count == 200


def test_merging_with_nothing_changes_nothing():
    moments = Moments().update(table())
    before = moments.scatter.copy()
    moments.update(table()[:0])
    np.testing.assert_array_equal(moments.scatter, before)
    assert moments.count == 200


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_weights_are_numbers_of_copies(kind):
    X = table(mean=100)
    weight = np.random.default_rng(0).integers(0, 5, size=len(X))
    weighted = Moments().update(kind(X[:80]), weight[:80]).update(kind(X[80:]), weight[80:])
    repeated = Moments().update(np.repeat(X, weight, axis=0))
    assert weighted.mass == repeated.mass == weight.sum()
    assert weighted.count == np.count_nonzero(weight)
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-13)
    np.testing.assert_allclose(weighted.scatter, repeated.scatter, rtol=1e-12, atol=1e-10)


def test_a_sparse_column_with_a_mean_far_above_its_deviation_keeps_its_digits():
    X = table(500, 4)
    X[:, 0] += 1e8
    X[:, 1:] *= np.random.default_rng(3).random((500, 3)) < 0.2
    moments = Moments()
    for batch in np.array_split(X, 9):
        moments.update(sparse.csr_array(batch))
    S = exact(X)[1].astype(float)
    np.testing.assert_allclose(moments.scatter, S, rtol=1e-12, atol=1e-10)


def test_a_failed_update_adds_nothing():
    moments = Moments().update(table())
    before = (moments.count, moments.mean.copy(), moments.scatter.copy())
    for bad in (
        np.full((2, 6), np.nan),
        np.outer([1e200, -1e200], np.ones(6)),
        np.ones((2, 5)),
        np.ones(6),
    ):
        with pytest.raises(ValueError, match=r"NaN|columns|dimension"):
            moments.update(bad)
    assert moments.count == before[0]
    np.testing.assert_array_equal(moments.mean, before[1])
    np.testing.assert_array_equal(moments.scatter, before[2])


@pytest.mark.parametrize(
    ("X", "weight", "words"),
    [
        ([["a", "b"]], None, "not a number"),
        (np.ones((2, 2), complex), None, "complex"),
        (np.ones((3, 2)), [1, 1], "one number for each row"),
        (np.ones((3, 2)), [1, -1, 1], r"sample_weight\[1\]=-1 is negative"),
        (np.ones((3, 2)), [0, 0, 0], "zero"),
        (np.ones((3, 2)), [1, np.inf, 0], "NaN or inf"),
    ],
)
def test_bad_rows_and_weights_are_refused_with_a_remedy(X, weight, words):
    with pytest.raises(ValueError, match=words):
        Moments().update(X, weight)


def test_covariance_needs_more_rows_than_ddof():
    one = Moments().update([[1.0, 2.0]])
    np.testing.assert_array_equal(one.covariance(ddof=0), np.zeros((2, 2)))
    for ddof in (1, 2.5):
        with pytest.raises(ValueError, match="Give more rows"):
            one.covariance(ddof)
    assert repr(one) == "Moments(count=1, mass=1, columns=2)"


# ---------------------------------------------------------------------- covariance, correlation


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("mean", [0, 1e7])
def test_covariance_is_numpys_in_float64(ddof, mean):
    X = table(mean=mean)
    np.testing.assert_allclose(covariance(X, ddof=ddof), np.cov(X.T, ddof=ddof), rtol=1e-9)
    np.testing.assert_allclose(correlation(X), np.corrcoef(X.T), rtol=1e-9, atol=1e-12)


def test_covariance_with_weights_is_numpys_with_frequencies():
    X, weight = table(), np.random.default_rng(0).integers(0, 4, size=200)
    np.testing.assert_allclose(
        covariance(X, sample_weight=weight), np.cov(X.T, fweights=weight), rtol=1e-12, atol=1e-12
    )


def test_covariance_of_sparse_and_of_moments_is_that_of_the_table():
    X = table() * (np.random.default_rng(1).random((200, 6)) < 0.3)
    for same in (sparse.csr_array(X), sparse.csc_matrix(X), Moments().update(X)):
        np.testing.assert_allclose(covariance(same), np.cov(X.T), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(correlation(same), np.corrcoef(X.T), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("mean", [0, 1e6])
def test_holes_are_left_out_pair_by_pair_as_in_pandas(mean):
    X = with_holes(table(mean=mean))
    frame = pd.DataFrame(X)
    np.testing.assert_allclose(covariance(X), frame.cov(), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(correlation(X), frame.corr(), rtol=1e-8, atol=1e-9)
    n = (~np.isnan(X)).T.astype(float) @ ~np.isnan(X)  # pandas ignores ddof where there are holes
    np.testing.assert_allclose(covariance(X, ddof=0), frame.cov() * (n - 1) / n, rtol=1e-8)


def test_holes_and_weights_are_holes_in_repeated_rows():
    X = with_holes(table())
    weight = np.random.default_rng(0).integers(0, 4, size=200)
    repeated = np.repeat(X, weight, axis=0)
    for measure in (covariance, correlation):
        np.testing.assert_allclose(measure(X, sample_weight=weight), measure(repeated), rtol=1e-11)


def test_columns_that_never_meet_have_no_covariance():
    X = np.array([[1, np.nan, 1], [2, np.nan, 3], [np.nan, 3, 2], [np.nan, 5, 7.0]])
    C = covariance(X)
    assert np.isnan(C[0, 1])
    assert np.isnan(correlation(X)[0, 1])
    assert np.isfinite(np.delete(C.ravel(), [1, 3])).all()


def test_a_table_with_names_gives_a_table_with_names():
    X, names = table(), list("abcdef")
    C = covariance(pd.DataFrame(X, columns=names))
    assert list(C.index) == list(C.columns) == names
    np.testing.assert_allclose(C, np.cov(X.T), rtol=1e-12)
    R = correlation(pl.DataFrame(X, schema=names))
    assert isinstance(R, pl.DataFrame)
    assert R.columns == names
    np.testing.assert_allclose(R.to_numpy(), np.corrcoef(X.T), rtol=1e-12)


def franke_design(degree=5, n=20):
    """The polynomial design matrix of the seeds: its first column is the constant 1."""
    x, y = (side.ravel() for side in np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n)))
    return {
        f"x^{i - j} y^{j}": x ** (i - j) * y**j for i in range(degree + 1) for j in range(i + 1)
    }


def test_the_constant_column_of_the_franke_design_is_named_and_nan():
    frame = pd.DataFrame(franke_design())
    with pytest.warns(UserWarning, match=r"Column x\^0 y\^0 is constant") as caught:
        R = correlation(frame)
    assert len(caught) == 1
    assert R.iloc[0].isna().all()
    assert R.iloc[:, 0].isna().all()
    rest = frame.iloc[:, 1:]
    np.testing.assert_allclose(
        R.iloc[1:, 1:], np.corrcoef(rest.to_numpy().T), rtol=1e-10, atol=1e-15
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        C = covariance(frame)
    np.testing.assert_allclose(C, np.cov(frame.to_numpy().T), rtol=1e-10, atol=1e-15)


def test_constant_columns_with_holes_and_without_names_are_named_by_number():
    X = with_holes(table())
    X[:, 2] = np.where(np.isnan(X[:, 2]), np.nan, 0.1)
    X[:, 4] = 1e9
    with pytest.warns(UserWarning, match="Columns x2, x4 are constant"):
        R = correlation(X)
    assert np.isnan(R[[2, 4]]).all()
    np.testing.assert_array_equal(np.diag(R)[[0, 1, 3, 5]], 1.0)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.array([[1.0, np.inf], [2.0, 3.0]]), "inf"),
        (sparse.csr_array([[np.nan, 1.0], [1.0, 2.0]]), "Sparse X holds NaN"),
        (np.array([[1.0, np.nan], [2.0, np.nan]]), "Column 1 of X holds nothing but NaN"),
        (np.array([[1.0, 2.0]]), "Give more rows"),
        ([["a", "b"], ["c", "d"]], "convert"),
    ],
)
def test_what_has_no_covariance_is_refused_with_a_remedy(X, words):
    with pytest.raises(ValueError, match=words):
        covariance(X)


def test_they_are_public():
    assert eigenlens.covariance is covariance
    assert eigenlens.correlation is correlation
