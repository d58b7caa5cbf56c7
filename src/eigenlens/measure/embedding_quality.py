"""How good an embedding is: neighbours, distances and classes, in one record."""

from __future__ import annotations

from dataclasses import dataclass
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
        names = (
            "trustworthiness",
            "continuity",
            "neighbour_preservation",
            "shepard_correlation",
            "normalised_stress",
            "silhouette",
            "knn_accuracy",
        )
        values = {name: getattr(self, name) for name in names}
        lines = [f"{name:24}{x:8.4f}" for name, x in values.items() if x is not None]
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
    Y : array-like of shape (n, k)
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
        Look at so many rows only, drawn without replacement. Their neighbours and distances are
        those among all rows, so that the answer is right on average. The accuracy of neighbours,
        which costs little, is that of all rows.
    n_pairs : int, default=2_000_000
        Largest number of pairs in the rank correlation. Of more, so many are drawn.
    random_state : int, Generator or None, default=None
        Seed of both draws. The result does not depend on the number of threads.

    Returns
    -------
    EmbeddingQuality

    Notes
    -----
    Without `sample`, it computes the n^2 distances of the data once in single precision and half of
    them in double, and those of the embedding a few times; never more than tiles of them are held.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import embedding_quality
    >>> X, y = load_iris(return_X_y=True)
    >>> print(embedding_quality(X, PCA(2).fit_transform(X), y=y))
    trustworthiness           0.9777
    continuity                0.9869
    neighbour_preservation    0.6880
    shepard_correlation       0.9970
    normalised_stress         0.0400
    silhouette                0.5400
    knn_accuracy              0.9600
    of 150 rows, 11 175 pairs, 5 neighbours
    """
    original, images = both_spaces(X, Y, metric)
    n = len(original)
    k = n_nearest(n_neighbors, n)
    rng = np.random.default_rng(random_state)
    rows = rows_of(n, sample, rng)
    trust, whole, kept = neighbourhoods(original, images, k, rows)
    pairs = n * (n - 1) // 2
    return EmbeddingQuality(
        trustworthiness=trust,
        continuity=whole,
        neighbour_preservation=kept,
        shepard_correlation=shepard(original, images, n_pairs, rng),
        normalised_stress=stress(original, images, None if sample is None else rows),
        silhouette=None if y is None else silhouette(Y, y, sample=sample, random_state=rng),
        knn_accuracy=None if y is None else knn_accuracy(Y, y, n_neighbors=k, held_out=held_out),
        n_neighbors=k,
        n_rows=len(rows),
        n_pairs=min(pairs, n_pairs),
        exact=len(rows) == n and pairs <= n_pairs,
    )
