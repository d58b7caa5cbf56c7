"""The three solvers of sparse PCA: published numbers, enumeration, conditions of optimality."""

import csv
from itertools import combinations, product

import numpy as np
import pytest
from real_data import real_file

from eigenlens.solvers import scotlass, sparse_l0, spca
from eigenlens.solvers.directions import adjusted_variances, compressed, per_component


def rng():
    return np.random.default_rng(5)


def elastic_net(A, k, **options):
    return spca.solve(A, k, **{"alpha": 0.02 * np.sum(A**2), "tol": 1e-10, **options})


def l1_ball(A, k, **options):
    return scotlass.solve(A, k, **{"t": 1.6, "rng": rng(), "tol": 1e-12, **options})


def l0(A, k, **options):
    return sparse_l0.solve(A, k, **{"n_nonzero": 3, "rng": rng(), "tol": 1e-9, **options})


SOLVERS = pytest.mark.parametrize("solve", [elastic_net, l1_ball, l0])
MAXIMISERS = pytest.mark.parametrize("solve", [l1_ball, l0])


def root(S):
    """Return A with A'A = S."""
    values, vectors = np.linalg.eigh(S)
    return (vectors * np.sqrt(np.maximum(values, 0.0))).T


@pytest.fixture(scope="module")
def pit_props():
    """The names of the 13 variables, and the root of their correlation matrix (Jeffers 1967)."""
    with real_file("pitprops_corr.csv").open() as file:
        header, *rows = csv.reader(file)
    return header[1:], root(np.array([[float(x) for x in row[1:]] for row in rows]))


def zou():
    """Return the root of the population covariance of the 10 variables of Zou et al. (2006).

    V1 has variance 290, V2 300, V3 = -0.3 V1 + 0.925 V2 + N(0, 1); variables 1 to 4 are V1 plus
    noise of variance 1, 5 to 8 are V2 plus noise, 9 and 10 are V3 plus noise.
    """
    F = np.array([[1, 0, 0]] * 4 + [[0, 1, 0]] * 4 + [[-0.3, 0.925, 1]] * 2)
    return root(F @ np.diag([290.0, 300, 1]) @ F.T + np.eye(10))


def planted(m=60, d=12):
    """Return a centred table with two blocks of three variables each that go together."""
    r = np.random.default_rng(11)
    X = r.standard_normal((m, d))
    X[:, :3] += 3 * r.standard_normal((m, 1))
    X[:, 5:8] += 2 * r.standard_normal((m, 1))
    return X - X.mean(axis=0)


def supports(found):
    """Return the nonzeros of each component, counted from 1."""
    return [set((np.flatnonzero(c) + 1).tolist()) for c in found.components]


def variances(A, components):
    return np.sum((A @ components.T) ** 2, axis=0)


# ------------------------------------------------------------------------------------- pit props


def test_spca_gives_zou_s_table(pit_props):
    names, A = pit_props
    found = spca.solve(A, 6, alpha=[0.06, 0.16, 0.1, 0.5, 0.5, 0.5], tol=1e-9)
    assert found.converged
    assert [len(s) for s in supports(found)] == [7, 4, 4, 1, 1, 1]
    percent = 100 * adjusted_variances(A, found.components) / 13
    np.testing.assert_allclose(percent, [28.0, 14.0, 13.3, 7.4, 6.8, 6.2], atol=0.1)
    assert percent.sum() == pytest.approx(75.8, abs=0.1)
    first = dict(zip(names, found.components[0], strict=True))
    printed = {"topdiam": -0.477, "length": -0.476, "ovensg": 0.178, "ringbut": -0.247}
    printed |= {"bowmax": -0.344, "bowdist": -0.417, "whorls": -0.400}
    sign = np.sign(first["ovensg"])
    assert {n: sign * x for n, x in first.items() if x} == pytest.approx(printed, abs=1e-3)


