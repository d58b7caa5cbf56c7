"""A product of two factors at the places of a sparse matrix, the rest of it never computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .jit import compiled

__all__ = ["sampled_product"]


def sampled_product(W: NDArray, Ht: NDArray, pattern: Any) -> NDArray:
    """Return the entries of ``W H`` where the CSR matrix `pattern` has one, in its order.

    `Ht` is the transpose of H, in C order like `W`: both factors of an entry are then rows.
    """
    out = np.empty(len(pattern.data))
    products(pattern.indptr, pattern.indices, W, Ht, out)
    return out


@compiled(fast=True)
def products(indptr, indices, W, Ht, out):  # type: ignore[no-untyped-def]
    """Set `out` to the inner product of a row of `W` and a row of `Ht` for each entry."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            total = 0.0
            for c in range(W.shape[1]):
                total += W[i, c] * Ht[j, c]
            out[p] = total
