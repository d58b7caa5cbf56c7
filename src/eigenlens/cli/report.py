"""``eigenlens report DATA``: what is in a table, as a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from ._options import (
    Budget,
    Columns,
    Data,
    Drop,
    Encode,
    Encoding,
    Image,
    Json,
    Scale,
    Seed,
    Target,
)

__all__ = ["report"]

Page = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="The page, .html, or its numbers, .json."),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--methods", metavar="NAMES", help="Methods to run, separated by commas."),
]


def report(
    data: Data,
    output: Page = None,
    methods: Only = None,
    scale: Scale = "standard",
    target: Target = None,
    image: Image = None,
    budget: Budget = 120.0,
    columns: Columns = None,
    drop: Drop = None,
    encode: Encode = None,
    encoding: Encoding = "utf8",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Write a page that shows what is in a table."""
    from eigenlens.report.report import Report, require_savable

    from . import _methods
    from ._progress import Progress
    from ._tables import Named, table

    wanted = _methods.named(methods)
    stem = re.sub(r"[*?\[\]]+", "", Path(data).stem).strip("-_") or "table"
    output = output or f"{stem}-report.html"
    if not json:
        require_savable(output)
    with (
        Progress("report") as progress,
        table(
            data,
            columns=columns,
            drop=drop,
            encode=encode,
            encoding=encoding,
            target=target,
            image=image,
        ) as (blocks, classes),
    ):
        page = Report.of(
            progress.rows(blocks),
            target=None if target is None else Named(target, classes),
            title=stem,
            scale=scale,
            methods=wanted or "all",
            random_state=seed,
            callbacks=[progress],
            image_shape=blocks.image_shape,
            budget=budget,
        )
    if json:
        typer.echo(page.to_json())
        return
    page.save(output)
    for finding in page.findings:
        typer.echo(f"- {finding}")
    typer.echo(f"\nThe page: {output}")
