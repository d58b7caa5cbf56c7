"""Isomap: coordinates that keep the distances along a curved surface."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.neighbors import (
    VALID_METRICS,
    BallTree,
    KDTree,
    NearestNeighbors,
    sort_graph_by_row_values,
)
from sklearn.utils.validation import check_is_fitted

from .._base import Estimator
from .._compat import Interval, StrOptions
from ..ops import threads
from ..ops.distances import require_distances
from ..ops.finite import NonFiniteError
from ..ops.graph import Graph
from ..ops.paths import through
from ..solvers import isomap as isomap_solver
from ..solvers.isomap import Embedding, Triangulation
from ..solvers.kernel import Expansion, choose_solver
from ..solvers.solution import Monitor
from ._nearest import tidy
from ._neighbourhoods import nearby
from ._pieces import bridges, fewest_neighbours, in_brief, smallest_radius
from .kernel_pca import TOL, KernelPCA

__all__ = ["Isomap"]

CELLS = 1 << 20  # distances of new rows that are in memory at a time, for each thread

_finders: WeakKeyDictionary[Isomap, tuple[NearestNeighbors, NearestNeighbors]] = WeakKeyDictionary()
"""The search of each model as it was asked for and as it was made, with a tree of the rows.

A tree counts its queries, and a model file cannot hold one. So it is no part of the model, and is
made again where it is not here."""


class Isomap(Estimator):
    """Isomap: a curved surface laid out flat, so that distances along it are kept.

    Rows are joined to their neighbours, and the distance of any two is the length of the shortest
    way D along these edges. Coordinates Z are those of classical scaling, with H the centring::

        min over Z of  |H (-D^2 / 2) H - Z Z'|

    Drop-in for :class:`sklearn.manifold.Isomap`: the same parameters, attributes and methods. Added
    are landmarks, whose memory and time grow with the rows and not with their square, the residual
    variance, and a message that says which `n_neighbors` joins a graph in pieces.

    Parameters
    ----------
    n_neighbors : int or None, default=5
        Neighbours of each row. Too few, and the graph falls into pieces; too many, and it takes
        short cuts through the air.
    radius : float or None, default=None
        Instead, rows up to so far away are neighbours; `n_neighbors` must be None then.
    n_components : int, default=2
        Coordinates to find. Those that would have a negative eigenvalue are zero.
    eigen_solver : {'auto', 'arpack', 'dense'}, default='auto'
        Block Lanczos, or LAPACK on the whole matrix. 'auto': the quicker.
    tol : float, default=0
        Largest eigen-residual of 'arpack', relative to the first eigenvalue; 0 stands for 1e-11.
    max_iter : int, default=None
        Most steps of 'arpack'. None: until `tol` is met.
    path_method : {'auto', 'FW', 'D'}, default='auto'
        Accepted for compatibility: all give the same distances, and one way is the fastest.
    neighbors_algorithm : {'auto', 'brute', 'kd_tree', 'ball_tree'}, default='auto'
        How :class:`sklearn.neighbors.NearestNeighbors` finds neighbours.
    n_jobs : int, default=None
        Of the search for neighbours. Everything else uses the threads that BLAS may use.
    metric : str or callable, default='minkowski'
        Of :func:`sklearn.metrics.pairwise_distances`, or 'precomputed': X has distances between all
        rows, or is a sparse matrix of distances to neighbours.
    p : float, default=2
        Power of 'minkowski'.
    metric_params : dict, default=None
        Further arguments of the metric.
    n_landmarks : int or None, default=None
        Measure ways from so many rows only, and place all others by their distances to them. Of
        the landmarks, 32 are far from each other and the rest drawn at random. Some hundred do for
        a surface. None: from all.
    disconnected : {'join', 'error'}, default='join'
        What to do if the graph is in pieces: join every two by their nearest pair, with a warning,
        as scikit-learn does; or raise.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks and of the eigensolver.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates, uncorrelated, those of largest variance first.
    dist_matrix_ : ndarray of shape (n_samples, n_samples) or (n_samples, n_landmarks)
        Distances along the graph from all rows, to all or to the landmarks.
    residual_variance_ : float
        ``1 - r^2``, r being the correlation of these distances with those of the coordinates.
    landmarks_ : ndarray of shape (n_landmarks,)
        Places of the landmarks, in rising order, if there are any.
    kernel_pca_ : KernelPCA
        That of ``-D^2 / 2`` between the points measured from, without the matrix itself.
    nbrs_ : sklearn.neighbors.NearestNeighbors
        Fitted to the rows.
    X_fit_ : array of shape (n_samples, n_features)
        A copy of the rows; for precomputed distances these themselves.
    triangulation_ : Triangulation
        Places a row by its distances along the graph.
    n_pieces_ : int
        Into which the graph fell before it was joined.
    solver_ : str
    certificate_ : Certificate
        Bound on the error of the eigenvalues relative to the first, from residuals.
    n_iter_, converged_, objective_history_
        Steps of the eigensolver, whether the certificate holds, and the sum of eigenvalues at each
        look.

    See Also
    --------
    PCA : For structure that is flat.
    KernelPCA : Curved components with an inverse, and many kernels.
    sklearn.manifold.Isomap : The class that this one stands in for.

    Notes
    -----
    A fit allocates one n_samples by n_samples array, or n_samples by n_landmarks, and for 'dense'
    two more of the size of the points measured from.

    References
    ----------
    J. B. Tenenbaum, V. de Silva, J. C. Langford, A global geometric framework for nonlinear
    dimensionality reduction, Science 290 (2000).
    V. de Silva, J. B. Tenenbaum, Global versus local methods in nonlinear dimensionality reduction,
    NIPS 15 (2003).

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenlens import Isomap
    >>> X, t = make_swiss_roll(1500, random_state=0)
    >>> model = Isomap(n_neighbors=10, n_landmarks=100, random_state=0).fit(X)
    >>> model.embedding_.shape
    (1500, 2)
    >>> bool(model.residual_variance_ < 0.01)
    True
    >>> model.transform(X[:3]).shape
    (3, 2)
    """

    kind = "manifold"
    claims = frozenset({"uncorrelated", "shift", "rotation", "column_order", "zero_columns"})
    # the checks of the contract have ten rows, or clusters: no number of neighbours suits them all
    exemplar: ClassVar[dict[str, Any]] = {"n_neighbors": None, "radius": 1e3}
    _remedy = "Raise tol or max_iter, or take eigen_solver='dense', which is exact."

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "radius": [Interval(Real, 0, None, closed="both"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "eigen_solver": [StrOptions({"auto", "arpack", "dense"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "path_method": [StrOptions({"auto", "FW", "D"})],
        "neighbors_algorithm": [StrOptions({"auto", "brute", "kd_tree", "ball_tree"})],
        "n_jobs": [Integral, None],
        "metric": [StrOptions({"precomputed"}.union(*VALID_METRICS.values())), callable],
        "p": [Interval(Real, 1, None, closed="left")],
        "metric_params": [dict, None],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "disconnected": [StrOptions({"join", "error"})],
        "random_state": ["random_state"],
    }

    embedding_: NDArray
    dist_matrix_: NDArray
    triangulation_: Triangulation
    kernel_pca_: KernelPCA
    X_fit_: Any

    def __init__(
        self,
        *,
        n_neighbors: int | None = 5,
        radius: float | None = None,
        n_components: int = 2,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        path_method: str = "auto",
        neighbors_algorithm: str = "auto",
        n_jobs: int | None = None,
        metric: str | Callable[..., float] = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        disconnected: Literal["join", "error"] = "join",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.path_method = path_method
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_landmarks = n_landmarks
        self.disconnected = disconnected
        self.random_state = random_state

    # ------------------------------------------------------------------------------------ the fit

    def _check(self, X: Any, *, reset: bool, whole: bool = True, **rules: Any) -> Any:
        if isinstance(X, KDTree | BallTree):
            X = np.asarray(X.data)
        elif isinstance(X, NearestNeighbors):
            check_is_fitted(X)
            X = X._fit_X
        rows = super()._check(X, reset=reset, whole=whole, **rules)
        if sparse.issparse(rows) and self.metric == "precomputed":
            return sort_graph_by_row_values(rows.tocsr(), copy=True, warn_when_not_sorted=False)
        return tidy(rows)

    def _solve(
        self, X: Any, *, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> Embedding:
        self._require_suited(X)
        self.X_fit_ = X if self.metric == "precomputed" else X.copy()
        self._search = NearestNeighbors(
            n_neighbors=self.n_neighbors,
            radius=self.radius,
            algorithm=self.neighbors_algorithm,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        )
        n = X.shape[0]
        k = self._rank(n)
        graph = self._graph()
        landmarks = self._draw(graph, k, rng)
        measured = n if landmarks is None else len(landmarks)
        solver = choose_solver(measured, k) if self.eigen_solver == "auto" else self.eigen_solver
        found, expansion = isomap_solver.solve(
            graph,
            k,
            landmarks=landmarks,
            solver=solver,
            rng=rng,
            tol=self.tol or TOL,
            max_steps=self.max_iter,
            monitor=monitor,
            dtype=X.dtype,
        )
        if landmarks is not None:
            self.landmarks_ = landmarks
        self.kernel_pca_ = self._kernel_pca(expansion, X)
        return found

    def _require_suited(self, X: Any) -> None:
        """Raise unless what is asked for can be had of such an X."""
        values = X.data if sparse.issparse(X) else X
        total = values.sum(dtype=np.float64)
        if not (np.isfinite(total) or (np.isnan(total) and self._takes_nan)):
            raise NonFiniteError
        wide = float(np.fmax.reduce(values, axis=None, initial=0.0))
        wide -= float(np.fmin.reduce(values, axis=None, initial=0.0))
        if not np.isfinite(X.shape[1] * wide * wide):  # a tree would lose neighbours
            raise NonFiniteError
        _require_squares(wide, np.dtype(np.float64))
        n = X.shape[0]
        if self.n_neighbors is not None and self.radius is not None:
            raise ValueError(
                f"Both n_neighbors and radius are provided. Take Isomap(radius={self.radius}, "
                "n_neighbors=None) for neighbours within that radius, or leave radius away."
            )
        if self.n_neighbors is None and self.radius is None:
            raise ValueError("Neither n_neighbors nor radius is given. Set one of them.")
        if self.n_neighbors is not None and self.n_neighbors >= n:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} needs at least {self.n_neighbors + 1} rows, and X "
                f"has n_samples={n}. Ask for at most {n - 1}, or give more data."
            )
        if self.metric == "precomputed":
            _require_distances(X)

    def _rank(self, n: int) -> int:
        """Return how many coordinates to find."""
        if self.n_components > n:
            warnings.warn(
                f"n_components={self.n_components} is more than the {n} rows of X, and no more "
                f"than {n} coordinates can be found. Ask for at most {n}, or give more data.",
                UserWarning,
                stacklevel=8,
            )
        return min(self.n_components, n)

    def _draw(self, graph: Graph, k: int, rng: np.random.Generator) -> NDArray | None:
        """Return the landmarks; None if all rows are."""
        if self.n_landmarks is None or self.n_landmarks >= len(graph):
            return None
        if self.n_landmarks <= k:
            raise ValueError(
                f"n_landmarks={self.n_landmarks} cannot place points in {k} dimensions, which "
                f"takes at least {k + 1}. Some hundred are a good number."
            )
        return isomap_solver.draw_landmarks(graph, self.n_landmarks, rng)

    def _graph(self) -> Graph:
        """Return the graph of neighbours, in one piece."""
        X, finder = self.X_fit_, self.nbrs_
        starts, near, lengths = nearby(finder, X)
        _require_squares(float(lengths.max(initial=0.0)), X.dtype)
        n = X.shape[0]
        graph = Graph.of_edges(n, np.repeat(np.arange(n), np.diff(starts)), near, lengths)
        labels = graph.pieces()
        self.n_pieces_ = int(labels.max()) + 1
        return graph if self.n_pieces_ == 1 else self._joined(graph, labels)

    def _joined(self, graph: Graph, labels: NDArray) -> Graph:
        """Return the graph with its pieces joined, and warn; or raise."""
        X, finder = self.X_fit_, self.nbrs_
        what = (
            f"The number of connected components of the neighbors graph is {in_brief(labels)}, "
            "and how far they are from each other along the data is not known."
        )
        if self.metric == "precomputed" and sparse.issparse(X):
            raise RuntimeError(
                f"{what} A sparse graph says nothing of other pairs. Give one of more neighbours, "
                "or the distances between all rows."
            )
        found = bridges(X, finder, labels)
        if self.radius is not None:
            cure = f"radius={_rounded_up(smallest_radius(found, labels)):.4g} joins them."
        elif enough := fewest_neighbours(finder, len(graph), finder.n_neighbors):
            cure = f"n_neighbors={enough} is the smallest number that joins them."
        else:
            cure = "They are so far apart that no small n_neighbors joins them: fit each alone?"
        if self.disconnected == "error":
            raise ValueError(f"{what} {cure} disconnected='join' adds the nearest pairs.")
        warnings.warn(
            f"{what} They are joined by the nearest pair of every two. {cure}",
            UserWarning,
            stacklevel=9,
        )
        return graph.with_edges(*found)

    def _kernel_pca(self, expansion: Expansion, X: Any) -> KernelPCA:
        """Return the kernel PCA behind the coordinates, fitted, without its matrix."""
        model = KernelPCA(
            len(expansion.eigenvalues),
            kernel="precomputed",
            eigen_solver=self.eigen_solver,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )
        Estimator._store(model, expansion, X)
        model.n_features_in_ = len(expansion.scores)
        return model

    @property
    def nbrs_(self) -> NearestNeighbors:
        """The search for neighbours among the rows of the fit."""
        if not hasattr(self, "X_fit_"):
            raise AttributeError("nbrs_ is there once the model is fitted.")
        asked, finder = _finders.get(self, (None, None))
        if asked is not self._search:  # as every fit has one of its own
            finder = NearestNeighbors(**self._search.get_params()).fit(self.X_fit_)
            _finders[self] = self._search, finder
        return finder

    def fit_transform(self, X: ArrayLike, y: object = None) -> NDArray:
        """Fit to `X`, and return its coordinates.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y).embedding_.copy()

    # ----------------------------------------------------------------------------- what it is for

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the coordinates of `X`: its rows joined to the graph by their neighbours.

        A row of the fit gets its own coordinates again.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For ``metric='precomputed'``, distances of new rows to those of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        rows = self._fitted(X)
        D, places = self.dist_matrix_, self.triangulation_
        starts, near, lengths = nearby(self.nbrs_, self.X_fit_, rows)
        if (alone := np.flatnonzero(np.diff(starts) == 0)).size:
            raise ValueError(
                f"Row {alone[0]} of X has no neighbour within radius={self._search.radius} among "
                "the rows of the fit. Fit with a larger radius, or with n_neighbors."
            )
        spans = threads.spans(len(starts) - 1, max(1, CELLS // D.shape[1]))

        def part(s: int) -> NDArray:
            K = np.empty((spans[s].stop - spans[s].start, D.shape[1]))
            through(D, starts, near, lengths, spans[s].start, K)
            return (K * K * -0.5) @ places.weights - places.offset

        placed = np.concatenate(threads.run(part, len(spans)))
        return placed.astype(rows.dtype, copy=False)

    def reconstruction_error(self) -> float:
        """Return ``|H (-D^2 / 2) H - Z Z'| / n``, of all rows or of the landmarks.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        D = self.dist_matrix_[self.landmarks_] if hasattr(self, "landmarks_") else self.dist_matrix_
        return isomap_solver.kernel_error(D, self.kernel_pca_.axes_.scores)

    @property
    def _takes_nan(self) -> bool:
        return self.metric == "nan_euclidean"

    def _ensure_all_finite(self) -> bool | Literal["allow-nan"]:
        return "allow-nan" if self._takes_nan else True

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_nan
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def _require_distances(X: Any) -> None:
    """Raise unless `X` can be distances between all rows, or to some neighbours."""
    if not sparse.issparse(X):
        require_distances(X)
        return
    # who is a neighbour of whom need not be mutual
    if X.shape[0] != X.shape[1] or X.data.min(initial=0) < 0:
        raise ValueError(
            f"metric='precomputed' takes a square matrix of distances, none below zero. X has "
            f"shape {X.shape} and the least entry {X.data.min(initial=0):.4g}."
        )


def _require_squares(size: float, dtype: np.dtype) -> None:
    """Raise if distances of that size, and not zero, have squares that are."""
    if size > 0 and size * size < np.finfo(dtype).tiny:
        raise ValueError(
            f"X holds distances of {size:.2g} at most, and their squares vanish in {dtype}. "
            "Multiply X by a constant first, for example by 1 / np.abs(X).max()."
        )


def _rounded_up(radius: float) -> float:
    """Return the radius rounded up to four digits, so that what is printed is enough."""
    if radius == 0:
        return 0.0
    unit = 10.0 ** (np.floor(np.log10(radius)) - 3)
    return float(np.ceil(radius / unit) * unit)
