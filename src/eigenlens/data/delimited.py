"""CSV and its relatives: dialect and header from the head, rows parsed by pyarrow in parallel."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv

from .._text import unique
from ..ops import threads
from .arrow import Source, from_row
from .cells import NUMBER, plain
from .errors import DataError

__all__ = ["read_delimited"]

HEAD = 1 << 16  # bytes that the dialect is found from
HEADER = 1 << 21  # bytes that they may become, until they have the header and a row
MOST_COLUMNS = 1 << 17
BLOCK = 1 << 20  # bytes of text that are converted at a time
LONGEST = 1 << 26  # bytes that one row may have
DELIMITERS = ",;\t|"
COMMA_NUMBER = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?$")
HOLES = ["", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the text is cut into cells."""

    names: list[str]
    delimiter: str
    decimal: str
    skip: int  # lines of the header
    row_names: str | None
    newline: bytes


class Chunk(NamedTuple):
    """Some lines of text, and how many chunks there are before."""

    text: bytes
    number: int


def read_delimited(
    path: Path, name: str, delimiter: str | None, encoding: str, like: pa.Schema | None = None
) -> Source:
    """Return the source of a file of text, named `name` in errors.

    Types are found from the first rows, or are those of `like`, of another file of the same table.
    """
    head = _head(path, name, encoding)
    try:
        dialect = _dialect(head, delimiter)
    except StopIteration:
        raise DataError(f"{name} has cells, but none that is not empty. Give numbers.") from None
    except csv.Error as error:
        raise DataError(
            f"{name} cannot be read as a table: {error}. Check its first line."
        ) from None
    chunks = partial(_chunks, path, name, dialect, encoding)

    def parse(chunk: Chunk, types: dict[str, pa.DataType] | None = None) -> pa.RecordBatch:
        try:
            return _parse(chunk.text, dialect, types)
        except pa.ArrowInvalid as error:
            before = islice(chunks(), chunk.number)
            lines = dialect.skip + sum(part.text.count(dialect.newline) for part in before)
            raise _explain(str(error), name, chunk.text, lines, dialect) from None

    def rows() -> Iterator[Chunk]:
        return (chunk for chunk in chunks() if not chunk.text.isspace())

    def batches(columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        types = {column: schema.field(column).type for column in columns}
        return from_row(threads.ahead(partial(parse, types=types), rows()), start)

    def types() -> pa.Schema:
        first = next(rows(), None)
        if first is None or not (sample := parse(first)).num_rows:
            raise DataError(f"{name} has no rows. Give a file with rows of numbers.")
        return sample.schema

    schema = _schema(dialect, types() if like is None else like)
    size = path.stat().st_size * (4 if _compression(path) else 1)
    return Source(name, schema, batches, None, size, dialect.row_names)


def _schema(dialect: Dialect, types: pa.Schema) -> pa.Schema:
    """Return the columns of a file with their types; one that has none is text."""
    known = dict(zip(types.names, types.types, strict=True))
    return pa.schema([(name, _stable(known.get(name, pa.string()))) for name in dialect.names])


def _chunks(path: Path, name: str, dialect: Dialect, encoding: str) -> Iterator[Chunk]:
    """Yield the rows as text in UTF-8, some lines at a time.

    A line ends outside of quotes: where the number of quotes so far is even.
    """
    rest, number, header = b"", 0, dialect.skip
    with pa.input_stream(str(path), compression=_compression(path)) as stream:
        for block in chain(_in_utf8(stream, name, encoding), [dialect.newline]):
            rest += block
            while header and dialect.newline in rest:
                rest, header = rest.partition(dialect.newline)[2], header - 1
            cut = 0 if header else rest.rfind(dialect.newline) + 1
            if cut and not (b'"' in rest and rest.count(b'"', 0, cut) % 2):
                yield Chunk(rest[:cut], number)
                rest, number = rest[cut:], number + 1
            elif len(rest) > LONGEST:
                raise DataError(_endless(name, b'"' in rest))


def _endless(name: str, quotes: bool) -> str:
    if quotes:
        return f'{name} has a quote (") that is opened and not closed. Close it, or take it out.'
    return (
        f"{name} has a line of more than {LONGEST >> 20} MB. Check that it is a table of text with "
        "a row a line, or save it as NPY or Parquet."
    )


def _in_utf8(stream: Any, name: str, encoding: str) -> Iterator[bytes]:
    """Yield blocks of the stream, recoded and without the mark that some programs begin with."""
    decoder = None if encoding == "utf8" else codecs.getincrementaldecoder(encoding)()
    first = True
    while block := stream.read(BLOCK):
        if decoder is not None:
            try:
                block = decoder.decode(block).encode()
            except UnicodeDecodeError:
                raise DataError(_bad_encoding(name, encoding)) from None
        yield block.removeprefix(codecs.BOM_UTF8) if first else block
        first = False


def _parse(text: bytes, dialect: Dialect, types: dict[str, pa.DataType] | None) -> pa.RecordBatch:
    """Return the rows of some lines: the columns of `types`, or all with types found."""
    table = pyarrow.csv.read_csv(
        pa.BufferReader(text),
        read_options=pyarrow.csv.ReadOptions(
            # not pyarrow's threads: they do not know in which row an error is
            use_threads=False,
            block_size=len(text) + 1,
            column_names=dialect.names,
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=dialect.delimiter, newlines_in_values=b'"' in text
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            include_columns=None if types is None else list(types),
            column_types=types,
            null_values=HOLES,
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            decimal_point=dialect.decimal,
        ),
    )
    return table.combine_chunks().to_batches()[0]


def _compression(path: Path) -> str | None:
    return {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}.get(path.suffix.lower())


def _head(path: Path, name: str, encoding: str) -> str:
    """Return the text at the beginning of the file."""
    try:
        with pa.input_stream(str(path), compression=_compression(path)) as stream:
            raw = _first_lines(stream)
    except OSError as error:
        if path.exists() and _compression(path):
            reason = str(error).splitlines()[0]
            raise DataError(f"{name} cannot be unpacked ({reason}). Fetch it anew.") from None
        raise
    if not raw.strip():
        raise DataError(f"{name} is empty. Give a file with a header and rows of numbers.")
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding == "utf8":
        raise DataError(f"{name} is UTF-16 text. Give encoding='utf16', or save it as UTF-8.")
    if b"\0" in raw and encoding == "utf8":
        raise DataError(f"{name} is not text. Check its kind, and rename it if its name is wrong.")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        if len(raw) < HEAD or error.start < len(raw) - 4:  # else it was cut in a character
            raise DataError(_bad_encoding(name, encoding)) from None
        text = raw.decode(encoding, errors="ignore")
    except LookupError:
        raise DataError(f"encoding={encoding!r} is unknown. Try 'utf8' or 'latin-1'.") from None
    return text.removeprefix("\ufeff")


def _first_lines(stream: Any) -> bytes:
    """Return the beginning of a stream: a little, or as much as the first two lines take."""
    raw: bytes = stream.read(HEAD)
    while max(raw.count(b"\n"), raw.count(b"\r")) < 2 and len(raw) < HEADER:
        more = stream.read(len(raw))
        if not more:
            break
        raw += more
    return raw


def _bad_encoding(name: str, encoding: str) -> str:
    return (
        f"{name} is not {encoding.upper().replace('UTF8', 'UTF-8')} text. "
        "Give its encoding, for example encoding='latin-1', or save it as UTF-8."
    )


def _dialect(head: str, delimiter: str | None) -> Dialect:
    first = next(line for line in head.splitlines() if line.strip())[:HEAD]
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda sign: len(next(csv.reader([first], delimiter=sign))))
    reader = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)
    header: list[str] = []
    while not any(header):
        header = next(reader)
    if len(header) > MOST_COLUMNS:
        raise csv.Error(f"it has more than {MOST_COLUMNS} columns, which NPY would hold")
    lines = reader.line_num
    headless = all(NUMBER.match(cell) for cell in header)
    cells = [cell.strip() for row in ([header] if headless else []) for cell in row]
    cells += [cell.strip() for row in _whole_rows(reader, head) for cell in row]
    decimal = "," if delimiter != "," and any(map(COMMA_NUMBER.match, cells)) else "."
    newline = b"\n" if "\n" in head else b"\r"
    if headless:
        names = [f"x{j}" for j in range(len(header))]
        return Dialect(names, delimiter, decimal, 0, None, newline)
    names = unique(map(plain, header))
    # pandas and R write the index of the rows as a first column without a name
    row_names = names[0] if len(names) > 1 and not header[0].strip() else None
    return Dialect(names, delimiter, decimal, lines, row_names, newline)


