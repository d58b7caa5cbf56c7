"""The images along two components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .display import Panels
from .images import as_images, limits, show
from .inputs import axis_name, chosen, last_step, scores_of

__all__ = ["TraversalDisplay"]

TAIL = 0.05  # of the scores is beyond the first and the last of the grid


@dataclass(eq=False)
class TraversalDisplay(Panels):
    """The images ``mean + a v1 + b v2`` on a grid: what two components do.

    Every image is one that the model would give back for these scores. In the middle is the mean;
    to the right grows the score of the first component, upwards that of the second.

    Attributes
    ----------
    images : ndarray of shape (n_down, steps, height, width), or with 3 colours behind it
    across : ndarray of shape (steps,)
        Scores a of the first component, from left to right.
    down : ndarray of shape (n_down,)
        Scores b of the second one, from the top, where they are largest; a single 0 if there is no
        second component.
    titles : tuple of str
        Of the components.

    References
    ----------
    T. Hastie, R. Tibshirani, J. Friedman, The elements of statistical learning (2009), figure
    14.23, which shows handwritten threes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenlens import PCA
    >>> from eigenlens.plot import TraversalDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> display = TraversalDisplay.from_estimator(PCA(2).fit(X[y == 3]))
    >>> display.images.shape
    (5, 5, 8, 8)
    """

    panel = (1.1, 1.1)

    images: NDArray
    across: NDArray
    down: NDArray
    titles: tuple[str, ...]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        image_shape: tuple[int, ...] | None = None,
        components: tuple[int, ...] = (0, 1),
        steps: int = 5,
        spread: float = 2.0,
        X: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the images along two components of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator, or pipeline that ends with one
            With ``inverse_transform``.
        image_shape : tuple of int, optional
            (height, width), or (height, width, 3) for colours. By default a square.
        components : tuple of int, default=(0, 1)
            One or two, 0 being the first.
        steps : int, default=5
            Images along each.
        spread : float, default=2.0
            Deviations of the scores from the mean to the last image.
        X : array-like of shape (n_samples, n_features), optional
            Take even quantiles of the scores of these rows, from 5 % to 95 %, instead of
            deviations: then all images are where rows are. Models without variances of components
            need it; those without a mean have the mean score of all other components.
        ax : matplotlib Axes, or array of them, optional

        Returns
        -------
        TraversalDisplay
        """
        model, seen = last_step(estimator, X)
        if not hasattr(estimator, "inverse_transform"):
            raise ValueError(
                f"{type(estimator).__name__} has no inverse_transform, the way from scores to "
                "images. Take a method that has one, such as PCA."
            )
        ways = _even(steps)
        if X is not None:
            scores = scores_of(model, seen)
            middle = np.zeros(scores.shape[1]) if _centred(model) else scores.mean(axis=0)
            amounts = np.quantile(scores, 0.5 + (0.5 - TAIL) * ways, axis=0)
        else:
            deviations = _deviations(model)
            middle = np.zeros(len(deviations))
            amounts = spread * ways[:, None] * deviations
        first, *second = _one_or_two(components, len(middle), model)
        across, down = amounts[:, first], amounts[::-1, second].sum(axis=1)
        if not second:
            down = down[:1]
        grid = np.tile(middle, (len(down), len(across), 1))
        grid[..., first] = across
        for j in second:
            grid[..., j] = down[:, None]
        rows = np.asarray(estimator.inverse_transform(grid.reshape(-1, len(middle))))
        images = as_images(rows, image_shape)
        images = images.reshape(len(down), len(across), *images.shape[1:])
        titles = tuple(axis_name(model, j) for j in (first, *second))
        return cls(images, across, down, titles).plot(ax)

    def _shape(self) -> tuple[int, int]:
        return len(self.down), len(self.across)

    def _figure_size(self) -> tuple[float, float]:
        (rows, columns), (width, height) = self._shape(), self.panel
        return columns * width + 0.5, rows * height + 0.5

    def _draw(self, ax: Any) -> None:
        within = limits(np.percentile(self.images, [1, 99]))  # corners would take all contrast
        for place in np.ndindex(ax.shape):
            show(ax[place], self.images[place], within)
        for panel, score in zip(ax[-1], self.across, strict=True):
            panel.set_xlabel(f"{score:.3g}", fontsize="small")
        middle = ax[-1, len(self.across) // 2]
        middle.set_xlabel(f"{middle.get_xlabel()}\n{self.titles[0]}")
        if len(self.titles) > 1:
            for panel, score in zip(ax[:, 0], self.down, strict=True):
                panel.set_ylabel(f"{score:.3g}", fontsize="small")
            middle = ax[len(self.down) // 2, 0]
            middle.set_ylabel(f"{self.titles[1]}\n{middle.get_ylabel()}")


def _even(steps: int) -> NDArray:
    """Return numbers from -1 to 1; 0 alone for a single step."""
    if steps < 1:
        raise ValueError(f"steps={steps} must be at least 1.")
    return np.linspace(-1, 1, steps) if steps > 1 else np.zeros(1)


def _one_or_two(components: Any, k: int, model: Any) -> tuple[int, ...]:
    found = chosen(components, k, model, 2)
    if len(found) > 2:
        raise ValueError(f"components={components!r} are {len(found)}. Choose one or two.")
    return found


def _centred(model: Any) -> bool:
    """Return whether the score 0 stands for the mean."""
    return hasattr(model, "mean_") or hasattr(model, "explained_variance_")


def _deviations(model: Any) -> NDArray:
    """Return how much the scores of each component vary, as the model remembers it."""
    if hasattr(model, "scores_"):
        found: NDArray = model.scores_.std(axis=0)
        return found
    if not hasattr(model, "explained_variance_"):
        raise ValueError(
            f"{type(model).__name__} does not remember how much its scores vary. Give the table "
            "of the fit as X."
        )
    variances = np.asarray(model.explained_variance_, dtype=np.float64)
    return np.ones(len(variances)) if getattr(model, "whiten", False) else np.sqrt(variances)
