"""Sparse PCA as an elastic net: the SPCA of Zou, Hastie, Tibshirani, by variable projection.

With directions W and their sparse stand-ins B, both of shape (d, k), minimise

    |A - A B W'|^2 + ridge |B|^2 + sum_j alpha_j |b_j|_1    with W'W = I.

For given B the best W is the polar factor of ``A'A B``, so W can be projected out (Erichson et al.
2020) and what is left is a problem in B alone. For given W it falls into k elastic nets, with
``A w_j`` as what is predicted:

    b_j = argmin |A (w_j - b)|^2 + ridge |b|^2 + alpha_j |b|_1.

A step takes a sweep of coordinate descent over all of each b_j, some more over its nonzeros alone,
a linear system for those if they are few, and then the new W. Coordinate descent instead of
Erichson's gradient step: it costs the same, and needs no step length, which a large first
eigenvalue would make small for all coordinates. Each part minimises, so the objective never rises.
The start is PCA. Allocates a copy of A, and a few matrices of the shape of B.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ops.jit import compiled
from .directions import EXHAUSTED, Directions, compressed, per_component
from .solution import Certificate, Monitor, ignore
from .targets import Face, Signs, along_the_path, carried_over, nearest, top_of_the_path

__all__ = ["PenalisedDirections", "solve", "solve_nonzero"]

KKT = "KKT residual of the elastic nets / largest gradient"
RIDGE = 1e-6  # as in the package of Zou et al.
SWEEPS = 10  # over the nonzeros, for each sweep over all: cheap where B is sparse
FACE = 256  # nonzeros, at most, for which a linear system is cheaper than what it saves

Descend = Callable[[NDArray, NDArray], None]
"""Improves each b_j, in place, for given W."""


@dataclass(frozen=True, slots=True, eq=False)
class PenalisedDirections(Directions):
    """Directions with an l1 penalty.

    Attributes
    ----------
    alpha : ndarray of shape (k,)
        The penalty of each direction.
    """

    alpha: NDArray


def solve(
    A: NDArray,
    k: int,
    *,
    alpha: ArrayLike,
    ridge: float | None = None,
    rng: np.random.Generator | None = None,
    tol: float,
    max_iter: int = 10_000,
    monitor: Monitor = ignore,
) -> PenalisedDirections:
    """Return the `k` directions of elastic-net SPCA of `A`, which is centred.

    Parameters
    ----------
    A : ndarray of shape (m, d)
        The table, or any matrix with the same ``A'A``: for a covariance or a correlation matrix S,
        one with ``A'A = S``.
    k : int
    alpha : float or sequence of k floats
        Weight of the l1 norm: the ``lambda_1`` of Zou et al., number for number, with squares
        that are not halved. It is in the units of ``A'A``: what `alpha` does for a covariance
        matrix takes ``(n - 1) alpha`` for the table of n rows. From ``2 max |A'A w|`` on, where w
        is the principal axis that it starts at, a component is zero.
    ridge : float, optional
        Weight of the squared l2 norm: their ``lambda``. If not given, 1e-6, or that times the
        largest eigenvalue of ``A'A`` if that is less than 1: in large units it would be all.
    rng : Generator, optional
        Not used: the start is PCA. Here so that all formulations are called alike.
    tol : float
        Largest KKT residual: by how much a derivative misses the optimality condition of its
        elastic net, relative to the largest derivative at ``B = 0`` that any W could have.
    max_iter : int
    monitor : callable
        Sees the objective after each iteration.

    Returns
    -------
    PenalisedDirections
        Components are the columns of B, of length 1. Zero where the penalty leaves nothing, and
        for components beyond the rank of A.

    References
    ----------
    H. Zou, T. Hastie, R. Tibshirani, Sparse principal component analysis, J. Computational and
    Graphical Statistics 15 (2006).
    N. B. Erichson et al., Sparse principal component analysis via variable projection, SIAM J.
    Applied Mathematics 80 (2020).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.solvers import spca
    >>> A = np.array([[3.0, 3.1, 0.1], [-3.0, -2.9, 0.1], [0.0, -0.2, -0.2]])
    >>> found = spca.solve(A, 1, alpha=1.0, tol=1e-8)
    >>> np.abs(found.components).round(3)
    array([[0.691, 0.723, 0.   ]])
    >>> found.certificate.holds
    True
    """
    problem = _Problem(compressed(A), per_component(alpha, k, "alpha").copy(), ridge)
    W = problem.principal_axes(k)
    return _alternate(problem, problem.descend, W, tol, max_iter, monitor)


def solve_nonzero(
    A: NDArray,
    k: int,
    *,
    n_nonzero: ArrayLike,
    ridge: float | None = None,
    rng: np.random.Generator | None = None,
    tol: float,
    max_iter: int = 10_000,
    monitor: Monitor = ignore,
) -> PenalisedDirections:
    """Return `k` directions of elastic-net SPCA with `n_nonzero` nonzeros each.

    One number, or one for each direction. The same alternation as in :func:`solve`, but each b_j
    is the exact minimiser for a penalty that leaves its number (:mod:`.targets`).
    The nearest fit is returned where a number is out of reach. Other parameters as for
    :func:`solve`; the objective that `monitor` sees is for the penalties of the moment.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.solvers import spca
    >>> A = np.array([[3.0, 3.1, 0.1], [-3.0, -2.9, 0.1], [0.0, -0.2, -0.2]])
    >>> found = spca.solve_nonzero(A, 2, n_nonzero=[2, 1], tol=1e-8)
    >>> np.count_nonzero(found.components, axis=1)
    array([2, 1])
    >>> bool((found.alpha > 0).all())
    True
    """
    A = compressed(A)
    wanted = per_component(n_nonzero, k, "n_nonzero", np.int64)

    def attempt(place: float, watch: Monitor) -> PenalisedDirections:
        problem = _Problem(A, np.zeros(k), ridge)
        descend = _WithNumbers(problem, wanted, place).descend
        return _alternate(problem, descend, problem.principal_axes(k), tol, max_iter, watch)

    return nearest(attempt, wanted, monitor)


def _alternate(
    problem: _Problem, descend: Descend, W: NDArray, tol: float, max_iter: int, monitor: Monitor
) -> PenalisedDirections:
    """Improve B and W in turn, from `W`, until the conditions of optimality are met."""
    B = np.array(W.T, order="C")  # a row for each b_j, so that the loops run along memory
    history: list[float] = []
    residual = np.inf
    while residual > tol and len(history) < max_iter:
        descend(B, W)
        W, objective = problem.project(B, W)
        residual = problem.residual(B, W)
        history.append(objective)
        if monitor(objective):
            break
    certificate = Certificate(KKT, residual, tol)
    return PenalisedDirections(
        components=_directions(B, len(problem.alpha)),
        objective_history=np.array(history),
        n_iter=len(history),
        converged=certificate.holds,
        certificate=certificate,
        alpha=problem.alpha,
    )


def _directions(B: NDArray, k: int) -> NDArray:
    """Return the rows of `B` with length 1, or zero, and rows of zeros up to `k` of them."""
    out = np.zeros((k, B.shape[1]))
    lengths = np.linalg.norm(B, axis=1, keepdims=True)
    np.divide(B, lengths, out=out[: len(B)], where=lengths > 0)
    return out + 0.0  # no negative zeros


class _Problem:
    """The objective, and how each of its two blocks is improved."""

    def __init__(self, A: NDArray, alpha: NDArray, ridge: float | None) -> None:
        self.A = A
        self.alpha = alpha
        self._columns = np.ascontiguousarray(A.T)
        self._squares = np.einsum("ij,ij->i", self._columns, self._columns)
        _, self._singular, self._axes = np.linalg.svd(A, full_matrices=False)
        largest = float(self._singular[0] ** 2)  # eigenvalue, which |A'A w| is at most
        self._scale = 2 * largest or 1.0
        self.ridge = RIDGE * min(1.0, largest) if ridge is None else ridge

    def principal_axes(self, k: int) -> NDArray:
        """Return the first `k` principal axes, or as many as there are, as columns."""
        rank = int(np.sum(self._singular > np.sqrt(EXHAUSTED) * self._singular[0]))
        return self._axes[: min(k, rank)].T

    def descend(self, B: NDArray, W: NDArray) -> None:
        """Improve each b_j, in place, for given `W`."""
        residuals = np.ascontiguousarray((self.A @ (W - B.T)).T)
        for b, w, r, alpha in zip(B, W.T, residuals, self.alpha, strict=False):
            _descend(self._columns, self._squares, r, b, alpha / 2, self.ridge, SWEEPS)
            self._to_the_minimum_for_these_signs(b, w, alpha / 2)

    def _to_the_minimum_for_these_signs(self, b: NDArray, w: NDArray, half: float) -> None:
        """Take `b` to where its elastic net is least for the same signs, or to the first zero.

        There the objective is quadratic, and falls all the way. Sweeps alone take thousands of
        iterations where columns are nearly collinear and alpha is small.
        """
        S = np.flatnonzero(b)
        if not 0 < len(S) <= FACE:
            return
        columns = self.A[:, S]
        slope = columns.T @ (self.A @ w - columns @ b[S]) - self.ridge * b[S] - half * np.sign(b[S])
        curvature = columns.T @ columns + self.ridge * np.eye(len(S))
        step = np.linalg.lstsq(curvature, slope, rcond=None)[0]
        ratio = -step / b[S]  # reaches zero after 1 / ratio of the step
        first = int(np.argmax(ratio))
        b[S] += step / max(1.0, ratio[first])
        if ratio[first] >= 1:
            b[S[first]] = 0.0

    def face(self, g: NDArray, of: Signs) -> Face:
        """Return the answers ``argmin 1/2 b'(A'A + ridge)b - g'b + c |b|_1`` with these signs."""
        S, signs = of
        columns = self.A[:, S]
        curvature = columns.T @ columns + self.ridge * np.eye(len(S))
        both = np.linalg.solve(curvature, np.stack([g[S], signs], axis=1))
        fit, e = (columns @ both).T @ self.A
        r = g - fit
        r[S] = e[S] = 0.0
        return Face(S, signs, both[:, 0], both[:, 1], r, e)

    def project(self, B: NDArray, W: NDArray) -> tuple[NDArray, float]:
        """Return the best W for given `B`, and the objective there."""
        AB = self.A @ B.T
        W, nuclear = _polar(self.A.T @ AB, W)
        fit = self._squares.sum() - 2 * nuclear + np.sum(AB**2)
        penalty = self.ridge * np.sum(B**2) + self.alpha[: len(B)] @ np.abs(B).sum(axis=1)
        return W, float(fit + penalty)

    def residual(self, B: NDArray, W: NDArray) -> float:
        """Return the largest violation of the KKT conditions of the elastic nets.

        W minimises for this B, so by Danskin's theorem these are the conditions of the whole.
        """
        gradient = 2 * (self.A @ (W - B.T)).T @ self.A - 2 * self.ridge * B
        alpha = self.alpha[: len(B), None]
        at_zero = np.maximum(np.abs(gradient) - alpha, 0.0)
        violation = np.where(B != 0, np.abs(gradient - alpha * np.sign(B)), at_zero)
        return float(violation.max(initial=0.0) / self._scale)


