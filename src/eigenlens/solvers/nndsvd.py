"""Where non-negative factorisations start: at random, or at the singular vectors.

NNDSVD (Boutsidis, Gallopoulos 2008) takes of each singular pair ``u v'`` the positive part or the
negative one, whichever has more in it: of all non-negative matrices of rank one, it is the nearest
to the positive part of that pair.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops import threads
from ..ops.lanczos import leading
from ..ops.scatter import products
from ..ops.weights import roots_of
from .blocked import Blocked, Codes

__all__ = ["FORMED", "INITS", "at_random", "nndsvd"]

INITS = ("nndsvd", "nndsvda", "nndsvdar")
SMALL = 1 << 20  # entries up to which a table in single precision is taken in double
FORMED = 4000  # size up to which the matrix of products is formed
TINY = 1e-6  # below it an entry of the start is a zero
FAINT = 1e-7  # of the largest singular value: pairs below it are rounding
SHARP = 1e-9  # residual of singular vectors from a matrix of products
SPARE, POWERS = 10, 7  # vectors and iterations of a sketch
AT_ONCE = 1 << 20  # draws

Random = np.random.RandomState | np.random.Generator


def at_random(X: Any, k: int, rng: Random, observed: NDArray | None) -> tuple[Any, NDArray]:
    """Return normal factors without their signs, of a size to make products of the size of X.

    Of a table in blocks, W has the same numbers, and is drawn where its rows are.
    """
    n, d = X.shape
    size = np.sqrt(_mean(X, None, observed) / k)
    H = np.abs(size * rng.standard_normal(size=(k, d)).astype(X.dtype))
    if isinstance(X, Blocked):
        states = _states(rng, [k * rows for rows in X.table.row_counts()])
        return Codes([states], _drawn, (size, k, X.dtype)), H
    W = np.abs(size * rng.standard_normal(size=(n, k)).astype(X.dtype))
    return W, H


def nndsvd(
    X: Any,
    k: int,
    rng: Random,
    *,
    fill: str = "nndsvd",
    weight: NDArray | None = None,
    observed: NDArray | None = None,
) -> tuple[Any, NDArray]:
    """Return W and H from the singular vectors of `X`.

    Parameters
    ----------
    X : ndarray, sparse matrix or Blocked of shape (n, d)
        In blocks, W is made by whoever reads the blocks next.
    k : int
        At most min(n, d).
    rng : numpy.random.RandomState or Generator
        For 'nndsvdar' alone.
    fill : {'nndsvd', 'nndsvda', 'nndsvdar'}
        What becomes of the zeros: they stay, or are filled with the mean of X, or with random
        numbers a hundredth of its size.
    weight, observed
        As in :func:`eigenlens.solvers.hals.solve`. Holes count as the mean of their column.
    """
    mean = _mean(X, weight, observed)
    if isinstance(X, Blocked):
        return _in_blocks(X, k, rng, Filling(fill, mean))
    roots = roots_of(X.shape[0], weight, np.dtype(np.float64))
    U, S, Vt = _singular(_filled(X, observed), k, roots)
    U[:, 0], Vt[0] = np.abs(U[:, 0]), np.abs(Vt[0])
    lengths = [[_norm_above(sign * u) for u in U.T] for sign in (1, -1)]
    halves, H = _halves(S, Vt, np.array(lengths))
    W = halves.of(U)
    W /= roots[:, None]
    filling = Filling(fill, mean)
    return filling.of(W, rng), filling.of(H, rng)


class Filling(NamedTuple):
    """What becomes of zeros in a start."""

    fill: str
    mean: float

    def of(self, factor: NDArray, rng: Random | None) -> NDArray:
        """Fill the zeros of a factor, in place."""
        factor[factor < TINY] = 0.0
        empty = factor == 0.0
        if self.fill == "nndsvda":
            factor[empty] = self.mean
        elif self.fill == "nndsvdar":
            assert rng is not None
            factor[empty] = np.abs(self.mean * rng.standard_normal(size=int(empty.sum())) / 100)
        return factor


class Halves(NamedTuple):
    """Which half of each singular pair a start has, and of what size: W from left vectors."""

    signs: NDArray
    sizes: NDArray
    lengths: NDArray

    def of(self, U: NDArray) -> NDArray:
        """Return the rows of W that have the rows `U` of left singular vectors."""
        W = np.multiply(U, self.signs, order="C")
        np.maximum(W, 0.0, out=W)
        W *= self.sizes
        W /= self.lengths
        return W


def _halves(S: NDArray, Vt: NDArray, lengths: NDArray) -> tuple[Halves, NDArray]:
    """Return the larger half of each pair, and H.

    `lengths` are the norms of the positive parts of the left vectors, and of the negative ones.
    """
    k = len(S)
    signs, sizes, divisors, H = np.ones(k), np.zeros(k), np.ones(k), np.zeros(Vt.shape)
    for j in np.flatnonzero(FAINT * S[0] < S):
        across = [_norm_above(sign * Vt[j]) for sign in (1, -1)]
        half = int(lengths[1, j] * across[1] > lengths[0, j] * across[0])
        size = lengths[half, j] * across[half]
        if size > 0:
            signs[j] = 1 - 2 * half
            sizes[j], divisors[j] = np.sqrt(S[j] * size), lengths[half, j]
            H[j] = np.maximum(signs[j] * Vt[j], 0.0) * sizes[j] / across[half]
    return Halves(signs, sizes, divisors), H


def _norm_above(v: NDArray) -> float:
    """Return the norm of the positive part of a vector."""
    return float(np.linalg.norm(np.maximum(v, 0.0)))


def _singular(X: Any, k: int, roots: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return the k leading singular triplets of `X`, its rows times the roots of their weights."""
    rng = np.random.default_rng(0)  # a start, not part of the answer: the same each time
    if X.shape[0] * X.shape[1] <= SMALL:
        X = X.astype(np.float64)
    if not sparse.issparse(X):
        A = X * roots[:, None].astype(X.dtype) if (roots != 1).any() else X
        if min(A.shape) <= FORMED:
            return _by_products(A.T if A.shape[0] < A.shape[1] else A, k, A, rng)
    else:
        A = sparse.diags_array(roots) @ X if (roots != 1).any() else X
        if min(A.shape) <= k + 1:
            return _singular(A.toarray(), k, np.ones_like(roots))
    return _sketched(A.astype(np.float64, copy=False), k, rng)


