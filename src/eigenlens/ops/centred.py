"""X minus its column means as an operator: products with it, never the matrix itself.

Seen from its smaller side: with ``A = X - 1 mu'`` for tall X and its transpose for wide X, `gram`
applies ``A'A`` to a block of vectors in one pass over X. Rows of X may carry weights: then mu is
the weighted mean, and each centred row is multiplied by the square root of its weight.

For X in memory here, for tables in blocks in :mod:`.centred_blocks`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import scatter, threads
from .jit import compiled
from .weights import mass_of, roots_of

__all__ = ["Centred", "Table", "centred", "formed", "gram_of", "moments", "product"]

Table: TypeAlias = "NDArray | sparse.csr_array | sparse.csc_array"

WIDTH = 4  # columns that the loop over sparse rows takes at once
BLOCKS = 4  # of sparse rows; each holds a copy of those columns and of their products


class Centred(Protocol):
    """What an iterative solver may ask of the data."""

    mean: NDArray  # column means of X
    square: float  # sum of squares of X - mean
    dim: int  # size of the smaller side
    transposed: bool  # whether the smaller side is that of the rows

    def gram(self, V: NDArray) -> NDArray:
        """Return ``A'A V``."""
        ...

    def across(self, V: NDArray) -> NDArray:
        """Return ``A V``."""
        ...

    def formed(self) -> NDArray:
        """Return the matrix ``A'A``."""
        ...


