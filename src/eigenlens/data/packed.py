"""Numbers in files that say what they are: arrays and small structures of them, without pickle.

A file is an NPZ archive: arrays, each with its checksum, and one text that says how they belong
together. Nothing in it is run when it is read.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops.columns import ColumnMoments
from ..ops.moments import Moments
from ..ops.truncated import TruncatedMoments
from .archives import in_bounds, unpacked
from .atomic import atomic
from .errors import DataError

__all__ = ["Stored", "read_packed", "write_arrays", "write_packed"]

KINDS: dict[str, type] = {
    kind.__name__: kind for kind in (ColumnMoments, Moments, TruncatedMoments)
}
"""Classes whose attributes are numbers and arrays."""

TEXT = "structure"


@dataclass(frozen=True, slots=True)
class Stored:
    """An array in a file."""

    file: str
    key: str

    def load(self) -> NDArray:
        """Return the array."""
        return _read(Path(self.file), self.key)[self.key]


def write_arrays(path: Path, arrays: Iterable[tuple[str, NDArray]]) -> None:
    """Write arrays under their names to one file: all of them or, after an error, none.

    They are taken one after the other, so that only one needs to be in memory.
    """
    with atomic(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.comment = path.name.encode()  # so that no file is taken for another
        for key, array in arrays:
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def write_packed(path: Path, value: Any) -> None:
    """Write a value to a file, whole or not at all.

    Parameters
    ----------
    path : Path
        Ends in ``.npz``.
    value : object
        None, a number, a text, an array, a sparse CSR array, moments, or tuples, lists and dicts of
        these.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from eigenlens.data.packed import read_packed, write_packed
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "sums.npz")
    ...     write_packed(path, (3, np.arange(2.0), None))
    ...     read_packed(path)
    (3, array([0., 1.]), None)
    """
    arrays: list[NDArray] = []
    text = json.dumps(_taken_apart(value, arrays))
    structure = np.frombuffer(text.encode(), np.uint8)
    write_arrays(path, [(TEXT, structure), *((str(i), each) for i, each in enumerate(arrays))])


def read_packed(path: Path) -> Any:
    """Return the value that a file holds, in arrays of their own."""
    arrays = _read(path)
    try:
        return _put_together(json.loads(arrays.pop(TEXT).tobytes()), arrays)
    except Exception as error:
        raise _damaged(path, error) from None


def _read(path: Path, *keys: str) -> dict[str, NDArray]:
    """Return the arrays of a file, or some of them."""
    try:
        # opened here: numpy leaves what turns out to be no archive open
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            _require_as_written(archive.zip, path)
            return {key: archive[key] for key in keys or archive.files}
    except Exception as error:  # what garbage raises is not to be foreseen
        raise _damaged(path, error) from None


def _require_as_written(archive: zipfile.ZipFile, path: Path) -> None:
    """Raise if an archive has another's name, or unpacks to more than it has, as ours never do."""
    if archive.comment != path.name.encode():
        raise zipfile.BadZipFile("it was written under another name")
    if unpacked(archive) > path.stat().st_size:
        raise zipfile.BadZipFile("its arrays are packed, which is not done here")


def _damaged(path: Path, error: Exception) -> DataError:
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:120]
    return DataError(
        f"{path} is damaged ({reason}). Delete the folder {path.parent} to begin anew."
    )


def _taken_apart(value: Any, arrays: list[NDArray]) -> Any:
    """Return the structure of a value, as JSON has it; its arrays are put in a list."""

    def apart(value: Any) -> Any:
        return _taken_apart(value, arrays)

    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "scalar": len(arrays) - 1}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if sparse.issparse(value) and value.format == "csr":
        parts = (value.data, value.indices, value.indptr, *value.shape)
        return {"csr": [apart(part) for part in parts]}
    if type(value) in (tuple, list):
        return {type(value).__name__: [apart(part) for part in value]}
    if type(value) is dict:
        return {"dict": [[str(key), apart(part)] for key, part in value.items()]}
    if KINDS.get(type(value).__name__) is type(value):
        return {type(value).__name__: apart(dict(vars(value)))}
    raise TypeError(f"A {type(value).__name__} is no number, no array and no tuple of these.")


def _put_together(structure: Any, arrays: dict[str, NDArray]) -> Any:
    """Return the value that `_taken_apart` took apart."""

    def together(part: Any) -> Any:
        return _put_together(part, arrays)

    if not isinstance(structure, dict):
        return structure
    ((kind, content),) = structure.items()
    if kind == "array":
        return arrays[str(content)]
    if kind == "scalar":
        return arrays[str(content)][()]
    if kind == "dtype":
        return np.dtype(content)
    if kind == "csr":
        data, indices, indptr, *shape = map(together, content)
        return in_bounds(sparse.csr_array((data, indices, indptr), shape=tuple(shape)))
    if kind in ("tuple", "list"):
        return {"tuple": tuple, "list": list}[kind](map(together, content))
    if kind == "dict":
        return {key: together(part) for key, part in content}
    thing: Any = object.__new__(KINDS[kind])
    vars(thing).update(together(content))
    return thing
