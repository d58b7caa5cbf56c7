"""Data that no package may carry, from a folder that the user names."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["original"]

FOLDER = "EIGENLENS_DATA"


def original(name: str) -> dict[str, NDArray] | None:
    """Return the arrays of a file in the folder that ``EIGENLENS_DATA`` names; None without it.

    The examples are shown on data that installed packages carry, or that they make. The experiments
    they repeat were made on others, which anybody may have, but not everybody may hand on:

    - ``olivetti.npz``: ``X`` 400 x 4096, the AT&T faces, and ``y``.
    - ``cbcl_faces.npz``: ``X`` 2429 x 361, the CBCL faces.
    - ``usps.npz``: ``X_train`` and ``X_test`` in [0, 1], 256 columns, ``y_train`` and ``y_test``.
    - ``20news_w100.npz``: ``X`` 16 242 x 100 of 0 and 1, and ``words`` (S. Roweis).
    - ``video_highway_tiny.npz``: ``X`` frames x pixels, and ``image_shape``.

    Parameters
    ----------
    name : str
        Of the file, an ``.npz`` of plain arrays: nothing in it is run.

    Returns
    -------
    dict of str to ndarray, or None
        None where ``EIGENLENS_DATA`` is not set, or its folder does not have the file.

    Examples
    --------
    >>> from eigenlens import datasets
    >>> datasets.original("a file that nobody has.npz") is None
    True
    """
    named = os.environ.get(FOLDER)
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise NotADirectoryError(
            f"{FOLDER}={named} is not a folder. Let it name the one with the original data, "
            "or unset it."
        )
    path = folder / name
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}
