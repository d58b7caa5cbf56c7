"""What the solvers of robust PCA return, whatever they optimise: a table taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from .solution import Solution

__all__ = ["LowRank"]


@dataclass(frozen=True, kw_only=True, eq=False)
class LowRank(Solution):
    """A table as a mean, a part of low rank and a sparse one, and how they were found.

    The low-rank part of the table, with the mean, is ``mean + scores @ components``.

    Attributes
    ----------
    mean : ndarray of shape (d,)
    components : ndarray of shape (r, d)
        Right singular vectors of the low-rank part less its mean, by falling singular value.
    singular_values : ndarray of shape (r,)
    scores : ndarray of shape (n, r)
        Left singular vectors times singular values. Of a table in blocks, what is kept beside it.
    sparse : {ndarray, Blocks} of shape (n, d)
        Zero where nothing was observed.
    support_fraction : float or None
        Share of the observed entries, or of rows, that are not zero in `sparse`, where that was
        counted on the way.
    """

    mean: NDArray
    components: NDArray
    singular_values: NDArray
    scores: Any
    sparse: Any
    support_fraction: float | None = None
