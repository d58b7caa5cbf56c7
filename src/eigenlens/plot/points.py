"""Rows as points, coloured by their target, with a legend or a colour bar that can be read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .colours import ACCENT, CLASSES, MARKERS, QUIET, SEQUENTIAL
from .display import label
from .target import UNKNOWN, Target

__all__ = ["beside_axes", "colour_of", "draw_points", "make_box", "size_of"]

ZOOM = 0.82  # of a box in space, so that the names of its axes are on the page
MANY = 5000  # points, from which on a vector picture holds them as pixels


def draw_points(
    ax: Any, points: NDArray, target: Target | None, *, gap: float = 0.02, key: bool = True
) -> None:
    """Draw a point for each row of `points`, which has two or three columns.

    Classes are told apart by colour and by marker. Where a number is unknown, the point is hollow.
    Legend and colour bar are to the right, with a gap in widths of the axes, unless `key` is False.
    """
    look: dict[str, Any] = {
        "s": size_of(len(points)),
        "alpha": 0.75,
        "linewidths": 0,
        "rasterized": len(points) > MANY,
    }
    if ax.name == "3d":
        look["depthshade"] = False  # it would make far points too pale to tell their class
    if target is None:
        ax.scatter(*points.T, color=ACCENT, **look)
    elif target.numbers is None:
        _draw_classes(ax, points, target, look)
        if key:
            _draw_legend(ax, target, gap)
    else:
        known = ~np.isnan(target.numbers)
        hollow = look | {"linewidths": 0.7, "facecolor": "none", "edgecolor": QUIET}
        ax.scatter(*points[~known].T, **hollow)
        drawn = ax.scatter(*points[known].T, c=target.numbers[known], cmap=SEQUENTIAL, **look)
        if key:
            at = {"fraction": 0.05, "pad": max(gap, 0.1) if ax.name == "3d" else gap}
            ax.figure.colorbar(drawn, ax=ax, label=label(target.name), **at)


def _draw_classes(ax: Any, points: NDArray, target: Target, look: dict[str, Any]) -> None:
    classes = np.array(target.classes)
    for i, level in enumerate(target.levels):
        marker = MARKERS[i % len(MARKERS)]
        mine = points[classes == level].T
        ax.scatter(*mine, color=colour_of(i, level), marker=marker, label=label(level), **look)


def _draw_legend(ax: Any, target: Target, gap: float) -> None:
    legend = beside_axes(ax, gap, title=label(target.name))
    for handle in legend.legend_handles:
        handle.set_sizes([36.0])
        handle.set_alpha(1.0)


def colour_of(i: int, level: str) -> str:
    """Return the colour of the class with this number and name."""
    return QUIET if level == UNKNOWN else CLASSES[i % len(CLASSES)]


def beside_axes(ax: Any, gap: float = 0.02, **options: Any) -> Any:
    """Return a legend to the right of the axes, where it covers nothing."""
    at = {"loc": "upper left", "bbox_to_anchor": (1.0 + gap, 1.0), "borderaxespad": 0.0}
    return ax.legend(**at, alignment="left", handletextpad=0.4, **options)


def make_box(ax: Any, names: tuple[str, ...], *, equal: bool) -> None:
    """Name the axes of a picture in space, and give them one scale or the usual proportions."""
    for side, name in zip("xyz", names, strict=True):
        getattr(ax, f"set_{side}label")(name, labelpad=6)
        getattr(ax, f"{side}axis").get_major_locator().set_params(nbins=5)
    limits = np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
    ax.set_box_aspect(np.ptp(limits, axis=1) if equal else (4, 4, 3), zoom=ZOOM)
    ax.set_anchor("E")  # beside a legend, for which the layout makes room from the first draw on


def size_of(n: int) -> float:
    """Return the area of a point, in square points: smaller among many."""
    return float(np.clip(24 * np.sqrt(200 / max(n, 1)), 3, 24))
