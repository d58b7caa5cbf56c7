"""From few variables to many: sparse PCA along a path of penalties.

The problem has many minima, and where a descent ends depends on where it starts. The path begins in
its middle, at the singular vectors as a plain fit does, and goes to both ends, each fit from the
one before. Going from the sparse end to the dense one alone ends in worse minima: directions that
begin at single variables keep them. Going the other way alone takes up to twice the iterations, a
third of them or more for the first fit. Where few variables are left, though, a start among few is
the better one, so that the path goes back from the sparse end until that is worse.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from ..estimators.sparse_pca import SparsePCA, _Rows
from ..ops.finite import NonFiniteError
from ..ops.signs import fix_signs
from ..ops.weights import weighted_rows
from ..solvers import scotlass, sparse_l0, sparse_l1, spca
from ..solvers.directions import Directions
from ..solvers.solution import Certificate
from .frames import column_names, pandas

__all__ = ["SparsePath", "sparse_path"]

POINTS = 20  # of a path that is not given
DENSE_END = 0.01  # its smallest alpha, as a fraction of that from which all loadings are zero
SAME = 1e-6  # relative difference of two objectives up to which they count as one minimum

SOLVERS: dict[tuple[str, str], Callable[..., Directions]] = {
    ("l1", "alpha"): sparse_l1.solve,
    ("l1", "n_nonzero"): sparse_l1.solve_nonzero,
    ("elastic-net", "alpha"): spca.solve,
    ("elastic-net", "n_nonzero"): spca.solve_nonzero,
    ("scotlass", "n_nonzero"): scotlass.solve_nonzero,
    ("l0", "n_nonzero"): sparse_l0.solve,
}
"""By the formulation, and by the argument that differs from point to point."""


@dataclass(frozen=True, slots=True, eq=False)
class SparsePath:
    """Sparse principal components along a path, from few nonzero loadings to many.

    Attributes
    ----------
    columns : ndarray of shape (n_features,)
        Names of the columns.
    alpha : ndarray of shape (n_points, k), or None
        Penalty of each component at each point; None where the formulation has none.
    components : ndarray of shape (n_points, k, n_features)
        Directions of length 1, or all zero where the penalty leaves nothing.
    n_nonzero : ndarray of shape (n_points, k)
        Nonzero loadings of each component.
    explained_variance : ndarray of shape (n_points, k)
        Adjusted variance of each component, as in :class:`eigenlens.SparsePCA`.
    explained_variance_ratio : ndarray of shape (n_points, k)
        The same as fractions of the total variance.
    objective : ndarray of shape (n_points,)
        What the fit has reached: the lower, the better; a variance for ``'scotlass'`` and ``'l0'``.
    converged : ndarray of shape (n_points,)
        Whether the fit met its tolerance.
    certificates : tuple of Certificate
        How far each fit may be from its conditions of optimality.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import sparse_path
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.standard_normal((200, 2)) * [3, 2]
    >>> X = np.repeat(hidden, 3, axis=1) + rng.standard_normal((200, 6))
    >>> path = sparse_path(X, 2, alphas=[40, 20, 0])
    >>> path.components.shape, path.total_nonzero
    ((3, 2, 6), array([ 3,  6, 12]))
    >>> [certificate.holds for certificate in path.certificates]
    [True, True, True]
    """

    columns: NDArray
    alpha: NDArray | None
    components: NDArray
    n_nonzero: NDArray
    explained_variance: NDArray
    explained_variance_ratio: NDArray
    objective: NDArray
    converged: NDArray
    certificates: tuple[Certificate, ...]

    @property
    def total_nonzero(self) -> NDArray:
        """Nonzero loadings of all components together, for each point."""
        return np.asarray(self.n_nonzero.sum(axis=1))

    @property
    def total_ratio(self) -> NDArray:
        """Fraction of the variance that all components explain together, for each point."""
        return np.asarray(self.explained_variance_ratio.sum(axis=1))

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each point."""
        found = {
            "n_nonzero": self.total_nonzero,
            "explained_variance": self.explained_variance.sum(axis=1),
            "explained_variance_ratio": self.total_ratio,
            "objective": self.objective,
            "converged": self.converged,
        }
        alpha = {} if self.alpha is None else {"alpha": self.alpha.mean(axis=1)}
        return pandas().DataFrame(alpha | found)


