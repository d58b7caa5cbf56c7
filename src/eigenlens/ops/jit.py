"""One decorator for compiled loops: lazy, cached on disk where that is possible, GIL released."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["compiled"]


def compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `loop` with numba when it is first called, not when it is imported.

    The machine code is cached beside the source or in the user's cache folder. Where neither can
    be written (a read-only install without a home folder) numba refuses to cache, and the loop is
    compiled again in each process instead. ``loop.__wrapped__`` is the plain Python function, the
    twin that tests compare it with.
    """

    @functools.cache
    def dispatcher() -> Callable[..., Any]:
        import numba  # 0.3 s: paid by the first fit that needs a loop, not by an import

        options = {"nogil": True, "error_model": "numpy"}
        try:
            return numba.njit(loop, cache=True, **options)
        except RuntimeError:
            return numba.njit(loop, **options)

    @functools.wraps(loop)
    def call(*args: Any) -> Any:
        return dispatcher()(*args)

    return call
