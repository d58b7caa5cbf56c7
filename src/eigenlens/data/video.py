"""Videos as tables: one row a frame.

The container is told by the ending, and no other is tried: FFmpeg would follow a list of files or
addresses that bears the name of a video.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from .._compat import optional
from .errors import DataError
from .images import Pictures, require_modest, stacked

__all__ = ["VIDEOS", "VideoBlocks"]

VIDEOS = {
    ".mp4": "mov",
    ".m4v": "mov",
    ".mov": "mov",
    ".mkv": "matroska",
    ".webm": "matroska",
    ".avi": "avi",
    ".mpg": "mpeg",
    ".mpeg": "mpeg",
    ".gif": "gif",
}
"""Videos that are read, by the ending of the file: the container, as FFmpeg calls it."""

SAFE = {"protocol_whitelist": "file"}


class VideoBlocks(Pictures):
    """The frames of a video, one a row: a column a pixel, or three for red, green and blue.

    Values are 0 to 255, as float32. Memory: a block of frames at a time.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path = name
        self._file = path
        self._n_rows: int | None = None
        with self._opened() as (_, stream):
            code = stream.codec_context
            grey = code.format is not None and code.format.name.startswith("gray")
            require_modest(code.width, code.height, 1 if grey else 3, path)
            self.frame_rate = float(stream.average_rate or 0) or None
            self._claimed = int(stream.frames)
        size = (code.height, code.width)
        self._format = "gray" if grey else "rgb24"
        self.image_shape = size if grey else (*size, 3)
        self.left_out: Mapping[str, str] = {}

    @property
    def nbytes(self) -> int:  # type: ignore[override]  # it may take a pass
        """About the bytes that all frames take in memory."""
        frames = self._n_rows or self._claimed or self.n_rows
        return frames * math.prod(self.image_shape) * self.dtype.itemsize

    @property
    def n_rows(self) -> int:
        """Number of frames; they are counted once, for files that say it are not always right."""
        if self._n_rows is None:
            for _ in self._frames():
                pass
        assert self._n_rows is not None
        return self._n_rows

    def __iter__(self) -> Iterator[NDArray]:
        return stacked(map(self._row, self._frames()))

    def _row(self, frame: Any) -> NDArray:
        pixels: NDArray = frame.to_ndarray(format=self._format)
        return pixels.astype(self.dtype).ravel()

    def _frames(self) -> Iterator[Any]:
        count = 0
        with self._opened() as (container, stream):
            for frame in container.decode(stream):
                if (frame.height, frame.width) != self.image_shape[:2]:
                    raise DataError(
                        f"{self.path} changes its size at frame {count}. Save it with one size."
                    )
                yield frame
                count += 1
        if count < max(1, self._claimed):
            raise DataError(
                f"{self.path} is cut off: it says that it has {max(1, self._claimed)} frames, and "
                f"has {count}. Fetch it anew."
            )
        self._n_rows = count

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Any]]:
        """Yield the container and its stream of pictures."""
        av = optional("av", "media")
        kind = VIDEOS[self._file.suffix.lower()]
        try:
            with av.open(str(self._file), format=kind, options=SAFE) as container:
                if not container.streams.video:
                    raise DataError(f"{self.path} has no pictures, only sound. Give a video.")
                stream = container.streams.video[0]
                stream.thread_type = "AUTO"
                yield container, stream
        except DataError:
            raise
        except Exception as error:  # also where names in the file are no text
            reason = " ".join(str(getattr(error, "strerror", None) or error).split())[:120]
            raise DataError(
                f"{self.path} is damaged, cut off or no video ({reason}). Make or fetch it anew."
            ) from None
