"""What counts as a table in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .blocks import WHOLE_BYTES, ArrayBlocks, Blocks
from .dask import DaskBlocks, is_dask

__all__ = ["table_of"]


def table_of(X: Any) -> Blocks | None:
    """Return `X` as a table in blocks, None for what is an array in memory, or to become one.

    Parameters
    ----------
    X : object
        A table of :func:`eigenlens.open`, a Dask array or dataframe, or a large array of numbers
        that is mapped from a file; else None is returned.

    Returns
    -------
    Blocks or None
    """
    if isinstance(X, Blocks):
        return X
    if is_dask(X):
        return DaskBlocks(X)
    if (
        isinstance(X, np.memmap)
        and X.ndim == 2
        and X.nbytes > WHOLE_BYTES
        and X.dtype.kind in "fiu"
    ):
        table = ArrayBlocks(X, path="X")
        table.named = False
        return table
    return None
