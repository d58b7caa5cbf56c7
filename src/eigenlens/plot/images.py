"""Rows of numbers as images: which shape they have, and how they are shown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .colours import DIVERGING, NO_VALUE, colour_map

__all__ = [
    "Limits",
    "arranged",
    "as_images",
    "bare",
    "is_signed",
    "limits",
    "mean_of",
    "montage",
    "shape_of",
    "show",
]

WIDEST = 8  # images side by side
ROUNDING = 1e-6  # beside what is large: of a mean that was taken off, of pixels below zero

Limits = tuple[float, float]


def shape_of(n: int, image_shape: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Return the shape of images whose rows have `n` numbers.

    Parameters
    ----------
    n : int
    image_shape : tuple of int, optional
        (height, width), or (height, width, 3) for colours. By default a square.

    Examples
    --------
    >>> from eigenlens.plot.images import shape_of
    >>> shape_of(64), shape_of(30, (5, 6))
    ((8, 8), (5, 6))
    """
    if image_shape is None:
        side = math.isqrt(n)
        if side * side == n > 0:
            return side, side
        raise ValueError(
            f"Rows of {n} numbers are no square images. Give image_shape=(height, width), or "
            f"(height, width, 3) for colours, whose product is {n}."
        )
    shape = tuple(int(length) for length in np.atleast_1d(image_shape))
    allowed = len(shape) == 2 or (len(shape) == 3 and shape[2] == 3)
    if not allowed or min(shape) < 1 or math.prod(shape) != n:
        raise ValueError(
            f"image_shape={tuple(image_shape)!r} does not fit rows of {n} numbers. Give (height, "
            f"width), or (height, width, 3) for colours, whose product is {n}."
        )
    return shape


def as_images(rows: ArrayLike, image_shape: tuple[int, ...] | None = None) -> NDArray:
    """Return rows as images: an array of shape (n, height, width), or (n, height, width, 3)."""
    table = np.asarray(rows, dtype=np.float64)
    return table.reshape(len(table), *shape_of(table.shape[1], image_shape))


def mean_of(model: Any) -> NDArray | None:
    """Return the mean of a model, or None if it has none, or zero up to rounding."""
    mean = getattr(model, "mean_", None)
    if mean is None:
        return None
    variances = getattr(model, "explained_variance_", np.zeros(1))
    negligible = ROUNDING * float(np.sqrt(np.max(variances, initial=0.0)))
    mean = np.asarray(mean, dtype=np.float64)
    return mean if np.abs(mean).max(initial=0.0) > negligible else None


def is_signed(images: NDArray) -> bool:
    """Return whether images have pixels of both signs, beyond rounding."""
    known = images[np.isfinite(images)]
    return bool(known.min(initial=0.0) < -ROUNDING * np.abs(known).max(initial=0.0))


def limits(*images: NDArray, signed: bool = False) -> Limits:
    """Return the numbers that are drawn darkest and brightest: on both sides of 0 if `signed`."""
    known = np.concatenate([image[np.isfinite(image)].ravel() for image in images])
    if signed:
        largest = float(np.abs(known).max(initial=0.0)) or 1.0
        return -largest, largest
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    return (low, high) if low < high else (low - 0.5, low + 0.5)


def show(
    ax: Any, image: NDArray, within: Limits | None = None, *, signed: bool = False, title: str = ""
) -> Any:
    """Draw one image: grey, or in two colours that meet at zero if `signed`; no ticks."""
    low, high = limits(image, signed=signed) if within is None else within
    if image.ndim == 3:  # colours of matplotlib are between 0 and 1
        image = np.clip(np.nan_to_num((image - low) / (high - low), nan=0.5), 0, 1)
    colours = colour_map(DIVERGING if signed else "gray")
    drawn = ax.imshow(image, cmap=colours, vmin=low, vmax=high, interpolation="nearest")
    bare(ax)
    if title:
        ax.set_title(title, fontsize="small", loc="center")
    return drawn


def bare(ax: Any) -> None:
    """Leave out ticks, and keep a thin frame."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(visible=True, linewidth=0.5, color=NO_VALUE)


def arranged(n: int) -> tuple[int, int]:
    """Return rows and columns for `n` panels, with few left empty, and never higher than wide.

    Examples
    --------
    >>> from eigenlens.plot.images import arranged
    >>> arranged(16), arranged(17), arranged(3)
    ((4, 4), (3, 6), (1, 3))
    """
    least = math.ceil(math.sqrt(n))
    widths = range(least, max(least, min(2 * least, WIDEST)) + 1)
    columns = min(widths, key=lambda width: (-n % width, width))
    return -(-n // columns), columns


def montage(images: NDArray) -> NDArray:
    """Return images side by side as one, about as high as wide, with lines of NaN between them."""
    n, height, width, *colours = images.shape
    columns = math.ceil(math.sqrt(n))
    rows = -(-n // columns)
    line = max(1, min(height, width) // 16)
    board = np.full((rows * columns, height + line, width + line, *colours), np.nan)
    board[:n, line:, line:] = images
    board = board.reshape(rows, columns, *board.shape[1:]).swapaxes(1, 2)
    board = board.reshape(rows * (height + line), columns * (width + line), *colours)
    return np.pad(board, [(0, line), (0, line), *[(0, 0)] * len(colours)], constant_values=np.nan)
