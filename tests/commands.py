"""Commands of the shell, run by a test: in a process of their own, or by the `inside` fixture."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

MODULE = (sys.executable, "-m", "eigenlens.cli")


def piped(**more):
    """Return the environment of a command whose output goes into a pipe."""
    env = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80", **more}
    env.pop("FORCE_COLOR", None)
    return env


def shell(folder, *args, command=MODULE, **options):
    """Run a command to its end, in a folder, as a user would in a pipe; bytes come out."""
    line = [*command, *map(str, args)]
    return subprocess.run(
        line, cwd=folder, env=piped(), capture_output=True, check=False, **options
    )


def script(folder, *args):
    """Run the script that is installed, or the module where none is."""
    path = Path(sysconfig.get_path("scripts"), "eigenlens")
    return shell(folder, *args, command=[str(path)] if path.exists() else MODULE)


def fine(result):
    """Return what a command printed, once it is known to have had no trouble."""
    code, out, err = result
    assert (code, err) == (0, ""), err
    return out


def require_good_mistake(inside, folder, line, code, words):
    """Check that a mistake ends in few short lines with these words, and leaves no file behind."""
    before = sorted(path.name for path in folder.iterdir())
    found, out, err = inside(*line.split())
    assert found == code, err
    assert out == ""
    assert 1 <= len(err.splitlines()) <= 3, err
    assert all(len(text) <= 420 for text in err.splitlines())
    assert "Traceback" not in err
    for word in words:
        assert word in err
    assert sorted(path.name for path in folder.iterdir()) == before
