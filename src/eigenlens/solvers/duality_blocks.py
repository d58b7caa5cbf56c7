"""Lower bounds of the pursuit objective (:mod:`.duality`), for tables in blocks of rows.

The multiplier Y stays beside the blocks of M. A projection onto the ball of entries or rows is one
of each block by itself. That onto the spectral ball is a product with a matrix of d x d, which the
Gram matrix of Y gives; and so does the proof of its norm.

What is to be done to Y waits until something must be known of it, and then is done in the same pass
over the rows: one to each of the projections onto the spectral ball, one to each Newton step of the
centring and one to the sums at the end. That is 3 passes without a mean, and with one 8 at most: as
soon as the columns add up to zero, to rounding, no pass is spent on centring any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.blocks import Blocks, add_up
from ..ops.moments import Moments, merged
from ..ops.scatter import add_square
from ..ops.shrink import ball_entries, ball_rows
from ..ops.triplets import pairs_above
from .duality import norm_bound

__all__ = ["InBlocks", "Made", "gram_of", "together"]


class InBlocks:
    """The multiplier ``mu (W - L)`` of a pursuit, a :class:`.duality.Multiplier`.

    Parameters
    ----------
    table : Blocks
        M.
    beside : sequence of 2
        W, and the scores of the rows of L.
    made : Made
        How these make the multiplier.
    lam, rows, centre
        Of the problem.
    """

    def __init__(
        self,
        table: Blocks,
        beside: Sequence[Any],
        made: Made,
        *,
        lam: float,
        rows: bool,
        centre: bool,
    ) -> None:
        self.table, self.kept, self.about = table, beside, made.mean
        self.ball = _Ball(lam, rows)
        self.centre = centre
        self._steps: list[Callable[..., Any]] = [made]  # that wait
        self._known: tuple[NDArray, ...] | None = None  # column sums and counts, as it is
        self._inside = False  # of the ball, before the steps that wait

    def _pass(self, ask: Callable[[NDArray, NDArray], Any]) -> Any:
        """Do what waits, and return what `ask` makes of all blocks of M and Y."""
        total, self.kept = self.table.advance(
            _renewed, self.kept, shared=(self._steps, ask), keep=1, combine=together
        )
        if self._steps:
            self._inside = isinstance(self._steps[-1], _Ball)
        self._steps, self._known = [], None
        return total

    def to_ball(self) -> None:
        """Project onto entries, or rows, within lam, in the next pass."""
        if self._steps or not self._inside:
            self._steps.append(self.ball)

    def to_spectral_ball(self) -> None:
        """Pass over the rows for the Gram matrix, and project in the next pass."""
        moments = self._pass(_moments)
        s, V = pairs_above(gram_of(moments, self.centre), 1.0)
        mean = moments.mean if self.centre else np.zeros_like(moments.mean)
        self._steps.append(_Spectral(mean, V, (s - 1) / s))

    def column_means(self, *, free: bool) -> NDArray:
        """Return column sums over counts, by a pass unless they are known."""
        if self._steps or self._known is None:
            self._known = self._pass(self.ball.sums)
        sums, within, seen = self._known
        means: NDArray = sums / np.maximum(within if free else seen, 1)
        return means

    def shift(self, means: NDArray) -> None:
        """Subtract a row from all in the next pass, unless that is rounding alone."""
        if np.abs(means).max() > np.finfo(self.table.dtype).eps * self.ball.lam:
            self._steps.append(_Shift(means))

    def clear(self) -> None:
        """Set what was not observed to zero, as it is while nothing waits."""
        if self._steps:
            self._steps.append(_clear)

    def end(self) -> tuple[float, float, float, float]:
        """Pass over the rows for a bound of the norm, and for the sums of the dual objective."""
        # Y need not be kept: what waits is done once more, should there be another attempt
        answer, _ = self.table.advance(
            _ended, self.kept, shared=(self._steps, self.about, self.ball.rows), combine=_ends
        )
        moments, longest, inner, square = answer
        return norm_bound(gram_of(moments, centre=False)), longest, inner, square


# ------------------------------------------------------------------------ what is done to a block


@dataclass(frozen=True, eq=False)
class Made:
    """Makes a block of the multiplier of W and of the scores and the right vectors of L."""

    mu: float
    mean: NDArray
    Vt: NDArray

    def __call__(self, W: NDArray, scores: NDArray) -> NDArray:
        """Return the block."""
        Y: NDArray = W - (scores @ self.Vt + self.mean).astype(W.dtype, copy=False)
        Y *= Y.dtype.type(self.mu)
        return Y


@dataclass(frozen=True, eq=False)
class _Ball:
    """Projects onto entries, or rows, within lam."""

    lam: float
    rows: bool

    def __call__(self, M: NDArray, Y: NDArray) -> None:
        (ball_rows if self.rows else ball_entries)(M, Y, self.lam)

    def sums(self, M: NDArray, Y: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return column sums, and how many entries are not at the limit, or there at all."""
        seen = ~np.isnan(M)
        within = seen if self.rows else seen & (np.abs(Y) < self.lam)
        return Y.sum(axis=0, dtype=np.float64), within.sum(axis=0), seen.sum(axis=0)


