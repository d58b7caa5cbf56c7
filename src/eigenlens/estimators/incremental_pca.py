"""Principal component analysis of rows that arrive in batches."""

from __future__ import annotations

import warnings
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._base import fitting
from .._compat import Interval, RealNotInt, StrOptions
from ..data.blocks import Blocks
from ..ops.finite import NonFiniteError
from ..ops.moments import Moments
from ..ops.truncated import TruncatedMoments
from ..ops.weights import weighted_rows
from ..select import rank_of
from ..solvers import eigh, truncated
from ..solvers.solution import Monitor, Solution
from ..solvers.spectral import Spectral, default_tol
from ._gaussian import GaussianSpectrum, require_more_than_one

__all__ = ["IncrementalPCA"]

SOLVED = frozenset({field.name + "_" for field in fields(Spectral)} | {"n_components_", "var_"})
"""Attributes that a solution of the eigenproblem gives."""


class IncrementalPCA(GaussianSpectrum):
    """PCA of rows that arrive in batches, exactly as if they had come at once.

    Count, mean and scatter matrix are kept up to date (:class:`eigenlens.Moments`), and the
    eigenproblem of the scatter is solved when an answer is asked for::

        components_ = leading eigenvectors of  sum over all rows of (x - mean)(x - mean)'

    So batches of any size in any order, dense or sparse, give what :class:`eigenlens.PCA` gives on
    all rows; fits made apart can be merged.

    Drop-in for :class:`sklearn.decomposition.IncrementalPCA`, which truncates at every batch and
    is off by up to tens of degrees. Where the d x d matrix would pass `max_memory`, this class
    truncates too, keeps as many directions as fit, and bounds the error in ``certificate_``.

    Parameters
    ----------
    n_components : int, float, 'mle' or None, default=None
        As in :class:`eigenlens.PCA`.
    whiten : bool, default=False
        Scale the scores to unit variance.
    copy : bool, default=True
        Accepted for compatibility: X is never written to.
    batch_size : int or None, default=None
        Accepted for compatibility: the answer does not depend on it.
    max_memory : float, default=1e9
        Bytes that the matrix of d x d float64 may take. Past it, a factor of fewer rows is kept.

    Attributes
    ----------
    components_, explained_variance_, explained_variance_ratio_, singular_values_, mean_, \
noise_variance_, n_components_, spectrum_, spectrum_complete_, total_variance_
        As in :class:`eigenlens.PCA`; solved for when first asked for after `partial_fit`.
    var_ : ndarray of shape (n_features,)
        Variance of each column, with the number of rows in the denominator.
    n_samples_seen_ : int
        Rows seen.
    batch_size_ : int
    solver_ : str
        ``'covariance_eigh'`` (exact) or ``'truncated'``.
    certificate_ : Certificate
        Bound on the error of the variances relative to the largest; for ``'truncated'`` it
        includes all that was cut off.
    n_iter_, converged_, objective_history_
        As in :class:`eigenlens.PCA`.

    See Also
    --------
    PCA : For data that are there all at once.
    Moments : The sums alone.

    References
    ----------
    T. F. Chan, G. H. Golub, R. J. LeVeque, Updating formulae and a pairwise algorithm for computing
    sample variances, Stanford STAN-CS-79-773 (1979).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import PCA, IncrementalPCA
    >>> X = np.random.default_rng(0).normal(size=(1000, 5)) * [5, 4, 3, 2, 1] + 100
    >>> stream = IncrementalPCA(n_components=2)
    >>> for batch in np.array_split(X, [1, 30, 700]):
    ...     stream = stream.partial_fit(batch)
    >>> np.allclose(stream.components_, PCA(n_components=2).fit(X).components_)
    True
    """

    claims = GaussianSpectrum.claims | {"streaming", "mergeable"}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "whiten": ["boolean"],
        "copy": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "max_memory": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int | float | Literal["mle"] | None = None,
        *,
        whiten: bool = False,
        copy: bool = True,
        batch_size: int | None = None,
        max_memory: float = 1e9,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.copy = copy
        self.batch_size = batch_size
        self.max_memory = max_memory

    def _solve(
        self, X: Any, *, weight: NDArray | None, rng: np.random.Generator, monitor: Monitor
    ) -> Spectral:
        self._begin(self.n_features_in_)
        for block in X if isinstance(X, Blocks) else [X]:
            self._add(block, weight)
        require_more_than_one(self._moments.mass)
        return self._solution(rng)

    def _fits_blocks(self) -> bool:
        return True

    @fitting
    def partial_fit(
        self,
        X: ArrayLike,
        y: object = None,
        check_input: bool = True,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add the rows of `X` to those seen: all of them or, if an error is raised, none.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A batch of any size, from one row on.
        y : Ignored
        check_input : bool, default=True
            Give False to skip the checks of an array that is known to be one of floats.
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_moments")
        if check_input:
            X = self._check(X, reset=first, ensure_all_finite=False)
        rows, weight = weighted_rows(X, sample_weight)
        if first:
            self._begin(rows.shape[1])
        elif self.n_components != self._n_components_before:
            raise ValueError(
                f"n_components has changed from {self._n_components_before} to "
                f"{self.n_components} between calls of partial_fit. "
                "Keep it fixed, or call fit to begin anew."
            )
        try:
            with np.errstate(invalid="ignore", over="ignore"):
                self._add(rows, weight)
        except NonFiniteError:
            self._explain_non_finite(X)
        self._forget_solution()
        return self

    def merge(self, other: IncrementalPCA) -> Self:
        """Add the rows that `other` has seen, as if they had all come here.

        Parameters
        ----------
        other : IncrementalPCA
            Fitted to rows of the same columns; it stays as it is.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        check_is_fitted(other)
        ours, theirs = (getattr(model, "feature_names_in_", ()) for model in (self, other))
        if other.n_features_in_ != self.n_features_in_ or list(ours) != list(theirs):
            raise ValueError(
                f"other was fitted to {other.n_features_in_} columns and self to "
                f"{self.n_features_in_}, or their names differ. Fit both to the same columns."
            )
        if type(other._moments) is not type(self._moments):
            raise ValueError(
                "One of the two keeps the whole matrix and the other a truncated factor. "
                "Give both the same max_memory."
            )
        self._moments.merge(other._moments)
        self.n_samples_seen_ += other.n_samples_seen_
        self._forget_solution()
        return self

    def _begin(self, d: int) -> None:
        """Start from no rows."""
        k = self.n_components
        if isinstance(k, Integral) and k > d:
            raise ValueError(
                f"n_components={k} invalid for n_features={d}, need more rows than columns for "
                f"IncrementalPCA processing. Ask for at most {d}."
            )
        self._n_components_before = k
        self.batch_size_ = self.batch_size or 5 * d
        self.n_samples_seen_ = 0
        self._moments: Any = Moments()
        if 8.0 * d * d > self.max_memory:
            least = int(k) if isinstance(k, Integral) else 1
            rank = max(least, int(self.max_memory / (8 * 4 * d)))  # two such factors, and a block
            self._moments = TruncatedMoments(min(rank, d), d)

    def _add(self, X: Any, weight: NDArray | None) -> None:
        moments, seen = self._moments, self.n_samples_seen_
        if seen != moments.count:  # set by the user: what came before counts as so many rows
            moments.mass, moments.count = moments.mass * seen / moments.count, int(seen)
        self.n_samples_seen_ = moments.add(X, weight).count

    def _solution(self, rng: np.random.Generator) -> Spectral:
        """Solve the eigenproblem of the rows seen so far."""
        moments = self._moments
        k, least = self.n_components, 2
        if isinstance(k, Integral):
            least = max(least, int(k))
        if moments.count < least or moments.mass <= 1:
            raise NotFittedError(
                f"{type(self).__name__} has seen {moments.count} rows, and n_components={k} needs "
                f"at least {least}. Give more rows to partial_fit."
            )
        rank = rank_of(k, moments.count, min(moments.count, len(moments.mean)))
        tol = default_tol(moments.dtype)
        if isinstance(moments, TruncatedMoments):
            return truncated.solve(moments, rank, tol=tol)
        return eigh.from_moments(moments, rank, rng=rng, tol=tol)

    def __getattr__(self, name: str) -> Any:
        if name in SOLVED and "_moments" in vars(self):
            solution = self._solution(self._rng())
            self._store(solution, self._moments)
            if not solution.converged:
                self._warn(solution)
            return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _store(self, solution: Solution, X: Any) -> None:
        super()._store(solution, X)
        moments = self._moments
        self.var_ = (moments.squares / moments.mass).astype(moments.dtype)

    def _forget_solution(self) -> None:
        for name in SOLVED & vars(self).keys():
            delattr(self, name)

    def _warn(self, solution: Solution) -> None:
        warnings.warn(
            f"{type(self).__name__} had to truncate: {solution.certificate}. "
            "Raise max_memory, so that the whole matrix can be kept.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(0)  # the same answer whenever it is asked for
