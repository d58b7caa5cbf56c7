"""Memory for blocks of rows that is used again when nobody looks at them any more.

The system clears every page that it gives to a process. Where a file is read from its cache, that
takes as long as reading it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Room"]


class Room:
    """Gives arrays for blocks of one width; those of a pass over a table share a few of them."""

    def __init__(self, width: int, dtype: np.dtype) -> None:
        self._width, self._dtype = width, dtype
        self._free: list[NDArray] = []

    def rows(self, n: int) -> NDArray:
        """Return room for `n` rows, with whatever it holds; it comes back when no array uses it."""
        size = n * self._width
        memory = self._free.pop() if self._free else np.empty(size, self._dtype)
        if len(memory) < size:
            memory = np.empty(size, self._dtype)
        return np.asarray(_Lent(memory, self._free))[:size].reshape(n, self._width)


class _Lent:
    """What the arrays of a block and all views of them refer to, so that it goes with the last."""

    def __init__(self, memory: NDArray, free: list[NDArray]) -> None:
        self.__array_interface__ = memory.__array_interface__
        self._memory, self._free = memory, free

    def __del__(self) -> None:
        self._free.append(self._memory)
