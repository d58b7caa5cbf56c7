"""What makes a fit the same fit: its method, its parameters and its table, in words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .blocks import Blocks

__all__ = ["identity_of"]

SHOWN = 60  # characters of what may be long
HARMLESS = frozenset({"verbose", "n_jobs"})  # parameters that change no number


def identity_of(method: str, parameters: Mapping[str, Any], table: Blocks) -> dict[str, str]:
    """Return what tells this fit from others; two fits with the same give the same numbers.

    Parameters
    ----------
    method : str
    parameters : mapping of str to object
    table : Blocks
        Known by its columns, its size, the file it comes from with the time of its last change,
        and the numbers of its first block.

    Returns
    -------
    dict of str to str
        In words, so that an error can tell what differs.
    """
    names = ", ".join(table.names[:3]) + (", ..." if len(table.names) > 3 else "")
    words = {
        "the version of eigenlens": version("eigenlens"),
        "the method": method,
        "the table": f"{table.path} ({_shortened(table.layout())})",
        "the columns": f"{len(table.names)} ({names}; {_digest(repr(table.names).encode())})",
        "the kind of numbers": str(table.dtype),
        "the first rows": str(table.of_first(_mark)),
    }
    if table.files:
        words |= _stamp(table.files)
    given = {name: value for name, value in parameters.items() if name not in HARMLESS}
    return words | {name: _described(value) for name, value in sorted(given.items())}


def _stamp(files: Iterable[Path]) -> dict[str, str]:
    """Return size and time of files, those in folders included."""
    parts = [part for file in files for part in (file.rglob("*") if file.is_dir() else [file])]
    found = [part.stat() for part in parts if part.is_file()]
    return {
        "the size of the file": f"{sum(each.st_size for each in found)} bytes",
        "the time of the last change": str(max((each.st_mtime_ns for each in found), default=0)),
    }


def _mark(block: Any) -> str:
    """Return a short text that other rows do not have."""
    if sparse.issparse(block):
        return " ".join(map(_described, (block.data, block.indices, block.indptr)))
    return _described(block)


def _described(value: Any) -> str:
    """Return a text that is the same in every process, and another for another value."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        rows = np.ascontiguousarray(value)
        return f"{value.dtype} of shape {value.shape}, {_digest(rows.view(np.uint8).data)}"
    if isinstance(value, np.random.RandomState):
        return "a RandomState"
    if callable(value):  # its repr has an address in it
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value))}"
    return repr(value)


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}...; {_digest(text.encode())}"


def _digest(content: Any) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
