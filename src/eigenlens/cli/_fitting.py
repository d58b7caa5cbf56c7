"""A method fitted to the table of a command, with progress, and with advice where it fails."""

from __future__ import annotations

import inspect
from typing import Any

import typer

from eigenlens._text import command_name

__all__ = ["estimator_of", "fit_to", "require_resumable", "require_way_back"]


def estimator_of(method: type, values: dict[str, Any], seed: int | None) -> Any:
    """Return a method with its parameters, which are checked before anything is read."""
    if seed is not None and "random_state" in inspect.signature(method).parameters:
        values = values | {"random_state": seed}
    estimator = method(**values)
    estimator._validate_params()
    return estimator


def require_way_back(scale: str) -> None:
    """Raise for a scaling that rows cannot be taken back from."""
    if scale == "normalize":
        raise typer.BadParameter("--scale normalize cannot be undone. Take another.")


def require_resumable(estimator: Any, data: str) -> None:
    """Raise if a fit that is killed cannot be taken up again, whatever is written down of it."""
    if data == "-":
        raise ValueError(
            "Standard input cannot be read again by a fit that is taken up. Give a file, or leave "
            "out --checkpoint."
        )
    if "checkpoint" not in inspect.signature(estimator.fit).parameters:
        name = command_name(type(estimator).__name__)
        raise ValueError(
            f"{name} takes its table as a whole, and cannot be taken up in between. Leave out "
            "--checkpoint."
        )


def fit_to(
    estimator: Any, blocks: Any, scale: str, classes: Any, checkpoint: str | None = None
) -> Any:
    """Return a fitted model of the table: the estimator, behind a scaler if one is wanted."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    from eigenlens.data.scaling import scaled

    from ._progress import Progress

    name = command_name(type(estimator).__name__)
    if classes is None and get_tags(estimator).target_tags.required:
        raise ValueError(f"{name} learns from classes. Name the column of them: --target NAME.")
    with Progress("scaling") as progress:
        scaler, even = scaled(progress.rows(blocks), scale)
    with Progress(name) as progress:
        try:
            given = {} if checkpoint is None else {"checkpoint": checkpoint}
            _watched(estimator, progress.rows(even), classes, progress, **given)
        except ValueError as error:
            raise _told(error, estimator, blocks.path) from error
    if scaler is None:
        return estimator
    # the scaler knows the names, and hands on an array without them
    del estimator.feature_names_in_
    return Pipeline([("scale", scaler), (name, estimator)])


def _watched(estimator: Any, blocks: Any, classes: Any, progress: Any, **given: Any) -> None:
    """Fit an estimator of ours to blocks, with callbacks, and any other to a table with names."""
    from eigenlens._base import Estimator
    from eigenlens.data.writing import named

    if not isinstance(estimator, Estimator):
        estimator.fit(named(blocks.read(), blocks.names), classes)
        return
    estimator.set_callbacks(progress)
    try:
        estimator.fit(blocks, classes, **given)
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
