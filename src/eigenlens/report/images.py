"""Rows that are images: the mean, the components and a few rows, as small images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fits import Fits, Fitted
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

    def of_pca(self, table: Table, fits: Fits) -> dict[str, Any]:
        """Return the mean, the components of PCA, and rows before and after it."""
        model, rows = fits.pca.model, _examples(table)
        back = model.inverse_transform(model.transform(fits.filled[rows]))
        return {
            "mean": self._small(_mean(table.values)),
            "components": self._weights(model.components_),
            "rows": self._before_and_after(table, rows, fits.back(back, rows)),
        }

    def of_method(self, one: Fitted, table: Table, fits: Fits, weights: NDArray) -> dict[str, Any]:
        """Return the components of a method, and rows before and after it, if it can go back."""
        found: dict[str, Any] = {"components": self._weights(weights)}
        model, rows = one.fit.model, _examples(table)
        if hasattr(model, "low_rank_"):
            low = np.asarray(model.low_rank_)[rows]
            whole = fits.back(low, rows)
            found["rows"] = self._before_and_after(table, rows, whole)
            for shown, far in zip(found["rows"], fits.X[rows] - whole, strict=True):
                shown["sparse"] = self._wide(np.nan_to_num(far))
        elif one.unscaled:
            back = np.asarray(one.fit.scores)[rows] @ weights
            found["rows"] = self._before_and_after(table, rows, back)
        return found

    def _before_and_after(self, table: Table, rows: NDArray, back: NDArray) -> list[dict[str, Any]]:
        """Return rows as they are, and as `back` has them, in the units of the table."""
        after = np.tile(_mean(table.values), (len(rows), 1))
        after[:, self.usable] = back
        return [
            {"row": table.row(int(i)), "before": self._small(table.values[i]), "after": one}
            for i, one in zip(rows, map(self._small, after), strict=True)
        ]

    def _wide(self, part: NDArray) -> list[float | None]:
        """Return an image of the pixels that vary, others 0."""
        whole = np.zeros(int(np.prod(self.shape)))
        whole[self.usable] = part
        return self._small(whole)

    def _weights(self, components: NDArray) -> list[list[float | None]]:
        """Return components as images, with zeros for pixels that do not vary."""
        return [self._wide(row) for row in components[:MOST]]

    def _small(self, row: NDArray) -> list[float | None]:
        """Return an image, row by row, of at most `SIDE` pixels a side."""
        image = row.reshape(self.shape)
        for axis in (0, 1):
            edges = _edges(image.shape[axis])
            sums = np.add.reduceat(image, edges, axis=axis)
            many = np.diff([*edges, image.shape[axis]])
            image = sums / np.expand_dims(many, [a for a in range(3) if a != axis])
        return rounded(image.ravel(), DIGITS)


def _examples(table: Table) -> NDArray:
    """Return rows to show: the first of each class, or from the whole table."""
    classes = table.classes
    if classes is not None:
        return np.sort(np.unique(classes, return_index=True)[1])[:EXAMPLES]
    return np.unique(np.linspace(0, len(table.values) - 1, EXAMPLES).astype(int))


def _mean(X: NDArray) -> NDArray:
    """Return the mean of each column, 0 for one of holes."""
    there = ~np.isnan(X)
    total, many = np.where(there, X, 0.0).sum(axis=0), there.sum(axis=0)
    return np.divide(total, many, out=np.zeros(len(total)), where=many > 0)


def _edges(side: int) -> NDArray:
    """Return where the pixels of the page begin among those of an image."""
    if side <= SIDE:
        return np.arange(side)
    return np.unique(np.linspace(0, side, SIDE, endpoint=False).astype(np.int64))
