import os
import runpy
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

pytest.register_assert_rewrite("commands")

if os.environ.get("PLAIN_LOOPS"):
    import plain_loops

    plain_loops.install()

EXAMPLES = Path(__file__).parents[1] / "examples"

# No deadline: the first example of a property may have to compile a loop.
# The same examples each time, but in the long run: a test that was green stays green.
settings.register_profile("default", deadline=None, max_examples=50, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=300, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=4000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def many_threads():
    """Let BLAS and our pool have several threads, where ``make test`` leaves one to each worker."""
    with threadpool_limits(4):
        yield


class Here:
    """Calls functions in this process, in the place of one beside it, which takes long to start."""

    def call(self, function, *args, seconds):
        return function(*args)

    def end(self):
        pass


@pytest.fixture
def here(monkeypatch):
    """Let `compare` fit in this process, for tests of what comes out of a fit."""
    monkeypatch.setattr("eigenlens.measure.compare.Aside", Here)


@pytest.fixture
def inside(folder, monkeypatch, capsys):
    """Run a command of the shell in this process, which is quicker, in the folder of the module.

    Gives its code, its output and its errors.
    """
    from eigenlens.cli import app
    from eigenlens.cli._run import run

    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*args):
        code = run(app, [str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def run(monkeypatch):
    """Run an example as the gallery does; look whether it has drawn; give its variables.

    It runs on data that installed packages carry, or on the originals in the folder `data`. Tests
    of one example, one after the other, share its variables: they leave them as they are.
    """
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.delenv("DISPLAY", raising=False)  # where there is one, plt.show() warns

    def run(name, data=None):
        if data is None:
            monkeypatch.delenv("EIGENLENS_DATA", raising=False)
        else:
            monkeypatch.setenv("EIGENLENS_DATA", str(data))
        return variables(name, data)

    return run


@lru_cache(maxsize=1)
def variables(name, data):
    """Run an example on data from the environment; `data` says which, for the cache."""
    import matplotlib.pyplot as plt

    plt.close("all")
    found = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()  # labels and layouts that do not work out would warn
    assert plt.get_fignums(), f"{name} draws nothing"
    plt.close("all")
    return found


def pytest_terminal_summary(terminalreporter):
    """Add up how many tables the properties were tried on, and how that ended."""
    ended = Counter()
    for report in terminalreporter.stats.get("passed", []) + terminalreporter.stats.get(
        "failed", []
    ):
        for name, counts in report.user_properties:
            if name == "tables":
                ended.update(counts)
    if ended:
        parts = ", ".join(f"{count} {end}" for end, count in sorted(ended.items()))
        terminalreporter.line(f"tables tried: {ended.total()} ({parts})")


def pytest_collection_modifyitems(items):
    """Let a warning fail our tests; tests of other packages, run with our classes, keep theirs."""
    for item in items:
        # the examples in docstrings leave their figures open
        item.add_marker(pytest.mark.filterwarnings("error", "ignore:More than 20 figures"))
