"""Colours of the page, light and dark.

Figures are made in light colours. In the dark, the page puts `DARK_OF[colour]` in the place of each
colour that it finds there. Text has a contrast of at least 4.5 to 1 with what is behind it, which a
test computes in the browser.
"""

from __future__ import annotations

from ...plot.colours import ACCENT, CLASSES, QUIET

__all__ = [
    "DARK_OF",
    "DIVERGING",
    "GRID",
    "PALETTES",
    "PAPER",
    "RULE",
    "SUM",
    "SYMBOLS",
    "TEXT",
]

PALETTES = {
    "light": {
        "text": "#1d2430",
        "quiet": "#5b6573",
        "line": "#e0e4e8",
        "paper": "#ffffff",
        "shade": "#f5f6f8",
        "accent": ACCENT,
        "warn": "#8a4200",
        "tint": "#fff6e9",
        "edge": "#aab2bc",
    },
    "dark": {
        "text": "#e3e6ea",
        "quiet": "#a3acb8",
        "line": "#343b45",
        "paper": "#14181d",
        "shade": "#1d2229",
        "accent": "#6cb8ee",
        "warn": "#f2b56b",
        "tint": "#2b2318",
        "edge": "#5c6673",
    },
}
"""What the style sheet calls its colours."""

TEXT, PAPER = PALETTES["light"]["text"], PALETTES["light"]["paper"]
GRID, RULE, SUM = "#e6e8eb", "#555555", "#a84900"  # SUM: text in the colour of BEYOND
SYMBOLS = [
    "circle", "diamond", "square", "triangle-up", "x",
    "cross", "star", "pentagon", "triangle-down", "hexagon",
]  # fmt: skip
DIVERGING = ["#2d004b", "#8073ac", "#d8daeb", "#f7f7f7", "#fee0b6", "#e08214", "#7f3b08"]
"""From -1 to 1 in even steps: PuOr of ColorBrewer, the other way round."""

_DARK_CLASSES = (
    "#6cb8ee", "#E69F00", "#2CC295", "#E08FBE", "#F0803C",
    "#F0E442", "#F2F2F2", "#B3A82E", "#C77BFF", "#8F9AA6",
)  # fmt: skip
_DARK_DIVERGING = ["#d6c6ff", "#8f7fc4", "#3d3a5c", "#20262e", "#574022", "#c8852f", "#ffc27a"]

DARK_OF = {
    **dict(zip(CLASSES, _DARK_CLASSES, strict=True)),
    **dict(zip(DIVERGING, _DARK_DIVERGING, strict=True)),
    TEXT: PALETTES["dark"]["text"],
    PAPER: PALETTES["dark"]["paper"],
    GRID: "#2a313a",
    RULE: "#aaaaaa",
    SUM: "#ff9a57",
    QUIET: "#4d5663",
}
