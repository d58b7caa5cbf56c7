"""How much of a Parquet file is unpacked at once, from the heads of its pages alone.

pyarrow unpacks a page of each column whole, whatever its size: a gigabyte of zeros takes a few
kilobytes of a file. The metadata at the end of the file has sizes too, but need not tell the truth.

The heads are Thrift in its compact protocol: of each field a byte with its type and the step from
the number of the last one, and then its value; numbers are of variable length.
"""

from __future__ import annotations

from collections.abc import Set
from io import FileIO
from pathlib import Path

import pyarrow.parquet

__all__ = ["unpacked_at_once"]

HEAD = (1 << 10, 1 << 16, 1 << 24)  # bytes that are tried, for heads hold values of text too
UNPACKED, PACKED = 2, 3  # numbers of the fields of a head
I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(4, 13)


def unpacked_at_once(path: Path, group: pyarrow.parquet.RowGroupMetaData, columns: Set[str]) -> int:
    """Return the bytes that the largest pages of these columns have when they are unpacked."""
    every = [group.column(j) for j in range(group.num_columns)]
    with FileIO(path) as file:
        return sum(
            _largest_page(file, column) for column in every if column.path_in_schema in columns
        )


def _largest_page(file: FileIO, column: pyarrow.parquet.ColumnChunkMetaData) -> int:
    at = column.data_page_offset
    if column.has_dictionary_page:
        at = min(at, column.dictionary_page_offset)
    end, largest = at + column.total_compressed_size, 0
    while at < end:
        head, size = _head(file, at)
        largest = max(largest, head[UNPACKED])
        if head[PACKED] < 0:
            raise ValueError("a page of negative size")
        at += size + head[PACKED]
    return largest


def _head(file: FileIO, at: int) -> tuple[dict[int, int], int]:
    """Return the whole numbers of the head of a page, by their fields, and its length."""
    for most in HEAD:
        file.seek(at)
        reader = _Thrift(file.read(most))
        try:
            return reader.struct(), reader.at
        except IndexError:  # longer than that
            continue
    raise ValueError("a page without an end")


class _Thrift:
    """Values of some bytes, one after the other."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def byte(self) -> int:
        self.move(1)
        return self.content[self.at - 1]

    def move(self, size: int) -> None:
        self.at += size
        if self.at > len(self.content):
            raise IndexError(self.at)

    def number(self) -> int:
        """Return a number in groups of seven bits, the last of them first."""
        value = 0
        for shift in range(0, 64, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number without an end")

    def signed(self) -> int:
        value = self.number()
        return value >> 1 ^ -(value & 1)

    def struct(self) -> dict[int, int]:
        """Return the whole numbers of a structure by their fields; others are skipped."""
        found, field = {}, 0
        while head := self.byte():
            field = field + (head >> 4) if head >> 4 else self.signed()
            kind = head & 0xF
            if kind in (I16, I32, I64):
                found[field] = self.signed()
            elif kind > 2:  # the others are true and false, and have no value
                self.skip(kind)
        return found

    def skip(self, kind: int) -> None:
        if kind in (I16, I32, I64):
            self.number()
        elif kind == BINARY:
            self.move(self.number())
        elif kind in (LIST, SET):
            head = self.byte()
            for _ in range(self.number() if head >> 4 == 0xF else head >> 4):
                self.skip(head & 0xF)
        elif kind == MAP:
            size = self.number()
            kinds = self.byte() if size else 0
            for _ in range(size):
                self.skip(kinds >> 4)
                self.skip(kinds & 0xF)
        elif kind == STRUCT:
            self.struct()
        else:
            self.move(8 if kind == DOUBLE else 1)
