"""Regression by least absolute deviations: compiled, one row at a time.

Plain loops: numba takes ten seconds to compile the same with numpy's products and sorting.
"""

from __future__ import annotations

import numpy as np

from .jit import compiled

__all__ = ["absolute_deviations"]

FRESH = 32  # pivots after which rounding errors are cleared


@compiled
def absolute_deviations(y, A, t, basis, inverse, max_pivots):  # type: ignore[no-untyped-def]
    """Set `t` to what makes ``|y - A t|_1`` least, coming from what fits the basis exactly.

    At an optimum as many entries as there are coefficients are fitted exactly. From one such point
    to the next along an edge, down the steepest one, as far as the sum falls: to the weighted
    median of the points where residuals change their sign (Bloomfield, Steiger 1983). `basis` and
    `inverse`, that of ``A[basis]``, are overwritten.
    """
    n, k = A.shape
    rest, edges = np.empty(n), np.empty((n, k))
    for pivots in range(max_pivots):
        for a in range(k):
            t[a] = 0.0
            for m in range(k):
                t[a] += inverse[a, m] * y[basis[m]]
        _residuals(y, A, t, basis, rest)
        if pivots % FRESH == 0:
            _product(A, inverse, edges)
        j, sign, slope = _steepest(rest, edges, basis)
        if j < 0:
            return
        i = _weighted_median(rest, edges[:, j], sign, slope)
        row = edges[i].copy()
        _exchange(inverse, row, j)
        _exchange(edges, row, j)
        basis[j] = i


@compiled
def _product(A, B, out):  # type: ignore[no-untyped-def]
    """Set `out` to ``A B``."""
    for i in range(len(A)):
        for m in range(B.shape[1]):
            out[i, m] = 0.0
            for a in range(len(B)):
                out[i, m] += A[i, a] * B[a, m]


@compiled
def _exchange(table, row, j):  # type: ignore[no-untyped-def]
    """Do to the columns of the table what makes `row` the unit vector j."""
    for a in range(len(table)):
        table[a, j] /= row[j]
        for m in range(len(row)):
            if m != j:
                table[a, m] -= row[m] * table[a, j]


@compiled
def _residuals(y, A, t, basis, rest):  # type: ignore[no-untyped-def]
    """Set `rest` to ``y - A t``, zero where an entry is fitted by the basis, or up to rounding."""
    largest = 0.0
    for i in range(len(y)):
        largest = max(largest, abs(y[i]))
        rest[i] = y[i]
        for a in range(len(t)):
            rest[i] -= A[i, a] * t[a]
    for i in range(len(y)):
        if abs(rest[i]) <= 1e-14 * largest:
            rest[i] = 0.0
    for i in basis:
        rest[i] = 0.0


@compiled
def _steepest(rest, edges, basis):  # type: ignore[no-untyped-def]
    """Return the edge along which the sum falls fastest, its sense and slope; -1 if none falls.

    Along edge j, entry j of the basis leaves zero and its others do not.
    """
    best, sense, steepest = -1, 1.0, -1e-10
    for j in range(len(basis)):
        pull, drag = 0.0, 1.0
        for i in range(len(rest)):
            if rest[i] == 0.0:
                drag += abs(edges[i, j])
            else:
                pull += edges[i, j] if rest[i] > 0.0 else -edges[i, j]
        for i in basis:
            drag -= abs(edges[i, j])
        if drag - abs(pull) < steepest:
            best, steepest = j, drag - abs(pull)
            sense = 1.0 if pull > 0.0 else -1.0
    return best, sense, steepest


@compiled
def _weighted_median(rest, edge, sense, slope):  # type: ignore[no-untyped-def]
    """Return the entry whose residual reaches zero where the sum begins to rise."""
    passed, last = -1.0, -1
    while slope < 0.0:
        nearest, entry = np.inf, -1
        for i in range(len(rest)):
            along = sense * edge[i]
            if rest[i] * along > 0.0:
                ratio = rest[i] / along
                if ratio < nearest and (ratio > passed or (ratio == passed and i > last)):
                    nearest, entry = ratio, i
        if entry < 0:
            break
        passed, last = nearest, entry
        slope += 2.0 * abs(edge[entry])
    return last
