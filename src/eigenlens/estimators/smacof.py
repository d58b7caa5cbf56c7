"""SMACOF as a function of a matrix of distances."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .mds import MDS

__all__ = ["smacof"]


def smacof(
    dissimilarities: ArrayLike,
    *,
    metric: bool = True,
    n_components: int = 2,
    init: ArrayLike | None = None,
    n_init: int = 1,
    n_jobs: int | None = None,
    max_iter: int = 300,
    verbose: int = 0,
    eps: float = 1e-6,
    random_state: int | np.random.RandomState | None = None,
    return_n_iter: bool = False,
    normalized_stress: bool | Literal["auto"] = "auto",
    weights: ArrayLike | None = None,
    missing: str = "error",
) -> tuple[NDArray, float] | tuple[NDArray, float, int]:
    """Place points by their distances, from a random start or a given one: `MDS` as a function.

    Drop-in for :func:`sklearn.manifold.smacof`.

    Parameters
    ----------
    dissimilarities : array-like of shape (n_samples, n_samples)
        Symmetric.
    metric : bool, default=True
        Whether distances count, or only their order.
    n_components : int, default=2
        Dimensions of the places.
    init : array-like of shape (n_samples, n_dimensions), optional
        Where to start; without, at random.
    n_init : int, default=1
        Random starts, of which the best end is kept.
    n_jobs : int, optional
        Accepted for compatibility.
    max_iter : int, default=300
        Most iterations of a start, as for :class:`eigenlens.MDS`.
    verbose : int, default=0
        Accepted for compatibility.
    eps : float, default=1e-6
        Tolerance, as for :class:`eigenlens.MDS`.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts.
    return_n_iter : bool, default=False
        Whether to return the number of iterations.
    normalized_stress : bool or 'auto', default='auto'
        Whether `stress` is Stress-1, as for :class:`eigenlens.MDS`.
    weights : array-like of shape (n_samples, n_samples), optional
        How much each pair counts.
    missing : {'error', 'ignore'}, default='error'
        Whether distances that are NaN are errors, or pairs of which nothing is known.

    Returns
    -------
    X : ndarray of shape (n_samples, n_components)
        The places.
    stress : float
        Raw, or Stress-1.
    n_iter : int
        If `return_n_iter`.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import smacof
    >>> line = np.array([0.0, 1.0, 3.0, 7.0])
    >>> places, stress = smacof(np.abs(line[:, None] - line), eps=1e-12, random_state=0)
    >>> places.shape, stress < 1e-9
    ((4, 2), True)
    """
    model = MDS(
        n_components,
        metric_mds=metric,
        n_init=n_init,
        init="random",
        max_iter=max_iter,
        verbose=verbose,
        eps=eps,
        n_jobs=n_jobs,
        random_state=random_state,
        metric="precomputed",
        normalized_stress=normalized_stress,
        solver="smacof",
        missing=missing,
    ).fit(dissimilarities, init=init, weights=weights)
    found = model.embedding_, float(model.stress_)
    return (*found, model.n_iter_) if return_n_iter else found
