"""Lower bounds of the pursuit objective: below the optimum always, sharp at its multiplier."""

from itertools import product

import numpy as np
import pytest
from pursuit_tables import hard, lengths, objective, proximal_gradient

from eigenlens import datasets
from eigenlens.solvers import admm
from eigenlens.solvers.duality import _norm_bound, lower_bound

CASES = list(product([False, True], [False, True], [0.0, 0.2]))
OPTIONS = pytest.mark.parametrize(("rows", "centre", "missing"), CASES)


def table(seed=0, missing=0.0):
    return hard(seed, missing, shape=(16, 12))


def weight(rows):
    return 0.7 if rows else 0.25


def multiplier(M, lam, rows, centre, steps=1500):
    """Return the multiplier of the textbook scheme after some steps."""
    return state_after(steps, M, lam, rows, centre).Y


def state_after(steps, *problem):
    *_, (_, state) = zip(range(steps), admm._scheme(*problem, None), strict=False)
    return state


def dual(M, Y, mean=0.0, delta=0.0):
    return np.nansum((M - mean) * Y) - delta / 2 * np.sum(Y**2)


def feasible(M, seed, lam, rows, centre):
    """Return a point well inside the dual set."""
    Y = np.where(np.isnan(M), 0.0, np.random.default_rng(seed).standard_normal(M.shape))
    if centre:
        Y = np.where(np.isnan(M), 0.0, Y - Y.sum(axis=0) / (~np.isnan(M)).sum(axis=0))
    return 0.9 * Y / max(np.linalg.norm(Y, 2), lengths(Y, rows).max() / lam)


def bound(M, Y, lam, rows=False, centre=True, mean=None, **options):
    mean = np.zeros(M.shape[1]) if mean is None else mean
    return lower_bound(M, Y.copy(), mean=mean, lam=lam, rows=rows, centre=centre, **options)


@pytest.fixture(scope="module", params=CASES)
def solved(request):
    """A table, its options, the optimum to nine digits, and its multiplier."""
    rows, centre, missing = request.param
    M, lam = table(missing=missing), weight(rows)
    mean, (U, s, Vt), _, Y, _ = state_after(3000, M, lam, rows, centre)
    best = objective(M, lam, mean + (U * s) @ Vt, rows=rows, centre=centre)
    return M, {"lam": lam, "rows": rows, "centre": centre}, best, Y


# ----------------------------------------------------------------------- below the optimum


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_no_bound_is_above_the_optimum(solved, size):
    M, options, best, _ = solved
    for seed in range(5):
        Y = size * np.random.default_rng(seed).standard_normal(M.shape)
        assert bound(M, Y, **options) <= best
        assert bound(M, Y, mean=np.nanmedian(M, axis=0), **options) <= best


def test_no_bound_on_the_way_is_above_the_optimum(solved):
    M, options, best, _ = solved
    last = -np.inf
    for steps in (1, 3, 10, 100):
        Y = multiplier(M, options["lam"], options["rows"], options["centre"], steps)
        last = bound(M, Y, **options)
        assert last <= best * (1 + 1e-9)
    assert last > 0.98 * best


@pytest.mark.parametrize("delta", [0.3, 2.0])
@OPTIONS
def test_with_noise_no_bound_is_above_the_optimum_and_the_best_is_sharp(
    rows, centre, missing, delta
):
    M, lam = table(1, missing), weight(rows)
    options = {"lam": lam, "rows": rows, "centre": centre, "delta": delta}
    A = proximal_gradient(M, lam, delta, rows=rows, centre=centre, steps=500)
    best = objective(M, lam, A, rows=rows, centre=centre, delta=delta)
    rest = np.where(np.isnan(M), 0.0, M - A) / delta
    Y = rest * np.minimum(1.0, lam / np.maximum(lengths(rest, rows), 1e-300))
    assert best * (1 - 1e-6) <= bound(M, Y, **options) <= best * (1 + 1e-9)
    assert bound(M, 0.5 * Y, **options) < best * (1 - 1e-3)
    for seed in range(3):
        assert bound(M, np.random.default_rng(seed).standard_normal(M.shape), **options) < best


# --------------------------------------------------------------------------------- the value


@OPTIONS
@pytest.mark.parametrize("delta", [0.0, 0.7])
def test_a_point_of_the_dual_set_gives_its_own_value(rows, centre, missing, delta):
    M, lam = table(2, missing), weight(rows)
    for seed in range(3):
        Y = feasible(M, seed, lam, rows, centre)
        value = dual(M, Y, delta=delta)
        found = bound(M, Y, lam, rows, centre, delta=delta)
        assert found == pytest.approx(value, rel=1e-6, abs=1e-7)


