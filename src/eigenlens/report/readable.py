"""The penalty of sparse components that can be read: as few columns as the variance allows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

__all__ = ["KEPT", "readable", "spanned"]

KEPT = 0.95  # of the variance that PCA keeps with as many components
SHARES = 0.8 ** np.arange(2, 20, 1.5)  # penalties that are tried, of the length of a column
WIDEST = 500  # columns, beyond which so many fits take too long
LARGEST = 2_000_000  # cells, the same


def readable(model: Any, Z: NDArray, reference: NDArray) -> Any:
    """Return the model with the largest penalty tried that keeps `KEPT` of PCA's variance.

    The default penalty is a number, and what it does depends on the rows and the scale of a table.
    Models of another penalty, and tables too large for many fits, are left as they are.
    """
    n, d = Z.shape
    if not hasattr(model, "formulation") or d > WIDEST or n * d > LARGEST:
        return model
    length = float(np.sqrt(((Z - Z.mean(axis=0)) ** 2).sum(axis=0).max()))
    enough = KEPT * spanned(reference, Z)
    # fits of their own, not a path: a fit that starts elsewhere may end in another minimum
    for alpha in SHARES * length:
        tried = clone(model).set_params(alpha=float(f"{alpha:.3g}"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of penalties that are not taken
            tried.fit(Z)
        if spanned(tried.components_, Z) >= enough:
            return clone(tried)
    return model


def spanned(components: NDArray, Z: NDArray) -> float:
    """Return the share of the variance of a table that lies in the span of the components."""
    centred = Z - Z.mean(axis=0)
    total = float((centred**2).sum())
    _, s, basis = np.linalg.svd(components, full_matrices=False)
    basis = basis[s > 1e-9 * max(s.max(initial=0.0), np.finfo(float).tiny)]
    return float(((centred @ basis.T) ** 2).sum()) / total if total > 0 else 0.0
