"""Tables of distances that are never whole in memory: tiles of them, and single pairs.

A space is a set of points and the distances between them: rows of a dense table, rows of a sparse
one, or a matrix of distances that is given. Whoever needs all distances asks for them a tile at a
time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import threads
from .kernels import Points, Rbf
from .proximity import sharpen, squares_between, squares_of_pairs
from .units import in_units, unit_of

__all__ = ["ROWS", "Dense", "Given", "Space", "Sparse", "between", "matrix_of", "require_distances"]

ROWS, COLUMNS = 256, 512  # of a tile: 1 MB
FEW = 16  # columns of a table up to which differences are as quick as products
PAIRS = 1 << 14  # in one piece of work
TILE = 512  # rows and columns
OFF_ZERO = 1e-3  # of the largest distance: more is none of a point to itself
NEAR = 1e-4  # of the squares of two points: below, the square of their distance loses digits

_unit = Rbf(1.0)  # a kernel of distances, for its tiles of squares


class Space(ABC):
    """Points, by their number, and the squared distances between them."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __len__(self) -> int:
        return int(self.table.shape[0])

    def tiles(
        self, rows: NDArray, first: int = 0, width: int = COLUMNS
    ) -> Iterator[tuple[int, NDArray]]:
        """Yield the squared distances of `rows` to all points from `first` on, a tile at a time.

        With each comes the number of the point it begins at. They are float64, new, right to the
        rounding of the squared lengths of points, and zero from each point to itself.
        """
        A = self._ready(rows)
        for span in threads.spans(len(self) - first, width):
            start, stop = first + span.start, first + span.stop
            tile = self._between(A, self._ready(slice(start, stop)))
            own = (rows >= start) & (rows < stop)
            tile[own, rows[own] - start] = 0  # rounding may say otherwise
            yield start, tile

    def pairs(self, i: NDArray, j: NDArray) -> NDArray:
        """Return the squared distance of each point of `i` to that of `j`, in float64."""
        spans = threads.spans(len(i), PAIRS)
        parts = threads.run(lambda s: self._of_pairs(i[spans[s]], j[spans[s]]), len(spans))
        return np.concatenate(parts)

    @abstractmethod
    def _ready(self, part: NDArray | slice) -> Any:
        """Return some points in the form that `_between` takes."""

    @abstractmethod
    def _between(self, A: Any, B: Any) -> NDArray:
        """Return the squared distances of the points of `A` to those of `B`, as a new array."""

    @abstractmethod
    def _of_pairs(self, i: NDArray, j: NDArray) -> NDArray:
        """Return the squared distance of each i to its j, equal where the points are."""


class Dense(Space):
    """Rows of a dense table, in C order, and the lengths of their differences."""

    def __init__(self, table: NDArray) -> None:
        super().__init__(np.ascontiguousarray(table))
        self.origin = _unit.origin(self.table)
        self._few = table.shape[1] <= FEW

    def _ready(self, part: NDArray | slice) -> Any:
        if self._few:
            return self.table[part].astype(np.float64, copy=False)
        return _unit.ready(self.table[part], self.origin)

    def _between(self, A: Any, B: Any) -> NDArray:
        if not self._few:
            return _unit.arguments(A, B)
        found = np.empty((len(A), len(B)))
        squares_between(A, np.ascontiguousarray(B.T), found)
        return found

    def _of_pairs(self, i: NDArray, j: NDArray) -> NDArray:
        found = np.empty(len(i))
        squares_of_pairs(self.table, i, j, found)
        return found


class Sparse(Space):
    """Rows of a sparse table in CSR form, and the lengths of their differences.

    It holds a copy in double precision.
    """

    def __init__(self, table: Any) -> None:
        if not table.has_canonical_format:
            table = table.copy()
            table.sum_duplicates()  # in order: equal rows give equal products
        super().__init__(table)
        self._points = _unit.ready(table)

    def _ready(self, part: Any) -> Any:
        return self._points[part]

    def _between(self, A: Any, B: Any) -> NDArray:
        return _unit.arguments(A, B)

    def _of_pairs(self, i: NDArray, j: NDArray) -> NDArray:
        rows = self._points.rows
        return _unit.ready(rows[i] - rows[j]).squares


