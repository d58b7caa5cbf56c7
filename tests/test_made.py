"""Pages of the documentation that are made from the package."""

import inspect
import os
import re

from documents import made, made_pages, public
from numpydoc.docscrape import NumpyDocString

import eigenlens
from eigenlens._claims import RELATIONS
from eigenlens._register import classes


def cells(text):
    """Return the rows of a table in Markdown, without its head, by their first cell."""
    head, rule, *rows = [[cell.strip() for cell in line.split(" | ")] for line in text.splitlines()]
    assert {len(row) for row in (head, rule, *rows)} == {len(head)}
    return {row[0].removeprefix("| "): row[1:] for row in rows}


def test_drop_ins_are_the_classes_that_scikit_learn_has_too():
    found = cells(made_pages()["drop_ins.md"])
    kinds = {name: getattr(eigenlens, name) for name in eigenlens.__all__}
    shared = {name for name, kind in kinds.items() if inspect.isclass(kind) and made.peer(name)}
    assert set(found) == {f"[`{name}`](_generated/api/{name}.rst)" for name in shared}
    assert {"PCA", "NMF", "TSNE", "StandardScaler"} <= shared
    assert shared.isdisjoint({"RobustPCA", "VectorQuantizer", "smacof", "plot"})
    origin, extra, more = found["[`NMF`](_generated/api/NMF.rst)"]
    assert origin == "`sklearn.decomposition`"
    assert "`missing`" in extra
    assert "`n_components`" not in extra
    assert "`impute`" in more
    assert "`transform`" not in more
    for row, (_, _, more) in found.items():
        kind = getattr(eigenlens, re.search(r"`(\w+)`", row)[1])
        for name in re.findall(r"`(\w+)`", more):
            assert callable(getattr(kind, name)), f"{name} is no method of {kind.__name__}"


def test_relations_are_those_that_methods_claim():
    found = cells(made.relations())
    assert list(found) == [f"`{name}`" for name in classes()]
    for name, method in classes().items():
        kept = [bool(cell.strip(" |")) for cell in found[f"`{name}`"]]
        assert kept == [relation in method.claims for relation in RELATIONS], name


def test_references_are_those_of_docstrings_each_once():
    text = made_pages()["references.md"]
    names = re.findall(r"^`([\w.]+)`\n: ", text, re.MULTILINE)
    assert len(names) == len(set(names)) == text.count("\n\n")
    assert {"SparsePCA", "bootstrap", "planted_pursuit", "parallel"} <= set(names)
    cited = dict(zip(names, text.split("\n\n"), strict=False))
    assert "Regression shrinkage" not in cited["bootstrap"]
    assert "An Introduction to the Bootstrap, Chapman and Hall (1993)" in cited["bootstrap"]
    for name, value in public().items():
        if not inspect.ismodule(value) and NumpyDocString(inspect.getdoc(value))["References"]:
            assert value.__name__ in names, f"{name} cites what is on no page"


def test_every_public_name_has_a_page_that_is_listed():
    pages = made_pages()
    listed = re.findall(r"^   api/(\w+)$", pages["api.rst"], re.MULTILINE)
    assert listed == list(eigenlens.__all__)
    assert {name for name in pages if name.startswith("api/")} == {f"api/{n}.rst" for n in listed}
    assert ".. autoclass:: eigenlens.PCA\n" in pages["api/PCA.rst"]
    assert ".. autofunction:: eigenlens.compare\n" in pages["api/compare.rst"]
    assert ".. automodule:: eigenlens.measure\n" in pages["api/measure.rst"]


def test_only_what_changed_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(made, "GENERATED", tmp_path)
    monkeypatch.setattr(made, "pages", lambda: {"a.md": "new", "api/b.rst": "old"})
    old = tmp_path / "api/b.rst"
    old.parent.mkdir()
    old.write_text("old")
    os.utime(old, ns=(1, 1))
    made.write()
    assert (tmp_path / "a.md").read_text() == "new"
    assert old.stat().st_mtime_ns == 1
