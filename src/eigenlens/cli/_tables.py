"""The table that a command works on, from a file or from standard input."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import eigenlens

from ._options import as_images, names_in

if TYPE_CHECKING:
    from eigenlens.data.blocks import Blocks

__all__ = ["Named", "file", "table"]


@contextmanager
def file(name: str) -> Iterator[Path]:
    """Yield the path of a file; ``-`` is standard input, kept on disk to be read more than once."""
    if name != "-":
        yield Path(name)
        return
    from eigenlens.data.files import ending_of

    with tempfile.TemporaryDirectory() as folder:
        head = sys.stdin.buffer.read(16)
        path = Path(folder, "standard input" + ending_of(head))
        with path.open("wb") as copy:
            copy.write(head)
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield path


@contextmanager
def table(
    data: str,
    *,
    columns: list[str] | None,
    drop: list[str] | None,
    encode: list[str] | None,
    encoding: str,
    target: str | None = None,
    image: str | None = None,
) -> Iterator[tuple[Blocks, Any]]:
    """Yield the columns that the options name, and the target column or None."""
    dropped, encoded = names_in(drop), names_in(encode)
    with file(data) as path:
        classes = None
        if target is not None:
            classes = eigenlens.open(path, encoding=encoding).column(target)
            dropped.append(target)
        chosen = eigenlens.open(
            path,
            columns=names_in(columns) or None,
            drop=dropped,
            encode=True if encoded == ["all"] else encoded,
            encoding=encoding,
        )
        yield as_images(chosen, image), classes


class Named:
    """The values of a target, with its name."""

    def __init__(self, name: str | None, values: Any) -> None:
        self.name, self.values = name, values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)
