"""Principal component analysis."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._compat import Interval, RealNotInt, StrOptions
from ..data.blocks import WHOLE_BYTES, Blocks
from ..ops.centred_blocks import CentredBlocks
from ..ops.finite import NonFiniteError, require_variance
from ..ops.moments import Moments
from ..ops.weights import mass_of
from ..select import RULES, FactoredBlocks, rank_of
from ..solvers import eigh, krylov, ppca, svd
from ..solvers.solution import Monitor
from ..solvers.spectral import Rank, Spectral, choose_solver, default_tol
from ._gaussian import GaussianSpectrum, has_holes, require_more_than_one

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
    n_components : int, float, str or None, default=None
        How many components to keep. A float in (0, 1): the fewest that explain more than this
        fraction of the variance, on dense or sparse X. ``'mle'``: Minka's Bayesian choice, for
        n_samples >= n_features. A rule that separates factors from noise, on dense X:
        ``'parallel'``, ``'flip'``, ``'gavish-donoho'``, ``'cv'`` or ``'consensus'`` (see
        :mod:`eigenlens.select`). None: min(n_samples, n_features), one less for ``'arpack'`` and
        for X with holes.
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
        Passes over X of ``'randomized'`` after the first two; 'auto' goes on until `tol` is met.
    n_oversamples : int, default=10
        Vectors beyond n_components in a block of ``'randomized'`` with `iterated_power` given.
    power_iteration_normalizer : {'auto', 'QR', 'LU', 'none'}, default='auto'
        Accepted for compatibility: the Krylov basis is always orthonormal.
    random_state : int, RandomState instance or None, default=None
        Seed of the iterative solvers and of the rules.
    missing : {'error', 'em'}, default='error'
        What to do with NaN. ``'em'`` fits probabilistic PCA to the entries that are there, by
        expectation-maximisation; `transform`, `score_samples` and `impute` then take holes too. A
        table without holes gives plain PCA.

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
        Rows of X, without those of weight zero.
    noise_variance_ : float
        Mean of the discarded variances.
    spectrum_ : ndarray
        All variances the solver found, at least the first n_components_.
    spectrum_complete_ : bool
        Whether `spectrum_` holds all min(n_samples, n_features) of them.
    total_variance_ : float
    solver_ : str
        The solver that was used; ``'em'`` for X with holes.
    choice_ : Choice or Consensus
        What the rule found and compared, if `n_components` names one of :mod:`eigenlens.select`.
    certificate_ : Certificate
        Bound on the error of the variances relative to the largest, computed after the fact: from
        the residuals of the eigenpairs and the rounding of the data's own dtype. Its `what` says
        where, on a flat spectrum, it bounds the distance to some eigenvalue instead, or for holes
        how far the likelihood is from its maximum.
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

    A table in blocks, of :func:`eigenlens.open` or of Dask, is read in one pass for
    ``'covariance_eigh'``, which ``'auto'`` takes while the d x d matrix is at most 256 MB (some
    5800 columns). Beyond, and for ``'randomized'`` and ``'arpack'``, the operator ``A'A`` is
    applied to up to 96 vectors in a pass: one pass for the means, one for each step (`n_iter_`; 4
    to 20 for most spectra, few where the variances fall fast), up to four for the proof. It is
    always the d x d side, because products of rows that lie in different places would take a pass
    for each block. Memory: the Krylov basis, blocks of vectors of length d. The other solvers, and
    ``missing='em'``, need all rows in one place.

    Rules for `n_components` on a table in blocks: a fraction and ``'mle'`` take nothing more than
    the fit. ``'gavish-donoho'``, ``'parallel'`` and ``'cv'`` take none, none and one pass more;
    ``'flip'`` one for each 8 of at most 39 draws; ``'deflation'`` one for each 8 of at most 99
    draws in a round; fewer draws a pass where the d x d matrices of eight exceed 256 MB. The three
    that draw, and weights, take a pass more to count the rows of a file that does not say how many
    it has. Draws belong to rows by their numbers, so that the choice does not depend on how the
    table is cut; they are not those of a table in memory, whose choice is the same unless it is a
    close one. ``'parallel'`` draws normal columns of the same squares, to which permuted columns of
    many rows come. Where d x d does not fit, a rule looks at as many rows, drawn at random, as 256
    MB hold.

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

    claims = GaussianSpectrum.claims | {"missing"}
    on_blocks: ClassVar[Mapping[str, Any]] = {}
    choose_solver = staticmethod(choose_solver)
    _remedy = (
        "Raise tol, or take svd_solver='covariance_eigh', which is exact; "
        "for X with holes, ask for fewer components."
    )
    _instead = (
        "Take svd_solver='auto' and missing='error', or give rows that fit in one place, for "
        "example X[:10000].compute()."
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle", *RULES}),
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
        "missing": [StrOptions({"error", "em"})],
    }

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | Literal["auto"] = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        missing: Literal["error", "em"] = "error",
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
        self.missing = missing

    def _solve(
        self, X: Any, *, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> Spectral:
        if isinstance(X, Blocks):
            solution = self._solve_blocks(X, weight, rng, monitor)
        else:
            require_more_than_one(mass_of(X.shape[0], weight))
            holes = self.missing == "em" and has_holes(X)
            solve = self._solve_holes if holes else self._solve_whole
            solution = solve(X, weight, rng, monitor)
        require_variance(solution.total_variance, X.dtype)
        return solution

    def _fits_blocks(self, table: Blocks) -> bool:
        return self.svd_solver not in ("full", "gram_eigh") and self.missing == "error"

    def _solve_blocks(
        self, X: Blocks, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> Spectral:
        """Form the matrix of products in one pass, or multiply by it, a pass for each product."""
        d = len(X.names)
        solver = self.svd_solver
        if solver == "auto":
            fits = 8 * d**2 <= WHOLE_BYTES or self.n_components == "mle"
            solver = "covariance_eigh" if fits else "randomized"
        table = self._for_rule(X, weight, rng)
        asked = self._ruled(table, weight, rng)
        if solver == "covariance_eigh":
            known = isinstance(table, FactoredBlocks)
            moments = table.moments if known else Moments.over(X, weight)
            require_more_than_one(moments.mass)
            rank = self._rank(solver, (moments.count, d), asked)
            tol = max(self.tol, default_tol(moments.dtype))
            return eigh.from_moments(moments, rank, rng=rng, tol=tol)
        A = CentredBlocks(X, weight)
        require_more_than_one(A.mass)
        rank = self._rank(solver, (A.count, d), asked)
        how = {"block": krylov.width_in_blocks(rank)} | self._budget(solver, rank)
        return krylov.from_operator(
            A,
            rank,
            mass=A.mass,
            rows=A.count,
            dtype=A.dtype,
            rng=rng,
            tol=max(self.tol, default_tol(A.dtype)),
            wide=solver == "randomized",
            monitor=monitor,
            **how,
        )

    def _for_rule(self, X: Blocks, weight: NDArray | None, rng: np.random.Generator) -> Any:
        """Return what a rule looks at: the table by its moments, or as many rows as fit."""
        if self.n_components not in RULES or weight is not None:
            return None
        d = len(X.names)
        if 8 * d**2 <= WHOLE_BYTES:
            return FactoredBlocks(X)
        n, most = X.n_rows, max(2, WHOLE_BYTES // (8 * d))
        if n > most:
            return X.take(np.sort(rng.choice(n, most, replace=False)))
        return X.take(np.arange(n))

    def _rank(self, solver: str, shape: tuple[int, int], asked: Any) -> Rank:
        """Return the rank or rule, checked against what the solver can do."""
        self._require_suited(solver, shape, asked)
        return rank_of(asked, shape[0], min(shape) - (solver == "arpack"))

    def _budget(self, solver: str, rank: Rank) -> dict[str, Any]:
        """Return how many vectors and steps to take, where that is asked for.

        The first step only draws directions, and its product is the second's: with two, and no
        power iteration, the space is what scikit-learn's sketch sees of the rows.
        """
        if solver == "arpack" or self.iterated_power == "auto" or not isinstance(rank, int):
            return {}
        return {"block": rank + self.n_oversamples, "max_steps": int(self.iterated_power) + 2}

    def _solve_whole(
        self, X: Any, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> Spectral:
        """Call the solver that is asked for, or the quickest."""
        asked = self._ruled(X, weight, rng)
        solver = self.svd_solver
        if solver == "auto":
            solver = choose_solver(X.shape, asked, sparse=sparse.issparse(X))
        rank = self._rank(solver, X.shape, asked)
        tol = max(self.tol, default_tol(X.dtype))
        if solver == "full":
            return svd.solve(X, rank, weight=weight, tol=tol)
        if solver in ("covariance_eigh", "gram_eigh"):
            transposed = solver == "gram_eigh"
            return eigh.solve(X, rank, weight=weight, transposed=transposed, rng=rng, tol=tol)
        return krylov.solve(
            X,
            rank,
            weight=weight,
            wide=solver == "randomized",
            rng=rng,
            tol=tol,
            monitor=monitor,
            **self._budget(solver, rank),
        )

    def _ruled(self, X: Any, weight: NDArray | None, rng: np.random.Generator) -> Any:
        """Return `n_components`, or the number that the rule it names finds in X."""
        k = self.n_components
        if not isinstance(k, str) or k not in RULES:
            return k
        number = "Ask for a number, or for a fraction of the variance."
        if sparse.issparse(X):
            raise TypeError(f"n_components={k!r} needs dense X. {number}")
        if weight is not None:
            raise ValueError(f"n_components={k!r} cannot be used with sample_weight. {number}")
        if isinstance(X, np.ndarray) and not np.isfinite(X.sum()):
            raise NonFiniteError
        self.choice_ = RULES[k](X, rng)
        if self.choice_.k == 0:
            warnings.warn(
                f"n_components={k!r} finds nothing above the noise: no component is kept, and "
                f"scores have no columns. See choice_. {number}",
                UserWarning,
                stacklevel=8,
            )
        return self.choice_.k

    def _solve_holes(
        self, X: NDArray, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> Spectral:
        """Fit the entries that are there; a rule looks at the table as filled so far."""
        ppca.require_observed(X)
        most = min(X.shape) - 1
        k, tol = self.n_components, max(self.tol, default_tol(X.dtype))
        if isinstance(k, Integral) and k > most:
            raise ValueError(
                f"n_components={k} must be less than min(n_samples, n_features)={most + 1} for X "
                f"with holes. Ask for at most {most}, or give more data."
            )
        if k is None or isinstance(k, Integral):
            rank = most if k is None else int(k)
            return ppca.solve(X, rank, weight=weight, rng=rng, tol=tol, monitor=monitor)
        filled, rank, tried = np.where(np.isnan(X), np.nanmean(X, axis=0), X), -1, set[int]()
        while rank not in tried:  # a number that comes back is kept
            tried.add(rank)
            asked = self._ruled(filled, weight, rng)
            rank = min(most, self._count(filled, weight, asked))
            found = ppca.solve(X, rank, weight=weight, rng=rng, tol=tol, monitor=monitor)
            filled = ppca.conditional(
                X, found.mean, found.components, found.explained_variance, found.noise_variance
            )
        return found

    def _count(self, X: NDArray, weight: NDArray | None, asked: Any) -> int:
        """Return the number of components that a fraction or Minka's rule takes of dense X."""
        rule = rank_of(asked, X.shape[0], min(X.shape))
        if isinstance(rule, int):
            return rule
        return len(svd.solve(X, rule, weight=weight, tol=0.0).components)

    def _require_suited(self, solver: str, shape: tuple[int, int], k: Any) -> None:
        """Raise unless the solver can find k components of a table of that shape."""
        limit = min(shape)
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
            least = 1 if self.svd_solver in ("arpack", "randomized") else 0
            given = f"n_components={k} must be"
            bound = f"min(n_samples, n_features)={limit} with svd_solver='{solver}'"
            if not least <= int(k) <= limit:
                remedy = f"Ask for at most {limit}, or give more data."
                raise ValueError(f"{given} between {least} and {bound}. {remedy}")
            if solver == "arpack" and k == limit:
                remedy = "Take svd_solver='auto' for all components."
                raise ValueError(f"{given} strictly less than {bound}. {remedy}")

    def _check(self, X: Any, **rules: Any) -> Any:
        if sparse.issparse(X) and self.svd_solver in ("full", "randomized"):
            raise TypeError(
                'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, '
                f'while "{self.svd_solver}" was passed. Take svd_solver="auto", or X.toarray().'
            )
        return super()._check(X, **rules)

    def _ensure_all_finite(self) -> bool | Literal["allow-nan"]:
        return "allow-nan" if self.missing == "em" else super()._ensure_all_finite()

    def _asked_to_converge(self) -> bool:
        return self.iterated_power == "auto" or self.svd_solver != "randomized"

    @property
    def _fit_svd_solver(self) -> str:
        """The private name under which scikit-learn keeps `solver_`."""
        solver: str = self.solver_
        return solver

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.svd_solver not in ("full", "randomized")
        tags.input_tags.allow_nan = self.missing == "em"
        return tags
