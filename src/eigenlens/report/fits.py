"""The fits that a report is made from: the table scaled, PCA, and the other methods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import Normalizer
from sklearn.utils import get_tags

from .._register import Method, fittable
from ..data.scaling import scaler_of
from ..estimators.pca import PCA
from ..measure.contest import Until
from ..measure.trial import PLANE, Fit, components_of, fit_one, made
from .readable import readable

__all__ = ["Fits", "Fitted", "chosen", "fit_other", "fit_pca", "model_of"]

LEAST_SHOWN = 2  # components, so that there is a plane to look at
PAIRS = ("manifold", "kernel")  # kinds that work on pairs of rows, and see those drawn alone
CURVED = 4  # components of a feature space, which has more directions than a table of two columns
LEARNING = "LinearDiscriminantAnalysis"  # of another package, and there where there are classes


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """The table and the fit of PCA to it.

    Attributes
    ----------
    X : ndarray
        The columns that vary, as given.
    scaler : transformer or None
    Z : ndarray
        The scaled table, with its holes.
    filled : ndarray
        The same with holes filled by PCA.
    kept : int
        Components that PCA's rule keeps; 0 if none stands out.
    choice : Choice, Consensus or None
        What the rule compared.
    asked : object
        Number of components that was asked for.
    pca : Fit
        With at least two components where the table has them, so that there is something to see.
    """

    X: NDArray
    scaler: Any
    Z: NDArray
    filled: NDArray
    kept: int
    choice: Any
    asked: Any
    pca: Fit

    @property
    def scores(self) -> NDArray:
        """Scores of PCA."""
        return np.asarray(self.pca.scores)

    @property
    def shown(self) -> int:
        """Components of PCA."""
        return len(self.pca.model.components_)

    @property
    def holes(self) -> bool:
        """Whether there are any."""
        return self.filled is not self.Z

    def back(self, Z: NDArray, rows: Any = slice(None)) -> NDArray:
        """Return scaled rows in the units of the table; `rows` says which they are."""
        if self.scaler is None:
            return Z
        if isinstance(self.scaler, Normalizer):  # by their own lengths
            return Z * np.linalg.norm(self.X[rows], axis=1, keepdims=True)
        return np.asarray(self.scaler.inverse_transform(Z))


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A method beside PCA.

    Attributes
    ----------
    fit : Fit
    method : Method
    rows : ndarray of int or None
        The rows that it was fitted to; None for all.
    unscaled : bool
        Whether it was fitted to the table as given.
    table : ndarray
        What it was fitted to, holes filled.
    """

    fit: Fit
    method: Method
    rows: NDArray | None
    unscaled: bool
    table: NDArray

    @property
    def kind(self) -> str:
        """Kind of the method."""
        return self.method.kind

    def scores(self, drawn: NDArray) -> NDArray | None:
        """Return the places of the rows that are drawn."""
        places = self.fit.scores
        return places if places is None or self.rows is not None else places[drawn]


def fit_pca(
    X: NDArray, *, scale: str, n_components: Any, random_state: Any, callbacks: tuple[Any, ...]
) -> Fits:
    """Scale the table, and fit PCA to it."""
    scaler = scaler_of(scale)
    Z = _scaled(X, scaler)
    holes = bool(np.isnan(Z).any())
    settings = {"random_state": random_state} | ({"missing": "em"} if holes else {})
    model = PCA(n_components=n_components, **settings).set_callbacks(*callbacks)
    pca = fit_one("PCA", model, Z, Z)
    if pca.error:
        raise ValueError(pca.error)
    kept, choice = pca.model.n_components_, getattr(pca.model, "choice_", None)
    shown = max(kept, min(LEAST_SHOWN, min(Z.shape) - 1 if holes else min(len(Z) - 1, Z.shape[1])))
    if shown > kept:
        pca = fit_one("PCA", clone(model).set_params(n_components=shown), Z, Z)
    filled = pca.model.impute(Z) if holes else Z
    return Fits(X, scaler, Z, filled, kept, choice, n_components, pca)


def chosen(methods: str | Iterable[str], *, classes: bool) -> dict[str, Method]:
    """Return the methods to fit beside PCA: by themselves, those of this package.

    With classes, also the one that is made to tell them apart. What a method does in batches adds
    nothing to it on rows that fit into memory.
    """
    known = fittable()
    if methods == "all":
        names = [
            name
            for name, method in known.items()
            if method.origin == "eigenlens" and not method.in_batches_of
        ]
        names += [LEARNING] if classes else []
    else:
        names = [methods] if isinstance(methods, str) else list(methods)
    if unknown := [name for name in names if name not in known]:
        raise ValueError(
            f"methods={unknown[0]!r} is not known. Give 'all', or some of {', '.join(known)}."
        )
    return {name: known[name] for name in names if name != "PCA"}


def model_of(method: Method, fits: Fits, target: NDArray | None, random_state: Any) -> Any:
    """Return an unfitted model of a method, for this table."""
    wanted = fits.shown
    if method.kind == "manifold":
        wanted = PLANE
    elif method.kind == "kernel":
        wanted = min(max(wanted, CURVED), len(fits.Z) - 1)
    return made(method, components_of(method, wanted, target)[0], random_state, len(fits.Z))


def fit_other(
    method: Method,
    fits: Fits,
    *,
    drawn: NDArray,
    target: NDArray | None,
    random_state: Any,
    seconds: float,
    callbacks: tuple[Any, ...],
) -> Fitted:
    """Fit a method to the table, as it can take it.

    One that works on pairs of rows sees those that are drawn alone; one that takes nothing below
    zero sees a table without such values as it was given.
    """
    model = model_of(method, fits, target, random_state)
    unscaled = bool(get_tags(model).input_tags.positive_only) and not np.nanmin(fits.X) < 0
    some = method.kind in PAIRS and len(drawn) < len(fits.Z)
    Z, filled = (fits.X, fits.X) if unscaled else (fits.Z, fits.filled)
    if unscaled and fits.holes:
        filled = np.maximum(fits.back(fits.filled), 0.0)
    elif some:
        Z = filled = fits.filled[drawn]
    y = None if target is None else target[drawn] if some else target
    if method.kind == "sparse":
        model = readable(model, filled, fits.pca.model.components_)
    if hasattr(model, "set_callbacks"):
        model.set_callbacks(*callbacks, Until(seconds))
    fit = fit_one(method.name, model, Z, filled, y)
    if hasattr(model, "set_callbacks"):
        model.set_callbacks()
    return Fitted(fit, method, drawn if some else None, unscaled, filled)


def _scaled(X: NDArray, scaler: Any) -> NDArray:
    if scaler is None:
        return X
    if isinstance(scaler, Normalizer) and np.isnan(X).any():
        raise ValueError(
            "scale='normalize' divides each row by its length, which is not known for rows with "
            "holes. Fill the holes first, or take scale='standard'."
        )
    return np.asarray(scaler.fit_transform(X))
