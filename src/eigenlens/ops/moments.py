"""Count, mean and scatter of rows that come in any batches, in any order, from any machine.

Two sets of rows with weights adding up to w and v, means a and b, scatters S and T have together

    mean      a + v / (w + v) (b - a)
    scatter   S + T + w v / (w + v) (b - a)(b - a)'

(Chan, Golub, LeVeque 1979). No square of a mean is ever subtracted, and means are kept in two
parts, so that b - a has its digits however far the data lie from zero. So are the sums: what
rounding takes off one is added with the next batch, and the error of a sum is that of its terms,
however many there are. The order of the rows changes nothing but rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .centred import Table, moments
from .finite import require_finite
from .passes import fold
from .scatter import add_scatter, in_two_parts
from .weights import mass_of, weighted_rows

if TYPE_CHECKING:
    from ..data.blocks import Blocks

__all__ = ["Centre", "Moments", "merged"]


class Centre:
    """How many rows were seen, and where their mean lies: what moments of any kind share."""

    _mass_tail = 0.0  # what rounding took off the mass

    def __init__(self, d: int) -> None:
        self.count = 0
        self.mass = 0.0
        self.mean: NDArray = np.zeros(d)
        self._tail: NDArray = np.zeros(d)  # what rounding took off the mean
        self.dtype: np.dtype = np.dtype(np.float64)

    def _join(self, other: Centre) -> tuple[NDArray, float]:
        """Count the rows of `other` too; return the step b - a and its factor w v / (w + v)."""
        step = (other.mean - self.mean) + (other._tail - self._tail)
        more = other.mass + (self._mass_tail + other._mass_tail)
        mass, mass_tail = in_two_parts(self.mass, more)
        share = other.mass / mass
        between = self.mass * share
        if self.count == 0:
            self.mean, self._tail = other.mean.copy(), other._tail.copy()
        else:
            self.mean, self._tail = in_two_parts(self.mean, self._tail + step * share)
        self.count, self.mass, self._mass_tail = self.count + other.count, mass, mass_tail
        self.dtype = min(self.dtype, other.dtype, key=lambda dtype: dtype.itemsize)
        return step, between


class Moments(Centre):
    """Count, mean and scatter of rows, kept up to date as they arrive.

    All that covariance, correlation and PCA need to know of a tall table, in d x d numbers, twice
    as many from the second batch on: sums keep what rounding takes off them, so that a thousand
    million batches cost no more digits than one. Batches may come in any size and order, and what
    was gathered apart can be merged.

    Attributes
    ----------
    count : int
        Rows seen, without those of weight zero.
    mass : float
        Their weights added up; the same as `count` without weights.
    mean : ndarray of shape (d,)
    scatter : ndarray of shape (d, d)
        ``sum w (x - mean)(x - mean)'``, in float64.
    dtype : numpy.dtype
        The least precise kind of data seen, float32 or float64.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import Moments
    >>> X = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0], [7.0, 3.0]])
    >>> morning, evening = Moments().update(X[:3]), Moments().update(X[3:])
    >>> day = morning.merge(evening)
    >>> day.count, day.mean
    (4, array([4., 3.]))
    >>> np.allclose(day.covariance(), np.cov(X.T))
    True
    """

    _rest: NDArray | None = None  # what rounding took off the scatter, from a second batch on

    def __init__(self) -> None:
        super().__init__(0)
        self.scatter: NDArray = np.zeros((0, 0))

    @classmethod
    def of(cls, X: Table, weight: NDArray | None = None) -> Self:
        """Return the moments of checked rows.

        Parameters
        ----------
        X : {ndarray, csr_array} of shape (n, d)
            Finite floats, which `update` makes of what it is given.
        weight : ndarray of shape (n,), optional
            Positive numbers.
        """
        self = cls()
        self.count, self.mass = X.shape[0], mass_of(X.shape[0], weight)
        self.mean, self._tail, self.scatter = moments(X, weight)
        self.dtype = X.dtype
        require_finite(self.mean, float(np.trace(self.scatter)))
        return self

    @classmethod
    def over(cls, blocks: Blocks, weight: NDArray | None = None) -> Moments:
        """Return the moments of checked rows that come in blocks, in one pass.

        Parameters
        ----------
        blocks : Blocks
            The rows.
        weight : ndarray of shape (n,), optional
            Positive numbers.
        """
        return fold(blocks, cls.of, weight, combine=merged) or cls()

    def update(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Add the rows of `X`: all of them or, if an error is raised, none.

        Parameters
        ----------
        X : {array-like, sparse matrix, Blocks} of shape (n, d)
            float32 data are multiplied in float32, block by block, and added up in float64. A
            table of :func:`eigenlens.open`, a Dask array or dataframe, or a large memory map is
            read in one pass.
        sample_weight : array-like of shape (n,), optional
            A weight w counts as w copies of the row; 0 leaves it out.

        Returns
        -------
        self
        """
        from ..data.tables import table_of  # which needs moments, to write them down

        if (table := table_of(X)) is not None:
            _, weight = weighted_rows(table, sample_weight)
            with np.errstate(invalid="ignore", over="ignore"):
                return self.merge(Moments.over(table, weight))
        rows, weight = weighted_rows(_table(X), sample_weight)
        if rows.shape[0]:
            with np.errstate(invalid="ignore", over="ignore"):
                self.add(rows, weight)
        return self

    def add(self, X: Table, weight: NDArray | None = None) -> Self:
        """Add checked rows.

        Parameters
        ----------
        X : {ndarray, csr_array} of shape (n, d)
            As `of` takes it.
        weight : ndarray of shape (n,), optional
            Positive numbers.
        """
        return self.merge(Moments.of(X, weight))

    def merge(self, other: Moments) -> Self:
        """Add the rows that `other` has seen; `other` stays as it is.

        Parameters
        ----------
        other : Moments
            Of the same columns.

        Returns
        -------
        self
        """
        if other.count == 0:
            return self
        if self.count and len(other.mean) != len(self.mean):
            raise ValueError(
                f"{len(other.mean)} columns cannot be added to moments of {len(self.mean)} "
                "columns. Give the same columns in every batch."
            )
        if self.count == 0:
            self.mean = self._tail = np.zeros_like(other.mean)
            self._join(other)
            self.scatter = other.scatter.copy()
            return self
        step, between = self._join(other)
        if self._rest is None:
            self._rest = np.zeros_like(self.scatter)
        add_scatter(self.scatter, self._rest, other.scatter, step, between)
        return self

    @property
    def squares(self) -> NDArray:
        """The diagonal of `scatter`."""
        return np.diag(self.scatter)

    def covariance(self, ddof: float = 1) -> NDArray:
        """Return the covariance matrix of the rows seen.

        Parameters
        ----------
        ddof : float, default=1
            What is taken off the sum of weights in the denominator: 1 for the unbiased estimate, 0
            for the mean square.

        Returns
        -------
        ndarray of shape (d, d)
        """
        if self.mass <= ddof:
            raise ValueError(
                f"The weights of the rows add up to {self.mass:g}, and a covariance with "
                f"ddof={ddof:g} needs more than {ddof:g}. Give more rows, or a smaller ddof."
            )
        return np.asarray(self.scatter / (self.mass - ddof))

    def __repr__(self) -> str:
        return f"Moments(count={self.count}, mass={self.mass:g}, columns={len(self.mean)})"


def merged(parts: list[Any]) -> Any:
    """Return moments of any kind merged into the first of them."""
    first, *others = parts
    for other in others:
        first.merge(other)
    return first


def _table(X: Any) -> Table:
    """Return `X` as an array or CSR matrix of floats, without a copy where it is one."""
    table = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if table.ndim != 2:
        raise ValueError(
            f"X has {table.ndim} dimension(s), and moments are those of a table, one row a sample. "
            "Reshape a single row by X.reshape(1, -1), a single column by X.reshape(-1, 1)."
        )
    if table.dtype in (np.float32, np.float64):
        return table
    if table.dtype.kind == "c":
        raise ValueError("X is complex. Give its real part, or both parts as separate columns.")
    try:
        return table.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X holds something that is not a number ({error}). Drop or encode such columns."
        ) from None
