"""Leading eigenpairs of a symmetric positive semi-definite operator by block Lanczos.

From a random block ``Q_0`` the recurrence

    A Q_j = Q_{j-1} B_j' + Q_j A_j + Q_{j+1} B_{j+1}

builds an orthonormal basis ``Q`` of the block Krylov space, in which A is a band matrix T.
Eigenpairs (theta, s) of T give the Ritz pairs (theta, Q s) of A, with the residual norms ``|B_{j+1}
s_last|``: known without another product, and a bound on the distance to the nearest eigenvalue of
A.

Golub, Underwood (1977); the same space from a wide block and few steps is the randomised block
Krylov method of Musco, Musco (2015). Narrow blocks need fewer products, wide ones fewer passes over
the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from . import threads

__all__ = ["Operator", "Pairs", "lanczos", "leading", "top_pairs", "whole"]

Enough = Callable[[NDArray], int | None]
"""How many pairs are wanted, given the converged eigenvalues in falling order; None for more."""

DENSE = 400  # below this size LAPACK on the whole matrix is quicker than any iteration
GROWTH = 1.5  # the basis grows at most by this factor between two looks at the Ritz values
SINGLE = 32.0  # single precision serves for a tolerance so many times its own
PROBE = 24  # one step in so many again, from a new random start, to confirm an answer
SEMI = 1e-10  # how far the basis may stray from orthogonality before it is corrected


class Operator(Protocol):
    """A symmetric positive semi-definite matrix ``A'A`` of size `dim`, known by its products."""

    dim: int

    def gram(self, V: NDArray) -> NDArray:
        """Return its product with the columns of `V`."""
        ...

    def formed(self) -> NDArray:
        """Return it as an array."""
        ...


class _Matrix:
    """The operator of an array."""

    def __init__(self, M: NDArray) -> None:
        self.M, self.dim = M, len(M)

    def gram(self, V: NDArray) -> NDArray:
        return _product(self.M, V.astype(self.M.dtype, copy=False)).astype(np.float64, copy=False)

    def formed(self) -> NDArray:
        return self.M


