"""Parts under the Kullback-Leibler divergence: conditions of optimality, twins, invariances."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import xlogy

from eigenlens.ops.poisson import _better, poisson_rows
from eigenlens.solvers import kullback_leibler
from eigenlens.solvers.parts import Penalty

NONE = Penalty()
BOTH = Penalty(l1=0.05, l2=0.2)


def counts(n=30, d=12, k=3, seed=0, scale=1.0):
    """Return Poisson counts with k parts, a quarter of their codes zero."""
    r = np.random.default_rng(seed)
    W, H = r.gamma(1.0, 2.0, (n, k)) * (r.random((n, k)) < 0.75), r.gamma(0.5, 2.0, (k, d))
    return scale * r.poisson(W @ H + 0.02).astype(float)


def start(X, k, seed=1, high=1.0):
    r = np.random.default_rng(seed)
    size = np.sqrt(high * X.mean() / k) if X.sum() else 1.0
    return size * (0.1 + r.random((X.shape[0], k))), size * (0.1 + r.random((k, X.shape[1])))


def fit(X, k=3, seed=1, high=1.0, **options):
    W, H = start(X, k, seed, high)
    how = {"on_W": NONE, "on_H": NONE, "tol": 1e-6, "max_iter": 2000} | options
    return kullback_leibler.solve(X, W, H, **how)


def code(X, H, **options):
    how = {"penalty": NONE, "tol": kullback_leibler.REST, "max_iter": 1000} | options
    return kullback_leibler.encode(X, H, **how)


def divergence(X, Y, observed=None, weight=None):
    terms = xlogy(X, X) - xlogy(X, Y) - X + Y
    terms = terms if observed is None else np.where(observed, terms, 0.0)
    return float((terms if weight is None else terms * weight[:, None]).sum())


def objective(X, W, H, on_W=NONE, on_H=NONE, observed=None, weight=None):
    value = divergence(X, W @ H, observed, weight) + on_W.of(W, weight) + on_H.of(H)
    holes = 0.0 if observed is None else np.where(observed, 0.0, W @ H)
    return value + kullback_leibler.TRACE * np.sum(holes)


def ratio(X, Y):
    """Return X / Y, and 0 where X is 0."""
    return np.divide(X, Y, out=np.zeros_like(Y), where=X > 0)


def gradient(X, W, H, penalty=NONE, observed=None):
    """Return the gradient in W."""
    seen = np.ones_like(X) if observed is None else np.where(observed, 1.0, kullback_leibler.TRACE)
    return (seen - ratio(X, W @ H)) @ H.T + penalty.l1 + penalty.l2 * W


def unmet(X, W, H, penalty=NONE, observed=None):
    """Return by how much the conditions of optimality of W fail, relative to the sums of H."""
    g = gradient(X, W, H, penalty, observed) / (H.sum(axis=1) + penalty.l1)
    return float(np.abs(np.where(W > 0, g, np.minimum(g, 0.0))).max())


def multiplicative(X, W, H, steps):
    for _ in range(steps):
        W = W * (ratio(X, W @ H) @ H.T) / H.sum(axis=1)
    return W


def rises(history):
    return float(np.diff(history).max(initial=-np.inf) / max(abs(history[0]), 1e-300))


def arguments(X, W, H, l2, sweeps, newton):
    """Return what the loop takes, for X dense or sparse, and its outputs W and Q among them."""
    n, d = X.shape
    S = np.tile(H.sum(axis=1), (n, 1))
    if sparse.issparse(X):
        layout = (X.data, X.indices, X.indptr.astype(np.int64), False, np.ascontiguousarray(H.T))
    else:
        layout = (X.ravel(), np.empty(0, np.int32), np.arange(n + 1) * d, True, H)
    how = (X.dtype.type(1e-30), sweeps, 0.0, newton)
    return (*layout, S, l2, W.copy(), np.empty_like(layout[0]), *how)


@pytest.mark.parametrize("as_X", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize(("sweeps", "newton"), [(0, False), (3, False), (3, True)])
def test_the_loop_equals_its_twin(as_X, l2, sweeps, newton):
    """What is compiled does what its Python says, in this order of the coordinates."""
    X = counts(8, 6)
    W, H = start(X, 3)
    W[2, 1] = 0.0
    mine = arguments(as_X(X), W, H, l2, sweeps, newton)
    twin = arguments(as_X(X), W, H, l2, sweeps, newton)
    np.testing.assert_allclose(
        poisson_rows(*mine), poisson_rows.__wrapped__(*twin), rtol=1e-9, atol=1e-12
    )
    for a, b in zip(mine[7:9], twin[7:9], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    if not sweeps:
        np.testing.assert_array_equal(mine[7], W)


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_what_is_left_is_what_steps_of_single_coordinates_promise(l2):
    """By the quadratic model of each, as far as zero; some would go beyond."""
    X = counts(8, 6)
    W, H = start(X, 3, high=4.0)
    given = arguments(X, W, H, l2, sweeps=0, newton=False)
    g = gradient(X, W, H, Penalty(l2=l2))
    curvature = ratio(X, (W @ H) ** 2) @ (H**2).T + l2
    step = np.maximum(-g / curvature, -W)
    assert 0 < (step == -W).sum() < W.size
    promised = -(step * (g + 0.5 * curvature * step)).sum(axis=1)
    np.testing.assert_allclose(poisson_rows(*given), promised, rtol=1e-12)


@pytest.mark.parametrize("l2", [0.0, 0.1, 10.0])
def test_a_step_of_one_coordinate_keeps_its_promises(l2):
    """From any point: no rise, no step up past the minimum, and 0 only if that is best."""
    r = np.random.default_rng(0)
    zeros = short = 0
    for _ in range(3000):
        x, h, others = np.exp(r.uniform(0.1, 4.0) * r.normal(size=(3, r.integers(1, 6))))
        old, S = np.exp(3 * r.normal(size=2)) * (r.random() < 0.9, 1)
        y = others + old * h
        P, Q = np.sum(x * h / y), np.sum(x * h**2 / y**2)
        new = _better(x, h, S, l2, old, y, P, Q, 1e-300)

        def slope(s, x=x, h=h, others=others, S=S):
            return S + l2 * s - np.sum(x * h / (others + s * h))

        steps = np.log1p((new - old) * h / y)
        change = (new - old) * (S + 0.5 * l2 * (new + old)) - x @ steps
        assert change <= 1e-12 * (x @ np.abs(steps))
        if slope(old) < 0:
            assert new > old
            assert slope(new) <= 1e-9 * S
        assert (new > 0) or slope(0.0) >= -1e-9 * S
        zeros, short = zeros + (new == 0), short + (slope(new) < 0)
    assert min(zeros, short) > 100


@pytest.mark.parametrize("on_W", [NONE, BOTH])
@pytest.mark.parametrize("on_H", [NONE, BOTH])
@pytest.mark.parametrize("as_X", [np.asarray, sparse.csr_array])
def test_the_objective_never_rises(on_W, on_H, as_X):
    """Also with empty rows and columns, and data of any size; it ends at that of the pair."""
    for seed, scale in enumerate([1.0, 1e-9, 1e9, 1.0, 1.0]):
        X = counts(seed=seed, scale=scale)
        X[4], X[:, 7] = 0.0, 0.0
        on = {"on_W": Penalty(on_W.l1, on_W.l2 / scale), "on_H": on_H}
        result = fit(as_X(X), seed=seed, max_iter=40, **on)
        assert rises(result.objective_history) <= 1e-13
        W, H = result.codes, result.components
        for A in (W, H):
            assert np.all(np.isfinite(A) & (A >= 0))
        value = objective(X, W, H, **on)
        assert result.objective_history[-1] == pytest.approx(value, rel=1e-9, abs=1e-12 * X.sum())
        assert len(result.objective_history) == result.n_iter <= 40


@pytest.mark.parametrize(
    ("on_W", "on_H"), [(NONE, NONE), (BOTH, BOTH), (Penalty(l1=0.1), Penalty(l2=0.3))]
)
def test_the_answer_meets_the_conditions_of_optimality(on_W, on_H):
    """Gradients by numpy: zero where a factor is positive, not negative where it is zero.

    Penalties on both factors or on none: else one could shrink for ever while the other grows.
    """
    X = counts()
    result = fit(X, on_W=on_W, on_H=on_H)
    assert result.converged
    assert result.certificate.holds
    assert unmet(X, result.codes, result.components, on_W) < 1e-7
    assert unmet(X.T, result.components.T, result.codes.T, on_H) < 1e-4


def test_the_certificate_is_that_of_its_definition():
    """Newton's step of each entry, cut off at zero, by numpy."""
    X = counts()
    result = fit(X, max_iter=3, on_W=BOTH, on_H=BOTH)
    assert not result.converged
    assert not result.certificate.holds
    decrease = 0.0
    W, H = result.codes, result.components
    for A, B, x in ((W, H, X), (H.T, W.T, X.T)):
        curvature = ratio(x, (A @ B) ** 2) @ (B.T**2) + BOTH.l2
        g = gradient(x, A, B, BOTH)
        step = np.maximum(A - g / curvature, 0.0) - A
        decrease -= float((g * step + 0.5 * curvature * step**2).sum())
    assert result.certificate.value == pytest.approx(np.sqrt(decrease / X.sum()), rel=1e-6)


