"""The deviation of noise beside gross errors and a part of low rank."""

import numpy as np
import pytest

from eigenlens import datasets
from eigenlens.solvers import altproj, noise, pursuit
from eigenlens.solvers.low_rank import LowRank


def taken_apart(M, mean, V, scores, sparse):
    return LowRank(
        solver="truth",
        mean=mean,
        components=V,
        singular_values=np.linalg.norm(scores, axis=0),
        scores=scores,
        sparse=sparse,
    )


def noisy(sigma, *, n=400, d=30, k=3, density=0.02, missing=0.0, seed=0):
    """Return a table with errors of 1e4 and holes, and the truth about it."""
    planted = datasets.planted_subspace(
        n, d, k, noise=sigma, decay=1.0, mean=5.0, random_state=seed
    )
    r = np.random.default_rng(seed)
    sparse = np.where(r.random((n, d)) < density, 1e4, 0.0)
    M = planted.X + sparse
    M[r.random((n, d)) < missing] = np.nan
    sparse[np.isnan(M)] = 0.0
    return M, taken_apart(M, planted.mean, planted.components, planted.scores, sparse)


# ------------------------------------------------------------------------------------- cut_off


def test_cut_off_bounds_each_column_by_its_own_spread():
    r = np.random.default_rng(0)
    M = r.standard_normal((500, 3)) * [1.0, 100.0, 1e-3] + [7.0, 0.0, -2.0]
    M[3] = 1e9
    M[4, 1] = np.nan
    found = noise.cut_off(M)
    assert found[4, 1] == 0
    spread = 1.4826 * np.nanmedian(np.abs(M - np.nanmedian(M, axis=0)), axis=0)
    np.testing.assert_allclose(found[3], 5 * spread)
    rest = np.delete(M, [3, 4], axis=0)
    np.testing.assert_allclose(np.delete(found, [3, 4], axis=0), rest - np.nanmedian(M, axis=0))


# -------------------------------------------------------------------------- residual_deviation


@pytest.mark.parametrize("sigma", [1e-3, 0.5])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("k", [1, 8])
def test_residuals_of_the_truth_have_the_deviation_of_the_noise(sigma, missing, k):
    M, truth = noisy(sigma, k=k, missing=missing)
    assert noise.residual_deviation(M, truth) == pytest.approx(sigma, rel=0.05)


def test_gross_errors_in_a_tenth_of_the_entries_raise_it_by_a_sixth_at_most():
    M, truth = noisy(0.1, density=0.1)
    assert 0.1 < noise.residual_deviation(M, truth) < 0.1 * 7 / 6


def test_scores_that_were_shrunk_do_not_count():
    M, truth = noisy(0.1)
    shrunk = taken_apart(M, truth.mean, truth.components, 0.1 * truth.scores, truth.sparse)
    assert noise.residual_deviation(M, shrunk) == noise.residual_deviation(M, truth)


def test_dimensions_used_up_are_allowed_for():
    """Noise fitted by half of all directions leaves half of its square."""
    M = np.random.default_rng(0).standard_normal((600, 20))
    V = np.eye(20)[:10]
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((20, 20)))[0]
    found = taken_apart(M, np.zeros(20), V @ Q, M @ (V @ Q).T, np.zeros_like(M))
    assert noise.residual_deviation(M, found) == pytest.approx(1.0, rel=0.03)


# ----------------------------------------------------------------------------------- deviation


def test_ends_where_two_estimates_agree():
    """A fit that confirms 0.3 whatever it is given is asked twice, and no more."""
    M, truth = noisy(0.3)
    asked = []

    def fit(sigma):
        asked.append(sigma)
        return truth

    found = noise.deviation(M, fit, 2.0)
    assert found == pytest.approx(0.3, rel=0.05)
    assert asked == [2.0, found]


def test_exact_tables_have_none():
    M, truth = noisy(0.0)
    asked = []

    def fit(sigma):
        asked.append(sigma)
        return truth

    assert noise.deviation(M, fit, 1.0) == 0.0
    assert asked == [1.0]


def test_less_than_the_tolerance_of_rough_fits_is_none():
    M, truth = noisy(1e-4)
    assert noise.deviation(M, lambda _: truth, 1.0) == 0.0
    M, truth = noisy(1e-2)
    assert noise.deviation(M, lambda _: truth, 1.0) == pytest.approx(1e-2, rel=0.05)


def test_estimates_that_never_agree_come_to_an_end():
    M, truth = noisy(0.3)
    asked = []

    def fit(sigma):
        asked.append(sigma)
        k = len(asked) % 3
        parts = truth.mean, truth.components[:k], truth.scores[:, :k], truth.sparse
        return taken_apart(M, *parts)

    assert 0 < noise.deviation(M, fit, 1e-3) < 3
    assert len(asked) == noise.MOST


@pytest.mark.parametrize("sigma", [0.02, 0.1])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_pursuit_confirms_the_deviation(sigma, missing):
    problem = datasets.planted_pursuit(
        150, 100, 4, magnitude=3.0, noise=sigma, missing=missing, random_state=0
    )
    M = 10 * problem.low_rank + (problem.X - problem.low_rank)
    edge = ((1 - missing) ** 0.5) * (150**0.5 + 100**0.5)

    def fit(guess):
        return pursuit.solve(
            M, lam=2 / edge, delta=guess * edge, rng=np.random.default_rng(0), tol=1e-3
        )

    for guess in (0.3 * sigma, sigma, 5 * sigma):
        assert noise.deviation(M, fit, guess) == pytest.approx(sigma, rel=0.1)


def test_alternating_projections_leave_the_noise():
    M, _ = noisy(0.2)
    found = altproj.solve(M, 3, rng=np.random.default_rng(0))
    assert noise.residual_deviation(M, found) == pytest.approx(0.2, rel=0.05)


def test_leaves_the_table_alone():
    M, truth = noisy(0.2, missing=0.1)
    before = M.copy()
    noise.deviation(M, lambda _: truth, 1.0)
    noise.cut_off(M)
    np.testing.assert_array_equal(M, before)
