"""The rows in the coordinates of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import NDArray

from .display import Display
from .inputs import axis_name, chosen, last_step, scores_of
from .points import draw_points, make_box
from .target import Target

__all__ = ["ScoresDisplay"]


@dataclass(eq=False)
class ScoresDisplay(Display):
    """Scores: a point for each row, on two or three components, coloured by its target.

    Attributes
    ----------
    scores : ndarray of shape (n, 2) or (n, 3)
        Coordinates of the rows on the components that are shown.
    target : Target or None
        A class or a number for each row.
    axes : tuple of str
        What the axes are.
    distances : bool
        Whether distances between points have a meaning, so that all axes have one scale.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.plot import ScoresDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = ScoresDisplay.from_estimator(PCA(3).fit(X), X, y, components=(0, 2))
    >>> display.axes
    ('component 1 (92.5 %)', 'component 3 (1.7 %)')
    >>> display.scores.shape
    (150, 2)
    """

    scores: NDArray
    target: Target | None
    axes: tuple[str, ...]
    distances: bool = False

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        components: tuple[int, ...] = (0, 1),
        ax: Any = None,
    ) -> Self:
        """Draw the rows of a table where a fitted model places them.

        Parameters
        ----------
        estimator : fitted estimator, or Pipeline that ends with one
            With `transform` or, if it places only the rows of its fit, with `embedding_`.
        X : {array-like, sparse matrix} of shape (n, d)
            The table of the fit, or new rows if the model places such.
        y : array-like of shape (n,), optional
            A class or a number for each row. Of more than eight classes of words, the seven most
            frequent have colours of their own.
        components : tuple of two or three int, default=(0, 1)
            Which to show; three of them in three dimensions.
        ax : matplotlib Axes, optional
            In three dimensions one with ``projection="3d"``.

        Returns
        -------
        ScoresDisplay
        """
        if len(components) not in (2, 3):
            raise ValueError(f"components={components!r} must be two or three, such as (0, 1).")
        model, table = last_step(estimator, X)
        scores = scores_of(model, table)
        shown = chosen(components, scores.shape[1], model, 3)
        return cls(
            scores=scores[:, list(shown)],
            target=None if y is None else Target.of(y, len(scores)),
            axes=tuple(axis_name(model, j) for j in shown),
            distances=hasattr(model, "embedding_"),
        ).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        return (6.6, 5.2) if self.projection else self.size

    @property
    def projection(self) -> str | None:
        """``'3d'`` for three components."""
        return "3d" if self.scores.shape[1] == 3 else None

    def _draw(self, ax: Any) -> None:
        draw_points(ax, self.scores, self.target)
        if self.projection:
            make_box(ax, self.axes, equal=self.distances)
            return
        ax.set(xlabel=self.axes[0], ylabel=self.axes[1])
        if self.distances:
            ax.set_aspect("equal", adjustable="datalim")
        else:  # where nothing is, in the mean
            ax.axhline(0, color="#d5d9de", linewidth=0.8, zorder=0)
            ax.axvline(0, color="#d5d9de", linewidth=0.8, zorder=0)
