"""Models in files, without pickle: loading a file never runs code that it brings.

A model file is that of skops, a zip archive, with one member more: ``eigenlens.json`` has the
number of the format and the versions that wrote it. The same fit gives the same bytes.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from sklearn.base import BaseEstimator

from .._text import clean
from ..data.atomic import atomic, require_replaceable
from .audit import (
    CACHE,
    ModelFileError,
    builder,
    nodes,
    read_json,
    require_members,
    require_sound,
    type_name,
    vouched,
)

__all__ = ["FORMAT", "ModelFileError", "load", "require_savable", "save"]

FORMAT = 1  # raised when files change in a way that an older eigenlens cannot read
ABOUT, SCHEMA = "eigenlens.json", "schema.json"


def save(model: Any, path: str | os.PathLike[str]) -> Path:
    """Save a model, fitted or not, to a file that :func:`load` reads.

    The file is written whole or not at all, and only after it was read back.

    Parameters
    ----------
    model : estimator
        One of eigenlens or scikit-learn, or a Pipeline of them. It is not changed. Callbacks are
        left out, and arrays that are mapped from a disk are taken in.
    path : str or path-like
        Ends in ``.skops``.

    Returns
    -------
    Path

    Raises
    ------
    ModelFileError
        If the model holds what a file cannot, such as a lambda.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import eigenlens
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> pca = eigenlens.PCA(n_components=2).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = eigenlens.save(pca, Path(folder, "model.skops"))
    ...     again = eigenlens.load(path)
    >>> np.array_equal(pca.transform(X), again.transform(X))
    True
    """
    path = Path(path)
    require_savable(path)
    content = _content(model)
    with atomic(path) as temporary:
        temporary.write_bytes(content)
    return path


def require_savable(path: str | os.PathLike[str]) -> None:
    """Raise unless a model can be saved under that name, before the work is done."""
    path = Path(path)
    if path.suffix != ".skops":
        raise ModelFileError(
            f"{path} does not end in .skops, as a model file does. "
            f"Save to {path.with_suffix('.skops')}."
        )
    require_replaceable(path)


def _content(model: Any) -> bytes:
    """Return the bytes of a file for `model`, or say why there is none."""
    if not isinstance(model, BaseEstimator):
        raise TypeError(
            f"save takes an estimator or a Pipeline, not an object of {type(model).__name__}. "
            "Arrays are saved by numpy.save."
        )
    bare = _without_callbacks(model)
    try:
        return _encode(bare)
    except Exception as error:
        name, value = _culprit(type(model).__name__, bare)
        raise ModelFileError(
            f"{name} is {_short(value)}, which a file without pickle cannot hold. Give numbers, "
            "text and arrays, or a function that has a name in a module, and name it as "
            "trusted when you load the file."
        ) from error


def load(path: str | os.PathLike[str], *, trusted: Iterable[str] = ()) -> Any:
    """Load a model from a file that :func:`save` or skops wrote.

    Whatever is in the file, no code of it runs: only types of eigenlens and those of scikit-learn,
    numpy and scipy that are safe to build are built, and any other is refused by name.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : iterable of str, default=()
        Names of further types and functions that may be loaded, such as ``"mymodule.kernel"``.
        Name only what you know.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is damaged, made by a newer eigenlens, or holds something that is not trusted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import eigenlens
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = eigenlens.save(eigenlens.PCA(n_components=2), Path(folder, "model.skops"))
    ...     eigenlens.load(path)
    PCA(n_components=2)
    """
    path = Path(path)
    names = {trusted} if isinstance(trusted, str) else set(trusted)
    if path.exists() and not path.is_file():  # to open a pipe would wait for its other end
        raise ModelFileError(f"{path} is a folder, a pipe or a device. Give a model file.")
    with path.open("rb") as file:
        try:
            return _decode(file, names)
        except Warning:
            raise  # turned into an error by the user
        except ModelFileError as error:
            raise ModelFileError(f"{path} {clean(error)}") from error.__cause__
        except Exception as error:
            raise ModelFileError(
                f"{path} is damaged or no model file. "
                "Get it again, or make it anew with eigenlens.save."
            ) from error


def _decode(file: BinaryIO, trusted: set[str]) -> Any:
    """Return the model; errors say what the file is or has, and `load` puts its name before."""
    import skops.io  # loads all of scikit-learn, so only when a file is written or read
    from skops.io.exceptions import UntrustedTypesFoundException

    size = file.seek(0, os.SEEK_END)
    with ZipFile(file) as archive:
        require_members(archive, size)
        if ABOUT in archive.namelist():  # not so in a file of skops itself
            _require_readable(read_json(archive, ABOUT, size))
        schema = read_json(archive, SCHEMA, size)
        allowed = vouched(schema, trusted)
        require_sound(archive, schema, size)
    try:
        return skops.io.load(file, trusted=sorted(allowed))
    except UntrustedTypesFoundException:
        file.seek(0)
        unknown = sorted(set(skops.io.get_untrusted_types(data=file.read())) - allowed)
        raise ModelFileError(
            f"holds {', '.join(map(repr, unknown))}, which is none of the types of eigenlens, "
            "scikit-learn, numpy and scipy that are safe to build. If you trust where the file "
            f"comes from, load it with trusted={unknown}."
        ) from None
    except (ImportError, AttributeError) as error:
        if isinstance(error, AttributeError) and not isinstance(error.obj, ModuleType):
            raise  # nothing is missing here, but in the file
        raise ModelFileError(
            f"needs something that is not here ({error}). Install what defines it, in the version "
            "that the file was made with."
        ) from error


def _require_readable(about: Any) -> None:
    if about["format"] > FORMAT:
        raise ModelFileError(
            f"has format {about['format']}, made by eigenlens {about['eigenlens']}, and this "
            f"eigenlens reads formats up to {FORMAT}. Update eigenlens to load it."
        )


def _encode(model: Any) -> bytes:
    """Return the content of a file that was seen to load, given trust in what is not ours."""
    import skops.io

    content = io.BytesIO()
    with ZipFile(io.BytesIO(skops.io.dumps(model))) as made, ZipFile(content, "w") as archive:
        schema = json.loads(made.read(SCHEMA))
        members = _renumber(schema)
        _add(archive, ABOUT, json.dumps(_about()))
        _add(archive, SCHEMA, json.dumps(schema), ZIP_DEFLATED)
        for old, new in members.items():
            _add(archive, new, made.read(old))
    known = {name for name in map(type_name, nodes(schema)) if builder(name) is None}
    _decode(content, known | {CACHE})
    return content.getvalue()


def _about() -> dict[str, Any]:
    return {
        "format": FORMAT,
        "eigenlens": version("eigenlens"),
        "created-with": {name: version(name) for name in ("numpy", "scikit-learn", "skops")},
    }


def _renumber(schema: Any) -> dict[str, str]:
    """Count the objects from 1; return the new name of each member by its old one.

    skops calls objects and members by addresses in memory, which differ from run to run.
    """
    numbers: dict[int, int] = {}
    members: dict[str, str] = {}
    for node in nodes(schema):
        node["__id__"] = numbers.setdefault(node["__id__"], len(numbers) + 1)
        if old := node.get("file"):
            number = len(members) + 1
            node["file"] = members.setdefault(old, f"{number}{PurePosixPath(old).suffix}")
        if node["__class__"] == "memmap":
            node["__class__"] = "ndarray"  # its values are in the file, but not what it maps
    return members


def _add(archive: ZipFile, name: str, content: str | bytes, compression: int = ZIP_STORED) -> None:
    # a ZipInfo without a date: zip's own beginning of time
    archive.writestr(ZipInfo(name), content, compression)


def _without_callbacks(value: Any) -> Any:
    """Return the same estimators without what watches their fits; all other parts are shared."""
    if isinstance(value, BaseEstimator):
        bare = object.__new__(type(value))
        state = {name: part for name, part in vars(value).items() if not name.startswith("_skl_")}
        vars(bare).update({name: _without_callbacks(part) for name, part in state.items()})
        return bare
    if type(value) in (list, tuple):
        return type(value)(_without_callbacks(part) for part in value)
    return value


def _culprit(name: str, value: Any) -> tuple[str, Any]:
    """Return the innermost part of `value` that cannot be saved, and where it is."""
    for step, part in _parts(value):
        try:
            _encode(part)
        except Exception:
            return _culprit(name + step, part)
    return name, value


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, BaseEstimator):
        yield from ((f".{name}", part) for name, part in vars(value).items())
    elif isinstance(value, dict):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"[{i}]", part) for i, part in enumerate(value))


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
