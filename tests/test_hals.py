"""Least-squares parts: loops, descent, conditions of optimality, holes and weights."""

import tracemalloc

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.decomposition._nmf import _initialize_nmf
from threadpoolctl import threadpool_limits

from eigenlens.ops import lasso
from eigenlens.ops.lasso import descend, masked_grams
from eigenlens.solvers import hals
from eigenlens.solvers.hals_memory import InMemory
from eigenlens.solvers.hals_problem import LOOK
from eigenlens.solvers.nndsvd import at_random, nndsvd
from eigenlens.solvers.parts import NONE, Penalty

LIGHT = Penalty(0.3, 0.2)


def planted(n=40, d=25, k=4, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n, k)) @ (rng.exponential(size=(k, d)) * (rng.random((k, d)) < 0.5))
    return np.maximum(X + noise * rng.standard_normal((n, d)), 0.0)


def start(X, k=4, seed=0):
    return at_random(X, k, np.random.default_rng(seed), None)


def fit(X, k=4, seed=0, begin=None, tol=1e-8, max_iter=5000, **options):
    return hals.solve(X, *(begin or start(X, k, seed)), tol=tol, max_iter=max_iter, **options)


def objective(X, W, H, on_W=NONE, on_H=NONE, weight=None, observed=None):
    s = np.ones(len(X)) if weight is None else weight
    M = np.ones(X.shape) if observed is None else np.where(observed, 1.0, hals.TRACE)
    rows = 0.5 * (M * (X - W @ H) ** 2).sum(axis=1)
    rows += on_W.l1 * W.sum(axis=1) + 0.5 * on_W.l2 * (W**2).sum(axis=1)
    return s @ rows + on_H.l1 * H.sum() + 0.5 * on_H.l2 * (H**2).sum()


def residual(X, W, H, on_W=NONE, on_H=NONE, weight=None, observed=None):
    """Return the KKT residual of the docstring."""
    s = np.ones(len(X)) if weight is None else weight
    M = np.ones(X.shape) if observed is None else np.where(observed, 1.0, hals.TRACE)
    gained = sum(gains(X, W, H, on_W, on_H, weight, observed))
    return np.sqrt(max(gained, 0.0) / (0.5 * s @ (M * X**2).sum(axis=1)))


def gains(X, W, H, on_W=NONE, on_H=NONE, weight=None, observed=None):
    """Return what steps of one entry alone gain, of W and of H, from gradients written out."""
    s = np.ones((len(X), 1)) if weight is None else weight[:, None]
    M = np.ones(X.shape) if observed is None else np.where(observed, 1.0, hals.TRACE)
    rest = M * (W @ H - X)
    pairs = [
        (W, rest @ H.T + on_W.l1 + on_W.l2 * W, M @ (H**2).T + on_W.l2, s),
        (H, W.T @ (s * rest) + on_H.l1 + on_H.l2 * H, (W**2).T @ (s * M) + on_H.l2, 1.0),
    ]
    gained = []
    for A, g, h, weights in pairs:
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(h > 0, np.maximum(-g / h, -A), -A)
        gained.append(-(weights * step * (g + 0.5 * h * step)).sum())
    return gained


# ------------------------------------------------------------------------------------- loops


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("sweeps", [0, 1, 8])
def test_descent_equals_its_python_twin(own, sweeps):
    rng = np.random.default_rng(0)
    A = rng.random((6 if own else 1, 12, 5))
    G = np.einsum("ija,ijb->iab", A, A)
    G[0, 2] = G[0, :, 2] = 0.0  # a part that nothing shows
    C, W = rng.standard_normal((6, 5)), np.maximum(rng.standard_normal((6, 5)), 0.0)
    results = []
    loop, matrices = (lasso._descend_rows, G) if own else (lasso._descend_panels, G[0])
    for run in (loop, loop.__wrapped__):
        R, V, out = (
            C - np.einsum("ib,iab->ia", W, np.broadcast_to(G, (6, 5, 5))),
            W.copy(),
            np.empty((6, 2)),
        )
        run(matrices, R, V, sweeps, 0.01, out)
        results.append((R, V, out))
    for ours, twin in zip(*results, strict=True):
        np.testing.assert_allclose(ours, twin, atol=1e-12)
    R, V, out = results[0]
    for i in range(6):
        Q = G[i if own else 0]
        np.testing.assert_allclose(R[i], C[i] - Q @ V[i], atol=1e-12)
        before, after = (0.5 * v @ Q @ v - C[i] @ v for v in (W[i], V[i]))
        assert out[i, 1] == pytest.approx(before - after, abs=1e-12)
    assert (V >= 0).all()


