"""The pictures of a report as plotly takes them: plain dicts, from the dict of the report.

Plotly reads tags in every text that it is given. So names are shortened and escaped here, and go
into data, never into a template. A figure may have drop-downs: each of their options says which of
the figure's `columns` go to which part of its traces. Points that are rows get their text and their
colours from `about`, which all figures share.
"""

from __future__ import annotations

from typing import Any

from .bars import bars
from .base import Figure
from .heatmap import heatmap
from .images import pictures
from .palette import DARK_OF, PALETTES
from .scatter import about, colourings, distances, scatter
from .scree import BARS, history, scree

__all__ = ["BARS", "DARK_OF", "PALETTES", "about", "colourings", "figures", "pictures"]


def figures(data: dict[str, Any]) -> dict[str, Figure]:
    """Return every figure of the page by its id."""
    components = data["components"]
    arrows = (data.get("biplot") or {}).get("arrows", ())
    found = {
        "scree": scree(components["spectrum"], components["kept"]),
        "scores": scatter(data["scores"], components["shares"], arrows),
        "loadings": bars(data["loadings"], "loading", limit=1.0),
        "outliers": distances(data["outliers"]),
    }
    if data.get("correlation"):
        found["correlation"] = heatmap(data["correlation"])
    for i, method in enumerate(data["methods"]):
        found |= {f"method{i}-{what}": made for what, made in _of_method(method)}
    return found


def _of_method(method: dict[str, Any]) -> list[tuple[str, Figure]]:
    """Return a figure for each thing that the method has to show."""
    made = []
    if method.get("scores"):
        made.append(("scores", scatter(method["scores"], method.get("shares") or [])))
    if method.get("weights"):
        made.append(("weights", bars(method["weights"], "weight")))
    if method.get("history"):
        made.append(("history", history(method["history"])))
    return made
