"""Nearest rows of a table, in any metric, with squared distances that rounding leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ..ops import threads
from ..ops.distances import Dense, Sparse
from ..ops.neighbours import Neighbours
from ..ops.units import divided, in_units, powers_of_two, unit_of
from ._openmp import by_openmp

__all__ = ["near_each_other", "near_new", "tidy"]

ENTRIES = 1 << 21  # of rows and their neighbours, looked at side by side


def tidy(X: Any) -> Any:
    """Return a sparse X by its rows, with each entry once; the X that is given is left alone."""
    if not sparse.issparse(X):
        return X
    rows = X.tocsr(copy=not X.has_canonical_format)
    rows.sum_duplicates()
    return rows


def near_each_other(
    X: Any, k: int, metric: Any, params: dict[str, Any] | None
) -> tuple[NDArray, NDArray]:
    """Return the `k` nearest rows of each row, itself left out, and their squared distances.

    Squares are in units of their own where those of the distances would not be sound.
    """
    if _euclidean(metric, params):
        rows, X = np.arange(X.shape[0]), in_units(X)
        if not sparse.issparse(X):
            found = Neighbours(Dense(X)).order(rows, k)
            return found.nearest, found.squares
        space = Sparse(sparse.csr_array(X))
        nearest = Neighbours(space).order(rows, k).nearest
        # products lose the digits of short distances
        return nearest, space.pairs(np.repeat(rows, k), nearest.ravel()).reshape(nearest.shape)
    search = NearestNeighbors(n_neighbors=k, metric=metric, metric_params=params).fit(X)
    distances, nearest = by_openmp(search.kneighbors)
    return nearest.astype(np.int64), _squared(distances)


def near_new(
    new: Any, X: Any, k: int, metric: Any, params: dict[str, Any] | None
) -> tuple[NDArray, NDArray]:
    """Return for each row of `new` the `k` nearest rows of `X`, and their squared distances.

    Squares of a row are in a unit of its own where those of the distances would not be sound.
    """
    if metric == "precomputed":
        distances = np.asarray(new, dtype=np.float64)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return nearest, _squared(np.take_along_axis(distances, nearest, axis=1))
    exact = _euclidean(metric, params)
    if exact and (unit := unit_of(X)) != 1:
        new, X = divided(new, unit), divided(X, unit)
    search = NearestNeighbors(n_neighbors=k, metric=metric, metric_params=params).fit(X)
    distances, nearest = by_openmp(search.kneighbors, new)
    squares = _squares(new, X, nearest) if exact else _squared(distances)
    order = np.lexsort((nearest, squares), axis=1)
    return tuple(np.take_along_axis(part, order, axis=1) for part in (nearest, squares))  # type: ignore[return-value]


def _euclidean(metric: Any, params: dict[str, Any] | None) -> bool:
    return isinstance(metric, str) and metric in ("euclidean", "l2") and not params


def _squared(distances: NDArray) -> NDArray:
    """Return the squares of distances, each row in a unit of its own; raise if one is negative."""
    wide = distances.astype(np.float64)
    if (least := wide.min(initial=0.0)) < 0:
        raise ValueError(
            "All distances should be positive, the metric given is not correct: it gives "
            f"{least:.3g}. Take one that is never below zero."
        )
    wide /= powers_of_two(wide.max(axis=1))[:, None]
    return np.square(wide, out=wide)


def _squares(new: Any, X: Any, nearest: NDArray) -> NDArray:
    """Return squared distances from differences: the same whatever rows are beside."""
    m, k = nearest.shape
    found = np.empty((m, k))
    spans = threads.spans(m, max(1, ENTRIES // (k * X.shape[1])))

    def block(s: int) -> None:
        rows, near = new[spans[s]], nearest[spans[s]]
        if sparse.issparse(X):
            repeated = sparse.csr_array(rows)[np.repeat(np.arange(len(near)), k)]
            gaps = (repeated - sparse.csr_array(X)[near.ravel()]).astype(np.float64)
            found[spans[s]] = gaps.multiply(gaps).sum(axis=1).reshape(near.shape)
        else:
            gaps = np.subtract(rows[:, None], X[near], dtype=np.float64)
            found[spans[s]] = np.einsum("ijd,ijd->ij", gaps, gaps)

    threads.run(block, len(spans))
    return found
