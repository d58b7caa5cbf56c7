"""PCA by the full singular value decomposition of the centred table: ``X - 1 mu' = U S V'``.

Small singular values keep their digits, because no product of X with itself is formed. The dearest
way: allocates a centred copy of X.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..ops import threads
from ..ops.scatter import provisional_mean
from .solution import Certificate
from .spectral import LEADING, ROUNDING, Rank, Spectral, require_finite, settle

__all__ = ["solve"]


def solve(X: NDArray, rank: Rank, *, tol: float) -> Spectral:
    """Return the principal axes of dense `X` by LAPACK's SVD."""
    n, d = X.shape
    shift = provisional_mean(X)
    A = X - shift
    delta = A.mean(axis=0, dtype=np.float64)
    A -= delta.astype(X.dtype)
    square = float(np.linalg.norm(A)) ** 2
    require_finite(delta, square)
    with threads.blas_for(A.size * min(n, d)):
        if n > d:  # U is not asked for, so R of A = Q R has all that is left
            (A,) = linalg.qr(A, mode="r", overwrite_a=True, check_finite=False)
            A = A[:d]
        _, singular, Vt = linalg.svd(A, full_matrices=False, overwrite_a=True, check_finite=False)
    spectrum = singular.astype(np.float64) ** 2 / (n - 1)
    total = float(spectrum.sum())
    k = settle(rank, spectrum, total, True)
    assert k is not None  # a rule must answer when it knows all variances
    rounding = ROUNDING * float(np.finfo(X.dtype).eps)  # the SVD is backward stable
    return Spectral(
        solver="full",
        objective_history=np.array([spectrum[:k].sum()]),
        certificate=Certificate(LEADING, rounding, tol),
        mean=shift + delta,
        components=Vt[:k],
        spectrum=spectrum,
        spectrum_complete=True,
        total_variance=total,
    )
