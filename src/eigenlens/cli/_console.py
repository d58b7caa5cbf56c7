"""Text for a person, on standard output."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console

__all__ = ["Page"]


class Page(Console):
    """Prints sentences and tables, in colour only on a terminal."""

    def __init__(self) -> None:
        super().__init__(highlight=False)  # else every number in a sentence is coloured

    def say(self, sentence: str) -> None:
        """Print a sentence as it is, unless it is empty; the terminal breaks it."""
        if sentence:
            self.print(sentence, markup=False, soft_wrap=True)

    def on_broken_pipe(self) -> NoReturn:
        """Leave it to the command line, for which a reader who has seen enough is no error."""
        raise BrokenPipeError
