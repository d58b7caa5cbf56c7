"""Multidimensional scaling: places in a few dimensions that keep distances."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import check_is_fitted

from .._base import Estimator, fitting
from .._compat import Interval, StrOptions, check_array
from .._text import count
from ..ops import threads
from ..ops.distances import Dense, between, matrix_of, require_distances
from ..ops.finite import NonFiniteError
from ..ops.units import in_units
from ..solvers.classical import from_points
from ..solvers.mds import Configuration, choose_solver, landmarks, placed, solve
from ..solvers.solution import Monitor
from ._pairs import checked_weights, known_pairs, weights_of_new

__all__ = ["MDS"]

NEW = 1 << 22  # distances of new points that are in memory at a time
FEW = 10  # iterations, which nobody expects to come to an end
NO_PARAMS: dict[str, Any] = {}


class MDS(Estimator):
    """Places in a few dimensions whose distances are near to given ones.

    Metric scaling finds places ``y_1, ..., y_n`` that minimise the raw stress::

        sum over i < j  of  w_ij (t_ij - |y_i - y_j|)^2

    where t_ij are distances between rows, or given dissimilarities. Non-metric scaling replaces
    t_ij by the function of it that fits best among those that never fall: only the order of
    dissimilarities counts. Drop-in for :class:`sklearn.manifold.MDS`: the same parameters,
    attributes and methods. Added are new points (`transform`), weights, pairs that are missing, and
    landmarks for many rows.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions.
    metric_mds : bool, default=True
        Whether distances count, or only their order. For the order, pairs of dissimilarity zero
        have no part in the regression, and are to be at the same place.
    n_init : int, default=1
        Random starts, of which the best end is kept. Callbacks see the iterations of all starts,
        one after the other, and may end them all; `objective_history_` has those of the best.
    init : {'classical_mds', 'random'}, default='classical_mds'
        Where to start: at the classical solution, or at random. A start of your own goes to `fit`.
    max_iter : int, default=300
        Most iterations of a start. Ten or fewer are taken as the number that is wanted: then there
        is no warning if the end is not reached.
    verbose : int, default=0
        Accepted for compatibility: nothing is printed; callbacks see each iteration.
    eps : float, default=1e-6
        Tolerance. scikit-learn stops where a step of majorisation lowers stress by less than this
        share of the sum of squared distances between places. Here the end is where it would lower
        it by about a hundredth of that: quasi-Newton steps get there in fewer.
    n_jobs : int, default=None
        Accepted for compatibility: threads are those that BLAS may use.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts, of sweeps over pairs and of landmarks.
    dissimilarity : {'euclidean', 'precomputed'}
        Deprecated: the old name of `metric`.
    metric : str or callable, default='euclidean'
        The distance between rows, as for :func:`sklearn.metrics.pairwise_distances`, or
        'precomputed' if X is the matrix of distances.
    metric_params : dict, default=None
        Further arguments of the metric.
    normalized_stress : bool or 'auto', default='auto'
        Whether `stress_` is Stress-1, the root of raw stress over the sum of squared distances
        between places. 'auto': for non-metric scaling only.
    solver : {'auto', 'smacof', 'sgd'}, default='auto'
        Majorisation with quasi-Newton steps, or the same after sweeps of stochastic gradient over
        pairs, which find better minima from random starts (see :meth:`choose_solver`).
    n_landmarks : int, default=None
        Rows to scale, drawn among all. The others are placed by their distances to these alone, and
        memory grows with the rows, not with their square. None: all rows.
    missing : {'error', 'ignore'}, default='error'
        Whether distances that are NaN are errors, or pairs of which nothing is known.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The places of the rows.
    stress_ : float
        Raw stress, or Stress-1 (see `normalized_stress`); with landmarks, of these.
    dissimilarity_matrix_ : ndarray of shape (n_samples, n_samples)
        Distances between rows; with landmarks, between these.
    disparity_ : ndarray of shape (2, n_knots)
        For non-metric scaling: dissimilarities, and below them the distances that stand for them,
        linear in between.
    X_fit_ : ndarray of shape (n_points, n_features)
        The rows that distances of new ones are taken to, unless distances are given.
    landmarks_ : ndarray of shape (n_points,)
        Which rows are landmarks, if there are any.
    n_iter_, converged_, objective_history_
        Iterations of the best start, whether it met `eps`, and raw stress after each.
    certificate_ : Certificate
        The distance of the places to their Guttman transform, relative to their size: zero if and
        only if they are stationary. At the end it is at most a tenth of the root of `eps`.
    solver_ : str

    See Also
    --------
    sklearn.manifold.MDS : The class that this one stands in for.
    sklearn.manifold.ClassicalMDS : The classical solution alone.
    KernelPCA : Other curved coordinates, with a way back.

    Notes
    -----
    A fit keeps the matrix of distances, in the dtype of X; non-metric scaling takes two more, and
    weights or missing pairs one or two. With landmarks, these are of their number. New points take
    an array of their distances, some at a time.

    Stress has many minima, and a fit ends in the one that its start leads to. The certificate tells
    that it is one, or a saddle, not that it is the lowest.

    References
    ----------
    J. de Leeuw, Applications of convex analysis to multidimensional scaling, in Recent Developments
    in Statistics (1977).
    I. Borg, P. Groenen, Modern Multidimensional Scaling, 2nd edition, Springer (2005).
    J. Kruskal, Nonmetric multidimensional scaling: a numerical method, Psychometrika 29 (1964).
    J. Zheng, S. Pawar, D. Goodman, Graph drawing by stochastic gradient descent, IEEE TVCG 25
    (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import MDS
    >>> towns = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.0, 4.0], [1.0, 2.0]])
    >>> roads = np.linalg.norm(towns[:, None] - towns, axis=2)
    >>> model = MDS(metric="precomputed").fit(roads)
    >>> places = model.embedding_
    >>> np.allclose(np.linalg.norm(places[:, None] - places, axis=2), roads)
    True
    >>> new = np.linalg.norm(towns - [2.0, 3.0], axis=1)
    >>> y = model.transform([new])
    >>> np.allclose(np.linalg.norm(places - y, axis=1), new)
    True
    """

    kind = "manifold"
    claims = frozenset(
        {
            "certificate",
            "shift",
            "scale",
            "rotation",
            "row_order",
            "column_order",
            "zero_columns",
            "repeated_rows",
        }
    )
    choose_solver = staticmethod(choose_solver)
    _remedy = "Raise max_iter or eps."

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "metric_mds": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"classical_mds", "random"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "eps": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "dissimilarity": [StrOptions({"euclidean", "precomputed", "deprecated"})],
        "metric": [str, callable, "boolean"],
        "metric_params": [dict, None],
        "normalized_stress": ["boolean", StrOptions({"auto"})],
        "solver": [StrOptions({"auto", "smacof", "sgd"})],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "missing": [StrOptions({"error", "ignore"})],
    }

    embedding_: NDArray

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric_mds: bool = True,
        n_init: int = 1,
        init: str = "classical_mds",
        max_iter: int = 300,
        verbose: int = 0,
        eps: float = 1e-6,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        dissimilarity: str = "deprecated",
        metric: str | bool | Callable[..., float] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        normalized_stress: bool | Literal["auto"] = "auto",
        solver: str = "auto",
        n_landmarks: int | None = None,
        missing: str = "error",
    ) -> None:
        self.n_components = n_components
        self.metric_mds = metric_mds
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.verbose = verbose
        self.eps = eps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.dissimilarity = dissimilarity
        self.metric = metric
        self.metric_params = metric_params
        self.normalized_stress = normalized_stress
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.missing = missing

    # ------------------------------------------------------------------------------------ the fit

    @fitting
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        init: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Find places for the rows of `X`.

        Parameters
        ----------
        X : {array-like, Blocks} of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or for ``metric='precomputed'`` the distances between them, symmetric and none of
            them negative.
        y : Ignored
            Present for the conventions of pipelines.
        init : array-like of shape (n_samples, n_dimensions), optional
            Where to start. It settles the number of dimensions.
        weights : array-like of shape (n_samples, n_samples), optional
            How much each pair counts, symmetric and none of them negative. A pair of weight zero is
            one of which nothing is known.

        Returns
        -------
        self
        """
        return self._fit(X, y, init=init, weights=weights)

    @fitting
    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        init: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
    ) -> NDArray:
        """Find places for the rows of `X`, and return them.

        Parameters
        ----------
        X, y, init, weights
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        self._fit(X, y, init=init, weights=weights)
        return self.embedding_

    def _solve(
        self,
        X: NDArray,
        *,
        weight: NDArray | None,
        rng: np.random.Generator,
        monitor: Monitor,
        init: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Configuration:
        self._warn_of_old_names(X)
        n = len(X)
        self._require_finite(X)
        if self._given:
            require_distances(X)
        start, k = self._start(init, n)
        W = None if weights is None else checked_weights(weights, n)
        rows = self._landmarks(X, rng)
        if rows is None:
            found, self._kept = self._scale(X, W, start, k, rng, monitor)
            return found
        some = X[np.ix_(rows, rows)] if self._given else X[rows]
        start = None if start is None else start[rows]
        among = None if W is None else W[np.ix_(rows, rows)]
        found, self._kept = self._scale(some, among, start, k, rng, monitor)
        self.landmarks_ = rows
        everyone = np.empty((n, k))
        everyone[rows] = found.embedding
        rest = np.setdiff1d(np.arange(n), rows)
        to_some = None if W is None else W[np.ix_(rest, rows)]
        apart = X[np.ix_(rest, rows)] if self._given else X[rest]
        everyone[rest] = self._places(apart, found.embedding, some, found.disparity, to_some)
        return replace(found, embedding=everyone)

    def _scale(
        self,
        X: NDArray,
        W: NDArray | None,
        start: NDArray | None,
        k: int,
        rng: np.random.Generator,
        monitor: Monitor,
    ) -> tuple[Configuration, NDArray]:
        """Return places for rows or distances `X`, and the distances."""
        D = self._distances(X)
        T, W = known_pairs(D, W)
        init: list[NDArray | None] | int = [start]
        if start is None and self.init == "random":
            init = self.n_init
        elif start is None and self._euclidean and W is None and X.shape[1] < len(X):
            init = [from_points(X, k).T]
        solver = self.solver
        if solver == "auto":
            solver = choose_solver(len(T), self.init if start is None else "given", self.max_iter)
        found = solve(
            T,
            k,
            W=W,
            ranks=self._ranks,
            starts=init,
            solver=solver,
            eps=self.eps,
            max_iter=self.max_iter,
            rng=rng,
            monitor=monitor,
        )
        normalized = self._ranks if self.normalized_stress == "auto" else self.normalized_stress
        shown = (found.normalized or 0.0) if normalized else found.stress
        return replace(found, stress=shown, normalized=None), D

    def _store(self, solution: Any, X: Any) -> None:
        rows = getattr(self, "landmarks_", None)
        super()._store(solution, X)
        self.dissimilarity_matrix_ = self._kept
        del self._kept
        if not self._given:
            self.X_fit_ = X.copy() if rows is None else X[rows]

    def _asked_to_converge(self) -> bool:
        return self.max_iter > FEW

    # ---------------------------------------------------------------------------------- new points

    def transform(self, X: ArrayLike, *, weights: ArrayLike | None = None) -> NDArray:
        """Return places for new rows, each where its own stress against the fitted ones is lowest.

        The places of the fit stay as they are, and each row is placed by itself. Of a row of the
        fit it gives the place that the fit gave, to the tolerance of the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_fitted)
            Rows, or for ``metric='precomputed'`` the distances of new points to those of the fit;
            with landmarks, those to the landmarks do.
        weights : array-like of shape (n_samples, n_points), optional
            How much each distance counts: to points of the fit, or to landmarks if there are any.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        rows = getattr(self, "landmarks_", None)
        given = self._given
        if given and rows is not None and np.shape(X)[1:] == rows.shape:
            rules = {"dtype": [np.float64, np.float32], "input_name": "X", "estimator": self}
            new = check_array(X, ensure_all_finite=self._ensure_all_finite(), **rules)
        else:
            new = self._fitted(X)
            new = new[:, rows] if given and rows is not None else new
        places = self.embedding_ if rows is None else self.embedding_[rows]
        if given and np.fmin.reduce(new, axis=None) < 0:
            raise ValueError(
                f"X has a negative entry, {np.fmin.reduce(new, axis=None):.3g}, and distances have "
                "none. Of similarities s give, for instance, 1 - s."
            )
        W = weights_of_new(weights, (len(new), len(places)))
        function = getattr(self, "disparity_", None)
        points = getattr(self, "X_fit_", None)
        return self._places(new, places, points, function, W).astype(new.dtype, copy=False)

    def _places(
        self,
        new: NDArray,
        places: NDArray,
        points: NDArray | None,
        function: NDArray | None,
        W: NDArray | None,
    ) -> NDArray:
        """Return the places of new rows, or of distances to `places`, some rows at a time."""
        parts = []
        for rows in threads.spans(len(new), max(64, NEW // len(places))) if len(new) else []:
            apart = (
                new[rows] if points is None or self._given else self._distances(new[rows], points)
            )
            if self._euclidean and not np.isfinite(apart).all():
                self._explain_non_finite(new)
            T = np.array(apart, dtype=np.float64, order="C")
            if function is not None:
                at_zero = T == 0
                knots = function.astype(np.float64) if function.size else np.zeros((2, 1))
                T = np.where(np.isnan(T), np.nan, np.interp(T, *knots))
                T[at_zero] = 0.0
            mine = None if W is None else W[rows]
            if mine is not None:
                T[mine == 0] = np.nan
            if (lost := np.isnan(T).all(axis=1)).any():
                first = rows.start + int(np.flatnonzero(lost)[0])
                raise ValueError(
                    f"Row {first} of X has no known distance to any point of the fit, and has no "
                    "place. Leave it out."
                )
            parts.append(placed(T, places, mine))
        return np.concatenate(parts) if parts else np.empty((0, places.shape[1]))

    # --------------------------------------------------------------------------------------- parts

    @property
    def _euclidean(self) -> bool:
        """Whether distances are lengths of differences of rows."""
        return self._metric in ("euclidean", "l2") and not self.metric_params

    @property
    def _given(self) -> bool:
        return self._metric == "precomputed"

    @property
    def _metric(self) -> Any:
        """The metric, under its old name or its new one."""
        if self.dissimilarity != "deprecated":
            return self.dissimilarity
        return "euclidean" if isinstance(self.metric, bool) else self.metric

    @property
    def _ranks(self) -> bool:
        return not (self.metric if isinstance(self.metric, bool) else self.metric_mds)

    def _warn_of_old_names(self, X: NDArray) -> None:
        if self.dissimilarity != "deprecated":
            if not isinstance(self.metric, bool) and self.metric != "euclidean":
                raise ValueError(
                    "You provided both `dissimilarity` and `metric`. Please use only `metric`."
                )
            warnings.warn(
                "The `dissimilarity` parameter is deprecated. Use `metric` instead.",
                FutureWarning,
                stacklevel=8,
            )
        if isinstance(self.metric, bool):
            warnings.warn(
                f"Use metric_mds={self.metric} instead of metric={self.metric}, which is the "
                "distance between rows.",
                FutureWarning,
                stacklevel=8,
            )
        if X.shape[0] == X.shape[1] and not self._given:
            warnings.warn(
                "The provided input is a square matrix. Note that fit takes its rows as samples. "
                "If it is a matrix of distances, set metric='precomputed'.",
                UserWarning,
                stacklevel=8,
            )

    def _require_finite(self, X: NDArray) -> None:
        finite = np.isfinite(X)
        if self._ensure_all_finite() == "allow-nan":
            finite |= np.isnan(X)
        if not finite.all():
            raise NonFiniteError

    def _start(self, init: ArrayLike | None, n: int) -> tuple[NDArray | None, int]:
        """Return the start that was given, if any, and the number of dimensions."""
        k = self.n_components
        if init is None:
            if k > n:
                raise ValueError(
                    f"n_components={k} is more than the {count(n, 'row')} of X, which fit into "
                    f"{max(n - 1, 1)} dimensions. Ask for fewer."
                )
            if self.n_init != 1 and self.init == "classical_mds":
                warnings.warn(
                    f"n_init={self.n_init} starts are asked for, and the classical start is one. "
                    "Take init='random' for several.",
                    UserWarning,
                    stacklevel=8,
                )
            return None, k
        start = check_array(init, dtype=np.float64, input_name="init")
        if len(start) != n:
            raise ValueError(
                f"init matrix should be of shape ({n}, {start.shape[1]}), a row for each of X, and "
                f"has {count(len(start), 'row')}."
            )
        if self.n_init != 1:
            warnings.warn(
                "Explicit initial positions passed: performing only one init of the MDS instead of "
                f"{self.n_init}",
                UserWarning,
                stacklevel=8,
            )
        return start, start.shape[1]

    def _landmarks(self, X: NDArray, rng: np.random.Generator) -> NDArray | None:
        """Return the rows to scale, if not all of them."""
        n, m = len(X), self.n_landmarks
        if m is None or m >= n:
            return None
        if m <= self.n_components:
            raise ValueError(
                f"n_landmarks={m} points cannot settle a place in {self.n_components} dimensions. "
                f"Take at least {self.n_components + 1}; some hundreds are better."
            )

        if self._euclidean:
            space, everyone = Dense(in_units(X)), np.arange(n)

            def apart(i: int) -> NDArray:
                return space.pairs(everyone, np.full(n, i))
        else:

            def apart(i: int) -> NDArray:
                D = X[i] if self._given else self._distances(X, X[i : i + 1])[:, 0]
                return D.astype(np.float64) ** 2

        return landmarks(apart, n, int(m), rng)

    def _distances(self, X: NDArray, points: NDArray | None = None) -> NDArray:
        """Return distances of rows to points, or between rows; or those that were given."""
        if self._given:
            return X
        if self._euclidean:
            D = matrix_of(X) if points is None else between(X, points)
            if not np.isfinite(D.max(initial=0.0)):
                self._refuse_large(D.dtype)
            return D
        holes = {} if self._ensure_all_finite() is True else {"ensure_all_finite": "allow-nan"}
        D = pairwise_distances(
            X, points, metric=self._metric, **(self.metric_params or NO_PARAMS), **holes
        )
        if (
            points is None
            and not (np.isfinite(D) | (np.isnan(D) & (self.missing == "ignore"))).all()
        ):
            raise ValueError(
                f"metric={self._metric!r} gives distances that are not finite, for rows that are. "
                "Take another metric, or missing='ignore' if these are not known."
            )
        return D.astype(X.dtype, copy=False)

    def _ensure_all_finite(self) -> bool | Literal["allow-nan"]:
        takes_holes = self._metric in ("precomputed", "nan_euclidean") or callable(self._metric)
        return "allow-nan" if self.missing == "ignore" and takes_holes else True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._given
        tags.input_tags.allow_nan = self._ensure_all_finite() == "allow-nan"
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])
