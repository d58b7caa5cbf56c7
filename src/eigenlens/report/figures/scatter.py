"""Rows as points.

The points of all figures are the same rows. So what is known of a row, its name, its values and its
colours, is on the page once (`about`), and a figure has the places alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._text import percent
from ...plot.colours import ACCENT, BEYOND, CLASSES, QUIET
from ..plain import rounded
from .base import Column, Figure, escaped, layout, rule, select
from .palette import RULE, SYMBOLS

__all__ = ["about", "colourings", "distances", "scatter"]

IN_ORDER = "row, in the order of the table"
PLACE = "%{customdata}<br>%{xaxis.title.text}: %{x:.3g}<br>%{yaxis.title.text}: %{y:.3g}"
OPAQUE = 0.65


def about(rows: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of the rows, and the ways to colour them."""
    many = len(rows["names"])
    return {
        "names": [escaped(name) for name in rows["names"]],
        "columns": [escaped(name, 28) for name in rows.get("columns", [])],
        "values": [[escaped(value, 28) for value in row] for row in rows.get("values", [])],
        "colours": [_colour(one) for one in colourings(rows)],
        "size": 5 if many > 1000 else 6 if many > 300 else 7,
        "opacity": OPAQUE,
        "classes": [*CLASSES],
        "symbols": SYMBOLS,
        "accent": ACCENT,
        "quiet": QUIET,
    }


def colourings(rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the ways to colour the rows, as the report has them; in the end, by nothing."""
    found = rows.get("colours") or ([] if rows["target"] is None else [rows["target"]])
    return [*found, {"name": "one colour"}]


def _colour(given: dict[str, Any]) -> dict[str, Any]:
    """Return a way to colour the rows: by a number, or by the place of a class among the levels."""
    name = escaped(given["name"])
    if given.get("numbers") is not None:
        return {"name": name, "numbers": rounded(given["numbers"])}
    if "levels" not in given:
        return {"name": name}
    place = {level: i for i, level in enumerate(given["levels"])}
    return {
        "name": name,
        "levels": [escaped(level) for level in given["levels"]],
        "codes": [place[level] for level in given["classes"]],
    }


def scatter(
    scores: Sequence[Column], shares: Column, arrows: Sequence[dict[str, Any]] = ()
) -> Figure:
    """Return the rows in the plane of two components, which drop-downs choose.

    `arrows` are the columns, each with its loadings on the components.
    """
    labels = [
        f"component {j + 1}" + (f" ({percent(shares[j] or 0.0)})" if j < len(shares) else "")
        for j in range(len(scores))
    ]
    values: list[Any] = [rounded(column) for column in scores]
    flat = len(values) == 1
    if flat:  # a single component has no plane: the rows in their order
        values, labels = [list(range(len(values[0]))), *values], [IN_ORDER, *labels]
    made = layout(480, labels[0], labels[1])
    made["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    trace = {"type": "scatter", "mode": "markers", "hovertemplate": f"{PLACE}<extra></extra>"}
    drawn = [] if flat else [one for one in arrows if len(one["loadings"]) >= len(scores)]
    return {
        "data": [trace],
        "layout": made,
        "columns": values,
        "picks": {"x": 0, "y": 1},
        "rows": "coloured",
        "arrows": [
            {"name": escaped(one["name"], 28), "loadings": rounded(one["loadings"])}
            for one in drawn
        ],
        "arrow": {"color": RULE},
        "selects": [
            *_axis_of("across", "x", labels, 0),
            *_axis_of("upwards", "y", labels, 1),
        ],
    }


def _axis_of(what: str, axis: str, labels: list[str], chosen: int) -> list[dict[str, Any]]:
    options = [
        {"label": label, "columns": {axis: j}, "layout": {f"{axis}axis.title.text": label}}
        for j, label in enumerate(labels)
    ]
    return select(what, chosen, options) if len(labels) > 2 else []


def distances(found: dict[str, Any]) -> Figure:
    """Return the distances of the rows within and from the model, with their limits."""
    t2, spe = found["t2"], found["spe"]
    limits = {"x": found["t2_limit"], "y": found["spe_limit"]}
    across, upwards = "T2, among the components", "SPE, off the components"
    x, y = t2, spe
    if spe is None:
        x, y, limits = list(range(len(t2))), t2, {"y": found["t2_limit"]}
        across, upwards = IN_ORDER, across
    by_axis = {"x": x, "y": y}
    beyond = [
        any(limit is not None and by_axis[axis][i] > limit for axis, limit in limits.items())
        for i in range(len(x))
    ]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": rounded(x),
        "y": rounded(y),
        "marker": {
            "color": [BEYOND if far else ACCENT for far in beyond],
            "symbol": ["diamond" if far else "circle" for far in beyond],
            "size": 6,
            "opacity": OPAQUE,
        },
        "hovertemplate": f"{PLACE}<extra></extra>",
    }
    made = layout(400, across, upwards)
    made["shapes"] = [rule(**{axis: at}) for axis, at in limits.items() if at is not None]
    for axis in ("xaxis", "yaxis"):
        made[axis]["rangemode"] = "tozero"
    return {"data": [trace], "layout": made, "rows": "plain"}
