"""What the figures share: layouts, axes, lines, and text that plotly shows letter by letter."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from ..._text import short
from ...plot.colours import QUIET
from .palette import GRID, PAPER, RULE, TEXT

__all__ = ["Column", "Figure", "axis", "escaped", "layout", "rule", "select"]

Figure = dict[str, Any]
Column = Sequence[float | None]

FONT = {"family": "system-ui, sans-serif", "size": 13, "color": TEXT}


def layout(height: int, x: str, y: str) -> dict[str, Any]:
    """Return a layout with two axes and no legend."""
    return {
        "height": height,
        "font": FONT,
        "margin": {"l": 60, "r": 20, "t": 30, "b": 50},
        "paper_bgcolor": PAPER,
        "plot_bgcolor": PAPER,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": PAPER, "bordercolor": RULE, "font": FONT, "align": "left"},
        "showlegend": False,
        "xaxis": axis(x),
        "yaxis": axis(y),
    }


def axis(title: str) -> dict[str, Any]:
    """Return an axis."""
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": GRID,
        "zerolinecolor": QUIET,
        "automargin": True,
    }


def rule(x: float | None = None, y: float | None = None) -> dict[str, Any]:
    """Return a dashed line across the whole figure, at x or at y."""
    whole = {"type": "line", "line": {"color": RULE, "width": 1, "dash": "dash"}}
    if x is not None:
        return whole | {"x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1}
    return whole | {"y0": y, "y1": y, "xref": "paper", "x0": 0, "x1": 1}


def select(label: str, chosen: int, options: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a drop-down, or none where there is nothing to choose.

    An option has a label, says which of the figure's `columns` go to which part of its traces, and
    what changes in the layout.
    """
    return [{"label": label, "chosen": chosen, "options": options}] if len(options) > 1 else []


def escaped(text: str, length: int = 40) -> str:
    """Return text that plotly shows letter by letter: it would take tags in it for tags."""
    # not quotes: plotly does not turn their entities back
    return html.escape(short(text, length), quote=False)
