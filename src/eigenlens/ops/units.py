"""Units in which squares of numbers are far from the ends of what a float can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["SOUND", "divided", "in_units", "powers_of_two", "unit_of"]

# sizes of numbers whose squares, and sums of many of these, have all of their digits
SOUND = {np.dtype(np.float64): (1e-100, 1e100), np.dtype(np.float32): (1e-15, 1e15)}


def powers_of_two(sizes: NDArray) -> NDArray:
    """Return for each size 1 if it is sound, else the power of two next below it.

    To divide by one rounds nothing. Sizes that are zero or no numbers have 1.
    """
    low, high = SOUND[sizes.dtype]
    odd = np.isfinite(sizes) & (sizes > 0) & ((sizes < low) | (sizes > high))
    return np.where(odd, np.ldexp(1.0, np.frexp(sizes)[1] - 1), 1.0)


def unit_of(X: Any) -> float:
    """Return the unit to measure the table in, dense or sparse: 1 unless it is huge or tiny."""
    largest = np.maximum(X.max(), -X.min())
    return float(powers_of_two(np.asarray(largest, dtype=X.dtype)))


def in_units(X: Any) -> Any:
    """Return the table in units in which its squares are sound: itself, if they are so already."""
    unit = unit_of(X)
    return X if unit == 1 else divided(X, unit)


def divided(X: Any, unit: float) -> Any:
    """Return the table, dense or sparse, divided by a number however small."""
    if not sparse.issparse(X):
        return X / unit
    found = X.copy()
    found.data = X.data / unit  # scipy multiplies by the inverse, which may be inf
    return found
