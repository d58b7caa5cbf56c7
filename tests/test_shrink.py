"""Compiled passes of low rank plus sparse: against their plain twins and in numpy's words."""

import numpy as np
import pytest

from eigenlens.ops import shrink
from eigenlens.ops.shrink import ball_entries, ball_rows, leave_each, leave_entries, leave_rows

DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])
KNEES = pytest.mark.parametrize("knee", [0.0, 0.4])
ROWS = pytest.mark.parametrize("rows", [False, True])


def tables(seed=0, shape=(14, 9), dtype=np.float64):
    """Return M with holes, one empty row and one gross entry, a fit L, and W."""
    r = np.random.default_rng(seed)
    M, W, L = (r.standard_normal(shape) for _ in range(3))
    M[r.random(shape) < 0.2] = np.nan
    M[3] = np.nan
    M[5, 5] = 1e4
    M[6], W[6] = L[6], L[6]  # nothing is left of this row
    return tuple(table.astype(dtype) for table in (M, W, L))


def settings(knee, rows):
    """Return relax, shrink, threshold, knee and gross; rows are longer than entries."""
    size = 3.0 if rows else 1.0
    return 1.4, 0.8, 0.7 * size, knee * size, 1.5 * size


def lengths(R, rows):
    """Return sizes with nothing for holes, in the shape of R or of a column."""
    R = np.nan_to_num(R)
    return np.linalg.norm(R, axis=1, keepdims=True) if rows else np.abs(R)


def projected(T, radius, rows):
    """Return the nearest point of the ball, zero at holes."""
    size = lengths(T, rows)
    share = np.divide(radius, size, out=np.ones_like(size), where=size > radius)
    return np.nan_to_num(T) * share


def huber(size, knee):
    return np.where(size >= knee, size - knee / 2, size**2 / (2 * knee) if knee else 0.0)


def in_words(M, W, L, c, relax, shrunk, threshold, knee, gross, rows):
    """Return what `leave_entries` or `leave_rows` makes of W, and its four sums."""
    E = W - L
    C = projected(shrunk * (M - L + c * E), threshold, rows)
    size = lengths(M - L, rows)
    sums = (
        np.sum((C - c * E) ** 2),
        np.sum(E**2),
        huber(size, knee).sum(),
        np.maximum(size - gross, 0).sum(),
    )
    return L + relax * C + (1 - relax) * c * E, sums


@DTYPES
@KNEES
@ROWS
@pytest.mark.parametrize("c", [1.0, 0.5])
def test_leave_is_its_twin_and_what_it_says(dtype, knee, rows, c):
    M, W, L = tables(dtype=dtype)
    relax, shrunk, threshold, knee, gross = settings(knee, rows)
    args = c, relax, shrunk, threshold, knee, gross
    wide = [table.astype(np.float64) for table in (M, W, L)]
    expected, sums = in_words(*wide, *args, rows)
    rtol = 1e-12 if dtype is np.float64 else 1e-5
    loop = leave_rows if rows else leave_entries
    for leave in (loop, loop.__wrapped__):
        out = W.copy()
        found = leave(M, out, L, *args)
        np.testing.assert_allclose(found, sums, rtol=rtol)
        np.testing.assert_allclose(out, expected, rtol=rtol, atol=rtol)
        assert out.dtype == dtype


@ROWS
def test_sums_of_single_precision_are_made_in_double(rows):
    """Behind a gross entry, single precision would add up ones to nothing."""
    M, L = np.ones((100, 100), np.float32), np.zeros((100, 100), np.float32)
    M[0] = 2**14
    W = M.copy()
    loop = leave_rows if rows else leave_entries
    _, square, size, _ = loop(M, W, L, 1.0, 1.0, 1.0, 1e-3, 0.0, np.inf)
    assert square == 100 * 2**28 + 99 * 100
    assert size == (10 if rows else 100) * (2**14 + 99)


@ROWS
def test_at_holes_the_sparse_part_takes_all(rows):
    M, W, L = tables(1)
    holes = np.isnan(M)
    before = W.copy()
    loop = leave_rows if rows else leave_entries
    loop(M, W, L, 0.5, 1.4, 1.0, 0.7, 0.0, np.inf)
    np.testing.assert_allclose(W[holes], (L - 0.4 * 0.5 * (before - L))[holes], rtol=1e-13)


@ROWS
def test_nothing_left_is_left_alone(rows):
    M, W, L = tables()
    loop = leave_rows if rows else leave_entries
    sums = loop(M[6:7], W[6:7], L[6:7], 1.0, 1.4, 1.0, 0.7, 0.0, 1.0)
    np.testing.assert_array_equal(W[6], L[6])
    assert sums == (0.0, 0.0, 0.0, 0.0)


@DTYPES
@KNEES
def test_leave_each_gives_every_row_its_own_weight(dtype, knee):
    M, W, L = tables(2, dtype=dtype)
    r = np.random.default_rng(3)
    c, thresholds = r.choice([0.5, 1.0], len(M)), r.uniform(0.3, 2.0, len(M))
    expected, sums = W.copy(), []
    for i, t in enumerate(thresholds):
        one = slice(i, i + 1)
        args = c[i], 1.4, t / (t + knee), t, knee, np.inf
        expected[one], four = in_words(M[one], W[one], L[one], *args, rows=False)
        sums.append(np.sqrt(four[:2]))
    rtol = 1e-12 if dtype is np.float64 else 1e-5
    for loop in (leave_each, leave_each.__wrapped__):
        out, misfit, left = W.copy(), np.empty(len(M)), np.empty(len(M))
        loop(M, out, L, c, 1.4, thresholds, knee, misfit, left)
        np.testing.assert_allclose(out, expected, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(np.column_stack([misfit, left]), sums, rtol=rtol, atol=rtol)


@DTYPES
@ROWS
@pytest.mark.parametrize("radius", [0.3, 2.0, 1e3])
def test_ball_is_its_twin_and_the_nearest_point(dtype, rows, radius):
    M, Z, _ = tables(4, dtype=dtype)
    expected = projected(np.where(np.isnan(M), np.nan, Z), radius, rows)
    loop = ball_rows if rows else ball_entries
    rtol = 1e-12 if dtype is np.float64 else 1e-6
    for ball in (loop, loop.__wrapped__):
        found = Z.copy()
        ball(M, found, radius)
        np.testing.assert_allclose(found, expected, rtol=rtol)
        assert not found[np.isnan(M)].any()
        assert lengths(found.astype(float), rows).max() <= radius * (1 + rtol)


def test_every_pass_is_tried_here():
    assert set(shrink.__all__) <= set(globals())
