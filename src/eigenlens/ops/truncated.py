"""Moments of rows too wide for a d x d matrix: the scatter kept as a factor of few rows.

``R'R`` stands in for the scatter matrix S. New rows, centred, and one row for the step of the mean
are put below R; when R grows past twice its rank r, only its r leading singular directions are
kept. Each such cut takes from S a positive semi-definite matrix whose norm is the (r + 1)-th
eigenvalue at that time, so that

    0 <= lambda_i(S) - lambda_i(R'R) <= lost,   the sum of these eigenvalues

(Weyl): what was given up is known. After Brand (2006) and Levy, Lindenbaum (2000), with the bound
that makes it an answer with a proof.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .centred import Table
from .finite import require_finite
from .lanczos import whole
from .scatter import provisional_mean
from .weights import mass_of, roots_of

__all__ = ["TruncatedMoments"]


class TruncatedMoments:
    """Count, mean and a factor of the scatter of the rows seen, of at most 2 `rank` rows.

    Attributes
    ----------
    count, mass, mean, dtype
        As in :class:`eigenlens.Moments`.
    factor : ndarray of shape (at most 2 rank, d)
        R, with ``R'R`` about the scatter.
    square : float
        The trace of the scatter itself.
    lost : float
        Bound on the norm of the scatter less ``R'R``.
    """

    def __init__(self, rank: int, d: int) -> None:
        self.rank = rank
        self.count = 0
        self.mass = self.square = self.lost = 0.0
        self.mean: NDArray = np.zeros(d)
        self.factor: NDArray = np.zeros((0, d))
        self.dtype: np.dtype = np.dtype(np.float64)

    def add(self, X: Table, weight: NDArray | None = None) -> Self:
        """Add checked rows, `rank` of them at a time: all or, if an error is raised, none."""
        before = dict(vars(self))
        try:
            for start in range(0, X.shape[0], self.rank):
                rows = slice(start, start + self.rank)
                self._add_block(X[rows], None if weight is None else weight[rows])
        except BaseException:
            vars(self).update(before)  # nothing above is changed in place
            raise
        return self

    def _add_block(self, X: Table, weight: NDArray | None) -> None:
        n, mass = X.shape[0], mass_of(X.shape[0], weight)
        block: NDArray = X.toarray() if sparse.issparse(X) else X  # type: ignore[union-attr]
        shift = provisional_mean(block)
        A = (block - shift).astype(np.float64)
        roots = roots_of(n, weight, A.dtype)
        delta = roots**2 @ A / mass
        A = (A - delta) * roots[:, None]
        square = float(np.vdot(A, A))
        require_finite(delta, square)
        self._join(n, mass, shift + delta, A, square, 0.0, X.dtype)

    def merge(self, other: TruncatedMoments) -> Self:
        """Add the rows that `other` has seen; `other` stays as it is."""
        self._join(
            other.count,
            other.mass,
            other.mean,
            other.factor,
            other.square,
            other.lost,
            other.dtype,
        )
        return self

    def _join(
        self,
        count: int,
        mass: float,
        mean: NDArray,
        factor: NDArray,
        square: float,
        lost: float,
        dtype: np.dtype,
    ) -> None:
        both = self.mass + mass
        step = mean - self.mean
        between = self.mass * (mass / both)
        joined = np.concatenate([self.factor, factor, np.sqrt(between) * step[None]])
        self.square += square + between * float(step @ step)
        self.lost += lost
        self.mean = self.mean + step * (mass / both)
        self.count, self.mass = self.count + count, both
        self.dtype = min(self.dtype, dtype, key=lambda kind: kind.itemsize)
        self.factor = self._cut(joined) if len(joined) > 2 * self.rank else joined

    def _cut(self, R: NDArray) -> NDArray:
        """Return the `rank` leading directions of R, and note what is lost."""
        values, U = (pairs := whole(R @ R.T)).values, pairs.vectors
        self.lost += float(values[self.rank])
        return np.asarray(U[:, : self.rank].T @ R)
