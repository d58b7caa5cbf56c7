"""Pre-images from distances to neighbours (Kwok, Tsang 2004).

Where the kernel tells the distance of two points from that of their images, a point is found from
its distances to a few neighbours, as a place is from those to landmarks. No iteration, no start.
With rows ``y_i`` of neighbours less their mean, and wanted squared distances ``d_i``,

    z = mean - Y^+ (d - |y|^2) / 2        both less their means over the neighbours
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.kernels import Kernel, Linear, Polynomial, Radial

__all__ = ["from_distances"]

NEIGHBOURS = 10
ROWS = 64  # points of a block of work
LEAST = 1e-12  # of the kernel of a point with itself: images that are further are as far as can be
FLAT = 1e-9  # squared extent of neighbours in a direction, relative to the largest


def from_distances(kernel: Kernel, points: NDArray, apart: NDArray, squares: NDArray) -> NDArray:
    """Return pre-images, given how far their images are from those of the points.

    Parameters
    ----------
    kernel : Radial or Polynomial
    points : ndarray of shape (p, d)
    apart : ndarray of shape (m, p)
        Squared distances in the feature space.
    squares : ndarray of shape (m,)
        Squared lengths in the feature space of what is sought; not used by radial kernels.

    Returns
    -------
    ndarray of shape (m, d), of float64
    """
    own = kernel.diagonal(points)
    blocks = threads.spans(len(apart), ROWS)
    count = min(NEIGHBOURS, len(points))

    def part(i: int) -> NDArray:
        far = apart[blocks[i]]
        near = np.argpartition(far, count - 1, axis=1)[:, :count]
        far = np.take_along_axis(far, near, axis=1)
        there = points[near].astype(np.float64)
        return _place(there, _distances(kernel, there, far, own[near], squares[blocks[i]]))

    return np.concatenate(threads.run(part, len(blocks)))


def _distances(
    kernel: Kernel, near: NDArray, far: NDArray, own: NDArray, squares: NDArray
) -> NDArray:
    """Return the squared distances to neighbours that images so far apart have."""
    if isinstance(kernel, Radial):
        return kernel.argument(np.clip(1 - far / 2, LEAST, 1.0)) / kernel.gamma
    if isinstance(kernel, Linear):
        return far
    assert isinstance(kernel, Polynomial)

    def product(k: NDArray) -> NDArray:
        return (kernel.argument(k) - kernel.coef0) / kernel.gamma

    across = product((squares[:, None] + own - far) / 2)
    lengths = np.einsum("rij,rij->ri", near, near)
    return np.maximum(product(squares)[:, None] + lengths - 2 * across, 0.0)


def _place(near: NDArray, distances: NDArray) -> NDArray:
    """Return the points with such squared distances to their neighbours, by least squares."""
    mean = near.mean(axis=1, keepdims=True)
    Y = near - mean
    wanted = np.einsum("rij,rij->ri", Y, Y) - distances
    wanted -= wanted.mean(axis=1, keepdims=True)
    values, Q = np.linalg.eigh(Y @ Y.transpose(0, 2, 1))
    some = values > FLAT * values[:, -1:]
    inverse = np.divide(0.5, values, out=np.zeros_like(values), where=some)
    turned = np.einsum("rij,ri->rj", Q, wanted) * inverse
    found: NDArray = mean[:, 0] + np.einsum("rij,rj,rik->rk", Q, turned, Y, optimize=True)
    return found
