"""Centred sums of products, in one pass over X and without a copy of it.

The textbook ``X'X - n mu mu'`` subtracts two numbers of the size of the squared mean to get one of
the size of the variance, and loses every digit they share. Here each block of rows is centred by a
provisional mean while it lies in cache, so that only the small error of that mean is left to
subtract.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import threads
from .weights import mass_of, roots_of

__all__ = [
    "add_scatter",
    "add_square",
    "gram",
    "in_two_parts",
    "mean_and_square",
    "moments",
    "products",
    "provisional_mean",
    "scatter",
]

SAMPLE = 256  # rows that the provisional mean is made from
BLOCK_BYTES = 1 << 21  # of a centred block: near the core that made it, large enough for BLAS
CHUNKS = 32  # at most so many partial sums, each as large as the result
WIDE = 512  # columns from which partial sums of that size would cost more than they gain
TILE = 512  # rows and columns of a tile of the result

Centre = Callable[[slice, NDArray], NDArray]


def provisional_mean(X: NDArray) -> NDArray:
    """Return about the column means of `X`, in its dtype, from rows spread over all of it.

    Deviations from the first row are averaged, so that a constant column gives its constant
    exactly.
    """
    rows = X[:: max(1, len(X) // SAMPLE)]
    return X[0] + (rows - X[0]).mean(axis=0)


def scatter(X: NDArray, weight: NDArray | None = None) -> tuple[NDArray, NDArray]:
    """Return the column means mu of `X` and ``(X - mu)'(X - mu)``, both weighted, in float64."""
    mean, _, S = moments(X, weight)
    return mean, S


def moments(X: NDArray, weight: NDArray | None = None) -> tuple[NDArray, NDArray, NDArray]:
    """Return the mean of `X` in two parts, and its scatter, as `scatter` does.

    Products are taken in the dtype of `X`, block by block, and summed in float64. Allocates a few
    blocks and, for few columns, at most `CHUNKS` matrices of the size of the result.
    """
    shift = provisional_mean(X)
    mean, tail, S, drift = _scatter_about(X, weight, shift)
    # A provisional mean far off (data that no sample of rows could foresee) costs digits: again,
    # with the mean itself. `10` keeps the loss below one decimal.
    if (drift > 10 * np.diag(S)).any() and np.isfinite(drift).all():
        mean, tail, S, _ = _scatter_about(X, weight, mean.astype(X.dtype))
    return mean, tail, S