@pytest.mark.parametrize("penalty", [NONE, BOTH])
def test_a_row_equals_that_of_a_general_optimiser(penalty):
    X = counts(4, 15)
    H = start(X, 4)[1]
    W = code(X, H, penalty=penalty)
    for x, w in zip(X, W, strict=True):

        def value(v, x=x):
            row, v = x[None], v[None]
            return objective(row, v, H, penalty), gradient(row, v, H, penalty)[0]

        reference = minimize(
            value, np.ones(4), jac=True, bounds=[(1e-12, None)] * 4, options={"ftol": 1e-15}
        )
        assert value(w)[0] <= reference.fun + 1e-10
        np.testing.assert_allclose(w, reference.x, atol=1e-4)


def test_codes_are_tight_and_have_exact_zeros():
    X = counts(60, 20)
    H = start(X, 8)[1] ** 6
    W = code(X, H)
    assert unmet(X, W, H) < 1e-8
    assert 0.05 < np.mean(W == 0.0) < 0.95


@pytest.mark.parametrize("penalty", [NONE, BOTH, Penalty(l2=50.0)])
def test_few_rounds_make_codes_tight(penalty):
    """Newton's steps double the digits, so the number of rounds is small whatever the parts."""
    X = counts(60, 20, k=6)
    H = start(X, 6)[1] + 3.0  # parts that are nearly the same
    for rounds in (9, 1000):
        W = code(X, H, penalty=penalty, max_iter=rounds)
        assert unmet(X, W, H, penalty) < 1e-8


