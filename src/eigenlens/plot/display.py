"""What all pictures share: numbers that are kept, and axes that are made or given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._compat import optional
from .._text import clean, short
from .colours import AXIS

__all__ = ["Display", "Panels", "label"]

STYLE = {
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": AXIS,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "grid.color": "#dde1e6",
    "legend.frameon": False,
    "image.cmap": "gray",
    "figure.dpi": 110.0,
    "savefig.dpi": 160.0,
}
LONGEST = 24  # characters of a name


class Display(ABC):
    """A picture: the numbers behind it, and how to draw them.

    Made by one of its class methods ``from_...``, which draw it too. It can be drawn again, on
    other axes, by :meth:`plot`.

    Attributes
    ----------
    ax_ : matplotlib Axes, or array of them
        What it was drawn on.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA, plot
    >>> picture = plot.ScreeDisplay.from_estimator(PCA().fit(load_iris().data))
    >>> isinstance(picture, plot.Display), picture.ax_.figure is picture.figure_
    (True, True)
    >>> first = picture.ax_
    >>> picture.plot().ax_ is first  # drawn again, in a figure of its own
    False
    """

    size: ClassVar[tuple[float, float]] = (6.4, 4.4)  # of a new figure, in inches

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default new ones, in a figure of their own.

        Returns
        -------
        self
        """
        plt = optional("matplotlib.pyplot", "plot")
        with plt.rc_context(STYLE):
            if ax is None:
                figure = plt.figure(figsize=self._figure_size(), layout="constrained")
                ax = figure.add_subplot(projection=self.projection)
            elif (ax.name == "3d") != (self.projection == "3d"):
                numbers = ("three", "two") if self.projection == "3d" else ("two", "three")
                raise ValueError(
                    f"{type(self).__name__} draws in {numbers[0]} dimensions, and ax has "
                    f"{numbers[1]}. Make it with plt.subplot(projection={self.projection!r})."
                )
            self.ax_, self.figure_ = ax, ax.figure
            self._draw(ax)
        return self

    @property
    def projection(self) -> str | None:
        """What kind of axes are needed: ``'3d'``, or None for a plane."""
        return None

    def _figure_size(self) -> tuple[float, float]:
        """Return the size of a new figure, in inches; for pictures that grow, of their own."""
        return self.size

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on axes, or on an array of them."""


class Panels(Display):
    """A picture of several panels. ``ax_`` is the array of their axes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenlens import PCA, plot
    >>> picture = plot.ComponentImagesDisplay.from_estimator(PCA(3).fit(load_digits().data))
    >>> isinstance(picture, plot.Panels), picture.ax_.size >= 3
    (True, True)
    """

    panel: ClassVar[tuple[float, float]] = (1.6, 1.6)  # of each, in inches, in a new figure

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or array of them, optional
            One Axes is divided into panels; an array has one for each. By default new ones, in a
            figure of their own.

        Returns
        -------
        self
        """
        plt = optional("matplotlib.pyplot", "plot")
        rows, columns = self._shape()
        with plt.rc_context(STYLE):
            if ax is None:
                figure = plt.figure(figsize=self._figure_size(), layout="constrained")
                widths = self._widths()
                axes = figure.subplots(rows, columns, squeeze=False, width_ratios=widths)
            elif isinstance(ax, np.ndarray) or (isinstance(ax, Sequence) and len(ax)):
                axes = self._given(np.asarray(ax, dtype=object), rows, columns)
            else:
                axes = _divided(ax, rows, columns, self._widths())
            self.ax_, self.figure_ = axes, axes[0, 0].figure
            self._draw(axes)
        return self

    @abstractmethod
    def _shape(self) -> tuple[int, int]:
        """Return how many rows and columns of panels there are."""

    def _widths(self) -> list[float] | None:
        """Return how wide the columns are in relation to each other; by default all are alike."""
        return None

    def _figure_size(self) -> tuple[float, float]:
        (rows, columns), (width, height) = self._shape(), self.panel
        return columns * width, rows * height

    def _given(self, axes: NDArray, rows: int, columns: int) -> NDArray:
        if axes.size != rows * columns:
            raise ValueError(
                f"ax has {axes.size} axes, and {type(self).__name__} draws {rows} x {columns} "
                f"panels. Make them with plt.subplots({rows}, {columns}), or give one Axes."
            )
        return axes.reshape(rows, columns)


def _divided(ax: Any, rows: int, columns: int, widths: list[float] | None) -> NDArray:
    """Return panels in the place of one Axes, or this itself for one panel."""
    if rows == columns == 1:
        return np.array([[ax]], dtype=object)
    spec = ax.get_subplotspec()
    if spec is None:
        raise ValueError("ax is no subplot, and cannot be divided. Give an array of axes instead.")
    ax.set_axis_off()
    grid = spec.subgridspec(rows, columns, width_ratios=widths)
    panels = [[ax.figure.add_subplot(grid[i, j]) for j in range(columns)] for i in range(rows)]
    return np.array(panels, dtype=object)


def label(name: object, most: int = LONGEST) -> str:
    """Return a name as matplotlib can show it: on one line, not too long, and never as mathematics.

    A name that begins with an underscore would be left out of legends.
    """
    text = short(clean(name), most).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
