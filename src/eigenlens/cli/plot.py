"""``eigenlens plot KIND MODEL DATA``: a picture of a model or of a table."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenlens._text import command_name

from . import _methods
from ._made import Family, Parameters, family, made
from ._options import (
    Columns,
    Data,
    Drop,
    Encode,
    Encoding,
    Image,
    Json,
    Seed,
    Target,
    as_images,
    echo_json,
    image_shape,
    left_out,
)
from ._typed import typed
from .transform import Model

__all__ = ["plot"]

ENDINGS = (".png", ".svg", ".pdf")
MOST_ROWS = 20_000  # drawn
GIVEN = {"estimator", "X", "x", "y", "names", "image_shape", "random_state", "ax"}

Picture = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="The picture: png, svg or pdf."),
]
Row = Annotated[int, typer.Option("--row", metavar="N", help="The row to draw, 0 for the first.")]
MaybeData = Annotated[str | None, typer.Argument(metavar="[DATA]", help="The rows to draw.")]


class Kinds(Family):
    """A command for each picture that a model or a table is enough for."""

    @classmethod
    def members(cls) -> dict[str, str]:
        """Return what each kind of picture shows."""
        docs = {name: inspect.getdoc(display) or "" for name, display in _kinds().items()}
        return {name: _methods.plain(doc.split("\n", 1)[0]) for name, doc in docs.items()}

    @classmethod
    def find(cls, word: str) -> str | None:
        """Return the kind of that name."""
        name = word.lower().replace("_", "-")
        return name if name in _kinds() else None

    @classmethod
    def unknown(cls, word: str) -> str:
        """Say which kinds there are."""
        return f"There is no picture {word!r}. {_methods.meant(word, list(_kinds()))}"

    @classmethod
    def make(cls, name: str) -> Any:
        """Return the command of a kind, with its own parameters."""
        draw = _maker(_kinds()[name])
        wanted = inspect.signature(draw).parameters
        simple = {key for key, item in wanted.items() if item.annotation not in (Any, "Any")}
        own = _methods.options(draw, leave_out=(set(wanted) - simple) | GIVEN)
        run, about = partial(_plot, draw), cls.members()[name]
        return made(name, run, help=about, shared=_shared(draw), own=own)


plot = family(
    Kinds,
    help="Draw a model or a table: png, svg or pdf.",
    metavar="KIND MODEL|DATA [DATA] [OPTIONS]",
)


def _kinds() -> dict[str, Any]:
    """Return the displays that are made from a model or a table, by their names as commands."""
    import eigenlens

    found = {}
    for name in eigenlens.plot.__all__:
        display = getattr(eigenlens.plot, name)
        if inspect.isclass(display) and _maker(display) is not None:
            found[command_name(name.removesuffix("Display"))] = display
    return found


def _maker(display: Any) -> Any:
    """Return what makes a display: of a model, or else of a table; None if it takes neither."""
    return getattr(display, "from_estimator", getattr(display, "from_data", None))


def _shared(draw: Callable[..., Any]) -> Parameters:
    """Return the arguments and options that a picture needs beside its own."""
    wanted = inspect.signature(draw).parameters
    rows = wanted.get("X", wanted.get("x"))
    kinds: dict[str, tuple[Any, Any]] = {}
    needed = inspect.Parameter.empty
    if "estimator" in wanted:
        kinds["model"] = Model, needed
    if rows is not None:
        kinds["data"] = (Data, needed) if rows.default is needed else (MaybeData, None)
    kinds["output"] = Picture, None
    if "y" in wanted:
        kinds["target"] = Target, None
    if "x" in wanted:
        kinds["row"] = Row, 0
    if "image_shape" in wanted:
        kinds["image"] = Image, None
    if "estimator" not in wanted:
        kinds |= {"columns": (Columns, None), "drop": (Drop, None), "encode": (Encode, None)}
    if rows is not None:
        kinds |= {"encoding": (Encoding, "utf8"), "seed": (Seed, 0)}
    kinds["json"] = Json, False
    return {
        name: inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
        )
        for name, (annotation, default) in kinds.items()
    }


def _plot(
    draw: Callable[..., Any],
    values: dict[str, Any],
    *,
    output: str | None,
    json: bool,
    model: str | None = None,
    data: str | None = None,
    target: str | None = None,
    image: str | None = None,
    row: int = 0,
    seed: int | None = 0,
    **chosen: Any,
) -> None:
    import eigenlens
    from eigenlens._compat import optional

    from ._console import Page

    _require_picture(output, json)
    optional("matplotlib", "plot").use("agg")  # to files alone: no window, no display
    wanted = inspect.signature(draw).parameters
    given: dict[str, Any] = {"random_state": seed}
    notes: list[str] = []
    if model is not None:
        fitted = given["estimator"] = eigenlens.load(model)
        given["image_shape"] = image_shape(image, list(getattr(fitted, "feature_names_in_", ())))
    if data is not None:
        found, notes = _rows(data, given.get("estimator"), target, image, seed, chosen)
        given |= found
    elif target is not None:
        raise typer.BadParameter("--target names a column of DATA. Give the data too.")
    if "x" in wanted and "X" in given:
        given["x"] = _row(given["X"], row)
    given = {name: value for name, value in given.items() if name in wanted and value is not None}
    with warnings.catch_warnings():
        # columns were found by their names
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        display = draw(**given, **typed(draw, values))
    if output is not None:
        _save(display.figure_, output)
    if json:
        echo_json(_numbers(display) | {"output": output})
        return
    console = Page()
    for note in (*notes, f"Wrote {output}"):
        console.say(note)


def _require_picture(output: str | None, json: bool) -> None:
    """Raise unless there is a place for the picture, before any work is done."""
    from eigenlens.data.atomic import require_replaceable

    if output is None:
        if not json:
            raise typer.BadParameter("Where to? Give -o picture.png (or svg, pdf), or --json.")
        return
    if Path(output).suffix.lower() not in ENDINGS:
        raise typer.BadParameter(
            f"{output} has no ending of a picture: {', '.join(ENDINGS)}. Give it one of them."
        )
    require_replaceable(Path(output))


def _rows(
    data: str,
    model: Any,
    target: str | None,
    image: str | None,
    seed: int | None,
    chosen: dict[str, Any],
) -> tuple[dict[str, Any], list[str]]:
    """Return the rows to draw with their names, target and size as images; and what to say."""
    import numpy as np

    from ._tables import Named, table
    from .transform import columns_of

    columns = {"columns": None, "drop": None, "encode": None, "encoding": "utf8"} | chosen
    target_aside = target if model is None else None  # a model names its columns itself
    with table(data, target=target_aside, **columns) as (blocks, classes):
        if model is not None and target is not None:
            classes = blocks.column(target)
        blocks = blocks if model is None else columns_of(blocks, model)
        blocks = as_images(blocks, image)
        numbers, rows = blocks.sample(MOST_ROWS, np.random.default_rng(seed))
        total = blocks.n_rows
    notes = [left_out(blocks)] if model is None else []
    if len(numbers) < total:
        notes.append(f"From {len(numbers):,} of {total:,} rows, drawn at random.")
    y = None if classes is None else Named(target, np.asarray(classes)[numbers])
    found = {"X": rows, "y": y, "names": blocks.names, "image_shape": blocks.image_shape}
    return found, notes


def _row(rows: Any, number: int) -> Any:
    if not 0 <= number < rows.shape[0]:
        raise typer.BadParameter(f"--row {number} is not among the rows 0 to {rows.shape[0] - 1}.")
    return rows[number]


def _save(figure: Any, output: str) -> None:
    from eigenlens.data.atomic import atomic

    with atomic(output) as temporary:
        figure.savefig(temporary, format=Path(output).suffix.lower()[1:])


def _numbers(display: Any) -> dict[str, Any]:
    """Return the numbers behind a picture, in plain values that JSON has."""
    return {item.name: _plain(getattr(display, item.name)) for item in fields(display)}


def _plain(value: Any) -> Any:
    import math

    import numpy as np

    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool | int | str | None) else str(value)
