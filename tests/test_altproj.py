"""Alternating projections for robust PCA: planted truth, symmetries, degenerate tables."""

import numpy as np
import pytest
import scipy.linalg
from real_data import real_file
from threadpoolctl import threadpool_limits

from eigenlens import datasets
from eigenlens.ops import trim
from eigenlens.solvers import altproj


def solve(M, k, **options):
    return altproj.solve(M, k, rng=np.random.default_rng(0), **options)


def low_rank(found):
    return found.mean + found.scores @ found.components


def relative(found, truth, mean=0.0):
    return np.linalg.norm(low_rank(found) - mean - truth) / np.linalg.norm(truth)


def angle(A, B):
    """Return the largest angle between two subspaces, in degrees."""
    return np.degrees(scipy.linalg.subspace_angles(A.T.astype(float), B.T.astype(float)).max())


def tall(seed, size=1.0, density=0.05, noise=0.0):
    """Return a 1000 x 20 table of rank 3 with wrong cells of one size, and what it was made of."""
    planted = datasets.planted_subspace(1000, 20, 3, noise=noise, decay=1.0, random_state=seed)
    r = np.random.default_rng(seed)
    wrong = np.where(r.random(planted.X.shape) < density, 1.0, 0.0)
    sparse = size * wrong * r.choice([-1.0, 1.0], wrong.shape)
    return planted.X + sparse, planted.scores @ planted.components, sparse, planted.components


def with_bad_rows(seed, size, n=600, d=20, k=3, share=0.1, noise=0.0):
    """Return a table with some rows replaced by random ones, its truth, and which those are."""
    planted = datasets.planted_subspace(n, d, k, noise=noise, decay=1.0, random_state=seed)
    r = np.random.default_rng(seed)
    bad = r.random(n) < share
    X = planted.X.copy()
    X[bad] = size * r.standard_normal((bad.sum(), d))
    return X, planted.scores @ planted.components, bad, planted.components


def same(found, other, scale=1.0, atol=1e-6):
    unit = np.linalg.norm(low_rank(other)) / other.sparse.size**0.5
    np.testing.assert_allclose(low_rank(found) / scale, low_rank(other), rtol=0, atol=atol * unit)
    np.testing.assert_allclose(found.sparse / scale, other.sparse, rtol=0, atol=atol * unit)
    np.testing.assert_array_equal(found.sparse != 0, other.sparse != 0)


# ------------------------------------------------------------------------------ planted truth


@pytest.mark.parametrize(
    ("n", "rank", "density"), [(500, 25, 0.05), (500, 25, 0.1), (400, 40, 0.1), (400, 20, 0.2)]
)
@pytest.mark.parametrize("centre", [True, False])
def test_recovers_where_pursuit_does(n, rank, density, centre):
    problem = datasets.planted_pursuit(n, n, rank, density=density, random_state=1)
    found = solve(problem.X, rank, centre=centre)
    assert found.solver == "altproj"
    assert found.converged
    assert found.certificate.holds
    assert found.n_iter == len(found.objective_history) <= 30
    assert relative(found, problem.low_rank) < 1e-6
    np.testing.assert_array_equal(found.sparse != 0, problem.sparse != 0)


def test_recovers_errors_with_the_signs_of_the_low_rank_part():
    problem = datasets.planted_pursuit(300, 200, 10, density=0.1, coherent=True, random_state=1)
    found = solve(problem.X, 10)
    assert relative(found, problem.low_rank) < 1e-6
    np.testing.assert_array_equal(found.sparse != 0, problem.sparse != 0)


def test_recovers_errors_of_all_sizes():
    problem = datasets.planted_pursuit(300, 300, 8, density=0.1, random_state=2)
    sizes = np.random.default_rng(3).exponential(0.05, problem.sparse.shape)
    found = solve(problem.low_rank + problem.sparse * sizes, 8)
    assert relative(found, problem.low_rank) < 1e-5


def test_small_errors_are_found_before_a_loose_tolerance_ends_it():
    problem = datasets.planted_pursuit(200, 200, 4, density=0.02, magnitude=2e-3, random_state=0)
    found = solve(problem.X, 4, tol=1e-3)
    np.testing.assert_array_equal(found.sparse != 0, problem.sparse != 0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [0.3, 1.0, 10.0, 1e6])
def test_recovers_a_narrow_table(seed, size):
    X, truth, sparse, _ = tall(seed, size)
    found = solve(X, 3)
    assert found.converged
    assert relative(found, truth) < 1e-6
    np.testing.assert_array_equal(found.sparse != 0, sparse != 0)


