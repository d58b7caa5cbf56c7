"""Covariance and correlation of a table: weighted, sparse, with holes, with its names kept.

Without holes they come from :class:`eigenlens.Moments`. With holes each entry is computed from the
rows in which both of its columns are observed. For columns i and j and those rows alone,

    covariance_ij = (sum x_i x_j - sum x_i sum x_j / n_ij) / (n_ij - ddof)

with x shifted by the column means first, so that the subtraction costs no digits. All pairs
together are a few products of matrices: with M the mask of what is observed and X zero elsewhere,
``X'X``, ``X'M`` and ``M'M``.

A table in blocks is read once; if it has holes once more, with the column means known.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .._compat import check_array
from ..data.blocks import Blocks
from ..data.tables import table_of
from ..ops import threads
from ..ops.columns import ColumnMoments
from ..ops.finite import SPARSE_HOLES, NonFiniteError, require_finite
from ..ops.moments import Moments
from ..ops.passes import fold
from ..ops.units import SOUND, powers_of_two
from ..ops.weights import roots_of, weighted_rows
from .frames import column_names

__all__ = ["correlation", "covariance"]

ROUNDING = 4.0  # units in the last place of its mean that a constant column may vary by


def covariance(
    X: ArrayLike | Moments, *, sample_weight: ArrayLike | None = None, ddof: float = 1
) -> Any:
    """Return the covariance matrix of the columns of `X`.

    Parameters
    ----------
    X : {array-like, sparse matrix, dataframe, Blocks} of shape (n, d), or Moments
        NaN is a hole. With holes, an entry is computed from the rows in which both columns are
        observed; the matrix may then have negative eigenvalues. A table of
        :func:`eigenlens.open`, a Dask array or dataframe, or a large memory map is read in blocks:
        once, or twice if it has holes; a few d x d matrices are held.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    ddof : float, default=1
        The sum of weights less this is the denominator: 1 for the unbiased estimate, 0 for the mean
        of squares.

    Returns
    -------
    ndarray or dataframe of shape (d, d)
        A dataframe with the names of the columns for a pandas or polars dataframe, an array for all
        else; the order of the columns is that of `X`. NaN where fewer than two rows have both
        columns.

    See Also
    --------
    correlation : The same in units of the deviations.

    Examples
    --------
    >>> import numpy as np
    >>> import eigenlens
    >>> X = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 6.0], [4.0, np.nan]])
    >>> eigenlens.covariance(X).round(2)
    array([[1.67, 2.  ],
           [2.  , 7.  ]])
    """
    pairs = _pairs(X, sample_weight)
    return _like(X, pairs.covariance(ddof))


def correlation(X: ArrayLike | Moments, *, sample_weight: ArrayLike | None = None) -> Any:
    """Return the correlation matrix of the columns of `X`.

    A constant column has no correlation with anything: its row and column are NaN, and one warning
    names it.

    Parameters
    ----------
    X : {array-like, sparse matrix, dataframe, Blocks} of shape (n, d), or Moments
        NaN is a hole, as in :func:`covariance`; so are tables in blocks read.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    ndarray or dataframe of shape (d, d)
        As in :func:`covariance`; ones on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> import eigenlens
    >>> eigenlens.correlation(np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 6.0]])).round(3)
    array([[1.   , 0.756],
           [0.756, 1.   ]])
    """
    pairs = _pairs(X, sample_weight)
    R = pairs.correlation()
    constant = pairs.constant()
    if constant.any():
        table = table_of(X)
        known = column_names(X, len(constant)) if table is None else np.asarray(table.names)
        names = known[constant]
        shown = ", ".join(map(str, names[:5])) + (", ..." if len(names) > 5 else "")
        several = len(names) > 1
        warnings.warn(
            f"Column{'s' * several} {shown} {'are' if several else 'is'} constant: the "
            f"correlation with {'them' if several else 'it'} is undefined, and NaN here. "
            "Drop constant columns.",
            UserWarning,
            stacklevel=2,
        )
        R[constant] = np.nan
        R[:, constant] = np.nan
    diagonal = np.diag(R).copy()
    np.fill_diagonal(R, np.where(np.isnan(diagonal), np.nan, 1.0))
    return _like(X, R)


@dataclass(frozen=True)
class _Pairs:
    """For each pair (i, j) of columns, sums over the rows that have both."""

    mass: NDArray | float  # of weights
    products: NDArray  # of the two columns, each centred over these rows
    squares: NDArray  # of column i, centred over these rows
    mean: NDArray  # about that of each column
    eps: float  # of the data
    units: NDArray | float = 1.0  # of the columns, in which they were summed

    def covariance(self, ddof: float) -> NDArray:
        enough = self.mass > ddof
        if not np.any(enough):
            raise ValueError(
                f"The weights of the rows add up to at most {np.max(self.mass):g}, and a "
                f"covariance with ddof={ddof:g} needs more. Give more rows, or a smaller ddof."
            )
        C = self.products / np.where(enough, self.mass - ddof, np.nan)
        units = np.broadcast_to(self.units, len(C))
        with np.errstate(over="ignore"):
            C = C * units[:, None] * units
        require_finite(self.mean, float(np.nansum(np.diag(C))))
        return np.asarray(C)

    def correlation(self) -> NDArray:
        scale = np.sqrt(self.squares) * np.sqrt(self.squares.T)
        with np.errstate(invalid="ignore", divide="ignore"):
            R = self.products / scale
        return np.where(scale > 0, R.clip(-1.0, 1.0), np.nan)

    def constant(self) -> NDArray:
        mass = np.diag(self.mass) if np.ndim(self.mass) else self.mass
        least = mass * (ROUNDING * self.eps * np.abs(self.mean)) ** 2
        return np.asarray(np.diag(self.squares) <= least)


def _pairs(X: Any, sample_weight: ArrayLike | None) -> _Pairs:
    if isinstance(X, Moments):
        if sample_weight is not None:
            raise ValueError("Moments carry their weights: give sample_weight to update instead.")
        return _of_moments(X)
    if (table := table_of(X)) is not None:
        return _of_table(table, weighted_rows(table, sample_weight)[1])
    checked = check_array(
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
        input_name="X",
    )
    rows, weight = weighted_rows(checked, sample_weight)
    stored = rows.data if sparse.issparse(rows) else rows
    if np.isnan(stored).any():
        _require_dense(rows)
        return _with_holes(rows, weight)
    return _of_rows(rows, weight)


def _of_rows(X: Any, weight: NDArray | None) -> _Pairs:
    """Sum up rows without holes: once more, with a unit for each column, if squares were lost."""
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            moments = Moments.of(X, weight)
        if moments.squares.min() > SOUND[X.dtype][0] ** 2:
            return _of_moments(moments)
    except NonFiniteError:
        pass
    ends = [X.max(axis=0), X.min(axis=0)]
    high, low = (end.toarray().ravel() for end in ends) if sparse.issparse(X) else ends
    units = powers_of_two(np.maximum(high, -low)).astype(X.dtype)
    if sparse.issparse(X):
        X = X.copy()
        X.data /= units[X.indices]
    else:
        X = X / units
    return replace(_of_moments(Moments.of(X, weight)), units=units)


def _require_dense(X: Any) -> None:
    if sparse.issparse(X):
        raise ValueError(SPARSE_HOLES)


def _of_table(table: Blocks, weight: NDArray | None) -> _Pairs:
    """Read a table in blocks once; if it has holes once more."""
    with np.errstate(invalid="ignore", over="ignore"):
        found = fold(table, _moments_of, weight, combine=_merged)
    if found is None:
        raise ValueError("X has no rows. A covariance needs two at least.")
    if isinstance(found, Moments):
        return _of_moments(found)
    columns = ColumnMoments(*found)
    if not np.isfinite(columns.squares).all():
        table.fold(_checked)
    _require_entries(columns.mass > 0)
    sums = fold(table, _sums, weight, shared=(columns.mean,))
    return _of_sums(sums, columns.mean, columns.dtype)


def _moments_of(block: Any, weight: NDArray | None) -> Moments | tuple[Any, ...]:
    """Return the moments of a block or, if it has holes, those of each column."""
    try:
        return Moments.of(block, weight)
    except NonFiniteError:
        _require_dense(block)
        return astuple(ColumnMoments.of(block, weight, missing=True))


def _merged(parts: list[Any]) -> Moments | tuple[Any, ...]:
    first, *others = parts
    for other in others:
        if isinstance(first, Moments) and isinstance(other, Moments):
            first.merge(other)
        else:
            first = astuple(_columns(first).merge(_columns(other)))
    return first


def _columns(part: Moments | tuple[Any, ...]) -> ColumnMoments:
    if isinstance(part, tuple):
        return ColumnMoments(*part)
    mass, size = np.full(len(part.mean), part.mass), part.dtype.itemsize
    return ColumnMoments(
        part.count, part.mass, mass, part.mean, part._tail, part.squares.copy(), size
    )


def _checked(block: Any) -> int:
    rules = {"accept_sparse": True, "ensure_all_finite": "allow-nan", "input_name": "X"}
    return int(check_array(block, **rules).shape[0])


def _of_moments(moments: Moments) -> _Pairs:
    S = moments.scatter
    squares = np.broadcast_to(np.diag(S)[:, None], S.shape)
    return _Pairs(moments.mass, S, squares, moments.mean, float(np.finfo(moments.dtype).eps))


def _with_holes(X: NDArray, weight: NDArray | None) -> _Pairs:
    _require_entries(~np.isnan(X).all(axis=0))
    mean = np.asarray(np.nanmean(X, axis=0, dtype=np.float64))
    return _of_sums(_sums(X, weight, mean), mean, X.dtype)


def _require_entries(some: NDArray) -> None:
    if (empty := np.flatnonzero(~some)).size:
        raise ValueError(
            f"Column {empty[0]} of X holds nothing but NaN. Drop it, or give values for it."
        )


def _sums(X: NDArray, weight: NDArray | None, mean: NDArray) -> NDArray:
    """Return, over the rows that have both columns, weights, sums, products and squares."""
    n, d = X.shape
    roots = roots_of(n, weight, np.dtype(np.float64))
    blocks = threads.spans(n, max(d, (1 << 21) // (8 * d)))

    def part(i: int) -> NDArray:
        rows, r = blocks[i], roots[blocks[i], None]
        M = ~np.isnan(X[rows])
        Z = np.where(M, X[rows] - mean, 0.0) * r
        M = M * r
        return np.stack([M.T @ M, Z.T @ M, Z.T @ Z, (Z * Z / r).T @ M])

    return np.asarray(np.sum(threads.run(part, len(blocks)), axis=0))


def _of_sums(found: NDArray, mean: NDArray, dtype: np.dtype) -> _Pairs:
    N, sums, products, squares = found
    mass = np.where(N > 0, N, np.nan)
    products = products - sums * sums.T / mass
    squares = (squares - sums**2 / mass).clip(min=0.0)
    return _Pairs(N, products, squares, mean, float(np.finfo(dtype).eps))


def _like(X: Any, C: NDArray) -> Any:
    """Return `C` as the kind of table that `X` is, with its names."""
    for package, names in (("pandas", ("index", "columns")), ("polars", ("schema",))):
        module = sys.modules.get(package)
        if module is not None and isinstance(X, module.DataFrame):
            columns = list(X.columns)
            return module.DataFrame(C, **dict.fromkeys(names, columns))
    return C
