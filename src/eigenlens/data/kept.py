"""Rows that a fit keeps beside a table in blocks, from one pass over it to the next."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .packed import Stored, write_arrays

__all__ = ["Kept"]

IN_MEMORY = 1 << 30  # bytes, beyond which arrays go to files


class Kept:
    """An array for each block of a table: in memory or, past a gigabyte, in a temporary folder.

    The folder goes when the last reference to this object does.

    Parameters
    ----------
    stored : sequence of Stored or None
        Arrays of the first blocks, which are in files already.
    folder : Path, optional
        Where the temporary folder is made.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.data.kept import Kept
    >>> kept = Kept()
    >>> for rows in np.split(np.arange(6.0).reshape(3, 2), [1]):
    ...     kept.append(rows)
    >>> kept.gather()
    array([[0., 1.],
           [2., 3.],
           [4., 5.]])
    """

    def __init__(self, stored: Sequence[Stored | None] = (), folder: Path | None = None) -> None:
        self._arrays: list[NDArray | Path | Stored | None] = list(stored)
        self._nbytes = 0
        self._where = folder
        self._folder: Path | None = None

    def append(self, rows: NDArray | None) -> None:
        """Keep the rows of the next block, None if it has no rows."""
        if rows is None:
            self._arrays.append(None)
            return
        self._nbytes += rows.nbytes
        if self._nbytes <= IN_MEMORY:
            self._arrays.append(rows)
            return
        self._arrays.append(self._saved(rows))

    def _saved(self, rows: NDArray) -> Path:
        """Return the file that an array was put in."""
        try:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="eigenlens-", dir=self._where))
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            path = self._folder / f"{len(self._arrays)}.npy"
            np.save(path, rows, allow_pickle=False)
        except OSError as error:
            raise OSError(self._no_room(error)) from None
        return path

    def _no_room(self, error: OSError) -> str:
        where = "for temporary files"
        if self._folder is not None:
            where = str(self._folder.parent)
            shutil.rmtree(self._folder, ignore_errors=True)  # others may need the room
        return (
            f"The rows that this fit keeps take {self._nbytes / 1e9:.2g} GB or more, and there is "
            f"no room for them in the folder {where} ({error.strerror or error}). Name another by "
            "the environment variable TMPDIR, or make room there."
        )

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, i: int) -> NDArray | None:
        rows = self._arrays[i]
        if isinstance(rows, Stored):
            return rows.load()
        return np.load(rows, allow_pickle=False) if isinstance(rows, Path) else rows

    def __iter__(self) -> Iterator[NDArray | None]:
        return (self[i] for i in range(len(self)))

    def gather(self) -> NDArray:
        """Return all rows as one array."""
        return np.concatenate([rows for rows in self if rows is not None])

    def write(self, first: int, path: Path) -> list[Stored | None]:
        """Write the arrays of the blocks from `first` on to a file, and return where they are."""
        there = [i for i in range(first, len(self)) if self._arrays[i] is not None]
        if there:
            write_arrays(path, ((str(i), rows) for i in there if (rows := self[i]) is not None))
        found = set(there)
        return [Stored(str(path), str(i)) if i in found else None for i in range(first, len(self))]

    def settle(self) -> None:
        """Let go of the files and the folder that this object was given."""
        given, self._arrays = list(self), []
        self._nbytes, self._where, self._folder = 0, None, None
        for rows in given:
            self.append(rows)
