"""Rows on a known subspace: against linear programming, a smooth minimiser, and the truth."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from threadpoolctl import threadpool_limits

from eigenlens.ops.deviations import absolute_deviations
from eigenlens.solvers.l1_regression import _length, fit_rows, least_squares


def subspace(d, k, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, k)))[0].T


def rows(n, d, seed=0, missing=0.0, mean=0.0):
    """Return rows with nothing in common with any subspace, of heavy tails."""
    r = np.random.default_rng(seed)
    X = mean + r.standard_t(2, (n, d))
    X[r.random((n, d)) < missing] = np.nan
    return X


def deviations(X, mean, V, t):
    return np.nansum(np.abs(X - mean - t @ V), axis=1)


def program(x, V):
    """Return the least sum of absolute deviations of one row, by linear programming."""
    seen = ~np.isnan(x)
    A, k, m = V[:, seen].T, len(V), seen.sum()
    cost = np.concatenate([np.zeros(k), np.ones(2 * m)])
    found = linprog(
        cost,
        A_eq=np.hstack([A, np.eye(m), -np.eye(m)]),
        b_eq=x[seen],
        bounds=[(None, None)] * k + [(0, None)] * (2 * m),
    )
    return found.fun


def huber(r, knee):
    r = np.abs(r[~np.isnan(r)])
    return np.where(r >= knee, r - knee / 2, r**2 / (2 * knee)).sum()


def test_a_step_goes_as_far_as_the_sum_falls():
    r = np.random.default_rng(0)
    stays = 0
    for _ in range(200):
        rest, change = r.standard_t(2, (2, r.integers(1, 12)))
        knee = np.exp(r.normal())
        change = change * (r.random(len(change)) < 0.8)
        s = _length(rest, change, knee)
        at = [huber(rest - t * change, knee) for t in (s, s + 1e-3, max(s - 1e-3, 0.0))]
        assert at[0] <= min(at) + 1e-12
        stays += s == 0
    assert 20 < stays < 180


@pytest.mark.parametrize(("d", "k"), [(30, 1), (20, 4), (40, 10), (12, 11)])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_deviations_are_as_small_as_those_of_linear_programming(d, k, missing):
    V = subspace(d, k)
    X = rows(15, d, missing=missing)
    found = deviations(X, 0.0, V, fit_rows(X, np.zeros(d), V))
    best = [program(x, V) for x in X]
    np.testing.assert_allclose(found, best, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("values", [2, 5])
def test_ties_do_no_harm(missing, values):
    """Of small integers many residuals vanish at once: a walk along edges may go in circles."""
    r = np.random.default_rng(values)
    V = np.kron(np.eye(3), np.full((1, 8), 8**-0.5)) if values == 2 else subspace(24, 3)
    X = r.integers(0, values, (20, 24)).astype(float)
    X[r.random(X.shape) < missing] = np.nan
    found = deviations(X, 0.0, V, fit_rows(X, np.zeros(24), V))
    np.testing.assert_allclose(found, [program(x, V) for x in X], atol=1e-6)


@pytest.mark.parametrize("knee", [0.0, 0.5])
def test_a_component_that_is_not_seen_gets_what_it_can(knee):
    """The others are what they are without it, and it is finite."""
    V = np.kron(np.eye(4), np.full((1, 5), 5**-0.5))
    X = np.random.default_rng(0).standard_normal((10, 20))
    X[:, :5] = np.nan
    found = fit_rows(X, np.zeros(20), V, knee=knee)
    others = fit_rows(X[:, 5:], np.zeros(15), V[1:, 5:], knee=knee)
    np.testing.assert_allclose(found[:, 1:], others, atol=1e-6)
    assert np.abs(found[:, 0]).max() < 1e3


@pytest.mark.parametrize("loop", [absolute_deviations, absolute_deviations.__wrapped__])
@pytest.mark.parametrize("k", [1, 4])
def test_from_any_vertex_it_comes_to_the_best(loop, k):
    r = np.random.default_rng(k)
    A, y = r.standard_normal((15, k)), r.standard_t(1, 15)
    values = []
    for _ in range(5):
        basis = r.permutation(15)[:k].astype(np.int64)
        t = np.zeros(k)
        loop(y, A, t, basis, np.linalg.inv(A[basis]), 1000)
        np.testing.assert_allclose(A[basis] @ t, y[basis], rtol=1e-9)
        values.append(np.abs(y - A @ t).sum())
    np.testing.assert_allclose(values, program(y, A.T), rtol=1e-9)


@pytest.mark.parametrize("knee", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_with_a_knee_it_is_huber_s_regression(knee, missing):
    V = subspace(20, 4)
    X = rows(10, 20, missing=missing)
    T = fit_rows(X, np.zeros(20), V, knee=knee)

    def loss(t, x):
        r = x - t @ V
        slope = np.where(np.isnan(r), 0.0, np.clip(r / knee, -1, 1))
        return huber(r, knee), -V @ slope

    for x, t in zip(X, T, strict=True):
        best = minimize(loss, np.zeros(4), args=(x,), jac=True, tol=1e-12).fun
        value, slope = loss(t, x)
        assert value == pytest.approx(best, rel=1e-8)
        np.testing.assert_allclose(slope, 0, atol=1e-5)


@pytest.mark.parametrize("knee", [1e-6, 5e-324])
def test_with_a_knee_near_zero_it_is_least_absolute_deviations(knee):
    # few residuals are below the knee on the way: steps that are only halved stay far above
    V = subspace(60, 30)
    X = np.random.default_rng(0).standard_normal((6, 60))
    T = fit_rows(X, np.zeros(60), V, knee=knee)
    for x, t in zip(X, T, strict=True):
        assert np.abs(x - t @ V).sum() == pytest.approx(program(x, V), rel=1e-5)


def test_with_a_knee_beyond_all_residuals_it_is_least_squares():
    V, mean = subspace(20, 4), np.linspace(-1, 1, 20)
    X = np.random.default_rng(0).standard_normal((30, 20))
    np.testing.assert_allclose(fit_rows(X, mean, V, knee=1e3), (X - mean) @ V.T, atol=1e-6)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_minority_of_wrong_entries_moves_nothing(size, missing):
    r = np.random.default_rng(0)
    V, mean, T = subspace(60, 5), r.standard_normal(60), r.standard_normal((200, 5))
    X = mean + T @ V
    wrong = r.random(X.shape) < 0.1
    X[wrong] += size * r.choice([-1, 1], wrong.sum())
    X[r.random(X.shape) < missing] = np.nan
    np.testing.assert_allclose(fit_rows(X, mean, V), T, atol=1e-6)


@pytest.mark.parametrize("knee", [0.0, 0.5])
def test_no_row_depends_on_those_beside_it(knee):
    V, mean = subspace(25, 4), np.ones(25)
    X = rows(40, 25, missing=0.2)
    X[3] *= 1e6
    X[4] = np.nan
    X[5] = 1.0
    together = fit_rows(X, mean, V, knee=knee)
    for i, x in enumerate(X):
        alone = fit_rows(x[None], mean, V, knee=knee)[0]
        np.testing.assert_allclose(alone, together[i], rtol=1e-7, atol=1e-7)
    half = fit_rows(X[::-2], mean, V, knee=knee)
    np.testing.assert_allclose(half, together[::-2], rtol=1e-7, atol=1e-7)


def test_rows_of_more_than_one_block():
    V = subspace(2000, 3)
    T = np.random.default_rng(0).standard_normal((150, 3))
    X = T @ V
    X[:, :200] = 9.0
    found = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            found.append(fit_rows(X, np.zeros(2000), V))
    np.testing.assert_allclose(found[0], T, atol=1e-6)
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_does_not_depend_on_units(scale):
    V = subspace(25, 4)
    X = rows(20, 25, missing=0.2)
    one, other = fit_rows(X, np.zeros(25), V), fit_rows(scale * X, np.zeros(25), V)
    np.testing.assert_allclose(other / scale, one, rtol=1e-6, atol=1e-6)


def test_empty_rows_get_zeros():
    V, mean = subspace(6, 2), np.ones(6)
    X = rows(3, 6)
    X[1] = np.nan
    for solve in (fit_rows, least_squares):
        T = solve(X, mean, V)
        np.testing.assert_array_equal(T[1], [0, 0])
        assert np.isfinite(T).all()
        assert T[[0, 2]].all()


@pytest.mark.parametrize("solve", [fit_rows, least_squares])
def test_no_rows_no_directions_and_rows_at_the_mean(solve):
    mean = np.ones(6)
    assert solve(np.empty((0, 6)), mean, subspace(6, 2)).shape == (0, 2)
    assert solve(rows(3, 6), mean, np.empty((0, 6))).shape == (3, 0)
    np.testing.assert_array_equal(solve(np.ones((2, 6)), mean, subspace(6, 2)), np.zeros((2, 2)))


def test_single_precision_gives_its_own():
    V = subspace(60, 5)
    T = np.random.default_rng(0).standard_normal((50, 5))
    X = T @ V
    X[:, :6] = 5.0
    found = fit_rows(X.astype(np.float32), np.zeros(60, np.float32), V.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, T, atol=1e-4)


def test_least_squares_of_what_was_observed():
    V, mean = subspace(20, 4), np.linspace(-1, 1, 20)
    X = rows(30, 20, missing=0.3)
    X[0] = np.random.default_rng(1).standard_normal(20)
    for x, t in zip(X, least_squares(X, mean, V), strict=True):
        seen = ~np.isnan(x)
        best = np.linalg.lstsq(V[:, seen].T, (x - mean)[seen], rcond=None)[0]
        np.testing.assert_allclose(t, best, atol=1e-9)


@pytest.mark.parametrize("solve", [fit_rows, least_squares])
def test_leaves_the_rows_alone(solve):
    X = rows(10, 6, missing=0.2)
    before = X.copy()
    solve(X, np.ones(6), subspace(6, 2))
    np.testing.assert_array_equal(X, before)