class _WithNumbers:
    """The update of B in which each penalty is one that leaves the wanted number of nonzeros."""

    def __init__(self, problem: _Problem, wanted: NDArray, place: float) -> None:
        self._problem = problem
        self._wanted = wanted
        self._place = place
        self._last: dict[int, tuple[NDArray, Face, float]] = {}

    def descend(self, B: NDArray, W: NDArray) -> None:
        """Set each b_j to the minimiser of its elastic net, with the penalty that suits it."""
        A = self._problem.A
        for j, g in enumerate((A @ W).T @ A):
            face, low, high = self._face(j, g)
            c = low + self._place * (high - low)
            self._last[j] = g, face, c
            self._problem.alpha[j] = 2 * c
            B[j] = face.answer(c)

    def _face(self, j: int, g: NDArray) -> tuple[Face, float, float]:
        """Return the face of the last step if it is there still, else the nearest on the path."""
        face_of, count = partial(self._problem.face, g), self._wanted[j]
        signs: Signs = top_of_the_path(g)
        if j in self._last:
            before, last, c = self._last[j]
            face = face_of((last.S, last.signs))
            low, high = face.interval()
            if low < high and len(face.S) == count:
                return face, low, high
            face_before = partial(self._problem.face, before)
            carried = carried_over(face_before, face_of, (last.S, last.signs), c)
            signs = carried if len(carried[0]) else signs
        return along_the_path(face_of, signs, count)


