"""Methods by the names that they have on the command line, and their parameters as options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenlens._text import command_name, option_name

from ._options import names_in

if TYPE_CHECKING:
    from eigenlens._register import Method

__all__ = [
    "by_command",
    "find",
    "meant",
    "named",
    "options",
    "owners",
    "plain",
    "unknown",
    "value_of",
]

IDLE = "Accepted for compatibility"  # parameters without an effect are taken, but not listed


def by_command() -> dict[str, Method]:
    """Return the methods that can be fitted by their names as commands."""
    from eigenlens._register import fittable

    return {command_name(name): method for name, method in fittable().items()}


def find(name: str) -> str | None:
    """Return the command that `name` means: itself, in other letters, or its only beginning."""
    known = by_command()
    plain = {command.replace("-", ""): command for command in known}
    wanted = re.sub("[-_ ]", "", name).lower()
    if wanted in plain:
        return plain[wanted]
    begun = [command for short, command in plain.items() if short.startswith(wanted)]
    return begun[0] if wanted and len(begun) == 1 else None


def unknown(name: str, command: str = "fit", known: Iterable[str] | None = None) -> str:
    """Say that there is no such method, and which there are."""
    names = list(by_command() if known is None else known)
    hint = meant(name, names)
    if Path(name).exists():
        hint = f"Name a method before the data, for example: eigenlens {command} pca {name}"
    return f"There is no method {name!r}. {hint}"


def meant(word: str, known: list[str]) -> str:
    """Ask for the known name that `word` is near to, or say which there are."""
    near = get_close_matches(word.lower(), known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}."


def named(options: list[str] | None) -> list[str]:
    """Return the classes of the methods that ``--methods`` names."""
    known = by_command()
    wanted = [find(name) or name for name in names_in(options)]
    for name in wanted:
        if name not in known:
            raise typer.BadParameter(unknown(name))
    return [known[name].name for name in wanted]


def options(
    method: Callable[..., Any], leave_out: Container[str] = ()
) -> dict[str, inspect.Parameter]:
    """Return an option for each parameter of a method, as typer reads them from a signature."""
    words = _described(method)
    found = {}
    for name, parameter in inspect.signature(method).parameters.items():
        if name == "random_state" or name in leave_out:  # --seed
            continue
        flag, about = option_name(name), words.get(name, "")
        settings: dict[str, Any] = {
            "help": f"{about} [default: {parameter.default}]",
            "hidden": about.startswith(IDLE),
        }
        if isinstance(parameter.default, bool):
            either = f"{flag}/{option_name(f'no_{name}')}"
            kind: Any = Annotated[bool | None, typer.Option(either, **settings)]
        else:
            kind = Annotated[str | None, typer.Option(flag, metavar="VALUE", **settings)]
        found[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind
        )
    return found


def owners(option: str) -> list[str]:
    """Return the methods that have an option, of those that are always there.

    A package that somebody has added may take seconds to import, for a mistake.
    """
    return [
        name
        for name, method in by_command().items()
        if method.origin in ("eigenlens", "scikit-learn")
        and option in map(option_name, inspect.signature(method.load()).parameters)
    ]


def _described(method: Callable[..., Any]) -> dict[str, str]:
    """Return the first sentence on each parameter, from the docstring."""
    doc = inspect.getdoc(method) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", doc, re.M | re.S)
    items = re.findall(
        r"^(\w[\w, ]*) : [^\n]*\n((?:[ ]+[^\n]*\n|\n)*)", section[1] if section else "", re.M
    )
    words = {}
    for names, text in items:
        sentence = re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]
        words.update(dict.fromkeys((name.strip() for name in names.split(",")), plain(sentence)))
    return words


def plain(text: str) -> str:
    """Return text of a docstring without its marks.

    >>> plain("The images ``mean + a v`` of :class:`~eigenlens.PCA`")
    'The images mean + a v of eigenlens.PCA'
    """
    return re.sub(r":\w+:`~?([^`]*)`|``?([^`]*)``?", r"\1\2", text)


def value_of(text: str) -> Any:
    """Return what an option means: a number, numbers, true, false, none, or the text itself."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    parts = [value_of(part) for part in text.split(",")] if "," in text else ["text"]
    return text if any(isinstance(part, str) for part in parts) else tuple(parts)
