"""Whether an embedding keeps neighbours: trustworthiness, continuity, and the share of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ops.distances import Space
from ..ops.neighbours import Neighbours
from .spaces import both_spaces, n_nearest, rows_of

__all__ = ["continuity", "neighbour_preservation", "neighbourhoods", "trustworthiness"]


def trustworthiness(
    X: Any,
    Y: ArrayLike,
    *,
    n_neighbors: int = 5,
    metric: str = "euclidean",
    sample: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> float:
    """Return whether points that are neighbours in an embedding are so in the data.

    Each neighbour that the embedding has made up costs as many points as lie between it and the
    true neighbours::

        1 - 2 / (n k (2n - 3k - 1)) * sum_i sum_{j in N_k(i)} max(0, r(i, j) - k)

    where N_k(i) are the k nearest neighbours of point i in `Y`, and r(i, j) is the place of j among
    all points as seen from i in `X`. It is 1 if all neighbours are true, and 0 for the worst
    embedding there is; points placed at random have about a half.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, n_features)
        The data. With ``metric="precomputed"`` their distances, an array of shape (n, n).
    Y : array-like of shape (n, n_components)
        Its embedding, with Euclidean distances.
    n_neighbors : int, default=5
        Less than half of the rows.
    metric : {"euclidean", "precomputed"}, default="euclidean"
    sample : int, optional
        Look at the neighbourhoods of so many rows only, drawn without replacement; at all if there
        are no more. Neighbours and places are those among all rows, so that the answer is right on
        average.
    random_state : int, Generator or None, default=None
        Seed of the sample.

    Returns
    -------
    float

    See Also
    --------
    continuity : The other way round, whether neighbours stay neighbours.
    embedding_quality : This and other measures at once.

    Notes
    -----
    Points as far as each other go by their row: the first comes first. Distances that are too near
    to each other for products of matrices to tell are computed again from the rows (but not of a
    sparse table), so that the answer depends on no rounding, number of threads or order of a sort.

    It takes all n^2 distances and n k counts over n of them, or with `sample` that share of both,
    and little memory beyond a copy of both tables in single precision.

    References
    ----------
    J. Venna, S. Kaski, Neighborhood preservation in nonlinear projection methods: an experimental
    study, ICANN (2001).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import trustworthiness
    >>> X = load_iris().data
    >>> round(trustworthiness(X, PCA(2).fit_transform(X)), 3)
    0.979
    >>> round(trustworthiness(X, PCA(1).fit_transform(X)), 3)
    0.921
    """
    original, images = both_spaces(X, Y, metric)
    k = n_nearest(n_neighbors, len(original))
    rows = rows_of(len(original), sample, random_state)
    return _unspoilt(_ranks(original, images, k, rows), k, len(original))


def continuity(
    X: Any,
    Y: ArrayLike,
    *,
    n_neighbors: int = 5,
    metric: str = "euclidean",
    sample: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> float:
    """Return whether neighbours in the data are neighbours in an embedding.

    It is :func:`~eigenlens.measure.trustworthiness` with `X` and `Y` in each other's place: each
    neighbour that the embedding has torn off costs as many points as have come between. A map that
    folds distant points onto each other loses trustworthiness, one that tears loses continuity.

    Parameters
    ----------
    X, Y, n_neighbors, metric, sample, random_state
        As in :func:`~eigenlens.measure.trustworthiness`.

    Returns
    -------
    float

    References
    ----------
    J. Venna, S. Kaski, Neighborhood preservation in nonlinear projection methods: an experimental
    study, ICANN (2001).

    Examples
    --------
    A circle that is cut and laid out as a line tears neighbours apart, and makes up next to none:

    >>> import numpy as np
    >>> from eigenlens.measure import continuity, trustworthiness
    >>> t = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> circle, line = np.c_[np.cos(t), np.sin(t)], t[:, None]
    >>> round(trustworthiness(circle, line, n_neighbors=4), 3)
    1.0
    >>> round(continuity(circle, line, n_neighbors=4), 3)
    0.992
    """
    original, images = both_spaces(X, Y, metric)
    k = n_nearest(n_neighbors, len(original))
    rows = rows_of(len(original), sample, random_state)
    return _unspoilt(_ranks(images, original, k, rows), k, len(original))


def neighbour_preservation(
    X: Any,
    Y: ArrayLike,
    *,
    n_neighbors: int = 5,
    metric: str = "euclidean",
    sample: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> float:
    """Return the share of the nearest neighbours that an embedding keeps, on average over points.

    A neighbour that has become the next one after them counts as lost, as one that is now at the
    other end: stricter than :func:`~eigenlens.measure.trustworthiness` and
    :func:`~eigenlens.measure.continuity`. Points placed at random keep about ``n_neighbors / n``.

    Parameters
    ----------
    X, Y, n_neighbors, metric, sample, random_state
        As in :func:`~eigenlens.measure.trustworthiness`.

    Returns
    -------
    float

    References
    ----------
    J. A. Lee, M. Verleysen, Quality assessment of dimensionality reduction: rank-based criteria,
    Neurocomputing 72 (2009).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import neighbour_preservation
    >>> X = load_iris().data
    >>> round(neighbour_preservation(X, PCA(2).fit_transform(X)), 3)
    0.636
    """
    original, images = both_spaces(X, Y, metric)
    k = n_nearest(n_neighbors, len(original))
    rows = rows_of(len(original), sample, random_state)
    return _kept(_ranks(original, images, k, rows), k)


def neighbourhoods(
    original: Space, images: Space, k: int, rows: NDArray
) -> tuple[float, float, float]:
    """Return trustworthiness, continuity and the share of neighbours kept.

    The distances of the data, which cost most, are gone through once; those of the embedding twice.
    """
    near_images, near_original = Neighbours(images), Neighbours(original)
    found = near_images.order(rows, k).nearest
    nearest, ranks, _ = near_original.order(rows, k, found)
    back = near_images.order(rows, marks=nearest).ranks
    n = len(original)
    return _unspoilt(ranks, k, n), _unspoilt(back, k, n), _kept(ranks, k)


def _ranks(places: Space, near: Space, k: int, rows: NDArray) -> NDArray:
    """Return the places in one space of the k nearest neighbours in another."""
    nearest = Neighbours(near).order(rows, k).nearest
    return Neighbours(places).order(rows, marks=nearest).ranks


def _unspoilt(ranks: NDArray, k: int, n: int) -> float:
    """Return 1 less the places by which ranks exceed k, in units of the worst there can be."""
    excess = int(np.maximum(ranks - k, 0).sum())
    return 1 - 2 * excess / (len(ranks) * k * (2 * n - 3 * k - 1))


def _kept(ranks: NDArray, k: int) -> float:
    """Return the share of ranks up to k, which are those of neighbours in both spaces."""
    return float((ranks <= k).mean())