def _polar(M: NDArray, W: NDArray) -> tuple[NDArray, float]:
    """Return the orthonormal matrix that has the largest inner product with `M`, and that product.

    Where `M` is rank-deficient (some b_j is zero) many do, and the one nearest to `W` is returned:
    a component that is zero now keeps its direction, and may come back.
    """
    U, s, Vt = np.linalg.svd(M, full_matrices=False)
    zero = s <= len(M) * np.finfo(np.float64).eps * s.max(initial=0.0)
    if zero.any():
        known, rest = U[:, ~zero], W @ Vt[zero].T
        rest = rest - known @ (known.T @ rest)
        P, _, Qt = np.linalg.svd(np.hstack([known, rest]), full_matrices=False)
        U = U.copy()
        U[:, zero] = (P @ Qt)[:, (~zero).sum() :]
    return U @ Vt, float(s.sum())


@compiled
def _descend(columns, squares, r, b, half, ridge, sweeps):  # type: ignore[no-untyped-def]
    """Sweep coordinate descent once over b and `sweeps` times over its nonzeros.

    Minimises ``|r|^2 + ridge |b|^2 + 2 half |b|_1``, where r falls by a column times what is added
    to its coefficient.
    """
    d = len(b)
    active = np.arange(d)
    n_active = d
    for sweep in range(1 + sweeps):
        for position in range(n_active):
            i = active[position]
            if squares[i] == 0.0:
                b[i] = 0.0
                continue
            before = b[i]
            pull = np.dot(columns[i], r) + squares[i] * before
            size = max(abs(pull) - half, 0.0) / (squares[i] + ridge)
            b[i] = size if pull > 0 else -size
            if b[i] != before:
                r -= (b[i] - before) * columns[i]
        if sweep == 0:
            n_active = 0
            for i in range(d):
                if b[i] != 0.0:
                    active[n_active] = i
                    n_active += 1
