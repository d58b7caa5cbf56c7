"""How spread out a low-rank table is: what decides whether it can be told from a sparse one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._compat import check_array
from ..ops import threads
from .frames import column_names, pandas, row_names

__all__ = ["Incoherence", "incoherence"]

BYTES = 1 << 22  # of a block of rows of U V'


@dataclass(frozen=True, slots=True, eq=False)
class Incoherence:
    """How far the singular vectors of a table of rank r are from being spread out evenly.

    Each mu is the smallest number for which its condition holds, and at least 1.

    Attributes
    ----------
    rank : int
    left : float
        mu of the rows: ``max_i |U' e_i|^2 <= mu r / n``, at most n / r.
    right : float
        mu of the columns: ``max_j |V' e_j|^2 <= mu r / d``, at most d / r.
    joint : float
        mu of both: ``max_ij |(U V')_ij| <= sqrt(mu r / (n d))``, at most ``r left right``.
    row_leverages : ndarray of shape (n,)
        ``|U' e_i|^2``: 1 for a row that no other row tells anything of. They add up to r.
    column_leverages : ndarray of shape (d,)
        ``|V' e_j|^2``, the same for columns.
    rows, columns : ndarray
        Their names.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.measure import incoherence
    >>> L = np.ones((6, 4))
    >>> L[2] = [1, 2, 3, 4]
    >>> found = incoherence(L)
    >>> found.row_leverages.round(2)  # no other row tells anything of the third
    array([0.2, 0.2, 1. , 0.2, 0.2, 0.2])
    >>> found.mu == max(found.left, found.right, found.joint)
    True
    """

    rank: int
    left: float
    right: float
    joint: float
    row_leverages: NDArray
    column_leverages: NDArray
    rows: NDArray
    columns: NDArray

    @property
    def mu(self) -> float:
        """The largest of the three: the one of the theorem."""
        return max(self.left, self.right, self.joint)

    @property
    def row(self) -> Any:
        """Name of the most coherent row: an error in it is the hardest to tell from the truth."""
        return self.rows[self.row_leverages.argmax()]

    @property
    def column(self) -> Any:
        """Name of the most coherent column."""
        return self.columns[self.column_leverages.argmax()]

    def to_frames(self) -> dict[str, Any]:
        """Return two pandas frames: the leverages of rows and of columns, the largest first."""
        pd = pandas()
        parts = {
            "rows": (self.rows, self.row_leverages),
            "columns": (self.columns, self.column_leverages),
        }
        return {
            name: pd.DataFrame({"leverage": values}, index=names).sort_values(
                "leverage", ascending=False, kind="stable"
            )
            for name, (names, values) in parts.items()
        }


def incoherence(L: ArrayLike | Any, *, rank: int | None = None) -> Incoherence:
    """Return the three incoherence parameters of a low-rank table.

    A table that is itself sparse cannot be told from the errors in it. Principal component pursuit
    recovers a table L = U S V' of rank r from errors in random places, with high probability, if r
    is at most ``c min(n, d) / (mu log(max(n, d))^2)``; mu, the largest of the three, says how far U
    and V are from even. It is 1 for a table of ones and large if a single row or column carries a
    direction of its own: then nothing in the rest of the table says what it should be.

    Parameters
    ----------
    L : array-like of shape (n, d), or fitted estimator
        The low-rank table. Of a fitted :class:`eigenlens.RobustPCA`, or another estimator with
        `scores_` and `components_`, the table is their product, without the mean.
    rank : int, optional
        How many singular vectors count. By default those whose singular values are above rounding;
        give it for a table with noise, which has full rank and is then as spread out as can be.

    Returns
    -------
    Incoherence

    Notes
    -----
    An estimator's factors take O((n + d) r^2) and the product U V' O(n d r), in blocks; a table
    takes its full singular value decomposition.

    References
    ----------
    E. J. Candes, X. Li, Y. Ma, J. Wright, Robust principal component analysis?, Journal of the ACM
    58 (2011), section 1.3.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.measure import incoherence
    >>> round(incoherence(np.ones((6, 4))).mu, 6)
    1.0
    >>> L = np.ones((6, 4))
    >>> L[2] = [1, 2, 3, 4]
    >>> found = incoherence(L)
    >>> found.rank, round(found.left, 2), round(found.right, 2), found.row
    (2, 3.0, 1.4, np.int64(2))
    """
    triplets, rows, columns = _factored(L) if hasattr(L, "fit") else _decomposed(L)
    U, Vt = _leading(triplets, rank)
    r, n, d = len(Vt), len(U), Vt.shape[1]
    row_leverages, column_leverages = (U**2).sum(axis=1), (Vt**2).sum(axis=0)
    blocks = threads.spans(n, max(1, BYTES // (8 * d)))
    largest = max(float(np.abs(U[block] @ Vt).max()) for block in blocks)
    return Incoherence(
        rank=r,
        left=float(row_leverages.max()) * n / r,
        right=float(column_leverages.max()) * d / r,
        joint=largest**2 * n * d / r,
        row_leverages=row_leverages,
        column_leverages=column_leverages,
        rows=rows,
        columns=columns,
    )


Triplets = tuple[NDArray, NDArray, NDArray]


def _decomposed(table: Any) -> tuple[Triplets, NDArray, NDArray]:
    """Return the singular triplets of a table, and the names of its rows and columns."""
    L = check_array(table, dtype=[np.float64, np.float32], input_name="L")
    triplets = scipy.linalg.svd(L, full_matrices=False, check_finite=False)
    return triplets, row_names(table, len(L)), column_names(table, L.shape[1])


def _factored(estimator: Any) -> tuple[Triplets, NDArray, NDArray]:
    """Return the same for the product of scores and components."""
    check_is_fitted(estimator)
    if not (hasattr(estimator, "scores_") and hasattr(estimator, "components_")):
        raise TypeError(
            f"{type(estimator).__name__} has no scores_ and components_ whose product is a "
            "low-rank table. Give a fitted eigenlens.RobustPCA, or the table itself."
        )
    Q, R = scipy.linalg.qr(estimator.scores_, mode="economic")
    W, T = scipy.linalg.qr(estimator.components_.T, mode="economic")
    left, s, right = scipy.linalg.svd(R @ T.T)
    n, d = len(Q), len(W)
    names = getattr(estimator, "feature_names_in_", None)
    columns = column_names(None, d) if names is None else names
    return (Q @ left, s, right @ W.T), np.arange(n), columns


def _leading(triplets: Triplets, rank: int | None) -> tuple[NDArray, NDArray]:
    """Return the left and right vectors that count."""
    U, s, Vt = triplets
    rounding = np.finfo(s.dtype).eps * max(len(U), Vt.shape[1]) * s.max(initial=0.0)
    above = int(np.count_nonzero(s > rounding))
    if above == 0:
        raise ValueError("L is zero, and a table of rank 0 has no singular vectors to look at.")
    r = above if rank is None else rank
    if not 1 <= r <= above:
        raise ValueError(
            f"rank={rank} must be between 1 and {above}, the numerical rank of L. "
            "Leave it out to take all."
        )
    return U[:, :r].astype(np.float64), Vt[:r].astype(np.float64)
