"""How good an embedding is: neighbours, distances and classes, in one record."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._text import count, grouped
from .classes import knn_accuracy, silhouette
from .distortion import N_PAIRS, shepard, stress
from .neighbourhoods import neighbourhoods
from .spaces import both_spaces, n_nearest, rows_of

__all__ = ["EmbeddingQuality", "embedding_quality"]


@dataclass(frozen=True, slots=True)
class EmbeddingQuality:
    """What an embedding keeps of the data. All but the stress are the better the larger.

    Attributes
    ----------
    trustworthiness : float
        Whether neighbours in the embedding are neighbours in the data.
    continuity : float
        Whether neighbours in the data are neighbours in the embedding.
    neighbour_preservation : float
        Share of the nearest neighbours that are kept.
    shepard_correlation : float
        Rank correlation of distances.
    normalised_stress : float
        Error of distances after the best scale, in units of them: 0 if they are kept.
    silhouette : float or None
        How much nearer points of the embedding are to their own class than to the next.
    knn_accuracy : float or None
        Share of the points held out whose class their nearest neighbours name.
    n_neighbors : int
    n_rows : int
        Rows that were looked at.
    n_pairs : int
        Pairs of rows in the rank correlation.
    exact : bool
        Whether these are all rows and all pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import embedding_quality
    >>> X = load_iris().data
    >>> found = embedding_quality(X, PCA(2).fit_transform(X))
    >>> round(found.trustworthiness, 2), found.exact, found.knn_accuracy
    (0.98, True, None)
    """

    trustworthiness: float
    continuity: float
    neighbour_preservation: float
    shepard_correlation: float
    normalised_stress: float
    silhouette: float | None
    knn_accuracy: float | None
    n_neighbors: int
    n_rows: int
    n_pairs: int
    exact: bool

    def __str__(self) -> str:
        named = ((field.name, getattr(self, field.name)) for field in fields(self)[:7])
        lines = [f"{name:24}{value:8.4f}" for name, value in named if value is not None]
        basis = f"{count(self.n_rows, 'row')}, {grouped(self.n_pairs)} pairs"
        return "\n".join([*lines, f"of {basis}, {self.n_neighbors} neighbours"])


def embedding_quality(
    X: Any,
    Y: ArrayLike,
    *,
    y: ArrayLike | None = None,
    held_out: ArrayLike | None = None,
    n_neighbors: int = 5,
    metric: str = "euclidean",
    sample: int | None = None,
    n_pairs: int = N_PAIRS,
    random_state: int | np.random.Generator | None = None,
) -> EmbeddingQuality:
    """Return what an embedding keeps of neighbours, of distances and, with `y`, of classes.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, n_features)
        The data. With ``metric="precomputed"`` their distances, an array of shape (n, n).
    Y : array-like of shape (n, n_components)
        Its embedding, with Euclidean distances.
    y : array-like of shape (n,), optional
        Class of each row.
    held_out : array-like of int or bool, optional
        Rows whose class is to be named by the others, see
        :func:`~eigenlens.measure.knn_accuracy`. Without, each is left out in turn.
    n_neighbors : int, default=5
        Less than half of the rows.
    metric : {"euclidean", "precomputed"}, default="euclidean"
    sample : int, optional
        Look at so many rows only, drawn without replacement; at all if there are no more. Their
        neighbours and distances are those among all rows, so that the answer is right on average.
        The accuracy of neighbours, which costs little, is that of all rows.
    n_pairs : int, default=2_000_000
        Largest number of pairs in the rank correlation. Of more, so many are drawn.
    random_state : int, Generator or None, default=None
        Seed of all draws. With the same int, each measure is what the function of its name gives.

    Returns
    -------
    EmbeddingQuality

    Notes
    -----
    Without `sample`, it computes the n^2 distances of the data once in single precision and half of
    them in double, and those of the embedding a few times; never more than tiles of them are held.
    Beside these, it holds a copy of a dense table in single precision, or 150 bytes for each of
    `n_pairs` if that is more. The result does not depend on the number of threads.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import embedding_quality
    >>> X, y = load_iris(return_X_y=True)
    >>> print(embedding_quality(X, PCA(2).fit_transform(X), y=y))
    trustworthiness           0.9787
    continuity                0.9901
    neighbour_preservation    0.6360
    shepard_correlation       0.9958
    normalised_stress         0.0405
    silhouette                0.5344
    knn_accuracy              0.9667
    of 150 rows, 11 175 pairs, 5 neighbours
    """
    original, images = both_spaces(X, Y, metric)
    n = len(original)
    k = n_nearest(n_neighbors, n)
    rows = rows_of(n, sample, random_state)
    apart = named = None
    # first what is quick, so that an error in `y` or `n_pairs` is not told after minutes
    if y is not None:
        apart = silhouette(Y, y, sample=sample, random_state=random_state)
        named = knn_accuracy(Y, y, n_neighbors=k, held_out=held_out)
    elif held_out is not None:
        raise ValueError("held_out are rows whose class is to be named. Give the classes as y.")
    correlation = shepard(original, images, n_pairs, np.random.default_rng(random_state))
    trust, whole, kept = neighbourhoods(original, images, k, rows)
    pairs = n * (n - 1) // 2
    return EmbeddingQuality(
        trustworthiness=trust,
        continuity=whole,
        neighbour_preservation=kept,
        shepard_correlation=correlation,
        normalised_stress=stress(original, images, rows),
        silhouette=apart,
        knn_accuracy=named,
        n_neighbors=k,
        n_rows=len(rows),
        n_pairs=min(pairs, n_pairs),
        exact=len(rows) == n and pairs <= n_pairs,
    )
