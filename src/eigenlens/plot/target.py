"""A class or a number for each row: it colours the pictures, and some methods learn from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._text import clean
from .colours import CLASSES

__all__ = ["Target"]

MOST_CLASSES = len(CLASSES)
OTHER = "other"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """One value for each row.

    Attributes
    ----------
    name : str
    numbers : ndarray or None
        The values, if they are numbers of which there are many; NaN where unknown.
    classes : tuple of str
        The class of each row, if there are few.
    levels : tuple of str
        The classes in their order.
    """

    name: str
    numbers: NDArray | None
    classes: tuple[str, ...]
    levels: tuple[str, ...]

    @classmethod
    def of(cls, target: Any, n: int) -> Target:
        """Read a target; many classes of text become the most frequent ones and the others."""
        name = clean(getattr(target, "name", None) or "class")
        values = np.asarray(target)
        if values.shape != (n,):
            raise ValueError(
                f"target has shape {values.shape} and X has {n} rows. Give one value for each row."
            )
        numbers = _as_numbers(values)
        if numbers is not None and len(np.unique(numbers[~np.isnan(numbers)])) > MOST_CLASSES:
            return cls(name, numbers, (), ())
        if numbers is not None:
            classes = [UNKNOWN if np.isnan(x) else f"{x:g}" for x in numbers]
            order = [f"{x:g}" for x in np.unique(numbers[~np.isnan(numbers)])]
        else:
            classes = [UNKNOWN if _is_hole(x) else clean(x) or UNKNOWN for x in values]
            order = sorted(set(classes) - {UNKNOWN})
        if len(order) > MOST_CLASSES:
            known = Counter(level for level in classes if level != UNKNOWN)
            frequent = {level for level, _ in known.most_common(MOST_CLASSES - 1)} - {OTHER}
            classes = [level if level in frequent | {UNKNOWN} else OTHER for level in classes]
            order = [*sorted(frequent), OTHER]
        levels = tuple(order) + ((UNKNOWN,) if UNKNOWN in classes else ())
        return cls(name, None, tuple(classes), levels)

    @property
    def values(self) -> NDArray:
        """The values as one array: numbers, or names of classes."""
        return np.array(self.classes) if self.numbers is None else self.numbers

    def take(self, rows: NDArray) -> Target:
        """Return the target of some of the rows."""
        if self.numbers is not None:
            return replace(self, numbers=self.numbers[rows])
        return replace(self, classes=tuple(self.classes[i] for i in rows))


def _as_numbers(values: NDArray) -> NDArray | None:
    """Return the values as floats, or None if they are words."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind != "O" or any(isinstance(value, str) for value in values):
        return None
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _is_hole(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value)) or str(value) == "<NA>"