@pytest.mark.parametrize("n", range(2, 14))
def test_l0_reaches_and_proves_the_enumerated_optimum(pit_props, n):
    _, A = pit_props
    found = l0(A, 1, n_nonzero=n)
    assert np.count_nonzero(found.components) == n
    assert variances(A, found.components)[0] == pytest.approx(enumerated(A, n), abs=1e-6)
    assert found.converged
    assert found.certificate.holds


def test_scotlass_on_pit_props(pit_props):
    _, A = pit_props
    V = (found := l1_ball(A, 6, t=1.75)).components
    assert found.converged
    np.testing.assert_allclose(V @ V.T, np.eye(6), atol=1e-9)
    assert np.abs(V).sum(axis=1).max() <= 1.75 * (1 + 1e-9)
    np.testing.assert_array_equal(found.l1_bounds, 1.75)
    percent = 100 * variances(A, V) / 13
    np.testing.assert_allclose(percent, [19.6, 16.6, 15.5, 11.4, 8.9, 7.9], atol=0.06)


def enumerated(A, n):
    """Return the largest variance of a unit vector with `n` nonzeros, by trying all supports."""
    S = A.T @ A
    sets = np.array(list(combinations(range(A.shape[1]), n)))
    return np.linalg.eigvalsh(S[sets[:, :, None], sets[:, None, :]])[:, -1].max()


# ------------------------------------------------------------------------------ planted supports


def test_spca_finds_zou_s_supports():
    found = spca.solve(zou(), 2, alpha=500, tol=1e-8)
    assert supports(found) == [{5, 6, 7, 8}, {1, 2, 3, 4}]
    np.testing.assert_allclose(np.abs(found.components[found.components != 0]), 0.5, atol=1e-6)


def test_scotlass_finds_zou_s_supports():
    found = l1_ball(zou(), 3, t=[2, 2, np.sqrt(2)])
    rounded = [set((np.flatnonzero(np.abs(c) > 1e-3) + 1).tolist()) for c in found.components]
    assert rounded == [{5, 6, 7, 8}, {1, 2, 3, 4}, {9, 10}]


def test_l0_finds_zou_s_supports():
    found = l0(zou(), 3, n_nonzero=[4, 4, 2])
    assert supports(found) == [{5, 6, 7, 8}, {1, 2, 3, 4}, {9, 10}]
    np.testing.assert_allclose(np.abs(found.components[0, 4:8]), 0.5, atol=1e-9)


# -------------------------------------------------------------------------------------- optimality


@pytest.mark.parametrize("shape", [(40, 9), (9, 40)], ids=["tall", "wide"])
def test_spca_meets_the_kkt_conditions(shape):
    """With W from B as Zou's theorem has it, each column of B solves its elastic net."""
    A = rng().standard_normal(shape)
    alpha, ridge = np.array([4.0, 2.0]), 0.5
    found = spca.solve(A, 2, alpha=alpha, ridge=ridge, tol=1e-12)
    assert found.converged
    S = A.T @ A
    B = lengths_back(S, found.components, alpha, ridge)
    U, _, Vt = np.linalg.svd(S @ B.T, full_matrices=False)
    gradient = 2 * (S @ (U @ Vt - B.T)).T - 2 * ridge * B
    on = B != 0
    weight = np.repeat(alpha[:, None], B.shape[1], axis=1)
    np.testing.assert_allclose(gradient[on], (weight * np.sign(B))[on], atol=1e-6)
    assert (np.abs(gradient) <= weight + 1e-6).all()
    value = np.sum((A - A @ B.T @ (U @ Vt).T) ** 2) + ridge * np.sum(B**2)
    value += np.sum(alpha * np.abs(B).sum(axis=1))
    assert found.objective_history[-1] == pytest.approx(value, rel=1e-9)


