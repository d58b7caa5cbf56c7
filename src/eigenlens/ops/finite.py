"""What sums over X, which are needed anyway, tell of it: NaN, inf, squares that are no numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SPARSE_HOLES", "NonFiniteError", "require_finite", "require_variance"]


SPARSE_HOLES = (
    "Sparse X holds NaN, and its empty cells count as zeros that were observed. Give X.toarray() "
    "with NaN where nothing was observed."
)


class NonFiniteError(ValueError):
    """The sums over X are not finite: X holds NaN or inf, or its squares overflow."""


def require_finite(mean: NDArray, square: float, dtype: Any = np.float64) -> None:
    """Raise if the mean of X or its sum of squares shows that X is not finite or too large.

    Too large is what a dtype cannot hold: that of X, where squares are summed in it.
    """
    if not (np.isfinite(mean).all() and square <= np.finfo(dtype).max):
        raise NonFiniteError(
            "X holds NaN or inf, or values so large that their squares overflow. "
            "Fill or drop the holes, or divide X by a constant."
        )


def require_variance(total: float, dtype: np.dtype) -> None:
    """Raise if the variance of X, in its dtype, is zero or has lost its digits."""
    if total < np.finfo(dtype).tiny:
        raise ValueError(
            "Every column of X is constant, or varies so little that the squares of that vanish in "
            f"{np.dtype(dtype)}: there is no variance to explain. Check that X holds the data you "
            "mean, one row a sample, or multiply it by a constant."
        )
