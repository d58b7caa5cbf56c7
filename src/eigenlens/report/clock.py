"""The time that a report may take, and what took it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Clock"]

KEPT_BACK = 0.1  # of the budget, for what comes after the fits


class Clock:
    """Counts the seconds of a report.

    Attributes
    ----------
    budget : float
    times : list of dict
        What was done, and the seconds that it took.
    """

    def __init__(self, budget: float) -> None:
        if not budget > 0:
            raise ValueError(f"budget={budget} must be more than 0: seconds for the whole report.")
        self.budget, self.times = float(budget), list[dict[str, Any]]()
        self._start = time.perf_counter()

    @property
    def used(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._start

    @property
    def left(self) -> float:
        """Seconds that fits may still take."""
        return (1 - KEPT_BACK) * self.budget - self.used

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Note how long something takes."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.times.append({"what": what, "seconds": time.perf_counter() - start})