def test_spca_s_certificate_is_the_largest_violation():
    for seed in range(20):
        draw = np.random.default_rng(seed)
        A, alpha, ridge = draw.standard_normal((12, 5)), np.array([4.0, 2.0]), 0.5
        B = draw.standard_normal((2, 5)) * (draw.random((2, 5)) < 0.6)
        W = np.linalg.qr(draw.standard_normal((5, 2)))[0]
        slopes = 2 * (A.T @ A @ (W - B.T)).T - 2 * ridge * B
        violations = [
            abs(slope - a * np.sign(b)) if b else max(abs(slope) - a, 0.0)
            for a, row, own in zip(alpha, B, slopes, strict=True)
            for b, slope in zip(row, own, strict=True)
        ]
        size = 2 * np.linalg.norm(A, 2) ** 2
        found = spca._Problem(A, alpha, ridge).residual(B, W)
        assert found == pytest.approx(max(violations) / size)


def lengths_back(S, components, alpha, ridge):
    """Return the B of which `components` are the normalised rows, by a fixed point in the lengths.

    For given W and direction v, the best length is that of a least-squares problem.
    """
    lengths = np.ones(len(components))
    for _ in range(2000):
        B = lengths[:, None] * components
        U, _, Vt = np.linalg.svd(S @ B.T, full_matrices=False)
        pull = np.sum(components * (S @ U @ Vt).T, axis=1)
        curvature = np.sum((components @ S) * components, axis=1) + ridge
        lengths = (pull - alpha * np.abs(components).sum(axis=1) / 2) / curvature
    return lengths[:, None] * components


@pytest.mark.parametrize("sweeps", [0, 1, 7])
def test_a_sweep_ends_at_the_minimum_for_its_last_coordinate(sweeps):
    A, half, ridge = rng().standard_normal((8, 5)), 0.3, 0.2
    columns, squares = np.ascontiguousarray(A.T), np.sum(A**2, axis=0)
    b, target = np.zeros(5), A.sum(axis=1)
    r = target.copy()
    spca._descend(columns, squares, r, b, half, ridge, sweeps)
    np.testing.assert_allclose(r, target - A @ b, atol=1e-13)
    violation = np.abs(A.T @ r - ridge * b - half * np.sign(b))
    assert b.all()
    assert violation[-1] < 1e-13


def test_the_loop_equals_its_twin():
    A = rng().standard_normal((8, 5))
    A[:, 2] = 0
    columns, squares = np.ascontiguousarray(A.T), np.sum(A**2, axis=0)
    answers = []
    for loop in (spca._descend, spca._descend.__wrapped__):
        b, r = np.zeros(5), A.sum(axis=1)
        loop(columns, squares, r, b, 1.0, 0.1, 3)
        answers.append((b, r))
    np.testing.assert_allclose(answers[0][0], answers[1][0], atol=1e-14)
    np.testing.assert_allclose(answers[0][1], A @ (np.ones(5) - answers[0][0]), atol=1e-12)
    assert answers[0][0][2] == 0


@pytest.mark.parametrize("n", [1, 2, 4, 7, 10])
@pytest.mark.parametrize("seed", range(4))
def test_l0_on_noise_is_never_better_by_enumeration(seed, n):
    A = np.random.default_rng(seed).standard_normal((15, 10))
    found = l0(A, 1, n_nonzero=n)
    assert variances(A, found.components)[0] == pytest.approx(enumerated(A, n), rel=1e-9)
    assert found.certificate.holds


def test_l0_search_is_good_without_the_proof(monkeypatch):
    """Power iteration and swaps alone find nearly all optima: the proof is not the search."""
    monkeypatch.setattr(sparse_l0, "WORK", 0)
    hits = 0
    for seed in range(20):
        A = np.random.default_rng(seed).standard_normal((15, 10))
        found = l0(A, 1, n_nonzero=4)
        hits += np.isclose(variances(A, found.components)[0], enumerated(A, 4))
    assert hits >= 18
    assert not found.certificate.holds


