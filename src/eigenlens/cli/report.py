"""``eigenlens report DATA``: what is in a table, as a page."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from ._options import Columns, Data, Drop, Encode, Encoding, Image, Json, Scale, Seed, Target

__all__ = ["report"]

Page = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="The page, .html, or its numbers, .json."),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--methods", metavar="NAMES", help="Methods to run, separated by commas."),
]
Budget = Annotated[
    float | None,
    typer.Option("--budget", metavar="SECONDS", help="For all methods together."),
]


def report(
    data: Data,
    output: Page = None,
    methods: Only = None,
    scale: Scale = "standard",
    target: Target = None,
    image: Image = None,
    budget: Budget = None,
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
    from ._tables import table

    wanted = _methods.named(methods)
    stem = "table" if data == "-" else Path(data).stem
    output = output or f"{stem}-report.html"
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
            target=classes,
            title=stem,
            scale=scale,
            methods=wanted or "all",
            random_state=seed,
            callbacks=[progress],
            **_understood(image_shape=blocks.image_shape, budget=budget),
        )
    if json:
        typer.echo(page.to_json())
        return
    page.save(output)
    for finding in page.findings:
        typer.echo(f"- {finding}")
    typer.echo(f"\nThe page: {output}")


def _understood(**options: Any) -> dict[str, Any]:
    """Return the options that were given and that reports know."""
    from eigenlens import Report

    known = inspect.signature(Report.of).parameters
    return {name: value for name, value in options.items() if value is not None and name in known}
