"""The one door to scikit-learn's private names and to optional packages.

When scikit-learn moves one of its names, this file is the only one to change.
"""

from __future__ import annotations

import importlib
from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils._param_validation import Interval, InvalidParameterError, RealNotInt, StrOptions

__all__ = [
    "CallbackSupportMixin",
    "Interval",
    "InvalidParameterError",
    "RealNotInt",
    "StrOptions",
    "fit_context",
    "optional",
    "with_callbacks",
]


def optional(package: str, extra: str) -> Any:
    """Return a package that comes with an extra, or say how to get it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        name = package.partition(".")[0]
        if (error.name or "").partition(".")[0] != name:  # it is there, and lacks something itself
            raise
        raise ImportError(
            f"{name} is not installed. Run: pip install 'eigenlens[{extra}]'"
        ) from None
