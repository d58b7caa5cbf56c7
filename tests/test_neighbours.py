"""Distances in tiles, nearest neighbours and ranks: against numpy in long double."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from eigenlens.ops import neighbours, proximity
from eigenlens.ops.distances import Dense, Given, Sparse
from eigenlens.ops.neighbours import Neighbours, _Filter

RNG = np.random.default_rng(0)


def squares(X):
    """All squared distances, from differences; a whole number of units where entries are."""
    X = X.astype(np.longdouble)
    return np.array([((X - x) ** 2).sum(axis=1) for x in X])


def ordered(S):
    """All other points as seen from each, nearest first, ties by number; and their ranks."""
    S = S.copy()
    np.fill_diagonal(S, np.inf)
    order = np.argsort(S, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, len(S) + 1)[None], axis=1)
    return order, ranks


def others(n, m, q, seed=0):
    """For each of m rows, q points other than its own."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(n, m, replace=False))
    marks = np.array([rng.choice(np.delete(np.arange(n), i), q, replace=False) for i in rows])
    return rows, marks


@pytest.fixture
def small_tiles(monkeypatch):
    """Let few points make many tiles."""
    monkeypatch.setattr(neighbours, "ROWS", 5)
    monkeypatch.setattr(neighbours, "COLUMNS", 7)
    monkeypatch.setattr(_Filter, "height", 5)
    monkeypatch.setattr(neighbours, "TRIAL", 5)
    monkeypatch.setattr(neighbours, "STRIP", 300)
    monkeypatch.setattr(neighbours, "CONVERTED", 50)


# ----------------------------------------------------------------------------------- loops, twins


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 4, 7, 33])
def test_squares_of_pairs(d, dtype):
    X = (RNG.standard_normal((30, d)) + 1e3).astype(dtype)
    i, j = RNG.integers(30, size=(2, 100))
    found = np.empty(100)
    proximity.squares_of_pairs(X, i, j, found)
    differences = X[i].astype(np.float64) - X[j].astype(np.float64)
    np.testing.assert_allclose(found, (differences**2).sum(axis=1), rtol=1e-14)
    back = np.empty(100)
    proximity.squares_of_pairs(X, j, i, back)
    np.testing.assert_array_equal(back, found)


