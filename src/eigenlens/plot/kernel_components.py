"""Components of a kernel as landscapes over the plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .colours import AXIS, DIVERGING
from .display import Panels, label
from .grid import grid_around, like, require_plane
from .images import arranged, limits
from .inputs import axis_name, given_names, last_step, table_of
from .points import draw_points
from .target import Target

__all__ = ["KernelComponentsDisplay"]

LEVELS = 13  # shades; an odd number, so that zero is inside one


@dataclass(eq=False)
class KernelComponentsDisplay(Panels):
    """Contours of components over the plane: along a line, all points have the same score.

    For a linear method lines are straight. Those of kernel PCA follow the data: the first few tell
    clusters apart, later ones cut through each of them.

    Attributes
    ----------
    points : ndarray of shape (n, 2)
    target : Target or None
        Their classes or numbers.
    across, up : ndarray of shape (resolution,)
        The grid.
    scores : ndarray of shape (n_components, resolution, resolution)
        Of the grid: one row for each height.
    titles : tuple of str
    names : list of str
        Of the two columns.

    References
    ----------
    B. Schoelkopf, A. Smola, K.-R. Mueller, Nonlinear component analysis as a kernel eigenvalue
    problem, Neural Computation 10 (1998), figures 4 and 5.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from eigenlens import KernelPCA
    >>> from eigenlens.plot import KernelComponentsDisplay
    >>> X, y = make_circles(200, factor=0.4, noise=0.05, random_state=0)
    >>> model = KernelPCA(3, kernel="rbf", gamma=2.0).fit(X)
    >>> KernelComponentsDisplay.from_estimator(model, X, y).scores.shape
    (3, 100, 100)
    """

    panel = (3.3, 3.2)

    points: NDArray
    target: Target | None
    across: NDArray
    up: NDArray
    scores: NDArray
    titles: tuple[str, ...]
    names: list[str]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        names: Sequence[str] | None = None,
        components: tuple[int, ...] = (0, 1, 2),
        resolution: int = 100,
        ax: Any = None,
    ) -> Self:
        """Draw components of a model that was fitted to two columns.

        Parameters
        ----------
        estimator : fitted estimator, or pipeline
            With ``transform``.
        X : array-like of shape (n_samples, 2)
            Points to draw on top.
        y : array-like of shape (n_samples,), optional
            Their classes or numbers.
        names : sequence of str, optional
            Of the columns. By default those of the fit or of the frame.
        components : tuple of int, default=(0, 1, 2)
            One panel each, 0 being the first; those that the model does not have are left out.
        resolution : int, default=100
            Points of the grid along each side.
        ax : matplotlib Axes, or array of them, optional

        Returns
        -------
        KernelComponentsDisplay
        """
        model, _ = last_step(estimator, X)
        points, _ = table_of(X, None)
        require_plane(points)
        across, up, grid = grid_around(points, resolution)
        scores = np.asarray(estimator.transform(like(X, grid)), dtype=np.float64)
        found = [j for j in components if 0 <= j < scores.shape[1]]
        if not found:
            raise ValueError(
                f"components={components!r} are none of the {scores.shape[1]} that "
                f"{type(model).__name__} has, beginning with 0."
            )
        return cls(
            points,
            None if y is None else Target.of(y, len(points)),
            across,
            up,
            scores[:, found].T.reshape(len(found), resolution, resolution),
            tuple(axis_name(model, j) for j in found),
            given_names(estimator, X, names, 2),
        ).plot(ax)

    def _shape(self) -> tuple[int, int]:
        return arranged(len(self.scores))

    def _draw(self, ax: Any) -> None:
        panels, last = iter(ax.flat), ax[0, -1]
        for scores, title in zip(self.scores, self.titles, strict=True):
            panel = next(panels)
            low, high = limits(scores, signed=True)
            levels = np.linspace(low, high, LEVELS + 1)
            panel.contourf(self.across, self.up, scores, levels, cmap=DIVERGING, alpha=0.5)
            lines = {"colors": AXIS, "linewidths": 0.5, "linestyles": "solid"}
            panel.contour(self.across, self.up, scores, levels, **lines)
            draw_points(panel, self.points, self.target, key=panel is last)
            panel.set(xlabel=label(self.names[0]), ylabel=label(self.names[1]))
            panel.set_title(title)
            panel.label_outer()
        for empty in panels:
            empty.set_axis_off()
