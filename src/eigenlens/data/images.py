"""Images as rows: a folder of them, of which all have one size.

Files may be hostile. Only formats whose decoders are plain code are opened (others would run
programs: EPS needs Ghostscript), the size that a file claims is looked at before it is unpacked,
and whatever a decoder stumbles over is an error in one sentence.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._compat import optional
from .._text import natural
from .blocks import BLOCK_BYTES, Blocks
from .errors import DataError

__all__ = [
    "IMAGES",
    "ImageBlocks",
    "Pictures",
    "pixel_names",
    "require_modest",
    "shape_of_names",
    "shape_text",
    "stacked",
]

IMAGES = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".bmp": "BMP",
    ".webp": "WEBP",
    ".pgm": "PPM",
    ".ppm": "PPM",
}
"""Images that are read, by the ending of the file: their names in Pillow."""

MOST_PIXELS = 1 << 25  # of an image: a frame of 8K video has as many
MOST_GROWTH = 400  # bytes of a row for each byte of the file
GROWN_BYTES = 1 << 26  # of a row, whatever the size of the file: 4K in grey, or 2K in colour
GREY = {"1": "L", "L": "L", "LA": "L", "I": "I", "I;16": "I", "I;16B": "I", "F": "F"}
COLOURS = ("red", "green", "blue")
TURNED = range(5, 9)  # values of the tag of orientation that exchange height and width
ORIENTATION = 0x0112

Shape = tuple[int, ...]


class Pictures(Blocks):
    """Rows that are images of one size; what their pixels are called is made when asked for."""

    dtype = np.dtype(np.float32)
    image_shape: Shape

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the columns, which may take more memory than the rows."""
        return pixel_names(self.image_shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, math.prod(self.image_shape)


class ImageBlocks(Pictures):
    """The images of a folder, one a row, in the order of their names (2 before 10).

    Grey images have a column a pixel, colour ones three, red, green and blue; transparency is left
    out. Values are those of the file, mostly 0 to 255, as float32. Files with other endings are
    not looked at. Memory: a block of images at a time.
    """

    def __init__(self, folder: Path, name: str) -> None:
        files = [path for path in folder.iterdir() if path.suffix.lower() in IMAGES]
        images = (path for path in files if path.is_file())
        self.files = tuple(sorted(images, key=lambda path: natural(path.name)))
        if not self.files:
            raise DataError(
                f"The folder {name!r} holds no images ({', '.join(IMAGES)}). Name a folder of "
                "images, or a file."
            )
        self.path = name
        self.image_shape = _common_shape(self.files)
        self.row_names = tuple(path.stem for path in self.files)
        self.left_out: Mapping[str, str] = {}
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize

    @property
    def n_rows(self) -> int:
        """Number of images."""
        return len(self.files)

    def __iter__(self) -> Iterator[NDArray]:
        return stacked(map(self._row, self.files))  # not in threads: see _tried

    def _row(self, path: Path) -> NDArray:
        with _opened(path) as image:
            mode = GREY.get(image.mode, "RGB")
            turned = optional("PIL.ImageOps", "media").exif_transpose
            pixels = np.asarray(_tried(path, lambda: turned(image.convert(mode))))
        if pixels.shape != self.image_shape:  # the file has changed since
            raise _differs(path, pixels.shape, self.files[0], self.image_shape)
        return pixels.astype(self.dtype).ravel()


def stacked(rows: Iterable[NDArray]) -> Iterator[NDArray]:
    """Yield rows in blocks of a few megabytes."""
    block: list[NDArray] = []
    for row in rows:
        if row.nbytes >= BLOCK_BYTES:  # a block of its own, which is not copied
            yield row[None]
            continue
        block.append(row)
        if len(block) * row.nbytes >= BLOCK_BYTES:
            yield np.stack(block)
            block = []
    if block:
        yield np.stack(block)


def pixel_names(shape: Shape) -> tuple[str, ...]:
    """Return names for the pixels of an image, row by row: y0x0, y0x1, ...

    >>> pixel_names((1, 2)), pixel_names((1, 1, 3))
    (('y0x0', 'y0x1'), ('y0x0 red', 'y0x0 green', 'y0x0 blue'))
    """
    height, width, *colour = shape
    places = [f"y{y}x{x}" for y in range(height) for x in range(width)]
    if not colour:
        return tuple(places)
    return tuple(f"{place} {part}" for place in places for part in COLOURS)


def shape_of_names(names: Sequence[str]) -> Shape | None:
    """Return the size of the images whose pixels have these names, None if they are no pixels.

    >>> shape_of_names(["y0x0", "y0x1"]), shape_of_names(["length", "width"])
    ((1, 2), None)
    """
    last = re.fullmatch(r"y(\d{1,6})x(\d{1,6})( blue)?", names[-1]) if len(names) else None
    if last is None:
        return None
    shape = (int(last[1]) + 1, int(last[2]) + 1, *((3,) if last[3] else ()))
    agree = math.prod(shape) == len(names) and pixel_names(shape) == tuple(names)
    return shape if agree else None


def shape_text(shape: Sequence[int]) -> str:
    """Return the size of an image in words.

    >>> shape_text((20, 30)), shape_text((20, 30, 3))
    ('20 x 30 in grey', '20 x 30 in colour')
    """
    return f"{shape[0]} x {shape[1]} in {'colour' if len(shape) == 3 else 'grey'}"


def require_modest(width: int, height: int, parts: int, file: Path) -> None:
    """Raise if an image says that it is larger than any that a row of a table can be.

    Also if it is far larger than its file: an image of one colour takes a few bytes of a file.
    """
    if width * height > MOST_PIXELS:
        raise DataError(
            f"{file.name} says that it has {width} x {height} pixels, more than "
            f"{MOST_PIXELS // 10**6} million: it is not read. Make it smaller."
        )
    size = file.stat().st_size
    if 4 * parts * width * height > max(GROWN_BYTES, MOST_GROWTH * size):
        raise DataError(
            f"{file.name} says that it has {width} x {height} pixels, in a file of "
            f"{size / 1e6:.2g} MB: it is not read. Make it smaller."
        )


def _common_shape(files: Sequence[Path]) -> Shape:
    """Return the size of all images, from their heads alone."""
    first = _shape(files[0])
    for path in files[1:]:
        if (shape := _shape(path)) != first:
            raise _differs(path, shape, files[0], first)
    return first


def _shape(path: Path) -> Shape:
    with _opened(path) as image:
        width, height = image.size
        if _tried(path, lambda: image.getexif().get(ORIENTATION)) in TURNED:
            width, height = height, width
        return (height, width) if image.mode in GREY else (height, width, 3)


def _differs(path: Path, shape: Shape, first: Path, expected: Shape) -> DataError:
    return DataError(
        f"{path.name} is {shape_text(shape)}, and {first.name} is {shape_text(expected)}: the "
        "images of a folder are the rows of one table. Bring them to one size and kind."
    )


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Yield an image of which only the head has been read."""
    with path.open("rb") as stream:
        image = _head(path, stream)
        width, height = image.size
        require_modest(width, height, 1 if image.mode in GREY else 3, path)
        yield image


def _head(path: Path, stream: BinaryIO) -> Any:
    pillow = optional("PIL.Image", "media")
    kind = IMAGES[path.suffix.lower()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a size that is refused later, and of odd tags
        try:
            return pillow.open(stream, formats=[kind])
        except pillow.DecompressionBombError:
            raise DataError(
                f"{path.name} says that it has more than {MOST_PIXELS // 10**6} million pixels: it "
                "is not read. Make it smaller."
            ) from None
        except Exception:  # of many kinds, for heads that are almost right
            raise DataError(
                f"{path.name} is named as {kind}, but is no such image, or a damaged one. Take it "
                "out of the folder, or fetch it anew."
            ) from None


def _tried(path: Path, decode: Any) -> Any:
    """Return what is decoded; decoders raise almost anything for a broken file.

    What they warn of is not kept, by a filter that all threads have together.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return decode()
    except Exception as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise DataError(
            f"{path.name} is damaged or cut off ({reason}). Take it out of the folder, or fetch it "
            "anew."
        ) from None
