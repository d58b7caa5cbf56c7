"""Methods by the names that they have on the command line, and their parameters as options."""

from __future__ import annotations

import inspect
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from eigenlens._register import Method

__all__ = ["by_command", "command_name", "find", "options", "owners", "unknown", "value_of"]

IDLE = "Accepted for compatibility"  # parameters without an effect are taken, but not listed


def command_name(name: str) -> str:
    """Return the name of a class as a command: ``IncrementalPCA`` is ``incremental-pca``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


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


def unknown(name: str) -> str:
    """Say that there is no such method, and which there are."""
    known = list(by_command())
    near = get_close_matches(name.lower(), known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}."
    return f"There is no method {name!r}. {hint}"


def options(method: type) -> dict[str, inspect.Parameter]:
    """Return an option for each parameter of a method, as typer reads them from a signature."""
    words = _described(method)
    found = {}
    for name, parameter in inspect.signature(method).parameters.items():
        if name == "random_state":  # --seed
            continue
        flag, about = option_name(name), words.get(name, "")
        settings: dict[str, Any] = {
            "help": f"{about} [default: {parameter.default}]",
            "hidden": about.startswith(IDLE),
        }
        if isinstance(parameter.default, bool):
            kind: Any = Annotated[bool | None, typer.Option(f"{flag}/--no-{flag[2:]}", **settings)]
        else:
            kind = Annotated[str | None, typer.Option(flag, metavar="VALUE", **settings)]
        found[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind
        )
    return found


def option_name(parameter: str) -> str:
    """Return a parameter as an option: ``n_components`` is ``--n-components``."""
    return f"--{parameter.replace('_', '-')}"


def owners(option: str) -> list[str]:
    """Return the methods that have an option."""
    return [
        name
        for name, method in by_command().items()
        if option in map(option_name, inspect.signature(method.load()).parameters)
    ]


def _described(method: type) -> dict[str, str]:
    """Return the first sentence on each parameter, from the docstring."""
    doc = inspect.getdoc(method) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", doc, re.M | re.S)
    items = re.findall(
        r"^(\w[\w, ]*) : [^\n]*\n((?:[ ]+[^\n]*\n|\n)*)", section[1] if section else "", re.M
    )
    words = {}
    for names, text in items:
        sentence = re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]
        plain = re.sub(r":\w+:`~?([^`]*)`|``?([^`]*)``?", r"\1\2", sentence)
        words.update(dict.fromkeys((name.strip() for name in names.split(",")), plain))
    return words


def value_of(text: str) -> Any:
    """Return what an option means: a number, true, false, none, or the text itself."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text
