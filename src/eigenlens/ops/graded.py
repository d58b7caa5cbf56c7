"""Eigenpairs of a covariance whose variables differ in scale by orders of magnitude."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

__all__ = ["graded_pairs", "is_graded"]

MOST = 400  # Jacobi's method is some ten times slower than LAPACK's usual one


def is_graded(S: NDArray) -> bool:
    """Whether scale alone could hide the smallest eigenvalues of `S` in rounding errors."""
    diagonal = np.diag(S)
    return len(S) <= MOST and 0 < diagonal.min() < 1e-6 * diagonal.max()


def graded_pairs(S: NDArray) -> tuple[NDArray, NDArray] | None:
    """Return every eigenvalue of `S` to high relative accuracy, with the eigenvectors as columns.

    LAPACK's symmetric solvers err by eps times the *largest* eigenvalue. A matrix of sums of
    products knows more: with ``S = D K D``, D the deviations and K the correlations, its entries
    are right relative to D, and so are all its eigenvalues when K is well conditioned. Cholesky's
    ``K = L L'`` and Jacobi's method on ``D L`` find them (Demmel, Veselic 1992; LAPACK's gejsv).
    None where K is not positive definite: collinear variables have no small eigenvalue to save.
    """
    D = np.sqrt(np.diag(S))
    try:
        L = linalg.cholesky(S / np.multiply.outer(D, D), lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    # joba=2: accurate for rows of any scale, at the price of pivoting them too
    values, vectors, _, work, _, info = linalg.lapack.dgejsv(D[:, None] * L, joba=2, jobu=0, jobv=3)
    if info != 0:
        return None
    return (values * (work[0] / work[1])) ** 2, vectors