def test_l0_swaps_lead_up_from_a_bad_start():
    hits = 0
    for seed in range(20):
        A = np.random.default_rng(seed).standard_normal((15, 10))
        top = sparse_l0._Climb(100, lambda value: False).to_the_top(
            sparse_l0._Columns(A), np.arange(4)
        )
        hits += np.isclose(top.value, enumerated(A, 4))
    assert hits >= 12


def test_l0_tries_the_swap_that_is_sure_of_most(monkeypatch):
    """Of e_j and of what v has left without i, for all pairs one by one."""
    monkeypatch.setattr(sparse_l0, "TRIED", 1)
    for seed in range(5):
        A = np.random.default_rng(seed).standard_normal((9, 7)) * np.linspace(2, 0.5, 7)
        best = sparse_l0._Best.on(sparse_l0._Columns(A), np.array([1, 4, 6]))
        sure = {}
        for out, into in product(range(3), [0, 2, 3, 5]):
            pair = np.zeros((7, 2))
            pair[best.support, 0], pair[into, 1] = best.vector, 1.0
            pair[best.support[out], 0] = 0.0
            pair /= np.linalg.norm(pair, axis=0)
            swapped = best.support.copy()
            swapped[out] = into
            sure[tuple(swapped)] = np.linalg.norm(A @ pair, 2)
        (found,) = sparse_l0._promising(sparse_l0._Columns(A), best)
        assert tuple(found) == max(sure, key=sure.get)


def test_l0_bound_holds_where_it_is_not_closed(monkeypatch):
    monkeypatch.setattr(sparse_l0, "WORK", 5 * 10**2 * 15)
    A = rng().standard_normal((15, 10))
    found = l0(A, 1, n_nonzero=4)
    value = variances(A, found.components)[0]
    assert enumerated(A, 4) <= value * (1 + found.certificate.value) * (1 + 1e-12)
    assert found.certificate.value > 0


def test_l0_directions_add_the_most_adjusted_variance():
    A = planted(d=8)
    found = l0(A, 3)
    added = adjusted_variances(A, found.components)
    assert found.objective_history[-1] == pytest.approx(added.sum())
    for j in range(3):
        Q = np.linalg.qr(A @ found.components[:j].T)[0]
        assert added[j] == pytest.approx(enumerated(A - Q @ (Q.T @ A), 3))


@pytest.mark.parametrize("t", [1.0, 1.3, 2.0])
def test_scotlass_is_never_worse_than_random_feasible_directions(t):
    A = planted()
    v = l1_ball(A, 1, t=t).components[0]
    U = rng().standard_normal((20_000, A.shape[1])) * (rng().random((20_000, A.shape[1])) < 0.3)
    U = U[U.any(axis=1)]
    U /= np.maximum(np.abs(U).sum(axis=1) / t, np.linalg.norm(U, axis=1))[:, None]
    assert np.sum((A @ v) ** 2) >= variances(A, U).max() * (1 - 1e-12)


@pytest.mark.parametrize("j", [0, 1, 3])
def test_scotlass_step_is_the_largest_over_the_feasible_set(j):
    """No feasible u has more of g: the set is sampled around the answer."""
    r = rng()
    V = np.linalg.qr(r.standard_normal((8, j)))[0].T
    g, t = r.standard_normal(8), 1.8
    u = scotlass._maximiser(g, t, V, np.zeros(8))
    np.testing.assert_allclose([u @ u, np.abs(V @ u).max(initial=0)], [1, 0], atol=1e-12)
    assert np.abs(u).sum() == pytest.approx(t)
    for size in (1e-3, 1e-1, 1.0):
        near = u + size * r.standard_normal((5000, 8))
        near -= (near @ V.T) @ V
        near /= np.maximum(np.abs(near).sum(axis=1) / t, np.linalg.norm(near, axis=1))[:, None]
        assert (near @ g).max() <= g @ u + 1e-12


