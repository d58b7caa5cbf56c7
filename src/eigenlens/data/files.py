"""Tables from files: which format a file has, and how its rows come in blocks."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import io, sparse

from .archives import PIECE, in_bounds, unpacked
from .arrow import ArrowBlocks, Source
from .blocks import ArrayBlocks, Blocks
from .columnar import damaged, read_arrow, read_parquet
from .delimited import read_delimited
from .errors import DataError
from .images import IMAGES, ImageBlocks
from .many import Paths, Stacked, files_of, joined
from .video import VIDEOS, VideoBlocks

__all__ = ["FORMATS", "ending_of", "open"]

PACKED = (".gz", ".bz2", ".zst", ".lz4")
INFLATION = 1000  # a zip that grows more than that is made to fill memory, not to hold data
INFLATED = 1 << 27  # bytes below which it may
MOST_SIDES = 1 << 21  # rows and columns of a sparse matrix, of which each takes memory
SIDES = 10  # of them for each byte of a larger file
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
    path: Paths,
    *,
    columns: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    encode: bool | Iterable[str] = False,
    encoding: str = "utf8",
) -> Blocks:
    r"""Open a table in a file; its rows are read in blocks, when they are asked for.

    Parameters
    ----------
    path : path or sequence of paths
        A file of CSV (also ``.csv.gz`` and the like), TSV, Parquet, Arrow or Feather, NPY, NPZ or
        MTX (Matrix Market). Delimiter, decimal sign and header of text are found; NPY is mapped
        into memory. With the extra ``media`` also a folder of images of one size, each a row, and
        a video, each frame a row; ``image_shape`` then has their size.

        Also many files of CSV, TSV, Parquet, Arrow or NPY that are one table: a folder with all
        below it, a pattern such as ``"part-*.parquet"``, or a list. They come in the order of their
        names (2 before 10), those of a list in its order, and have the same columns, by name, in
        any order. Folders such as ``year=2024`` make further columns.
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
    table, files = _opened(path, encoding)
    if isinstance(table, Source):
        blocks = ArrowBlocks.of(table, columns=columns, drop=drop, encode=encode)
        blocks.files = files
        return blocks
    table.files = files
    if columns is None and not drop:  # the names of pixels are many, and made when asked for
        return table
    chosen = table.names if columns is None else tuple(columns)
    gone = set(drop)
    table.select(gone)  # raises for a name that is not there
    kept = tuple(column for column in chosen if column not in gone)
    return table if kept == table.names else table.select(kept)


def _opened(path: Paths, encoding: str) -> tuple[Source | Blocks, tuple[Path, ...]]:
    """Return all columns of a file, or of all files that are one table, and these files."""
    if isinstance(path, str | PathLike) and (pictures := _pictures(Path(path))) is not None:
        return pictures, pictures.files or (Path(path),)
    found = files_of(path, is_table)
    if found is None:
        assert isinstance(path, str | PathLike)
        return _of_file(Path(path), Path(path).name, encoding), (Path(path),)
    name, parts = found
    if not parts:
        raise DataError(
            f"The folder {name!r} holds no images ({', '.join(IMAGES)}) and no tables "
            f"({', '.join(FORMATS)}). Name another folder, or a file."
        )
    kinds = {_format_of(part.path)[0]: part.name for part in parts}
    if len(kinds) > 1:
        raise DataError(
            f"{name} has files of several kinds: {', '.join(kinds.values())}. Give those of one "
            f"kind, for example by a pattern such as '*{parts[0].path.suffix}'."
        )
    files = tuple(part.path for part in parts)
    tables = [_of_file(parts[0].path, parts[0].name, encoding)]
    like = tables[0].schema if isinstance(tables[0], Source) else None
    tables += [_of_file(part.path, part.name, encoding, like) for part in parts[1:]]
    if sources := [table for table in tables if isinstance(table, Source)]:
        return joined(name, sources, parts), files
    if len(tables) == 1:
        return tables[0], files
    if "NPY" not in kinds:
        raise DataError(
            f"{name} has {len(parts)} files of {next(iter(kinds))}, which are not joined. Give one "
            "of them, or save the table as NPY or Parquet."
        )
    arrays = [table for table in tables if isinstance(table, ArrayBlocks)]
    return Stacked(name, arrays), files


def _of_file(
    file: Path, name: str, encoding: str, like: pa.Schema | None = None
) -> Source | ArrayBlocks:
    """Return all columns of one file; text has the types of `like`."""
    if not file.exists():
        raise FileNotFoundError(
            f"There is no file {fspath(file)!r}. Check its name and its folder."
        )
    _require_file(file, name)
    if file.stat().st_size == 0:
        raise DataError(f"{name} is empty. Give a file with a header and rows of numbers.")
    return _opener(file, name)(file, name, Text(encoding, like))


def _require_file(file: Path, name: str) -> None:
    if not file.is_file():  # to open a pipe would wait for its other end
        raise DataError(f"{name} is a pipe or a device. Save what comes from it to a file.")


def _pictures(file: Path) -> Blocks | None:
    """Return the rows of a folder of images or of a video, None for other files."""
    if file.is_dir():
        files = list(file.iterdir())
        images = sum(one.suffix.lower() in IMAGES for one in files)
        if images and images >= sum(map(is_table, files)):
            return ImageBlocks(file, file.name or str(file))
    elif file.suffix.lower() in VIDEOS and file.exists():
        _require_file(file, file.name)
        return VideoBlocks(file, file.name)
    return None


