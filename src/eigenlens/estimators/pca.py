"""Principal component analysis."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._compat import Interval, RealNotInt, StrOptions
from ..select import rank_of
from ..solvers import eigh, krylov, svd
from ..solvers.solution import Monitor, Solution
from ..solvers.spectral import Spectral, choose_solver, default_tol
from ._gaussian import GaussianSpectrum

__all__ = ["PCA"]

SOLVERS = ("auto", "full", "covariance_eigh", "gram_eigh", "arpack", "randomized")


class PCA(GaussianSpectrum):
    """Principal component analysis: the directions in which a table varies most.

    For centred X it finds the k orthonormal rows V that maximise the captured variance, which are
    also those that minimise the error of reconstruction::

        min over V V' = I  of  |X - X V'V|^2  =  (n - 1) (lambda_{k+1} + ... + lambda_d)

    Drop-in for :class:`sklearn.decomposition.PCA`: the same parameters, attributes and methods. The
    default solver is chosen by shape (see :meth:`choose_solver`); it keeps its digits where column
    means are far larger than deviations; a fraction of variance works on every input; the answer
    carries ``certificate_``, a bound on its error.

    Parameters
    ----------
    n_components : int, float, 'mle' or None, default=None
        How many components to keep. A float in (0, 1): the fewest that explain more than this
        fraction of the variance, on dense or sparse X. ``'mle'``: Minka's Bayesian choice, for
        n_samples >= n_features. None: min(n_samples, n_features), one less for ``'arpack'``.
    copy : bool, default=True
        Accepted for compatibility: X is never written to.
    whiten : bool, default=False
        Scale the scores to unit variance.
    svd_solver : {'auto', 'full', 'covariance_eigh', 'gram_eigh', 'arpack', 'randomized'}
        ``'covariance_eigh'`` forms the d x d and ``'gram_eigh'`` the n x n matrix of products;
        ``'full'`` takes the SVD; ``'randomized'`` (block Krylov) and ``'arpack'`` (Lanczos) only
        multiply by X. Sparse X is centred by an operator, never densely.
    tol : float, default=0.0
        Relative eigen-residual at which the iterative solvers stop; 0 stands for what makes the
        variances right to rounding (1e-8 in float64, 1e-5 in float32).
    iterated_power : int or 'auto', default='auto'
        Passes over X of ``'randomized'`` after the first; 'auto' goes on until `tol` is met.
    n_oversamples : int, default=10
        Vectors beyond n_components in a block of ``'randomized'`` with `iterated_power` given.
    power_iteration_normalizer : {'auto', 'QR', 'LU', 'none'}, default='auto'
        Accepted for compatibility: the Krylov basis is always orthonormal.
    random_state : int, RandomState instance or None, default=None
        Seed of the iterative solvers.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Principal axes, orthonormal, by falling variance; the largest entry of each is positive.
    explained_variance_ : ndarray of shape (n_components_,)
        Variances of the scores, with n_samples - 1 in the denominator.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        The same as fractions of the total variance.
    singular_values_ : ndarray of shape (n_components_,)
        Singular values of the centred table.
    mean_ : ndarray of shape (n_features,)
    n_components_ : int
    n_samples_ : int
    noise_variance_ : float
        Mean of the discarded variances.
    spectrum_ : ndarray
        All variances the solver found, at least the first n_components_.
    spectrum_complete_ : bool
        Whether `spectrum_` holds all min(n_samples, n_features) of them.
    total_variance_ : float
    solver_ : str
        The solver that was used.
    certificate_ : Certificate
        Bound on the error of the variances relative to the largest, computed after the fact: from
        the residuals of the eigenpairs and the rounding of the data's own dtype. Its `what` says
        where, on a flat spectrum, it bounds the distance to some eigenvalue instead.
    n_iter_, converged_, objective_history_
        Steps of the iteration, whether it met its tolerance, and the captured variance at each
        look.

    See Also
    --------
    sklearn.decomposition.PCA : The class that this one stands in for.

    Notes
    -----
    A fit allocates a few matrices of the smaller size squared (``'covariance_eigh'``,
    ``'gram_eigh'``), a copy of X (``'full'``), or a basis of vectors of the smaller size
    (``'arpack'``, ``'randomized'``).

    `get_covariance` and `score` describe the data, so they do not depend on `whiten`.

    References
    ----------
    M. E. Tipping, C. M. Bishop, Probabilistic principal component analysis, JRSS B 61 (1999).
    C. Musco, C. Musco, Randomized block Krylov methods for stronger and faster approximate singular
    value decomposition, NIPS 28 (2015).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import PCA
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> pca = PCA(n_components=1).fit(X)
    >>> pca.explained_variance_ratio_.round(4)
    array([0.9924])
    >>> pca.transform(X).round(2).ravel()
    array([-1.38, -2.22, -3.61,  1.38,  2.22,  3.61])
    >>> pca.certificate_.holds
    True
    """

    claims = frozenset(
        {
            "orthonormal",
            "uncorrelated",
            "nested",
            "rotation",
            "inverse",
            "row_order",
            "recovers",
            "certificate",
        }
    )
    choose_solver = staticmethod(choose_solver)
    _remedy = "Raise tol, or take svd_solver='covariance_eigh', which is exact."

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "copy": ["boolean"],
        "whiten": ["boolean"],
        "svd_solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | float | Literal["mle"] | None = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | Literal["auto"] = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state

    def _solve(self, X: Any, *, rng: np.random.Generator, monitor: Monitor) -> Spectral:
        solver = self._settle_solver(X)
        limit = min(X.shape) - (solver == "arpack")
        rank = rank_of(self.n_components, X.shape[0], limit)
        tol = max(self.tol, default_tol(X.dtype))
        if solver == "full":
            solution = svd.solve(X, rank, tol=tol)
        elif solver in ("covariance_eigh", "gram_eigh"):
            solution = eigh.solve(X, rank, transposed=solver == "gram_eigh", rng=rng, tol=tol)
        else:
            wide = solver == "randomized"
            budget = {}
            if wide and self.iterated_power != "auto" and isinstance(rank, int):
                budget = {"block": rank + self.n_oversamples, "max_steps": self.iterated_power + 1}
            solution = krylov.solve(X, rank, wide=wide, rng=rng, tol=tol, monitor=monitor, **budget)
        if solution.total_variance == 0:
            raise ValueError(
                "Every column of X is constant: there is no variance to explain. "
                "Check that X holds the data you mean, one row a sample."
            )
        return solution

    def _settle_solver(self, X: Any) -> str:
        """Return the solver to use, after checking that it suits X and n_components."""
        k, shape, limit = self.n_components, X.shape, min(X.shape)
        solver = self.svd_solver
        if solver == "auto":
            solver = choose_solver(shape, k, sparse=sparse.issparse(X))
        if k == "mle":
            if solver in ("arpack", "randomized"):
                raise ValueError(
                    f"n_components='mle' cannot be a string with svd_solver='{solver}', which does "
                    "not find all variances. Take svd_solver='auto'."
                )
            if shape[0] < shape[1]:
                raise ValueError(
                    "n_components='mle' is only supported if n_samples >= n_features, not for "
                    f"{shape[0]} samples of {shape[1]} features. Ask for a number or a fraction."
                )
        elif isinstance(k, Integral):
            least = 1 if solver in ("arpack", "randomized") else 0
            given = f"n_components={k} must be"
            bound = f"min(n_samples, n_features)={limit} with svd_solver='{solver}'"
            if not least <= k <= limit:
                remedy = f"Ask for at most {limit}, or give more data."
                raise ValueError(f"{given} between {least} and {bound}. {remedy}")
            if solver == "arpack" and k == limit:
                remedy = "Take svd_solver='auto' for all components."
                raise ValueError(f"{given} strictly less than {bound}. {remedy}")
        return solver

    def _check(self, X: Any, **rules: Any) -> Any:
        if sparse.issparse(X) and self.svd_solver in ("full", "randomized"):
            raise TypeError(
                'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, '
                f'while "{self.svd_solver}" was passed. Take svd_solver="auto", or X.toarray().'
            )
        return super()._check(X, **rules)

    def _asked_to_converge(self) -> bool:
        return self.iterated_power == "auto" or self.svd_solver != "randomized"

    def _store(self, solution: Solution, X: Any) -> None:
        super()._store(solution, X)
        assert isinstance(solution, Spectral)
        n, limit = X.shape[0], min(X.shape)
        k = len(solution.components)
        variances = solution.spectrum[:k].astype(np.float64)
        self.n_samples_, self.n_components_ = n, k
        self.explained_variance_: NDArray = variances.astype(X.dtype)
        self.explained_variance_ratio_ = (variances / solution.total_variance).astype(X.dtype)
        self.singular_values_ = np.sqrt(variances * (n - 1)).astype(X.dtype)
        if solution.spectrum_complete and k < limit:
            self.noise_variance_ = float(solution.spectrum[k:].mean())
        else:
            rest = max(0.0, solution.total_variance - float(variances.sum()))
            self.noise_variance_ = rest / (limit - k) if k < limit else 0.0

    @property
    def _fit_svd_solver(self) -> str:
        """The private name under which scikit-learn keeps `solver_`."""
        solver: str = self.solver_
        return solver

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = self.svd_solver not in ("full", "randomized")
        return tags
