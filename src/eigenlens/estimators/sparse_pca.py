"""Sparse principal component analysis."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from .._base import StrPath, fitting
from .._compat import Interval, StrOptions
from ..data.blocks import WHOLE_BYTES, Blocks
from ..ops import threads
from ..ops.centred import product
from ..ops.finite import require_finite, require_variance
from ..ops.moments import Moments
from ..ops.scatter import mean_and_square
from ..ops.signs import signs_of
from ..ops.weights import mass_of, roots_of
from ..solvers import scotlass, sparse_l0, sparse_l1, spca
from ..solvers.directions import Directions, adjusted_variances, per_component
from ..solvers.solution import Monitor, Solution, ignore
from ._gaussian import require_more_than_one
from ._streaming import Streaming, attributes

__all__ = ["SparsePCA"]

FORMULATIONS = ("l1", "elastic-net", "scotlass", "l0")


@dataclass(frozen=True, eq=False)
class _Rows:
    """Centred rows A, at most as many as there are columns or samples, with ``A'A = X'X``."""

    A: NDArray
    mean: NDArray
    mass: float
    roots: NDArray | None = None
    """Square roots of the weights, one a row, where rows are those of the table."""

    @classmethod
    def of_scatter(cls, scatter: NDArray, mean: NDArray, mass: float) -> _Rows:
        """Return rows with the scatter matrix X'X, from its eigenvectors."""
        with threads.blas_for(float(len(scatter)) ** 3):
            values, vectors = np.linalg.eigh(scatter)
        kept = values > len(values) * np.finfo(float).eps * values[-1]
        A = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
        return cls(A[::-1], mean, mass)

    @classmethod
    def of_moments(cls, moments: Moments) -> _Rows:
        return cls.of_scatter(moments.scatter, moments.mean.copy(), moments.mass)

    @classmethod
    def of_table(cls, X: NDArray, weight: NDArray | None) -> _Rows:
        mean, square = mean_and_square(X, weight)
        require_finite(mean, square)
        roots = roots_of(len(X), weight, np.dtype(np.float64))
        A = (X.astype(np.float64) - mean) * roots[:, None]
        return cls(A, mean, mass_of(len(X), weight), roots)

    @property
    def total_variance(self) -> float:
        """The variance of all columns together."""
        return float(np.vdot(self.A, self.A)) / (self.mass - 1)

    def require_variance(self) -> None:
        """Raise an error where there is nothing to explain."""
        require_more_than_one(self.mass)
        require_variance(self.total_variance, self.A.dtype)


@dataclass(frozen=True, kw_only=True)
class _Sparse(Solution):
    """Sparse directions of a centred table; see :class:`SparsePCA` for the fields."""

    mean: NDArray
    components: NDArray
    explained_variance: NDArray
    explained_variance_ratio: NDArray
    projected_variance: NDArray
    total_variance: float
    n_nonzero: tuple[int, ...]
    alpha: NDArray | None
    l1_bound: NDArray | None
    scores: NDArray | None


