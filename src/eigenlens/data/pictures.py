"""Rows that are images to files: a folder of PNG files, or a video; whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from .._compat import optional
from .atomic import atomic, atomic_folder, require_new_folder, require_replaceable
from .errors import DataError

__all__ = ["PICTURES", "PictureWriter"]

FRAME_RATE = 10.0  # of a video whose rows came without one


class Film(Protocol):
    """Takes images one after the other."""

    def add(self, image: NDArray) -> None: ...
    def close(self) -> None: ...


class PictureWriter:
    """Writes rows as pictures: to a folder of PNG files, or to a video (.mp4, .mkv).

    Values are rounded to whole numbers from 0 to 255, and cut off there: for the numbers
    themselves write a table. MP4 is H.264, which every player shows and which loses a little;
    MKV is FFV1, which loses nothing.

    Parameters
    ----------
    path : str or path
        A name without an ending is a folder, which must be new or empty.
    image_shape : tuple of int
        Height and width, and 3 for colour.
    row_names : sequence of str, optional
        Names of the image files; by default their numbers.
    frame_rate : float, optional
        Of the video, in frames a second.
    signed : bool, default=False
        Whether 0 is in the middle of the greys, and a value of 2 one step away from it.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        image_shape: Sequence[int],
        row_names: Sequence[str] | None = None,
        frame_rate: float | None = None,
        *,
        signed: bool = False,
    ) -> None:
        self._path, self._shape = Path(path), tuple(image_shape)
        self._names, self._rate, self._signed = row_names, frame_rate or FRAME_RATE, signed
        self.require_suited(self._path, self._shape)
        self._stack = ExitStack()

    @staticmethod
    def require_suited(path: Path, shape: Sequence[int]) -> None:
        """Raise unless pictures of this size can be written there."""
        if not path.suffix:
            optional("PIL.Image", "media")
            require_new_folder(path)
            return
        optional("av", "media")
        require_replaceable(path)
        if path.suffix.lower() == ".mp4" and any(size % 2 for size in shape[:2]):
            raise DataError(
                f"Frames are {shape[0]} x {shape[1]}, and those of .mp4 have even sides. Write "
                ".mkv, or a folder of images (a name without an ending)."
            )

    def __enter__(self) -> Self:
        make = PICTURES[self._path.suffix.lower()]
        self._film: Film = make(self, self._stack)
        return self

    def write(self, block: NDArray) -> None:
        """Add the rows of `block`."""
        values = 127.5 + block / 2 if self._signed else block
        pixels = np.clip(np.rint(np.nan_to_num(values)), 0, 255).astype(np.uint8)
        for row in pixels:
            self._film.add(row.reshape(self._shape))

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool | None:
        if kind is None:
            self._film.close()
        return self._stack.__exit__(kind, error, trace)

    def folder(self, stack: ExitStack) -> Film:
        """Return a folder of images."""
        return _Folder(stack.enter_context(atomic_folder(self._path)), self._names)

    def video(self, stack: ExitStack) -> Film:
        """Return a video."""
        temporary = stack.enter_context(atomic(self._path))
        return _Video(temporary, self._shape, self._rate, stack)


PICTURES: dict[str, Callable[[PictureWriter, ExitStack], Film]] = {
    "": PictureWriter.folder,
    ".mp4": PictureWriter.video,
    ".mkv": PictureWriter.video,
}
"""Pictures that can be written, by the ending; a folder has none."""


class _Folder:
    def __init__(self, folder: Path, names: Sequence[str] | None) -> None:
        self.folder, self.names, self.count = folder, names, 0
        self.image = optional("PIL.Image", "media")
        self.taken: set[str] = set()

    def add(self, image: NDArray) -> None:
        name = f"{self.count:06d}" if self.names is None else self.names[self.count]
        if name in self.taken:  # a.png and a.jpg
            name = f"{name}-{self.count:06d}"
        self.taken.add(name)
        self.count += 1
        self.image.fromarray(image).save(self.folder / f"{name}.png")

    def close(self) -> None:
        pass


class _Video:
    CODECS = {".mp4": ("libx264", "yuv420p"), ".mkv": ("ffv1", "bgr0")}  # noqa: RUF012

    def __init__(self, path: Path, shape: tuple[int, ...], rate: float, stack: ExitStack) -> None:
        self.av = optional("av", "media")
        codec, pixels = self.CODECS[path.suffix.lower()]
        grey = len(shape) == 2
        self.format = "gray" if grey else "rgb24"
        self.container = stack.enter_context(self.av.open(str(path), "w"))
        self.stream = self.container.add_stream(codec, Fraction(rate).limit_denominator(1001))
        self.stream.height, self.stream.width = shape[:2]
        self.stream.pix_fmt = "gray" if grey and codec == "ffv1" else pixels

    def add(self, image: NDArray) -> None:
        frame = self.av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format=self.format)
        self.container.mux(self.stream.encode(frame))

    def close(self) -> None:
        self.container.mux(self.stream.encode())
        self.container.close()
