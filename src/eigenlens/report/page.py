"""The page: the dict of a report through one template, whole or as a fragment for notebooks."""

from __future__ import annotations

import html
from typing import Any

from .._compat import optional
from .._text import count, grouped, percent, short
from .figures import figures

__all__ = ["fragment", "whole"]

FRAME = (
    '<iframe title="{title}" sandbox="allow-scripts" srcdoc="{page}" '
    'style="width: 100%; height: 800px; border: 1px solid #ccc"></iframe>'
)


def whole(data: dict[str, Any]) -> str:
    """Return the page as one file."""
    return _rendered(data, embedded=False)


def fragment(data: dict[str, Any]) -> str:
    """Return the page in a frame, so that neither its style nor its code touches the notebook."""
    page = html.escape(_rendered(data, embedded=True))
    return FRAME.format(title=html.escape(data["title"]), page=page)


def _rendered(data: dict[str, Any], *, embedded: bool) -> str:
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
        "count": count,
        "grouped": grouped,
        "number": number,
        "percent": percent,
        "short": short,
    }
    page: str = environment.get_template("page.html.j2").render(
        data, figures=figures(data), plotly=plotly, embedded=embedded
    )
    return page


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
