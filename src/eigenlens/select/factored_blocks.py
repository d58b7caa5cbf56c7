"""A table in blocks with the eigenpairs of its scatter: what rules share, in one pass.

A rule on a table in memory draws by a generator that goes through all cells. Here draws belong to
tiles of rows, counted from the first row of the table: each tile has a generator of its own, made
from a seed and its number, so that it does not matter how the rows are cut into blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..data.blocks import WHOLE_BYTES, Blocks
from ..ops.lanczos import Pairs, whole
from ..ops.moments import Moments, merged

__all__ = ["FactoredBlocks", "tiles"]

TILE = 256  # rows that are drawn for together


class FactoredBlocks:
    """A dense table in blocks, its moments and the eigenpairs of its scatter.

    Reads the table once, and holds a few d x d matrices. float32 is multiplied in float64.

    Parameters
    ----------
    table : Blocks
        Of dense blocks.

    Attributes
    ----------
    moments : Moments
    shape : (int, int)

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import eigenlens
    >>> from eigenlens.select import FactoredBlocks, parallel
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "table.npy")
    >>> np.save(path, eigenlens.datasets.planted_subspace(1000, 6, rank=2, random_state=0).X)
    >>> table = FactoredBlocks(eigenlens.open(path))
    >>> table.shape, parallel(table, 0).k
    ((1000, 6), 2)
    >>> del table; folder.cleanup()
    """

    def __init__(self, table: Blocks) -> None:
        self.table = table
        self.moments: Moments = table.fold(_moments_of, combine=merged) or Moments()
        self.shape = self.moments.count, len(table.names)

    @cached_property
    def pairs(self) -> Pairs:
        """All eigenpairs of the scatter."""
        return whole(self.moments.scatter)

    @property
    def singular(self) -> NDArray:
        """Singular values of the centred table in falling order, without those that are rounding.

        From products of the table with itself: what is below some 1e-7 of the first is rounding.
        """
        n, d = self.shape
        values = self.pairs.values[: min(n - 1, d)]
        return np.sqrt(values[values > d * np.finfo(np.float64).eps * values[:1]])

    @property
    def axes(self) -> NDArray:
        """Axes as columns."""
        return self.pairs.vectors

    def pass_over(
        self,
        task: Callable[..., Any],
        *shared: Any,
        combine: Callable[[list[Any]], Any] | None = None,
    ) -> Any:
        """Return ``task(block, start, *shared)`` of all blocks, `start` the number of a row.

        Parameters
        ----------
        task : callable
            Called on each block with rows.
        *shared
            What all tasks need.
        combine : callable, optional
            From a list of answers to one, as in :meth:`eigenlens.Blocks.fold`.
        """
        starts = np.cumsum([0, *self.table.row_counts()])
        found, _ = self.table.advance(_Answer(task), [starts], shared=shared, combine=combine)
        return found

    @property
    def at_once(self) -> int:
        """How many d x d matrices a pass may add up."""
        return max(1, WHOLE_BYTES // (8 * self.shape[1] ** 2))


class _Answer:
    """A task that keeps nothing."""

    def __init__(self, task: Callable[..., Any]) -> None:
        self.task = task

    def __call__(self, block: Any, start: int, *shared: Any) -> tuple[Any]:
        return (self.task(block, int(start), *shared),)


def tiles(start: int, stop: int) -> Iterator[tuple[int, slice, slice]]:
    """Yield, for the rows from `start` to `stop`, each tile that has some.

    Its number, which rows of the tile they are, and which of the rows asked for.
    """
    for tile in range(start // TILE, -(-stop // TILE)):
        top = tile * TILE
        first, last = max(start, top), min(stop, top + TILE)
        yield tile, slice(first - top, last - top), slice(first - start, last - start)


def _moments_of(block: Any) -> Moments:
    if sparse.issparse(block):
        raise TypeError(
            "A rule for n_components needs dense X. Ask for a number, or for a fraction of the "
            "variance."
        )
    found = Moments.of(block.astype(np.float64, copy=False))
    found.dtype = block.dtype
    return found
