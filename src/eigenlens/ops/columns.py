"""Mean and sum of squares of each column by itself, of rows that come in blocks.

What :class:`.moments.Moments` keeps of a table without the products of different columns: d numbers
for d x d, and columns may have holes. Parts are merged by the same formulas, so that no square of a
mean is ever subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import threads
from .centred import Table
from .moments import merged
from .passes import fold
from .scatter import SAMPLE, in_two_parts
from .weights import mass_of

if TYPE_CHECKING:
    from ..data.blocks import Blocks

__all__ = ["ColumnMoments"]

CHUNK = 1 << 20  # bytes of rows that a thread takes at once
DRIFT = 10.0  # how far off a provisional mean may be, in squares: the loss stays below a decimal


@dataclass
class ColumnMoments:
    """What the entries of each column add up to.

    Attributes
    ----------
    count : int
        Rows seen.
    total : float
        Their weights added up.
    mass : ndarray of shape (d,)
        The same without the rows in which the column has a hole.
    mean : ndarray of shape (d,)
        Zero for a column without any entry.
    tail : ndarray of shape (d,)
        What rounding took off the mean.
    squares : ndarray of shape (d,)
        ``sum w (x - mean)^2``.
    itemsize : int
        Of the least precise kind of data seen.
    rest : ndarray of shape (d,), or 0
        What rounding took off the squares.
    """

    count: int
    total: float
    mass: NDArray
    mean: NDArray
    tail: NDArray
    squares: NDArray
    itemsize: int
    rest: Any = 0.0

    @property
    def dtype(self) -> np.dtype:
        """The least precise kind of data seen."""
        return np.dtype(f"f{self.itemsize}")

    @classmethod
    def of(cls, X: Table, weight: NDArray | None = None, missing: bool = False) -> Self:
        """Return those of checked rows, in float64; NaN is a hole if `missing`."""
        sums = _of_sparse(X, weight, missing) if sparse.issparse(X) else _of(X, weight, missing)
        n = X.shape[0]
        return cls(n, mass_of(n, weight), *sums, X.dtype.itemsize)

    @classmethod
    def over(
        cls, table: Blocks, weight: NDArray | None = None, *, missing: bool = False
    ) -> ColumnMoments | None:
        """Return those of a table in blocks, in one pass; None if it has no rows."""
        found: ColumnMoments | None = fold(table, cls.of, weight, shared=(missing,), combine=merged)
        return found

    def variance(self) -> float:
        """Return the variance of all entries of a table without holes, whatever their column."""
        return float(self.squares.sum()) / (self.total * len(self.mean)) + float(np.var(self.mean))

    def merge(self, other: ColumnMoments) -> Self:
        """Add the rows that `other` has seen."""
        step = (other.mean - self.mean) + (other.tail - self.tail)
        mass = self.mass + other.mass
        share = np.divide(other.mass, mass, out=np.zeros_like(mass), where=mass > 0)
        first = self.mass == 0
        mean, tail = in_two_parts(self.mean, self.tail + step * share)
        more = other.squares + self.mass * share * step**2 + self.rest
        self.squares, self.rest = in_two_parts(self.squares, more)
        self.mean, self.tail = np.where(first, other.mean, mean), np.where(first, other.tail, tail)
        self.count, self.total, self.mass = self.count + other.count, self.total + other.total, mass
        self.itemsize = min(self.itemsize, other.itemsize)
        return self


def _of(
    X: NDArray, weight: NDArray | None, missing: bool
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return mass, mean, tail and squares of dense rows."""
    found = _about(X, weight, missing, _provisional(X, missing))
    mass, mean, tail, squares, drift = found
    if (drift > DRIFT * squares).any() and np.isfinite(drift).all():
        mass, mean, tail, squares, _ = _about(X, weight, missing, mean)
    return mass, mean, tail, squares


def _provisional(X: NDArray, missing: bool) -> NDArray:
    """Return about the column means, from rows spread over all of X; 0 where all are holes."""
    rows = X[:: max(1, len(X) // SAMPLE)].astype(np.float64)
    if not missing:
        return np.asarray(rows[0] + (rows - rows[0]).mean(axis=0))
    seen = ~np.isnan(rows)
    first = rows[np.argmax(seen, axis=0), np.arange(rows.shape[1])]  # a constant stays exact
    rest = np.where(seen, rows - first, 0.0).sum(axis=0) / seen.sum(axis=0).clip(min=1)
    return np.where(seen.any(axis=0), first + rest, 0.0)


def _about(
    X: NDArray, weight: NDArray | None, missing: bool, shift: NDArray
) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
    """Return mass, mean, tail and squares, from deviations from `shift`, and its own square."""
    n, d = X.shape
    chunks = threads.spans(n, max(1, CHUNK // (8 * max(1, d))))

    def part(i: int) -> tuple[NDArray, NDArray, NDArray]:
        B = np.subtract(X[chunks[i]], shift, dtype=np.float64)
        w = np.ones(len(B)) if weight is None else weight[chunks[i]]
        mass = np.full(d, w.sum())
        if missing and (columns := np.isnan(B.sum(axis=0))).any():
            seen = ~np.isnan(X[chunks[i]][:, columns])  # not of B, where infinities have met
            mass[columns] = w @ seen
            B[:, columns] = np.where(seen, B[:, columns], 0.0)
        return mass, w @ B, np.einsum("i,ij,ij->j", w, B, B)

    parts = threads.run(part, len(chunks))
    mass, sums, squares = (np.sum(p, axis=0) for p in zip(*parts, strict=True))
    delta = np.divide(sums, mass, out=np.zeros(d), where=mass > 0)
    drift = delta * sums
    return mass, *in_two_parts(shift, delta), (squares - drift).clip(min=0.0), drift


def _of_sparse(
    X: sparse.csr_array | sparse.csc_array, weight: NDArray | None, missing: bool
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return mass, mean, tail and squares of sparse rows, whose empty cells are zeros.

    The means first and then deviations from them, of what is stored and of the zeros apart.
    """
    Z = X.tocsr()
    n, d = Z.shape
    values, columns = Z.data.astype(np.float64), Z.indices
    w = np.ones(n) if weight is None else weight
    w = np.repeat(w, np.diff(Z.indptr))
    mass = np.full(d, mass_of(n, weight))
    if missing and (holes := np.isnan(values)).any():
        mass -= np.bincount(columns[holes], w[holes], minlength=d)
        values, columns, w = values[~holes], columns[~holes], w[~holes]
    zeros = mass - np.bincount(columns, w, minlength=d)

    def over_mass(sums: NDArray) -> NDArray:
        return np.divide(sums, mass, out=np.zeros(d), where=mass > 0)

    mean = over_mass(np.bincount(columns, w * values, minlength=d))
    values = values - mean[columns]
    sums = np.bincount(columns, w * values, minlength=d) - zeros * mean
    squares = np.bincount(columns, w * values**2, minlength=d) + zeros * mean**2
    delta = over_mass(sums)
    return mass, *in_two_parts(mean, delta), (squares - delta * sums).clip(min=0.0)
