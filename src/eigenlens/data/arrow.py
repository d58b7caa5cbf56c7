"""Blocks of numbers from Arrow record batches: which columns are numbers, and how they become so.

A source gives a schema and streams of batches; this file knows neither files nor formats. Batches
are small, and their columns go straight to their places in the rows of a block, so that a block is
in memory once and what is decoded at a time is little beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..ops import threads
from .blocks import Blocks, explain_missing, rows_in_block
from .errors import DataError
from .room import Room

__all__ = ["ArrowBlocks", "Source", "from_row", "kind_of", "numbers_of", "texts_of"]

FEW_VALUES = 50  # a text column with more distinct values names its rows rather than a class
MOST_VALUES = 1000  # columns that one text column may become


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or several that are one table, whose columns can be read again and again.

    Attributes
    ----------
    path : str
        What errors call it.
    schema : pyarrow.Schema
    batches : callable
        From the names of columns and a number of rows to an iterator of record batches with these
        columns, of all rows but that many at the beginning.
    n_rows : int or None
        None if the file does not say.
    nbytes : int
        About the bytes that all numbers take in memory.
    row_names : str or None
        A column that only numbers or names the rows.
    """

    path: str
    schema: pa.Schema
    batches: Callable[[list[str], int], Iterator[pa.RecordBatch]]
    n_rows: int | None
    nbytes: int
    row_names: str | None = None

    def kinds(self) -> dict[str, str]:
        """Return the kind of each column: number, text, date, row names, or its Arrow type."""
        kinds = {field.name: kind_of(field.type) for field in self.schema}
        if self.row_names is not None:
            kinds[self.row_names] = "row names"
        return kinds


@dataclass(frozen=True, slots=True)
class Pick:
    """A column of the table: one of the file, or whether that one has a value."""

    name: str
    column: str
    value: str | None = None


class Piece(NamedTuple):
    """A part of a batch, the rows of a block that it fills, and the block if it is full then."""

    batch: pa.RecordBatch | None
    rows: NDArray
    block: NDArray | None


