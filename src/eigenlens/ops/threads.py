"""One way to run blocks of work in parallel: a pool of Python threads over single-threaded BLAS.

Why not the obvious ways: numba's ``parallel=True`` dies in a forked child and aborts when two
Python threads enter it; BLAS's own workers spin after each call and starve whatever runs next to
them. So a block of work here is a serial loop that releases the GIL (numpy, or a loop from
:mod:`.jit`), and BLAS is held at one thread while blocks run. The hold is counted: nested and
concurrent users share it, and the last one out gives BLAS back the number of threads it had.
Loops of other packages that have OpenMP's threads are called by `apart`.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import joblib
import numpy as np
import scipy.linalg  # noqa: F401  loads scipy's BLAS, which the controller below must see
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

__all__ = [
    "Scratch",
    "ahead",
    "apart",
    "blas_for",
    "looking_ahead",
    "n_threads",
    "run",
    "serial_blas",
    "spans",
]

LARGE = 1e9  # operations from which BLAS's own threads pay

S = TypeVar("S")
T = TypeVar("T")


class _Hold:
    """What the process shares: the lock, the count of users, BLAS's own threads and the pool."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.original: list[int] = []  # of each BLAS library, while there are users
        self.pool: ThreadPoolExecutor | None = None


_hold = _Hold()
_worker = threading.local()


def _renew_after_fork() -> None:
    """Give a forked child its own lock and pool, and BLAS its threads if the parent held them."""
    global _hold
    held, _hold = _hold, _Hold()
    if held.users:
        _set_blas_threads(held.original)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)


@cache
def _libraries(api: str) -> list[Any]:
    return list(ThreadpoolController().select(user_api=api).lib_controllers)


@cache
def _cores() -> int:
    return int(joblib.cpu_count())  # respects affinity masks and container quotas


def _blas_threads() -> list[int]:
    return [int(lib.num_threads) for lib in _libraries("blas")]


def _set_blas_threads(counts: list[int]) -> None:
    """Set the threads of each BLAS library.

    Since 3.8 threadpoolctl lets one thread control OpenBLAS and ignores all others. A hold that one
    thread begins and another ends would then never end, so this goes past that guard.
    """
    for lib, count in zip(_libraries("blas"), counts, strict=True):
        getattr(lib, "_real_set_num_threads", lib.set_num_threads)(count)


def n_threads() -> int:
    """Return how many threads work may use: what the user allows BLAS, at most the cores."""
    with _hold.lock:
        allowed = _hold.original if _hold.users else _blas_threads()
    return min(_cores(), max(allowed, default=_cores()))


@contextmanager
def serial_blas() -> Iterator[None]:
    """Hold BLAS at one thread; the last of nested or concurrent users restores what it was."""
    hold = _hold
    with hold.lock:
        if hold.users == 0:
            hold.original = _blas_threads()
            _set_blas_threads([1] * len(hold.original))
        hold.users += 1
    try:
        yield
    finally:
        with hold.lock:
            hold.users -= 1
            if hold.users == 0 and hold is _hold:  # not in a child forked inside the block
                _set_blas_threads(hold.original)


class Scratch(threading.local):
    """An array that each thread makes on first use and keeps from one block to the next.

    Memory that is new for every block costs more in page faults than the work done in it.
    """

    def __init__(self, size: int, dtype: np.dtype) -> None:  # called again in each thread
        self._flat = np.empty(size, dtype)

    def array(self, *shape: int) -> NDArray:
        """Return this thread's array, of any shape that fits, with whatever it holds."""
        return self._flat[: math.prod(shape)].reshape(shape)


def blas_for(flops: float) -> AbstractContextManager[None]:
    """Hold BLAS at one thread for a small problem, leave it its threads for a large one.

    Handing work to BLAS's threads and waiting for them costs more than a small problem itself, and
    a hundred times more on a machine whose cores are busy.
    """
    return nullcontext() if flops > LARGE else serial_blas()


