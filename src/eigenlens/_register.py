"""The methods of the register: every public name of the package that is an estimator.

The public names are those of ``__init__.pyi``. Contract, command line, report, files and the README
table walk the methods through here, so that one line in the stub is all that a new one takes.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from importlib.resources import files

import eigenlens

from ._base import Estimator

__all__ = ["methods", "summary"]


def methods() -> dict[str, type[Estimator]]:
    """Return the estimators of the register by their public names."""
    rooms = _rooms()
    names = eigenlens.__all__  # type: ignore[attr-defined]  # made from the stub, not in it
    # other names are not even loaded: a report or a reader of files would take its time
    maybe = [name for name in names if rooms.get(name, "estimators").startswith("estimators")]
    public = {name: getattr(eigenlens, name) for name in maybe}
    return {
        name: value
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, Estimator)
    }


@cache
def _rooms() -> dict[str, str]:
    """Return the module that each name of the stub comes from."""
    stub = files("eigenlens").joinpath("__init__.pyi").read_text(encoding="utf-8")
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def summary(method: type[Estimator]) -> str:
    """Return what the method finds, as the first line of its docstring says."""
    return (inspect.getdoc(method) or "").split("\n", 1)[0].rstrip(".")
