"""Affinities of points by their distances: Gaussians whose widths give each as many neighbours.

With ``p_{j|i}`` in proportion to ``exp(-b_i |x_i - x_j|^2)``, the precision ``b_i`` is such that
the perplexity of ``p_{.|i}``, the exponential of its entropy, is the one asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops import threads
from ..ops.student import calibrate

__all__ = ["conditional", "joint"]

ROWS = 256  # in one piece of work


def conditional(squares: NDArray, perplexity: float) -> NDArray:
    """Return the affinities of each point, one a row, to those at given squared distances.

    Each row sums to 1. Where there are fewer points than the perplexity, all count alike.
    """
    found = np.empty(squares.shape)
    spans = threads.spans(len(squares), ROWS)
    entropy = float(np.log(perplexity))
    threads.run(lambda s: calibrate(squares[spans[s]], entropy, found[spans[s]]), len(spans))
    return found


def joint(nearest: NDArray, squares: NDArray, perplexity: float) -> Any:
    """Return ``(p_{j|i} + p_{i|j}) / 2n`` as a sparse matrix, of sum 1.

    Entries are in single precision: how the sums of a distance were rounded, which depends on the
    way that a table lies in memory, is lost with the digits behind, and does not reach a descent
    that would make it grow.

    Parameters
    ----------
    nearest : ndarray of int64 of shape (n, k)
        The neighbours of each point.
    squares : ndarray of shape (n, k)
        Squared distances to them.
    perplexity : float
    """
    n, k = nearest.shape
    values = conditional(squares, perplexity).ravel() / (2 * n)
    starts = np.arange(0, n * k + 1, k)
    one_way = sparse.csr_array((values, nearest.ravel(), starts), shape=(n, n))
    both = sparse.csr_array(one_way + one_way.T)
    both.sort_indices()
    both = both.astype(np.float32)
    both.indices = both.indices.astype(np.int32)  # half of what a descent reads at each step
    return both
