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
from ..ops.centred import Table, formed, product
from ..ops.finite import require_finite
from ..ops.graded import graded_pairs, is_graded
from ..ops.lanczos import Pairs, leading
from ..ops.moments import Moments
from ..ops.weights import mass_of, roots_of
from .solution import Certificate
from .spectral import Rank, Spectral, assemble, certify, cross_over, settle

__all__ = ["from_moments", "solve"]


def solve(
    X: Table,
    rank: Rank,
    *,
    weight: NDArray | None = None,
    transposed: bool,
    rng: np.random.Generator,
    tol: float,
) -> Spectral:
    """Return the principal axes of `X` from ``A'A``, or from ``A A'`` if `transposed`."""
    if not transposed:
        return from_moments(Moments.of(X, weight), rank, rng=rng, tol=tol)
    n = X.shape[0]
    mean, G = formed(X, weight, transposed=True)
    square, mass = float(np.trace(G)), mass_of(n, weight)
    require_finite(mean, square)
    pairs, k = _settled(G, rank, rng, tol, mass=mass, rows=n)
    left = _without_mean(pairs.vectors[:, :k], weight)
    certificate = _certificate(G, pairs, k, X.dtype, tol)
    with threads.blas_for(X.shape[1] * k**2):
        components, singular = cross_over(_across(X, weight, mean, left))
    values = np.concatenate([singular**2, pairs.values[k:]])
    return assemble(
        components,
        values,
        square,
        mass=mass,
        rows=n,
        complete=pairs.complete,
        solver="gram_eigh",
        objective_history=np.array([values[:k].sum() / (mass - 1)]),
        certificate=certificate,
        mean=mean,
    )


def from_moments(moments: Moments, rank: Rank, *, rng: np.random.Generator, tol: float) -> Spectral:
    """Return the principal axes of the rows whose `moments` these are."""
    pairs, k = _settled(moments.scatter, rank, rng, tol, mass=moments.mass, rows=moments.count)
    return assemble(
        pairs.vectors[:, :k].T,
        pairs.values,
        float(np.trace(moments.scatter)),
        mass=moments.mass,
        rows=moments.count,
        complete=pairs.complete,
        solver="covariance_eigh",
        objective_history=np.array([pairs.values[:k].sum() / (moments.mass - 1)]),
        certificate=_certificate(moments.scatter, pairs, k, moments.dtype, tol),
        mean=moments.mean.copy(),
    )


def _settled(
    M: NDArray, rank: Rank, rng: np.random.Generator, tol: float, *, mass: float, rows: int
) -> tuple[Pairs, int]:
    """Return eigenpairs of M, and how many of them are wanted."""
    pairs = _pairs(M, rank, rng, tol)
    values, total = pairs.values[:rows], float(np.trace(M))
    k = settle(rank, values / (mass - 1), total / (mass - 1), True)
    assert k is not None  # a rule must answer when it knows all variances
    return pairs, k


def _certificate(M: NDArray, pairs: Pairs, k: int, dtype: np.dtype, tol: float) -> Certificate:
    V, values = pairs.vectors[:, :k], pairs.values
    with threads.blas_for(M.size * k):
        residuals = M @ V - V * values[:k]
    return certify(residuals, values, k, dtype, tol, rest=pairs.rest(float(np.trace(M)), k))


def _pairs(M: NDArray, rank: Rank, rng: np.random.Generator, tol: float) -> Pairs:
    k = None if callable(rank) else rank
    pairs = leading(M, k, rng=rng, tol=tol / 2)  # the other half is for rounding
    if pairs.complete and is_graded(M) and (better := graded_pairs(M)) is not None:
        return Pairs(*better, pairs.history, complete=True)
    return pairs


def _without_mean(U: NDArray, weight: NDArray | None) -> NDArray:
    """Return left vectors that are orthogonal to the mean, as those of a centred table are.

    What is left of it would bring back what rounding has taken off the mean.
    """
    roots = roots_of(len(U), weight, U.dtype)
    return np.asarray(U - np.multiply.outer(roots, roots @ U / (roots @ roots)))


def _across(X: Table, weight: NDArray | None, mean: NDArray, U: NDArray) -> NDArray:
    """Return ``(X - 1 mean')'U``, each row of X and U times the root of its weight."""
    if weight is not None:
        U = U * roots_of(len(U), weight, U.dtype)[:, None]
    if sparse.issparse(X):
        return np.asarray(X.T @ U - np.multiply.outer(mean, U.sum(axis=0)))
    return product(X.T, mean[:, None], U.astype(X.dtype))
