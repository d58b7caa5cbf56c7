"""``eigenlens denoise METHOD DATA``: the table as the components see it, without the rest."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from . import _methods
from ._made import Family, Method, family, made
from ._options import (
    Columns,
    Data,
    Drop,
    Encode,
    Encoding,
    Image,
    Json,
    Rows,
    Scale,
    Seed,
    as_images,
    echo_json,
    left_out,
)
from .transform import Model

if TYPE_CHECKING:
    from eigenlens.data.blocks import Blocks

__all__ = ["denoise"]

MODEL = "MODEL"  # not a method


class Ways(Family):
    """A command for each method that has a way back from its scores, and one for models."""

    @classmethod
    def members(cls) -> dict[str, str]:
        """Return what each method finds."""
        found = _methods.by_command()
        return {name: f"{method.finds}." for name, method in found.items() if method.way_back}

    @classmethod
    def find(cls, word: str) -> str | None:
        """Return the method of that name or beginning, or the word that stands for any model."""
        if word.lower().endswith(".skops"):
            return MODEL
        name = _methods.find(word)
        return name if name is not None and name in cls.members() else None

    @classmethod
    def unknown(cls, word: str) -> str:
        """Say which methods there are."""
        name, known = _methods.find(word), list(cls.members())
        if name is not None:
            return f"{name} has no way back from its scores. Take one of {', '.join(known)}."
        return _methods.unknown(word, "denoise", known)

    @classmethod
    def make(cls, name: str) -> Any:
        """Return the command of a method, with its own parameters, or the one of models."""
        if name == MODEL:
            app = typer.Typer(rich_markup_mode=None, add_completion=False)
            app.command(name=name)(_by_model)
            return typer.main.get_command(app)
        method = _methods.by_command()[name].load()
        run, about, own = partial(_by_method, method), cls.members()[name], _methods.options(method)
        return made(name, run, help=about, shared=_shared, own=own, cls=Method)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names, and the other arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command, args if self.find(args[0]) == MODEL else rest


denoise = family(
    Ways,
    help="Write a table as its components see it, without the rest. As many components as stand "
    "out of the noise ('eigenlens rank'), unless the method finds or is given a number. A model "
    "of 'fit' may stand in the place of the method.",
    metavar="METHOD|MODEL.skops DATA [OPTIONS]",
)


def _shared(
    *,
    data: Data,
    output: Rows = "-",
    scale: Scale = "none",
    image: Image = None,
    columns: Columns = None,
    drop: Drop = None,
    encode: Encode = None,
    encoding: Encoding = "utf8",
    seed: Seed = None,
    json: Json = False,
) -> None:
    """State the options that all methods share."""


def _by_method(
    method: type,
    values: dict[str, Any],
    *,
    data: str,
    output: str,
    scale: str,
    seed: int | None,
    json: bool,
    **chosen: Any,
) -> None:
    from eigenlens.data.writing import require_writable

    from ._fitting import estimator_of, fit_to, require_way_back
    from ._tables import table
    from .rank import choice_of

    _require_room(output, json)
    require_way_back(scale)
    if "preimage" in inspect.signature(method).parameters:
        values = {"preimage": "auto"} | values  # the way back of a kernel is not found otherwise
    estimator = estimator_of(method, values, seed)
    with table(data, **chosen) as (blocks, _):
        require_writable(output, blocks)
        if "n_components" not in values and _keeps_all(estimator):
            choice, _ = choice_of(blocks, scale, 0 if seed is None else seed)
            estimator.set_params(n_components=max(1, choice.k))
        model = fit_to(estimator, blocks, scale, None)
        _write(model, blocks, output, json)


def _by_model(
    model: Model,
    data: Data,
    output: Rows = "-",
    image: Image = None,
    encoding: Encoding = "utf8",
    json: Json = False,
) -> None:
    """Write a table as the components of a model see it."""
    import eigenlens

    from ._tables import file
    from .transform import columns_of, require

    _require_room(output, json)
    fitted = eigenlens.load(model)
    require(fitted, "inverse_transform")
    with file(data) as path:
        blocks = columns_of(eigenlens.open(path, encoding=encoding), fitted)
        _write(fitted, as_images(blocks, image), output, json)


def _require_room(output: str, json: bool) -> None:
    if json and output == "-":
        raise typer.BadParameter("--json and the table cannot both go to standard output: give -o.")


def _keeps_all(estimator: Any) -> bool:
    """Whether a method would keep all components, and so all noise, if not told otherwise."""
    asked = estimator.get_params(deep=False).get("n_components", 1)
    return asked is None and getattr(estimator, "kind", "") != "robust"  # which finds its rank


def _write(model: Any, blocks: Blocks, output: str, json: bool) -> None:
    """Write the table without its noise, and say how much that was."""
    from ._loss import Loss
    from ._summary import steps
    from .transform import rows_for, write_out

    loss = Loss()
    way = rows_for(model, partial(_cleaned, model))
    write_out(blocks.map(lambda block: loss.watch(block, way(block))), output)
    if output == "-":
        return
    _, estimator = steps(model)
    rank = getattr(estimator, "n_components_", getattr(estimator, "n_components", None))
    found = {
        "method": type(estimator).__name__,
        "n_components": None if rank is None else int(rank),
        "rows": loss.rows,
        "columns": len(blocks.names),
        "taken_away": loss.share,
        "left_out": dict(blocks.left_out),
        "output": output,
    }
    if json:
        echo_json(found)
        return
    from ._console import Page

    console = Page()
    console.say(
        f"{found['method']} with {rank} components: {loss.rows:,} rows, {len(blocks.names)} columns"
    )
    console.say(f"Taken away: {100 * loss.share:.1f} % of the variance of a column, on average")
    console.say(left_out(blocks))
    console.say(f"Wrote {output}")


def _cleaned(model: Any, rows: Any) -> Any:
    """Return rows through a model and back: by its own way if it has one, as kernel PCA has."""
    from ._summary import steps

    scaler, estimator = steps(model)
    rows = rows if scaler is None else scaler.transform(rows)
    if hasattr(estimator, "denoise"):
        rows = estimator.denoise(rows)
    else:
        rows = estimator.inverse_transform(estimator.transform(rows))
    return rows if scaler is None else scaler.inverse_transform(rows)
