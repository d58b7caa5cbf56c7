"""NaN and inf are looked for in the sums over X, which are needed anyway: no pass of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["NonFiniteError", "require_finite"]


class NonFiniteError(ValueError):
    """The sums over X are not finite: X holds NaN or inf, or its squares overflow."""


def require_finite(mean: NDArray, square: float) -> None:
    """Raise if the mean of X or its sum of squares shows that X is not finite or too large."""
    if not (np.isfinite(mean).all() and np.isfinite(square)):
        raise NonFiniteError(
            "X holds NaN or inf, or values so large that their squares overflow. "
            "Fill or drop the holes, or divide X by a constant."
        )
