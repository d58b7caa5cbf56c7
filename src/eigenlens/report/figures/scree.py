"""How much each component carries, and how a method came to its end."""

from __future__ import annotations

from ...plot.colours import ACCENT, BEYOND, QUIET
from ..plain import rounded
from .base import Column, Figure, axis, layout, rule
from .palette import SUM

__all__ = ["BARS", "history", "scree"]

BARS = 30


def scree(shares: Column, kept: int) -> Figure:
    """Return the share of each component, the sum so far, and the cut."""
    shown = [100 * (share or 0.0) for share in shares[:BARS]]
    together = [sum(shown[: i + 1]) for i in range(len(shown))]
    number = list(range(1, len(shown) + 1))
    data = [
        {
            "type": "bar",
            "x": number,
            "y": rounded(shown),
            "marker": {"color": [ACCENT if i <= kept else QUIET for i in number]},
            "hovertemplate": "component %{x}: %{y:.1f} %<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": number,
            "y": rounded(together),
            "yaxis": "y2",
            "line": {"color": BEYOND, "width": 1.5},
            "marker": {"size": 5, "color": BEYOND},
            "hovertemplate": "first %{x} together: %{y:.1f} %<extra></extra>",
        },
    ]
    made = layout(320, "component", "share of variance, %")
    made["xaxis"] |= {"dtick": 1 if len(shown) <= 12 else 5, "range": [0.4, len(shown) + 0.6]}
    made["xaxis"] |= {"showgrid": False}
    made["yaxis"] |= {"rangemode": "tozero"}
    made["yaxis2"] = axis("added up, %") | {
        "overlaying": "y",
        "side": "right",
        "range": [0, 105],
        "tickvals": [0, 25, 50, 75, 100],
        "showgrid": False,
        "title": {"text": "added up, %", "font": {"color": SUM}},
    }
    made["margin"]["r"] = 60
    if 0 < kept < len(shown):
        made["shapes"] = [rule(x=kept + 0.5)]
        made["annotations"] = [
            {
                "x": kept + 0.5,
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "text": f"kept: {kept}",
                "showarrow": False,
            }
        ]
    return {"data": data, "layout": made}


def history(values: Column) -> Figure:
    """Return the objective, step by step."""
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": list(range(1, len(values) + 1)),
        "y": values,
        "line": {"color": ACCENT},
        "marker": {"size": 4},
        "hovertemplate": "step %{x}: %{y:.6g}<extra></extra>",
    }
    return {"data": [trace], "layout": layout(240, "step", "objective")}
