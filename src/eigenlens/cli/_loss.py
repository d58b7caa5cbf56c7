"""How much of a table a command has taken away, counted as the rows go by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler

__all__ = ["Loss"]


class Loss:
    """Squares of what was taken away, beside the variances of the columns.

    Attributes
    ----------
    rows : int
        That went by.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._moments = StandardScaler()
        self._squares: Any = 0.0

    def watch(self, before: Any, after: NDArray) -> NDArray:
        """Count a block, and return what became of it."""
        before = before.toarray() if sparse.issparse(before) else before
        self.rows += len(before)
        self._moments.partial_fit(before)
        self._squares = self._squares + np.nansum(np.square(before - after), axis=0)
        return after

    @property
    def share(self) -> float:
        """Share of the variance of a column that was taken away, on average over the columns."""
        total = self._moments.var_ * self._moments.n_samples_seen_
        alive = total > 0
        return float(np.mean(self._squares[alive] / total[alive])) if alive.any() else 0.0
