"""Dense components beside sparse ones: what was left out, and what stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..measure.align import align
from .colours import ACCENT, AXIS, QUIET
from .display import Panels, label
from .inputs import chosen, last_step, names_of, weights_of
from .points import beside_axes

__all__ = ["SparseLoadingsDisplay"]

COMPONENTS = 4
LINE = 0.2  # inches, of the height of a column's row


@dataclass(eq=False)
class SparseLoadingsDisplay(Panels):
    """Weights of a dense and of a sparse model, component by component.

    Components of the sparse model are matched to those of the dense one, up to sign and order.

    Attributes
    ----------
    dense, sparse : ndarray of shape (k, d)
        Weights of the pairs that are shown, the sparse ones with the sign of the dense ones.
    names : list of str
        Of the columns.
    components : tuple of int
        Which components of the dense model these are, 0 for the first.
    columns : ndarray of int
        Columns shown, in the order of the table.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import PCA, SparsePCA
    >>> from eigenlens.plot import SparseLoadingsDisplay
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.standard_normal((200, 2)) * [3, 2]
    >>> X = np.repeat(hidden, 3, axis=1) + rng.standard_normal((200, 6))
    >>> sparse = SparsePCA(2, n_nonzero=3, random_state=0).fit(X)
    >>> display = SparseLoadingsDisplay.from_estimators(PCA(2).fit(X), sparse)
    >>> np.count_nonzero(display.sparse, axis=1)
    array([3, 3])
    """

    dense: NDArray
    sparse: NDArray
    names: list[str]
    components: tuple[int, ...]
    columns: NDArray

    @classmethod
    def from_estimators(
        cls,
        dense: Any,
        sparse: Any,
        *,
        names: Sequence[str] | None = None,
        components: tuple[int, ...] | None = None,
        most: int = 30,
        ax: Any = None,
    ) -> Self:
        """Draw two fitted models of the same table.

        Parameters
        ----------
        dense, sparse : fitted estimators, or Pipelines that end with one
            With `components_`.
        names : sequence of str, optional
            Of the columns. By default those of the fit of `dense`.
        components : tuple of int, optional
            Which components of the dense model to show. By default the first four that are matched.
        most : int, default=30
            Columns shown: those with the largest weights in either model.
        ax : matplotlib Axes, or array of them, optional

        Returns
        -------
        SparseLoadingsDisplay
        """
        model = last_step(dense)[0]
        V, W = weights_of(model), weights_of(last_step(sparse)[0])
        if V.shape[1] != W.shape[1]:
            raise ValueError(
                f"dense has {V.shape[1]} columns and sparse has {W.shape[1]}. Give two fits to the "
                "same table."
            )
        pairs = _matched(V, W)
        if components is None:
            shown = tuple(sorted(pairs))[:COMPONENTS]
        else:
            shown = chosen(components, len(V), model, COMPONENTS)
        if alone := [j for j in shown if j not in pairs]:
            raise ValueError(
                f"components={components!r}: component {alone[0]} of dense has no partner among "
                f"the {len(W)} of sparse. Choose among {sorted(pairs)}."
            )
        ours, theirs = V[list(shown)], np.array([pairs[j] for j in shown])
        size = np.maximum(np.abs(ours), np.abs(theirs)).max(axis=0)
        columns = np.sort(np.argsort(-size, kind="stable")[:most])
        called = names_of(dense, None, names, V.shape[1])
        return cls(ours, theirs, called, shown, columns).plot(ax)

    def _shape(self) -> tuple[int, int]:
        return 1, len(self.components)

    def _figure_size(self) -> tuple[float, float]:
        return 1.9 + 2.0 * len(self.components), 1.3 + LINE * max(4, len(self.columns))

    def _draw(self, ax: Any) -> None:
        largest = 1.06 * float(max(np.abs(self.dense).max(), np.abs(self.sparse).max())) or 1.0
        places = np.arange(len(self.columns))
        for i, panel in enumerate(ax.flat):
            wide = panel.barh(places, self.dense[i, self.columns], height=0.84, color=QUIET)
            thin = panel.barh(places, self.sparse[i, self.columns], height=0.44, color=ACCENT)
            wide.set_label("dense")
            thin.set_label("sparse")
            panel.axvline(0, color=AXIS, linewidth=0.8)
            panel.set(xlim=(-largest, largest), ylim=(len(places) - 0.4, -0.6), xlabel="weight")
            nonzero = np.count_nonzero(self.sparse[i])
            panel.set_title(
                f"component {self.components[i] + 1}\n{nonzero} of {len(self.names)} columns"
            )
            panel.set_yticks(places, [])
            panel.tick_params(axis="y", length=0)
        names = [label(self.names[j]) for j in self.columns]
        ax.flat[0].set_yticks(places, names, fontsize=8)
        beside_axes(ax.flat[-1])


def _matched(V: NDArray, W: NDArray) -> dict[int, NDArray]:
    """Return for each row of `V` that has a partner in `W` this partner, with the sign of `V`."""
    if len(V) <= len(W):
        return dict(enumerate(align(V, W).aligned))
    found = align(W, V)
    return {int(j): sign * w for j, sign, w in zip(found.permutation, found.signs, W, strict=True)}
