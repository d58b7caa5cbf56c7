"""A table with its singular value decomposition: what rules share, so that it is computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..solvers import svd
from ..solvers.spectral import Spectral, default_tol
from .factored_blocks import FactoredBlocks

__all__ = ["Factored", "Seed", "Table", "checked", "factored"]


@dataclass(frozen=True, slots=True, eq=False)
class Factored:
    """A table X and the principal axes of ``X - 1 mean'``.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    spectral : Spectral
        Mean, all axes and all variances.

    Examples
    --------
    >>> from eigenlens import datasets
    >>> from eigenlens.select import factored, gavish_donoho, parallel
    >>> table = factored(datasets.planted_subspace(100, 8, rank=2, random_state=0).X)
    >>> table.shape, len(table.singular), table.axes.shape
    ((100, 8), 8, (8, 8))
    >>> parallel(table, 0).k, gavish_donoho(table).k  # without another decomposition
    (2, 2)
    """

    X: NDArray
    spectral: Spectral

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.X.shape[0], self.X.shape[1]

    @property
    def singular(self) -> NDArray:
        """Singular values of the centred table in falling order, without those that are rounding.

        There are at most ``min(n - 1, d)``: centring takes one.
        """
        n, d = self.X.shape
        values = np.sqrt(self.spectral.spectrum[: min(n - 1, d)] * (n - 1))
        rounding = max(n, d) * np.finfo(self.X.dtype).eps * values[:1]
        return values[values > rounding]

    @property
    def axes(self) -> NDArray:
        """Axes as columns."""
        return self.spectral.components.T

    def centred(self) -> NDArray:
        """Return ``X - 1 mean'`` in float64."""
        return self.X - self.spectral.mean.astype(np.float64)


Table = ArrayLike | Factored | FactoredBlocks
"""What a rule works on: an array, one that has been factored for several rules, or blocks."""


Seed = np.random.Generator | int | None
"""What a rule draws with: a generator, or what makes one."""


def checked(X: ArrayLike, *, missing: bool = False) -> NDArray:
    """Return `X` as an array of floats; raise where it is no table that a rule can work on."""
    X = np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.ndim != 2 or X.shape[0] < 2 or X.shape[1] < 1:
        raise ValueError(
            f"X has shape {X.shape}. Give a table of at least two rows (samples) and one column."
        )
    if np.isinf(X).any() or (np.isnan(X).any() and not missing):
        raise ValueError(
            "X holds NaN or infinite entries. Fill or drop them; cross-validation alone takes NaN, "
            "as missing."
        )
    return X


def factored(X: Table) -> Factored | FactoredBlocks:
    """Return `X` with its decomposition. Allocates what the full SVD does, three copies of X.

    By SVD, because products of X with itself lose noise that is small beside the first factor, and
    the draws that follow cost more.

    Parameters
    ----------
    X : array of shape (n, d)
        What has been factored already, and a table in blocks, stay as they are.

    Returns
    -------
    Factored or FactoredBlocks

    Examples
    --------
    >>> from eigenlens.select import factored
    >>> table = factored([[3, 1], [3, -1], [-3, 1], [-3, -1]])
    >>> table.singular.round(6)
    array([6., 2.])
    >>> factored(table) is table
    True
    """
    if isinstance(X, Factored | FactoredBlocks):
        return X
    X = checked(X)
    return Factored(X, svd.solve(X, min(X.shape), tol=default_tol(X.dtype)))
