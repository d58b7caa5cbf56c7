"""What a model file may build, and how large it may grow.

A skops file is a zip archive: ``schema.json`` is a tree of nodes, each of which names a type and
the loader that builds it; arrays are members of their own. skops refuses every type that is not
trusted. But a type that is trusted may be built by any loader, and some loaders call it with
arguments from the file. So a type beyond the list of skops is trusted with one loader alone: ours
with the one that makes an object without a call and sets its state. Nor is every type of ours
trusted: a table in blocks opens files, and some classes call what they hold. Only methods, scalers
and the records that these keep are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any
from zipfile import BadZipFile, ZipFile

from scipy import sparse

from .._register import classes
from ..data import scalers
from ..data.archives import in_bounds, require_honest, unpacked
from ..ops.moments import Moments
from ..ops.truncated import TruncatedMoments
from ..select.choice import Choice
from ..select.consensus import Consensus
from ..solvers.isomap import Triangulation
from ..solvers.kernel import Axes
from ..solvers.preimage_learned import Learned
from ..solvers.solution import Certificate

__all__ = [
    "ModelFileError",
    "builder",
    "nodes",
    "read_json",
    "require_members",
    "require_sound",
    "type_name",
    "vouched",
]

MOST_MEMBERS = 100_000
MOST_GROWTH = 100  # times its size, that a file may grow to
MOST_BYTES = 1 << 25  # to which any file may; arrays are in memory three times while they are read
MOST_JSON = 1 << 21  # bytes of text in any file, which take up to 35 times as much when parsed
MOST_TEXT = 1 << 26  # bytes of text in a file of whatever size

RECORDS = (Axes, Certificate, Choice, Consensus, Learned, Moments, Triangulation, TruncatedMoments)
"""What fitted models keep beside arrays: numbers under names, with formulas of them alone."""

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

LENGTHS = {"numpy.bytes_", "numpy.void"}
"""Types that, called with a number, make as many bytes; skops calls them with an array."""

PLACED = ("MT19937", "Philox")  # bit generators that read their state at a place that it names
LAST_PLACE = 624  # of MT19937, which believes any
MOST_POOL = 1024  # numbers that are made of a seed

STATES = ("DictNode", "ListNode", "TupleNode")
"""Loaders that write out the state of an object, of which nothing is hidden in text."""

CACHE = "joblib.memory.Memory"  # what scikit-learn makes of a parameter `memory`

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
    return "ObjectNode" if name in _ours() else BUILDERS.get(name)


def _ours() -> set[str]:
    """Return the names of the types of ours; to find them loads all of their modules."""
    return _names(tuple(classes().values()))


@cache
def _names(methods: tuple[type, ...]) -> set[str]:
    scaling = (getattr(scalers, name) for name in scalers.__all__)
    every = (*methods, *scaling, *RECORDS)
    return {f"{kind.__module__}.{kind.__name__}" for kind in every if _is_record(kind)}


def _is_record(kind: Any) -> bool:
    """Whether to make an object of the class and set its state runs no code that it brings."""
    setter = getattr(kind, "__setstate__", None)
    return (
        getattr(kind, "__new__", None) is object.__new__
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
        name, by = type_name(node), node["__loader__"]
        if name in trusted:
            continue
        loader = builder(name)
        if loader not in (None, by) or (by == "NdArrayNode" and name in LENGTHS):
            raise ModelFileError(f"builds {name!r} by {by}, as no saved model does. {DROP}")
        if loader is not None:
            allowed.add(name)
    if CACHE not in trusted and any(map(_has_cache, nodes(schema))):
        raise ModelFileError(
            "has a model with a parameter memory, which names a folder of pickles that a fit would "
            f"load. If you trust what is in that folder, load it with trusted=[{CACHE!r}]."
        )
    return allowed


def _has_cache(node: dict[str, Any]) -> bool:
    memory = node["content"].get("memory") if node["__loader__"] == "DictNode" else None
    return memory is not None and (memory["__loader__"], memory["content"]) != ("JsonNode", "null")


def require_sound(archive: ZipFile, schema: Any, size: int) -> None:
    """Raise unless what the archive, a file of `size` bytes, grows to stays within bounds."""
    _require_modest(sum(_grown(archive, node) for node in nodes(schema) if "file" in node), size)
    _mark(schema, {})
    for node in nodes(schema):
        if node["__loader__"] == "SparseMatrixNode":
            with archive.open(node["file"]) as file:
                in_bounds(sparse.load_npz(file))
        elif node["__loader__"] in ("RandomStateNode", "RandomGeneratorNode"):
            _require_generator(node)
        elif node["__loader__"] == "ObjectNode":
            _require_state(node)


def _grown(archive: ZipFile, node: dict[str, Any]) -> int:
    """Return the bytes that a node reads; a sparse matrix is an archive within the archive."""
    size = archive.getinfo(node["file"]).file_size
    if node["__loader__"] == "BytearrayNode":
        return 8 * size  # goes through a list
    if node["__loader__"] != "SparseMatrixNode":
        return size
    with archive.open(node["file"]) as member, ZipFile(member) as inner:
        return unpacked(inner)


def _require_generator(node: dict[str, Any]) -> None:
    """Raise if random numbers would be read from beyond their state, which ends the process."""
    content = node["content"]
    if node["__loader__"] == "RandomStateNode":
        state = _entry(content, "state", "DictNode")
        sound = int(_entry(state, "pos", "JsonNode")["content"]) in range(LAST_PLACE + 1)
    else:  # no method takes one
        name = _entry(content["bit_generator"], "bit_generator", "JsonNode")["content"]
        seed = content["seed_seq"]
        pool = _entry(seed, "pool_size", "JsonNode")["content"] if seed["content"] else 0
        sound = json.loads(name) not in PLACED and int(pool) <= MOST_POOL
    if not sound:
        raise ModelFileError(f"has a generator of random numbers that is broken. {DROP}")


def _entry(node: dict[str, Any], name: str, loader: str) -> dict[str, Any]:
    """Return what a node of a dict has under a name, which a certain loader must build."""
    entry: dict[str, Any] = node["content"][name]
    if (node["__loader__"], entry["__loader__"]) != ("DictNode", loader):
        raise ModelFileError(f"has {name!r} by {entry['__loader__']}, as no model has. {DROP}")
    return entry


def _require_state(node: dict[str, Any]) -> None:
    """Raise if the state of an object is not written out, part by part."""
    state = node.get("content")
    if state is not None and state["__loader__"] not in STATES:
        raise ModelFileError(
            f"has the state of {type_name(node)!r} by {state['__loader__']}, as no saved model "
            f"does. {DROP}"
        )


def _mark(value: Any, marks: dict[Any, int]) -> int:
    """Return a number that stands for `value`, but for the numbers and the files of objects in it.

    skops writes an object out at every mention and, when loading, takes the first one for all: what
    is checked must be the same everywhere. With mentions of different size, few lines could stand
    for a tree without end.
    """
    if isinstance(value, list):
        return hash(tuple(_mark(part, marks) for part in value))
    if not isinstance(value, dict):
        return hash((type(value), value))
    names = sorted(value.keys() - {"__id__", "file"})
    mark = hash(tuple((name, _mark(value[name], marks)) for name in names))
    if isinstance(value.get("__loader__"), str) and marks.setdefault(value["__id__"], mark) != mark:
        raise ModelFileError(f"has one object in two versions. {DROP}")
    return mark


def require_members(archive: ZipFile, size: int) -> None:
    """Raise unless the archive, a file of `size` bytes, is one that can be read without harm."""
    count = len(archive.infolist())
    if count > MOST_MEMBERS:
        raise ModelFileError(f"has {count} members; at most {MOST_MEMBERS} are read. {DROP}")
    try:
        _require_modest(unpacked(archive), size)
    except BadZipFile:
        raise ModelFileError(f"is compressed in a way that no model file is. {DROP}") from None
    require_honest(archive)


def _require_modest(grown: int, size: int) -> None:
    if grown > max(MOST_BYTES, MOST_GROWTH * size):
        raise ModelFileError(f"has {size} bytes and would grow to {grown}. {DROP}")


def read_json(archive: ZipFile, member: str, size: int) -> Any:
    """Return the content of a text member of a file of `size` bytes."""
    length = archive.getinfo(member).file_size
    most = min(MOST_TEXT, max(MOST_JSON, MOST_GROWTH * size))
    if length > most:
        raise ModelFileError(f"has {length} bytes of {member}; at most {most} are read. {DROP}")
    return json.loads(archive.read(member))
