"""Faults for the checks of :mod:`eigenlens.testing.files`."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ...data.blocks import ArrayBlocks
from ...data.dask import DaskBlocks
from ...estimators.pca import PCA
from .register import faulty

__all__: list[str] = []  # found through the table alone


class Ending(IntEnum):
    """How an iteration ended."""

    CONVERGED = 0
    STOPPED = 1


@faulty("blocks")
class SeesOneBlock(PCA):
    """Takes the first block of a large table for all of it."""

    def _solve_blocks(self, X: Any, *given: Any) -> Any:
        return super()._solve_blocks(ArrayBlocks(next(iter(X))), *given)


@faulty("dask")
class SeesOneChunk(PCA):
    """Takes the last chunk for all of a Dask array."""

    def _solve_blocks(self, X: Any, *how: Any) -> Any:
        spread = isinstance(X, DaskBlocks)
        return super()._solve_blocks(ArrayBlocks([*X][-1]) if spread else X, *how)


@faulty("command_line")
class PairsItsSolver(PCA):
    """Keeps the name of its solver in a tuple, which JSON does not have."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.solver_ = (solution.solver,)


@faulty("report")
class FindsNobodyKnowsWhat(PCA):
    """"""  # noqa: D419  the fault: a method that does not say what it finds


@faulty("save_and_load")
class EndsInEnum(PCA):
    """Keeps an enum, of which a file without pickle keeps the number."""

    def _store(self, solution: Any, X: Any) -> None:
        super()._store(solution, X)
        self.ending_ = Ending.CONVERGED if solution.converged else Ending.STOPPED