@pytest.mark.parametrize("slow", [np.inf, 0.01])
@pytest.mark.parametrize("k", [3, 4, 9])
def test_rows_in_panels_are_those_that_come_alone(k, slow):
    """Of 150 rows, two panels and a part of one: in any order, and with a matrix of their own."""
    rng = np.random.default_rng(0)
    A, W = rng.random((12, k)), np.maximum(rng.standard_normal((150, k)), 0.0)
    G, order = A.T @ A, rng.permutation(150)
    R = rng.standard_normal((150, k)) - W @ G
    R[7] = np.minimum(R[7], 0.0) * (W[7] == 0)  # a row that is at its minimum
    results = []
    for own, rows in [(1, slice(None)), (1, order), (150, slice(None))]:
        r, w, out = R[rows].copy(), W[rows].copy(), np.empty((150, 2))
        descend(np.tile(G, (own, 1, 1)), r, w, 8, slow, out)
        results.append(np.c_[r, w, out])
    panels, mixed, alone = results
    np.testing.assert_array_equal(mixed, panels[order])
    np.testing.assert_allclose(alone, panels, atol=1e-12)
    np.testing.assert_array_equal(panels[7, k:], np.r_[W[7], 0.0, 0.0])


def test_descent_goes_to_the_minimum_where_sweeps_are_slow():
    """Two parts nearly alike: thousands of sweeps, or one step on the face."""
    A = np.random.default_rng(0).random((30, 4))
    A = np.c_[A[:, 0], A[:, 0] + 1e-2 * A[:, 3], A[:, 2]]
    G, truth = A.T @ A, np.array([[1.0, 2.0, 0.5]])
    W, out = np.ones((1, 3)), np.empty((1, 2))
    descend(G[None], (truth - W) @ G, W, 8, 0.0, out)
    np.testing.assert_allclose(W, truth, rtol=1e-4)


def test_masked_grams_equal_their_python_twin_and_the_sum():
    rng = np.random.default_rng(0)
    A = rng.random((20, 4))
    G = A.T @ A
    seen = rng.random((5, 20)) < np.array([[0.0], [0.2], [0.5], [0.9], [1.0]])
    seen[4] = True
    ours, twin = np.empty((2, 5, 4, 4))
    masked_grams(G, A, seen, 0.0, ours)
    masked_grams.__wrapped__(G, A, seen, 0.0, twin)
    np.testing.assert_allclose(ours, twin, atol=1e-13)
    for i in range(5):
        np.testing.assert_allclose(ours[i], A[seen[i]].T @ A[seen[i]], atol=1e-12)
    np.testing.assert_array_equal(ours[4], G)  # to the bit


# ------------------------------------------------------------------------------------- codes


@pytest.mark.parametrize("penalty", [NONE, LIGHT])
def test_codes_are_those_of_scipy(penalty):
    X = planted()
    H = np.random.default_rng(1).random((4, X.shape[1]))
    W = hals.encode(X, H, penalty=penalty)
    for x, w in zip(X, W, strict=True):  # the penalties as further rows of least squares
        root = np.linalg.cholesky(H @ H.T + penalty.l2 * np.eye(4))
        expected, _ = optimize.nnls(root.T, np.linalg.solve(root, H @ x - penalty.l1))
        np.testing.assert_allclose(w, expected, atol=1e-9)


def test_codes_with_holes_are_those_of_what_is_there():
    X, H = planted(), np.random.default_rng(1).random((4, 25))
    seen = np.random.default_rng(2).random(X.shape) < 0.6
    seen[3] = False
    W = hals.encode(np.where(seen, X, 0.0), H, observed=seen)
    for x, m, w in zip(X, seen, W, strict=True):
        roots = np.where(m, 1.0, np.sqrt(hals.TRACE))
        expected, _ = optimize.nnls(roots[:, None] * H.T, np.where(m, x, 0.0))
        np.testing.assert_allclose(w, expected, atol=1e-9)
    bare = optimize.nnls(H[:, seen[0]].T, X[0, seen[0]])[0]
    np.testing.assert_allclose(W[0], bare, atol=1e-5)  # which moves next to nothing


