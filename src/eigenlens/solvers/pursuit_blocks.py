"""The tables of a principal component pursuit in blocks of rows: on a disk, or on other machines.

W stays beside the blocks of M, and so do the scores of the low-rank part, which is ``scores V' + 1
m'``. All singular values of W come from its Gram matrix, which is d x d: with ``W - 1 m' = U s
V'``, what the thresholding at t makes of it is ``(W - 1 m') V diag((s - t) / s) V'`` over the
values above t. So a round is one pass over M and W. It makes the low-rank part of a block, renews W
there, and gathers the moments of the new W for the next round.

A Gram matrix knows singular values to ``eps s_1^2 / s`` only, with ``s_1`` the largest. Of those
that count, the smallest is t: the low-rank part is good to ``eps s_1^2 / t``, because ``(s - t) /
s`` as a function of ``s^2`` is nowhere steeper than ``1 / (2 t^2)``, and only there stands beside
rows of the length t. And t is the inverse of the weight, which the rounds let grow no further than
needed: at the end of a fit t is nearer to the singular values than to the tolerance (a half of the
largest on common tables, 2e-4 of it where singular values spread over four orders or more).

Passes: one over M for the survey, one for a sample of rows, one for the sizes and one to begin; one
for each round; one for the support at the end; and 3 to 8 for each look at the duality gap
(:mod:`.duality_blocks`), of which most fits need one.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..data.blocks import Blocks, add_up
from ..ops import threads
from ..ops.moments import Moments
from ..ops.shrink import leave_entries, leave_rows
from ..ops.trim import column_medians
from ..ops.triplets import BLOCK_BYTES, BLOCK_ROWS, SPARE, pairs_above
from .duality import climb
from .duality_blocks import InBlocks as Multiplier
from .duality_blocks import Made, gram_of, together
from .pursuit_tables import (
    POWERS,
    SAMPLE,
    Problem,
    Sizes,
    Step,
    gross_limit,
    is_wrong,
    rest_of,
    sparse_of,
)

__all__ = ["InBlocks", "LowRankRows", "Surveyed"]


@dataclass(frozen=True, eq=False)
class Surveyed:
    """A table in blocks, and what one pass over it tells.

    Attributes
    ----------
    table : Blocks
        NaN where nothing was observed.
    n : int
        Rows.
    seen : ndarray of shape (d,)
        Observed entries of each column.
    low, high : ndarray of shape (d,)
        Smallest and largest of them, NaN of none.
    empty : int
        Rows without any.
    first_empty : int
        The first of these, -1 for none.
    """

    table: Blocks
    n: int
    seen: NDArray
    low: NDArray
    high: NDArray
    empty: int
    first_empty: int

    @classmethod
    def of(cls, table: Blocks) -> Surveyed:
        """Read the table once."""
        d = len(table.names)
        nothing = 0, np.zeros(d), np.full(d, np.nan), np.full(d, np.nan), 0, -1
        return cls(table, *(table.fold(_survey, combine=_surveys) or nothing))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n, len(self.seen)

    @property
    def dtype(self) -> np.dtype:
        """Of the table."""
        return self.table.dtype

    def divided(self, unit: float) -> Surveyed:
        """Return the table with all entries divided by a number."""
        table = self.table.map(functools.partial(_divided, unit=unit))
        low, high = self.low / unit, self.high / unit
        return Surveyed(table, self.n, self.seen, low, high, self.empty, self.first_empty)


class InBlocks:
    """Tables in blocks: :class:`.pursuit_tables.Tables`, with what is kept beside M."""

    def __init__(self, M: Surveyed, problem: Problem, rng: np.random.Generator) -> None:
        self.table, self.problem, self.shape, self.dtype = M.table, problem, M.shape, M.dtype
        n, d = M.shape
        # what the tables in memory draw: the first weight, and so the rounds, are the same
        self._start = rng.standard_normal((d, min(SPARE, n, d)))[:, 0]
        self._sample = M.table.take(np.arange(0, n, max(1, n * d // SAMPLE)))
        self._range = M.low, M.high
        self.mean = self._medians() if problem.centre else np.zeros(d)
        self.V: NDArray = np.zeros((d, 0))
        self.s: NDArray = np.zeros(0)
        self._share: NDArray = np.zeros(0)
        self._kept: list[Any] = []  # W and scores, from the first pass on

    def _medians(self) -> NDArray:
        """Return about the median of each column: any row is a start, and a better one a saving."""
        medians = column_medians(self._sample).astype(np.float64)
        return np.where(np.isnan(medians), (self._range[0] + self._range[1]) / 2, medians)

    def sizes(self) -> Sizes:
        """Return the sizes of M, in one pass."""
        low, high = self._range
        largest = float(max((high - self.mean).max(), (self.mean - low).max()))
        about = _about(self._sample, self.mean)
        limit = gross_limit(about, about) or largest
        del self._sample
        total, moments = self.table.fold(_sizes, shared=(self.mean, limit), combine=together)
        gram, v = gram_of(moments, centre=False), self._start
        for _ in range(POWERS):
            v = gram @ v
            v /= np.linalg.norm(v)
        root, norm = np.sqrt(np.trace(gram)) * limit, np.sqrt(v @ gram @ v) * limit
        return Sizes(limit, total * limit, float(root), float(norm), largest)

    def threshold(self, least: float) -> None:
        """Find the low-rank part of W; the next pass makes it."""
        self._before = self.mean, self.V, self.s
        if self.problem.centre:
            self.mean = self._moments.mean
        s, self.V = pairs_above(gram_of(self._moments, self.problem.centre), least)
        self.s, self._share = s - least, (s - least) / s

    def renew(self, step: Step) -> tuple[float, ...]:
        """Make the low-rank part and renew W, in one pass, which gathers the moments of W too."""
        shared = self.mean, self.V, self._share, step, self.problem.rows
        task = _round if self._kept else _begin
        answer, self._kept = self.table.advance(
            task, self._kept, shared=shared, keep=2, combine=together
        )
        sums, self._across, self._moments = answer
        return tuple(sums)

    def moved(self) -> float:
        """Return how far the low-rank part has moved in the last round."""
        mean, V, s = self._before
        across = np.vdot(self._across, V.T @ self.V)
        squares = s @ s + self.s @ self.s - 2 * across
        means = self.shape[0] ** 0.5 * np.linalg.norm(self.mean - mean)
        return float(np.hypot(np.sqrt(max(squares, 0.0)), means))

    def bound(self, mu: float, *, slack: float) -> float:
        """Return a lower bound of the objective."""
        problem = self.problem
        shared: dict[str, Any] = {
            "lam": problem.lam,
            "rows": problem.rows,
            "centre": problem.centre,
        }
        made = Made(mu, self.mean, self.V.T.astype(self.dtype))
        Y = Multiplier(self.table, self._kept, made, **shared)
        return climb(Y, delta=problem.delta, slack=slack, **shared)

    def trim(self, rank: int) -> None:
        """Keep the leading singular values alone."""
        self.V, self.s = self.V[:, :rank], self.s[:rank]

    def parts(self, limit: float) -> dict[str, Any]:
        """Return both parts of the table, of which the last pass keeps scores and a bit an entry.

        The sparse part is made of these and M when it is read.
        """
        problem, Vt = self.problem, self.V.T.astype(self.dtype)
        low_rank = LowRankRows(self.mean, Vt)
        shared = low_rank, limit, problem.knee, problem.rows
        (wrong, entries), kept = self.table.advance(_support, self._kept, shared=shared, keep=2)
        self._kept = []
        made = _SparseRows(low_rank, problem.knee, problem.rows)
        return {
            "components": Vt,
            "singular_values": self.s.astype(self.dtype),
            "scores": kept[0],
            "sparse": self.table.map(made, beside=kept),
            "support_fraction": wrong / (self.shape[0] if problem.rows else entries),
        }


# ----------------------------------------------------------------------- what is done to a block


@dataclass(frozen=True, eq=False)
class LowRankRows:
    """Makes rows of the low-rank part of their scores."""

    mean: NDArray
    Vt: NDArray

    def __call__(self, scores: NDArray | None) -> NDArray:
        """Return the rows; None are those of a block without any."""
        if scores is None:
            return np.zeros((0, len(self.mean)), self.Vt.dtype)
        L: NDArray = scores @ self.Vt
        L += self.mean.astype(L.dtype)
        return L


@dataclass(frozen=True, eq=False)
class _SparseRows:
    """Makes rows of the sparse part of those of M, of their scores, and of where they are wrong."""

    low_rank: LowRankRows
    knee: float
    rows: bool

    def __call__(self, M: NDArray, scores: NDArray | None, bits: NDArray | None) -> NDArray:
        L = self.low_rank(scores)
        if scores is None or bits is None:
            return L
        wrong = np.unpackbits(bits, axis=1, count=1 if self.rows else M.shape[1]).astype(bool)
        return sparse_of(rest_of(M, L), wrong, self.knee, rows=self.rows)


def _divided(block: NDArray, unit: float) -> NDArray:
    return block / block.dtype.type(unit)


def _survey(block: Any) -> tuple[int, NDArray, NDArray, NDArray, int, int]:
    if sparse.issparse(block):
        raise TypeError(
            "X comes in sparse blocks, and dense ones are needed: what is not stored would count "
            "as zero, rather than as not observed. Make them dense by .toarray()."
        )
    seen = ~np.isnan(block)
    empty = np.flatnonzero(~seen.any(axis=1))
    low, high = np.fmin.reduce(block, axis=0), np.fmax.reduce(block, axis=0)
    first = int(empty[0]) if len(empty) else -1
    return len(block), seen.sum(axis=0), low, high, len(empty), first


def _surveys(parts: list[Any]) -> tuple[Any, ...]:
    n, seen, low, high, empty, first = parts[0]
    for rows, more, lowest, highest, none, place in parts[1:]:
        first = n + place if first < 0 <= place else first
        low, high = np.fmin(low, lowest), np.fmax(high, highest)
        n, seen, empty = n + rows, seen + more, empty + none
    return n, seen, low, high, empty, first


def _about(M: NDArray, mean: NDArray) -> NDArray:
    about: NDArray = M - mean.astype(M.dtype)
    about[np.isnan(about)] = 0.0
    return about


def _sizes(M: NDArray, mean: NDArray, limit: float) -> tuple[float, Moments]:
    """Return sums over entries in units of the limit, so that powers do not overflow."""
    about = np.clip(_about(M, mean).astype(np.float64) / limit, -1.0, 1.0)
    return float(np.abs(about).sum()), Moments.of(about)


def _begin(M: NDArray, mean: NDArray, *shared: Any) -> tuple[Any, ...]:
    """Do the first round: W is M, and there is no low-rank part."""
    W = np.where(np.isnan(M), mean.astype(M.dtype), M)
    return _round(M, W, np.zeros((len(M), 0), M.dtype), mean, *shared)


def _round(
    M: NDArray,
    W: NDArray,
    before: NDArray,
    mean: NDArray,
    V: NDArray,
    share: NDArray,
    step: Step,
    rows: bool,
) -> tuple[Any, NDArray, NDArray]:
    """Return sums, with the moments of the new W; and the new W, and the scores of its L."""
    (n, d), dtype = M.shape, M.dtype
    leave, Vt, offset = leave_rows if rows else leave_entries, V.T.astype(dtype), mean.astype(dtype)
    W, scores = W.copy(), np.empty((n, V.shape[1]), dtype)
    spans = threads.spans(n, max(BLOCK_ROWS, BLOCK_BYTES // (8 * d)))

    def part(i: int) -> tuple[NDArray, NDArray]:
        rows = spans[i]
        scores[rows] = ((W[rows] - mean) @ V) * share
        L = scores[rows] @ Vt
        L += offset
        sums = leave(M[rows], W[rows], L, *step)
        return np.array(sums), before[rows].T.astype(np.float64) @ scores[rows]

    sums, across = add_up(threads.run(part, len(spans)))
    return (sums, across, Moments.of(W.astype(np.float64, copy=False))), W, scores


def _support(
    M: NDArray,
    W: NDArray,
    scores: NDArray,
    low_rank: LowRankRows,
    limit: float,
    knee: float,
    rows: bool,
) -> tuple[tuple[int, int], NDArray, NDArray]:
    """Return how much is wrong and how much is there; the scores that count, and what is wrong."""
    scores = np.ascontiguousarray(scores[:, : len(low_rank.Vt)])
    L = low_rank(scores)
    rest = rest_of(M, L)
    wrong = is_wrong(M, W, L, rest, limit, rows=rows)
    found = sparse_of(rest, wrong, knee, rows=rows) != 0
    count = int(np.count_nonzero(found.any(axis=1) if rows else found))
    return (count, int(np.count_nonzero(~np.isnan(M)))), scores, np.packbits(wrong, axis=1)
