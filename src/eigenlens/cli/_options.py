"""Options that several commands share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenlens._text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigenlens.data.blocks import Blocks

__all__ = [
    "Budget",
    "Checkpoint",
    "Columns",
    "Data",
    "Drop",
    "Encode",
    "Encoding",
    "Image",
    "Json",
    "Output",
    "Rows",
    "Scale",
    "Seed",
    "Target",
    "as_images",
    "echo_json",
    "image_shape",
    "left_out",
    "names_in",
]

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file: csv, tsv, parquet, arrow, npy, npz, mtx; - is standard input. Files that are "
        "one table: their folder, or a pattern in quotes, such as 'part-*.parquet'. Or a folder of "
        "images of one size, or a video.",
    ),
]
Output = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write.")
]
Rows = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Where to write: csv, tsv, parquet, arrow, npy; - is standard output, as CSV. Rows "
        "that are images also to a new folder (a name without an ending), mp4 or mkv. In CSV an "
        "apostrophe stands before names that a spreadsheet would run, such as =1+1.",
    ),
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


def _size(text: str | None) -> str | None:
    if text is not None and not re.fullmatch(r"[0-9]{1,6}x[0-9]{1,6}(x3)?", text):
        raise typer.BadParameter(f"{text!r} is no size. Give HxW, such as 8x8, or HxWx3.")
    return text


Image = Annotated[
    str | None,
    typer.Option(
        "--image",
        metavar="HxW",
        callback=_size,
        help="Each row is an image of this height and width (HxWx3 in colour).",
    ),
]
Budget = Annotated[
    float, typer.Option("--budget", metavar="SECONDS", help="For all methods together.")
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="FOLDER",
        help="Where a fit in blocks writes down how far it is: after a kill the same command goes "
        "on from there. The folder is removed when the fit is done.",
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


def left_out(blocks: Blocks) -> str:
    """Say which columns of a file are not numbers, and so were left out."""
    listed = ", ".join(f"{name} ({kind})" for name, kind in blocks.left_out.items())
    return clean(f"Left out: {listed}") if listed else ""


def as_images(blocks: Blocks, image: str | None) -> Blocks:
    """Return a table whose rows are images of the size that ``--image`` gives."""
    shape = image_shape(image, blocks.names)
    return blocks if shape in (None, blocks.image_shape) else blocks.as_images(shape or ())


def image_shape(image: str | None, names: Sequence[str] = ()) -> tuple[int, ...] | None:
    """Return the size that ``--image`` gives, or that names of pixels have."""
    from eigenlens.data.images import shape_of_names

    return shape_of_names(names) if image is None else tuple(map(int, image.split("x")))


def names_in(values: list[str] | None) -> list[str]:
    """Return the names in options such as ``a,b`` and ``'"x, y",z'``, given once or more."""
    import csv

    return [name.strip() for row in csv.reader(values or [], skipinitialspace=True) for name in row]
