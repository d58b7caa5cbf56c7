"""Sparse PCA as a dictionary with an l1 penalty, by block coordinate descent.

    min over Y, D of  1/2 |A - Y D'|^2 + sum_k alpha_k |D_k|_1,   |Y_k| <= 1 for every column

A holds m centred rows, Y (m x k) the scores, D (d x k) the loadings. In turn:

    each row of D    a lasso; all share Y'Y, and row j has the linear term Y'a_j
    each column y_k  <- P((A d_k - sum_{l != k} (d_l'd_k) y_l) / d_k'd_k),  P onto the unit ball

Only A'A matters, as scores that start in the column space of A stay in it (Mairal, Bach, Ponce,
Sapiro 2010). So a tall table may come as any A with the same A'A, and the fit costs nothing in n.

The start is that of scikit-learn, the leading singular vectors, the scores times their singular
values (but scores of length 1 where the first value is less than that, in whatever units: shorter
scores would make all loadings dear, and end at zero); so is the order of the updates. A direction
whose loadings are all zero is unused. The objective does not depend on its score, so that may be
anything: once the others rest, it becomes the column of the residual that is largest, if that is
longer than alpha. If none is, no score can make the direction useful, and it stays zero. (scikit-
learn takes a random column of A instead.)

Two more forms of the problem share all this. With groups of columns, the loadings of a group are
zero together (a group lasso; Jenatton, Obozinski, Bach 2010, have more general structures). With a
penalty ``sum_i beta_i |Y_i|_1`` on the rows of the scores, y_k is soft-thresholded before the
projection; then A must be the table itself, as the norm depends on its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.lanczos import top_pairs
from ..ops.lasso import MAX_SWEEPS, REST, lassos, score_columns
from .directions import Directions
from .penalties import GroupLasso, Lasso, Penalty
from .solution import Certificate, Monitor, ignore
from .targets import between, nearest

__all__ = ["Factors", "SparseFactors", "encode", "solve", "solve_nonzero"]

RESIDUAL = "optimality residual of loadings and scores"

Factors = tuple[NDArray, NDArray]
"""Scores (m x k) and loadings (d x k)."""

BLOCK_BYTES = 1 << 19  # of A: read once from memory, used twice from cache
POOLED = 3e6  # operations of an iteration, from which a pool gives more than it costs
MAX_ROUNDS = 1000  # of the descent that keeps a number of nonzeros
SETTLED = 1e-9  # step of a score at which it ends


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
        From this alpha on all loadings are zero: the length of the longest column of A, or for
        groups the largest singular value of their columns over the weight.
    """

    factors: Factors
    alpha: NDArray
    largest_alpha: float


