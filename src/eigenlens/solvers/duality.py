"""Lower bounds of the pursuit objective: the proof that a table was taken apart as well as can be.

The dual of ``min |L|_* + lam |S|_1 + |M - 1 m' - L - S|^2 / (2 delta)`` is

    max over Y of  <M, Y> - delta |Y|^2 / 2    with |Y|_2 <= 1 and |Y|_inf <= lam

(rows of Y no longer than lam, where S is measured by rows), zero where nothing was observed, and
with columns that add up to zero if m is free. Each such Y bounds the objective from below. The
multiplier of a solver is nearly one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf as potrf

from ..ops import threads
from ..ops.shrink import ball_entries, ball_rows
from ..ops.triplets import Leading, Triplets

__all__ = ["GAP", "Multiplier", "climb", "lower_bound", "norm_bound"]

GAP = "duality gap / objective"

POLISH = 2  # projections onto both balls, before the norms are looked at
ATTEMPTS = 5  # at norms near enough to 1
CENTRINGS = 4  # Newton steps towards columns that add up to zero
SHARP = 1e-12  # excess of the spectral norm over 1 that is tried first


def lower_bound(
    M: NDArray,
    Y: NDArray,
    *,
    mean: NDArray,
    lam: float,
    rows: bool = False,
    centre: bool = True,
    delta: float = 0.0,
    V: NDArray | None = None,
    slack: float = 0.0,
) -> float:
    """Return the dual objective at a feasible point near `Y`, which is overwritten.

    Projections onto the one ball and the other bring Y nearer to both. Scaling does the rest.
    Where scaling costs much, because there are gross errors, there are more projections.

    Parameters
    ----------
    M : ndarray of shape (n, d)
        NaN where nothing was observed.
    Y : ndarray of shape (n, d)
    mean : ndarray of shape (d,)
        Any row near those of M: it keeps rounding small.
    lam, rows, centre, delta
        Of the problem.
    V : ndarray of shape (d, any), optional
        Guess of the leading right singular vectors of Y, as columns.
    slack : float
        What scaling may cost.
    """
    multiplier = _Whole(M, Y, mean, lam, rows, centre)
    if V is not None:
        multiplier.leading.V = V
    return climb(multiplier, lam=lam, rows=rows, centre=centre, delta=delta, slack=slack)


class Multiplier(Protocol):
    """A table Y beside M, in memory or in blocks, on its way to a feasible point."""

    def to_ball(self) -> None:
        """Project onto entries (or rows) within lam, zero where nothing was observed."""

    def to_spectral_ball(self) -> None:
        """Project onto a spectral norm within 1 and, where m is free, columns of mean zero."""

    def column_means(self, *, free: bool) -> NDArray:
        """Return the column sums over the number of observed entries, or of those not at lam."""

    def shift(self, means: NDArray) -> None:
        """Subtract a row from all."""

    def clear(self) -> None:
        """Set what was not observed to zero."""

    def end(self) -> tuple[float, float, float, float]:
        """Return a bound of the norm, the largest entry or row, ``<M, Y>`` and ``|Y|^2``."""


def climb(
    Y: Multiplier, *, lam: float, rows: bool, centre: bool, delta: float, slack: float
) -> float:
    """Return the best dual objective on the way of `Y` to both balls, as `lower_bound` says."""
    best = -np.inf
    for _ in range(ATTEMPTS):
        Y.to_ball()
        for _ in range(POLISH):
            Y.to_spectral_ball()
            Y.to_ball()
        if centre:
            # by Newton's method: entries at the limit do not move
            for _ in range(CENTRINGS):
                Y.shift(Y.column_means(free=not rows))
                Y.to_ball()
            Y.shift(Y.column_means(free=False))
            Y.clear()
        norm, longest, inner, square = Y.end()
        scale = max(norm, longest / lam)
        best = max(best, float(inner / scale - 0.5 * delta * square / scale**2))
        if (scale - 1) * inner <= slack:
            break
    return best


class _Whole:
    """A multiplier in memory, which is overwritten."""

    def __init__(
        self, M: NDArray, Y: NDArray, mean: NDArray, lam: float, rows: bool, centre: bool
    ) -> None:
        self.M, self.Y, self.lam, self.rows = M, Y, lam, rows
        self.about = mean.astype(M.dtype)
        self.leading = Leading(M.shape, np.random.default_rng(0), centre=centre)
        self.spans = self.leading.rows

    @cached_property
    def seen(self) -> NDArray:
        return ~np.isnan(self.M)

    def _run(self, task: Callable[[slice], Any]) -> list[Any]:
        return threads.run(lambda i: task(self.spans[i]), len(self.spans))

    def to_ball(self) -> None:
        ball = ball_rows if self.rows else ball_entries
        self._run(lambda span: ball(self.M[span], self.Y[span], self.lam))

    def to_spectral_ball(self) -> None:
        Y = self.Y
        means, (U, s, Vt) = self.leading.above(Y, 1.0)
        excess, offset = Triplets(U, s - s.dtype.type(1), Vt), means.astype(Y.dtype)

        def part(span: slice) -> None:
            Y[span] -= excess.table(span) + offset

        self._run(part)

    def column_means(self, *, free: bool) -> NDArray:
        Y, lam, seen = self.Y, self.lam, self.seen
        counted = seen & (lam > Y) & (-lam < Y) if free else seen
        means: NDArray = Y.sum(axis=0, dtype=np.float64) / np.maximum(counted.sum(axis=0), 1)
        return means

    def shift(self, means: NDArray) -> None:
        self.Y -= means.astype(self.Y.dtype)

    def clear(self) -> None:
        self.Y[~self.seen] = 0

    def end(self) -> tuple[float, float, float, float]:
        Y = self.Y
        longest = (
            np.sqrt(np.einsum("ij,ij->i", Y, Y).max()) if self.rows else max(Y.max(), -Y.min())
        )

        def terms(span: slice) -> tuple[float, float]:
            rest, y = self.M[span] - self.about, Y[span].astype(np.float64)
            rest[np.isnan(rest)] = 0.0
            return float(np.vdot(rest, y)), float(np.vdot(y, y))

        inner, square = np.sum(self._run(terms), axis=0)
        return _norm_bound(Y), float(longest), float(inner), float(square)


def _norm_bound(Y: NDArray) -> float:
    """Return an upper bound of the spectral norm of Y, from the smaller of its Gram matrices."""
    Y = Y.astype(np.float64, copy=False)
    n, d = Y.shape
    with threads.blas_for(float(n) * d * min(n, d)):
        return norm_bound(Y @ Y.T if n < d else Y.T @ Y)


def norm_bound(gram: NDArray) -> float:
    """Return an upper bound of the root of the largest eigenvalue, close where it is near 1.

    It is at least 1. ``|Y|_2 < t`` where ``t^2 - Y Y'`` is positive definite, which a Cholesky
    factorisation proves. Vectors found by iteration would bound the norm from below only. `gram` is
    overwritten.
    """
    np.negative(gram, out=gram)
    diagonal = np.diag(gram).copy()

    def proven(excess: float) -> bool:
        """Whether the norm is below: the factor overwrites one triangle of the square."""
        for i in range(len(gram)):
            gram[i, i + 1 :] = gram[i + 1 :, i]
        np.fill_diagonal(gram, diagonal + (1 + excess) ** 2)
        return bool(potrf(gram.T, lower=1, overwrite_a=1, clean=0)[1] == 0)

    excess = SHARP
    while not proven(excess):
        excess *= 16
    return 1 + (excess / 4 if excess > SHARP and proven(excess / 4) else excess)
