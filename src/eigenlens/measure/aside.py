"""A process beside this one, for work that may hang or crash, and can be given up.

Not `multiprocessing`, which wants a guard around the main script, and not a pool of joblib's, which
does not take it well when its process is ended.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle

__all__ = ["Aside", "CrashError", "serve"]


class CrashError(RuntimeError):
    """The process has ended by itself."""


class Reply(NamedTuple):
    """What a call came to: its value, or the exception that it raised."""

    value: Any = None
    error: Exception | None = None


class Aside:
    """A process that calls functions, one at a time. It begins with the first call.

    What goes to it is pickled: functions of modules, and models of anybody.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, function: Callable[..., Any], *args: Any, seconds: float) -> Any:
        """Return what the function does, there; `TimeoutError` or `CrashError` if it does not.

        After these the process is gone, with all that it kept, and the next call begins another.
        """
        message, replies = cloudpickle.dumps((function, args)), list[Reply]()
        if self._process is None:
            self._process = _started()
        process = self._process

        def talk() -> None:
            try:
                process.stdin.write(message)  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
                replies.append(pickle.load(process.stdout))  # type: ignore[arg-type]
            except (OSError, EOFError, pickle.UnpicklingError):  # it has ended, or was
                pass

        talker = threading.Thread(target=talk, daemon=True)
        talker.start()
        talker.join(max(0.0, seconds))
        if not replies:
            late = talker.is_alive()
            process.kill()
            talker.join()  # before its pipes are closed
            self.end()
            raise TimeoutError if late else CrashError
        if replies[0].error is not None:
            raise replies[0].error
        return replies[0].value

    def end(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            with self._process as process:  # closes its pipes and waits for it
                process.kill()
            self._process = None


def _started() -> subprocess.Popen[bytes]:
    """Start a process that finds the same modules as this one."""
    path = os.pathsep.join(part or str(Path.cwd()) for part in sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": path},
    )


def serve() -> None:
    """Answer calls until nobody is there to call."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a fit prints is not an answer
    while True:
        try:
            function, args = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        except Exception as failure:  # a class that is not to be found here
            reply = Reply(error=failure)
        else:
            try:
                reply = Reply(function(*args))
            except Exception as failure:
                reply = Reply(error=failure)
        answers.write(cloudpickle.dumps(reply))
        answers.flush()
