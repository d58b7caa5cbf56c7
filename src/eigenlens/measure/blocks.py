"""Sums over the rows of a dense or sparse table, in float64, a block of rows at a time.

A block is made dense, centred and forgotten, so that no second table is ever held. The cut into
blocks depends on the table alone, so that sums do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops import threads

__all__ = ["centre", "correlations", "projections"]

BYTES = 1 << 21  # of a block: it stays in cache
GROUPS = 16  # of blocks, which each keep one partial sum


def centre(X: Any, weight: NDArray | None = None) -> NDArray:
    """Return the column means of `X`; that of a constant column is its value to the last bit."""
    first = _dense(X, slice(0, 1))[0]
    w = np.ones(X.shape[0]) if weight is None else weight
    sums = _sum_over_blocks(X, lambda rows: w[rows] @ (_dense(X, rows) - first))
    return first + sums / w.sum()


def correlations(X: Any, scores: NDArray, weight: NDArray | None = None) -> NDArray:
    """Return the correlation of each column of `X` with each column of `scores`.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n, d)
    scores : ndarray of shape (n, k)
    weight : ndarray of shape (n,), optional
        How often each row counts.

    Returns
    -------
    ndarray of shape (d, k)
        NaN for a constant column. 0 for scores without variance, of which nothing can be a part.
    """
    w = np.ones(X.shape[0]) if weight is None else weight
    mean = centre(X, weight)
    T = scores - centre(scores, weight)

    def sums(rows: slice) -> NDArray:
        D = _dense(X, rows) - mean
        return np.vstack([(T[rows] * w[rows, None]).T @ D, w[rows] @ D**2])

    *cross, squares = _sum_over_blocks(X, sums)
    size = np.sqrt(np.multiply.outer(squares, w @ T**2))
    out = np.divide(np.transpose(cross), size, out=np.zeros_like(size), where=size > 0)
    out[squares == 0] = np.nan
    return np.clip(out, -1.0, 1.0)


def projections(X: Any, mean: NDArray, directions: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Project the rows of ``X - mean`` on orthonormal `directions`.

    The residual is formed, not found as a difference of squares, which would lose the digits of
    rows that lie almost in the span.

    Returns
    -------
    coordinates : ndarray of shape (n, k)
    outside : ndarray of shape (n,)
        Squared distance of each row from the span.
    size : ndarray of shape (n,)
        Squared distance of each row from the mean.
    """
    n = X.shape[0]
    V = directions.astype(np.float64)
    coordinates, outside, size = np.empty((n, len(V))), np.empty(n), np.empty(n)

    def fill(rows: slice) -> NDArray:
        B = _dense(X, rows) - mean
        coordinates[rows] = C = B @ V.T
        size[rows] = np.einsum("ij,ij->i", B, B)
        B -= C @ V
        # a second projection takes off what the rounding of the directions has left inside
        B -= (B @ V.T) @ V
        outside[rows] = np.einsum("ij,ij->i", B, B)
        return np.zeros(())

    _sum_over_blocks(X, fill)
    return coordinates, outside, size


def _dense(X: Any, rows: slice) -> NDArray:
    part = X[rows]
    return (part.toarray() if sparse.issparse(part) else part).astype(np.float64, copy=False)


def _sum_over_blocks(X: Any, value: Callable[[slice], NDArray]) -> NDArray:
    n, d = X.shape
    blocks = threads.spans(n, BYTES // (8 * max(1, d)))
    groups = threads.spans(len(blocks), -(-len(blocks) // GROUPS))

    def group(i: int) -> NDArray:
        total = value(blocks[groups[i]][0])
        for rows in blocks[groups[i]][1:]:
            total += value(rows)
        return total

    total, *others = threads.run(group, len(groups))
    for other in others:
        total += other
    return total
