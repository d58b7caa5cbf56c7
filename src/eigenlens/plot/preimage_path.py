"""The way to a pre-image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .colours import ACCENT, BEYOND, SEQUENTIAL
from .display import Display, label
from .grid import grid_around, require_plane
from .inputs import last_step, names_of, table_of
from .points import beside_axes

__all__ = ["PreimagePathDisplay"]

RESOLUTION = 100
LEVELS = 12


@dataclass(eq=False)
class PreimagePathDisplay(Display):
    """Paths of the pre-image iteration from random starts, for kernel PCA in the plane.

    The contours are the squared distance, in the feature space, from the projection of one row; a
    pre-image is where it is least. One end for all starts says that the pre-image does not depend
    on luck; several are local minima. Drawn are whole steps, as in the literature: far from the
    rows they may jump about or not exist, which is why ``denoise`` shortens them or starts again.

    Attributes
    ----------
    points : ndarray of shape (n, 2)
    row : int
        The row of `points` whose projection is sought.
    paths : list of ndarray of shape (n_steps + 1, 2)
        The points that each start leads through.
    across, up : ndarray of shape (100,)
    distances : ndarray of shape (100, 100)
        Squared distances at the grid.
    names : list of str
        Of the two columns.

    References
    ----------
    S. Mika, B. Schoelkopf, A. Smola, K.-R. Mueller, M. Scholz, G. Raetsch, Kernel PCA and
    de-noising in feature spaces, NIPS 11 (1999).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import KernelPCA
    >>> from eigenlens.plot import PreimagePathDisplay
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> model = KernelPCA(1, kernel="rbf", gamma=0.5, preimage="fixed_point").fit(X)
    >>> display = PreimagePathDisplay.from_estimator(model, X, n_steps=300)
    >>> ends = np.array([path[-1] for path in display.paths])
    >>> np.allclose(ends, ends[0], atol=1e-3)
    True
    """

    size = (5.6, 4.8)

    points: NDArray
    row: int
    paths: list[NDArray]
    across: NDArray
    up: NDArray
    distances: NDArray
    names: list[str]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        row: int = 0,
        starts: int = 8,
        n_steps: int = 100,
        random_state: int = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the paths of a fitted :class:`eigenlens.KernelPCA` of two columns.

        Parameters
        ----------
        estimator : fitted KernelPCA, or pipeline that ends with one
            Of a pipeline, the plane is that of the last step.
        X : array-like of shape (n_samples, 2)
            Points to draw.
        row : int, default=0
            The row of `X` whose projection is sought.
        starts : int, default=8
            Paths, that begin at places drawn evenly from around the points.
        n_steps : int, default=100
            Most steps of each.
        random_state : int, default=0
            Seed of the starts.
        ax : matplotlib Axes, optional

        Returns
        -------
        PreimagePathDisplay
        """
        model, seen = last_step(estimator, X)
        if not hasattr(model, "preimage_path"):
            raise ValueError(f"{type(model).__name__} has no pre-image iteration. Take KernelPCA.")
        points, _ = table_of(seen, None)
        require_plane(points)
        if not 0 <= row < len(points):
            raise ValueError(f"row={row} is not in X, which has rows 0 to {len(points) - 1}.")
        across, up, grid = grid_around(points, RESOLUTION)
        rng = np.random.default_rng(random_state)
        begins = rng.uniform(points.min(axis=0), points.max(axis=0), (starts, 2))
        paths = [model.preimage_path(points[row], begin, n_steps=n_steps) for begin in begins]
        distances = model.preimage_distances(points[row], grid).reshape(RESOLUTION, RESOLUTION)
        names = names_of(estimator, X, None, 2)
        return cls(points, row, paths, across, up, distances, names).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.contourf(self.across, self.up, self.distances, LEVELS, cmap=SEQUENTIAL, alpha=0.35)
        ax.scatter(*self.points.T, s=10, color="#8a919b", linewidths=0, label="rows")
        for path in self.paths:
            ax.plot(*path.T, color=ACCENT, linewidth=1, marker=".", markersize=3)
        begins, ends = (np.array([path[i] for path in self.paths]) for i in (0, -1))
        edge = {"linewidths": 0.6, "edgecolors": "white", "zorder": 4}
        ax.scatter(*begins.T, s=40, color=ACCENT, marker="o", label="start", **edge)
        ax.scatter(*ends.T, s=70, color=BEYOND, marker="s", label="end", **edge)
        sought = self.points[self.row]
        ax.scatter(*sought, s=120, color="black", marker="*", label=f"row {self.row}", **edge)
        ax.set(xlabel=label(self.names[0]), ylabel=label(self.names[1]))
        ax.set(xlim=self.across[[0, -1]], ylim=self.up[[0, -1]])  # a step may go far
        beside_axes(ax)