@OPTIONS
@pytest.mark.parametrize("share", [1.0, 0.1])
def test_a_point_outside_is_brought_in(rows, centre, missing, share):
    """What is left in Y, scaled into the set, has the value that is returned, or a better one.

    With a small weight it is not the spectral norm that is too large, but single entries or rows.
    """
    M, lam = table(3, missing), share * weight(rows)
    Y = 3 * np.random.default_rng(0).standard_normal(M.shape)
    found = lower_bound(M, Y, mean=np.zeros(12), lam=lam, rows=rows, centre=centre, slack=np.inf)
    assert not Y[np.isnan(M)].any()
    if centre:
        np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-12)
    scale = max(1.0, np.linalg.norm(Y, 2), lengths(Y, rows).max() / lam)
    value = dual(M, Y)
    assert scale < 3
    assert value / scale >= found - 1e-12 if value > 0 else found <= 0
    assert found == pytest.approx(value / scale, rel=0.5)


def test_any_mean_may_be_given_where_the_columns_add_up_to_zero():
    M, lam = table(4, 0.2), weight(False)
    Y = multiplier(M, lam, False, True, 300)
    one, other = (bound(M, Y, lam, mean=np.full(12, mean)) for mean in (0.0, 1e3))
    assert one == pytest.approx(other, rel=1e-9)


def test_without_centring_the_mean_counts():
    """About a mean that is not zero the columns would have to add up to zero."""
    M, lam = table(4), weight(False)
    Y = multiplier(M, lam, False, False, 300)
    assert bound(M, Y, lam, centre=False) == pytest.approx(dual(M, Y), rel=1e-3)


def test_the_best_without_a_mean_is_no_bound_with_one(solved):
    M, options, best, _ = solved
    if options["centre"]:
        Y = multiplier(M, options["lam"], options["rows"], False)
        assert dual(M, Y) > 1.05 * best
        assert bound(M, Y, **options) <= best


# ------------------------------------------------------------------------------- sharpness


def test_is_sharp_at_the_multiplier_of_the_optimum(solved):
    M, options, best, Y = solved
    found = bound(M, Y, **options, mean=np.nanmedian(M, axis=0) * options["centre"])
    assert best * (1 - 1e-6) <= found <= best * (1 + 1e-9)


@pytest.mark.parametrize("centre", [False, True])
def test_is_sharp_with_gross_errors(centre):
    """The multiplier knows only the signs of errors, so a larger error adds lam times its size."""
    problem = datasets.planted_pursuit(100, 80, 3, random_state=0)
    M, lam = problem.X.copy(), 0.1
    L = problem.low_rank - problem.low_rank.mean(axis=0) * centre
    ordinary = np.linalg.norm(L, "nuc") + lam * np.abs(problem.sparse).sum()
    Y = multiplier(M, lam, False, centre, 400)
    i, j = np.argwhere(problem.sparse)[7]
    M[i, j] += 1e6 * problem.sparse[i, j]
    best = ordinary + lam * 1e6
    found = bound(M, Y, lam, centre=centre, slack=1e-5 * ordinary)
    assert found <= best * (1 + 1e-12)
    assert best - found < 1e-3 * ordinary


def test_more_projections_pay_for_gross_errors():
    problem = datasets.planted_pursuit(100, 80, 3, random_state=0)
    Y = multiplier(problem.X, 0.1, False, True, 10)
    M = problem.X + 1e4 * problem.sparse
    loose, tight = (bound(M, Y, 0.1, slack=slack) for slack in (np.inf, 0.0))
    optimum = np.linalg.norm(problem.low_rank, "nuc") + 0.1 * np.abs(M - problem.low_rank).sum()
    assert loose < tight <= optimum


def test_float32():
    M, lam = table(5, 0.2), weight(False)
    Y = multiplier(M, lam, False, True, 300)
    exact = bound(M, Y, lam)
    found = bound(M.astype(np.float32), Y.astype(np.float32), lam)
    assert found == pytest.approx(exact, rel=1e-5)


def test_leaves_the_table_alone():
    M = table(6, 0.2)
    before = M.copy()
    bound(M, np.ones_like(M), 0.2)
    np.testing.assert_array_equal(M, before)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (20, 20)])
@pytest.mark.parametrize("norm", [0.1, 1.0, 1 + 1e-6, 1.1, 7.0])
def test_norm_bound_is_above_the_norm_and_close(shape, norm):
    Y = np.random.default_rng(0).standard_normal(shape)
    Y *= norm / np.linalg.norm(Y, 2)
    found = _norm_bound(Y)
    assert found >= max(norm, 1.0)
    assert found - 1 <= max(4 * (norm - 1), 2e-8) * (1 + 1e-6)
