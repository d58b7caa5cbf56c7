"""From the arguments to the exit code: 0 fine, 1 a mistake in the data, 2 one in the usage."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from typing import Any

import typer

from eigenlens._text import clean, short

__all__ = ["run"]

DATA, USAGE, INTERRUPTED = 1, 2, 130
LONGEST = 400  # characters of a message: three lines of a wide terminal


def run(app: typer.Typer, arguments: list[str]) -> int:
    """Run the command line and return its exit code; a traceback comes only with ``--debug``."""
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    warnings.showwarning = _show_warning
    try:
        code = app(arguments, prog_name="eigenlens", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough, as in `eigenlens methods | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as stop:  # what typer makes of a broken pipe inside a command
        if isinstance(stop.__context__, BrokenPipeError):
            return 0
        raise
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if debug:
            raise
        return _explained(error)
    if code == INTERRUPTED:
        say("stopped; nothing was written.")
    return code if isinstance(code, int) else 0


def say(*lines: str) -> None:
    """Print a message on standard error."""
    for line in lines:
        print(f"eigenlens: {short(clean(line), LONGEST)}", file=sys.stderr)  # noqa: T201


def _explained(error: Exception) -> int:
    """Say what was wrong in a line or two; return the exit code."""
    from eigenlens._compat import InvalidParameterError

    if type(error).__name__ == "NoArgsIsHelpError":  # which typer does not name in public
        typer.echo(str(error))
        return USAGE
    if isinstance(error, typer.TyperException):
        context: Any = getattr(error, "ctx", None)
        command = context.command_path if context else "eigenlens"
        say(error.format_message(), f"try '{command} --help'.")
        return error.exit_code
    if isinstance(error, InvalidParameterError):
        say(str(error))
        return USAGE
    if isinstance(error, MemoryError):
        say("there is not enough memory. Take fewer columns, fewer rows, or another method.")
    elif isinstance(error, OSError) and error.errno == errno.ENOSPC:  # of standard output
        say("there is no room left on the disk for the output. Make room, or write elsewhere.")
    elif isinstance(error, FileNotFoundError) and error.filename is not None:
        say(f"There is no file {error.filename!r}. Check its name and its folder.")
    elif isinstance(error, ValueError | TypeError | OSError | ImportError):
        say(str(error) or type(error).__name__)
    else:
        say(
            f"{type(error).__name__}: {error}",
            "this should not happen. Run it again with --debug, and report what it shows.",
        )
    return DATA


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {message}")
