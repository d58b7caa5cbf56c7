"""The report in short: what was found, in a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._text import count, listed, percent
from ..plot.target import UNKNOWN, Target
from .fits import Fits
from .outliers import Outliers
from .quality import Quality
from .sections import strongest
from .table import Table

__all__ = ["findings", "meanings", "plane", "separation"]

NAMED = 3  # columns that say what a component is about
ALIKE = 0.8  # of the largest loading: how strong the next ones are to be named with it
CLEAR, SOME = 0.5, 0.15  # share of the variance of a score that lies between classes
WEAK = 0.3  # correlation of a target with a score


def findings(
    table: Table, seen: Quality, components: dict[str, Any], measured: Outliers, fits: Fits
) -> list[str]:
    """Return three to six sentences."""
    names = tuple(table.names[j] for j in np.flatnonzero(seen.usable))
    said = [" ".join(components["sentences"])]
    said += meanings(measured.loadings[:, :1], components["shares"], names)
    said.append(" ".join(seen.sentences(table)))
    said += measured.sentences(table)
    if table.target is not None:
        said.append(separation(table.target, fits.scores))
    return said


def meanings(loadings: NDArray, shares: Sequence[float], names: tuple[str, ...]) -> list[str]:
    """Return what each component is about: the columns that go with it most closely."""
    return [
        f"Component {j + 1}, {percent(share)} of the variance, {_goes(strongest(column, names))}."
        for j, (column, share) in enumerate(zip(loadings.T, shares, strict=False))
    ]


def _goes(order: list[dict[str, Any]]) -> str:
    """Return with which columns a component rises and falls, the strongest first."""
    known = [one for one in order if one["value"]]
    close = [one for one in known if abs(one["value"]) >= ALIKE * abs(known[0]["value"])]
    up = [one["name"] for one in close if one["value"] > 0]
    down = [one["name"] for one in close if one["value"] < 0]
    parts = [
        f"{verb} with {listed(columns, NAMED)}"
        for verb, columns in (("rises", up), ("falls", down))
        if columns
    ]
    return ", and ".join(parts) or "goes with no column"


def plane(table: Table, scores: NDArray, shares: Sequence[float]) -> list[str]:
    """Return what there is to see in the plane of the first two components."""
    far = table.row(int(np.argmax((scores[:, :2] ** 2).sum(axis=1))))
    shown = "Components 1 and 2 show" if len(shares) > 1 else "Component 1 shows"
    said = [f"{shown} {percent(sum(shares[:2]))} of the variance; row {far} is farthest out."]
    if table.target is not None:
        said.append(separation(table.target, scores))
    return said


def separation(target: Target, scores: NDArray) -> str:
    """Return how far the target, which no fit has seen, shows in the scores."""
    if target.numbers is not None:
        return _goes_with(target.name, target.numbers, scores)
    known = np.array([level != UNKNOWN for level in target.classes])
    classes = np.array(target.classes, dtype=object)[known]
    levels = [level for level in target.levels if level != UNKNOWN]
    if len(levels) < 2:
        return f"All rows have one {target.name}."
    between = np.array([_between(column[known], classes) for column in scores.T])
    best = int(np.argmax(between))
    subject = f"The {len(levels)} classes ({listed(levels)})"
    what = f"{percent(between[best])} of the variance of its scores lies between them"
    if between[best] >= CLEAR:
        return f"{subject} separate on component {best + 1}: {what}."
    if between[best] >= SOME:
        return f"{subject} differ most on component {best + 1}, and overlap: {what}."
    return (
        f"{subject} do not show in the {count(len(between), 'component')}: "
        f"at most {percent(max(between[best], 0.001))} of the variance of a score lies between "
        "them."
    )


def _between(scores: NDArray, classes: NDArray) -> float:
    """Return the share of the variance of the scores that lies between the classes."""
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
