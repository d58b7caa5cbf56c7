"""Tables of distances that are never whole in memory: tiles of them, and single pairs.

A space is a set of points and the distances between them: rows of a dense table, rows of a sparse
one, or a matrix of distances that is given. Whoever needs all distances asks for them a tile at a
time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import threads
from .kernels import Rbf
from .proximity import squares_of_pairs

__all__ = ["Dense", "Given", "Space", "Sparse"]

PAIRS = 1 << 14  # in one piece of work

_unit = Rbf(1.0)  # a kernel of distances, for its tiles of squares


class Space(ABC):
    """Points, by their number, and the squared distances between them."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __len__(self) -> int:
        return int(self.table.shape[0])

    def squares(self, rows: NDArray, columns: slice) -> NDArray:
        """Return a tile of squared distances in float64, with zero from each point to itself."""
        tile = self._tile(rows, columns)
        inside = (rows >= columns.start) & (rows < columns.stop)
        tile[inside, rows[inside] - columns.start] = 0  # rounding may say otherwise
        return tile

    @abstractmethod
    def _tile(self, rows: NDArray, columns: slice) -> NDArray:
        """Return a new tile, right to the rounding of the squared lengths of points."""

    @abstractmethod
    def _of_pairs(self, i: NDArray, j: NDArray) -> NDArray:
        """Return the squared distance of each i to its j, equal where the points are."""

    def pairs(self, i: NDArray, j: NDArray) -> NDArray:
        """Return the squared distance of each point of `i` to that of `j`, in float64."""
        spans = threads.spans(len(i), PAIRS)
        parts = threads.run(lambda s: self._of_pairs(i[spans[s]], j[spans[s]]), len(spans))
        return np.concatenate(parts)


class Dense(Space):
    """Rows of a dense table, in C order, and the lengths of their differences."""

    def __init__(self, table: NDArray) -> None:
        super().__init__(np.ascontiguousarray(table))
        self.origin = _unit.origin(self.table)

    def _tile(self, rows: NDArray, columns: slice) -> NDArray:
        A, B = (_unit.ready(self.table[part], self.origin) for part in (rows, columns))
        return _unit.arguments(A, B)

    def _of_pairs(self, i: NDArray, j: NDArray) -> NDArray:
        found = np.empty(len(i))
        squares_of_pairs(self.table, i, j, found)
        return found


class Sparse(Space):
    """Rows of a sparse table in CSR form, and the lengths of their differences."""

    def __init__(self, table: Any) -> None:
        if not table.has_canonical_format:
            table = table.copy()
            table.sum_duplicates()  # in order: equal rows give equal products
        super().__init__(table)
        self._points = _unit.ready(table)

    def _tile(self, rows: NDArray, columns: slice) -> NDArray:
        return _unit.arguments(self._points[rows], self._points[columns])

    def _of_pairs(self, i: NDArray, j: NDArray) -> NDArray:
        rows = self._points.rows
        return _unit.ready(rows[i] - rows[j]).squares


class Given(Space):
    """A square matrix of distances."""

    def _tile(self, rows: NDArray, columns: slice) -> NDArray:
        found: NDArray = self.table[rows, columns].astype(np.float64)
        return np.multiply(found, found, out=found)

    def _of_pairs(self, i: NDArray, j: NDArray) -> NDArray:
        return self.table[i, j].astype(np.float64) ** 2
