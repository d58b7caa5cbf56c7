"""Calls of scikit-learn's functions that have threads of OpenMP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn import config_context, get_config

from ..ops import threads

__all__ = ["by_openmp"]

T = TypeVar("T")


def by_openmp(function: Callable[..., T], *args: Any, **given: Any) -> T:
    """Return ``function(*args, **given)``, called so that a later fork does no harm.

    See :func:`eigenlens.ops.threads.apart`. scikit-learn's configuration belongs to a thread, and
    is taken along.
    """
    config = get_config()

    def configured() -> T:
        with config_context(**config):
            return function(*args, **given)

    return threads.apart(configured)
