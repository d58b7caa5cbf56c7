"""Faults for the checks of :mod:`eigenlens.testing.numbers`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_info

from ...estimators.pca import PCA
from .register import faulty

__all__: list[str] = []  # found through the table alone


@faulty("fit_transform_is_fit_then_transform")
class TwoScales(PCA):
    """Divides by n in one place and by n - 1 in another."""

    def fit_transform(self, X: Any, y: object = None, **params: Any) -> Any:
        return super().fit_transform(X, y, **params) * np.sqrt(1 - 1 / len(X))


@faulty("transform_is_row_by_row")
class CentresAnew(PCA):
    """Centres new data by their own mean."""

    def transform(self, X: Any) -> Any:
        scores = super().transform(X)
        return scores - scores.mean(axis=0)


@faulty("float32_in_and_out")
class Widens(PCA):
    """Turns everything into float64."""

    def _check(self, X: Any, **rules: Any) -> Any:
        return super()._check(X, **rules | {"dtype": np.float64})


@faulty("float32_in_and_out")
class CoarseSingle(PCA):
    """Loses digits in float32 that float32 has: the textbook's ``X'X - n mu mu'``."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        if X.dtype == np.float32:
            self.explained_variance_ = self.explained_variance_ * np.float32(1.001)


@faulty("memory_order")
class ReadsMemory(PCA):
    """Takes the memory of X for its rows."""

    def _solve(self, X: Any, **tools: Any) -> Any:
        if isinstance(X, np.ndarray):
            X = X.ravel(order="K").reshape(X.shape)
        return super()._solve(X, **tools)


@faulty("sparse_equals_dense")
class StoredMeans(PCA):
    """Takes the mean of the stored entries for that of the column."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        if sparse.issparse(X):
            self.mean_ = X.sum(axis=0) / np.bincount(X.nonzero()[1], minlength=X.shape[1])


@faulty("sparse_equals_dense", svd_solver="full")
class QuietlyDense(PCA):
    """Says that it takes no sparse data, and takes it."""

    def _check(self, X: Any, **rules: Any) -> Any:
        return super()._check(X.toarray() if sparse.issparse(X) else X, **rules)


@faulty("constant_columns_and_repeated_rows")
class DividesByZero(PCA):
    """Scales columns to unit variance without a look at it."""

    def _solve(self, X: Any, **tools: Any) -> Any:
        return super()._solve(X / X.std(axis=0), **tools)


@faulty("threads_do_not_matter")
class SignOfThreads(PCA):
    """Leaves the sign of a component to the number of threads."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        if all(library["num_threads"] == 1 for library in threadpool_info()):
            self.components_ = -self.components_
