"""Layer 1, the same numbers whichever way the same data come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from .compare import fitted
from .register import Shape, layer1, require
from .tables import (
    assert_close,
    assert_same_fit,
    easy,
    formats,
    no_warnings,
    precision,
    ready,
    sparse_table,
    takes_sparse,
)

SINGLE = 1e-4  # float32's 6e-8, times the sums in a fit and the gaps of the easy table


@layer1
def check_fit_transform_is_fit_then_transform(estimator: Any, shape: Shape) -> None:
    """Scores of the training data are those of the same rows seen as new data."""
    X = easy(estimator, shape)
    model, other = ready(estimator), ready(estimator)
    scores = model.fit_transform(X)
    tolerance = precision(other.fit(X))
    assert_close(other.transform(X), scores, tolerance, "fit_transform against fit, transform")
    assert_same_fit(other, model, tolerance, "the model after fit_transform against fit")


@layer1
def check_transform_is_row_by_row(estimator: Any, shape: Shape) -> None:
    """Scores of a row do not depend on the rows beside it."""
    X = easy(estimator, shape)
    model = ready(estimator).fit(X)
    scores = model.transform(X)
    shuffled = np.random.default_rng(0).permutation(len(X))
    parts: dict[str, Any] = {
        "one row": [3],
        "every other row": slice(None, None, 2),
        "shuffled rows": shuffled,
    }
    for what, rows in parts.items():
        assert_close(scores[rows], model.transform(X[rows]), 1e-10, f"scores of {what} alone")


@layer1
def check_float32_in_and_out(estimator: Any, shape: Shape) -> None:
    """float32 data give float32 answers that agree with those of float64."""
    X32 = easy(estimator, shape).astype(np.float32)
    single, double = ready(estimator).fit(X32), ready(estimator).fit(X32.astype(np.float64))
    for dtype, model in ((np.float32, single), (np.float64, double)):
        scores = model.transform(X32.astype(dtype))
        require(scores.dtype == dtype, f"{dtype.__name__} data, but {scores.dtype} scores")
        for name in fitted(model):
            value = getattr(model, name)
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and "history" not in name:
                require(value.dtype == dtype, f"{dtype.__name__} data, but {value.dtype} {name}")
    assert_same_fit(double, single, SINGLE, "float32 against float64")
    assert_close(double.transform(X32), single.transform(X32), SINGLE, "float32 scores")


@layer1
def check_memory_order(estimator: Any, shape: Shape) -> None:
    """How X lies in memory does not matter."""
    X = easy(estimator, shape)
    reference = ready(estimator).fit(X)
    spread = np.full((2 * shape[0], 3 * shape[1]), np.nan)
    spread[::2, 1::3] = X
    views = {
        "Fortran order": np.asfortranarray(X),
        "a strided view": spread[::2, 1::3],
        "rows stored backwards": X[::-1].copy()[::-1],
        "columns stored backwards": X[:, ::-1].copy()[:, ::-1],
    }
    for what, view in views.items():
        model = ready(estimator).fit(view)
        tolerance = precision(reference, model)
        assert_same_fit(reference, model, tolerance, f"{what} against C order")
        assert_close(reference.transform(X), model.transform(view), tolerance, f"scores of {what}")


@layer1
def check_sparse_equals_dense(estimator: Any, shape: Shape) -> None:
    """Sparse X of any format gives what its dense copy gives, or is refused by name."""
    X = sparse_table(estimator, shape)
    if not takes_sparse(estimator):
        _check_refused(estimator, X)
        return
    reference = ready(estimator).fit(X)
    for what, S in formats(X):
        model = ready(estimator).fit(S)
        tolerance = precision(reference, model)
        assert_same_fit(reference, model, tolerance, f"{what} against dense")
        assert_close(reference.transform(X), model.transform(S), tolerance, f"scores of {what}")


def _check_refused(estimator: Any, X: NDArray) -> None:
    try:
        ready(estimator).fit(sparse.csr_array(X))
    except (TypeError, ValueError) as error:
        require("parse" in str(error), f"the error on sparse X does not say so: {error}")
    else:
        raise AssertionError("sparse X is taken, but the sparse tag says it is not")


@layer1
def check_constant_columns_and_repeated_rows(estimator: Any, shape: Shape) -> None:
    """They hold nothing to be found, and do no harm."""
    X = easy(estimator, shape)
    with_constants = X.copy()
    with_constants[:, 0], with_constants[:, 1] = 0.0, 1e4
    tables = {
        "constant columns": with_constants,
        "repeated columns": np.hstack([X, X[:, :2]]),
        "repeated rows": np.repeat(X[: max(4, len(X) // 2)], 2, axis=0),
    }
    for what, table in tables.items():
        with no_warnings(what):
            model = ready(estimator).fit(table)
            scores = model.transform(table)
        require(bool(np.isfinite(scores).all()), f"{what} gave scores that are not finite")
        for name in fitted(model):
            value = getattr(model, name)
            if isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind == "f":
                require(bool(np.isfinite(value).all()), f"{what} gave {name} that is not finite")


@layer1
def check_threads_do_not_matter(estimator: Any, shape: Shape) -> None:
    """One thread or many: the answer is the same up to rounding, or to its certificate."""
    X = easy(estimator, shape)
    with threadpool_limits(1):
        one = ready(estimator).fit(X)
        scores = one.transform(X)
    with threadpool_limits(4):
        many = ready(estimator).fit(X)
        assert_close(scores, many.transform(X), precision(one, many), "scores by many threads")
    assert_same_fit(one, many, precision(one, many), "many threads against one")