class SparsePCA(Streaming):
    """Sparse principal components: directions of few variables, which can be read.

    It finds scores Y and loadings D that reconstruct the centred table, most loadings zero::

        min over Y, D of  1/2 |X - Y D'|^2 + sum_k alpha_k |D_k|_1,   |Y_k| <= 1

    Drop-in for :class:`sklearn.decomposition.SparsePCA`: the same parameters, attributes, methods,
    start and iteration, so the same minimum, sooner: a tall table is first reduced to as many rows
    as it has columns, which is exact. Components are not orthogonal and the problem has local
    minima; where variance matters more than few variables do, use :class:`eigenlens.PCA`.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None for as many as there are features.
    alpha : float or array-like of shape (n_components,), default=1
        Weight of the l1 penalty, one for all components or one for each. The larger, the sparser.
        Above the length of the longest centred column all is zero. Not used with `n_nonzero`.
    ridge_alpha : float, default=0.01
        Ridge shrinkage of the scores in `transform`.
    max_iter : int, default=1000
        Most iterations, each an update of all loadings and all scores.
    tol : float, default=1e-8
        The iteration ends when it lowers the objective by less than this fraction of it, and the
        optimality residual is at most ``sqrt(tol)``.
    method : {'lars', 'cd'}, default='lars'
        Accepted for compatibility: the lassos are solved by coordinate descent, to the same answer.
    n_jobs : int or None, default=None
        Accepted for compatibility: large tables use the threads that BLAS may use.
    U_init : ndarray of shape (n_samples, n_components), default=None
        Scores to start from, if `V_init` is given too; else the singular vectors are the start.
    V_init : ndarray of shape (n_components, n_features), default=None
        Components to start from, if `U_init` is given too.
    verbose : int or bool, default=False
        Accepted for compatibility: use ``set_callbacks(sklearn.callback.ProgressBar())``.
    random_state : int, RandomState instance or None, default=None
        Accepted for compatibility: nothing is left to chance.
    formulation : {'l1', 'elastic-net', 'scotlass', 'l0'}, default='l1'
        The problem that is solved. ``'l1'``: the one above. ``'elastic-net'``: regressions of
        principal components (Zou, Hastie, Tibshirani 2006), `alpha` their l1 penalty, which is
        n_samples - 1 times what it is for a covariance matrix.
        ``'scotlass'``: most variance within `l1_bound`, orthogonal components (Jolliffe,
        Trendafilov, Uddin 2003). ``'l0'``: most variance with `n_nonzero` loadings. `tol` is the
        tolerance of the certificate in the last three.
    n_nonzero : int, array-like of shape (n_components,) or None, default=None
        How many nonzero loadings each component shall have. ``'l0'`` has no other penalty; for the
        others it takes the place of `alpha` or `l1_bound`, and `alpha_` and `l1_bound_` say with
        which values the numbers were reached.
    alpha_scores : float, default=0
        Weight of an l1 penalty on the scores too, for ``'l1'``: ``+ alpha_scores |Y|_1``. Samples
        then load on few components as well. The fit keeps all rows, which takes time and memory in
        proportion to n_samples.
    groups : array-like of shape (n_features,) or None, default=None
        A label for each feature, for ``'l1'``: features with the same label are used together or
        not at all. The penalty of a component is ``alpha sum_g sqrt(n_g) |D_g|_2`` over the groups
        g of n_g features.
    scores : {'projected', 'normalised'}, default='projected'
        Whether the update of a score is projected onto the unit ball or set to length 1. The
        minima are the same.
    l1_bound : float, array-like of shape (n_components,) or None, default=None
        Largest l1 norm of a component of length 1, for ``'scotlass'``.
    precomputed : bool, default=False
        Whether X is a covariance or correlation matrix in place of a table.
    n_samples : int or None, default=None
        How many samples a precomputed matrix is of, so that `alpha` means what it does for a table.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Directions of length 1, or all zero where the penalty leaves nothing; the largest entry of
        each is positive.
    n_nonzero_ : tuple of int
        Nonzero loadings of each component.
    alpha_ : ndarray of shape (n_components_,)
        Penalty of each component, for ``'l1'`` and ``'elastic-net'``.
    scores_ : ndarray of shape (n_samples, n_components_)
        Scores of the rows that were fitted, most of them zero, with `alpha_scores`: together with
        the loadings the minimum of the objective. Columns have a length of 1 at most.
    l1_bound_ : ndarray of shape (n_components_,)
        Bound that each component keeps, for ``'scotlass'``: larger than `l1_bound` where no vector
        that is orthogonal to the earlier ones was found within it.
    explained_variance_ : ndarray of shape (n_components_,)
        Adjusted variance (Zou, Hastie, Tibshirani 2006): that of the scores ``X v``, less what the
        scores before explain of it, with n_samples - 1 in the denominator.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        The same as fractions of the total variance.
    projected_variance_ : ndarray of shape (n_components_,)
        What each component adds to the variance of X projected on the span of the components.
    total_variance_ : float
    mean_ : ndarray of shape (n_features,)
        Zero for a precomputed matrix.
    n_components_ : int
    n_samples_seen_ : int
        Rows seen by `partial_fit`. The attributes above are then solved for when first asked for.
    error_ : list of float
        The objective after each iteration, scikit-learn's name for `objective_history_`.
    solver_ : str
        The formulation that was solved.
    certificate_ : Certificate
        The optimality residual: how far loadings and scores are from the conditions that a minimum
        meets. For ``'l0'``, how much better another support may be.
    n_iter_, converged_, objective_history_
        Iterations, whether they met the tolerance, and the objective after each.

    See Also
    --------
    sklearn.decomposition.SparsePCA : The class that this one stands in for.

    Notes
    -----
    A fit allocates a few matrices of n_features squared for tall tables, a copy of X for wide ones.
    Every iteration costs ``n_features * min(n_samples, n_features) * n_components`` operations.

    A component that is all zero gets another chance in each iteration, from the column that the
    others describe worst; it stays zero only where no score could make it useful.

    References
    ----------
    J. Mairal, F. Bach, J. Ponce, G. Sapiro, Online learning for matrix factorization and sparse
    coding, JMLR 11 (2010).
    H. Zou, T. Hastie, R. Tibshirani, Sparse principal component analysis, JCGS 15 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import SparsePCA
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.standard_normal((200, 2))
    >>> X = np.repeat(hidden, 3, axis=1) + 0.1 * rng.standard_normal((200, 6))
    >>> model = SparsePCA(n_components=2, alpha=3).fit(X)
    >>> (model.components_ != 0).astype(int)
    array([[0, 0, 0, 1, 1, 1],
           [1, 1, 1, 0, 0, 0]])
    >>> SparsePCA(n_components=2, n_nonzero=2).fit(X).n_nonzero_
    (2, 2)
    """

    kind = "sparse"
    claims = frozenset(
        {
            "bounded",
            "weights",
            "streaming",
            "mergeable",
            "shift",
            "row_order",
            "column_order",
            "zero_columns",
        }
    )
    on_blocks: ClassVar[Mapping[str, Any]] = {}

    _solved = attributes(_Sparse) | {"n_components_"}
    excused: ClassVar[Mapping[str, str]] = {
        "check_estimators_nan_inf": "Its finite table is so small that alpha=1 leaves nothing, "
        "which is warned about; 'failed_refit_changes_nothing' holds that NaN and inf are refused.",
        "check_fit_score_takes_y": "It calls partial_fit after fit, which is refused: fit keeps no "
        "sums of its rows, as n_features squared numbers would go into every saved model.",
    }
    _weighs_blocks = True
    _remedy = "Raise max_iter or tol."

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0.0, None, closed="left"), "array-like"],
        "ridge_alpha": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "method": [StrOptions({"lars", "cd"})],
        "n_jobs": [Integral, None],
        "U_init": [None, np.ndarray],
        "V_init": [None, np.ndarray],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "formulation": [StrOptions(set(FORMULATIONS))],
        "n_nonzero": [None, Interval(Integral, 1, None, closed="left"), "array-like"],
        "alpha_scores": [Interval(Real, 0.0, None, closed="left")],
        "groups": [None, "array-like"],
        "scores": [StrOptions({"projected", "normalised"})],
        "l1_bound": [None, Interval(Real, 1, None, closed="left"), "array-like"],
        "precomputed": ["boolean"],
        "n_samples": [None, Interval(Integral, 2, None, closed="left")],
    }

    components_: NDArray
    mean_: NDArray
    objective_history_: NDArray

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float | ArrayLike = 1,
        ridge_alpha: float = 0.01,
        max_iter: int = 1000,
        tol: float = 1e-8,
        method: Literal["lars", "cd"] = "lars",
        n_jobs: int | None = None,
        U_init: NDArray | None = None,
        V_init: NDArray | None = None,
        verbose: int | bool = False,
        random_state: int | np.random.RandomState | None = None,
        formulation: str = "l1",
        n_nonzero: int | ArrayLike | None = None,
        alpha_scores: float = 0,
        groups: ArrayLike | None = None,
        scores: Literal["projected", "normalised"] = "projected",
        l1_bound: float | ArrayLike | None = None,
        precomputed: bool = False,
        n_samples: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.ridge_alpha = ridge_alpha
        self.max_iter = max_iter
        self.tol = tol
        self.method = method
        self.n_jobs = n_jobs
        self.U_init = U_init
        self.V_init = V_init
        self.verbose = verbose
        self.random_state = random_state
        self.formulation = formulation
        self.n_nonzero = n_nonzero
        self.alpha_scores = alpha_scores
        self.groups = groups
        self.scores = scores
        self.l1_bound = l1_bound
        self.precomputed = precomputed
        self.n_samples = n_samples

    @fitting
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: StrPath | None = None,
    ) -> Self:
        """Fit the model to `X`.

        Parameters
        ----------
        X : {array-like, Blocks, Dask} of shape (n_samples, n_features)
            The data, one row a sample. It is never written to. A table of :func:`eigenlens.open`
            is taken with its names, and in blocks if it is large; a Dask array or dataframe is
            fitted where its rows are. With ``precomputed=True``, a covariance or correlation matrix
            of shape (n_features, n_features).
        y : Ignored
            Present for the conventions of pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: a whole number w is the same as w copies of the row, 0 as
            leaving it out.
        checkpoint : str or path-like, optional
            A folder for a fit in blocks to write down how far it is: after a kill the same call
            goes on from there, to the same numbers. The folder is removed when the fit is done.
            Nothing is written for a table that is not taken in blocks.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, checkpoint=checkpoint)

    def _solve(
        self, X: Any, *, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> _Sparse:
        return self._solve_rows(self._rows(X, weight), rng, monitor)

    def _solution(self) -> _Sparse:
        return self._solve_rows(_Rows.of_moments(self._moments), self._rng(), ignore)

    def _solve_rows(self, rows: _Rows, rng: np.random.Generator, monitor: Monitor) -> _Sparse:
        rows.require_variance()
        d = rows.A.shape[1]
        k = d if self.n_components is None else int(self.n_components)
        solve = {
            "l1": self._solve_l1,
            "elastic-net": self._solve_elastic_net,
            "scotlass": self._solve_scotlass,
            "l0": self._solve_l0,
        }[self.formulation]
        how = {"tol": self.tol, "max_iter": self.max_iter, "monitor": monitor}
        how |= self._structure(rows)
        return self._described(solve(rows.A, k, rng, how), rows)

    def _structure(self, rows: _Rows) -> dict[str, Any]:
        """Return what only the l1 formulation knows: a price of scores, groups of features."""
        structure: dict[str, Any] = {}
        if self.alpha_scores > 0:
            # |y| of w equal rows is w |y|, of the one row that stands for them sqrt(w) |sqrt(w) y|
            structure["alpha_scores"] = self.alpha_scores * np.asarray(rows.roots)
        if self.groups is not None:
            structure["groups"] = self._checked_groups(rows.A.shape[1])
        if structure and self.formulation != "l1":
            raise ValueError(
                f"{' and '.join(structure)} cannot be used with formulation="
                f"{self.formulation!r}. Take formulation='l1'."
            )
        return structure

    def _checked_groups(self, d: int) -> NDArray:
        groups = np.asarray(self.groups)
        if groups.shape != (d,):
            raise ValueError(
                f"groups has shape {groups.shape}, and there are {d} features. "
                "Give one label for each feature."
            )
        if self.n_nonzero is not None:
            raise ValueError(
                "n_nonzero counts single features, and groups uses them together. "
                "Give alpha in place of n_nonzero."
            )
        return groups

    def _require_stream(self, first: bool) -> None:
        if first and hasattr(self, "n_features_in_"):
            raise ValueError(
                f"This {type(self).__name__} was fitted by fit, which does not keep the sums of "
                "its rows. Give all rows to partial_fit, beginning with a new model."
            )
        if self._needs_rows():
            raise ValueError(
                "partial_fit keeps the sums of rows, and U_init, alpha_scores and precomputed need "
                "more, or are no rows. Leave them at their defaults, or call fit."
            )

    def _needs_rows(self) -> bool:
        """Whether X must be seen as it is, where other fits need no more than X'X."""
        return self.precomputed or self._has_start() or self.alpha_scores > 0

    def _fits_blocks(self, table: Blocks) -> bool:
        return not self._needs_rows() and 8 * len(table.names) ** 2 <= WHOLE_BYTES

    def _rows(self, X: Any, weight: NDArray | None) -> _Rows:
        """Return centred rows with the scatter of X: as few as there are columns, if X is tall."""
        if self.precomputed:
            return self._rows_of_matrix(X, weight)
        if isinstance(X, Blocks):
            return _Rows.of_moments(Moments.over(X, weight))
        if X.shape[0] > X.shape[1] and not self._needs_rows():
            return _Rows.of_moments(Moments.of(X, weight))
        return _Rows.of_table(X, weight)

    def _rows_of_matrix(self, X: NDArray, weight: NDArray | None) -> _Rows:
        """Return rows whose scatter is that of `n_samples` samples with the covariance X."""
        if self.n_samples is None:
            raise ValueError(
                "precomputed=True without n_samples: alpha is weighed against sums over samples. "
                "Give n_samples, the number of samples that the matrix was computed from."
            )
        if self.alpha_scores > 0:
            raise ValueError(
                "alpha_scores cannot be used with precomputed=True, where X has no samples. "
                "Give the table itself."
            )
        if weight is not None:
            raise ValueError(
                "sample_weight cannot be used with precomputed=True, where X has no samples. "
                "Give a weighted covariance matrix instead."
            )
        S = X.astype(np.float64)
        require_finite(S[0], float(S.sum()))
        slack = 1e-6 * np.abs(S).max()
        if S.shape[0] != S.shape[1] or np.abs(S - S.T).max() > slack:
            raise ValueError(
                f"X of shape {S.shape} is not a symmetric matrix, and precomputed=True takes a "
                "covariance or correlation matrix. Give one, or precomputed=False for a table."
            )
        if (least := np.linalg.eigvalsh(S)[0]) < -len(S) * slack:
            raise ValueError(
                f"X has the eigenvalue {least:.2g}, and no covariance has a negative one. "
                "Give a matrix that was computed from whole rows."
            )
        dof = self.n_samples - 1
        return _Rows.of_scatter(dof * S, np.zeros(len(S)), float(self.n_samples))

    def _solve_l1(
        self, A: NDArray, k: int, rng: np.random.Generator, how: dict[str, Any]
    ) -> Directions:
        how |= {"normalise": self.scores == "normalised", "start": self._start(A, k)}
        if self.n_nonzero is None:
            found = sparse_l1.solve(A, k, alpha=self._checked_alpha(k), **how)
            self._warn_of_zeros(found, found.largest_alpha)
            return found
        return self._with_target(sparse_l1.solve_nonzero, A, k, how)

    def _solve_elastic_net(
        self, A: NDArray, k: int, rng: np.random.Generator, how: dict[str, Any]
    ) -> Directions:
        if self.n_nonzero is not None:
            return self._with_target(spca.solve_nonzero, A, k, how)
        found = spca.solve(A, k, alpha=self._checked_alpha(k), rng=rng, **how)
        longest = np.linalg.norm(A, axis=0).max()
        self._warn_of_zeros(found, 2 * float(np.linalg.norm(A, 2) * longest))
        return found

    def _solve_scotlass(
        self, A: NDArray, k: int, rng: np.random.Generator, how: dict[str, Any]
    ) -> Directions:
        if self.l1_bound is not None and self.n_nonzero is not None:
            raise ValueError(
                f"l1_bound={self.l1_bound!r} and n_nonzero={self.n_nonzero!r} are two ways to say "
                "how sparse components are. Give one of them."
            )
        if self.n_nonzero is not None:
            return self._with_target(scotlass.solve_nonzero, A, k, how | {"rng": rng})
        if self.l1_bound is None:
            raise ValueError(
                "formulation='scotlass' needs l1_bound, the largest l1 norm of a component, or "
                "n_nonzero. Give an l1_bound from 1, for single variables, to "
                f"{np.sqrt(A.shape[1]):.3g}, for plain PCA."
            )
        return scotlass.solve(A, k, t=self.l1_bound, rng=rng, **how)

    def _solve_l0(
        self, A: NDArray, k: int, rng: np.random.Generator, how: dict[str, Any]
    ) -> Directions:
        if self.n_nonzero is None:
            raise ValueError(
                "formulation='l0' needs n_nonzero, the number of nonzero loadings of a component. "
                f"Give a number between 1 and n_features={A.shape[1]}."
            )
        wanted = self._checked_n_nonzero(k, A.shape[1])
        return sparse_l0.solve(A, k, n_nonzero=wanted, rng=rng, **how)

    def _checked_alpha(self, k: int) -> NDArray:
        alpha = per_component(self.alpha, k, "alpha")
        if not (np.isfinite(alpha) & (alpha >= 0)).all():
            raise ValueError(
                f"alpha={self.alpha!r} holds a negative number, NaN or inf. "
                "Give 0 or more for each component."
            )
        return alpha

    def _checked_n_nonzero(self, k: int, d: int) -> NDArray:
        wanted = per_component(self.n_nonzero, k, "n_nonzero", np.int64)  # type: ignore[arg-type]
        if wanted.min() < 1 or wanted.max() > d:
            raise ValueError(
                f"n_nonzero={self.n_nonzero!r} must be between 1 and n_features={d}. "
                f"Ask for at most {d}."
            )
        return wanted

    def _has_start(self) -> bool:
        return self.U_init is not None and self.V_init is not None

    def _start(self, A: NDArray, k: int) -> sparse_l1.Factors | None:
        """Return scores and loadings to start from, if both are given."""
        if self.U_init is None or self.V_init is None:
            return None
        m, d = A.shape
        for name, given, shape in (
            ("U_init", self.U_init, (m, k)),
            ("V_init", self.V_init, (k, d)),
        ):
            if given.shape != shape:
                raise ValueError(
                    f"{name} has shape {given.shape}, and {shape} is needed: {k} components of a "
                    f"table of {m} samples and {d} features. Give an array of that shape, or None."
                )
        return self.U_init, self.V_init.T

    def _warn_of_zeros(self, found: Directions, largest: float) -> None:
        """Warn if the penalty leaves fewer components than were asked for, or none at all."""
        zero = np.flatnonzero(~found.components.any(axis=1))
        k = len(found.components)
        if len(zero) == k or (len(zero) and self.n_components is not None):
            warnings.warn(
                f"{len(zero)} of {k} components are all zero with alpha={self.alpha!r}. Give a "
                f"smaller alpha (from {largest:.4g} on, all are zero), or ask for "
                "fewer components.",
                UserWarning,
                stacklevel=10,
            )

    def _with_target(
        self, solve: Callable[..., Directions], A: NDArray, k: int, how: dict[str, Any]
    ) -> Directions:
        """Return directions with `n_nonzero` nonzeros; warn if some have another number."""
        wanted = self._checked_n_nonzero(k, A.shape[1])
        found = solve(A, k, n_nonzero=wanted, **how)
        counts = np.count_nonzero(found.components, axis=1)
        if (counts != wanted).any():
            warnings.warn(
                f"n_nonzero={self.n_nonzero!r} was not reached: the components have "
                f"{', '.join(map(str, counts))} nonzeros, which is the nearest that was found. "
                "Ask for other numbers, or for fewer components.",
                UserWarning,
                stacklevel=10,
            )
        return found

    def _asked_to_converge(self) -> bool:
        return self.max_iter > 0

    def _described(self, found: Directions, rows: _Rows) -> _Sparse:
        dof, V, total = rows.mass - 1, found.components, rows.total_variance
        adjusted = adjusted_variances(rows.A, V)
        projected = np.square(_orthonormal(V) @ rows.A.T).sum(axis=1)
        return _Sparse(
            solver=self.formulation,
            n_iter=found.n_iter,
            converged=found.converged,
            objective_history=found.objective_history,
            certificate=found.certificate,
            mean=rows.mean,
            components=V,
            explained_variance=adjusted / dof,
            explained_variance_ratio=adjusted / dof / total,
            projected_variance=projected / dof,
            total_variance=total,
            n_nonzero=tuple(int(count) for count in np.count_nonzero(V, axis=1)),
            alpha=getattr(found, "alpha", None),
            l1_bound=getattr(found, "l1_bounds", None),
            scores=self._sparse_scores(found, rows),
        )

    def _sparse_scores(self, found: Directions, rows: _Rows) -> NDArray | None:
        """Return the scores of the rows, if they were penalised."""
        if not (self.alpha_scores > 0 and isinstance(found, sparse_l1.SparseFactors)):
            return None
        return found.factors[0] * signs_of(found.components) / np.asarray(rows.roots)[:, None]

    def _store(self, solution: Solution, X: Any) -> None:
        super()._store(solution, X)
        self.components_ += 0.0  # no negative zeros, which signs leave behind
        self.n_components_ = len(self.components_)

    @property
    def error_(self) -> list[float]:
        """The objective after each iteration."""
        return list(self.objective_history_)

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the scores of `X`: the ridge regression of its centred rows on the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        rows: NDArray = self._fitted(X)
        return self._finite(product(rows, self.mean_, self._weights()))

    def _weights(self) -> NDArray:
        """Return what centred rows are multiplied by to give scores, a column a component."""
        V = self.components_.astype(np.float64)
        gram = V @ V.T
        gram.flat[:: len(gram) + 1] += self.ridge_alpha
        # pseudo-inverse: components may be zero or alike, and ridge_alpha may be 0
        return (V.T @ scipy.linalg.pinvh(gram)).astype(self.components_.dtype)

    def inverse_transform(self, X: ArrayLike) -> NDArray:
        """Return the rows of the original space that the components make of the scores `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return self._rows_from(self._check_scores(X), self.mean_)


def _orthonormal(rows: NDArray) -> NDArray:
    """Return the rows made orthonormal in turn, zero where one lies in the span of those before.

    By Gram and Schmidt, each row twice. A QR decomposition would put some direction in the place of
    such a row, and what the rows after it have along that direction would be lost.
    """
    Q = np.zeros_like(rows)
    for j, row in enumerate(rows):
        rest = row - (Q[:j] @ row) @ Q[:j]
        rest -= (Q[:j] @ rest) @ Q[:j]
        length = np.linalg.norm(rest)
        if length > 1e-10 * np.linalg.norm(row):
            Q[j] = rest / length
    return Q
