"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

__all__ = [
    "Columns",
    "Data",
    "Drop",
    "Encode",
    "Encoding",
    "Json",
    "Output",
    "Scale",
    "Seed",
    "Target",
    "echo_json",
    "names_in",
]

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A file: csv, tsv, parquet, arrow, npy, npz, mtx; - is standard input."
    ),
]
Output = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--columns", metavar="NAMES", help="Columns to take, separated by commas."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="NAMES", help="Columns to leave out, separated by commas."),
]
Encode = Annotated[
    list[str] | None,
    typer.Option(
        "--encode", metavar="NAMES", help="Text columns to turn into 0 and 1, or 'all' of them."
    ),
]
Encoding = Annotated[str, typer.Option("--encoding", metavar="NAME", help="Of text files.")]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", metavar="NAME", help="A column that names classes, kept out of the fit."
    ),
]


def _known(scale: str) -> str:
    from eigenlens.data.scaling import SCALERS

    if scale not in SCALERS:
        raise typer.BadParameter(f"{scale!r} is not one of {', '.join(SCALERS)}.")
    return scale


Scale = Annotated[
    str,
    typer.Option(
        "--scale",
        metavar="HOW",
        callback=_known,
        help="standard, minmax, robust, normalize or none.",
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="For methods that draw at random.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs to read.")]


def echo_json(value: Any) -> None:
    """Print a value for programs to read."""
    import json

    typer.echo(json.dumps(value))


def names_in(values: list[str] | None) -> list[str]:
    """Return the names in options such as ``a,b`` and ``'"x, y",z'``, given once or more."""
    import csv

    return [name.strip() for row in csv.reader(values or [], skipinitialspace=True) for name in row]
