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

from .atomic import atomic
from .errors import DataError

__all__ = ["Writer", "named"]


def named(block: NDArray, names: Sequence[str]) -> pa.Table:
    """Return a block of rows as an Arrow table, which scikit-learn takes for a table with names."""
    return pa.table([pa.array(np.ascontiguousarray(column)) for column in block.T], names=names)


class Sheet(Protocol):
    """An open file that takes Arrow tables."""

    def write_table(self, table: pa.Table) -> None: ...
    def close(self) -> None: ...


class Writer:
    """Writes a table to a file in blocks: CSV, TSV, Parquet, Arrow or NPY, by its ending.

    The file appears under its name when all is written; after an error there is none, or the one
    that was there before.

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
        suffix = ".csv" if self._standard_output else self._path.suffix.lower()
        if suffix not in SHEETS:
            raise DataError(
                f"{self._path.name} has no ending that can be written: {', '.join(SHEETS)}. "
                "Give the output one of them."
            )
        self._make = SHEETS[suffix]
        self._sheet: Sheet | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        target = self._stack
        if self._standard_output:
            self._out: Any = sys.stdout.buffer
        else:
            self._out = target.enter_context(target.enter_context(atomic(self._path)).open("wb"))
        return self

    def write(self, block: NDArray) -> None:
        """Add the rows of `block`."""
        table = named(block, self.names)
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


def _csv(file: BinaryIO, schema: pa.Schema) -> Sheet:
    return pyarrow.csv.CSVWriter(file, schema)


def _tsv(file: BinaryIO, schema: pa.Schema) -> Sheet:
    options = pyarrow.csv.WriteOptions(delimiter="\t")
    return pyarrow.csv.CSVWriter(file, schema, write_options=options)


SHEETS: dict[str, Callable[[BinaryIO, pa.Schema], Sheet]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".parquet": pyarrow.parquet.ParquetWriter,
    ".arrow": pa.ipc.new_file,
    ".feather": pa.ipc.new_file,
    ".npy": _Npy,
}
"""Formats that can be written, by the ending of the file."""
