"""scikit-learn's scalers, which take tables in blocks too.

On an array each is scikit-learn's own. A table of :func:`eigenlens.open` or of Dask is fitted by
passes over it, and transformed when it is read: a table in blocks gives a table in blocks, a Dask
array or dataframe a lazy Dask array, so that a pipeline holds no more than a block. A large memory
map is fitted by passes, and transformed to an array, as scikit-learn does.
"""

from __future__ import annotations

import copy as copies
import functools
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, stats
from sklearn import preprocessing

from ..ops.columns import ColumnMoments
from ..ops.order import Ends, ends, quantiles
from ..ops.weights import weighted_rows
from .blocks import Blocks
from .rowwise import of_table
from .soundness import require_sound
from .tables import table_of

__all__ = ["MinMaxScaler", "Normalizer", "RobustScaler", "StandardScaler"]

CENTRED = (  # in scikit-learn's words
    "Cannot center sparse matrices: {} instead. See docstring for motivation and alternatives."
)


def _lazily(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of scikit-learn's take tables in blocks, to be scaled when they are read."""

    @functools.wraps(method)
    def called(self: Any, X: Any, *args: Any, **given: Any) -> Any:
        table = table_of(X)
        if table is None:
            return method(self, X, *args, **given)
        model = copies.copy(self)
        model.copy = True  # blocks may be those of an array that is not ours
        return of_table(model, method.__name__, table, (), {}, lazy=isinstance(X, Blocks))

    return called


def _begin(scaler: Any, table: Blocks) -> None:
    """Check the parameters, and store the columns of the table."""
    scaler._validate_params()
    scaler.n_features_in_ = len(table.names)
    vars(scaler).pop("feature_names_in_", None)
    if table.named:
        scaler.feature_names_in_ = np.asarray(table.names, dtype=object)


def _require_rows(scaler: Any, found: object, table: Blocks) -> None:
    if found is None:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {len(table.names)})) while a minimum of 1 is "
            f"required by {type(scaler).__name__}."
        )


def _require_finite(scaler: Any, table: Blocks, *sums: NDArray) -> None:
    """Raise scikit-learn's error for a table that holds infinity; `sums` tell that it may."""
    if not all(np.isfinite(values).all() for values in sums):
        require_sound(table, type(scaler).__name__, "allow-nan")


def _dense(table: Blocks, error: Exception) -> Blocks:
    """Return the table, which gives an error where its blocks are sparse."""
    return table.map(_RefusingSparse(error))


class _RefusingSparse:
    """A function of blocks that changes nothing, and refuses sparse ones."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __call__(self, block: Any) -> Any:
        if sparse.issparse(block):
            raise self.error
        return block


class StandardScaler(preprocessing.StandardScaler):
    """Columns of mean 0 and variance 1: scikit-learn's scaler, which takes tables in blocks too.

    Parameters, attributes and methods are those of :class:`sklearn.preprocessing.StandardScaler`;
    on an array so are the numbers.

    Parameters
    ----------
    copy, with_mean, with_std
        As in scikit-learn.

    Notes
    -----
    A table in blocks is fitted in one pass, which holds a block and a few numbers for each column.
    Sums are in float64, about provisional means, so that means far larger than the deviations cost
    no digits; holes (NaN) are left out, column by column. `transform` of such a table is done when
    the result is read.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import PCA, StandardScaler
    >>> from sklearn.pipeline import make_pipeline
    >>> X = np.array([[1.0, 30.0], [3.0, 10.0], [2.0, 50.0]])
    >>> StandardScaler().fit(X).mean_
    array([ 2., 30.])
    >>> make_pipeline(StandardScaler(), PCA(1)).fit(X)[-1].explained_variance_ratio_.round(2)
    array([0.75])
    """

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the means and deviations of the columns of `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix, Blocks} of shape (n_samples, n_features)
            NaN is left out.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self
        """
        table = table_of(X)
        if table is None:
            return super().fit(X, y, sample_weight)
        self._reset()
        _begin(self, table)
        _, weight = weighted_rows(table, sample_weight)
        error = CENTRED.format("pass `with_mean=False`")
        dense = _dense(table, ValueError(error)) if self.with_mean else table
        with np.errstate(invalid="ignore", over="ignore"):
            found = ColumnMoments.over(dense, weight, missing=True)
        _require_rows(self, found, table)
        assert found is not None
        _require_finite(self, table, found.mean, found.squares)
        self._store(found)
        return self

    def _store(self, found: ColumnMoments) -> None:
        some = found.mass > 0
        mean = np.where(some, found.mean, np.nan)
        variance = np.where(some, found.squares / np.where(some, found.mass, 1.0), np.nan)
        # of the kinds that scikit-learn has
        seen = found.mass if self.with_mean or self.with_std else found.mass.astype(np.int64)
        self.n_samples_seen_ = seen[0] if seen.max() == seen.min() else seen
        self.mean_ = mean if self.with_mean or self.with_std else None
        self.var_ = variance if self.with_std else None
        self.scale_ = None
        if self.with_std:
            # what rounding makes of a constant column, as in scikit-learn
            n, eps = self.n_samples_seen_, np.finfo(np.float64).eps
            constant = variance <= n * eps * variance + (n * mean * eps) ** 2
            self.scale_ = np.where(constant, 1.0, np.sqrt(variance))

    transform = _lazily(preprocessing.StandardScaler.transform)
    inverse_transform = _lazily(preprocessing.StandardScaler.inverse_transform)