def test_scotlass_step_in_closed_form_equals_bisection(monkeypatch):
    r = rng()
    V = np.linalg.qr(r.standard_normal((8, 2)))[0].T
    draws = r.standard_normal((30, 8))
    guesses = [np.sign(scotlass._soft(g, 0.7)) for g in draws]
    closed = [scotlass._maximiser(*case) for case in cases(draws, V, guesses)]
    monkeypatch.setattr(scotlass, "_on_face", lambda *case: None)
    bisected = [scotlass._maximiser(*case) for case in cases(draws, V, guesses)]
    np.testing.assert_allclose(closed, bisected, atol=1e-6)


def cases(draws, V, guesses):
    return [(g, 1.8, V, signs) for g, signs in zip(draws, guesses, strict=True)]


def test_scotlass_says_where_orthogonality_excludes_t():
    """In the plane the second direction is settled, and has the l1 norm of the first."""
    A = np.array([[2.0, 1.0], [1.0, 2.0], [0.5, -0.5]])
    found = l1_ball(A, 2, t=[1.3, 1.0])
    np.testing.assert_allclose(found.l1_bounds, [1.3, 1.3], rtol=1e-8)
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(2), atol=1e-9)


def test_scotlass_with_a_large_bound_is_pca():
    A = planted()
    axes = np.linalg.svd(A)[2][:3]
    found = l1_ball(A, 3, t=np.sqrt(12))
    np.testing.assert_allclose(np.abs(found.components @ axes.T), np.eye(3), atol=1e-6)


def test_spca_without_penalty_is_pca():
    A = planted()
    axes = np.linalg.svd(A)[2][:3]
    found = elastic_net(A, 3, alpha=0)
    np.testing.assert_allclose(np.abs(found.components @ axes.T), np.eye(3), atol=1e-6)


# ------------------------------------------------------------------------------ what all must keep


@SOLVERS
def test_only_the_products_matter(solve):
    A = planted()
    one, other = solve(A, 3), solve(root(A.T @ A), 3)
    np.testing.assert_allclose(*same_signs(one, other), atol=1e-6)


@SOLVERS
def test_permuted_columns_permute_the_answer(solve):
    A = planted()
    order = rng().permutation(A.shape[1])
    one, other = solve(A, 3), solve(A[:, order], 3)
    np.testing.assert_allclose(*same_signs(one, other, order), atol=1e-6)


@SOLVERS
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scale_does_not_matter(solve, scale):
    A = planted()
    ridge = {"ridge": 0.0} if solve is elastic_net else {}
    one, other = solve(A, 3, **ridge), solve(scale * A, 3, **ridge)
    np.testing.assert_allclose(*same_signs(one, other), atol=1e-6)


def same_signs(one, other, order=slice(None)):
    V, U = one.components[:, order], other.components
    return V, U * np.sign(np.sum(V * U, axis=1, keepdims=True))


def test_the_objective_of_spca_never_rises():
    history = elastic_net(planted(), 3).objective_history
    assert len(history) > 3
    assert (np.diff(history) <= 1e-12 * history[0]).all()


@MAXIMISERS
def test_the_objective_of_a_maximiser_never_falls(solve):
    found = solve(planted(), 3)
    history = found.objective_history
    assert len(history) >= 3
    assert (np.diff(history) >= -1e-12 * history[-1]).all()


@SOLVERS
def test_the_monitor_sees_all_and_can_stop(solve):
    seen = []
    found = solve(planted(), 3, monitor=lambda value: seen.append(value) or False)
    np.testing.assert_array_equal(seen, found.objective_history)
    stopped = solve(planted(), 3, monitor=lambda value: True)
    assert stopped.n_iter < found.n_iter
    assert not stopped.converged


def test_too_few_iterations_are_owned_up_to(monkeypatch):
    found = elastic_net(planted(), 3, max_iter=2)
    assert (found.n_iter, found.converged, found.certificate.holds) == (2, False, False)
    monkeypatch.setattr(scotlass, "WARM", 1)
    found = l1_ball(rng().standard_normal((30, 12)), 1, max_iter=1)
    assert (found.n_iter, found.converged, found.certificate.holds) == (1, False, False)
    found = l0(rng().standard_normal((30, 12)), 1, max_iter=0)
    assert not found.converged