def test_multiplicative_updates_never_end_lower():
    """With the parts fixed the problem is convex, and there is one lowest value."""
    X = counts()
    W, H = start(X, 5)
    mine = objective(X, code(X, H), H)
    theirs = objective(X, multiplicative(X, W, H, 2000), H)
    assert mine <= theirs + 1e-10 * theirs


def test_parts_that_are_dependent_do_no_harm():
    """More parts than columns, two alike, one empty: many codes are best, and one is found."""
    X = counts(20, 4)
    H = np.abs(np.random.default_rng(0).normal(size=(7, 4)))
    H[1], H[2] = H[0], 0.0
    W = code(X, H)
    assert unmet(X, np.delete(W, 2, 1), np.delete(H, 2, 0)) < 1e-7


def test_sparse_equals_dense():
    X = counts()
    dense, thin = fit(X), fit(sparse.csr_array(X))
    np.testing.assert_allclose(thin.objective_history[:5], dense.objective_history[:5], rtol=1e-9)
    np.testing.assert_allclose(
        thin.codes @ thin.components, dense.codes @ dense.components, 1e-4, 1e-4
    )
    H = dense.components
    np.testing.assert_allclose(code(sparse.csr_matrix(X), H), code(X, H), rtol=1e-6, atol=1e-8)


