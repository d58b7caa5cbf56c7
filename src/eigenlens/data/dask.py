"""Rows that are spread over machines: Dask arrays and dataframes as tables in blocks.

The one file that imports Dask, and only once something of Dask's is given. A pass over the table is
a graph of tasks, one for each chunk of rows, whose answers are put together in a tree; the rows
stay where they are. Whatever scheduler the user has set runs it: threads, processes or a cluster.
A task changes nothing that it is given, so that one lost with its worker can be done again.
"""

from __future__ import annotations

import copy
import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops import threads
from .blocks import Blocks, Pass, joined, part_of, stacked
from .errors import DataError
from .packed import Stored, write_arrays

__all__ = ["DaskBlocks", "Spread", "is_dask"]

ARITY = 8  # answers that are put together at once
MOST_GROUPS = 16  # of chunks, after each of which a pass can be taken up again


def is_dask(X: object) -> bool:
    """Whether `X` is an array or dataframe of Dask's; does not import Dask."""
    kinds = {"dask.array": "Array", "dask.dataframe": "DataFrame"}
    return any(
        isinstance(X, getattr(sys.modules[module], kind))
        for module, kind in kinds.items()
        if hasattr(sys.modules.get(module), kind)
    )


class Spread:
    """Rows kept beside a table on the machines that made them: an array for each chunk."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = list(parts)

    def __getitem__(self, i: int) -> Any:
        return self.parts[i]

    def __len__(self) -> int:
        return len(self.parts)

    def gather(self) -> NDArray:
        """Return all rows as one array, here."""
        arrays = _dask().compute(*self.parts)
        return np.concatenate([rows for rows in arrays if rows is not None])

    def write(self, first: int, path: Path) -> list[Stored | None]:
        """Let the workers write the arrays from chunk `first` on; return where they are."""
        places = [
            Stored(str(path.with_stem(f"{path.stem}-{i:06d}")), "rows")
            for i in range(first, len(self))
        ]
        jobs = [
            _later(_write)(part, place)
            for part, place in zip(self.parts[first:], places, strict=True)
        ]
        try:
            written = _dask().compute(*jobs)
            for place, there in zip(places, written, strict=True):
                if there and not Path(place.file).exists():
                    raise FileNotFoundError(errno.ENOENT, "they write to a folder of their own")
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise DataError(
                f"The workers of Dask cannot write in the checkpoint {path.parent} ({error}). Give "
                "a folder that they and this process share."
            ) from None
        return [place if there else None for place, there in zip(places, written, strict=True)]

    def settle(self) -> None:
        """Let go of the files that this object was given."""
        self.parts = list(_dask().persist(*self.parts))


class DaskBlocks(Blocks):
    """Chunks of rows of a Dask array or dataframe.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        Columns of an array that are in several chunks are brought together.
    """

    row_names = None
    groups = 1
    """Of chunks in a pass, after each of which it can be taken up again."""

    def __init__(self, X: Any) -> None:
        frame = not hasattr(X, "rechunk")
        if not frame:
            if X.ndim != 2:
                raise DataError(
                    f"X has {X.ndim} dimension(s), and a table has 2: rows and columns. Reshape a "
                    "single row by X.reshape(1, -1), a single column by X.reshape(-1, 1)."
                )
            X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
            dtypes = [X.dtype]
            counts = X.chunks[0]
            parts = X.to_delayed().ravel()
        else:
            dtypes = list(X.dtypes)
            _require_numbers(X)
            counts = (np.nan,) * X.npartitions
            parts = X.to_delayed()
        self.names = (
            tuple(map(str, X.columns)) if frame else tuple(f"x{j}" for j in range(X.shape[1]))
        )
        self.named = frame
        self.path = "the Dask " + ("dataframe" if frame else "array")
        self.left_out: Mapping[str, str] = {}
        self.dtype = dtype = np.dtype(np.float32 if _narrow(dtypes) else np.float64)
        self._counts = None if np.isnan(counts).any() else [int(count) for count in counts]
        self._make: Callable[[], list[Any]] = lambda: [
            _later(_floats)(part, dtype) for part in parts
        ]
        self._parts = self._make()

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        """About the bytes that the whole table takes: infinite where the rows are not counted."""
        rows = sys.maxsize >> 32 if self._counts is None else sum(self._counts)
        return rows * len(self.names) * self.dtype.itemsize

    @property
    def n_rows(self) -> int:
        """Number of rows; counted by a pass where Dask does not know it."""
        return sum(self.row_counts())

    def row_counts(self) -> list[int]:
        """Return the number of rows of each chunk."""
        if self._counts is None:
            self._counts = list(_dask().compute(*[_later(_length)(part) for part in self._parts]))
        return self._counts

    def __iter__(self) -> Iterator[Any]:
        return (part.compute() for part in self._parts)

    def steps(self, run: Pass) -> Iterator[None]:
        """Do the rest of a pass where the rows are, a group of chunks at a time."""
        n = len(self._parts)
        for group in threads.spans(n, -(-n // self.groups)):
            if group.start < run.done:
                continue
            total, kept = self._passed(run, range(group.start, group.stop))
            run.total = joined(run.combine, [run.total, total])
            for store, rows in zip(run.kept, kept, strict=True):
                store.parts += rows
            run.done = group.stop
            yield

    def _passed(self, run: Pass, chunks: range) -> tuple[Any, list[list[Any]]]:
        """Return what some chunks add up to, and for each array to keep its parts."""
        given, keep = _sent(run.shared), len(run.kept)
        made = [
            _later(_part)(run.task, self._parts[i], [own[i] for own in run.beside], given, keep)
            for i in chunks
        ]
        if not keep:
            return _tree(made, run.combine).compute(), []
        total = _tree([_later(_item)(one, 0) for one in made], run.combine)
        rows = [_later(_item)(one, 1 + j) for j in range(keep) for one in made]
        # rows are kept where they are, and only what they add up to comes here
        total, *held = _dask().persist(total, *rows)
        n = len(chunks)
        return total.compute(), [held[j * n : (j + 1) * n] for j in range(keep)]

    def n_groups(self) -> int:
        """Return how many groups to make: so few that no thread waits long for others at an end."""
        return max(1, min(MOST_GROUPS, len(self._parts) // (4 * _n_threads())))

    def keeper(self, stored: Sequence[Stored | None] = (), folder: Path | None = None) -> Spread:
        """Return what keeps rows beside this table: at first those that files hold already."""
        return Spread([_later(_read)(place) for place in stored])

    def layout(self) -> str:
        """Say how large the table is, without reading it."""
        rows = "rows that are not counted" if self._counts is None else f"{self._counts} rows"
        return f"{len(self._parts)} chunks of {rows}"

    def of_first(self, function: Callable[[Any], Any]) -> Any:
        """Return what `function` makes of the first chunk, where that is."""
        return _later(function)(self._parts[0]).compute()

    def beside(self, values: NDArray) -> Spread:
        """Return an array with a row for each row of the table, a part for each chunk."""
        parts = super().beside(values)
        return Spread([_dask().delayed(part, pure=False, traverse=False) for part in parts])

    def take(self, numbers: NDArray) -> Any:
        """Return the rows of these numbers, in their order."""
        counts = np.asarray(self.row_counts())
        starts = np.concatenate([[0], np.cumsum(counts)])
        numbers = np.asarray(numbers)
        order = np.argsort(numbers, kind="stable")
        edges = np.searchsorted(numbers[order], starts)
        wanted = [
            _later(_rows)(part, numbers[order[a:b]] - start)
            for part, start, a, b in zip(
                self._parts, starts[:-1], edges[:-1], edges[1:], strict=True
            )
            if b > a
        ]
        if not wanted:
            return np.empty((0, len(self.names)), self.dtype)
        return stacked(_dask().compute(*wanted))[np.argsort(order)]

    def map(
        self,
        function: Callable[..., NDArray],
        names: Sequence[str] | None = None,
        *,
        beside: Sequence[Any] = (),
    ) -> DaskBlocks:
        """Return the table that `function` makes of each chunk, when it is asked for."""
        other = copy.copy(self)
        sent = _sent((function,))
        # under keys of its own, down to the chunks: where arrays are made of parts that a fit has
        # used too, Dask's optimiser would give one key two meanings. What is kept is handed over
        # one by one: in a list, Dask would not see that the array still needs it
        other._make = lambda: [
            _later(_mapped)(part, sent, *(own[i] for own in beside))
            for i, part in enumerate(self._make())
        ]
        other._parts = other._make()
        if names is not None:
            other.names = tuple(names)
        return other

    def array_of(self, kept: Spread, like: NDArray) -> Any:
        """Return the rows that are kept beside the table as a lazy Dask array.

        Parameters
        ----------
        kept : Spread
        like : ndarray without rows
            Tells the dtype and the columns.
        """
        other = copy.copy(self)
        other._parts = [_later(_there)(part, like) for part in kept.parts]
        return other.to_dask(like.dtype, like.shape[1])

    def to_dask(self, dtype: Any, width: int | None = None) -> Any:
        """Return a lazy Dask array: of two dimensions, or of one if `width` is None."""
        da = import_module("dask.array")
        counts = [np.nan] * len(self._parts) if self._counts is None else self._counts
        more = () if width is None else (width,)
        chunks = [
            da.from_delayed(part, (count, *more), dtype=dtype)
            for part, count in zip(self._parts, counts, strict=True)
        ]
        return da.concatenate(chunks, allow_unknown_chunksizes=True)


class _Shared:
    """What all tasks need, in a box that Dask does not look into."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = tuple(values)


