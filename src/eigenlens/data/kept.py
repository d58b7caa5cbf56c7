"""Rows that a fit keeps beside a table in blocks, from one pass over it to the next."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["Kept"]

IN_MEMORY = 1 << 30  # bytes, beyond which arrays go to files


class Kept:
    """An array for each block of a table: in memory or, past a gigabyte, in a temporary folder.

    The folder goes when the last reference to this object does.

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

    def __init__(self) -> None:
        self._arrays: list[NDArray | Path | None] = []
        self._nbytes = 0
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
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="eigenlens-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        path = self._folder / f"{len(self._arrays)}.npy"
        np.save(path, rows, allow_pickle=False)
        self._arrays.append(path)

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, i: int) -> NDArray | None:
        rows = self._arrays[i]
        return np.load(rows, allow_pickle=False) if isinstance(rows, Path) else rows

    def __iter__(self) -> Iterator[NDArray | None]:
        return (self[i] for i in range(len(self)))

    def gather(self) -> NDArray:
        """Return all rows as one array."""
        return np.concatenate([rows for rows in self if rows is not None])
