"""Dictionary learning from mini-batches of rows.

    min over C, D of  1/2 |X - C D|^2 + alpha |C|_1,   |D_k| <= 1 for every atom

Each batch x is coded with the atoms as they are; then the atoms descend on what is known of all
rows seen, which two sums hold (Mairal, Bach, Ponce, Sapiro 2010):

    c    <- a lasso for each row of the batch; all share D D'
    A    <- beta A + c'c,   B <- beta B + c'x
    d_k  <- P(d_k + (b_k - A_k D) / A_kk)   for one atom after the other, P onto the unit ball

In a stream, beta < 1 lets go of codes of early, poor atoms. Rows that come again need no such
guess: the part of their old code is taken out of the sums (section 3.4.1 of the paper), so that
from the second epoch on A and B hold the latest code of each row and nothing else, and every step
lowers the objective. The old code is also where the new lasso starts, which saves most of its time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops import threads
from ..ops.finite import require_finite
from ..ops.lanczos import top_pairs
from ..ops.lasso import MAX_SWEEPS, REST, lassos, score_columns
from .solution import Certificate, Monitor, ignore

__all__ = ["Learned", "Learner", "leading_atoms", "sampled_atoms", "solve"]

RESIDUAL = "optimality residual of the atoms, given the code of the rows seen"

UNUSED = 1e-10  # of the largest sum of squared code: what is below it is rounding
WARM_UP = 100  # steps after which it means something that atoms rest, or an epoch
NEGLIGIBLE = 1e-5  # of the longest row: an atom of its own leaves a row with alpha, up to REST
EPS = 8 * float(np.finfo(float).eps)  # of |X|^2: rounding of the objective
TINY = float(np.finfo(float).tiny)


class Coded(NamedTuple):
    """What is remembered of a batch.

    Attributes
    ----------
    code : csr_array
    cost : float
        The objective of its rows, with the atoms that it was coded with.
    fixed : float
        The part of it that atoms do not change: ``1/2 |x|^2 + alpha |c|_1``.
    scale : float
        That of the sums when it was added to them.
    """

    code: sparse.csr_array
    cost: float
    fixed: float
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """How a fit by mini-batches ended.

    Attributes
    ----------
    n_iter : int
        Epochs begun.
    converged : bool
    objective_history : ndarray
        The objective after each epoch; of the first, each row with the atoms of its coding.
    certificate : Certificate
    """

    n_iter: int
    converged: bool
    objective_history: NDArray
    certificate: Certificate


class Learner:
    """Atoms, and the sums over the rows seen on which they descend; in float64.

    Attributes
    ----------
    atoms : ndarray of shape (k, d)
    A : ndarray of shape (k, k)
        Sum of ``c'c``.
    B : ndarray of shape (k, d)
        Sum of ``c'x``.
    n_steps : int
        Batches seen.
    """

    def __init__(
        self,
        atoms: NDArray,
        *,
        alpha: float,
        seed: NDArray,
        positive_code: bool = False,
        positive_atoms: bool = False,
        max_sweeps: int = MAX_SWEEPS,
    ) -> None:
        k, d = atoms.shape
        self.atoms = np.array(atoms, np.float64, order="C")
        self.A, self.B = np.zeros((k, k)), np.zeros((k, d))
        self.n_steps = 0
        self.moved = np.inf  # length of the last step of the atoms
        self.alpha = float(alpha)
        self._seed = seed
        self._positive_code, self._positive_atoms = positive_code, positive_atoms
        self._max_sweeps = max_sweeps
        self._scale = 1.0  # product of all beta
        self._gram = self.atoms @ self.atoms.T

    def resume(self, A: NDArray, B: NDArray, n_steps: int) -> Learner:
        """Go on from the sums of an earlier learner."""
        self.A[:], self.B[:], self.n_steps = A, B, n_steps
        return self

    def learn(self, X: NDArray, before: Coded | None = None) -> Coded:
        """Take one step on the rows `X`, in place of the step `before` on the same rows."""
        if before is None:
            code = np.zeros((len(X), len(self.atoms)))
            self._forget(len(X))
        else:
            code = before.code.toarray()
            self._add(X, code, -self._scale / before.scale)
        cost, fixed = self._encode(X, code)
        if self._renew(X, code, ripe=before is not None or self.n_steps >= WARM_UP):
            cost, fixed = self._encode(X, code)
        self._add(X, code, 1.0)
        self._move()
        self.n_steps += 1
        return Coded(sparse.csr_array(code), cost, fixed, self._scale)

    def misfit(self) -> float:
        """Return ``1/2 |X - C D|^2 - 1/2 |X|^2``, the rows counted as the sums do."""
        return float(0.5 * np.vdot(self._gram, self.A) - np.vdot(self.atoms, self.B))

    def residual(self) -> float:
        """Return the longest step that would take an atom to its optimum, the others fixed.

        Optimal for the sums A and B, that is for the code of the rows seen. Atoms have length 1.
        """
        used = self._used()
        D, scale = self.atoms[used], np.diag(self.A)[used, None]
        step = D + (self.B[used] - self.A[used] @ self.atoms) / scale
        return float(np.linalg.norm(self._within(step) - D, axis=1).max(initial=0.0))

    def certificate(self, tol: float) -> Certificate:
        """Return the residual as a proof; near a minimum the objective is quadratic in it."""
        return Certificate(RESIDUAL, self.residual(), float(np.sqrt(tol)))

    def _forget(self, rows: int) -> None:
        beta = forgetting(self.n_steps, rows)
        self.A *= beta
        self.B *= beta
        self._scale *= beta

    def _add(self, X: NDArray, code: NDArray, weight: float) -> None:
        self.A += weight * (code.T @ code)
        self.B += weight * (code.T @ X)

    def _encode(self, X: NDArray, code: NDArray) -> tuple[float, float]:
        """Solve the lasso of each row of `X`, from `code` on, in place.

        Return the objective, and the part of it that atoms do not change.
        """
        G, linear = self._gram, X @ self.atoms.T
        rest = linear.copy()  # what the code leaves of it, after the loops
        squares = np.einsum("ij,ij->i", X, X)
        tol = REST * float(np.sqrt(squares.max(initial=0.0)))
        lassos(
            G,
            rest,
            self.alpha,
            code,
            tol=tol,
            max_sweeps=self._max_sweeps,
            positive=self._positive_code,
        )
        fixed = float(0.5 * squares.sum() + self.alpha * np.abs(code).sum())
        return fixed - 0.5 * float(np.vdot(code, linear + rest)), fixed

    def _renew(self, X: NDArray, code: NDArray, *, ripe: bool) -> bool:
        """Give each unused atom what the others leave of a random row of the batch, if anything.

        Only rows that are left with more than alpha: to another row no atom is of use. At once,
        not after the step: the row may not come again before the atom is given to others. Until
        the sums are `ripe` only atoms of length 0: to others their rows may be yet to come.
        """
        squares = np.diag(self.A) + np.einsum("ik,ik->k", code, code)
        idle = squares <= UNUSED * squares.max(initial=0.0)
        unused = np.flatnonzero(idle & (ripe | (np.diag(self._gram) == 0.0)))
        if not len(unused):
            return False
        self.A[unused] = self.A[:, unused] = self.B[unused] = code[:, unused] = 0.0
        rest = X - code @ self.atoms
        lengths = _lengths(rest)
        rows = np.flatnonzero(lengths > self.alpha + NEGLIGIBLE * _lengths(X).max(initial=0.0))
        unused = unused[: len(rows)]
        rng = np.random.default_rng([*self._seed, self.n_steps])
        chosen = rng.choice(rows, len(unused), replace=False)
        self.atoms[unused] = self._within(rest[chosen] / lengths[chosen])
        self._gram = self.atoms @ self.atoms.T
        return len(unused) > 0

    def _move(self) -> None:
        """Set each atom to its optimum given the others, once."""
        before = self.atoms.copy()
        score_columns(self.A, self.B, self.atoms, False, self._positive_atoms)
        self.moved = float(np.linalg.norm(self.atoms - before))
        self._gram = self.atoms @ self.atoms.T

    def _used(self) -> NDArray:
        squares = np.diag(self.A)
        return squares > UNUSED * squares.max(initial=0.0)

    def _within(self, atoms: NDArray) -> NDArray:
        """Return the nearest atoms that are allowed."""
        if self._positive_atoms:
            atoms = np.maximum(atoms, 0.0)
        return atoms / np.maximum(_lengths(atoms), 1.0)


def forgetting(n_steps: int, rows: int) -> float:
    """Return beta, by which what `n_steps` batches left counts beside a batch of so many rows.

    The rule of Mairal, Bach, Ponce, Sapiro (2010): the weight of a batch grows with its number, and
    after as many batches as a batch has rows, less than that.
    """
    step = n_steps + 1
    theta = step * rows if step < rows else rows**2 + step - rows
    return (theta + 1 - rows) / (theta + 1)


def sampled_atoms(X: NDArray, k: int, rng: np.random.Generator) -> NDArray:
    """Return k random rows of `X` at length 1; zero atoms where there are not as many rows.

    For dictionaries of many atoms the better start than singular vectors: few rows are made of
    many singular vectors, and the lassos have fewer nonzeros.
    """
    atoms = np.zeros((k, X.shape[1]))
    chosen = rng.choice(len(X), min(k, len(X)), replace=False)
    rows = X[chosen].astype(np.float64)
    atoms[: len(rows)] = rows / np.maximum(_lengths(rows), TINY)
    return atoms


def leading_atoms(X: NDArray, k: int) -> NDArray:
    """Return the k leading right singular vectors of `X` times their values; zero atoms beyond.

    For few atoms the better start, as long as they are: a penalty that is small beside them lets
    all rows choose among them first. Where the first is shorter than 1, as in large units, they
    would be of use to none: there all have length 1.
    """
    d = X.shape[1]
    leading, atoms = min(k, d), np.zeros((k, d))
    with threads.blas_for(float(d) ** 3 + len(X) * float(d) ** 2):
        values, vectors = top_pairs(X.T @ X, leading)
    values = np.where(values > d * EPS * values[0], values, 0.0)
    lengths = np.sqrt(values) if values[0] >= 1.0 else (values > 0.0).astype(float)
    atoms[:leading] = (vectors * lengths).T
    return atoms


def solve(
    X: NDArray,
    learner: Learner,
    *,
    batch_size: int,
    max_iter: int,
    tol: float,
    max_no_improvement: int | None,
    shuffle: np.random.Generator | None,
    monitor: Monitor = ignore,
    callback: Callable[[dict[str, Any]], object] | None = None,
) -> Learned:
    """Let `learner` see the rows of `X` in batches, until its atoms rest.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Batches of it are copied, and the code is kept as a sparse matrix.
    learner : Learner
        With the atoms to begin with; it has the answer in the end.
    batch_size, max_iter : int
        Rows of a batch at most, and epochs at most.
    tol : float
        The fit ends after a step of the atoms that is shorter than this times their number, if
        none is farther than ``sqrt(tol)`` from its optimum.
    max_no_improvement : int or None
        It also ends when so many batches in a row have not lowered the objective.
    shuffle : Generator or None
        Draws the batches, once; without it they follow the order of the rows.
    monitor : Monitor
    callback : callable, optional
        Called after each step with a dict: ``i``, ``batch_cost`` for each row and ``dictionary``.
    """
    order = np.arange(len(X)) if shuffle is None else shuffle.permutation(len(X))
    epochs = _Epochs(X, [order[span] for span in threads.spans(len(X), batch_size)], learner)
    square = float(np.einsum("ij,ij->", X, X, dtype=np.float64))
    rest = _Rest(epochs, tol, max_no_improvement, EPS * square)
    history: list[float] = []
    with threads.serial_blas():
        for _ in range(max_iter):
            for b, rows in enumerate(epochs.batches):
                cost = epochs.step(b)
                if callback is not None:
                    i, atoms = learner.n_steps - 1, learner.atoms
                    callback({"i": i, "batch_cost": cost / len(rows), "dictionary": atoms})
                if rest.reached():
                    break
            history.append(epochs.objective())
            require_finite(np.array(history), square)  # squares of atoms that are as long as X
            if monitor(history[-1]) or rest.at_last:
                break
        certificate = learner.certificate(tol)
        return Learned(
            n_iter=len(history),
            converged=rest.at_last and certificate.holds,
            objective_history=np.array(history),
            certificate=certificate,
        )


class _Epochs:
    """Batches that come again and again, with the latest code of each."""

    def __init__(self, X: NDArray, batches: list[NDArray], learner: Learner) -> None:
        self.X, self.batches, self.learner = X, batches, learner
        self.n_steps = 0
        self._known: dict[int, Coded] = {}
        self._cost = self._fixed = 0.0

    @property
    def settled(self) -> bool:
        """Whether the sums count every batch once, as they do from the second epoch on."""
        return self.n_steps >= 2 * len(self.batches)

    def step(self, b: int) -> float:
        """Let the learner see batch b; return the objective of its rows."""
        before = self._known.get(b)
        now = self.learner.learn(self.X[self.batches[b]].astype(np.float64), before)
        self._cost += now.cost - (before.cost if before else 0.0)
        self._fixed += now.fixed - (before.fixed if before else 0.0)
        self._known[b] = now
        self.n_steps += 1
        return now.cost

    def objective(self) -> float:
        """Return the objective of the rows seen, with their latest code."""
        return self._fixed + self.learner.misfit() if self.settled else self._cost


class _Rest:
    """Whether the atoms have come to rest."""

    def __init__(self, epochs: _Epochs, tol: float, patience: int | None, rounding: float) -> None:
        self.epochs, self.tol, self.patience, self.rounding = epochs, tol, patience, rounding
        self.earliest = min(WARM_UP, len(epochs.batches))
        self.best, self.waited = np.inf, 0
        self.at_last = False

    def reached(self) -> bool:
        """Look at the atoms after a step."""
        if self.epochs.n_steps > self.earliest:
            self.at_last = self._small_step() or (self.epochs.settled and self._no_improvement())
        return self.at_last

    def _small_step(self) -> bool:
        learner = self.epochs.learner
        small = learner.moved <= self.tol * len(learner.atoms)
        return self.tol > 0 and small and learner.certificate(self.tol).holds

    def _no_improvement(self) -> bool:
        objective = self.epochs.objective()
        if objective < self.best - self.rounding:
            self.best, self.waited = objective, 0
        else:
            self.waited += 1
        return self.patience is not None and self.waited >= self.patience


def _lengths(rows: NDArray) -> NDArray:
    return np.linalg.norm(rows, axis=1, keepdims=True)
