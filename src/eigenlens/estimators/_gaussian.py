"""A fitted spectrum seen as a Gaussian: what PCA and its incremental form share.

Probabilistic PCA (Tipping, Bishop 1999): rows are drawn from N(mu, C) with

    C = V' diag(max(lambda, sigma^2)) V + sigma^2 (I - V'V)

V the components as orthonormal rows, lambda their variances, sigma^2 the mean of the discarded
ones.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._base import Estimator, StrPath, fitting
from ..ops.centred import product
from ..ops.finite import SPARSE_HOLES
from ..solvers import ppca
from ..solvers.solution import Solution

__all__ = ["GaussianSpectrum", "has_holes", "require_more_than_one"]


class GaussianSpectrum(Estimator):
    """Scores, reconstruction, covariance and likelihood of a fitted spectrum."""

    claims = frozenset(
        {
            "orthonormal",
            "uncorrelated",
            "nested",
            "inverse",
            "recovers",
            "certificate",
            "weights",
            "shift",
            "scale",
            "rotation",
            "row_order",
            "column_order",
            "zero_columns",
            "repeated_rows",
        }
    )
    excused = dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "Compares scores on directions without any variance, which are arbitrary; the claim "
        "'weights' holds that a weight is a number of copies.",
    )

    _weighs_blocks = True

    whiten: bool
    mean_: NDArray
    components_: NDArray
    explained_variance_: NDArray
    noise_variance_: float

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
        X : {array-like, sparse matrix, Blocks, Dask} of shape (n_samples, n_features)
            The data, one row a sample. It is never written to. A table of :func:`eigenlens.open`
            is taken with its names, and in blocks if it is large and the method can. A Dask array
            or dataframe is fitted where its rows are.
        y : Ignored
            Present for the conventions of pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: a whole number w is the same as w copies of the row, 0 as
            leaving it out. Variances have the sum of weights less 1 in the denominator.
        checkpoint : str or path-like, optional
            A folder for a fit in blocks to write down how far it is: after a kill the same call
            goes on from there, to the same numbers. The folder is removed when the fit is done.
            Nothing is written for a table that is not taken in blocks.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, checkpoint=checkpoint)

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the scores of `X`: its centred rows projected on the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self._scores(self._fitted(X))

    def _store(self, solution: Solution, X: Any) -> None:
        super()._store(solution, X)
        self.n_components_ = len(self.components_)

    def impute(self, X: ArrayLike) -> NDArray:
        """Return `X` with each hole (NaN) filled by its expectation given the rest of its row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with or without holes. A row without any entry gets the mean.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            What was there stays as it is, to the bit.
        """
        rules = {"ensure_all_finite": "allow-nan", "accept_sparse": False}
        return ppca.conditional(self._fitted(X, **rules), **self._model())

    def _model(self) -> dict[str, Any]:
        """Return the parameters of the Gaussian."""
        return {
            "mean": self.mean_,
            "components": self.components_,
            "variances": self._variances(),
            "noise_variance": self.noise_variance_,
        }

    def _scores(self, X: NDArray | sparse.csr_array) -> NDArray:
        V = self.components_.T
        if self._ensure_all_finite() == "allow-nan" and has_holes(X):
            X = ppca.conditional(X, **self._model())
        if sparse.issparse(X):
            with np.errstate(over="ignore", invalid="ignore"):
                scores = self._finite(X @ V - self.mean_ @ V)
        else:
            scores = self._finite(product(X, self.mean_, V))
        return scores / self._scale() if self.whiten else scores

    def _scale(self) -> NDArray:
        """Return the deviations of the scores, kept from zero for components without variance."""
        scale = np.sqrt(self.explained_variance_)
        size = min(1.0, scale.max(initial=0.0)) or 1.0  # in any unit
        return np.maximum(scale, np.finfo(scale.dtype).eps * size)

    def inverse_transform(self, X: ArrayLike) -> NDArray:
        """Return the rows of the original space that have the scores `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        scores = self._check_scores(X)
        if self.whiten:
            scores = scores * np.sqrt(self.explained_variance_)
        return self._rows_from(scores, self.mean_)

    def get_covariance(self) -> NDArray:
        """Return the covariance C of the model, of shape (n_features, n_features).

        It is that of the data whether or not the scores are whitened.
        """
        check_is_fitted(self)
        V, noise = self.components_, self.noise_variance_
        covariance = (V.T * (self._variances() - noise)) @ V
        covariance.flat[:: len(covariance) + 1] += noise
        return covariance

    def get_precision(self) -> NDArray:
        """Return the inverse of `get_covariance`; its pseudo-inverse where that is singular."""
        check_is_fitted(self)
        V, noise, variances = self.components_, self.noise_variance_, self._variances()
        base = 1 / noise if noise > 0 else 0.0
        precision = (V.T * (_reciprocal(variances) - base)) @ V
        precision.flat[:: len(precision) + 1] += base
        return precision

    def _variances(self) -> NDArray:
        return np.maximum(self.explained_variance_, self.noise_variance_)

    def score_samples(self, X: ArrayLike) -> NDArray:
        """Return the log-likelihood of each row of `X` under the model.

        Of a row with holes, that of the entries which are there. Where the model has no variance
        left outside the components (as many components as samples, fewer than features), it is the
        density on their span, and -inf for rows outside it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        rows: NDArray = self._fitted(X, accept_sparse=False)
        if self._ensure_all_finite() == "allow-nan" and has_holes(rows):
            return ppca.log_likelihood(rows, **self._model())
        V, noise, variances = self.components_, self.noise_variance_, self._variances()
        centred = rows - self.mean_
        scores = centred @ V.T
        inverse = _reciprocal(variances)
        rest = rows.shape[1] - len(V)
        distance = (scores**2) @ inverse
        log_det = -np.log(inverse[inverse > 0]).sum()
        dimension = np.count_nonzero(inverse)
        if rest:
            outside = ((centred - scores @ V) ** 2).sum(axis=1)
            if noise > 0:
                distance += outside / noise
                log_det += rest * np.log(noise)
                dimension += rest
            else:
                size = (rows**2).sum(axis=1) + (self.mean_**2).sum()
                distance[outside > len(V) * np.finfo(rows.dtype).eps * size] = np.inf
        return -0.5 * (distance + log_det + dimension * np.log(2 * np.pi))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return the mean log-likelihood of the rows of `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X)))


def has_holes(X: NDArray | sparse.csr_array) -> bool:
    """Return whether `X` holds NaN, without an array of its size; raise if it is sparse as well."""
    values = np.asarray(X.data) if sparse.issparse(X) else X
    found = bool(values.size) and bool(np.isnan(values.min()))
    if found and sparse.issparse(X):
        raise ValueError(SPARSE_HOLES)
    return found


def require_more_than_one(mass: float) -> None:
    """Raise if the weights of the rows add up to too little for a variance."""
    if mass <= 1:
        raise ValueError(
            f"The weights of the rows add up to {mass:g}, and a variance needs more than 1. "
            "Give more rows, or weights that say how often each row counts."
        )


def _reciprocal(variances: NDArray) -> NDArray:
    """Return 1 / variances, with 0 for those that are zero up to rounding."""
    smallest = np.finfo(variances.dtype).eps * len(variances) * variances.max(initial=0.0)
    safe = variances > smallest
    return np.where(safe, 1 / np.where(safe, variances, 1), 0).astype(variances.dtype)
