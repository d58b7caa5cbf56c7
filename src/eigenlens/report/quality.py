"""What is in the table before any model: kinds, holes, constant columns, columns that repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._text import count, grouped, listed, percent, short
from .duplicates import duplicates
from .relations import related
from .table import Table, varying

__all__ = ["Quality", "quality"]

LISTED = 200  # columns in the table of columns
COMPARED = 2000  # columns, beyond which the matrix of correlations is too large a price
BINS = 12
EXAMPLES = 3  # rows that are the same
MANY_HOLES = 0.2
SKEWED, SKEWED_FLAG = 2.0, "strongly skewed"
FENCE = 3.0  # distances between the quartiles, beyond which a value is far out
NEAR = 0.999  # correlation from which two columns say the same
ENOUGH = 10  # rows, below which such a correlation means nothing


@dataclass(frozen=True, slots=True, eq=False)
class Quality:
    """What was found.

    Attributes
    ----------
    usable : ndarray of bool
        Columns that vary; the others have no place in a model.
    holes : ndarray of int
        Holes of each column.
    twins : tuple of (int, int, bool)
        Pairs of columns that say the same, and whether they are equal in every cell.
    columns : list of dict
        A description of each column, of the first `LISTED`.
    R : ndarray or None
        Correlations of the usable columns; None if they are too many or too few.
    repeated : tuple of tuple of int
        Rows that are the same in every cell, together.
    """

    usable: NDArray
    holes: NDArray
    twins: tuple[tuple[int, int, bool], ...]
    columns: list[dict[str, Any]]
    R: NDArray | None
    repeated: tuple[tuple[int, ...], ...]

    def to_dict(self, table: Table) -> dict[str, Any]:
        """Return what the page shows."""
        return {
            "sentences": self.sentences(table),
            "columns": self.columns,
            "more": len(table.names) - len(self.columns),
            "text": [text.to_dict() for text in table.texts[:LISTED]],
            "duplicates": {
                "count": self._again,
                "examples": [
                    [table.row(i) for i in group[:EXAMPLES]] for group in self.repeated[:EXAMPLES]
                ],
            },
            "nonnegative": _nonnegative(table.values),
            "counts": _counts(table.values),
        }

    @property
    def _again(self) -> int:
        """How many rows are the same as one before them."""
        return sum(len(group) - 1 for group in self.repeated)

    def sentences(self, table: Table) -> list[str]:
        """Return what to notice, in words."""
        names, size = np.array(table.names, dtype=object), table.values.size
        said = []
        if total := int(self.holes.sum()):
            worst = int(np.argmax(self.holes))
            share = self.holes[worst] / len(table.values)
            said.append(
                f"{count(total, 'cell')} of {grouped(size)} ({percent(total / size)}) "
                f"{'is a hole' if total == 1 else 'are holes'}, the largest share in "
                f"{short(names[worst])} ({percent(share)})."
            )
        else:
            said.append("There are no holes.")
        if still := list(names[~self.usable]):
            verb = "does not vary and is" if len(still) == 1 else "do not vary and are"
            said.append(f"{listed(still)} {verb} left out.")
        if self.twins:
            pairs = [f"{short(names[i])} and {short(names[j])}" for i, j, _ in self.twins[:3]]
            more = len(self.twins) - len(pairs)
            end = f" and {count(more, 'more pair')}" if more else ""
            said.append(f"Columns that say the same: {'; '.join(pairs)}{end}.")
        if self.usable.sum() > COMPARED:
            said.append(f"With more than {COMPARED} columns, none were compared with each other.")
        skewed = [column["name"] for column in self.columns if SKEWED_FLAG in column["flags"]]
        if skewed:
            said.append(
                "Strongly skewed, so that a few values far out make up much of the variance: "
                f"{listed(skewed, 3)}."
            )
        if again := self._again:
            verb = "is" if again == 1 else "are"
            rows = listed([table.row(i) for i in self.repeated[0]], EXAMPLES)
            said.append(f"{count(again, 'row')} {verb} the same as one before, such as {rows}.")
        if _counts(table.values):
            said.append(f"All values are whole numbers from 0 to {np.nanmax(table.values):.6g}.")
        return said


def quality(table: Table) -> Quality:
    """Look at every column of the table."""
    X = table.values
    holes = np.isnan(X).sum(axis=0)
    usable = varying(X)
    R = related(X[:, usable], COMPARED)
    twins = () if R is None else _twins(X, np.flatnonzero(usable), R)
    columns = [describe(X[:, j], name) for j, name in enumerate(table.names[:LISTED])]
    for i, j, equal in twins:
        for one, other in ((i, j), (j, i)):
            if one < len(columns):
                how = "the same as" if equal else "nearly the same as"
                columns[one]["flags"].append(f"{how} {short(table.names[other], 24)}")
    return Quality(usable, holes, twins, columns, R, duplicates(table))


def describe(column: NDArray, name: str) -> dict[str, Any]:
    """Return the description of one column."""
    seen = column[~np.isnan(column)]
    holes = 1 - len(seen) / len(column)
    found: dict[str, Any] = {"name": name, "kind": _kind(seen), "holes": holes, "flags": []}
    if not len(seen):
        return (
            found
            | dict.fromkeys(("mean", "deviation", "min", "median", "max"))
            | {
                "histogram": [],
                "flags": ["empty"],
            }
        )
    low, median, high = np.quantile(seen, [0.25, 0.5, 0.75])
    constant = seen.min() == seen.max()
    found |= {
        "mean": float(seen[0] if constant else seen.mean()),
        "deviation": 0.0 if constant or len(seen) < 2 else float(seen.std(ddof=1)),
        "min": float(seen.min()),
        "median": float(median),
        "max": float(seen.max()),
        "histogram": [len(seen)] if constant else _histogram(seen),
    }
    flags = found["flags"]
    if constant:
        flags.append("constant")
    if holes > MANY_HOLES:
        flags.append(f"{percent(holes)} holes")
    if not constant and abs(_skewness(seen)) > SKEWED:
        flags.append(SKEWED_FLAG)
    fence = FENCE * (high - low)
    if fence > 0 and (far := int(((seen < low - fence) | (seen > high + fence)).sum())):
        flags.append(count(far, "value") + " far out")
    return found


def _kind(seen: NDArray) -> str:
    if not len(seen):
        return "empty"
    if (seen == np.round(seen)).all():
        return "yes or no" if set(np.unique(seen)) == {0.0, 1.0} else "whole numbers"
    return "numbers"


def _histogram(seen: NDArray) -> list[int]:
    # by hand, since numpy's refuses ranges that are short beside their distance from zero
    edges = np.linspace(seen.min(), seen.max(), BINS + 1)
    places = np.clip(np.searchsorted(edges, seen, side="right") - 1, 0, BINS - 1)
    return [int(many) for many in np.bincount(places, minlength=BINS)]


def _skewness(seen: NDArray) -> float:
    deviations = seen - seen.mean()
    deviations /= np.abs(deviations).max() or 1.0
    return float((deviations**3).mean() / (deviations**2).mean() ** 1.5)


def _nonnegative(X: NDArray) -> bool:
    return not np.nanmin(X) < 0


def _counts(X: NDArray) -> bool:
    """Whether all values are whole numbers of at least 0, and more than yes or no."""
    if not _nonnegative(X) or np.nanmax(X) <= 1:
        return False
    return all((seen == np.round(seen)).all() for seen in (x[~np.isnan(x)] for x in X.T))


def _twins(X: NDArray, usable: NDArray, R: NDArray) -> tuple[tuple[int, int, bool], ...]:
    """Return pairs of columns that say the same, each column at most once as the second."""
    found, taken = [], set[int]()
    for i, j in usable[np.argwhere(np.abs(np.triu(R, 1)) > NEAR)]:
        shared = int((~np.isnan(X[:, i] + X[:, j])).sum())
        if j not in taken and shared >= ENOUGH:
            taken.add(int(j))
            equal = np.array_equal(X[:, i], X[:, j], equal_nan=True)
            found.append((int(i), int(j), equal))
    return tuple(found)
