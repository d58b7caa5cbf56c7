"""Planted problems whose truth is known, and tables that installed packages carry.

>>> from eigenlens import datasets
>>> problem = datasets.planted_subspace(100, 8, rank=2, noise=0.1, random_state=0)
>>> problem.X.shape, problem.components.shape
((100, 8), (2, 8))
>>> datasets.breast_cancer().names[0]
'mean radius'
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["PlantedSubspace", "Table", "breast_cancer", "planted_subspace"]


@dataclass(frozen=True, slots=True, eq=False)
class PlantedSubspace:
    """A table with a known subspace in it: ``X = mean + scores @ components + noise``.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    components : ndarray of shape (rank, n_features)
        The true directions, orthonormal, by falling deviation.
    mean : ndarray of shape (n_features,)
    scores : ndarray of shape (n_samples, rank)
        The true coordinates in the subspace.
    noise : ndarray of shape (n_samples, n_features)
        What was added.
    deviations : ndarray of shape (rank,)
        Standard deviations that the scores were drawn with.
    """

    X: NDArray
    components: NDArray
    mean: NDArray
    scores: NDArray
    noise: NDArray
    deviations: NDArray


def planted_subspace(
    n_samples: int = 200,
    n_features: int = 20,
    rank: int = 3,
    *,
    noise: float = 0.1,
    decay: float = 0.7,
    mean: float | ArrayLike = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> PlantedSubspace:
    """Return points of a random subspace, moved by a mean and blurred by white noise.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of the table.
    rank : int
        Dimension of the subspace, at most `n_features`.
    noise : float, default=0.1
        Standard deviation of the noise in every cell; that of the first score is 1.
    decay : float, default=0.7
        Factor from the deviation of one score to that of the next. At 1 the directions inside the
        subspace are not determined, only the subspace is.
    mean : float or array-like of shape (n_features,), default=0
        Column means.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    PlantedSubspace

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import datasets
    >>> problem = datasets.planted_subspace(50, 6, rank=2, noise=0, mean=5, random_state=0)
    >>> np.linalg.matrix_rank(problem.X - problem.mean)
    np.int64(2)
    >>> np.allclose(problem.X, problem.mean + problem.scores @ problem.components)
    True
    """
    if not 1 <= rank <= n_features:
        raise ValueError(
            f"rank={rank} must be between 1 and n_features={n_features}. "
            "Ask for a smaller rank, or for more features."
        )
    rng = np.random.default_rng(random_state)
    components = np.linalg.qr(rng.standard_normal((n_features, rank)))[0].T
    deviations = decay ** np.arange(rank, dtype=float)
    scores = rng.standard_normal((n_samples, rank)) * deviations
    blur = noise * rng.standard_normal((n_samples, n_features))
    centre = np.array(np.broadcast_to(np.asarray(mean, dtype=float), n_features))
    return PlantedSubspace(
        X=centre + scores @ components + blur,
        components=np.ascontiguousarray(components),
        mean=centre,
        scores=scores,
        noise=blur,
        deviations=deviations,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of numbers with names.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    names : tuple of str
        Names of the columns.
    target : ndarray of shape (n_samples,)
        A class for each row, as a number.
    target_names : tuple of str
        What the numbers stand for.
    """

    X: NDArray
    names: tuple[str, ...]
    target: NDArray
    target_names: tuple[str, ...]


def breast_cancer() -> Table:
    """Return the Wisconsin breast cancer table that scikit-learn carries: 569 tumours, 30 columns.

    Columns differ in scale by four orders of magnitude: scale them before PCA.

    Returns
    -------
    Table

    Examples
    --------
    >>> from eigenlens import datasets
    >>> table = datasets.breast_cancer()
    >>> table.X.shape, table.target_names
    ((569, 30), ('malignant', 'benign'))
    """
    from sklearn.datasets import load_breast_cancer  # half a second, so only when asked for

    data = load_breast_cancer()
    return Table(
        X=data.data,
        names=tuple(map(str, data.feature_names)),
        target=data.target,
        target_names=tuple(map(str, data.target_names)),
    )