def spans(n: int, size: int) -> list[slice]:
    """Cut ``range(n)`` into slices of at most `size`, alike in length.

    The cut depends on the data alone, never on the number of threads, so that sums over the
    slices taken in order are the same to the bit on any machine size.
    """
    count = max(1, -(-n // max(1, size)))
    edges = [n * i // count for i in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def run(task: Callable[[int], T], count: int) -> list[T]:
    """Return ``[task(0), ..., task(count - 1)]``, computed by the pool, in order.

    A task that calls `run` again runs its part inline, so that the pool cannot wait for itself.
    """
    with serial_blas():
        workers = min(n_threads(), count)
        if workers == 1 or getattr(_worker, "busy", False):
            return [task(i) for i in range(count)]
        return _in_pool(task, count, workers)


def ahead(function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """Yield ``function(item)`` for each item, in order, computed by the pool ahead of the caller.

    As many results are under way as there are threads, so that memory stays bounded.
    """
    workers = n_threads()
    if workers == 1 or getattr(_worker, "busy", False):
        yield from map(function, items)
        return
    pool = _pool()
    under_way: deque[Future[T]] = deque()
    try:
        for item in items:
            under_way.append(pool.submit(copy_context().run, function, item))
            if len(under_way) > workers:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:  # also when the caller has seen enough
        for future in under_way:
            future.cancel()
        wait(under_way)


def looking_ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, the next of which is fetched while the caller works on one.

    For what is read from a disk: reading waits, and so takes nothing from the threads that compute.
    The thread that fetches is none of the pool, so that it may wait for the pool itself, as for
    text that is parsed there in parallel, however many fetch at the same time.
    """
    if getattr(_worker, "busy", False):
        yield from items
        return
    iterator, end = iter(items), object()

    def fetch() -> Any:
        return next(iterator, end)

    with ThreadPoolExecutor(1, thread_name_prefix="eigenlens-reader") as reader:
        fetched = reader.submit(copy_context().run, fetch)
        try:
            while (item := fetched.result()) is not end:
                fetched = reader.submit(copy_context().run, fetch)
                yield item
        finally:  # also when the caller has seen enough
            wait([fetched])


def apart(function: Callable[[], T]) -> T:
    """Return what `function` returns, called in a thread that is made for it: for OpenMP.

    GNU's OpenMP keeps the threads that it has started for the next call from the same thread. A
    child that is forked there waits for them for ever, who are not in it. A new thread has none,
    and what it started ends with it. It has the caller's number of threads of OpenMP, and BLAS is
    held, so that what the function itself does to BLAS's threads is undone while they are held.
    """
    allowed = [(lib, int(lib.num_threads)) for lib in _libraries("openmp")]

    def called() -> T:
        for lib, count in allowed:
            lib.set_num_threads(count)  # of this thread alone
        return function()

    with serial_blas(), ThreadPoolExecutor(1, thread_name_prefix="eigenlens-openmp") as thread:
        return thread.submit(copy_context().run, called).result()


def _pool() -> ThreadPoolExecutor:
    with _hold.lock:
        if _hold.pool is None:
            _hold.pool = ThreadPoolExecutor(_cores(), thread_name_prefix="eigenlens")
        return _hold.pool


def _in_pool(task: Callable[[int], T], count: int, workers: int) -> list[T]:
    results: list[Any] = [None] * count
    todo = iter(range(count))  # next() of a range iterator is atomic under the GIL
    take = threading.Lock()

    def work() -> None:
        while True:
            with take:
                i = next(todo, None)
            if i is None:
                return
            results[i] = task(i)

    def hired() -> None:
        if not getattr(_worker, "busy", False):
            _set_blas_threads(
                [1] * len(_libraries("blas"))
            )  # some BLAS libraries count for each thread
            _worker.busy = True
        work()

    pool = _pool()
    # numpy's error state is part of the context, and must be the caller's in every thread
    futures = [pool.submit(copy_context().run, hired) for _ in range(workers - 1)]
    _worker.busy = True
    try:
        work()  # the caller is awake already, and has its data in cache
    finally:
        _worker.busy = False
        wait(futures)  # so that no block is still running when the caller sees an error
    for future in futures:
        future.result()
    return results
