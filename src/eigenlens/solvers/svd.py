"""PCA by the full singular value decomposition of the centred table: ``X - 1 mu' = U S V'``.

Small singular values keep their digits, because no product of X with itself is formed. The dearest
way: allocates a centred copy of X.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..ops import threads
from ..ops.finite import require_finite
from ..ops.scatter import provisional_mean
from ..ops.weights import mass_of, roots_of
from .solution import Certificate
from .spectral import LEADING, ROUNDING, Rank, Spectral, assemble, settle

__all__ = ["solve"]


def solve(X: NDArray, rank: Rank, *, weight: NDArray | None = None, tol: float) -> Spectral:
    """Return the principal axes of dense `X` by LAPACK's SVD."""
    n, d = X.shape
    shift = provisional_mean(X)
    A = X - shift
    mass = mass_of(n, weight)
    if weight is None:
        delta = A.mean(axis=0, dtype=np.float64)
    else:
        delta = weight @ A / mass
    A -= delta.astype(X.dtype)
    if weight is not None:
        A *= roots_of(n, weight, X.dtype)[:, None]
    square = float(np.linalg.norm(A)) ** 2
    require_finite(delta, square)
    with threads.blas_for(A.size * min(n, d)):
        if n > d:  # U is not asked for, so R of A = Q R has all that is left
            (A,) = linalg.qr(A, mode="r", overwrite_a=True, check_finite=False)
            A = A[:d]
        _, singular, Vt = linalg.svd(A, full_matrices=False, overwrite_a=True, check_finite=False)
    values = singular.astype(np.float64) ** 2
    total = float(values.sum())
    k = settle(rank, values / (mass - 1), total / (mass - 1), True)
    assert k is not None  # a rule must answer when it knows all variances
    rounding = ROUNDING * float(np.finfo(X.dtype).eps)  # the SVD is backward stable
    return assemble(
        Vt[:k],
        values,
        total,
        mass=mass,
        rows=n,
        complete=True,
        solver="full",
        objective_history=np.array([values[:k].sum() / (mass - 1)]),
        certificate=Certificate(LEADING, rounding, tol),
        mean=shift + delta,
    )
