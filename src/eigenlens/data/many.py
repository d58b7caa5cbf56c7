"""Tables of many files: which files they are, in which order, and how they are one table."""

from __future__ import annotations

import glob
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, takewhile
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._text import natural
from .arrow import Source, from_row, kind_of
from .blocks import ArrayBlocks, Blocks, rows_in_block
from .cells import NUMBER
from .errors import DataError
from .room import Room

__all__ = ["Part", "Paths", "Stacked", "files_of", "joined"]

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a table: what errors call it, and what the names of its folders say of its rows."""

    path: Path
    name: str
    keys: Mapping[str, str | None]


def files_of(path: Paths, is_table: Callable[[Path], bool]) -> tuple[str, list[Part]] | None:
    """Return the name of a table and its files, None if `path` is that of a single file.

    Parameters
    ----------
    path : path or sequence of paths
        A folder, a pattern such as ``part-*.parquet`` or a list, which keeps its order. In place of
        a file a folder may stand for all in it.
    is_table : callable
        Tells by its name whether a file in a folder is one of a table.
    """
    if not isinstance(path, str | PathLike):
        given = [Path(one) for one in path]
        if not given:
            raise DataError("No file is given. Give at least one path.")
        root = Path(os.path.commonpath([one.absolute().parent for one in given]))
        more = f" and {len(given) - 1} more" if len(given) > 1 else ""
        return given[0].name + more, _parts(given, root, is_table)
    folder = Path(path)
    if folder.is_dir():
        return folder.name or str(folder), _parts([folder], folder, is_table)
    if folder.exists() or not glob.has_magic(fspath(path)):
        return None
    fixed = takewhile(lambda part: not glob.has_magic(part), folder.parts)
    root = Path(*fixed)
    if "**" in folder.parts:
        _require_no_loop(root)
    found = [Path(one) for one in glob.glob(fspath(path), recursive=True)]  # noqa: PTH207
    if not found:
        raise FileNotFoundError(
            f"There is no file like {fspath(path)!r}. Check the pattern and the folder."
        )
    found.sort(key=lambda one: natural(one.relative_to(root).as_posix()))
    return folder.name, _parts(found, root, is_table)


def _require_no_loop(root: Path) -> None:
    """Raise if a folder has a link to one that it is in: the search would go round and round."""
    for here, folders, _ in os.walk(root, followlinks=True):
        inside = Path(here)
        above = [inside, *inside.parents][: len(inside.parts) - len(root.parts) + 1]
        known = {folder.resolve() for folder in above}
        for link in (inside / name for name in folders):
            if link.is_symlink() and link.resolve() in known:
                raise DataError(
                    f"{link} is a link to a folder that it is in. Take it out, or give a pattern "
                    "without **."
                )


def _parts(paths: Iterable[Path], root: Path, is_table: Callable[[Path], bool]) -> list[Part]:
    files: list[Path] = []
    for path in paths:
        files += _inside(path, is_table) if path.is_dir() else [path]
    return [_part(file, root.absolute()) for file in files]


def _inside(folder: Path, is_table: Callable[[Path], bool]) -> list[Path]:
    """Return the files of tables in a folder and in those below it.

    Names that begin with a dot or a low line are those of marks and logs, as is the custom.
    """
    found: list[Path] = []
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] not in "._"]
        files = (Path(here, name) for name in names if name[0] not in "._")
        found += [file for file in files if is_table(file)]
    return sorted(found, key=lambda file: natural(file.relative_to(folder).as_posix()))


def _part(file: Path, root: Path) -> Part:
    relative = Path(os.path.relpath(file.absolute(), root))
    pairs = (part.partition("=") for part in relative.parts[:-1] if "=" in part)
    values = {unquote(key): unquote(value) for key, _, value in pairs}
    keys = {key: None if value == NO_VALUE else value for key, value in values.items()}
    return Part(file, relative.as_posix(), keys)


# ------------------------------------------------------------------------------- of columns


class Constant(NamedTuple):
    """A column that a folder tells, the same for all rows of a file."""

    type: pa.DataType
    values: list[str | float | None]  # of each file


def joined(name: str, sources: Sequence[Source], parts: Sequence[Part]) -> Source:
    """Return the source of files that are one table.

    The columns of a file may stand in any order, and numbers may be of any width. What the names of
    folders say, as in ``year=2024/part-0.parquet``, becomes further columns: of numbers where all
    values are, else of text.

    Parameters
    ----------
    name : str
        Of the table.
    sources, parts
        Of each file.
    """
    first = sources[0]
    for source in sources[1:]:
        _require_same_columns(first, source)
    constants = _constants(first.schema.names, parts)
    fields = [(column, _common(column, sources)) for column in first.schema.names]
    schema = pa.schema([*fields, *((key, constant.type) for key, constant in constants.items())])

    counts = [source.n_rows for source in sources]
    starts = None if None in counts else [0, *accumulate(count or 0 for count in counts)]

    def of_file(i: int, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        # a file says by one of its own columns how many rows a constant has
        own = [column for column in columns if column not in constants] or first.schema.names[:1]
        for batch in sources[i].batches(own, start):
            yield _with_constants(batch, columns, constants, i)

    def batches(columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        if starts is None:
            every = (of_file(i, columns, 0) for i in range(len(sources)))
            yield from from_row(chain.from_iterable(every), start)
            return
        for i in range(bisect_right(starts, start) - 1, len(sources)):
            yield from of_file(i, columns, max(0, start - starts[i]))

    nbytes = sum(source.nbytes for source in sources)
    rows = None if starts is None else starts[-1]
    return Source(name, schema, batches, rows, nbytes, first.row_names)


def _with_constants(
    batch: pa.RecordBatch, columns: list[str], constants: Mapping[str, Constant], i: int
) -> pa.RecordBatch:
    if not constants.keys() & set(columns):
        return batch
    arrays = [
        pa.repeat(pa.scalar(constants[name].values[i], constants[name].type), batch.num_rows)
        if name in constants
        else batch.column(name)
        for name in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=columns)


def _constants(names: Sequence[str], parts: Sequence[Part]) -> dict[str, Constant]:
    """Return the columns that folders tell; one that a file has too is taken from the file."""
    keys = dict.fromkeys(key for part in parts for key in part.keys if key not in names)
    for key in keys:
        for part in parts:
            if key not in part.keys:
                raise DataError(
                    f"{part.name} lies in no folder {key}=..., as other files do. Put it into one, "
                    "or leave it out."
                )
    return {key: _constant([part.keys[key] for part in parts]) for key in keys}


def _constant(values: Sequence[str | None]) -> Constant:
    if all(value is None or NUMBER.match(value) for value in values):
        numbers = [None if value is None else float(value.replace(",", ".")) for value in values]
        return Constant(pa.float64(), list(numbers))
    return Constant(pa.string(), list(values))


def _require_same_columns(first: Source, other: Source) -> None:
    ours, others = first.kinds(), other.kinds()
    for column in ours.keys() - others.keys():
        raise DataError(
            f"{other.path} has no column {column!r}, and {first.path} has one. Give all files of a "
            "table the same columns."
        )
    for column in others.keys() - ours.keys():
        raise DataError(
            f"{other.path} has a column {column!r}, and {first.path} has none. Give all files of a "
            "table the same columns."
        )


def _common(column: str, sources: Sequence[Source]) -> pa.DataType:
    """Return the type of a column in all files: for numbers of several widths, the widest."""
    common, where = pa.null(), sources[0].path
    for source in sources:
        type_ = source.schema.field(column).type
        if pa.types.is_null(common):  # a column without any value fits all
            common, where = type_, source.path
        elif not pa.types.is_null(type_):
            common = _wider(common, type_, column, where, source.path)
    return common


def _wider(
    common: pa.DataType, type_: pa.DataType, column: str, first: str, other: str
) -> pa.DataType:
    kind, found = kind_of(common), kind_of(type_)
    if kind != found:
        raise DataError(
            f"Column {column!r} holds {found} in {other}, and {kind} in {first}. Give it one type "
            "in all files."
        )
    if kind != "number" or common == type_:
        return common
    narrow = all(pa.types.is_float32(t) or pa.types.is_float16(t) for t in (common, type_))
    return pa.float32() if narrow else pa.float64()


# -------------------------------------------------------------------------------- of arrays


class Stacked(Blocks):
    """Arrays in files, the rows of one below those of the other, in blocks across them."""

    def __init__(self, name: str, tables: Sequence[ArrayBlocks]) -> None:
        first = tables[0]
        for table in tables[1:]:
            if table.names != first.names:
                raise DataError(
                    f"{table.path} has {len(table.names)} columns{_shown(table)}, and {first.path} "
                    f"has {len(first.names)}{_shown(first)}. Give all files of a table the same "
                    "columns."
                )
        self.tables, self.path, self.names = tuple(tables), name, first.names
        self.left_out: Mapping[str, str] = {}
        self.dtype = np.result_type(*(table.dtype for table in tables))
        self._starts = [0, *accumulate(table.n_rows for table in tables)]
        self._rows = rows_in_block(len(self.names) * self.dtype.itemsize)
        self.nbytes = self.n_rows * len(self.names) * self.dtype.itemsize

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._starts[-1]

    def row_counts(self) -> list[int]:
        """Return the number of rows of each block."""
        starts = range(0, self.n_rows, self._rows)
        return [min(self._rows, self.n_rows - start) for start in starts]

    def __iter__(self) -> Iterator[NDArray]:
        return self.blocks_from(0)

    def blocks_from(self, i: int) -> Iterator[NDArray]:
        """Yield the blocks from block `i` on."""
        room = Room(len(self.names), self.dtype)
        for start in range(i * self._rows, self.n_rows, self._rows):
            block = room.rows(min(self._rows, self.n_rows - start))
            self._fill(start, block)
            yield block

    def _fill(self, start: int, out: NDArray) -> None:
        stop = start + len(out)
        for k in range(bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop)):
            begin = self._starts[k]
            first, last = max(start, begin), min(stop, self._starts[k + 1])
            self.tables[k].fill(first - begin, out[first - start : last - start])


def _shown(table: ArrayBlocks) -> str:
    return "" if table.names[0] == "x0" else f" ({', '.join(table.names[:3])})"
