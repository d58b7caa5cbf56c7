"""The methods of the register: every public name of the package that is an estimator.

The public names are those of ``__init__.pyi``. Contract, command line, report, files and the README
table walk the methods through here, so that one line in the stub is all that a new one takes.
"""

from __future__ import annotations

import inspect

import eigenlens

from ._base import Estimator

__all__ = ["methods", "summary"]


def methods() -> dict[str, type[Estimator]]:
    """Return the estimators of the register by their public names."""
    names = eigenlens.__all__  # type: ignore[attr-defined]  # made from the stub, not in it
    public = {name: getattr(eigenlens, name) for name in names}
    return {
        name: value
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, Estimator)
    }


def summary(method: type[Estimator]) -> str:
    """Return what the method finds, as the first line of its docstring says."""
    return (inspect.getdoc(method) or "").split("\n", 1)[0].rstrip(".")
