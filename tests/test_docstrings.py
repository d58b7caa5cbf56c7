"""Docstrings: every public name says what it does, with an example that runs."""

import dataclasses
import doctest
import inspect
import re
from pathlib import Path

from documents import methods, none_of, public
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate


def test_public_names_have_a_docstring_and_an_example_that_runs():
    """What they print is tested where they are: pytest collects the doctests of src."""
    find = doctest.DocTestFinder(recurse=False).find
    skipped = doctest.OPTIONFLAGS_BY_NAME["SKIP"]
    faults = []
    for name, value in public().items():
        shown = [one for test in find(value, name) for one in test.examples]
        if not value.__doc__:
            faults.append(f"{name} has no docstring")
        elif not shown:
            faults.append(f"{name} has no example")
        elif inspect.isroutine(value) and not any(f"{value.__name__}(" in e.source for e in shown):
            faults.append(f"{name} has no example that calls it")
        elif any(one.options.get(skipped) for one in shown):
            faults.append(f"{name} has an example that is skipped")
        if not inspect.ismodule(value) and "\nExamples\n---" not in (inspect.getdoc(value) or ""):
            faults.append(f"{name} has no section of examples")
        elif Path(inspect.getsourcefile(value)).suffix != ".py":
            faults.append(f"{name} is in no file that pytest collects")
    none_of(faults)


def test_public_methods_have_a_docstring():
    assert "eigenlens.PCA.transform" in methods()
    assert "eigenlens.PCA.choose_solver" in methods()
    none_of(f"{name} has no docstring" for name, value in methods().items() if not value.__doc__)


EXCUSED = {
    "ES01": "one sentence, if it says it all",
    "SA01": "other methods are named where they are compared, in a sentence",
    "PR04": "what means the same as in another place has no type, but the name of that place",
    "RT03": "the first line says what is returned, and the section of what type it is",
}
OF_METHODS = {
    "EX01": "the example of the class shows how its methods are called",
    "PR07": "what X, y and ax are is said by their type, the same in all classes",
    "RT01": "most are one line that begins with `Return`",
}


def test_public_docstrings_say_what_numpydoc_asks_for():
    """Parameters, sections, summaries: every check of numpydoc's, but for those excused."""
    faults = []
    for name, value in (public() | methods()).items():
        if inspect.ismodule(value):
            continue
        excused = EXCUSED | (OF_METHODS if name in methods() else {})
        fields = dataclasses.is_dataclass(value)  # their parameters are their attributes
        # by the module it is written in: `eigenlens.select.minka` would be that of the function
        for code, message in validate(f"{value.__module__}.{value.__qualname__}")["errors"]:
            if code not in excused and not (fields and code == "PR01"):
                faults.append(f"{name}: {code} {message}")
        if fields:
            faults += [f"{name}: no word on {missing}" for missing in unnamed_fields(value)]
    none_of(faults)


def unnamed_fields(value):
    """Return the fields of a dataclass that its docstring does not name."""
    text = NumpyDocString(inspect.getdoc(value))
    parts = [*text["Parameters"], *text["Attributes"]]
    named = {name for part in parts for name in re.split(r",\s*", part.name)}
    fields = [field.name for field in dataclasses.fields(value) if field.init]
    return [name for name in fields if name not in named and not name.startswith("_")]
