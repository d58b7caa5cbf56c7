"""``eigenlens fit METHOD DATA``: fit any method of the register, and keep the model."""

from __future__ import annotations

from functools import partial
from typing import Any

from . import _methods
from ._made import Family, Method, family, made
from ._options import (
    Checkpoint,
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
    left_out,
)

__all__ = ["fit"]


class Methods(Family):
    """A command for each method of the register."""

    @classmethod
    def members(cls) -> dict[str, str]:
        """Return what each method finds."""
        return {name: f"{method.finds}." for name, method in _methods.by_command().items()}

    @classmethod
    def find(cls, word: str) -> str | None:
        """Return the method of that name, or of that beginning."""
        return _methods.find(word)

    @classmethod
    def unknown(cls, word: str) -> str:
        """Say which methods there are."""
        return _methods.unknown(word, "fit")

    @classmethod
    def make(cls, name: str) -> Any:
        """Return the command of a method: its own parameters, and the options that all share."""
        method = _methods.by_command()[name].load()
        run, about, own = partial(_fit, method), cls.members()[name], _methods.options(method)
        return made(name, run, help=about, shared=_shared, own=own, cls=Method)


fit = family(
    Methods,
    help="Fit a method to a table, and keep the model.",
    metavar="METHOD DATA [OPTIONS]",
)


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
    checkpoint: Checkpoint = None,
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
    checkpoint: str | None,
    json: bool,
    **chosen: Any,
) -> None:
    from eigenlens import persist

    from ._fitting import estimator_of, fit_to, require_resumable
    from ._summary import show, summary
    from ._tables import table

    estimator = estimator_of(method, values, seed)
    if output is not None:
        persist.require_savable(output)
    if checkpoint is not None:
        require_resumable(estimator, data)
    with table(data, target=target, **chosen) as (blocks, classes):
        model = fit_to(estimator, blocks, scale, classes, checkpoint)
    found = summary(model) | {"left_out": dict(blocks.left_out), "model": output}
    if output is not None:
        persist.save(model, output)
    if json:
        echo_json(found)
        return
    from ._console import Page

    console = Page()
    show(found, console)
    console.say(left_out(blocks))
    if output is not None:
        console.say(f"Wrote {output}")
