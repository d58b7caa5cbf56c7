"""What a kernel does to the plane: it lifts it to where a plane tells classes apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from .colours import BEYOND
from .display import Panels, label
from .grid import grid_around, require_plane
from .inputs import table_of
from .points import draw_points
from .target import Target

__all__ = ["KernelLiftDisplay"]

MOST = 2000  # rows from which the plane between classes is found
RESOLUTION = 80
HARD = 1e3  # price of a row on the wrong side


@dataclass(eq=False)
class KernelLiftDisplay(Panels):
    """The kernel lift: points of the plane on the left, lifted to a paraboloid on the right.

    Rings that no line tells apart lie at different heights of ``(x, y, x^2 + y^2)``, and a plane
    goes between them. Down in the plane it is a circle. The product of two lifted points is the
    kernel ``k(u, v) = u'v + |u|^2 |v|^2`` of the points themselves, so that linear methods, given
    this kernel, see the space without going there.

    Attributes
    ----------
    points : ndarray of shape (n, 2)
    lifted : ndarray of shape (n, 3)
    target : Target or None
    plane : ndarray of shape (4,), or None
        Where ``lifted @ plane[:3] + plane[3]`` is zero, the classes meet: the plane with the widest
        margin. None unless there are two classes.
    separated : float or None
        Share of the rows that are on the side of their class.
    names : list of str
        Of the two columns.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from eigenlens.plot import KernelLiftDisplay
    >>> X, y = make_circles(200, factor=0.4, noise=0.05, random_state=0)
    >>> display = KernelLiftDisplay.from_data(X, y)
    >>> display.lifted.shape, display.separated
    ((200, 3), 1.0)
    """

    panel = (4.6, 4.4)

    points: NDArray
    lifted: NDArray
    target: Target | None
    plane: NDArray | None
    separated: float | None
    names: list[str]

    @classmethod
    def from_data(cls, X: Any, y: Any = None, *, ax: Any = None) -> Self:
        """Draw two columns, and their lift.

        Parameters
        ----------
        X : array-like of shape (n_samples, 2)
        y : array-like of shape (n_samples,), optional
            Classes or numbers. Between two classes a plane is sought.
        ax : matplotlib Axes, or array of them, optional

        Returns
        -------
        KernelLiftDisplay
        """
        points, names = table_of(X, None)
        require_plane(points)
        lifted = np.column_stack([points, (points**2).sum(axis=1)])
        target = None if y is None else Target.of(y, len(points))
        plane = separated = None
        if target is not None and len(target.levels) == 2:
            first = np.array(target.classes) == target.levels[0]
            plane = _between(lifted, first)
            separated = float(np.mean((lifted @ plane[:3] + plane[3] > 0) == first))
        return cls(points, lifted, target, plane, separated, names).plot(ax)

    def _shape(self) -> tuple[int, int]:
        return 1, 2

    def _draw(self, ax: Any) -> None:
        self.ax_ = ax.copy()
        self.ax_[0, 1] = _in_space(ax[0, 1])
        flat, space = self.ax_[0]
        x, y = (label(name) for name in self.names)
        flat.set(title="the plane", xlabel=x, ylabel=y)
        flat.set_aspect("equal", adjustable="datalim")
        space.set_box_aspect(None, zoom=0.85)  # else the name of the height is cut off
        space.set(title="lifted", xlabel=x, ylabel=y)
        space.set_zlabel(f"{x}² + {y}²", labelpad=8)
        space.locator_params(nbins=4)
        draw_points(flat, self.points, self.target, key=False)
        draw_points(space, self.lifted, self.target)
        if self.plane is not None:
            self._draw_plane(flat, space)

    def _draw_plane(self, flat: Any, space: Any) -> None:
        """Draw the plane between the classes, and where it meets the paraboloid."""
        a, b, c, d = self.plane  # type: ignore[misc]
        across, up, grid = grid_around(self.points, RESOLUTION)
        side = grid @ [a, b] + c * (grid**2).sum(axis=1) + d
        line = {"levels": [0.0], "colors": BEYOND, "linewidths": 1.5}
        flat.contour(across, up, side.reshape(RESOLUTION, RESOLUTION), **line)
        if abs(c) > 1e-3 * max(abs(a), abs(b)):  # not upright
            (left, right), (low, high) = across[[0, -1]], up[[0, -1]]
            x, y = np.meshgrid([left, right], [low, high])
            height = -(a * x + b * y + d) / c
            space.plot_surface(x, y, height, color=BEYOND, alpha=0.3, linewidth=0)
        space.set_title(f"lifted: a plane has {self.separated:.0%} on the right side")


def _between(lifted: NDArray, first: NDArray) -> NDArray:
    """Return the plane with the widest margin between two classes, positive for the first."""
    some = np.random.default_rng(0).permutation(len(lifted))[:MOST]
    some = np.union1d(some, [np.argmax(first), np.argmin(first)])  # some of both
    scale = lifted.std(axis=0)
    scale[scale == 0] = 1
    machine = SVC(kernel="linear", C=HARD).fit(lifted[some] / scale, first[some])
    return np.append(machine.coef_[0] / scale, machine.intercept_)


def _in_space(ax: Any) -> Any:
    """Return axes of three dimensions in the place of these."""
    if ax.name == "3d":
        return ax
    spec = ax.get_subplotspec()
    if spec is None:
        raise ValueError("ax is no subplot, and cannot become 3-D. Make it with projection='3d'.")
    space = ax.figure.add_subplot(spec, projection="3d")
    ax.remove()
    return space