@SOLVERS
def test_more_components_than_dimensions_are_zero(solve):
    A = rng().standard_normal((30, 2)) @ rng().standard_normal((2, 5))
    found = solve(A, 7)
    np.testing.assert_allclose(np.linalg.norm(found.components[0]), 1)
    np.testing.assert_array_equal(found.components[5:], 0)
    assert found.converged


@SOLVERS
def test_one_row(solve):
    found = solve(np.array([[3.0, -2.0, 1.0, 0.0]]), 2)
    assert found.components[0, :2] @ [3, -2] != 0
    assert found.converged
    if solve is not l1_ball:  # the first direction takes all; under the l1 bound it cannot
        np.testing.assert_array_equal(found.components[1], 0)


@SOLVERS
def test_constant_columns_get_no_loading(solve):
    A = planted()
    A[:, [1, 9]] = 0
    found = solve(A, 3)
    np.testing.assert_allclose(found.components[:, [1, 9]], 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.components, axis=1), 1)


@SOLVERS
def test_nothing_at_all(solve):
    found = solve(np.zeros((6, 4)), 2)
    np.testing.assert_array_equal(found.components, 0)
    assert found.converged


def test_alpha_above_the_largest_useful_value_leaves_nothing():
    A = planted()
    axis = np.linalg.svd(A)[2][0]
    largest = 2 * np.abs(A.T @ (A @ axis)).max()
    assert elastic_net(A, 1, alpha=0.999 * largest).components.any()
    assert not elastic_net(A, 1, alpha=1.001 * largest).components.any()


def test_a_component_of_spca_may_be_zero_alone():
    found = elastic_net(planted(), 3, alpha=[10, 1e9, 10])
    np.testing.assert_array_equal(found.components.any(axis=1), [True, False, True])


@pytest.mark.parametrize("n", [0, 13, [3, 0]])
def test_impossible_numbers_of_nonzeros_are_refused(n):
    with pytest.raises(ValueError, match="at least 1 and at most 12"):
        l0(planted(), 2, n_nonzero=n)


def test_impossible_l1_norms_are_refused():
    with pytest.raises(ValueError, match=r"t=0\.9 is less than 1"):
        l1_ball(planted(), 2, t=0.9)


# --------------------------------------------------------------------------------- what they share


def test_adjusted_variances_count_nothing_twice():
    A = planted()
    V = np.linalg.qr(rng().standard_normal((12, 3)))[0].T
    added = adjusted_variances(A, V)
    Q = np.linalg.qr(A @ V.T)[0]
    assert added[0] == pytest.approx(np.sum((A @ V[0]) ** 2))
    assert added.sum() == pytest.approx(np.sum((A @ V.T) ** 2) - overlap(A @ V.T, Q))
    twice = adjusted_variances(A, np.vstack([V[0], V[0], 0 * V[0], V[1]]))
    np.testing.assert_allclose(twice, [added[0], 0, 0, added[1]], atol=1e-9)
    assert adjusted_variances(A[:1], V)[1:].tolist() == [0, 0]


def overlap(scores, Q):
    """Return the part of the scores' squares that earlier scores explain."""
    return sum(np.sum((Q[:, :j].T @ scores[:, j]) ** 2) for j in range(scores.shape[1]))


def test_compression_keeps_the_products():
    A = planted()
    assert compressed(A).shape == (12, 12)
    np.testing.assert_allclose(compressed(A).T @ compressed(A), A.T @ A, atol=1e-9)
    assert compressed(A[:4]).shape == (4, 12)


def test_one_number_or_one_a_component():
    np.testing.assert_array_equal(per_component(2, 3, "alpha"), [2, 2, 2])
    with pytest.raises(ValueError, match=r"alpha has shape \(2,\), and there are 3 components"):
        per_component([1, 2], 3, "alpha")
