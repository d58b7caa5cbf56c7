"""Principal component pursuit: planted truth, the optimum of other solvers, symmetries."""

from itertools import product

import numpy as np
import pytest
from pursuit_tables import hard, objective, proximal_gradient, with_bad_rows
from threadpoolctl import threadpool_limits

from eigenlens import datasets
from eigenlens.solvers import admm, pursuit
from eigenlens.solvers.pursuit_tables import Problem, Whole

CASES = list(product([False, True], [False, True], [0.0, 0.2]))
OPTIONS = pytest.mark.parametrize(("rows", "centre", "missing"), CASES)


def solve(M, *, lam=None, seed=0, **options):
    lam = (np.mean(~np.isnan(M)) * max(M.shape)) ** -0.5 if lam is None else lam
    return pursuit.solve(M, lam=lam, rng=np.random.default_rng(seed), **options)


def low_rank(found):
    return found.mean + found.scores @ found.components


def relative(A, B):
    return np.linalg.norm(A - B) / np.linalg.norm(B)


def weight(rows):
    return 0.82 if rows else 0.22


def gap(value, best):
    return (value - best) / best


# ------------------------------------------------------------------------------ planted truth


@pytest.mark.parametrize("n", [200, 500])
@pytest.mark.parametrize("density", [0.05, 0.1])
@pytest.mark.parametrize(("tol", "rounds", "error"), [(1e-7, 20, 1e-5), (1e-8, 24, 1e-6)])
@pytest.mark.parametrize("centre", [False, True])
def test_the_trial_of_candes_et_al(n, density, tol, rounds, error, centre):
    """Rank and support exact, in as few thresholdings as continuation has ever needed."""
    problem = datasets.planted_pursuit(n, n, n // 20, density=density, random_state=n)
    found = solve(problem.X, tol=tol, centre=centre)
    assert found.solver == "ialm"
    assert found.converged
    assert len(found.singular_values) == n // 20
    np.testing.assert_array_equal(found.sparse != 0, problem.sparse != 0)
    assert found.n_iter == len(found.objective_history) <= rounds
    assert relative(low_rank(found), problem.low_rank) < error
    assert 0 <= found.certificate.value < 1e-6


def test_a_mean_far_from_zero_changes_nothing():
    problem = datasets.planted_pursuit(200, 150, 6, random_state=1)
    mean = np.linspace(-1e3, 1e3, 150)
    found = solve(problem.X + mean)
    assert len(found.singular_values) == 6
    np.testing.assert_array_equal(found.sparse != 0, problem.sparse != 0)
    np.testing.assert_allclose(low_rank(found) - mean, problem.low_rank, atol=1e-6)
    np.testing.assert_allclose(found.mean, mean + problem.low_rank.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("size", [1e-2, 1e2, 1e4, 1e6])
def test_errors_of_any_size_are_found(size):
    problem = datasets.planted_pursuit(200, 200, 6, magnitude=size, random_state=1)
    found = solve(problem.X, max_iter=50)
    assert found.converged or size > 1e5
    assert len(found.singular_values) == 6
    np.testing.assert_array_equal(found.sparse != 0, problem.sparse != 0)
    assert relative(low_rank(found), problem.low_rank) < 1e-5


@pytest.mark.parametrize("shape", [(1000, 20), (20, 1000)])
def test_one_gross_entry_disturbs_nothing(shape):
    """With signs as factors no row or column is larger than others: nothing else is sparse."""
    r = np.random.default_rng(0)
    left, right = (r.choice([-1.0, 1.0], (side, 3)) for side in shape)
    truth = left @ right.T
    M = truth.copy()
    M[7, 11] = 1e6
    found = solve(M)
    np.testing.assert_array_equal(np.argwhere(found.sparse), [[7, 11]])
    assert relative(low_rank(found), truth) < 1e-5
    assert found.sparse[7, 11] == pytest.approx(1e6 - truth[7, 11], abs=1e-3)
    assert found.converged


@pytest.mark.parametrize(("missing", "density"), [(0.2, 0.05), (0.4, 0.0)])
def test_holes_are_filled(missing, density):
    problem = datasets.planted_pursuit(
        500, 500, 10, density=density, missing=missing, random_state=0
    )
    found = solve(problem.X)
    holes, L = np.isnan(problem.X), low_rank(found)
    assert found.converged
    assert len(found.singular_values) == 10
    assert relative(L, problem.low_rank) < 1e-5
    assert relative(L[holes], problem.low_rank[holes]) < 1e-5
    np.testing.assert_array_equal(found.sparse != 0, problem.sparse != 0)
    assert found.certificate.value < 1e-5


# ------------------------------------------------------------- where nothing can be recovered


@OPTIONS
def test_objective_is_that_of_the_textbook(rows, centre, missing):
    M, options = hard(1, missing), {"lam": weight(rows), "rows": rows, "centre": centre}
    reference = admm.solve(M, **options, tol=1e-9, max_iter=5000)
    best = objective(M, weight(rows), low_rank(reference), rows=rows, centre=centre)
    found = solve(M, **options, gap_tol=1e-5, max_iter=2000)
    value = objective(M, weight(rows), low_rank(found), rows=rows, centre=centre)
    assert found.converged
    assert -1e-8 < gap(value, best) <= 1e-5
    assert gap(value, best) <= found.certificate.value * (1 + 1e-6)
    assert found.objective_history[-1] == pytest.approx(value, rel=1e-6)
    assert not found.sparse[np.isnan(M)].any()


@pytest.mark.parametrize("gap_tol", [1e-2, 1e-4])
def test_of_a_slow_fit_a_gap_as_asked_for_will_do_and_is_no_lie(gap_tol, monkeypatch):
    """Here from the first look on; else small tables are solved further."""
    monkeypatch.setattr(pursuit, "PATIENCE", 1)
    M = hard(2)
    best = admm.solve(M, lam=0.22, tol=1e-9, max_iter=5000).objective_history[-1]
    found, finer = (solve(M, lam=0.22, gap_tol=g, max_iter=500) for g in (gap_tol, gap_tol / 100))
    assert gap(objective(M, 0.22, low_rank(found)), best) <= found.certificate.value <= gap_tol
    assert found.n_iter < finer.n_iter


@pytest.mark.parametrize(("tol", "gap_tol"), [(1e-1, 1e-4), (1e-3, 1e-6)])
def test_a_loose_misfit_does_not_keep_the_gap_from_closing(tol, gap_tol):
    easy = datasets.planted_pursuit(100, 100, 5, random_state=0).X
    for M, lam, rounds in [(easy, 0.1, 30), (hard(1), 0.22, 200)]:
        found = solve(M, lam=lam, tol=tol, gap_tol=gap_tol, max_iter=rounds)
        assert found.converged
        assert found.certificate.value <= gap_tol


@OPTIONS
@pytest.mark.parametrize("delta", [0.3, 2.0])
def test_with_noise_the_objective_is_that_of_proximal_gradients(rows, centre, missing, delta):
    M, lam = hard(1, missing), weight(rows)
    options = {"rows": rows, "centre": centre}
    best = objective(
        M, lam, proximal_gradient(M, lam, delta, steps=600, **options), delta=delta, **options
    )
    found = solve(M, lam=lam, delta=delta, gap_tol=1e-4, max_iter=500, **options)
    value = objective(M, lam, low_rank(found), delta=delta, **options)
    assert found.converged
    assert -1e-6 < gap(value, best) <= found.certificate.value <= 1e-4
    assert found.objective_history[-1] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("rows", [False, True])
def test_with_noise_the_sparse_part_is_what_lies_beyond_the_knee(rows):
    M, lam, delta = hard(4, 0.1), weight(rows), 1.0
    found = solve(M, lam=lam, delta=delta, rows=rows, gap_tol=1e-5, max_iter=1000)
    rest = np.where(np.isnan(M), 0.0, M - low_rank(found))
    size = np.linalg.norm(rest, axis=1, keepdims=True) if rows else np.abs(rest)
    beyond = rest * np.maximum(1 - lam * delta / np.maximum(size, 1e-300), 0)
    assert 0 < np.mean(beyond != 0) < 1
    np.testing.assert_allclose(found.sparse, beyond, atol=0.02)


@pytest.mark.parametrize(
    ("rank", "density", "coherent"),
    [
        (0.1, 0.1, False),
        (0.05, 0.2, False),
        (0.2, 0.2, False),
        (0.3, 0.1, False),
        (0.1, 0.35, False),
        (0.4, 0.4, False),
        (0.02, 0.45, False),
        (0.1, 0.2, True),
        (0.3, 0.3, True),
    ],
)
def test_on_the_phase_diagram_it_is_solved_or_says_so(rank, density, coherent):
    """Beyond the transition too, and then the objective is below that of the planted pair."""
    n = 120
    problem = datasets.planted_pursuit(
        n, n, round(rank * n), density=density, coherent=coherent, random_state=0
    )
    lam = n**-0.5
    planted = np.linalg.norm(problem.low_rank, "nuc") + lam * np.abs(problem.sparse).sum()
    found = solve(problem.X, centre=False)
    value = objective(problem.X, lam, low_rank(found), centre=False)
    assert found.converged == (found.certificate.value <= 1e-3)
    assert found.converged
    assert value <= planted * (1 + found.certificate.value)
    recovered = relative(low_rank(found), problem.low_rank) < 1e-3
    assert recovered or value < planted * (1 + 1e-4)
    if (rank, density) in [(0.1, 0.1), (0.05, 0.2)]:
        assert recovered


# ------------------------------------------------------------------------------------- rows


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_bad_rows_are_found(missing):
    X, truth, bad = with_bad_rows(0)
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    options = {"lam": 0.4, "rows": True, "centre": False}
    found = solve(X, **options)
    assert found.converged
    np.testing.assert_array_equal(np.any(found.sparse != 0, axis=1), bad)
    np.testing.assert_allclose(low_rank(found)[~bad], truth[~bad], atol=1e-4)
    reference = admm.solve(X, **options, max_iter=3000)
    assert found.objective_history[-1] == pytest.approx(reference.objective_history[-1], rel=1e-4)


def test_the_length_of_bad_rows_does_not_matter():
    """What a bad row has along the good ones stays in the low-rank part; what it has not, does."""
    for size in (5.0, 1e5):
        X, truth, bad = with_bad_rows(0, size=size)
        found = solve(X, lam=0.4, rows=True, centre=False)
        assert found.converged
        np.testing.assert_array_equal(np.any(found.sparse != 0, axis=1), bad)
        np.testing.assert_allclose(low_rank(found)[~bad], truth[~bad], atol=1e-3)


# --------------------------------------------------------------------------------- symmetries


def problems():
    """Return an easy table and a hard one, with their weights."""
    easy = datasets.planted_pursuit(90, 70, 4, missing=0.1, random_state=2).X
    return [(easy, (0.9 * 90) ** -0.5), (hard(5, 0.1), 0.22)]


TABLES = pytest.mark.parametrize(("M", "lam"), problems(), ids=["easy", "hard"])
TIGHT = {"gap_tol": 1e-5, "max_iter": 1000}


@TABLES
@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_does_not_depend_on_units(M, lam, rows, scale):
    lam = weight(True) if rows else lam
    one, other = solve(M, lam=lam, rows=rows), solve(scale * M, lam=lam, rows=rows)
    assert one.n_iter == other.n_iter
    unit = np.nanmax(np.abs(M))
    np.testing.assert_allclose(low_rank(other) / scale, low_rank(one), atol=1e-7 * unit)
    np.testing.assert_allclose(other.sparse / scale, one.sparse, atol=1e-7 * unit)
    np.testing.assert_allclose(other.objective_history / scale, one.objective_history, rtol=1e-8)


@pytest.mark.parametrize(
    ("dtype", "scale"), [(np.float32, 1e12), (np.float32, 1e-12), (np.float64, 1e90)]
)
def test_units_whose_fourth_powers_overflow(dtype, scale):
    problem = datasets.planted_pursuit(90, 70, 4, random_state=2)
    found = solve((scale * problem.X).astype(dtype), tol=1e-6)
    assert len(found.singular_values) == 4
    np.testing.assert_allclose(low_rank(found) / scale, problem.low_rank, atol=1e-5)


@TABLES
def test_order_of_rows_and_columns_does_not_matter(M, lam):
    r = np.random.default_rng(0)
    rows, columns = r.permutation(M.shape[0]), r.permutation(M.shape[1])
    one, other = solve(M, lam=lam, **TIGHT), solve(M[rows][:, columns], lam=lam, **TIGHT)
    assert one.objective_history[-1] == pytest.approx(other.objective_history[-1], rel=2e-5)
    assert relative(low_rank(other), low_rank(one)[rows][:, columns]) < 0.01


@TABLES
def test_transposed_table_has_the_transposed_parts(M, lam):
    options = {"lam": lam, "centre": False, **TIGHT}
    one, other = solve(M, **options), solve(M.T.copy(), **options)
    assert one.objective_history[-1] == pytest.approx(other.objective_history[-1], rel=2e-5)
    assert relative(low_rank(other).T, low_rank(one)) < 0.01


@pytest.mark.parametrize(
    ("M", "lam", "rows"),
    [(*problem, False) for problem in problems()] + [(hard(5, 0.1), 0.82, True)],
)
def test_a_row_added_to_all_changes_only_the_mean(M, lam, rows):
    shift = np.linspace(-9, 9, M.shape[1])
    one, other = (solve(X, lam=lam, rows=rows, **TIGHT) for X in (M, M + shift))
    unit = np.nanstd(M)
    np.testing.assert_allclose(other.mean - shift, one.mean, atol=0.01 * unit)
    assert relative(low_rank(other) - shift, low_rank(one)) < 0.01
    assert one.objective_history[-1] == pytest.approx(other.objective_history[-1], rel=2e-5)


@TABLES
def test_seed_does_not_matter(M, lam):
    one, other = (solve(M, lam=lam, seed=seed, **TIGHT) for seed in (1, 2))
    assert one.objective_history[-1] == pytest.approx(other.objective_history[-1], rel=2e-5)


def test_same_seed_same_answer_whatever_the_threads():
    problem = datasets.planted_pursuit(600, 500, 10, missing=0.1, random_state=0)
    found = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            found.append(solve(problem.X))
    np.testing.assert_array_equal(found[0].sparse, found[1].sparse)
    np.testing.assert_array_equal(found[0].scores, found[1].scores)
    assert found[0].certificate.value == pytest.approx(found[1].certificate.value, rel=1e-3)


@TABLES
@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("delta", [0.0, 0.5])
def test_float32(M, lam, rows, delta):
    options = {"lam": weight(True) if rows else lam, "rows": rows, "delta": delta}
    exact, found = solve(M, **options), solve(M.astype(np.float32), tol=1e-6, **options)
    for field in ("components", "singular_values", "scores", "sparse"):
        assert getattr(found, field).dtype == np.float32
    assert found.converged
    assert found.objective_history[-1] == pytest.approx(exact.objective_history[-1], rel=1e-3)
    if exact.certificate.value < 1e-6:
        assert relative(low_rank(found), low_rank(exact)) < 1e-4


def test_float32_recovers():
    problem = datasets.planted_pursuit(200, 200, 10, random_state=0)
    found = solve(problem.X.astype(np.float32) + np.float32(5), tol=1e-6)
    assert len(found.singular_values) == 10
    seen = np.abs(found.sparse) > 1e-5  # beside 5, what is less may be rounding
    np.testing.assert_array_equal(seen, problem.sparse != 0)
    np.testing.assert_allclose(low_rank(found) - 5, problem.low_rank, atol=1e-5)


# -------------------------------------------------------------------------------- how it ends


def test_components_are_a_singular_value_decomposition():
    found = solve(hard(6, 0.1), lam=0.22)
    V, s = found.components, found.singular_values
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-10)
    np.testing.assert_allclose(found.scores.T @ found.scores, np.diag(s**2), atol=1e-9 * s[0] ** 2)
    np.testing.assert_allclose(found.scores.mean(axis=0), 0, atol=1e-9 * s[0])
    assert np.all(np.diff(s) <= 0)
    assert np.all(s > 0)


def test_says_so_when_it_has_not_converged_and_what_it_has_is_of_use():
    problem = datasets.planted_pursuit(200, 200, 6, random_state=0)
    found = solve(problem.X, max_iter=5)
    assert (found.converged, found.n_iter, found.certificate.holds) == (False, 5, False)
    assert np.isfinite(found.certificate.value)
    assert np.all(np.isfinite(low_rank(found)))
    assert relative(low_rank(found), problem.low_rank) < 0.5
    planted = np.linalg.norm(problem.low_rank, "nuc") + np.abs(problem.sparse).sum() / 200**0.5
    value = objective(problem.X, 200**-0.5, low_rank(found))
    assert (value - planted) / value <= found.certificate.value


def test_one_round():
    found = solve(hard(), lam=0.22, max_iter=1)
    assert (found.converged, found.n_iter) == (False, 1)
    assert np.all(np.isfinite(low_rank(found)))


def test_monitor_can_stop_it():
    seen = []

    def monitor(value):
        seen.append(value)
        return len(seen) == 2

    found = solve(hard(), lam=0.22, monitor=monitor)
    assert (found.n_iter, found.converged) == (2, False)
    np.testing.assert_array_equal(found.objective_history, seen)


@pytest.mark.parametrize("rows", [False, True])
def test_leaves_the_table_alone(rows):
    M = hard(7, 0.1)
    before = M.copy()
    solve(M, lam=0.22, rows=rows)
    np.testing.assert_array_equal(M, before)


# -------------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("rows", [False, True])
def test_with_a_large_weight_nothing_is_sparse(rows):
    M = hard()
    found = solve(M, lam=1.2, rows=rows, gap_tol=1e-6)
    np.testing.assert_allclose(low_rank(found), M, atol=1e-5)
    s = np.linalg.svd(M - M.mean(axis=0), compute_uv=False)
    assert found.objective_history[-1] == pytest.approx(s.sum(), rel=1e-5)
    np.testing.assert_allclose(found.sparse, 0, atol=1e-5)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("lam", [30.0, 1e9])
def test_a_weight_beyond_one_is_a_weight_of_one(rows, lam):
    """The dual variable has a spectral norm of 1 at most, so entries and rows too."""
    M = hard()
    found = solve(M, lam=lam, rows=rows)
    assert found.converged
    nuclear = np.linalg.norm(M - M.mean(axis=0), "nuc")
    assert found.objective_history[-1] == pytest.approx(nuclear, rel=1e-3)


@pytest.mark.parametrize("rows", [False, True])
def test_with_noise_beyond_all_numbers_there_is_only_a_mean(rows):
    M = hard()
    found = solve(M, lam=0.2, delta=1e4, rows=rows)
    assert found.converged
    assert len(found.singular_values) == 0
    np.testing.assert_allclose(found.mean, M.mean(axis=0), atol=0.1)


def test_with_a_small_weight_all_but_the_median_is_sparse():
    M, lam = hard()[:, :5], 0.01
    found = solve(M, lam=lam, gap_tol=1e-6, max_iter=2000)
    assert len(found.singular_values) == 0
    deviations = np.abs(M - np.median(M, axis=0)).sum()
    assert found.objective_history[-1] == pytest.approx(lam * deviations, rel=1e-5)


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
def test_table_of_low_rank_without_errors(shape):
    r = np.random.default_rng(0)
    M = r.standard_normal((shape[0], 2)) @ r.standard_normal((2, shape[1])) + 7
    found = solve(M, lam=0.5)
    np.testing.assert_allclose(low_rank(found), M, atol=1e-5)
    assert len(found.singular_values) == 2
    assert not found.sparse.any()


def test_rank_does_not_count_what_is_smaller_than_all_that_does_not_fit():
    """Near the border of recovery the multiplier has more singular values at 1 than L has rank."""
    problem = datasets.planted_pursuit(200, 200, 20, density=0.2, random_state=0)
    found = solve(problem.X, lam=200**-0.5, centre=False)
    assert len(found.components) == 20


def test_a_table_of_which_all_is_gross():
    """Beside its few cells the rest is nothing, and the gap relative to that has no end."""
    M = np.zeros((6, 6), dtype=np.float32)
    M[:, 1], M[:, 2] = 1e20 * np.arange(-2, 4), 1.0
    found = solve(M, lam=1 / 6**0.5, centre=False, max_iter=50)
    assert np.isfinite(found.certificate.value)
    assert found.certificate.value >= 0


def test_what_is_trimmed_goes_to_the_sparse_part():
    """Its norm grows by no more than the bound that the objective is charged with."""
    M = hard(1, 0.0, shape=(30, 20))
    problem = Problem(lam=0.2, rows=False, centre=False, delta=0.0)
    rounds = pursuit._Rounds(Whole(M, problem, np.random.default_rng(0)), problem)
    for _ in range(10):
        rounds.go()
    s, before = rounds.tables.s.copy(), rounds.objective
    assert len(s) > 2
    rounds.misfit = s[1:3].mean() / rounds.scale  # between two of them
    rounds.trim()
    np.testing.assert_array_equal(rounds.tables.s, s[:2])
    grown = 0.2 * np.sqrt(M.size) * np.linalg.norm(s[2:])
    assert rounds.objective == pytest.approx(before - s[2:].sum() + grown, rel=1e-12)
