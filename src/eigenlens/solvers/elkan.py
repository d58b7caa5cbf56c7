"""Steps of Lloyd's over rows in memory, which spare most distances by bounds on them.

They are those of :func:`eigenlens.solvers.lloyd.descend`. With c_a the centre of a row x, and s_j
how far centre j has moved in a step, bounds of before the step give bounds of after it:

    |x - c_a| <= u + s_a,        |x - c_j| >= l_g - max of s over g,  for all other j of a group g.

Where the first stays below the second, no centre of the group can be the nearest, and none of its
distances is computed. The same holds where u is below half of the way from c_a to c_j. A group of
one centre is Elkan's algorithm, one of all is Hamerly's. Here there are as many groups as fit into
an eighth of the memory of the rows; for few columns one, as there a distance costs no more than
what it takes to find out whether it is needed. Allocates that, and k x k numbers.

References
----------
C. Elkan, Using the triangle inequality to accelerate k-means, ICML (2003).
G. Hamerly, Making k-means even faster, SIAM International Conference on Data Mining (2010).
Y. Ding, Y. Zhao, X. Shen, M. Musuvathi, T. Mytkowicz, Yinyang k-means: a drop-in replacement of the
classic k-means with consistent speedup, ICML (2015).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.jit import compiled
from .lloyd import BYTES, Cells, Descent, averages, refilled, squares
from .solution import Monitor, ignore

__all__ = ["STEPS", "descend"]

STEPS = 10  # between two looks at the square, which takes all distances
SHARE = 8  # columns for which there is one bound a row,
FEW = 100  # unless there are fewer than this: then one for all
COLUMNS = 128  # that one thread sums
MANY = 0.125  # of the rows, which are summed anew rather than moved from cell to cell


def descend(
    rows: NDArray,
    centres: NDArray,
    *,
    weight: NDArray,
    spread: float,
    tol: float,
    most: int,
    monitor: Monitor = ignore,
) -> Descent:
    """Go down from `centres` in steps of Lloyd's.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Less their mean, for the sake of their digits.
    centres : ndarray of shape (k, d)
        Where to start.
    weight : ndarray of shape (n,)
        Above zero.
    spread : float
        Root of the squared distances of the rows from their mean, summed.
    tol : float
        Times `spread`, what the residual may be at the end.
    most : int
        Steps; where the last of them has led is looked at too.
    monitor : Monitor
        Called with the square at every tenth step, and at the end.

    Returns
    -------
    Descent
        Each cell has rows, unless there are fewer that differ than centres.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.solvers import elkan
    >>> rows = np.array([[-3.0], [-2.0], [2.0], [3.0]])
    >>> weight = np.ones(4)
    >>> found = elkan.descend(rows, rows[:2], weight=weight, spread=5.0, tol=1e-6, most=20)
    >>> found.cells.centres.ravel(), found.cells.square
    (array([-2.5,  2.5]), 1.0)
    """
    k, centres = len(centres), centres.astype(np.float64)
    bounds = _Bounds(rows, k)
    sums, history = np.zeros(centres.shape), []
    for step in range(1, most + 2):
        before = bounds.labels.copy() if step > 1 else np.full(len(rows), -1)
        bounds.assign(centres)
        labels = bounds.labels
        _move(rows, labels, before, weight, sums)
        mass = np.bincount(labels, weight, minlength=k)
        sums[mass == 0] = 0.0  # where rounding would be left
        cells = Cells(centres, averages(sums, mass, centres), mass, np.nan)
        following, moved = cells.means, False
        if not mass.all():
            following, moved = _refilled(rows, weight, labels, sums, cells, spread)
        fixed = np.array_equal(following, centres)
        last = fixed or step > most or (cells.residual <= tol * spread and not moved)
        if last or step % STEPS == 0:
            history.append(float(weight @ squares(rows, centres, labels)))
            if monitor(history[-1]) or last:
                break
        bounds.shift(following - centres)
        centres = following
    return Descent(Cells(centres, cells.means, mass, history[-1]), history, min(step, most))


class _Bounds:
    """For each row the nearest centre, a bound above on its distance, and below on the others'."""

    def __init__(self, rows: NDArray, k: int) -> None:
        n, d = rows.shape
        groups = 1 if d < FEW else min(k, d // SHARE)
        self._rows = rows
        self._spans = threads.spans(n, max(1, BYTES // (8 * d)))
        self._edges = np.array([k * g // groups for g in range(groups + 1)])
        self._group = np.repeat(np.arange(groups), np.diff(self._edges))
        self._half, self._near = np.empty((k, k)), np.empty(k)
        # how far centres have moved since the beginning, and groups at most: bounds are stored as
        # they would have been there, so that those of a row that stays need not be written
        self._moved, self._most = np.zeros(k), np.zeros(groups)
        self.labels = np.zeros(n, np.int64)
        self._upper, self._lower = np.full(n, np.inf), np.full((n, groups), -np.inf)

    def assign(self, centres: NDArray) -> None:
        """Find the nearest centre of each row."""
        _between(centres, self._half, self._near)
        shared = self._near, self._moved, self._most
        turned = np.ascontiguousarray(centres.T)

        def part(i: int) -> None:
            rows, span = self._rows[self._spans[i]], self._spans[i]
            own = self.labels[span], self._upper[span], self._lower[span]
            if len(self._most) == 1:
                _assign_by_all(rows, centres, turned, *shared, *own)
            else:
                _assign(rows, centres, self._edges, self._group, self._half, *shared, *own)

        threads.run(part, len(self._spans))

    def shift(self, ways: NDArray) -> None:
        """Note how far the centres will have moved when rows are assigned again."""
        moved = np.sqrt((ways**2).sum(axis=1))
        self._moved += moved
        self._most += np.maximum.reduceat(moved, self._edges[:-1])


def _move(
    rows: NDArray,
    labels: NDArray,
    before: NDArray,
    weight: NDArray,
    sums: NDArray,
) -> None:
    """Bring the sums of the cells up to date: where few rows have moved, by these alone."""
    moved = np.flatnonzero(labels != before)
    if not len(moved):
        return
    if len(moved) > MANY * len(rows):
        sums[:] = 0.0
        moved, before = np.arange(len(rows)), np.full(len(rows), -1)
    columns = threads.spans(rows.shape[1], COLUMNS)

    def part(i: int) -> None:
        _add(rows[:, columns[i]], moved, labels, before, weight, sums[:, columns[i]])

    threads.run(part, len(columns))


def _refilled(
    rows: NDArray, weight: NDArray, labels: NDArray, sums: NDArray, cells: Cells, spread: float
) -> tuple[NDArray, bool]:
    """Return means where cells without rows have been given those farthest from their centres."""
    away = squares(rows, cells.centres, labels)
    some = np.argsort(-away, kind="stable")[: np.sum(cells.mass == 0)]
    farthest = away[some], rows[some].astype(np.float64), labels[some]
    return refilled(cells, sums, farthest, weight[some], spread)


# ---------------------------------------------------------------------------------- compiled loops


@compiled(fast=True)
def _apart(x, c):  # type: ignore[no-untyped-def]
    """Return the distance between two points."""
    square = 0.0
    for q in range(len(c)):
        square += (x[q] - c[q]) * (x[q] - c[q])
    return np.sqrt(square)


@compiled
def _between(centres, half, near):  # type: ignore[no-untyped-def]
    """Fill `half` with half of the distances between centres, `near` with the least of each."""
    for i in range(len(centres)):
        near[i] = half[i, i] = np.inf
        for j in range(i):
            half[i, j] = half[j, i] = 0.5 * _apart(centres[i], centres[j])
            near[i] = min(near[i], half[i, j])
            near[j] = min(near[j], half[i, j])


@compiled
def _assign(  # type: ignore[no-untyped-def]
    rows, centres, edges, group, half, near, moved, most, labels, upper, lower
):
    """Find the nearest centre of each row, where centres have `moved`, and groups at `most`."""
    for i in range(len(rows)):
        a = labels[i]
        u = upper[i] + moved[a]
        if u >= near[a]:
            a, u = _nearest(rows[i], centres, edges, group, half, near, most, a, u, lower[i])
            labels[i], upper[i] = a, u - moved[a]


@compiled
def _nearest(x, centres, edges, group, half, near, most, a, u, lower):  # type: ignore[no-untyped-def]
    """Return the nearest centre of a row, the first of several, and how far it is at most.

    Before, it was a, at most u away. Lower bounds become those of the centres but the nearest.
    """
    exact = False
    for g in range(len(lower)):
        if u < lower[g] - most[g]:
            continue
        if not exact:
            u, exact = _apart(x, centres[a]), True
            if u < near[a]:
                break
            if u < lower[g] - most[g]:
                continue
        least = np.inf
        for j in range(edges[g], edges[g + 1]):
            if j == a:
                continue
            if u < half[a, j]:
                least = min(least, 2.0 * half[a, j] - u)
                continue
            s = _apart(x, centres[j])
            if s < u or (s == u and j < a):
                s, u, a, j = u, s, j, a  # now s is how far the one before is, which is j
            h = group[j]
            if h == g:
                least = min(least, s)
            else:
                lower[h] = min(lower[h], s + most[h])
        lower[g] = least + most[g]
    return a, u


@compiled(fast=True)
def _assign_by_all(  # type: ignore[no-untyped-def]
    rows, centres, turned, near, moved, most, labels, upper, lower
):
    """Do what `_assign` does where all distances of a row are computed if any is.

    They lie side by side, as do the coordinates of the centres that are `turned`, so that a few
    vector instructions serve many.
    """
    d, k = turned.shape
    away = np.empty(k)
    for i in range(len(rows)):
        a = labels[i]
        u, bound = upper[i] + moved[a], max(near[a], lower[i, 0] - most[0])
        if u < bound:
            continue
        u = _apart(rows[i], centres[a])
        if u < bound:
            upper[i] = u - moved[a]
            continue
        for j in range(k):
            away[j] = 0.0
        for q in range(d):
            x, c = rows[i, q], turned[q]
            for j in range(k):
                away[j] += (x - c[j]) * (x - c[j])
        least = second = np.inf
        for j in range(k):
            if away[j] < least:
                least, second, a = away[j], least, j
            elif away[j] < second:
                second = away[j]
        labels[i], upper[i] = a, np.sqrt(least) - moved[a]
        lower[i, 0] = np.sqrt(second) + most[0]


@compiled
def _add(rows, moved, labels, before, weight, sums):  # type: ignore[no-untyped-def]
    """Add rows that have moved to the sums of their cells, and take them off those before."""
    for i in moved:
        w, a, b = weight[i], labels[i], before[i]
        for q in range(rows.shape[1]):
            sums[a, q] += w * rows[i, q]
        if b >= 0:
            for q in range(rows.shape[1]):
                sums[b, q] -= w * rows[i, q]