def test_squares_between():
    A, B = RNG.standard_normal((5, 3)), RNG.standard_normal((8, 3))
    B[2] = A[1]
    found = np.full((5, 8), np.nan)
    proximity.squares_between(A, np.ascontiguousarray(B.T), found)
    twin = ((A[:, None] - B[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, twin, rtol=1e-14)
    assert found[1, 2] == 0


def rough_tile(dtype, often, n=600, m=9, q=4):
    """A tile that is off by as much as it says, with points whose distances it cannot tell.

    They are many where points lie on a grid, and else one or two in as many as are counted at once.
    """
    X = RNG.integers(0, 4, (n, 3)).astype(np.float64) if often else RNG.uniform(0, 4, (n, 3))
    rows, marks = others(n, m, q)
    found = np.empty(m * n)
    proximity.squares_of_pairs(X, np.repeat(rows, n), np.tile(np.arange(n), m), found)
    exact = found.reshape(m, n)
    off = 1.0 if often else 0.01
    shift, error, slack = exact.mean(axis=1), np.full(m, 0.7 * off), np.full(n, 0.4 * off, dtype)
    tile = exact - shift[:, None] + off * RNG.choice([-1, 1], exact.shape)
    tile[np.arange(m), rows] = np.inf
    return X, rows, marks, exact, (tile.astype(dtype), 0, rows, shift, error, slack, X, 1.0)


@pytest.mark.parametrize("often", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_count_before(dtype, often):
    _, rows, marks, exact, tile = rough_tile(dtype, often)
    level = np.take_along_axis(exact, marks, axis=1)
    before = np.full(marks.shape, 10)
    asked = proximity.count_before(*tile, marks, level, before)
    number = np.arange(exact.shape[1])
    s, at = exact[:, None, :], level[:, :, None]
    first = (s < at) | ((s == at) & (number < marks[:, :, None]))
    first &= number != rows[:, None, None]
    np.testing.assert_array_equal(before, 10 + first.sum(axis=2))
    assert 0 < asked < exact.size * marks.shape[1] / (2 if often else 50)


@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("often", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keep_nearest(dtype, k, often):
    X, rows, _, exact, tile = rough_tile(dtype, often)
    nearest, reach = np.full((len(rows), k), -1), np.full((len(rows), k), np.inf)
    values, _, *rest = tile
    for half in (slice(0, 250), slice(250, 600)):  # in the order of the points
        part = np.ascontiguousarray(values[:, half])
        *bounds, slack, X, unit = rest
        proximity.keep_nearest(part, half.start, *bounds, slack[half], X, unit, nearest, reach)
    expected = ordered(squares(X))[0][rows, :k]
    np.testing.assert_array_equal(nearest, expected)
    np.testing.assert_array_equal(reach, np.take_along_axis(exact, expected, axis=1))


def test_sums_of_two():
    d, e = RNG.uniform(0, 2, (2, 6, 50))
    start = np.array([0, 3, 7, 49, 50, 50])
    found = proximity.sums_of_two(d**2, e**2, start, 0.8)
    there = np.arange(50) >= start[:, None]
    d, e = d[there], e[there]
    r = d - 0.8 * e
    np.testing.assert_allclose(found, [d @ d, e @ e, r @ r, r @ e], rtol=1e-13)


def test_sum_by_group():
    d = RNG.uniform(0, 2, (4, 30))
    edges = np.array([0, 0, 5, 5, 29, 30])
    sums = np.ones((4, 5))
    proximity.sum_by_group(d**2, edges, sums)
    twin = [1 + d[:, a:b].sum(axis=1) for a, b in pairwise(edges)]
    np.testing.assert_allclose(sums, np.transpose(twin), rtol=1e-14)


# ----------------------------------------------------------------------------------------- spaces


def spaces(X):
    return {
        "dense": Dense(X),
        "sparse": Sparse(sparse.csr_array(X)),
        "given": Given(np.sqrt(squares(X)).astype(np.float64)),
    }


@pytest.mark.parametrize("d", [3, 40], ids=["differences", "products"])
@pytest.mark.parametrize("name", ["dense", "sparse", "given"])
def test_tiles_and_pairs_are_the_distances(name, d):
    X = RNG.standard_normal((50, d))
    X[20] = X[7]
    space, expected = spaces(X)[name], squares(X).astype(np.float64)
    rows = np.array([0, 7, 31, 49])
    for first in (0, 13, 49):
        found = list(space.tiles(rows, first, width=6))
        assert [begin for begin, _ in found] == sorted({begin for begin, _ in found})
        whole = np.hstack([tile for _, tile in found])
        np.testing.assert_allclose(whole, expected[rows, first:], rtol=1e-12, atol=1e-12)
    assert (next(space.tiles(rows, width=50))[1][np.arange(4), rows] == 0).all()
    i, j = RNG.integers(50, size=(2, 200))
    np.testing.assert_allclose(space.pairs(i, j), expected[i, j], rtol=1e-12)
    assert space.pairs(np.array([7, 20]), np.array([20, 7])).max() == 0


def test_sparse_rows_with_entries_twice():
    once = sparse.csr_array(np.array([[0.0, 3.0], [1.0, 0.0], [0.0, 0.0]]))
    twice = sparse.csr_array(([1.0, 2.0, 1.0], [1, 1, 0], [0, 2, 3, 3]), shape=(3, 2))
    pairs = np.array([0, 0, 1]), np.array([1, 2, 2])
    np.testing.assert_array_equal(Sparse(twice).pairs(*pairs), Sparse(once).pairs(*pairs))
    assert twice.nnz == 3  # left as it was


# ------------------------------------------------------------------------------------- neighbours


def check_order(space, X, k=6, q=5):
    n = len(X)
    rows, marks = others(n, max(1, n // 2), q)
    near, ranks = ordered(squares(X))
    found = Neighbours(space).order(rows, k, marks)
    np.testing.assert_array_equal(found.nearest, near[rows, :k])
    expected = np.take_along_axis(squares(X)[rows], near[rows, :k], axis=1)
    np.testing.assert_allclose(found.squares, expected, rtol=1e-6, atol=1e-12 * expected.max())
    np.testing.assert_array_equal(found.ranks, np.take_along_axis(ranks[rows], marks, axis=1))


def hard_tables():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 6))
    groups = np.repeat(rng.standard_normal((9, 6)), 10, axis=0) + 1e-6 * X
    far = X.copy()
    far[3] *= 1e8
    beyond = X.copy()
    beyond[3] *= 1e30
    return {
        "plain": X,
        "means of 1e6": X + 1e6,
        "grid, nearly all ties": rng.integers(0, 2, (90, 6)).astype(float),
        "each row three times": np.tile(X[:30], (3, 1)),
        "all rows the same": np.full((90, 4), 0.1),
        "tight groups": groups,
        "one row far away": far,
        "one row beyond float32": beyond,
        "tiny": X * 1e-90,
        "large": X * 1e90,
        "one column": X[:, :1],
        "wide": rng.standard_normal((90, 700)),
    }


HARD = hard_tables()


@pytest.mark.parametrize("name", HARD)
def test_order_is_exact(name, small_tiles):
    check_order(Dense(HARD[name]), HARD[name])


@pytest.mark.parametrize("name", [name for name in HARD if np.abs(HARD[name]).max() < 1e20])
def test_order_is_exact_in_single_precision(name, small_tiles):
    X = HARD[name].astype(np.float32)
    check_order(Dense(X), X)


@pytest.mark.parametrize("name", ["sparse", "given"])
def test_order_of_other_spaces(name, small_tiles):
    X = RNG.integers(0, 3, (60, 8)).astype(float)
    check_order(spaces(X)[name], X)


@pytest.mark.parametrize("n", [2, 3, 64, 65])
def test_order_of_few_points(n):
    X = RNG.standard_normal((n, 2))
    check_order(Dense(X), X, k=1, q=1)


def test_neighbours_alone_and_ranks_alone():
    X = RNG.standard_normal((40, 3))
    rows, marks = others(40, 10, 4)
    both = Neighbours(Dense(X)).order(rows, 3, marks)
    near, ranks = Neighbours(Dense(X)).order(rows, 3), Neighbours(Dense(X)).order(rows, marks=marks)
    np.testing.assert_array_equal(near.nearest, both.nearest)
    np.testing.assert_array_equal(ranks.ranks, both.ranks)
    assert near.ranks.shape == ranks.nearest.shape == (10, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 100, 20_000])
@pytest.mark.parametrize("spread", [0.0, 3.0], ids=["alike", "of all sizes"])
def test_products_are_off_by_no_more_than_they_say(d, dtype, spread):
    """All entries of one sign, so that roundings add up rather than cancel."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0.5, 1, (15, d)) * np.exp(spread * rng.standard_normal((15, 1)))
    X[1] = X[0]
    exact = squares(X)
    space = Dense(X)
    for origin in (space.origin, np.zeros(d)):
        space.origin = origin
        products = _Filter(space, dtype)
        block = products.block(np.arange(15), np.empty((15, 0), np.int64))
        ((_, values, slack),) = block.tiles
        off = values + block.shift[:, None].astype(np.longdouble) - products.unit * exact
        assert (np.abs(off) <= block.error[:, None] + slack).all()


def test_single_precision_where_it_tells_and_double_where_it_does_not():
    X = RNG.standard_normal((3000, 5))
    groups = np.repeat(RNG.standard_normal((3, 5)), 1000, axis=0) + 1e-6 * X
    assert Neighbours(Dense(X))._blocks.table.dtype == np.float32
    assert Neighbours(Dense(groups))._blocks.table.dtype == np.float64


def test_threads_do_not_matter(many_threads):
    X = RNG.standard_normal((700, 20)).astype(np.float32)
    rows, marks = others(700, 300, 5)
    found = []
    for count in (1, 4):
        with threadpool_limits(count):
            found.append(Neighbours(Dense(X)).order(rows, 7, marks))
    np.testing.assert_array_equal(found[0].nearest, found[1].nearest)
    np.testing.assert_array_equal(found[0].ranks, found[1].ranks)
