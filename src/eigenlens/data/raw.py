"""Rows of arrays that numpy maps from a file, read rather than mapped.

Pages that were looked at would count as memory of the process, and a file that is cut off
meanwhile would end it.
"""

from __future__ import annotations

from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError

__all__ = ["Raw", "file_of"]


def file_of(array: Any) -> Path | None:
    """Return the file that an array is mapped from, None for other arrays."""
    root = _root(array)
    return None if root is None or root.filename is None else Path(root.filename)


def _root(array: Any) -> Any:
    """Return the array of a whole file that this one is a view of, None for other arrays."""
    if not isinstance(array, np.memmap):
        return None
    root: Any = array
    while isinstance(root.base, np.memmap):  # views carry the offset of what they are views of
        root = root.base
    return root


class Raw:
    """A matrix that lies in a file, row by row or column by column without gaps."""

    def __init__(self, array: NDArray, file: Path, name: str) -> None:
        root = _root(array)
        self.file, self.name, self.dtype, self.shape = file, name, array.dtype, array.shape
        self.by_rows = array.flags.c_contiguous
        self.offset = root.offset + array.ctypes.data - root.ctypes.data

    @classmethod
    def of(cls, array: Any, name: str) -> Raw | None:
        """Return the matrix, named `name` in errors, None if it lies otherwise or in no file."""
        file = file_of(array)
        return cls(array, file, name) if file is not None and array.flags.forc else None

    def fill(self, start: int, out: NDArray) -> None:
        """Read the rows from `start` on into `out`, as many as it has."""
        n, width = self.shape
        as_they_are = out.dtype == self.dtype and out.flags.c_contiguous
        with FileIO(self.file) as file:
            if self.by_rows:
                rows = out if as_they_are else np.empty(out.shape, self.dtype)
                self._read(file, start * width, rows.reshape(-1))
                if not as_they_are:
                    out[:] = rows
                return
            column = np.empty(len(out), self.dtype)
            for j in range(width):
                self._read(file, j * n + start, column)
                out[:, j] = column

    def _read(self, file: FileIO, start: int, out: NDArray) -> None:
        """Fill `out` with the entries of the file from number `start` on."""
        file.seek(self.offset + start * out.itemsize)
        rest: Any = out.view(np.uint8)
        while rest.size:
            size = file.readinto(rest)
            if not size:
                raise DataError(
                    f"{self.name} was cut off while it was read. Make or fetch it anew."
                )
            rest = rest[size:]
