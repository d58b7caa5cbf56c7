"""Rows on a known subspace, whatever is wrong with some of their entries.

    min over t of  sum over observed j of  |x_j - m_j - (t V)_j|

with V orthonormal as rows: least absolute deviations, which a minority of wrong entries does not
bend. With noise the absolute value is rounded off below a knee (Huber). The rounds are those of
:mod:`.pursuit`, for a low-rank part whose row space is known: the step of singular values becomes a
projection. Each row has a weight of its own, so that no row depends on those beside it. Rows near
the subspace are soon there; the others are left to a method that ends (:mod:`..ops.deviations`).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..ops import threads
from ..ops.deviations import absolute_deviations
from ..ops.shrink import leave_each

__all__ = ["fit_rows", "least_squares"]

RELAX = 1.5  # over-relaxation, and the rule for the weight: see pursuit
GROWTH = 2.0
CALM = 20.0
GROSS = 100.0  # of the median: entries beyond do not settle a scale
TOL = 1e-9  # of the misfit; single precision has its own
ROUNDS = 100
STEPS = 1000  # of Newton's method; some thirty are enough for thirty coordinates
RIDGE = 1e-10
HIDDEN = 1e-10  # part of a direction that is too little to be seen
PIVOTS = 10_000
BLOCK_BYTES = 1 << 20


def fit_rows(X: NDArray, mean: NDArray, V: NDArray, *, knee: float = 0.0) -> NDArray:
    """Return the coordinates t of the rows of `X` (NaN: not observed) in the subspace of `V`.

    A row without any entry gets zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.solvers.l1_regression import fit_rows
    >>> V = np.full((1, 4), 0.5)
    >>> fit_rows(np.array([[3.0, 3.0, 1e6, 3.0]]), np.zeros(4), V).round(6)
    array([[6.]])
    """
    spans = threads.spans(len(X), max(1, BLOCK_BYTES // (8 * max(1, X.shape[1]))))
    parts = threads.run(lambda i: _block(X[spans[i]], mean, V, knee), len(spans))
    return np.concatenate(parts)


def _block(X: NDArray, mean: NDArray, V: NDArray, knee: float) -> NDArray:
    M = X - mean
    t = np.zeros((len(M), len(V)), M.dtype)
    scale = _scales(M)
    going = np.flatnonzero(scale > 0) if len(V) else np.zeros(0, int)
    tol = max(TOL, 4 * float(np.finfo(M.dtype).eps))
    M, scale = M[going], scale[going]
    thresholds, growth = np.maximum(scale, knee), np.ones(len(M))
    W = np.clip(np.nan_to_num(M), -scale[:, None], scale[:, None]).astype(M.dtype)
    size = scale * np.sqrt(M.shape[1])
    before = np.zeros((len(M), len(V)), M.dtype)
    misfit, left = np.zeros(len(M)), np.zeros(len(M))
    for _ in range(ROUNDS):
        if not len(going):
            break
        scores = W @ V.T
        thresholds /= growth
        leave_each(M, W, scores @ V, 1 / growth, RELAX, thresholds, knee, misfit, left)
        t[going] = scores
        moved = np.linalg.norm(scores - before, axis=1)
        growth = np.where(moved * size < CALM * left * misfit, GROWTH, 1.0)
        more = (misfit > tol * size) | (moved > tol * size)
        if not more.all():
            going, M, W = going[more], M[more], W[more]
            thresholds, growth, size = thresholds[more], growth[more], size[more]
            misfit, left = misfit[more], left[more]
        before = scores[more]
    for i, row in zip(going, M, strict=True):
        t[i] = _exactly(row.astype(np.float64), V.astype(np.float64), t[i].astype(np.float64), knee)
    return t


def _exactly(row: NDArray, V: NDArray, t: NDArray, knee: float) -> NDArray:
    """Return the coordinates of one row, from a guess; zero along what its holes hide."""
    seen = ~np.isnan(row)
    y, A = row[seen], np.ascontiguousarray(V[:, seen].T)
    if not seen.all():
        _, s, directions = np.linalg.svd(A, full_matrices=False)
        if (s[-1] if len(s) == len(t) else 0.0) <= HIDDEN:
            shown = directions[s > HIDDEN]
            return shown.T @ _visibly(y, np.ascontiguousarray(A @ shown.T), shown @ t, knee)
    return _visibly(y, A, t, knee)


def _visibly(y: NDArray, A: NDArray, t: NDArray, knee: float) -> NDArray:
    """Return the coordinates, given columns of A that are independent."""
    if len(y) == len(t):
        return np.linalg.solve(A, y)
    if knee > np.finfo(float).eps * np.abs(y).max():  # below there is nothing to round off
        return _huber(y, A, t, knee)
    # columns of A' that are far from each other, those of small residuals first
    nearness = 1 / (np.abs(y - A @ t) + TOL * np.abs(y).max())
    _, basis = scipy.linalg.qr(A.T * nearness, mode="r", pivoting=True)
    basis = basis[: len(t)].astype(np.int64)
    absolute_deviations(y, A, t, basis, np.linalg.inv(A[basis]), PIVOTS)
    return t


def _huber(y: NDArray, A: NDArray, t: NDArray, knee: float) -> NDArray:
    """Return what makes the sum of ``|y - A t|``, rounded off below the knee, least.

    The sum is piecewise quadratic: Newton's steps, each as far as the sum falls, end at its
    minimum. Halved until it falls, they would hardly move where few residuals are below the knee.
    """

    def loss(t: NDArray) -> float:
        size = np.abs(y - A @ t)
        below = np.minimum(size, knee)
        return float((below / knee) @ (size - below / 2))

    here = loss(t)
    for _ in range(STEPS):
        rest = y - A @ t
        near = A[np.abs(rest) <= knee]
        gradient = np.clip(rest / knee, -1, 1) @ A
        curvature = near.T @ near / knee
        # where few residuals are small, it is singular
        curvature.flat[:: len(t) + 1] += RIDGE * (np.trace(curvature) + 1 / knee)
        step = np.linalg.solve(curvature, gradient)
        further = t + _length(rest, A @ step, knee) * step
        there = loss(further)
        if here - there <= 1e-14 * here:
            break
        t, here = further, there
    return t


def _length(rest: NDArray, change: NDArray, knee: float) -> float:
    """Return the s >= 0 at which the sum of ``|rest - s change|``, rounded off, is least.

    Its slope is piecewise linear and rises: the piece in which it is zero is found by bisection.
    """

    def slope(s: float) -> float:
        return -float(change @ np.clip((rest - s * change) / knee, -1, 1))

    moves = change != 0
    rest, change = rest[moves], change[moves]
    with np.errstate(over="ignore"):
        ends = np.concatenate([(rest - knee) / change, (rest + knee) / change])
    ends = np.sort(np.append(ends[(ends > 0) & np.isfinite(ends)], 0.0))
    low, high = 0, len(ends)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if slope(ends[middle]) < 0 else (low, middle)
    if high == len(ends):
        return float(ends[low])
    a, b = float(ends[low]), float(ends[high])
    left, right = slope(a), slope(b)
    return a if left >= 0 else a + (b - a) * left / (left - right)


def _scales(M: NDArray) -> NDArray:
    """Return the mean size of the entries of each row, gross ones cut off; 0 for empty rows."""
    size = np.abs(M)
    scales = np.zeros(len(M))
    for i, row in enumerate(size):
        some = row[row > 0]  # not where NaN
        if len(some):
            scales[i] = np.minimum(some, GROSS * np.median(some)).sum() / len(row)
    return scales


def least_squares(X: NDArray, mean: NDArray, V: NDArray) -> NDArray:
    """Return the coordinates of the rows by least squares over what is observed of each."""
    M = X - mean
    holes = np.isnan(M)
    scores: NDArray = np.where(holes, M.dtype.type(0), M) @ V.T
    for i in np.flatnonzero(holes.any(axis=1)):
        seen = ~holes[i]
        scores[i] = np.linalg.lstsq(V[:, seen].T, M[i, seen], rcond=None)[0]
    return scores
