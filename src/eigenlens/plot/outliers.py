"""Rows that lie far out among the components, and rows that lie off them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..measure.diagnostics import diagnostics
from ..measure.frames import row_names
from ..measure.outlier_map import KINDS, outlier_map
from .colours import AXIS, CLASSES, MARKERS, QUIET
from .display import Display
from .inputs import last_step
from .labels import name_beside
from .points import beside_axes, size_of

__all__ = ["OutlierMapDisplay"]

LEVELS = {"robust": 0.975, "classical": 0.95}
FAR = 12.0  # cut-offs away, from which on the axis is logarithmic beyond the cut-off
WORDS = {
    "robust": ("score distance", "orthogonal distance"),
    "classical": ("T2, within the components", "squared prediction error, off them"),
}
COLOURS = (QUIET, CLASSES[0], CLASSES[1], CLASSES[4])  # of KINDS, row by row


@dataclass(eq=False)
class OutlierMapDisplay(Display):
    """Outlier map: how far each row is out among the components, and how far off them.

    Attributes
    ----------
    distances : ndarray of shape (n, 2)
        Score distance and orthogonal distance, or T2 and squared prediction error.
    cutoffs : ndarray of shape (2,)
        What a Gaussian row passes with probability 1 - level.
    names : ndarray of shape (n,)
        The index of a pandas table, else the numbers of the rows.
    kind : {"robust", "classical"}
    level : float
    most : int
        Rows named, at most.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import RobustPCA
    >>> from eigenlens.plot import OutlierMapDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6))
    >>> X += 0.1 * rng.standard_normal(X.shape)
    >>> X[7] += 5.0
    >>> model = RobustPCA(outliers="rows").fit(X)
    >>> display = OutlierMapDisplay.from_estimator(model, X)
    >>> int(display.flagged[0])
    7
    """

    distances: NDArray
    cutoffs: NDArray
    names: NDArray
    kind: Literal["robust", "classical"]
    level: float
    most: int

    size: ClassVar[tuple[float, float]] = (7.4, 4.8)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        kind: Literal["robust", "classical"] = "robust",
        level: float | None = None,
        most: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw the rows of a table as a fitted linear model sees them.

        Parameters
        ----------
        estimator : fitted linear estimator, or Pipeline that ends with one
            Best a robust one: components that outliers have turned towards themselves do not show
            them.
        X : {array-like, sparse matrix} of shape (n, d)
            The rows, without holes.
        kind : {"robust", "classical"}, default="robust"
            Distances and cut-offs of :func:`eigenlens.measure.outlier_map`, which outliers do not
            move; or T2, the squared prediction error and their limits, of
            :func:`eigenlens.measure.diagnostics`.
        level : float, optional
            Share of Gaussian rows below each cut-off. By default .975, and .95 for "classical".
        most : int, default=10
            Rows named: of those beyond a cut-off the farthest.
        ax : matplotlib Axes, optional

        Returns
        -------
        OutlierMapDisplay
        """
        if kind not in LEVELS:
            raise ValueError(f"kind={kind!r} must be 'robust' or 'classical'.")
        model, table = last_step(estimator, X)
        level = LEVELS[kind] if level is None else level
        if kind == "robust":
            found = outlier_map(model, table, level=level)
            distances = found.score_distance, found.orthogonal_distance
            cutoffs = found.score_cutoff, found.orthogonal_cutoff
        else:
            rows = diagnostics(model, table, level=level).rows
            distances, cutoffs = (rows.t2, rows.spe), (rows.t2_limit, rows.spe_limit)
        names = row_names(X, len(distances[0]))
        return cls(np.transpose(distances), np.array(cutoffs), names, kind, level, most).plot(ax)

    @property
    def flagged(self) -> NDArray:
        """Numbers of the rows beyond a cut-off, the farthest first."""
        times = (self.distances / np.where(self.cutoffs > 0, self.cutoffs, np.inf)).max(axis=1)
        order = np.argsort(-times, kind="stable")
        return order[times[order] > 1]

    def _draw(self, ax: Any) -> None:
        out, off = (self.distances > self.cutoffs).T
        for i, (kind, colour) in enumerate(zip(KINDS.ravel(), COLOURS, strict=True)):
            mine = (2 * off + out) == i
            look = {"color": colour, "marker": MARKERS[i], "s": 1.3 * size_of(len(out))}
            name = f"{kind} ({np.count_nonzero(mine)})"
            ax.scatter(*self.distances[mine].T, label=name, alpha=0.85, linewidths=0, **look)
        for j, side in enumerate("xy"):
            self._draw_axis(ax, j, side)
        beside_axes(ax, title=f"cut-offs at {100 * self.level:g} %")
        rows = self.flagged[: self.most]
        name_beside(ax, self.distances[rows], self.names[rows])

    def _draw_axis(self, ax: Any, j: int, side: str) -> None:
        cutoff, largest = float(self.cutoffs[j]), float(self.distances[:, j].max())
        far = 0 < cutoff < largest / FAR
        if far:
            getattr(ax, f"set_{side}scale")("symlog", linthresh=cutoff, linscale=1.5)
        top = max(largest, cutoff if np.isfinite(cutoff) else 0.0)
        getattr(ax, f"set_{side}lim")(0, top * (1.6 if far else 1.08) or 1.0)
        getattr(ax, f"set_{side}label")(WORDS[self.kind][j])
        line = ax.axvline if side == "x" else ax.axhline
        if np.isfinite(cutoff):
            line(cutoff, color=AXIS, linewidth=0.9, linestyle="--")