class MinMaxScaler(preprocessing.MinMaxScaler):
    """Columns from 0 to 1: scikit-learn's scaler, which takes tables in blocks too.

    Parameters, attributes and methods are those of :class:`sklearn.preprocessing.MinMaxScaler`; on
    an array so are the numbers.

    Parameters
    ----------
    feature_range, copy, clip
        As in scikit-learn.

    Notes
    -----
    A table in blocks is fitted in one pass, which holds a block. `transform` of such a table is
    done when the result is read.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import MinMaxScaler
    >>> MinMaxScaler().fit_transform(np.array([[1.0, 30.0], [3.0, 10.0]]))
    array([[0., 1.],
           [1., 0.]])
    """

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the ends of the columns of `X`.

        Parameters
        ----------
        X : {array-like, Blocks} of shape (n_samples, n_features)
            NaN is left out.
        y : Ignored

        Returns
        -------
        self
        """
        table = table_of(X)
        if table is None:
            return super().fit(X, y)
        error = "MinMaxScaler does not support sparse input. Consider using MaxAbsScaler instead."
        known = ends(_dense(table, TypeError(error)))
        _require_rows(self, known, table)
        assert known is not None
        least, most = _ends_of(self, table, known)
        super().fit(np.stack([least, most]).astype(table.dtype))  # the ends are all that it needs
        _begin(self, table)
        self.n_samples_seen_ = known.rows
        return self

    transform = _lazily(preprocessing.MinMaxScaler.transform)
    inverse_transform = _lazily(preprocessing.MinMaxScaler.inverse_transform)


def _ends_of(scaler: Any, table: Blocks, known: Ends) -> tuple[NDArray, NDArray]:
    """Return the ends of the columns, checked, NaN for columns without entries."""
    some = known.counts > 0
    least, most = (np.where(some, end, np.nan) for end in (known.least, known.most))
    _require_finite(scaler, table, least[some], most[some])
    return least, most


class RobustScaler(preprocessing.RobustScaler):
    """Columns of median 0 and quartiles 1: scikit-learn's, which takes tables in blocks too.

    Parameters, attributes and methods are those of :class:`sklearn.preprocessing.RobustScaler`; on
    an array so are the numbers.

    Parameters
    ----------
    with_centering, with_scaling, quantile_range, copy, unit_variance
        As in scikit-learn.

    Notes
    -----
    The quantiles of a table in blocks are exact. One pass finds the ends of the columns, most often
    one counts entries in parts of that range and one gathers those near the quantiles, up to 128
    MB; see ``eigenlens.ops.order`` for the worst case. `transform` of such a table is done when
    the result is read.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import RobustScaler
    >>> RobustScaler().fit(np.array([[1.0], [2.0], [3.0], [4.0], [1000.0]])).center_
    array([3.])
    """

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the median and the range of quantiles of the columns of `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix, Blocks} of shape (n_samples, n_features)
            NaN is left out.
        y : Ignored

        Returns
        -------
        self
        """
        table = table_of(X)
        if table is None:
            return super().fit(X, y)
        _begin(self, table)
        low, high = self.quantile_range
        if not 0 <= low <= high <= 100:
            raise ValueError(f"Invalid quantile range: {self.quantile_range}")
        error = CENTRED.format("use `with_centering=False`")
        dense = _dense(table, ValueError(error)) if self.with_centering else table
        known = ends(dense)
        _require_rows(self, known, table)
        assert known is not None
        _ends_of(self, table, known)
        median, first, last = self._quantiles(table, known)
        self.center_ = median.astype(table.dtype) if self.with_centering else None
        self.scale_ = None
        if self.with_scaling:
            scale = last - first
            # so small that it is rounding, as in scikit-learn
            self.scale_ = np.where(scale < 10 * np.finfo(np.float64).eps, 1.0, scale)
            if self.unit_variance:
                self.scale_ = self.scale_ / np.diff(stats.norm.ppf([low / 100, high / 100]))[0]
        return self

    def _quantiles(self, table: Blocks, known: Ends) -> NDArray:
        """Return the median and the two ends of the range."""
        if not self.with_scaling:
            low = high = 50.0
        else:
            low, high = self.quantile_range
        if not (self.with_centering or self.with_scaling):
            return np.zeros((3, len(table.names)))
        middle = 50.0 if self.with_centering else low
        return quantiles(table, np.array([middle, low, high]) / 100, known)

    transform = _lazily(preprocessing.RobustScaler.transform)
    inverse_transform = _lazily(preprocessing.RobustScaler.inverse_transform)


class Normalizer(preprocessing.Normalizer):
    """Rows of length 1: scikit-learn's, which takes tables in blocks too.

    Parameters and methods are those of :class:`sklearn.preprocessing.Normalizer`; on an array so
    are the numbers.

    Parameters
    ----------
    norm, copy
        As in scikit-learn.

    Notes
    -----
    There is nothing to fit. `transform` of a table in blocks is done when the result is read.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import Normalizer
    >>> Normalizer().fit_transform(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Check the parameters.

        Parameters
        ----------
        X : {array-like, sparse matrix, Blocks} of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        self
        """
        table = table_of(X)
        if table is None:
            return super().fit(X, y)
        _begin(self, table)
        return self

    transform = _lazily(preprocessing.Normalizer.transform)
