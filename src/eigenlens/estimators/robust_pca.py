"""Robust PCA: a table as low rank plus sparse."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from .._base import Estimator, StrPath, fitting
from .._compat import check_array
from ..data.blocks import WHOLE_BYTES, Beside, Blocks
from ..data.dask import DaskBlocks, is_dask
from ..ops.finite import NonFiniteError
from ..ops.signs import signs_of
from ..select.gavish_donoho import noise_deviation
from ..solvers import admm, altproj, l1_regression, noise, pursuit
from ..solvers.low_rank import LowRank
from ..solvers.pursuit_blocks import LowRankRows, Surveyed
from ..solvers.solution import Monitor, ignore

__all__ = ["RobustPCA", "choose_solver"]

SOLVERS = ("auto", "ialm", "altproj", "admm")
ROWS = 2.0  # the weight of outlier rows, in units of 1 / sqrt(n)
KNEE = 2.0  # deviations of noise beyond which a residual counts as an error
ROUGH = 1e-3  # tolerance of fits that only serve to estimate noise
HUBER = 1.345  # deviations, from which on the regression of new rows is by absolute values
DEVIATIONS = 3.0  # that noise explains
PARTS = ("low_rank_", "scores_", "sparse_")  # that a model of a table in blocks may not hold
SMALL = 1e-6  # of the largest entry of the low-rank part: rounding and tolerances explain it


def choose_solver(n_components: int | None) -> str:
    """Return the solver that ``solver='auto'`` takes: that of the rank, if it is given.

    Parameters
    ----------
    n_components : int or None
        As in :class:`eigenlens.RobustPCA`.

    Returns
    -------
    {'ialm', 'altproj'}

    Examples
    --------
    >>> from eigenlens.estimators.robust_pca import choose_solver
    >>> choose_solver(None), choose_solver(3)
    ('ialm', 'altproj')
    """
    return "ialm" if n_components is None else "altproj"


class RobustPCA(Estimator):
    """PCA that gross errors cannot bend: the table as a low-rank part plus a sparse one.

    Principal component pursuit takes X apart by::

        min over m, L, S of  |L|_* + lam |S|_1    with 1 m' + L + S = X where X is observed

    The first norm is the sum of singular values, the second that of absolute entries. For a
    low-rank part that is
    spread out, and errors in random places, of any size, the answer is exactly the truth (Candes et
    al. 2011): neither the rank nor the places need be known. Entries that are NaN are filled on the
    way. `certificate_` bounds how far the objective is from its minimum. It proves that the problem
    is solved, not that X was made in this way.

    Parameters
    ----------
    n_components : int or None, default=None
        Rank of the low-rank part. None: it is found. An int asks for exactly this rank, by
        ``'altproj'``, which then also tells noise from errors by itself.
    lam : float or 'auto', default='auto'
        Weight of the sparse part: the larger, the less of it. 'auto' is 1 / sqrt(p max(n, d)) for
        entries, p the share that was observed; with `noise` 2 / (sqrt(p n) + sqrt(p d)), which is
        the same for square tables and puts errors beyond two deviations for any. For rows it is 2 /
        sqrt(p n), with which L can have a rank of 3 at most: raise it for more. Not used by
        ``'altproj'``.
    solver : {'auto', 'ialm', 'altproj', 'admm'}, default='auto'
        ``'ialm'``: augmented Lagrangian with few singular vectors and a weight that the duality gap
        steers. ``'altproj'``: accelerated alternating projections, for a given rank; not convex.
        ``'admm'``: the textbook scheme with full SVDs and a fixed weight, slow, for comparison.
    outliers : {'entries', 'rows'}, default='entries'
        What is sparse: single entries, or whole rows (outlier pursuit), whose lengths are then
        summed.
    noise : float, 'auto' or None, default=None
        Standard deviation of noise in all entries (stable pursuit): the square of what does not fit
        over ``2 delta`` takes the place of the constraint, with ``delta = noise (sqrt(n) +
        sqrt(d))``, the spectral norm of noise alone. 'auto' estimates it from the residuals. None:
        there is none.
    center : bool, default=True
        Whether the mean is free. It is that of the low-rank part, and no error can bend it.
    tol : float, default=1e-7
        Largest misfit: root mean square of what is neither low rank nor sparse nor noise, relative
        to the mean size of entries, gross ones cut off. For ``'altproj'``, the largest change in
        the last step.
    gap_tol : float, default=1e-3
        Largest duality gap, relative as in `certificate_`. A fit of a large table whose progress is
        slow ends here; others go on, or end by `tol`, with a far smaller gap.
    max_iter : int, default=500
        Most iterations, each with one thresholding of singular values.
    random_state : int, RandomState instance or None, default=None
        Seed of the first directions.

    Attributes
    ----------
    low_rank_ : {ndarray, Blocks, dask Array} of shape (n_samples, n_features)
        The low-rank part with its mean, also where X was not observed. It is kept as factors, and
        made whenever it is asked for. Of a table in blocks it is one too, made block by block, and
        of one on Dask a lazy array.
    sparse_ : {ndarray, Blocks, dask Array} of shape (n_samples, n_features)
        The sparse part, zero where X was not observed. Of a table in blocks, or on Dask, it is made
        of X once more when it is read, and is no part of a copy or a file of the model.
    components_ : ndarray of shape (rank_, n_features)
        Right singular vectors of the low-rank part less its mean, orthonormal, by falling singular
        value; the largest entry of each is positive.
    singular_values_ : ndarray of shape (rank_,)
    scores_ : {ndarray, dask Array} of shape (n_samples, rank_)
        Coordinates of the rows of `low_rank_`, which is ``mean_ + scores_ @ components_``.
    mean_ : ndarray of shape (n_features,)
        Mean of `low_rank_`; zeros without `center`.
    rank_, n_components_ : int
    support_fraction_ : float
        Share of the observed entries (or of rows) that are not zero in `sparse_`.
    lam_ : float
        The weight that was used.
    noise_ : float
        The deviation of noise that was used; 0 for none.
    solver_ : str
    certificate_ : Certificate
        Bound on the duality gap, relative to the objective without what is gross of errors (a
        share of the whole would be as small as errors are large); for ``'altproj'``, which is not
        convex, the change in the last step.
    n_iter_, converged_, objective_history_
        Iterations, whether the certificate holds, and the objective of ``(L, X - L)`` after each.

    See Also
    --------
    PCA : Best where errors are Gaussian; faster.
    SparsePCA : Sparse directions, rather than sparse errors.
    eigenlens.measure.incoherence : Whether a low-rank part is spread out enough.
    eigenlens.measure.outlier_map : Which rows stand out, and how.

    Notes
    -----
    A fit allocates two tables of the size of X, and for the certificate two squares of its smaller
    side beside them.

    A large file, or a table on Dask, with d columns is taken apart in blocks of rows, if it is
    solved by ``'ialm'`` and `noise` is not 'auto': each iteration is one pass over the rows, with
    an eigenproblem of d x d after it. There are 5 more passes and, for each look at the duality
    gap, of which most fits need one, 3 to 8 (more where errors are gross). Beside the rows, in
    memory, past a gigabyte in temporary files, or on the machines that have the rows, a fit keeps
    a table of the size of X and the scores; at most three such tables while one takes the place of
    another. After it there are the scores, and a bit for each entry.

    With `noise`, singular values are too small by delta, the price of convexity; directions and
    scores of `transform` are not bent. `sparse_` then holds what is beyond 2 deviations of noise,
    which 5 % of good entries are; `decompose` holds what is beyond 3.

    References
    ----------
    E. J. Candes, X. Li, Y. Ma, J. Wright, Robust principal component analysis?, J. ACM 58 (2011).
    H. Xu, C. Caramanis, S. Sanghavi, Robust PCA via outlier pursuit, NIPS 23 (2010).
    Z. Zhou, X. Li, J. Wright, E. Candes, Y. Ma, Stable principal component pursuit, ISIT (2010).
    Z. Lin, M. Chen, Y. Ma, The augmented Lagrange multiplier method for exact recovery of corrupted
    low-rank matrices, arXiv:1009.5055 (2010).
    H. Cai, J.-F. Cai, K. Wei, Accelerated alternating projections for robust principal component
    analysis, JMLR 20 (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import RobustPCA, datasets
    >>> problem = datasets.planted_pursuit(100, 100, rank=5, density=0.05, random_state=0)
    >>> model = RobustPCA().fit(problem.X)
    >>> model.rank_, np.array_equal(model.sparse_ != 0, problem.sparse != 0)
    (5, True)
    >>> np.abs(model.low_rank_ - problem.low_rank).max() < 1e-6
    np.True_
    >>> model.certificate_.holds
    True
    """

    kind = "robust"
    on_blocks: ClassVar[Mapping[str, Any]] = {}
    claims = frozenset(
        {
            "orthonormal",
            "recovers",
            "missing",
            "breakdown",
            "shift",
            "scale",
            "row_order",
            "column_order",
        }
    )
    excused = dict.fromkeys(
        ("check_fit_idempotent", "check_fit_check_is_fitted"),
        "Its table is noise in two or three columns: no component is found, and the fit says so.",
    )
    choose_solver = staticmethod(choose_solver)
    _instead = (
        "Take n_components=None, solver='auto' and noise=None or a number, or give rows that fit "
        "in one place, for example X[:10000].compute()."
    )
    _remedy = "Raise max_iter, gap_tol or tol; where a rank was asked for, try a smaller one."

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "lam": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "solver": [StrOptions(set(SOLVERS))],
        "outliers": [StrOptions({"entries", "rows"})],
        "noise": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"}), None],
        "center": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "gap_tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    mean_: NDArray
    components_: NDArray
    scores_: Any
    sparse_: Any

    def __init__(
        self,
        n_components: int | None = None,
        *,
        lam: float | Literal["auto"] = "auto",
        solver: str = "auto",
        outliers: Literal["entries", "rows"] = "entries",
        noise: float | Literal["auto"] | None = None,
        center: bool = True,
        tol: float = 1e-7,
        gap_tol: float = 1e-3,
        max_iter: int = 500,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.lam = lam
        self.solver = solver
        self.outliers = outliers
        self.noise = noise
        self.center = center
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.random_state = random_state

    @fitting
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        mask: ArrayLike | None = None,
        checkpoint: StrPath | None = None,
    ) -> Self:
        """Take `X` apart.

        Parameters
        ----------
        X : {array-like, Blocks, dask Array or DataFrame} of shape (n_samples, n_features)
            The data, one row a sample, NaN where nothing was observed. It is never written to. A
            large table in blocks is read block by block, see Notes.
        y : Ignored
            Present for the conventions of pipelines.
        mask : array-like of bool, of the shape of X, optional
            True where X was observed. The values elsewhere do not matter. A table in blocks is
            read as a whole for it.
        checkpoint : str or path-like, optional
            A folder for a fit in blocks to write down how far it is: after a kill the same call
            goes on from there, to the same numbers. The folder is removed when the fit is done.
            Nothing is written for a table that is not taken in blocks.

        Returns
        -------
        self
        """
        return self._fit(_masked(X, mask), y, checkpoint=checkpoint)

    def fit_transform(
        self, X: ArrayLike, y: object = None, *, mask: ArrayLike | None = None
    ) -> NDArray:
        """Fit to `X`, and return its scores: the same as `fit` and then `transform`.

        Parameters
        ----------
        X, y, mask
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, rank_)
        """
        X = _masked(X, mask)
        return self.fit(X).transform(X)

    def _solve(
        self, X: Any, *, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> LowRank:
        if isinstance(X, Blocks):
            return self._solve_blocks(X, rng, monitor)
        share, unit = _observed_share(X), _unit(_largest(X), X.dtype)
        self.n_samples_ = len(X)
        if unit != 1.0:
            X = X / X.dtype.type(unit)
        found = self._decomposed(X, share, unit, rng, monitor)
        self.noise_ *= unit
        with np.errstate(over="ignore"):
            found = _signed(found, unit)
        parts = found.mean, found.singular_values, found.scores, found.sparse
        if any(np.isinf(part).any() for part in parts):
            self._refuse_large(X.dtype)
        return found

    def _fits_blocks(self, table: Blocks) -> bool:
        return (
            self.n_components is None
            and self.solver in ("auto", "ialm")
            and self.noise != "auto"
            and 8 * len(table.names) ** 2 <= WHOLE_BYTES
        )

    def _solve_blocks(self, X: Blocks, rng: np.random.Generator, monitor: Monitor) -> LowRank:
        """Take the table apart where its rows are; what is of their number stays there."""
        M = Surveyed.of(X)
        if M.n < self._min_samples:  # scikit-learn has the words
            check_array(np.zeros(M.shape), ensure_min_samples=self._min_samples, estimator=self)
        share = _surveyed_share(M)
        unit = _unit(float(max(M.high.max(), -M.low.min())), M.dtype)
        self.n_samples_ = M.n
        M = M if unit == 1.0 else M.divided(unit)
        found = self._decomposed(M, share, unit, rng, monitor)
        self.noise_ *= unit
        table, sparse = X.plain, found.sparse.plain
        if isinstance(table, DaskBlocks):
            r, d = found.components.shape
            scores = table.array_of(found.scores, np.empty((0, r), X.dtype))
            sparse = sparse.to_dask(X.dtype, d)
        else:
            scores = found.scores.gather()
        return _signed(replace(found, scores=scores, sparse=sparse), unit)

    def _decomposed(
        self, X: Any, share: float, unit: float, rng: np.random.Generator, monitor: Monitor
    ) -> LowRank:
        """Call the solver on numbers whose squares are numbers, in units of `unit`."""
        solver = choose_solver(self.n_components) if self.solver == "auto" else self.solver
        self._require_suited(solver, X.shape)
        rows, tol = self._by_rows, max(self.tol, 8 * float(np.finfo(X.dtype).eps))
        shared: dict[str, Any] = {"rows": rows, "centre": self.center, "max_iter": self.max_iter}
        # noise far above the largest entry leaves nothing, however far
        given = None if self.noise in (None, "auto") else min(float(self.noise) / unit, 1e100)
        if self.n_components is not None:
            found = altproj.solve(
                X, int(self.n_components), noise=given, tol=tol, rng=rng, monitor=monitor, **shared
            )
            self.noise_ = noise.residual_deviation(X, found) if given is None else given
            return found
        self.lam_ = self._weight(X.shape, share) if self.lam == "auto" else float(self.lam)
        shared |= {"lam": self.lam_, "gap_tol": self.gap_tol}
        if solver == "admm":
            self.noise_ = 0.0
            return admm.solve(X, tol=tol, monitor=monitor, **shared)
        edge = np.sqrt(share) * _edge(X.shape)

        def solve(deviation: float, tol: float, monitor: Monitor) -> LowRank:
            delta = deviation * edge
            return pursuit.solve(X, delta=delta, tol=tol, rng=rng, monitor=monitor, **shared)

        if self.noise == "auto":
            given = noise.deviation(
                X, lambda deviation: solve(deviation, ROUGH, ignore), _noise_guess(X, share)
            )
        self.noise_ = given or 0.0
        return solve(self.noise_, tol, monitor)

    def _weight(self, shape: tuple[int, int], share: float) -> float:
        """Return the weight of the sparse part that suits a table of which a share was observed."""
        if self._by_rows:
            return float(ROWS / np.sqrt(share * shape[0]))
        if self.noise is None:
            return float(1 / np.sqrt(share * max(shape)))
        return float(KNEE / (np.sqrt(share) * _edge(shape)))

    def _require_suited(self, solver: str, shape: tuple[int, int]) -> None:
        """Raise unless the solver can do what is asked of it."""
        k = self.n_components
        if k is not None and k > min(shape):
            raise ValueError(
                f"n_components={k} is more than min(n_samples, n_features)={min(shape)}. "
                f"Ask for at most {min(shape)}, or give more data."
            )
        if solver == "altproj" and k is None:
            raise ValueError(
                "solver='altproj' needs n_components, the rank. Give it, or take solver='auto', "
                "which finds it."
            )
        if solver != "altproj" and k is not None:
            raise ValueError(
                f"n_components={k} asks for a given rank, and solver={solver!r} finds its own. "
                "Take solver='altproj', or n_components=None."
            )
        if solver == "admm" and self.noise is not None:
            raise ValueError("solver='admm' knows no noise. Take solver='ialm', or noise=None.")

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.rank_ = self.n_components_ = len(self.components_)
        if solution.support_fraction is None:
            wrong = self.sparse_ != 0
            some = wrong.any(axis=1).mean() if self._by_rows else wrong.sum() / (~np.isnan(X)).sum()
            self.support_fraction_ = float(some)
        if not self.rank_ and self.converged_:
            warnings.warn(
                "Nothing of X but its mean is of low rank: no component is kept, and scores have "
                f"no columns. Raise lam, which was {self.lam_:.3g}, or ask for a rank with "
                "n_components.",
                UserWarning,
                stacklevel=7,
            )

    @property
    def _by_rows(self) -> bool:
        return self.outliers == "rows"

    def _ensure_all_finite(self) -> Literal["allow-nan"]:
        return "allow-nan"

    @property
    def low_rank_(self) -> Any:
        """The low-rank part with its mean, made from its factors."""
        if isinstance(sparse := vars(self).get("sparse_"), Blocks):
            scores = np.split(self.scores_, np.cumsum(sparse.row_counts())[:-1])
            return Beside(sparse, LowRankRows(self.mean_, self.components_), [scores])
        low_rank = self.scores_ @ self.components_
        low_rank += self.mean_
        return low_rank

    def __getattr__(self, name: str) -> NoReturn:
        """Say where the parts are, where a model is not that of a fit any more."""
        if name in PARTS and "components_" in vars(self):
            raise AttributeError(
                f"{name} of a table in blocks is not part of a copy or a file of its model. Write "
                "it to a file before, or take decompose(rows), which makes both parts anew."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is in temporary files, or on other machines."""
        state = super().__getstate__()
        return {
            name: value
            for name, value in state.items()
            if not (isinstance(value, Blocks) or is_dask(value))
        }

    # -------------------------------------------------------------------------------- new rows

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the scores of `X` on the components, whatever is wrong with some of its entries.

        By least absolute deviations over what is observed of each row: errors in a minority of
        entries do not move them. With `noise` the deviations are rounded off (Huber). For
        ``outliers='rows'``, by least squares.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN where nothing was observed. A row without any entry gets zeros.

        Returns
        -------
        ndarray of shape (n_samples, rank_)
        """
        return self._scores(self._fitted(X))

    def _scores(self, X: NDArray) -> NDArray:
        if self._by_rows:
            with np.errstate(over="ignore", invalid="ignore"):
                scores = l1_regression.least_squares(X, self.mean_, self.components_)
            return self._finite(scores)
        unit = X.dtype.type(_unit(_largest(X), X.dtype))
        X, mean = (X, self.mean_) if unit == 1 else (X / unit, self.mean_ / unit)
        knee = HUBER * self.noise_ / float(unit)
        scores = l1_regression.fit_rows(X, mean, self.components_, knee=knee)
        return (
            scores
            if unit == 1
            else self._as_dtype(float(unit) * scores.astype(np.float64), X.dtype)
        )

    def _nearest(self, X: NDArray) -> NDArray:
        """Return the points of the subspace that the rows of `X` have their scores from."""
        return self._scores(X) @ self.components_ + self.mean_

    def inverse_transform(self, X: ArrayLike) -> NDArray:
        """Return the rows of the original space that have the scores `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, rank_)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return self._rows_from(self._check_scores(X), self.mean_)

    def decompose(self, X: ArrayLike) -> tuple[NDArray, NDArray]:
        """Return the low-rank and the sparse part of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN where nothing was observed.

        Returns
        -------
        low_rank : ndarray of shape (n_samples, n_features)
            Points of the fitted subspace, also where X was not observed.
        sparse : ndarray of shape (n_samples, n_features)
            The rest, zero where X was not observed or where rounding or noise explains it.
        """
        rows = self._fitted(X)
        low_rank = self._nearest(rows)
        rest = rows - low_rank
        explained = SMALL * np.abs(low_rank).max(initial=0.0) + DEVIATIONS * self.noise_
        size = _root_mean_squares(rest)[:, None] if self._by_rows else np.abs(rest)
        return low_rank, np.where(size > explained, np.nan_to_num(rest), 0).astype(rows.dtype)

    def impute(self, X: ArrayLike) -> NDArray:
        """Return `X` with each hole (NaN) filled from the low-rank part of its row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            What was there stays as it is, to the bit, also if it is in error: for the table without
            errors take `decompose`.
        """
        rows = self._fitted(X)
        return np.where(np.isnan(rows), self._nearest(rows), rows)

    def score_samples(self, X: ArrayLike) -> NDArray:
        """Return how well the subspace fits each row: the larger, the better, 0 for a perfect fit.

        Minus the mean absolute deviation over what is observed of a row; for ``outliers='rows'``,
        minus the root mean square. Not a likelihood: the model has none.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN where nothing was observed.

        Returns
        -------
        ndarray of shape (n_samples,)
            NaN for a row without any entry.
        """
        rows = self._fitted(X)
        rest = rows - self._nearest(rows)
        if self._by_rows:
            return -_root_mean_squares(rest)
        with np.errstate(invalid="ignore"):
            deviations = np.nansum(np.abs(rest), axis=1) / (~np.isnan(rest)).sum(axis=1)
        return np.asarray(-deviations, dtype=rows.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _noise_guess(X: NDArray, share: float) -> float:
    """Return the deviation of white noise with the median singular value of X, errors cut off."""
    n, d = X.shape
    rest = noise.cut_off(X)
    squares = np.linalg.eigvalsh(rest @ rest.T if n < d else rest.T @ rest)
    median = float(np.sqrt(max(np.median(squares), 0.0) / share))
    return noise_deviation(median, n - 1, d)


def _edge(shape: tuple[int, int]) -> float:
    """Return the spectral norm of a table of white noise of deviation 1, closely."""
    n, d = shape
    return float(np.sqrt(n) + np.sqrt(d))


def _root_mean_squares(rows: NDArray) -> NDArray:
    """Return the root mean square of what is observed of each row, NaN for nothing."""
    with np.errstate(invalid="ignore"):
        means = np.nansum(rows**2, axis=1) / (~np.isnan(rows)).sum(axis=1)
    return np.sqrt(means, dtype=rows.dtype)


def _largest(X: NDArray) -> float:
    """Return the largest size of an entry."""
    return float(max(np.fmax.reduce(X, axis=None), -np.fmin.reduce(X, axis=None)))


def _unit(largest: float, dtype: np.dtype) -> float:
    """Return 1, or for very large or small numbers a power of two to divide them by."""
    low, high = (1e-60, 1e60) if dtype == np.float64 else (1e-8, 1e8)
    if low <= largest <= high or not largest > 0:
        return 1.0
    return float(2.0 ** np.floor(np.log2(largest)))


def _signed(found: LowRank, unit: float) -> LowRank:
    """Return the solution in the units of X, with the signs that components have everywhere."""
    signs = signs_of(found.components)
    found = replace(
        found, components=signs[:, None] * found.components, scores=found.scores * signs
    )
    if unit == 1.0:
        return found
    names = ("mean", "singular_values", "scores", "sparse", "objective_history")
    return replace(found, **{name: _times(getattr(found, name), unit) for name in names})


def _times(table: Any, unit: float) -> Any:
    if isinstance(table, Blocks):
        return table.map(functools.partial(np.multiply, unit))
    return table * unit


def _masked(X: Any, mask: ArrayLike | None) -> Any:
    """Return `X` with NaN where the mask is false."""
    if mask is None:
        return X
    if is_dask(X):
        raise ValueError(
            "mask asks for all entries in one place, and those of X are on Dask. Put NaN into X "
            "where nothing was observed, for example by dask.array.where(mask, X, np.nan)."
        )
    seen = np.asarray(mask)
    shape = np.shape(X)
    if seen.dtype != bool or seen.shape != shape:
        raise ValueError(
            f"mask has shape {seen.shape} and dtype {seen.dtype}, and X has shape {shape}. "
            "Give one boolean for each entry of X: True where it was observed."
        )
    if hasattr(X, "where") and hasattr(X, "columns"):  # pandas: the names stay
        return X.where(seen)
    values = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False)
    values = np.where(seen, values, values.dtype.type(np.nan))
    if hasattr(X, "iter_columns"):  # polars: likewise
        return type(X)(values, schema=list(X.columns))
    return values


def _observed_share(X: NDArray) -> float:
    """Return the share of entries that are there; raise if a row or a column has none."""
    if np.isinf(X).any():
        raise NonFiniteError
    seen = ~np.isnan(X)
    for axis, what in ((1, "Row"), (0, "Column")):
        _require_none(what, np.flatnonzero(~seen.any(axis=axis)))
    _require_contrast(np.nanmin(X, axis=0), np.nanmax(X, axis=0))
    return float(seen.mean())


def _surveyed_share(M: Surveyed) -> float:
    """Do the same for a table in blocks, of what was seen of it in one pass."""
    if np.isinf(M.low).any() or np.isinf(M.high).any():
        raise NonFiniteError
    _require_none("Row", range(M.first_empty, M.first_empty + M.empty))
    _require_none("Column", np.flatnonzero(M.seen == 0))
    _require_contrast(M.low, M.high)
    return float(M.seen.sum() / (M.n * len(M.seen)))


def _require_none(what: str, empty: Sequence[int] | NDArray) -> None:
    if len(empty):
        raise ValueError(
            f"{what} {empty[0]} of X has no observed entry ({len(empty)} in all), and nothing "
            f"can be said of it. Drop it first."
        )


def _require_contrast(low: NDArray, high: NDArray) -> None:
    if not np.any(high > low):
        raise ValueError(
            "Every column of X is constant: there is nothing to take apart. "
            "Check that X holds the data you mean, one row a sample."
        )
