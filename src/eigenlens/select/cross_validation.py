"""Bi-cross-validation: entries are hidden and predicted from other rows and other columns.

Rows and columns are cut into groups. To predict the entries A that a group of rows and a group of
columns share, PCA with k components is fitted to the block D without either, and with B, the same
rows in the other columns, and C, the same columns in the other rows::

    [ A  B ]
    [ C  D ]        A_k = B D_k^+ C

A. B. Owen, P. O. Perry, Bi-cross-validation of the SVD and the nonnegative matrix factorization,
Annals of Applied Statistics 3 (2009).

A further component may help to predict without being a factor: where the noise of some columns is
large, it takes their noise out of the scores of the others, a little. So every component is charged
a tenth of the variance that it claims, which is the square of its singular value in D, shared out
by area. Factors predict most of what they claim, such corrections a few hundredths, noise nothing.

Why not by rows: a row that is left out is projected with all its entries known, and every further
component comes closer to it. All components would be kept, always.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ops import threads
from ..ops.lanczos import leading, top_pairs
from .choice import Choice
from .cross_validation_blocks import Groups
from .factored import Factored, Seed, Table, checked
from .factored_blocks import FactoredBlocks

__all__ = ["against_the_least", "cross_validation"]

GROUPS = 5  # of rows and of columns: with 2 or 3 the block D is too small to show weak factors
START = 16  # components to try first
CHARGE = 0.1  # share of the variance it claims that a component must predict
FAINT = 0.05  # a row that shows less than this share of a component has no score there
FORMED = 800  # matrices up to this size go to LAPACK as a whole


def cross_validation(X: Table, rng: Seed = None, *, groups: int = GROUPS) -> Choice:
    """Return the number of components that predicts hidden entries best.

    Every entry is hidden once. The cost of k components is the squared error of the predictions
    plus a tenth of the variance that the components claim. Of the numbers of components whose cost
    is above the least one by no more than the standard error of that difference, over the blocks,
    the smallest is taken. Assumes that factors are spread over rows and columns, and noise that is
    independent; its variance may differ. Entries may be NaN: those are left out of all sums.

    Parameters
    ----------
    X : array of shape (n, d)
        The table, or what `factored` gives for it.
    rng : numpy.random.Generator, int or None
        Or a seed. Deals rows and columns to the groups.
    groups : int
        Groups of rows and of columns; fewer where there are fewer rows or columns.

    Returns
    -------
    Choice
        0 components if the column means predict as well as anything, and for one column, which
        nothing can predict.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import datasets
    >>> from eigenlens.select import cross_validation
    >>> X = datasets.planted_subspace(200, 20, rank=3, random_state=0).X
    >>> X[::7, 3] = np.nan
    >>> cross_validation(X, np.random.default_rng(0)).k
    3
    """
    if groups < 2:
        raise ValueError(f"groups={groups} leaves nothing to predict from. Ask for at least 2.")
    what, note = "excess cost", "error of hidden entries / variance, above its standard error"
    rng = np.random.default_rng(rng)
    blocks = _in_passes(X, groups, rng) if isinstance(X, FactoredBlocks) else _of(X, groups, rng)
    if blocks is None:
        return Choice("cv", 0, what, np.empty(0), np.empty(0), note)
    limit = blocks.limit
    tried = min(START, limit)
    while True:
        excess, standard_error = against_the_least(blocks.costs(tried))
        choice = Choice.of("cv", what, excess, standard_error, note)
        # once the cost has its minimum well inside what was tried, more will not lower it
        if tried == limit or 2 * len(excess) <= tried:
            return choice
        tried = min(2 * tried, limit)


def _of(X: ArrayLike | Factored, groups: int, rng: np.random.Generator) -> _Blocks | None:
    """Return the blocks of a table in memory; None where there is nothing to predict."""
    Z, seen = _centred(X)
    if Z.shape[0] < Z.shape[1]:
        Z, seen = Z.T, None if seen is None else seen.T
    if Z.shape[1] < 2 or not Z.any():
        return None
    rows, columns = (_dealt(size, groups, rng) for size in Z.shape)
    return _Blocks(Z, seen, rows, columns, rng)


def _in_passes(X: FactoredBlocks, groups: int, rng: np.random.Generator) -> Groups | None:
    """Return the same of a table whose rows are read in blocks."""
    if min(X.shape) < 2 or not X.moments.squares.any():
        return None
    return Groups.of(X, groups, _dealt, rng, _leading, CHARGE)


def _centred(X: ArrayLike | Factored) -> tuple[NDArray, NDArray | None]:
    """Return the table centred by its columns, missing entries zero, and where it was seen.

    In units of its largest entry, so that no square overflows.
    """
    Z, seen = _deviations(X)
    return Z / (np.abs(Z).max() or 1.0), seen


def _deviations(X: ArrayLike | Factored) -> tuple[NDArray, NDArray | None]:
    if isinstance(X, Factored):
        return X.centred(), None
    X = checked(X, missing=True)
    seen = ~np.isnan(X)
    if seen.all():
        shifted = X - X[0].astype(np.float64)  # a constant column gives zeros, exactly
        return shifted - shifted.mean(axis=0), None
    counts = seen.sum(axis=0)
    Z = np.where(seen, X, 0.0).astype(np.float64)
    Z -= Z.sum(axis=0) / counts.clip(min=1)
    Z[~seen] = 0.0
    return Z, seen.astype(np.float64)


def _dealt(size: int, groups: int, rng: np.random.Generator) -> NDArray:
    """Return a group for each of `size` members, groups alike in size."""
    return rng.permutation(size) % min(groups, size)


def against_the_least(costs: NDArray) -> tuple[NDArray, NDArray]:
    """Return, for 0, 1, ... components up to the best, the excess cost and its standard error.

    `costs` has a row for each block. Differences are taken block by block, because blocks differ
    far more in size and variance than two models do in one block.
    """
    total = costs.sum(axis=0)
    best = int(np.argmin(total))
    excess = costs[:, : best + 1] - costs[:, best : best + 1]
    spread = np.sqrt(len(costs)) * excess.std(axis=0, ddof=1)
    return excess.sum(axis=0) / total[0], spread / total[0]


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The blocks of a table that is at least as tall as wide."""

    Z: NDArray
    seen: NDArray | None
    rows: NDArray
    columns: NDArray
    rng: np.random.Generator

    @property
    def limit(self) -> int:
        """The most components that every block D has."""
        n, d = self.Z.shape
        return min(n - np.bincount(self.rows).max(), d - np.bincount(self.columns).max())

    def costs(self, tried: int) -> NDArray:
        """Return the cost of 0 to `tried` components, a row for each block."""
        folds, parts = self.rows.max() + 1, self.columns.max() + 1
        products = self._products()
        seeds = self.rng.integers(2**63, size=folds * parts)

        def task(t: int) -> NDArray:
            i, j = divmod(t, parts)
            return self._costs_in(i, j, products[i], tried, np.random.default_rng(seeds[t]))

        return np.array(threads.run(task, folds * parts))

    def _products(self) -> list[NDArray]:
        """Return products of columns over the rows outside each group, as if none were missing."""
        products = self._outside(self.Z)
        if self.seen is not None:
            kept = len(self.Z) - np.bincount(self.rows)
            for G, n, both in zip(products, kept, self._outside(self.seen), strict=True):
                G *= n / both.clip(min=1)
        return products

    def _outside(self, A: NDArray) -> list[NDArray]:
        """Return ``A'A`` over the rows outside each group: all minus one, so that it costs one."""

        def inside(i: int) -> NDArray:
            rows = A[self.rows == i]
            return rows.T @ rows

        parts = threads.run(inside, self.rows.max() + 1)
        total = np.sum(parts, axis=0)
        return [total - part for part in parts]

    def _costs_in(
        self, i: int, j: int, G: NDArray, tried: int, rng: np.random.Generator
    ) -> NDArray:
        """Return the costs in the block of rows `i` and columns `j`.

        With ``D = U S V'``, ``B D_k^+ C = (B V_k) S_k^-2 (V_k' D'C)``: all but B is in `G`.
        """
        hidden, inside = self.columns == j, self.rows == i
        values, V = _leading(G[np.ix_(~hidden, ~hidden)], tried, rng)
        values = values.clip(min=0.0)
        safe = values > np.finfo(np.float64).eps * len(self.Z) * values[0]
        W = np.zeros((tried, int(hidden.sum())))
        W[safe] = (V.T @ G[np.ix_(~hidden, hidden)])[safe] / values[safe, None]
        block = self.Z[inside]
        scores, R = block[:, ~hidden] @ V, block[:, hidden]
        there = None if self.seen is None else self.seen[inside]
        if there is not None:
            scores /= (there[:, ~hidden] @ V**2).clip(min=FAINT)  # 1 where nothing is missing
        errors = [np.vdot(R, R)]
        for score, weight in zip(scores.T, W, strict=True):
            R -= np.multiply.outer(score, weight)
            if there is not None:
                R *= there[:, hidden]
            errors.append(np.vdot(R, R))
        area = R.size if there is None else there[:, hidden].sum()
        claimed = np.cumsum(values) * area / ((~inside).sum() * (~hidden).sum())
        return np.array(errors) + CHARGE * np.concatenate([[0.0], claimed])


def _leading(M: NDArray, k: int, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Return the `k` leading eigenvalues of `M` and their eigenvectors as columns."""
    if len(M) > FORMED:
        pairs = leading(M, k, rng=rng, tol=1e-6)
        return pairs.values[:k], pairs.vectors[:, :k]
    return top_pairs(M, k, check_finite=False)
