"""Pre-images: the point whose image in the feature space is nearest to a given combination.

    min over z of  |phi(z) - sum_i g_i phi(p_i)|^2  =  k(z, z) - 2 sum_i g_i k(z, p_i) + const

Where its gradient vanishes, z is a mean of the points, whose weights depend on z again:

    radial kernels         z = sum_i w_i p_i / sum_i w_i    with w_i = g_i f'(gamma |z - p_i|^2)
    kernels of products    z = sum_i w_i p_i / h'(z'z)      with w_i = g_i h'(p_i'z)

The step from z towards that mean goes along the negative gradient, so a short enough part of it is
a descent. Steps are halved until they are; plain iteration (Mika et al. 1999) takes them whole.
Where the sum of weights vanishes, because z is far from all points, there is no mean: such a z
starts again at the best of the points that weigh most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.kernels import COLUMNS, Cosine, Kernel, Points, Polynomial, Radial, squares_of
from ..ops.trim import NORMAL, column_medians

__all__ = ["CONVERGED", "RESTARTED", "STOPPED", "fixed_point", "path"]

CONVERGED, RESTARTED, STOPPED, LOST = "converged", "restarted", "stopped", "lost"
ROWS = 64  # points of a block of work
FLAT = 1e-150  # slope of a kernel of products
VANISHED = 1e-12  # sum of the weights over the sum of their sizes
SHORTEST = 2.0**-12  # part of a step
CANDIDATES = 16  # points that a restart looks at
ROUNDING = 1e-14  # of what the gain is the sum of
REACH = 4.0  # spreads of the points: no step is longer


class _Mean(NamedTuple):
    """What the points say about each z."""

    gain: NDArray  # what is to be large: sum g k(z, p) - k(z, z) / 2, up to a constant
    rounding: NDArray  # of the gain
    step: NDArray  # to the mean of the points, along the gradient
    lost: NDArray  # where there is no mean


Means = Callable[[NDArray, NDArray], _Mean]


def fixed_point(
    kernel: Kernel,
    points: NDArray,
    G: NDArray,
    start: NDArray,
    *,
    tol: float = 1e-7,
    max_iter: int = 1000,
) -> tuple[NDArray, NDArray]:
    """Return pre-images of ``sum_i G_ri phi(p_i)``, one for each row r, and how each ended.

    Parameters
    ----------
    kernel : Radial or Polynomial
    points : ndarray of shape (p, d)
    G : ndarray of shape (m, p)
    start : ndarray of shape (m, d)
    tol : float
        Distance from the mean at which z is done, relative to the spread of most points or, if
        that is less, the width of the kernel.
    max_iter : int
        Evaluations, at most.

    Returns
    -------
    Z : ndarray of shape (m, d), of float64
    status : ndarray of str, of shape (m,)
        ``'converged'``; ``'restarted'``, the same after a new start at one of the points; or
        ``'stopped'``, before the tolerance.
    """
    means = _means(kernel, points)
    spread, curved = _spread(points), getattr(kernel, "degree", 2) != 1
    scale = min(spread, kernel.gamma**-0.5) if isinstance(kernel, Radial) else spread
    reach = REACH * spread if curved else np.inf  # else one step goes all the way
    blocks = threads.spans(len(G), ROWS)

    def part(i: int) -> tuple[NDArray, NDArray]:
        rows = blocks[i]
        z = np.array(start[rows], dtype=np.float64)
        return _ascend(means, points, G[rows], z, tol * scale, reach, max_iter)

    Z, status = zip(*threads.run(part, len(blocks)), strict=True)
    return np.concatenate(Z), np.concatenate(status)


def _spread(points: NDArray) -> float:
    """Return the spread of most points."""
    rest = np.abs(points - column_medians(points).astype(np.float64))
    return float(np.linalg.norm(NORMAL * column_medians(rest))) or float(rest.max()) or 1.0


def path(kernel: Kernel, points: NDArray, g: NDArray, start: NDArray, n_steps: int) -> NDArray:
    """Return the points that plain iteration visits: the start, and one for each whole step.

    It ends early where there is no mean to go to.
    """
    means, visited = _means(kernel, points), [np.array(start, dtype=np.float64)]
    for _ in range(n_steps):
        found = means(visited[-1][None], g[None])
        if found.lost[0]:
            break
        visited.append(visited[-1] + found.step[0])
    return np.array(visited)


def _ascend(
    means: Means, points: NDArray, G: NDArray, z: NDArray, tol: float, reach: float, max_iter: int
) -> tuple[NDArray, NDArray]:
    """Move each row of z uphill until it is the mean of the points, from a new start if need be."""
    z, status = _climb(means, G, z, tol, reach, max_iter)
    lost = np.flatnonzero(status == LOST)
    if len(lost):
        start = _best_points(means, points, G[lost])
        z[lost], again = _climb(means, G[lost], start, tol, reach, max_iter)
        status[lost] = np.where(again == CONVERGED, RESTARTED, STOPPED)
    return z, status


def _climb(
    means: Means, G: NDArray, z: NDArray, tol: float, reach: float, max_iter: int
) -> tuple[NDArray, NDArray]:
    """Move each row of z uphill, by no more than `reach` at a time."""
    gain, rounding, step, lost = means(z, G)
    part = np.ones(len(z))
    status = np.full(len(z), STOPPED, dtype="<U9")
    going = np.arange(len(z))
    for _ in range(max_iter):
        rounding_of_z = ROUNDING * np.linalg.norm(z[going], axis=1)
        at_rest = np.linalg.norm(step[going], axis=1) <= np.maximum(tol, rounding_of_z)
        status[going[at_rest]] = CONVERGED
        status[going[lost[going]]] = LOST
        going = going[~at_rest & ~lost[going] & (part[going] >= SHORTEST)]
        if not len(going):
            break
        here = np.linalg.norm(step[going], axis=1)
        length = part[going] * np.minimum(1.0, reach / here)
        trial = z[going] + length[:, None] * step[going]
        there = means(trial, G[going])
        higher = there.gain - gain[going]
        # where rounding hides the difference, a shorter step to go is progress
        nearer = np.linalg.norm(there.step, axis=1) <= here
        better = (higher > rounding[going]) | ((higher >= -rounding[going]) & nearer)
        part[going] = np.where(better, np.minimum(1.0, 2 * part[going]), part[going] / 2)
        up = going[better]
        z[up], gain[up], rounding[up], step[up], lost[up] = (
            value[better] for value in (trial, *there)
        )
    return z, status


def _best_points(means: Means, points: NDArray, G: NDArray) -> NDArray:
    """Return, for each row of G, the best of the points that weigh most in it."""
    count = min(CANDIDATES, len(points))
    candidates = np.argpartition(-G, count - 1, axis=1)[:, :count]
    best = np.empty((len(G), points.shape[1]))
    for r, places in enumerate(candidates):
        there = points[places].astype(np.float64)
        gains = means(there, np.broadcast_to(G[r], (count, len(points)))).gain
        best[r] = there[int(np.argmax(gains))]
    return best


def _means(kernel: Kernel, points: NDArray) -> Means:
    """Return the function that looks at the points from each z."""
    if isinstance(kernel, Radial):
        return _radial_means(kernel, points)
    if isinstance(kernel, Cosine):
        return _cosine_means(kernel, points)
    assert isinstance(kernel, Polynomial)
    return _product_means(kernel, points)


def _radial_means(kernel: Radial, points: NDArray) -> Means:
    origin: Any = kernel.origin(points)
    B = kernel.ready(points, origin)
    spans = threads.spans(len(B), COLUMNS)

    def means(z: NDArray, G: NDArray) -> _Mean:
        A = kernel.ready(z, origin)
        gain, weight, size = np.zeros((3, len(z)))
        sums = np.zeros_like(z)
        for span in spans:
            K, slope = kernel.tile_and_slope(A, B[span])
            W = G[:, span] * slope
            weights = W.sum(axis=1)
            weight += weights
            gain += weights if slope is K else np.einsum("ij,ij->i", G[:, span], K)
            size += np.abs(W).sum(axis=1)
            sums += W @ B.rows[span]
        lost = np.abs(weight) <= VANISHED * size
        step = (sums - weight[:, None] * A.rows) / np.where(lost, 1.0, np.abs(weight))[:, None]
        step[lost] = 0.0
        return _Mean(gain, ROUNDING * size, step, lost)

    return means


def _product_means(kernel: Polynomial, points: NDArray) -> Means:
    B: Points = kernel.ready(points)
    spans = threads.spans(len(B), COLUMNS)

    def means(z: NDArray, G: NDArray) -> _Mean:
        A = kernel.ready(z)
        own = kernel.gamma * squares_of(A.rows) + kernel.coef0
        gain = -kernel.profile(own) / 2
        size, sums = np.abs(gain), np.zeros_like(z)
        for span in spans:
            T = kernel.arguments(A, B[span])
            products = G[:, span] * kernel.profile(T)
            gain += products.sum(axis=1)
            size += np.abs(products).sum(axis=1)
            sums += (G[:, span] * kernel.slope(T)) @ B.rows[span]
        slope = kernel.slope(own)
        lost = np.abs(slope) <= FLAT
        step = (sums - slope[:, None] * A.rows) / np.where(lost, 1.0, np.abs(slope))[:, None]
        step[lost] = 0.0
        return _Mean(gain, ROUNDING * size, step, lost)

    return means


def _cosine_means(kernel: Cosine, points: NDArray) -> Means:
    """Return the same for a kernel that knows directions alone: z keeps its length."""
    B = kernel.ready(points)

    def means(z: NDArray, G: NDArray) -> _Mean:
        lengths = np.linalg.norm(z, axis=1, keepdims=True)
        sums = G @ B.rows
        size = np.linalg.norm(sums, axis=1, keepdims=True)
        lost = ((size <= VANISHED * np.abs(G).sum(axis=1, keepdims=True)) | (lengths == 0))[:, 0]
        towards = sums / np.where(size > 0, size, 1.0)
        gain = np.einsum("ij,ij->i", sums, z) / np.where(lost, 1.0, lengths[:, 0])
        step = lengths * towards - z
        step[lost] = 0.0
        return _Mean(gain, ROUNDING * size[:, 0], step, lost)

    return means
