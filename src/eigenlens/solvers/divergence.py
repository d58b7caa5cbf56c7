"""The beta-divergence of a table from a product without negative numbers, and what follows from it.

    d(x | y) = x^b / (b (b - 1)) + y^b / b - x y^(b - 1) / (b - 1)

with its limits ``x log(x / y) - x + y`` at b = 1 (Kullback-Leibler) and ``x / y - log(x / y) - 1``
at b = 0 (Itakura-Saito); at b = 2 it is ``(x - y)^2 / 2``. Up to what y does not change, it is the
negative log-likelihood of Gaussian (2), Poisson (1) or exponential (0) noise (Fevotte, Idier 2011).

Powers and logarithms of zero: but for b = 2, an x below `EPSILON` is a zero, of which the terms in
x are left out, and a y below it counts as `EPSILON` wherever it divides. Sums are taken over blocks
of rows, in float64, so that there is never a second table of the size of X.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, xlogy

from ..ops import threads
from ..ops.rows import rows_of
from ..ops.sampled import sampled_product
from ..ops.weights import total
from .blocked import Blocked

__all__ = [
    "EPSILON",
    "divergence",
    "row_blocks",
    "saturated",
    "size",
]

EPSILON = float(np.finfo(np.float32).eps)
BLOCK = 2**17  # entries of a block: a few tables of them stay in a core's cache


def divergence(
    X: Any,
    W: Any,
    H: NDArray,
    beta: float,
    *,
    weight: NDArray | None = None,
    observed: NDArray | None = None,
) -> float:
    """Return ``sum over i of s_i sum over j of d(x_ij | (W H)_ij)``.

    Parameters
    ----------
    X : ndarray, csr_array or Blocked of shape (n, d)
        Not negative, and 0 where not observed. Of a sparse one, ``W H`` is computed at its
        nonzeros alone if beta is 1 or 2, else in blocks of rows. One pass over a table in blocks.
    W, H : ndarray of shape (n, k) and (k, d)
        Not negative. W is Codes, of a table in blocks.
    beta : float
    weight : ndarray of shape (n,), optional
        The s_i; else 1.
    observed : ndarray of bool of shape (n, d), optional
        Entries to sum over, of a dense X; else all.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.solvers.divergence import divergence
    >>> X, one = np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones((2, 1))
    >>> divergence(X, 2 * one, one.T, 2.0)
    3.0
    """
    if isinstance(X, Blocked):
        return float(X.advance(_of_block, W, shared=(H, beta))[0])
    W, H = W.astype(np.float64, copy=False), H.astype(np.float64, copy=False)

    if sparse.issparse(X) and beta in (1, 2):
        prepared = H @ H.T if beta == 2 else np.ascontiguousarray(H.T)
        terms = _sparse_squares if beta == 2 else _sparse_counts
        return _total(
            lambda rows: terms(rows_of(X, rows, np.float64), W[rows], H, prepared), X, beta, weight
        )

    def part(rows: slice) -> NDArray:
        x = rows_of(X, rows, np.float64)
        x = x.toarray() if sparse.issparse(x) else x
        return _dense(x, W[rows] @ H, beta, None if observed is None else observed[rows])

    return _total(part, X, beta, weight)


def _of_block(block: Any, W: NDArray, H: NDArray, beta: float) -> tuple[float]:
    return (divergence(block, W, H, beta),)


def saturated(X: Any, *, weight: NDArray | None = None) -> float:
    """Return the Poisson log-likelihood of the model that fits every entry: no other has more.

    That of any other falls short of it by its divergence. ``log(x!)`` is that of the gamma
    function, so that X need not be made of whole numbers.
    """
    if isinstance(X, Blocked):
        return float(X.table.fold(saturated))

    def best(x: NDArray) -> NDArray:
        return np.where(x > EPSILON, xlogy(x, x) - x - gammaln(x + 1.0), 0.0)

    return _total(lambda rows: _sums(rows_of(X, rows, np.float64), best), X, 1.0, weight)


def size(X: Any, beta: float, *, weight: NDArray | None = None) -> float:
    """Return the scale of the divergence: the weighted sum of ``x^beta``, over beta from 1 on.

    Half of ``|X|^2`` for beta 2, the total for 1, the number of entries that are not 0 for 0: in
    these units it grows with X as the divergence does, and is far above that of a good fit.
    """
    if isinstance(X, Blocked):
        return float(X.table.fold(size, shared=(beta,)))

    def power(x: NDArray) -> NDArray:
        return np.where(x > EPSILON, np.maximum(x, EPSILON) ** beta, 0.0)

    whole = _total(lambda rows: _sums(rows_of(X, rows, np.float64), power), X, beta, weight)
    return whole / max(beta, 1.0)


def row_blocks(X: Any, beta: float) -> list[slice]:
    """Cut the rows of `X` into blocks for which `beta` needs about `BLOCK` numbers at a time."""
    n, d = X.shape
    width = X.nnz / max(n, 1) if sparse.issparse(X) and beta in (1, 2) else d
    return threads.spans(n, int(BLOCK / max(width, 1.0)))


def _total(part: Callable[[slice], NDArray], X: Any, beta: float, weight: NDArray | None) -> float:
    """Return the weighted sum over all rows of what `part` gives for each."""
    spans = row_blocks(X, beta)
    each = np.concatenate(threads.run(lambda i: part(spans[i]), len(spans)))
    return total(each, weight)


def _sums(x: Any, function: Callable[[NDArray], NDArray]) -> NDArray:
    """Return the sums of the rows of ``function(x)``, which is 0 at 0."""
    if sparse.issparse(x):
        row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        return np.bincount(row, function(x.data), minlength=x.shape[0])
    return function(x).sum(axis=1)


def _dense(x: NDArray, y: NDArray, beta: float, observed: NDArray | None) -> NDArray:
    """Return the divergence of each row of `x` from that of `y`, which it may overwrite."""
    terms = _squares(x, y) if beta == 2 else _terms(x, y, beta)
    return terms.sum(axis=1) if observed is None else np.where(observed, terms, 0.0).sum(axis=1)


def _squares(x: NDArray, y: NDArray) -> NDArray:
    np.subtract(x, y, out=y)
    y *= y
    y *= 0.5
    return y


def _terms(x: NDArray, y: NDArray, beta: float) -> NDArray:
    counted = x > EPSILON
    x, safe = np.where(counted, x, 0.0), np.maximum(y, EPSILON)
    if beta in (0, 1):
        ratio = np.where(counted, x / safe, 1.0)
        logs = np.log(ratio)
        return x * logs - x + y if beta == 1 else np.where(counted, ratio - logs - 1.0, -1.0)
    own = np.where(counted, np.maximum(x, EPSILON) ** beta, 0.0)
    model = (y if beta > 0 else safe) ** beta
    return (own + (beta - 1.0) * model - beta * x * safe ** (beta - 1.0)) / (beta * (beta - 1.0))


def _sparse_squares(x: Any, w: NDArray, H: NDArray, HHt: NDArray) -> NDArray:
    """Return ``|x - w H|^2 / 2`` of each row as ``x'x / 2 - x'H'w + w'H H'w / 2``."""
    cross = np.einsum("ik,ik->i", w, x @ H.T)
    square = np.einsum("ik,ik->i", w @ HHt, w)
    return np.maximum(0.5 * (_sums(x, np.square) + square) - cross, 0.0)


def _sparse_counts(x: Any, w: NDArray, H: NDArray, Ht: NDArray) -> NDArray:
    """Return ``sum of x log(x / y) - x`` over the nonzeros of each row, and the sum of all y."""
    y = np.maximum(sampled_product(w, Ht, x), EPSILON)

    def terms(data: NDArray) -> NDArray:
        logs = np.log(np.maximum(data, EPSILON) / y)
        return np.where(data > EPSILON, data * logs - data, 0.0)

    return _sums(x, terms) + w @ H.sum(axis=1)
