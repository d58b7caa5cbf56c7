"""The textbook scheme of principal component pursuit: conditions of optimality, closed forms."""

import numpy as np
import pytest

from eigenlens import datasets
from eigenlens.solvers import admm

OPTIONS = pytest.mark.parametrize(
    ("rows", "centre", "missing"),
    [(rows, centre, missing) for rows in (0, 1) for centre in (0, 1) for missing in (0.0, 0.2)],
)


def low_rank(found):
    return found.mean + found.scores @ found.components


def lengths(S, rows):
    return np.linalg.norm(S, axis=1) if rows else np.abs(S)


def hard(seed=0, missing=0.0):
    """Return a table in which nothing is planted that could be recovered."""
    r = np.random.default_rng(seed)
    M = (
        3.0
        + r.standard_normal((25, 18))
        + 4 * r.standard_normal((25, 1)) * (r.random((25, 18)) < 0.2)
    )
    M[r.random(M.shape) < missing] = np.nan
    return M


def objective(M, lam, mean, L, rows):
    rest = np.where(np.isnan(M), 0.0, M - mean - L)
    return np.linalg.norm(L, "nuc") + lam * lengths(rest, rows).sum()


def dual_point(M, lam, rows, centre):
    """Return a point of the dual set: the multiplier of the last step, scaled to fit."""
    for state, _ in zip(admm._scheme(M, lam, rows, centre, None), range(3000), strict=False):
        Y = state.Y
    Y = np.where(np.isnan(M), 0.0, Y)
    largest = max(np.linalg.norm(Y, 2), lengths(Y, rows).max() / lam, 1.0)
    return Y / largest, largest


# -------------------------------------------------------------------------------- optimality


@OPTIONS
def test_solves_the_problem(rows, centre, missing):
    """A point of the dual set has the same value, so neither can be improved."""
    M, lam = hard(missing=missing), 0.82 if rows else 0.22
    found = admm.solve(M, lam=lam, rows=rows, centre=centre, tol=1e-9, max_iter=5000)
    assert found.converged
    L = found.scores @ found.components
    Y, largest = dual_point(M, lam, rows, centre)
    assert largest < 1 + 1e-6
    assert not Y[np.isnan(M)].any()
    if centre:
        np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-6)
        np.testing.assert_allclose(L.sum(axis=0), 0, atol=1e-8)
    about = np.where(np.isnan(M), 0.0, M - found.mean)
    value = objective(M, lam, found.mean, L, rows)
    assert np.vdot(about, Y) == pytest.approx(value, rel=1e-6)
    assert 0 < len(found.singular_values) < 18
    assert 0 < np.mean(lengths(found.sparse, rows) > 0) < 1
    assert found.certificate.value < 1e-6


@OPTIONS
def test_nothing_near_is_better(rows, centre, missing):
    M, lam = hard(1, missing), 0.82 if rows else 0.22
    found = admm.solve(M, lam=lam, rows=rows, centre=centre, tol=1e-9, max_iter=5000)
    L = found.scores @ found.components
    best = objective(M, lam, found.mean, L, rows)
    r = np.random.default_rng(2)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            step = size * np.outer(r.standard_normal(25), r.standard_normal(18))
            mean = found.mean + centre * size * r.standard_normal(18)
            assert objective(M, lam, mean, L + step, rows) > best * (1 - 1e-9)


@OPTIONS
def test_certificate_bounds_the_distance_to_the_optimum(rows, centre, missing):
    M, lam = hard(3, missing), 0.82 if rows else 0.22
    options = {"lam": lam, "rows": rows, "centre": centre}
    optimum = admm.solve(M, tol=1e-10, max_iter=8000, **options).objective_history[-1]
    for max_iter in (1, 2, 4, 8, 16):
        early = admm.solve(M, max_iter=max_iter, rho=0.5, **options)
        value = objective(M, lam, early.mean, early.scores @ early.components, rows)
        assert 0 < (value - optimum) / value <= early.certificate.value < 1
        assert not early.converged


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_best_without_a_mean_is_not_certified_as_the_best_with_one(missing):
    M, lam = hard(2, missing), 0.22
    *_, (_, state) = zip(range(300), admm._scheme(M, lam, False, False, None), strict=False)
    value = objective(M, lam, 0.0, (state.low.U * state.low.s) @ state.low.Vt, False)
    optimum = admm.solve(M, lam=lam, tol=1e-9, max_iter=5000).objective_history[-1]
    assert admm._gap(M, state, lam, rows=False, centre=False) < 1e-4
    assert admm._gap(M, state, lam, rows=False, centre=True) >= (value - optimum) / value > 0.05


# ------------------------------------------------------------------------------ planted truth


@pytest.mark.parametrize(("centre", "mean"), [(False, 0.0), (True, 0.0), (True, 100.0)])
def test_recovers_what_was_planted(centre, mean):
    problem = datasets.planted_pursuit(100, 80, 3, random_state=0)
    found = admm.solve(problem.X + mean, lam=0.1, centre=centre)
    assert found.solver == "admm"
    assert found.converged
    assert found.certificate.holds
    assert found.n_iter == len(found.objective_history)
    assert len(found.singular_values) == 3
    np.testing.assert_allclose(low_rank(found) - mean, problem.low_rank, atol=1e-6)
    np.testing.assert_array_equal(found.sparse != 0, problem.sparse != 0)


