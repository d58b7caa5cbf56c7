"""What sparse components cost: variance against the number of nonzero loadings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..measure.sparse_path import SparsePath
from .colours import ACCENT, AXIS
from .display import Display

__all__ = ["SparsePathDisplay"]


@dataclass(eq=False)
class SparsePathDisplay(Display):
    """The path of sparse PCA: how much variance so many nonzero loadings explain.

    Attributes
    ----------
    n_nonzero : ndarray of shape (n_points,)
        Nonzero loadings of all components together.
    ratio : ndarray of shape (n_points,)
        Fraction of the variance that these explain.
    converged : ndarray of shape (n_points,)
        Whether the fit met its tolerance; open circles where not.
    n_loadings : int
        Of dense components: all of them.
    dense : float or None
        Fraction of the variance that as many dense components explain, which no sparse ones pass.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import PCA, sparse_path
    >>> from eigenlens.plot import SparsePathDisplay
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.standard_normal((200, 2)) * [3, 2]
    >>> X = np.repeat(hidden, 3, axis=1) + rng.standard_normal((200, 6))
    >>> display = SparsePathDisplay.from_path(sparse_path(X, 2), dense=PCA(2).fit(X))
    >>> bool((display.ratio <= display.dense + 1e-9).all())
    True
    """

    n_nonzero: NDArray
    ratio: NDArray
    converged: NDArray
    n_loadings: int
    dense: float | None

    @classmethod
    def from_path(cls, path: SparsePath, *, dense: Any = None, ax: Any = None) -> Self:
        """Draw a path.

        Parameters
        ----------
        path : SparsePath
            Of :func:`eigenlens.sparse_path`.
        dense : float or fitted PCA, optional
            Fraction of the variance that as many dense components explain, or a model that knows
            it.
        ax : matplotlib Axes, optional

        Returns
        -------
        SparsePathDisplay
        """
        k, d = path.components.shape[1:]
        bound = _bound(dense, k)
        return cls(path.total_nonzero, path.total_ratio, path.converged, k * d, bound).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.n_nonzero, 100 * self.ratio, color=ACCENT, linewidth=1.4, zorder=2)
        for met, face in ((True, ACCENT), (False, "white")):
            mine = self.converged == met
            ax.scatter(
                self.n_nonzero[mine],
                100 * self.ratio[mine],
                s=26,
                facecolor=face,
                edgecolor=ACCENT,
                zorder=3,
            )
        ax.set(xlabel="nonzero loadings of all components", ylabel="explained variance, %")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlim(0, 1.03 * float(self.n_nonzero.max(initial=1)))
        top = float(self.ratio.max()) if self.dense is None else self.dense
        ax.set_ylim(0, 112 * top or 1.0)
        if self.dense is not None:
            ax.axhline(100 * self.dense, color=AXIS, linewidth=0.9, linestyle="--")
            ax.annotate(
                f"dense: {100 * self.dense:.1f} % with {self.n_loadings} loadings",
                (0.01, 100 * self.dense),
                xytext=(0, 3),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                fontsize="small",
            )


def _bound(dense: Any, k: int) -> float | None:
    """Return the fraction of the variance that `k` dense components explain, if it is known."""
    if dense is None or isinstance(dense, (int, float)):
        return None if dense is None else float(dense)
    ratio = getattr(dense, "explained_variance_ratio_", None)
    if ratio is None or len(ratio) < k:
        has = "none" if ratio is None else f"{len(ratio)}"
        raise ValueError(
            f"dense must know the variances of {k} components, and has {has}. Give "
            f"PCA({k}).fit(X), or a fraction of the variance."
        )
    return float(np.sum(ratio[:k], dtype=np.float64))
