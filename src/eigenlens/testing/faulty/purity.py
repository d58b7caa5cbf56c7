"""Faults for the checks of :mod:`eigenlens.testing.purity`."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from ...estimators.pca import PCA
from .register import faulty

__all__: list[str] = []  # found through the table alone


@faulty("fit_leaves_X_alone")
class CentresInPlace(PCA):
    """Spares a copy at the cost of the user's data."""

    def _solve(self, X: Any, **tools: Any) -> Any:
        if isinstance(X, np.ndarray) and X.flags.writeable:
            X -= X.mean(axis=0)
        return super()._solve(X, **tools)


@faulty("transform_leaves_the_model_alone")
class CountsRows(PCA):
    """Keeps a tally in transform."""

    def transform(self, X: Any) -> Any:
        self.n_seen_ = getattr(self, "n_seen_", 0) + len(X)
        return super().transform(X)


@faulty("refit_forgets")
class Remembers(PCA):
    """Lets what one fit stored leak into the next."""

    def _forget(self) -> None:
        self.before_ = getattr(self, "components_", None)


@faulty("failed_refit_changes_nothing")
class ForgetsTooEarly(PCA):
    """Throws the old model away before it has a new one."""

    def fit(self, X: Any, y: object = None, sample_weight: Any = None, **given: Any) -> Any:
        self._forget()
        return super().fit(X, y, sample_weight, **given)


@faulty("failed_refit_changes_nothing")
class TakesInfinity(PCA):
    """Puts a number where there is none, and says nothing."""

    def _check(self, X: Any, **rules: Any) -> Any:
        return np.nan_to_num(super()._check(X, **rules), posinf=0.0)


@faulty("global_rng_untouched")
class DrawsFromGlobal(PCA):
    """Seeds itself from numpy's global state."""

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(np.random.randint(2**31))  # noqa: NPY002


@faulty("same_seed_same_bits")
class IgnoresSeed(PCA):
    """Adds a pinch of noise of its own."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.components_ *= 1 + 1e-13 * np.random.default_rng().random()


@faulty("fits_at_once")
class SharesTable(PCA):
    """Lays the table down in a place that all fits have in common."""

    _table: Any = None

    def _solve(self, X: Any, **tools: Any) -> Any:
        type(self)._table = X
        time.sleep(0.02)  # as long as a reader of files may take
        return super()._solve(type(self)._table, **tools)


@faulty("quiet_on_easy_data")
class Talks(PCA):
    """Gives advice that nobody asked for."""

    def _solve(self, X: Any, **tools: Any) -> Any:
        warnings.warn("Have you scaled your data?", stacklevel=2)
        return super()._solve(X, **tools)
