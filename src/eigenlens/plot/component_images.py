"""Components as images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import NDArray

from .display import Panels
from .images import arranged, as_images, is_signed, mean_of, show
from .inputs import axis_name, last_step, weights_of

__all__ = ["ComponentImagesDisplay"]


@dataclass(eq=False)
class ComponentImagesDisplay(Panels):
    """Components as images: eigenfaces, parts, atoms, prototypes.

    Each has shades of its own, from its least to its largest pixel. Where components have pixels of
    both signs, white is zero and the colours are the two signs.

    Attributes
    ----------
    components : ndarray of shape (k, height, width) or (k, height, width, 3)
    mean : ndarray of shape (height, width) or (height, width, 3), or None
        Shown first, if the model has a mean other than zero.
    titles : tuple of str
        With the shares of the variance, where the model knows them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenlens import PCA
    >>> from eigenlens.plot import ComponentImagesDisplay
    >>> display = ComponentImagesDisplay.from_estimator(PCA(11).fit(load_digits().data))
    >>> display.components.shape
    (11, 8, 8)
    """

    panel = (1.5, 1.7)

    components: NDArray
    mean: NDArray | None
    titles: tuple[str, ...]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        image_shape: tuple[int, ...] | None = None,
        most: int = 16,
        ax: Any = None,
    ) -> Self:
        """Draw the components of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator, or pipeline that ends with one
            With ``components_``.
        image_shape : tuple of int, optional
            (height, width), or (height, width, 3) for colours. By default a square.
        most : int, default=16
            The first components, of which no more are drawn.
        ax : matplotlib Axes, or array of them, optional

        Returns
        -------
        ComponentImagesDisplay
        """
        model, _ = last_step(estimator)
        components = as_images(weights_of(model)[:most], image_shape)
        mean = mean_of(model)
        return cls(
            components,
            None if mean is None else as_images(mean[None], image_shape)[0],
            tuple(axis_name(model, j) for j in range(len(components))),
        ).plot(ax)

    def _shape(self) -> tuple[int, int]:
        return arranged(len(self.components) + (self.mean is not None))

    def _draw(self, ax: Any) -> None:
        signed = is_signed(self.components)
        panels = iter(ax.flat)
        if self.mean is not None:
            show(next(panels), self.mean, title="mean")
        for image, title in zip(self.components, self.titles, strict=True):
            show(next(panels), image, signed=signed, title=title)
        for empty in panels:
            empty.set_axis_off()
