"""The exponential of negative distances, from products, in one pass.

numpy's ``exp`` of float64 takes vector registers only on processors with AVX-512: elsewhere a
Gaussian kernel spends most of its time in it. Here ``exp(x) = 2^k exp(r)``, with k whole and r at
most log(2) / 2 in size, by a polynomial in r that is right to two roundings: loops without
branches, which the compiler turns into vector code. A third of the time on AVX2, and no pass of its
own for distances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .jit import compiled

__all__ = ["exp_of_distances"]

LOWEST = -708.0  # below, the exponential is no normal number: zero
WHOLE = 1.5 * 2.0**52  # what is added to it is rounded to a whole number, found in its lowest bits
INVERSE = 1.4426950408889634  # 1 / log(2)
HIGH, LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # log(2), in two parts


def exp_of_distances(P: NDArray, scale: float, a: NDArray, b: NDArray) -> NDArray:
    """Overwrite products P by ``exp(min(scale P_ij - a_i - b_j, 0))``, and return it."""
    whole, power = np.empty(P.shape[1]), np.empty(P.shape[1], np.int64)
    _exp(P, scale, a, b, whole, whole.view(np.int64), power, power.view(np.float64))
    return P


@compiled
def _exp(P, scale, a, b, whole, bits, power, factor):  # type: ignore[no-untyped-def]
    """Fill P, with room for one row: `bits` are those of `whole`, `factor` has those of `power`.

    Each inner loop reads some arrays and writes others, or else it could not be vector code.
    """
    n, m = P.shape
    for i in range(n):
        row = P[i]
        for j in range(m):
            x = max(min(scale * row[j] - a[i] - b[j], 0.0), LOWEST)
            row[j] = x
            whole[j] = x * INVERSE + WHOLE
        for j in range(m):
            power[j] = (bits[j] + 1023) << 52
        for j in range(m):
            k = whole[j] - WHOLE
            r = row[j] - k * HIGH - k * LOW
            p = 1.0 / 479001600
            p = p * r + 1.0 / 39916800
            p = p * r + 1.0 / 3628800
            p = p * r + 1.0 / 362880
            p = p * r + 1.0 / 40320
            p = p * r + 1.0 / 5040
            p = p * r + 1.0 / 720
            p = p * r + 1.0 / 120
            p = p * r + 1.0 / 24
            p = p * r + 1.0 / 6
            p = p * r + 0.5
            p = p * r + 1.0
            p = p * r + 1.0
            row[j] = p * factor[j] if row[j] > LOWEST else row[j] - row[j]
