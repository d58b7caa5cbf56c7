"""PCA from the smaller matrix of centred products: the direct way for tall and for wide tables.

With ``A = X - 1 mu'``, either ``A'A v = (n - 1) lambda v`` (d x d, `covariance_eigh`) or, for wide
X, ``A A' u = (n - 1) lambda u`` and ``v ~ A'u`` (n x n, `gram_eigh`). One pass over X (two for wide
X); see :mod:`eigenlens.ops.scatter` for why its digits are safe. Allocates matrices of the smaller
size and a few blocks of X, never a copy of X.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops import threads
from ..ops.centred import formed, product
from ..ops.graded import graded_pairs, is_graded
from ..ops.lanczos import Pairs, leading
from .spectral import Rank, Spectral, certify, cross_over, require_finite, settle

__all__ = ["solve"]


def solve(
    X: NDArray | sparse.csr_array,
    rank: Rank,
    *,
    transposed: bool,
    rng: np.random.Generator,
    tol: float,
) -> Spectral:
    """Return the principal axes of `X` from ``A'A``, or from ``A A'`` if `transposed`."""
    n = X.shape[0]
    mean, M = formed(X, transposed)
    square = float(np.trace(M))
    require_finite(mean, square)
    pairs = _pairs(M, rank, rng, tol)
    values = pairs.values[: min(X.shape)]
    total = square / (n - 1)
    k = settle(rank, values / (n - 1), total, True)
    assert k is not None  # a rule must answer when it knows all variances
    vectors = pairs.vectors[:, :k]
    components = vectors.T
    with threads.blas_for(M.size * k):
        residuals = M @ vectors - vectors * values[:k]
        if transposed:
            components, singular = cross_over(_across(X, mean, vectors))
            values = np.concatenate([singular**2, values[k:]])
    return Spectral(
        solver="gram_eigh" if transposed else "covariance_eigh",
        objective_history=np.array([values[:k].sum() / (n - 1)]),
        certificate=certify(residuals, values, k, X.dtype, tol, rest=pairs.rest(square, k)),
        mean=mean,
        components=components,
        spectrum=values / (n - 1),
        spectrum_complete=pairs.complete,
        total_variance=total,
    )


def _pairs(M: NDArray, rank: Rank, rng: np.random.Generator, tol: float) -> Pairs:
    k = None if callable(rank) else rank
    pairs = leading(M, k, rng=rng, tol=tol / 2)  # the other half is for rounding
    if pairs.complete and is_graded(M) and (better := graded_pairs(M)) is not None:
        return Pairs(*better, pairs.history, complete=True)
    return pairs


def _across(X: NDArray | sparse.csr_array, mean: NDArray, U: NDArray) -> NDArray:
    """Return ``(X - 1 mean')'U``."""
    if sparse.issparse(X):
        return X.T @ U - np.multiply.outer(mean, U.sum(axis=0))
    return product(X.T, mean[:, None], U.astype(X.dtype))
