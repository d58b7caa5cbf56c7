"""Up to which rank and density tables are recovered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..measure.recovery import RecoveryRegion
from .colours import BEYOND, SEQUENTIAL
from .display import Display

__all__ = ["PhaseDiagramDisplay"]

WORDS = {
    "random": "errors of random sign",
    "coherent": "errors with the sign of the table",
    "completion": "holes",
}


@dataclass(eq=False)
class PhaseDiagramDisplay(Display):
    """Phase diagram: how often planted tables are recovered, by their rank and density of errors.

    Bright is recovered in every trial, dark in none. The line is where half of them are.

    Attributes
    ----------
    densities : ndarray of shape (n_densities,)
        Shares of the cells that are in error, or not observed.
    ranks : ndarray of shape (n_ranks,)
        As fractions of the number of rows.
    recovered : ndarray of shape (n_ranks, n_densities)
        Shares of the trials.
    problem : str
        Which trial it was, as in :class:`eigenlens.measure.RecoveryRegion`.
    bar : bool
        Whether a bar beside it explains the colours.

    Examples
    --------
    >>> from eigenlens.measure import recovery_region
    >>> from eigenlens.plot import PhaseDiagramDisplay
    >>> region = recovery_region(
    ...     n=30, ranks=[0.05, 0.4], densities=[0.05, 0.4], trials=1, random_state=0
    ... )
    >>> PhaseDiagramDisplay.from_region(region).recovered
    array([[1., 0.],
           [0., 0.]])
    """

    size = (5.2, 4.4)

    densities: NDArray
    ranks: NDArray
    recovered: NDArray
    problem: str
    bar: bool = True

    @classmethod
    def from_region(cls, region: RecoveryRegion, *, bar: bool = True, ax: Any = None) -> Self:
        """Draw what :func:`eigenlens.measure.recovery_region` has found.

        Parameters
        ----------
        region : RecoveryRegion
        bar : bool, default=True
            Whether a bar beside it explains the colours.
        ax : matplotlib Axes, optional

        Returns
        -------
        PhaseDiagramDisplay
        """
        ranks = region.ranks / region.n
        return cls(region.densities, ranks, region.recovered, region.problem, bar).plot(ax)

    def _draw(self, ax: Any) -> None:
        edges = _edges(self.densities), _edges(self.ranks)
        cells = ax.pcolormesh(*edges, self.recovered, cmap=SEQUENTIAL, vmin=0, vmax=1)
        half_way = self.recovered.min() < 0.5 < self.recovered.max()
        if half_way and min(self.recovered.shape) > 1:
            line = {"levels": [0.5], "colors": BEYOND, "linewidths": 2}
            ax.contour(self.densities, self.ranks, self.recovered, **line)
        what = "not observed" if self.problem == "completion" else "in error"
        ax.set(
            title=WORDS.get(self.problem, self.problem),
            xlabel=f"share of cells {what}",
            ylabel="rank / n",
        )
        if self.bar:
            side = ax.figure.colorbar(cells, ax=ax, label="share of trials recovered")
            side.ax.yaxis.set_major_formatter("{x:.0%}")


def _edges(centres: NDArray) -> NDArray:
    """Return where cells with these centres end: half way to the next."""
    if len(centres) == 1:
        return centres[0] + np.array([-0.05, 0.05])
    middle = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - middle[0], 2 * centres[-1] - middle[-1]
    return np.array([first, *middle, last])
