"""What a model file may build, and how large it may grow.

A skops file is a zip archive: ``schema.json`` is a tree of nodes, each of which names a type and
the loader that builds it; arrays are members of their own. skops refuses every type that is not
trusted. But a type that is trusted may be built by any loader, and some loaders call it with
arguments from the file. So a type beyond the list of skops is trusted with one loader alone: ours
with the one that makes an object without a call and sets its state.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from scipy import sparse

from .._register import classes
from ..data import scalers  # noqa: F401  loads what a pipeline may hold beside the register

__all__ = [
    "ModelFileError",
    "builder",
    "nodes",
    "read_json",
    "require_sound",
    "type_name",
    "vouched",
]

MOST_MEMBERS = 100_000
MOST_JSON = 2**26  # bytes of text, which take some twenty times as much when parsed
MOST_BYTES = 2**30  # that a file may grow to, whatever its size
MOST_GROWTH = 100  # times its size, for a file that grows beyond

SPARSE = [
    getattr(sparse, f"{form}_{kind}")
    for form in ("bsr", "coo", "csc", "csr", "dia")
    for kind in ("array", "matrix")
]
BUILDERS = {"numpy.dtype": "DTypeNode"} | {
    f"{kind.__module__}.{kind.__name__}": "SparseMatrixNode" for kind in SPARSE
}
"""The loader of each type of numpy and scipy that skops knows, but does not trust by itself."""

HARMLESS = {"dataclasses", "sklearn.base"}
"""Modules whose ``__setstate__`` sets attributes and does nothing else."""

DROP = "Do not use it: it is damaged or was made to do harm."


class ModelFileError(ValueError):
    """A model cannot be saved, or a file cannot be loaded: one sentence, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from eigenlens.persist import ModelFileError, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.skops")
    ...     _ = path.write_bytes(b"no model")
    ...     try:
    ...         load(path)
    ...     except ModelFileError as error:
    ...         print("It", str(error).partition("model.skops ")[2])
    It is damaged or no model file. Get it again, or make it anew with eigenlens.save.
    """


def builder(name: str) -> str | None:
    """Return the loader that may build a type beyond the list of skops; None if there is none."""
    module, _, kind = name.rpartition(".")
    # loads all that a fitted model of ours can hold; the file gets to load nothing
    register = {f"{method.__module__}.{method.__name__}" for method in classes().values()}
    if module.startswith("eigenlens.") or name in register:
        found = getattr(sys.modules.get(module), kind, None)
        return "ObjectNode" if _is_record(found) and found.__module__ == module else None
    return BUILDERS.get(name)


def _is_record(kind: Any) -> bool:
    """Whether to make an object of the class and set its state runs no code that it brings."""
    setter = getattr(kind, "__setstate__", None)
    return (
        isinstance(kind, type)
        and getattr(kind, "__new__", None) is object.__new__
        and (setter is None or setter.__module__ in HARMLESS)
        and not hasattr(kind, "__del__")
    )


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every node of a schema, wherever it stands."""
    rest = [tree]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            if isinstance(value.get("__loader__"), str):
                yield value
            rest.extend(value.values())
        elif isinstance(value, list):
            rest.extend(value)


def type_name(node: dict[str, Any]) -> str:
    """Return the dotted name of the type that a node is to build."""
    return f"{node['__module__']}.{node['__class__']}"


def vouched(schema: Any, trusted: set[str]) -> set[str]:
    """Return the types of the schema that may be built, `trusted` included."""
    allowed = set(trusted)
    for node in nodes(schema):
        name = type_name(node)
        loader = None if name in trusted else builder(name)
        if loader is None:
            continue
        if node["__loader__"] != loader:
            raise ModelFileError(
                f"builds {name!r} by {node['__loader__']}, as no saved model does. {DROP}"
            )
        allowed.add(name)
    return allowed


def require_sound(archive: ZipFile, schema: Any, size: int) -> None:
    """Raise unless what the archive, a file of `size` bytes, grows to stays within bounds."""
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise ModelFileError(f"has {len(members)} members; at most {MOST_MEMBERS} are read. {DROP}")
    if any(member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for member in members):
        raise ModelFileError(f"is compressed in a way that no model file is. {DROP}")
    grown = sum(_grown(archive, node) for node in nodes(schema) if "file" in node)
    if grown > MOST_BYTES and grown > MOST_GROWTH * size:
        raise ModelFileError(f"has {size} bytes and would grow to {grown}. {DROP}")
    _count(schema, {})
    for node in nodes(schema):
        if node["__loader__"] == "SparseMatrixNode":
            _require_in_bounds(archive, node["file"])


def _grown(archive: ZipFile, node: dict[str, Any]) -> int:
    """Return the bytes that a node reads; a sparse matrix is an archive within the archive."""
    if node["__loader__"] != "SparseMatrixNode":
        return archive.getinfo(node["file"]).file_size
    with archive.open(node["file"]) as member, ZipFile(member) as inner:
        return sum(part.file_size for part in inner.infolist())


def _require_in_bounds(archive: ZipFile, member: str) -> None:
    """Raise if a sparse matrix points outside of itself: scipy's products would follow it."""
    with archive.open(member) as file:
        matrix = sparse.load_npz(file)
    if hasattr(matrix, "check_format"):  # the other formats are checked when they are made
        matrix.check_format(full_check=True)


def _count(value: Any, counts: dict[Any, int]) -> int:
    """Return how many nodes `value` has, each object as many wherever it is mentioned.

    skops writes an object out at every mention and, when loading, takes any one of them for all.
    With mentions of different size, few lines could stand for a tree without end.
    """
    if isinstance(value, list):
        return sum(_count(part, counts) for part in value)
    if not isinstance(value, dict):
        return 0
    count = 1 + sum(_count(part, counts) for part in value.values())
    is_node = isinstance(value.get("__loader__"), str)
    if is_node and counts.setdefault(value["__id__"], count) != count:
        raise ModelFileError(f"has one object in two versions. {DROP}")
    return count


def read_json(archive: ZipFile, member: str) -> Any:
    """Return the content of a small text member."""
    size = archive.getinfo(member).file_size
    if size > MOST_JSON:
        raise ModelFileError(f"has {size} bytes of {member}; at most {MOST_JSON} are read. {DROP}")
    return json.loads(archive.read(member))
