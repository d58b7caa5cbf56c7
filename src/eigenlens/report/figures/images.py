"""Rows and components that are images, as small pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._text import count, short
from .palette import DIVERGING
from .png import data_uri

__all__ = ["pictures"]

Picture = dict[str, Any]
STEPS = (("before", "as given"), ("after", "from the components"), ("sparse", "what stands out"))


def pictures(data: dict[str, Any]) -> dict[str, dict[str, list[Picture]]]:
    """Return the pictures of PCA and of each method that has some, by the id of their section."""
    shape = data.get("image")
    if not shape:
        return {}
    size = (shape["height"], shape["width"], shape.get("channels") or 1)
    found = {}
    if data.get("images"):
        found["images"] = _of(data["images"], size, "PCA", signed=True)
    for i, method in enumerate(data["methods"]):
        if images := method.get("images"):
            given = {"components": images} if isinstance(images, list) else images
            # parts are as bright as they are large; directions have a sign
            signed = method.get("kind") != "parts"
            found[f"method{i}"] = _of(given, size, method["name"], signed=signed)
    return found


def _of(
    images: dict[str, Any], size: tuple[int, int, int], name: str, *, signed: bool
) -> dict[str, list[Picture]]:
    made: dict[str, list[Picture]] = {"components": [], "rows": []}
    if images.get("mean") is not None:
        mean = _grey(images["mean"], size)
        made["components"].append(_picture([mean], "the mean", f"the mean of {name}"))
    for j, one in enumerate(images.get("components") or []):
        pixels = _signed(one, size) if signed else _grey(one, size)
        text = f"component {j + 1}"
        made["components"].append(_picture([pixels], text, f"{text} of {name}"))
    for row in images.get("rows") or []:
        made["rows"].append(_example(row, size, name))
    return made


def _example(row: dict[str, Any], size: tuple[int, int, int], name: str) -> Picture:
    """Return a row before, after and, where there is one, the part in front."""
    there = [(key, words) for key, words in STEPS if row.get(key) is not None]
    before = _finite(row["before"])
    low, high = float(before.min()), float(before.max())
    tiles = [
        _signed(row[key], size) if key == "sparse" else _grey(row[key], size, low, high)
        for key, _ in there
    ]
    words = ", ".join(words for _, words in there)
    made = _picture(tiles, f"row {short(row['row'], 24)}", f"row {row['row']}: {words}, by {name}")
    return made | {"words": words}


def _picture(tiles: list[NDArray], caption: str, alt: str) -> Picture:
    height, width = tiles[0].shape[:2]
    size = count(width, "pixel")
    scale = max(1.0, 72 / max(height, width))
    return {
        "uris": [data_uri(tile) for tile in tiles],
        "caption": caption,
        "alt": f"{alt} ({size} across)",
        "width": round(min(scale * width, 240)),
    }


def _finite(image: ArrayLike) -> NDArray:
    return np.nan_to_num(np.asarray(image, dtype=np.float64), posinf=0.0, neginf=0.0)


def _grey(
    image: ArrayLike,
    size: tuple[int, int, int],
    low: float | None = None,
    high: float | None = None,
) -> NDArray:
    """Return an image from black, the lowest, to white, the highest."""
    values = _shaped(image, size)
    low = float(values.min()) if low is None else low
    high = float(values.max()) if high is None else high
    spread = high - low or 1.0
    return np.asarray(np.rint(255 * np.clip((values - low) / spread, 0.0, 1.0)), dtype=np.uint8)


def _signed(image: ArrayLike, size: tuple[int, int, int]) -> NDArray:
    """Return an image of signed numbers: purple below zero, white at it, orange above."""
    values = _shaped(image, size)
    if values.ndim == 3:
        values = values.mean(axis=2)
    places = values / (np.abs(values).max() or 1.0)
    stops = np.linspace(-1, 1, len(DIVERGING))
    colours = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in DIVERGING])
    channels = [np.interp(places, stops, colours[:, c]) for c in range(3)]
    return np.asarray(np.rint(np.stack(channels, axis=-1)), dtype=np.uint8)


def _shaped(image: ArrayLike, size: tuple[int, int, int]) -> NDArray:
    """Return the image as (height, width) or, with three channels, (height, width, 3)."""
    values = _finite(image).reshape(size)
    return values if size[2] == 3 else values[:, :, 0]