def test_holes():
    problem = datasets.planted_pursuit(120, 120, 2, density=0.03, missing=0.2, random_state=0)
    found = admm.solve(problem.X, lam=(0.8 * 120) ** -0.5)
    np.testing.assert_allclose(low_rank(found), problem.low_rank, atol=1e-6)
    assert not found.sparse[np.isnan(problem.X)].any()


def test_bad_rows():
    planted = datasets.planted_subspace(80, 30, 2, noise=0, decay=1, random_state=0)
    X = planted.X.copy()
    bad = np.arange(80) < 6
    X[bad] = 5 * np.random.default_rng(1).standard_normal((6, 30))
    found = admm.solve(X, lam=0.4, rows=True, centre=False, max_iter=3000)
    np.testing.assert_array_equal(np.any(found.sparse != 0, axis=1), bad)
    np.testing.assert_allclose(low_rank(found)[~bad], X[~bad], atol=1e-5)


# -------------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("rows", [False, True])
def test_with_a_large_weight_nothing_is_sparse(rows):
    M = hard()
    found = admm.solve(M, lam=1.01, rows=rows)
    assert not found.sparse.any()
    np.testing.assert_allclose(low_rank(found), M, atol=1e-5)
    s = np.linalg.svd(M - M.mean(axis=0), compute_uv=False)
    assert found.objective_history[-1] == pytest.approx(s.sum(), rel=1e-6)


def test_with_a_small_weight_all_but_the_median_is_sparse():
    M, lam = hard()[:, :5], 0.01
    found = admm.solve(M, lam=lam, max_iter=5000)
    assert len(found.singular_values) == 0
    deviations = np.abs(M - np.median(M, axis=0)).sum()
    assert found.objective_history[-1] == pytest.approx(lam * deviations, rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 4.0])
def test_constant_table(value):
    found = admm.solve(np.full((6, 4), value), lam=0.4)
    assert found.converged
    assert found.certificate.holds
    np.testing.assert_array_equal(low_rank(found), value)
    assert not found.sparse.any()


# --------------------------------------------------------------------------------- symmetries


@OPTIONS
def test_does_not_depend_on_units(rows, centre, missing):
    M, options = hard(4, missing), {"lam": 0.82 if rows else 0.22, "rows": rows, "centre": centre}
    one, other = admm.solve(M, **options), admm.solve(1e7 * M, **options)
    assert one.n_iter == other.n_iter
    np.testing.assert_allclose(low_rank(other), 1e7 * low_rank(one), atol=1)
    np.testing.assert_allclose(other.sparse, 1e7 * one.sparse, atol=1)


def test_a_row_added_to_all_changes_only_the_mean():
    M, shift = hard(5, 0.1), np.linspace(-9, 9, 18)
    one, other = (admm.solve(X, lam=0.22, tol=1e-9, max_iter=5000) for X in (M, M + shift))
    np.testing.assert_allclose(other.mean - shift, one.mean, atol=1e-6)
    np.testing.assert_allclose(other.sparse, one.sparse, atol=1e-6)


def test_order_of_rows_and_columns_does_not_matter():
    M = hard(6, 0.1)
    one, other = admm.solve(M, lam=0.22), admm.solve(M[::-1, ::-1], lam=0.22)
    np.testing.assert_allclose(low_rank(other), low_rank(one)[::-1, ::-1], atol=1e-9)


def test_weight_changes_the_way_and_not_the_end():
    M = hard(7)
    one, other = (admm.solve(M, lam=0.22, rho=rho, max_iter=5000) for rho in (0.1, 0.5))
    assert one.n_iter != other.n_iter
    assert one.objective_history[-1] == pytest.approx(other.objective_history[-1], rel=1e-5)


def test_float32():
    M = hard(8, 0.1)
    found, exact = admm.solve(M.astype(np.float32), lam=0.22), admm.solve(M, lam=0.22)
    for field in ("mean", "components", "singular_values", "scores", "sparse"):
        assert getattr(found, field).dtype == np.float32
    np.testing.assert_allclose(low_rank(found), low_rank(exact), atol=1e-4)


# -------------------------------------------------------------------------------- how it ends


def test_says_so_when_it_has_not_converged():
    found = admm.solve(hard(), lam=0.22, max_iter=3)
    assert (found.converged, found.n_iter, found.certificate.holds) == (False, 3, False)


def test_monitor_can_stop_it():
    seen = []

    def monitor(value):
        seen.append(value)
        return len(seen) == 2

    found = admm.solve(hard(), lam=0.22, monitor=monitor)
    assert (found.n_iter, found.converged) == (2, False)
    np.testing.assert_array_equal(found.objective_history, seen)


def test_leaves_the_table_alone():
    M = hard(9, 0.1)
    before = M.copy()
    admm.solve(M, lam=0.22, max_iter=5)
    np.testing.assert_array_equal(M, before)


def test_what_rests_without_its_proof_has_not_converged():
    M = np.random.default_rng(0).standard_normal((12, 8))
    found = admm.solve(M, lam=12**-0.5, tol=0.1, gap_tol=1e-9, max_iter=1000)
    assert found.n_iter < 1000
    assert not found.certificate.holds
    assert not found.converged
