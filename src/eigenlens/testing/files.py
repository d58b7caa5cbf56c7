"""Layer 1, the way through the product: tables in blocks, model files, shell, report."""

from __future__ import annotations

import io
import json
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..cli._fitting import fit_to
from ..cli._methods import options
from ..cli._summary import show, summary
from ..data.blocks import WHOLE_BYTES, ArrayBlocks
from ..data.dask import DaskBlocks
from ..persist import load, save
from ..report.contents import section_of
from ..report.report import Report
from .register import Shape, layer1, require
from .tables import assert_close, changed, easy, ready, state


@layer1
def check_blocks(estimator: Any, shape: Shape) -> None:
    """Fitted to a table in blocks, small or large, a model is that of the array, with its names."""
    X = easy(estimator, shape)
    names = [f"column {j}" for j in range(shape[1])]
    params = type(estimator).on_blocks or {}
    scores = ready(estimator, **params).fit(X).transform(X)
    for size in (X.nbytes, WHOLE_BYTES + 1):
        table = ArrayBlocks(X, names)
        table.nbytes, table._rows = size, max(1, len(X) // 7)
        model = ready(estimator, **params).fit(table)
        require(list(model.feature_names_in_) == names, "the names of the columns were lost")
        assert_close(scores, model.transform(table), 1e-9, "scores of a table in blocks")
        turned = ArrayBlocks(X[:, ::-1], names[::-1])
        assert_close(scores, model.transform(turned), 1e-9, "scores of columns in another order")


@layer1
def check_dask(estimator: Any, shape: Shape) -> None:
    """Fitted to a Dask array, a model is that of the array, or it says why that cannot be.

    What it says of rows, it says lazily, chunk by chunk.
    """
    if not find_spec("dask"):
        return
    dask, da = import_module("dask"), import_module("dask.array")
    X = easy(estimator, shape)
    n, params = len(X), type(estimator).on_blocks or {}
    model, dense = ready(estimator, **params), ready(estimator, **params).fit(X)
    D = da.from_array(X, chunks=((1, n // 3, n - 1 - n // 3), shape[1]))
    with dask.config.set(scheduler="synchronous"):
        if model._fits_blocks(DaskBlocks(D)):
            model.fit(D)
        else:
            _require_refusal(model, D)
            model = dense
        scores = model.transform(D)
        require(isinstance(scores, da.Array), "what it says of Dask rows is not lazy")
        assert_close(dense.transform(X), scores.compute(), 1e-9, "scores of a Dask array")


def _require_refusal(model: Any, D: Any) -> None:
    try:
        model.fit(D)
    except ValueError as error:
        require("in one place" in str(error), f"it does not say what is wrong: {error}")
    else:
        require(False, "it took a Dask array, of which it does not say how")


@layer1
def check_command_line(estimator: Any, shape: Shape) -> None:
    """The command line has an option for every parameter, fits a table, and can say what it did."""
    X = easy(estimator, shape)
    params = estimator.get_params(deep=False)
    missing = set(params) - set(options(type(estimator))) - {"random_state"}
    require(not missing, f"no option for {', '.join(sorted(missing))}")
    table = ArrayBlocks(X, [f"[b]column[/b] {j}" for j in range(shape[1])])
    model = fit_to(ready(estimator), table, "none", None)
    said = summary(model)
    require(json.loads(json.dumps(said)) == said, "the summary does not survive JSON")
    require(said["method"] == type(estimator).__name__, f"the summary is of a {said['method']}")
    page = io.StringIO()
    show(said, Console(file=page, width=80))
    require(said["method"] in page.getvalue(), "the printed summary does not name the method")


@layer1
def check_report(estimator: Any, shape: Shape) -> None:
    """The report has a section on it, made from what it has, that survives JSON."""
    X = easy(estimator, shape)
    names = tuple(f"<b>column</b> {j}" for j in range(shape[1]))
    name = type(estimator).__name__
    section = section_of(ready(estimator), X, names)
    require(not section["error"], f"the fit for the report failed: {section['error']}")
    require(section["summary"] != "", "its docstring has no first line to say what it finds")
    require(json.loads(json.dumps(section, allow_nan=False)) == section, "it does not survive JSON")
    if find_spec("plotly"):
        around = Report.of(X, names=names, methods=(), n_components=2)
        page = Report(around.data | {"methods": [section]}).to_html()
        require(name in page, "the page does not name it")
        require("<b>column</b>" not in page, "the page takes a name for a tag")


@layer1
def check_save_and_load(estimator: Any, shape: Shape) -> None:
    """Saved and loaded, a model is the same to the bit: unfitted, fitted, and in a pipeline."""
    X = easy(estimator, shape)
    _require_same(ready(estimator), "an unfitted estimator")
    model = ready(estimator).fit(X)
    again = _require_same(model, "a model")
    _require_same_scores(model, again, X, "model")
    scaler = StandardScaler(with_mean=False)  # data that must not be negative stay so
    pipeline = make_pipeline(scaler, ready(estimator)).fit(X)
    again = _travelled(pipeline)
    names = changed(state(pipeline[-1]), state(again[-1]))
    require(not names, f"in a loaded pipeline the model differs in {', '.join(names)}")
    _require_same_scores(pipeline, again, X, "pipeline")


def _require_same(model: Any, what: str) -> Any:
    """Return `model` as it comes out of a file, after comparing it with what went in."""
    before = state(model)
    again = _travelled(model)
    names = changed(before, state(model))
    require(not names, f"to save {what} changed {', '.join(names)}")
    names = changed(before, state(again))
    require(not names, f"{what}, saved and loaded, differs in {', '.join(names)}")
    return again


def _require_same_scores(model: Any, again: Any, X: Any, what: str) -> None:
    same = np.array_equal(model.transform(X), again.transform(X))
    require(same, f"a loaded {what} has other scores")


def _travelled(model: Any) -> Any:
    """Return `model` as it comes out of a file."""
    kind = type(model[-1] if hasattr(model, "steps") else model)
    with tempfile.TemporaryDirectory() as folder:
        path = save(model, Path(folder, "model.skops"))
        return load(path, trusted=[f"{kind.__module__}.{kind.__name__}"])
