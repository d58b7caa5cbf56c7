"""Penalties on the loadings D (d x k) of a sparse factorisation, and the descent in D for each.

Both are sums over groups of rows, ``sum_gk alpha_k w_g |D_gk|_2``: of single rows in the lasso.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.lasso import MAX_SWEEPS, lasso_groups, lasso_rows

__all__ = ["GroupLasso", "Lasso", "Penalty"]


@dataclass(frozen=True, eq=False)
class Lasso:
    """The l1 norm of each column, ``sum_k alpha_k |D_k|_1``; over ``D >= 0`` if `positive`."""

    alpha: NDArray
    positive: bool = False

    def value(self, D: NDArray) -> float:
        """Return the penalty."""
        return float(np.abs(D).sum(axis=0) @ self.alpha)

    def descend(self, G: NDArray, C: NDArray, D: NDArray, rows: slice, tol: float) -> None:
        """Minimise ``1/2 tr(D G D') - tr(C'D)`` and the penalty, over some rows of D, in place.

        `C`, which is written to, and `D` hold these rows only.
        """
        lasso_rows(G, C, self.alpha, D, tol, MAX_SWEEPS, self.positive)

    def distance(self, gradient: NDArray, D: NDArray) -> float:
        """Return how far zero is from the subgradients, at most, given those of the misfit."""
        uphill = -gradient if self.positive else np.abs(gradient)
        distance = np.where(
            D != 0,
            np.abs(gradient + self.alpha * np.sign(D)),
            np.maximum(uphill - self.alpha, 0.0),
        )
        return float(distance.max(initial=0.0))

    def spans(self, d: int, size: int) -> list[slice]:
        """Cut the rows of D into parts that can be minimised over apart."""
        return threads.spans(d, size)

    def groups(self, d: int) -> tuple[list[slice], NDArray]:
        """Return the rows and the weight of each group."""
        return [slice(j, j + 1) for j in range(d)], np.ones(d)

    def largest_alpha(self, columns: NDArray) -> float:
        """Return the alpha from which on no score makes a loading other than zero."""
        return float(np.sqrt(np.einsum("ji,ji->j", columns, columns).max()))


@dataclass(frozen=True, eq=False)
class GroupLasso:
    """The length of each group of each column, ``sum_gk alpha_k sqrt(n_g) |D_gk|_2``.

    Group g has the ``n_g`` rows from ``starts[g]`` to ``starts[g + 1]``. The weight is that of Yuan
    and Lin (2006): it gives groups of noise the same chance whatever their size.
    """

    alpha: NDArray
    starts: NDArray

    @property
    def weights(self) -> NDArray:
        """The square root of each size."""
        return np.sqrt(np.diff(self.starts))

    def _lengths(self, D: NDArray) -> NDArray:
        return np.sqrt(np.add.reduceat(np.square(D), self.starts[:-1], axis=0))

    def value(self, D: NDArray) -> float:
        """Return the penalty."""
        return float(self.weights @ self._lengths(D) @ self.alpha)

    def descend(self, G: NDArray, C: NDArray, D: NDArray, rows: slice, tol: float) -> None:
        """Minimise ``1/2 tr(D G D') - tr(C'D)`` and the penalty, over some rows of D, in place.

        `C`, which is written to, and `D` hold these rows only.
        """
        first, last = np.searchsorted(self.starts, [rows.start, rows.stop])
        starts, weights = self.starts[first : last + 1] - rows.start, self.weights[first:last]
        lasso_groups(G, C, self.alpha, D, starts, weights, tol, MAX_SWEEPS)

    def distance(self, gradient: NDArray, D: NDArray) -> float:
        """Return how far zero is from the subgradients, at most, given those of the misfit."""
        price = np.outer(self.weights, self.alpha)
        lengths = self._lengths(D)
        sizes = np.diff(self.starts)
        pull = np.divide(price, lengths, out=np.zeros_like(price), where=lengths > 0)
        used = self._lengths(gradient + np.repeat(pull, sizes, axis=0) * D)
        unused = np.maximum(self._lengths(gradient) - price, 0.0)
        return float(np.where(lengths > 0, used, unused).max(initial=0.0))

    def spans(self, d: int, size: int) -> list[slice]:
        """Cut the rows of D into parts that can be minimised over apart."""
        edges = [rows.start for rows in threads.spans(d, size)] + [d]
        cuts = self.starts[np.unique(np.searchsorted(self.starts, edges))]
        return [slice(int(a), int(b)) for a, b in pairwise(cuts)]

    def groups(self, d: int) -> tuple[list[slice], NDArray]:
        """Return the rows and the weight of each group."""
        return [slice(int(a), int(b)) for a, b in pairwise(self.starts)], self.weights

    def largest_alpha(self, columns: NDArray) -> float:
        """Return the alpha from which on no score makes a loading other than zero."""
        groups, weights = self.groups(len(columns))
        norms = [np.linalg.norm(columns[rows], 2) for rows in groups]
        return float((np.array(norms) / weights).max())


Penalty = Lasso | GroupLasso
