"""The rows that are drawn: what to call them, what to say of them, and what to colour them by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._text import short
from ..plot.target import Target
from .plain import plain, rounded
from .table import Table

__all__ = ["drawn_rows", "rows_section"]

DRAWN = 3000  # points in a picture
SAID = 8  # columns that a hover shows
TEXTS = 3  # of which so many are text,
LONGEST = 60  # if it is no longer than this
COLOURS = 20
LEVELS = 8  # values of a text that colours can tell apart
CELL = 28  # letters of a value


def drawn_rows(n: int, outlying: NDArray, rng: np.random.Generator) -> NDArray:
    """Return the rows to draw: all, or the outlying ones and others at random."""
    if n <= DRAWN:
        return np.arange(n)
    first = outlying[:DRAWN]
    rest = np.setdiff1d(np.arange(n), first)
    return np.sort(np.concatenate([first, rng.choice(rest, DRAWN - len(first), replace=False)]))


def rows_section(table: Table, drawn: NDArray, columns: NDArray) -> dict[str, Any]:
    """Return what is known of the rows that are drawn; `columns` say most, the first the most."""
    texts = [text for text in table.texts if text.values and 0 < text.longest <= LONGEST][:TEXTS]
    numbers = columns[: SAID - len(texts)].tolist()
    cells = [[short(str((text.values or ())[i]), CELL) or "–" for i in drawn] for text in texts]
    cells += [[_cell(x) for x in table.values[drawn, j]] for j in numbers]
    return {
        "all": len(table.values),
        "names": [table.row(int(i)) for i in drawn],
        "target": None if table.target is None else _target(table.target.take(drawn)),
        "columns": [text.name for text in texts] + [table.names[j] for j in numbers],
        "values": [list(row) for row in zip(*cells, strict=True)] or [[] for _ in drawn],
        "colours": _colours(table, drawn, columns),
    }


def _target(some: Target) -> dict[str, Any]:
    return {
        "name": some.name,
        "levels": list(some.levels),
        "classes": list(some.classes),
        "numbers": None if some.numbers is None else plain(some.numbers),
    }


def _cell(x: float) -> str:
    return "–" if np.isnan(x) else f"{x:.4g}"


def _colours(table: Table, drawn: NDArray, columns: NDArray) -> list[dict[str, Any]]:
    """Return the target, texts of few values, and the columns that say most."""
    found = [] if table.target is None else [table.target]
    few = [text for text in table.texts if text.values and 2 <= len(text.levels) <= LEVELS]
    found += [
        _target_of(text.name, np.array([x or None for x in text.values or ()], dtype=object))
        for text in few
    ]
    found += [_target_of(table.names[j], table.values[:, j]) for j in columns[:COLOURS].tolist()]
    return [_colour(one.take(drawn)) for one in found[:COLOURS]]


def _target_of(name: str, values: NDArray) -> Target:
    return replace(Target.of(values, len(values)), name=name)


def _colour(one: Target) -> dict[str, Any]:
    if one.numbers is not None:
        return {"name": one.name, "numbers": rounded(one.numbers)}
    return {"name": one.name, "classes": list(one.classes), "levels": list(one.levels)}
