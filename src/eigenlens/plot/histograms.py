"""How the values of each column are spread, in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .display import Panels, label
from .inputs import table_of
from .points import colour_of
from .target import Target

__all__ = ["HistogramsDisplay"]

LONG = 1.6  # times as many panels side by side as above each other


@dataclass(eq=False)
class HistogramsDisplay(Panels):
    """Histograms of the columns, one over another for the classes of a target.

    The area under each is 1, so that classes with few rows can be seen as well.

    Attributes
    ----------
    heights : ndarray of shape (m, n_classes), of ndarrays
        For each column and class; of no length for a class without values.
    edges : list of ndarray
        Of the bins of each column.
    names : list of str
        Of these columns.
    target : Target or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens.plot import HistogramsDisplay
    >>> data = load_iris()
    >>> display = HistogramsDisplay.from_data(
    ...     data.data, data.target_names[data.target], names=data.feature_names, bins=10
    ... )
    >>> display.target.levels
    ('setosa', 'versicolor', 'virginica')
    >>> display.ax_.shape
    (2, 3)
    """

    heights: list[list[NDArray]]
    edges: list[NDArray]
    names: list[str]
    target: Target | None

    panel: ClassVar[tuple[float, float]] = (1.75, 1.35)

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any = None,
        *,
        names: Sequence[str] | None = None,
        most: int = 30,
        bins: int = 20,
        ax: Any = None,
    ) -> Self:
        """Draw the columns of a table.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NaN is a hole, and in no bin.
        y : array-like of shape (n,), optional
            A class for each row.
        names : sequence of str, optional
            Of the columns. By default those of the frame.
        most : int, default=30
            Columns shown. Of more, those in which the means of the classes are farthest apart, for
            their variance; without classes the first.
        bins : int, default=20
            Of each column. A column of whole numbers has no more than it has values.
        ax : matplotlib Axes, or array of them, optional

        Returns
        -------
        HistogramsDisplay
        """
        A, called = table_of(X, names)
        target = None if y is None else Target.of(y, len(A))
        if target is not None and target.numbers is not None:
            raise ValueError(
                "y has too many numbers to be classes. Cut them into a few, for instance with "
                "pandas.qcut(y, 3), or leave y out."
            )
        masks = _masks(target, len(A))
        shown = _telling(A, masks, most)
        edges = [_edges(A[:, j], bins) for j in shown]
        heights = [
            [_heights(A[mask, j], at) for mask in masks] for j, at in zip(shown, edges, strict=True)
        ]
        return cls(heights, edges, [called[j] for j in shown], target).plot(ax)

    def _shape(self) -> tuple[int, int]:
        panels = len(self.names) + (self.target is not None)  # one for the legend
        about = int(np.ceil(np.sqrt(LONG * panels)))
        # as few empty ones as can be
        across = min(range(max(1, about - 1), about + 2), key=lambda a: (-panels % a, -a))
        across = min(across, panels)
        return -(-panels // across), across

    def _draw(self, ax: Any) -> None:
        levels = ("",) if self.target is None else self.target.levels
        colours = [colour_of(i, level) for i, level in enumerate(levels)]
        for panel, name, edges, heights in zip(
            ax.flat, self.names, self.edges, self.heights, strict=False
        ):
            for i, values in enumerate(heights):
                if len(values):
                    panel.stairs(values, edges, fill=True, alpha=0.22, color=colours[i])
                    panel.stairs(values, edges, color=colours[i], linewidth=1.3)
            panel.set_title(label(name, 22), fontsize=8)
            panel.set_yticks([])
            panel.spines["left"].set_visible(False)
            panel.tick_params(labelsize=7)
            panel.locator_params(axis="x", nbins=4)
        for panel in ax.flat[len(self.names) :]:
            panel.set_axis_off()
        if self.target is not None:
            _draw_legend(ax.flat[len(self.names)], self.target)


def _draw_legend(ax: Any, target: Target) -> None:
    for i, level in enumerate(target.levels):
        ax.plot([], [], color=colour_of(i, level), linewidth=4, label=label(level, 18))
    ax.legend(
        loc="upper left",
        title=label(target.name, 18),
        title_fontsize=8,
        fontsize=7,
        labelspacing=0.25,
        handlelength=1,
        alignment="left",
    )


def _masks(target: Target | None, n: int) -> list[NDArray]:
    if target is None:
        return [np.ones(n, dtype=bool)]
    classes = np.array(target.classes)
    return [classes == level for level in target.levels]


def _telling(A: NDArray, masks: list[NDArray], most: int) -> NDArray:
    """Return the columns to show, in order: those in which the classes are farthest apart."""
    d = A.shape[1]
    if d <= most or len(masks) == 1:
        return np.arange(min(d, most))
    known = ~np.isnan(A)
    values = np.where(known, A, 0.0)
    mean = values.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    between = np.zeros(d)
    for mask in masks:
        n = known[mask].sum(axis=0)
        between += n * (values[mask].sum(axis=0) / np.maximum(n, 1) - mean) ** 2 * (n > 0)
    total = (np.where(known, A - mean, 0.0) ** 2).sum(axis=0)
    share = np.divide(between, total, out=np.zeros(d), where=total > 0)
    return np.sort(np.argsort(-share, kind="stable")[:most])


def _edges(values: NDArray, bins: int) -> NDArray:
    """Return the edges of the bins of a column; of whole numbers, one bin for one or several."""
    known = values[np.isfinite(values)]
    if not len(known):
        return np.array([0.0, 1.0])
    low, high = float(known.min()), float(known.max())
    if (known % 1 == 0).all() and high > low and high - low < 1e6:
        step = np.ceil((high - low + 1) / bins)
        return np.arange(low, high + step + 1, step) - 0.5
    return np.histogram_bin_edges(known, bins)


def _heights(values: NDArray, edges: NDArray) -> NDArray:
    """Return the heights of a histogram of area 1; none where there are no values."""
    known = values[np.isfinite(values)]
    if not len(known):
        return np.zeros(0)
    return np.histogram(known, edges, density=True)[0]
