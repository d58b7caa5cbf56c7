"""Some rows of a table, dense or sparse."""

from __future__ import annotations

from typing import Any

from numpy.typing import DTypeLike
from scipy import sparse

__all__ = ["rows_of"]


def rows_of(X: Any, rows: slice, dtype: DTypeLike | None = None) -> Any:
    """Return rows of `X`, dense or CSR as it is, in `dtype` if one is given.

    Without a copy of what is stored, of sparse X too, unless its dtype is another.
    """
    if not sparse.issparse(X):
        return X[rows] if dtype is None else X[rows].astype(dtype, copy=False)
    ends = X.indptr[rows.start : rows.stop + 1]
    own = slice(ends[0], ends[-1])
    data = X.data[own] if dtype is None else X.data[own].astype(dtype, copy=False)
    return sparse.csr_array((data, X.indices[own], ends - ends[0]), (len(ends) - 1, X.shape[1]))
