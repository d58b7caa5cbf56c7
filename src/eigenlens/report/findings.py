"""The report in short: what was found, in a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._text import listed, percent
from .fits import Fits
from .outliers import Outliers
from .quality import Quality
from .sections import strongest
from .separation import separation
from .table import Table

__all__ = ["findings", "meanings", "plane"]

NAMED = 3  # columns that say what a component is about
ALIKE = 0.8  # of the largest loading: how strong the next ones are to be named with it


def findings(
    table: Table,
    seen: Quality,
    components: dict[str, Any],
    measured: Outliers,
    fits: Fits,
    best: str | None,
) -> list[str]:
    """Return three to six sentences; `best` is the advice that matters most."""
    names = tuple(table.names[j] for j in np.flatnonzero(seen.usable))
    said = [" ".join(components["sentences"])]
    said += meanings(measured.loadings[:, :1], components["shares"], names)
    said.append(" ".join(seen.sentences(table)))
    said += measured.sentences(table)
    if table.target is not None:
        said.append(separation(table.target, fits.scores))
    return said if best is None else [*said, best]


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
