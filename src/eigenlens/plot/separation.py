"""A table taken apart into low rank and sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._text import percent
from ..data.blocks import Blocks
from .colours import DIVERGING, SEQUENTIAL, colour_map
from .display import Panels
from .images import Limits, limits, shape_of, show
from .inputs import last_step, some_rows, table_of

__all__ = ["SeparationDisplay"]

MOST = 1000  # rows or columns of a heat map, about as many as there are pixels
ALMOST_ALL = 99.0  # per cent of the cells that are drawn in their own colour, not in the last one


@dataclass(eq=False)
class SeparationDisplay(Panels):
    """A table beside its low-rank and its sparse part, or one of its rows as an image.

    Table and low-rank part have the same colours, those of the low-rank part: what is gross in the
    table is at their ends. In the sparse part white is zero.

    Attributes
    ----------
    table, low_rank, sparse : ndarray of shape (n, d), or of the shape of images
        NaN in the table where nothing was observed. Without noise, the table is the sum of the
        others.
    rank : int
        Of the low-rank part about its mean.
    share : float
        Of observed cells, those that are not zero in the sparse part.
    row : int or None
        The row that is shown, or None for the whole table.

    Examples
    --------
    >>> from eigenlens import RobustPCA, datasets
    >>> from eigenlens.plot import SeparationDisplay
    >>> problem = datasets.planted_pursuit(60, 40, rank=2, density=0.05, random_state=0)
    >>> display = SeparationDisplay.from_estimator(RobustPCA().fit(problem.X), problem.X)
    >>> display.rank, round(display.share, 2)
    (2, 0.05)
    """

    table: NDArray
    low_rank: NDArray
    sparse: NDArray
    rank: int
    share: float
    row: int | None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        row: int | None = None,
        image_shape: tuple[int, ...] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw what a fitted :class:`eigenlens.RobustPCA` takes a table apart into.

        Parameters
        ----------
        estimator : fitted RobustPCA, or pipeline that ends with one
        X : array-like of shape (n_samples, n_features), optional
            Rows to take apart by ``decompose``. By default the table of the fit, as the sum of its
            two parts, and these.
        row : int, optional
            Draw this row as an image, such as a frame of a video. By default the whole table.
        image_shape : tuple of int, optional
            (height, width), or (height, width, 3) for colours. By default a square.
        ax : matplotlib Axes, or array of them, optional

        Returns
        -------
        SeparationDisplay
        """
        model, seen = last_step(estimator, X)
        if not hasattr(model, "low_rank_"):
            raise ValueError(
                f"{type(model).__name__} has no low-rank and sparse parts. Take RobustPCA."
            )
        table, low_rank, sparse = _parts(model, seen, row)
        share = float(np.mean(sparse[~np.isnan(table)] != 0))
        if row is not None:
            shape = shape_of(table.shape[1], image_shape)
            table, low_rank, sparse = (part.reshape(shape) for part in (table, low_rank, sparse))
        return cls(table, low_rank, sparse, int(model.rank_), share, row).plot(ax)

    def _shape(self) -> tuple[int, int]:
        return 1, 3

    def _figure_size(self) -> tuple[float, float]:
        if self.row is None:
            return 9.6, 4.2
        height, width = self.table.shape[:2]
        return 8.4, 2.8 * min(max(height / width, 0.3), 2.0) + 0.3

    def _draw(self, ax: Any) -> None:
        what = "table" if self.row is None else f"row {self.row}"
        parts = {
            what: self.table,
            f"low rank: rank {self.rank}": self.low_rank,
            f"sparse: {percent(self.share)} of the cells": self.sparse,
        }
        within = limits(self.low_rank)
        signed = limits(_usual(self.sparse[self.sparse != 0]), signed=True)
        drawn = []
        for panel, (title, part) in zip(ax[0], parts.items(), strict=True):
            both = part is self.sparse
            draw = show if self.row is not None else _heat
            drawn.append(draw(panel, part, signed if both else within, signed=both))
            panel.set_title(title, loc="left")
        if self.row is None:
            figure = ax[0, 0].figure
            below = {"location": "bottom", "shrink": 0.8, "extend": "both"}
            bars = (
                figure.colorbar(drawn[1], ax=list(ax[0, :2]), aspect=50, **below),
                figure.colorbar(drawn[2], ax=ax[0, 2], aspect=22, **below),
            )
            for bar in bars:
                bar.ax.locator_params(nbins=5)


def _parts(model: Any, X: Any, row: int | None) -> tuple[NDArray, NDArray, NDArray]:
    """Return the table, or one row of it, and its two parts."""
    n = len(model.sparse_) if X is None else np.shape(X)[0]
    if row is not None and not 0 <= row < n:
        raise ValueError(f"row={row} is not in the table, which has {n} rows: 0 to {n - 1}.")
    rows = slice(None) if row is None else slice(row, row + 1)
    if X is None:
        low_rank = np.asarray(model.scores_[rows]) @ model.components_ + model.mean_
        sparse = model.sparse_
        if isinstance(sparse, Blocks):
            sparse = sparse.read() if row is None else sparse.take(np.array([row]))
        else:
            sparse = np.asarray(sparse[rows])
        return low_rank + sparse, low_rank, sparse
    if row is not None:
        X = some_rows(X, [row])
    return table_of(X, None)[0], *model.decompose(X)


def _usual(values: NDArray) -> NDArray:
    """Return where almost all values lie: a few that are gross must not hide the rest."""
    return np.percentile(values, [100 - ALMOST_ALL, ALMOST_ALL]) if values.size else values


def _heat(ax: Any, part: NDArray, within: Limits, *, signed: bool) -> Any:
    """Draw a table as colours; of a large one, rows and columns at even distances."""
    steps = [-(-length // MOST) for length in part.shape]
    n, d = part.shape
    drawn = ax.imshow(
        part[:: steps[0], :: steps[1]],
        cmap=colour_map(DIVERGING if signed else SEQUENTIAL),
        vmin=within[0],
        vmax=within[1],
        aspect="auto",
        interpolation="nearest",
        extent=(-0.5, d - 0.5, n - 0.5, -0.5),
    )
    ax.set(xlabel="column", ylabel="row")
    return drawn