class ArrowBlocks(Blocks):
    """Blocks of the picked columns of a source.

    They are cut by the number of rows alone, so that every pass, also one that begins in the
    middle, has the same blocks however the file is divided.
    """

    def __init__(self, source: Source, picks: Sequence[Pick]) -> None:
        self.source = source
        self.picks = tuple(picks)
        self.names = tuple(pick.name for pick in self.picks)
        self.path = source.path
        taken = {pick.column for pick in self.picks}
        kinds = source.kinds()
        self.left_out: Mapping[str, str] = {
            name: kind for name, kind in kinds.items() if kind != "number" and name not in taken
        }
        self.nbytes = source.nbytes * len(self.picks) // max(1, len(source.schema))
        types = [source.schema.field(pick.column).type for pick in self.picks]
        narrow = all(pa.types.is_float32(t) or pa.types.is_float16(t) for t in types)
        self.dtype = np.dtype(np.float32 if narrow else np.float64)
        self._rows = rows_in_block(len(self.picks) * self.dtype.itemsize)
        self._n_rows = source.n_rows

    @classmethod
    def of(
        cls,
        source: Source,
        *,
        columns: Iterable[str] | None = None,
        drop: Iterable[str] = (),
        encode: bool | Iterable[str] = False,
    ) -> ArrowBlocks:
        """Return the columns asked for: all that are numbers, unless `columns` names others."""
        kinds = source.kinds()
        dropped = set(drop)
        encoded = set() if isinstance(encode, bool) else set(encode)
        for name in (*dropped, *encoded, *(columns := [*columns] if columns else [])):
            if name not in kinds:
                explain_missing(name, kinds, source.path)
        chosen = [name for name in columns or kinds if name not in dropped]
        wanted = set(columns) | encoded
        picks: list[Pick] = []
        for name in chosen:
            if kinds[name] == "number":
                picks.append(Pick(name, name))
            elif kinds[name] == "text" and (encode is True or name in encoded):
                picks += _indicators(source, name, required=name in wanted)
            elif name in wanted:
                raise DataError(
                    f"Column {name!r} of {source.path} holds {kinds[name]}, not numbers. "
                    f"Encode it if it names classes, or leave it out."
                )
        if not picks:
            raise DataError(_no_numbers(source.path, {name: kinds[name] for name in chosen}))
        return cls(source, picks)

    def __iter__(self) -> Iterator[NDArray]:
        return self.blocks_from(0)

    def blocks_from(self, i: int) -> Iterator[NDArray]:
        """Yield the blocks from block `i` on; of Parquet files nothing before it is read."""
        columns = list(dict.fromkeys(pick.column for pick in self.picks))
        first = count = i * self._rows
        pieces = self._pieces(self.source.batches(columns, first), first)
        for block in threads.ahead(self._filled, pieces):
            if block is not None:  # all of its rows are there: results come in order
                count += len(block)
                yield _without_room(block)
        if self._n_rows is None:
            self._n_rows = count
        elif count < self._n_rows:
            raise self._changed("fewer")

    def _pieces(self, batches: Iterator[pa.RecordBatch], count: int) -> Iterator[Piece]:
        """Yield which rows of which block each part of a batch goes to; `count` are before them."""
        room = Room(len(self.picks), self.dtype)
        block, filled = room.rows(0), 0
        for batch in batches:
            while batch.num_rows:
                if filled == len(block):
                    block, filled = room.rows(self._size(count)), 0
                part = batch.slice(0, len(block) - filled)
                batch = batch.slice(part.num_rows)
                count += part.num_rows
                rows = block[filled : filled + part.num_rows]
                filled += part.num_rows
                yield Piece(part, rows, block if filled == len(block) else None)
        if filled < len(block):  # the last block of a file that does not say how many rows it has
            yield Piece(None, block[:0], block[:filled])

    def _size(self, count: int) -> int:
        """Return how many rows the next block has room for, `count` being before it."""
        left = self._rows if self._n_rows is None else self._n_rows - count
        if left <= 0:
            raise self._changed("more")
        return min(self._rows, left)

    def _changed(self, how: str) -> DataError:
        return DataError(
            f"{self.path} gave {how} rows than the {self._n_rows} it had: it was changed while it "
            "was read. Read it anew when nobody writes to it."
        )

    def _filled(self, piece: Piece) -> NDArray | None:
        """Write the rows of a piece to their place; return the block that it completes."""
        if piece.batch is not None:
            for j, pick in enumerate(self.picks):
                piece.rows[:, j] = numbers_of(piece.batch.column(pick.column), pick.value)
        return piece.block

    def row_counts(self) -> list[int]:
        """Return the number of rows of each block."""
        n = self.n_rows
        return [min(self._rows, n - start) for start in range(0, n, self._rows)]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if self._n_rows is None:
            column = self.picks[0].column
            self._n_rows = sum(batch.num_rows for batch in self.source.batches([column], 0))
        return self._n_rows

    def select(self, names: Iterable[str]) -> Blocks:
        """Return the table of the columns `names`, in that order.

        A name such as ``colour=red`` that is no column says where the text column ``colour`` holds
        ``red``, so that a table encoded in one file is found again in another.
        """
        kinds = self.source.kinds()
        chosen = ArrowBlocks(self.source, [_pick(name, kinds, self.path) for name in names])
        chosen.files = self.files
        return chosen

    def column(self, name: str) -> NDArray:
        """Return one whole column of the file, numbers or text.

        Parameters
        ----------
        name : str

        Returns
        -------
        ndarray of shape (n_rows,)
            Text as objects, with None for holes.
        """
        kinds = self.source.kinds()
        if name not in kinds:
            explain_missing(name, kinds, self.path)
        batches = [batch.column(name) for batch in self.source.batches([name], 0)]
        if kinds[name] == "number":
            return np.concatenate([numbers_of(part) for part in batches])
        return np.concatenate([texts_of(part) for part in batches])


