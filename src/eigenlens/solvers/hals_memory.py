"""What the loop of :mod:`.hals` asks of a table in memory."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from ..ops import threads
from ..ops.centred import Table
from ..ops.lasso import MAX_SWEEPS, PANEL, descend, lasso_rows
from ..ops.rows import rows_of
from ..ops.weights import total
from .hals_problem import (
    GROUPS,
    LOOK,
    TRACE,
    Effort,
    Problem,
    Sums,
    Worst,
    at_once,
    grams_of,
    length,
    product,
)
from .parts import NONE, Penalty

__all__ = ["InMemory"]

WORTH = 1 << 24  # operations, of both products and of eight sweeps, to hand to a thread at once
TALL = 2  # times as many rows as columns, from which W'X is added up as rows of W are found
REST = 1e-12  # step at which a row of codes rests, relative to the row of X
DEPENDENT = 1e-8  # least eigenvalue of the cosines of parts below which codes may not be unique


class InMemory(Problem):
    """The problem of an array; in tasks on a table in blocks, that of one of them.

    Products with X are taken in `dtype`, by default that of X.
    """

    def __init__(
        self,
        X: Table,
        on_W: Penalty,
        on_H: Penalty = NONE,
        weight: NDArray | None = None,
        observed: NDArray | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        observed = None if observed is None or observed.all() else observed
        self.X, self.on_W, self.on_H, self.weight, self.observed = X, on_W, on_H, weight, observed
        self.across = None if observed is None else np.ascontiguousarray(observed.T)
        self.dtype = X.dtype if dtype is None else np.dtype(dtype)

    @cached_property
    def squares(self) -> NDArray:
        """The sum of squares of each row."""
        return _row_squares(self.X)

    @cached_property
    def square(self) -> float:  # type: ignore[override]
        """Their sum, by the weights."""
        return total(self.squares, self.weight)

    def begin(self, W: NDArray) -> NDArray:
        """Return the start of the codes in double."""
        return np.asarray(W, np.float64, order="C")

    def codes(self, W: NDArray, Ht: NDArray, step: float, effort: Effort) -> tuple[NDArray, Sums]:
        """Return codes that descend from `W` and go on by `step`, and what the parts need."""
        d, k = Ht.shape
        G, H = Ht.T @ Ht, Ht.astype(self.dtype, copy=False)
        found, groups = np.empty_like(W), self._groups(k)
        tall = not sparse.issparse(self.X) and len(W) > TALL * d

        def part(i: int) -> tuple[NDArray, NDArray, float]:
            gram, cross, violation = np.zeros((k, k)), np.zeros((d if tall else 0, k)), 0.0
            for rows in self._blocks(groups[i], k):
                X, V = rows_of(self.X, rows, self.dtype), found[rows]
                out = np.empty((len(V), 2))
                V[:] = W[rows]
                grams = grams_of(G, Ht, self.observed, rows, self.on_W)
                R = np.asarray(X @ H, np.float64) - self.on_W.l1 - product(grams, V)
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
        penalty = self.on_W.of(found, self.weight)
        return found, Sums(np.sum(grams, axis=0), cross, float(sum(violations)), penalty)

    def _cross(self, W: NDArray) -> NDArray:
        """Return ``X'sW``, in blocks of columns: a sum for each group of rows would be large."""
        weighted = W if self.weight is None else W * self.weight[:, None]
        weighted = weighted.astype(self.dtype, copy=False)
        if sparse.issparse(self.X):
            return np.asarray(self.X.T @ weighted, np.float64)
        cross = np.empty((self.X.shape[1], W.shape[1]))
        blocks = threads.spans(len(cross), max(PANEL, -(-len(cross) // GROUPS)))

        def part(i: int) -> None:
            X = self.X[:, blocks[i]].astype(self.dtype, copy=False)
            cross[blocks[i]] = X.T @ weighted

        threads.run(part, len(blocks))
        return cross

    def ended(self, W: NDArray, Ht: NDArray) -> tuple[NDArray, Sums]:
        """Return the codes solved for to the end; `W` may be written to."""
        W = self.encode(Ht, W if self.observed is None and _unique(Ht) else None)
        return W, self.codes(W, Ht, 0.0, LOOK)[1]

    def without(self, W: NDArray, Ht: NDArray, dead: NDArray) -> tuple[NDArray, NDArray, Worst]:
        """Return `W` with zeros for `dead` parts, the errors of the rows, and the worst."""
        W[:, dead] = 0.0
        errors = self._errors(W, Ht)
        return W, errors, self._worst(W, errors, Ht)

    def extended(
        self, W: NDArray, errors: NDArray, Ht: NDArray, a: int, h: NDArray, cost: float
    ) -> tuple[float, NDArray, NDArray, Worst]:
        """Return what part a gains as `h`, the codes and errors with it, and the worst."""
        c = self._along(W, Ht, h)
        curvature = h @ h if self.observed is None else self._weights(slice(None)) @ h**2
        curvature = np.maximum(curvature + self.on_W.l2, np.finfo(np.float64).tiny)
        w = np.maximum(c - self.on_W.l1, 0.0) / curvature
        gain = total(0.5 * curvature * w**2, self.weight)
        if gain > cost:
            Ht = Ht.copy()
            W[:, a], Ht[:, a] = w, h
            errors -= w * (2 * c - w * (h @ h))
        return gain, W, errors, self._worst(W, errors, Ht)

    def _worst(self, W: NDArray, errors: NDArray, Ht: NDArray) -> Worst:
        """Return the row with the largest error."""
        i = int(np.argmax(errors))
        rest = self._residual(W, Ht, slice(i, i + 1))[0]
        return Worst(float(errors[i]), rest, float(self.squares[i]))

    def _along(self, W: NDArray, Ht: NDArray, h: NDArray) -> NDArray:
        """Return the products of the rows of ``X - W H``, times the weights of entries, with h."""
        if self.observed is None:
            return np.asarray(self.X @ h.astype(self.dtype), np.float64) - W @ (Ht.T @ h)
        blocks = self._blocks(slice(0, len(W)), Ht.shape[1])
        return np.concatenate([self._residual(W, Ht, rows) @ h for rows in blocks])

    def _errors(self, W: NDArray, Ht: NDArray) -> NDArray:
        """Return the squared residual of each row, as if there were no holes."""
        H = Ht.astype(self.dtype, copy=False)
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
            grams = grams_of(G, Ht, self.observed, rows, self.on_W)
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
        size = at_once(16 * k if sparse.issparse(self.X) else self.X.shape[1])
        if self.observed is not None:
            size = min(size, at_once(k * k))
        cut = threads.spans(length(rows), size)
        return [slice(rows.start + part.start, rows.start + part.stop) for part in cut]


def _unique(Ht: NDArray) -> bool:
    """Whether parts leave no choice of codes, so that any start leads to the same."""
    lengths = np.linalg.norm(Ht, axis=0)
    if not lengths.all():
        return False
    U = Ht / lengths
    return bool(np.linalg.eigvalsh(U.T @ U)[0] > DEPENDENT)


def _row_squares(X: Any) -> NDArray:
    """Return the sum of squares of each row, in float64."""
    if sparse.issparse(X):
        return np.asarray(X.power(2, np.float64).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)
