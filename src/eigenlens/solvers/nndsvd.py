"""Where non-negative factorisations start: at random, or at the singular vectors.

NNDSVD (Boutsidis, Gallopoulos 2008) takes of each singular pair ``u v'`` the positive part or the
negative one, whichever has more in it: of all non-negative matrices of rank one, it is the nearest
to the positive part of that pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops import threads
from ..ops.lanczos import leading
from ..ops.weights import roots_of

__all__ = ["INITS", "at_random", "nndsvd"]

INITS = ("nndsvd", "nndsvda", "nndsvdar")
SMALL = 1 << 20  # entries up to which a table in single precision is taken in double
FORMED = 4000  # size up to which the matrix of products is formed
TINY = 1e-6  # below it an entry of the start is a zero
FAINT = 1e-7  # of the largest singular value: pairs below it are rounding
SHARP = 1e-9  # residual of singular vectors from a matrix of products
SPARE, POWERS = 10, 7  # vectors and iterations of a sketch

Random = np.random.RandomState | np.random.Generator


def at_random(X: Any, k: int, rng: Random, observed: NDArray | None) -> tuple[NDArray, NDArray]:
    """Return normal factors without their signs, of a size to make products of the size of X."""
    n, d = X.shape
    size = np.sqrt(_mean(X, None, observed) / k)
    H = np.abs(size * rng.standard_normal(size=(k, d)).astype(X.dtype))
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
) -> tuple[NDArray, NDArray]:
    """Return W and H from the singular vectors of `X`.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
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
    roots = roots_of(X.shape[0], weight, np.dtype(np.float64))
    U, S, Vt = _singular(_filled(X, observed), k, roots)
    W, H = np.zeros((X.shape[0], k)), np.zeros((k, X.shape[1]))
    for j in np.flatnonzero(FAINT * S[0] < S):
        u, v = (np.abs(U[:, j]), np.abs(Vt[j])) if j == 0 else _larger_part(U[:, j], Vt[j])
        size = np.linalg.norm(u) * np.linalg.norm(v)
        if size > 0:
            W[:, j] = u * np.sqrt(S[j] * size) / np.linalg.norm(u)
            H[j] = v * np.sqrt(S[j] * size) / np.linalg.norm(v)
    W /= roots[:, None]
    mean = _mean(X, weight, observed)
    for factor in (W, H):
        factor[factor < TINY] = 0.0
        empty = factor == 0.0
        if fill == "nndsvda":
            factor[empty] = mean
        elif fill == "nndsvdar":
            factor[empty] = np.abs(mean * rng.standard_normal(size=int(empty.sum())) / 100)
    return W, H


def _larger_part(u: NDArray, v: NDArray) -> tuple[NDArray, NDArray]:
    """Return the positive parts of the pair, or of the same pair turned round."""
    pairs = [(np.maximum(s * u, 0.0), np.maximum(s * v, 0.0)) for s in (1, -1)]
    return max(pairs, key=lambda pair: float(np.linalg.norm(pair[0]) * np.linalg.norm(pair[1])))


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
    sums = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    counts = np.full(len(sums), X.shape[1]) if observed is None else observed.sum(axis=1)
    if weight is None:
        return float(sums.sum() / max(counts.sum(), 1))
    return float(weight @ sums / (weight @ counts))
