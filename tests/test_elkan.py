"""Steps of Lloyd's with bounds: the same steps, and bounds that are bounds."""

import numpy as np
import pytest

from eigenlens.solvers import elkan, lloyd

SHAPES = [(400, 6, 5), (300, 130, 12), (150, 120, 40), (60, 3, 1)]  # n, d, k: few columns and many


def table(n, d, seed=0):
    """Give rows in clouds that overlap, less their mean."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 2 * rng.standard_normal((7, d))[rng.integers(7, size=n)]
    return X - X.mean(axis=0)


def distances(X, centres):
    return np.sqrt(((X[:, None, :] - centres) ** 2).sum(axis=2))


def steps_of_lloyd(X, centres, weight, n):
    """Give the centres before each step, the square there, and the residual."""
    found = []
    for _ in range(n):
        away = distances(X, centres)
        labels = away.argmin(axis=1)
        means = centres.copy()
        for j in np.unique(labels):
            means[j] = np.average(X[labels == j], axis=0, weights=weight[labels == j])
        mass = np.bincount(labels, weight, minlength=len(centres))
        residual = np.sqrt(mass @ ((means - centres) ** 2).sum(axis=1))
        found.append((centres, weight @ away.min(axis=1) ** 2, residual))
        centres = means
    return found


def descend(X, centres, weight=None, **how):
    weight = np.ones(len(X)) if weight is None else weight
    how = {"tol": 0.0, "most": 1000, "spread": np.linalg.norm(X)} | how
    return elkan.descend(X, centres, weight=weight, **how)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_steps_are_those_of_lloyd(shape, weighted):
    n, d, k = shape
    X = table(n, d, seed=2)  # on which no cell loses all of its rows
    weight = np.random.default_rng(1).uniform(0.5, 2, n) if weighted else np.ones(n)
    expected = steps_of_lloyd(X, X[:k], weight, 24)
    for most in (1, 2, 5, 12, 23):
        found = descend(X, X[:k], weight, most=most)
        if found.n_steps < most:  # nothing moves any more
            assert expected[found.n_steps][2] <= 1e-12 * np.linalg.norm(X)
        step = most if found.n_steps == most else found.n_steps - 1
        np.testing.assert_allclose(found.cells.centres, expected[step][0], atol=1e-12)
        np.testing.assert_allclose(found.cells.means, expected[step + 1][0], atol=1e-12)
        assert found.cells.square == pytest.approx(expected[step][1], rel=1e-12)
        assert found.cells.residual == pytest.approx(expected[step][2], abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_bounds_hold_whatever_way_centres_go(shape):
    n, d, k = shape
    X, rng = table(n, d), np.random.default_rng(2)
    bounds, centres = elkan._Bounds(X, k), X[:k].copy()
    spared = 0
    for size in (1.0, 0.3, 0.1, 0.03, 0.0, 3.0, 0.01):
        before = bounds._upper.copy()
        bounds.assign(centres)
        away = distances(X, centres)
        np.testing.assert_array_equal(bounds.labels, away.argmin(axis=1))
        own = away[np.arange(n), bounds.labels]
        assert (bounds._upper + bounds._moved[bounds.labels] >= own * (1 - 1e-12)).all()
        away[np.arange(n), bounds.labels] = np.inf
        nearest = np.minimum.reduceat(away, bounds._edges[:-1], axis=1)
        assert (bounds._lower - bounds._most <= nearest * (1 + 1e-12)).all()
        spared += np.sum(bounds._upper == before)
        way = size * rng.standard_normal(centres.shape) / np.sqrt(d)
        bounds.shift(way)
        centres = centres + way
    assert spared > n / 2  # rows of which no distance was computed


@pytest.mark.parametrize("loop", ["_assign", "_assign_by_all"])
def test_loops_equal_their_plain_twins(loop):
    n, d, k = 40, 12, 5
    X, ways = table(n, d), 0.1 * np.random.default_rng(3).standard_normal((3, k, d))
    edges, group = np.array([0, 2, 4, 5]), np.array([0, 0, 1, 1, 2])
    if loop == "_assign_by_all":
        edges, group = np.array([0, 5]), np.zeros(5, np.int64)
    results = []
    for plain in (False, True):
        run = getattr(elkan, loop)
        between = elkan._between.__wrapped__ if plain else elkan._between
        run = run.__wrapped__ if plain else run
        half, near = np.empty((k, k)), np.empty(k)
        labels, upper = np.zeros(n, np.int64), np.full(n, np.inf)
        lower = np.full((n, len(edges) - 1), -np.inf)
        moved, most, centres = np.zeros(k), np.zeros(len(edges) - 1), X[:k].copy()
        for way in ways:
            between(centres, half, near)
            own = near, moved, most, labels, upper, lower
            if loop == "_assign":
                run(X, centres, edges, group, half, *own)
            else:
                run(X, centres, np.ascontiguousarray(centres.T), *own)
            length = np.linalg.norm(way, axis=1)
            moved += length
            most += np.maximum.reduceat(length, edges[:-1])
            centres = centres + way
        results.append((labels, upper, lower, half))
    for ours, twin in zip(*results, strict=True):
        np.testing.assert_allclose(ours, twin, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 128])
def test_first_of_several_centres_takes_a_row_that_is_as_near_to_all(d):
    X, centres = np.zeros((4, d)), np.zeros((3, d))
    X[:, 0], centres[:, 0] = [0, 0, 1, -1], [1, -1, 1]
    bounds = elkan._Bounds(X, 3)
    for _ in range(2):  # also where the bounds say that they are as near
        bounds.assign(centres)
        np.testing.assert_array_equal(bounds.labels, [0, 0, 0, 1])
        bounds.shift(np.zeros(centres.shape))


@pytest.mark.parametrize("d", [1, 128])
def test_a_cell_without_rows_takes_the_row_that_is_farthest_from_its_centre(d):
    X, centres = np.zeros((3, d)), np.zeros((2, d))
    X[:, 0], centres[:, 0] = [0, 1, 10], [0.4, 100]
    found = descend(X, centres, np.array([1.0, 1.0, 3.0]))
    np.testing.assert_allclose(found.cells.centres[:, 0], [0.5, 10.0])
    np.testing.assert_allclose(found.cells.mass, [2, 3])


def test_weights_of_rows_that_are_all_taken_leave_nothing():
    """0.1 + 0.2 - 0.1 - 0.2 is not zero."""
    X = np.array([[9.0], [11.0], [0.0], [0.1]])
    cells = lloyd.Cells(np.array([[0.0], [0.0]]), np.zeros((2, 1)), np.array([0.3, 0.0]), 0.0)
    taken = np.array([100.0]), np.array([[10.0]]), np.array([0])
    means, moved = lloyd.refilled(cells, np.array([[3.0], [0.0]]), taken, np.array([0.1 + 0.2]), 20)
    np.testing.assert_allclose(means, 10.0)
    assert moved
    found = descend(X - 5, np.array([[-5.0], [50.0], [60.0]]), np.array([0.1, 0.2, 1.0, 1.0]))
    assert found.cells.square < 1e-2
    assert (found.cells.mass > 0).all()


def test_rows_that_are_all_at_their_centres_are_left_there():
    X = np.repeat([[1 / 3], [0.7]], [50, 30], axis=0)
    found = descend(X, np.array([[1 / 3], [0.7], [9.0]]))
    np.testing.assert_allclose(found.cells.centres, [[1 / 3], [0.7], [1 / 3]])
    assert found.cells.square < 1e-28


def test_it_ends_where_the_means_are_near_and_is_watched():
    X = table(2000, 5)
    spread = np.linalg.norm(X)
    steps = steps_of_lloyd(X, X[:9], np.ones(len(X)), 120)
    enough = next(i for i, (_, _, away) in enumerate(steps) if away <= 1e-3 * spread)
    found = descend(X, X[:9], tol=1e-3)
    assert found.n_steps == 1 + enough
    assert len(found.history) == -(-found.n_steps // elkan.STEPS)
    seen = []
    found = descend(X, X[:9], monitor=lambda square: seen.append(square) or True)
    assert found.n_steps == elkan.STEPS
    assert seen == found.history == [pytest.approx(steps[elkan.STEPS - 1][1])]


def test_single_precision_is_summed_in_double():
    X = table(5000, 110).astype(np.float32)
    found = descend(X, X[:8], tol=1e-6)
    double = descend(X.astype(np.float64), X[:8].astype(np.float64), tol=1e-6)
    np.testing.assert_allclose(found.cells.centres, double.cells.centres, atol=1e-6)
    assert found.cells.centres.dtype == np.float64
