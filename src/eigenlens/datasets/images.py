"""Images as rows of a table: faces and handwritten digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenlens.datasets.originals import original

__all__ = ["Images", "digits", "faces"]

FACES = {"olivetti": (64, 64), "cbcl": (19, 19)}


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """Grey images as rows.

    Attributes
    ----------
    X : ndarray of shape (n_images, height * width)
        Brightness, from 0 to 1.
    shape : tuple of int
        Height and width.
    labels : ndarray of shape (n_images,) or None
        What each of them shows, where that is known.
    source : str
        Whose images they are.

    Examples
    --------
    >>> from eigenlens import datasets
    >>> images = datasets.digits()
    >>> images.X[0].reshape(images.shape).shape == images.shape
    True
    >>> bool(images.X.min() >= 0), bool(images.X.max() <= 1)
    (True, True)
    """

    X: NDArray
    shape: tuple[int, int]
    labels: NDArray | None
    source: str


def faces(name: str = "olivetti") -> Images:
    """Return images of faces: the original ones where they are at hand, else a hundred small ones.

    They are looked for in the folder that ``EIGENLENS_DATA`` names (see `original`); the Olivetti
    faces among those that scikit-learn has downloaded before; and taken from scikit-image, which
    carries 100 faces of 25 x 25 pixels, some of the set "Labeled Faces in the Wild".

    Parameters
    ----------
    name : {"olivetti", "cbcl"}, default="olivetti"
        400 faces of 64 x 64 pixels, or 2429 of 19 x 19.

    Returns
    -------
    Images

    Examples
    --------
    >>> from eigenlens import datasets
    >>> images = datasets.faces()
    >>> images.X.shape[1] == images.shape[0] * images.shape[1]
    True
    """
    if name not in FACES:
        known = " or ".join(map(repr, FACES))
        raise ValueError(f"name={name!r} is not known. Ask for {known}.")
    file = f"{name}.npz" if name == "olivetti" else f"{name}_faces.npz"
    found = original(file)
    if found is not None:
        return Images(_unit(found["X"]), FACES[name], found.get("y"), f"{name} faces")
    from sklearn.datasets import fetch_olivetti_faces

    kept = _downloaded(fetch_olivetti_faces) if name == "olivetti" else None
    if kept is not None:
        return Images(kept.data.astype(float), FACES[name], kept.target, "olivetti faces")
    from eigenlens._compat import optional

    wild = optional("skimage.data", extra="examples").lfw_subset()[:100]  # the others are no faces
    return Images(wild.reshape(100, -1), wild.shape[1:], None, "faces of scikit-image")


def digits() -> Images:
    """Return images of digits: the USPS digits where at hand, else scikit-learn's small ones.

    The first are looked for in the folder that ``EIGENLENS_DATA`` names (see `original`): 9298
    images of 16 x 16 pixels, of which the last 2007 are the test set. The others are 1797 images of
    8 x 8 pixels.

    Returns
    -------
    Images

    Examples
    --------
    >>> from eigenlens import datasets
    >>> images = datasets.digits()
    >>> sorted(set(images.labels.tolist()))
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    found = original("usps.npz")
    if found is not None:
        X = np.concatenate([found["X_train"], found["X_test"]]).astype(float)
        labels = np.concatenate([found["y_train"], found["y_test"]])
        return Images(X, (16, 16), labels % 10, "USPS digits")  # some copies call zero ten
    from sklearn.datasets import load_digits

    small = load_digits()
    return Images(small.data / 16, (8, 8), small.target, "small digits of scikit-learn")


def _unit(pixels: NDArray) -> NDArray:
    """Return whole brightnesses of 0 to 255 as 0 to 1, and others as they are."""
    return pixels / 255 if np.issubdtype(pixels.dtype, np.integer) else pixels.astype(float)


def _downloaded(fetch: Callable[..., Any]) -> Any:
    """Return what a function of scikit-learn fetched earlier, or None: nothing is fetched now."""
    try:
        return fetch(download_if_missing=False)
    except OSError:
        return None
