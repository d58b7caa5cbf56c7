"""The phase transition: how large a rank and how many errors a robust estimator can bear."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ..datasets import PlantedPursuit, planted_pursuit
from ..estimators.robust_pca import RobustPCA
from .frames import pandas
from .resamples import seeded

__all__ = ["RecoveryRegion", "recovery_region"]

FRACTIONS = tuple(np.arange(1, 11) / 20)
PROBLEMS = ("random", "coherent", "completion")


@dataclass(frozen=True, slots=True, eq=False)
class RecoveryRegion:
    """What became of planted problems, for each rank and each density.

    Attributes
    ----------
    problem : str
        ``'random'``, ``'coherent'`` or ``'completion'``.
    n : int
        Rows and columns of each table.
    ranks : ndarray of int of shape (n_ranks,)
    densities : ndarray of shape (n_densities,)
    errors : ndarray of shape (n_ranks, n_densities, trials)
        Distance of the low-rank part that was found from the planted one, relative to its size; inf
        where a row or column was not observed at all.
    tol : float
        Up to which error a trial counts as recovered.

    Examples
    --------
    >>> from eigenlens.measure import recovery_region
    >>> found = recovery_region(
    ...     n=40, ranks=[0.05], densities=[0.05, 0.4], trials=1, random_state=0
    ... )
    >>> found.ranks, found.errors.shape
    (array([2]), (1, 2, 1))
    >>> print(found.to_frame())
    density  0.05  0.40
    rank
    2         1.0   0.0
    """

    problem: str
    n: int
    ranks: NDArray
    densities: NDArray
    errors: NDArray
    tol: float

    @property
    def recovered(self) -> NDArray:
        """Share of the trials that were recovered, for each rank (rows) and density (columns)."""
        share: NDArray = (self.errors <= self.tol).mean(axis=2)
        return share

    def to_frame(self) -> Any:
        """Return a pandas frame of `recovered`: ranks down, densities across."""
        pd = pandas()
        return pd.DataFrame(
            self.recovered,
            index=pd.Index(self.ranks, name="rank"),
            columns=pd.Index(self.densities, name="density"),
        )


def recovery_region(
    estimator: Any = None,
    *,
    n: int = 100,
    ranks: ArrayLike = FRACTIONS,
    densities: ArrayLike = FRACTIONS,
    problem: Literal["random", "coherent", "completion"] = "random",
    trials: int = 5,
    tol: float = 1e-3,
    random_state: int | np.random.Generator | None = None,
) -> RecoveryRegion:
    """Return how often planted low-rank tables are recovered, by their rank and density of errors.

    The experiment of Candes et al. (2011), figure 1, with the square tables of
    :func:`eigenlens.datasets.planted_pursuit`. Recovery is certain in one region and hopeless in
    the other, with little between them, and less for larger n.

    Parameters
    ----------
    estimator : estimator, optional
        Clones of it are fitted. Its low-rank part is `low_rank_`, or what `inverse_transform` makes
        of its scores. By default ``RobustPCA(center=False)``, since the tables are drawn without a
        mean, and for ``'completion'`` with ``lam=1``, from which on all entries are taken as right.
    n : int, default=100
        Rows and columns of each table; the published figures have 400.
    ranks : array-like of float, optional
        Ranks as fractions of n; the least rank is 1. By default 0.05, 0.1, ..., 0.5.
    densities : array-like of float, optional
        Shares of the cells that are in error, or not observed. By default the same.
    problem : {'random', 'coherent', 'completion'}, default='random'
        Errors with random signs, errors with the signs of the low-rank part, or no errors and holes
        in their place.
    trials : int, default=5
        Tables for each rank and density.
    tol : float, default=1e-3
        Relative error up to which a table counts as recovered.
    random_state : int, Generator or None, default=None
        Seed. The same seed draws the same tables for any estimator, and seeds one that leaves its
        own open.

    Returns
    -------
    RecoveryRegion

    Notes
    -----
    Warnings of the fits are left out: beyond the transition they are the rule, and the error tells.
    A fit that converged there has solved its convex problem, whose solution is not the planted
    pair. Close to the transition a problem is solved slowly, and an estimator that stops early
    misses some: lower the `gap_tol` of :class:`eigenlens.RobustPCA` to see the last of them.

    References
    ----------
    E. J. Candes, X. Li, Y. Ma, J. Wright, Robust principal component analysis?, Journal of the ACM
    58 (2011), section 4.2.

    Examples
    --------
    >>> from eigenlens.measure import recovery_region
    >>> found = recovery_region(
    ...     n=60, ranks=[0.05, 0.4], densities=[0.05, 0.4], trials=2, random_state=0
    ... )
    >>> found.recovered
    array([[1., 0.],
           [0., 0.]])
    """
    fractions, densities = _fractions(ranks, "ranks"), _fractions(densities, "densities")
    _check(problem, n, trials)
    sizes = np.maximum(1, np.rint(fractions * n)).astype(int)
    model = _default(problem) if estimator is None else estimator
    # two streams: what a model draws must not change the tables
    tables, seeds = np.random.default_rng(random_state).spawn(2)
    errors = [
        _error(seeded(clone(model), seeds), _planted(problem, n, rank, density, tables))
        for rank in sizes
        for density in densities
        for _ in range(trials)
    ]
    shape = len(sizes), len(densities), trials
    return RecoveryRegion(problem, n, sizes, densities, np.reshape(errors, shape), tol)


def _default(problem: str) -> RobustPCA:
    """Return the estimator of the theory.

    The multiplier of a cell is at most the largest singular value of all of them, which is 1: with
    ``lam=1`` its bound is never met, and the sparse part stays zero.
    """
    return RobustPCA(lam=1.0 if problem == "completion" else "auto", center=False)


def _planted(
    problem: str, n: int, rank: int, density: float, rng: np.random.Generator
) -> PlantedPursuit:
    errors = 0.0 if problem == "completion" else density
    return planted_pursuit(
        n,
        n,
        rank,
        density=errors,
        missing=density - errors,
        coherent=problem == "coherent",
        random_state=rng,
    )


def _fractions(values: ArrayLike, name: str) -> NDArray:
    """Return fractions of n or of all cells, after a look at them."""
    fractions = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if fractions.ndim != 1 or not ((fractions >= 0) & (fractions <= 1)).all():
        raise ValueError(
            f"{name}={values!r} must be a list of fractions between 0 and 1, such as [0.05, 0.1]."
        )
    return fractions


def _check(problem: str, n: int, trials: int) -> None:
    if problem not in PROBLEMS:
        raise ValueError(f"problem={problem!r} is not known. Take one of {', '.join(PROBLEMS)}.")
    if n < 2 or trials < 1:
        raise ValueError(f"n={n} and trials={trials} must be at least 2 and 1.")


def _error(model: Any, planted: PlantedPursuit) -> float:
    """Return the relative error of the low-rank part that the model finds."""
    seen = ~np.isnan(planted.X)
    if not (seen.any(axis=0).all() and seen.any(axis=1).all()):
        return np.inf  # nothing is known of a row or column
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(planted.X)
    if hasattr(model, "low_rank_"):
        found = model.low_rank_
    else:
        found = model.inverse_transform(model.transform(planted.X))
    return float(np.linalg.norm(found - planted.low_rank) / np.linalg.norm(planted.low_rank))
