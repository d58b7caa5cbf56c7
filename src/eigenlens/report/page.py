"""The page: the dict of a report through one template, whole or as a fragment for notebooks."""

from __future__ import annotations

import html
from typing import Any

from .._compat import optional
from .._register import KINDS
from .._text import count, grouped, percent, short
from .figures import BARS, DARK_OF, PALETTES, about, colourings, figures, pictures

__all__ = ["fragment", "require", "whole"]

FRAME = (
    '<iframe title="{title}" sandbox="allow-scripts" srcdoc="{page}" '
    'style="width: 100%; height: 800px; border: 1px solid #ccc"></iframe>'
)
# A report may be older than the page, and then says nothing of these.
UNSAID = ("advice", "biplot", "budget", "comparison", "correlation", "image", "images", "lines")
UNSAID_OF_METHOD = (
    *("adds", "cells", "history", "images", "map", "map_of_pca"),
    *("nonzeros", "rows", "scores", "weights"),
)
ROUNDING = 1e-9  # of a value, below which what was expected in its place is zero
ORDER = ("sparse", "robust", "parts", "kernel", "manifold", "supervised", "linear")


def require() -> None:
    """Raise unless the packages that make a page are there."""
    optional("jinja2", "report")
    optional("plotly", "report")


def whole(data: dict[str, Any]) -> str:
    """Return the page as one file."""
    return _rendered(data)


def fragment(data: dict[str, Any]) -> str:
    """Return the page in a frame, so that neither its style nor its code touches the notebook."""
    return FRAME.format(title=html.escape(data["title"]), page=html.escape(_rendered(data)))


def _rendered(data: dict[str, Any]) -> str:
    jinja2 = optional("jinja2", "report")
    plotly = optional("plotly.offline", "report").get_plotlyjs()
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("eigenlens", "report/templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False}
    environment.filters |= {
        "by_column": by_column,
        "count": count,
        "expected": expected,
        "figure": lambda value: value if isinstance(value, str) else number(value),
        "grouped": grouped,
        "number": number,
        "percent": percent,
        "short": short,
        "weight": lambda value: f"{value:+.2f}" if abs(value) < 100 else f"{value:+.0f}",
    }
    page: str = environment.get_template("page.html.j2").render(_context(data), plotly=plotly)
    return page


def _context(data: dict[str, Any]) -> dict[str, Any]:
    """Return all that the template names."""
    data = dict.fromkeys((*UNSAID, "seed", "times")) | data
    data["methods"] = [_method(given) for given in data["methods"]]
    contents, drawn = _contents(data), figures(data)
    numbered = [(f"method{i}", method) for i, method in enumerate(data["methods"])]
    fitted = [one for one in numbered if not one[1]["same_as_pca"]]
    ids = {*(place for place, _ in (*contents, *numbered)), *drawn}
    return data | {
        "figures": drawn,
        "about": about(data["rows"]),
        "colours": [one["name"] for one in colourings(data["rows"])],
        "pictures": pictures(data),
        "palettes": PALETTES,
        "dark_of": DARK_OF,
        "bars": BARS,
        "contents": contents,
        "ids": ids,
        "groups": _groups(fitted),
        "alike": [one for one in numbered if one[1]["same_as_pca"]],
    }


def _method(given: dict[str, Any]) -> dict[str, Any]:
    said = {"kind": "", "python": "", "shell": "", "certificate": "", "same_as_pca": False}
    return dict.fromkeys(UNSAID_OF_METHOD) | said | given


def _contents(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the sections of the page: id and name."""
    found = [
        ("quality", "The table"),
        ("how-many", "How many components"),
        ("rows", "Scores"),
        ("columns", "Loadings"),
        ("outlying", "Outlying rows"),
    ]
    if data["methods"]:
        found.append(("methods", "Other methods"))
    if data["comparison"]:
        found.append(("comparison", "Comparison"))
    if (data["budget"] or {}).get("left_out"):
        found.append(("left-out", "Left out"))
    return [*found, ("made", "How it was made")]


def _groups(
    methods: list[tuple[str, dict[str, Any]]],
) -> list[tuple[str, str, list[tuple[str, dict[str, Any]]]]]:
    """Return the methods by kind: its name, what it finds, and the methods with their ids."""
    kinds = {method["kind"]: None for _, method in methods}
    order = [kind for kind in ORDER if kind in kinds]
    order += [kind for kind in kinds if kind not in ORDER]
    return [
        (
            (kind or "other").capitalize(),
            KINDS.get(kind, ""),
            [one for one in methods if one[1]["kind"] == kind],
        )
        for kind in order
    ]


def by_column(
    components: list[list[dict[str, Any]]],
) -> list[tuple[str, list[float | None]]]:
    """Return each column that is strong in a component, with its weight in all of them.

    >>> by_column([[{"name": "a", "value": 1.0}], [{"name": "b", "value": 2.0}]])
    [('a', [1.0, None]), ('b', [None, 2.0])]
    """
    found: dict[str, list[float | None]] = {}
    for j, component in enumerate(components):
        for one in component:
            if one["value"]:
                found.setdefault(one["name"], [None] * len(components))[j] = one["value"]
    return [*found.items()]


def expected(cell: dict[str, Any]) -> float | None:
    """Return what a cell was expected to be: 0 where nothing but rounding is left of it."""
    value, given = cell["value"] or 0.0, cell["expected"]
    return 0.0 if given is not None and abs(given) < ROUNDING * abs(value) else given


def number(value: float | None) -> str:
    """Return a number of the table as a reader wants it.

    >>> number(1234567.0), number(0.0012345), number(None)
    ('1 235 000', '0.001234', '–')
    """
    if value is None:
        return "–"
    if 1e4 <= abs(value) < 1e9:
        return grouped(float(f"{value:.4g}"))
    return f"{value:.4g}"
