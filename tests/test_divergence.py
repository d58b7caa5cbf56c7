"""The beta-divergence: its formulas, its limits, sparse tables, weights and holes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats
from sklearn.decomposition._nmf import _beta_divergence

from eigenlens.ops.sampled import products, sampled_product
from eigenlens.solvers import divergence as module
from eigenlens.solvers.divergence import (
    EPSILON,
    divergence,
    saturated,
    size,
)

BETAS = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Cut even small tables into several blocks."""
    monkeypatch.setattr(module, "BLOCK", 64)


def table(n=30, d=12, k=3, seed=0, zeros=0.0):
    rng = np.random.default_rng(seed)
    X, W, H = rng.gamma(2.0, size=(n, d)), rng.gamma(2.0, size=(n, k)), rng.gamma(1.0, size=(k, d))
    return np.where(rng.random((n, d)) < zeros, 0.0, X), W, H


def plain(x, y, beta):
    """Return the divergence of each entry by the book."""
    if beta == 1:
        return np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / y), 0) - x + y
    if beta == 0:
        return x / y - np.log(x / y) - 1
    return (x**beta + (beta - 1) * y**beta - beta * x * y ** (beta - 1)) / (beta * (beta - 1))


@pytest.mark.parametrize("beta", BETAS)
def test_formula(beta):
    X, W, H = table(zeros=0.3 if beta > 0 else 0.0)
    expected = plain(X, W @ H, beta)
    assert_allclose(divergence(X, W, H, beta), expected.sum(), rtol=1e-12)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    assert_allclose(divergence(X, W, H, beta, weight=weight), weight @ expected.sum(axis=1))
    assert divergence(W @ H, W, H, beta) == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("beta", BETAS)
def test_weight_two_is_the_row_twice(beta):
    X, W, H = table()
    weight = np.r_[2.0, np.ones(len(X) - 1)]
    twice = divergence(np.vstack([X[:1], X]), np.vstack([W[:1], W]), H, beta)
    assert_allclose(divergence(X, W, H, beta, weight=weight), twice)


@pytest.mark.parametrize("beta", BETAS)
def test_only_what_is_observed_counts(beta):
    X, W, H = table()
    observed = np.random.default_rng(1).random(X.shape) < 0.7
    expected = plain(X, W @ H, beta)[observed].sum()
    holes = np.where(observed, X, 0.0)
    assert_allclose(divergence(holes, W, H, beta, observed=observed), expected)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_conventions_are_the_peers(beta, convert):
    """Zeros of X, tiny entries of X and zeros of W H, all that the formula has no answer for."""
    X, W, H = table(zeros=0.0 if beta < 0 else 0.5)
    X[0, :4] = EPSILON / 3
    if beta >= 0:  # where the peer gives inf, the floor is ours
        W[1] = 0.0
    expected = _beta_divergence(X, W, H, beta)
    assert_allclose(divergence(convert(X), W, H, beta), expected, rtol=1e-11)


@pytest.mark.parametrize("beta", BETAS)
def test_zero_rows_of_the_model_give_a_finite_number(beta):
    X, W, H = table()
    W[1] = 0.0
    with np.errstate(all="raise"):
        assert np.isfinite(divergence(X, W, H, beta))


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_dense(beta, dtype):
    X, W, H = (A.astype(dtype) for A in table(zeros=0.6))
    X[4] = 0.0
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    expected = divergence(X, W, H, beta, weight=weight)
    assert_allclose(divergence(sparse.csr_array(X), W, H, beta, weight=weight), expected)
    assert isinstance(expected, float)


@pytest.mark.parametrize("beta", BETAS)
def test_single_precision_is_summed_in_double(beta):
    X, W, H = (A.astype(np.float32) for A in table())
    exact = divergence(*(A.astype(np.float64) for A in (X, W, H)), beta)
    assert_allclose(divergence(X, W, H, beta), exact, rtol=1e-14)


def test_no_cancellation_near_an_exact_fit():
    X, W, H = table()
    rest = 1e-9 * np.random.default_rng(1).normal(size=X.shape)
    Y = W @ H + rest
    assert_allclose(divergence(Y, W, H, 2.0), 0.5 * np.sum((Y - W @ H) ** 2), rtol=1e-12)


def test_sparse_squares_are_not_negative():
    _, W, H = table()
    assert divergence(sparse.csr_array(W @ H), W, H, 2.0) >= 0.0


@pytest.mark.parametrize("beta", [0.0, 1.0])
@pytest.mark.parametrize("step", [-1e-6, 1e-6])
def test_continuous_in_beta(beta, step):
    X, W, H = table()
    assert_allclose(divergence(X, W, H, beta + step), divergence(X, W, H, beta), rtol=1e-4)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_poisson(convert):
    _, W, H = table()
    X = np.random.default_rng(1).poisson(W @ H).astype(float)
    weight = np.random.default_rng(2).uniform(0.5, 2, len(X))
    each = stats.poisson.logpmf(X, W @ H).sum(axis=1)
    best = stats.poisson.logpmf(X, X).sum(axis=1)
    Y = convert(X)
    assert_allclose(divergence(Y, W, H, 1.0), (best - each).sum(), rtol=1e-11)
    assert_allclose(saturated(Y), best.sum(), rtol=1e-12)
    fallen = divergence(Y, W, H, 1.0, weight=weight)
    assert_allclose(saturated(Y, weight=weight) - fallen, weight @ each, rtol=1e-12)


def test_poisson_of_what_is_observed():
    _, W, H = table()
    X = np.random.default_rng(1).poisson(W @ H).astype(float)
    observed = np.random.default_rng(2).random(X.shape) < 0.7
    expected = stats.poisson.logpmf(X, W @ H)[observed].sum()
    Y = np.where(observed, X, 0.0)
    assert_allclose(
        saturated(Y) - divergence(Y, W, H, 1.0, observed=observed), expected, rtol=1e-12
    )


@pytest.mark.parametrize(("beta", "power"), [(0.0, 0), (0.5, 0.5), (1.0, 1), (2.0, 2), (3.0, 3)])
def test_size(beta, power):
    X, _, _ = table(zeros=0.5)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    powers = np.where(X > 0, np.where(X > 0, X, 1) ** power, 0).sum(axis=1)
    for Y in (X, sparse.csr_array(X)):
        assert_allclose(size(Y, beta, weight=weight), weight @ powers / max(beta, 1))


def test_sampled_product_and_its_twin():
    X, W, H = table(zeros=0.7)
    pattern = sparse.csr_array(X)
    expected = (W @ H)[pattern.nonzero()]
    Ht, out = np.ascontiguousarray(H.T), np.empty(pattern.nnz)
    assert_allclose(sampled_product(W, Ht, pattern), expected)
    products.__wrapped__(pattern.indptr, pattern.indices, W, Ht, out)
    assert_allclose(out, expected)
