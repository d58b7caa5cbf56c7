"""Compiled loops over tiles of distances: who is nearest, who is nearer than whom, sums."""

from __future__ import annotations

import numpy as np

from .jit import compiled

__all__ = [
    "count_before",
    "keep_nearest",
    "sharpen",
    "square_between",
    "squares_between",
    "squares_of_pairs",
    "sum_by_group",
    "sums_of_two",
]

STEP = 256  # entries that are counted at once, before those in doubt are looked up


@compiled
def square_between(X, i, j):  # type: ignore[no-untyped-def]
    """Return the squared length of ``X[i] - X[j]``: the same for the same points, in either order.

    Four sums side by side, joined at the end: an order of addition that is fixed, and that the
    compiler can still turn into vector code.
    """
    d = X.shape[1]
    s0 = s1 = s2 = s3 = 0.0
    whole = d - d % 4
    for c in range(0, whole, 4):
        t0 = np.float64(X[i, c]) - np.float64(X[j, c])
        t1 = np.float64(X[i, c + 1]) - np.float64(X[j, c + 1])
        t2 = np.float64(X[i, c + 2]) - np.float64(X[j, c + 2])
        t3 = np.float64(X[i, c + 3]) - np.float64(X[j, c + 3])
        s0 += t0 * t0
        s1 += t1 * t1
        s2 += t2 * t2
        s3 += t3 * t3
    for c in range(whole, d):
        t0 = np.float64(X[i, c]) - np.float64(X[j, c])
        s0 += t0 * t0
    return (s0 + s1) + (s2 + s3)


@compiled
def squares_of_pairs(X, i, j, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the squared distance of each row ``X[i[p]]`` to ``X[j[p]]``."""
    for p in range(len(i)):
        out[p] = square_between(X, i[p], j[p])


@compiled(fast=True)
def squares_between(A, B, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the squared distance of each row of `A` to each column of `B`."""
    for r in range(A.shape[0]):
        s = out[r]
        s[:] = 0.0
        for k in range(A.shape[1]):
            a, b = A[r, k], B[k]
            for c in range(len(s)):
                s[c] += (a - b[c]) * (a - b[c])


@compiled
def sharpen(T, A, B, a, b, near):  # type: ignore[no-untyped-def]
    """Compute entries of a tile again, from differences, where rounding may have a part in them.

    T has squared distances of rows of A to rows of B by their products, `a` and `b` the squares of
    the rows. Those below `near` of the squares have lost digits.
    """
    for r in range(T.shape[0]):
        for c in range(T.shape[1]):
            if T[r, c] <= near * (a[r] + b[c]):
                s = 0.0
                for q in range(A.shape[1]):
                    t = A[r, q] - B[c, q]
                    s += t * t
                T[r, c] = s


@compiled
def _insert(points, keys, point, key):  # type: ignore[no-untyped-def]
    """Put a point among those in order of their keys, behind those of the same key."""
    p = len(keys) - 1
    while p > 0 and keys[p - 1] > key:
        keys[p], points[p] = keys[p - 1], points[p - 1]
        p -= 1
    keys[p], points[p] = key, point


# In the two loops below, the squared distance of point ``i = rows[r]`` to ``j = first + c`` is
# ``T[r, c] + shift[r]``, up to ``error[r] + slack[c]``. That settles most comparisons; for the
# others it is computed from the points, as ``unit * |X[i] - X[j]|^2``. With X of no rows the tile
# is right as it is. The distance of a point to itself is infinite. Points have an order as seen
# from i: by distance, and those as far by their number. Both return how often they looked twice.


@compiled(fast=True)
def count_before(T, first, rows, shift, error, slack, X, unit, marks, level, before):  # type: ignore[no-untyped-def]
    """Raise `before` by the number of points of a tile that come before marked ones.

    The marked points of row r are ``marks[r]``, at squared distances ``level[r]``.
    """
    exact = len(X) == 0
    edge = np.empty(2, T.dtype)  # limits and counts are in the precision of the tile:
    number = np.arange(2).astype(T.dtype)  # vector registers hold as many of them
    zero, one = number[0], number[1]
    asked = 0
    for r in range(T.shape[0]):
        i, t = rows[r], T[r]
        for q in range(marks.shape[1]):
            at = level[r, q]
            edge[0], edge[1] = at - shift[r] - error[r], at - shift[r] + error[r]
            low, high = edge[0], edge[1]
            for start in range(0, len(t), STEP):
                stop = min(start + STEP, len(t))
                sure, perhaps = zero, zero
                for c in range(start, stop):
                    sure += one if t[c] + slack[c] < low else zero
                    perhaps += one if t[c] - slack[c] <= high else zero
                before[r, q] += np.int64(sure)
                if sure == perhaps:
                    continue
                for c in range(start, stop):
                    if t[c] - slack[c] <= high and not t[c] + slack[c] < low:
                        asked += 1
                        s = t[c] if exact else unit * square_between(X, i, first + c)
                        if s < at or (s == at and first + c < marks[r, q]):
                            before[r, q] += 1
    return asked


@compiled(fast=True)
def keep_nearest(T, first, rows, shift, error, slack, X, unit, nearest, reach):  # type: ignore[no-untyped-def]
    """Keep the points that come first, of a tile and of all tiles before.

    For row r they are ``nearest[r]``, in order, at squared distances ``reach[r]``. Tiles have to
    come in the order of their points.
    """
    exact = len(X) == 0
    last = nearest.shape[1] - 1
    edge = np.empty(1, T.dtype)
    number = np.arange(2).astype(T.dtype)
    zero, one = number[0], number[1]
    asked = 0
    for r in range(T.shape[0]):
        i, t = rows[r], T[r]
        edge[0] = reach[r, last] - shift[r] + error[r]
        for start in range(0, len(t), STEP):
            stop = min(start + STEP, len(t))
            high, perhaps = edge[0], zero
            for c in range(start, stop):
                perhaps += one if t[c] - slack[c] <= high else zero
            if perhaps == zero:
                continue
            for c in range(start, stop):
                if t[c] - slack[c] > edge[0] or first + c == i:
                    continue
                asked += 1
                s = t[c] if exact else unit * square_between(X, i, first + c)
                if s < reach[r, last]:  # one as far has come before
                    _insert(nearest[r], reach[r], first + c, s)
                    edge[0] = reach[r, last] - shift[r] + error[r]
    return asked


@compiled(fast=True)
def sums_of_two(S, T, start, scale):  # type: ignore[no-untyped-def]
    """Return sums over distances s and t, of which S and T are tiles of squares.

    They are those of s^2, t^2, e^2 and e t with e = s - scale t. Row r begins at column `start[r]`.
    """
    ss = tt = ee = et = 0.0
    for r in range(S.shape[0]):
        s2, t2 = S[r], T[r]
        for c in range(start[r], len(s2)):
            t = np.sqrt(t2[c])
            e = np.sqrt(s2[c]) - scale * t
            ss += s2[c]
            tt += t2[c]
            ee += e * e
            et += e * t
    return ss, tt, ee, et


@compiled(fast=True)
def sum_by_group(S, edges, sums):  # type: ignore[no-untyped-def]
    """Add the distances of which S is a tile of squares to `sums`, a column for each group.

    Columns ``edges[g]`` to ``edges[g + 1]`` of S are those of group g.
    """
    for r in range(S.shape[0]):
        s2 = S[r]
        for g in range(len(edges) - 1):
            total = 0.0
            for c in range(edges[g], edges[g + 1]):
                total += np.sqrt(s2[c])
            sums[r, g] += total
