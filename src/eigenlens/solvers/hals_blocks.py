"""What the loop of :mod:`.hals` asks of a table in blocks: the problem of each block, added up.

Codes lie beside the blocks. Each method below is one pass, and all that it does to a block is what
:class:`.hals_memory.InMemory` does to a table, but that products are in double whatever the dtype:
single precision takes up to three times as many iterations to the same tolerance, its rounding
depends on the blocks, and here an iteration is a pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blocked import Blocked, Codes
from .hals_memory import InMemory
from .hals_problem import Effort, Problem, Sums, Worst
from .parts import Penalty

__all__ = ["InBlocks"]


class InBlocks(Problem):
    """The problem of a table in blocks."""

    def __init__(self, X: Blocked, on_W: Penalty, on_H: Penalty) -> None:
        self.X, self.on_W, self.on_H, self.square = X, on_W, on_H, X.square

    def begin(self, W: Codes) -> Codes:
        """Return the start as it is: the first pass makes it."""
        return W

    def codes(self, W: Codes, Ht: NDArray, step: float, effort: Effort) -> tuple[Codes, Sums]:
        """Return codes that descend from `W` and go on by `step`, and what the parts need."""
        return self._codes(_turn, W, Ht, step, effort)

    def ended(self, W: Codes, Ht: NDArray) -> tuple[Codes, Sums]:
        """Return the codes solved for to the end."""
        return self._codes(_end, W, Ht)

    def _codes(self, task: Any, W: Codes, *shared: Any) -> tuple[Codes, Sums]:
        sums, kept = self.X.advance(task, W, shared=(self.on_W, *shared), keep=1)
        return Codes(kept), Sums(*sums)

    def without(self, W: Codes, Ht: NDArray, dead: NDArray) -> tuple[Codes, Any, Worst]:
        """Return codes with zeros for `dead` parts, the errors of the rows, and the worst."""
        shared = self.on_W, Ht, dead
        worst, (kept, errors) = self.X.advance(_drop, W, shared=shared, keep=2, combine=_worst)
        return Codes([kept]), errors, Worst(*worst)

    def extended(
        self, W: Codes, errors: Any, Ht: NDArray, a: int, h: NDArray, cost: float
    ) -> tuple[float, Codes, Any, Worst]:
        """Return what part a gains as `h`, the codes and errors with it, and the worst."""
        shared = self.on_W, Ht, a, h
        (gain, *worst), (kept, after) = self.X.advance(
            _extend, W, errors, shared=shared, keep=2, combine=_gain_and_worst
        )
        return gain, Codes([kept]), after, Worst(*worst)


def _of(X: Any, on_W: Penalty) -> InMemory:
    """Return the problem of one block."""
    return InMemory(X, on_W, dtype=np.float64)


def _turn(
    X: Any, W: NDArray, on_W: Penalty, Ht: NDArray, step: float, effort: Effort
) -> tuple[tuple[Any, ...], NDArray]:
    problem = _of(X, on_W)
    codes, sums = problem.codes(problem.begin(W), Ht, step, effort)
    return tuple(sums), codes


def _end(X: Any, W: NDArray, on_W: Penalty, Ht: NDArray) -> tuple[tuple[Any, ...], NDArray]:
    codes, sums = _of(X, on_W).ended(np.array(W, np.float64, order="C"), Ht)
    return tuple(sums), codes


def _drop(
    X: Any, W: NDArray, on_W: Penalty, Ht: NDArray, dead: NDArray
) -> tuple[tuple[Any, ...], NDArray, NDArray]:
    codes, errors, worst = _of(X, on_W).without(W.copy(), Ht, dead)
    return tuple(worst), codes, errors


def _extend(
    X: Any, W: NDArray, errors: NDArray, on_W: Penalty, Ht: NDArray, a: int, h: NDArray
) -> tuple[tuple[Any, ...], NDArray, NDArray]:
    """Take the part up: whether it is worth it shows when all blocks have answered."""
    problem = _of(X, on_W)
    gain, codes, after, worst = problem.extended(W.copy(), errors.copy(), Ht, a, h, -np.inf)
    return (gain, *worst), codes, after


def _worst(parts: list[Any]) -> Any:
    return max(parts, key=lambda part: part[0])  # the first of those that are alike


def _gain_and_worst(parts: list[Any]) -> Any:
    return sum(gain for gain, *_ in parts), *_worst([worst for _, *worst in parts])
