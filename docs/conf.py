"""Sphinx settings. What the pages list is made from the package: see ``made.py``."""

import re
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

sys.path.insert(0, str(Path(__file__).parent))

import made

import eigenlens

project = "eigenlens"
author = "The eigenlens developers"
copyright = "The eigenlens developers"
release = version = eigenlens.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_gallery.gen_gallery"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
included = ("claims", "relations", "drop_ins", "references")
exclude_patterns = ["_build", *(f"_generated/{name}.md" for name in included)]

html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_sidebars = {"index": []}
html_show_sourcelink = False
html_math_renderer = "mathml"
html_title = f"eigenlens {release}"

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's Parameters section says it in words
numpydoc_show_class_members = False

# In the order of a course: what comes first needs nothing of what comes later.
SECTIONS = "scaling", "pca", "sparse", "robust", "kernel", "nonnegative", "maps"
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "_generated/gallery",
    "subsection_order": [f"../examples/{name}" for name in SECTIONS],
    "filename_pattern": r"\.py$",  # all of them are run
    "abort_on_example_error": True,
    "capture_repr": (),  # what is printed is enough
    "backreferences_dir": "_generated/backreferences",
    "doc_module": ("eigenlens",),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}


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
    app.connect("builder-inited", lambda app: made.write())
    app.connect("autodoc-process-docstring", keep_underscores, priority=900)  # after numpydoc
    app.connect("autodoc-skip-member", skip_foreign)
