"""Fitted models as ONNX graphs, which other languages and devices run without Python.

A model that can be written is a chain of a few operations on rows: shifts, scales, a product with a
matrix. They are written out as nodes, in the order in which the model does them, so that digits are
lost nowhere else: means are subtracted before the product, not folded into it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn import preprocessing
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._compat import optional
from ..data import scalers
from ..data.atomic import atomic, require_replaceable
from ..estimators.incremental_pca import IncrementalPCA
from ..estimators.mini_batch_sparse_pca import MiniBatchSparsePCA
from ..estimators.pca import PCA
from ..estimators.sparse_pca import SparsePCA

__all__ = ["export_onnx"]

OPSET, IR = 18, 10  # not the newest, so that runtimes of some years know them
INPUT, OUTPUT = "X", "transformed"


def export_onnx(
    model: Any,
    path: str | os.PathLike[str],
    *,
    dtype: Literal["float64", "float32"] | None = None,
) -> Path:
    """Write the `transform` of a fitted model as an ONNX file.

    The graph has the input ``X``, any number of rows, and the output ``transformed``. Its metadata
    have ``feature_names_in`` and ``feature_names_out``, as lists in JSON. The file is written whole
    or not at all. The extra ``onnx`` is needed.

    Parameters
    ----------
    model : estimator
        Fitted: PCA or IncrementalPCA, whitened or not, SparsePCA or MiniBatchSparsePCA, a scaler
        (StandardScaler, MinMaxScaler, RobustScaler, Normalizer, of eigenlens or of scikit-learn),
        or a Pipeline of these. Rows with holes come out as NaN.
    path : str or path-like
        Ends in ``.onnx``.
    dtype : {'float64', 'float32'}, optional
        Of the numbers in and out. None: that of the data of the fit, where the model has components
        to tell, else float64.

    Returns
    -------
    Path

    Raises
    ------
    TypeError
        If the model is none of these.
    ImportError
        If the package ``onnx`` is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import onnxruntime
    >>> from eigenlens import PCA, export_onnx
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> pca = PCA(n_components=2).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = export_onnx(pca, Path(folder, "pca.onnx"))
    ...     session = onnxruntime.InferenceSession(path)
    >>> np.allclose(session.run(None, {"X": X})[0], pca.transform(X))
    True
    """
    onnx = optional("onnx", "onnx")
    path = Path(path)
    if path.suffix != ".onnx":
        raise ValueError(
            f"{path} does not end in .onnx, as an ONNX file does. "
            f"Write to {path.with_suffix('.onnx')}."
        )
    require_replaceable(path)
    steps = list(_steps(model))
    check_is_fitted(model, "n_features_in_")
    kind = np.dtype(dtype or _dtype_of(steps))
    if kind not in (np.float64, np.float32):
        raise ValueError(f"dtype={dtype!r} is not one of 'float64', 'float32' and None.")
    graph = _Graph(onnx, kind)
    for step in steps:
        EXPORTED[type(step)](step, graph)
    content = graph.content(model)
    with atomic(path) as temporary:
        temporary.write_bytes(content)
    return path


def _steps(model: Any) -> Iterator[Any]:
    """Yield the estimators that a model consists of, or say which of them has no operations."""
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            if step not in (None, "passthrough"):
                yield from _steps(step)
    elif type(model) in EXPORTED:
        yield model
    else:
        known = dict.fromkeys(kind.__name__ for kind in EXPORTED)
        raise TypeError(
            f"{type(model).__name__} cannot be written as ONNX, where transform must be a chain of "
            f"shifts, scales and a product. Export one of {', '.join(known)}, or a Pipeline of "
            "these."
        )


def _dtype_of(steps: list[Any]) -> Any:
    """Return the dtype that the last of the steps with components was fitted in."""
    found = [step.components_.dtype for step in steps if hasattr(step, "components_")]
    return found[-1] if found else np.float64


class _Graph:
    """A graph that grows, node by node, from the rows that come in."""

    def __init__(self, onnx: Any, dtype: np.dtype) -> None:
        self.onnx, self.dtype = onnx, dtype
        self.rows = INPUT  # name of what the rows are by now
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def then(self, operator: str, value: Any) -> None:
        """Let an operator on the rows and a constant follow."""
        self.rows = self.node(operator, self.rows, self.constant(value, self.dtype))

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node, and return the name of what comes out of it."""
        name = f"{operator}_{len(self._nodes)}"
        self._nodes.append(self.onnx.helper.make_node(operator, inputs, [name], **attributes))
        return name

    def constant(self, value: Any, dtype: Any) -> str:
        """Add an array, and return its name."""
        name = f"constant_{len(self._constants)}"
        array = np.ascontiguousarray(np.asarray(value).astype(dtype))
        self._constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def content(self, model: Any) -> bytes:
        """Return the bytes of a file with the graph as it is, and with the names of the columns."""
        helper = self.onnx.helper
        self._nodes.append(helper.make_node("Identity", [self.rows], [OUTPUT]))
        names = [str(name) for name in model.get_feature_names_out()]
        element = helper.np_dtype_to_tensor_dtype(self.dtype)
        table = [
            helper.make_tensor_value_info(name, element, ["rows", columns])
            for name, columns in ((INPUT, model.n_features_in_), (OUTPUT, len(names)))
        ]
        graph = helper.make_graph(
            self._nodes, "transform", table[:1], table[1:], initializer=self._constants
        )
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR,
            producer_name="eigenlens",
            producer_version=version("eigenlens"),
        )
        known = getattr(model, "feature_names_in_", range(model.n_features_in_))
        names_in = [name if isinstance(name, str) else f"x{name}" for name in known]
        about = {"feature_names_in": names_in, "feature_names_out": names}
        helper.set_model_props(made, {key: json.dumps(value) for key, value in about.items()})
        self.onnx.checker.check_model(made, full_check=True)
        return bytes(made.SerializeToString(deterministic=True))


