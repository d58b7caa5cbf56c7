"""Values in the compact protocol of Thrift, in which Parquet files say what they hold.

Of each field of a structure there is a byte with its type and the step from the number of the last
one, and then its value; numbers are of variable length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["I32", "I64", "LIST", "STRUCT", "Fields", "Thrift"]

TRUE, FALSE, _, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)


class Fields(dict[tuple[int, int], Any]):
    """The values of a structure by the numbers and types of its fields.

    A field that has another type than it should is not that field to any reader of a file.
    """

    def __missing__(self, field: tuple[int, int]) -> None:
        raise ValueError(f"field {field[0]} is missing")


class Thrift:
    """The values of some bytes, one after the other; IndexError where the bytes end."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def struct(self) -> Fields:
        """Return a structure."""
        return Fields({field: self.value(field[1]) for field in self.fields()})

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield the number and type of each field of a structure, whose value is to be read.

        Those that are true or false have no value behind their type, and are passed over.
        """
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._signed()
            if (kind := head & 0xF) > FALSE:
                yield field, kind

    def items(self) -> Iterator[int]:
        """Yield the type of each item of a list, whose value is to be read."""
        head = self._byte()
        for _ in range(self._number() if head >> 4 == 0xF else head >> 4):
            yield head & 0xF

    def value(self, kind: int) -> Any:
        """Return the value of a type, None of a type that nobody asks for here.

        Each takes a byte at least, so that a number of them that is made up comes to the end.
        """
        if I16 <= kind <= I64:
            return self._signed()
        if kind == BINARY:
            return self._bytes(self._number())
        if kind in (LIST, SET):
            return [self.value(kind) for kind in self.items()]
        if kind == STRUCT:
            return self.struct()
        if kind == MAP:
            size = self._number()
            kinds = self._byte() if size else 0
            for _ in range(size):
                self.value(kinds >> 4)
                self.value(kinds & 0xF)
            return None
        self._bytes(8 if kind == DOUBLE else 1)
        return None

    def _bytes(self, size: int) -> bytes:
        start = self.at
        self.at += size
        if self.at > len(self.content):
            raise IndexError(self.at)
        return self.content[start : self.at]

    def _byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def _number(self) -> int:
        """Return a number in groups of seven bits, the last of them first."""
        value = self._byte()
        if value < 0x80:  # as most are
            return value
        value &= 0x7F
        for shift in range(7, 64, 7):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number without an end")

    def _signed(self) -> int:
        value = self._number()
        return value >> 1 ^ -(value & 1)
