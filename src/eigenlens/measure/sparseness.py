"""How few entries carry a part or a code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

__all__ = ["sparseness"]


def sparseness(A: ArrayLike | Any, *, axis: int = 1) -> NDArray:
    """Return Hoyer's sparseness of each part: 0 if all entries are alike, 1 if only one is not 0.

    It compares two lengths of a vector a of n entries::

        (sqrt(n) - |a|_1 / |a|_2) / (sqrt(n) - 1)

    so that neither signs nor scale matter, and small entries count as almost zero, where a share of
    zeros would not see them. The one component of a table with one column, and every other vector
    of one entry, has sparseness 1. A vector of zeros has none: NaN, to be left out by `np.nanmean`.

    Parameters
    ----------
    A : array-like of shape (k, n), or fitted estimator
        Parts, one a row. Of an estimator, its `components_`.
    axis : {0, 1}, default=1
        Along which axis the entries of a vector lie. Codes of parts have a column for each part:
        ``sparseness(codes)`` says how few parts make up each row of the data, and
        ``sparseness(codes, axis=0)`` how few rows use each part.

    Returns
    -------
    ndarray of float64
        One number for each row of A, or for each column with ``axis=0``.

    Notes
    -----
    Sparseness of codes depends on how long each part is against the others, which a factorisation
    X = W H leaves open. Compare codes of parts of length 1: ``W * np.linalg.norm(H, axis=1)``.

    References
    ----------
    P. O. Hoyer, Non-negative matrix factorization with sparseness constraints, Journal of Machine
    Learning Research 5 (2004).

    Examples
    --------
    >>> from eigenlens.measure import sparseness
    >>> sparseness([[0, 0, 5, 0], [2, -2, 2, 2], [3, 1, 0, 0]]).round(3)
    array([1.   , 0.   , 0.735])
    """
    vectors = _vectors(A)
    if axis not in (0, 1):
        raise ValueError(f"axis={axis!r} must be 0 (vectors are columns) or 1 (they are rows).")
    size = np.abs(vectors if axis == 1 else vectors.T)
    n = size.shape[1]
    largest = size.max(axis=1)
    zero = largest == 0
    # in units of the largest entry no square overflows, or is lost
    size /= np.where(zero, 1, largest)[:, None]
    if n == 1:
        return np.where(zero, np.nan, 1.0)
    ratio = size.sum(axis=1) / np.where(zero, 1, np.sqrt((size * size).sum(axis=1)))
    found = (np.sqrt(n) - ratio) / (np.sqrt(n) - 1)
    return np.where(zero, np.nan, np.clip(found, 0, 1))  # rounding may lead out of the interval


def _vectors(A: Any) -> NDArray:
    """Return an array in float64, or the components of a fitted estimator."""
    name = "A"
    if hasattr(A, "fit"):
        check_is_fitted(A)
        if not hasattr(A, "components_"):
            raise TypeError(
                f"{type(A).__name__} has no components_ once fitted. Give an array of parts."
            )
        A, name = A.components_, "components_"
    vectors: NDArray = check_array(A, dtype=np.float64, input_name=name)
    return vectors
