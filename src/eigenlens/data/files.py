"""Tables from files: which format a file has, and how its rows come in blocks."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from scipy import io, sparse

from .arrow import ArrowBlocks, Source
from .blocks import ArrayBlocks, Blocks
from .delimited import read_delimited
from .errors import DataError
from .images import IMAGES, ImageBlocks
from .video import VIDEOS, VideoBlocks

__all__ = ["FORMATS", "ending_of", "open"]

BATCH_BYTES = 1 << 22
INFLATION = 1000  # a zip that grows more than that is made to fill memory, not to hold data
INFLATED = 1 << 28  # bytes below which it may
MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\x93NUMPY": "NPY",
    b"PK\x03\x04": "zip",
    b"%%MatrixMarket": "MTX",
    b"\x89HDF": "HDF5",
    b"%PDF": "PDF",
    b"\x1f\x8b": "gzip",
}


def open(  # noqa: A001  eigenlens.open, as in numpy and in PIL
    path: str | PathLike[str],
    *,
    columns: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    encode: bool | Iterable[str] = False,
    encoding: str = "utf8",
) -> Blocks:
    r"""Open a table in a file; its rows are read in blocks, when they are asked for.

    Parameters
    ----------
    path : str or path
        A file of CSV (also ``.csv.gz`` and the like), TSV, Parquet, Arrow or Feather, NPY, NPZ or
        MTX (Matrix Market). Delimiter, decimal sign and header of text are found; NPY is mapped
        into memory. With the extra ``media`` also a folder of images of one size, each a row, and
        a video, each frame a row; ``image_shape`` then has their size.
    columns : iterable of str, optional
        Columns to take, in this order. By default all that hold numbers.
    drop : iterable of str, default=()
        Columns to leave out.
    encode : bool or iterable of str, default=False
        Text columns to turn into columns of 0 and 1, one for each value: those named, or with True
        all that have at most 50 values. Others are left out, and listed in ``left_out``.
    encoding : str, default='utf8'
        Of text.

    Returns
    -------
    Blocks
        Iterate over it for arrays of rows, or give it to an estimator. ``names`` has the columns;
        holes are NaN; ``read()`` gives the whole table.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import eigenlens
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "petals.csv")
    >>> _ = path.write_text("kind,length,width\nred,1.5,0.2\nred,,0.3\nblue,4.1,1.3\n")
    >>> table = eigenlens.open(path)
    >>> table.names, dict(table.left_out)
    (('length', 'width'), {'kind': 'text'})
    >>> table.read()
    array([[1.5, 0.2],
           [nan, 0.3],
           [4.1, 1.3]])
    >>> eigenlens.open(path, encode=True).names
    ('kind=blue', 'kind=red', 'length', 'width')
    >>> folder.cleanup()
    """
    file = Path(path)
    name = file.name
    if not file.exists():
        raise FileNotFoundError(
            f"There is no file {fspath(path)!r}. Check its name and its folder."
        )
    if not file.is_dir() and file.stat().st_size == 0:
        raise DataError(f"{name} is empty. Give a file with a header and rows of numbers.")
    table = _pictures(file, name) or _opener(file)(file, name, encoding)
    if isinstance(table, Source):
        blocks = ArrowBlocks.of(table, columns=columns, drop=drop, encode=encode)
        blocks.file = file
        return blocks
    table.file = file
    chosen = table.names if columns is None else tuple(columns)
    gone = set(drop)
    table.select(gone)  # raises for a name that is not there
    kept = tuple(column for column in chosen if column not in gone)
    return table if kept == table.names else table.select(kept)


def _pictures(file: Path, name: str) -> Blocks | None:
    """Return the rows of a folder of images or of a video, None for other files."""
    suffix = file.suffix.lower()
    if file.is_dir():
        return ImageBlocks(file, name or str(file))
    if suffix in VIDEOS:
        return VideoBlocks(file, name)
    if suffix in IMAGES:
        raise DataError(
            f"{name} is one image, and a table has many rows. Give the folder of images, each of "
            "which is a row."
        )
    return None


Opener = Callable[[Path, str, str], Source | ArrayBlocks]


def _opener(file: Path) -> Opener:
    """Return the reader for a file by its name, after a look at its first bytes."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    packed = suffixes[-1:] and suffixes[-1] in (".gz", ".bz2", ".zst", ".lz4")
    suffix = (suffixes[-2:-1] if packed else suffixes[-1:]) or [""]
    expected, opener = FORMATS.get(suffix[0], ("", None))
    if opener is None or (packed and expected not in ("CSV", "TSV")):
        raise DataError(
            f"{file.name} has no ending that is known: {', '.join(FORMATS)}, or one of a video. "
            "Rename it, or save the table as CSV or Parquet."
        )
    with file.open("rb") as stream:
        head = stream.read(16)
    found = _kind_of(head)
    agree = "zip" if expected == "NPZ" else expected
    text = expected in ("CSV", "TSV")
    if found and not packed and found != agree:
        raise DataError(
            f"{file.name} is named as {expected}, but what it holds is {found}. "
            "Rename it by what it holds, or give another file."
        )
    if not found and not text and expected != "Arrow":  # an Arrow stream has no mark
        raise DataError(
            f"{file.name} is named as {expected}, but does not begin as one: it is damaged, or "
            "something else. Make or fetch it anew."
        )
    return opener