def test_what_a_row_does_not_show_gets_no_code():
    """A row sees a trace of a part, 1e-5 of it, in noise: by itself that is a code of 100."""
    H = np.array([[1.0, 1.0, 0.0, 0.0], [1e-5, 0.0, 1.0, 1.0]])
    seen = np.array([[True, True, False, False]])
    W = hals.encode(np.array([[1.002, 1.0, 0.0, 0.0]]), H, observed=seen)
    assert W[0, 0] == pytest.approx(1.0, abs=0.003)
    assert W[0, 1] < 1.0


def test_codes_are_found_row_by_row_whatever_the_size_of_others():
    X, H = planted(), np.random.default_rng(1).random((4, 25))
    X[0] *= 1e12
    X[1] *= 1e-12
    W = hals.encode(X, H)
    for i in range(len(X)):
        np.testing.assert_allclose(hals.encode(X[i : i + 1], H)[0], W[i], rtol=1e-9)
    np.testing.assert_allclose(hals.encode(1e12 * X[1:2], H), 1e12 * W[1:2], rtol=1e-9)


# ------------------------------------------------------------------------------------ descent

VARIANTS = {
    "plain": {},
    "penalties": {"on_W": LIGHT, "on_H": Penalty(0.2, 0.1)},
    "absolute values": {"on_W": Penalty(0.5, 0.0), "on_H": Penalty(0.5, 0.0)},
    "weights": {"weight": np.linspace(0.1, 3.0, 40)},
    "holes": {"observed": np.random.default_rng(3).random((40, 25)) < 0.7},
    "all": {
        "on_W": LIGHT,
        "on_H": LIGHT,
        "weight": np.linspace(3.0, 0.1, 40),
        "observed": np.random.default_rng(3).random((40, 25)) < 0.7,
    },
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(3))
def test_objective_falls_to_a_point_where_the_conditions_hold(variant, seed):
    options = VARIANTS[variant]
    X = planted(seed=seed)
    X = np.where(options["observed"], X, 0.0) if "observed" in options else X
    found = fit(X, seed=seed, **options)
    W, H = found.codes, found.components
    assert found.converged
    assert np.diff(found.objective_history).max() <= 0
    assert min(W.min(), H.min()) >= 0
    assert found.objective_history[-1] == pytest.approx(objective(X, W, H, **options), rel=1e-10)
    assert residual(X, W, H, **options) == pytest.approx(found.certificate.value, abs=1e-8)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_steps_of_the_codes_would_gain(variant):
    """Codes that are solved for have nothing to gain; those on the way have."""
    options = {"on_W": NONE, "on_H": NONE, "weight": None, "observed": None} | VARIANTS[variant]
    X = planted()
    X = X if options["observed"] is None else np.where(options["observed"], X, 0.0)
    W, H = start(X)
    problem = InMemory(X, **options)
    same, sums = problem.codes(problem.begin(W), np.ascontiguousarray(H.T), 0.0, LOOK)
    np.testing.assert_array_equal(same, W)
    assert sums.violation == pytest.approx(gains(X, W, H, **options)[0], rel=1e-10)


def test_errors_of_rows_without_dead_parts():
    X = planted()
    W, H = start(X)
    problem, dead = InMemory(X, NONE, NONE, None, None), np.array([False, True, False, False])
    left, errors, worst = problem.without(W.copy(), np.ascontiguousarray(H.T), dead)
    np.testing.assert_array_equal(left, W * ~dead)
    rest = X - left @ H
    np.testing.assert_allclose(errors, (rest**2).sum(axis=1), rtol=1e-10)
    i = np.argmax(errors)
    assert worst.error == errors[i]
    np.testing.assert_allclose(worst.rest, rest[i], rtol=1e-10)
    assert worst.square == pytest.approx((X[i] ** 2).sum())


