"""Steps of Lloyd's, in passes over rows in blocks; cells of rows in memory.

With c the centres and C_j the rows of which c_j is the nearest centre, one step is

    c_j <- mean of C_j,        which takes  sum_j |C_j| |c_j - mean of C_j|^2  off the square.

So one pass tells how good the centres are that it was given, how far they are from the means of
their cells, which is the certificate, and what the next ones are: three sums, which rows in blocks
add up wherever they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..data.blocks import Blocks
from ..ops import threads
from ..ops.centred import product
from ..ops.jit import compiled
from .solution import Monitor, ignore

__all__ = [
    "BYTES",
    "Cells",
    "Descent",
    "averages",
    "csr",
    "descend",
    "means_of",
    "nearest",
    "refilled",
    "squares",
]

BYTES = 1 << 22  # of a block of rows
NOTHING = 64.0  # roundings of how far the rows are apart, within which they are the same


@dataclass(frozen=True, eq=False)
class Cells:
    """Centres, and the cells of the rows that are nearest to each.

    Attributes
    ----------
    centres, means : ndarray of shape (k, d)
        Means are those of the cells.
    mass : ndarray of shape (k,)
        Weights of the rows of each cell, added up.
    square : float
        Squared distances of the rows from their centres, summed.
    """

    centres: NDArray
    means: NDArray
    mass: NDArray
    square: float

    @property
    def residual(self) -> float:
        """Root of what a step to the means takes off the square."""
        return float(np.sqrt(self.mass @ ((self.centres - self.means) ** 2).sum(axis=1)))

    @classmethod
    def of(cls, rows: Any, centres: NDArray, weight: NDArray) -> Cells:
        """Return the cells of rows in memory."""
        labels = nearest(rows, centres)
        square = float(weight @ squares(rows, centres, labels))
        return cls(centres, *means_of(rows, labels, centres, weight), square)


@dataclass(frozen=True, eq=False)
class Descent:
    """Where steps have led, the square at each look, and how many steps it took."""

    cells: Cells
    history: list[float]
    n_steps: int


def means_of(
    rows: Any, labels: NDArray, centres: NDArray, weight: NDArray
) -> tuple[NDArray, NDArray]:
    """Return the mean and the mass of each cell; one without rows stays at its centre."""
    sums, mass = _sums(rows, labels, len(centres), weight)
    return averages(sums, mass, centres), mass


def descend(
    table: Blocks,
    centres: NDArray,
    *,
    mean: NDArray,
    spread: float,
    tol: float,
    most: int,
    stride: int = 1,
    monitor: Monitor = ignore,
) -> Descent:
    """Go down from `centres` in steps, each a pass over the table.

    Parameters
    ----------
    table : Blocks
    centres : ndarray of shape (k, d)
        Where to start, less `mean`.
    mean : ndarray of shape (d,)
        What is subtracted from all rows, for the sake of their digits; zero for sparse ones.
    spread : float
        Root of the squared distances of the rows from their mean, summed.
    tol : float
        Times `spread`, what the residual may be at the end.
    most : int
        Steps.
    stride : int
        Steps from one look at the residual to the next.
    monitor : Monitor
        Called at each look.

    Returns
    -------
    Descent
        Less `mean`. Each cell has rows, unless there are fewer that differ than centres: one that
        has lost its rows takes the row that is farthest from its centre, which costs one more pass.
    """
    history: list[float] = []
    for step in range(1, most + 1):
        sums, mass, square = table.fold(_step, shared=(mean, centres))
        cells = Cells(centres, averages(sums, mass, centres), mass, float(square))
        following, moved = cells.means, False
        if not mass.all():
            following, moved = _refilled(table, mean, sums, cells, spread)
        fixed = np.array_equal(following, centres)
        if fixed or step == most or step % stride == 0:
            history.append(cells.square)
            near = cells.residual <= tol * spread and not moved
            if monitor(cells.square) or near or fixed:
                break
        centres = following
    return Descent(cells, history, step)


def nearest(X: Any, centres: NDArray) -> NDArray:
    """Return for each row the number of its nearest centre, the first of several.

    ``|x - c|^2`` is ``|x - s|^2 + |c - s|^2 - 2 (x - s)'(c - s)``, whatever s; with the middle of
    the centres for s it keeps its digits far from zero, and its first term is the same for all c.
    """
    centres = centres.astype(np.float64)  # whose squares do not overflow where float32's would
    middle = centres.mean(axis=0)
    V = centres - middle
    along = X @ V.T - middle @ V.T if sparse.issparse(X) else product(X, middle, V.T)
    labels: NDArray = np.argmin((V * V).sum(axis=1) - 2 * along, axis=1)
    return labels


def squares(X: Any, centres: NDArray, labels: NDArray) -> NDArray:
    """Return the squared distance of each row from its centre, in float64."""
    if sparse.issparse(X):
        rows, own = csr(X), centres.astype(np.float64)
        n = rows.shape[0]
        at = np.repeat(np.arange(n), np.diff(rows.indptr))  # the row of each entry
        change = rows.data * (rows.data - 2 * own[labels[at], rows.indices])
        found = np.bincount(at, change, minlength=n) + (own * own).sum(axis=1)[labels]
        return np.asarray(np.maximum(found, 0.0))  # a row that is a centre may come out below
    out, spans = np.empty(len(X)), threads.spans(len(X), max(1, BYTES // (8 * X.shape[1])))

    def part(i: int) -> None:
        _squares(X[spans[i]], centres, labels[spans[i]], out[spans[i]])

    threads.run(part, len(spans))
    return out


@compiled(fast=True)
def _squares(X, centres, labels, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the squared distance of each row from its centre."""
    for i in range(len(out)):
        c, square = centres[labels[i]], 0.0
        for q in range(X.shape[1]):
            away = np.float64(X[i, q]) - c[q]
            square += away * away
        out[i] = square


