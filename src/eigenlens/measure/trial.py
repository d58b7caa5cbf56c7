"""A method fitted to a table, whatever happens on the way.

A report and a comparison fit many methods to one table. Each gets the table as it can take it, and
what goes wrong with one is part of the answer.
"""

from __future__ import annotations

import inspect
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from .._register import Method
from .._text import clean, short

__all__ = ["LONGEST", "Fit", "components_of", "fit_one", "made"]

LONGEST = 300  # letters of an error or a warning
NEIGHBOURS = ("perplexity", "n_neighbors")  # parameters that are numbers of neighbours
PLANE = 2  # components of methods that are for looking at
SETTINGS = {"KernelPCA": {"kernel": "rbf", "gamma": "median"}}
"""Of methods whose own defaults are another method: with the linear kernel, it is PCA."""
RAISED = "It takes nothing below zero, and was fitted to each column less its least value."


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A method and how its fit went.

    Attributes
    ----------
    name : str
        Of the register.
    model : Estimator
        Fitted, unless `error` says why not.
    scores : ndarray or None
        The rows in the coordinates of the model.
    filled : bool
        Whether holes had to be filled for it.
    seconds : float
    warnings : tuple of str
    error : str
    raised : bool
        Whether columns were raised above zero for it.
    """

    name: str
    model: Any
    scores: NDArray | None
    filled: bool
    seconds: float
    warnings: tuple[str, ...]
    error: str = ""
    raised: bool = False


def components_of(method: Method, wanted: int, y: NDArray | None) -> tuple[int, str]:
    """Return how many of the components that are wanted a method can have, and why if fewer."""
    if method.plane and wanted != PLANE:
        return PLANE, "it is for looking at"
    if method.supervised and y is not None and 1 <= len(np.unique(y)) - 1 < wanted:
        return len(np.unique(y)) - 1, "classes less one"
    return wanted, ""


def made(method: Method, n_components: int, random_state: Any, n_samples: int) -> Any:
    """Return an unfitted model of a method, that is to find so many components in so many rows.

    Of few rows, no row is asked for more neighbours than a third of them.
    """
    wanted = {"n_components": n_components, "random_state": random_state}
    wanted |= SETTINGS.get(method.name, {})
    kind = method.load()
    taken = inspect.signature(kind).parameters
    most = max(1, (n_samples - 1) // 3)
    usual = {name: taken[name].default for name in NEIGHBOURS if name in taken}
    # None is a rule of the method's own, for as many rows as there are
    wanted |= {name: most for name, k in usual.items() if isinstance(k, int | float) and k > most}
    return kind(**{key: value for key, value in wanted.items() if key in taken})


def fit_one(name: str, model: Any, X: NDArray, filled: NDArray, y: Any = None) -> Fit:
    """Fit a method to a table with its holes if it takes them, else to the same table filled.

    A method that takes nothing below zero sees each column from its least value on. The target `y`
    goes to methods that ask for one.
    """
    tags = model.__sklearn_tags__()
    holes = X is not filled
    takes_holes = tags.input_tags.allow_nan
    X = X if takes_holes else filled
    raised = bool(tags.input_tags.positive_only and np.nanmin(X) < 0)
    if raised:
        X = X - np.nanmin(X, axis=0)
    fit = _fit(name, model, X, y if tags.target_tags.required else None)
    said = (RAISED, *fit.warnings) if raised else fit.warnings
    return replace(fit, filled=holes and not takes_holes, raised=raised, warnings=said)


def _fit(name: str, model: Any, X: NDArray, y: Any) -> Fit:
    """Fit a model; what goes wrong is part of the answer, not the end of it all."""
    scores, error, seconds = None, "", 0.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        try:
            if model.__sklearn_tags__().target_tags.required:
                _require_target(name, model, y)
            model.fit(X) if y is None else model.fit(X, y)
            seconds = time.perf_counter() - start
            scores = _scores(model, X)
        except Exception as failure:  # any method of anybody: one of them must not stop the others
            error = short(clean(str(failure) or type(failure).__name__), LONGEST)
    said = dict.fromkeys(short(clean(warning.message), LONGEST) for warning in caught)
    return Fit(name, model, scores, False, seconds, tuple(said), error)


def _require_target(name: str, model: Any, y: Any) -> None:
    """Raise unless there is a target of the kind that a method learns from."""
    if y is None:
        raise ValueError(f"{name} learns from a target, and there is none. Give one.")
    if model.__sklearn_tags__().estimator_type != "classifier":
        return
    if type_of_target(y) not in ("binary", "multiclass"):
        raise ValueError(
            f"{name} learns from classes, and the target has numbers that are none. Cut it into "
            "classes, for example with sklearn.preprocessing.KBinsDiscretizer."
        )
    if len(np.unique(y)) < 2:
        raise ValueError(
            f"{name} tells classes apart, and there is one, {y[0]!s}. Give a target with two or "
            "more, or more rows."
        )


def _scores(model: Any, X: NDArray) -> NDArray | None:
    """Return the rows in the coordinates of the model, if it has any for them."""
    if hasattr(model, "transform"):
        scores = np.asarray(model.transform(X), dtype=np.float64)
    elif hasattr(model, "embedding_"):  # it only places the rows that it was fitted to
        scores = np.asarray(model.embedding_, dtype=np.float64)
    else:
        return None
    return scores if scores.ndim == 2 and scores.size and len(scores) == len(X) else None
