"""Pre-images learned from the training rows (Bakir, Weston, Schoelkopf 2004).

Kernel ridge regression from scores to rows, with a Gaussian kernel of its own: the kernel of the
model measures distances of rows, not of scores. Its factor is that of randomly pivoted Cholesky,
``K ~ F F'``, so the regression is one on few columns, and everything that is tried costs little:

    min over B of  |X - 1 m' - F B|^2 + alpha |B|^2

Leaving row i out changes its residual to ``r_i / (1 - h_i)``, with h the diagonal of the hat
matrix. The sum of squares of these chooses alpha, and, on a part of the rows, the width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..ops import threads
from ..ops.kernels import Rbf, median_square
from ..ops.pivoted import Factor, pivoted_cholesky

__all__ = ["Learned", "learn", "rows_to_learn_from"]

WIDTHS = np.geomspace(0.03, 10.0, 6)  # of gamma, in units of 1 / the median of squared distances
ALPHAS = np.geomspace(1e-9, 10.0, 13)  # in units of the largest eigenvalue
MOST = 20_000  # rows: with so few columns, more add little
TRIAL = 500  # rows that choose the width
COLUMNS = 300  # of the factor, at most
LEFT = 1e-6  # of the trace, by the factor


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A smooth map from scores to rows."""

    gamma: float
    points: NDArray
    coefficients: NDArray
    intercept: NDArray
    alpha: float
    error: float  # root mean square of the residuals of rows left out

    def __call__(self, scores: NDArray) -> NDArray:
        """Return the rows of these scores."""
        return Rbf(self.gamma).combine(scores, self.points, self.coefficients) + self.intercept


def learn(scores: NDArray, X: NDArray, *, rng: np.random.Generator) -> Learned:
    """Return the map from `scores` to the rows of `X` that predicts rows left out best."""
    if len(X) > MOST:
        some = rows_to_learn_from(len(X), rng)
        scores, X = scores[some], X[some]
    sample = np.sort(rng.permutation(len(X))[:TRIAL])
    gammas = WIDTHS / (median_square(scores[sample]) or 1.0)
    seeds = rng.integers(2**63, size=len(gammas))

    def trial(i: int) -> Learned:
        return _fit(scores[sample], X[sample], gammas[i], np.random.default_rng(seeds[i]))

    best = min(threads.run(trial, len(gammas)), key=lambda fit: fit.error)
    if len(sample) == len(X):
        return best
    with threads.serial_blas():
        return _fit(scores, X, best.gamma, rng)


def rows_to_learn_from(n: int, rng: np.random.Generator) -> NDArray:
    """Return the numbers of the rows, among n, that `learn` looks at."""
    return np.sort(rng.permutation(n)[:MOST]) if n > MOST else np.arange(n)


def _fit(scores: NDArray, X: NDArray, gamma: float, rng: np.random.Generator) -> Learned:
    factor = pivoted_cholesky(Rbf(gamma), scores, COLUMNS, tol=LEFT, rng=rng)
    mean = X.mean(axis=0, dtype=np.float64)
    middle, values, Q = _principal(factor)
    U = (factor.F @ Q - middle @ Q) / np.sqrt(values)
    across = U.T @ (X - mean)
    # in two parts, what F cannot reach and what the ridge takes off the rest: as a difference
    # from X and from 1 they would be rounding where the fit is nearly perfect
    beyond, squares = X - mean - U @ across, U**2
    free = np.maximum(1 - 1 / len(X) - squares.sum(axis=1), 0.0)
    alphas = ALPHAS * values.max(initial=0.0)

    def error(i: int) -> float:
        shrunk = alphas[i] / (values + alphas[i])
        residual = beyond + U @ (shrunk[:, None] * across)
        residual /= (free + squares @ shrunk)[:, None]
        return float(np.sqrt(np.mean(residual**2)))

    errors = threads.run(error, len(alphas))
    best = int(np.argmin(errors))
    alpha = float(alphas[best])
    B = Q @ (across * (np.sqrt(values) / (values + alpha))[:, None])
    return Learned(
        gamma=gamma,
        points=scores[factor.pivots].astype(np.float64),
        coefficients=scipy.linalg.solve_triangular(factor.L.T, B, check_finite=False),
        intercept=mean - middle @ B,
        alpha=alpha,
        error=errors[best],
    )


def _principal(factor: Factor) -> tuple[NDArray, NDArray, NDArray]:
    """Return the mean of the rows of F, and the eigenpairs of its scatter that are not zero."""
    middle = factor.F.mean(axis=0)
    C = factor.F - middle
    values, Q = np.linalg.eigh(C.T @ C)
    some = values > 1e-14 * max(values[-1], 1e-14)
    return middle, values[some], Q[:, some]
