"""Arrays as JSON has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["plain", "rounded"]

Numbers = ArrayLike | Sequence[float | None]


def plain(values: Numbers) -> Any:
    """Return floats in lists, as JSON has them; None for what is not finite."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 0:
        return float(values) if np.isfinite(values) else None
    return [plain(value) for value in values] if values.ndim > 1 else _plain_row(values)


def _plain_row(values: NDArray) -> list[float | None]:
    finite = np.isfinite(values)
    if finite.all():
        return [float(value) for value in values]
    return [float(value) if ok else None for value, ok in zip(values, finite, strict=True)]


def rounded(values: Numbers, digits: int = 5) -> list[float | None]:
    """Return what a picture needs of a row of numbers."""
    return [None if x is None else float(f"{x:.{digits}g}") for x in plain(values)]
