"""The deviation of noise in a table that also has gross errors and a part of low rank."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..ops.trim import NORMAL, column_medians
from .low_rank import LowRank

__all__ = ["cut_off", "deviation", "residual_deviation"]

GROSS = 5.0  # deviations of a column, beyond which entries are cut off
AGREE = 0.02  # of two estimates, one after the other
MOST = 12  # fits
NONE = 3e-3  # of the spread of the table: less than that is the tolerance of rough fits


def cut_off(M: NDArray) -> NDArray:
    """Return `M` less the medians of columns, with gross entries cut off and holes zero."""
    rest = M - column_medians(M)
    limit = GROSS * NORMAL * column_medians(np.abs(rest))
    return np.nan_to_num(np.clip(rest, -limit, limit), nan=0.0)


def residual_deviation(M: NDArray, found: LowRank) -> float:
    """Return the deviation of what the subspace that was found leaves of `M`, gross errors apart.

    The median of the sizes of residuals does not see a minority of gross ones. The rows cleaned of
    the sparse part are projected onto the components once more: scores that were shrunk do not
    count, and the dimensions that the fit has used up are allowed for.
    """
    V = found.components
    clean = M - found.mean - found.sparse
    clean = np.where(np.isnan(clean), found.scores @ V, clean)
    rest = np.abs(M - found.mean - (clean @ V.T) @ V)
    r, d = V.shape
    return float(NORMAL * np.nanmedian(rest) * np.sqrt(d / max(d - r, 1)))


def deviation(M: NDArray, fit: Callable[[float], LowRank], guess: float) -> float:
    """Return the deviation of noise in `M` that a fit with it confirms.

    What a fit leaves gives the next guess, until two agree. The first is better too large than too
    small: a fit without noise may leave nothing.

    Parameters
    ----------
    M : ndarray of shape (n, d)
        NaN where nothing was observed.
    fit : callable
        From a deviation to the table taken apart, roughly.
    guess : float
        The first.
    """
    spread = NORMAL * float(np.nanmedian(np.abs(M - column_medians(M))))
    for _ in range(MOST):
        before, guess = guess, residual_deviation(M, fit(guess))
        if guess <= NONE * spread:
            return 0.0
        if abs(guess - before) <= AGREE * guess:
            break
    return guess
