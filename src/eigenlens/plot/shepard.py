"""Whether an embedding keeps the distances between rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances

from ..measure.distortion import normalised_stress, shepard_correlation
from ..measure.spaces import rows_of
from .colours import BEYOND, SEQUENTIAL
from .display import Display
from .inputs import last_step, scores_of

__all__ = ["ShepardDisplay"]

CELLS = 55  # hexagons side by side


@dataclass(eq=False)
class ShepardDisplay(Display):
    """Shepard diagram: distances of pairs of rows in the embedding, against those in the table.

    Pairs on the line have the same distance in both, up to the scale that fits best.

    Attributes
    ----------
    original, embedded : ndarray of shape (n_pairs,)
        Distances in the table, and in the embedding.
    scale : float
        The factor `a` with the least ``sum (a original - embedded)^2``.
    correlation : float
        Rank correlation, :func:`eigenlens.measure.shepard_correlation` of the rows drawn.
    stress : float
        Kruskal's stress-1, :func:`eigenlens.measure.normalised_stress` of the rows drawn.
    disparity : ndarray of shape (2, n_knots) or None
        Of non-metric scaling: the function of the dissimilarities that stands for distances.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.plot import ShepardDisplay
    >>> X = load_iris().data
    >>> display = ShepardDisplay.from_estimator(PCA(2).fit(X), X)
    >>> round(display.correlation, 3), round(display.stress, 3)
    (0.998, 0.04)
    """

    original: NDArray
    embedded: NDArray
    scale: float
    correlation: float
    stress: float
    disparity: NDArray | None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, most: int = 1000, random_state: int = 0, ax: Any = None
    ) -> Self:
        """Draw the distances between rows, before and after.

        Parameters
        ----------
        estimator : fitted estimator, or Pipeline that ends with one
            With `transform`, or with `embedding_` for the rows of its fit.
        X : {array-like, sparse matrix} of shape (n, d)
            The table. A model of given distances has these, of shape (n, n).
        most : int, default=1000
            Rows that are taken, at random: as many pairs as half of its square.
        random_state : int, default=0
            Seed of the draw.
        ax : matplotlib Axes, optional

        Returns
        -------
        ShepardDisplay
        """
        model, table = last_step(estimator, X)
        Y = scores_of(model, table)
        rows = rows_of(len(Y), most, random_state)
        if len(rows) < 2:
            raise ValueError("There is no distance in a single row. Give at least two rows.")
        D, Y = _distances(model, table, rows), Y[rows]
        pairs = np.triu_indices(len(rows), 1)
        d, e = D[pairs], pairwise_distances(Y)[pairs]
        size = d @ d
        return cls(
            original=d,
            embedded=e,
            scale=float(d @ e / size) if size > 0 else 1.0,
            correlation=shepard_correlation(D, Y, metric="precomputed", random_state=random_state),
            stress=normalised_stress(D, Y, metric="precomputed"),
            disparity=getattr(model, "disparity_", None),
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        right, top = (1.03 * float(d.max()) or 1.0 for d in (self.original, self.embedded))
        cells = ax.hexbin(
            self.original,
            self.embedded,
            gridsize=CELLS,
            extent=(0, right, 0, top),
            bins="log",
            mincnt=1,
            cmap=SEQUENTIAL,
            linewidths=0.1,
        )
        ax.figure.colorbar(cells, ax=ax, label="pairs of rows", fraction=0.05, pad=0.02)
        ax.plot(
            [0, right],
            [0, self.scale * right],
            color=BEYOND,
            linewidth=1.4,
            label="equal, up to scale",
        )
        if self.disparity is not None:
            ax.plot(
                *self.disparity, color="black", linewidth=1.4, linestyle="--", label="disparity"
            )
        ax.legend(loc="upper left")
        ax.set(xlabel="distance in the table", ylabel="distance in the embedding")
        ax.set(xlim=(0, right), ylim=(0, top))
        ax.set_title(f"rank correlation {self.correlation:.3f}, stress {self.stress:.3f}")


def _distances(model: Any, X: Any, rows: NDArray) -> NDArray:
    """Return the distances between rows that the model was made from."""
    if model.__sklearn_tags__().input_tags.pairwise and np.shape(X)[0] == np.shape(X)[1]:
        return np.asarray(X, dtype=np.float64)[np.ix_(rows, rows)]
    chosen = (X if sparse.issparse(X) else np.asarray(X, dtype=np.float64))[rows]
    metric: Any = "euclidean"
    options: dict[str, Any] = {}
    if hasattr(model, "dissimilarity_matrix_") and not isinstance(model.metric, bool):
        metric, options = model.metric, model.metric_params or {}
    return np.asarray(pairwise_distances(chosen, metric=metric, **options))