# ------------------------------------------------------------------------------ what each step does


def _components(model: Any, graph: _Graph) -> None:
    graph.then("Sub", model.mean_)
    graph.then("MatMul", model.components_.T)
    if model.whiten:
        graph.then("Div", model._scale())


def _sparse_components(model: Any, graph: _Graph) -> None:
    graph.then("Sub", model.mean_)
    graph.then("MatMul", model._weights())


def _standard(model: Any, graph: _Graph) -> None:
    if model.with_mean:
        graph.then("Sub", model.mean_)
    if model.with_std:
        graph.then("Div", model.scale_)


def _min_max(model: Any, graph: _Graph) -> None:
    graph.then("Mul", model.scale_)
    graph.then("Add", model.min_)
    if model.clip:
        low, high = model.feature_range
        graph.then("Max", low)
        graph.then("Min", high)


def _robust(model: Any, graph: _Graph) -> None:
    if model.with_centering:
        graph.then("Sub", model.center_)
    if model.with_scaling:
        graph.then("Div", model.scale_)


def _normalizer(model: Any, graph: _Graph) -> None:
    across = graph.constant([1], np.int64)
    if model.norm == "l2":
        squares = graph.node("Mul", graph.rows, graph.rows)
        lengths = graph.node("Sqrt", graph.node("ReduceSum", squares, across))
    else:
        reduce = {"l1": "ReduceSum", "max": "ReduceMax"}[model.norm]
        lengths = graph.node(reduce, graph.node("Abs", graph.rows), across)
    # rows as short as this are rows of zeros to scikit-learn, and stay as they are
    least = graph.constant(10 * np.finfo(graph.dtype).eps, graph.dtype)
    short = graph.node("Less", lengths, least)
    divisors = graph.node("Where", short, graph.constant(1.0, graph.dtype), lengths)
    graph.rows = graph.node("Div", graph.rows, divisors)


EXPORTED: dict[type, Callable[[Any, _Graph], None]] = {
    PCA: _components,
    IncrementalPCA: _components,
    SparsePCA: _sparse_components,
    MiniBatchSparsePCA: _sparse_components,
    scalers.StandardScaler: _standard,
    scalers.MinMaxScaler: _min_max,
    scalers.RobustScaler: _robust,
    scalers.Normalizer: _normalizer,
    preprocessing.StandardScaler: _standard,
    preprocessing.MinMaxScaler: _min_max,
    preprocessing.RobustScaler: _robust,
    preprocessing.Normalizer: _normalizer,
}
"""What can be written, by its very type: a subclass may do something else."""
