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

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .centred import Table
from .finite import require_finite
from .lanczos import whole
from .moments import Centre
from .scatter import in_two_parts, provisional_mean
from .weights import mass_of, roots_of

__all__ = ["TruncatedMoments"]


class TruncatedMoments(Centre):
    """Count, mean and a factor of the scatter of the rows seen, of at most 2 `rank` rows.

    Attributes
    ----------
    count, mass, mean, dtype
        As in :class:`eigenlens.Moments`.
    factor : ndarray of shape (at most 2 rank, d)
        R, with ``R'R`` about the scatter.
    squares : ndarray of shape (d,)
        The diagonal of the scatter itself.
    lost : float
        Bound on the norm of the scatter less ``R'R``.
    """

    _rest: Any = 0.0  # what rounding took off the squares

    def __init__(self, rank: int, d: int) -> None:
        super().__init__(d)
        self.rank = rank
        self.factor: NDArray = np.zeros((0, d))
        self.squares: NDArray = np.zeros(d)
        self.lost = 0.0

    def add(self, X: Table, weight: NDArray | None = None) -> Self:
        """Add checked rows, `rank` of them at a time: all or, if an error is raised, none."""
        before = dict(vars(self))
        try:
            for start in range(0, X.shape[0], self.rank):
                rows = slice(start, start + self.rank)
                self.merge(self._of(X[rows], None if weight is None else weight[rows]))
        except BaseException:
            vars(self).update(before)  # nothing above is changed in place
            raise
        return self

    def _of(self, X: Table, weight: NDArray | None) -> TruncatedMoments:
        """Return the moments of a block of rows: they are their own factor."""
        block: NDArray = X.toarray() if sparse.issparse(X) else X  # type: ignore[union-attr]
        found = TruncatedMoments(self.rank, X.shape[1])
        found.count, found.mass = X.shape[0], mass_of(X.shape[0], weight)
        found.dtype = X.dtype
        shift = provisional_mean(block).astype(np.float64)
        A = block - shift
        roots = roots_of(found.count, weight, A.dtype)
        delta = roots**2 @ A / found.mass
        found.mean, found._tail = in_two_parts(shift, delta)
        found.factor = (A - delta) * roots[:, None]
        found.squares = np.einsum("ij,ij->j", found.factor, found.factor)
        require_finite(found.mean, float(found.squares.sum()))
        return found

    def merge(self, other: TruncatedMoments) -> Self:
        """Add the rows that `other` has seen; `other` stays as it is."""
        step, between = self._join(other)
        more = other.squares + between * step**2 + self._rest
        self.squares, self._rest = in_two_parts(self.squares, more)
        require_finite(self.mean, float(self.squares.sum()))
        self.lost += other.lost
        R = np.concatenate([self.factor, other.factor, np.sqrt(between) * step[None]])
        self.factor = self._cut(R) if len(R) > 2 * self.rank else R
        return self

    def _cut(self, R: NDArray) -> NDArray:
        """Return the `rank` leading directions of R, and note what is lost."""
        pairs = whole(R @ R.T)
        self.lost += float(pairs.values[self.rank])
        return np.asarray(pairs.vectors[:, : self.rank].T @ R)
