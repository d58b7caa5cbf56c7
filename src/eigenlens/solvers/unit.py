"""Units in which a table without negative numbers, and its weights, can be fitted safely."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ops.finite import NonFiniteError
from ..ops.units import divided
from .blocked import Blocked
from .parts import Parts, Penalty

__all__ = ["Unit"]

LOW, HIGH = 1e-3, 1e6  # means of tables that are fitted as they are


@dataclass(frozen=True, slots=True)
class Unit:
    """What X, and its weights, are divided by, so that nothing underflows or overflows in a fit.

    Powers of four, so that no digit changes, and 1 for all but extreme numbers, where starts and
    updates are to the bit those that the numbers themselves would have.
    """

    size: float
    mass: float
    beta: float

    @classmethod
    def of(cls, X: Any, weight: NDArray | None, beta: float) -> Unit:
        """Return the units that suit a table and its weights."""
        mean = float(X.sum(dtype=np.float64)) / max(1, X.shape[0] * X.shape[1])
        mass = 1.0 if weight is None else float(weight.mean())
        size = _power_of_four(mean)
        if beta * np.log2(size) >= np.finfo(np.float64).maxexp:
            raise NonFiniteError(f"powers of {beta} of numbers like {mean:.1g} are no numbers")
        return cls(size, _power_of_four(mass), beta)

    @property
    def loss(self) -> float:
        """The unit of the objective."""
        return float(self.size**self.beta * self.mass)

    def table(self, X: Any) -> Any:
        """Return the table in its unit."""
        if self.size == 1:
            return X
        if isinstance(X, Blocked):
            return X.divided(self.size)
        return divided(X, X.dtype.type(self.size))

    def factor(self, A: Any) -> Any:
        """Return W or H, of which each has the root of the unit, if there is one."""
        return A if A is None or self.size == 1 else np.asarray(A) / np.sqrt(self.size)

    def weight(self, weight: NDArray | None) -> NDArray | None:
        """Return weights in their unit."""
        return weight if weight is None or self.mass == 1 else weight / self.mass

    def penalty(self, given: Penalty, mass: float = 1.0) -> Penalty:
        """Return a penalty in the unit of the objective of a row of weight `mass`."""
        loss = max(self.size**self.beta * mass, np.finfo(np.float64).tiny)
        return Penalty(given.l1 * np.sqrt(self.size) / loss, given.l2 * self.size / loss)

    def restored(self, found: Parts) -> Parts:
        """Return a solution in the units of X."""
        if self.size == 1 and self.mass == 1:
            return found
        root = np.sqrt(self.size)
        return replace(
            found,
            components=found.components * found.components.dtype.type(root),
            codes=None if found.codes is None else found.codes * found.codes.dtype.type(root),
            objective_history=found.objective_history * self.loss,
        )


def _power_of_four(number: float) -> float:
    """Return 1, or for very large and small numbers a power of four that is near."""
    if LOW <= number <= HIGH or not 0 < number < np.inf:
        return 1.0
    return float(4.0 ** np.round(np.log2(number) / 2))