def test_rows_without_counts_may_fill_a_block(monkeypatch):
    """Sparse rows of which a block has not one nonzero, and more parts than columns."""
    monkeypatch.setattr(kullback_leibler, "BLOCK", 64)
    X = counts(40, 4)
    X[10:30] = 0.0
    dense, thin = fit(X, k=6, max_iter=5), fit(sparse.csr_array(X), k=6, max_iter=5)
    np.testing.assert_allclose(thin.objective_history, dense.objective_history, rtol=1e-9)
    assert not thin.codes[10:30].any()
    np.testing.assert_array_equal(code(sparse.csr_array(X), dense.components)[10:30], 0.0)


def test_weights_are_repeated_rows():
    X, weight = counts(), np.random.default_rng(0).integers(1, 4, 30)
    W, H = start(X, 3)
    how = {"on_W": BOTH, "on_H": BOTH, "tol": 1e-7, "max_iter": 3000}
    mine = kullback_leibler.solve(X, W, H, weight=weight.astype(float), **how)
    many = [np.repeat(A, weight, axis=0) for A in (X, W)]
    theirs = kullback_leibler.solve(*many, H, **how)
    assert mine.objective_history[-1] == pytest.approx(theirs.objective_history[-1], rel=1e-9)
    np.testing.assert_allclose(mine.objective_history[:3], theirs.objective_history[:3], rtol=1e-9)
    np.testing.assert_allclose(mine.components, theirs.components, atol=1e-4)
    sparser = kullback_leibler.solve(sparse.csr_array(X), W, H, weight=weight * 1.0, **how)
    np.testing.assert_allclose(sparser.components, mine.components, atol=1e-4)


