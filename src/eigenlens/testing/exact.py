"""Reference answers in more digits than any solver has."""

from __future__ import annotations

import joblib
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

__all__ = ["exact_variances"]

JACOBI = 40  # columns up to which the slow but exact way is taken


def exact_variances(X: NDArray) -> NDArray:
    """Return the variances along all principal axes of dense `X`, in falling order.

    X is centred in long double. Up to 40 rows or columns the singular values follow in long double
    too, beyond that in float64: right to some 1e-15 of the largest.
    """
    key = str(joblib.hash(X))
    if key not in _known:  # many fits are checked on few tables
        A = X.astype(np.longdouble)
        _known[key] = _squares(A - A.mean(axis=0)) / (len(X) - 1)
    return _known[key]


_known: dict[str, NDArray] = {}


def _squares(A: NDArray) -> NDArray:
    """Return the squared singular values of `A` in falling order."""
    if min(A.shape) > JACOBI:
        with threadpool_limits(1):  # threads that wait for each other on a busy machine take longer
            return np.linalg.svd(A.astype(np.float64), compute_uv=False) ** 2
    return np.sort(_jacobi(A if A.shape[0] >= A.shape[1] else A.T))[::-1]


def _jacobi(A: NDArray) -> NDArray:
    """Return the squared singular values of `A` by Hestenes' one-sided Jacobi method.

    Pairs of columns are turned until all are orthogonal; their squared lengths are the answer.
    """
    A = np.array(A.T)  # columns as rows, which lie together
    eps = np.finfo(A.dtype).eps
    nothing = eps**2 * np.einsum("ij,ij->", A, A)  # between columns that rounding alone has left
    turned = True
    while turned:
        turned = False
        for p in range(len(A)):
            for q in range(p + 1, len(A)):
                a, b, c = A[p] @ A[p], A[q] @ A[q], A[p] @ A[q]
                if abs(c) <= max(8 * eps * np.sqrt(a * b), nothing):
                    continue
                turned = True
                zeta = (b - a) / (2 * c)
                t = (1 if zeta >= 0 else -1) / (abs(zeta) + np.sqrt(1 + zeta * zeta))
                cosine = 1 / np.sqrt(1 + t * t)
                A[p], A[q] = cosine * (A[p] - t * A[q]), cosine * (t * A[p] + A[q])
    return np.einsum("ij,ij->i", A, A)
