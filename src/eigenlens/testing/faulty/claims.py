"""Faults for the checks of :mod:`eigenlens.testing.claims`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...estimators.incremental_pca import IncrementalPCA
from ...estimators.nmf import NMF
from ...estimators.pca import PCA
from ...estimators.robust_pca import RobustPCA
from .register import faulty

__all__: list[str] = []  # found through the table alone


@faulty("orthonormal")
class Loadings(PCA):
    """Gives loadings, scaled by deviations, for components."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.components_ = self.components_ * np.sqrt(self.explained_variance_)[:, None]


@faulty("bounded")
class KeepsSingularValues(PCA):
    """Gives the rows of S V' of an SVD for components."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.components_ = self.components_ * self.singular_values_[:, None]


@faulty("nonnegative")
class LeastSquares(NMF):
    """Codes new rows by least squares, without the constraint."""

    def transform(self, X: Any) -> Any:
        return np.linalg.lstsq(self.components_.T, self._fitted(X).T, rcond=None)[0].T


@faulty("uncorrelated")
class Rotated(PCA):
    """Turns the components inside their plane, as varimax would."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.components_[:2] = np.array([[0.8, 0.6], [-0.6, 0.8]]) @ self.components_[:2]


@faulty("nested")
class SmallestFirst(PCA):
    """Orders components by rising variance, as LAPACK leaves them."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.components_ = self.components_[::-1].copy()


@faulty("rotation")
class Standardises(PCA):
    """Scales the columns, which a rotation mixes."""

    def _solve(self, X: Any, **tools: Any) -> Any:
        return super()._solve(X / np.maximum(X.std(axis=0), 1e-9), **tools)


@faulty("inverse")
class StaysWhite(PCA):
    """Whitens in transform only."""

    def inverse_transform(self, X: Any) -> Any:
        return X @ self.components_ + self.mean_


@faulty("row_order")
class LazyReader(PCA):
    """Reads the first half of the rows."""

    def _solve(self, X: Any, **tools: Any) -> Any:
        return super()._solve(X[: X.shape[0] // 2], **tools)


@faulty("recovers")
class Axes(PCA):
    """Gives the coordinate axes, which are orthonormal, nested and cheap."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.components_ = np.eye(*self.components_.shape, dtype=X.dtype)


@faulty("breakdown")
class LooksTwice(RobustPCA):
    """Finds what is wrong, and then fits the table with it."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.components_ = PCA(self.rank_).fit(X).components_


@faulty("certificate")
class SureOfItself(PCA):
    """Certifies that it does not err."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(replace(solution, certificate=replace(solution.certificate, value=0.0)), X)


@faulty("missing")
class FillsWithTheMean(PCA):
    """Puts the mean of its column into each hole."""

    def impute(self, X: Any) -> Any:
        return np.where(np.isnan(X), self.mean_, X)


@faulty("missing")
class LetsHolesThrough(PCA):
    """Says that it takes NaN whatever the parameter says."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@faulty("weights")
class Importance(PCA):
    """Scales the weights to a mean of one, so that they no longer count rows."""

    def _solve(self, X: Any, **tools: Any) -> Any:
        if tools["weight"] is not None:
            tools["weight"] = tools["weight"] / tools["weight"].mean()
        return super()._solve(X, **tools)


@faulty("weights")
class TakesAnyWeight(PCA):
    """Takes the size of a weight, whatever its sign."""

    def fit(self, X: Any, y: object = None, sample_weight: Any = None, **given: Any) -> Any:
        weight = None if sample_weight is None else np.abs(sample_weight)
        return super().fit(X, y, weight, **given)


@faulty("streaming")
class LastBatch(IncrementalPCA):
    """Takes the mean of the last batch for that of all rows."""

    def partial_fit(self, X: Any, *args: Any, **kwargs: Any) -> Any:
        super().partial_fit(X, *args, **kwargs)
        self._moments.mean = np.asarray(X, dtype=np.float64).mean(axis=0)
        return self


@faulty("mergeable")
class AddsScatters(IncrementalPCA):
    """Adds the scatters of the parts, and forgets that their means differ."""

    def merge(self, other: Any) -> Any:
        mean = other._moments.mean
        other._moments.mean = self._moments.mean
        super().merge(other)
        other._moments.mean = mean
        return self


@faulty("shift")
class ForgetsTheMean(PCA):
    """Takes new rows as they are."""

    def transform(self, X: Any) -> Any:
        return self._fitted(X) @ self.components_.T


@faulty("scale")
class AddsARidge(PCA):
    """Adds a number to the variances, which is small in some units alone."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.explained_variance_ = self.explained_variance_ + 1e-12


@faulty("column_order")
class LikesTheLast(PCA):
    """Weighs columns by their places."""

    def _solve(self, X: Any, **tools: Any) -> Any:
        return super()._solve(X * np.linspace(1, 2, X.shape[1]), **tools)


@faulty("zero_columns")
class CountsColumns(PCA):
    """Gives the mean of the columns' variances for their sum."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.total_variance_ /= X.shape[1]


@faulty("repeated_rows")
class LeftVectors(PCA):
    """Scales scores to length 1, whatever the number of rows."""

    def transform(self, X: Any) -> Any:
        return super().transform(X) / self.singular_values_
