"""Compiled loops as plain Python where that takes no time, so that their branches can be counted.

``NUMBA_DISABLE_JIT=1`` does so for every call, and the suite would take days. Here a call on small
arrays is plain, as many of each loop as fit into its time, and the others are compiled.
"""

import functools
import time

import numpy as np

from eigenlens.ops import jit

__all__ = ["install"]

CELLS = 5000  # of all arrays of a call, at most
SECONDS = 30  # that the plain calls of a loop may take, in each process


def cells(values):
    """How many numbers there are in arrays, in tuples of them too."""
    return sum(
        cells(value) if isinstance(value, tuple) else getattr(value, "size", 1) for value in values
    )


def install():
    """Let every loop that is imported from now on be plain on small arrays."""
    compiled = jit.compiled

    def sometimes_plain(loop=None, *, fast=False):
        if loop is None:
            return functools.partial(sometimes_plain, fast=fast)
        quick, left = compiled(loop, fast=fast), SECONDS

        @functools.wraps(loop)
        def call(*args):
            nonlocal left
            if left <= 0 or cells(args) > CELLS:
                return quick(*args)
            start = time.perf_counter()
            try:
                with np.errstate(all="ignore"):  # as in compiled loops
                    return loop(*args)
            finally:
                left -= time.perf_counter() - start

        call.dispatcher = quick.dispatcher
        return call

    jit.compiled = sometimes_plain