def test_one_gross_entry_disturbs_nothing():
    X, truth, _, components = tall(0, density=0.0)
    X[17, 4] = 1e6
    found = solve(X, 3)
    assert relative(found, truth) < 1e-7
    assert angle(found.components, components) < 1e-5
    np.testing.assert_array_equal(np.argwhere(found.sparse), [[17, 4]])
    np.testing.assert_allclose(found.mean, truth.mean(axis=0), atol=1e-7)


def test_mean_of_the_low_rank_part_is_taken_off():
    X, truth, sparse, _ = tall(3)
    found = solve(X + 100, 3)
    assert relative(found, truth, mean=100) < 1e-6
    np.testing.assert_allclose(found.mean, 100 + truth.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(found.scores.mean(axis=0), 0, atol=1e-8)
    np.testing.assert_array_equal(found.sparse != 0, sparse != 0)


@pytest.mark.parametrize(("missing", "density"), [(0.2, 0.05), (0.4, 0.0), (0.5, 0.05)])
def test_holes(missing, density):
    problem = datasets.planted_pursuit(
        500, 500, 10, density=density, missing=missing, random_state=2
    )
    found = solve(problem.X, 10)
    assert found.converged
    assert relative(found, problem.low_rank) < 1e-5
    holes = np.isnan(problem.X)
    at_holes = np.linalg.norm((low_rank(found) - problem.low_rank)[holes])
    assert at_holes < 1e-5 * np.linalg.norm(problem.low_rank[holes])
    assert not found.sparse[holes].any()
    np.testing.assert_array_equal(found.sparse != 0, problem.sparse != 0)


def test_many_holes():
    problem = datasets.planted_pursuit(500, 500, 10, density=0, missing=0.7, random_state=2)
    found = solve(problem.X, 10)
    assert found.converged
    assert relative(found, problem.low_rank) < 1e-5


def test_rows_of_large_scores_are_not_outliers():
    X, truth, sparse, _ = tall(4)
    X[:5] += 99 * truth[:5]
    truth[:5] *= 100
    found = solve(X, 3)
    assert relative(found, truth) < 1e-6
    np.testing.assert_array_equal(found.sparse != 0, sparse != 0)


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("size", [3.0, 1e3])
def test_rows_of_nonsense_do_not_bend_the_subspace(noise, size):
    X, truth, _, components = tall(5, noise=noise)
    X[:20] = size * np.random.default_rng(0).standard_normal((20, 20))
    found = solve(X, 3)
    assert found.converged
    assert found.n_iter < 100
    assert angle(found.components, components) < (1 if noise else 1e-5)
    s = np.linalg.svd(truth[20:] - truth[20:].mean(axis=0), compute_uv=False)[:3]
    np.testing.assert_allclose(found.singular_values, s, rtol=0.05)
    assert np.abs(found.scores[:20]).max() < 0.1


def test_mostly_zero_table():
    labels = np.repeat(np.arange(10), 20)
    blocks = (labels[:, np.newaxis] == labels).astype(float)
    flipped = np.random.default_rng(0).random(blocks.shape) < 0.05
    found = solve(np.where(flipped, 1 - blocks, blocks), 10, centre=False)
    np.testing.assert_allclose(low_rank(found), blocks, atol=1e-5)
    np.testing.assert_array_equal(found.sparse != 0, flipped)


# ---------------------------------------------------------------------------------- bad rows


@pytest.mark.parametrize("size", [0.3, 1.0, 10.0, 1e6])
def test_bad_rows(size):
    X, truth, bad, components = with_bad_rows(0, size)
    found = solve(X + 3, 3, rows=True)
    assert found.converged
    assert angle(found.components, components) < 1e-5
    np.testing.assert_array_equal(np.any(found.sparse != 0, axis=1), bad)
    np.testing.assert_allclose(low_rank(found)[~bad] - 3, truth[~bad], atol=1e-5)
    np.testing.assert_allclose(found.mean, 3 + truth[~bad].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(found.scores[bad], 0, atol=1e-5)


def test_bad_rows_in_many_blocks(monkeypatch):
    X = with_bad_rows(0, 10.0)[0] + 3
    one = solve(X, 3, rows=True)
    monkeypatch.setattr(altproj, "BLOCK_BYTES", 50 * X.itemsize * 20)
    same(solve(X, 3, rows=True), one)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_bad_rows_close_together(k):
    X, _, bad, components = with_bad_rows(4, 0.0, n=60, d=50, k=k, share=0.15, noise=0.01)
    X[bad] = 1.5 + 0.1 * np.random.default_rng(5).standard_normal((bad.sum(), 50))
    found = solve(X, k, rows=True)
    assert np.all(np.any(found.sparse != 0, axis=1)[bad])
    assert angle(found.components, components) < 3


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_octane(k):
    """Rows 25, 26 and 36 to 39 have alcohol added (Hubert, Rousseeuw, Vanden Branden 2005)."""
    X = np.loadtxt(real_file("rrcov_octane.csv"), delimiter=",", skiprows=1)[:, 1:]
    found = solve(X, k, rows=True)
    rows = np.flatnonzero(np.any(found.sparse != 0, axis=1))
    np.testing.assert_array_equal(rows + 1, [25, 26, 36, 37, 38, 39])


def test_bad_rows_with_holes():
    X, truth, bad, _ = with_bad_rows(1, 1.0)
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    found = solve(X, 3, rows=True)
    np.testing.assert_array_equal(np.any(found.sparse != 0, axis=1), bad)
    np.testing.assert_allclose(low_rank(found)[~bad], truth[~bad], atol=1e-5)
    assert not found.sparse[np.isnan(X)].any()


@pytest.mark.parametrize("noise", [None, 0.05])
def test_bad_rows_with_noise(noise):
    X, _, bad, components = with_bad_rows(2, 1.0, noise=0.05)
    found = solve(X, 3, rows=True, noise=noise)
    good = X[~bad]
    plain = np.linalg.svd(good - good.mean(axis=0), full_matrices=False)[2][:3]
    assert angle(found.components, components) <= 1.1 * angle(plain, components)
    flagged = np.any(found.sparse != 0, axis=1)
    assert np.all(flagged[bad])
    assert flagged[~bad].mean() < 0.01


def test_a_good_row_that_starts_beyond_the_limit_comes_back():
    X, truth, bad, _ = with_bad_rows(3, 1.0)
    row = np.flatnonzero(~bad)[0]
    X[row] += 49 * truth[row]
    found = solve(X, 3, rows=True)
    np.testing.assert_array_equal(np.any(found.sparse != 0, axis=1), bad)
    np.testing.assert_allclose(low_rank(found)[row], 50 * truth[row], atol=1e-4)


# ------------------------------------------------------------------------------------- noise


@pytest.mark.parametrize("seed", range(10))
def test_one_gross_entry_in_a_noisy_table(seed):
    X, _, _, components = tall(seed, density=0.0, noise=0.05)
    plain = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:3]
    X[17, 4] = 1e6
    found = solve(X, 3)
    assert found.converged
    assert angle(found.components, components) <= 1.2 * angle(plain, components)
    assert found.sparse[17, 4] == pytest.approx(1e6, rel=1e-5)
    assert np.mean(found.sparse != 0) < 0.006


def test_given_noise_settles_what_is_sparse():
    X, _, _, _ = tall(0, size=1.0, noise=0.05)
    counts = [np.sum(solve(X, 3, noise=noise).sparse != 0) for noise in (0.02, 0.05, 0.2)]
    assert counts[0] > counts[1] > counts[2]
    estimated = np.sum(solve(X, 3).sparse != 0)
    assert estimated == pytest.approx(counts[1], rel=0.05)


def test_noise_alone_is_seldom_sparse():
    X = np.random.default_rng(0).standard_normal((400, 300))
    found = solve(X, 10, max_iter=500)
    assert 0.001 < np.mean(found.sparse != 0) < 0.005


# --------------------------------------------------------------------------------- symmetries


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("scale", [7.3e-9, 3.1e12])
def test_does_not_depend_on_units(rows, noise, scale):
    X = with_bad_rows(0, 1.0, noise=noise)[0] if rows else tall(0, noise=noise)[0]
    given = 0.06 if noise else None
    for deviation in (None, given):
        one = solve(X, 3, rows=rows, noise=deviation)
        other = solve(
            scale * X, 3, rows=rows, noise=None if deviation is None else scale * deviation
        )
        assert other.n_iter == one.n_iter
        same(other, one, scale)


@pytest.mark.parametrize("rows", [False, True])
def test_a_row_added_to_all_changes_only_the_mean(rows):
    X = with_bad_rows(0, 1.0, noise=0.05)[0] if rows else tall(0, noise=0.05)[0]
    shift = np.linspace(-50, 50, 20)
    one, other = solve(X, 3, rows=rows), solve(X + shift, 3, rows=rows)
    np.testing.assert_allclose(other.mean - shift, one.mean, atol=1e-6)
    np.testing.assert_allclose(other.sparse, one.sparse, atol=1e-5)
    np.testing.assert_allclose(other.singular_values, one.singular_values, rtol=1e-6)


def test_order_of_rows_and_columns_does_not_matter():
    X, _, _, _ = tall(0, noise=0.05)
    X[3, 4] = np.nan
    one = solve(X, 3)
    order, columns = np.random.default_rng(1).permutation(1000), np.arange(20)[::-1]
    other = solve(X[order][:, columns], 3)
    np.testing.assert_allclose(low_rank(other), low_rank(one)[order][:, columns], atol=1e-5)
    np.testing.assert_array_equal(other.sparse != 0, one.sparse[order][:, columns] != 0)


def test_seed_does_not_matter():
    problem = datasets.planted_pursuit(200, 150, 8, noise=1e-3, random_state=0)
    one, other = (
        altproj.solve(problem.X, 8, rng=np.random.default_rng(seed), tol=1e-9) for seed in (1, 2)
    )
    np.testing.assert_allclose(low_rank(one), low_rank(other), atol=1e-7)


@pytest.mark.parametrize("rows", [False, True])
def test_float32(rows):
    X = with_bad_rows(0, 1.0)[0] if rows else tall(0)[0]
    X = (X + 100).astype(np.float32)
    found, exact = solve(X, 3, rows=rows), solve(X.astype(float), 3, rows=rows, tol=1e-5)
    for field in ("mean", "components", "singular_values", "scores", "sparse"):
        assert getattr(found, field).dtype == np.float32
    assert found.converged
    same(found, exact, atol=1e-4)


def test_number_of_threads_does_not_matter():
    problem = datasets.planted_pursuit(600, 500, 10, missing=0.1, random_state=0)
    found = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            found.append(solve(problem.X, 10))
    np.testing.assert_array_equal(found[0].sparse, found[1].sparse)
    np.testing.assert_array_equal(found[0].scores, found[1].scores)


def test_leaves_the_table_alone():
    problem = datasets.planted_pursuit(60, 50, 3, missing=0.1, random_state=0)
    before = problem.X.copy()
    for rows in (False, True):
        solve(problem.X, 3, rows=rows)
        np.testing.assert_array_equal(problem.X, before)


# --------------------------------------------------------------------------- how it ends


def test_components_are_a_singular_value_decomposition():
    found = solve(tall(0)[0], 3)
    s = found.singular_values
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(found.scores.T @ found.scores, np.diag(s**2), atol=1e-9 * s[0] ** 2)
    assert np.all(np.diff(s) <= 0)


@pytest.mark.parametrize("rows", [False, True])
def test_objective_falls(rows):
    X = with_bad_rows(0, 1.0, noise=0.05)[0] if rows else tall(0, noise=0.05)[0]
    history = solve(X, 3, rows=rows).objective_history
    assert np.all(np.diff(history) <= 1e-9 * history[0])


def test_objective_is_that_of_the_docstring():
    X, _, _, _ = tall(0, noise=0.05)
    X[2, 3] = np.nan
    found = solve(X, 3, noise=0.05)
    z = 0.05 * 3.0
    r = X - low_rank(found)
    loss = np.nansum(np.minimum(r**2, z**2))
    assert found.objective_history[-1] == pytest.approx(loss, rel=1e-4)
    np.testing.assert_array_equal(found.sparse != 0, np.abs(r) > z * (1 + 1e-4))


def test_of_noise_it_is_least_squares_on_what_is_not_sparse():
    X, _, _, _ = tall(1, noise=0.05)
    found = solve(X, 3, tol=1e-10)
    C = np.where(found.sparse == 0, X - low_rank(found), 0.0)
    U, V = found.scores / found.singular_values, found.components
    scale = np.linalg.norm(C)
    assert np.linalg.norm(C.sum(axis=0)) < 1e-6 * scale
    assert np.linalg.norm(U.T @ C) < 1e-6 * scale
    assert np.linalg.norm(C @ V.T) < 1e-6 * scale


def test_says_so_when_it_has_not_converged():
    problem = datasets.planted_pursuit(100, 80, 5, random_state=0)
    found = solve(problem.X, 5, max_iter=3)
    assert (found.converged, found.n_iter, found.certificate.holds) == (False, 3, False)
    assert "change of low_rank_" in str(found.certificate)


def test_monitor_can_stop_it():
    seen = []

    def monitor(objective):
        seen.append(objective)
        return len(seen) == 2

    found = solve(tall(0)[0], 3, monitor=monitor)
    assert (found.n_iter, found.converged) == (2, False)
    np.testing.assert_array_equal(found.objective_history, seen)


# ------------------------------------------------------------------------- degenerate tables


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("k", [1, 2])
def test_table_of_its_rank_without_errors(rows, k):
    r = np.random.default_rng(0)
    X = r.standard_normal((40, k)) @ r.standard_normal((k, 12)) + 7
    found = solve(X, k, rows=rows)
    np.testing.assert_allclose(low_rank(found), X, atol=1e-6)
    assert not found.sparse.any()


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("value", [0.0, 4.0])
def test_constant_table(rows, value):
    found = solve(np.full((30, 8), value), 2, rows=rows)
    assert found.converged
    assert not found.sparse.any()
    np.testing.assert_array_equal(low_rank(found), value)


def test_constant_columns_are_harmless():
    X, truth, sparse, _ = tall(0)
    X = np.column_stack([X, np.full(1000, 5.0), np.zeros(1000)])
    found = solve(X, 3)
    np.testing.assert_allclose(low_rank(found)[:, :20], truth, atol=1e-5)
    np.testing.assert_allclose(low_rank(found)[:, 20:], X[:, 20:], atol=1e-9)
    np.testing.assert_array_equal(found.sparse[:, :20] != 0, sparse != 0)
    assert not found.sparse[:, 20:].any()


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize(("shape", "k"), [((30, 8), 8), ((8, 30), 7), ((5, 9), 9), ((1, 4), 1)])
def test_from_full_rank_on_nothing_is_sparse(rows, shape, k):
    X = np.random.default_rng(0).standard_normal(shape)
    found = solve(X, k, rows=rows)
    np.testing.assert_allclose(low_rank(found), X, atol=1e-12)
    assert not found.sparse.any()
    assert len(found.singular_values) == min(k, *shape)


def test_holes_at_full_rank_get_the_mean():
    X = np.random.default_rng(0).standard_normal((30, 4))
    X[3, 2] = np.nan
    assert low_rank(solve(X, 4))[3, 2] == pytest.approx(np.nanmean(X[:, 2]))


@pytest.mark.parametrize(("shape", "k"), [((40, 8), 7), ((8, 40), 6), ((12, 12), 9)])
def test_ranks_near_the_full_one(shape, k):
    found = solve(np.random.default_rng(0).standard_normal(shape), k)
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(k), atol=1e-10)
    assert np.all(np.isfinite(low_rank(found)))


