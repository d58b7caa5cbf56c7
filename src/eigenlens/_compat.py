"""The one door to scikit-learn's private names and to optional packages.

When scikit-learn moves one of its names, this file is the only one to change.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import validation
from sklearn.utils._param_validation import Interval, InvalidParameterError, RealNotInt, StrOptions

__all__ = [
    "CallbackSupportMixin",
    "Interval",
    "InvalidParameterError",
    "RealNotInt",
    "StrOptions",
    "check_array",
    "fit_context",
    "optional",
    "validate_data",
    "with_callbacks",
]


def _of_large_numbers(check: Callable[..., Any]) -> Callable[..., Any]:
    """Return a check of scikit-learn's that is quiet about its own sum over the table.

    Where that is not finite it looks at each number; but on the way, inf less inf is a warning.
    """

    @wraps(check)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(invalid="ignore", over="ignore"):
            return check(*args, **kwargs)

    return quiet


check_array = _of_large_numbers(validation.check_array)
validate_data = _of_large_numbers(validation.validate_data)


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
