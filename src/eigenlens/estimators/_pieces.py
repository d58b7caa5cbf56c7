"""A graph of neighbours that falls into pieces: what to say about it, and how to join it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from ..ops import threads
from ..ops.graph import Graph
from ._openmp import by_openmp

__all__ = ["Bridges", "bridges", "fewest_neighbours", "in_brief", "smallest_radius"]

NAMED = 4  # sizes that a message tells
TRIED = 1 << 22  # pairs of neighbours that the search for a number of them may look at
CELLS = 1 << 22  # of distances between pieces that are in memory at a time

Bridges = tuple[NDArray, NDArray, NDArray]
"""The ends and the lengths of edges between pieces."""


def in_brief(labels: NDArray) -> str:
    """Return how many pieces there are and how large, in words."""
    sizes = np.sort(np.bincount(labels))[::-1]
    told = [str(size) for size in sizes[:NAMED]]
    if len(sizes) > NAMED:
        return f"{len(sizes)} (of {', '.join(told)} points, and {len(sizes) - NAMED} smaller)"
    return f"{len(sizes)} (of {', '.join(told[:-1])} and {told[-1]} points)"


def fewest_neighbours(finder: NearestNeighbors, n: int, k: int) -> int | None:
    """Return the smallest number of neighbours, more than `k`, whose graph is in one piece.

    Graphs of more neighbours contain those of fewer: doubling finds a number that is enough, and
    halving the smallest. None where the search would take more than the fit itself.
    """
    low = k
    while low < n - 1:
        high = min(2 * low, n - 1)
        if high * n > TRIED:
            return None
        near = by_openmp(finder.kneighbors, n_neighbors=high, return_distance=False)
        if _in_one_piece(near):
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if _in_one_piece(near[:, :middle]) else (middle, high)
            return high
        low = high
    return None


def _in_one_piece(near: NDArray) -> bool:
    n, k = near.shape
    rows = np.repeat(np.arange(n), k)
    return not Graph.of_edges(n, rows, near.ravel(), np.zeros(n * k)).pieces().any()


def bridges(X: Any, finder: NearestNeighbors, labels: NDArray) -> Bridges:
    """Return the nearest pair of points of every two pieces.

    All distances between pieces are computed, some rows at a time.
    """
    order = np.argsort(labels, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    found: list[tuple[int, int, float]] = []
    for piece in range(1, len(edges) - 1):
        before = order[: edges[piece]]
        nearest = [(np.inf, -1, -1)] * piece
        own = order[edges[piece] : edges[piece + 1]]
        for rows in threads.spans(len(own), max(1, CELLS // len(before))):
            D = _between(X, finder, own[rows], before)
            least = np.minimum.reduceat(D, edges[:piece], axis=1)
            for other, row in enumerate(least.argmin(axis=0)):
                if least[row, other] < nearest[other][0]:
                    column = edges[other] + D[row, edges[other] : edges[other + 1]].argmin()
                    nearest[other] = (least[row, other], own[rows][row], before[column])
        found += [(i, j, length) for length, i, j in nearest]
    i, j, lengths = zip(*found, strict=True)
    return np.array(i), np.array(j), np.array(lengths, dtype=np.float64)


def _between(X: Any, finder: NearestNeighbors, rows: NDArray, columns: NDArray) -> NDArray:
    if finder.effective_metric_ == "precomputed":
        return np.asarray(X[np.ix_(rows, columns)])
    given = finder.effective_metric_params_
    return np.asarray(
        by_openmp(pairwise_distances, X[rows], X[columns], metric=finder.effective_metric_, **given)
    )


def smallest_radius(found: Bridges, labels: NDArray) -> float:
    """Return the radius within which all pieces are joined: the longest bridge that is needed."""
    i, j, lengths = found
    count = int(labels.max()) + 1
    # one more than the place in the order: a bridge of no length is none to scipy
    rank = np.argsort(np.argsort(lengths)) + 1
    between = sparse.csr_array((rank, (labels[i], labels[j])), shape=(count, count))
    needed = int(minimum_spanning_tree(between).data.max())
    return float(np.sort(lengths)[needed - 1])
