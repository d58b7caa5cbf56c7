"""Distances that rise where given ones do: isotonic regression over pairs, sorted once.

For distances d between places, given dissimilarities t and weights w it finds

    min over f  of  sum w (f - d)^2      with f a function of t that never falls,

by pooling adjacent violators (Barlow, Bartholomew, Bremner, Brunk 1972). Pairs whose t is the same
but for rounding get the same f: else the answer would depend on the order that rounding puts them
in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import threads
from .jit import compiled
from .stress import Pull, Stress, distances_of_rows

__all__ = ["Monotone", "pooled", "tied"]

OF_ALL, OF_EACH = 8.0, 128.0  # roundings of the largest dissimilarity, and of one: no difference


@compiled
def tied(given, most, share, ends):  # type: ignore[no-untyped-def]
    """Fill `ends` with the ends of groups of numbers in rising order; return how many there are.

    The numbers of a group are above its first by no more than `most`, and that share of it.
    """
    count, first = 0, given[0]
    for p in range(1, len(given)):
        if given[p] - first > min(most, share * first):
            ends[count] = p
            count += 1
            first = given[p]
    ends[count] = len(given)
    return count + 1


@compiled
def pooled(d, weight, order, ends, total, level, mass, last):  # type: ignore[no-untyped-def]
    """Replace the entries ``d[order]`` by the nearest ones that never fall, scaled.

    Entries ``order[ends[g - 1]:ends[g]]`` get the same value. `weight` of no entries stands for
    weights of 1. The scale is the one that makes the weighted sum of squares `total`. `level`,
    `mass` and `last` are room for as many pools as there are groups. Return the number of pools,
    of which they have the value, the weight and the last group.
    """
    pools = 0
    at = 0
    for g in range(len(ends)):
        pull = heavy = 0.0
        for p in range(at, ends[g]):
            w = weight[order[p]] if len(weight) else 1.0
            pull += w * d[order[p]]
            heavy += w
        at = ends[g]
        value = pull / heavy
        while pools > 0 and level[pools - 1] >= value:
            pools -= 1
            value = (level[pools] * mass[pools] + value * heavy) / (mass[pools] + heavy)
            heavy += mass[pools]
        level[pools], mass[pools], last[pools] = value, heavy, g
        pools += 1
    square = 0.0
    for b in range(pools):
        square += mass[b] * level[b] * level[b]
    scale = np.sqrt(total / square) if square > 0.0 else 1.0
    at = 0
    for b in range(pools):
        level[b] *= scale
        for p in range(at, ends[last[b]]):
            d[order[p]] = level[b]
        at = ends[last[b]]
    return pools


def _groups(given: NDArray) -> NDArray:
    """Return where groups of dissimilarities end that are the same but for rounding."""
    ends = np.zeros(max(len(given), 1), np.int64)
    if not len(given):
        return ends
    eps = float(np.finfo(given.dtype).eps)
    given = given.astype(np.float64, copy=False)
    return ends[: tied(given, OF_ALL * eps * float(given[-1]), OF_EACH * eps, ends)]


class Monotone:
    """Raw stress against the best monotone function of given dissimilarities (Kruskal 1964).

    The function, the disparities, is scaled so that its weighted sum of squares is the sum of the
    weights: without that all places could fall together. Pairs of dissimilarity zero are to have
    distance zero, and have no part in the regression. One matrix is kept beside the given ones, and
    the order of the pairs: 24 bytes a pair in all.

    Parameters
    ----------
    T : ndarray of shape (n, n)
    W : ndarray of shape (n, n), optional
        Weights; pairs without weight have no part in anything.
    """

    def __init__(self, T: NDArray, W: NDArray | None = None) -> None:
        n = len(T)
        rows, columns = np.triu_indices(n, 1)
        flat = rows * n + columns
        del rows, columns
        counts = np.ones(len(flat), bool) if W is None else W.ravel()[flat] > 0
        positive = T.ravel()[flat] > 0
        self._zero = flat[~(counts & positive)]
        flat = flat[counts & positive]
        given = T.ravel()[flat]
        by_size = np.argsort(given)
        self._order, given = flat[by_size], given[by_size]
        self._ends = _groups(given)
        self._groups = given[self._ends - 1] if len(given) else given
        self._W = W
        self._weight = np.empty(0) if W is None else W.ravel()
        self.total = float(counts.sum()) if W is None else float(np.triu(W, 1).sum())
        self._T, self._room = T, [np.empty(len(self._ends)) for _ in range(2)]
        self._last = np.empty(len(self._ends), np.int64)
        self._disparities = np.zeros((n, n))
        self._pools = 0

    def first(self, X: NDArray) -> Pull:
        """Return the pull on the places `X` of the given dissimilarities themselves, scaled."""
        given = self._T.ravel()[self._order].astype(np.float64)
        weight = self._weight[self._order] if len(self._weight) else 1.0
        square = float((weight * given**2).sum())
        scale = np.sqrt(self.total / square) if square > 0 else 1.0
        self._disparities.ravel()[self._order] = scale * given
        return Stress(self._disparities, self._W).at(X)

    def at(self, X: NDArray) -> Pull:
        """Return the stress at the places `X`, of shape (k, n), and what pulls on them."""
        stress = Stress(self._disparities, self._W)
        pieces = stress.pieces
        threads.run(lambda p: distances_of_rows(X, *pieces[p], self._disparities), len(pieces))
        flat = self._disparities.ravel()
        flat[self._zero] = 0.0
        if len(self._order):
            self._pools = pooled(
                flat, self._weight, self._order, self._ends, self.total, *self._room, self._last
            )
        return stress.at(X)

    def function(self) -> NDArray:
        """Return the monotone function found last: dissimilarities, and disparities below them.

        Between two of these, disparities are on a line.
        """
        last = self._last[: self._pools]
        begin = np.append(0, last[:-1] + 1) if self._pools else last
        level = self._room[0][: self._pools]
        at = np.stack([self._groups[begin], self._groups[last]], axis=1).ravel()
        knots = np.stack([at, np.repeat(level, 2)])
        return knots[:, np.append(True, np.diff(at) > 0)] if self._pools else knots
