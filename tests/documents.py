"""Where the pages, scripts and docstrings are that the tests of the documentation read."""

import importlib.util
import inspect
import re
import sys
from functools import cache
from pathlib import Path

import eigenlens

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

import made  # noqa: E402  where conf.py finds it

ROOMS = "select", "measure", "plot", "datasets", "testing"
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
DOCS = sorted((ROOT / "docs").glob("*.md"))
SCRIPTS = sorted((ROOT / "examples").glob("*/*.py"))
SECTIONS = sorted((ROOT / "examples").rglob("*.rst"))
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def none_of(faults):
    faults = sorted(faults)
    assert not faults, "\n".join(["", *faults])


def text_of(path):
    return path.read_text(encoding="utf-8")


def called(path):
    return str(path.relative_to(ROOT))


FENCED = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)


@cache
def public():
    """Return every public module, class and function by its name."""
    found = {"eigenlens.testing": importlib.import_module("eigenlens.testing")}
    names = [("eigenlens", name) for name in eigenlens.__all__]
    for room in ROOMS:
        module = importlib.import_module(f"eigenlens.{room}")
        names += [(module.__name__, name) for name in module.__all__]
    for module, name in names:
        value = getattr(sys.modules[module], name)
        documented = inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value)
        if documented and value not in found.values():
            found[f"{module}.{name}"] = value
    return found


@cache
def methods():
    """Return the public methods and properties that this package gives to its public classes."""
    found = {}
    for owner, value in public().items():
        for name in dir(value) if inspect.isclass(value) else ():
            inner = inspect.getattr_static(value, name)
            for inside in ("__func__", "fget", "func"):  # of class methods and properties
                inner = getattr(inner, inside, inner)
            ours = (getattr(inner, "__module__", None) or "").startswith("eigenlens")
            if ours and not name.startswith("_") and inspect.isroutine(inner):
                found[f"{owner}.{name}"] = inner
    return found


@cache
def made_pages():
    return made.pages()
