"""The one rule for the sign of a direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["deciding", "fix_signs", "signs_of"]

TIE = 1e-6


def fix_signs(directions: NDArray) -> NDArray:
    """Turn each row so that its entry of largest magnitude is positive; return a new array.

    This is scikit-learn's rule, but entries within a part in a million of the largest count as
    equal and the first of them decides. Without that, rounding would choose the sign of directions
    such as (1, -1) / sqrt(2), and every solver could choose another.
    """
    return np.where(signs_of(directions)[:, None] < 0, -directions, directions)


def signs_of(directions: NDArray) -> NDArray:
    """Return the sign, 1 or -1, by which `fix_signs` multiplies each row."""
    size = np.abs(directions)
    if not size.size:
        return np.ones(len(directions), directions.dtype)
    first = np.argmax(size >= (1 - TIE) * size.max(axis=1, keepdims=True), axis=1)
    negative = directions[np.arange(len(directions)), first] < 0
    return np.where(negative, -1, 1).astype(directions.dtype)


def deciding(entries: NDArray) -> NDArray:
    """Return those of some entries of a direction that may decide its sign, whatever the others.

    Of entries in their order, these are larger than all before them, and equal to the largest as
    the rule counts. The first of those of all parts of a direction, joined, decides.
    """
    size = np.abs(entries)
    near = size >= (1 - TIE) * size.max(initial=0.0)
    entries, size = entries[near], size[near]
    before = np.concatenate([[-1.0], np.maximum.accumulate(size)[:-1]])
    found: NDArray = entries[size > before]
    return found