def _kind_of(head: bytes) -> str:
    return next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "")


def ending_of(head: bytes) -> str:
    """Return the ending for a file that begins with `head`: that of CSV unless it has a mark."""
    kind = {"zip": "NPZ"}.get(_kind_of(head), _kind_of(head))
    if kind == "gzip":
        return ".csv.gz"
    return next((ending for ending, (name, _) in FORMATS.items() if name == kind), ".csv")


def _csv(path: Path, name: str, encoding: str) -> Source:
    return read_delimited(path, name, None, encoding)


def _tsv(path: Path, name: str, encoding: str) -> Source:
    return read_delimited(path, name, "\t", encoding)


def _parquet(path: Path, name: str, encoding: str) -> Source:
    def opened() -> pyarrow.parquet.ParquetFile:
        # a buffer: whole column chunks of a row group would be read at once otherwise
        return pyarrow.parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)

    try:
        file = opened()
    except (pa.ArrowInvalid, OSError) as error:
        raise _damaged(name, error) from None
    rows, width = file.metadata.num_rows, len(file.schema_arrow)
    schema = file.schema_arrow
    size = max(1, BATCH_BYTES // (8 * max(1, width)))

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        file = opened()
        for group in range(file.num_row_groups):
            try:
                yield from file.iter_batches(size, row_groups=[group], columns=columns)
            except (pa.ArrowInvalid, OSError) as error:
                raise _damaged(f"{name}, row group {group}", error) from None

    return _unambiguous(Source(name, schema, batches, rows, rows * width * 8))


def _arrow(path: Path, name: str, encoding: str) -> Source:
    def opened() -> Any:
        mapped = pa.memory_map(str(path))
        try:
            return pa.ipc.open_file(mapped)
        except pa.ArrowInvalid:
            mapped.seek(0)
            return pa.ipc.open_stream(mapped)

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            reader = opened()
            if isinstance(reader, pa.ipc.RecordBatchFileReader):
                parts = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                parts = iter(reader)
            for batch in parts:
                batch.validate()
                yield from _cut(batch.select(columns))
        except (pa.ArrowInvalid, OSError) as error:
            raise _damaged(name, error) from None

    try:
        schema = opened().schema
    except (pa.ArrowInvalid, OSError) as error:
        raise _damaged(name, error) from None
    return _unambiguous(Source(name, schema, batches, None, path.stat().st_size))


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    size = max(1, BATCH_BYTES // (8 * max(1, batch.num_columns)))
    for start in range(0, batch.num_rows, size):
        yield batch.slice(start, size)


def _unambiguous(source: Source) -> Source:
    names = source.schema.names
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"{source.path} has more than one column named {double!r}. Give each a name of its own."
        )
    return source


def _damaged(where: str, error: Exception) -> DataError:
    reason = str(error).splitlines()[0].rstrip(".")[:120]
    return DataError(f"{where} is damaged or cut off ({reason}). Make or fetch it anew.")


def _npy(path: Path, name: str, encoding: str) -> ArrayBlocks:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        if "Object arrays" in str(error) or "Python objects" in str(error):
            raise DataError(f"{name} holds Python objects. Save it as numbers.") from None
        raise _damaged(name, error) from None
    return _of_array(array, name)


def _npz(path: Path, name: str, encoding: str) -> ArrayBlocks:
    try:
        _require_modest(path, name)
        with np.load(path, allow_pickle=False) as file:
            if {"format", "data", "shape"} <= set(file.files):
                return _of_array(sparse.load_npz(path), name)
            tables = {key: file[key] for key in file.files if _ndim(file, key) == 2}
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile) as error:
        if isinstance(error, DataError):
            raise
        raise _damaged(name, error) from None
    if len(tables) > 1 and "X" not in tables:
        raise DataError(
            f"{name} holds several tables: {', '.join(tables)}. Call the one to take X."
        )
    if not tables:
        raise DataError(f"{name} holds no table of rows and columns. Save a 2-D array in it.")
    return _of_array(tables.get("X", next(iter(tables.values()))), name)


