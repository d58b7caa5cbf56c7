"""The fits that a report is made from: the table scaled, PCA, and the other methods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import Normalizer

from .._register import Method, fittable
from ..data.scaling import scaler_of
from ..estimators.pca import PCA
from ..measure.trial import Fit, components_of, fit_one, made

__all__ = ["Fits", "fit_all"]

LEAST_SHOWN = 2  # components, so that there is a plane to look at
MOST_PLACED = 2000  # rows, up to which methods that work on pairs of rows are there by themselves


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
    target: NDArray | None = None,
    callbacks: tuple[Any, ...] = (),
) -> Fits:
    """Scale the table and fit PCA and the methods that are asked for to it.

    The target is for methods that learn from one.
    """
    chosen = _chosen(methods, len(X))
    Z = _scaled(X, scale)
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
    fits = Fits(Z, filled, kept, choice, pca, ())
    others = []
    for name, method in chosen.items():
        other = made(method, components_of(method, shown, target)[0], random_state)
        if hasattr(other, "set_callbacks"):
            other.set_callbacks(*callbacks)
        others.append(fit_one(name, other, Z, filled, target))
    return replace(fits, others=tuple(others))


def _chosen(methods: str | Iterable[str], n: int) -> dict[str, Method]:
    """Return the methods to fit beside PCA: by themselves, those of this package."""
    known = fittable()
    if methods == "all":
        names = [
            name
            for name, method in known.items()
            if method.origin == "eigenlens" and (n <= MOST_PLACED or method.kind != "manifold")
        ]
    else:
        names = [methods] if isinstance(methods, str) else list(methods)
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