class Given(Space):
    """A square matrix of distances."""

    def _ready(self, part: NDArray | slice) -> Any:
        return part

    def _between(self, A: Any, B: Any) -> NDArray:
        found: NDArray = self.table[A, B].astype(np.float64)
        return np.multiply(found, found, out=found)

    def _of_pairs(self, i: NDArray, j: NDArray) -> NDArray:
        return self.table[i, j].astype(np.float64) ** 2


def _sharp(A: Points, B: Points) -> NDArray:
    """Return a tile of squared distances of which every entry has its digits."""
    tile = _unit.arguments(A, B)
    sharpen(tile, A.rows, B.rows, A.squares, B.squares, NEAR)
    return tile


def matrix_of(X: NDArray) -> NDArray:
    """Return the matrix of distances between the rows of `X`, in its dtype, each computed once."""
    n, spans, unit = len(X), threads.spans(len(X), TILE // 2), unit_of(X)
    X = in_units(X)
    points = _unit.ready(X, _unit.origin(X))
    D = np.empty((n, n), X.dtype)

    def rows(s: int) -> None:
        A = points[spans[s]]
        for columns in spans[s:]:
            tile = _sharp(A, points[columns])
            np.sqrt(tile, out=tile)
            tile *= unit
            D[spans[s], columns] = tile
            D[columns, spans[s]] = tile.T

    threads.run(rows, len(spans))
    return D


def between(X: NDArray, Y: NDArray) -> NDArray:
    """Return the distances between the rows of `X` and those of `Y`, in float64.

    Those of a row of `X` that is so much larger than `Y` that squares overflow are not finite.
    """
    unit, Y = unit_of(Y), in_units(Y)  # of Y alone: a row of X has no part in those of another
    origin = _unit.origin(Y)
    B, spans = _unit.ready(Y, origin), threads.spans(len(X), TILE // 2)
    D = np.empty((len(X), len(Y)))

    def rows(s: int) -> None:
        A = _unit.ready(X[spans[s]].astype(np.float64, copy=False) / unit, origin)
        np.multiply(np.sqrt(_sharp(A, B)), unit, out=D[spans[s]])

    threads.run(rows, len(spans))
    return D


def require_distances(D: NDArray) -> None:
    """Raise unless the matrix, called X, is one of distances; NaN in it is left out."""
    n, m = D.shape
    if n != m:
        raise ValueError(
            f"X has shape {D.shape}, and metric='precomputed' needs the square matrix of distances "
            "between all rows."
        )
    least = np.fmin.reduce(D, axis=None)
    if least < 0:
        raise ValueError(
            f"X has a negative entry, {least:.3g}, and distances have none. Of similarities s "
            "give, for instance, 1 - s."
        )
    largest, own = float(np.fmax.reduce(D, axis=None)), float(np.fmax.reduce(D.diagonal()))
    if own > OFF_ZERO * largest:
        raise ValueError(
            f"X has {own:.3g} on its diagonal, and the distance of a point to itself is zero. Of "
            "similarities s give, for instance, 1 - s."
        )
    worst = _asymmetry(D)
    # what float32 or products of matrices leave of symmetric distances is taken
    if worst > float(np.sqrt(np.finfo(D.dtype).eps)) * largest:
        raise ValueError(
            f"X is not symmetric: some distance differs by {worst:.3g} from the one back. Give, "
            "for instance, (X + X.T) / 2."
        )


def _asymmetry(D: NDArray) -> float:
    """Return the largest difference of a square matrix from its transpose, where both are known."""
    spans = threads.spans(len(D), TILE)

    def of_rows(s: int) -> float:
        rows = spans[s]
        apart = (np.abs(D[rows, c] - D[c, rows].T) for c in spans[s:])
        return max(float(np.fmax.reduce(tile, axis=None, initial=0.0)) for tile in apart)

    return max(threads.run(of_rows, len(spans)))
