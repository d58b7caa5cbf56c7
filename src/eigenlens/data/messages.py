"""How much a batch of an Arrow file unpacks to, from its head alone.

pyarrow unpacks a batch whole, whatever its size. A file or stream is a row of messages, each with a
head, which is a FlatBuffer, and a body of buffers. A buffer that is packed begins with the bytes
that it unpacks to.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from io import FileIO

__all__ = ["BATCH", "batches_of_file", "batches_of_stream", "unpacked"]

CONTINUED = b"\xff\xff\xff\xff"
DICTIONARY, BATCH = 2, 3  # kinds of messages


def batches_of_file(file: FileIO) -> tuple[list[int], list[int]]:
    """Return where the dictionaries and the batches of an Arrow file are, as its end says."""
    end = file.seek(-10, 2)  # a length, and the mark of the format
    (length,) = struct.unpack("<I", file.read(4))
    file.seek(end - length)
    foot = _Table.root(file.read(length))
    return foot.places(2), foot.places(3)


def batches_of_stream(file: FileIO) -> Iterator[tuple[int, int]]:
    """Yield where each message of an Arrow stream is, and its kind."""
    at = 0
    while (message := _message(file, at)) is not None:
        head, body = message
        yield at, head.byte(1)
        if head.long(3) < 0:  # would go back, and so on
            raise ValueError("a body of negative size")
        at = body + head.long(3)


def unpacked(file: FileIO, at: int) -> int:
    """Return the bytes that the batch or dictionary at this place has when it is unpacked."""
    message = _message(file, at)
    if message is None:
        return 0
    head, body = message
    batch = head.table(2)
    if head.byte(1) == DICTIONARY and batch is not None:
        batch = batch.table(1)
    if batch is None or batch.field(3) is None:  # is not packed
        return 0
    return sum(_length(file, body + offset) for offset, size in batch.pairs(2) if size)


def _message(file: FileIO, at: int) -> tuple[_Table, int] | None:
    """Return the head of a message and where its body is, None at the end."""
    file.seek(at)
    length = file.read(4)
    if length == CONTINUED:  # not so in the first versions
        length, at = file.read(4), at + 4
    if len(length) < 4 or not any(length):
        return None
    (size,) = struct.unpack("<I", length)
    return _Table.root(file.read(size)), at + 4 + size


def _length(file: FileIO, at: int) -> int:
    file.seek(at)
    (length,) = struct.unpack("<q", file.read(8))
    return max(0, int(length))  # -1: this one is not packed


class _Table:
    """A table of a FlatBuffer: before it the places of its fields, by their numbers."""

    def __init__(self, content: bytes, at: int) -> None:
        self.content, self.at = content, at

    @classmethod
    def root(cls, content: bytes) -> _Table:
        return cls(content, struct.unpack_from("<I", content)[0])

    def field(self, number: int) -> int | None:
        """Return where a field is, None if it has its default."""
        places = self.at - struct.unpack_from("<i", self.content, self.at)[0]
        place = 4 + 2 * number
        if place >= struct.unpack_from("<H", self.content, places)[0]:
            return None
        step: int = struct.unpack_from("<H", self.content, places + place)[0]
        return self.at + step if step else None

    def byte(self, number: int) -> int:
        at = self.field(number)
        return 0 if at is None else self.content[at]

    def long(self, number: int) -> int:
        at = self.field(number)
        return 0 if at is None else int(struct.unpack_from("<q", self.content, at)[0])

    def table(self, number: int) -> _Table | None:
        at = self.field(number)
        return None if at is None else _Table(self.content, at + self._step(at))

    def _step(self, at: int) -> int:
        return int(struct.unpack_from("<I", self.content, at)[0])

    def pairs(self, number: int, width: int = 16) -> list[tuple[int, int]]:
        """Return the first and the last number of each entry of a vector of structures."""
        at = self.field(number)
        if at is None:
            return []
        at += self._step(at)
        size = self._step(at)
        ends = (f"<q{width - 16}xq", self.content)
        return [struct.unpack_from(*ends, at + 4 + width * i) for i in range(size)]

    def places(self, number: int) -> list[int]:
        """Return the places of a vector of blocks: place, length of the head, of the body."""
        return [place for place, _ in self.pairs(number, width=24)]