def solve(
    A: NDArray,
    k: int,
    *,
    alpha: NDArray | float,
    alpha_scores: NDArray | float = 0.0,
    groups: NDArray | None = None,
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
    alpha_scores : float or ndarray of shape (m,)
        Penalty on the scores, one for all rows or one for each.
    groups : ndarray of shape (d,), optional
        A label for each column; columns with the same label are used together.
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
        price = np.broadcast_to(np.asarray(alpha_scores, float), len(A))
        within = _Within(normalise, positive_scores, np.array(price) if price.any() else None)
        alphas = np.array(np.broadcast_to(np.asarray(alpha, float), k))
        if groups is None:
            descent = _Descent(A, Lasso(alphas, positive_loadings), within)
        else:
            _, labels, sizes = np.unique(groups, return_inverse=True, return_counts=True)
            penalty = GroupLasso(alphas, np.append(0, np.cumsum(sizes)))
            descent = _Descent(A, penalty, within, order=np.argsort(labels, kind="stable"))
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

    A descent in which, at every step, the penalty of each direction is one that leaves the right
    number (:mod:`.targets`), and then one from there with these penalties. Variables that are alike
    come and go together, so a number may be out of reach; the nearest fit is returned.
    `how` goes to :func:`solve`.
    """
    wanted = np.broadcast_to(np.asarray(n_nonzero), k)
    begin = solve(A, k, alpha=0.0, **(how | {"max_iter": 2}))  # two, for scores of length 1

    def attempt(place: float, watch: Monitor) -> SparseFactors:
        start, alpha = _at_rest(A, begin.factors, wanted, place, how.get("alpha_scores"))
        return solve(A, k, alpha=alpha, monitor=watch, **(how | {"start": start}))

    return nearest(attempt, wanted, monitor)


def encode(
    X: NDArray,
    atoms: NDArray,
    alpha: float,
    *,
    positive: bool = False,
    max_sweeps: int = MAX_SWEEPS,
) -> NDArray:
    """Return the code C of the rows `X`: the minimiser of ``1/2 |X - C atoms|^2 + alpha |C|_1``."""
    code = np.zeros((len(X), len(atoms)))
    tol = REST * float(np.sqrt(np.einsum("ij,ij->i", X, X).max(initial=0.0)))
    with threads.blas_for(2.0 * X.size * len(atoms)):
        G, linear = atoms @ atoms.T, X @ atoms.T
    lassos(G, linear, alpha, code, tol=tol, max_sweeps=max_sweeps, positive=positive)
    return code


def _at_rest(
    A: NDArray, start: Factors, wanted: NDArray, place: float, price: NDArray | None
) -> tuple[Factors, NDArray]:
    """Return factors with the numbers of nonzeros that are `wanted`, and the penalties for that.

    Block descent by directions, each with a penalty at the same `place` of those that leave the
    right number of loadings.
    """
    Y, D = (factor.T.copy() for factor in start)
    alpha = np.zeros(len(wanted))
    for _ in range(MAX_ROUNDS):
        before, C, G = Y.copy(), Y @ A, Y @ Y.T
        for a in np.flatnonzero(np.diag(G)):
            z = C[a] - G[a] @ D + G[a, a] * D[a]
            alpha[a] = between(np.abs(z), wanted[a], place)
            D[a] = np.sign(z) * np.maximum(np.abs(z) - alpha[a], 0.0) / G[a, a]
        score_columns(D @ D.T, D @ A.T, Y, price is None, False, price)
        if np.abs(Y - before).max() <= SETTLED:
            break
    return (Y.T, D.T), alpha


class _Within(NamedTuple):
    """What scores must keep to, and what each of their rows costs."""

    normalise: bool
    positive: bool
    price: NDArray | None

    def score(self, target: NDArray, curvature: NDArray | float = 1.0) -> NDArray:
        """Return the best rows that may be scores, where `target` would be without limits.

        The misfit has the given curvature in each of them.
        """
        if self.price is not None:
            target = np.sign(target) * np.maximum(np.abs(target) - self.price / curvature, 0.0)
        if self.positive:
            target = np.maximum(target, 0.0)
        lengths = np.linalg.norm(target, axis=1, keepdims=True)
        return target / np.maximum(lengths, np.finfo(float).tiny if self.normalise else 1.0)

    def cost(self, Y: NDArray) -> float:
        """Return the penalty on the scores, rows of Y."""
        return 0.0 if self.price is None else float(np.abs(Y).sum(axis=0) @ self.price)


class _Descent:
    """The problem and where the descent is: scores as rows of Y, loadings as rows of D."""

    def __init__(
        self, A: NDArray, penalty: Penalty, within: _Within, order: NDArray | None = None
    ) -> None:
        self.order = np.arange(A.shape[1]) if order is None else order  # groups lie together
        self.columns = np.ascontiguousarray(A.T if order is None else A.T[order])
        self.squares = np.einsum("ji,ji->j", self.columns, self.columns)
        self.square = float(self.squares.sum())
        self.rounding = 8 * float(np.finfo(float).eps) * self.square  # of the objective
        self.penalty = penalty
        self.within = within
        d, m = self.columns.shape
        large = 4 * m * d * len(penalty.alpha) > POOLED
        self.blocks = penalty.spans(d, BLOCK_BYTES // (8 * m) if large else d)

    def begin(self, start: Factors | None) -> None:
        """Set Y and D to the given start, or to the leading singular vectors."""
        d, m = self.columns.shape
        k = len(self.penalty.alpha)
        self.Y, self.D = np.zeros((k, m)), np.zeros((d, k))
        if start is not None:
            self.Y[:], self.D[:] = start[0].T, start[1][self.order]
        elif leading := min(k, m, d):
            columns = self.columns if m <= d else self.columns.T
            values, vectors = top_pairs(columns.T @ columns, leading)
            values = np.sqrt(np.maximum(values, 0.0))
            others = columns @ (vectors / np.where(values > 0, values, np.inf))
            left, right = (vectors, others) if m <= d else (others, vectors)
            if self.within.price is not None or values[0] < 1.0:
                # scores that are longer than 1 would look cheaper, shorter ones make loadings dear
                self.Y[:leading], self.D[:, :leading] = (left * (values > 0)).T, right * values
            else:
                self.Y[:leading], self.D[:, :leading] = (left * values).T, right
        self.B, self.H = self.D.T @ self.columns, self.D.T @ self.D

    def step(self) -> None:
        """Update D, then Y; with them their products B = D'A' and H = D'D.

        A score that is rounding beside the others is of no use to any column.
        """
        squares = np.einsum("km,km->k", self.Y, self.Y)
        self.Y[squares <= np.finfo(float).eps ** 2 * squares.max(initial=0.0)] = 0.0
        G, tol = self.Y @ self.Y.T, REST * np.sqrt(self.square)

        def part(i: int) -> tuple[NDArray, NDArray]:
            rows = self.blocks[i]
            A, D = self.columns[rows], self.D[rows]
            self.penalty.descend(G, A @ self.Y.T, D, rows, tol)
            return D.T @ A, D.T @ D

        products = zip(*threads.run(part, len(self.blocks)), strict=True)
        self.B, self.H = (np.sum(parts, axis=0) for parts in products)
        score_columns(self.H, self.B, self.Y, *self.within)

    def use_an_unused(self, negligible: float) -> bool:
        """Give an unused direction the largest part of the residual, if that is worth it.

        Only where the others rest, and one at a time: else two would describe the same variables.
        """
        unused = np.flatnonzero(np.diag(self.H) == 0.0)
        if not len(unused):
            return False
        a = unused[np.argmin(self.penalty.alpha[unused])]
        alpha = self.penalty.alpha[a]
        groups, weights = self.penalty.groups(len(self.columns))
        lengths = self._residual_lengths(groups)
        for g in np.argsort(-lengths / weights):
            price = alpha * weights[g]
            if 0.5 * max(0.0, lengths[g] - price) ** 2 <= negligible:
                return False
            score, length = self._along(groups[g])
            gain = 0.5 * max(0.0, length - price) ** 2 - self.within.cost(score)
            if gain > negligible:
                self.Y[a] = self.within.score(score)[0]
                return True
        return False

    def resample(self, rng: np.random.Generator) -> None:
        """Give each unused direction the residual of a random column as its score."""
        unused = np.flatnonzero(np.diag(self.H) == 0.0)
        unused = unused[: len(self.columns)]
        chosen = rng.choice(len(self.columns), len(unused), replace=False)
        residual = self.columns[chosen] - self.D[chosen] @ self.Y
        lengths = np.linalg.norm(residual, axis=1, keepdims=True)
        self.Y[unused] = self.within.score(residual / np.maximum(lengths, np.finfo(float).tiny))

    def _residual_lengths(self, groups: list[slice]) -> NDArray:
        """Return the Frobenius norm of each group of columns of ``A - Y D'``."""
        linear = self.D @ (self.Y @ self.Y.T) - 2 * (self.columns @ self.Y.T)
        squares = self.squares + np.einsum("jk,jk->j", self.D, linear)
        sums = np.add.reduceat(squares, [rows.start for rows in groups])
        return np.sqrt(np.maximum(sums, 0.0))

    def _along(self, rows: slice) -> tuple[NDArray, float]:
        """Return the score that describes these columns of the residual best, and how well."""
        residual = self.columns[rows] - self.D[rows] @ self.Y
        _, lengths, scores = np.linalg.svd(residual, full_matrices=False)
        return scores[:1], float(lengths[0])

    def objective(self) -> float:
        """Return the value of the objective."""
        G = self.Y @ self.Y.T
        misfit = 0.5 * (self.square - 2 * np.vdot(self.Y, self.B) + np.vdot(G, self.H))
        return float(misfit + self.penalty.value(self.D) + self.within.cost(self.Y))

    def residual(self) -> float:
        """Return how far loadings and scores are from meeting their conditions of optimality.

        For the loadings, the distance of zero from the subgradients, relative to the largest
        gradient that there is at ``D = 0``; for the scores, of length 1, the step to their optimum.
        """
        C = self.columns @ self.Y.T
        distance = self.penalty.distance(self.D @ (self.Y @ self.Y.T) - C, self.D)
        largest = max(np.abs(C).max(initial=0.0), np.finfo(float).tiny)
        return float(max(distance / largest, self._step_of_scores()))

    def _step_of_scores(self) -> float:
        used = np.diag(self.H) > 0
        Y, curvature = self.Y[used], np.diag(self.H)[used, None]
        target = Y - (self.H[used] @ self.Y - self.B[used]) / curvature
        best = self.within.score(target, curvature)
        return float(np.linalg.norm(best - Y, axis=1).max(initial=0.0))

    def result(self, history: list[float], converged: bool, tol: float) -> SparseFactors:
        """Return the answer with its proof."""
        lengths = np.sqrt(np.diag(self.H))
        residual = self.residual()
        D = np.empty_like(self.D)
        D[self.order] = self.D
        return SparseFactors(
            components=(D / np.where(lengths > 0, lengths, 1.0)).T,
            objective_history=np.array(history),
            n_iter=len(history),
            converged=converged,
            certificate=Certificate(RESIDUAL, residual, float(np.sqrt(tol))),
            factors=(self.Y.T.copy(), D),
            alpha=self.penalty.alpha,
            largest_alpha=self.penalty.largest_alpha(self.columns),
        )
