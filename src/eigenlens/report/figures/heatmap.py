"""Which columns go together."""

from __future__ import annotations

from typing import Any

from .base import Figure, escaped, layout
from .palette import DIVERGING

__all__ = ["heatmap"]


def heatmap(found: dict[str, Any]) -> Figure:
    """Return the matrix of correlations, the first column on top; the report has at most 40."""
    names, many = found["names"], len(found["names"])
    place = list(range(many))
    ticks = [escaped(name, 24) for name in names]
    trace = {
        "type": "heatmap",
        "x": place,
        "y": place,
        "z": found["matrix"],
        "zmin": -1,
        "zmax": 1,
        "colorscale": [[i / (len(DIVERGING) - 1), colour] for i, colour in enumerate(DIVERGING)],
        "colorbar": {"thickness": 12, "tickvals": [-1, -0.5, 0, 0.5, 1], "outlinewidth": 0},
        "xgap": 1,
        "ygap": 1,
        # plotly says %{x} as the axis does: by its name
        "hovertemplate": "%{y}<br>%{x}<br>correlation %{z:.2f}<extra></extra>",
    }
    side = max(220, min(760, 24 * many))
    made = layout(side + 140, "", "")
    shared = {"tickvals": place, "ticktext": ticks, "tickfont": {"size": 11}, "showgrid": False}
    made["xaxis"] |= shared | {"tickangle": 90, "zeroline": False}
    made["yaxis"] |= shared | {"autorange": "reversed", "zeroline": False}
    made["margin"] = {"l": 20, "r": 20, "t": 10, "b": 20}
    # a narrow page has no room for the names twice, nor for the scale
    narrow = {"xaxis": {"showticklabels": False}, "data": {"showscale": False}}
    return {"data": [trace], "layout": made, "narrow": narrow}