def from_row(batches: Iterable[pa.RecordBatch], start: int) -> Iterator[pa.RecordBatch]:
    """Yield batches without the first `start` rows, for files in which nothing can be skipped."""
    for batch in batches:
        before = min(start, batch.num_rows)
        start -= before
        if before < batch.num_rows:
            yield batch.slice(before)


def kind_of(type_: pa.DataType) -> str:
    """Return what an Arrow type holds: number, text, date, or the type itself in words."""
    is_ = pa.types
    if isinstance(type_, pa.DictionaryType):
        return kind_of(type_.value_type)
    if any(
        test(type_)
        for test in (is_.is_integer, is_.is_floating, is_.is_decimal, is_.is_boolean, is_.is_null)
    ):
        return "number"
    if is_.is_string(type_) or is_.is_large_string(type_) or is_.is_string_view(type_):
        return "text"
    if is_.is_temporal(type_):
        return "date"
    return str(type_)


def _without_room(block: NDArray) -> NDArray:
    """Return a block, copied if it is but a little of the room that was made for it."""
    little = block.base is not None and 2 * block.nbytes < block.base.nbytes
    return block.copy() if little else block


def _pick(name: str, kinds: Mapping[str, str], path: str) -> Pick:
    if kinds.get(name) == "number":
        return Pick(name, name)
    column, _, value = name.partition("=")
    while value and column not in kinds:  # the name of the column may have a sign of its own
        more, _, value = value.partition("=")
        column = f"{column}={more}"
    if value and kinds[column] == "text":
        return Pick(name, column, value)
    if name not in kinds:
        explain_missing(name, kinds, path)
    raise DataError(
        f"Column {name!r} of {path} holds {kinds[name]}, where numbers are expected. Look for "
        "entries that are not numbers, and correct or empty them."
    )


def _indicators(source: Source, column: str, *, required: bool) -> list[Pick]:
    """Return a column for each value of a text column, or none if it has too many."""
    values: set[str] = set()
    for batch in source.batches([column], 0):
        texts = _texts(batch.column(column))
        values.update(texts.dictionary.take(texts.indices.unique().drop_null()).to_pylist())
        if len(values) > (MOST_VALUES if required else FEW_VALUES):
            if not required:
                return []
            raise DataError(
                f"Text column {column!r} of {source.path} has more than {MOST_VALUES} different "
                "values, too many to encode. Leave it out."
            )
    return [Pick(f"{column}={value}", column, value) for value in sorted(values)]


def _texts(values: pa.Array) -> pa.DictionaryArray:
    """Return a column as texts, each once, and their numbers: one may be long, and repeat."""
    if not isinstance(values, pa.DictionaryArray):
        values = values.dictionary_encode()
    texts = values.dictionary.cast(pa.string())
    return pa.DictionaryArray.from_arrays(values.indices, texts)


def texts_of(values: pa.Array) -> NDArray:
    """Return an Arrow column as objects of text, None for holes; alike ones are one object."""
    texts = _texts(values)
    every = np.array([*texts.dictionary.to_pylist(), None], dtype=object)
    return every[texts.indices.fill_null(len(every) - 1).to_numpy()]


def numbers_of(values: pa.Array, equal_to: str | None = None) -> Any:
    """Return an Arrow column as numbers, NaN for holes; or 1 where it holds a text, else 0."""
    if equal_to is not None:
        texts = _texts(values)
        values = pc.equal(texts.dictionary, equal_to).take(texts.indices)
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    if not pa.types.is_floating(values.type):
        values = values.cast(pa.float64(), safe=False)  # whole numbers past 2^53 are rounded
    return values.to_numpy(zero_copy_only=False)


def _no_numbers(path: str, kinds: Mapping[str, str]) -> str:
    if not kinds:
        return f"No column of {path} is left. Name fewer to leave out."
    shown = ", ".join(f"{name} ({kind})" for name, kind in list(kinds.items())[:5])
    more = f" and {len(kinds) - 5} more" if len(kinds) > 5 else ""
    return f"{path} has no column of numbers: {shown}{more}. Encode the text that names classes."
