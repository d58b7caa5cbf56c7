"""Raw stress of places in a few dimensions, and what pulls on each: one pass over half the pairs.

With ``d_ij = |x_i - x_j|`` the distances between places, ``t_ij`` those that they should have, and
weights ``w_ij``, all of them symmetric,

    stress(X) = sum over i < j of  w_ij (t_ij - d_ij)^2

has the gradient ``2 G`` with ``G_i = sum_j w_ij (1 - t_ij / d_ij) (x_i - x_j)``. Distances between
places are never kept. Places are given by coordinates: a row of X for each dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from . import threads
from .jit import compiled

__all__ = ["Pull", "Stress", "distances_of_rows", "pull_of_rows", "sharing"]

STEP = 512  # pairs at a time: what is known of them stays in the nearest cache
PAIRS = 1 << 16  # in one piece of work, at least,
MOST = 64  # and at most so many pieces, each with sums of the size of X
TINY = 1e-300  # added to squared distances: places that coincide do not pull on each other
NONE = np.empty((0, 0))


@dataclass(frozen=True, slots=True)
class Pull:
    """Raw stress at some places, the weighted sum of their squared distances, and G."""

    raw: float
    size: float
    G: NDArray


@compiled(fast=True)
def pull_of_rows(X, T, W, first, last, G):  # type: ignore[no-untyped-def]
    """Fill `G` with what pairs (i, j) with ``first <= i < last``, i < j, add to it.

    Its columns are those of X from `first` on. W of no rows stands for weights of 1. Return the
    stress of these pairs, and their weighted sum of squared distances.
    """
    k, n = X.shape
    c = np.empty(STEP)
    raw = size = 0.0
    G[:] = 0.0
    for i in range(first, last):
        for start in range(i + 1, n, STEP):
            m = min(STEP, n - start)
            c[:m] = TINY
            for q in range(k):
                x, other = X[q, i], X[q, start : start + m]
                for j in range(m):
                    c[j] += (x - other[j]) * (x - other[j])
            target = T[i, start : start + m]
            if len(W):
                weight = W[i, start : start + m]
                for j in range(m):
                    d = np.sqrt(c[j])
                    e = d - target[j]
                    raw += weight[j] * e * e
                    size += weight[j] * c[j]
                    c[j] = weight[j] * (1.0 - target[j] / d)
            else:
                for j in range(m):
                    d = np.sqrt(c[j])
                    e = d - target[j]
                    raw += e * e
                    size += c[j]
                    c[j] = 1.0 - target[j] / d
            for q in range(k):
                x, other = X[q, i], X[q, start : start + m]
                g, total = G[q, start - first : start - first + m], 0.0
                for j in range(m):
                    t = c[j] * (x - other[j])
                    total += t
                    g[j] -= t
                G[q, i - first] += total
    return raw, size


@compiled(fast=True)
def distances_of_rows(X, first, last, out):  # type: ignore[no-untyped-def]
    """Write the distances of pairs (i, j) with ``first <= i < last``, i < j, to ``out[i, j]``."""
    k, n = X.shape
    for i in range(first, last):
        d = out[i]
        for j in range(i + 1, n):
            d[j] = 0.0
        for q in range(k):
            x, other = X[q, i], X[q]
            for j in range(i + 1, n):
                d[j] += (x - other[j]) * (x - other[j])
        for j in range(i + 1, n):
            d[j] = np.sqrt(d[j])


def sharing(n: int) -> list[tuple[int, int]]:
    """Cut the rows of the upper half of an n x n matrix into pieces of about as many pairs."""
    count = int(np.clip(n * (n - 1) // 2 // PAIRS, 1, MOST))
    left = np.sqrt(np.linspace(1, 0, count + 1))  # share of rows behind which that many pairs are
    edges = np.unique(np.round(n * (1 - left)).astype(int))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


class Stress:
    """Raw stress against given distances, of which the upper half is read where it stands.

    Parameters
    ----------
    T : ndarray of shape (n, n)
    W : ndarray of shape (n, n), optional
        Weights; where one is zero, what T has there is not looked at but must be finite.
    """

    def __init__(self, T: NDArray, W: NDArray | None = None) -> None:
        self.T, self.W = T, NONE if W is None else W
        self.pieces = sharing(len(T))

    def at(self, X: NDArray) -> Pull:
        """Return the stress at the places `X`, of shape (k, n), and what pulls on them."""
        parts = [np.empty((len(X), len(self.T) - first)) for first, _ in self.pieces]

        def part(p: int) -> tuple[float, float]:
            return pull_of_rows(X, self.T, self.W, *self.pieces[p], parts[p])

        raw = size = 0.0
        G = np.zeros_like(X)
        for (first, _), mine, sums in zip(
            self.pieces, parts, threads.run(part, len(self.pieces)), strict=True
        ):
            raw, size = raw + sums[0], size + sums[1]
            G[:, first:] += mine
        nothing = TINY * len(self.T) ** 2
        return Pull(raw if raw > nothing else 0.0, size if size > nothing else 0.0, G)
