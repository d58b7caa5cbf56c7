"""Sparse PCA as a dictionary with an l1 penalty, by block coordinate descent.

    min over Y, D of  1/2 |A - Y D'|^2 + sum_k alpha_k |D_k|_1,   |Y_k| <= 1 for every column

A holds m centred rows, Y (m x k) the scores, D (d x k) the loadings. In turn:

    each row of D    a lasso; all share Y'Y, and row j has the linear term Y'a_j
    each column y_k  <- P((A d_k - sum_{l != k} (d_l'd_k) y_l) / d_k'd_k),  P onto the unit ball

Only A'A matters, as scores that start in the column space of A stay in it (Mairal, Bach, Ponce,
Sapiro 2010). So a tall table may come as any A with the same A'A, and the fit costs nothing in n.

The start is that of scikit-learn, the leading singular vectors, the scores times their singular
values; so is the order of the updates. A direction whose loadings are all zero is unused. The
objective does not depend on its score, so that may be anything: once the others rest, it becomes
the column of the residual that is largest, if that is longer than alpha. If none is, no score can
make the direction useful, and it stays zero. (scikit-learn takes a random column of A instead.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..ops import threads
from ..ops.lasso import lasso_rows, score_columns
from .directions import Directions
from .solution import Certificate, Monitor, ignore

__all__ = ["Factors", "SparseFactors", "encode", "solve", "solve_nonzero"]

RESIDUAL = "optimality residual of loadings and scores"

Factors = tuple[NDArray, NDArray]
"""Scores (m x k) and loadings (d x k)."""

LASSO_TOL = 1e-8  # step of a coordinate at which a lasso rests, relative to |A|
MAX_SWEEPS = 1000  # over the coordinates of one lasso
BLOCK_BYTES = 1 << 20  # of A: read once from memory, used twice from cache
MAX_ROUNDS = 100  # fits on the way to a number of nonzeros
STEP = 1.3  # factor of alpha while a number of nonzeros is not bracketed


@dataclass(frozen=True, slots=True, eq=False)
class SparseFactors(Directions):
    """Sparse directions with the factorisation that they come from.

    Attributes
    ----------
    factors : (ndarray of shape (m, k), ndarray of shape (d, k))
        Scores Y and loadings D; `components` are the loadings at length 1.
    alpha : ndarray of shape (k,)
        The penalty of each direction.
    largest_alpha : float
        From this alpha on all loadings are zero: the length of the longest column of A.
    """

    factors: Factors
    alpha: NDArray
    largest_alpha: float


def solve(
    A: NDArray,
    k: int,
    *,
    alpha: NDArray | float,
    normalise: bool = False,
    positive_scores: bool = False,
    positive_loadings: bool = False,
    resample: np.random.Generator | None = None,
    start: Factors | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    monitor: Monitor = ignore,
) -> SparseFactors:
    """Return k sparse directions of the centred rows `A` (float64).

    Parameters
    ----------
    A : ndarray of shape (m, d)
    k : int
        May exceed both m and d.
    alpha : float or ndarray of shape (k,)
    normalise : bool
        Whether scores are set to length 1 rather than projected onto the unit ball.
    positive_scores, positive_loadings : bool
        Whether they must not be negative.
    resample : Generator, optional
        If given, every unused direction gets the residual of a random column of A after each
        iteration, rather than one at a time once the others rest. Right for dictionaries of many
        atoms, of which each describes few columns. (The longest residuals are outliers: on digits
        they end in worse optima than random ones.)
    start : Factors, optional
        Scores and loadings to begin with.
    tol : float
        The descent ends when an iteration lowers the objective by less than this fraction of it
        and the optimality residual is at most ``sqrt(tol)``: near a minimum the objective is
        quadratic.
    max_iter : int
    monitor : Monitor
    """
    with threads.serial_blas():
        within = _Within(normalise, positive_scores, positive_loadings)
        descent = _Descent(A, np.broadcast_to(np.asarray(alpha, float), k), within)
        descent.begin(start)
        history: list[float] = []
        converged = False
        for _ in range(max_iter):
            descent.step()
            history.append(descent.objective())
            negligible = max(tol * history[-1], descent.rounding)
            if len(history) > 1 and history[-2] - history[-1] <= negligible:
                waiting = resample is None and descent.use_an_unused(negligible)
                converged = bool(not waiting and descent.residual() <= np.sqrt(tol))
            if monitor(history[-1]) or converged:
                break
            if resample is not None:
                descent.resample(resample)
        return descent.result(history, converged, tol)


def solve_nonzero(
    A: NDArray, k: int, *, n_nonzero: NDArray | int, monitor: Monitor = ignore, **how: Any
) -> SparseFactors:
    """Return k sparse directions with `n_nonzero` loadings each, or one number for each.

    A path over alpha, one value for each direction: from a descent that keeps the numbers, by
    steps and then by bisection in the logarithm, each fit from the last.
    As directions compete for variables, a number may be out of reach; the nearest fit is returned.
    `how` goes to :func:`solve`.
    """
    wanted = np.broadcast_to(np.asarray(n_nonzero), k)
    stopped = False

    def watch(objective: float) -> bool:
        nonlocal stopped
        stopped = monitor(objective)
        return stopped

    best = solve(A, k, alpha=0.0, **(how | {"max_iter": 2}))  # two, for scores of length 1
    start, alpha = _cut(A, best.factors, wanted)
    least, low, high = np.inf, np.zeros(k), np.full(k, np.inf)
    for _ in range(MAX_ROUNDS):
        found = solve(A, k, alpha=alpha, monitor=watch, **(how | {"start": start}))
        start = found.factors
        excess = np.count_nonzero(start[1], axis=0) - wanted
        if (miss := np.abs(excess).sum()) < least:
            best, least = found, miss
        if miss == 0 or stopped:
            break
        low, high = np.where(excess > 0, alpha, low), np.where(excess < 0, alpha, high)
        alpha = _next(alpha, excess, low, high)
        stale = high < low * (1 + 1e-6)  # the others have moved since it was bracketed
        low[stale], high[stale] = 0.0, np.inf
    return best


def encode(
    X: NDArray,
    atoms: NDArray,
    alpha: float,
    *,
    positive: bool = False,
    max_sweeps: int = MAX_SWEEPS,
) -> NDArray:
    """Return the code C of the rows `X`: the minimiser of ``1/2 |X - C atoms|^2 + alpha |C|_1``."""
    G, code = atoms @ atoms.T, np.zeros((len(X), len(atoms)))
    penalty = np.full(len(atoms), float(alpha))
    tol = LASSO_TOL * float(np.sqrt(np.einsum("ij,ij->i", X, X).max(initial=0.0)))
    blocks = threads.spans(len(X), 256)

    def part(i: int) -> None:
        R = X[blocks[i]] @ atoms.T
        lasso_rows(G, R, penalty, code[blocks[i]], tol, max_sweeps, positive)

    threads.run(part, len(blocks))
    return code


def _cut(A: NDArray, start: Factors, wanted: NDArray) -> tuple[Factors, NDArray]:
    """Return factors with the numbers of nonzeros that are `wanted`, and the penalties for that.

    Block descent by directions in which, at every step, the penalty is what leaves the right number
    of loadings. Where it comes to rest, the conditions of optimality hold for these penalties.
    """
    Y, D = (factor.T.copy() for factor in start)
    alpha = np.zeros(len(wanted))
    for _ in range(MAX_ROUNDS):
        before, C, G = alpha.copy(), Y @ A, Y @ Y.T
        for a in np.flatnonzero(np.diag(G)):
            z = C[a] - G[a] @ D + G[a, a] * D[a]
            alpha[a] = _between(np.abs(z), wanted[a])
            D[a] = np.sign(z) * np.maximum(np.abs(z) - alpha[a], 0.0) / G[a, a]
        score_columns(D @ D.T, D @ A.T, Y, True, False)
        if np.abs(alpha - before).max() <= 1e-6 * alpha.max():
            break
    return (Y.T, D.T), alpha


def _between(size: NDArray, count: int) -> float:
    """Return a number that `count` of the sizes exceed, 0 if all of them shall."""
    if count == len(size):
        return 0.0
    falling = -np.partition(-size, [count - 1, count])
    return float(0.1 * falling[count - 1] + 0.9 * falling[count])


def _next(alpha: NDArray, excess: NDArray, low: NDArray, high: NDArray) -> NDArray:
    """Return a larger alpha where there are too many nonzeros, a smaller one where too few."""
    up = np.where(np.isinf(high), alpha * STEP, np.sqrt(alpha * np.where(high < np.inf, high, 1)))
    down = np.where(low == 0, alpha / STEP, np.sqrt(alpha * low))
    return np.select([excess > 0, excess < 0], [up, down], alpha)


class _Within(NamedTuple):
    """What scores and loadings must keep to."""

    normalise: bool
    positive_scores: bool
    positive_loadings: bool

    def score(self, target: NDArray) -> NDArray:
        """Return the nearest rows that may be scores."""
        if self.positive_scores:
            target = np.maximum(target, 0.0)
        lengths = np.linalg.norm(target, axis=1, keepdims=True)
        return target / np.maximum(lengths, np.finfo(float).tiny if self.normalise else 1.0)


class _Descent:
    """The problem and where the descent is: scores as rows of Y, loadings as rows of D."""

    def __init__(self, A: NDArray, alpha: NDArray, within: _Within) -> None:
        self.columns = np.ascontiguousarray(A.T)
        self.squares = np.einsum("ji,ji->j", self.columns, self.columns)
        self.square = float(self.squares.sum())
        self.rounding = 8 * float(np.finfo(float).eps) * self.square  # of the objective
        self.alpha = np.array(alpha)
        self.within = within
        d, m = self.columns.shape
        # a pool costs more than it gives in an iteration of milliseconds
        large = 4 * m * d * len(self.alpha) > threads.LARGE
        self.blocks = threads.spans(d, BLOCK_BYTES // (8 * m) if large else d)

    def begin(self, start: Factors | None) -> None:
        """Set Y and D to the given start, or to the leading singular vectors."""
        d, m = self.columns.shape
        k = len(self.alpha)
        self.Y, self.D = np.zeros((k, m)), np.zeros((d, k))
        if start is not None:
            self.Y[:], self.D[:] = start[0].T, start[1]
        elif leading := min(k, m):
            gram = self.columns.T @ self.columns
            values, vectors = scipy.linalg.eigh(gram, subset_by_index=[m - leading, m - 1])
            values, vectors = np.sqrt(np.maximum(values[::-1], 0.0)), vectors[:, ::-1]
            self.Y[:leading] = (vectors * values).T
            self.D[:, :leading] = self.columns @ (vectors / np.where(values > 0, values, np.inf))
        self.B, self.H = self.D.T @ self.columns, self.D.T @ self.D

    def step(self) -> None:
        """Update D, then Y; with them their products B = D'A' and H = D'D."""
        G, tol = self.Y @ self.Y.T, LASSO_TOL * np.sqrt(self.square)
        positive = self.within.positive_loadings

        def part(i: int) -> NDArray:
            A, D = self.columns[self.blocks[i]], self.D[self.blocks[i]]
            lasso_rows(G, A @ self.Y.T - D @ G, self.alpha, D, tol, MAX_SWEEPS, positive)
            return D.T @ A

        self.B = np.sum(threads.run(part, len(self.blocks)), axis=0)
        self.H = self.D.T @ self.D
        score_columns(self.H, self.B, self.Y, self.within.normalise, self.within.positive_scores)

    def use_an_unused(self, negligible: float) -> bool:
        """Give an unused direction the largest column of the residual, if that is worth it.

        Only where the others rest, and one at a time: else two would describe the same variables.
        """
        unused = np.flatnonzero(np.diag(self.H) == 0.0)
        if not len(unused):
            return False
        a = unused[np.argmin(self.alpha[unused])]
        j, length = self._largest_residual()
        if 0.5 * max(0.0, length - self.alpha[a]) ** 2 <= negligible:
            return False
        self.Y[a] = self.within.score((self.columns[j] - self.D[j] @ self.Y)[None] / length)[0]
        return True

    def resample(self, rng: np.random.Generator) -> None:
        """Give each unused direction the residual of a random column as its score."""
        unused = np.flatnonzero(np.diag(self.H) == 0.0)
        unused = unused[: len(self.columns)]
        chosen = rng.choice(len(self.columns), len(unused), replace=False)
        residual = self.columns[chosen] - self.D[chosen] @ self.Y
        lengths = np.linalg.norm(residual, axis=1, keepdims=True)
        self.Y[unused] = self.within.score(residual / np.maximum(lengths, np.finfo(float).tiny))

    def _largest_residual(self) -> tuple[int, float]:
        """Return the column of ``A - Y D'`` that is longest, and its length."""
        linear = self.D @ (self.Y @ self.Y.T) - 2 * (self.columns @ self.Y.T)
        squares = self.squares + np.einsum("jk,jk->j", self.D, linear)
        j = int(np.argmax(squares))
        return j, float(np.sqrt(max(0.0, squares[j])))

    def objective(self) -> float:
        """Return the value of the objective."""
        G = self.Y @ self.Y.T
        misfit = 0.5 * (self.square - 2 * np.vdot(self.Y, self.B) + np.vdot(G, self.H))
        return float(misfit + np.abs(self.D).sum(axis=0) @ self.alpha)

    def residual(self) -> float:
        """Return how far loadings and scores are from meeting their conditions of optimality.

        For the loadings, the distance of zero from the subgradients, relative to the largest
        gradient that there is at ``D = 0``; for the scores, of length 1, the step to their optimum.
        """
        C = self.columns @ self.Y.T
        gradient = self.D @ (self.Y @ self.Y.T) - C
        uphill = -gradient if self.within.positive_loadings else np.abs(gradient)
        distance = np.where(
            self.D != 0,
            np.abs(gradient + self.alpha * np.sign(self.D)),
            np.maximum(uphill - self.alpha, 0.0),
        )
        largest = max(np.abs(C).max(initial=0.0), np.finfo(float).tiny)
        return float(max(distance.max(initial=0.0) / largest, self._step_of_scores()))

    def _step_of_scores(self) -> float:
        used = np.diag(self.H) > 0
        Y, scale = self.Y[used], np.diag(self.H)[used]
        target = Y - (self.H[used] @ self.Y - self.B[used]) / scale[:, None]
        return float(np.linalg.norm(self.within.score(target) - Y, axis=1).max(initial=0.0))

    def result(self, history: list[float], converged: bool, tol: float) -> SparseFactors:
        """Return the answer with its proof."""
        lengths = np.sqrt(np.diag(self.H))
        residual = self.residual()
        return SparseFactors(
            components=(self.D / np.where(lengths > 0, lengths, 1.0)).T,
            objective_history=np.array(history),
            n_iter=len(history),
            converged=converged,
            certificate=Certificate(RESIDUAL, residual, float(np.sqrt(tol))),
            factors=(self.Y.T.copy(), self.D.copy()),
            alpha=self.alpha,
            largest_alpha=float(np.sqrt(self.squares.max())),
        )
