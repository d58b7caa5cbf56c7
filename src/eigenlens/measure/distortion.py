"""Whether an embedding keeps distances: their order (Shepard) and their size (Kruskal)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from ..ops import threads
from ..ops.distances import ROWS, Space
from ..ops.proximity import sums_of_two
from .spaces import both_spaces, rows_of

__all__ = ["N_PAIRS", "normalised_stress", "shepard", "shepard_correlation", "stress"]

N_PAIRS = 2_000_000
PILOT = 1000  # pairs that give a first scale


def shepard_correlation(
    X: Any,
    Y: ArrayLike,
    *,
    metric: str = "euclidean",
    n_pairs: int = N_PAIRS,
    random_state: int | np.random.Generator | None = None,
) -> float:
    """Return the rank correlation of the distances in the data with those in an embedding.

    It is Spearman's correlation of what Shepard's diagram shows, the distance in `Y` of each pair
    of points against that in `X`: 1 if pairs that are farther apart in the data are so in the
    embedding, whatever the units. Pairs equally far apart share the mean of their ranks.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, n_features)
        The data. With ``metric="precomputed"`` their distances, an array of shape (n, n).
    Y : array-like of shape (n, n_components)
        Its embedding, with Euclidean distances.
    metric : {"euclidean", "precomputed"}, default="euclidean"
    n_pairs : int, default=2_000_000
        If there are no more pairs than that, as up to 2000 rows, all are taken and the answer is
        exact. Of more, so many are drawn, and the answer has a standard error of at most about
        ``1 / sqrt(n_pairs)``.
    random_state : int, Generator or None, default=None
        Seed of the draw.

    Returns
    -------
    float
        NaN if all distances are the same in the data or in the embedding.

    References
    ----------
    R. N. Shepard, The analysis of proximities: multidimensional scaling with an unknown distance
    function, Psychometrika 27 (1962).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import shepard_correlation
    >>> X = load_iris().data
    >>> round(shepard_correlation(X, PCA(1).fit_transform(X)), 3)
    0.981
    """
    original, images = both_spaces(X, Y, metric)
    return shepard(original, images, n_pairs, np.random.default_rng(random_state))


def normalised_stress(
    X: Any,
    Y: ArrayLike,
    *,
    metric: str = "euclidean",
    scale: bool = True,
    sample: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> float:
    """Return Kruskal's stress-1 of an embedding: the error of its distances, in units of them.

    With d the distances in `X` and e those in `Y`, over all pairs of points, it is::

        min_a sqrt(sum (a d - e)^2 / sum e^2)

    or the same with a = 1 for ``scale=False``. The best scale `a` leaves the sine of the angle
    between the two vectors of distances, so that the units of neither matter: 0 if distances are
    kept up to a factor. Kruskal calls 0.025 excellent, 0.05 good, 0.1 fair and 0.2 poor.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, n_features)
        The data. With ``metric="precomputed"`` their distances, an array of shape (n, n).
    Y : array-like of shape (n, n_components)
        Its embedding, with Euclidean distances.
    metric : {"euclidean", "precomputed"}, default="euclidean"
    scale : bool, default=True
        Whether the distances of the data may be scaled. Without, it is the stress that
        `sklearn.manifold.MDS` reports with ``normalized_stress=True``.
    sample : int, optional
        Take the distances of so many rows, drawn without replacement, to all others. The sums over
        them are right on average, and their ratio up to an error of the order of ``1 / sample``.
    random_state : int, Generator or None, default=None
        Seed of the sample.

    Returns
    -------
    float
        1 if all points are in one place, in the data or in the embedding, and 0 if in both. Without
        `scale`, infinity if in the embedding alone.

    Notes
    -----
    It takes n^2 / 2 distances in both spaces, in double precision, and the memory of a few tiles of
    them.

    References
    ----------
    J. B. Kruskal, Multidimensional scaling by optimizing goodness of fit to a nonmetric hypothesis,
    Psychometrika 29 (1964).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import normalised_stress
    >>> X = load_iris().data
    >>> round(normalised_stress(X, PCA(2).fit_transform(X)), 3)
    0.04
    >>> round(normalised_stress(X, 100 * X), 6)
    0.0
    """
    original, images = both_spaces(X, Y, metric)
    rows = rows_of(len(original), sample, random_state)
    return stress(original, images, rows, scale=scale)


def shepard(original: Space, images: Space, n_pairs: int, rng: np.random.Generator) -> float:
    """Return the rank correlation of distances, of all pairs or of as many drawn."""
    if not isinstance(n_pairs, Integral) or n_pairs < 2:
        raise ValueError(
            f"n_pairs={n_pairs!r} must be a whole number of at least 2, and 1000 or more to say "
            f"something. The default is {N_PAIRS}."
        )
    i, j = _pairs(len(original), int(n_pairs), rng)
    squares = original.pairs(i, j), images.pairs(i, j)  # of the same ranks as distances
    ranks = threads.run(lambda s: rankdata(squares[s]), 2)  # both sorts at the same time
    a, b = (rank - (len(i) + 1) / 2 for rank in ranks)  # off their mean, whatever the ties
    with threads.serial_blas():  # the sum of many threads depends on how many they are
        product, size = a @ b, np.sqrt((a @ a) * (b @ b))
    return float(np.clip(product / size, -1, 1)) if size > 0 else float("nan")


def _pairs(n: int, n_pairs: int, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Return all pairs of points, or so many drawn with replacement if there are more."""
    if n * (n - 1) // 2 <= n_pairs:
        i, j = np.triu_indices(n, 1)
        return i, j
    i, j = rng.integers(n, size=n_pairs), rng.integers(n - 1, size=n_pairs)
    j += j >= i  # any point but i
    return i, j


def stress(original: Space, images: Space, rows: NDArray, *, scale: bool = True) -> float:
    """Return Kruskal's stress-1, over the pairs of some rows with all points, or over all pairs."""
    half = len(rows) == len(original)  # each pair once
    blocks = threads.spans(len(rows), ROWS)
    first = _first_scale(original, images) if scale else 1.0

    def block(s: int) -> NDArray:
        mine = rows[blocks[s]]
        total = np.zeros(4)
        start = int(mine[0]) if half else 0
        for (begin, d), (_, e) in zip(
            original.tiles(mine, start), images.tiles(mine, start), strict=True
        ):
            after = np.maximum(mine + 1 - begin, 0) if half else np.zeros_like(mine)
            total += sums_of_two(d, e, after, first)
        return total

    dd, ee, rest, with_e = np.sum(threads.run(block, len(blocks)), axis=0)
    if not scale:
        return _root(rest, ee)
    if dd == 0 or ee == 0:
        return float(dd != ee)
    # From the first scale, which is all but the best, to the best: sums of squares of distances
    # would cancel, and leave of a stress of zero the root of a rounding.
    return _root(rest - with_e**2 / ee, dd)


def _first_scale(original: Space, images: Space) -> float:
    """Return the factor that takes distances of the embedding to those of the data, from a few."""
    n = len(original)
    i = np.unique(np.linspace(0, n - 1, PILOT).astype(np.int64))
    j = (i + max(1, n // 2)) % n
    d, e = (np.sqrt(space.pairs(i, j)) for space in (original, images))
    return float(d @ e / (e @ e)) if e.any() else 0.0


def _root(error: float, size: float) -> float:
    """Return sqrt(error / size), and 0 for an error that is nothing but rounding."""
    if error <= 0:
        return 0.0
    return float(np.sqrt(error / size)) if size > 0 else float("inf")
