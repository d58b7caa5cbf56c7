"""Randomly pivoted Cholesky: a kernel matrix as ``F F'`` from few of its columns.

A pivot is drawn with a probability that is what the factor leaves of its diagonal entry, and its
column is added to the factor. What is left, ``K - F F'``, is positive semi-definite, and its trace
is known. In expectation it is nearly as small as that of the best factor of a somewhat smaller rank
(Chen, Epperly, Tropp, Webber 2023); k pivots take (k + 1) n entries of K.

Pivots are drawn in blocks, of which rejection keeps those that drawing one by one would have taken
(Epperly, Tropp, Webber 2024): the same distribution, at the speed of matrix products.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from . import threads
from .finite import NonFiniteError
from .kernels import Kernel, Radial

__all__ = ["Factor", "pivoted_cholesky"]

BLOCK = 128  # pivots that are drawn at a time
ROWS = 1024  # of a block of work
INDEFINITE = (
    "The kernel is not positive definite, so landmarks cannot be chosen by Cholesky. Take another "
    "kernel, or no approximation."
)
BELOW = 1e-4  # of the largest entry of the diagonal: so far below zero is not rounding
EXHAUSTED = 64.0  # roundings of the trace: less is nothing


class Factor(NamedTuple):
    """``K ~ F F'``, and for any x the row of it: ``solve(L, k(pivots, x))``."""

    pivots: NDArray
    F: NDArray
    trace: float  # of K
    rest: float  # trace of K - F F'

    @property
    def L(self) -> NDArray:
        """The lower triangle with ``L L' = K`` at the pivots."""
        return np.tril(self.F[self.pivots].astype(np.float64))


def pivoted_cholesky(
    kernel: Kernel,
    X: Any,
    most: int,
    *,
    tol: float = 0.0,
    rng: np.random.Generator,
    dtype: Any = np.float64,
) -> Factor:
    """Return the factor of at most `most` columns, or that which leaves `tol` of the trace.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.ops.kernels import Rbf
    >>> from eigenlens.ops.pivoted import pivoted_cholesky
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> factor = pivoted_cholesky(Rbf(1.0), X, 200, tol=1e-6, rng=np.random.default_rng(0))
    >>> len(factor.pivots) < 12
    True
    """
    n = X.shape[0]
    most = min(most, n)
    left = kernel.diagonal(X).astype(np.float64)
    trace = float(left.sum())
    if not np.isfinite(trace):
        raise NonFiniteError
    if left.min() < 0:
        raise ValueError(INDEFINITE)
    origin, definite = kernel.origin(X), isinstance(kernel, Radial)
    least = -np.inf if definite else -BELOW * float(left.max())
    F = np.empty((n, most), dtype, order="F")  # memory that is not reached is never taken
    pivots = np.empty(0, np.int64)
    nothing = max(tol, EXHAUSTED * float(np.finfo(dtype).eps)) * trace
    while len(pivots) < most and (rest := float(left.sum())) > nothing:
        drawn = rng.choice(n, size=min(BLOCK, most - len(pivots)), p=left / rest)
        k = len(pivots)
        G = F[drawn, :k].astype(np.float64)
        points = kernel.ready(X[drawn], origin)
        H = kernel.with_diagonal(kernel.tile(points, points))
        H -= G @ G.T
        kept = _kept(H, left[drawn], rng)
        new = drawn[kept]
        try:
            L = scipy.linalg.cholesky(H[np.ix_(kept, kept)], lower=True)
        except np.linalg.LinAlgError:
            if definite:  # rounding is all that is left
                break
            raise ValueError(INDEFINITE) from None
        except ValueError:
            raise NonFiniteError from None
        _extend(kernel, X, F, k, new, L, left, origin, least)
        pivots = np.concatenate([pivots, new])
        left[pivots] = 0.0
    return Factor(pivots, F[:, : len(pivots)], trace, float(left.sum()))


def _kept(H: NDArray, drawn_by: NDArray, rng: np.random.Generator) -> NDArray:
    """Return those that drawing one by one keeps; H is what is left of the kernel between all."""
    H = H.copy()
    kept: list[int] = []
    least = EXHAUSTED * float(np.finfo(np.float64).eps) * float(np.diag(H).max(initial=0.0))
    for i, chance in enumerate(rng.random(len(H))):
        if H[i, i] > max(chance * drawn_by[i], least) or not kept:
            kept.append(i)
            column = H[:, i] / np.sqrt(H[i, i])
            H -= np.outer(column, column)
    return np.array(kept)


def _extend(
    kernel: Kernel,
    X: Any,
    F: NDArray,
    k: int,
    new: NDArray,
    L: NDArray,
    left: NDArray,
    origin: NDArray | None,
    least: float,
) -> None:
    """Add the columns of the new pivots to F, and take them off the diagonal that is left.

    Raises where that would fall below `least`.
    """
    B, known = kernel.ready(X[new], origin), F[new, :k]
    blocks = threads.spans(len(F), ROWS)

    def part(i: int) -> None:
        rows = blocks[i]
        G = kernel.tile(kernel.ready(X[rows], origin), B)
        G -= F[rows, :k] @ known.T
        G = scipy.linalg.solve_triangular(L, G.T, lower=True, overwrite_b=True, check_finite=False)
        F[rows, k : k + len(new)] = G.T
        rest = left[rows] - np.einsum("ij,ij->j", G, G)
        if not np.isfinite(rest).all():
            raise NonFiniteError
        if rest.min() < least:
            raise ValueError(INDEFINITE)
        left[rows] = np.maximum(rest, 0.0)

    threads.run(part, len(blocks))
