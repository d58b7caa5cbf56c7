"""Multiplicative updates: the peer's iterates, optimality, holes, weights, codes."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import nnls
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from eigenlens.solvers import divergence as blocks
from eigenlens.solvers import multiplicative
from eigenlens.solvers.divergence import divergence
from eigenlens.solvers.parts import Penalty

BETAS = [-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
FREE = Penalty()
BOTH = Penalty(0.3, 0.2)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Cut even small tables into several blocks."""
    monkeypatch.setattr(blocks, "BLOCK", 150)


def table(n=40, d=15, k=4, seed=0, zeros=0.0):
    rng = np.random.default_rng(seed)
    X = rng.gamma(2.0, size=(n, k)) @ rng.gamma(0.5, size=(k, d)) * rng.gamma(5.0, size=(n, d))
    W, H = rng.uniform(0.1, 1, size=(n, k)), rng.uniform(0.1, 1, size=(k, d))
    return np.where(rng.random((n, d)) < zeros, 0.0, X), W, H


def solved(X, W, H, beta, on_W=FREE, on_H=FREE, tol=0.0, max_iter=50, **how):
    return multiplicative.solve(
        X, W, H, beta=beta, on_W=on_W, on_H=on_H, tol=tol, max_iter=max_iter, **how
    )


# ------------------------------------------------------------------------------------ the peer


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("penalised", [False, True])
@pytest.mark.parametrize(("tol", "max_iter"), [(0.0, 23), (1e-3, 200)])
def test_iterates_are_the_peers(beta, convert, penalised, tol, max_iter):
    X, W, H = table(zeros=0.0 if beta <= 0 else 0.4)
    n, d = X.shape
    alpha_W, alpha_H, ratio = (0.02, 0.01, 0.4) if penalised else (0.0, 0.0, 0.0)
    on_W = Penalty(d * alpha_W * ratio, d * alpha_W * (1 - ratio))
    on_H = Penalty(n * alpha_H * ratio, n * alpha_H * (1 - ratio))
    peer = NMF(
        4,
        init="custom",
        solver="mu",
        beta_loss=beta,
        tol=tol,
        max_iter=max_iter,
        alpha_W=alpha_W,
        alpha_H=alpha_H,
        l1_ratio=ratio,
    )
    codes = peer.fit_transform(convert(X), W=W.copy(), H=H.copy())
    found = solved(convert(X), W, H, beta, on_W, on_H, tol=tol, max_iter=max_iter)
    assert found.n_iter == peer.n_iter_
    assert_allclose(found.components, peer.components_, rtol=1e-9, atol=1e-12)
    assert_allclose(found.codes, codes, rtol=1e-9, atol=1e-12)


