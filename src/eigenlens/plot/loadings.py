"""The weights of the columns in each component, with their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from .cells import draw_cells
from .colours import ACCENT, AXIS, BEYOND
from .display import Panels, label
from .inputs import axis_name, chosen, last_step, names_of, weights_of

__all__ = ["LoadingsDisplay"]

MOST = {"bars": 15, "heatmap": 40}  # columns
COMPONENTS = {"bars": 4, "heatmap": 10}
LINE = 0.19  # inches, of the height of a column's row


@dataclass(eq=False)
class LoadingsDisplay(Panels):
    """Loadings: how much each column weighs in each component.

    Attributes
    ----------
    weights : ndarray of shape (k, d)
        Rows of `components_`, as they are, of the components that are shown.
    names : list of str
        Of the columns.
    components : tuple of str
        What each component is called.
    kind : {"bars", "heatmap"}
    most : int
        Columns shown: for bars of each component by itself.

    Examples
    --------
    >>> from eigenlens import PCA, datasets
    >>> from eigenlens.plot import LoadingsDisplay
    >>> table = datasets.breast_cancer()
    >>> model = PCA(2).fit((table.X - table.X.mean(axis=0)) / table.X.std(axis=0))
    >>> display = LoadingsDisplay.from_estimator(model, names=table.names)
    >>> [display.names[j] for j in display.strongest(0)[:2]]
    ['mean concave points', 'mean concavity']
    """

    weights: NDArray
    names: list[str]
    components: tuple[str, ...]
    kind: Literal["bars", "heatmap"]
    most: int

    panel: ClassVar[tuple[float, float]] = (3.9, 1.1)  # of bars: the height is without rows

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        names: Sequence[str] | None = None,
        components: tuple[int, ...] | None = None,
        kind: Literal["bars", "heatmap"] = "bars",
        most: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the weights of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator, or Pipeline that ends with one
            With `components_`.
        names : sequence of str, optional
            Of the columns. By default those of the fit.
        components : tuple of int, optional
            Which to show, 0 for the first. By default the first four as bars, ten as a heat map.
        kind : {"bars", "heatmap"}, default="bars"
            A panel of bars for each component, with the columns that weigh most in it, the heaviest
            first; or one picture of all, with the columns in the order of the table.
        most : int, optional
            Columns shown, those with the largest weights. By default 15 in each panel of bars, and
            40 in a heat map.
        ax : matplotlib Axes, or array of them, optional

        Returns
        -------
        LoadingsDisplay
        """
        if kind not in MOST:
            raise ValueError(f"kind={kind!r} must be 'bars' or 'heatmap'.")
        model, _ = last_step(estimator)
        weights = weights_of(model)
        shown = chosen(components, len(weights), model, COMPONENTS[kind])
        return cls(
            weights=weights[list(shown)],
            names=names_of(estimator, None, names, weights.shape[1]),
            components=tuple(axis_name(model, j) for j in shown),
            kind=kind,
            most=MOST[kind] if most is None else most,
        ).plot(ax)

    def strongest(self, i: int | None = None) -> NDArray:
        """Return the numbers of the columns that are shown.

        Parameters
        ----------
        i : int, optional
            For the component in this panel: columns with a weight, the heaviest first. By default
            for all of them together, in the order of the table.

        Returns
        -------
        ndarray of int
        """
        size = np.abs(self.weights).max(axis=0) if i is None else np.abs(self.weights[i])
        order = np.argsort(-size, kind="stable")[: self.most]
        return np.sort(order) if i is None else order[size[order] > 0]

    def _shape(self) -> tuple[int, int]:
        if self.kind == "heatmap":
            return 1, 1
        across = int(np.ceil(np.sqrt(len(self.weights))))
        return -(-len(self.weights) // across), across

    def _figure_size(self) -> tuple[float, float]:
        rows, columns = self._shape()
        lines = LINE * max(5, min(self.most, len(self.names)))
        if self.kind == "heatmap":
            return 3.2 + 0.42 * len(self.weights), 1.9 + lines
        return columns * self.panel[0], rows * (self.panel[1] + lines)

    def _draw(self, ax: Any) -> None:
        if self.kind == "heatmap":
            self._draw_cells(ax[0, 0])
            return
        for i, panel in enumerate(ax.flat):
            if i < len(self.weights):
                self._draw_bars(panel, i)
            else:
                panel.set_axis_off()

    def _draw_cells(self, ax: Any) -> None:
        columns = self.strongest()
        largest = float(np.abs(self.weights).max()) or 1.0
        names = [self.names[j] for j in columns]
        weights = self.weights[:, columns].T
        draw_cells(ax, weights, names, self.components, largest=largest, meaning="weight")
        if len(names) < len(self.names):
            ax.set_title(f"{len(names)} of {len(self.names)} columns")

    def _draw_bars(self, ax: Any, i: int) -> None:
        columns = self.strongest(i)
        weights, places = self.weights[i, columns], np.arange(len(columns))
        colours = [ACCENT if weight > 0 else BEYOND for weight in weights]
        ax.barh(places, weights, color=colours, height=0.72)
        ax.axvline(0, color=AXIS, linewidth=0.8)
        ax.set_yticks(places, [label(self.names[j]) for j in columns], fontsize=8)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(max(len(columns), 1) - 0.4, -0.6)
        largest = 1.06 * float(np.abs(self.weights).max()) or 1.0
        ax.set_xlim(-largest if self.weights.min() < 0 else 0, largest)
        ax.set(title=self.components[i], xlabel=self._note(columns))

    def _note(self, columns: NDArray) -> str:
        if not len(columns):
            return "no column has a weight"
        d = len(self.names)
        return "weight" if len(columns) == d else f"weight, {len(columns)} of {d} columns"