def csr(X: Any) -> sparse.csr_array:
    """Return a sparse table as scikit-learn's k-means needs it, without a copy where it is so.

    Numbers are float64, indices 32 bits wide where they can be, and no entry is in two parts.
    """
    rows = sparse.csr_array(X, dtype=np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    width = sparse.get_index_dtype(maxval=max(rows.nnz, rows.shape[1]))
    indices, indptr = (part.astype(width, copy=False) for part in (rows.indices, rows.indptr))
    return sparse.csr_array((rows.data, indices, indptr), shape=rows.shape)


def _sums(rows: Any, labels: NDArray, k: int, weight: NDArray) -> tuple[NDArray, NDArray]:
    """Return the sum of the rows of each cell, and its mass."""
    n = len(labels)
    members = sparse.csr_array((weight, (labels, np.arange(n))), shape=(k, n))
    sums = members @ rows
    return sums.toarray() if sparse.issparse(sums) else sums, np.asarray(members.sum(axis=1))


def averages(sums: NDArray, mass: NDArray, centres: NDArray) -> NDArray:
    """Return the means of cells; of one without rows, its centre."""
    full = mass > 0
    means = centres.copy()
    means[full] = sums[full] / mass[full, None]
    return means


# ------------------------------------------------------------------------------- rows in blocks


def _step(block: Any, mean: NDArray, centres: NDArray) -> tuple[NDArray, NDArray, float]:
    """Return the sum and the number of the rows of each cell, and the square."""
    spans = _spans(block)

    def part(i: int) -> tuple[NDArray, NDArray, float]:
        rows = _less(block[spans[i]], mean)
        labels = nearest(rows, centres)
        sums = _sums(rows, labels, len(centres), np.ones(rows.shape[0]))
        return *sums, float(squares(rows, centres, labels).sum())

    sums, mass, square = np.zeros(centres.shape), np.zeros(len(centres)), 0.0
    for more in threads.run(part, len(spans)):
        sums += more[0]
        mass += more[1]
        square += more[2]
    return sums, mass, square


def refilled(
    cells: Cells,
    sums: NDArray,
    farthest: tuple[NDArray, NDArray, NDArray],
    weight: NDArray,
    spread: float,
) -> tuple[NDArray, bool]:
    """Return means where cells without rows have been given those farthest from their centres.

    Each row is taken from the cell it was in. If all rows are at their centres, as many centres as
    differ are enough, and the others go where the largest cell is. And whether rows were moved.

    Parameters
    ----------
    cells : Cells
    sums : ndarray of shape (k, d)
        Of the rows of each cell.
    farthest : tuple of ndarray
        Squared distances from their centres, the rows, and the cells that they are in.
    weight : ndarray
        Of these rows.
    spread : float
        Root of the squared distances of all rows from their mean, summed.
    """
    away, rows, labels = farthest
    empty = np.flatnonzero(cells.mass == 0)
    sums, mass = sums.copy(), cells.mass.copy()
    rounding = NOTHING * np.finfo(np.float64).eps
    far = away > (rounding * spread) ** 2
    for j, row, label, w in zip(empty, rows[far], labels[far], weight[far], strict=False):
        sums[label] -= w * row
        mass[label] -= w
        sums[j], mass[j] = w * row, w
    mass[mass <= rounding * cells.mass] = 0.0  # all of whose rows were taken
    largest = int(np.argmax(mass))
    still = mass == 0
    sums[still], mass[still] = sums[largest], mass[largest]
    return averages(sums, mass, cells.centres), bool(far.any())


def _refilled(
    table: Blocks, mean: NDArray, sums: NDArray, cells: Cells, spread: float
) -> tuple[NDArray, bool]:
    """Do what `refilled` does, with one more pass over the table."""
    count = int(np.sum(cells.mass == 0))
    given = (mean, cells.centres, count)
    found = table.fold(_farthest, shared=given, combine=partial(_farthest_of, count=count))
    return refilled(cells, sums, found, np.ones(len(found[0])), spread)


def _farthest(
    block: Any, mean: NDArray, centres: NDArray, count: int
) -> tuple[NDArray, NDArray, NDArray]:
    """Return how far the farthest rows of a block are from their centres, they, and their cells."""
    found = []
    for span in _spans(block):
        rows = _less(block[span], mean)
        labels = nearest(rows, centres)
        away = squares(rows, centres, labels)
        some = np.argsort(-away, kind="stable")[:count]
        few = rows[some]
        few = few.toarray() if sparse.issparse(few) else few
        found.append((away[some], few, labels[some]))
    return _farthest_of(found, count)


def _farthest_of(
    parts: list[tuple[NDArray, NDArray, NDArray]], count: int
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the farthest of them all; of those as far as each other, the first."""
    away, rows, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    some = np.argsort(-away, kind="stable")[:count]
    return away[some], rows[some], labels[some]


def _spans(block: Any) -> list[slice]:
    return threads.spans(block.shape[0], max(1, BYTES // (8 * block.shape[1])))


def _less(rows: Any, mean: NDArray) -> Any:
    """Return rows of a block as float64, less the mean, which is zero if they are sparse."""
    return csr(rows) if sparse.issparse(rows) else np.subtract(rows, mean, dtype=np.float64)
