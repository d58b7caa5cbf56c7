"""MDS: stress and its parts against numpy, optimality, recovery of planted places, new points."""

from itertools import chain, combinations, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import isotonic_regression, minimize
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import spearmanr
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import MDS as SklearnMDS
from sklearn.manifold import ClassicalMDS
from sklearn.manifold import smacof as sklearn_smacof
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier

from eigenlens import MDS, smacof
from eigenlens.ops.distances import between, matrix_of, require_distances
from eigenlens.ops.laplacian import Complete, Laplacian, pieces_of
from eigenlens.ops.monotone import Monotone, pooled, tied
from eigenlens.ops.placing import own_stress, place, trilateration
from eigenlens.ops.stress import MOST, NONE, PAIRS, Stress, distances_of_rows, pull_of_rows, sharing
from eigenlens.solvers.classical import filled, from_distances, from_points
from eigenlens.solvers.mds import MANY, _classical, choose_solver, landmarks, placed, solve
from eigenlens.solvers.pair_sgd import SIDE, SWEEPS, sweep, sweeps
from eigenlens.solvers.smacof import descend


def rng(seed=0):
    return np.random.default_rng(seed)


def distances(P):
    return squareform(pdist(P))


def weights_of(n, seed=0):
    W = rng(seed).uniform(0.2, 2, (n, n))
    return (W + W.T) / 2


def raw_stress(D, P, W=None):
    """The definition."""
    W = np.ones_like(D) if W is None else W
    above = np.triu_indices(len(D), 1)
    return (W * (D - distances(P)) ** 2)[above].sum()


def guttman(D, P, W=None):
    """The Guttman transform by its textbook formula (Borg, Groenen 2005, 8.24)."""
    n = len(D)
    W = np.ones((n, n)) - np.eye(n) if W is None else W - np.diag(np.diag(W))
    d = distances(P)
    B = -W * np.divide(D, d, out=np.zeros_like(D), where=d > 0)
    np.fill_diagonal(B, 0)
    np.fill_diagonal(B, -B.sum(axis=1))
    V = np.diag(W.sum(axis=1)) - W
    return np.linalg.pinv(V) @ B @ P


def residual(D, P, W=None):
    """The certificate, by its definition."""
    n = len(D)
    W = np.ones((n, n)) - np.eye(n) if W is None else W - np.diag(np.diag(W))
    V = np.diag(W.sum(axis=1)) - W
    off = P - guttman(D, P, W)
    return np.sqrt(np.trace(off.T @ V @ off) / np.trace(P.T @ V @ P))


def off_by(truth, found):
    """The largest coordinate error after the best turn and shift, relative to the spread."""
    A, B = truth - truth.mean(axis=0), found - found.mean(axis=0)
    U, _, V = np.linalg.svd(B.T @ A)
    return np.abs(B @ (U @ V) - A).max() / A.std()


# ------------------------------------------------------------------------------- stress, compiled


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_stress_and_its_gradient(k, weighted):
    n = 37
    D, P = distances(rng(1).standard_normal((n, 6))), rng(2).standard_normal((n, k))
    W = weights_of(n) if weighted else None
    at = Stress(D, W).at(P.T.copy())
    full = np.ones((n, n)) if W is None else W
    assert_allclose(at.raw, raw_stress(D, P, W), rtol=1e-12)
    assert_allclose(at.size, (full * distances(P) ** 2).sum() / 2, rtol=1e-12)
    step = 1e-6
    for i, q in [(0, 0), (17, k - 1), (n - 1, 0)]:
        up, down = P.copy(), P.copy()
        up[i, q] += step
        down[i, q] -= step
        slope = (raw_stress(D, up, W) - raw_stress(D, down, W)) / (2 * step)
        assert_allclose(2 * at.G[q, i], slope, rtol=1e-6, atol=1e-6)


def test_loop_of_stress_is_its_twin():
    n, k = 30, 2
    D, X = distances(rng(1).standard_normal((n, 4))), rng(2).standard_normal((k, n))
    for W in (NONE, weights_of(n)):
        one, two = np.empty((k, n - 4)), np.empty((k, n - 4))
        fast = pull_of_rows(X, D, W, 4, 20, one)
        slow = pull_of_rows.__wrapped__(X, D, W, 4, 20, two)
        assert_allclose(fast, slow, rtol=1e-12)
        assert_allclose(one, two, rtol=1e-10, atol=1e-12)
    one, two = np.zeros((n, n)), np.zeros((n, n))
    distances_of_rows(X, 3, 20, one)
    distances_of_rows.__wrapped__(X, 3, 20, two)
    assert_allclose(one, two, rtol=1e-14)
    assert_allclose(one[3:20], np.triu(distances(X.T), 1)[3:20], rtol=1e-12)


