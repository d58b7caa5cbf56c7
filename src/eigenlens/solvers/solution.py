"""What every solver returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Certificate", "Monitor", "Solution", "ignore"]

Monitor = Callable[[float], bool]
"""Called after each iteration with the objective; a true answer asks the solver to stop."""


def ignore(objective: float) -> bool:
    """Let the solver go on: the monitor of a solver that nobody watches."""
    return False


@dataclass(frozen=True, slots=True)
class Certificate:
    """A bound, computed after the fact, on how far an answer may be from the exact one.

    Attributes
    ----------
    what : str
        The quantity that is bounded.
    value : float
        The bound.
    tolerance : float
        What was asked for.

    Examples
    --------
    >>> from eigenlens.solvers.solution import Certificate
    >>> print(Certificate("eigen-residual / largest variance", 3e-12, 1e-9))
    eigen-residual / largest variance <= 3.0e-12 (asked for 1.0e-09): holds
    """

    what: str
    value: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether the bound is within the tolerance."""
        return bool(self.value <= self.tolerance)

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "does not hold"
        return f"{self.what} <= {self.value:.1e} (asked for {self.tolerance:.1e}): {verdict}"


@dataclass(frozen=True, kw_only=True)
class Solution:
    """How a solver ended; each family of methods adds its own fields.

    `_base` stores a field ``name`` that is not None as the fitted attribute ``name_``.
    """

    solver: str
    n_iter: int = 1
    converged: bool = True
    objective_history: NDArray = field(default_factory=lambda: np.empty(0))
    certificate: Certificate | None = None
