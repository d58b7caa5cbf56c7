"""Compare every fitted attribute of two answers that may differ in sign and order.

Peers, solvers and rotated data are compared through here, so that "equal" means one thing.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..measure.align import align

__all__ = ["compare", "difference", "fitted"]

HOW_FOUND = frozenset(
    {
        "solver_",
        "n_iter_",
        "objective_history_",
        "certificate_",
        "axes_",
        "X_fit_",
        "kernel_pca_",
        "triangulation_",
    }
)
"""Attributes that tell how an answer was found or is kept, and may differ between equal answers."""

PER_COMPONENT = frozenset({"explained_variance_", "explained_variance_ratio_", "singular_values_"})
"""Attributes with one entry for each component, which follow its place."""


def difference(reference: Any, other: Any) -> float:
    """Return the largest difference of two values, relative to the largest entry of either.

    Infinite where shapes differ, where only one is finite, and where things other than numbers
    are not equal.
    """
    A, B = np.asarray(reference), np.asarray(other)
    if A.dtype.kind not in "fiub" or B.dtype.kind not in "fiub":
        return 0.0 if np.array_equal(A, B) else np.inf
    if A.shape != B.shape:
        return np.inf
    A, B = A.astype(np.longdouble), B.astype(np.longdouble)
    if not (np.isfinite(A).all() and np.isfinite(B).all()):
        return 0.0 if np.array_equal(A, B, equal_nan=True) else np.inf
    size = max(np.abs(A).max(initial=0), np.abs(B).max(initial=0))
    return float(np.abs(A - B).max(initial=0) / size) if size > 0 else 0.0


def compare(
    reference: Any,
    other: Any,
    *,
    free: bool = True,
    ignore: Collection[str] = HOW_FOUND,
) -> dict[str, float]:
    """Return the `difference` of every fitted attribute that two estimators share.

    Parameters
    ----------
    reference, other : fitted estimators
        Of the same kind or not: attributes that one of them lacks are not compared.
    free : bool, default=True
        Whether components may differ in sign and order. Not so between two answers of ours: there
        one rule settles both.
    ignore : collection of str
        Attributes to leave out.

    Returns
    -------
    dict
        From attribute to difference.

    Examples
    --------
    >>> import sklearn.decomposition
    >>> from eigenlens import PCA, datasets
    >>> from eigenlens.testing import compare
    >>> X = datasets.planted_subspace(random_state=0).X
    >>> peer = sklearn.decomposition.PCA(n_components=3, svd_solver="full").fit(X)
    >>> found = compare(peer, PCA(n_components=3).fit(X))
    >>> sorted(found)[:2]
    ['components_', 'explained_variance_']
    >>> max(found.values()) < 1e-10
    True
    """
    shared = [name for name in fitted(reference) if name in fitted(other) and name not in ignore]
    values = {name: getattr(other, name) for name in shared}
    if free and "components_" in values and len(values["components_"]):
        matched = align(reference.components_, values["components_"])
        values["components_"] = matched.aligned
        for name in PER_COMPONENT & values.keys():
            values[name] = values[name][matched.permutation]
    return {name: difference(getattr(reference, name), values[name]) for name in shared}


def fitted(estimator: Any) -> list[str]:
    """Return the names of the public attributes that `fit` has set."""
    return [name for name in vars(estimator) if name.endswith("_") and name[0] != "_"]
