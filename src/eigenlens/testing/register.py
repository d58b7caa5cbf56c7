"""What a check is, and the tables in which checks enter themselves by a decorator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["CLAIM_CHECKS", "LAYER1", "Check", "claim", "layer1", "require"]

Shape = tuple[int, int]
Function = Callable[[Any, Shape], None]

SMALL: Shape = (60, 9)
WIDE: Shape = (25, 40)
LARGE: Shape = (450, 420)  # where solvers iterate that take LAPACK for anything smaller


@dataclass(frozen=True, slots=True)
class Check:
    """One rule of the contract: called with an unfitted estimator, it raises if that breaks it.

    Attributes
    ----------
    name : str
    layer : int
        0 for scikit-learn's own, 1 for what every estimator keeps, 2 for what a class claims.
    function : callable
        Takes an unfitted estimator and the shape of the table to use.
    shape : (n_samples, n_features)

    Examples
    --------
    >>> from eigenlens import PCA
    >>> from eigenlens.testing import CHECKS, WIDE
    >>> check = CHECKS["orthonormal"]
    >>> check.layer, check.shape
    (2, (60, 9))
    >>> check.at(WIDE)(PCA(n_components=2))  # silent: the promise is kept
    """

    name: str
    layer: int
    function: Function
    shape: Shape = SMALL

    def __call__(self, estimator: Any) -> None:
        """Raise unless `estimator` keeps the rule."""
        self.function(estimator, self.shape)

    def at(self, shape: Shape) -> Check:
        """Return the same check on tables of another shape.

        Parameters
        ----------
        shape : (n_samples, n_features)
            Of the tables.
        """
        return replace(self, shape=shape)


LAYER1: dict[str, Check] = {}
CLAIM_CHECKS: dict[str, Check] = {}


def _entering(table: dict[str, Check], layer: int) -> Callable[[Function], Function]:
    def enter(function: Function) -> Function:
        name = function.__name__.removeprefix("check_")
        table[name] = Check(name, layer, function)
        return function

    return enter


layer1 = _entering(LAYER1, 1)
claim = _entering(CLAIM_CHECKS, 2)


def require(condition: bool, message: str) -> None:
    """Raise `AssertionError` unless `condition`. Unlike `assert` it survives ``python -O``."""
    if not condition:
        raise AssertionError(message)
