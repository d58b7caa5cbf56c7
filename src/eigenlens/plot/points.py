"""Points in a plane or in space, in the colours of their class or number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .colours import ACCENT, CLASSES, MARKERS, QUIET, SEQUENTIAL
from .display import label
from .target import UNKNOWN, Target

__all__ = ["draw_points", "target_of"]


def target_of(y: Any, n: int) -> Target | None:
    """Return the classes or numbers of `n` rows, or None if none are given."""
    return None if y is None else Target.of(y, n)


def draw_points(ax: Any, places: NDArray, target: Target | None, **style: Any) -> None:
    """Draw the rows of `places`, of two or three columns, and name their classes for a legend."""
    style = {"s": 18, "linewidths": 0.4, "edgecolors": "white"} | style
    if target is None:
        ax.scatter(*places.T, color=ACCENT, **style)
    elif target.numbers is not None:
        ax.scatter(*places.T, c=target.numbers, cmap=SEQUENTIAL, **style)
    else:
        for j, level in enumerate(target.levels):
            colour = QUIET if level == UNKNOWN else CLASSES[j % len(CLASSES)]
            chosen = places[np.array(target.classes) == level]
            marker = MARKERS[j % len(MARKERS)]
            ax.scatter(*chosen.T, color=colour, marker=marker, label=label(level), **style)
