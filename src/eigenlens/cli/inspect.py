"""``eigenlens inspect MODEL``: what is in a model file."""

from __future__ import annotations

from ._options import Json, echo_json
from .transform import Model

__all__ = ["inspect"]


def inspect(model: Model, json: Json = False) -> None:
    """Show what is in a model."""
    import eigenlens

    from ._summary import show, summary

    found = summary(eigenlens.load(model))
    if json:
        echo_json(found)
        return
    from ._console import Page

    console = Page()
    show(found, console)
    changed = ", ".join(f"{name}={value!r}" for name, value in found["parameters"].items())
    console.print(f"Parameters: {changed}", markup=False, soft_wrap=True)
