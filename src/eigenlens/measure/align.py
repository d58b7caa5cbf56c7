"""Match components that may differ in sign and order, and tell how far two subspaces are apart.

Peers, solvers, rotated data and bootstrap draws are compared through here, so that "the same
component" means one thing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import subspace_angles
from scipy.optimize import linear_sum_assignment

__all__ = ["Alignment", "align", "largest_angle"]


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

    Examples
    --------
    >>> from eigenlens.measure import align
    >>> found = align([[1, 0], [0, 1]], [[0, -1], [1, 0]])
    >>> found.permutation, found.signs, found.cosines
    (array([1, 0]), array([ 1., -1.]), array([1., 1.]))
    >>> found.scores([[5, 7]])  # the other's scores of a row, as the reference would have them
    array([[ 7., -5.]])
    """

    permutation: NDArray
    signs: NDArray
    cosines: NDArray
    aligned: NDArray

    def scores(self, scores: ArrayLike) -> NDArray:
        """Return the other's scores with columns in the reference's order, with its signs.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_components)
            Of rows, on the other's components.
        """
        return np.asarray(scores)[:, self.permutation] * self.signs


def align(reference: ArrayLike, other: ArrayLike) -> Alignment:
    """Match the rows of `other` to those of `reference` up to sign and order.

    The assignment has the largest sum of absolute cosines. A reference with fewer rows is matched
    to the best of the other's.

    Parameters
    ----------
    reference : array-like of shape (k, n_features)
        Components, one a row, of any length.
    other : array-like of shape (at least k, n_features)
        Those to be matched to them.

    Returns
    -------
    Alignment

    Examples
    --------
    >>> from eigenlens.measure import align
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

    Parameters
    ----------
    A, B : array-like of shape (k, n_features)
        Rows that span the two spaces; their numbers may differ.

    Returns
    -------
    float
        From 0, where one space holds the other, to pi / 2.

    Examples
    --------
    >>> from eigenlens.measure import largest_angle
    >>> round(largest_angle([[1, 0, 0], [0, 1, 0]], [[0, 1, 0], [1, 0, 1]]), 4)
    0.7854
    """
    angles = subspace_angles(np.asarray(A, dtype=float).T, np.asarray(B, dtype=float).T)
    return float(angles.max(initial=0.0))