# --------------------------------------------------------------------------------- the parts


def holey(seed, shape=(30, 7)):
    r = np.random.default_rng(seed)
    M = r.standard_normal(shape)
    M[r.random(shape) < 0.2] = np.nan
    M[0] = 0.0
    return M


def test_trim_is_its_twin():
    R = holey(0)
    limit = np.linspace(0.2, 2, 7)
    twin = R.copy()
    found, expected = trim.trim(R, limit), trim.trim.__wrapped__(twin, limit)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_array_equal(R, twin)


def test_trim_in_words():
    R, limit = holey(1), np.linspace(0.2, 2, 7)
    sizes = np.abs(R)
    kept = np.where(sizes <= limit, R, 0.0)
    loss = np.nansum(np.minimum(sizes, limit) ** 2)
    np.testing.assert_allclose(trim.trim(R, limit), (np.abs(kept).max(), loss), rtol=1e-13)
    np.testing.assert_array_equal(R, kept)


@pytest.mark.parametrize("shape", [(30, 7), (31, 7), (1, 3)])
def test_column_medians(shape):
    M = holey(2, shape)
    np.testing.assert_allclose(trim.column_medians(M), np.nanmedian(M, axis=0), rtol=1e-15)


def test_typical_sizes_leave_zeros_out():
    sizes = np.array([[0.0, 0.0, 3.0], [0.0, 0.0, np.nan], [5.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
    np.testing.assert_array_equal(trim.typical(sizes), [5.0, 0.0, 2.0])


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_regression_that_wrong_entries_cannot_bend(size):
    r = np.random.default_rng(5)
    A, B = r.standard_normal((20, 3)), r.standard_normal((200, 3))
    Y = B @ A.T
    for row in Y:
        wrong = r.permutation(20)[:6]
        row[wrong[:5]] += size * r.choice([-1, 1], 5)
        row[wrong[5]] = np.nan
    found, share = trim.regress(Y, A, 1e-7, rng=np.random.default_rng(0))
    np.testing.assert_allclose(found, B, atol=1e-7)
    np.testing.assert_allclose(share, 14 / 19)


def test_no_rows_to_fit():
    found, share = trim.regress(np.empty((0, 4)), np.eye(4, 2), 0.1, rng=np.random.default_rng(0))
    assert (found.shape, share.shape) == ((0, 2), (0,))


def test_share_of_the_most():
    Y = np.ones((2, 10))
    Y[1, :2] = np.nan
    np.testing.assert_allclose(trim.most(Y, np.ones((10, 4))), [7 / 10, 6 / 8])
