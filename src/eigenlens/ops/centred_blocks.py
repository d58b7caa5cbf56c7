"""A table in blocks minus its column means as an operator: each product is one pass over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .centred import gram_of
from .columns import ColumnMoments
from .finite import require_finite
from .moments import Moments
from .passes import fold

if TYPE_CHECKING:
    from ..data.blocks import Blocks

__all__ = ["CentredBlocks"]


class CentredBlocks:
    """``A = X - 1 mu'`` for a table X in blocks, seen from its columns.

    Also where X is wide: rows are in many places, so that the matrix of their products would take a
    pass for each block. One pass finds the means; then `gram` takes one. Holds what it is given
    and what it returns, and a block.

    Attributes
    ----------
    mean, square, dim, transposed
        As in :class:`.centred.Centred`.
    count : int
        Rows that count.
    mass : float
        Their weights added up.
    dtype : numpy.dtype
        Of the blocks.
    """

    transposed = False

    def __init__(self, table: Blocks, weight: NDArray | None = None) -> None:
        self._table, self._weight = table, weight
        columns = ColumnMoments.over(table, weight)
        self.count = 0 if columns is None else columns.count
        self.mass = 0.0
        if columns is not None:
            self.mass, self.mean, self.dtype = columns.total, columns.mean, columns.dtype
            self.square = float(columns.squares.sum())
            self.dim = len(self.mean)
            require_finite(self.mean, self.square)

    def gram(self, V: NDArray) -> NDArray:
        """Return ``A'A V``."""
        found: NDArray = fold(self._table, _gram, self._weight, shared=(self.mean, V))
        return found

    def across(self, V: NDArray) -> NDArray:
        """Return ``A V``: a row for each row of the table, which is not for here."""
        raise NotImplementedError

    def formed(self) -> NDArray:
        """Return ``A'A``."""
        return Moments.over(self._table, self._weight).scatter


def _gram(block: Any, weight: NDArray | None, mean: NDArray, V: NDArray) -> NDArray:
    return np.asarray(gram_of(block, weight, mean, V))