def _scatter_about(
    X: NDArray, weight: NDArray | None, shift: NDArray
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    roots, mass = roots_of(len(X), weight, X.dtype), mass_of(len(X), weight)

    def centre(rows: slice, out: NDArray) -> NDArray:
        np.subtract(X[rows], shift, out=out)
        if weight is not None:
            out *= roots[rows, None]
        return out

    S, sums = _products(X.dtype, X.shape[1], centre, roots)
    delta = sums / mass
    add_square(S, delta, -mass)
    return *in_two_parts(shift.astype(np.float64), delta), S, delta * sums


def in_two_parts(large: Any, small: Any) -> tuple[Any, Any]:
    """Return ``large + small`` rounded, and what rounding took off it.

    A mean far above the deviations has few digits left for where it lies among the data; means of
    parts of the data differ in those digits. And a sum that is far above what is added to it loses
    digits each time, unless they are added with the next (Kahan 1965).
    """
    rounded = large + small
    return rounded, small - (rounded - large)


def gram(X: NDArray, weight: NDArray | None = None) -> tuple[NDArray, NDArray]:
    """Return the column means mu of `X` and ``(X - mu)(X - mu)'``, both weighted, in float64.

    The sum runs over blocks of columns, whose means are exact before they are used.
    """
    n, d = X.shape
    mean, roots = np.empty(d), roots_of(n, weight, X.dtype)
    share = None if weight is None else weight / weight.sum()

    def centre(columns: slice, out: NDArray) -> NDArray:
        block = X[:, columns].T
        first = block[:, :1]
        np.subtract(block, first, out=out)
        if share is None:
            delta = out.mean(axis=1, dtype=np.float64)
        else:
            delta = out @ share
        out -= delta.astype(X.dtype)[:, None]
        if weight is not None:
            out *= roots
        mean[columns] = first.ravel() + delta
        return out

    G, _ = _products(X.dtype, n, centre, np.ones(d, X.dtype))
    return mean, G


def products(X: NDArray) -> NDArray:
    """Return ``X'X``, taken in the dtype of `X` block by block, and summed in float64."""

    def as_it_is(rows: slice, out: NDArray) -> NDArray:
        out[:] = X[rows]
        return out

    return _products(X.dtype, X.shape[1], as_it_is, np.ones(len(X), X.dtype))[0]


def _products(
    dtype: np.dtype, width: int, centre: Centre, roots: NDArray
) -> tuple[NDArray, NDArray]:
    """Return ``sum B'B`` and ``sum r'B`` over blocks B of centred rows and their `roots` r."""
    return (_by_rows if width < WIDE else _by_tiles)(dtype, width, centre, roots)


def _by_rows(
    dtype: np.dtype, width: int, centre: Centre, roots: NDArray
) -> tuple[NDArray, NDArray]:
    """Share out the rows: each thread sums products of its own, as large as the result."""
    n, d = len(roots), width
    size = max(BLOCK_BYTES // (d * dtype.itemsize), d)
    # a sum of its own costs a chunk as much as some d / 4 rows: it shall have many more
    count = min(CHUNKS, max(1, n // max(size, 8 * d)))
    count = 1 << (count.bit_length() - 1)  # a power of two, that no thread waits at the end
    chunks = threads.spans(n, -(-n // count))

    blocks, products = threads.Scratch(size * d, dtype), threads.Scratch(d * d, dtype)

    def part(i: int) -> tuple[NDArray, NDArray]:
        S, s = np.zeros((d, d)), np.zeros(d)
        first = chunks[i].start
        for block in threads.spans(chunks[i].stop - first, size):
            rows = slice(first + block.start, first + block.stop)
            B = centre(rows, blocks.array(rows.stop - rows.start, d))
            s += roots[rows] @ B
            S += np.matmul(B.T, B, out=products.array(d, d))
        return S, s

    parts = threads.run(part, len(chunks))
    S, s = parts[0]
    for other, sums in parts[1:]:
        S += other
        s += sums
    return S, s


def _by_tiles(
    dtype: np.dtype, width: int, centre: Centre, roots: NDArray
) -> tuple[NDArray, NDArray]:
    """Share out the result: each thread adds the products of one block to tiles of its own."""
    n, d = len(roots), width
    size = min(n, max(d, 1024))  # a block about as large as the result
    S, s, buffer = np.zeros((d, d)), np.zeros(d), np.empty((size, d), dtype)
    columns = threads.spans(d, TILE)
    tiles = [(i, j) for k, i in enumerate(columns) for j in columns[: k + 1]]
    for a in range(0, n, size):
        B = buffer[: min(size, n - a)]
        s += _centre_all(centre, roots, a, B)
        _add_products(S, B, tiles)
    _mirror(S, tiles)
    return S, s


def _centre_all(centre: Centre, roots: NDArray, start: int, out: NDArray) -> NDArray:
    """Fill `out` with the centred rows from `start` on; return their weighted sum."""
    parts = threads.spans(len(out), 128)

    def part(i: int) -> NDArray:
        rows = slice(start + parts[i].start, start + parts[i].stop)
        B = centre(rows, out[parts[i]])
        return roots[rows] @ B

    return np.asarray(np.sum(threads.run(part, len(parts)), axis=0, dtype=np.float64))


def _add_products(S: NDArray, B: NDArray, tiles: list[tuple[slice, slice]]) -> None:
    """Add to each of the tiles of `S` its part of ``B'B``."""
    products = threads.Scratch(TILE * TILE, B.dtype)

    def add(t: int) -> None:
        i, j = tiles[t]
        product = products.array(i.stop - i.start, j.stop - j.start)
        S[i, j] += np.matmul(B[:, i].T, B[:, j], out=product)

    threads.run(add, len(tiles))


def _mirror(S: NDArray, tiles: list[tuple[slice, slice]]) -> None:
    """Copy each tile of `S` to its mirror image."""

    def copy(t: int) -> None:
        i, j = tiles[t]
        S[j, i] = S[i, j].T

    threads.run(copy, len(tiles))


def add_square(S: NDArray, v: NDArray, factor: float) -> None:
    """Add ``factor v v'`` to `S`, in place; a symmetric `S` stays so to the bit."""
    rows, sign = threads.spans(len(S), 256), np.sign(factor)
    v = np.sqrt(abs(factor)) * v

    def add(i: int) -> None:
        S[rows[i]] += np.multiply.outer(sign * v[rows[i]], v)

    threads.run(add, len(rows))


def add_scatter(S: NDArray, rest: NDArray, T: NDArray, v: NDArray, factor: float) -> None:
    """Add ``T + factor v v'`` to `S`, in place, with `rest`, in which what rounding took off is.

    The factor is not negative. Where S and T are symmetric, S and rest stay so to the bit.
    """
    rows = threads.spans(len(S), 256)
    v = np.sqrt(factor) * v

    def add(i: int) -> None:
        more = np.multiply.outer(v[rows[i]], v)
        more += T[rows[i]]
        more += rest[rows[i]]
        S[rows[i]], rest[rows[i]] = in_two_parts(S[rows[i]], more)

    threads.run(add, len(rows))


def mean_and_square(X: NDArray, weight: NDArray | None = None) -> tuple[NDArray, float]:
    """Return the column means mu of `X` and the sum of squares of ``X - mu``, both weighted."""
    shift, roots = provisional_mean(X), roots_of(len(X), weight, X.dtype)
    chunks = threads.spans(len(X), max(1, BLOCK_BYTES // (X.shape[1] * X.dtype.itemsize)))

    def part(i: int) -> tuple[NDArray, NDArray]:
        B, r = X[chunks[i]] - shift, roots[chunks[i]]
        if weight is not None:
            B *= r[:, None]
        return r.astype(np.float64) @ B, np.einsum("ij,ij->j", B, B, dtype=np.float64)

    parts = threads.run(part, len(chunks))
    sums, squares = (np.sum(p, axis=0) for p in zip(*parts, strict=True))
    delta = sums / mass_of(len(X), weight)
    return shift + delta, float((squares - delta * sums).sum())