def test_a_pair_that_looked_better_than_it_was_is_looked_at_again(monkeypatch):
    ends = []
    finish = InMemory.finish

    def finish_later(problem, W, Ht, tol):
        ends.append(tol)
        return finish(problem, W, Ht, tol if len(ends) > 1 else 0.0)  # which is out of reach

    monkeypatch.setattr(InMemory, "finish", finish_later)
    found = fit(planted(), tol=1e-5)
    assert found.converged
    assert len(ends) == 2
    assert found.n_iter < 5000


@pytest.mark.parametrize("max_iter", [1, 7, 40])
def test_an_early_stop_is_honest(max_iter):
    X = planted()
    found = fit(X, max_iter=max_iter)
    W, H = found.codes, found.components
    assert not found.converged
    assert found.n_iter == max_iter
    assert residual(X, W, H) == pytest.approx(found.certificate.value, rel=1e-6)
    assert found.objective_history[-1] == pytest.approx(objective(X, W, H), rel=1e-10)
    np.testing.assert_allclose(W, hals.encode(X, H), atol=1e-12)  # solved to the end


def test_one_part_is_the_first_singular_pair():
    """Its optimum is known: the leading singular vectors of X >= 0 have no signs (Perron)."""
    X = planted()
    s = np.linalg.svd(X, compute_uv=False)
    found = fit(X, k=1)
    assert found.objective_history[-1] == pytest.approx(0.5 * (s[1:] ** 2).sum(), rel=1e-10)


@pytest.mark.parametrize("k", [2, 4, 6])
def test_no_better_than_the_singular_value_decomposition(k):
    X = planted()
    s = np.linalg.svd(X, compute_uv=False)
    assert fit(X, k=k, tol=1e-6).objective_history[-1] >= 0.5 * (s[k:] ** 2).sum()


