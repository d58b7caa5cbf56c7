"""Pages that are made from the package itself, so that nothing is listed twice."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import sklearn.decomposition
import sklearn.manifold
import sklearn.preprocessing
from numpydoc.docscrape import NumpyDocString

import eigenlens
from eigenlens._claims import CLAIMS, RELATIONS
from eigenlens._register import classes

GENERATED = Path(__file__).parent / "_generated"
ROOMS = "estimators", "select", "measure", "plot", "solvers", "ops", "datasets"
PEERS = sklearn.decomposition, sklearn.manifold, sklearn.preprocessing


def pages():
    """Return the text of every made page by its name."""
    names = list(eigenlens.__all__)
    return {
        "api.rst": api(names),
        **{f"api/{name}.rst": reference_page(name) for name in names},
        "claims.md": table(("claim", "promise"), CLAIMS.items()),
        "relations.md": relations(),
        "drop_ins.md": drop_ins(),
        "references.md": references(),
    }


def write():
    """Write only what changed, so that Sphinx rebuilds only that."""
    for name, text in pages().items():
        path = GENERATED / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


# ------------------------------------------------------------------------------------- reference


def heading(text):
    return f"{text}\n{'=' * len(text)}\n\n"


def api(names):
    return heading("API reference") + ".. toctree::\n\n" + "".join(f"   api/{n}\n" for n in names)


def reference_page(name):
    """Return the reference page of one public name, with the examples that use it."""
    value = getattr(eigenlens, name)
    if inspect.ismodule(value):
        kind, options = "module", "   :members:\n"
    elif inspect.isclass(value):
        kind, options = "class", "   :members:\n   :inherited-members:\n"
    else:
        kind, options = "function", ""
    target = f"eigenlens.{name}"
    text = heading(name) + f".. currentmodule:: eigenlens\n\n.. auto{kind}:: {target}\n{options}"
    if kind == "module":
        return text
    return text + f"\n.. minigallery:: {target}\n   :add-heading: In the gallery\n"


def references():
    """Return what the docstrings refer to, by the name that refers to it."""
    lines = []
    for room in ROOMS:
        for name, value in sorted(public(importlib.import_module(f"eigenlens.{room}")).items()):
            cited = NumpyDocString(inspect.getdoc(value) or "")["References"]
            text = " ".join(" ".join(cited).split())
            if text:
                lines.append(f"`{name}`\n: {text}\n\n")
    return "".join(lines)


def public(room):
    """Return the functions and classes of a room by name; a solver by that of its file."""
    found = {}
    for info in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if getattr(value, "__module__", None) == info.name and callable(value):
                short = info.name.removeprefix("eigenlens.")
                found[f"{short}.{name}" if room.__name__.endswith("solvers") else name] = value
    return found


# --------------------------------------------------------------------------------------- methods


def relations():
    """Return a table of which method claims to move with the data in which way."""
    names = [name.replace("_", " ") for name in RELATIONS]
    kept = [
        (f"`{name}`", *("yes" if one in method.claims else "" for one in RELATIONS))
        for name, method in classes().items()
    ]
    return table(("method", *names), kept)


def drop_ins():
    """Return a table of the classes that scikit-learn has too, and of what ours add to them."""
    rows = []
    for name in eigenlens.__all__:
        ours, theirs = getattr(eigenlens, name), peer(name)
        if not inspect.isclass(ours) or theirs is None:
            continue
        own = [one for one in parameters(ours) if one not in parameters(theirs)]
        plumbing = ("_", "set_", "get_")
        more = set(dir(ours)) - set(dir(theirs))
        methods = [one for one in more if callable(getattr(ours, one))]
        methods = [one for one in methods if not one.startswith(plumbing)]
        rows.append(
            (
                f"[`{name}`](_generated/api/{name}.rst)",
                f"`{theirs.__module__.rpartition('.')[0]}`",
                ", ".join(f"`{one}`" for one in own),
                ", ".join(f"`{one}`" for one in sorted(methods)),
            )
        )
    return table(("class", "stands in for that of", "parameters besides", "methods besides"), rows)


def peer(name):
    """Return scikit-learn's class of this name, or None."""
    return next((getattr(module, name) for module in PEERS if hasattr(module, name)), None)


def parameters(value):
    return list(inspect.signature(value.__init__).parameters)[1:]
