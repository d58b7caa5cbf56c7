"""Rows that are images: the mean, the components and a few rows, as small images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fits import Fits
from .plain import rounded
from .table import Table

__all__ = ["Images"]

SIDE = 32  # pixels of an image on the page; larger ones are averaged down
MOST = 12  # components of a method
EXAMPLES = 6  # rows, before and after
DIGITS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """The shape of rows that are images.

    Attributes
    ----------
    shape : tuple of int
        Height, width and channels.
    usable : ndarray of int
        The pixels that vary, in the order of the columns of the fits.
    """

    shape: tuple[int, int, int]
    usable: NDArray

    @classmethod
    def of(cls, image_shape: Sequence[int], d: int, usable: NDArray) -> Images:
        """Check that rows of `d` columns have the shape."""
        shape = tuple(int(side) for side in image_shape)
        if len(shape) == 2:
            shape = (*shape, 1)
        if len(shape) != 3 or min(shape) < 1 or shape[2] > 4 or int(np.prod(shape)) != d:
            given = " x ".join(map(str, image_shape))
            raise ValueError(
                f"image_shape={given} does not make up the {d} columns of numbers. Give "
                "(height, width), or (height, width, channels) of colour images, whose product "
                "is the number of columns."
            )
        return cls(shape, usable)

    def section(self) -> dict[str, Any]:
        """Return the size of the images on the page."""
        height, width = (len(_edges(side)) for side in self.shape[:2])
        given = list(self.shape[:2])
        return {"height": height, "width": width, "channels": self.shape[2], "given": given}

    def pictures(self, table: Table, fits: Fits, rows: NDArray) -> dict[str, Any]:
        """Return the mean, the components of PCA, and rows before and after it."""
        model = fits.pca.model
        # np.nanmean of a column of holes is NaN, with a warning: such pixels are blank
        known = np.where(np.isnan(table.values), 0.0, table.values).sum(axis=0)
        there = (~np.isnan(table.values)).sum(axis=0)
        mean = np.divide(known, there, out=np.zeros(len(known)), where=there > 0)
        rows = np.asarray(rows[:EXAMPLES], dtype=np.int64)
        after = np.tile(mean, (len(rows), 1))
        back = model.inverse_transform(model.transform(fits.filled[rows]))
        after[:, self.usable] = fits.back(back, rows)
        return {
            "mean": self._small(mean),
            "components": self.weights(model.components_),
            "rows": [
                {"row": table.row(int(i)), "before": self._small(table.values[i]), "after": one}
                for i, one in zip(rows, map(self._small, after), strict=True)
            ],
        }

    def weights(self, components: NDArray) -> list[list[float | None]]:
        """Return components as images, with zeros for pixels that do not vary."""
        whole = np.zeros((min(MOST, len(components)), int(np.prod(self.shape))))
        whole[:, self.usable] = components[:MOST]
        return [self._small(row) for row in whole]

    def _small(self, row: NDArray) -> list[float | None]:
        """Return an image, row by row, of at most `SIDE` pixels a side."""
        image = row.reshape(self.shape)
        for axis in (0, 1):
            edges = _edges(image.shape[axis])
            sums = np.add.reduceat(image, edges, axis=axis)
            many = np.diff([*edges, image.shape[axis]])
            image = sums / np.expand_dims(many, [a for a in range(3) if a != axis])
        return rounded(image.ravel(), DIGITS)


def _edges(side: int) -> NDArray:
    """Return where the pixels of the page begin among those of an image."""
    if side <= SIDE:
        return np.arange(side)
    return np.unique(np.linspace(0, side, SIDE, endpoint=False).astype(np.int64))
