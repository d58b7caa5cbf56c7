"""Parts without negative numbers from mini-batches of rows, for any beta-divergence.

The rows of a batch are coded with the parts as they are. With N and P the negative and the positive
part of the gradient of the batch's objective by H, and g the exponent of
:mod:`.multiplicative`, two sums over the batches seen then give the parts::

    A <- rho A + H^(1/g) * N,   B <- rho B + P,   H <- (A / B)^g

that is, the minimum of a function that lies above what is remembered of the objective: early
batches, coded with poor parts, are forgotten at the rate rho (Lefevre, Bach, Fevotte 2011). With
one batch and ``rho = 0`` it is the multiplicative update.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.centred import Table
from ..ops.rows import rows_of
from . import multiplicative
from .multiplicative import GONE, Fit, exponent
from .nonnegative import encode
from .parts import Parts, Penalty
from .solution import Monitor, ignore

__all__ = ["Learner", "solve"]

# What the residual of a fit by batches is asked for, whatever tol is. A step can be as short as one
# likes where it is the update that is slow, so the length of steps has no residual to promise.
ASKED = 1e-2


class Learner:
    """Parts, and the two sums over the batches seen that they come from; in float64.

    Parameters
    ----------
    H : ndarray of shape (k, d)
        Parts to begin with; an entry that is 0 stays so.
    beta : float
    on_W, on_H : Penalty
        For one row: that on H counts as often as there are rows.
    rho : float
        What is kept of the sums from one batch to the next, between 0 and 1.
    max_iter, tol : int, float
        For the codes of a batch that has none: see :func:`.multiplicative.encode`.

    Attributes
    ----------
    H, A, B : ndarray of shape (k, d)
    n_steps : int
        Batches seen.
    """

    def __init__(
        self,
        H: NDArray,
        *,
        beta: float,
        on_W: Penalty,
        on_H: Penalty,
        rho: float,
        max_iter: int,
        tol: float,
    ) -> None:
        self.H = np.array(H, np.float64, order="C")
        self.A, self.B = self.H.copy(), np.ones_like(self.H)
        self.n_steps = 0
        self.beta, self.on_W, self.on_H, self.rho = beta, on_W, on_H, rho
        self.max_iter, self.tol = max_iter, tol

    def resume(self, A: NDArray, B: NDArray, n_steps: int) -> Learner:
        """Go on from the sums of an earlier learner."""
        self.A[:], self.B[:], self.n_steps = A, B, n_steps
        return self

    def on_parts(self, n: int) -> Penalty:
        """Return the penalty on the parts of n rows."""
        return Penalty(n * self.on_H.l1, n * self.on_H.l2)

    def learn(self, X: Table, W: NDArray | None = None) -> tuple[NDArray, float]:
        """Take one step on the rows `X`; return their codes, and their objective before H moved.

        With codes `W` from before, these are updated once. Without, they are found afresh.
        """
        fresh = W is None
        start = self._fresh(X) if W is None else W
        fit = Fit(X, start, self.H, self.beta, self.on_W, self.on_parts(X.shape[0]))
        negative, positive = fit.turn(codes=not fresh)
        self._move(negative, positive)
        return fit.W, fit.objective(fit.error())

    def _fresh(self, X: Table) -> NDArray:
        """Return codes found from a constant, as large as parts that are alike would need."""
        k = len(self.H)
        level = np.sqrt(X.mean(dtype=np.float64) / k)
        return multiplicative.encode(
            X,
            self.H,
            beta=self.beta,
            penalty=self.on_W,
            tol=self.tol,
            max_iter=self.max_iter,
            W=np.full((X.shape[0], k), level),
        )

    def _move(self, negative: NDArray, positive: NDArray) -> None:
        gamma = exponent(self.beta)
        self.A *= self.rho
        self.B *= self.rho
        self.A += self.H ** (1.0 / gamma) * negative
        self.B += positive
        # a part that no row seen has used, nor a penalty touched, stays as it is
        ratio = np.divide(self.A, self.B, out=self.H ** (1.0 / gamma), where=self.B > 0)
        self.H = ratio**gamma
        if self.beta <= 1:
            self.H[self.H < GONE] = 0.0
        self.n_steps += 1


def solve(
    X: Table,
    W: NDArray,
    learner: Learner,
    *,
    batch_size: int,
    max_iter: int,
    tol: float,
    max_no_improvement: int | None,
    fresh: bool,
    codes_max_iter: int,
    monitor: Monitor = ignore,
) -> Parts:
    """Let `learner` see the rows of `X` in batches, in their order, until its parts rest.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Not negative.
    W : ndarray of shape (n, k)
        Codes to begin with.
    learner : Learner
        With the parts to begin with; it has the answer in the end.
    batch_size, max_iter : int
        Rows of a batch at most, and epochs at most.
    tol : float
        The fit ends after as many steps as there are batches that move H by less than this times
        its norm, each; 0 to go on.
    max_no_improvement : int or None
        It also ends when so many batches in a row have not lowered the objective, each row taken
        with the codes and the parts of its last step.
    fresh : bool
        Whether the codes of a batch are found afresh each time, not from those of the last epoch.
    codes_max_iter : int
        For the codes that are found at the end.
    monitor : Monitor
        Sees the objective after each epoch.

    Returns
    -------
    Parts
        Its codes are found at the end, from the parts alone. The history has the objective of each
        epoch, each row with the codes and the parts of its last step. It has converged if the
        certificate holds, on all rows, for a residual of `ASKED`: wherever the fit ended.
    """
    n = X.shape[0]
    batches = [slice(a, min(a + batch_size, n)) for a in range(0, n, batch_size)]
    W = np.array(W, np.float64, order="C")
    rest = _Rest(len(batches), tol, max_no_improvement)
    costs = np.full(len(batches), np.nan)  # of the rows of each batch, at its last step
    history: list[float] = []
    with threads.serial_blas():  # once, not for each of many short steps
        for _ in range(max_iter):
            for b, rows in enumerate(batches):
                before = learner.H
                known = None if fresh else W[rows]
                W[rows], costs[b] = learner.learn(rows_of(X, rows, np.float64), known)
                if rest.reached(learner.H, before, costs.sum()):
                    break
            history.append(_objective(costs, batches))
            if monitor(history[-1]) or rest.at_last:
                break
    H, beta, on_W = learner.H, learner.beta, learner.on_W
    W = encode(X, H, beta=beta, penalty=on_W, tol=tol, max_iter=codes_max_iter)
    certificate = multiplicative.prove(
        X, W, H, beta=beta, on_W=on_W, on_H=learner.on_parts(n), tol=ASKED**2
    )
    return Parts(
        solver="online",
        n_iter=len(history),
        converged=certificate.holds,
        objective_history=np.array(history),
        certificate=certificate,
        components=H,
        codes=W,
    )


def _objective(costs: NDArray, batches: list[slice]) -> float:
    """Return the objective of all rows from that of the batches seen, in the first epoch too."""
    seen = ~np.isnan(costs)
    rows = np.array([batch.stop - batch.start for batch in batches])
    return float(costs[seen].sum() * rows.sum() / rows[seen].sum())


class _Rest:
    """Whether the parts have come to rest.

    Every batch has its say. One alone may hold little, or rows that are like no others: a single
    short step, or an average that compares batches with each other, would end a fit too early.
    """

    def __init__(self, n_batches: int, tol: float, patience: int | None) -> None:
        self.n_batches, self.tol, self.patience = n_batches, tol, patience
        self.best, self.waited = np.inf, 0
        self.short = -1  # short steps in a row; the first is of parts that had seen nothing
        self.at_last = False

    def reached(self, H: NDArray, before: NDArray, objective: float) -> bool:
        """Look at a step; the objective is NaN until all batches have been seen."""
        moved, most = np.linalg.norm(H - before), self.tol * np.linalg.norm(H)
        self.short = self.short + 1 if moved <= most or self.short < 0 else 0
        resting = self.tol > 0 and self.short >= self.n_batches
        self.at_last = resting or self._no_improvement(objective)
        return self.at_last

    def _no_improvement(self, objective: float) -> bool:
        if objective < self.best:
            self.best, self.waited = objective, 0
        elif np.isfinite(objective):
            self.waited += 1
        return self.patience is not None and self.waited >= self.patience
