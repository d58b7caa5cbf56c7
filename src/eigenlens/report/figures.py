"""The pictures of a report as plotly takes them: plain dicts, from the dict of the report.

Plotly reads tags in every text that it is given. So names are shortened and escaped here, and go
into data, never into a template. A figure may have drop-downs: each of their options says which of
the figure's `columns` go to which axis of its traces.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from .._text import percent, short
from ..plot.colours import ACCENT, BEYOND, CLASSES, QUIET

__all__ = ["figures"]

Figure = dict[str, Any]
Column = Sequence[float | None]

SYMBOLS = ["circle", "diamond", "square", "triangle-up", "x", "cross", "star", "pentagon"]
GRID = "#E6E8EB"
BARS = 30  # of a scree plot
FONT = {"family": "system-ui, sans-serif", "size": 13, "color": "#1d2430"}


def figures(data: dict[str, Any]) -> dict[str, Figure]:
    """Return every figure of the page by its id."""
    found = {
        "scree": scree(data["components"]["spectrum"], data["components"]["kept"]),
        "scores": scatter(data["scores"], data["rows"], data["components"]["shares"]),
        "loadings": bars(data["loadings"], "loading", limit=1.0),
        "outliers": distances(data["outliers"], data["rows"]["names"]),
    }
    for i, method in enumerate(data["methods"]):
        found |= {f"method{i}-{what}": made for what, made in _of_method(method, data["rows"])}
    return found


def _of_method(method: dict[str, Any], rows: dict[str, Any]) -> list[tuple[str, Figure]]:
    """Return a figure for each thing that the method has to show."""
    made = []
    shares = method.get("shares", [])
    if "scores" in method:
        made.append(("scores", scatter(method["scores"], rows, shares)))
    if "weights" in method:
        made.append(("weights", bars(method["weights"], "weight")))
    if "history" in method:
        made.append(("history", line(method["history"])))
    return made


def scree(shares: Column, kept: int) -> Figure:
    """Return the share of each component, the sum so far, and the cut."""
    shown = [100 * (share or 0.0) for share in shares[:BARS]]
    together = [sum(shown[: i + 1]) for i in range(len(shown))]
    number = list(range(1, len(shown) + 1))
    data = [
        {
            "type": "bar",
            "x": number,
            "y": _rounded(shown),
            "marker": {"color": [ACCENT if i <= kept else QUIET for i in number]},
            "hovertemplate": "component %{x}: %{y:.1f} %<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": number,
            "y": _rounded(together),
            "yaxis": "y2",
            "line": {"color": BEYOND, "width": 1.5},
            "marker": {"size": 5},
            "hovertemplate": "first %{x} together: %{y:.1f} %<extra></extra>",
        },
    ]
    layout = _layout(320, "component", "share of variance, %", showlegend=False)
    layout["xaxis"] |= {"dtick": 1 if len(shown) <= 12 else 5, "range": [0.4, len(shown) + 0.6]}
    layout["yaxis"] |= {"rangemode": "tozero"}
    layout["yaxis2"] = _axis("added up, %") | {
        "overlaying": "y",
        "side": "right",
        "range": [0, 105],
        "tickvals": [0, 25, 50, 75, 100],
        "showgrid": False,
        "title": {"text": "added up, %", "font": {"color": BEYOND}},
    }
    layout["margin"]["r"] = 60
    if 0 < kept < len(shown):
        layout["shapes"] = [_rule(x=kept + 0.5)]
        layout["annotations"] = [
            {
                "x": kept + 0.5,
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "text": f"kept: {kept}",
                "showarrow": False,
            }
        ]
    return {"data": data, "layout": layout}


def scatter(scores: Sequence[Column], rows: dict[str, Any], shares: Column) -> Figure:
    """Return the rows in the plane of two components, which drop-downs choose."""
    labels = [
        f"component {j + 1}" + (f" ({percent(shares[j] or 0.0)})" if j < len(shares) else "")
        for j in range(len(scores))
    ]
    groups, traces = _traces(rows)
    values: list[list[Any]] = [
        [_rounded([column[i] for i in group]) for group in groups] for column in scores
    ]
    if len(values) == 1:  # a single component has no plane: the rows in their order
        values, labels = [groups, *values], ["row, in the order of the table", *labels]
    layout = _layout(460, labels[0], labels[1], showlegend=len(traces) > 1)
    layout["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    for trace, x, y in zip(traces, values[0], values[1], strict=True):
        trace |= {"type": "scatter", "mode": "markers", "x": x, "y": y}
        trace["hovertemplate"] = (
            "row %{customdata}<br>%{xaxis.title.text}: %{x:.3g}"
            "<br>%{yaxis.title.text}: %{y:.3g}<extra></extra>"
        )
    selects = [
        _select(what, axis, labels, chosen)
        for what, axis, chosen in (("across", "x", 0), ("upwards", "y", 1))
    ]
    return {
        "data": traces,
        "layout": layout,
        "columns": values,
        "selects": selects if len(labels) > 2 else [],
    }


def _select(what: str, axis: str, labels: list[str], chosen: int) -> dict[str, Any]:
    options = [
        {"label": label, "columns": {axis: j}, "layout": {f"{axis}axis.title.text": label}}
        for j, label in enumerate(labels)
    ]
    return {"label": what, "chosen": chosen, "options": options}


def _traces(rows: dict[str, Any]) -> tuple[list[list[int]], list[Figure]]:
    """Return the rows of each trace, and the traces: one for each class, or one for all."""
    names, target = [_escaped(name) for name in rows["names"]], rows["target"]
    everything = list(range(len(names)))
    size = 6 if len(names) > 500 else 7
    if target is None:
        marker = {"color": ACCENT, "size": size, "opacity": 0.65}
        return [everything], [{"marker": marker, "customdata": names}]
    what = _escaped(target["name"])
    if target["numbers"] is not None:
        values = target["numbers"]
        marker = {
            "color": values,
            "colorscale": "Cividis",
            "showscale": True,
            "colorbar": {"title": {"text": what}, "thickness": 12},
            "size": size,
            "opacity": 0.75,
        }
        said = [
            f"{name}<br>{what}: {_number(value)}" for name, value in zip(names, values, strict=True)
        ]
        return [everything], [{"marker": marker, "customdata": said}]
    groups, traces = [], []
    for number, level in enumerate(target["levels"]):
        group = [i for i in everything if target["classes"][i] == level]
        text = _escaped(level)
        marker = {
            "color": CLASSES[number] if number < len(CLASSES) else QUIET,
            "symbol": SYMBOLS[number % len(SYMBOLS)],
            "size": size,
            "opacity": 0.65,
        }
        said = [f"{names[i]}<br>{what}: {text}" for i in group]
        groups.append(group)
        traces.append({"name": text, "marker": marker, "customdata": said})
    return groups, traces


def bars(components: Sequence[list[dict[str, Any]]], what: str, limit: float = 0.0) -> Figure:
    """Return the strongest columns of a component, which a drop-down chooses.

    The axis goes from -limit to limit; 0 leaves it to the values.
    """
    most = max(len(component) for component in components)
    columns: list[list[Any]] = []
    ticks: list[list[str]] = []
    for component in components:
        upwards = component[::-1]  # plotly draws from below
        columns.append([_rounded([one["value"] for one in upwards])])
        columns.append([[_escaped(one["name"], 120) for one in upwards]])
        ticks.append([_escaped(one["name"], 28) for one in upwards])
    place = list(range(most))
    layout = _layout(90 + 24 * most, what, "", showlegend=False)
    # places instead of names: names may look like numbers or dates, which plotly would sort
    layout["yaxis"] |= {"tickvals": place, "ticktext": ticks[0], "range": [-0.6, most - 0.4]}
    layout["yaxis"] |= {"showgrid": False, "zeroline": False}
    if limit:
        layout["xaxis"]["range"] = [-1.02 * limit, 1.02 * limit]
    trace = {
        "type": "bar",
        "orientation": "h",
        "y": place,
        "x": columns[0][0],
        "customdata": columns[1][0],
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
    select = {"label": "of", "chosen": 0, "options": options}
    return {
        "data": [trace],
        "layout": layout,
        "columns": columns,
        "selects": [select] if len(options) > 1 else [],
    }


def distances(found: dict[str, Any], names: Sequence[str]) -> Figure:
    """Return the distances of the rows within and from the model, with their limits."""
    t2, spe = found["t2"], found["spe"]
    limits = {"x": found["t2_limit"], "y": found["spe_limit"]}
    across, upwards = "T2, among the components", "SPE, off the components"
    x, y = t2, spe
    if spe is None:
        x, y, limits = list(range(len(t2))), t2, {"y": found["t2_limit"]}
        across, upwards = "row, in the order of the table", across
    by_axis = {"x": x, "y": y}
    beyond = [
        any(limit is not None and by_axis[axis][i] > limit for axis, limit in limits.items())
        for i in range(len(x))
    ]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": _rounded(x),
        "y": _rounded(y),
        "customdata": [_escaped(name) for name in names],
        "marker": {
            "color": [BEYOND if far else ACCENT for far in beyond],
            "symbol": ["diamond" if far else "circle" for far in beyond],
            "size": 6,
            "opacity": 0.65,
        },
        "hovertemplate": "row %{customdata}<br>%{x:.3g}, %{y:.3g}<extra></extra>",
    }
    layout = _layout(400, across, upwards, showlegend=False)
    layout["shapes"] = [_rule(**{axis: at}) for axis, at in limits.items() if at is not None]
    for axis in ("xaxis", "yaxis"):
        layout[axis]["rangemode"] = "tozero"
    return {"data": [trace], "layout": layout}


def line(history: Column) -> Figure:
    """Return the objective, step by step."""
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": list(range(1, len(history) + 1)),
        "y": history,
        "line": {"color": ACCENT},
        "marker": {"size": 4},
        "hovertemplate": "step %{x}: %{y:.6g}<extra></extra>",
    }
    return {"data": [trace], "layout": _layout(240, "step", "objective", showlegend=False)}


def _layout(height: int, x: str, y: str, *, showlegend: bool) -> dict[str, Any]:
    return {
        "height": height,
        "font": FONT,
        "margin": {"l": 60, "r": 20, "t": 30, "b": 50},
        "paper_bgcolor": "#fff",
        "plot_bgcolor": "#fff",
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "#fff", "bordercolor": "#555", "font": FONT, "align": "left"},
        "showlegend": showlegend,
        "xaxis": _axis(x),
        "yaxis": _axis(y),
    }


def _axis(title: str) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": GRID,
        "zerolinecolor": QUIET,
        "automargin": True,
        "fixedrange": False,
    }


def _rule(x: float | None = None, y: float | None = None) -> dict[str, Any]:
    """Return a dashed line across the whole figure, at x or at y."""
    whole = {"type": "line", "line": {"color": "#555", "width": 1, "dash": "dash"}}
    if x is not None:
        return whole | {"x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1}
    return whole | {"y0": y, "y1": y, "xref": "paper", "x0": 0, "x1": 1}


def _escaped(text: str, length: int = 40) -> str:
    """Return text that plotly shows letter by letter."""
    # not quotes: plotly does not turn their entities back
    return html.escape(short(text, length), quote=False)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def _rounded(values: Column) -> list[float | None]:
    """Return what a picture needs of the numbers: five digits."""
    return [None if value is None else float(f"{value:.5g}") for value in values]
