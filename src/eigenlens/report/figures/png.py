"""A writer of small PNG files: a page holds images as text, and plotly's are far heavier."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["data_uri"]


def data_uri(pixels: NDArray) -> str:
    """Return 8-bit pixels, (height, width) or (height, width, 3), as an address that holds them.

    The format is that of the standard, ISO/IEC 15948: a header, the rows in one zlib stream, each
    behind a byte that names its filter (0: none), and an end.
    """
    pixels = np.ascontiguousarray(pixels, dtype=np.uint8)
    height, width = pixels.shape[:2]
    kind = 2 if pixels.ndim == 3 else 0  # three colours, or grey
    rows = np.zeros((height, 1 + pixels[0].size), dtype=np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    file = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, part) for name, part in parts)
    return "data:image/png;base64," + base64.b64encode(file).decode("ascii")


def _chunk(name: bytes, part: bytes) -> bytes:
    return struct.pack(">I", len(part)) + name + part + struct.pack(">I", zlib.crc32(name + part))