def test_size_of_the_data_does_not_matter():
    X = planted()
    W, H = start(X)
    small = fit(X, begin=(W, H))
    for size in (1e-6, 1e6):
        large = fit(size * X, begin=(size * W, H))
        assert large.n_iter == small.n_iter
        np.testing.assert_allclose(large.components, small.components, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(large.codes, size * small.codes, rtol=1e-6, atol=1e-9 * size)


def test_order_of_rows_does_not_matter():
    X = planted()
    W, H = start(X)
    order = np.random.default_rng(5).permutation(len(X))
    one, other = fit(X, begin=(W, H)), fit(X[order], begin=(W[order], H))
    np.testing.assert_allclose(other.components, one.components, atol=1e-6)
    np.testing.assert_allclose(other.codes, one.codes[order], atol=1e-6)


def test_weights_are_repeated_rows():
    X, weight = planted(), np.random.default_rng(4).integers(1, 4, size=40)
    W, H = start(X)
    again = np.repeat(np.arange(40), weight)
    one = fit(X, begin=(W, H), weight=weight.astype(float))
    other = fit(X[again], begin=(W[again], H))
    np.testing.assert_allclose(one.components, other.components, atol=1e-5)
    assert one.objective_history[-1] == pytest.approx(other.objective_history[-1], rel=1e-10)


def test_what_was_not_observed_has_no_influence():
    X, seen = planted(), np.random.default_rng(3).random((40, 25)) < 0.7
    full, empty = np.ones_like(seen), start(X)
    plain, masked = fit(X, begin=empty), fit(X, begin=empty, observed=full)
    np.testing.assert_array_equal(plain.components, masked.components)
    found = fit(np.where(seen, X, 0.0), observed=seen)
    # each hole with what the answer says of it, as if observed: still an answer
    filled = np.where(seen, X, found.codes @ found.components)
    assert residual(filled, found.codes, found.components) < 1e-5


def test_sparse_equals_dense():
    X = np.where(np.random.default_rng(0).random((40, 25)) < 0.3, planted(), 0.0)
    for options in ({}, VARIANTS["penalties"], VARIANTS["weights"]):
        one, other = fit(X, **options), fit(sparse.csr_array(X), **options)
        np.testing.assert_allclose(one.components, other.components, atol=1e-7)
    np.testing.assert_allclose(
        hals.encode(X, one.components), hals.encode(sparse.csr_array(X), one.components), atol=1e-12
    )


def test_a_part_that_died_comes_back():
    """One that is zero in both factors would stay so, and the fit would be one of three parts."""
    X = planted(noise=0.0)
    W, H = start(X)
    W[:, 2] = H[2] = 0.0
    found = fit(X, begin=(W, H), tol=1e-6)
    assert found.components[2].any()
    assert found.objective_history[-1] < 1e-6 * (X**2).sum()


def test_more_parts_than_the_data_hold_are_harmless():
    X = np.outer(np.arange(1.0, 9.0), np.arange(5.0))
    found = fit(X, k=3, tol=1e-6)
    assert found.objective_history[-1] < 1e-9
    assert np.isfinite(found.codes).all()


@pytest.mark.parametrize("X", [np.zeros((5, 4)), np.eye(4)[:, :3]])
def test_zeros_are_harmless(X):
    found = fit(
        X, k=2, tol=1e-6, max_iter=50, begin=(np.ones((len(X), 2)), np.ones((2, X.shape[1])))
    )
    assert np.isfinite(found.codes @ found.components).all()


@pytest.mark.usefixtures("many_threads")
def test_number_of_threads_does_not_matter():
    X = planted(n=600, d=150)
    W, H = start(X)
    found = fit(X, begin=(W, H), tol=1e-5, max_iter=50)
    with threadpool_limits(1):
        alone = fit(X, begin=(W, H), tol=1e-5, max_iter=50)
    np.testing.assert_array_equal(found.components, alone.components)


def test_a_small_table_in_single_precision_is_taken_in_double(monkeypatch):
    X = planted().astype(np.float32)
    begin = start(X)
    single, double = fit(X, begin=begin), fit(X.astype(np.float64), begin=begin)
    np.testing.assert_array_equal(single.components, double.components)
    np.testing.assert_array_equal(single.codes, double.codes)
    monkeypatch.setattr(hals, "SMALL", X.size - 1)
    assert hals._exact(X) is X  # a large one is not copied
    monkeypatch.setattr(hals, "SMALL", X.size)
    assert hals._exact(X).dtype == np.float64


def test_single_precision_of_a_large_table():
    X = planted(n=4000, d=300)
    W, H = start(X)
    single = fit(X.astype(np.float32), begin=(W, H), tol=1e-4, max_iter=300)
    double = fit(X, begin=(W, H), tol=1e-4, max_iter=300)
    assert single.converged
    assert single.objective_history[-1] == pytest.approx(double.objective_history[-1], rel=1e-3)


def test_memory_of_a_sparse_fit():
    X = sparse.random_array((4000, 3000), density=0.001, rng=np.random.default_rng(0)).tocsr()
    begin = start(X, 5)
    hals.solve(X, *begin, tol=1e-4, max_iter=2)
    tracemalloc.start()
    hals.solve(X, *begin, tol=1e-4, max_iter=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * sum(A.nbytes for A in begin)


# -------------------------------------------------------------------------------------- start


@pytest.mark.parametrize("fill", ["nndsvd", "nndsvda", "nndsvdar"])
@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_start_is_that_of_scikit_learn(fill, shape):
    X = planted(*shape)
    W, H = nndsvd(X, 5, np.random.RandomState(0), fill=fill)
    theirs = _initialize_nmf(X, 5, init=fill, random_state=0)
    np.testing.assert_allclose(W, theirs[0], atol=1e-6)
    np.testing.assert_allclose(H, theirs[1], atol=1e-6)


def test_random_start_is_that_of_scikit_learn():
    X = planted()
    ours = at_random(X, 5, np.random.RandomState(3), None)
    for A, B in zip(ours, _initialize_nmf(X, 5, init="random", random_state=3), strict=True):
        np.testing.assert_allclose(A, B, rtol=1e-14)


def test_start_of_sparse_of_weighted_and_of_large_tables():
    X = np.where(np.random.default_rng(0).random((40, 25)) < 0.3, planted(), 0.0)
    for k in (3, 25):
        for A, B in zip(nndsvd(X, k, None), nndsvd(sparse.csr_array(X), k, None), strict=True):
            np.testing.assert_allclose(A, B, atol=1e-5)
    weight = np.random.default_rng(4).integers(1, 4, size=40)
    again = np.repeat(np.arange(40), weight)
    W, H = nndsvd(X, 4, None, fill="nndsvda", weight=weight.astype(float))
    V, G = nndsvd(X[again], 4, None, fill="nndsvda")
    np.testing.assert_allclose(W[again], V, atol=1e-8)
    np.testing.assert_allclose(H, G, atol=1e-8)
