"""Least squares that leaves out what does not fit, and scales that outliers cannot bend.

Tables have NaN where nothing was observed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from . import threads
from .jit import compiled

__all__ = ["NORMAL", "column_medians", "most", "regress", "trim", "typical"]

NORMAL = 1.4826  # the deviation of normal numbers, over the median of their sizes
STEPS = 12  # of each of the two stages of a regression
STARTS = 10  # at random, where the first fit fails
FEW = 10  # unknowns: so few random entries are likely enough to be all right
SMALLEST = 1e-6  # of the largest residual: smaller ones weigh no more
RIDGE = 1e-12  # of the normal equations, for rows with fewer observed entries than unknowns
CHUNK = 1 << 20  # numbers that a block of regressions or columns may take
TINY = float(np.finfo(np.float64).tiny)


@compiled
def trim(R, limit):  # type: ignore[no-untyped-def]
    """Set what is beyond the limit of its column, or was not observed, to zero.

    Returns the largest size of what is left, and the sum of squares over what was observed where
    none counts more than that of its limit.
    """
    n, d = R.shape
    largest = loss = 0.0
    for i in range(n):
        for j in range(d):
            size = abs(R[i, j])
            if size <= limit[j]:
                largest = max(largest, size)
                loss += size * size
            else:
                if size == size:
                    loss += limit[j] * limit[j]
                R[i, j] = 0.0
    return largest, loss


def column_medians(M: NDArray) -> NDArray:
    """Return the median of what was observed in each column."""
    return _of_sorted_columns(M, _middle)


def typical(sizes: NDArray) -> NDArray:
    """Return the median of the sizes in each column that are not zero, or zero if all are.

    Zeros are left out because of columns that are mostly zero: a size of zero would say nothing
    about the entries that are not.
    """
    return _of_sorted_columns(sizes, _middle_beyond_zeros)


def _of_sorted_columns(M: NDArray, choose: Callable[[NDArray], NDArray]) -> NDArray:
    n, d = M.shape
    blocks = threads.spans(d, max(1, CHUNK // n))

    def part(i: int) -> NDArray:
        return choose(np.sort(M[:, blocks[i]].T, axis=1))  # NaN come last

    return np.concatenate(threads.run(part, len(blocks)))


def _middle(ordered: NDArray) -> NDArray:
    seen = np.sum(~np.isnan(ordered), axis=1)
    return (_taken(ordered, (seen - 1) // 2) + _taken(ordered, seen // 2)) / 2


def _middle_beyond_zeros(ordered: NDArray) -> NDArray:
    seen, zeros = np.sum(~np.isnan(ordered), axis=1), np.sum(ordered == 0.0, axis=1)
    return np.where(zeros < seen, _taken(ordered, (zeros + seen) // 2), 0.0)


def _taken(ordered: NDArray, places: NDArray) -> NDArray:
    places = np.minimum(places, ordered.shape[1] - 1)
    return np.take_along_axis(ordered, places[:, np.newaxis], axis=1)[:, 0]


def most(Y: NDArray, A: NDArray) -> NDArray:
    """Return the share of each row of Y that a fit by A must reach to be that of the most.

    As many entries as there are unknowns can always be fitted: of the others, half.
    """
    return (1.0 + A.shape[1] / np.sum(~np.isnan(Y), axis=1)) / 2


def regress(
    Y: NDArray, A: NDArray, limit: NDArray | float, *, rng: np.random.Generator
) -> tuple[NDArray, NDArray]:
    """Return coefficients B for which ``B A'`` fits most of what was observed of Y, row by row.

    Parameters
    ----------
    Y : ndarray of shape (r, d)
    A : ndarray of shape (d, k)
    limit : float or ndarray that broadcasts to Y
        Residuals below do not matter.
    rng : Generator
        Draws starts.

    Returns
    -------
    B : ndarray of shape (r, k), of float64
    share : ndarray of shape (r,)
        Of what was observed of each row, within the limit.

    Notes
    -----
    Least squares with weights that follow the residuals r. A first stage has the weights ``1 /
    |r|``, of least absolute residuals. From there the second has ``1 / (r^2 + t^2)``, with t the
    median of ``|r|``, but at least `limit`: as t falls, what is far off ceases to count (graduated
    non-convexity). Where even that does not fit the most of a row, the second stage is tried from
    fits of a few random entries.
    """
    d, k = A.shape
    starts = [rng.permutation(d)[: k + 1] for _ in range(STARTS if k <= FEW else 0)]

    def fit(Y: NDArray, limit: NDArray) -> NDArray:
        enough = most(Y, A)
        Y, seen = _known(Y)
        B = _graduated(Y, seen, A, limit, _least_absolute(Y, seen, A))
        share = _share_within(Y, seen, A, limit, B)
        for start in starts:
            todo = np.flatnonzero(share <= enough)
            if len(todo) == 0:
                break
            part = Y[todo], seen[todo], A, limit[todo]
            trial = _graduated(*part, _weighted(part[0], part[1] * np.isin(np.arange(d), start), A))
            reached = _share_within(*part, trial)
            better = reached > share[todo]
            B[todo[better]], share[todo[better]] = trial[better], reached[better]
        return np.column_stack([B, share])

    blocks = threads.spans(len(Y), max(1, CHUNK // A.size))  # so that memory stays bounded
    limits = np.broadcast_to(limit, Y.shape)
    parts = threads.run(lambda i: fit(Y[blocks[i]], limits[blocks[i]]), len(blocks))
    found = np.concatenate(parts)
    return found[:, :k], found[:, k]


def _known(Y: NDArray) -> tuple[NDArray, NDArray]:
    """Return Y with zeros where nothing was observed, and 1 where something was."""
    return np.nan_to_num(Y.astype(np.float64)), (~np.isnan(Y)).astype(np.float64)


def _least_absolute(Y: NDArray, seen: NDArray, A: NDArray) -> NDArray:
    B = _weighted(Y, seen, A)
    for _ in range(STEPS):
        r = np.abs(Y - B @ A.T)
        least = SMALLEST * np.max(r * seen, axis=1, keepdims=True) + TINY
        B = _weighted(Y, seen * (least / np.maximum(r, least)), A)
    return B


def _graduated(Y: NDArray, seen: NDArray, A: NDArray, limit: NDArray, B: NDArray) -> NDArray:
    for _ in range(STEPS):
        r = np.abs(Y - B @ A.T)
        middle = column_medians(np.where(seen > 0.0, r, np.nan).T)[:, np.newaxis]
        B = _weighted(Y, seen / (1.0 + (r / (np.maximum(middle, limit) + TINY)) ** 2), A)
    return B


def _share_within(Y: NDArray, seen: NDArray, A: NDArray, limit: NDArray, B: NDArray) -> NDArray:
    """Return the share of what was observed of each row that is within the limit of its fit."""
    return np.sum((np.abs(Y - B @ A.T) <= limit) * seen, axis=1) / np.sum(seen, axis=1)


def _weighted(Y: NDArray, W: NDArray, A: NDArray) -> NDArray:
    """Return the weighted least squares fit of each row of Y by the columns of A."""
    k = A.shape[1]
    gram = (W[:, np.newaxis, :] * A.T) @ A
    ridge = RIDGE * np.trace(gram, axis1=1, axis2=2) / k + TINY
    gram += ridge[:, np.newaxis, np.newaxis] * np.eye(k)
    return np.linalg.solve(gram, ((W * Y) @ A)[:, :, np.newaxis])[:, :, 0]
