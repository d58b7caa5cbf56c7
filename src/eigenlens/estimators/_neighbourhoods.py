"""Neighbourhoods by scikit-learn's search, with lengths that are right to the last digit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ..ops.distances import Dense, Sparse
from ._openmp import by_openmp

__all__ = ["Nearby", "nearby"]


class Nearby(NamedTuple):
    """Neighbours of points: those of point q are ``near[starts[q] : starts[q + 1]]``."""

    starts: NDArray
    near: NDArray
    lengths: NDArray


@np.errstate(invalid="ignore", over="ignore")  # in the checks of scikit-learn
def nearby(finder: NearestNeighbors, X: Any, new: Any = None) -> Nearby:
    """Return the neighbours, among the rows of `X`, of these themselves or of the rows of `new`.

    Parameters
    ----------
    finder : NearestNeighbors
        Fitted to `X`, with a radius or with a number of neighbours.
    X, new : array or sparse matrix
    """
    if finder.n_neighbors is not None:
        lengths, near = by_openmp(finder.kneighbors, new)
        n, k = near.shape
        starts, near, lengths = np.arange(0, n * k + 1, k), near.ravel(), lengths.ravel()
    else:
        parts, ends = by_openmp(finder.radius_neighbors, new)
        starts = np.concatenate([[0], np.cumsum([len(end) for end in ends])])
        near, lengths = np.concatenate(ends).astype(np.int64), np.concatenate(parts)
    if _is_euclidean(finder):
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        lengths = _euclidean(X, near, X if new is None else new, rows)
    return Nearby(starts, near, lengths.astype(np.float64, copy=False))


def _is_euclidean(finder: NearestNeighbors) -> bool:
    """Whether lengths are Euclidean.

    Such come from products of matrices, which leave half of the digits of short ones: a row would
    be some 1e-8 away from itself.
    """
    return finder.effective_metric_ in ("euclidean", "l2")


def _euclidean(X: Any, i: NDArray, other: Any, j: NDArray) -> NDArray:
    """Return the distance of row i of `X` from row j of `other`, for each i and its j."""
    if other is X:
        table = X
    else:
        used, i = np.unique(i, return_inverse=True)
        j = j + len(used)
        stack = sparse.vstack if sparse.issparse(X) or sparse.issparse(other) else np.concatenate
        table = stack([X[used], other])
    space = Sparse(sparse.csr_array(table)) if sparse.issparse(table) else Dense(table)
    found: NDArray = np.sqrt(space.pairs(i, j))
    return found
