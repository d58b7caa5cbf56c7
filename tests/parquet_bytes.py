"""Parquet files that say something else of themselves than they hold."""

import struct

__all__ = ["in_metadata", "in_page", "varint", "whole"]


def varint(number):
    """A number in groups of seven bits, as Thrift has lengths."""
    content = b""
    while number >= 128:
        content += bytes([number & 127 | 128])
        number >>= 7
    return content + bytes([number])


def whole(number):
    """A number that may be negative, as Thrift has values."""
    return varint(2 * number if number >= 0 else -2 * number - 1)


def in_metadata(path, old, new, nth=0):
    """Put other bytes in the place of those in the metadata, the nth time that they are there."""
    content = path.read_bytes()
    (length,) = struct.unpack("<I", content[-8:-4])
    start, at = len(content) - 8 - length, -1
    for _ in range(nth + 1):
        at = content.index(old, max(at + 1, start))
    metadata = content[start:at] + new + content[at + len(old) : -8]
    path.write_bytes(content[:start] + metadata + struct.pack("<I", len(metadata)) + content[-4:])


def in_page(path, old, new):
    """Put other bytes in the place of those in the head of the first page.

    What they are longer goes from the body of the page, so that all else stays where it is.
    """
    content = path.read_bytes()
    at, end = content.index(old, 4), 100
    assert at < end
    longer = len(new) - len(old)
    made = content[:at] + new + content[at + len(old) : end] + content[end + longer :]
    assert len(made) == len(content)
    path.write_bytes(made)