def test_pieces_of_work_cover_every_row_once():
    for n in (2, 3, 50, 700, 3000):
        pieces = sharing(n)
        assert pieces[0][0] == 0
        assert pieces[-1][1] == n
        assert all(a[1] == b[0] for a, b in pairwise(pieces))
        assert len(pieces) == max(1, min(MOST, n * (n - 1) // 2 // PAIRS))


def test_stress_in_many_pieces_is_that_in_one(many_threads):
    n = 900
    D, P = distances(rng(1).standard_normal((n, 4))), rng(2).standard_normal((n, 2))
    stress = Stress(D)
    many = stress.at(P.T.copy())
    assert len(stress.pieces) > 4
    stress.pieces = [(0, n)]
    one = stress.at(P.T.copy())
    assert_allclose(many.raw, one.raw, rtol=1e-12)
    assert_allclose(many.G, one.G, rtol=1e-9, atol=1e-9 * np.abs(one.G).max())


def test_places_that_coincide_do_not_pull():
    D, X = distances(rng(1).standard_normal((6, 2))), rng(2).standard_normal((2, 6))
    X[:, 1] = X[:, 0]
    at = Stress(D).at(X)
    assert np.isfinite(at.G).all()
    assert_allclose(at.raw, raw_stress(D, X.T), rtol=1e-12)


# ------------------------------------------------------------------------- metric of the weights


@pytest.mark.parametrize("dense", [0, 100])
def test_inverse_of_laplacian(dense):
    n = 40
    W = weights_of(n) * (rng(1).random((n, n)) < 0.5)
    W = np.maximum(W, W.T)
    V = np.diag(W.sum(axis=1)) - W
    G = rng(2).standard_normal((3, n))
    exact = G @ np.linalg.pinv(V)
    assert_allclose(Laplacian(W, dense=dense).inverse(G), exact, atol=1e-8 * np.abs(exact).max())


def test_inverse_of_complete_graph():
    G = rng().standard_normal((2, 9))
    V = 9 * np.eye(9) - np.ones((9, 9))
    assert_allclose(Complete(9).inverse(G), G @ np.linalg.pinv(V), atol=1e-12)


def test_pieces_of_a_graph():
    joined = np.zeros((6, 6), bool)
    for i, j in [(0, 2), (2, 5), (1, 3)]:
        joined[i, j] = joined[j, i] = True
    assert_array_equal(pieces_of(joined), [0, 1, 0, 1, 2, 0])


# ---------------------------------------------------------------------------------- descent


@pytest.mark.parametrize("weighted", [False, True])
def test_one_iteration_is_the_guttman_transform(weighted):
    n = 25
    D, P = distances(rng(1).standard_normal((n, 5))), rng(2).standard_normal((n, 2))
    W = weights_of(n) if weighted else None
    model = MDS(metric="precomputed", max_iter=1).fit(D, init=P, weights=W)
    assert model.n_iter_ == 1
    assert not model.converged_
    assert_allclose(model.embedding_, guttman(D, P - P.mean(axis=0), W), rtol=1e-9, atol=1e-10)


def test_published_iteration():
    # Borg, Groenen, Modern Multidimensional Scaling (2005), table 8.4 and what follows
    D = np.array([[0, 5, 3, 4], [5, 0, 2, 2], [3, 2, 0, 1], [4, 2, 1, 0.0]])
    start = np.array([[-0.266, -0.539], [0.451, 0.252], [0.016, -0.238], [-0.200, 0.524]])
    X, _ = smacof(D, init=start, max_iter=1)
    printed = [[-1.415, -2.471], [1.633, 1.107], [0.249, -0.067], [-0.468, 1.431]]
    assert_allclose(X, printed, atol=1e-3)


def test_an_end_that_was_not_reached_is_told_unless_steps_were_asked_for():
    X = load_digits().data[:50]
    MDS(max_iter=10, eps=1e-12).fit(X)
    with pytest.warns(ConvergenceWarning, match="after 11 iterations"):
        MDS(max_iter=11, eps=1e-12).fit(X)


@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_stress_never_rises_and_the_end_is_stationary(ranks, weighted):
    n = 40
    D = distances(rng(1).standard_normal((n, 5)))
    W = weights_of(n) if weighted else None
    model = MDS(
        metric="precomputed",
        metric_mds=not ranks,
        eps=1e-10,
        max_iter=2000,
        normalized_stress=False,
    ).fit(D, init=rng(3).standard_normal((n, 2)), weights=W)
    assert (np.diff(model.objective_history_) <= 0).all()
    assert model.converged_
    assert model.certificate_.holds
    assert_allclose(model.objective_history_[-1], model.stress_, rtol=1e-12)
    T = D
    if ranks:
        T = np.where(D == 0, 0, np.interp(D, *model.disparity_))
    assert_allclose(raw_stress(T, model.embedding_, W), model.stress_, rtol=1e-9)
    assert_allclose(residual(T, model.embedding_, W), model.certificate_.value, rtol=1e-4)
    assert model.certificate_.value <= 1e-6


def test_no_lower_stress_by_a_general_optimiser():
    n = 20
    D = distances(rng(1).standard_normal((n, 5)))
    W = weights_of(n)
    model = MDS(metric="precomputed", eps=1e-12, max_iter=3000).fit(D, weights=W)
    found = minimize(
        lambda x: raw_stress(D, x.reshape(n, 2), W), model.embedding_.ravel(), method="L-BFGS-B"
    )
    assert found.fun >= model.stress_ * (1 - 1e-6)


def test_quasi_newton_ends_below_plain_majorisation_in_fewer_steps():
    X = load_iris().data
    ours, theirs = MDS().fit(X), SklearnMDS(init="classical_mds").fit(X)
    assert ours.stress_ <= theirs.stress_
    as_low = int(np.argmax(ours.objective_history_ <= theirs.stress_)) + 1
    assert as_low <= 0.75 * theirs.n_iter_


def test_a_step_that_would_rise_is_refused():
    # a memory of steps from another problem gives steps that are no good
    n = 30
    D = distances(rng(1).standard_normal((n, 6)))

    class Odd(Stress):
        """Now and then as high as nothing could be."""

        calls = 0

        def at(self, X):
            found = super().at(X)
            self.calls += 1
            return type(found)(1e9, found.size, found.G) if self.calls % 4 == 3 else found

    odd = Odd(D)
    end = descend(odd, rng(2).standard_normal((2, n)), Complete(n), eps=1e-6, max_iter=30)
    assert (np.diff(end.history) <= 0).all()
    assert max(end.history) < 1e9


def test_weights_all_alike_are_none_and_zero_is_missing():
    n = 30
    D = distances(rng(1).standard_normal((n, 4)))
    plain = MDS(metric="precomputed", eps=1e-12, max_iter=2000).fit(D)
    alike = MDS(metric="precomputed", eps=1e-12, max_iter=2000).fit(D, weights=np.full((n, n), 3.0))
    assert_allclose(alike.stress_, 3 * plain.stress_, rtol=1e-8)
    assert off_by(plain.embedding_, alike.embedding_) < 1e-4
    W = np.ones((n, n))
    holes = np.triu(rng(2).random((n, n)) < 0.2, 1)
    W[holes | holes.T] = 0
    by_weight = MDS(metric="precomputed").fit(D, weights=W)
    by_hole = MDS(metric="precomputed", missing="ignore").fit(np.where(W == 0, np.nan, D))
    assert_allclose(by_weight.embedding_, by_hole.embedding_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("ranks", [False, True])
def test_turned_scaled_shuffled_data_give_the_same_places(ranks):
    X = load_iris().data[::3] + 1e-3 * rng(1).standard_normal((50, 4))
    settings = {"metric_mds": not ranks, "eps": 1e-13, "max_iter": 3000}
    base = MDS(**settings).fit(X)
    Q = np.linalg.qr(rng(2).standard_normal((4, 4)))[0]
    assert off_by(base.embedding_, MDS(**settings).fit(X @ Q).embedding_) < 1e-4
    grown = MDS(**settings).fit(7 * X)
    # the places of ranks have one size, whatever that of the data
    assert off_by(base.embedding_ * (1 if ranks else 7), grown.embedding_) < 1e-4
    order = rng(3).permutation(50)
    assert off_by(base.embedding_[order], MDS(**settings).fit(X[order]).embedding_) < 1e-4


# ------------------------------------------------------------------------------------ ranks


def test_pools_are_those_of_scipy():
    n = 300
    for seed, weighted in [(0, False), (1, True)]:
        d = rng(seed).random(n) + np.linspace(0, 1, n)
        w = rng(seed + 9).uniform(0.5, 2, n) if weighted else np.empty(0)
        order, ends = np.arange(n), np.arange(1, n + 1)
        for loop in (pooled, pooled.__wrapped__):
            found = d.copy()
            room = np.empty(n), np.empty(n), np.empty(n, np.int64)
            loop(found, w, order, ends, 5.0, *room)
            exact = isotonic_regression(d, weights=w if weighted else None).x
            size = ((w if weighted else 1) * exact**2).sum()
            assert_allclose(found, exact * np.sqrt(5 / size), rtol=1e-10)


def test_equal_dissimilarities_get_one_disparity():
    n = 25
    D = np.round(distances(rng(1).standard_normal((n, 3))) * 2)
    D[D == 0] = 1
    np.fill_diagonal(D, 0)
    objective = Monotone(D)
    X = rng(2).standard_normal((2, n))
    found = objective.at(X)
    above = np.triu_indices(n, 1)
    t, d = D[above], distances(X.T)[above]
    levels = np.unique(t)
    means = np.array([d[t == v].mean() for v in levels])
    count = np.array([(t == v).sum() for v in levels])
    fitted = isotonic_regression(means, weights=count).x
    fitted *= np.sqrt(len(t) / (count * fitted**2).sum())
    assert_allclose(found.raw, ((fitted[np.searchsorted(levels, t)] - d) ** 2).sum(), rtol=1e-10)
    assert_allclose(np.interp(levels, *objective.function()), fitted, rtol=1e-10)


def test_pairs_of_dissimilarity_zero_are_to_be_at_one_place():
    n = 20
    D = distances(rng(1).standard_normal((n, 3)))
    D[2, 5] = D[5, 2] = 0
    X = rng(2).standard_normal((2, n))
    found, d = Monotone(D).at(X), distances(X.T)
    above = np.triu_indices(n, 1)
    t, e = D[above], d[above]
    order = np.argsort(t[t > 0])
    fitted = isotonic_regression(e[t > 0][order]).x
    fitted *= np.sqrt(len(t) / (fitted**2).sum())
    expected = ((fitted - e[t > 0][order]) ** 2).sum() + d[2, 5] ** 2
    assert_allclose(found.raw, expected, rtol=1e-10)


def test_ranks_alone_recover_the_plane():
    P = rng(1).standard_normal((60, 2))
    model = MDS(metric="precomputed", metric_mds=False, eps=1e-10, max_iter=2000)
    model.fit(distances(P) ** 3)
    assert model.stress_ < 0.01
    assert spearmanr(pdist(P), pdist(model.embedding_)).statistic > 0.9999


def test_ranks_are_kept_as_well_as_by_scikit_learn():
    X = load_digits().data[:250]

    order = np.argsort(pdist(X), kind="stable")

    def kruskal(Z):
        d = pdist(Z)[order]
        return np.sqrt(((d - isotonic_regression(d).x) ** 2).sum() / (d**2).sum())

    ours = MDS(metric_mds=False).fit(X)
    theirs = SklearnMDS(metric_mds=False, init="classical_mds").fit(X)
    assert kruskal(ours.embedding_) <= kruskal(theirs.embedding_)
    assert ours.stress_ <= theirs.stress_


def test_ties_are_told_from_rounding():
    eps = 2.0**-52
    given = np.array([1.0, 1 + eps, 1 + 2 * eps, 1.5, 2, 2 + 4 * eps, 3])
    for loop in (tied, tied.__wrapped__):
        ends = np.zeros(7, np.int64)
        assert loop(given, 24 * eps, 128 * eps, ends) == 4
        assert_array_equal(ends[:4], [3, 4, 6, 7])
    # a chain of small steps is not one tie, and a large one does not tie small ones
    chain = 1 + eps * np.arange(200)
    assert tied(chain, 8 * eps, 128 * eps, np.zeros(200, np.int64)) == 23
    assert tied(np.array([1.0, 1.1, 1e20]), 8 * eps * 1e20, 128 * eps, np.zeros(3, np.int64)) == 3


def test_ranks_do_not_depend_on_rounding():
    # a table on a grid, as iris is, has many distances that are equal but for rounding
    X = np.round(rng(3).standard_normal((40, 4)), 1)
    same = MDS(metric_mds=False, eps=1e-12, max_iter=2000).fit(X)
    turned = MDS(metric_mds=False, eps=1e-12, max_iter=2000).fit(X[:, ::-1] + 1 / 3)
    assert len(np.unique(same.dissimilarity_matrix_)) > len(np.unique(np.round(pdist(X), 6)))
    assert_allclose(same.stress_, turned.stress_, rtol=1e-10)
    single = MDS(metric_mds=False, eps=1e-9, max_iter=2000).fit(X.astype(np.float32))
    assert_allclose(same.stress_, single.stress_, rtol=1e-5)


# ------------------------------------------------------------------------------------ starts


def test_classical_start_is_classical_scaling():
    X = load_iris().data + 1e-3 * rng().standard_normal((150, 4))
    exact = ClassicalMDS(n_components=3).fit_transform(X)
    assert_allclose(from_points(X, 3).T, exact, atol=1e-8)
    assert_allclose(from_distances(distances(X), 3, rng()).T, exact, atol=1e-8)
    assert_array_equal(from_points(X[:, :2], 3)[2], 0)


def test_classical_start_by_lanczos():
    X = rng(1).standard_normal((600, 5)) * [5, 4, 3, 2, 1]
    exact = ClassicalMDS(n_components=2).fit_transform(X)
    assert off_by(exact, from_distances(distances(X), 2, rng()).T) < 1e-5


def test_holes_are_filled_by_shortest_paths():
    line = np.arange(5.0)
    D = np.abs(line[:, None] - line)
    known = D <= 1
    assert_array_equal(filled(np.where(known, D, np.nan), known), D)


def test_dimensions_without_a_start_are_filled():
    D = np.array([[0, 1, 3.0], [1, 0, 1], [3, 1, 0]])  # no triangle: one eigenvalue is negative
    # the root of an eigenvalue that is zero but for rounding
    assert np.abs(from_distances(D, 2, rng())).max(axis=1)[1] < 1e-7
    start = _classical(D, None, 2, rng())
    assert_allclose(start[0], from_distances(D, 2, rng())[0])
    assert np.abs(start[1]).min() > 0
    flat = _classical(distances(np.arange(5.0)[:, None]), None, 2, rng())
    assert_allclose(flat[1], 0, atol=1e-6)  # nothing is missing


def test_several_random_starts_keep_the_best():
    D, draws = distances(load_digits().data[:60]), rng()
    asked = {"eps": 1e-6, "max_iter": 300}
    alone = [solve(D, 2, starts=1, rng=draws, **asked) for _ in range(6)]
    best = solve(D, 2, starts=6, rng=rng(), **asked)
    ends = [found.stress for found in alone]
    assert np.argmin(ends) not in (0, 5)  # neither the first nor the last is kept by chance
    assert best.stress == min(ends)
    assert_array_equal(best.objective_history, alone[np.argmin(ends)].objective_history)
    with pytest.warns(UserWarning, match="the classical start is one"):
        MDS(metric="precomputed", n_init=3).fit(D)


def test_asked_to_stop_no_other_start_is_tried():
    shown = []
    D = distances(load_digits().data[:40])

    def monitor(raw):
        shown.append(raw)
        return True

    found = solve(D, 2, starts=5, eps=1e-9, max_iter=50, rng=rng(), monitor=monitor)
    assert len(shown) == found.n_iter == 1
    assert not found.converged


def test_sweeps_come_near_to_the_minimum_and_repeat():
    X = load_digits().data[:200]
    reference = MDS().fit(X).stress_
    D = distances(X)
    ends = []
    for _ in range(2):
        *_, end = sweeps(rng(1).uniform(size=(2, len(D))), D, None, rng(5))
        ends.append(end)
    assert_array_equal(*ends)
    assert raw_stress(D, ends[0].T) < 1.06 * reference
    model = MDS(solver="sgd", init="random", random_state=0).fit(X)
    assert model.stress_ < 1.01 * reference
    assert model.solver_ == "sgd"
    assert model.converged_
    assert len(model.objective_history_) > SWEEPS


@pytest.mark.parametrize("n", [2, SIDE, SIDE + 1, 3 * SIDE + 5])
def test_a_sweep_goes_once_over_every_pair(n, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "eigenlens.solvers.pair_sgd.sweep", lambda X, T, W, stars, *_: seen.append(stars.copy())
    )
    D = np.ones((n, n))
    for _ in sweeps(np.zeros((2, n)), D, None, rng(0)):
        pass
    stars = [
        [(i, j) for j in range(max(b * SIDE, i + 1), min((b + 1) * SIDE, n))] for i, b in seen[0]
    ]
    assert all(stars)  # none for nothing
    assert sorted(chain.from_iterable(stars)) == list(combinations(range(n), 2))


def test_sweeps_are_for_many_points_at_random_with_iterations_left_for_the_descent():
    assert choose_solver(MANY, "random", 2 * SWEEPS) == "sgd"
    assert choose_solver(MANY - 1, "random", 2 * SWEEPS) == "smacof"
    assert choose_solver(MANY, "random", 2 * SWEEPS - 1) == "smacof"
    assert choose_solver(MANY, "classical_mds", 2 * SWEEPS) == "smacof"


def test_sweep_is_its_twin_and_moves_every_pair_once():
    n = 21
    D = distances(rng(1).standard_normal((n, 3)))
    stars = np.array([[i, b] for i in range(n - 1) for b in range((i + 1) // 8, 3)])
    for W in (NONE, weights_of(n)):
        start = rng(2).standard_normal((n, 2))
        ends = []
        for loop in (sweep, sweep.__wrapped__):
            X = start.copy()
            with np.errstate(over="ignore"):  # of the generator, in Python
                loop(X, D, W, stars.copy(), 0.3, np.array([88172645463325252], np.uint64))
            ends.append(X)
        assert_allclose(*ends, rtol=1e-10)
    near = np.zeros((n, n))
    i, b = stars[:, 0], stars[:, 1]
    for one, block in zip(i, b, strict=True):
        near[one, max(8 * block, one + 1) : 8 * block + 8] += 1
    assert_array_equal(near, np.triu(np.ones((n, n)), 1))


# ----------------------------------------------------------------------------- planted places


@pytest.mark.parametrize("init", ["classical_mds", "random"])
def test_a_table_of_towns_is_recovered(init):
    for seed in range(5):
        towns = rng(seed).uniform(size=(30, 2)) * [1000, 600]
        starts = 4 if init == "random" else 1
        model = MDS(metric="precomputed", init=init, n_init=starts, eps=1e-14, random_state=0)
        assert off_by(towns, model.fit(distances(towns)).embedding_) < 1e-6


def test_places_are_recovered_without_a_third_of_the_pairs():
    good = 0
    for seed in range(10):
        P = rng(seed).uniform(size=(100, 2))
        holes = np.triu(rng(seed + 100).random((100, 100)) < 0.3, 1)
        D = distances(P)
        D[holes | holes.T] = np.nan
        model = MDS(metric="precomputed", missing="ignore", eps=1e-12, max_iter=1000)
        good += off_by(P, model.fit(D).embedding_) < 1e-4
    assert good >= 9


def test_a_distance_known_in_one_direction_is_known():
    P = rng(1).standard_normal((12, 2))
    D = distances(P)
    half = D + np.where(np.tri(12, k=-1) > 0, np.nan, 0)
    model = MDS(metric="precomputed", missing="ignore", eps=1e-14).fit(half)
    assert off_by(P, model.embedding_) < 1e-6


def test_many_nodes_take_conjugate_gradients(monkeypatch):
    monkeypatch.setattr("eigenlens.solvers.mds.Laplacian", lambda W: Laplacian(W, dense=0))
    test_places_are_recovered_without_a_third_of_the_pairs()


# -------------------------------------------------------------------------------- new points


def test_own_stress_and_its_derivatives():
    for k in (1, 2, 4):
        n = 30
        P, y = rng(1).standard_normal((k, n)), rng(2).standard_normal(k)
        t, w = rng(3).random(n) + 1, rng(4).random(n)
        w[3] = 0

        def stress(y, P=P, t=t, w=w):
            return (w * (t - np.linalg.norm(y[:, None] - P, axis=0)) ** 2).sum()

        outs = []
        for loop in (own_stress, own_stress.__wrapped__):
            g, H = np.zeros(k), np.zeros((k, k))
            value = loop(y, t, w, P, 1e-28, g, H, np.empty(n), np.empty(n))
            assert_allclose(value, stress(y), rtol=1e-12)
            outs.append((g, np.tril(H)))
        assert_allclose(outs[0][0], outs[1][0], rtol=1e-10)
        assert_allclose(outs[0][1], outs[1][1], rtol=1e-10)
        g, H = outs[0]
        h = 1e-5
        for q in range(k):
            e = h * np.eye(k)[q]
            assert_allclose(2 * g[q], (stress(y + e) - stress(y - e)) / (2 * h), rtol=1e-5)
            second = (stress(y + e) - 2 * stress(y) + stress(y - e)) / h**2
            assert_allclose(2 * H[q, q], second, rtol=1e-3)


def test_trilateration_is_exact_for_distances_in_the_plane():
    P, y = rng(1).standard_normal((2, 9)), np.array([0.3, -2.0])
    t = np.linalg.norm(y[:, None] - P, axis=0)
    for loop in (trilateration, trilateration.__wrapped__):
        found = np.empty(2)
        assert loop(t, np.ones(9), P, found)
        assert_allclose(found, y, rtol=1e-9)


def test_loop_that_places_is_its_twin():
    P = rng(1).standard_normal((2, 15))
    T = cdist(rng(2).standard_normal((4, 3)), rng(3).standard_normal((15, 3)))
    T[1, 3] = np.nan
    ends = []
    for loop in (place, place.__wrapped__):
        Y, value = np.empty((4, 2)), np.empty(4)
        loop(T, NONE, P, Y, value)
        ends.append((Y, value))
    assert_allclose(ends[0][0], ends[1][0], atol=1e-8)
    assert_allclose(ends[0][1], ends[1][1], rtol=1e-10)


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_places_do_not_depend_on_units(unit):
    P, T = rng(1).standard_normal((2, 9)), rng(2).uniform(0.2, 3, (5, 9))
    ends = []
    for scale in (1.0, unit):
        Y, value = np.empty((5, 2)), np.empty(5)
        place(scale * T, NONE, scale * P, Y, value)
        ends.append((Y / scale, value / scale**2))
    assert_allclose(*(Y for Y, _ in ends), atol=1e-8)
    assert_allclose(*(value for _, value in ends), rtol=1e-10)


def test_landmarks_of_two_places_in_three_dimensions():
    """Rows of two kinds: two landmarks are all there is to choose."""
    X = np.repeat([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 0.0]], 16, axis=0)
    Y = MDS(n_components=3, n_landmarks=6, random_state=0).fit_transform(X)
    assert Y.shape == (32, 3)
    assert_allclose(pdist(Y), pdist(X), atol=1e-6)


def test_distances_that_single_precision_cannot_hold_are_refused():
    X = np.zeros((6, 4), np.float32)
    X[::2] = 3e38
    with pytest.raises(ValueError, match=r"overflow float32\. Divide X by a constant"):
        MDS(random_state=0).fit(X)


def test_the_lower_of_two_ends_counts():
    # on a line, with distances that fit nothing, there are many minima
    P, T = rng(1).standard_normal((1, 12)), rng(2).uniform(0.2, 3, (300, 12))
    Y, value = np.empty((300, 1)), np.empty(300)
    place(T, NONE, P, Y, value)

    def stress(y, t):
        return ((t - np.abs(y - P[0])) ** 2).sum()

    lower = np.zeros(2)
    for t, y, found in zip(T, Y[:, 0], value, strict=True):
        assert_allclose(found, stress(y, t), rtol=1e-10)
        ends = []
        slope = np.polyfit(P[0], P[0] ** 2 - t**2, 1)[0]
        for start in (P[0, np.argmin(t)], slope / 2):
            z = start
            for _ in range(200):  # majorisation: it ends where the signs no longer change
                z = np.mean(P[0] + t * np.sign(z - P[0]))
            ends.append(stress(z, t))
        lower += np.array(ends) < (1 - 1e-6) * np.array(ends)[::-1]
        assert found <= min(ends) * (1 + 1e-9)
    assert (lower > 10).all()  # either start is the better one at times


def test_new_points_have_the_lowest_stress_of_their_own():
    X, new = load_digits().data[:150], load_digits().data[150:170]
    model = MDS().fit(X)
    T, P = cdist(new, X), model.embedding_
    for t, y in zip(T, model.transform(new), strict=True):
        ours = ((t - np.linalg.norm(P - y, axis=1)) ** 2).sum()
        for start in (P[np.argmin(t)], P.mean(axis=0), 2 * P[0], -P[0]):
            other = minimize(lambda z, t=t: ((t - np.linalg.norm(P - z, axis=1)) ** 2).sum(), start)
            assert ours <= other.fun * (1 + 1e-2)
        near = minimize(lambda z, t=t: ((t - np.linalg.norm(P - z, axis=1)) ** 2).sum(), y)
        assert ours <= near.fun * (1 + 1e-9)


@pytest.mark.parametrize("ranks", [False, True])
def test_rows_of_the_fit_keep_their_places(ranks):
    X = load_iris().data[::2]
    model = MDS(metric_mds=not ranks, eps=1e-13, max_iter=3000).fit(X)
    assert_allclose(
        model.transform(X), model.embedding_, atol=1e-3 * np.abs(model.embedding_).max()
    )
    D = pairwise_distances(X)
    given = MDS(metric_mds=not ranks, metric="precomputed", eps=1e-13, max_iter=3000).fit(D)
    assert_allclose(
        given.transform(D), given.embedding_, atol=1e-3 * np.abs(given.embedding_).max()
    )


def test_rows_of_a_weighted_fit_keep_their_places():
    X, W = load_iris().data[::3], weights_of(50)
    model = MDS(eps=1e-13, max_iter=3000).fit(X, weights=W)
    assert_allclose(model.transform(X, weights=W), model.embedding_, atol=1e-3)


def test_new_point_in_the_plane_is_placed_exactly():
    P, new = rng(1).standard_normal((20, 2)), np.array([[5.0, 1.0], [0.1, 0.2]])
    model = MDS(metric="precomputed").fit(distances(P))
    T = cdist(new, P)
    T[0, 3] = np.nan
    model.set_params(missing="ignore")
    both = np.concatenate([model.embedding_, model.transform(T)])
    assert off_by(np.concatenate([P, new]), both) < 1e-9


def test_held_out_digits_are_placed_as_well_as_those_seen():
    X, y = load_digits(return_X_y=True)
    rows = rng().permutation(len(X))[:900]
    seen, new = rows[:600], rows[600:]
    model = MDS(random_state=0).fit(X[seen])
    whole = MDS(random_state=0).fit(X[rows]).embedding_

    def accuracy(A, B):
        return KNeighborsClassifier(10).fit(A, y[seen]).score(B, y[new])

    assert accuracy(model.embedding_, model.transform(X[new])) > (
        accuracy(whole[:600], whole[600:]) - 0.03
    )


# ---------------------------------------------------------------------------------- landmarks


def test_landmarks_place_the_rest():
    X = rng(1).standard_normal((800, 6)) * [4, 3, 1, 1, 0.5, 0.5]
    some = MDS(n_landmarks=120, random_state=0).fit(X)
    whole = MDS(random_state=0).fit(X)
    D = distances(X)
    assert raw_stress(D, some.embedding_) < 1.1 * raw_stress(D, whole.embedding_)
    assert some.dissimilarity_matrix_.shape == (120, 120)
    assert some.X_fit_.shape == (120, 6)
    rest = np.setdiff1d(np.arange(800), some.landmarks_)
    assert_allclose(some.transform(X[rest]), some.embedding_[rest], atol=1e-9)


def test_landmarks_of_given_distances():
    P = rng(1).standard_normal((200, 2))
    D = distances(P)
    model = MDS(metric="precomputed", n_landmarks=30, random_state=0, eps=1e-14).fit(D)
    assert off_by(P, model.embedding_) < 1e-6
    assert_allclose(model.transform(D), model.transform(D[:, model.landmarks_]), atol=1e-12)
    assert off_by(P, model.transform(D)) < 1e-6


def test_landmarks_are_spread_and_never_twice():
    X = np.repeat(np.eye(4) * 10, 5, axis=0)
    found = landmarks(lambda i: ((X - X[i]) ** 2).sum(axis=1), 20, 10, rng())
    assert len(found) == 4  # no more places than that
    assert len({i // 5 for i in found}) == 4


# ---------------------------------------------------------------------------------- distances


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_have_their_digits(dtype):
    X = rng(1).standard_normal((300, 5)).astype(dtype)
    X[7] = X[3]
    X[9] = X[3] * dtype(1 + 1e-6)
    exact = np.sqrt(((X[:, None].astype(np.longdouble) - X) ** 2).sum(axis=2)).astype(float)
    rtol = 1e-11 if dtype == np.float64 else 1e-6
    assert_allclose(matrix_of(X), exact, rtol=rtol, atol=0)
    assert matrix_of(X).dtype == dtype
    assert_allclose(between(X[:40], X), exact[:40], rtol=1e-10, atol=0)


def test_metrics_of_scikit_learn():
    X = load_iris().data[::5] + 1e-3 * rng().standard_normal((30, 4))
    for metric, params in [("manhattan", None), ("minkowski", {"p": 3})]:
        model = MDS(metric=metric, metric_params=params, eps=1e-9).fit(X)
        D = pairwise_distances(X, metric=metric, **(params or {}))
        assert_allclose(model.dissimilarity_matrix_, D)
        assert_allclose(model.transform(X), model.embedding_, atol=1e-2)
    X[3, 1] = np.nan
    model = MDS(metric="nan_euclidean", missing="ignore").fit(X)
    assert np.isfinite(model.transform(X)).all()


# ------------------------------------------------------------------------------- drop-in, errors


@pytest.mark.parametrize("ranks", [False, True])
def test_function_is_that_of_scikit_learn(ranks):
    X = load_iris().data[::5] + 1e-2 * rng().standard_normal((30, 4))
    D, start = distances(X), X[:, :2]  # random starts lead each to a minimum of its own
    settings = {"init": start, "metric": not ranks, "eps": 1e-9, "max_iter": 3000}
    ours = smacof(D, return_n_iter=True, **settings)
    theirs = sklearn_smacof(D, return_n_iter=True, **settings)
    assert len(smacof(D, **settings)) == 2
    assert ours[1] <= theirs[1] * (1 + 1e-6)
    assert ours[2] < theirs[2]


def test_stress_may_be_normalised():
    X = load_iris().data
    raw, one = MDS().fit(X), MDS(normalized_stress=True).fit(X)
    assert_allclose(one.stress_, np.sqrt(raw.stress_ / (pdist(raw.embedding_) ** 2).sum()))


def test_old_names_still_work():
    X = load_iris().data[:20]
    D = distances(X)
    with pytest.warns(FutureWarning, match="`dissimilarity` parameter is"):
        old = MDS(dissimilarity="precomputed").fit(D)
    assert_array_equal(old.embedding_, MDS(metric="precomputed").fit(D).embedding_)
    with pytest.warns(FutureWarning, match="Use metric_mds"):
        old = MDS(metric=False).fit(X)
    assert_array_equal(old.embedding_, MDS(metric_mds=False).fit(X).embedding_)
    with pytest.raises(ValueError, match="provided both"):
        MDS(metric="cosine", dissimilarity="euclidean").fit(X)
    with pytest.warns(UserWarning, match="square matrix"):
        MDS().fit(D)
    with pytest.warns(UserWarning, match="only one init"):
        MDS(n_init=3).fit(X, init=X[:, :2])


D5 = distances(rng().standard_normal((5, 2)))


def spoiled(i, j, value, both=True):
    D = D5.copy()
    D[i, j] = value
    if both:
        D[j, i] = value
    return D


PIECES = np.where(np.equal.outer([0, 0, 0, 1, 1], [0, 0, 0, 1, 1]), D5, np.nan)
ALONE = D5.copy()
ALONE[2, [0, 1, 3, 4]] = ALONE[[0, 1, 3, 4], 2] = np.nan


@pytest.mark.parametrize(
    ("X", "params", "message"),
    [
        (D5[:4], {}, "needs the square matrix"),
        (spoiled(0, 1, 9.0, both=False), {}, "not symmetric"),
        (spoiled(0, 1, -1.0), {}, "negative entry, -1"),
        (spoiled(0, 1, np.nan), {}, "NaN"),
        (spoiled(0, 1, np.inf), {"missing": "ignore"}, "infinity"),
        (ALONE, {"missing": "ignore"}, "Row 2 of X has no known distance"),
        (PIECES, {"missing": "ignore"}, "in 2 pieces, of 3, 2 points"),
        (D5, {"n_components": 6}, "n_components=6 is more than the 5 rows"),
        (D5, {"n_landmarks": 2}, "n_landmarks=2 points cannot settle"),
        (D5, {"n_landmarks": 0}, "n_landmarks"),
    ],
)
def test_bad_distances_are_refused(X, params, message):
    with pytest.raises(ValueError, match=message):
        MDS(metric="precomputed", **params).fit(X)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones((4, 4)), "weights have shape"),
        (-np.ones((5, 5)), "weights have a negative entry"),
        (np.triu(np.ones((5, 5))), "weights are not symmetric"),
        (np.eye(5), "Row 0 of X has no known distance"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        MDS(metric="precomputed").fit(D5, weights=weights)


def test_bad_calls_are_refused():
    model = MDS(metric="precomputed").fit(D5)
    with pytest.raises(ValueError, match="negative entry"):
        model.transform(-D5)
    with pytest.raises(ValueError, match="NaN"):
        model.transform(ALONE)
    model = MDS(metric="precomputed", missing="ignore").fit(D5)
    with pytest.raises(ValueError, match="Row 1 of X has no known distance"):
        model.transform(np.where([[False], [True]], np.nan, D5[:2]))
    with pytest.raises(ValueError, match="weights of new points"):
        model.transform(D5, weights=np.ones((2, 2)))
    with pytest.raises(ValueError, match="init matrix should be of shape"):
        model.fit(D5, init=np.ones((4, 2)))
    with pytest.raises(ValueError, match="not finite"):
        MDS(metric=lambda a, b: np.inf).fit(rng().standard_normal((6, 2)))
    with pytest.raises(ValueError, match="so large that their squares overflow"):
        MDS().fit(rng().standard_normal((6, 2))).transform([[1e200, 0]])
    with pytest.raises(ValueError, match="NaN"):
        MDS(missing="ignore").fit(np.full((5, 2), np.nan))  # of rows, not of distances


@pytest.mark.parametrize("ranks", [False, True])
def test_points_in_one_place_are_harmless(ranks):
    for init in ("classical_mds", "random"):
        model = MDS(metric="precomputed", metric_mds=not ranks, init=init, random_state=0)
        same = model.fit(np.zeros((6, 6)))
        assert_allclose(same.embedding_, 0, atol=1e-12)
        assert same.stress_ == pytest.approx(0, abs=1e-12)
    twins = np.repeat(rng(1).standard_normal((8, 3)), 2, axis=0)
    found = MDS(metric_mds=not ranks, eps=1e-12, max_iter=2000).fit(twins).embedding_
    assert_allclose(found[::2], found[1::2], atol=1e-4)


@pytest.mark.parametrize("ranks", [False, True])
def test_no_distance_but_zero_places_new_points_too(ranks):
    model = MDS(metric="precomputed", metric_mds=not ranks).fit(np.zeros((6, 6)))
    assert_allclose(model.transform(np.zeros((2, 6))), 0, atol=1e-12)


@pytest.mark.parametrize("ranks", [False, True])
def test_units_of_distances_do_not_matter(ranks):
    X = rng(1).standard_normal((30, 4))
    asked = {"metric_mds": not ranks, "normalized_stress": True, "random_state": 0}
    plain, drawn = MDS(**asked).fit(X), MDS(init="random", **asked).fit(X)
    for power in (-900, -500, -400, 400, 500, 900):
        unit = 2.0**power
        size = 1.0 if ranks else unit
        for given, table in (("euclidean", X), ("precomputed", distances(X))):
            model = MDS(metric=given, **asked).fit(table * unit)
            assert model.converged_
            assert_allclose(model.embedding_ / size, plain.embedding_, atol=1e-6)
            assert_allclose(model.transform(table * unit) / size, plain.transform(X), atol=1e-6)
        # one that is of another size is another start: its minimum may be another, but no worse one
        model = MDS(init="random", **asked).fit(X * unit)
        assert model.converged_
        assert model.stress_ == pytest.approx(drawn.stress_, rel=0.02)
    few = {"n_landmarks": 12, **asked}
    plain, tiny = MDS(**few).fit(X), MDS(**few).fit(X * 2.0**-700)
    assert_array_equal(plain.landmarks_, tiny.landmarks_)
    single = MDS(**asked).fit((X * 2.0**100).astype(np.float32))
    assert np.isfinite(single.embedding_).all()


@pytest.mark.parametrize("ranks", [False, True])
def test_units_of_weights_and_of_starts_do_not_matter(ranks):
    D, W = distances(rng(1).standard_normal((20, 4))), weights_of(20)
    asked = {"metric": "precomputed", "metric_mds": not ranks, "normalized_stress": True}
    plain = MDS(**asked).fit(D, weights=W)
    start = rng(2).standard_normal((20, 2))
    begun = MDS(**asked).fit(D, init=start)
    for power in (-990, 990):
        model = MDS(**asked).fit(D, weights=W * 2.0**power)
        assert_allclose(model.embedding_, plain.embedding_, rtol=1e-9, atol=1e-9)
        assert model.stress_ == pytest.approx(plain.stress_)
        model = MDS(**asked).fit(D, init=start * 2.0 ** (power // 2))
        assert model.stress_ == pytest.approx(begun.stress_, rel=1e-4)


def test_stress_is_in_the_units_of_distances_and_weights():
    D, seen = distances(rng(1).standard_normal((20, 4))), []
    plain = MDS(metric="precomputed").fit(D)
    huge = solve(
        D * 2.0**450, 2, starts=[None], eps=1e-6, max_iter=300, rng=rng(), monitor=seen.append
    )
    assert huge.stress == pytest.approx(plain.stress_ * 2.0**900)
    assert_allclose(huge.objective_history, plain.objective_history_ * 2.0**900)
    assert_allclose(seen, huge.objective_history)
    ranked = MDS(metric="precomputed", metric_mds=False)
    knots = ranked.fit(D).disparity_
    assert_allclose(ranked.fit(D * 2.0**450).disparity_, knots * [[2.0**450], [1]], rtol=1e-9)


def test_tags_follow_the_parameters():
    def tags(**params):
        return MDS(**params).__sklearn_tags__().input_tags

    assert tags(metric="precomputed").pairwise
    assert not tags().pairwise
    assert tags(metric="precomputed", missing="ignore").allow_nan
    assert not tags(metric="precomputed").allow_nan


def test_matrix_of_distances_is_checked_in_one_place():
    require_distances(D5)
    with pytest.raises(ValueError, match="not symmetric"):
        require_distances(spoiled(0, 1, 9.0, both=False))
    require_distances(spoiled(0, 1, np.nan))


def test_threads_and_blocks_do_not_matter(many_threads):
    T = cdist(rng(1).standard_normal((300, 3)), rng(2).standard_normal((50, 3)))
    P = rng(3).standard_normal((50, 2))
    whole = placed(T, P)
    assert_array_equal(whole[17:30], placed(T[17:30], P))
