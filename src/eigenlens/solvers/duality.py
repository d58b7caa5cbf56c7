"""Lower bounds of the pursuit objective: the proof that a table was taken apart as well as can be.

The dual of ``min |L|_* + lam |S|_1 + |M - 1 m' - L - S|^2 / (2 delta)`` is

    max over Y of  <M, Y> - delta |Y|^2 / 2    with |Y|_2 <= 1 and |Y|_inf <= lam

(rows of Y no longer than lam, where S is measured by rows), zero where nothing was observed, and
with columns that add up to zero if m is free. Each such Y bounds the objective from below. The
multiplier of a solver is nearly one of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf as potrf

from ..ops import threads
from ..ops.shrink import ball_entries, ball_rows
from ..ops.triplets import Leading, Triplets

__all__ = ["GAP", "lower_bound"]

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
    leading = Leading(M.shape, np.random.default_rng(0), centre=centre)
    leading.V = leading.V if V is None else V
    spans = leading.rows
    ball = ball_rows if rows else ball_entries

    def to_ball() -> None:
        threads.run(lambda i: ball(M[spans[i]], Y[spans[i]], lam), len(spans))

    def to_spectral_ball() -> None:
        means, (U, s, Vt) = leading.above(Y, 1.0)
        excess, offset = Triplets(U, s - s.dtype.type(1), Vt), means.astype(Y.dtype)

        def part(i: int) -> None:
            Y[spans[i]] -= excess.table(spans[i]) + offset

        threads.run(part, len(spans))

    def terms(i: int) -> tuple[float, float]:
        rest, y = M[spans[i]] - about, Y[spans[i]].astype(np.float64)
        rest[np.isnan(rest)] = 0.0
        return float(np.vdot(rest, y)), float(np.vdot(y, y))

    about = mean.astype(M.dtype)
    best = -np.inf
    for _ in range(ATTEMPTS):
        to_ball()
        for _ in range(POLISH):
            to_spectral_ball()
            to_ball()
        if centre:
            _centre(M, Y, None if rows else lam, to_ball)
        longest = np.sqrt(np.einsum("ij,ij->i", Y, Y).max()) if rows else max(Y.max(), -Y.min())
        scale = max(_norm_bound(Y), float(longest) / lam)
        inner, square = np.sum(threads.run(terms, len(spans)), axis=0)
        best = max(best, float(inner / scale - 0.5 * delta * square / scale**2))
        if (scale - 1) * inner <= slack:
            break
    return best


def _centre(M: NDArray, Y: NDArray, limit: float | None, to_ball: Callable[[], None]) -> None:
    """Make the columns of Y add up to zero over what was observed, entries at the limit apart."""
    seen = ~np.isnan(M)
    for _ in range(CENTRINGS):
        Y -= _column_means(Y, seen if limit is None else seen & (limit > Y) & (-limit < Y))
        to_ball()
    Y -= _column_means(Y, seen)
    Y[~seen] = 0


def _column_means(Y: NDArray, over: NDArray) -> NDArray:
    """Return the column sums divided by the number of entries that are counted."""
    means: NDArray = Y.sum(axis=0, dtype=np.float64) / np.maximum(over.sum(axis=0), 1)
    return means.astype(Y.dtype)


def _norm_bound(Y: NDArray) -> float:
    """Return an upper bound of the spectral norm of Y, at least 1, and close where it is near 1.

    ``|Y|_2 < t`` where ``t^2 - Y Y'`` is positive definite, which a Cholesky factorisation proves.
    Vectors found by iteration would bound the norm from below only.
    """
    Y = Y.astype(np.float64, copy=False)
    n, d = Y.shape
    with threads.blas_for(float(n) * d * min(n, d)):
        gram = Y @ Y.T if n < d else Y.T @ Y
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