@dataclass(frozen=True, eq=False)
class _Spectral:
    """Takes a mean off, and of singular values what is above 1."""

    mean: NDArray
    V: NDArray
    share: NDArray

    def __call__(self, M: NDArray, Y: NDArray) -> None:
        excess = ((Y - self.mean) @ self.V * self.share) @ self.V.T
        excess += self.mean
        np.subtract(Y, excess, out=Y, casting="same_kind")


@dataclass(frozen=True, eq=False)
class _Shift:
    """Takes a row off all."""

    means: NDArray

    def __call__(self, M: NDArray, Y: NDArray) -> None:
        Y -= self.means.astype(Y.dtype)


def _clear(M: NDArray, Y: NDArray) -> None:
    Y[np.isnan(M)] = 0


def _advanced(M: NDArray, own: Sequence[NDArray], steps: Sequence[Callable[..., Any]]) -> NDArray:
    """Return the block of Y after the steps; the first makes it, if it is not there yet."""
    if steps and isinstance(steps[0], Made):
        Y, steps = steps[0](*own), steps[1:]
    else:
        Y = own[0].copy()
    for step in steps:
        step(M, Y)
    return Y


def _renewed(M: NDArray, *given: Any) -> tuple[Any, NDArray]:
    *own, steps, ask = given
    Y = _advanced(M, own, steps)
    return ask(M, Y), Y


def _moments(M: NDArray, Y: NDArray) -> Moments:
    return Moments.of(Y.astype(np.float64, copy=False))


def _ended(M: NDArray, *given: Any) -> tuple[tuple[Moments, float, float, float]]:
    *own, steps, about, rows = given
    y = _advanced(M, own, steps).astype(np.float64, copy=False)
    rest = M - about.astype(M.dtype)
    rest[np.isnan(rest)] = 0.0
    longest = np.sqrt(np.einsum("ij,ij->i", y, y).max()) if rows else np.abs(y).max()
    return ((Moments.of(y), float(longest), float(np.vdot(rest, y)), float(np.vdot(y, y))),)


def _ends(parts: list[Any]) -> tuple[Any, ...]:
    moments, longest, inner, square = zip(*parts, strict=True)
    return merged(list(moments)), max(longest), sum(inner), sum(square)


def together(parts: list[Any]) -> Any:
    """Return answers put together: moments are merged, all else is added up."""
    if isinstance(parts[0], tuple):
        return tuple(together(list(column)) for column in zip(*parts, strict=True))
    return (merged if isinstance(parts[0], Moments) else add_up)(parts)


def gram_of(moments: Moments, centre: bool) -> NDArray:
    """Return the Gram matrix of the rows, less their mean or as they are; it may be written to."""
    if not centre:
        add_square(moments.scatter, moments.mean, moments.mass)
    return moments.scatter
