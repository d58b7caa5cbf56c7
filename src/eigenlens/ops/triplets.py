"""Leading singular triplets of a matrix that changes little from one call to the next."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from . import threads

__all__ = ["SPARE", "Leading", "Triplets", "pairs_above", "small_svd"]

SPARE = 10  # directions beyond those that are wanted: they show that none was missed
DENSE = 0.25  # of the smaller side: from so many directions on, all are found at once
STEPS = 2  # of subspace iteration: after one, rounds of a pursuit are twice as many
NOTHING = 1e-8  # of the largest singular value: below, squares are rounding errors
BLOCK_BYTES = 1 << 20  # of a block of rows,
PARTS = 4  # of the rows or columns, for products with few vectors
BLOCK_ROWS = 64  # which has so many at least, or its products are slow


class Triplets(NamedTuple):
    """Singular values, falling, with their left vectors as columns and right ones as rows."""

    U: NDArray
    s: NDArray
    Vt: NDArray

    @classmethod
    def none(cls, shape: tuple[int, int], dtype: np.dtype) -> Triplets:
        """Return those of a table of zeros."""
        n, d = shape
        return cls(np.zeros((n, 0), dtype), np.zeros(0, dtype), np.zeros((0, d), dtype))

    def first(self, k: int) -> Triplets:
        """Return the leading k."""
        return Triplets(self.U[:, :k], self.s[:k], self.Vt[:k])

    def table(self, rows: slice | NDArray = slice(None)) -> NDArray:
        """Return rows of the table that they make up."""
        product: NDArray = (self.U[rows] * self.s) @ self.Vt
        return product

    def tidied(self) -> Triplets:
        """Return those of the same table with vectors that are orthonormal to the last digit.

        Vectors that come from a Gram matrix are so only to ``eps (s_1 / s)^2``.
        """
        left, right = np.linalg.qr(self.U * self.s), np.linalg.qr(self.Vt.T)
        U, s, Vt = small_svd(left[1] @ right[1].T)
        return Triplets(left[0] @ U, s, Vt @ right[0].T)


def small_svd(A: NDArray) -> Triplets:
    """Return all singular triplets of a small matrix.

    Where half of the singular values are rounding errors, divide and conquer (gesdd), which is
    faster, may fail: OpenBLAS's does.
    """
    options: dict[str, Any] = {"full_matrices": False, "check_finite": False}
    try:
        return Triplets(*scipy.linalg.svd(A, **options))
    except np.linalg.LinAlgError:
        return Triplets(*scipy.linalg.svd(A, **options, lapack_driver="gesvd"))


def pairs_above(gram: NDArray, threshold: float, spare: int = 0) -> tuple[NDArray, NDArray]:
    """Return the singular values above the threshold of the table with this Gram matrix.

    They are good to ``eps s_1^2 / s``, with ``s_1`` the largest; what is rounding error alone is
    left out. With them, their vectors as columns, and of the next values some to `spare`. The
    matrix is overwritten.
    """
    with threads.blas_for(10.0 * len(gram) ** 3):
        values, vectors = scipy.linalg.eigh(gram, overwrite_a=True, check_finite=False)
    s = np.sqrt(np.maximum(values[::-1], 0.0))
    count = min(int(np.sum(s > threshold)) + spare, int(np.sum(s > NOTHING * s[0])))
    return s[:count], vectors[:, : -count - 1 : -1]


class Leading:
    """Finds the singular triplets of W above a threshold, from those that it found last.

    Two steps of subspace iteration: ``Q = orth(W V)`` and ``V = orth(W'Q)``, then the triplets of
    ``Q'W``, which has few rows. V holds the right vectors found last and some random ones. Where W
    hardly changes any more the steps add up, and the triplets become exact; where all that is found
    is above the threshold, more directions are taken. From a quarter of all directions on, the
    eigenvectors of the smaller Gram matrix give them all.

    With `centre`, W stands for itself less its column means.
    """

    def __init__(self, shape: tuple[int, int], rng: np.random.Generator, *, centre: bool) -> None:
        n, d = shape
        self._shape, self._rng, self._centre = shape, rng, centre
        self.V: NDArray = self._random(SPARE)
        self.rows = threads.spans(n, max(BLOCK_ROWS, BLOCK_BYTES // (8 * d)))
        self._tall, self._wide = threads.spans(n, -(-n // PARTS)), threads.spans(d, -(-d // PARTS))

    def _random(self, k: int) -> NDArray:
        return self._rng.standard_normal((self._shape[1], min(k, *self._shape)))

    def above(self, W: NDArray, threshold: float) -> tuple[NDArray, Triplets]:
        """Return the column means (zeros without `centre`) and the triplets above the threshold."""
        n, d = self._shape
        mean = self._mean(W)
        while True:
            dense = self.V.shape[1] >= DENSE * min(n, d)
            found = self._all(W, mean, threshold) if dense else self._step(W, mean)
            count = int(np.sum(found.s > threshold))
            if dense or count < len(found.s):
                break
            more = self._random(max(SPARE, count))
            self.V = np.hstack([found.Vt.T, more])[:, : min(n, d)]
        spare = found.Vt[: count + SPARE].T
        missing = min(count + SPARE, n, d) - spare.shape[1]
        self.V = np.hstack([spare, self._random(missing)]) if missing > 0 else spare
        return mean, found.first(count)

    def _mean(self, W: NDArray) -> NDArray:
        n, d = self._shape
        if not self._centre:
            return np.zeros(d)

        def part(i: int) -> NDArray:
            sums: NDArray = W[self.rows[i]].sum(axis=0, dtype=np.float64)
            return sums

        total: NDArray = np.sum(threads.run(part, len(self.rows)), axis=0) / n
        return total

    def _step(self, W: NDArray, mean: NDArray) -> Triplets:
        B = self._right(W, mean, Q := self._left(W, mean, self.V.astype(W.dtype, copy=False)))
        for _ in range(STEPS - 1):
            B = self._right(W, mean, Q := self._left(W, mean, self._orthonormal(B.T)))
        with threads.serial_blas():
            # of B' = P R, R is small
            P, R = scipy.linalg.qr(B.T, mode="economic", overwrite_a=True, check_finite=False)
            right, s, left = small_svd(R)
            return Triplets(Q @ left.T, s, (P @ right).T)

    def _left(self, W: NDArray, mean: NDArray, V: NDArray) -> NDArray:
        """Return an orthonormal basis of the columns of ``W V``."""
        rows = self._tall
        WV = np.concatenate(threads.run(lambda i: W[rows[i]] @ V, len(rows)))
        WV -= mean.astype(W.dtype) @ V
        return self._orthonormal(WV)

    def _right(self, W: NDArray, mean: NDArray, Q: NDArray) -> NDArray:
        """Return ``Q'W``."""
        columns = self._wide
        B = np.hstack(threads.run(lambda i: Q.T @ W[:, columns[i]], len(columns)))
        B -= np.outer(Q.sum(axis=0), mean).astype(W.dtype)
        return B

    def _orthonormal(self, A: NDArray) -> NDArray:
        with threads.serial_blas():
            Q: NDArray = scipy.linalg.qr(A, mode="economic", check_finite=False)[0]
        return Q

    def _all(self, W: NDArray, mean: NDArray, threshold: float) -> Triplets:
        """Return the triplets above the threshold, and some more."""
        n, d = self._shape
        # in float32 the squares would lose what is below 3e-4 of the largest
        centred = W.astype(np.float64, copy=False)
        centred = centred - mean if self._centre else centred
        wide = n < d
        with threads.blas_for(2.0 * n * d * min(n, d)):
            gram = centred @ centred.T if wide else centred.T @ centred
            s, vectors = pairs_above(gram, threshold, SPARE)
            others = centred.T @ vectors / s if wide else centred @ vectors / s
        found = (vectors, s, others.T) if wide else (others, s, vectors.T)
        return Triplets(*(part.astype(W.dtype, copy=False) for part in found))
