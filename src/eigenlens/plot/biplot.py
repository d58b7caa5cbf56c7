"""Rows and columns in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..measure.blocks import correlations
from ..measure.linear import beyond_rounding, checked
from .colours import BEYOND
from .display import Display
from .inputs import axis_name, chosen, last_step, names_of, scores_of
from .labels import name_at_edges
from .points import draw_points
from .target import Target

__all__ = ["BiplotDisplay"]

REACH = 0.9  # of the way to the edge of the cloud, that the longest arrow may take


@dataclass(eq=False)
class BiplotDisplay(Display):
    """Biplot: rows as points, and columns as arrows that point to where their values are large.

    An arrow is the correlation of its column with the scores on both components. Its length is at
    most 1, for a column that the two components account for altogether. The axes of the arrows are
    above and to the right.

    Attributes
    ----------
    scores : ndarray of shape (n, 2)
        Of the rows.
    arrows : ndarray of shape (m, 2)
        Correlations of the columns that are shown, the longest first.
    names : list of str
        Of these columns.
    target : Target or None
        A class or a number for each row.
    axes : tuple of str
        What the components are.
    factor : float
        By which arrows are longer in the units of the scores.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.plot import BiplotDisplay
    >>> data = load_iris()
    >>> model = PCA(2).fit(data.data)
    >>> display = BiplotDisplay.from_estimator(
    ...     model, data.data, data.target, names=data.feature_names
    ... )
    >>> dict(zip(display.names, display.arrows.round(2).tolist()))["sepal width (cm)"]
    [-0.4, 0.83]
    """

    scores: NDArray
    arrows: NDArray
    names: list[str]
    target: Target | None
    axes: tuple[str, ...]

    size: ClassVar[tuple[float, float]] = (9.0, 6.2)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        names: Sequence[str] | None = None,
        components: tuple[int, int] = (0, 1),
        most: int = 30,
        ax: Any = None,
    ) -> Self:
        """Draw a table as a fitted model sees it.

        Parameters
        ----------
        estimator : fitted estimator, or Pipeline that ends with one
            With `transform` or `embedding_`.
        X : {array-like, sparse matrix} of shape (n, d)
            The table, without holes.
        y : array-like of shape (n,), optional
            A class or a number for each row.
        names : sequence of str, optional
            Of the columns. By default those of the fit or of the frame.
        components : tuple of two int, default=(0, 1)
        most : int, default=30
            Columns shown: those with the longest arrows.
        ax : matplotlib Axes, optional

        Returns
        -------
        BiplotDisplay
        """
        if len(components) != 2:
            raise ValueError(f"components={components!r} must be two, such as (0, 1).")
        model, table = last_step(estimator, X)
        scores = scores_of(model, table)
        shown = list(chosen(components, scores.shape[1], model, 2))
        varying = np.where(beyond_rounding(scores.var(axis=0)), scores, 0.0)
        every = correlations(checked(model, table), varying[:, shown])
        length = np.nan_to_num(np.hypot(*every.T))  # a constant column points nowhere
        order = np.argsort(-length, kind="stable")[:most]
        order = order[length[order] > 0]
        called = names_of(estimator, X, names, len(every))
        return cls(
            scores=scores[:, shown],
            arrows=every[order],
            names=[called[j] for j in order],
            target=None if y is None else Target.of(y, len(scores)),
            axes=tuple(axis_name(model, j) for j in shown),
        ).plot(ax)

    @property
    def factor(self) -> float:
        """By which arrows are longer in the units of the scores."""
        if not len(self.arrows):
            return 1.0
        edge = np.abs(self.scores - self.scores.mean(axis=0)).max(axis=0)
        reach = np.abs(self.arrows).max(axis=0)
        ratios = edge[reach > 0] / reach[reach > 0]
        return float(REACH * ratios.min()) or 1.0

    def _draw(self, ax: Any) -> None:
        draw_points(ax, self.scores, self.target, gap=0.13)
        ax.set(xlabel=self.axes[0], ylabel=self.axes[1])
        centre = self.scores.mean(axis=0)
        tips = centre + self.factor * self.arrows
        for tip in tips:
            ax.annotate("", tip, centre, arrowprops={"arrowstyle": "-|>", "color": BEYOND})
        ax.update_datalim(tips)  # arrows do not count by themselves
        ax.autoscale_view()
        self._draw_scales(ax, centre)
        name_at_edges(ax, tips, self.names)

    def _draw_scales(self, ax: Any, centre: NDArray) -> None:
        """Draw the axes of the correlations, at the other two sides."""
        for j, (side, make) in enumerate(
            (("top", ax.secondary_xaxis), ("right", ax.secondary_yaxis))
        ):
            scale = make(side, functions=_scale(float(centre[j]), self.factor))
            where = scale.xaxis if side == "top" else scale.yaxis
            where.set_ticks([-1, -0.5, 0, 0.5, 1], ["-1", "-.5", "0", ".5", "1"])
            where.set_tick_params(colors=BEYOND, labelsize=8)
            name = self.axes[j].partition(" (")[0]
            where.set_label_text(f"correlation with {name}", color=BEYOND, fontsize=9)
            scale.spines[side].set_visible(False)


def _scale(centre: float, factor: float) -> tuple[Any, Any]:
    return lambda x: (x - centre) / factor, lambda x: centre + factor * x
