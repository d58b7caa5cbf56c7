"""Parquet and Arrow files: their columns in small batches, so that memory stays bounded."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet

from ..ops import threads
from .arrow import Source, from_row, kind_of
from .errors import DataError
from .messages import BATCH, batches_of_file, batches_of_stream, unpacked
from .pages import largest_list, row_groups, unpacked_at_once

__all__ = ["damaged", "read_arrow", "read_parquet"]

BATCH_BYTES = 1 << 23  # decoded at a time: less costs calls for each column, more leaves the cache
BUFFER_BYTES = (1 << 14, 1 << 18)  # of a column of a Parquet file: least and most
BUFFERS_BYTES = 1 << 26  # of all of them
MAPPED_BYTES = 1 << 27  # of a batch of an Arrow file, from which it is mapped rather than read
MOST_GROWTH = 100  # times its size, that a file may unpack to at once
GROWN_BYTES = 1 << 26  # that any file may
PAGE_BYTES = 1 << 31  # of a page of a Parquet file, at most
MOST_ROWS = 1 << 40
# by their numbers in Parquet: plain, run lengths, and dictionaries, whose texts come each once
ENCODINGS = {0, 3, 2, 8}


def damaged(where: str, error: Exception) -> DataError:
    """Return the error for a file that cannot be decoded, or a part of it."""
    if isinstance(error, FileNotFoundError):
        return DataError(f"{where} is gone. Read the table anew when nobody changes its files.")
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:120]
    return DataError(f"{where} is damaged or cut off ({reason}). Make or fetch it anew.")


@contextmanager
def _decoding(where: str) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # what garbage raises is not to be foreseen
        raise damaged(where, error) from None


def _require_modest(grown: int, path: Path, where: str, part: str) -> None:
    """Raise if what is unpacked at once would take far more memory than the file has bytes."""
    size = path.stat().st_size
    if grown > max(GROWN_BYTES, MOST_GROWTH * size):
        raise DataError(
            f"{where} would unpack to {grown / 1e6:.0f} MB at once, from a file of "
            f"{size / 1e6:.2g} MB: it is not read. Write the table in smaller {part}."
        )


# -------------------------------------------------------------------------------- Parquet


def read_parquet(path: Path, name: str) -> Source:
    """Return the source of a Parquet file, named `name` in errors."""
    with _decoding(name), _parquet(path, 1) as file:
        schema, metadata = file.schema_arrow, file.metadata
        _require_unambiguous(schema.names, name)
        counts = [metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        groups = row_groups(path)
        first = next(groups, [])
        # a larger one may unpack to more than a page can have
        looked_at = [first, *groups] if MOST_GROWTH * path.stat().st_size < PAGE_BYTES else None
    # as its values, each once, and their numbers: a text that repeats takes nothing in the file
    coded = {chunk.column: chunk.encodings for chunk in first}
    texts = [
        field.name
        for field in schema
        if kind_of(field.type) == "text" and coded.get(field.name, ENCODINGS) <= ENCODINGS
    ]

    def batches(columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        size, wanted = _rows_of([schema.field(column).type for column in columns]), set(columns)
        with _decoding(name):
            file = _parquet(path, len(columns), [text for text in texts if text in wanted])
        with file:
            for group, count in enumerate(counts):
                if start >= count:
                    start -= count
                    continue
                with _decoding(where := f"{name}, row group {group}"):
                    if looked_at is not None:
                        chunks = (chunk for chunk in looked_at[group] if chunk.column in wanted)
                        _require_modest(unpacked_at_once(path, chunks), path, where, "pages")
                    parts = file.iter_batches(
                        size,
                        row_groups=[group],
                        columns=columns,
                        use_threads=threads.n_threads() > 1,
                    )
                    for part in from_row(parts, start):
                        part.validate(full=True)
                        yield part
                start = 0

    rows = _modest(sum(counts), name)
    return Source(name, schema, batches, rows, rows * len(schema) * 8)


def _parquet(
    path: Path, n_columns: int, texts: list[str] | None = None
) -> pyarrow.parquet.ParquetFile:
    """Open a Parquet file that reads a buffer of each column at a time.

    Without buffers it would hold whole columns of a row group, which may be the whole file.
    """
    least, most = BUFFER_BYTES
    size = min(most, max(least, BUFFERS_BYTES // n_columns))
    return pyarrow.parquet.ParquetFile(
        path,
        buffer_size=size,
        pre_buffer=False,
        page_checksum_verification=True,
        read_dictionary=texts,
        thrift_container_size_limit=largest_list(path),
    )


def _rows_of(types: Iterable[pa.DataType]) -> int:
    """Return how many rows of columns of these types are decoded at a time."""
    return max(1, BATCH_BYTES // max(1, sum(map(_width, types))))


def _width(type_: pa.DataType) -> int:
    """Return about how many bytes a value takes; of text, which varies, a few words."""
    try:
        return max(1, type_.bit_width // 8)
    except ValueError:
        return 16


# -------------------------------------------------------------------------------- Arrow


def read_arrow(path: Path, name: str) -> Source:
    """Return the source of an Arrow file or stream, named `name` in errors."""
    with _decoding(name), _Arrow(path, name) as file:
        schema = file.reader.schema
        _require_unambiguous(schema.names, name)
    narrowest = min(schema, key=lambda field: _width(field.type), default=None)
    with _decoding(name), _Arrow(path, name, [narrowest.name] if narrowest else []) as file:
        rows = file.count()
    nbytes = path.stat().st_size if rows is None else _modest(rows, name) * len(schema) * 8

    def batches(columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        with _decoding(name), _Arrow(path, name, columns) as file:
            yield from from_row(file.batches(), start)

    return Source(name, schema, batches, rows, nbytes)


class _Arrow:
    """An open Arrow file or stream, whose batches are read.

    They are not mapped: a mapped file that is cut off meanwhile would end the process, and reading
    is as fast. Only a file whose batches are too large to be read whole is mapped.
    """

    def __init__(self, path: Path, name: str, columns: list[str] | None = None) -> None:
        self.path, self.name, self.columns = path, name, columns
        self.size = path.stat().st_size
        self.stack = ExitStack()
        file = self.stack.enter_context(pa.OSFile(str(path)))
        self.reader: Any
        try:
            self.reader = pa.ipc.open_file(file)
        except pa.ArrowInvalid:
            file.seek(0)
            self.reader = pa.ipc.open_stream(file)
        self.n_batches = getattr(self.reader, "num_record_batches", None)  # None of a stream
        self.mapped = self.n_batches is not None and self.size > MAPPED_BYTES * self.n_batches
        if self.mapped:
            file = self.stack.enter_context(pa.memory_map(str(path)))
            self.reader = pa.ipc.open_file(file)
        elif columns and self.n_batches is not None:
            fields = [self.reader.schema.get_field_index(column) for column in columns]
            options = pa.ipc.IpcReadOptions(included_fields=fields)  # others are not read at all
            self.reader = pa.ipc.open_file(file, options=options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()

    def count(self) -> int | None:
        """Return the number of rows, None for a stream, all of which would have to be read."""
        return None if self.n_batches is None else sum(part.num_rows for part in self._parts())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the columns asked for, a few rows at a time."""
        parts = self._parts()
        for i in itertools.count():
            with _decoding(f"{self.name}, record batch {i}"):
                batch = next(parts, None)
                if batch is None:
                    return
                batch = batch.select(self.columns)
                batch.validate(full=True)  # numbers of values that are not there end the process
            yield from self._cut(batch)

    def _parts(self) -> Iterator[pa.RecordBatch]:
        with FileIO(self.path) as file:
            if self.n_batches is None:
                yield from self._parts_of_stream(file)
                return
            dictionaries, batches = batches_of_file(file)
            for at in dictionaries:
                self._require_modest(file, at, "a dictionary")
            for i in range(self.n_batches):
                self._require_modest(file, batches[i], f"record batch {i}")
                self._require_whole()
                yield self.reader.get_batch(i)

    def _parts_of_stream(self, file: FileIO) -> Iterator[pa.RecordBatch]:
        count = 0
        for at, kind in batches_of_stream(file):
            self._require_modest(file, at, f"record batch {count}")
            if kind == BATCH:
                yield self.reader.read_next_batch()
                count += 1

    def _require_modest(self, file: FileIO, at: int, what: str) -> None:
        _require_modest(unpacked(file, at), self.path, f"{self.name}, {what},", "batches")

    def _cut(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        size = _rows_of(batch.schema.types)
        for start in range(0, batch.num_rows, size):
            self._require_whole()
            yield batch.slice(start, size)

    def _require_whole(self) -> None:
        """Raise if a mapped file has become shorter: a look at what is gone would be the end."""
        if self.mapped and self.path.stat().st_size < self.size:
            raise DataError(f"{self.name} was cut off while it was read. Make or fetch it anew.")


def _require_unambiguous(names: list[str], path: str) -> None:
    double = next((name for name, count in Counter(names).items() if count > 1), None)
    if double is not None:
        raise DataError(
            f"{path} has more than one column named {double!r}. Give each a name of its own."
        )


def _modest(rows: int, path: str) -> int:
    """Return a number of rows, if a table can have as many."""
    if rows > MOST_ROWS:
        raise DataError(f"{path} says that it has {rows} rows: it is damaged. Make it anew.")
    return rows
