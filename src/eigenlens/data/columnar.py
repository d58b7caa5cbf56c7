"""Parquet and Arrow files: their columns in small batches, so that memory stays bounded."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet

from ..ops import threads
from .arrow import Source, from_row
from .errors import DataError

__all__ = ["damaged", "read_arrow", "read_parquet"]

BATCH_BYTES = 1 << 23  # decoded at a time: less costs calls for each column, more leaves the cache
BUFFER_BYTES = (1 << 14, 1 << 18)  # of a column of a Parquet file: least and most
BUFFERS_BYTES = 1 << 26  # of all of them
MAPPED_BYTES = 1 << 27  # of a batch of an Arrow file, from which it is mapped rather than read
FAULTS = (pa.ArrowException, OSError)


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
    except FAULTS as error:
        raise damaged(where, error) from None


# -------------------------------------------------------------------------------- Parquet


def read_parquet(path: Path, name: str) -> Source:
    """Return the source of a Parquet file, named `name` in errors."""
    with _decoding(name), _parquet(path, 1) as file:
        schema, metadata = file.schema_arrow, file.metadata
        counts = [metadata.row_group(group).num_rows for group in range(file.num_row_groups)]

    def batches(columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        size = _rows_of([schema.field(column).type for column in columns])
        with _decoding(name):
            file = _parquet(path, len(columns))
        with file:
            for group, count in enumerate(counts):
                if start >= count:
                    start -= count
                    continue
                with _decoding(f"{name}, row group {group}"):
                    parts = file.iter_batches(
                        size,
                        row_groups=[group],
                        columns=columns,
                        use_threads=threads.n_threads() > 1,
                    )
                    yield from from_row(parts, start)
                start = 0

    rows = sum(counts)
    return _unambiguous(Source(name, schema, batches, rows, rows * len(schema) * 8))


def _parquet(path: Path, n_columns: int) -> pyarrow.parquet.ParquetFile:
    """Open a Parquet file that reads a buffer of each column at a time.

    Without buffers it would hold whole columns of a row group, which may be the whole file.
    """
    least, most = BUFFER_BYTES
    size = min(most, max(least, BUFFERS_BYTES // n_columns))
    return pyarrow.parquet.ParquetFile(
        path, buffer_size=size, pre_buffer=False, page_checksum_verification=True
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
    narrowest = min(schema, key=lambda field: _width(field.type), default=None)
    with _decoding(name), _Arrow(path, name, [narrowest.name] if narrowest else []) as file:
        rows = file.count()

    def batches(columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        with _decoding(name), _Arrow(path, name, columns) as file:
            yield from from_row(file.batches(), start)

    return _unambiguous(Source(name, schema, batches, rows, path.stat().st_size))


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
                batch.validate()
            yield from self._cut(batch.select(self.columns))

    def _parts(self) -> Iterator[pa.RecordBatch]:
        if self.n_batches is None:
            yield from self.reader
            return
        for i in range(self.n_batches):
            self._require_whole()
            yield self.reader.get_batch(i)

    def _cut(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        size = _rows_of(batch.schema.types)
        for start in range(0, batch.num_rows, size):
            self._require_whole()
            yield batch.slice(start, size)

    def _require_whole(self) -> None:
        """Raise if a mapped file has become shorter: a look at what is gone would be the end."""
        if self.mapped and self.path.stat().st_size < self.size:
            raise DataError(f"{self.name} was cut off while it was read. Make or fetch it anew.")


def _unambiguous(source: Source) -> Source:
    names = source.schema.names
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"{source.path} has more than one column named {double!r}. Give each a name of its own."
        )
    return source
