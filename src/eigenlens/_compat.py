"""The one door to scikit-learn's private names.

When scikit-learn moves one of them, this file is the only one to change.
"""

from __future__ import annotations

from sklearn.base import _fit_context as fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

__all__ = [
    "CallbackSupportMixin",
    "Interval",
    "RealNotInt",
    "StrOptions",
    "fit_context",
    "with_callbacks",
]