@threads.serial_blas()
def _sketched(A: Any, k: int, rng: np.random.Generator) -> tuple[NDArray, NDArray, NDArray]:
    """Return the triplets of `A` nearly, by power iteration (Halko, Martinsson, Tropp 2011).

    Close is enough: where singular values hardly fall, exact vectors take far longer than the fit.
    """
    Q = rng.standard_normal((A.shape[1], min(k + SPARE, *A.shape)))
    for _ in range(POWERS):
        Q = np.linalg.qr(A.T @ np.linalg.qr(A @ Q)[0])[0]
    U, S, Vt = np.linalg.svd(A @ Q, full_matrices=False)
    return U[:, :k], S[:k], Vt[:k] @ Q.T


def _by_products(
    tall: NDArray, k: int, A: NDArray, rng: np.random.Generator
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the triplets of `A` from the products of its columns, or of its rows if it is wide."""
    with threads.blas_for(2.0 * tall.size * tall.shape[1]):
        pairs = leading((tall.T @ tall).astype(np.float64), k, rng=rng, tol=SHARP)
        V = pairs.vectors[:, :k]
        S = np.sqrt(pairs.values[:k])
        U = np.asarray(tall @ V.astype(tall.dtype), np.float64)
    U /= np.where(S > 0, S, 1.0)
    return (U, S, V.T) if tall is A else (V, S, U.T)


def _filled(X: Any, observed: NDArray | None) -> Any:
    """Return `X` with the mean of its column in each hole."""
    if observed is None:
        return X
    counts = observed.sum(axis=0)
    means = X.sum(axis=0) / np.maximum(counts, 1)
    return np.where(observed, X, means.astype(X.dtype))


def _mean(X: Any, weight: NDArray | None, observed: NDArray | None) -> float:
    """Return the mean of what is observed of `X`, by the weights of the rows."""
    if isinstance(X, Blocked):
        return X.total / max(X.shape[0] * X.shape[1], 1)
    sums = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    counts = np.full(len(sums), X.shape[1]) if observed is None else observed.sum(axis=1)
    if weight is None:
        return float(sums.sum() / max(counts.sum(), 1))
    return float(weight @ sums / (weight @ counts))


# -------------------------------------------------------------------------------- tables in blocks


def _in_blocks(X: Blocked, k: int, rng: Random, filling: Filling) -> tuple[Codes, NDArray]:
    """Return the start of a table in blocks: a pass for the halves, after those for the vectors.

    Left vectors are not kept: the pass that needs W makes them once more.
    """
    if X.shape[0] * X.shape[1] <= SMALL or X.sparse:
        X = X.astype(np.float64)
    V, S = _right_vectors(X, k)
    lengths = np.sqrt(X.table.fold(_half_squares, shared=(V, S)))
    Vt = V.T.copy()
    Vt[0] = np.abs(Vt[0])
    halves, H = _halves(S, Vt, lengths)
    if filling.fill != "nndsvdar":
        return Codes([], _begun, (V, S, halves, filling)), filling.of(H, None)
    empty = iter(X.table.fold(_count_empty, shared=(V, S, halves), combine=np.concatenate))
    counts = [int(next(empty)) if rows else 0 for rows in X.table.row_counts()]
    states = _states(rng, counts)
    return Codes([states], _begun_at, (V, S, halves, filling)), filling.of(H, rng)


def _right_vectors(X: Blocked, k: int) -> tuple[NDArray, NDArray]:
    """Return the k leading right singular vectors, a column each, and their singular values.

    From the matrix of products, in one pass or none. Nearly, where that is large or the table
    sparse, by the iteration of `_sketched` in a pass for each power and one more.
    """
    rng = np.random.default_rng(0)
    n, d = X.shape
    if not X.sparse and d <= FORMED:
        gram = X.table.fold(products) if X.products is None else X.products
        with threads.blas_for(2.0 * d**3):
            pairs = leading(gram, k, rng=rng, tol=SHARP)
        return pairs.vectors[:, :k], np.sqrt(pairs.values[:k])
    Q = rng.standard_normal((d, min(k + SPARE, n, d)))
    for _ in range(POWERS):
        Q = np.linalg.qr(X.table.fold(_there_and_back, shared=(Q,)))[0]
    values, vectors = np.linalg.eigh(X.table.fold(_square_of_image, shared=(Q,)))
    return Q @ vectors[:, ::-1][:, :k], np.sqrt(np.maximum(values[::-1][:k], 0.0))


def _there_and_back(block: Any, Q: NDArray) -> NDArray:
    return np.asarray(block.T @ (block @ Q), np.float64)


def _square_of_image(block: Any, Q: NDArray) -> NDArray:
    image = np.asarray(block @ Q, np.float64)
    return np.asarray(image.T @ image)


def _left_vectors(block: Any, V: NDArray, S: NDArray) -> NDArray:
    """Return the rows of the left singular vectors, the first without signs."""
    with threads.blas_for(2.0 * block.shape[0] * V.size):
        U = np.asarray(block @ V.astype(block.dtype, copy=False), np.float64)
    U /= np.where(S > 0, S, 1.0)
    U[:, 0] = np.abs(U[:, 0])
    return U


def _half_squares(block: Any, V: NDArray, S: NDArray) -> NDArray:
    """Return the sums of squares of the positive parts of left vectors, and of the negative."""
    U = _left_vectors(block, V, S)
    return np.array([(np.maximum(sign * U, 0.0) ** 2).sum(axis=0) for sign in (1, -1)])


def _begun(block: Any, V: NDArray, S: NDArray, halves: Halves, filling: Filling) -> NDArray:
    return filling.of(halves.of(_left_vectors(block, V, S)), None)


def _begun_at(
    block: Any, state: Random, V: NDArray, S: NDArray, halves: Halves, filling: Filling
) -> NDArray:
    return filling.of(halves.of(_left_vectors(block, V, S)), copy.deepcopy(state))


def _count_empty(block: Any, V: NDArray, S: NDArray, halves: Halves) -> NDArray:
    """Return how many entries the block has to draw, as an array of one number."""
    empty = _begun(block, V, S, halves, Filling("nndsvd", 0.0)) == 0.0
    return np.array([np.count_nonzero(empty)])


def _drawn(block: Any, state: Random, size: float, k: int, dtype: np.dtype) -> NDArray:
    draws = copy.deepcopy(state).standard_normal(size=(block.shape[0], k))
    return np.abs(size * draws.astype(dtype))


def _states(rng: Random, counts: list[int]) -> list[Random]:
    """Return what `rng` is before each of so many draws, and leave it as it is after the last.

    Each block then draws its own numbers where it is, whatever the blocks are.
    """
    states = []
    for count in counts:
        states.append(copy.deepcopy(rng))
        for piece in threads.spans(count, AT_ONCE):
            rng.standard_normal(size=piece.stop - piece.start)
    return states
