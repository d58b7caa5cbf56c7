"""Tables to files, a block of rows at a time; the file appears when it is complete."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from .atomic import atomic, require_replaceable
from .blocks import Blocks
from .cells import quoted
from .errors import DataError
from .pictures import PICTURES, PictureWriter

__all__ = ["Writer", "named", "require_writable", "write", "writer"]


def named(block: NDArray, names: Sequence[str]) -> pa.Table:
    """Return a block of rows as an Arrow table, which scikit-learn takes for a table with names."""
    return pa.table([pa.array(np.ascontiguousarray(column)) for column in block.T], names=names)


def write(table: Blocks, path: str | PathLike[str], *, signed: bool = False) -> None:
    r"""Write a table to a file, a block at a time, or pictures if its rows are images.

    Parameters
    ----------
    table : Blocks
    path : str or path
        A file, by whose ending the format is chosen; a name without an ending is a folder of
        images, and ``"-"`` is standard output, as CSV.
    signed : bool, default=False
        Whether pictures show values on both sides of zero, which is then grey.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import eigenlens
    >>> from eigenlens.data.writing import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "petals.csv")
    ...     _ = path.write_text("length,width\n1.5,0.2\n4.1,1.3\n")
    ...     table = eigenlens.open(path)
    ...     write(table.map(lambda rows: 10 * rows), path.with_name("ten.csv"))
    ...     print(path.with_name("ten.csv").read_text().split())
    ['"length","width"', '15,2', '41,13']
    """
    with writer(path, table, signed=signed) as file:
        for block in table:
            file.write(block)


def writer(
    path: str | PathLike[str], like: Blocks, *, signed: bool = False
) -> Writer | PictureWriter:
    """Return what writes rows to `path` as `write` does: to be entered, and given blocks.

    Parameters
    ----------
    path : str or path
    like : Blocks
        A table with the names of the columns and, for pictures, their size and names.
    signed : bool, default=False
    """
    require_writable(path, like)
    if _is_picture(path):
        assert like.image_shape is not None
        return PictureWriter(path, like.image_shape, like.row_names, like.frame_rate, signed=signed)
    return Writer(path, like.names)


def require_writable(path: str | PathLike[str], like: Blocks | None = None) -> None:
    """Raise unless rows can be written to `path`, before any work is done for it."""
    if str(path) == "-":
        return
    target = Path(path)
    if _is_picture(path):
        if like is None or like.image_shape is None:
            raise DataError(
                f"{target.name!r} would hold pictures, and the rows are not known to be images. "
                f"Give their size (--image HxW), or an ending of a table: {', '.join(SHEETS)}."
            )
        PictureWriter.require_suited(target, like.image_shape)
    elif target.suffix.lower() not in SHEETS:
        raise DataError(
            f"{target.name} has no ending that can be written: {', '.join(SHEETS)}. "
            "Give the output one of them."
        )
    else:
        require_replaceable(target)


def _is_picture(path: str | PathLike[str]) -> bool:
    return str(path) != "-" and Path(path).suffix.lower() in PICTURES


class Sheet(Protocol):
    """An open file that takes Arrow tables."""

    def write_table(self, table: pa.Table) -> None: ...
    def close(self) -> None: ...


class Writer:
    """Writes a table to a file in blocks: CSV, TSV, Parquet, Arrow or NPY, by its ending.

    The file appears under its name when all is written; after an error there is none, or the one
    that was there before. In CSV and TSV an apostrophe is put in front of names and text that a
    spreadsheet would run, such as ``=1+1``; :func:`eigenlens.open` takes it from names.

    Parameters
    ----------
    path : str or path
        ``"-"`` writes CSV to standard output.
    names : sequence of str
        Of the columns.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from eigenlens.data.writing import Writer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "scores.csv")
    ...     with Writer(path, ["pca0", "pca1"]) as writer:
    ...         writer.write(np.array([[1.0, 2.5]]))
    ...         writer.write(np.array([[0.5, -1.0]]))
    ...     print(path.read_text().split())
    ['"pca0","pca1"', '1,2.5', '0.5,-1']
    """

    def __init__(self, path: str | PathLike[str], names: Sequence[str]) -> None:
        self.names = list(names)
        self._path = Path(path)
        self._standard_output = str(path) == "-"
        require_writable(path)
        self._make = SHEETS[".csv" if self._standard_output else self._path.suffix.lower()]
        self._sheet: Sheet | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        target = self._stack
        if self._standard_output:
            self._out: Any = sys.stdout.buffer
        else:
            self._out = target.enter_context(target.enter_context(atomic(self._path)).open("wb"))
        return self

    def write(self, block: NDArray | pa.Table) -> None:
        """Add the rows of `block`: numbers, or an Arrow table that may have text too."""
        table = block if isinstance(block, pa.Table) else named(block, self.names)
        if self._sheet is None:
            self._sheet = self._make(self._out, table.schema)
        self._sheet.write_table(table)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool | None:
        if kind is None:
            if self._sheet is None:
                self.write(np.empty((0, len(self.names))))
            assert self._sheet is not None
            self._sheet.close()
        return self._stack.__exit__(kind, error, trace)


class _Npy:
    """An NPY file of unknown length: its header leaves room for the number of rows."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self.file = file
        if any(pa.types.is_string(field.type) for field in schema):
            raise DataError("NPY holds numbers alone, and there is text too. Write CSV or Parquet.")
        self.dtype = np.result_type(*(field.type.to_pandas_dtype() for field in schema))
        self.rows, self.columns = 0, len(schema)
        self._write_header()

    def _write_header(self) -> None:
        header = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (self.rows, self.columns),
        }
        np.lib.format.write_array_header_1_0(self.file, header)

    def write_table(self, table: pa.Table) -> None:
        columns = [column.to_numpy() for column in table.columns]
        block = np.column_stack(columns).astype(self.dtype, copy=False)
        self.file.write(np.ascontiguousarray(block).data)
        self.rows += len(block)

    def close(self) -> None:
        self.file.seek(0)
        self._write_header()


class _Delimited:
    """Text with a delimiter, in which names and cells of text are no formulas."""

    def __init__(self, file: BinaryIO, schema: pa.Schema, delimiter: str = ",") -> None:
        self.schema = pa.schema([(quoted(field.name), field.type) for field in schema])
        options = pyarrow.csv.WriteOptions(delimiter=delimiter)
        self.sheet = pyarrow.csv.CSVWriter(file, self.schema, write_options=options)

    def write_table(self, table: pa.Table) -> None:
        columns = [_quoted_column(column) for column in table.columns]
        self.sheet.write_table(pa.table(columns, schema=self.schema))

    def close(self) -> None:
        self.sheet.close()


def _quoted_column(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    if not pa.types.is_string(column.type):
        return column
    cells = [None if cell is None else quoted(cell) for cell in column.to_pylist()]
    return pa.array(cells, column.type)


def _tsv(file: BinaryIO, schema: pa.Schema) -> Sheet:
    return _Delimited(file, schema, "\t")


SHEETS: dict[str, Callable[[BinaryIO, pa.Schema], Sheet]] = {
    ".csv": _Delimited,
    ".tsv": _tsv,
    ".parquet": pyarrow.parquet.ParquetWriter,
    ".arrow": pa.ipc.new_file,
    ".feather": pa.ipc.new_file,
    ".npy": _Npy,
}
"""Formats that can be written, by the ending of the file."""