def _ndim(file: Any, key: str) -> int:
    with file.zip.open(f"{key}.npy") as stream:
        version = np.lib.format.read_magic(stream)
        read = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
        return len(read(stream)[0])


def _require_modest(path: Path, name: str) -> None:
    with zipfile.ZipFile(path) as file:
        inflated = sum(member.file_size for member in file.infolist())
    if inflated > max(INFLATED, INFLATION * path.stat().st_size):
        raise DataError(
            f"{name} would grow from {path.stat().st_size / 1e6:.1f} MB to {inflated / 1e9:.0f} GB "
            "when unpacked: it is not read. Save the table as NPY or Parquet."
        )


def _mtx(path: Path, name: str, encoding: str) -> ArrayBlocks:
    try:
        matrix = io.mmread(path)
    except (ValueError, OverflowError, OSError) as error:
        raise _damaged(name, error) from None
    return _of_array(matrix, name)


def _of_array(array: Any, name: str) -> ArrayBlocks:
    names = None
    if not sparse.issparse(array) and array.dtype.names:  # a structured array: a table with names
        names = array.dtype.names
        if any(array.dtype[field].kind not in "fiub" for field in names) or array.ndim != 1:
            raise DataError(f"{name} has fields that are not numbers. Save only those that are.")
        array = np.column_stack([array[field] for field in names])
    if array.ndim != 2:
        raise DataError(
            f"{name} has {array.ndim} dimension(s), and a table has 2: rows and columns. "
            "Reshape it, for example to one row an image."
        )
    if array.dtype.kind not in "fiub":
        raise DataError(f"{name} holds {array.dtype} values. Give real numbers.")
    if 0 in array.shape:
        raise DataError(f"{name} has {array.shape[0]} rows and {array.shape[1]} columns: no data.")
    return ArrayBlocks(sparse.csr_array(array) if sparse.issparse(array) else array, names, name)


FORMATS: dict[str, tuple[str, Opener]] = {
    ".csv": ("CSV", _csv),
    ".tsv": ("TSV", _tsv),
    ".txt": ("CSV", _csv),
    ".parquet": ("Parquet", _parquet),
    ".arrow": ("Arrow", _arrow),
    ".feather": ("Arrow", _arrow),
    ".npy": ("NPY", _npy),
    ".npz": ("NPZ", _npz),
    ".mtx": ("MTX", _mtx),
}
"""Formats that `open` reads, by the ending of the file: name and reader."""
