"""Fits of an estimator to rows drawn with replacement."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

from ..ops import threads
from ..ops.weights import mass_of

__all__ = ["Resamples", "run", "seeded"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """An estimator, and the table whose rows are drawn.

    Attributes
    ----------
    estimator : estimator
        Clones of it are fitted.
    A : {ndarray, sparse array} of shape (n, d)
    n_components : int
        Of the fit to all rows: a rule for the rank would choose it anew in each draw.
    weight : ndarray of shape (n,), optional
        Copies of each row, all positive. The rows that are drawn are those of the copied table.
    """

    estimator: Any
    A: Any
    n_components: int
    weight: NDArray | None = None

    def fit(self, rng: np.random.Generator) -> tuple[Any, NDArray]:
        """Return a clone fitted to rows drawn by `rng`, and how often each row was drawn."""
        counts = self._counts(rng)
        if np.count_nonzero(counts) <= self.n_components:
            raise self.too_few()
        rank = {"n_components": self.n_components}
        known = rank.keys() <= self.estimator.get_params(deep=False).keys()
        model = seeded(clone(self.estimator).set_params(**rank if known else {}), rng)
        if has_fit_parameter(self.estimator, "sample_weight"):
            model.fit(self.A, sample_weight=counts)
        else:
            model.fit(self.A[np.repeat(np.arange(len(counts)), counts.astype(np.intp))])
        return model, counts

    def too_few(self) -> ValueError:
        """Return what to raise where a draw does not determine all components."""
        n = self.A.shape[0]
        return ValueError(
            f"Some draws have no variance left along one of {self.n_components} components: they "
            f"hold about {round(0.63 * n)} of the {n} rows, some of them twice. Ask for fewer "
            "components."
        )

    def _counts(self, rng: np.random.Generator) -> NDArray:
        n = self.A.shape[0]
        share = np.full(n, 1 / n) if self.weight is None else self.weight / self.weight.sum()
        return rng.multinomial(round(mass_of(n, self.weight)), share).astype(np.float64)


def seeded(model: Any, rng: np.random.Generator) -> Any:
    """Give a model whose seed was left open one from `rng`."""
    if model.get_params(deep=False).get("random_state", "none of it") is None:
        model.set_params(random_state=int(rng.integers(2**31)))
    return model


def run(draw: Callable[[int], T], n_draws: int) -> list[T]:
    """Return what `draw` gives for each number; all warnings of the draws become one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        drawn = threads.run(draw, n_draws)
    if caught:
        _warn(caught, n_draws)
    return drawn


def _warn(caught: list[warnings.WarningMessage], n_draws: int) -> None:
    """Say how many warnings of each kind there were, and what the first of all said."""
    counts = Counter(warning.category for warning in caught)
    kinds = ", ".join(f"{count} {kind.__name__}" for kind, count in counts.items())
    alike = set(counts) == {ConvergenceWarning}
    warnings.warn(
        f"In {n_draws} fits to resampled rows: {kinds}. The first says: {caught[0].message}",
        ConvergenceWarning if alike else UserWarning,
        stacklevel=4,
    )
