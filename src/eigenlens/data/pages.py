"""How much of a Parquet file is unpacked at once, from the heads of its pages alone.

pyarrow unpacks a page of each column whole, whatever its size: a gigabyte of zeros takes a few
kilobytes of a file. The metadata at the end of the file has sizes too, but need not tell the truth.

Where the pages are is read here too: pyarrow's own account of a column ends the process where
the metadata of that column does not fit its type.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from .thrift import I32, I64, LIST, STRUCT, Fields, Thrift

__all__ = ["Chunk", "largest_list", "row_groups", "unpacked_at_once"]

HEAD = (1 << 10, 1 << 16, 1 << 24)  # bytes that are tried, for heads hold values of text too
ITEM_BYTES = 8  # that an item of a long list in the metadata takes at least: columns, rows
LISTS = (1000, 1_000_000)  # items that a list there may have: in any file, and in none more

END, MARK = struct.Struct("<I4s"), b"PAR1"  # a length and a mark are the last of the file

# numbers and types of fields
ROW_GROUPS = (4, LIST)
COLUMNS = (1, LIST)
METADATA = (3, STRUCT)
ENCODINGS, PATH = (2, LIST), (3, LIST)
SIZE, DATA, DICTIONARY = (7, I64), (9, I64), (11, I64)
UNPACKED, PACKED = (2, I32), (3, I32)


@dataclass(frozen=True, slots=True)
class Chunk:
    """The pages of one column in a group of rows: where they begin and end, how they are coded."""

    column: str
    encodings: frozenset[int]
    start: int
    end: int


def largest_list(path: Path) -> int:
    """Return how many items a list in the metadata of a Parquet file can have, by its length.

    pyarrow makes room for as many as the list says that it has, a kilobyte for each.
    """
    least, most = LISTS
    with FileIO(path) as file:
        return min(most, max(least, _to_metadata(file) // ITEM_BYTES))


def row_groups(path: Path) -> Iterator[list[Chunk]]:
    """Yield the columns of each group of rows of a Parquet file."""
    with FileIO(path) as file:
        reader = Thrift(file.read(_to_metadata(file)))
    for field in reader.fields():
        if field == ROW_GROUPS:
            for kind in reader.items():
                yield [_chunk(column[METADATA]) for column in reader.value(kind)[COLUMNS]]
            return
        reader.value(field[1])


def _to_metadata(file: FileIO) -> int:
    """Go to what a Parquet file says of itself, and return its length.

    Nothing of another file, of which pyarrow says what is wrong.
    """
    end = file.seek(0, 2) - END.size
    if end < 0:
        return 0
    file.seek(end)
    length, mark = END.unpack(file.read(END.size))
    if mark != MARK or length > end:
        return 0
    file.seek(end - length)
    return int(length)


def _chunk(fields: Fields) -> Chunk:
    start = fields[DATA]
    if 0 < fields.get(DICTIONARY, 0) < start:
        start = fields[DICTIONARY]
    column = b".".join(fields[PATH]).decode()
    return Chunk(column, frozenset(fields[ENCODINGS]), start, start + fields[SIZE])


def unpacked_at_once(path: Path, chunks: Iterable[Chunk]) -> int:
    """Return the bytes that the largest pages of these columns have when they are unpacked."""
    with FileIO(path) as file:
        return sum(max(_pages(file, chunk), default=0) for chunk in chunks)


def _pages(file: FileIO, chunk: Chunk) -> Iterator[int]:
    """Yield the bytes of each page when it is unpacked."""
    at, length = chunk.start, file.seek(0, 2)
    while at < chunk.end:
        head, size = _head(file, at)
        yield head[UNPACKED]
        at += size + head[PACKED]
        if head[PACKED] < 0 or at > length:
            raise ValueError("a page of a size that cannot be")


def _head(file: FileIO, at: int) -> tuple[Fields, int]:
    """Return the head of a page, and its length."""
    for most in HEAD:
        file.seek(at)
        reader = Thrift(file.read(most))
        try:
            return reader.struct(), reader.at
        except IndexError:  # longer than that
            continue
    raise ValueError("a page without an end")
