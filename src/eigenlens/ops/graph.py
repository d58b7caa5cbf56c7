"""An undirected graph of points with lengths on its edges, row by row (CSR)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

__all__ = ["Graph"]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Points ``0 .. n - 1``; those beside point i are ``ends[starts[i] : starts[i + 1]]``.

    Every edge is there from both of its ends, once. Edges may have no length: points may coincide.

    Attributes
    ----------
    starts : ndarray of int64 of shape (n + 1,)
    ends : ndarray of int32 of shape (2 edges,)
    lengths : ndarray of float64 of shape (2 edges,)
    """

    starts: NDArray
    ends: NDArray
    lengths: NDArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def of_edges(cls, n: int, i: NDArray, j: NDArray, lengths: NDArray) -> Graph:
        """Return the graph of `n` points with an edge from each i to its j.

        Of several edges between two points, from either end, the shortest is kept.
        """
        other = i != j
        i, j, lengths = i[other].astype(np.int64), j[other].astype(np.int64), lengths[other]
        keys = np.concatenate([i * n + j, j * n + i])
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        both = np.concatenate([lengths, lengths]).astype(np.float64, copy=False)[order]
        shortest = np.minimum.reduceat(both, first) if len(first) else both
        keys = keys[first]
        starts = np.searchsorted(keys, np.arange(n + 1, dtype=np.int64) * n)
        return cls(starts.astype(np.int64), (keys % n).astype(np.int32), shortest)

    def with_edges(self, i: NDArray, j: NDArray, lengths: NDArray) -> Graph:
        """Return the graph with more edges."""
        n = len(self)
        own = np.repeat(np.arange(n), np.diff(self.starts))
        return Graph.of_edges(
            n,
            np.concatenate([own, i]),
            np.concatenate([self.ends, j]),
            np.concatenate([self.lengths, lengths]),
        )

    def pieces(self) -> NDArray:
        """Return the number of the connected piece that each point is in, from 0 on."""
        n = len(self)
        there = np.ones(len(self.ends), np.int8)  # an edge of no length is an edge
        matrix = sparse.csr_array((there, self.ends, self.starts), shape=(n, n))
        labels: NDArray = connected_components(matrix, directed=False)[1]
        return labels