def _sent(values: Iterable[Any]) -> Any:
    """Return what tasks share as one thing of the graph, which goes to each machine once."""
    return _dask().delayed(_Shared(values), pure=False, traverse=False)


def _later(function: Callable[..., Any]) -> Callable[..., Any]:
    later: Callable[..., Any] = _dask().delayed(function, pure=False)
    return later


def _dask() -> Any:
    return import_module("dask")  # it is there: something of it was given


def _n_threads() -> int:
    """Return how many threads work on a graph, as far as that can be known."""
    distributed = sys.modules.get("distributed")
    try:
        return max(1, sum(distributed.get_client().nthreads().values()))  # type: ignore[union-attr]
    except (AttributeError, ValueError):  # not loaded, or no client
        return os.cpu_count() or 1


def _write(rows: Any, place: Stored) -> bool:
    """Write rows to a file that the client can read too, unless there are none."""
    if rows is not None:
        write_arrays(Path(place.file), [(place.key, rows)])
    return rows is not None


def _read(place: Stored | None) -> Any:
    return None if place is None else place.load()


def _narrow(dtypes: Sequence[Any]) -> bool:
    return all(dtype in (np.float32, np.float16) for dtype in dtypes)


def _require_numbers(frame: Any) -> None:
    """Raise unless every column of a dataframe holds numbers."""
    kinds = {str(name): kind for name, kind in frame.dtypes.items()}
    numbers = [str(name) for name in frame._meta.select_dtypes(["number", "bool"]).columns]
    if others := [name for name in kinds if name not in set(numbers)]:
        shown = ", ".join(f"{name!r} ({kinds[name]})" for name in others[:5])
        raise DataError(
            f"The Dask dataframe has columns that are not numbers: {shown}. Drop them, for example "
            "by X.select_dtypes('number'), or encode them."
        )


