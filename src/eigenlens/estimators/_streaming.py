"""Estimators of rows that arrive in batches: sums are kept, an answer is found when asked for."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._base import Estimator, fitting
from ..ops.finite import NonFiniteError
from ..ops.moments import Moments
from ..ops.weights import weighted_rows
from ..solvers.solution import Solution

__all__ = ["Streaming", "attributes"]


def attributes(solution: type[Solution]) -> frozenset[str]:
    """Return the names of the attributes that hold the fields of a solution."""
    return frozenset(field.name + "_" for field in fields(solution))


class Streaming(Estimator):
    """An estimator that needs of the data no more than :class:`eigenlens.Moments` hold.

    Its attribute ``_moments`` is there while rows come in batches. What the solution gives is
    computed when it is first asked for, so that a batch costs no more than its sums.
    """

    _solved: ClassVar[frozenset[str]]
    """Attributes that a solution gives."""

    n_samples_seen_: int

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
            A batch of any size, from one row on. Sparse if `fit` takes that.
        y : Ignored
        check_input : bool, default=True
            Give False to skip the checks of an array that is known to be one of floats.
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`.

        Returns
        -------
        self
        """
        first = "_moments" not in vars(self)
        self._require_stream(first)
        if check_input:
            X = self._check(X, reset=first, ensure_all_finite=False)
        rows, weight = weighted_rows(X, sample_weight)
        if first:
            self._begin(rows.shape[1])
        try:
            with np.errstate(invalid="ignore", over="ignore"):
                self._add(rows, weight)
        except NonFiniteError:
            self._explain_non_finite(X)
        self._forget_solution()
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows that `other` has seen, as if they had all come here.

        Parameters
        ----------
        other : estimator of the same class
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
        for model in (self, other):
            model._require_stream("_moments" not in vars(model))
        if type(other._moments) is not type(self._moments):
            raise ValueError(
                "One of the two keeps the whole matrix and the other a truncated factor. "
                "Give both the same max_memory."
            )
        self._moments.merge(other._moments)
        self.n_samples_seen_ += other.n_samples_seen_
        self._forget_solution()
        return self

    @abstractmethod
    def _require_stream(self, first: bool) -> None:
        """Raise an error if rows cannot be added to the model as it is."""

    @abstractmethod
    def _solution(self) -> Solution:
        """Solve for the rows seen so far."""

    def _begin(self, d: int) -> None:
        """Start from no rows of `d` columns."""
        self.n_samples_seen_ = 0
        self._moments: Any = Moments()

    def _add(self, X: Any, weight: NDArray | None) -> None:
        moments, seen = self._moments, self.n_samples_seen_
        if seen != moments.count:  # set by the user: what came before counts as so many rows
            moments.mass, moments.count = moments.mass * seen / moments.count, int(seen)
        self.n_samples_seen_ = moments.add(X, weight).count

    def __getattr__(self, name: str) -> Any:
        if name in self._solved and "_moments" in vars(self):
            solution = self._solution()
            self._store(solution, self._moments)
            if not solution.converged:
                self._warn(solution)
            return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _forget(self) -> None:
        self.__dict__.pop("_moments", None)
        super()._forget()

    def _forget_solution(self) -> None:
        for name in self._solved & vars(self).keys():
            delattr(self, name)
