"""Turn loadings so that each variable belongs to few components: varimax and promax.

Scores explain the same whichever axes their space is given. Varimax (Kaiser 1958) takes those in
which the squared loadings of each component differ most::

    max over R R' = I  of  sum_j var_l(b_lj^2),    B = L R

Each step turns two axes by the angle that maximises this in their plane, which has a closed form.
So the criterion never falls. Promax (Hendrickson, White 1964) then lets the axes leave the right
angle: it fits, by least squares, the varimax loadings to their own powers, in which small loadings
have become smaller still.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from ..ops.signs import fix_signs

__all__ = ["Rotation", "promax", "varimax"]


@dataclass(frozen=True, slots=True, eq=False)
class Rotation:
    """Loadings in new axes.

    Attributes
    ----------
    loadings : ndarray of shape (n_features, k)
        The rotated loadings, ``given @ rotation``, by falling sum of squares; the largest entry of
        each column is positive.
    rotation : ndarray of shape (k, k)
        Orthogonal for varimax.
    correlations : ndarray of shape (k, k)
        Of the rotated factors; the identity for varimax.
    n_iter : int
        Sweeps over all pairs of axes.
    converged : bool
        Whether no angle of the last sweep was larger than the tolerance.
    criterion_history : ndarray
        The varimax criterion before the first sweep and after each.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.measure import promax, varimax
    >>> loadings = np.array([[0.8, 0.5], [0.7, 0.5], [0.7, -0.4], [0.6, -0.5]])
    >>> found = varimax(loadings)
    >>> np.allclose(found.loadings, loadings @ found.rotation), found.converged
    (True, True)
    >>> abs(promax(loadings).correlations[0, 1]) > 0.1  # axes that need not be at right angles
    np.True_
    """

    loadings: NDArray
    rotation: NDArray
    correlations: NDArray
    n_iter: int
    converged: bool
    criterion_history: NDArray


def varimax(
    loadings: ArrayLike, *, normalize: bool = True, tol: float = 1e-8, max_iter: int = 100
) -> Rotation:
    """Rotate loadings to the varimax criterion.

    Parameters
    ----------
    loadings : array-like of shape (n_features, k)
        For example ``diagnostics(...).columns.loadings``.
    normalize : bool, default=True
        Scale each variable to length 1 first and back afterwards (Kaiser's normalisation), so that
        variables which the components explain badly count as much as the others.
    tol : float, default=1e-8
        Angle, in radians, below which no pair of axes needs turning.
    max_iter : int, default=100
        Largest number of sweeps over all pairs.

    Returns
    -------
    Rotation

    Notes
    -----
    The criterion may have several maxima. The one that is found depends on the given axes alone.

    References
    ----------
    H. F. Kaiser, The varimax criterion for analytic rotation in factor analysis, Psychometrika 23
    (1958).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.measure import varimax
    >>> simple = np.array([[0.9, 0], [0.8, 0], [0, 0.7], [0, 0.6]])
    >>> turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    >>> varimax(simple @ turn).loadings.round(6) + 0.0
    array([[0.9, 0. ],
           [0.8, 0. ],
           [0. , 0.7],
           [0. , 0.6]])
    """
    L = _checked(loadings)
    length = np.linalg.norm(L, axis=1, keepdims=True)
    B = np.divide(L, length, out=np.zeros_like(L), where=length > 0) if normalize else L.copy()
    R = np.eye(L.shape[1])
    history = [_criterion(B)]
    angle, sweeps = np.inf, 0
    while angle > tol and sweeps < max_iter:
        angle = _sweep(B, R)
        history.append(_criterion(B))
        sweeps += 1
    if angle > tol:
        warnings.warn(
            f"varimax stopped after {sweeps} sweeps with an angle of {angle:.1e} left to turn, "
            f"above tol={tol:g}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    R = _ordered(L, R)
    return Rotation(
        loadings=L @ R,
        rotation=R,
        correlations=np.eye(len(R)),
        n_iter=sweeps,
        converged=bool(angle <= tol),
        criterion_history=np.array(history),
    )


def promax(loadings: ArrayLike, *, power: float = 4.0, normalize: bool = True) -> Rotation:
    """Rotate loadings obliquely: varimax, then a least-squares fit to its powers.

    Parameters
    ----------
    loadings : array-like of shape (n_features, k)
        As for :func:`~eigenlens.measure.varimax`.
    power : float, default=4
        Exponent of the target, at least 1. 1 is varimax itself; larger values make small loadings
        smaller and factors more correlated.
    normalize : bool, default=True
        Kaiser's normalisation in the varimax step.

    Returns
    -------
    Rotation
        `loadings` is the pattern matrix P, and `correlations` Phi, with ``P Phi P' = L L'``.

    References
    ----------
    A. E. Hendrickson, P. O. White, Promax: a quick method for rotation to oblique simple structure,
    British Journal of Statistical Psychology 17 (1964).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.measure import promax
    >>> L = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.8], [0.2, 0.9]])
    >>> found = promax(L)
    >>> found.correlations.round(2)
    array([[1.  , 0.45],
           [0.45, 1.  ]])
    """
    if not power >= 1:
        raise ValueError(f"power={power} must be at least 1. Take 3 or 4, as is usual.")
    start = varimax(loadings, normalize=normalize)
    B = start.loadings
    rank = np.linalg.matrix_rank(B)
    if rank < B.shape[1]:
        raise ValueError(
            f"The loadings of {B.shape[1]} components have rank {rank}, and an oblique rotation "
            "needs all of them. Leave out components without variance."
        )
    target = np.sign(B) * np.abs(B) ** power
    U = np.linalg.lstsq(B, target)[0]
    U *= np.sqrt(np.diag(np.linalg.inv(U.T @ U)))  # so that the factors have unit variance
    R = _ordered(_checked(loadings), start.rotation @ U)
    correlations = np.linalg.inv(R.T @ R)
    np.fill_diagonal(correlations, 1.0)
    return Rotation(
        loadings=_checked(loadings) @ R,
        rotation=R,
        correlations=correlations,
        n_iter=start.n_iter,
        converged=start.converged,
        criterion_history=start.criterion_history,
    )


def _checked(loadings: ArrayLike) -> NDArray:
    L = np.asarray(loadings, dtype=np.float64)
    if L.ndim != 2 or not L.size:
        raise ValueError(
            f"loadings of shape {L.shape} must be a matrix, one row a variable and one column a "
            "component. A PCA's `components_` has to be transposed."
        )
    if not np.isfinite(L).all():
        rows = np.flatnonzero(~np.isfinite(L).all(axis=1))
        raise ValueError(
            f"loadings hold NaN or inf in rows {rows[:5].tolist()}. "
            "Leave these variables out: a constant one has no correlation with anything."
        )
    return L


def _criterion(B: NDArray) -> float:
    return float((B**2).var(axis=0).sum())


def _sweep(B: NDArray, R: NDArray) -> float:
    """Turn each pair of columns to the maximum in its plane, in place; return the largest angle."""
    largest = 0.0
    for i, j in combinations(range(B.shape[1]), 2):
        angle = _planar_angle(B[:, i], B[:, j])
        largest = max(largest, abs(angle))
        c, s = np.cos(angle), np.sin(angle)
        turn = np.array([[c, -s], [s, c]])
        B[:, [i, j]] = B[:, [i, j]] @ turn
        R[:, [i, j]] = R[:, [i, j]] @ turn
    return largest


def _planar_angle(x: NDArray, y: NDArray) -> float:
    """Return the angle in (-pi/4, pi/4] that maximises the criterion of two columns."""
    u, v = x**2 - y**2, 2 * x * y
    u, v = u - u.mean(), v - v.mean()
    along, across = float(u @ u - v @ v), 2 * float(u @ v)
    flat = np.finfo(float).eps * float((x**2 + y**2) @ (x**2 + y**2))
    # where the criterion is the same at every angle, rounding would choose one at each sweep
    return 0.0 if np.hypot(along, across) <= 8 * flat else float(np.arctan2(across, along)) / 4


def _ordered(L: NDArray, R: NDArray) -> NDArray:
    """Return `R` with columns by falling sum of squares of ``L R``, and its signs fixed."""
    R = R[:, np.argsort(-((L @ R) ** 2).sum(axis=0), kind="stable")]
    B = (L @ R).T
    flipped = (fix_signs(B) * B).sum(axis=1) < 0
    return np.where(flipped, -R, R)
