"""Columns of text and of dates: no model sees them, but they say what a row is."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._text import clean, short
from ..data.arrow import ArrowBlocks, kind_of, texts_of
from ..data.blocks import Blocks, Mapped

__all__ = ["Text", "of_arrow", "of_blocks"]

READ = 20  # columns of text of a file, which are read once more for them
READABLE = ("text", "date", "row names")  # what lists and structures unpack to, nobody knows
EXAMPLES = 3
IDLE = re.compile(r" 00:00:00(\.0*)?Z?$")  # of dates, the time of day that all of them have


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A column without numbers.

    Attributes
    ----------
    name : str
    kind : str
        ``text``, ``date``, ``row names``, or what else it holds.
    values : tuple of str or None
        Empty where there is none; None if the column was not read.
    """

    name: str
    kind: str
    values: tuple[str, ...] | None

    def take(self, rows: NDArray) -> Text:
        """Return the text of some of the rows."""
        if self.values is None:
            return self
        return replace(self, values=tuple(self.values[i] for i in rows))

    @property
    def longest(self) -> int:
        """Letters of the longest value."""
        return max(map(len, self.values or ()), default=0)

    @property
    def levels(self) -> list[str]:
        """The different values, the most frequent first."""
        known = Counter(value for value in self.values or () if value)
        return [value for value, _ in known.most_common()]

    def to_dict(self) -> dict[str, Any]:
        """Return what the page says of it."""
        found = self.levels
        return {
            "name": self.name,
            "kind": self.kind,
            "levels": None if self.values is None else len(found),
            "holes": None if not self.values else self.values.count("") / len(self.values),
            "examples": [short(value) for value in found[:EXAMPLES]],
        }


def of_arrow(name: str, column: Any, kind: str | None = None) -> Text:
    """Return the text in a column of Arrow's."""
    kind = kind or kind_of(column.type)
    try:
        values = _strings(column)
    except pa.ArrowException:  # lists, structures
        return Text(name, kind, None)
    return Text(name, kind, values)


def _strings(column: Any) -> tuple[str, ...]:
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found = [value for chunk in chunks for value in texts_of(chunk)]
    shown = {value: "" if value is None else clean(value) for value in set(found)}
    if pa.types.is_timestamp(column.type) and all(map(IDLE.search, shown.keys() - {None})):
        shown = {value: IDLE.sub("", text) for value, text in shown.items()}
    return tuple(shown[value] for value in found)


def of_blocks(blocks: Blocks, numbers: NDArray) -> list[Text]:
    """Return the text of some rows of a file, in one pass over the first columns of it."""
    kinds = dict(blocks.left_out)
    base: Blocks = blocks
    while isinstance(base, Mapped):
        base = base.base
    found = {}
    names = [name for name, kind in kinds.items() if kind in READABLE][:READ]
    if names and isinstance(base, ArrowBlocks):
        found = _read(base.source, names, numbers)
    return [
        of_arrow(clean(name), found[name], kind) if name in found else Text(clean(name), kind, None)
        for name, kind in kinds.items()
    ]


def _read(source: Any, names: list[str], numbers: NDArray) -> dict[str, Any]:
    """Return the columns of a source, of the rows that are wanted."""
    parts, start = dict[str, list[Any]]({name: [] for name in names}), 0
    for batch in source.batches(names, 0):
        first, last = np.searchsorted(numbers, [start, start + batch.num_rows])
        wanted = pa.array(numbers[first:last] - start)
        for name in names:
            parts[name].append(batch.column(name).take(wanted))
        start += batch.num_rows
    return {name: pa.chunked_array(part) for name, part in parts.items() if part}
