"""Weights of rows: a row of weight w counts as w rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["mass_of", "roots_of", "total", "weighted_rows"]


def weighted_rows(X: Any, sample_weight: ArrayLike | None) -> tuple[Any, NDArray | None]:
    """Return `X` without its rows of weight zero, and the other weights, checked, in float64.

    A table in blocks keeps all: passes over it leave the rows of weight zero out.
    """
    if sample_weight is None:
        return X, None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (X.shape[0],):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(X.shape[0],)}: "
            "give one number for each row of X."
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight holds NaN or inf. Give a finite number for each row of X.")
    if (negative := np.flatnonzero(weight < 0)).size:
        raise ValueError(
            f"sample_weight[{negative[0]}]={weight[negative[0]]:g} is negative. "
            "Give 0 to leave a row out, or a positive number."
        )
    if weight.size and not weight.any():
        raise ValueError("Every sample_weight is zero. Give a positive number for some rows of X.")
    kept = weight > 0
    return (X, weight) if kept.all() or hasattr(X, "beside") else (X[kept], weight[kept])


def mass_of(n: int, weight: NDArray | None) -> float:
    """Return how many rows the `n` rows count for: the sum of their weights."""
    return float(n) if weight is None else float(weight.sum())


def roots_of(n: int, weight: NDArray | None, dtype: np.dtype) -> NDArray:
    """Return what multiplies each row, so that products of rows carry the weight."""
    return np.ones(n, dtype) if weight is None else np.sqrt(weight).astype(dtype)


def total(values: NDArray, weight: NDArray | None) -> float:
    """Return the sum of one value for each row, by the weights of the rows."""
    return float(values.sum() if weight is None else weight @ values)
