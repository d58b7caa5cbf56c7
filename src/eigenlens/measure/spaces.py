"""Checked points of a table and of its embedding, and the rows that a measure looks at."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .._compat import check_array
from .._text import count
from ..ops.distances import Dense, Given, Space, Sparse, require_distances

__all__ = ["both_spaces", "embedded", "labelled", "n_nearest", "rows_of"]

SMALLEST, LARGEST = 1e-100, 1e100  # so that squares, and sums of them, are still numbers


def both_spaces(X: Any, Y: ArrayLike, metric: str) -> tuple[Space, Space]:
    """Return the points of a table and of its embedding, row by row the same."""
    original, images = _original(X, metric), embedded(Y)
    if len(original) != len(images):
        raise ValueError(
            f"X has {count(len(original), 'row')} and its embedding Y has {len(images)}. Give the "
            "embedding of the rows of X, in their order."
        )
    return original, images


def embedded(Y: ArrayLike) -> Dense:
    """Return the points of an embedding."""
    table = check_array(Y, dtype=[np.float64, np.float32], ensure_min_samples=2, input_name="Y")
    return Dense(_of_sound_size(table, "Y"))


def labelled(y: ArrayLike, n: int) -> NDArray:
    """Return the class of each row, as a number: 0 for the first class in order."""
    labels = check_array(y, ensure_2d=False, dtype=None, input_name="labels")
    if labels.shape != (n,):
        raise ValueError(
            f"labels have shape {labels.shape}, and there are {count(n, 'row')}. Give one label a "
            "row."
        )
    classes, codes = np.unique(labels, return_inverse=True)
    if not 2 <= len(classes) < n:
        raise ValueError(
            f"labels name {count(len(classes), 'class', 'classes')} for {count(n, 'row')}. At "
            "least two classes, and fewer than rows, can be told apart."
        )
    return np.asarray(codes)


def n_nearest(n_neighbors: int, n: int) -> int:
    """Return the number of neighbours once it is known to make sense."""
    if not isinstance(n_neighbors, Integral) or not 1 <= n_neighbors < n / 2:
        raise ValueError(
            f"n_neighbors={n_neighbors!r} must be a whole number of at least 1 and less than half "
            f"of the {count(n, 'row')}: of more, no worst embedding is known to compare with."
        )
    return int(n_neighbors)


def rows_of(n: int, sample: int | None, random_state: int | np.random.Generator | None) -> NDArray:
    """Return the rows to look at, in order: a sample, or all of them if there are no more."""
    if sample is not None and (not isinstance(sample, Integral) or sample < 1):
        raise ValueError(
            f"sample={sample!r} must be a number of rows, at least 1, or None for all of them."
        )
    if sample is None or sample >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, int(sample), replace=False))


def _original(X: Any, metric: str) -> Space:
    if metric not in ("euclidean", "precomputed"):
        raise ValueError(
            f"metric={metric!r} must be 'euclidean' or 'precomputed'. For any other, give the "
            "matrix of distances as X: sklearn.metrics.pairwise_distances(X, metric=...)."
        )
    given = metric == "precomputed"
    table = check_array(
        X,
        accept_sparse=False if given else "csr",
        dtype=[np.float64, np.float32],
        ensure_min_samples=2,
        input_name="X",
    )
    table = _of_sound_size(table, "X")
    if given:
        require_distances(table)
        return Given(table)
    return Sparse(table) if sparse.issparse(table) else Dense(table)


def _of_sound_size(table: Any, name: str) -> Any:
    largest = float(max(abs(table.max()), abs(table.min())))
    if largest > LARGEST or 0 < largest < SMALLEST:
        raise ValueError(
            f"The largest entry of {name} has size {largest:.1e}, and its square is outside of the "
            f"range of numbers. Give {name} in other units."
        )
    return table
