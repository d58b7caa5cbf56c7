"""Which columns go together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from ..measure.covariance import correlation
from .cells import draw_cells
from .display import Display
from .inputs import table_of

__all__ = ["CorrelationDisplay", "clustered"]

MOST_NUMBERS = 12  # columns, up to which the cells hold their numbers
MOST_TURNED = 200  # columns, up to which the order of branches is the best one


@dataclass(eq=False)
class CorrelationDisplay(Display):
    """The correlation matrix of a table.

    Attributes
    ----------
    correlation : ndarray of shape (d, d)
        In the order that is shown. NaN for a constant column, which is grey.
    names : list of str
        Of the columns, in the same order.
    order : ndarray of shape (d,)
        Their numbers in the table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens.plot import CorrelationDisplay
    >>> data = load_iris()
    >>> display = CorrelationDisplay.from_data(
    ...     data.data, names=data.feature_names, order="clustered"
    ... )
    >>> [name.removesuffix(" (cm)") for name in display.names]
    ['sepal width', 'petal width', 'petal length', 'sepal length']
    >>> display.correlation[0].round(2)
    array([ 1.  , -0.37, -0.43, -0.12])
    """

    correlation: NDArray
    names: list[str]
    order: NDArray

    @classmethod
    def from_data(
        cls,
        X: Any,
        *,
        names: Sequence[str] | None = None,
        order: Literal["given", "clustered"] = "given",
        ax: Any = None,
    ) -> Self:
        """Draw the correlations of the columns of a table.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NaN is a hole: a correlation is that of the rows in which both columns are known.
        names : sequence of str, optional
            Of the columns. By default those of the frame.
        order : {"given", "clustered"}, default="given"
            Columns in the order of the table, or those that go together, with either sign, beside
            each other, by average linkage of ``1 - |r|``.
        ax : matplotlib Axes, optional

        Returns
        -------
        CorrelationDisplay
        """
        if order not in ("given", "clustered"):
            raise ValueError(f"order={order!r} must be 'given' or 'clustered'.")
        A, called = table_of(X, names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of constant columns, which are shown
            R = np.asarray(correlation(A))
        places = np.arange(len(R)) if order == "given" else clustered(R)
        return cls(R[np.ix_(places, places)], [called[j] for j in places], places).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        d = len(self.names)
        side = float(np.clip((0.4 if d <= MOST_NUMBERS else 0.22) * d, 2.2, 9.0))
        return side + 2.9, side + 1.7

    def _draw(self, ax: Any) -> None:
        d = len(self.names)
        meaning = "correlation"
        if np.isnan(self.correlation).any():
            meaning += " (grey: none)"
        draw_cells(
            ax,
            self.correlation,
            self.names,
            self.names,
            largest=1.0,
            meaning=meaning,
            numbers=d <= MOST_NUMBERS,
            square=True,
        )


def clustered(R: NDArray) -> NDArray:
    """Return an order in which columns that go together, with either sign, are side by side."""
    d = len(R)
    if d < 3:
        return np.arange(d)
    apart = 1 - np.abs(np.nan_to_num(R))
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform((apart + apart.T) / 2), "average", optimal_ordering=d <= MOST_TURNED)
    return np.asarray(leaves_list(tree))
