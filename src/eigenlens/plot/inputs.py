"""What a picture is made from: the model at the end of a pipeline, its table, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._text import count, listed, percent, unique
from ..measure.frames import column_names

__all__ = [
    "axis_name",
    "chosen",
    "given_names",
    "last_step",
    "names_of",
    "scores_of",
    "some_rows",
    "table_of",
    "weights_of",
]


def last_step(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """Return the fitted model at the end of a pipeline, and `X` as this model gets it.

    A model by itself is given back with `X` as it is, once their columns are known to match.
    """
    check_is_fitted(estimator)
    *before, model = _steps(estimator)
    if X is not None:
        _require_columns(estimator, X)
        for step in before:
            X = step.transform(X)
    return model, X


def names_of(estimator: Any, X: Any, names: Sequence[str] | None, d: int) -> list[str]:
    """Return the names of the `d` columns that the last step has seen.

    Those that are given; else those that the steps before it make of the names of the fit or of the
    frame `X`, which may be None; else x0, x1 and so on. No two are alike, and none is empty.
    """
    if names is not None:
        if len(names) != d:
            raise ValueError(
                f"names has {count(len(names), 'name')} for {count(d, 'column')}. Give one name "
                "for each column, in their order."
            )
        return unique(names)
    found = getattr(estimator, "feature_names_in_", None)
    if found is None and X is not None and hasattr(X, "columns"):
        found = column_names(X, d)
    for step in _steps(estimator)[:-1] if estimator is not None else ():
        found = _names_out(step, found)
    if found is None or len(found) != d:
        return [f"x{j}" for j in range(d)]
    return unique(found)


def given_names(estimator: Any, X: Any, names: Sequence[str] | None, d: int) -> list[str]:
    """Return the names of the `d` columns of `X` itself, before the first step of a pipeline."""
    found = getattr(estimator, "feature_names_in_", None) if names is None else names
    return names_of(None, X, found, d)


def chosen(components: Sequence[int] | None, k: int, model: Any, most: int) -> tuple[int, ...]:
    """Return the components to show, 0 for the first; by default the first ones, at most `most`."""
    if components is None:
        return tuple(range(min(k, most)))
    wanted = (components,) if isinstance(components, int) else tuple(components)
    if not wanted or not all(isinstance(j, (int, np.integer)) and 0 <= j < k for j in wanted):
        name = type(model).__name__
        raise ValueError(
            f"components={components!r} are not all among those of {name}, which has {k}: "
            f"{'0' if k == 1 else f'0 to {k - 1}'}. Choose among these, or fit {name} with more."
        )
    return tuple(int(j) for j in wanted)


def weights_of(model: Any) -> NDArray:
    """Return the weights of the columns in each component, a row for each."""
    weights = getattr(model, "components_", None)
    if weights is None:
        raise ValueError(
            f"{type(model).__name__} has no components_, the weights of columns. Take a linear "
            "method, such as PCA."
        )
    return np.atleast_2d(np.asarray(weights, dtype=np.float64))


def scores_of(model: Any, X: Any) -> NDArray:
    """Return the rows of `X` in the coordinates of the model.

    A model that places only the rows of its fit is asked for these, and `X` is its table.
    """
    if hasattr(model, "transform"):
        scores = model.transform(X)
    elif hasattr(model, "embedding_"):
        scores, n = model.embedding_, np.shape(X)[0]
        if len(scores) != n:
            raise ValueError(
                f"{type(model).__name__} places only the {count(len(scores), 'row')} of its fit, "
                f"and X has {n}. Give the table of the fit."
            )
    else:
        raise ValueError(
            f"{type(model).__name__} has neither transform nor embedding_, and gives rows no "
            "place. Take a method that does, such as PCA or MDS."
        )
    if sparse.issparse(scores):
        scores = scores.toarray()
    return np.asarray(scores, dtype=np.float64)


def axis_name(model: Any, j: int) -> str:
    """Return what to write on the axis of component `j`, with its share of the variance if known.

    >>> from eigenlens import PCA
    >>> axis_name(PCA(1).fit([[0, 0], [3, 1], [0, 2]]), 0)
    'component 1 (75.0 %)'
    """
    shares = getattr(model, "explained_variance_ratio_", None)
    if shares is not None:
        return f"component {j + 1} ({percent(float(shares[j]))})"
    # a place has dimensions, which mean nothing one by one
    return f"{'dimension' if hasattr(model, 'embedding_') else 'component'} {j + 1}"


def some_rows(X: Any, rows: Sequence[int]) -> Any:
    """Return these rows of `X`, a frame if it is one: a model may go by names of columns."""
    if hasattr(X, "iloc"):
        return X.iloc[list(rows)]
    return X[list(rows)] if hasattr(X, "shape") else np.asarray(X)[list(rows)]


def table_of(X: Any, names: Sequence[str] | None) -> tuple[NDArray, list[str]]:
    """Return the numbers of a table, with NaN where there is a hole, and the names of columns."""
    if sparse.issparse(X):
        X = X.toarray()
    try:
        A = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{_words(X)} cannot be drawn as numbers. Leave it out.") from None
    if A.ndim != 2 or not A.size:
        raise ValueError(
            f"X has shape {A.shape}. Give a table, with at least one row and one column."
        )
    return A, names_of(None, X, names, A.shape[1])


# ------------------------------------------------------------------------------------- parts


def _steps(estimator: Any) -> list[Any]:
    """Return the steps of a pipeline, or the model by itself."""
    steps = getattr(estimator, "steps", None)
    if steps is None:
        return [estimator]
    found = [step for _, step in steps if step is not None and step != "passthrough"]
    if not found:
        raise ValueError("The pipeline has no step to draw. Give one that ends with a model.")
    return found


def _require_columns(estimator: Any, X: Any) -> None:
    """Raise unless `X` is a table with as many columns as in the fit."""
    shape, d = np.shape(X), getattr(estimator, "n_features_in_", None)
    if len(shape) != 2:
        raise ValueError(f"X has shape {shape}. Give a table, with rows and columns.")
    if d not in (None, shape[1]):
        raise ValueError(
            f"X has {count(shape[1], 'column')}, and {type(estimator).__name__} was fitted to {d}. "
            "Give the table of the fit, or rows with the same columns."
        )


def _names_out(step: Any, names: Any) -> Any:
    """Return the names that a step gives its columns, or those before it if it gives none."""
    try:
        return step.get_feature_names_out(names)
    except (AttributeError, ValueError):  # it does not know, or was fitted to other names
        return names


def _words(X: Any) -> str:
    """Return which columns of a table hold words."""
    if not hasattr(X, "columns"):
        return "X holds words, which"
    words = [str(name) for name in X.columns if not _is_numeric(X[name])]
    return f"Column{'s' * (len(words) > 1)} {listed(words)} of X"


def _is_numeric(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True
