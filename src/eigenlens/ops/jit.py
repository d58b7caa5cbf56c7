"""One decorator for compiled loops: lazy, cached on disk where that is possible, GIL released."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

__all__ = ["compiled"]

_compiling = threading.RLock()  # a loop compiles those that it calls


def compiled(loop: Callable[..., Any] | None = None, *, fast: bool = False) -> Any:
    """Compile `loop` with numba when it is first called, not when it is imported.

    The machine code is cached beside the source or in the user's cache folder. Where neither can
    be written (a read-only install without a home folder) numba refuses to cache, and the loop is
    compiled again in each process instead. ``loop.__wrapped__`` is the plain Python function, the
    twin that tests compare it with. A loop may call other compiled ones of its own file (numba's
    cache does not see changes in other files).

    What costs a second of compiling, and a loop avoids: to assign one array to a part of another,
    for which numba compiles a message about shapes that do not fit, and to hand on a number that is
    a constant at first, for which it compiles what is called once more.

    With `fast`, sums may be added up in any order and products fused into them: without that leave
    the compiler cannot take four or eight terms at a time. NaN and inf keep their meaning.
    """
    if loop is None:
        return functools.partial(compiled, fast=fast)

    @functools.cache
    def dispatcher() -> Callable[..., Any]:
        import numba  # 0.3 s: paid by the first fit that needs a loop, not by an import

        if numba.config.DISABLE_JIT:
            return loop
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
        if fast:
            options["fastmath"] = {"reassoc", "contract"}
        function = _calling_compiled(loop)
        try:
            compiled_loop = numba.njit(function, cache=True, **options)
        except RuntimeError:
            compiled_loop = numba.njit(function, **options)
        return _with_slp(compiled_loop)

    @functools.wraps(loop)
    def call(*args: Any) -> Any:
        return dispatcher()(*args)

    call.dispatcher = dispatcher  # type: ignore[attr-defined]
    return call


def _calling_compiled(loop: Callable[..., Any]) -> FunctionType:
    """Return `loop` with the compiled loops that it calls in the form that numba can call."""
    assert isinstance(loop, FunctionType)
    own = {}
    for name in loop.__code__.co_names:
        if dispatcher := getattr(loop.__globals__.get(name), "dispatcher", None):
            own[name] = dispatcher()
    function = FunctionType(loop.__code__, loop.__globals__ | own, loop.__name__, loop.__defaults__)
    function.__module__, function.__qualname__ = loop.__module__, loop.__qualname__
    return function


def _with_slp(dispatcher: Any) -> Any:
    """Let LLVM join operations on neighbouring scalars into vectors where it compiles this loop.

    Numba leaves that pass (SLP) off. With it, a loop that holds four columns in four scalars takes
    0.6 of the time. The setting is numba's own global one, so it is put back after each compile.
    """
    from numba import config

    compile_for = dispatcher.compile

    def compile_with_slp(signature: Any) -> Any:
        with _compiling:
            before, config.SLP_VECTORIZE = config.SLP_VECTORIZE, 1
            try:
                return compile_for(signature)
            finally:
                config.SLP_VECTORIZE = before

    dispatcher.compile = compile_with_slp
    return dispatcher
