"""Nearest neighbours and ranks among all points, exact, without a matrix of distances.

Products of matrices give all distances quickly and up to a known error. Here they are in single
precision, twice as fast as in double: they settle all comparisons but a few in a hundred thousand,
and those are made again from the points themselves. So the answer does not depend on how the
products were rounded: equal points are equally far, and ties go by the number of the point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import threads
from .distances import Dense, Space
from .proximity import count_before, keep_nearest

__all__ = ["Neighbours", "Ordering"]

ROWS, COLUMNS = 256, 1024  # of a tile: 1 MB
STRIP = 1 << 21  # entries of a strip of whole rows
CONVERTED = 1 << 20  # entries of a table that are converted at a time
TRIAL = 64  # rows that settle the precision, at most those of a tile
OFTEN = 0.02  # of all distances: as many a second time cost more than double precision
ALWAYS = 32  # that take a second look whatever the precision, in a row, until neighbours are found


class Ordering(NamedTuple):
    """What is known of some points, one a row: neighbours in order, and ranks of marked points."""

    nearest: NDArray
    """The k nearest points, by number, nearest first."""
    ranks: NDArray
    """Place of each marked point among all others: 1 for the nearest."""
    squares: NDArray
    """Squared distances of the nearest points."""


class Neighbours:
    """Who is near to whom in a space.

    It holds a copy of a dense table in single precision, and for each thread a tile.
    """

    def __init__(self, space: Space) -> None:
        self.space = space

    def order(self, rows: NDArray, k: int = 0, marks: NDArray | None = None) -> Ordering:
        """Return the `k` nearest points of each of `rows`, and the ranks of its `marks`.

        Parameters
        ----------
        rows : ndarray of int64 of shape (m,)
        k : int
            Less than the number of points.
        marks : ndarray of int64 of shape (m, q), optional
            Points other than that of the row.
        """
        if marks is None:
            marks = np.empty((len(rows), 0), np.int64)
        spans = threads.spans(len(rows), self._blocks.height)

        def block(s: int) -> Ordering:
            return _ordered(self._blocks, rows[spans[s]], k, marks[spans[s]])[0]

        parts = threads.run(block, len(spans))
        return Ordering(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    @cached_property
    def _blocks(self) -> Any:
        if not isinstance(self.space, Dense):
            return _Strips(self.space)
        coarse = _Filter(self.space, np.float32)
        n = len(self.space)
        rows = np.unique(np.linspace(0, n - 1, TRIAL).astype(np.int64))
        none = np.empty((len(rows), 0), np.int64)
        asked = _ordered(coarse, rows, 1, none)[1]
        if asked <= len(rows) * (ALWAYS + OFTEN * n):
            return coarse
        return _Filter(self.space, np.float64)  # tight groups, far from each other


class _Tile(NamedTuple):
    first: int
    values: NDArray
    slack: NDArray


class _Block(NamedTuple):
    """Squared distances of some points: to marked ones, and in tiles to all. See `proximity`."""

    level: NDArray
    shift: NDArray
    error: NDArray
    tiles: Iterable[_Tile]


class _Filter:
    """Squared distances of a dense table, as products give them, with bounds on their error.

    With z the rows off the origin, ``|z_i - z_j|^2 - |z_i|^2`` is the product of (-2 z_i, 1) and
    (z_j, |z_j|^2). Of d + 1 terms, in a precision of unit roundoff u, it is off by no more than
    ``m u (|z_i|^2 + 2 |z_j|^2)`` with ``m = d + 1``, but for the small factor 1 / (1 - m u). What
    rounds z, its square and the limits that a distance is compared with comes to less than
    ``12 u (|z_i|^2 + |z_j|^2)``.
    """

    height = ROWS

    def __init__(self, space: Dense, dtype: type) -> None:
        X = space.table
        n, d = X.shape
        self.space, self.points = space, X
        spans = threads.spans(n, max(1, CONVERTED // d))
        sizes = threads.run(lambda s: np.abs(X[spans[s]] - space.origin).max(), len(spans))
        # a power of two, which rounds nothing, keeps squares far from the ends of the range
        scale = 2.0 ** -np.frexp(max(sizes))[1]
        self.unit = float(scale * scale)
        self.table = np.empty((n, d + 1), dtype)
        self.squares = np.empty(n)

        def convert(s: int) -> None:
            Z = self.table[spans[s], :d]
            Z[:] = (X[spans[s]] - space.origin) * scale
            self.squares[spans[s]] = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)

        threads.run(convert, len(spans))
        self.table[:, d] = self.squares
        u, tiny = float(np.finfo(dtype).eps) / 2, float(np.finfo(dtype).tiny)
        terms = (d + 1) * (1 + 2 * (d + 1) * u)
        # the last is for the distance that it is compared with, computed from the points
        share = (2 * terms + 12) * u + 2 * (d + 4) * 2.0**-53
        # entries below the range of the precision are lost altogether
        self.error = share * self.squares + (d + 16) * tiny
        self.slack = self.error.astype(dtype)
        self._scratch = threads.Scratch(ROWS * COLUMNS, np.dtype(dtype))
        self._columns = threads.spans(n, COLUMNS)

    def block(self, rows: NDArray, marks: NDArray) -> _Block:
        level = self.space.pairs(np.repeat(rows, marks.shape[1]), marks.ravel()) * self.unit
        return _Block(
            level.reshape(marks.shape), self.squares[rows], self.error[rows], self._tiles(rows)
        )

    def _tiles(self, rows: NDArray) -> Iterator[_Tile]:
        A = self.table[rows]
        A[:, :-1] *= -2
        A[:, -1] = 1
        for span in self._columns:
            values = self._scratch.array(len(rows), span.stop - span.start)
            np.matmul(A, self.table[span].T, out=values)
            yield _Tile(span.start, values, self.slack[span])


class _Strips:
    """Squared distances of any space, taken as they are: whole rows of them at a time."""

    points = np.empty((0, 0))
    unit = 1.0

    def __init__(self, space: Space) -> None:
        self.space = space
        self.height = max(1, min(ROWS, STRIP // len(space)))

    def block(self, rows: NDArray, marks: NDArray) -> _Block:
        _, strip = next(self.space.tiles(rows, width=len(self.space)))
        level = np.take_along_axis(strip, marks, axis=1)
        none = np.zeros(len(rows))
        return _Block(level, none, none, [_Tile(0, strip, np.zeros(strip.shape[1]))])


def _ordered(blocks: Any, rows: NDArray, k: int, marks: NDArray) -> tuple[Ordering, int]:
    """Return the order as seen from some rows, and how many distances took a second look."""
    block = blocks.block(rows, marks)
    nearest, reach = np.full((len(rows), k), -1), np.full((len(rows), k), np.inf)
    if k:
        block = block._replace(tiles=_bounded(block, k, reach))
    before = np.zeros(marks.shape, np.int64)
    asked = 0
    for first, values, slack in block.tiles:
        own = (rows >= first) & (rows < first + values.shape[1])
        values[own, rows[own] - first] = np.inf
        tile = values, first, rows, block.shift, block.error, slack, blocks.points, blocks.unit
        if marks.shape[1]:
            asked += count_before(*tile, marks, block.level, before)
        if k:
            asked += keep_nearest(*tile, nearest, reach)
    return Ordering(nearest, before + 1, reach / blocks.unit), asked


def _bounded(block: _Block, k: int, reach: NDArray) -> Iterator[_Tile]:
    """Yield the tiles; with the first, lower `reach` to where it has k points for sure.

    Without, most of the points that are among the nearest for a while come from the first tile.
    """
    for i, tile in enumerate(block.tiles):
        if i == 0 and tile.values.shape[1] > k:
            upper = tile.values.astype(np.float64) + tile.slack
            enough = np.partition(upper, k, axis=1)[:, k]  # one more: one may be the point itself
            reach[:] = np.nextafter(enough + block.shift + block.error, np.inf)[:, None]
        yield tile
