"""t-SNE: places in the plane that keep neighbours, and places for new rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.neighbors import VALID_METRICS

from .._base import Estimator
from .._compat import Interval, StrOptions, check_array
from ..ops.distances import require_distances
from ..ops.finite import require_finite
from ..ops.units import in_units
from ..solvers.affinities import conditional, joint
from ..solvers.embedding import Embedding, Schedule, descend, divergence, place
from ..solvers.solution import Monitor, Solution
from ._nearest import near_each_other, near_new, tidy
from ._tsne_engines import ENGINES, choose_engine, forces_of, intelex
from .pca import PCA

__all__ = ["TSNE"]

START = 1e-4  # standard deviation of the first column of places, at first
LOCAL = 5.0  # perplexity of new rows, which look at fewer neighbours
FARTHEST = 1e5  # of a place that is given from zero: beyond, no place feels another
JUDGED = 50_000  # rows up to which the divergence is that over all pairs


class TSNE(Estimator):
    """Places in a plane that keep neighbours: t-distributed stochastic neighbour embedding.

    Affinities between rows are Gaussian, of a width that gives each row about `perplexity`
    neighbours, and those between places have the heavy tails of Student's t, so that there is room
    for all that is not near. Places are such that the second differ least from the first::

        min over Y of  sum_ij p_ij log(p_ij / q_ij),   q_ij proportional to 1 / (1 + |y_i - y_j|^2)

    (with n_components - 1 degrees of freedom where that is more than 1). It shows clusters. Their
    sizes and the distances between them mean little: for those take :class:`eigenlens.PCA` or a
    method that keeps distances. Drop-in for :class:`sklearn.manifold.TSNE`: the same parameters and
    attributes. Added are engines, callbacks, and `transform` for new rows.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the places.
    perplexity : float, default=30.0
        How many neighbours a row has, about; less than the number of rows.
    early_exaggeration : float, default=12.0
        Factor of the affinities in the first 250 iterations, in which clusters find together.
    learning_rate : float or 'auto', default='auto'
        Length of steps. 'auto': n_samples / early_exaggeration / 4, at least 50; where the
        exaggeration is over, n_samples / 4.
    max_iter : int, default=1000
        Most iterations, at least 250.
    n_iter_without_progress : int, default=300
        After so many iterations in which the divergence does not fall, the fit ends. It is looked
        at after every 50, from the 250th on.
    min_grad_norm : float, default=1e-7
        The fit ends where the gradient is shorter.
    metric : str or callable, default='euclidean'
        Any of :class:`sklearn.neighbors.NearestNeighbors`, or 'precomputed': X then has the
        distances between all rows, or is a sparse graph of those to the nearest.
    metric_params : dict, default=None
        Further arguments of the metric.
    init : {'pca', 'random'} or ndarray of shape (n_samples, n_components), default='pca'
        Where places are at first: scores of PCA, made small, Gaussian noise as small, or given.
    verbose : int, default=0
        Accepted for compatibility: `set_callbacks` shows progress.
    random_state : int, RandomState instance or None, default=None
        Seed of ``init='random'``.
    method : {'barnes_hut', 'exact'}, default='barnes_hut'
        'barnes_hut' takes affinities to the ``3 perplexity + 1`` nearest rows for all. 'exact' has
        those between all rows, and time and memory that grow with their square.
    angle : float, default=0.5
        How large a cell of a tree may look from a place to be taken as one point, in radians. The
        engines 'exact' and 'opentsne-fft' have no tree.
    n_jobs : int, default=None
        Accepted for compatibility: threads are those that BLAS may use.
    engine : {'auto', 'exact', 'tree', 'opentsne-bh', 'opentsne-fft', 'intelex'}, default='auto'
        What computes the gradient: all pairs of places or a tree, here; a tree or a grid of
        openTSNE (extra ``tsne``); or scikit-learn-intelex. 'auto' takes all pairs for few rows,
        else the tree, which was the fastest wherever it was measured (see :meth:`choose_engine`).

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The places.
    kl_divergence_ : float
        Their divergence, over all pairs up to 50 000 rows, else as the engine estimates it.
    learning_rate_ : float
        That of the iterations with exaggeration.
    n_iter_ : int
    engine_, solver_ : str
        The engine that ran.
    converged_ : bool
        Whether the fit ended before `max_iter`, and not by a callback.
    objective_history_ : ndarray
        The divergence at every 50th iteration, as callbacks are shown it.
    X_fit_ : array of shape (n_samples, n_features)
        A copy of the rows, for `transform`.
    n_features_in_ : int

    See Also
    --------
    PCA : Directions that keep the most variance, with a way back.
    sklearn.manifold.TSNE : The class that this one stands in for.

    Notes
    -----
    Neighbours are exact. Beside `X_fit_` a fit allocates some ``100 perplexity`` bytes a row.
    Places are the same to the bit whatever the number of threads, except by 'intelex'.

    `transform` places each new row where its affinities to its nearest rows of the fit differ least
    from those of its place, with all other places fixed: it does not depend on the other new rows.
    A row that was in the fit gets the place that it has.

    References
    ----------
    L. van der Maaten, G. Hinton, Visualizing data using t-SNE, JMLR 9 (2008).
    L. van der Maaten, Accelerating t-SNE using tree-based algorithms, JMLR 15 (2014).
    G. C. Linderman et al., Fast interpolation-based t-SNE, Nature Methods 16 (2019).
    A. C. Belkina et al., Automated optimized parameters for t-SNE, Nature Comm. 10 (2019).
    P. G. Policar, M. Strazar, B. Zupan, openTSNE, J. of Statistical Software 109 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import TSNE
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(10 * rng.normal(size=(3, 8)), 40, axis=0) + rng.normal(size=(120, 8))
    >>> model = TSNE(perplexity=15, random_state=0).fit(X)
    >>> model.embedding_.shape
    (120, 2)
    >>> new = model.transform(X[:5] + 0.1)
    >>> bool(np.abs(new - model.embedding_[:40].mean(axis=0)).max() < 10)
    True
    """

    kind = "manifold"
    plane = True
    choose_engine = staticmethod(choose_engine)
    claims = frozenset({"shift", "scale", "rotation", "column_order", "zero_columns"})
    exemplar: ClassVar[Mapping[str, Any]] = {"perplexity": 3.0, "max_iter": 250}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "perplexity": [Interval(Real, 0, None, closed="neither")],
        "early_exaggeration": [Interval(Real, 1, None, closed="left")],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 250, None, closed="left")],
        "n_iter_without_progress": [Interval(Integral, -1, None, closed="left")],
        "min_grad_norm": [Interval(Real, 0, None, closed="left")],
        "metric": [StrOptions({*VALID_METRICS["brute"], "precomputed"}), callable],
        "metric_params": [dict, None],
        "init": [StrOptions({"pca", "random"}), np.ndarray],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "method": [StrOptions({"barnes_hut", "exact"})],
        "angle": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": [None, Integral],
        "engine": [StrOptions({"auto", *ENGINES})],
    }

    embedding_: NDArray
    X_fit_: Any

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        early_exaggeration: float = 12.0,
        learning_rate: float | Literal["auto"] = "auto",
        max_iter: int = 1000,
        n_iter_without_progress: int = 300,
        min_grad_norm: float = 1e-7,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Literal["pca", "random"] | NDArray = "pca",
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        method: Literal["barnes_hut", "exact"] = "barnes_hut",
        angle: float = 0.5,
        n_jobs: int | None = None,
        engine: str = "auto",
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.early_exaggeration = early_exaggeration
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_iter_without_progress = n_iter_without_progress
        self.min_grad_norm = min_grad_norm
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.verbose = verbose
        self.random_state = random_state
        self.method = method
        self.angle = angle
        self.n_jobs = n_jobs
        self.engine = engine

    # ------------------------------------------------------------------------------------ the fit

    def fit_transform(self, X: ArrayLike, y: object = None) -> NDArray:
        """Fit the model to `X` and return the places of its rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y).embedding_

    def _solve(
        self, X: Any, *, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> Embedding:
        X = tidy(X)  # else the largest of its entries, for one, would put it in order
        stored = X.data if sparse.issparse(X) else X
        require_finite(stored.sum(dtype=np.float64), 0.0)
        self._require_suited(X)
        engine = self._engine(X.shape[0])
        start = self._start(X, rng)
        P = self._affinities(X)
        schedule = self._schedule(X.shape[0])
        if engine == "intelex":
            found = intelex(P, start, schedule, self.angle, monitor=monitor)
        else:
            forces = forces_of(engine, P, self._nu, self.angle)
            found = descend(forces, start, schedule, monitor=monitor, engine=engine)
        if X.shape[0] <= JUDGED:
            found = replace(found, kl_divergence=divergence(P, found.embedding, self._nu))
        return found

    @property
    def _nu(self) -> float:
        """Degrees of freedom."""
        return float(max(self.n_components - 1, 1))

    def _schedule(self, n: int) -> Schedule:
        if isinstance(self.learning_rate, str):
            rates = max(n / self.early_exaggeration / 4, 50.0), max(n / 4, 50.0)
        else:
            rates = float(self.learning_rate), float(self.learning_rate)
        return Schedule(
            rates=rates,
            exaggeration=float(self.early_exaggeration),
            max_iter=int(self.max_iter),
            patience=int(self.n_iter_without_progress),
            min_grad_norm=float(self.min_grad_norm),
        )

    def _affinities(self, X: Any) -> Any:
        n = X.shape[0]
        k = n - 1 if self.method == "exact" else min(n - 1, int(3 * self.perplexity + 1))
        nearest, squares = near_each_other(X, k, self.metric, self.metric_params)
        require_finite(squares.sum(), 0.0)
        return joint(nearest, squares, self.perplexity)

    def _start(self, X: Any, rng: np.random.Generator) -> NDArray:
        """Return where places are at first, in single precision for the reason of `joint`."""
        shape = X.shape[0], self.n_components
        if not isinstance(self.init, str):
            return self._given(shape)
        start = START * rng.standard_normal(shape)
        if self.init == "pca" and _varies(X):
            k = min(shape[1], *X.shape)
            # rounding in single precision would depend on how X is stored
            wide = in_units(X).astype(np.float64)
            scores = PCA(k, random_state=0).set_output(transform="default").fit_transform(wide)
            start[:, :k] = START * scores / scores[:, 0].std()
        return start.astype(np.float32)

    def _given(self, shape: tuple[int, int]) -> NDArray:
        """Return the given start, checked."""
        rules = {"dtype": np.float64, "ensure_2d": False, "allow_nd": True}
        given: NDArray = check_array(self.init, input_name="init", **rules)
        if given.shape != shape:
            raise ValueError(
                f"init has shape {given.shape}, and places of {shape[0]} rows in n_components="
                f"{shape[1]} dimensions have shape {shape}. Give such an array, or init='pca'."
            )
        if np.abs(given).max() > FARTHEST:
            raise ValueError(
                f"init has a place {np.abs(given).max():.2g} away from zero, and places so far "
                "apart do not feel each other. Give smaller ones, such as 1e-4 * init / init.std()."
            )
        return given

    # ----------------------------------------------------------------------------- what is refused

    def _require_suited(self, X: Any) -> None:
        """Raise unless what is asked for can be had of such an X."""
        n, d = X.shape
        if self.perplexity >= n:
            raise ValueError(
                f"perplexity ({self.perplexity}) must be less than n_samples ({n}), for no row "
                f"has more neighbours. Ask for less than {n}, better a third of that, or give "
                "more data."
            )
        if self.method == "barnes_hut" and self.n_components > 3:
            raise ValueError(
                f"n_components={self.n_components} is more than method='barnes_hut' can do: "
                "'n_components' should be inferior to 4 for its trees. Take method='exact'."
            )
        if self.metric != "precomputed":
            return
        if isinstance(self.init, str) and self.init == "pca":
            raise ValueError(
                'The parameter init="pca" cannot be used with metric="precomputed": there are no '
                "rows to take PCA of. Take init='random', or give places."
            )
        if n != d:
            raise ValueError(
                f"metric='precomputed' needs the distances between all rows: X should be a square "
                f"distance matrix, not one of shape {X.shape}. Give that, or another metric."
            )
        if (X.data if sparse.issparse(X) else X).min(initial=0) < 0:
            raise ValueError(
                "Negative values in data passed to TSNE.fit(). With metric='precomputed', X should "
                "contain positive distances."
            )
        if not sparse.issparse(X):
            require_distances(X)
        elif self.method == "exact":
            raise TypeError(
                "method='exact' needs all distances, and a sparse X has those to the nearest only. "
                "Give a dense matrix, or take method='barnes_hut'."
            )

    def _engine(self, n: int) -> str:
        """Return the engine to take; raise if the one that is asked for cannot do it."""
        engine, k = self.engine, int(self.n_components)
        if self.method == "exact":
            if engine not in ("auto", "exact"):
                raise ValueError(
                    f"engine={engine!r} approximates, and method='exact' asks for all pairs. Take "
                    "engine='exact', or method='barnes_hut'."
                )
            return "exact"
        if engine == "auto":
            return choose_engine(n, k)
        if (engine == "opentsne-fft" and k > 2) or (engine == "intelex" and k != 2):
            only = "n_components=2" if engine == "intelex" else "n_components up to 2"
            raise ValueError(
                f"engine={engine!r} has {only} alone, not {k}. Take engine='tree', or 'auto'."
            )
        return engine

    # ---------------------------------------------------------------------------------- afterwards

    def _store(self, solution: Solution, X: Any) -> None:
        super()._store(solution, X)
        if self.metric != "precomputed":
            self.X_fit_ = tidy(X.copy())

    def _asked_to_converge(self) -> bool:
        return False  # it is run for a number of iterations, as everywhere

    def transform(self, X: ArrayLike) -> NDArray:
        """Return places of new rows among those of the fit, which stay where they are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``metric='precomputed'`` distances to all rows of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            A row that was in the fit gets the place that it has (of rows that are the same, that of
            one of them); places of others do not depend on which rows are beside them.
        """
        rows = tidy(self._fitted(X))
        if self.metric == "precomputed" and sparse.issparse(rows):
            raise TypeError(
                "X is sparse, and new rows are placed by their distances to all rows of the fit. "
                "Give these as a dense array."
            )
        perplexity = min(LOCAL, self.perplexity)
        k = min(len(self.embedding_), int(3 * perplexity + 1))
        fitted = getattr(self, "X_fit_", None)
        nearest, squares = near_new(rows, fitted, k, self.metric, self.metric_params)
        places = place(nearest, conditional(squares, perplexity), self.embedding_, self._nu)
        known = squares[:, 0] == 0
        if fitted is not None:  # some metrics put a row at a small distance from itself
            known |= _same(rows, fitted[nearest[:, 0]])
        places[known] = self.embedding_[nearest[known, 0]]
        return places.astype(rows.dtype)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def _varies(X: Any) -> bool:
    """Whether any column has more than one value."""
    return bool((X.max(axis=0) - X.min(axis=0)).max() > 0)


def _same(A: Any, B: Any) -> NDArray:
    """Return which rows of both are equal."""
    if not sparse.issparse(A) and not sparse.issparse(B):
        return np.asarray((A == B).all(axis=1))
    apart = abs(sparse.csr_array(A) - sparse.csr_array(B))
    return np.asarray(apart.sum(axis=1)).ravel() == 0