class Text(NamedTuple):
    """How files of text are read; other files know it by themselves."""

    encoding: str
    types: pa.Schema | None  # as found in another file of the same table


Opener = Callable[[Path, str, Text], Source | ArrayBlocks]


def is_table(file: Path) -> bool:
    """Return whether a file has the ending of a table."""
    return bool(_format_of(file)[0])


def _format_of(file: Path) -> tuple[str, Opener | None]:
    """Return the format and the reader of a file by its ending; '' and None if it is unknown."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    packed = suffixes[-1:] and suffixes[-1] in PACKED
    suffix = (suffixes[-2:-1] if packed else suffixes[-1:]) or [""]
    expected, opener = FORMATS.get(suffix[0], ("", None))
    return ("", None) if packed and expected not in ("CSV", "TSV") else (expected, opener)


def _opener(file: Path, name: str) -> Opener:
    """Return the reader for a file by its name, after a look at its first bytes."""
    expected, opener = _format_of(file)
    if file.suffix.lower() in IMAGES:
        raise DataError(
            f"{name} is one image, and a table has many rows. Give the folder of images, each of "
            "which is a row."
        )
    if opener is None:
        raise DataError(
            f"{name} has no ending that is known: {', '.join(FORMATS)}, or one of a video. "
            "Rename it, or save the table as CSV or Parquet."
        )
    packed = file.suffix.lower() in PACKED
    with file.open("rb") as stream:
        head = stream.read(16)
    found = _kind_of(head)
    agree = "zip" if expected == "NPZ" else expected
    text = expected in ("CSV", "TSV")
    if found and not packed and found != agree:
        raise DataError(
            f"{name} is named as {expected}, but what it holds is {found}. "
            "Rename it by what it holds, or give another file."
        )
    if not found and not text and expected != "Arrow":  # an Arrow stream has no mark
        raise DataError(
            f"{name} is named as {expected}, but does not begin as one: it is damaged, or "
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


def _csv(path: Path, name: str, text: Text) -> Source:
    return read_delimited(path, name, None, text.encoding, text.types)


def _tsv(path: Path, name: str, text: Text) -> Source:
    return read_delimited(path, name, "\t", text.encoding, text.types)


def _parquet(path: Path, name: str, text: Text) -> Source:
    return read_parquet(path, name)


def _arrow(path: Path, name: str, text: Text) -> Source:
    return read_arrow(path, name)


def _npy(path: Path, name: str, text: Text) -> ArrayBlocks:
    with _reading(name):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    return _of_array(array, name)


def _npz(path: Path, name: str, text: Text) -> ArrayBlocks:
    with _reading(name):
        _require_modest(path, name)
        with np.load(path, allow_pickle=False) as file:
            if {"format", "data", "shape"} <= set(file.files):
                _require_sides(file["shape"].tolist(), path, name)
                return _of_array(in_bounds(sparse.load_npz(path)), name)
            tables = {key: file[key] for key in file.files if _ndim(file, key) == 2}
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


def _mtx(path: Path, name: str, text: Text) -> ArrayBlocks:
    with _reading(name):
        rows, columns, _, form, *_ = io.mminfo(path)
        if form == "coordinate":
            _require_sides((rows, columns), path, name)
        matrix = io.mmread(_with_ends_of_lines(path, name))
    return _of_array(matrix, name)


def _with_ends_of_lines(path: Path, name: str) -> Path | BytesIO:
    """Return a file of text in which every line has an end.

    scipy looks for it behind each number, where zero bytes or the end of the file would keep it
    from one: that ends the process.
    """
    last = b""
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            if b"\0" in piece:
                raise DataError(f"{name} is not text. Make or fetch it anew.")
            last = piece[-1:]
    return path if last == b"\n" else BytesIO(path.read_bytes() + b"\n")


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Turn whatever a reader of arrays raises into one error: what garbage does, nobody foresees.

    Their warnings, of headers that are odd, are not passed on.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except DataError:
        raise
    except Exception as error:
        if "Object arrays" in str(error) or "Python objects" in str(error):
            raise DataError(f"{name} holds Python objects. Save it as numbers.") from None
        raise damaged(name, error) from None


def _require_modest(path: Path, name: str) -> None:
    size = path.stat().st_size
    with zipfile.ZipFile(path) as file:
        inflated = unpacked(file)
    if inflated > max(INFLATED, INFLATION * size):
        raise DataError(
            f"{name} would grow from {size / 1e6:.1f} MB to {inflated / 1e9:.2g} GB when unpacked: "
            "it is not read. Save the table as NPY or Parquet."
        )


def _require_sides(shape: Sequence[int], path: Path, name: str) -> None:
    """Raise if a sparse matrix is so much larger than its file that it is nothing but zeros."""
    if sum(shape) > max(MOST_SIDES, SIDES * path.stat().st_size):
        raise DataError(
            f"{name} says that it has {' x '.join(map(str, shape))} rows and columns, far more "
            "than it can hold numbers for: it is not read. Leave out rows and columns of zeros."
        )


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
