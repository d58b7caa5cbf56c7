"""Passes over a table in blocks whose rows may carry weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..data.blocks import Blocks

__all__ = ["fold"]


def fold(
    table: Blocks,
    task: Callable[..., Any],
    weight: NDArray | None = None,
    *,
    shared: Sequence[Any] = (),
    combine: Callable[[list[Any]], Any] | None = None,
) -> Any:
    """Return ``task(block, weight, *shared)`` of each block, put together: one pass.

    `weight` holds a number for each row of the table, and the task gets those of its block, None
    if there are none. Rows of weight zero are left out.
    """
    if weight is None:
        return table.fold(_Unweighted(task), shared=shared, combine=combine)
    beside = [table.beside(weight)]
    return table.advance(_Weighted(task), beside, shared=shared, combine=combine)[0]


class _Unweighted:
    def __init__(self, task: Callable[..., Any]) -> None:
        self.task = task

    def __call__(self, block: Any, *shared: Any) -> Any:
        return self.task(block, None, *shared)


class _Weighted:
    def __init__(self, task: Callable[..., Any]) -> None:
        self.task = task

    def __call__(self, block: Any, weight: NDArray, *shared: Any) -> tuple[Any]:
        kept = np.flatnonzero(weight)
        if not kept.size:
            return (None,)
        if kept.size < len(weight):
            block, weight = block[kept], weight[kept]
        return (self.task(block, weight, *shared),)
