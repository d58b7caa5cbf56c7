"""``eigenlens fit METHOD DATA``: fit any method of the register, and keep the model."""

from __future__ import annotations

import inspect
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from eigenlens._text import clean

from . import _methods
from ._options import (
    Columns,
    Data,
    Drop,
    Encode,
    Encoding,
    Json,
    Output,
    Scale,
    Seed,
    Target,
    echo_json,
)

__all__ = ["fit", "fit_to"]


class Methods(TyperGroup):
    """A command for each method of the register, made when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the methods."""
        return list(_methods.by_command())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a method, under its name or the beginning of it."""
        name = _methods.find(cmd_name)
        return None if name is None else _command(name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names, and the other arguments."""
        if args and not args[0].startswith("-") and _methods.find(args[0]) is None:
            ctx.fail(_methods.unknown(args[0]))
        return super().resolve_command(ctx, args)


class Method(TyperCommand):
    """The command of one method, which knows whose an option is that it does not have."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options."""
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            option = getattr(error, "option_name", None)
            others = _methods.owners(option) if option else []
            if not others:
                raise
            ctx.fail(f"{self.name} has no option {option}. It is one of {', '.join(others)}.")
            raise


fit = typer.Typer(
    cls=Methods,
    no_args_is_help=True,
    help="Fit a method to a table, and keep the model.",
    subcommand_metavar="METHOD DATA [OPTIONS]",
    rich_markup_mode=None,
    add_completion=False,
)


@fit.callback()
def _() -> None:
    pass


def _command(name: str) -> Any:
    """Return the command for one method: its own parameters, and the options that all share."""
    found = _methods.by_command()[name]
    method = found.load()
    own = _methods.options(method)

    def command(**given: Any) -> None:
        asked = {key: given.pop(key) for key in own}
        values = {
            key: _methods.value_of(value) if isinstance(value, str) else value
            for key, value in asked.items()
            if value is not None
        }
        _fit(method, values, **given)

    shared = inspect.signature(_shared, eval_str=True).parameters
    command.__signature__ = inspect.Signature([*shared.values(), *own.values()])  # type: ignore[attr-defined]
    command.__annotations__ = {key: item.annotation for key, item in {**shared, **own}.items()}
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(name=name, cls=Method, help=f"{found.finds}.")(command)
    return typer.main.get_command(app)


def _shared(
    *,
    data: Data,
    output: Output = None,
    scale: Scale = "none",
    target: Target = None,
    columns: Columns = None,
    drop: Drop = None,
    encode: Encode = None,
    encoding: Encoding = "utf8",
    seed: Seed = None,
    json: Json = False,
) -> None:
    """State the options that the fits of all methods share."""


def _fit(
    method: type,
    values: dict[str, Any],
    *,
    data: str,
    output: str | None,
    scale: str,
    target: str | None,
    seed: int | None,
    json: bool,
    **chosen: Any,
) -> None:
    from eigenlens import persist

    from ._summary import show, summary
    from ._tables import table

    if seed is not None and "random_state" in inspect.signature(method).parameters:
        values["random_state"] = seed
    estimator = method(**values)
    estimator._validate_params()  # before anything is read
    if output is not None:
        persist.require_savable(output)
    with table(data, target=target, **chosen) as (blocks, classes):
        model = fit_to(estimator, blocks, scale, classes)
    found = summary(model) | {"left_out": dict(blocks.left_out), "model": output}
    if output is not None:
        persist.save(model, output)
    if json:
        echo_json(found)
        return
    from ._console import Page

    console = Page()
    show(found, console)
    if blocks.left_out:
        listed = ", ".join(f"{name} ({kind})" for name, kind in blocks.left_out.items())
        console.print(f"Left out: {clean(listed)}", markup=False, soft_wrap=True)
    if output is not None:
        console.print(f"Wrote {output}", markup=False, soft_wrap=True)


def fit_to(estimator: Any, blocks: Any, scale: str, classes: Any) -> Any:
    """Return a fitted model of the table: the estimator, behind a scaler if one is wanted."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    from eigenlens.data.scaling import scaled

    from ._progress import Progress

    name = _methods.command_name(type(estimator).__name__)
    if classes is None and get_tags(estimator).target_tags.required:
        raise ValueError(f"{name} learns from classes. Name the column of them: --target NAME.")
    with Progress("scaling") as progress:
        scaler, even = scaled(progress.rows(blocks), scale)
    with Progress(name) as progress:
        try:
            _watched(estimator, progress.rows(even), classes, progress)
        except ValueError as error:
            raise _told(error, estimator, blocks.path) from error
    if scaler is None:
        return estimator
    # the scaler knows the names, and hands on an array without them
    del estimator.feature_names_in_
    return Pipeline([("scale", scaler), (name, estimator)])


def _watched(estimator: Any, blocks: Any, classes: Any, progress: Any) -> None:
    """Fit an estimator of ours to blocks, with callbacks, and any other to a table with names."""
    from eigenlens._base import Estimator
    from eigenlens.data.writing import named

    if not isinstance(estimator, Estimator):
        estimator.fit(named(blocks.read(), blocks.names), classes)
        return
    estimator.set_callbacks(progress)
    try:
        estimator.fit(blocks, classes)
    finally:
        estimator.set_callbacks()


def _told(error: ValueError, estimator: Any, path: str) -> ValueError:
    """Return the error, or what a user of the command line can do about holes."""
    if "contains NaN" not in str(error):
        return error
    remedy = "Fill them, or drop the columns that have them."
    if "missing" in estimator.get_params(deep=False):
        choices = estimator._parameter_constraints["missing"][0].options - {"error"}
        remedy = f"Try --missing {' or '.join(sorted(choices))}."
    return ValueError(
        f"{path} has holes, and {type(estimator).__name__} does not take them. {remedy}"
    )
