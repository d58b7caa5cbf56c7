"""A fitted spectrum seen as a Gaussian: what PCA and its incremental form share.

Probabilistic PCA (Tipping, Bishop 1999): rows are drawn from N(mu, C) with

    C = V' diag(max(lambda, sigma^2)) V + sigma^2 (I - V'V)

V the components as orthonormal rows, lambda their variances, sigma^2 the mean of the discarded
ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._base import Estimator
from ..ops.centred import product

__all__ = ["GaussianSpectrum"]


class GaussianSpectrum(Estimator):
    """Scores, reconstruction, covariance and likelihood of a fitted spectrum."""

    whiten: bool
    mean_: NDArray
    components_: NDArray
    explained_variance_: NDArray
    noise_variance_: float

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

    def _scores(self, X: NDArray | sparse.csr_array) -> NDArray:
        V = self.components_.T
        if sparse.issparse(X):
            scores = X @ V - self.mean_ @ V
        else:
            scores = product(X, self.mean_, V)
        return scores / self._scale() if self.whiten else scores

    def _scale(self) -> NDArray:
        """Return the deviations of the scores, kept from zero for components without variance."""
        scale = np.sqrt(self.explained_variance_)
        return np.maximum(scale, np.finfo(scale.dtype).eps)

    def inverse_transform(self, X: ArrayLike) -> NDArray:
        """Return the rows of the original space that have the scores `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        rules = {"dtype": [np.float64, np.float32], "input_name": "X", "estimator": self}
        scores: NDArray = check_array(X, **rules)
        k = len(self.components_)
        if scores.shape[1] != k:
            raise ValueError(
                f"X has {scores.shape[1]} columns, but inverse_transform takes scores on {k} "
                "components. Give what transform returned."
            )
        if self.whiten:
            scores = scores * np.sqrt(self.explained_variance_)
        return scores @ self.components_ + self.mean_

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

        Where the model has no variance left outside the components (as many components as samples,
        fewer than features), it is the density on their span, and -inf for rows outside it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        rows: NDArray = self._fitted(X, accept_sparse=False)
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


def _reciprocal(variances: NDArray) -> NDArray:
    """Return 1 / variances, with 0 for those that are zero up to rounding."""
    smallest = np.finfo(variances.dtype).eps * len(variances) * variances.max(initial=0.0)
    safe = variances > smallest
    return np.where(safe, 1 / np.where(safe, variances, 1), 0).astype(variances.dtype)
