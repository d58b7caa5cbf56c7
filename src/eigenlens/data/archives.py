"""Zip archives from anywhere: what they unpack to is known before it is in memory.

The directory of an archive says how large its members are, and may lie; and members may be packed
by methods of which one kilobyte gives a gigabyte at once.
"""

from __future__ import annotations

import copy
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np

__all__ = ["PIECE", "in_bounds", "require_honest", "unpacked"]

PIECE = 1 << 20  # bytes that are looked at at a time


def unpacked(archive: ZipFile) -> int:
    """Return the bytes that all members have when they are unpacked, as the archive says.

    Raises
    ------
    BadZipFile
        If a member is packed in another way than numpy and skops do, or is encrypted.
    """
    for member in archive.infolist():
        if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or member.flag_bits & 1:
            raise BadZipFile(f"{member.filename!r} is packed or encrypted in a way that is unknown")
    return sum(member.file_size for member in archive.infolist())


def require_honest(archive: ZipFile) -> None:
    """Raise BadZipFile if a member has another size or checksum than the archive says.

    ``ZipFile.read`` unpacks a member whole before it cuts it to the size that it should have.
    """
    for member in archive.infolist():
        if member.compress_type == ZIP_STORED:  # as long as it is in the archive
            continue
        longer = copy.copy(member)
        longer.file_size += 1
        size = 0
        with archive.open(longer) as stream:
            while part := stream.read(PIECE):
                size += len(part)
        if size != member.file_size:
            raise BadZipFile(f"{member.filename!r} has another size than the archive says")


def in_bounds(matrix: Any) -> Any:
    """Return a sparse matrix that was in an archive, if it does not point outside of itself.

    scipy's products would follow it there, and end the process.
    """
    if hasattr(matrix, "check_format"):  # the other formats are checked when they are made
        matrix.check_format(full_check=True)
        # which stops where the last entry of indptr is zero, whatever those before it say
        if np.any(np.diff(matrix.indptr) < 0):
            raise ValueError("the index pointers of a sparse matrix fall")
    return matrix