def _whole_rows(reader: Iterator[list[str]], head: str) -> list[list[str]]:
    """Return the rows after the header, without one that the end of the head may have cut."""
    try:
        rows = list(reader)
    except csv.Error:  # of a cell that the head has cut
        return []
    return rows if head.endswith(("\n", "\r")) else rows[:-1]


def _stable(type_: pa.DataType) -> pa.DataType:
    """Return a type that later rows fit in: whole numbers and holes may turn out to be floats."""
    if pa.types.is_integer(type_) or pa.types.is_null(type_):
        return pa.float64()
    return pa.string() if pa.types.is_binary(type_) else type_


def _explain(message: str, name: str, text: bytes, before: int, dialect: Dialect) -> DataError:
    """Turn what pyarrow says of some text into the place and the remedy; `before` are its lines."""
    row = re.search(r"Row #(\d+)", message)
    where = f"{name}, line {before + _line_of(int(row[1]), text, dialect)}" if row else name
    if ragged := re.search(r"Expected (\d+) columns, got (\d+)", message):
        return DataError(
            f"{where}: {ragged[2]} fields where {ragged[1]} are expected. Correct that line; "
            f"fields are taken to be separated by {dialect.delimiter!r}."
        )
    value = re.search(r"CSV column #(\d+).*conversion error to [^:]*: (.*)", message, re.DOTALL)
    if value:
        what = re.sub(r"^invalid value ", "", value[2])[:80]
        if "invalid UTF8" in what:
            return DataError(_bad_encoding(where, "utf8"))
        return DataError(
            f"{where}: {what} in a column that began with other values. Correct or empty that "
            f"entry, or drop the column{_named(dialect, int(value[1]))}."
        )
    if "utf" in message.lower():
        return DataError(_bad_encoding(where, "utf8"))
    return DataError(f"{where} cannot be read as a table: {message.splitlines()[0][:160]}.")


def _line_of(row: int, text: bytes, dialect: Dialect) -> int:
    """Return the line of the text in which a row ends: cells may have lines, and lines no cells."""
    lines = io.StringIO(text.decode(errors="replace"), newline="")
    reader = csv.reader(lines, delimiter=dialect.delimiter)
    with suppress(csv.Error):  # of a cell that is too long for it
        for cells in reader:
            row -= bool(cells)
            if row == 0:
                break
    return reader.line_num


def _named(dialect: Dialect, j: int) -> str:
    return f" {dialect.names[j]!r}" if j < len(dialect.names) else ""