def test_sparse_floor_is_the_peers():
    """Between 1 and 2 a tiny entry of W H divides with a floor and multiplies without."""
    X, W, H = table()
    W[:, :2], H[:2] = 0.0, 0.0
    W[3] *= 1e-5
    H[:, 2] *= 1e-5
    peer = NMF(4, init="custom", solver="mu", beta_loss=1.3, tol=0, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        codes = peer.fit_transform(X, W=W.copy(), H=H.copy())
    found = solved(X, W, H, 1.3, max_iter=3)
    assert_allclose(found.codes, codes, rtol=1e-9)
    assert_allclose(found.components, peer.components_, rtol=1e-9)


# ------------------------------------------------------------------------------------ descent


@pytest.mark.parametrize(
    ("beta", "penalty"),
    [(beta, Penalty(l1, 0.0)) for beta in BETAS for l1 in (0.0, 3.0)]
    + [(2.0, BOTH), (2.5, BOTH), (2.5, Penalty(0.0, 5.0))],
)
def test_objective_never_rises(beta, penalty, monkeypatch):
    monkeypatch.setattr(multiplicative, "EVERY", 1)
    X, W, H = table(zeros=0.0 if beta <= 0 else 0.3)
    found = solved(X, W, H, beta, penalty, penalty, max_iter=60)
    history = found.objective_history
    assert len(history) == found.n_iter == 60
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    value = divergence(X, found.codes, found.components, beta)
    value += penalty.of(found.codes) + penalty.of(found.components)
    assert_allclose(history[-1], value)


@pytest.mark.parametrize("beta", BETAS)
def test_certificate_falls_with_the_gradient(beta):
    X, W, H = table(n=12, d=8, k=2)
    values = [solved(X, W, H, beta, max_iter=m).certificate.value for m in (1, 30, 1000)]
    assert values[0] > 2 * values[1] > 4 * values[2]
    assert values[2] < 1e-3


@pytest.mark.parametrize("beta", [1.0, 2.0, 0.5])
@pytest.mark.parametrize("factor", ["W", "H"])
def test_certificate_sees_an_entry_stuck_at_zero(beta, factor):
    X, W, H = table(n=12, d=8, k=2)
    free = solved(X, W, H, beta, max_iter=2000)
    start = {"W": free.codes.copy(), "H": free.components.copy()}
    i, j = np.unravel_index(np.argmax(start[factor]), start[factor].shape)
    start[factor][i, j] = 0.0
    stuck = solved(X, start["W"], start["H"], beta, max_iter=2000, tol=1e-12)
    assert {"W": stuck.codes, "H": stuck.components}[factor][i, j] == 0.0
    assert stuck.certificate.value > 20 * free.certificate.value
    assert not stuck.converged


@pytest.mark.parametrize("beta", BETAS)
def test_certificate_is_the_newton_gain_of_each_entry(beta):
    """Against numerical derivatives of the objective, where the divergence is convex."""
    X, W, H = table(n=5, d=4, k=2)
    weight = np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    found = solved(X, W, H, beta, BOTH, BOTH, max_iter=3, weight=weight)
    W, H = found.codes, found.components

    def value(W, H):
        fit = divergence(X, W, H, beta, weight=weight)
        return fit + BOTH.of(W, weight) + BOTH.of(H)

    gain = 0.0
    for A in (W, H):
        for place in np.ndindex(A.shape):
            w, h = A[place], 1e-4 * A[place]
            A[place] = w + h
            above = value(W, H)
            A[place] = w - h
            below = value(W, H)
            A[place] = w
            g, c = (above - below) / (2 * h), (above + below - 2 * value(W, H)) / h**2
            move = min(g / c, w)
            gain += g * move - 0.5 * c * move**2
    scale = blocks.size(X, beta, weight=weight)
    expected = np.sqrt(gain / scale)
    if 1 <= beta <= 2:
        assert_allclose(found.certificate.value, expected, rtol=1e-3)
    else:  # the curvature is an upper bound
        assert expected / 3 < found.certificate.value < expected * 1.001


# ------------------------------------------------------------------- holes, weights, numbers


@pytest.mark.parametrize("beta", BETAS)
def test_nothing_is_learned_from_holes(beta):
    """Filling the holes with the fit leaves the updates as they are, and so the fixed point."""
    X, W, H = table(n=20, d=10, k=2)
    observed = np.random.default_rng(1).random(X.shape) < 0.8
    found = solved(np.where(observed, X, 0.0), W, H, beta, max_iter=4000, observed=observed)
    filled = np.where(observed, X, found.codes @ found.components)
    again = solved(filled, found.codes, found.components, beta, max_iter=5)
    model = found.codes @ found.components
    assert_allclose(again.codes @ again.components, model, rtol=1e-3, atol=1e-3)
    assert found.certificate.value < 2e-3  # slow to the last digits


@pytest.mark.parametrize("beta", BETAS)
def test_a_full_mask_is_no_mask(beta):
    X, W, H = table()
    found = solved(X, W, H, beta, BOTH, BOTH, observed=np.ones(X.shape, bool))
    expected = solved(X, W, H, beta, BOTH, BOTH)
    assert_allclose(found.components, expected.components, rtol=1e-9)
    assert_allclose(found.certificate.value, expected.certificate.value, rtol=1e-6)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_a_weight_of_two_is_a_row_twice(beta, convert):
    X, W, H = table()
    twice = np.r_[np.arange(5), np.arange(len(X))]
    weight = np.r_[np.full(5, 2.0), np.ones(len(X) - 5)]
    found = solved(convert(X), W, H, beta, BOTH, BOTH, weight=weight)
    expected = solved(convert(X[twice]), W[twice], H, beta, BOTH, BOTH)
    assert_allclose(found.components, expected.components, rtol=1e-9)
    assert_allclose(found.objective_history, expected.objective_history, rtol=1e-9)
    assert_allclose(found.certificate.value, expected.certificate.value, rtol=1e-6)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_single_precision_is_computed_in_double(beta, convert):
    X, W, H = table()
    X32 = X.astype(np.float32)
    found = solved(convert(X32), W, H, beta)
    expected = solved(convert(X32.astype(np.float64)), W, H, beta)
    assert_allclose(found.components, expected.components, rtol=1e-12)
    codes = multiplicative.encode(convert(X32), H, beta=beta, penalty=FREE, tol=1e-4, max_iter=100)
    assert codes.dtype == np.float32


@pytest.mark.parametrize("beta", BETAS)
def test_threads_change_nothing(beta):
    X, W, H = table(n=200)
    found = solved(X, W, H, beta)
    with threadpool_limits(1):
        assert_allclose(solved(X, W, H, beta).components, found.components, rtol=1e-14)


def test_nothing_given_is_written_to():
    X, W, H = table()
    before = [A.copy() for A in (X, W, H)]
    solved(X, W, H, 1.0)
    multiplicative.encode(X, H, beta=1.0, penalty=FREE, tol=0.0, max_iter=5, W=W)
    for now, then in zip((X, W, H), before, strict=True):
        assert np.array_equal(now, then)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_empty_rows_and_columns_are_harmless(beta, convert):
    X, W, H = table()
    X[3], X[:, 5] = 0.0, 0.0
    if beta <= 0:
        X = np.maximum(X, 1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solved(convert(X), W, H, beta, max_iter=100)
    assert np.isfinite(found.codes).all()
    assert np.isfinite(found.components).all()
    assert np.isfinite(found.certificate.value)


def test_monitor_can_stop():
    X, W, H = table()
    seen = []

    def monitor(value):
        seen.append(value)
        return len(seen) == 3

    found = solved(X, W, H, 1.0, max_iter=100, monitor=monitor)
    assert found.n_iter == 30
    assert_allclose(found.objective_history, seen)


# ------------------------------------------------------------------------------------- codes


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_codes_are_row_by_row(beta, convert):
    X, _, H = table(n=60)
    X[7] *= 1000
    how = {"beta": beta, "penalty": BOTH, "tol": 1e-4, "max_iter": 300}
    codes = multiplicative.encode(convert(X), H, **how)
    for rows in ([7], [3, 50], np.arange(20, 60)):
        assert_allclose(multiplicative.encode(convert(X[rows]), H, **how), codes[rows], rtol=1e-9)


def test_codes_are_those_of_least_squares():
    X, _, H = table()
    codes = multiplicative.encode(X, H, beta=2.0, penalty=FREE, tol=1e-8, max_iter=10000)
    expected = np.array([nnls(H.T, row)[0] for row in X])
    assert_allclose(codes, expected, atol=1e-4 * expected.max())


@pytest.mark.parametrize("beta", BETAS)
def test_codes_of_a_fit_are_found_again(beta):
    X, W, H = table(n=20, d=12, k=2)
    found = solved(X, W, H, beta, max_iter=3000)
    codes = multiplicative.encode(
        X, found.components, beta=beta, penalty=FREE, tol=1e-8, max_iter=2000
    )
    assert_allclose(codes, found.codes, atol=1e-3 * codes.max())


@pytest.mark.parametrize("beta", BETAS)
def test_codes_ignore_what_is_not_observed(beta):
    X, _, H = table(n=20)
    observed = np.random.default_rng(1).random(X.shape) < 0.7
    holes = np.where(observed, X, 0.0)
    how = {"beta": beta, "penalty": FREE, "tol": 1e-6, "max_iter": 1000}
    codes = multiplicative.encode(holes, H, observed=observed, **how)
    for i in (0, 11):
        seen = observed[i]
        alone = multiplicative.encode(X[i : i + 1, seen], H[:, seen], **how)
        assert_allclose(codes[i], alone[0], atol=1e-4 * alone.max())


@pytest.mark.parametrize("beta", [1.0, 1.5, 2.0])
def test_codes_follow_the_scale(beta):
    X, _, H = table()
    how = {"beta": beta, "penalty": FREE, "tol": 1e-4, "max_iter": 100}
    codes = multiplicative.encode(X, H, **how)
    assert_allclose(multiplicative.encode(1e3 * X, 10 * H, **how), 100 * codes, rtol=1e-6)


def test_rows_with_nothing_have_no_code():
    X, _, H = table()
    X[2] = 0.0
    observed = np.ones(X.shape, bool)
    observed[5] = False
    X[5] = 0.0
    codes = multiplicative.encode(
        X, H, beta=1.0, penalty=FREE, observed=observed, tol=1e-4, max_iter=50
    )
    assert not codes[[2, 5]].any()
    assert codes[3].all()
