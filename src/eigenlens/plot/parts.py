"""One image as a sum of parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .display import Panels
from .images import as_images, is_signed, limits, mean_of, montage, show
from .inputs import last_step, scores_of, table_of, weights_of

__all__ = ["PartsDisplay"]

WIDTHS = [3.0, 2.0, 1.4, 1.4]  # of parts, code and the two images


@dataclass(eq=False)
class PartsDisplay(Panels):
    """One image as parts times code, after figure 1 of Lee and Seung (1999).

    From the left: the parts, each to its own brightest pixel; the code, each number where its part
    is, as the root of its size so that small ones are seen too; their product; and the image
    itself. Where parts or codes have both signs, white is zero. A mean comes first, if there is one
    to be added.

    Attributes
    ----------
    basis : ndarray of shape (k, height, width), or with 3 colours behind it
        The parts.
    code : ndarray of shape (k,)
    mean : ndarray of shape (height, width), or None
    reconstruction : ndarray of shape (height, width)
        The sum of the parts times their codes, and of the mean.
    original : ndarray of shape (height, width)
    most : int
        Of the parts, how many are drawn: those with the largest codes if there are more.
    name : str
        Of the method.

    References
    ----------
    D. D. Lee, H. S. Seung, Learning the parts of objects by non-negative matrix factorization,
    Nature 401 (1999).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from eigenlens import NMF
    >>> from eigenlens.plot import PartsDisplay
    >>> X = load_digits().data
    >>> display = PartsDisplay.from_estimator(NMF(16, random_state=0).fit(X), X[0])
    >>> np.allclose(np.tensordot(display.code, display.basis, 1), display.reconstruction)
    True
    """

    basis: NDArray
    code: NDArray
    mean: NDArray | None
    reconstruction: NDArray
    original: NDArray
    most: int
    name: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        x: Any,
        *,
        image_shape: tuple[int, ...] | None = None,
        most: int = 49,
        ax: Any = None,
    ) -> Self:
        """Draw how a fitted model puts an image together.

        Parameters
        ----------
        estimator : fitted estimator, or pipeline that ends with one
            With ``components_``, such as NMF, VectorQuantizer or PCA.
        x : array-like of shape (n_features,) or (1, n_features)
            The image, as a row.
        image_shape : tuple of int, optional
            (height, width), or (height, width, 3) for colours. By default a square.
        most : int, default=49
            Parts to draw. Of more, those that count most in this image are drawn.
        ax : matplotlib Axes, or array of them, optional

        Returns
        -------
        PartsDisplay
        """
        row = x if np.ndim(x) == 2 else np.asarray(x)[None]
        model, seen = last_step(estimator, row)
        if np.shape(seen)[0] != 1:
            raise ValueError(f"x has {np.shape(seen)[0]} rows. Give one image, such as X[0].")
        components, code = weights_of(model), scores_of(model, seen)[0]
        if getattr(model, "whiten", False):
            code = code * np.sqrt(model.explained_variance_)
        mean = mean_of(model)
        whole = code @ components + (0 if mean is None else mean)
        basis = as_images(components, image_shape)
        shape = basis.shape[1:]
        return cls(
            basis,
            code,
            None if mean is None else mean.reshape(shape),
            whole.reshape(shape),
            table_of(seen, None)[0].reshape(shape),
            most,
            type(model).__name__,
        ).plot(ax)

    def _shape(self) -> tuple[int, int]:
        return 1, 4 if self.mean is None else 5

    def _widths(self) -> list[float]:
        return [1.4, *WIDTHS] if self.mean is not None else WIDTHS

    def _figure_size(self) -> tuple[float, float]:
        return 1.05 * sum(self._widths()), 3.3

    def _draw(self, ax: Any) -> None:
        size = np.abs(self.basis).reshape(len(self.basis), -1).max(axis=1)
        heavy = np.argsort(-np.abs(self.code) * size, kind="stable")[: self.most]
        shown = np.sort(heavy)
        size = np.where(size == 0, 1, size)[shown]
        bright = self.basis[shown] / size.reshape(-1, *[1] * (self.basis.ndim - 1))
        numbers = np.sign(self.code[shown]) * np.sqrt(np.abs(self.code[shown]) * size)
        tiles = np.broadcast_to(numbers[:, None, None], (len(shown), *self.basis.shape[1:3]))
        k, panels = len(self.basis), list(ax[0])
        if self.mean is not None:
            show(panels.pop(0), self.mean, title="mean +")
        count = f"{k} parts" if len(shown) == k else f"{len(shown)} of {k} parts"
        for panel, board, title in (
            (panels[0], montage(bright), f"{self.name}: {count}"),
            (panels[1], montage(tiles), "× code"),
        ):
            signed = is_signed(board)
            within = limits(board, signed=signed) if signed else (0.0, limits(board)[1])
            show(panel, board, within, signed=signed, title=title)
        within = limits(self.original)
        show(panels[2], self.reconstruction, within, title="= image")
        show(panels[3], self.original, within, title="original")