def sparse_path(
    X: ArrayLike,
    n_components: int | None,
    *,
    alphas: ArrayLike | None = None,
    n_nonzero: ArrayLike | None = None,
    formulation: Literal["l1", "elastic-net", "scotlass", "l0"] = "l1",
    scores: Literal["projected", "normalised"] = "projected",
    max_iter: int = 1000,
    tol: float = 1e-8,
    precomputed: bool = False,
    n_samples: int | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> SparsePath:
    """Return sparse components along a path: variance explained against nonzero loadings.

    A tall table is reduced once, for all points, to as many rows as it has columns. With
    ``formulation='l1'`` each fit starts from that of a neighbour.

    Parameters
    ----------
    X : {array-like, Blocks} of shape (n_samples, n_features)
        The data, one row a sample, as for :class:`eigenlens.SparsePCA`.
    n_components : int or None
        How many components; None for as many as there are features.
    alphas : array-like of shape (n_points,) or (n_points, n_components), optional
        Penalties, for all components or one for each. By default 20 values in geometric progression
        down to a hundredth of that from which on all loadings are zero.
    n_nonzero : array-like of shape (n_points,) or (n_points, n_components), optional
        Numbers of nonzero loadings of each component, in place of `alphas`. ``'scotlass'`` and
        ``'l0'`` need them.
    formulation, scores, max_iter, tol, precomputed, n_samples
        As for :class:`eigenlens.SparsePCA`.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row counts.
    random_state : int, RandomState instance or None, default=None
        Seed, as for :class:`eigenlens.SparsePCA`.

    Returns
    -------
    SparsePath
        Points in the order of falling alphas or rising numbers.

    Notes
    -----
    The problems have local minima, so that a plain fit at the same alpha may end elsewhere. On four
    real tables and three planted ones, the objective of ``'l1'`` was at most 4e-3 above that of a
    plain fit, at some points 1e-2 below it, and on average below it on all of them.

    Components keep their places along most of a path, but may change them from point to point.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import sparse_path
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.standard_normal((200, 2)) * [3, 2]
    >>> X = np.repeat(hidden, 3, axis=1) + rng.standard_normal((200, 6))
    >>> path = sparse_path(X, 2, alphas=[40, 20, 0])
    >>> path.n_nonzero
    array([[2, 1],
           [3, 3],
           [6, 6]])
    >>> path.total_ratio.round(2)
    array([0.45, 0.91, 0.92])
    """
    model = SparsePCA(
        n_components,
        formulation=formulation,
        scores=scores,
        max_iter=max_iter,
        tol=tol,
        precomputed=precomputed,
        n_samples=n_samples,
        random_state=random_state,
    )
    over = _over(model, alphas, n_nonzero)
    dtype, rows = _reduced(model, X, sample_weight)
    d = rows.A.shape[1]
    k = d if n_components is None else n_components
    points = _penalties(alphas, model, rows.A, k) if over == "alpha" else _numbers(n_nonzero, k, d)
    found = _walked(model, over, rows.A, points)
    _warn(found, points if over == "n_nonzero" else None)
    described = [model._described(part, rows) for part in found]

    def stacked(name: str) -> NDArray:
        return np.stack([getattr(part, name) for part in described]).astype(dtype)

    return SparsePath(
        columns=getattr(model, "feature_names_in_", column_names(X, d)),
        alpha=None if described[0].alpha is None else stacked("alpha"),
        components=np.stack([fix_signs(part) for part in stacked("components")]) + 0.0,
        n_nonzero=np.array([part.n_nonzero for part in described]),
        explained_variance=stacked("explained_variance"),
        explained_variance_ratio=stacked("explained_variance_ratio"),
        objective=np.array([_objective(part) for part in found]),
        converged=np.array([part.converged for part in found]),
        certificates=tuple(part.certificate for part in found),
    )


# ------------------------------------------------------------------------------------- the points


def _over(model: SparsePCA, alphas: ArrayLike | None, n_nonzero: ArrayLike | None) -> str:
    """Return the argument of the solvers that the path runs over, after a look at all others."""
    model._validate_params()
    if model.max_iter < 1:
        raise ValueError("max_iter=0 leaves nothing to compare along a path. Give at least 1.")
    if alphas is not None and n_nonzero is not None:
        raise ValueError(
            "Both alphas and n_nonzero are given, and a path runs over one of them. Leave one out."
        )
    over = "alpha" if n_nonzero is None else "n_nonzero"
    if (model.formulation, over) not in SOLVERS:
        raise ValueError(
            f"formulation={model.formulation!r} has no alphas to make a path of. Give n_nonzero, "
            "or take formulation='l1' or 'elastic-net'."
        )
    return over


def _penalties(alphas: ArrayLike | None, model: SparsePCA, A: NDArray, k: int) -> NDArray:
    """Return the penalties of each point, falling."""
    if alphas is None:
        largest = _largest_alpha(model, A, k)
        alphas = np.geomspace(largest, DENSE_END * largest, POINTS + 1)[1:]
    points = _points(alphas, k, "alphas")
    if not (np.isfinite(points) & (points >= 0)).all():
        raise ValueError(
            "alphas holds a negative number, NaN or inf. Give 0 or more at each point."
        )
    return points[::-1]


def _largest_alpha(model: SparsePCA, A: NDArray, k: int) -> float:
    """Return the penalty from which on the fit leaves nothing."""
    if model.formulation == "l1":
        return float(np.linalg.norm(A, axis=0).max())
    _, s, axes = np.linalg.svd(A, full_matrices=False)
    return float(2 * np.abs(s[:k, None] ** 2 * axes[:k]).max())


def _numbers(n_nonzero: ArrayLike | None, k: int, d: int) -> NDArray:
    """Return the numbers of nonzeros of each point, rising."""
    points = _points(n_nonzero, k, "n_nonzero")
    if points.min() < 1 or points.max() > d or (points % 1).any():
        raise ValueError(
            f"n_nonzero={n_nonzero!r} must hold whole numbers between 1 and n_features={d}."
        )
    return points.astype(np.int64)


def _points(given: ArrayLike | None, k: int, name: str) -> NDArray:
    """Return a row for each point and a column for each component, rising on average."""
    values = np.asarray(given, dtype=np.float64)
    if values.ndim == 1:
        values = np.repeat(values[:, None], k, axis=1)
    if values.ndim != 2 or values.shape[1] != k or not len(values):
        raise ValueError(
            f"{name} has shape {np.asarray(given).shape}. Give a list with one number for each "
            f"point of the path, or an array of such rows with {k} columns, one for each component."
        )
    return values[np.argsort(values.mean(axis=1), kind="stable")]


# ------------------------------------------------------------------------------------- the fits


def _reduced(
    model: SparsePCA, X: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[np.dtype, _Rows]:
    """Return the dtype of `X`, and the rows that `model` reduces it to, once for all points."""
    whole = sample_weight is not None
    table = model._check(X, reset=True, whole=whole, ensure_all_finite=False, ensure_min_samples=2)
    kept, weight = weighted_rows(table, sample_weight)
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            rows = model._rows(kept, weight)
    except NonFiniteError:
        model._explain_non_finite(table)
    rows.require_variance()
    return table.dtype, rows


def _walked(model: SparsePCA, over: str, A: NDArray, points: NDArray) -> list[Directions]:
    """Return a fit at each point: the middle one first, then each from its neighbour."""
    middle = len(points) // 2
    found = {middle: _fit(model, over, A, points[middle], None)}
    for i in range(middle + 1, len(points)):
        found[i] = _fit(model, over, A, points[i], found[i - 1])
    for i in reversed(range(middle)):
        found[i] = _fit(model, over, A, points[i], found[i + 1])
    in_order = [found[i] for i in range(len(points))]
    warm = (model.formulation, over) == ("l1", "alpha")
    return _and_back(model, A, points, in_order) if warm else in_order


def _and_back(
    model: SparsePCA, A: NDArray, points: NDArray, there: list[Directions]
) -> list[Directions]:
    """Go back from the sparse end until that is worse; keep the better fit at each point."""
    back: list[Directions] = []
    for alpha, first in zip(points, there, strict=True):
        second = _fit(model, "alpha", A, alpha, back[-1] if back else None)
        if _objective(second) > (1 + SAME) * _objective(first):
            break
        back.append(min(first, second, key=_objective))
    return back + there[len(back) :]


def _objective(found: Directions) -> float:
    return float(found.objective_history[-1])


def _fit(model: SparsePCA, over: str, A: NDArray, point: NDArray, near: Any) -> Directions:
    """Fit one point, from the fit `near` it where the solver takes a start; None for the first."""
    how = {over: point, "tol": model.tol, "max_iter": model.max_iter}
    if model.formulation == "l1":
        how |= {"normalise": model.scores == "normalised", "start": near and near.factors}
    else:
        how |= {"rng": model._rng()}  # the same at every point, as in a plain fit
    return SOLVERS[model.formulation, over](A, len(point), **how)


def _warn(found: list[Directions], wanted: NDArray | None) -> None:
    """Warn once of all points that did not converge, and once of numbers that were not reached."""
    open_ends = [part.certificate for part in found if not part.converged]
    if open_ends:
        worst = max(open_ends, key=lambda certificate: certificate.value)
        warnings.warn(
            f"{len(open_ends)} of {len(found)} points of the path stopped before their tolerance, "
            f"the worst of them: {worst}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if wanted is None:
        return
    reached = np.array([np.count_nonzero(part.components, axis=1) for part in found])
    if missed := np.count_nonzero((reached != wanted).any(axis=1)):
        warnings.warn(
            f"n_nonzero was not reached at {missed} of {len(found)} points: n_nonzero of the "
            "result says what was. Ask for fewer components, or give alphas.",
            UserWarning,
            stacklevel=3,
        )