def test_a_full_mask_is_none():
    X = counts()
    full, none = fit(X, observed=np.ones(X.shape, bool), max_iter=20), fit(X, max_iter=20)
    np.testing.assert_allclose(full.components, none.components, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(full.codes, none.codes, rtol=1e-8, atol=1e-8)


def test_what_is_not_observed_has_no_influence():
    """The answer is optimal for the rest, and its holes may hold anything."""
    X = counts()
    observed = np.random.default_rng(2).random(X.shape) < 0.8
    result = fit(np.where(observed, X, 0.0), observed=observed, on_W=BOTH, on_H=BOTH)
    W, H = result.codes, result.components
    value = objective(np.where(observed, X, 0.0), W, H, BOTH, BOTH, observed=observed)
    assert result.objective_history[-1] == pytest.approx(value, rel=1e-9)
    assert unmet(np.where(observed, X, 0.0), W, H, BOTH, observed) < 1e-7
    assert unmet(np.where(observed, X, 0.0).T, H.T, W.T, BOTH, observed.T) < 1e-4
    assert rises(result.objective_history) <= 1e-13


def test_a_mask_and_weights_go_together():
    """A row of weight two is two rows, with the same holes."""
    X, weight = counts(), np.where(np.arange(30) % 3, 1, 2)
    observed = np.random.default_rng(2).random(X.shape) < 0.8
    X = np.where(observed, X, 0.0)
    W, H = start(X, 3)
    how = {"on_W": NONE, "on_H": BOTH, "tol": 1e-7, "max_iter": 10}
    mine = kullback_leibler.solve(X, W, H, weight=weight * 1.0, observed=observed, **how)
    many = [np.repeat(A, weight, axis=0) for A in (X, W, observed)]
    theirs = kullback_leibler.solve(many[0], many[1], H, observed=many[2], **how)
    np.testing.assert_allclose(mine.objective_history, theirs.objective_history, rtol=1e-8)


@pytest.mark.parametrize(
    ("as_X", "masked"), [(np.asarray, False), (np.asarray, True), (sparse.csr_array, False)]
)
def test_rows_are_coded_on_their_own(as_X, masked):
    X = counts()
    observed = np.random.default_rng(2).random(X.shape) < 0.8 if masked else None
    X = X if observed is None else np.where(observed, X, 0.0)
    result = fit(as_X(X), observed=observed)
    H = result.components
    together = code(as_X(X), H, observed=observed)
    for i in range(len(X)):
        own = None if observed is None else observed[i : i + 1]
        alone = code(as_X(X[i : i + 1]), H, observed=own)
        np.testing.assert_allclose(alone[0], together[i], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(result.codes, together, rtol=1e-6, atol=1e-7)


def test_the_scale_of_the_data_is_that_of_the_answer():
    """c X has c times the mean."""
    X = counts()
    one, many = fit(X), fit(1e6 * X)
    np.testing.assert_allclose(
        many.codes @ many.components, 1e6 * (one.codes @ one.components), rtol=1e-4, atol=1e2
    )
    np.testing.assert_allclose(code(1e6 * X, one.components), 1e6 * one.codes, rtol=1e-5, atol=1e-1)


@pytest.mark.parametrize("as_X", [np.asarray, sparse.csr_array])
def test_float32_stays_and_agrees(as_X):
    X = counts(80, 20)
    small, large = fit(as_X(X.astype(np.float32)), tol=1e-4), fit(as_X(X), tol=1e-4)
    assert small.codes.dtype == small.components.dtype == np.float32
    assert small.converged
    assert small.objective_history[-1] == pytest.approx(large.objective_history[-1], rel=1e-4)
    assert rises(small.objective_history) <= 1e-6
    H = large.components.astype(np.float32)
    codes = code(as_X(X.astype(np.float32)), H)
    assert codes.dtype == np.float32
    np.testing.assert_allclose(codes, code(as_X(X), H.astype(float)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("as_X", [np.asarray, sparse.csr_array])
def test_threads_do_not_matter(many_threads, as_X, monkeypatch):
    X = as_X(counts(200, 30))
    monkeypatch.setattr(kullback_leibler, "BLOCK", 256)
    several = fit(X, max_iter=10)
    with monkeypatch.context() as alone:
        alone.setattr(kullback_leibler.threads, "n_threads", lambda: 1)
        one = fit(X, max_iter=10)
    np.testing.assert_array_equal(several.objective_history, one.objective_history)
    np.testing.assert_array_equal(several.codes, one.codes)


def test_the_start_and_the_data_stay_as_they_are():
    X = counts()
    W, H = start(X, 3)
    kept = X.copy(), W.copy(), H.copy()
    how = {"on_W": NONE, "on_H": NONE, "weight": np.full(30, 2.0), "tol": 1e-4, "max_iter": 5}
    kullback_leibler.solve(X, W, H, **how)
    code(X, H, W=W)
    for a, b in zip((X, W, H), kept, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_monitor_sees_each_iteration_and_can_stop():
    seen = []
    result = fit(counts(), monitor=lambda value: seen.append(value) or len(seen) == 4)
    assert result.n_iter == 4
    np.testing.assert_array_equal(result.objective_history[:-1], seen[:-1])
    assert result.objective_history[-1] <= seen[-1]


def test_counts_that_parts_explain_are_found():
    """Means without noise: the divergence goes to zero."""
    r = np.random.default_rng(0)
    W, H = (r.random(s) * (r.random(s) < 0.6) for s in ((60, 3), (3, 15)))
    result = fit(W @ H, tol=1e-7, max_iter=500)
    assert result.objective_history[-1] < 1e-5 * (W @ H).sum()


@pytest.mark.parametrize("as_X", [np.asarray, sparse.csr_array])
def test_nothing_to_describe(as_X):
    """No counts at all: all is zero, and optimal."""
    X = as_X(np.zeros((5, 4)))
    result = fit(X, k=2)
    assert result.converged
    np.testing.assert_array_equal(result.codes @ result.components, 0.0)
    np.testing.assert_array_equal(code(X, np.ones((2, 4))), 0.0)


def test_a_start_of_zeros_finds_its_way():
    """A part may be zero in the start, and so may a row of codes."""
    X = counts()
    W, H = start(X, 3)
    W[3], H[1, :5], H[:, 2] = 0.0, 0.0, 0.0
    result = kullback_leibler.solve(X, W, H, on_W=NONE, on_H=NONE, tol=1e-5, max_iter=3000)
    assert result.converged
    assert rises(result.objective_history) <= 1e-13
    other = fit(X)
    assert result.objective_history[-1] < 1.2 * other.objective_history[-1]