def product(X: NDArray, mean: NDArray, V: NDArray, scale: NDArray | None = None) -> NDArray:
    """Return ``(X - mean) * scale`` times V for dense `X`, centred block by block.

    `mean` and `scale` broadcast against `X`, `scale` is 1 by default. Centring before the product
    keeps the digits that ``X V - mean V`` loses where means are large. Sums that the dtype cannot
    hold are inf or NaN.
    """
    block = _centring(X, mean, scale)
    blocks = threads.spans(len(X), max(64, (1 << 20) // max(1, X.shape[1] * X.itemsize)))
    out = np.empty((len(X), V.shape[1]), np.result_type(X, V))

    def part(i: int) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(block(blocks[i]), V, out=out[blocks[i]])

    threads.run(part, len(blocks))
    return out


def _centring(X: NDArray, mean: NDArray, scale: NDArray | None) -> Callable[[slice], NDArray]:
    """Return the function from a slice of rows to these rows of ``(X - mean) * scale``.

    A float64 mean is more than float32 data can subtract at once: what rounding takes off it is
    subtracted after the larger part has gone.
    """
    rounded = mean.astype(X.dtype)
    lost = (mean - rounded).astype(X.dtype)
    steps = [np.broadcast_to(part, X.shape) for part in (rounded, lost) if part.any()]

    def block(rows: slice) -> NDArray:
        B = X[rows]
        for part in steps:
            B = B - part[rows]
        return B if scale is None else B * np.broadcast_to(scale, X.shape)[rows]

    return block


def centred(X: Table, weight: NDArray | None = None) -> Centred:
    """Return the operator for dense or sparse `X`, from its smaller side."""
    transposed = X.shape[0] < X.shape[1]
    return (_Sparse if sparse.issparse(X) else _Dense)(X, weight, transposed)


def moments(X: Table, weight: NDArray | None = None) -> tuple[NDArray, NDArray, NDArray]:
    """Return the column means of `X` in two parts, and its scatter matrix."""
    if sparse.issparse(X):
        A = _Sparse(X, weight, transposed=False)
        return A.mean, A.tail, A.formed()
    return scatter.moments(X, weight)


def formed(X: Table, weight: NDArray | None, transposed: bool) -> tuple[NDArray, NDArray]:
    """Return the column means mu of `X` and ``(X - mu)'(X - mu)``, or the transposed product."""
    if sparse.issparse(X):
        A = _Sparse(X, weight, transposed)
        return A.mean, A.formed()
    return scatter.gram(X, weight) if transposed else scatter.scatter(X, weight)


def gram_of(X: Table, weight: NDArray | None, mean: NDArray, V: NDArray) -> NDArray:
    """Return ``A'A V`` with ``A = X - 1 mean'`` for any `mean`, rows weighted, in float64."""
    if not sparse.issparse(X):
        scale = None if weight is None else roots_of(X.shape[0], weight, X.dtype)[:, None]
        return _gram(_centring(X, mean, scale), _spans(X), V.astype(X.dtype))
    Z, rest = _shifted_by(sparse.csr_array(X), mean)
    T = Z @ V - rest @ V
    if weight is not None:
        T *= weight[:, None]
    return np.asarray(Z.T @ T - np.multiply.outer(rest, T.sum(axis=0)))


def _gram(block: Callable[[slice], NDArray], spans: list[slice], W: NDArray) -> NDArray:
    def part(i: int) -> NDArray:
        B = block(spans[i])
        return B.T @ (B @ W)

    parts = threads.run(part, len(spans))
    return np.asarray(np.sum(parts, axis=0, dtype=np.float64))


def _spans(A: NDArray) -> list[slice]:
    return threads.spans(len(A), max(64, (1 << 22) // (A.shape[1] * A.itemsize)))


class _Dense:
    def __init__(self, X: NDArray, weight: NDArray | None, transposed: bool) -> None:
        self.mean, self.square = scatter.mean_and_square(X, weight)
        self.transposed = transposed
        self.dim = X.shape[0 if transposed else 1]
        self._X, self._weight = X, weight
        self._A = X.T if self.transposed else X
        self._offset = self.mean[:, None] if transposed else self.mean
        self._scale = None
        if weight is not None:
            roots = roots_of(X.shape[0], weight, X.dtype)
            self._scale = roots if transposed else roots[:, None]
        self._block = _centring(self._A, self._offset, self._scale)
        self._blocks = _spans(self._A)

    def gram(self, V: NDArray) -> NDArray:
        return _gram(self._block, self._blocks, V.astype(self._A.dtype))

    def across(self, V: NDArray) -> NDArray:
        return product(self._A, self._offset, V.astype(self._A.dtype), self._scale)

    def formed(self) -> NDArray:
        return formed(self._X, self._weight, self.transposed)[1]


class _Sparse:
    """Rank one away from a sparse Z: ``A = Z - w u'``.

    w holds the roots of the weights (1 by default) and u the mean; or the other way round.
    """

    def __init__(
        self, X: sparse.csr_array | sparse.csc_array, weight: NDArray | None, transposed: bool
    ) -> None:
        Z, shift = _shift_stored_columns(X)
        roots = roots_of(X.shape[0], weight, np.dtype(np.float64))
        if weight is not None:
            Z = sparse.csr_array(sparse.diags_array(roots) @ Z)
        sums, squares = _column_sums(Z, roots)
        mean = sums / mass_of(X.shape[0], weight)
        self.mean, self.tail = scatter.in_two_parts(shift, mean)
        self.square = float((squares - sums * mean).sum())
        self.transposed = transposed
        self.dim = X.shape[0 if transposed else 1]
        self._Z = (Z.T if self.transposed else Z).tocsr()
        self._w: NDArray = mean if transposed else roots
        self._u: NDArray = roots if transposed else mean
        rows, columns = self._Z.shape
        self._indices = self._Z.indices.astype(np.min_scalar_type(columns))  # less to read
        self._blocks = threads.spans(rows, -(-rows // BLOCKS))
        # for each block, columns of V side by side with their products; kept from call to call,
        # because new memory costs as much as the product itself
        self._both = np.empty((len(self._blocks), self.dim, 2 * WIDTH))

    def gram(self, V: NDArray) -> NDArray:
        if V.shape[1] > WIDTH:
            fours = [self.gram(V[:, j : j + WIDTH]) for j in range(0, V.shape[1], WIDTH)]
            return np.concatenate(fours, axis=1)
        Z, width = self._Z, V.shape[1]
        uV = np.zeros(WIDTH)
        uV[:width] = self._u @ V

        def part(i: int) -> tuple[NDArray, NDArray]:
            rows, both, wT = self._blocks[i], self._both[i], np.zeros(WIDTH)
            both[:, :width] = V
            both[:, width:] = 0.0
            gram_rows(Z.indptr, self._indices, Z.data, rows.start, rows.stop, self._w, uV, both, wT)
            return both[:, WIDTH : WIDTH + width], wT[:width]

        parts = threads.run(part, len(self._blocks))
        out, total = (np.sum(p, axis=0) for p in zip(*parts, strict=True))
        out -= np.multiply.outer(self._u, total)
        return np.asarray(out)

    def across(self, V: NDArray) -> NDArray:
        return self._Z @ V - np.multiply.outer(self._w, self._u @ V)

    def formed(self) -> NDArray:
        Z, w, u = self._Z.astype(np.float64, copy=False), self._w, self._u
        cross = np.multiply.outer(u, Z.T @ w)
        return (Z.T @ Z).toarray() - cross - cross.T + (w @ w) * np.multiply.outer(u, u)


def _shift_stored_columns(
    X: sparse.csr_array | sparse.csc_array,
) -> tuple[sparse.csr_array, NDArray]:
    """Return Z and a shift with ``X = Z + 1 shift'``, the shift nonzero on fully stored columns.

    Only a column without a single empty cell can have a mean so far above its deviation that the
    centring by an operator costs digits; there the stored values themselves are shifted.
    """
    Z = X.tocsr()
    if not Z.has_canonical_format:
        Z = Z.copy()
        Z.sum_duplicates()
    n, d = Z.shape
    full = np.bincount(Z.indices, minlength=d) == n
    shift = np.zeros(d)
    if full.any():
        first = Z[[0]].toarray().ravel().astype(np.float64)
        values = Z.data - np.where(full, first, 0.0)[Z.indices]
        sums = np.bincount(Z.indices, values, minlength=d)
        shift[full] = first[full] + sums[full] / n
        Z = sparse.csr_array((Z.data - shift[Z.indices], Z.indices, Z.indptr), Z.shape)
    return Z, shift


def _shifted_by(Z: sparse.csr_array, mean: NDArray) -> tuple[sparse.csr_array, NDArray]:
    """Return Z with its fully stored columns centred, in float64, and the means of the others."""
    full = np.bincount(Z.indices, minlength=Z.shape[1]) == Z.shape[0]
    data = Z.data.astype(np.float64) - np.where(full, mean, 0.0)[Z.indices]
    return sparse.csr_array((data, Z.indices, Z.indptr), Z.shape), np.where(full, 0.0, mean)


def _column_sums(Z: sparse.csr_array, roots: NDArray) -> tuple[NDArray, NDArray]:
    """Return sums of the columns, each row times its root, and sums of squares, in float64."""
    values = Z.data.astype(np.float64, copy=False)
    d = Z.shape[1]
    return (
        np.bincount(Z.indices, values * np.repeat(roots, np.diff(Z.indptr)), minlength=d),
        np.bincount(Z.indices, values * values, minlength=d),
    )


@compiled
def gram_rows(indptr, indices, data, start, stop, w, uV, V, wT):  # type: ignore[no-untyped-def]
    """Add ``Z'T`` to V[:, 4:] and ``w'T`` to `wT`, with ``T = Z V[:, :4] - w uV``.

    One pass over the rows of Z instead of two. What is gathered and what is scattered to lie side
    by side, so that the second loop finds in cache what the first has fetched; four columns at a
    time stay in registers, where a small array would not. Unsigned indices spare numba's check
    for negative ones, which doubles the time. `wT` is written once, at the end: another thread's
    may lie in the same line of cache, and the two would take it from each other at every row.
    """
    sa = sb = sc = se = 0.0
    for i in range(start, stop):
        a, b, c, e = -w[i] * uV[0], -w[i] * uV[1], -w[i] * uV[2], -w[i] * uV[3]
        for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j, x = np.uint64(indices[q]), data[q]
            a += x * V[j, 0]
            b += x * V[j, 1]
            c += x * V[j, 2]
            e += x * V[j, 3]
        for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j, x = np.uint64(indices[q]), data[q]
            V[j, 4] += x * a
            V[j, 5] += x * b
            V[j, 6] += x * c
            V[j, 7] += x * e
        sa += w[i] * a
        sb += w[i] * b
        sc += w[i] * c
        se += w[i] * e
    wT[0] += sa
    wT[1] += sb
    wT[2] += sc
    wT[3] += se
