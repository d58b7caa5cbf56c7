"""Principal component analysis of rows that arrive in batches."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from .._compat import Interval, RealNotInt, StrOptions
from ..data.blocks import Blocks
from ..ops.finite import require_variance
from ..ops.moments import merged
from ..ops.passes import fold
from ..ops.truncated import TruncatedMoments
from ..select import rank_of
from ..solvers import eigh, truncated
from ..solvers.solution import Monitor, Solution
from ..solvers.spectral import Spectral, default_tol
from ._gaussian import GaussianSpectrum, require_more_than_one
from ._streaming import Streaming, attributes

__all__ = ["IncrementalPCA"]


class IncrementalPCA(Streaming, GaussianSpectrum):
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

    in_batches_of = "PCA"
    on_blocks: ClassVar[Mapping[str, Any]] = {}
    claims = GaussianSpectrum.claims | {"streaming", "mergeable"}

    _solved = attributes(Spectral) | {"n_components_", "var_"}

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
        if isinstance(X, Blocks):
            none = self._moments
            self._moments = fold(X, _moments_of, weight, shared=(none,), combine=merged) or none
            self.n_samples_seen_ = self._moments.count
        else:
            self._add(X, weight)
        require_more_than_one(self._moments.mass)
        return self._solution()

    def _fits_blocks(self, table: Blocks) -> bool:
        return True

    def _require_stream(self, first: bool) -> None:
        if not first and self.n_components != self._n_components_before:
            raise ValueError(
                f"n_components has changed from {self._n_components_before} to "
                f"{self.n_components} between calls of partial_fit. "
                "Keep it fixed, or call fit to begin anew."
            )

    def _begin(self, d: int) -> None:
        super()._begin(d)
        k = self.n_components
        if isinstance(k, Integral) and k > d:
            raise ValueError(
                f"n_components={k} invalid for n_features={d}, need more rows than columns for "
                f"IncrementalPCA processing. Ask for at most {d}."
            )
        self._n_components_before = k
        self.batch_size_ = self.batch_size or 5 * d
        if 8.0 * d * d > self.max_memory:
            least = int(k) if isinstance(k, Integral) else 1
            rank = max(least, int(self.max_memory / (8 * 4 * d)))  # two such factors, and a block
            self._moments = TruncatedMoments(min(rank, d), d)

    def _solution(self) -> Spectral:
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
            solution = truncated.solve(moments, rank, tol=tol)
        else:
            solution = eigh.from_moments(moments, rank, rng=self._rng(), tol=tol)
        if solution.total_variance:  # other rows may come after those that are all alike
            require_variance(solution.total_variance, moments.dtype)
        return solution

    def _store(self, solution: Solution, X: Any) -> None:
        super()._store(solution, X)
        moments = self._moments
        self.var_ = self._as_dtype(moments.squares / moments.mass, moments.dtype)

    def _warn(self, solution: Solution) -> None:
        warnings.warn(
            f"{type(self).__name__} had to truncate: {solution.certificate}. "
            "Raise max_memory, so that the whole matrix can be kept.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(0)  # the same answer whenever it is asked for


def _moments_of(block: Any, weight: NDArray | None, none: Any) -> Any:
    """Return the moments of a block, of the same kind as those of no rows."""
    return deepcopy(none).add(block, weight)
