"""Faults for the checks of :mod:`eigenlens.testing.manners`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...estimators.pca import PCA
from ..register import LARGE
from .register import faulty

__all__: list[str] = []  # found through the table alone


@faulty("names_out")
class NamesFromOne(PCA):
    """Counts components from 1, where the rest of the house counts from 0."""

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        return np.array([f"component {i + 1}" for i in range(len(self.components_))], dtype=object)


@faulty("bad_parameter_is_named")
class Unconstrained(PCA):
    """Leaves a parameter unchecked until arithmetic trips over it."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PCA._parameter_constraints,
        "tol": [object],
    }


@faulty("clone_and_parameters")
class WritesParameter(PCA):
    """Puts what it settled in the place of what it was asked."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.svd_solver = solution.solver


@faulty("pickle_round_trip")
class LosesProof(PCA):
    """Leaves its certificate behind when it travels."""

    def __getstate__(self) -> Any:
        return {
            name: value for name, value in super().__getstate__().items() if name != "certificate_"
        }


@faulty("history", LARGE, svd_solver="arpack")
class MiscountsSteps(PCA):
    """Says that one step did it all."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(replace(solution, n_iter=1), X)


@faulty("callbacks", LARGE, svd_solver="arpack")
class ShowsNothing(PCA):
    """Keeps its iterations to itself."""

    def _monitor(self, context: Any) -> Any:
        return lambda objective: False


@faulty("callbacks", LARGE, svd_solver="arpack")
class NeverStops(PCA):
    """Shows its iterations, and turns a deaf ear to the answer."""

    def _monitor(self, context: Any) -> Any:
        monitor = super()._monitor(context)
        return lambda objective: monitor(objective) and False


@faulty("one_convergence_warning", LARGE, svd_solver="arpack")
class HidesFailure(PCA):
    """Stops early and does not tell."""

    def _warn(self, solution: Any) -> None:
        pass
