"""A symmetric matrix of which one half is kept: half the memory, and half of it to read.

For each block of rows, what stands from the diagonal on is one panel. A product reads each tile of
a panel once and uses it twice, for its rows and, turned, for its columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import threads
from .finite import NonFiniteError
from .kernels import COLUMNS, ROWS, Kernel

__all__ = ["Centred"]


class Centred:
    """``H K H`` for a symmetric K, with ``H = I - 1 1' / n``: an operator of :mod:`.lanczos`.

    Attributes
    ----------
    dim : int
    means : ndarray of shape (n,)
        Of the rows of K.
    diagonal : ndarray of shape (n,)
        Of K.
    trace : float
        Of H K H.
    """

    def __init__(self, panels: list[NDArray], rows: list[slice]) -> None:
        self._panels, self._rows, self.dim = panels, rows, rows[-1].stop
        sums = self._product(np.ones((self.dim, 1)))[:, 0]
        self.diagonal = np.concatenate([np.diagonal(panel) for panel in panels])
        # of centred rows the sums may be small where the trace is beyond all numbers
        if not np.isfinite([*sums, np.abs(self.diagonal).sum()]).all():
            raise NonFiniteError
        self.means = sums / self.dim
        self.trace = float(self.diagonal.sum() - self.means.sum())

    @classmethod
    def of_points(cls, kernel: Kernel, X: Any) -> Centred:
        """Return that of the kernel between all rows of `X`, each pair computed once."""
        n = X.shape[0]
        rows, origin = threads.spans(n, ROWS), kernel.origin(X)

        def panel(i: int) -> NDArray:
            A, start = kernel.ready(X[rows[i]], origin), rows[i].start
            K = np.empty((len(A), n - start))
            for span in threads.spans(n - start, COLUMNS):
                there = slice(start + span.start, start + span.stop)
                K[:, span] = kernel.tile(A, kernel.ready(X[there], origin))
            return kernel.with_diagonal(K)

        return cls(threads.run(panel, len(rows)), rows)

    @classmethod
    def of_matrix(cls, K: NDArray) -> Centred:
        """Return that of a matrix in memory: its upper half is read where it stands."""
        rows = threads.spans(len(K), ROWS)
        return cls([K[span, span.start :] for span in rows], rows)

    def gram(self, V: NDArray) -> NDArray:
        """Return ``H K H V``."""
        product = self._product(V - V.mean(axis=0))
        product -= product.mean(axis=0)
        return product

    def _product(self, V: NDArray) -> NDArray:
        """Return ``K V``."""

        def part(i: int) -> tuple[NDArray, NDArray]:
            K, start = self._panels[i], self._rows[i].start
            mine, width = V[self._rows[i]], len(self._panels[i])
            across = np.zeros((width, V.shape[1]))
            down = np.empty((K.shape[1] - width, V.shape[1]))
            across += K[:, :width] @ mine
            for span in threads.spans(len(down), COLUMNS) if len(down) else []:
                a, b = width + span.start, width + span.stop
                tile = K[:, a:b]
                across += tile @ V[start + a : start + b]
                np.matmul(tile.T, mine, out=down[span])
            return across, down

        product = np.zeros((self.dim, V.shape[1]))
        for rows, (across, down) in zip(
            self._rows, threads.run(part, len(self._panels)), strict=True
        ):
            product[rows] += across
            product[rows.stop :] += down
        return product

    def formed(self) -> NDArray:
        """Return ``H K H`` as an array."""
        K = np.empty((self.dim, self.dim))
        for rows, panel in zip(self._rows, self._panels, strict=True):
            K[rows, rows.start :] = panel
            K[rows.stop :, rows] = panel[:, len(panel) :].T
        K -= self.means
        K -= (self.means - self.means.mean())[:, None]
        return K
