"""Non-negative factors by least squares: hierarchical alternating least squares, extrapolated.

With H fixed, every row of W is a non-negative least squares problem, and all share ``G = H H'``:
coordinate descent needs nothing of X but ``X H'``. With W fixed it is the same for the columns of
H. A product with X costs more than a sweep over coordinates, so each is used for several sweeps
(Gillis, Glineur 2012). After each iteration both factors go on in the direction they came from,
and back where that raised the objective (after Ang, Gillis 2019). X is read once an iteration: as
soon as some rows of W are known, their part of ``W'X`` is added up while these rows are in cache.

With holes, every row has a matrix of its own, over what is observed of it. Where that shows next
to nothing of a part, its code could be anything, and what is filled in with it. So a hole counts
too: as a zero, by 1e-8 of the weight of an entry.

Allocates some arrays of the size of W and H, and for rows with holes a transposed copy of the mask.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops import threads
from ..ops.centred import Table
from ..ops.lasso import MAX_SWEEPS, PANEL, descend, lasso_rows, masked_grams
from ..ops.rows import rows_of
from ..ops.weights import total
from .parts import NONE, Parts, Penalty, certify
from .solution import Certificate, Monitor, ignore

__all__ = ["encode", "solve"]


class Effort(NamedTuple):
    """What a row is worth: see :func:`eigenlens.ops.lasso.descend`."""

    sweeps: int
    slow: float


QUICK = Effort(8, np.inf)  # a product with X is worth some sweeps over the coordinates
THOROUGH = Effort(20, 0.03)  # once extrapolation has gone too far, and now and then pays
STEADY = Effort(8, 0.03)  # in a fit that goes on and on: sweeps alone would never end it
LONG = 50  # iterations, after which columns of different size, or parts alike, are what it is up to
LOOK = Effort(0, np.inf)
GROWTH, RISE, BRAKE = 1.05, 1.01, 1.5  # of the extrapolation, as in the paper
FLOOR = 0.1  # of its ceiling, so that it can grow again
GROUPS = 12  # of rows at most, each with its own sum of W'X, so that threads cannot change them
WORTH = 1 << 24  # operations, of both products and of eight sweeps, to hand to a thread at once
TALL = 2  # times as many rows as columns, from which W'X is added up as rows of W are found
CACHE = 1 << 20  # bytes to work on at once
SHARPEST = 1e-7  # residual: its square is a share of |X|^2, and below rounding
ROUNDING = 2e-15  # of the sum of squares of X: what an objective may be off by
SMALL = 1 << 20  # entries up to which a table in single precision is taken in double
TRACE = 1e-8  # weight of a hole
REST = 1e-12  # step at which a row of codes rests, relative to the row of X
DEPENDENT = 1e-8  # least eigenvalue of the cosines of parts below which codes may not be unique
NOTHING = 1e-12  # of the square of a row of X: a residual that no part is wanted for


@threads.serial_blas()  # small products between the parallel passes, which idle workers would slow
def solve(
    X: Table,
    W: NDArray,
    H: NDArray,
    *,
    on_W: Penalty = NONE,
    on_H: Penalty = NONE,
    weight: NDArray | None = None,
    observed: NDArray | None = None,
    tol: float,
    max_iter: int,
    monitor: Monitor = ignore,
) -> Parts:
    """Return codes and parts of `X` from a start `W`, `H`, which is left as it is.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
        No entry is negative, and those that were not observed are zero.
    W, H : ndarray of shapes (n, k) and (k, d)
    on_W, on_H : Penalty
    weight : ndarray of shape (n,), optional
    observed : ndarray of bool, of the shape of X, optional
    tol : float
        For the KKT residual, see :func:`eigenlens.solvers.parts.certify`; 1e-7 if less, where
        rounding begins, and no end before `max_iter` if 0.
    max_iter : int
    monitor : callable, optional
    """
    if tol > 0:
        tol = max(tol, SHARPEST)
    problem = _Problem(X, on_W, on_H, weight, observed)
    W, Ht = np.asarray(W, np.float64, order="C"), np.array(H.T, np.float64, order="C")
    ahead = Ht  # the parts, extrapolated
    step, ceiling, look = 0.0, 1.0, 0  # there is no direction yet to go on in
    objective, before, history, certificate = np.inf, np.inf, list[float](), None
    for _ in range(max_iter):
        effort = QUICK if len(history) < LONG else STEADY
        effort = effort if step or not history else THOROUGH
        codes, gram, cross, violation = problem.codes(W, ahead, step, effort)
        parts, more, value = problem.parts(codes, gram, cross, ahead, effort)
        gain, rounding = objective - value, ROUNDING * problem.square
        left = violation + more
        if gain > rounding or not step or (gain >= -rounding and left <= before):
            before = left if step else before
            step = min(ceiling, GROWTH * step) if step else ceiling / BRAKE
            ahead = np.maximum(parts + step * (parts - Ht), 0.0)
            W, Ht, objective, ceiling = codes, parts, value, min(1.0, RISE * ceiling)
            objective -= problem.revive(W, Ht, ahead, gram)
        else:  # back, and one iteration without, which never raises the objective
            ahead, ceiling, step, before = Ht, max(step, FLOOR), 0.0, left
            del codes, parts, cross  # which would be there while the next are made
        history.append(min(objective, history[-1]) if history else objective)
        certificate = None
        if len(history) > look and problem.certify(left, tol).holds:
            W, value, certificate = problem.finish(W, Ht, tol)
            ahead, objective, history[-1] = Ht, value, min(value, history[-1])
            look = 5 + len(history) * 11 // 10  # a pair on the way may look better than it is
        if monitor(history[-1]) or (certificate and certificate.holds):
            break
    if certificate is None:
        W, value, certificate = problem.finish(W, Ht, tol)
        history[-1] = min(value, history[-1])
    return Parts(
        solver="coordinate descent",
        n_iter=len(history),
        converged=certificate.holds,
        objective_history=np.array(history),
        certificate=certificate,
        components=Ht.T,
        codes=W,
    )


@threads.serial_blas()
def encode(
    X: Table, H: NDArray, *, penalty: Penalty = NONE, observed: NDArray | None = None
) -> NDArray:
    """Return the codes of the rows of `X` with the parts `H`, each solved for to the end."""
    return _Problem(X, penalty, NONE, None, observed).encode(np.array(H.T, np.float64, order="C"))


class _Problem:
    """The data, and what is asked of both factors. Parts go by their transpose, a row a feature."""

    def __init__(
        self,
        X: Table,
        on_W: Penalty,
        on_H: Penalty,
        weight: NDArray | None,
        observed: NDArray | None,
    ) -> None:
        if X.size <= SMALL:  # digits that cost nothing here, and extrapolation magnifies their loss
            X = X.astype(np.float64, copy=False)
        observed = None if observed is None or observed.all() else observed
        self.X, self.on_W, self.on_H, self.weight, self.observed = X, on_W, on_H, weight, observed
        self.across = None if observed is None else np.ascontiguousarray(observed.T)
        self.squares = _row_squares(X)
        self.square = total(self.squares, weight)

    def codes(
        self,
        W: NDArray,
        Ht: NDArray,
        step: float,
        effort: Effort,
    ) -> tuple[NDArray, NDArray, NDArray, float]:
        """Return codes that descend from `W` and go on by `step`, and what the parts need of them.

        That is ``W'sW`` and ``X'sW`` with the weights s; last comes the gain at the start.
        """
        d, k = Ht.shape
        G, H = Ht.T @ Ht, Ht.astype(self.X.dtype, copy=False)
        found, groups = np.empty_like(W), self._groups(k)
        tall = not sparse.issparse(self.X) and len(W) > TALL * d

        def part(i: int) -> tuple[NDArray, NDArray, float]:
            gram, cross, violation = np.zeros((k, k)), np.zeros((d if tall else 0, k)), 0.0
            for rows in self._blocks(groups[i], k):
                X, V, out = rows_of(self.X, rows), found[rows], np.empty((_length(rows), 2))
                V[:] = W[rows]
                grams = _grams(G, Ht, self.observed, rows, self.on_W)
                R = np.asarray(X @ H, np.float64) - self.on_W.l1 - _product(grams, V)
                descend(grams, R, V, *effort, out)
                V += step * (V - W[rows])
                np.maximum(V, 0.0, out=V)
                weight = None if self.weight is None else self.weight[rows]
                weighted = V if weight is None else V * weight[:, None]
                gram += V.T @ weighted
                if tall:
                    cross += X.T @ weighted.astype(X.dtype, copy=False)
                violation += total(out[:, 0], weight)
            return gram, cross, violation

        grams, crosses, violations = zip(*threads.run(part, len(groups)), strict=True)
        cross = np.sum(crosses, axis=0) if tall else self._cross(found)
        return found, np.sum(grams, axis=0), cross, float(sum(violations))

    def _cross(self, W: NDArray) -> NDArray:
        """Return ``X'sW``, in blocks of columns: a sum for each group of rows would be large."""
        weighted = W if self.weight is None else W * self.weight[:, None]
        weighted = weighted.astype(self.X.dtype, copy=False)
        if sparse.issparse(self.X):
            return np.asarray(self.X.T @ weighted, np.float64)
        cross = np.empty((self.X.shape[1], W.shape[1]))
        blocks = threads.spans(len(cross), max(PANEL, -(-len(cross) // GROUPS)))

        def part(i: int) -> None:
            cross[blocks[i]] = self.X[:, blocks[i]].T @ weighted

        threads.run(part, len(blocks))
        return cross

    def parts(
        self,
        W: NDArray,
        gram: NDArray,
        cross: NDArray,
        Ht: NDArray,
        effort: Effort,
    ) -> tuple[NDArray, float, float]:
        """Return parts that descend from `Ht`, the gain at the start, and the objective."""
        d, k = Ht.shape
        found, out = Ht.copy(), np.empty((d, 3))
        roots = W if self.weight is None else W * np.sqrt(self.weight)[:, None]
        size = max(PANEL, -(-d // GROUPS)) if self.across is None else _at_once(k * k)
        blocks = threads.spans(d, size)

        def part(i: int) -> None:
            rows = blocks[i]
            C, grams = cross[rows] - self.on_H.l1, _grams(gram, roots, self.across, rows, self.on_H)
            R = C - _product(grams, Ht[rows])
            out[rows, 2] = -0.5 * np.einsum("ij,ij->i", C + R, Ht[rows])  # 1/2 h'Gh - c'h
            descend(grams, R, found[rows], *effort, out[rows])

        threads.run(part, len(blocks))
        violation, gain, value = out.sum(axis=0)
        value += 0.5 * self.square + self.on_W.of(W, self.weight) - gain
        return found, float(violation), float(value)

    def revive(self, W: NDArray, Ht: NDArray, ahead: NDArray, gram: NDArray) -> float:
        """Make of each part that no row uses the residual of a row that is fitted badly, in place.

        A part that has died would never come back. It takes the codes that are best beside the
        others, if they are worth its penalty. Returns what that takes off the objective.
        """
        gained = 0.0
        dead = np.flatnonzero(np.diag(gram) <= 0.0)
        W[:, dead] = Ht[:, dead] = ahead[:, dead] = 0.0
        errors = self._errors(W, Ht) if len(dead) else np.empty(0)
        for a in dead:
            i = int(np.argmax(errors))
            h = np.maximum(self._residual(W, Ht, slice(i, i + 1))[0], 0.0)
            size = float(np.linalg.norm(h))
            if size**2 <= NOTHING * self.squares[i]:
                break
            h *= np.linalg.norm(Ht) / np.sqrt(Ht.shape[1]) / size or 1.0
            c = self._along(W, Ht, h)
            curvature = h @ h if self.observed is None else self._weights(slice(None)) @ h**2
            curvature = np.maximum(curvature + self.on_W.l2, np.finfo(np.float64).tiny)
            w = np.maximum(c - self.on_W.l1, 0.0) / curvature
            gain = total(0.5 * curvature * w**2, self.weight) - self.on_H.of(h[:, None])
            if gain > 0:
                W[:, a], Ht[:, a], ahead[:, a] = w, h, h
                errors -= w * (2 * c - w * (h @ h))
                gained += gain
        return gained

    def _along(self, W: NDArray, Ht: NDArray, h: NDArray) -> NDArray:
        """Return the products of the rows of ``X - W H``, times the weights of entries, with h."""
        if self.observed is None:
            return np.asarray(self.X @ h.astype(self.X.dtype), np.float64) - W @ (Ht.T @ h)
        blocks = self._blocks(slice(0, len(W)), Ht.shape[1])
        return np.concatenate([self._residual(W, Ht, rows) @ h for rows in blocks])

    def _errors(self, W: NDArray, Ht: NDArray) -> NDArray:
        """Return the squared residual of each row, as if there were no holes."""
        H = Ht.astype(self.X.dtype, copy=False)
        return self.squares - np.einsum("ij,ij->i", W, 2 * (self.X @ H) - W @ (Ht.T @ Ht))

    def _residual(self, W: NDArray, Ht: NDArray, rows: slice) -> NDArray:
        """Return ``X - W H`` in some rows, times the weights of entries."""
        X = rows_of(self.X, rows)
        rest = (X.toarray() if sparse.issparse(X) else X) - W[rows] @ Ht.T
        return rest if self.observed is None else rest * self._weights(rows)

    def _weights(self, rows: slice) -> NDArray:
        """Return the weights of entries in some rows of a table with holes."""
        assert self.observed is not None
        return np.where(self.observed[rows], 1.0, TRACE)

    def finish(self, W: NDArray, Ht: NDArray, tol: float) -> tuple[NDArray, float, Certificate]:
        """Return the codes solved for to the end, the objective there, and the certificate."""
        W = self.encode(Ht, W if self._unique(Ht) else None)
        _, gram, cross, violation = self.codes(W, Ht, 0.0, LOOK)
        _, more, value = self.parts(W, gram, cross, Ht, LOOK)
        return W, value, self.certify(violation + more, tol)

    def _unique(self, Ht: NDArray) -> bool:
        """Whether parts leave no choice of codes, so that any start leads to the same."""
        lengths = np.linalg.norm(Ht, axis=0)
        if self.observed is not None or not lengths.all():
            return False
        U = Ht / lengths
        return bool(np.linalg.eigvalsh(U.T @ U)[0] > DEPENDENT)

    def certify(self, violation: float, tol: float) -> Certificate:
        """Return the certificate that a sum of gains gives."""
        return certify(violation, 0.5 * self.square, tol)

    def encode(self, Ht: NDArray, start: NDArray | None = None) -> NDArray:
        """Return the codes for the parts `Ht`, each row on its own; a start is changed in place.

        Rows are brought to one size first: with ``l1`` taken off c the problem is homogeneous.
        """
        k = Ht.shape[1]
        G = Ht.T @ Ht
        W = np.zeros((self.X.shape[0], k)) if start is None else start
        free = np.zeros(k)
        blocks = self._blocks(slice(0, len(W)), k)

        def part(i: int) -> None:
            rows = blocks[i]
            C = rows_of(self.X, rows, np.float64) @ Ht - self.on_W.l1
            grams = _grams(G, Ht, self.observed, rows, self.on_W)
            lengths = np.sqrt(np.einsum("iaa->ia", grams))
            along = np.divide(C, lengths, out=np.zeros_like(C), where=lengths > 0)
            size = along.max(axis=1, initial=0.0)[:, None]
            np.divide(C, size, out=C, where=size > 0)
            np.divide(W[rows], size, out=W[rows], where=size > 0)
            if self.observed is None:
                lasso_rows(grams[0], C, free, W[rows], REST, MAX_SWEEPS, True, k)
            else:
                for own, c, w in zip(grams, C, W[rows], strict=True):
                    lasso_rows(own, c[None], free, w[None], REST, MAX_SWEEPS, True, k)
            W[rows] *= size

        threads.run(part, len(blocks))
        return W

    def _groups(self, k: int) -> list[slice]:
        """Cut the rows into groups for the threads, each with enough to do."""
        n, d = self.X.shape
        size = max(-(-n // GROUPS), WORTH // (4 * k * (d + 4 * k)))
        return threads.spans(n, -(-size // PANEL) * PANEL)

    def _blocks(self, rows: slice, k: int) -> list[slice]:
        """Cut rows so that what is read of X, and matrices of rows with holes, stay in cache."""
        size = _at_once(16 * k if sparse.issparse(self.X) else self.X.shape[1])
        if self.observed is not None:
            size = min(size, _at_once(k * k))
        cut = threads.spans(_length(rows), size)
        return [slice(rows.start + part.start, rows.start + part.stop) for part in cut]


def _product(grams: NDArray, V: NDArray) -> NDArray:
    """Return the product of each row of `V` with its matrix, or with the one that all share."""
    if len(grams) == 1:
        return V @ grams[0]
    return np.einsum("ia,iab->ib", V, grams)


def _length(rows: slice) -> int:
    return int(rows.stop - rows.start)


def _at_once(numbers: int) -> int:
    """Return how many rows of so many numbers to work on at once."""
    return max(PANEL, CACHE // (8 * numbers))


def _grams(G: NDArray, A: NDArray, seen: NDArray | None, rows: slice, penalty: Penalty) -> NDArray:
    """Return the matrices of the quadratic forms of some rows: one for each, or one for all."""
    if seen is None:
        return penalty.curved(G[None])
    out = np.empty((_length(rows), *G.shape))
    masked_grams(G, A, seen[rows], TRACE, out)
    return penalty.curved(out)


def _row_squares(X: Any) -> NDArray:
    """Return the sum of squares of each row, in float64."""
    if sparse.issparse(X):
        return np.asarray(X.power(2, np.float64).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)
