"""Factors without negative numbers by multiplicative updates, for any beta-divergence.

With ``Y = W H``, powers taken entry by entry, and a penalty ``l1 |W|_1 + l2/2 |W|^2``::

    W <- W * ((X * Y^(b-2)) H' / (Y^(b-1) H' + l1 + l2 W))^g,   and likewise H, from the new W

The quotient is that of the negative to the positive part of the gradient. The exponent g is 1 for
b between 1 and 2, ``1 / (2 - b)`` below and ``1 / (b - 1)`` above: so each update minimises a
function that lies above the objective and touches it at W, and can only lower it (Lee, Seung 2001;
Fevotte, Idier 2011). An l1 penalty keeps that true for any b, an l2 penalty for b from 2 on.

An update of W needs the rows one by one, and that of H sums over them. So one pass over blocks of
rows does both, each block with its new W while it is still in the cache, and no table of the size
of X is made. It is slow to the last digits, and an entry that is zero stays zero: what other
solvers are judged by rather than what to use where one of them applies.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops import threads
from ..ops.rows import rows_of
from ..ops.sampled import sampled_product
from ..ops.weights import total
from .blocked import Blocked, Codes
from .divergence import EPSILON, divergence, row_blocks, size
from .parts import Parts, Penalty, certify
from .solution import Certificate, Monitor, ignore

__all__ = ["Fit", "Given", "encode", "exponent", "prove", "settle", "solve", "start", "updated"]

EVERY = 10  # iterations from one look at the objective to the next
GONE = float(np.finfo(np.float64).eps)  # below it an entry is on its way to 0, for beta up to 1


def solve(
    X: Any,
    W: Any,
    H: NDArray,
    *,
    beta: float,
    on_W: Penalty,
    on_H: Penalty,
    weight: NDArray | None = None,
    observed: NDArray | None = None,
    tol: float,
    max_iter: int,
    monitor: Monitor = ignore,
) -> Parts:
    """Update W and H in turns, until ten updates of both change next to nothing.

    Parameters
    ----------
    X : ndarray, csr_array or Blocked of shape (n, d)
        Not negative, and 0 where not observed.
    W, H : ndarray of shape (n, k) and (k, d)
        Where to start: not negative, and an entry that is 0 stays so. W is Codes, of a table in
        blocks.
    beta : float
    on_W, on_H : Penalty
    weight : ndarray of shape (n,), optional
    observed : ndarray of bool of shape (n, d), optional
        Entries of a dense X to fit; else all.
    tol : float
        The end is reached when the root of the divergence has fallen by less than this times what
        it was at first, in ten iterations; 0 to do them all.
    max_iter : int
    monitor : Monitor
        Sees the objective every ten iterations, and at the end.

    Returns
    -------
    Parts
        Its codes are those of the last iteration, from before the last update of H. It has
        converged if the end was reached and the certificate holds: a residual of ``sqrt(tol)``,
        as near a minimum the objective is quadratic in it.
    """
    if isinstance(X, Blocked):
        fit: Fit = FitInBlocks(X, W, H, beta, on_W, on_H)
    else:
        fit = Fit(X, W, H, beta, on_W, on_H, weight, observed)
    first = before = fit.error()
    history: list[float] = []
    rests = False
    n_iter = 0
    while n_iter < max_iter and not rests:
        fit.update()
        n_iter += 1
        if n_iter % EVERY and n_iter < max_iter:
            continue
        error = fit.error()
        history.append(fit.objective(error))
        rests = tol > 0 and n_iter % EVERY == 0 and before - error < tol * max(first, GONE)
        before = error
        if monitor(history[-1]):
            break
    certificate = fit.certificate(tol)
    return Parts(
        solver="mu",
        n_iter=n_iter,
        converged=rests and certificate.holds,
        objective_history=np.array(history),
        certificate=certificate,
        components=fit.given.H,
        codes=fit.W,
    )


def prove(
    X: Any,
    W: NDArray,
    H: NDArray,
    *,
    beta: float,
    on_W: Penalty,
    on_H: Penalty,
    weight: NDArray | None = None,
    observed: NDArray | None = None,
    tol: float,
) -> Certificate:
    """Return the certificate that `solve` would give W and H, whoever has found them."""
    return Fit(X, W, H, beta, on_W, on_H, weight, observed).certificate(tol)


def encode(
    X: Any,
    H: NDArray,
    *,
    beta: float,
    penalty: Penalty,
    observed: NDArray | None = None,
    tol: float,
    max_iter: int,
    W: NDArray | None = None,
) -> NDArray:
    """Return the codes of rows with parts `H`, each row by itself: whatever the others are.

    Parameters
    ----------
    X, H, beta, observed
        As of `solve`.
    penalty : Penalty
        On the codes.
    tol : float
        A row is done when an update moves its code by less than this times its length.
    max_iter : int
    W : ndarray of shape (n, k), optional
        Where to start; else `start`.
    """
    given = Given(H, beta, masked=observed is not None)
    codes = start(X, given.H, observed) if W is None else np.array(W, np.float64, order="C")
    spans = row_blocks(X, beta)

    def part(i: int) -> None:
        seen = None if observed is None else observed[spans[i]]
        w = codes[spans[i]]
        w[:] = settle(rows_of(X, spans[i], np.float64), w, given, penalty, seen, tol, max_iter)

    threads.run(part, len(spans))
    return codes.astype(X.dtype, copy=False)


def start(X: Any, H: NDArray, observed: NDArray | None = None) -> NDArray:
    """Return codes to start from: in each row one number, with which the total of the row is right.

    So codes follow when rows, or parts, are multiplied by a number.
    """
    totals = np.asarray(X.sum(axis=1, dtype=np.float64))
    of_parts = H.sum() if observed is None else observed @ H.sum(axis=0)
    level = np.divide(totals, of_parts, out=np.zeros_like(totals), where=np.asarray(of_parts > 0))
    return np.repeat(level[:, None], len(H), axis=1)


class Given:
    """Parts H, and what every row needs of them.

    Attributes
    ----------
    H : ndarray of shape (k, d)
    beta : float
    quadratic : bool
        Whether the gradient is linear, so that products of the factors alone make half of it.
    """

    def __init__(self, H: NDArray, beta: float, *, masked: bool = False) -> None:
        self.H = np.ascontiguousarray(H, np.float64)
        self.Ht = np.ascontiguousarray(self.H.T)
        self.beta = beta
        self.quadratic = beta == 2 and not masked
        self.gram = self.H @ self.Ht if self.quadratic else np.empty((0, 0))

    def prepare(self, x: Any) -> Any:
        """Return what the updates of the codes of rows `x` need of them."""
        return x @ self.Ht if self.quadratic else x

    def of_codes(
        self, prepared: Any, w: NDArray, observed: NDArray | None, penalty: Penalty
    ) -> tuple[NDArray, NDArray]:
        """Return the negative and the positive part of the gradient for the codes of rows."""
        if self.quadratic:
            return prepared, _penalised(w @ self.gram, w, penalty)
        P, Q = self._pulls(prepared, w, observed)
        positive = self.H.sum(axis=1) if Q is None else Q @ self.Ht
        return P @ self.Ht, _penalised(positive, w, penalty)

    def of_parts(
        self, x: Any, w: NDArray, observed: NDArray | None, weight: NDArray | None
    ) -> tuple[NDArray, NDArray]:
        """Return what rows add to the two parts of the gradient for H: see `positive_part`."""
        v = w if weight is None else w * weight[:, None]
        if self.quadratic:
            return v.T @ x, v.T @ w
        P, Q = self._pulls(x, w, observed)
        return v.T @ P, v.sum(axis=0)[:, None] if Q is None else v.T @ Q

    def positive_part(self, added: NDArray, penalty: Penalty) -> NDArray:
        """Return the positive part of the gradient for H from what all rows added."""
        return _penalised(added @ self.H if self.quadratic else added, self.H, penalty)

    def curvatures(
        self, x: Any, w: NDArray, observed: NDArray | None, weight: NDArray | None
    ) -> tuple[NDArray, NDArray]:
        """Return the second derivatives for the codes of rows, and what the rows add to those of H.

        Of the convex part of the divergence: it is all of it for beta from 1 to 2, and an upper
        bound elsewhere.
        """
        squares = w**2 if weight is None else w**2 * weight[:, None]
        if self.quadratic:
            own = np.broadcast_to(np.diag(self.gram), w.shape)
            return own, np.broadcast_to(squares.sum(axis=0)[:, None], self.H.shape)
        S = self._bends(x, w, observed)
        return S @ self.Ht**2, squares.T @ S

    def _pulls(self, x: Any, w: NDArray, observed: NDArray | None) -> tuple[Any, NDArray | None]:
        """Return ``x * y^(b-2)`` and ``y^(b-1)``; None for the latter if it is 1 everywhere."""
        beta = self.beta
        if sparse.issparse(x) and beta == 1:
            y = np.maximum(sampled_product(w, self.Ht, x), EPSILON)
            return sparse.csr_array((x.data / y, x.indices, x.indptr), x.shape), None
        x, y = _plain(x), w @ self.H
        if beta == 1:
            np.maximum(y, EPSILON, out=y)
            np.divide(x, y, out=y)
            return y, observed
        safe = y if beta >= 2 else np.maximum(y, EPSILON)
        P = _power(safe, beta - 2.0)
        Q = P * safe
        if 1 < beta < 2 and (low := y < EPSILON).any():  # no division here, and so no floor
            Q[low] = y[low] ** (beta - 1.0)
        P *= x
        if observed is not None:
            Q *= observed
        return P, Q

    def _bends(self, x: Any, w: NDArray, observed: NDArray | None) -> Any:
        """Return the second derivative by y of the convex part of the divergence, at each entry."""
        beta = self.beta
        if sparse.issparse(x) and beta == 1:
            y = np.maximum(sampled_product(w, self.Ht, x), EPSILON)
            return sparse.csr_array((x.data / y**2, x.indices, x.indptr), x.shape)
        y = np.maximum(w @ self.H, EPSILON)
        S = y ** (beta - 2.0) * (max(beta - 1.0, 0.0) + max(2.0 - beta, 0.0) * _plain(x) / y)
        return S if observed is None else S * observed


def updated(A: NDArray, negative: NDArray, positive: NDArray, beta: float) -> NDArray:
    """Return the factor `A` after one update, given the two parts of its gradient."""
    ratio = negative / np.where(positive == 0.0, EPSILON, positive)
    if (gamma := exponent(beta)) != 1.0:
        ratio **= gamma
    ratio *= A
    return ratio


def exponent(beta: float) -> float:
    """Return the exponent with which an update never raises the objective."""
    return 1.0 / max(2.0 - beta, beta - 1.0, 1.0)


def settle(
    x: Any,
    w: NDArray,
    given: Given,
    penalty: Penalty,
    observed: NDArray | None,
    tol: float,
    max_iter: int,
) -> NDArray:
    """Return the codes of rows `x` after updates from `w` on, each row until it rests."""
    codes, moving = w.copy(), np.arange(len(w))
    x = given.prepare(x)
    for _ in range(max_iter):
        new = updated(w, *given.of_codes(x, w, observed, penalty), given.beta)
        if given.beta < 1:
            new[new < GONE] = 0.0
        codes[moving] = new
        moves = _lengths(new - w) > tol * _lengths(new)
        if not moves.any():
            break
        w = new
        if tol > 0 and not moves.all():
            moving, x, w = moving[moves], x[moves], w[moves]
            observed = None if observed is None else observed[moves]
    return codes


class Fit:
    """Both factors on their way, and the table that they are made for.

    Attributes
    ----------
    W : ndarray of shape (n, k)
    given : Given
        The parts H.
    """

    def __init__(
        self,
        X: Any,
        W: NDArray,
        H: NDArray,
        beta: float,
        on_W: Penalty,
        on_H: Penalty,
        weight: NDArray | None = None,
        observed: NDArray | None = None,
    ) -> None:
        self.X, self.W = X, np.array(W, np.float64, order="C")
        self.beta, self.on_W, self.on_H = beta, on_W, on_H
        self.weight, self.observed = weight, observed
        self.given = Given(H, beta, masked=observed is not None)
        self._blocks = row_blocks(X, beta)

    def update(self) -> None:
        """Update W, and H with the new W."""
        H = updated(self.given.H, *self.turn(), self.beta)
        if self.beta <= 1:
            H[H < GONE] = 0.0
        self.given = Given(H, self.beta, masked=self.observed is not None)

    def turn(self, *, codes: bool = True) -> tuple[NDArray, NDArray]:
        """Update W, and return the negative and the positive part of the gradient for H."""
        negative, added = self._turned(codes)
        return negative, self.given.positive_part(added, self.on_H)

    def _turned(self, codes: bool = True) -> tuple[NDArray, ...]:
        """Update W, and return what all rows add to the two parts of the gradient for H."""
        given = self.given

        def part(rows: slice) -> tuple[NDArray, ...]:
            x, w, weight, seen = self._rows(rows)
            if codes:
                sides = given.of_codes(given.prepare(x), w, seen, self.on_W)
                w[:] = updated(w, *sides, self.beta)
                if self.beta < 1:
                    w[w < GONE] = 0.0
            return given.of_parts(x, w, seen, weight)

        return self._sum(part)

    def error(self) -> float:
        """Return the root of twice the divergence: for beta 2 the Frobenius norm of ``X - W H``."""
        how = {"weight": self.weight, "observed": self.observed}
        return math.sqrt(2.0 * max(divergence(self.X, self.W, self.given.H, self.beta, **how), 0.0))

    def objective(self, error: float) -> float:
        """Return the objective, penalties and all, from what `error` gave."""
        return 0.5 * error**2 + self._penalty() + self.on_H.of(self.given.H)

    def _penalty(self) -> float:
        """Return the penalty on W."""
        return self.on_W.of(self.W, self.weight)

    def certificate(self, tol: float) -> Certificate:
        """Return how far W, and the parts, are from the conditions of optimality."""
        scale = size(self.X, self.beta, weight=self.weight)
        return certify(self.decrease(), scale, math.sqrt(tol))

    def decrease(self) -> float:
        """Return what Newton steps of single entries, cut off at 0, would take off the objective.

        An entry that is stuck at 0 with a gradient that would let it grow counts in full.
        """
        gain, curvature, negative, added = self._gains()
        gradient = self.given.positive_part(added, self.on_H) - negative
        return float(gain + newton_gains(self.given.H, gradient, curvature + self.on_H.l2).sum())

    def _gains(self) -> tuple[NDArray, ...]:
        """Return what such steps gain in W, and what all rows add to curvature and gradient."""
        given = self.given

        def part(rows: slice) -> tuple[NDArray, ...]:
            x, w, weight, seen = self._rows(rows)
            negative, positive = given.of_codes(given.prepare(x), w, seen, self.on_W)
            own, added = given.curvatures(x, w, seen, weight)
            gains = newton_gains(w, positive - negative, own + self.on_W.l2).sum(axis=1)
            gain = np.asarray(total(gains, weight))
            return gain, added, *given.of_parts(x, w, seen, weight)

        return self._sum(part)

    def _rows(self, rows: slice) -> tuple[Any, NDArray, NDArray | None, NDArray | None]:
        weight = None if self.weight is None else self.weight[rows]
        seen = None if self.observed is None else self.observed[rows]
        return rows_of(self.X, rows, np.float64), self.W[rows], weight, seen

    def _sum(self, part: Callable[[slice], tuple[NDArray, ...]]) -> tuple[NDArray, ...]:
        """Return the sums of what `part` gives for the blocks, added up in their order."""
        with threads.serial_blas():
            found = threads.ahead(part, self._blocks)
            return functools.reduce(lambda a, b: tuple(map(np.add, a, b)), found)


class FitInBlocks(Fit):
    """Both factors of a table in blocks, whose codes lie beside it: each turn is a pass."""

    X: Blocked
    W: Codes  # type: ignore[assignment]

    def __init__(
        self, X: Blocked, W: Codes, H: NDArray, beta: float, on_W: Penalty, on_H: Penalty
    ) -> None:
        self.X, self.W = X, W
        self.beta, self.on_W, self.on_H = beta, on_W, on_H
        self.weight = self.observed = None
        self.given = Given(H, beta)

    def _turned(self, codes: bool = True) -> tuple[NDArray, ...]:
        sums, kept = self.X.advance(_turn_of_block, self.W, shared=self._shared(), keep=1)
        self.W = Codes(kept)
        return tuple(sums)

    def _gains(self) -> tuple[NDArray, ...]:
        return tuple(self.X.advance(_gains_of_block, self.W, shared=self._shared())[0])

    def _penalty(self) -> float:
        if not (self.on_W.l1 or self.on_W.l2):
            return 0.0
        return float(self.X.advance(_penalty_of_block, self.W, shared=(self.on_W,))[0])

    def _shared(self) -> tuple[Any, ...]:
        return self.given.H, self.beta, self.on_W, self.on_H


def _turn_of_block(X: Any, W: NDArray, *shared: Any) -> tuple[tuple[NDArray, ...], NDArray]:
    fit = Fit(X, W, *shared)
    return fit._turned(), fit.W


def _gains_of_block(X: Any, W: NDArray, *shared: Any) -> tuple[tuple[NDArray, ...]]:
    # what is added up may be a view of one row, which cannot be written to
    return (tuple(np.array(part) for part in Fit(X, W, *shared)._gains()),)


def _penalty_of_block(X: Any, W: NDArray, on_W: Penalty) -> tuple[float]:
    return (on_W.of(W),)


def newton_gains(A: NDArray, gradient: NDArray, curvature: NDArray) -> NDArray:
    """Return how much a Newton step of each entry alone, cut off at 0, lowers its own model.

    The model is ``gradient * step + curvature / 2 * step^2``, and the entry, moved by the step,
    must not become negative.
    """
    down = np.divide(gradient, curvature, out=A.copy(), where=curvature > 0)
    down = np.minimum(down, A)
    return gradient * down - 0.5 * curvature * down**2


def _penalised(positive: NDArray, A: NDArray, penalty: Penalty) -> NDArray:
    """Return the positive part of the gradient with that of the penalty on `A`."""
    if penalty.l1:
        positive = positive + penalty.l1
    return positive + penalty.l2 * A if penalty.l2 else positive


def _power(y: NDArray, exponent: float) -> NDArray:
    """Return ``y ** exponent``, by roots and squares where they do: a power takes ten times it."""
    if exponent == -2:
        return np.square(1.0 / y)
    if exponent == -1.5:
        return 1.0 / (y * np.sqrt(y))
    if exponent == -0.5:
        return 1.0 / np.sqrt(y)
    return y**exponent


def _plain(x: Any) -> NDArray:
    return x.toarray() if sparse.issparse(x) else x


def _lengths(rows: NDArray) -> NDArray:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))
