"""How far a long command is, on a terminal; nothing in a pipe, and nothing in the first second."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from eigenlens.data.blocks import Blocks

__all__ = ["Progress"]

PATIENCE = 1.0  # seconds without a sign


class Progress(AbstractContextManager["Progress"]):
    """A line on standard error with what was done so far.

    It is also a callback of scikit-learn's, which shows the iterations of a fit.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._begin = time.monotonic()
        self._wanted = sys.stderr.isatty()
        self._bar: Any = None
        self._iterations = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._wanted = False  # a table that was passed on may be read again
        if self._bar is not None:
            self._bar.stop()

    def show(self, text: str) -> None:
        """Show how far it is, once it has taken long enough."""
        if not self._wanted or time.monotonic() - self._begin < PATIENCE:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress as Bar
            from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("")
            self._bar.start()
        self._bar.update(self._task, description=f"{self._what}: {text}")

    def rows(self, blocks: Blocks) -> Blocks:
        """Return the same table, which shows how many rows were read."""
        count = 0

        def counted(block: Any) -> Any:
            nonlocal count
            count += block.shape[0]
            self.show(f"{count:,} rows read")
            return block

        return blocks.map(counted)

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin a fit."""
        self._what, self._iterations = type(estimator).__name__, 0
        self.show("fitting")

    def teardown(self, estimator: Any, context: Any) -> None:
        """End a fit."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Begin the fit or an iteration of it."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Count the iterations; never ask to stop."""
        if context.parent is not None:
            self._iterations += 1
            self.show(f"{self._iterations:,} iterations")
        return False
