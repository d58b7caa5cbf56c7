"""How far a target, which no fit has seen, shows in scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._text import count, listed, percent
from ..plot.target import UNKNOWN, Target

__all__ = ["most_between", "separation"]

CLEAR, SOME = 0.5, 0.15  # share of the variance of a score that lies between classes
WEAK = 0.3  # correlation of a target with a score


def separation(target: Target, scores: NDArray) -> str:
    """Return it as a sentence."""
    if target.numbers is not None:
        return _goes_with(target.name, target.numbers, scores)
    levels = [level for level in target.levels if level != UNKNOWN]
    if len(levels) < 2:
        return f"All rows have one {target.name}."
    shares = _shares(target, scores)
    best = int(np.argmax(shares))
    subject = f"The {len(levels)} classes ({listed(levels)})"
    what = f"{percent(shares[best])} of the variance of its scores lies between them"
    if shares[best] >= CLEAR:
        return f"{subject} separate on component {best + 1}: {what}."
    if shares[best] >= SOME:
        return f"{subject} differ most on component {best + 1}, and overlap: {what}."
    return (
        f"{subject} do not show in the {count(len(shares), 'component')}: "
        f"at most {percent(max(shares[best], 0.001))} of the variance of a score lies between "
        "them."
    )


def most_between(target: Target, scores: NDArray) -> float:
    """Return the largest share of the variance of a score that lies between the classes."""
    return float(_shares(target, scores).max(initial=0.0))


def _shares(target: Target, scores: NDArray) -> NDArray:
    """Return the share of the variance of each score that lies between the classes."""
    known = np.array([level != UNKNOWN for level in target.classes])
    classes = np.array(target.classes, dtype=object)[known]
    return np.array([_between(column[known], classes) for column in scores.T])


def _between(scores: NDArray, classes: NDArray) -> float:
    centred = scores - scores.mean()
    total = float(centred @ centred)
    groups = [centred[classes == level] for level in np.unique(classes)]
    return sum(len(group) * group.mean() ** 2 for group in groups) / total if total > 0 else 0.0


def _goes_with(name: str, numbers: NDArray, scores: NDArray) -> str:
    known = ~np.isnan(numbers)
    y = numbers[known] - numbers[known].mean()
    centred = scores[known] - scores[known].mean(axis=0)
    size = np.linalg.norm(y) * np.linalg.norm(centred, axis=0)
    r = np.divide(y @ centred, size, out=np.zeros(len(size)), where=size > 0)
    best = int(np.argmax(np.abs(r)))
    if abs(r[best]) < WEAK:
        return (
            f"{name} has little to do with any component (correlation at most {abs(r[best]):.2f})."
        )
    return f"{name} goes most closely with component {best + 1} (correlation {r[best]:+.2f})."