def _product(M: NDArray, W: NDArray) -> NDArray:
    """Return ``M W``, the rows of M shared out among threads: reading them is what costs."""
    rows = threads.spans(len(M), max(64, (1 << 20) // max(1, M.shape[1])))
    return np.concatenate(threads.run(lambda i: M[rows[i]] @ W, len(rows)))


def _qr(W: NDArray) -> tuple[NDArray, NDArray]:
    """Return Q, R with ``W = Q R`` for a narrow W, by Cholesky: a third of the time of LAPACK's.

    Twice, so that Q is orthonormal to rounding (Yamamoto et al. 2015). LAPACK's where the columns
    of W are nearly dependent, or vanish.
    """
    try:
        R = np.linalg.cholesky(W.T @ W).T
        if np.ptp(np.log10(np.diag(R))) > 4:
            return np.linalg.qr(W)
        Q = W @ np.linalg.inv(R)
        again = np.linalg.cholesky(Q.T @ Q).T
    except np.linalg.LinAlgError:
        return np.linalg.qr(W)
    return Q @ np.linalg.inv(again), again @ R


@dataclass(frozen=True, slots=True)
class Pairs:
    """Eigenvalues in falling order, eigenvectors as columns, and how they were found."""

    values: NDArray
    vectors: NDArray
    history: NDArray  # sum of the wanted Ritz values at each look
    steps: int = 1
    complete: bool = False  # whether `values` is the whole spectrum
    stopped: bool = False  # whether the iteration ended before its tolerance
    sure: bool = False  # whether no larger one is missing, as LAPACK found them by their numbers

    def captured(self, k: int) -> NDArray:
        """Return `history`, with the sum of the first k at its end where all were found."""
        return np.append(self.history, self.values[:k].sum()) if self.complete else self.history

    def rest(self, trace: float, k: int) -> float:
        """Return a bound on all eigenvalues but the first k, `trace` being the sum of all."""
        if k < len(self.values) and (self.complete or self.sure):
            return float(self.values[k])
        if self.complete:
            return 0.0
        return trace - float(self.values[:k].sum())


def whole(M: NDArray) -> Pairs:
    """Return every eigenpair of the matrix `M`, by LAPACK."""
    with threads.blas_for(len(M) ** 3):
        values, vectors = np.linalg.eigh(M)
    values = values[::-1].clip(min=0.0)
    return Pairs(values, vectors[:, ::-1], np.empty(0), complete=True)


def top_pairs(M: NDArray, k: int, *, check_finite: bool = True) -> tuple[NDArray, NDArray]:
    """Return the `k` leading eigenvalues of the matrix `M` and their eigenvectors, by LAPACK.

    Its bisection may lose some of a cluster of equal eigenvalues, and say nothing. Then all of them
    are computed.
    """
    n = len(M)
    values, V = linalg.eigh(M, subset_by_index=(n - k, n - 1), check_finite=check_finite)
    if len(values) < k:
        values, V = (part[..., n - k :] for part in np.linalg.eigh(M))
    return values[::-1], V[:, ::-1]


def leading(M: NDArray, k: int | None, *, rng: np.random.Generator, tol: float) -> Pairs:
    """Return at least the `k` leading eigenpairs of the matrix `M` (all of them for None)."""
    if k is None or len(M) <= 2 * DENSE or 10 * k > len(M):
        return whole(M)
    if tol <= np.finfo(np.float32).eps * SINGLE:
        return lanczos(_Matrix(M), k, rng=rng, tol=tol, block=8)
    half = np.empty(M.shape, np.float32)  # reading M is what costs: read half of it
    unit = _power_of_two(np.diagonal(M))
    np.divide(M, unit, out=half, casting="same_kind")
    pairs = lanczos(_Matrix(half), k, rng=rng, tol=tol, block=8)
    return replace(pairs, values=pairs.values * unit, history=pairs.history * unit)


def _power_of_two(numbers: NDArray) -> float:
    """Return one of the size of the largest: a unit in which numbers have squares, to the bit."""
    return float(np.ldexp(1.0, np.frexp(np.abs(numbers).max(initial=0.0))[1]))


def lanczos(
    A: Operator,
    k: int,
    *,
    rng: np.random.Generator,
    tol: float,
    block: int = 2,
    sharp: bool = False,
    max_steps: int | None = None,
    enough: Enough | None = None,
    watch: Callable[[float], bool] = lambda captured: False,
) -> Pairs:
    """Return the `k` leading eigenpairs of the operator `A`.

    Stops when the residuals of the wanted pairs, taken together as the Frobenius norm of ``A V - V
    diag(theta)``, are at most `tol` times the first eigenvalue, after `max_steps` blocks, or when
    `watch`, called with the sum of the wanted Ritz values, says so. With `enough`, `k` is only
    where to start: pairs are added until it is content. Where the basis would fill half of the
    space, the matrix is formed and solved by LAPACK instead. A `tol` below 1e-9 takes a `sharp`
    basis, orthonormal to rounding, which costs little where a product with A costs much.
    """
    half = A.dim // 2
    limit = half if max_steps is None else min(half, max_steps * block)
    if A.dim <= DENSE or (max_steps is None and 2 * k > limit) or block > limit:
        return whole(A.formed())
    basis = _Basis(A, block, rng, sharp)
    history: list[float] = []
    look, last = max(2 * k, 4 * block), (0, 1.0)
    with threads.serial_blas():
        while True:
            basis.grow(min(look, limit))
            values, S = basis.ritz(k)
            residual = float(np.linalg.norm(basis.residuals(S)) / (values[0] / basis.unit))
            history.append(float(values.sum()))
            stopped = watch(history[-1])
            met = residual <= tol
            if met and enough is not None and enough(values) is None:
                k, met, residual = 2 * k, False, 1.0
            if stopped or met:
                break
            if basis.size + block > limit:
                if limit < half:
                    stopped = True
                    break
                pairs = whole(A.formed())
                watch(float(pairs.values[:k].sum()))
                return replace(pairs, history=np.array(history), steps=basis.steps + 1)
            now = (basis.size, residual)
            look, last = _next_look(last, now, tol, max(2 * k, basis.size + block)), now
        V = basis.combine(S)
        if met and max_steps is None:
            least = values[-1] + tol * values[0]
            if _largest_outside(A, V, basis, rng) > least:
                wider = 2 * block
                again = {"block": wider, "sharp": sharp, "enough": enough, "watch": watch}
                return lanczos(A, k, rng=rng, tol=tol, **again)  # type: ignore[arg-type]
    values = values.clip(min=0.0)
    return Pairs(values, V, np.array(history), basis.steps, stopped=stopped)


def _largest_outside(A: Operator, V: NDArray, basis: _Basis, rng: np.random.Generator) -> float:
    """Return the largest Ritz value that a short run from a new random start finds away from V.

    A Krylov space holds no more copies of a repeated eigenvalue than its block has vectors, and
    the residuals of those it has do not tell that others are missing.
    """
    block = 2 if basis.block < 8 else 4  # where wide blocks are cheap, narrow ones are not
    probe = _Basis(_Deflated(A, V), block, rng)
    probe.grow(block * (2 + basis.steps // PROBE))
    return float(probe.ritz(1)[0][0])


class _Deflated:
    """The operator on the complement of the orthonormal columns of V."""

    def __init__(self, A: Operator, V: NDArray) -> None:
        self.A, self.V, self.dim = A, V, A.dim

    def gram(self, W: NDArray) -> NDArray:
        return self._away(self.A.gram(self._away(W)))

    def _away(self, W: NDArray) -> NDArray:
        return W - self.V @ (self.V.T @ W)

    def formed(self) -> NDArray:
        P = np.eye(self.dim) - self.V @ self.V.T
        return P @ self.A.formed() @ P


def _next_look(last: tuple[int, float], now: tuple[int, float], tol: float, least: int) -> int:
    """Return the size, at least `least`, at which the residual should fall to `tol`.

    A look costs an eigenproblem of the size of the basis, so every step would be too often.
    """
    size, residual = now
    rate = np.log(last[1] / residual) / (size - last[0])
    most = size + (GROWTH - 1) * size / (2 if residual < 1e-2 else 1)
    guess = size + np.log(residual / tol) / rate if rate > 0 and tol > 0 else most
    return max(least, int(min(guess, most)))


class _Basis:
    """The growing orthonormal basis, and the band matrix T of A in it, in units of its own."""

    def __init__(
        self, A: Operator, block: int, rng: np.random.Generator, sharp: bool = False
    ) -> None:
        self.A, self.block, self.rng, self.sharp = A, block, rng, sharp
        self.size = self.steps = 0
        self.unit = 1.0
        self._rows = np.empty((16 * block, A.dim))  # basis vectors as rows: grows by doubling
        self._T = np.zeros((16 * block, 16 * block))
        self._due = False
        self._next, self._B = self._filled(np.empty((A.dim, 0)), np.empty((0, block)))

    def grow(self, size: int) -> None:
        """Add blocks, each by one product with A, up to `size` vectors; at least one block."""
        self._add()
        while self.size + self.block <= size:
            self._add()

    def _add(self) -> None:
        a, b = self.size, self.size + self.block
        if b > len(self._rows):
            self._reserve(2 * len(self._rows))
        Q = self._next
        self._rows[a:b] = Q.T
        if a:
            self._T[a - self.block : a, a:b] = self._B.T
            self._T[a:b, a - self.block : a] = self._B
        W = self.A.gram(Q)
        if not a:
            self.unit = _power_of_two(W)
        W /= self.unit
        before = max(0, a - self.block)
        near = self._rows[before:b]  # in exact arithmetic A Q meets no other block
        H = near @ W
        self._T[a:b, a:b] = (H[a - before :] + H[a - before :].T) / 2
        W -= near.T @ H
        self.size, self.steps = b, self.steps + 1
        self._next, self._B = self._orthonormal(W)

    def _orthonormal(self, W: NDArray) -> tuple[NDArray, NDArray]:
        """Return Q, B with ``W = Q B`` up to the basis, Q orthonormal to it and in itself.

        A basis orthogonal to sqrt(eps) gives the same T up to rounding (Simon 1984), and it strays
        from orthogonality slowly unless B is small. So the whole basis is only read at every
        fourth step, and corrected where it has strayed; the recurrence looks two blocks back, so
        the block after a corrected one is corrected too.
        """
        Q, B = _qr(W)
        scale = np.abs(np.diag(self._T)[: self.size]).max()
        pivots = np.abs(np.diag(B))
        if (lost := pivots <= 1e-13 * scale).any():
            return self._filled(Q[:, ~lost], B[~lost])
        if self.sharp:
            basis = self._rows[: self.size]
            Q, R = _qr(Q - basis.T @ _product(basis, Q))
            return Q, R @ B
        due, self._due = self._due, False
        if due or self.steps % 4 == 0 or pivots.min() < 1e-3 * scale:
            basis = self._rows[: self.size]
            while np.abs(stray := _product(basis, Q)).max() > SEMI or due:
                Q, R = _qr(Q - basis.T @ stray)
                B, due, self._due = R @ B, False, not due
        return Q, B

    def _filled(self, Q: NDArray, B: NDArray) -> tuple[NDArray, NDArray]:
        """Return Q and B filled up to a whole block by random directions, coupled by zeros.

        This is how the basis begins, and how it goes on where the Krylov space is exhausted.
        """
        basis, fill = self._rows[: self.size], self.block - Q.shape[1]
        Q = np.concatenate([Q, self.rng.standard_normal((self.A.dim, fill))], axis=1)
        B = np.concatenate([B, np.zeros((fill, self.block))])
        for _ in range(3):
            Q, R = np.linalg.qr(Q - basis.T @ (basis @ Q))
            B = R @ B
        return Q, B

    def ritz(self, k: int) -> tuple[NDArray, NDArray]:
        """Return the `k` leading Ritz values, and the vectors in the basis."""
        T = self._T[: self.size, : self.size]
        values, S = top_pairs(T, min(k, self.size), check_finite=False)
        return values * self.unit, S

    def residuals(self, S: NDArray) -> NDArray:
        """Return ``|A Q s - theta Q s|`` for the columns s of `S`, in its unit."""
        return np.linalg.norm(self._B @ S[self.size - self.block : self.size], axis=0)

    def combine(self, S: NDArray) -> NDArray:
        """Return the Ritz vectors ``Q S``, orthonormal though the basis is not quite."""
        V, R = np.linalg.qr(self._rows[: self.size].T @ S)
        return V * np.sign(np.diag(R))

    def _reserve(self, size: int) -> None:
        rows, T = np.empty((size, self._rows.shape[1])), np.zeros((size, size))
        rows[: self.size] = self._rows[: self.size]
        T[: self.size, : self.size] = self._T[: self.size, : self.size]
        self._rows, self._T = rows, T
