"""Faults for the checks of :mod:`eigenlens.testing.claims`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...estimators.pca import PCA
from .register import faulty

__all__: list[str] = []  # found through the table alone


@faulty("orthonormal")
class Loadings(PCA):
    """Gives loadings, scaled by deviations, for components."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.components_ = self.components_ * np.sqrt(self.explained_variance_)[:, None]


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


@faulty("certificate")
class SureOfItself(PCA):
    """Certifies that it does not err."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(replace(solution, certificate=replace(solution.certificate, value=0.0)), X)
