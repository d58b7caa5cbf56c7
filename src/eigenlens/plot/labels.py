"""Names at points, none over another: close by for a few of them, in two columns for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.isotonic import isotonic_regression

from .display import LONGEST, label

__all__ = ["name_at_edges", "name_beside", "settle"]

INK, LEADER = "#333c48", "#8a93a0"
RADII = (4.0, 9.0, 16.0, 25.0, 36.0, 50.0, 66.0)  # points, from the point to its name
ANGLES = np.pi / 4 * np.array([0.0, 4, 1, 3, 7, 5, 2, 6])  # right and left first, as one reads
MARGIN = 5.0  # points, between a column of names and what else there is
WIDEST = 0.25  # of the axes, that a column of names may take
LENGTHS = (LONGEST, 18, 14, 11, 8, 6)  # of names, the shorter ones where it is narrow
LINE = 1.18  # height of a line, in heights of its letters


def settle(ax: Any) -> NDArray:
    """Lay out the figure, so that places on it are final; return the size of `ax` in points."""
    ax.figure.canvas.figure.draw_without_rendering()
    box = ax.get_window_extent()
    return np.array([box.width, box.height]) * 72 / ax.figure.dpi


def name_beside(ax: Any, points: NDArray, names: Sequence[object]) -> list[Any]:
    """Write a name beside each point, the first ones nearest; return the annotations.

    Each takes the first free place on circles around its point. A name for which none is left is
    not written.
    """
    settle(ax)
    pixel = ax.figure.dpi / 72
    frame, centres = ax.get_window_extent(), ax.transData.transform(points)
    taken = [np.array([*centre - 2 * pixel, *centre + 2 * pixel]) for centre in centres]
    written = []
    for point, centre, name in zip(points, centres, names, strict=True):
        text = _annotation(ax, point, name)
        size = np.array(text.get_window_extent().size)
        for offset, radius in _offsets(size / pixel):
            middle = centre + pixel * offset
            box = np.array([*middle - size / 2, *middle + size / 2])
            inside = (box[:2] >= frame.min).all() and (box[2:] <= frame.max).all()
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                text.set_position(offset)
                text.arrow_patch.set_visible(radius > RADII[1])
                written.append(text)
                break
        else:
            text.remove()
    return written


def _annotation(ax: Any, point: NDArray, name: object) -> Any:
    return ax.annotate(
        label(name),
        point,
        (0, 0),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize="small",
        color=INK,
        arrowprops={"arrowstyle": "-", "linewidth": 0.6, "color": LEADER, "shrinkB": 2},
    )


def _offsets(size: NDArray) -> list[tuple[NDArray, float]]:
    """Return where the middle of a name of this size may be, seen from its point, and how far."""
    found = []
    for radius in RADII:
        for angle in ANGLES:
            away = np.array([np.cos(angle), np.sin(angle)]).round(9)
            found.append((radius * away + np.sign(away) * size / 2, radius))
    return found


def _overlap(box: NDArray, other: NDArray) -> bool:
    return bool((box[:2] < other[2:]).all() and (other[:2] < box[2:]).all())


def name_at_edges(
    ax: Any, points: NDArray, names: Sequence[object], *, fontsize: float = 8.0
) -> list[Any]:
    """Write the names in two columns at the edges of `ax`, with thin lines to their points.

    The limits of the axes are widened to make room for them. The points are in order of importance:
    where the axes are too low for all names, the last ones are not written. Lines do not cross:
    among all ways to give the places of a column to its points, the one of least total length is
    taken, and two lines that cross could be made shorter by changing their ends (M. Bekos et al.,
    Boundary labeling: models and efficient algorithms for rectangular maps, Computational Geometry
    36, 2007).
    """
    width, height = settle(ax)
    line = LINE * fontsize
    room = max(1, int((height - line) // line))
    sides = _sides(points, room)
    columns = [_column(ax, [names[i] for i in side], fontsize, WIDEST * width) for side in sides]
    wide = [MARGIN + w if w else 0.0 for _, w in columns]
    _make_room(ax, wide, width)
    size = np.array([width, height])
    at = ax.transAxes.inverted().transform(ax.transData.transform(points)) * size
    written = []
    for j, (x, align) in enumerate(((wide[0], "right"), (width - wide[1], "left"))):
        places = _places(at[sides[j]], x, line, height) / size
        for i, name, place in zip(sides[j], columns[j][0], places, strict=True):
            written.append(_leader(ax, name, points[i], place, align, fontsize))
    return written


def _sides(points: NDArray, room: int) -> tuple[NDArray, NDArray]:
    """Return which points have their names on the left, and which on the right."""
    few = np.arange(min(len(points), 2 * room))
    x = points[few, 0]
    order = few[np.argsort(x, kind="stable")]
    left = int(np.clip(np.count_nonzero(x < 0), len(few) - room, room))
    return order[:left], order[left:]


def _column(
    ax: Any, names: Sequence[object], fontsize: float, most: float
) -> tuple[list[str], float]:
    """Return the names, cut until the widest is at most so wide, and its width, in points."""
    if not names:
        return [], 0.0
    text = ax.text(0, 0, "", fontsize=fontsize)
    for length in LENGTHS:
        shown = [label(name, length) for name in names]
        text.set_text("\n".join(shown))
        width = float(text.get_window_extent().width) * 72 / ax.figure.dpi
        if width <= most:
            break
    text.remove()
    return shown, width


def _make_room(ax: Any, wide: list[float], width: float) -> None:
    """Widen the horizontal limits, so that what is drawn keeps off the columns of names."""
    left, right = ax.get_xlim()
    unit = (right - left) / max(width - sum(wide) - 2 * MARGIN, 0.2 * width)
    outer = [(w + MARGIN) * unit if w else 0.0 for w in wide]
    ax.set_xlim(left - outer[0], right + outer[1])


def _places(points: NDArray, x: float, line: float, height: float) -> NDArray:
    """Return a place in the column at `x` for each point: near it, and a line from the next."""
    n = len(points)
    if not n:
        return np.zeros((0, 2))
    steps = line * np.arange(n)
    # the heights nearest to those of the points, in squares, that are a line apart
    first = isotonic_regression(
        np.sort(points[:, 1]) - steps, y_min=line / 2, y_max=height - line / 2 - steps[-1]
    )
    column = np.column_stack([np.full(n, x), first + steps])
    return column[linear_sum_assignment(cdist(points, column))[1]]


def _leader(ax: Any, name: str, point: NDArray, place: NDArray, align: str, fontsize: float) -> Any:
    line = {"arrowstyle": "-", "linewidth": 0.5, "color": LEADER, "shrinkA": 1, "shrinkB": 0}
    return ax.annotate(
        name,
        point,
        place,
        textcoords="axes fraction",
        ha=align,
        va="center",
        fontsize=fontsize,
        color=INK,
        arrowprops=line | {"relpos": (1.0 if align == "right" else 0.0, 0.5)},
    )
