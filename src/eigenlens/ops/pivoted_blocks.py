"""Randomly pivoted Cholesky of rows in blocks: the pivots of :mod:`.pivoted`, in passes.

A row of the factor is ``solve(L, k(pivots, x))``: it follows from the row and the pivots, and
nothing is kept beside the table. The alternative, to keep the n x m factor, is larger than the
table itself where there are more pivots than columns; to compute it anew in every pass takes some
``n m^3 / 400`` operations beside the ``2 n m^2`` that there are anyway: as many for 800 pivots.

What is left of the diagonal is summed over short runs of rows, which is all that comes to the one
who draws. The rows of the runs that were hit are taken, and which row of its run was meant follows
from them. So the pivots are those of the same rows in memory, up to rounding of the sums. Each 128
draws take one pass and a look at some thousand rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from ..data.blocks import Blocks
from . import threads
from .finite import NonFiniteError
from .kernels import Kernel, Points
from .moments import Moments
from .pivoted import BLOCK, INDEFINITE, ROWS, Drawn, below, choose, places
from .signs import deciding

__all__ = ["BlockFactor"]

RUN = 64  # rows, at most, of which one sum comes to the one who draws
TAKEN = 1 << 26  # bytes of the rows that are taken for a draw
PART = 4096  # rows whose part of the factor is in memory at a time


class Landmarks(NamedTuple):
    """Pivots, and all that a block needs to know of them."""

    kernel: Kernel
    points: Points
    origin: NDArray | None
    L: NDArray  # the lower triangle with L L' = K at the pivots
    least: float  # what is left of the diagonal must not fall below this

    def factor(self, X: Any) -> tuple[NDArray, NDArray]:
        """Return the rows of F that belong to those of `X`, and what they leave of the diagonal."""
        left = self.kernel.diagonal(X).astype(np.float64)
        F = np.empty((X.shape[0], len(self.L)))
        blocks = threads.spans(len(F), ROWS)

        def part(i: int) -> None:
            rows = blocks[i]
            G = self.kernel.tile(self.kernel.ready(X[rows], self.origin), self.points)
            G = scipy.linalg.solve_triangular(
                self.L, G.T, lower=True, overwrite_b=True, check_finite=False
            )
            F[rows] = G.T
            left[rows] -= np.einsum("ij,ij->j", G, G)

        if len(self.L):
            threads.run(part, len(blocks))
        if not np.isfinite(left).all():
            raise NonFiniteError
        if left.min(initial=0.0) < self.least:
            raise ValueError(INDEFINITE)
        return F, np.maximum(left, 0.0)


class BlockFactor:
    """``K ~ F F'`` of a table in blocks, as its pivots and their triangle.

    Parameters
    ----------
    kernel : Kernel
    table : Blocks
    most : int
        Pivots.
    tol : float
        Share of the trace that may be left: fewer pivots may do.
    rng : Generator
    dtype : dtype
        Whose rounding ends the drawing.
    keep : bool
        Whether `scores` returns those of all rows, here.

    Attributes
    ----------
    pivots : ndarray of shape (m,)
        Numbers of rows.
    X : {ndarray, csr_array} of shape (m, d)
        Those rows.
    L : ndarray of shape (m, m)
    trace, rest : float
        Of K, and of what F leaves of it.
    """

    def __init__(
        self,
        kernel: Kernel,
        table: Blocks,
        most: int,
        *,
        tol: float = 0.0,
        rng: np.random.Generator,
        dtype: DTypeLike = np.float64,
        keep: bool = True,
    ) -> None:
        self._kernel, self._table, self._most, self._keep = kernel, table, most, keep
        self._dtype = dtype
        run = max(1, min(RUN, TAKEN // (8 * BLOCK * max(1, len(table.names)))))
        self._run = run
        self._moments: Moments | None = None
        sizes, self._sums, largest = table.fold(_diagonal, shared=(kernel, run), combine=_in_order)
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self.pivots = np.empty(0, np.int64)
        self.X: Any = None
        self.L = np.empty((0, 0))
        self.origin: NDArray | None = None
        self.trace = self.rest = float(self._sums.sum())
        if not np.isfinite(self.trace):
            raise NonFiniteError
        self._least = below(kernel, largest)
        choose(kernel, self, most, tol=tol, rng=rng, dtype=dtype)

    @property
    def rank(self) -> int:
        """Number of pivots."""
        return len(self.pivots)

    def draw(self, uniform: NDArray) -> Drawn:
        """Return the rows at these parts of what is left; reads no rows but those of their runs."""
        at, beyond = places(self._sums, uniform)
        runs, own = np.unique(at, return_inverse=True)
        spans = [np.arange(self._starts[run], self._starts[run + 1]) for run in runs]
        numbers = np.concatenate(spans)
        X = self._table.take(numbers)
        if self.X is None:
            self.origin = self._kernel.origin(X)
        F, left = self._landmarks().factor(X)
        left[np.isin(numbers, self.pivots)] = 0.0
        edges = np.concatenate([[0], np.cumsum([len(span) for span in spans])])
        total = self._sums.sum()
        found = [
            edges[j] + _within(left[edges[j] : edges[j + 1]], target * total)
            for j, target in zip(own, beyond, strict=True)
        ]
        return Drawn(numbers[found], X[found], F[found], left[found])

    def extend(self, new: Drawn, L: NDArray) -> None:
        """Add pivots, in one pass, which is that of `scatter` too if these are the last."""
        k = self.rank
        triangle = np.zeros((k + len(L), k + len(L)))
        triangle[:k, :k], triangle[k:, :k], triangle[k:, k:] = self.L, new.F, L
        self.L = triangle
        self.X = new.X if self.X is None else _stack(self.X, new.X)
        self.pivots = np.concatenate([self.pivots, new.numbers])
        if self.rank == self._most:
            self.scatter()
        else:
            shared = (self._landmarks(), self._run)
            self._sums = self._table.fold(_left, shared=shared, combine=np.concatenate)
            self.rest = float(self._sums.sum())

    def scatter(self) -> tuple[NDArray, NDArray]:
        """Return the mean of the rows of F, and their scatter: one pass, or none."""
        if self._moments is None:
            shared = (self._landmarks(),)
            self._moments, self.rest = self._table.fold(_moments, shared=shared, combine=_merged)
        return self._moments.mean, self._moments.scatter

    def scores(self, V: NDArray, mean: NDArray) -> tuple[NDArray | None, NDArray]:
        """Return ``(F - mean) V``, and the signs that turn its columns: one pass."""
        W = scipy.linalg.solve_triangular(self.L.T, V, check_finite=False)
        shared = (self._kernel, self.X, W, mean @ V, self._dtype)
        task, keep = (_scores, 1) if self._keep else (_entries, 0)
        entries, kept = self._table.advance(task, shared=shared, keep=keep, combine=_deciding)
        return kept[0].gather() if kept else None, _signs(entries)

    def _landmarks(self) -> Landmarks:
        points = Points(np.empty((0, 0))) if self.X is None else self._ready()
        return Landmarks(self._kernel, points, self.origin, self.L, self._least)

    def _ready(self) -> Points:
        return self._kernel.ready(self.X, self.origin)


# ------------------------------------------------------------------------------------------- tasks


def _diagonal(block: Any, kernel: Kernel, run: int) -> tuple[NDArray, NDArray, float]:
    """Return the lengths of the runs of a block, their sums of the diagonal, its largest entry."""
    left = kernel.diagonal(block).astype(np.float64)
    if left.min() < 0:
        raise ValueError(INDEFINITE)
    starts = np.arange(0, len(left), run)
    sizes = np.diff(np.append(starts, len(left)))
    return sizes, np.add.reduceat(left, starts), float(left.max())


def _in_order(parts: list[tuple[NDArray, NDArray, float]]) -> tuple[NDArray, NDArray, float]:
    sizes, sums, largest = zip(*parts, strict=True)
    return np.concatenate(sizes), np.concatenate(sums), max(largest)


def _left(block: Any, landmarks: Landmarks, run: int) -> NDArray:
    """Return what is left of the diagonal, summed over the runs of a block."""
    left = np.concatenate([landmarks.factor(X)[1] for X in _parts(block)])
    return np.add.reduceat(left, np.arange(0, len(left), run))


def _moments(block: Any, landmarks: Landmarks) -> tuple[Moments, float]:
    """Return the moments of the rows of F, and the sum of what they leave."""
    moments, rest = Moments(), 0.0
    for X in _parts(block):
        F, left = landmarks.factor(X)
        moments.add(F)
        rest += float(left.sum())
    return moments, rest


def _merged(parts: list[tuple[Moments, float]]) -> tuple[Moments, float]:
    (first, rest), *others = parts
    for moments, more in others:
        first.merge(moments)
        rest += more
    return first, rest


def _scores(
    block: Any, kernel: Kernel, points: Any, W: NDArray, offset: NDArray, dtype: DTypeLike
) -> tuple[tuple[NDArray, ...], NDArray]:
    """Return those scores of a block that may decide signs, and all."""
    scores = kernel.combine(block, points, W) - offset
    return tuple(deciding(column) for column in scores.T), scores.astype(dtype, copy=False)


def _entries(*given: Any) -> tuple[tuple[NDArray, ...]]:
    return _scores(*given)[:1]


def _deciding(parts: list[tuple[NDArray, ...]]) -> tuple[NDArray, ...]:
    return tuple(deciding(np.concatenate(columns)) for columns in zip(*parts, strict=True))


def _signs(entries: tuple[NDArray, ...]) -> NDArray:
    return np.array([-1.0 if column[0] < 0 else 1.0 for column in entries])


def _parts(block: Any) -> list[Any]:
    return [block[rows] for rows in threads.spans(block.shape[0], PART)]


def _within(left: NDArray, target: float) -> int:
    """Return the row at which the sum of what is left passes the target."""
    some = np.flatnonzero(left)
    if not len(some):
        return 0
    return int(min(left.cumsum().searchsorted(target, side="right"), some[-1]))


def _stack(above: Any, below: Any) -> Any:
    if sparse.issparse(above):
        return sparse.vstack([above, below], format="csr")
    return np.concatenate([above, below])
