"""Compare answers that may differ in the sign and order of their components.

Peers, solvers and rotated data are compared through here, so that "equal" means one thing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import subspace_angles
from scipy.optimize import linear_sum_assignment

__all__ = ["Alignment", "align", "compare", "difference", "largest_angle"]

HOW_FOUND = frozenset({"solver_", "n_iter_", "objective_history_", "certificate_"})
"""Attributes that tell how an answer was found, and may differ between equal answers."""

PER_COMPONENT = frozenset({"explained_variance_", "explained_variance_ratio_", "singular_values_"})
"""Attributes with one entry for each component, which follow its place."""


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """How the components of one answer match those of another.

    Attributes
    ----------
    permutation : ndarray of int
        Component ``i`` of the reference matches component ``permutation[i]`` of the other.
    signs : ndarray
        1 or -1, by which the matched one is to be multiplied.
    cosines : ndarray
        Of the angles between the matched ones, not negative.
    aligned : ndarray
        The other's components in the reference's order, with its signs.
    """

    permutation: NDArray
    signs: NDArray
    cosines: NDArray
    aligned: NDArray

    def scores(self, scores: ArrayLike) -> NDArray:
        """Return the other's scores with columns in the reference's order, with its signs."""
        return np.asarray(scores)[:, self.permutation] * self.signs


def align(reference: ArrayLike, other: ArrayLike) -> Alignment:
    """Match the rows of `other` to those of `reference` up to sign and order.

    The assignment has the largest sum of absolute cosines. A reference with fewer rows is matched
    to the best of the other's.

    Parameters
    ----------
    reference : array-like of shape (k, n_features)
    other : array-like of shape (at least k, n_features)

    Returns
    -------
    Alignment

    Examples
    --------
    >>> from eigenlens.testing import align
    >>> found = align([[1, 0, 0], [0, 1, 0]], [[0, -1, 0], [1, 0, 0]])
    >>> found.permutation
    array([1, 0])
    >>> found.aligned
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    A, B = (np.asarray(part, dtype=float) for part in (reference, other))
    if A.ndim != 2 or B.ndim != 2 or A.shape[1] != B.shape[1] or len(A) > len(B):
        raise ValueError(
            f"cannot match {A.shape} components of the reference to {B.shape} of the other. "
            "Give two matrices with as many columns, the second with at least as many rows."
        )
    cosines = _unit_rows(A) @ _unit_rows(B).T
    rows, permutation = linear_sum_assignment(np.abs(cosines), maximize=True)
    matched = cosines[rows, permutation]
    signs = np.where(matched < 0, -1.0, 1.0)
    return Alignment(permutation, signs, np.abs(matched), B[permutation] * signs[:, None] + 0.0)


def _unit_rows(A: NDArray) -> NDArray:
    length = np.linalg.norm(A, axis=1, keepdims=True)
    return A / np.where(length > 0, length, 1.0)


def largest_angle(A: ArrayLike, B: ArrayLike) -> float:
    """Return the largest principal angle, in radians, between the row spaces of `A` and `B`.

    Examples
    --------
    >>> from eigenlens.testing import largest_angle
    >>> round(largest_angle([[1, 0, 0], [0, 1, 0]], [[0, 1, 0], [1, 0, 1]]), 4)
    0.7854
    """
    angles = subspace_angles(np.asarray(A, dtype=float).T, np.asarray(B, dtype=float).T)
    return float(angles.max(initial=0.0))


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
