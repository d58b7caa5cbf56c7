"""What components are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...plot.colours import ACCENT
from ..plain import rounded
from .base import Figure, escaped, layout, select

__all__ = ["bars"]


def bars(components: Sequence[list[dict[str, Any]]], what: str, limit: float = 0.0) -> Figure:
    """Return the strongest columns of a component, which a drop-down chooses.

    The axis goes from -limit to limit; 0 leaves it to the values.
    """
    most = max(len(component) for component in components)
    columns: list[list[Any]] = []
    ticks: list[list[str]] = []
    for component in components:
        upwards = component[::-1]  # plotly draws from below
        columns.append(rounded([one["value"] for one in upwards]))
        columns.append([escaped(one["name"], 120) for one in upwards])
        ticks.append([escaped(one["name"], 28) for one in upwards])
    place = list(range(most))
    made = layout(90 + 24 * most, what, "")
    # places instead of names: names may look like numbers or dates, which plotly would sort
    made["yaxis"] |= {"tickvals": place, "ticktext": ticks[0], "range": [-0.6, most - 0.4]}
    made["yaxis"] |= {"showgrid": False, "zeroline": False}
    if limit:
        made["xaxis"]["range"] = [-1.02 * limit, 1.02 * limit]
    trace = {
        "type": "bar",
        "orientation": "h",
        "y": place,
        "marker": {"color": ACCENT},
        "hovertemplate": "%{customdata}: %{x:.3f}<extra></extra>",
    }
    options = [
        {
            "label": f"component {j + 1}",
            "columns": {"x": 2 * j, "customdata": 2 * j + 1},
            "layout": {"yaxis.ticktext": ticks[j]},
        }
        for j in range(len(components))
    ]
    return {
        "data": [trace],
        "layout": made,
        "columns": columns,
        "picks": {"x": 0, "customdata": 1},
        "selects": select("of", 0, options),
    }
