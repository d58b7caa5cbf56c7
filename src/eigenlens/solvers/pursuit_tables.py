"""The tables of a principal component pursuit: what is asked of them, and how, in memory.

M is what is taken apart, W the table of the rounds (:mod:`.pursuit`), and the low-rank part is kept
as singular triplets and a mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.shrink import leave_entries, leave_rows
from ..ops.trim import column_medians
from ..ops.triplets import Leading, Triplets
from .duality import lower_bound

__all__ = [
    "POWERS",
    "SAMPLE",
    "Problem",
    "Sizes",
    "Step",
    "Tables",
    "Whole",
    "gross_limit",
    "is_wrong",
    "rest_of",
    "sparse_of",
]

GROSS = 100.0  # of the median of |M|: entries beyond do not settle any scale
SAMPLE = 1_000_000  # entries, at least, that settle the median
POWERS = 10  # steps of the power method to the first spectral norm


@dataclass(frozen=True)
class Problem:
    """What is minimised: see :func:`.pursuit.solve`."""

    lam: float
    rows: bool
    centre: bool
    delta: float

    @property
    def knee(self) -> float:
        """The size of what does not fit, from which on it is measured by its size."""
        return self.lam * self.delta


class Sizes(NamedTuple):
    """Of M less its first mean, with gross entries cut off at the limit."""

    limit: float
    total: float  # of absolute entries
    root: float  # of the sum of squares
    norm: float  # the largest singular value
    largest: float  # entry, not cut off


class Step(NamedTuple):
    """What :mod:`eigenlens.ops.shrink` is given to renew W."""

    c: float
    relax: float
    shrink: float
    threshold: float
    knee: float
    gross: float


class Tables(Protocol):
    """The tables M and W and the low-rank part, wherever they are."""

    shape: tuple[int, int]
    mean: NDArray
    s: NDArray  # singular values of the low-rank part

    def sizes(self) -> Sizes:
        """Return the sizes that settle the first weight and all scales."""

    def threshold(self, least: float) -> None:
        """Make the low-rank part of W, with singular values `least` smaller."""

    def renew(self, step: Step) -> tuple[float, ...]:
        """Renew W, and return the sums of the step."""

    def moved(self) -> float:
        """Return how far the low-rank part has moved in the last round."""

    def bound(self, mu: float, *, slack: float) -> float:
        """Return a lower bound of the objective, from the multiplier ``mu (W - L)``."""

    def trim(self, rank: int) -> None:
        """Keep the leading singular values alone."""

    def parts(self, limit: float) -> dict[str, Any]:
        """Return the fields of the solution that have to do with rows and columns."""


class Whole:
    """Tables in memory; singular vectors by subspace iteration from the last ones."""

    def __init__(self, M: NDArray, problem: Problem, rng: np.random.Generator) -> None:
        self.M, self.problem, self.shape = M, problem, M.shape
        self.leading = Leading(M.shape, rng, centre=problem.centre)
        d = M.shape[1]
        self.mean = column_medians(M).astype(np.float64) if problem.centre else np.zeros(d)
        self.low_rank = self._before = Triplets.none(M.shape, M.dtype)
        self._mean_before = self.mean
        self.W = np.where(np.isnan(M), self.mean.astype(M.dtype), M)

    @property
    def s(self) -> NDArray:
        """Singular values of the low-rank part."""
        return self.low_rank.s

    def sizes(self) -> Sizes:
        """Return the sizes of M."""
        about = self.W - self.mean.astype(self.W.dtype)
        n, d = about.shape
        largest = float(max(about.max(), -about.min()))
        limit = gross_limit(about[:: max(1, n * d // SAMPLE)], about) or largest
        np.clip(about, -limit, limit, out=about)
        sizes = [float(np.abs(about[rows]).sum(dtype=np.float64)) for rows in self.leading.rows]
        about /= limit  # so that powers do not overflow
        root = float(np.linalg.norm(about)) * limit
        v = self.leading.V[:, 0].astype(about.dtype)
        for _ in range(POWERS):
            v = about.T @ (about @ v)
            v /= np.linalg.norm(v)
        norm = float(np.linalg.norm(about @ v)) * limit
        return Sizes(limit, sum(sizes), root, norm, largest)

    def _blocks(self, task: Callable[[slice, NDArray], tuple[float, ...] | None]) -> NDArray:
        """Run the task on each block of rows, with the low-rank part of it; add up the answers."""
        mean = self.mean.astype(self.M.dtype)
        spans = self.leading.rows

        def part(i: int) -> tuple[float, ...]:
            L = self.low_rank.table(spans[i])
            L += mean
            return task(spans[i], L) or ()

        total: NDArray = np.sum(threads.run(part, len(spans)), axis=0)
        return total

    def threshold(self, least: float) -> None:
        """Make the low-rank part of W, with singular values `least` smaller."""
        self._before, self._mean_before = self.low_rank, self.mean
        self.mean, (U, s, Vt) = self.leading.above(self.W, least)
        self.low_rank = Triplets(U, s - s.dtype.type(least), Vt)

    def renew(self, step: Step) -> tuple[float, ...]:
        """Renew W in place."""
        leave = leave_rows if self.problem.rows else leave_entries

        def task(rows: slice, L: NDArray) -> tuple[float, ...]:
            sums: tuple[float, ...] = leave(self.M[rows], self.W[rows], L, *step)
            return sums

        return tuple(self._blocks(task))

    def moved(self) -> float:
        """Return how far the low-rank part has moved in the last round."""
        n = self.shape[0]
        means = n**0.5 * np.linalg.norm(self.mean - self._mean_before)
        return float(np.hypot(_distance(self._before, self.low_rank), means))

    def bound(self, mu: float, *, slack: float) -> float:
        """Return a lower bound of the objective."""
        Y, problem = np.empty_like(self.W), self.problem

        def multiplier(rows: slice, L: NDArray) -> None:
            np.subtract(self.W[rows], L, out=Y[rows])
            Y[rows] *= Y.dtype.type(mu)

        self._blocks(multiplier)
        return lower_bound(
            self.M,
            Y,
            mean=self.mean,
            lam=problem.lam,
            rows=problem.rows,
            centre=problem.centre,
            delta=problem.delta,
            V=self.leading.V,
            slack=slack,
        )

    def trim(self, rank: int) -> None:
        """Keep the leading singular values alone."""
        self.low_rank = self.low_rank.first(rank)

    def parts(self, limit: float) -> dict[str, Any]:
        """Return both parts of the table."""
        S, problem = np.empty_like(self.M), self.problem

        def task(rows: slice, L: NDArray) -> None:
            rest = rest_of(self.M[rows], L)
            wrong = is_wrong(self.M[rows], self.W[rows], L, rest, limit, rows=problem.rows)
            S[rows] = sparse_of(rest, wrong, problem.knee, rows=problem.rows)

        self._blocks(task)
        U, s, Vt = self.low_rank.tidied()
        return {"components": Vt, "singular_values": s, "scores": U * s, "sparse": S}


def gross_limit(sample: NDArray, about: NDArray) -> float:
    """Return the size from which on entries are gross: by the sample, if it is not all zero."""
    sizes = np.abs(sample)
    return GROSS * float(np.median(sizes[sizes > 0] if sizes.any() else np.abs(about)))


def rest_of(M: NDArray, L: NDArray) -> NDArray:
    """Return what the low-rank part leaves of M, zero where nothing was observed."""
    rest: NDArray = M - L
    rest[np.isnan(rest)] = 0.0
    return rest


def is_wrong(
    M: NDArray, W: NDArray, L: NDArray, rest: NDArray, limit: float, *, rows: bool
) -> NDArray:
    """Return where the sparse part takes something: of each entry, or in one column of each row."""
    wrong: NDArray = _sizes(np.where(np.isnan(M), 0.0, rest + W - L), rows) > limit
    return wrong


def sparse_of(rest: NDArray, wrong: NDArray, knee: float, *, rows: bool) -> NDArray:
    """Return the sparse part: what is left of M, less the knee, where something is wrong."""
    size = _sizes(rest, rows)
    kept = np.maximum(size - knee, 0) / np.maximum(size, np.finfo(rest.dtype).tiny)
    return np.where(wrong, kept * rest, 0.0).astype(rest.dtype, copy=False)


def _sizes(table: NDArray, rows: bool) -> NDArray:
    return np.linalg.norm(table, axis=1, keepdims=True) if rows else np.abs(table)


def _distance(A: Triplets, B: Triplets) -> float:
    """Return the distance of two tables."""
    across = np.vdot((A.U.T @ B.U) * A.s[:, None] * B.s, A.Vt @ B.Vt.T)
    return float(np.sqrt(max(A.s @ A.s + B.s @ B.s - 2 * across, 0.0)))
