"""A callback for the checks: it counts what it is shown, and stops or breaks a fit when told to."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

__all__ = ["CallbackError", "Watch"]


class CallbackError(Exception):
    """What a watch raises that was told to fail."""


class Watch:
    """Counts tasks and notes objectives.

    Parameters
    ----------
    stop_after : int, optional
        The iteration at whose end the fit is asked to stop.
    fail : bool, default=False
        Raise at the end of the fit.
    """

    def __init__(self, stop_after: int | None = None, *, fail: bool = False) -> None:
        self.stop_after, self.fail = stop_after, fail
        self.opened = self.closed = self.begun = self.ended = 0
        self.objectives: list[Any] = []  # one for each iteration

    def setup(self, estimator: Any, context: Any) -> None:
        """Count the fits that open."""
        self.opened += 1

    def teardown(self, estimator: Any, context: Any) -> None:
        """Count the fits that close, well or not."""
        self.closed += 1

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Count the tasks that begin: the fit itself and each iteration."""
        self.begun += 1

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any = None) -> bool:
        """Count the tasks that end; say whether to stop."""
        self.ended += 1
        if context.parent is None:
            if self.fail:
                raise CallbackError("told to fail")
            return False
        self.objectives.append((metadata or {}).get("objective"))
        return self.stop_after is not None and len(self.objectives) >= self.stop_after

    def fit(self, model: Any, X: Any) -> list[str]:
        """Fit `model` to `X` under this watch; return the convergence warnings that it gave."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.set_callbacks(self).fit(X)
        return [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
