"""Principal component pursuit: a table as low rank plus sparse (Candes, Li, Ma, Wright 2011).

    min over m, L, S of  |L|_* + lam |S|_1    with 1 m' + L + S = M on the observed entries

|L|_* is the sum of singular values, |S|_1 that of absolute entries (or of the lengths of rows, for
outlier pursuit: Xu, Caramanis, Sanghavi 2010). The mean m is free, or zero; L has none of its own.
With white noise in all entries (stable pursuit: Zhou, Li, Wright, Candes, Ma 2010) the constraint
becomes a term |M - 1 m' - L - S|^2 / (2 delta) of the objective.

The augmented Lagrangian with multiplier Y and weight mu gives, in turn (Lin, Chen, Ma 2010):

    S <- shrink(M - L + Y / mu, lam / mu)      entries towards zero, by a threshold
    L <- shrink(M - S + Y / mu, 1 / mu)        singular values towards zero
    Y <- Y + mu (M - L - S)

Two tables are enough for that. With ``W = M - S + Y / mu``, the new multiplier is ``mu E``, with
``E = W - L`` what the second step takes off W. And with ``T = M - L + Y / mu``, the W of the next
round is ``L + C``, where C is what the first step leaves of T: its projection onto a ball. So a
round is one pass over M and W, and a few products with W (:mod:`eigenlens.ops.triplets`).
Over-relaxation (Eckstein, Bertsekas 1992) costs nothing more: W is ``L + a C + (1 - a) E``.

The weight grows only while L moves little beside what does not fit yet. An inexact augmented
Lagrangian, whose weight grows in every round, needs no fewer rounds on easy problems, and ends at
the wrong point on hard ones (rank n / 5 with a tenth of the entries wrong). Where progress is slow,
the gap to the dual problem (:mod:`.duality`) steers: the weight falls, or grows, whichever closes
it faster. This gap is the certificate. It proves that the problem is solved, not that its solution
is what the data were made from.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.shrink import leave_entries, leave_rows
from ..ops.trim import column_medians
from ..ops.triplets import Leading, Triplets
from .duality import lower_bound
from .low_rank import LowRank
from .solution import Certificate, Monitor, ignore

__all__ = ["solve"]

GAP = "duality gap / objective, gross errors apart"
RELAX = 1.4  # over-relaxation: 1 is none, 2 the limit
GROWTH = 2.0  # of the weight, in a round in which it grows
CALM = 20.0  # it grows while L moves by less than so many times the misfit
FIRST = 1.25  # of the first weight, in units of 1 / |M|_2
GROSS = 100.0  # of the median of |M|: entries beyond do not settle any scale
SAMPLE = 1_000_000  # entries, at least, that settle the median
SLOW = 8  # rounds in which the misfit shall fall to a third, or else the gap is looked at
LOOK = 3  # rounds from one look at the gap to the next
SLACK = 0.2  # of the gap that is asked for, to be lost in scaling
WORSE = 0.8  # of the part of the gap that was closed last: the weight goes the other way
FINE = 1e-6  # gap at which a slow fit ends at once,
PATIENCE = 500  # and rounds after which one that is small enough will do,
WORK = 120_000_000  # or entries looked at, in all: small tables are solved further


def solve(
    M: NDArray,
    *,
    lam: float,
    rows: bool = False,
    centre: bool = True,
    delta: float = 0.0,
    rng: np.random.Generator,
    tol: float = 1e-7,
    gap_tol: float = 1e-3,
    max_iter: int = 200,
    monitor: Monitor = ignore,
) -> LowRank:
    """Return `M` taken apart into a mean, low rank and sparse.

    Parameters
    ----------
    M : ndarray of shape (n, d)
        NaN where nothing was observed.
    lam : float
        Weight of the sparse part.
    rows : bool
        Whether whole rows are outliers, rather than entries.
    centre : bool
        Whether the mean is free, rather than zero.
    delta : float
        Scale of the noise term; 0 for none.
    rng : Generator
        Draws the first directions.
    tol : float
        Misfit at which to stop: root mean square of what is neither low rank nor sparse (nor
        noise), relative to the mean size of entries, gross ones cut off.
    gap_tol : float
        Largest duality gap, relative to the objective without what is gross of errors. Where it is
        larger when all fits, the rounds go on. Where progress is slow, they end at it; on small
        tables, whose rounds cost little, only after some more.
    max_iter : int
        Rounds, at most: each has one thresholding of singular values.
    monitor : Monitor
    """
    # the multiplier is within 1 anyway: with a larger weight nothing is sparse, all the same
    rounds = _Rounds(M, min(lam, 1.0), rows, centre, delta, rng)
    objectives: list[float] = []
    misfits: list[float] = []
    looked, fits = 0, False
    patience = min(PATIENCE, WORK // M.size)
    while len(objectives) < max_iter:
        rounds.go()
        objectives.append(rounds.objective)
        misfits.append(rounds.misfit)
        if monitor(rounds.objective):
            break
        fits, k = rounds.misfit <= tol, len(misfits)
        slow = k > SLOW and misfits[-1] > misfits[-1 - SLOW] / 3
        if (fits or slow) and k >= looked + max(LOOK, k // 10):
            rounds.look(gap_tol, steer=slow)
            looked = k
            if rounds.gap <= (gap_tol if fits or k >= patience else min(FINE, gap_tol)):
                break
    if fits:
        rounds.trim()
    if looked < len(objectives):
        rounds.look(gap_tol, steer=False)
    U, s, Vt = rounds.low_rank
    return LowRank(
        solver="ialm",
        mean=rounds.mean,
        components=Vt,
        singular_values=s,
        scores=U * s,
        sparse=rounds.sparse(),
        objective_history=np.array(objectives),
        n_iter=len(objectives),
        converged=bool(rounds.gap <= gap_tol),
        certificate=Certificate(GAP, rounds.gap, gap_tol),
    )


class _Rounds:
    """The tables M and W, the low-rank part, and the weight of the moment."""

    def __init__(
        self,
        M: NDArray,
        lam: float,
        rows: bool,
        centre: bool,
        delta: float,
        rng: np.random.Generator,
    ) -> None:
        self.M, self.lam, self.rows, self.centre, self.delta = M, lam, rows, centre, delta
        self.leading = Leading(M.shape, rng, centre=centre)
        self.mean = column_medians(M).astype(np.float64) if centre else np.zeros(M.shape[1])
        self.low_rank = Triplets.none(M.shape, M.dtype)
        self.W = np.where(np.isnan(M), self.mean.astype(M.dtype), M)
        self.growth = GROWTH
        self.steered = False
        self.direction = 1 / GROWTH
        self.closed = 0.0
        self.seen = (-np.inf, np.inf)  # bound and objective, at the last look
        first, largest = self._sizes()
        self.mu = FIRST / max(first, FIRST * delta)
        self._pass(1 / (self.mu * max(first, largest / lam, delta)))

    def _sizes(self) -> tuple[float, float]:
        """Return the spectral norm of M with gross entries cut off, and its largest entry."""
        about = self.W - self.mean.astype(self.W.dtype)
        n, d = about.shape
        sample = np.abs(about[:: max(1, n * d // SAMPLE)])
        limit = GROSS * float(np.median(sample[sample > 0] if sample.any() else np.abs(about)))
        largest = float(max(about.max(), -about.min()))
        limit = limit or largest
        np.clip(about, -limit, limit, out=about)
        sizes = [float(np.abs(about[rows]).sum(dtype=np.float64)) for rows in self.leading.rows]
        self.gross = limit * d**0.5 if self.rows else limit
        self.scale = sum(sizes) / (n * d) ** 0.5
        about /= limit  # so that powers do not overflow
        self.root = float(np.linalg.norm(about)) * limit
        v = self.leading.V[:, 0].astype(about.dtype)
        for _ in range(10):
            v = about.T @ (about @ v)
            v /= np.linalg.norm(v)
        return float(np.linalg.norm(about @ v)) * limit, largest

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

    def _pass(self, c: float) -> None:
        """Renew W, for the low-rank part and the weight of the moment; Y / mu is c (W - L)."""
        leave = leave_rows if self.rows else leave_entries
        shrink = 1 / (1 + self.mu * self.delta)
        threshold, knee = self.lam / self.mu, self.lam * self.delta

        def task(rows: slice, L: NDArray) -> tuple[float, ...]:
            sums: tuple[float, ...] = leave(
                self.M[rows],
                self.W[rows],
                L,
                c,
                RELAX,
                shrink,
                threshold,
                knee,
                max(self.gross, knee),
            )
            return sums

        misfit, square, size, beyond = self._blocks(task)
        self.misfit = float(np.sqrt(misfit)) / self.scale
        self.left = float(np.sqrt(square))
        self.objective = float(self.low_rank.s.sum(dtype=np.float64) + self.lam * size)
        self.gross_part = float(self.lam * beyond)

    def go(self) -> None:
        """Take one round."""
        before, mean = self.low_rank, self.mean
        self.mean, (U, s, Vt) = self.leading.above(self.W, 1 / self.mu)
        self.low_rank = Triplets(U, s - s.dtype.type(1 / self.mu), Vt)
        self.mu *= self.growth
        self._pass(1 / self.growth)
        moved = np.hypot(
            _distance(before, self.low_rank), len(U) ** 0.5 * np.linalg.norm(self.mean - mean)
        )
        calm = moved * self.root < CALM * self.left * self.misfit * self.scale
        self.growth = GROWTH if calm and not self.steered else 1.0

    @property
    def gap(self) -> float:
        """How far the objective is above its lower bound, relative to it without gross errors."""
        return (self.objective - self.seen[0]) / self.ordinary

    @property
    def ordinary(self) -> float:
        """The objective without what is gross of errors."""
        return self.objective - self.gross_part

    def look(self, gap_tol: float, *, steer: bool) -> None:
        """Bound the objective from below, and let that steer the weight.

        The weight goes on in one direction as long as that closes the gap about as well as before.
        """
        bound, objective = self.seen
        Y = np.empty_like(self.W)

        def multiplier(rows: slice, L: NDArray) -> None:
            np.subtract(self.W[rows], L, out=Y[rows])
            Y[rows] *= Y.dtype.type(self.mu)

        self._blocks(multiplier)
        found = lower_bound(
            self.M,
            Y,
            mean=self.mean,
            lam=self.lam,
            rows=self.rows,
            centre=self.centre,
            delta=self.delta,
            V=self.leading.V,
            slack=SLACK * gap_tol * self.ordinary,
        )
        self.seen = max(bound, found), self.objective
        if not steer:
            return
        if self.steered:
            closed = 1 - self.gap * self.ordinary / (objective - bound)
            if closed < WORSE * self.closed:
                self.direction = 1 / self.direction
            self.closed = max(closed, 0.0)
            self.growth = self.direction
        self.steered = True

    def trim(self) -> None:
        """Leave out singular values that are smaller than all that does not fit.

        What they were goes to the sparse part, whose norm grows by its own at most.
        """
        rank = int(np.sum(self.low_rank.s > self.misfit * self.scale))
        left_out = self.low_rank.s[rank:].astype(np.float64)
        summands = len(self.M) if self.rows else self.M.size
        norm = self.lam * summands**0.5 * np.linalg.norm(left_out)
        self.objective += float(norm - left_out.sum())
        self.low_rank = self.low_rank.first(rank)

    def sparse(self) -> NDArray:
        """Return the sparse part: what the low-rank part leaves of M, where that is not small."""
        S = np.empty_like(self.M)
        knee = self.lam * self.delta
        limit, tiny = self.lam / self.mu + knee, np.finfo(S.dtype).tiny

        def task(rows: slice, L: NDArray) -> None:
            rest = self.M[rows] - L
            rest[np.isnan(rest)] = 0.0
            target = np.where(np.isnan(self.M[rows]), 0.0, rest + self.W[rows] - L)
            if self.rows:
                size, length = (
                    np.linalg.norm(part, axis=1, keepdims=True) for part in (rest, target)
                )
            else:
                size, length = np.abs(rest), np.abs(target)
            kept = np.maximum(size - knee, 0) / np.maximum(size, tiny)
            S[rows] = np.where(length > limit, kept * rest, 0.0)

        self._blocks(task)
        return S


def _distance(A: Triplets, B: Triplets) -> float:
    """Return the distance of two tables."""
    across = np.vdot((A.U.T @ B.U) * A.s[:, None] * B.s, A.Vt @ B.Vt.T)
    return float(np.sqrt(max(A.s @ A.s + B.s @ B.s - 2 * across, 0.0)))
