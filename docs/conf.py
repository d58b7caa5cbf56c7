"""Sphinx settings. The API pages are made from the register: there is no second list."""

import inspect
import re
from pathlib import Path

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

import eigenlens
from eigenlens._claims import CLAIMS, RELATIONS
from eigenlens._register import classes

project = "eigenlens"
author = "The eigenlens developers"
copyright = "The eigenlens developers"
release = version = eigenlens.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
myst_enable_extensions = ["dollarmath"]
exclude_patterns = ["_build", "_generated/claims.md", "_generated/relations.md"]

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"eigenlens {release}"

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's Parameters section says it in words
numpydoc_show_class_members = False

HERE = Path(__file__).parent
GENERATED = HERE / "_generated"


def heading(text, line="="):
    return f"{text}\n{line * len(text)}\n\n"


def page(name):
    """The reference page of one public name."""
    value = getattr(eigenlens, name)
    if inspect.ismodule(value):
        kind, options = "module", "   :members:\n"
    elif inspect.isclass(value):
        kind, options = "class", "   :members:\n   :inherited-members:\n"
    else:
        kind, options = "function", ""
    target = f"eigenlens.{name}"
    return heading(name) + f".. currentmodule:: eigenlens\n\n.. auto{kind}:: {target}\n{options}"


def write(path, text):
    """Write only what changed, so that Sphinx rebuilds only that."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_pages(app):
    names = list(eigenlens.__all__)
    toc = "".join(f"   api/{name}\n" for name in names)
    write(GENERATED / "api.rst", heading("API reference") + f".. toctree::\n\n{toc}")
    for name in names:
        write(GENERATED / "api" / f"{name}.rst", page(name))
    rows = "".join(f"| {name} | {text} |\n" for name, text in CLAIMS.items())
    write(GENERATED / "claims.md", "| claim | promise |\n|---|---|\n" + rows)
    write(GENERATED / "relations.md", relations())


def relations():
    """Return a table of which method claims to move with the data in which way."""
    names = " | ".join(name.replace("_", " ") for name in RELATIONS)
    lines = [f"| method | {names} |", "|---" * (len(RELATIONS) + 1) + "|"]
    for name, method in classes().items():
        kept = " | ".join("yes" if one in method.claims else "" for one in RELATIONS)
        lines.append(f"| `{name}` | {kept} |")
    return "\n".join(lines) + "\n"


def formula(display):
    """Write formulas as MathML, which browsers show by themselves: MathJax would need a network."""

    def visit(translator, node):
        translator.body.append(convert(node.astext(), display=display))
        raise SkipNode

    return visit, None


def skip_foreign(app, what, name, obj, skip, options):
    """Leave out what comes from scikit-learn: its docstrings refer to pages that are not here."""
    module = getattr(obj, "__module__", None) or ""
    return True if module.startswith("sklearn") else None


def keep_underscores(app, what, name, obj, options, lines):
    """Let docstrings say n_components_ without backticks: to Sphinx that would be a link."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[i] = re.sub(r"(`+.*?`+_*)|\b(\w+)_(?![\w{])", escaped, line)


def escaped(match):
    quoted, word = match.groups()
    return quoted or f"{word}\\_"


def setup(app):
    app.add_html_math_renderer("mathml", formula("inline"), formula("block"))
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", keep_underscores, priority=900)  # after numpydoc
    app.connect("autodoc-skip-member", skip_foreign)
