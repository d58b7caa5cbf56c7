"""Options of the types that the parameters of a function have."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer

from eigenlens._text import option_name

__all__ = ["typed"]


def typed(function: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return options of the types that their parameters have; raise for others."""
    hints = get_type_hints(function)
    found = {}
    for name, value in values.items():
        kinds = get_args(hints[name]) if isinstance(hints[name], UnionType) else (hints[name],)
        fitting = [fit for kind in kinds if (fit := _as(kind, value)) is not None]
        if not fitting and not (value is None and NoneType in kinds):
            words = " or ".join(_words(kind) for kind in kinds if kind is not NoneType)
            option = option_name(name)
            raise typer.BadParameter(f"{option} asks for {words}, and {value!r} was given.")
        found[name] = fitting[0] if fitting else None
    return found


def _as(kind: Any, value: Any) -> Any:
    """Return a value as a type of simple values, None if it is no such value."""
    if get_origin(kind) is Literal:
        return value if value in get_args(kind) else None
    if get_origin(kind) is tuple:
        numbers = value if isinstance(value, tuple) else (value,)
        length = None if Ellipsis in get_args(kind) else len(get_args(kind))
        right = all(isinstance(x, int) for x in numbers) and length in (None, len(numbers))
        return numbers if right else None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value if isinstance(kind, type) and isinstance(value, kind) else None


def _words(kind: Any) -> str:
    """Return what a type of simple values is called."""
    if get_origin(kind) is Literal:
        return " or ".join(get_args(kind))
    if get_origin(kind) is tuple:
        many = "" if Ellipsis in get_args(kind) else f"{len(get_args(kind))} "
        return f"{many}whole numbers, such as 0,1"
    return {int: "a whole number", float: "a number", str: "a word"}.get(kind, "yes or no")
