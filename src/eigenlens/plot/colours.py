"""Colours that everybody can tell apart, for pictures on paper and on pages."""

from __future__ import annotations

from typing import Any

from .._compat import optional

__all__ = [
    "ACCENT",
    "AXIS",
    "BEYOND",
    "CLASSES",
    "DIVERGING",
    "MARKERS",
    "NO_VALUE",
    "QUIET",
    "SEQUENTIAL",
    "colour_map",
]

# Okabe, Ito (2008), and three more: told apart by colour-blind readers too; the markers tell them
# apart in grey. Ten, as there are digits.
CLASSES = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00",
    "#56B4E9", "#000000", "#8A8A00", "#882255", "#8C8C8C",
)  # fmt: skip
MARKERS = ("o", "D", "s", "^", "X", "P", "*", "p", "v", "h")
ACCENT, BEYOND, QUIET = CLASSES[0], CLASSES[4], "#B8BEC6"
AXIS = "#5b6573"  # of axes, and of lines beside what is drawn: at zero, at a limit
NO_VALUE = "#d9dde2"  # of what is not known
SEQUENTIAL, DIVERGING = "cividis", "PuOr_r"  # of matplotlib: even steps; a middle that is white


def colour_map(name: str) -> Any:
    """Return a colour map of matplotlib, with a colour for what is not known."""
    return optional("matplotlib", "plot").colormaps[name].with_extremes(bad=NO_VALUE)
