"""The fits that a report is made from: the table scaled, PCA, and the other methods."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import Normalizer

from .._base import Estimator
from .._register import methods as registered
from .._text import clean, short
from ..data.scaling import scaler_of
from ..estimators.pca import PCA

__all__ = ["Fit", "Fits", "fit_all", "fit_one"]

LEAST_SHOWN = 2  # components, so that there is a plane to look at
LONGEST = 300  # letters of an error or a warning
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


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """All fits to one table.

    Attributes
    ----------
    Z : ndarray
        The scaled table, with its holes.
    filled : ndarray
        The same with holes filled by PCA.
    kept : int
        Components that PCA's rule keeps; 0 if none stands out.
    choice : Choice, Consensus or None
        What the rule compared.
    pca : Fit
        With at least two components where the table has them, so that there is something to see.
    others : tuple of Fit
    """

    Z: NDArray
    filled: NDArray
    kept: int
    choice: Any
    pca: Fit
    others: tuple[Fit, ...]

    @property
    def scores(self) -> NDArray:
        """Scores of PCA."""
        return np.asarray(self.pca.scores)


def fit_all(
    X: NDArray,
    *,
    scale: str,
    methods: str | Iterable[str],
    n_components: Any,
    random_state: Any,
    callbacks: tuple[Any, ...] = (),
) -> Fits:
    """Scale the table and fit PCA and the methods that are asked for to it."""
    chosen = _chosen(methods)
    Z = _scaled(X, scale)
    holes = bool(np.isnan(Z).any())
    settings = {"random_state": random_state} | ({"missing": "em"} if holes else {})
    model = PCA(n_components=n_components, **settings).set_callbacks(*callbacks)
    pca = _fit("PCA", model, Z)
    if pca.error:
        raise ValueError(pca.error)
    kept, choice = pca.model.n_components_, getattr(pca.model, "choice_", None)
    shown = max(kept, min(LEAST_SHOWN, min(Z.shape) - 1 if holes else min(len(Z) - 1, Z.shape[1])))
    if shown > kept:
        pca = _fit("PCA", clone(model).set_params(n_components=shown), Z)
    filled = pca.model.impute(Z) if holes else Z
    fits = Fits(Z, filled, kept, choice, pca, ())
    models = ((name, _made(method, shown, random_state)) for name, method in chosen.items())
    others = (fit_one(name, model.set_callbacks(*callbacks), fits) for name, model in models)
    return replace(fits, others=tuple(others))


def _chosen(methods: str | Iterable[str]) -> dict[str, type[Estimator]]:
    """Return the methods to fit beside PCA."""
    known = registered()
    names = list(known) if methods == "all" else [methods] if isinstance(methods, str) else methods
    names = list(names)
    if unknown := [name for name in names if name not in known]:
        raise ValueError(
            f"methods={unknown[0]!r} is not known. Give 'all', or some of {', '.join(known)}."
        )
    return {name: known[name] for name in names if name != "PCA"}


def _scaled(X: NDArray, scale: str) -> NDArray:
    scaler = scaler_of(scale)
    if scaler is None:
        return X
    if isinstance(scaler, Normalizer) and np.isnan(X).any():
        raise ValueError(
            "scale='normalize' divides each row by its length, which is not known for rows with "
            "holes. Fill the holes first, or take scale='standard'."
        )
    return np.asarray(scaler.fit_transform(X))


def _made(method: type[Estimator], n_components: int, random_state: Any) -> Estimator:
    """Return a method of the register that is to find as many components as PCA shows."""
    wanted = {"n_components": n_components, "random_state": random_state}
    taken = inspect.signature(method).parameters
    return method(**{key: value for key, value in wanted.items() if key in taken})


def fit_one(name: str, model: Any, fits: Fits) -> Fit:
    """Fit a method beside PCA, to the table with its holes if it takes them.

    A method that takes nothing below zero sees each column from its least value on.
    """
    takes = model.__sklearn_tags__().input_tags
    filled = not takes.allow_nan and fits.Z is not fits.filled
    X = fits.Z if takes.allow_nan else fits.filled
    if takes.positive_only and np.nanmin(X) < 0:
        fit = _fit(name, model, X - np.nanmin(X, axis=0), filled=filled)
        return replace(fit, raised=True, warnings=(RAISED, *fit.warnings))
    return _fit(name, model, X, filled=filled)


def _fit(name: str, model: Any, X: NDArray, *, filled: bool = False) -> Fit:
    """Fit a model; what goes wrong is part of the answer, not the end of the report."""
    scores, error, seconds = None, "", 0.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        try:
            model.fit(X)
            seconds = time.perf_counter() - start
            scores = _scores(model, X)
        except Exception as failure:  # any method of anybody: one of them must not stop the others
            error = short(clean(str(failure) or type(failure).__name__), LONGEST)
    said = dict.fromkeys(short(clean(warning.message), LONGEST) for warning in caught)
    return Fit(name, model, scores, filled, seconds, tuple(said), error)


def _scores(model: Any, X: NDArray) -> NDArray | None:
    """Return the rows in the coordinates of the model, if it has any for them."""
    if hasattr(model, "transform"):
        scores = np.asarray(model.transform(X), dtype=np.float64)
    elif hasattr(model, "embedding_"):  # it only places the rows that it was fitted to
        scores = np.asarray(model.embedding_, dtype=np.float64)
    else:
        return None
    return scores if scores.ndim == 2 and scores.size and len(scores) == len(X) else None
