"""Whether an embedding keeps known classes apart: silhouette, and nearest neighbours as a vote."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import KNeighborsClassifier

from .._text import count
from ..estimators._openmp import by_openmp
from ..ops import threads
from ..ops.distances import ROWS, Dense
from ..ops.proximity import sum_by_group
from .spaces import embedded, labelled, rows_of

__all__ = ["knn_accuracy", "silhouette"]


def silhouette(
    Y: ArrayLike,
    labels: ArrayLike,
    *,
    sample: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> float:
    """Return how much nearer points are to their own class than to the next one.

    With a the mean distance of a point to the others of its class, and b the least mean distance to
    a class that is not its own, the silhouette is the mean over all points of::

        (b - a) / max(a, b)

    and 0 for a point that is the only one of its class. It is near 1 for tight classes far apart,
    and below 0 if points are mostly nearer to another class.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        Points, with Euclidean distances.
    labels : array-like of shape (n,)
        Class of each point.
    sample : int, optional
        Take the mean over so many points, drawn without replacement. Their distances are those to
        all points, so that the answer is right on average.
    random_state : int, Generator or None, default=None
        Seed of the sample.

    Returns
    -------
    float

    Notes
    -----
    The same as `sklearn.metrics.silhouette_score`, in tiles of 1 MB on all cores. There a sample is
    judged by itself, with all other points left out.

    References
    ----------
    P. J. Rousseeuw, Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis, Journal of Computational and Applied Mathematics 20 (1987).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import silhouette
    >>> X, y = load_iris(return_X_y=True)
    >>> round(silhouette(PCA(2).fit_transform(X), y), 3)
    0.534
    """
    points = embedded(Y)
    n = len(points)
    codes = labelled(labels, n)
    rows = rows_of(n, sample, random_state)
    # with the points in the order of their classes, a class is a range of columns
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    means = _sums_by_class(Dense(points.table[order]), sizes, np.argsort(order)[rows])
    own = codes[rows], np.arange(len(rows))
    means /= sizes[:, None]
    # the point itself is at no distance, and does not count
    within = means[own] * sizes[own[0]] / np.maximum(sizes[own[0]] - 1, 1)
    means[own] = np.inf
    nearest = means.min(axis=0)
    larger = np.maximum(within, nearest)
    alone = (sizes[own[0]] == 1) | (larger == 0)
    values = np.divide(nearest - within, larger, out=np.zeros(len(rows)), where=~alone)
    return float(values.mean())


def _sums_by_class(points: Dense, sizes: NDArray, rows: NDArray) -> NDArray:
    """Return the sum of the distances of each of `rows` to each class, one class a row.

    The points of a class follow each other.
    """
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    blocks = threads.spans(len(rows), ROWS)

    def block(s: int) -> NDArray:
        mine = rows[blocks[s]]
        sums = np.zeros((len(mine), len(sizes)))
        for first, tile in points.tiles(mine):
            sum_by_group(tile, np.clip(bounds - first, 0, tile.shape[1]), sums)
        return sums

    return np.concatenate(threads.run(block, len(blocks))).T


def knn_accuracy(
    Y: ArrayLike,
    labels: ArrayLike,
    *,
    n_neighbors: int = 5,
    held_out: ArrayLike | None = None,
) -> float:
    """Return the share of points whose class a vote of their nearest neighbours names.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        Points, with Euclidean distances.
    labels : array-like of shape (n,)
        Class of each point.
    n_neighbors : int, default=5
        Neighbours that vote.
    held_out : array-like of int or bool, optional
        Points whose class is to be named, by number or as a mask. Only the others vote: give the
        rows that a model did not see when it was fitted. Without, each point is left out in turn
        and all others vote.

    Returns
    -------
    float

    Notes
    -----
    The vote is that of `sklearn.neighbors.KNeighborsClassifier`; of classes with as many votes the
    first in order wins.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import knn_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> Y = PCA(2).fit_transform(X)
    >>> round(knn_accuracy(Y, y), 3)
    0.967
    >>> round(knn_accuracy(Y, y, held_out=np.arange(0, 150, 3)), 3)
    0.98
    """
    table = embedded(Y).table
    n = len(table)
    codes = labelled(labels, n)
    if held_out is None:
        voters, asked = np.arange(n), None
        most, truth = n - 1, codes
    else:
        out = _mask(held_out, n)
        voters, asked = np.flatnonzero(~out), table[out]
        most, truth = len(voters), codes[out]
    if not isinstance(n_neighbors, Integral) or not 1 <= n_neighbors <= most:
        raise ValueError(
            f"n_neighbors={n_neighbors!r} must be a whole number from 1 to {most}, the number of "
            "points that vote."
        )
    vote = KNeighborsClassifier(n_neighbors).fit(table[voters], codes[voters])
    return float(np.mean(by_openmp(vote.predict, asked) == truth))


def _mask(held_out: ArrayLike, n: int) -> NDArray:
    """Return which points are held out: some, but not all."""
    given = np.asarray(held_out)
    mask = np.zeros(n, dtype=bool)
    if given.dtype != bool:
        if given.dtype.kind not in "iu" or (
            given.size and not -n <= given.min() <= given.max() < n
        ):
            raise ValueError(
                f"held_out must be numbers of points, from 0 to {n - 1}, or a mask of {n}."
            )
        mask[given] = True
    elif given.shape == (n,):
        mask |= given
    else:
        raise ValueError(f"held_out is a mask of shape {given.shape}, and there are {n} points.")
    if not 0 < mask.sum() < n:
        raise ValueError(
            f"held_out names {count(int(mask.sum()), 'point')} of {n}. Hold out some, and leave "
            "some to vote."
        )
    return mask
