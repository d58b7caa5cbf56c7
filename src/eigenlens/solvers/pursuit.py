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

Where the tables are is no matter of the rounds: in memory (:mod:`.pursuit_tables`), or in blocks of
rows on a disk or on other machines (:mod:`.pursuit_blocks`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .low_rank import LowRank
from .pursuit_blocks import InBlocks, Surveyed
from .pursuit_tables import Problem, Step, Tables, Whole
from .solution import Certificate, Monitor, ignore

__all__ = ["solve"]

GAP = "duality gap / objective, gross errors apart"
RELAX = 1.4  # over-relaxation: 1 is none, 2 the limit
GROWTH = 2.0  # of the weight, in a round in which it grows
CALM = 20.0  # it grows while L moves by less than so many times the misfit
FIRST = 1.25  # of the first weight, in units of 1 / |M|_2
SLOW = 8  # rounds in which the misfit shall fall to a third, or else the gap is looked at
LOOK = 3  # rounds from one look at the gap to the next
SLACK = 0.2  # of the gap that is asked for, to be lost in scaling
WORSE = 0.8  # of the part of the gap that was closed last: the weight goes the other way
FINE = 1e-6  # gap at which a slow fit ends at once,
PATIENCE = 500  # and rounds after which one that is small enough will do,
WORK = 120_000_000  # or entries looked at, in all: small tables are solved further


def solve(
    M: NDArray | Surveyed,
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
    M : {ndarray, Surveyed} of shape (n, d)
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
    problem = Problem(lam=min(lam, 1.0), rows=rows, centre=centre, delta=delta)
    make = InBlocks if isinstance(M, Surveyed) else Whole
    rounds = _Rounds(make(M, problem, rng), problem)  # type: ignore[arg-type]
    objectives: list[float] = []
    misfits: list[float] = []
    looked, fits = 0, False
    n, d = M.shape
    patience = min(PATIENCE, WORK // (n * d))
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
    return LowRank(
        solver="ialm",
        mean=rounds.tables.mean,
        objective_history=np.array(objectives),
        n_iter=len(objectives),
        converged=bool(rounds.gap <= gap_tol),
        certificate=Certificate(GAP, rounds.gap, gap_tol),
        **rounds.tables.parts(rounds.limit),
    )


class _Rounds:
    """The weight of the moment, and what it does to the tables."""

    def __init__(self, tables: Tables, problem: Problem) -> None:
        self.tables, self.lam, self.delta = tables, problem.lam, problem.delta
        self.growth = GROWTH
        self.steered = False
        self.direction = 1 / GROWTH
        self.closed = 0.0
        self.seen = (-np.inf, np.inf)  # bound and objective, at the last look
        sizes = tables.sizes()
        n, d = tables.shape
        self.gross = sizes.limit * d**0.5 if problem.rows else sizes.limit
        self.summands = n if problem.rows else n * d
        self.scale = sizes.total / (n * d) ** 0.5
        self.root = sizes.root
        self.mu = FIRST / max(sizes.norm, FIRST * self.delta)
        self._pass(1 / (self.mu * max(sizes.norm, sizes.largest / self.lam, self.delta)))

    def _pass(self, c: float) -> None:
        """Renew W, for the low-rank part and the weight of the moment; Y / mu is c (W - L)."""
        knee = self.lam * self.delta
        step = Step(
            c=c,
            relax=RELAX,
            shrink=1 / (1 + self.mu * self.delta),
            threshold=self.lam / self.mu,
            knee=knee,
            gross=max(self.gross, knee),
        )
        misfit, square, size, beyond = self.tables.renew(step)
        self.misfit = float(np.sqrt(misfit)) / self.scale
        self.left = float(np.sqrt(square))
        self.objective = float(self.tables.s.sum(dtype=np.float64) + self.lam * size)
        self.gross_part = float(self.lam * beyond)

    def go(self) -> None:
        """Take one round."""
        self.tables.threshold(1 / self.mu)
        self.mu *= self.growth
        self._pass(1 / self.growth)
        moved = self.tables.moved()
        calm = moved * self.root < CALM * self.left * self.misfit * self.scale
        self.growth = GROWTH if calm and not self.steered else 1.0

    @property
    def gap(self) -> float:
        """How far the objective is from its lower bound, relative to it without gross errors.

        That of a point that does not fit to the last digit can be below the bound.
        """
        return abs(self.objective - self.seen[0]) / self.ordinary

    @property
    def ordinary(self) -> float:
        """The objective without what is gross of errors, of which rounding leaves no less."""
        return max(self.objective - self.gross_part, float(np.spacing(self.objective)))

    @property
    def limit(self) -> float:
        """What the sparse part takes from what it leaves, where it takes anything."""
        return self.lam / self.mu + self.lam * self.delta

    def look(self, gap_tol: float, *, steer: bool) -> None:
        """Bound the objective from below, and let that steer the weight.

        The weight goes on in one direction as long as that closes the gap about as well as before.
        """
        bound, objective = self.seen
        found = self.tables.bound(self.mu, slack=SLACK * gap_tol * self.ordinary)
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
        s = self.tables.s
        rank = int(np.sum(s > self.misfit * self.scale))
        left_out = s[rank:].astype(np.float64)
        norm = self.lam * self.summands**0.5 * np.linalg.norm(left_out)
        self.objective += float(norm - left_out.sum())
        self.tables.trim(rank)
