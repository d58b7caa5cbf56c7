"""``eigenlens compare DATA``: methods side by side on one table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenlens._text import clean, command_name, count

from . import _methods
from ._options import (
    Budget,
    Columns,
    Data,
    Drop,
    Encode,
    Encoding,
    Json,
    Scale,
    Seed,
    Target,
    echo_json,
)

if TYPE_CHECKING:
    from rich.table import Table

    from eigenlens.measure.comparison import Compared, Comparison

    from ._console import Page

__all__ = ["compare"]

Only = Annotated[
    list[str] | None,
    typer.Option("--methods", metavar="NAMES", help="Methods to take, separated by commas."),
]
Number = Annotated[
    str,
    typer.Option(
        "--n-components",
        metavar="VALUE",
        help="For all methods: a number, a share of the variance, or a rule.",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Where to write: csv, tsv, parquet."),
]

HEADS = {
    "n_components": "parts",
    "reconstruction_error": "error of\nnew rows",
    "trustworthiness": "trust-\nworthy",
    "continuity": "contin-\nuous",
    "neighbours_kept": "neigh-\nbours",
    "shepard": "dis-\ntances",
    "stress": "stress",
    "silhouette": "silhou-\nette",
    "knn_accuracy": "class of\nnew rows",
    "sparsity": "zeros",
    "stability": "stable",
    "seconds": "sec-\nonds",
    "megabytes": "mega-\nbytes",
    "verdict": "certi-\nficate",
}
"""What is shown of each method, in words that are short enough to stand above its number."""


def compare(
    data: Data,
    output: Sheet = None,
    methods: Only = None,
    n_components: Number = "consensus",
    budget: Budget = 120.0,
    scale: Scale = "standard",
    target: Target = None,
    columns: Columns = None,
    drop: Drop = None,
    encode: Encode = None,
    encoding: Encoding = "utf8",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Fit methods to a table, and show how good each is at what."""
    import eigenlens
    from eigenlens.data.writing import require_writable

    from ._progress import Progress
    from ._tables import table

    wanted = _methods.named(methods)
    if output is not None:
        require_writable(output)
    chosen: dict[str, Any] = {"columns": columns, "drop": drop, "encode": encode}
    with (
        Progress("comparing") as progress,
        table(data, encoding=encoding, target=target, **chosen) as (blocks, classes),
    ):
        found = eigenlens.compare(
            progress.rows(blocks),
            methods=wanted or "all",
            n_components=_methods.value_of(n_components),
            y=classes,
            scale=scale,
            budget=budget,
            random_state=seed,
        )
    if output is not None:
        _write(found, output)
    if json:
        rows = [_record(row) for row in found.rows]
        echo_json({"methods": rows, "seconds": found.seconds, "output": output})
        return
    from ._console import Page

    console = Page()
    _show(found, console)
    console.say(f"Wrote {output}" if output else "")


def _record(row: Compared) -> dict[str, Any]:
    """Return what was found of a method, with null for what is not defined."""
    from eigenlens.measure.comparison import COLUMNS

    record = {name: getattr(row, name) for name in COLUMNS} | {"warnings": list(row.warnings)}
    return {name: None if _undefined(value) else value for name, value in record.items()}


def _undefined(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _write(found: Comparison, output: str) -> None:
    import pyarrow as pa

    from eigenlens.data.writing import Writer

    records = [_record(row) for row in found.rows]
    records = [record | {"warnings": " ".join(record["warnings"])} for record in records]
    with Writer(output, list(records[0])) as file:
        file.write(pa.Table.from_pylist(records))


def _show(found: Comparison, console: Page) -> None:
    """Print the numbers in as many tables as the width asks for, and then what failed."""
    rows = [row for row in found.rows if not row.error]
    numbers = [name for name in HEADS if any(row.text(name) for row in rows)]
    best = {name: found.best(name) for name in numbers if len(rows) > 1}
    for names in _pages(rows, numbers, console.width) if rows else ():
        console.print(_sheet(rows, names, best))
        console.print()
    if rows:
        console.say(f"{count(rows[0].n_components, 'component')}: {rows[0].why}.")
    if len(rows) > 1:
        console.say("* the best of a column")
    for row in found.rows:
        for note in (row.error, *row.warnings):
            console.say(f"{command_name(row.method)}: {clean(note)}" if note else "")
    console.say(f"In {found.seconds:.0f} s.")


def _pages(rows: list[Compared], numbers: list[str], width: int) -> list[list[str]]:
    """Cut the columns into tables that fit."""
    first = max(len(command_name(row.method)) for row in rows)
    pages: list[list[str]] = []
    left = 0
    for name in numbers:
        cells = [*HEADS[name].splitlines(), *(row.text(name) + "*" for row in rows)]
        wide = max(map(len, cells)) + 2
        if wide > left:
            pages.append([])
            left = width - first
        pages[-1].append(name)
        left -= wide
    return pages


def _sheet(rows: list[Compared], names: list[str], best: dict[str, str]) -> Table:
    from rich.table import Table

    sheet = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    sheet.add_column("method", no_wrap=True)
    for name in names:
        sheet.add_column(HEADS[name], justify="right", no_wrap=True)
    for row in rows:
        cells = []
        for name in names:
            text = row.text(name)
            mark = "*" if text and text == best.get(name) else " "
            cells.append(f"{text}{mark}")
        sheet.add_row(command_name(row.method), *cells)
    return sheet