def _floats(block: Any, dtype: np.dtype) -> Any:
    """Return a chunk as an array, or sparse array, of floats."""
    if hasattr(block, "to_scipy_sparse"):  # of the package sparse
        block = block.to_scipy_sparse()
    if sparse.issparse(block):
        return sparse.csr_array(block, dtype=dtype)
    return np.asarray(block, dtype=dtype)


def _length(block: Any) -> int:
    return int(block.shape[0])


def _item(made: tuple[Any, ...], i: int) -> Any:
    return made[i]


def _rows(block: Any, numbers: NDArray) -> Any:
    return block[numbers]


def _mapped(block: Any, sent: _Shared, *own: Any) -> Any:
    return sent.values[0](block, *own)


def _there(rows: Any, none: NDArray) -> Any:
    return none if rows is None else rows


def _part(task: Any, block: Any, own: list[Any], given: _Shared, keep: int) -> Any:
    """Return the answer of a chunk; where rows are kept, a tuple of it and of them."""
    with np.errstate(invalid="ignore", over="ignore"):  # found in the sums, as everywhere
        made = part_of(task, block, own, given.values, keep)
    return made if keep else made[0]  # a task the less: with many chunks these are what takes time


def _tree(parts: list[Any], combine: Callable[[list[Any]], Any]) -> Any:
    while len(parts) > 1:
        parts = [
            _later(_joined)(combine, parts[i : i + ARITY]) for i in range(0, len(parts), ARITY)
        ]
    return parts[0]


def _joined(combine: Callable[[list[Any]], Any], parts: list[Any]) -> Any:
    """Put answers together; the first, to which that may write, is still another task's."""
    there = [part for part in parts if part is not None]
    return joined(combine, [copy.deepcopy(there[0]), *there[1:]]) if there else None
