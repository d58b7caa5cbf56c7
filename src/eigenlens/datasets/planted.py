"""Planted problems whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["PlantedPursuit", "PlantedSubspace", "planted_pursuit", "planted_subspace"]


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

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import PCA, datasets
    >>> from eigenlens.measure import largest_angle
    >>> problem = datasets.planted_subspace(random_state=0)
    >>> np.allclose(problem.X, problem.mean + problem.scores @ problem.components + problem.noise)
    True
    >>> largest_angle(PCA(3).fit(problem.X).components_, problem.components) < 0.1  # radians
    True
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
class PlantedPursuit:
    """A table with a known low-rank and a known sparse part: ``X = low_rank + sparse + noise``.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        NaN where nothing was observed.
    low_rank : ndarray of shape (n_samples, n_features)
        All of it, also where nothing was observed.
    sparse : ndarray of shape (n_samples, n_features)
        Zero where nothing was observed.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import RobustPCA, datasets
    >>> problem = datasets.planted_pursuit(60, 40, rank=3, random_state=0)
    >>> np.allclose(problem.X, problem.low_rank + problem.sparse)
    True
    >>> found = RobustPCA(center=False).fit(problem.X)
    >>> np.array_equal(found.sparse_ != 0, problem.sparse != 0)
    True
    """

    X: NDArray
    low_rank: NDArray
    sparse: NDArray


def planted_pursuit(
    n_samples: int = 200,
    n_features: int = 200,
    rank: int = 10,
    *,
    density: float = 0.05,
    magnitude: float = 1.0,
    coherent: bool = False,
    missing: float = 0.0,
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> PlantedPursuit:
    """Return a low-rank table with gross errors in some cells: the trial of Candes et al. (2011).

    Parameters
    ----------
    n_samples, n_features : int
        Shape of the table.
    rank : int
        Of the low-rank part, a product of two tables with entries of variance 1 / n, n the larger
        side.
    density : float, default=0.05
        Chance of each cell to be in error.
    magnitude : float, default=1.0
        Size of the errors.
    coherent : bool, default=False
        Whether the errors have the signs of the low-rank part, rather than random ones.
    missing : float, default=0.0
        Chance of each cell not to be observed.
    noise : float, default=0.0
        Standard deviation of white noise in every cell.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    PlantedPursuit

    References
    ----------
    E. J. Candes, X. Li, Y. Ma, J. Wright, Robust principal component analysis?, Journal of the ACM
    58 (2011), section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import datasets
    >>> problem = datasets.planted_pursuit(60, 40, rank=3, random_state=0)
    >>> np.linalg.matrix_rank(problem.low_rank), round((problem.sparse != 0).mean(), 2)
    (np.int64(3), np.float64(0.05))
    """
    shape = n_samples, n_features
    if not 1 <= rank <= min(shape):
        raise ValueError(
            f"rank={rank} must be between 1 and min(n_samples, n_features)={min(shape)}. "
            "Ask for a smaller rank, or for a larger table."
        )
    rng = np.random.default_rng(random_state)
    left, right = (rng.standard_normal((side, rank)) / max(shape) ** 0.5 for side in shape)
    low_rank = left @ right.T
    signs = np.sign(low_rank) if coherent else rng.choice([-1.0, 1.0], size=shape)
    sparse = np.where(rng.random(shape) < density, magnitude * signs, 0.0)
    X = low_rank + sparse
    if noise:
        X += noise * rng.standard_normal(shape)
    if missing:
        holes = rng.random(shape) < missing
        X[holes], sparse[holes] = np.nan, 0.0
    return PlantedPursuit(X=X, low_rank=low_rank, sparse=sparse)
