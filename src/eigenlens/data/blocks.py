"""Rows of a table of numbers, a block at a time."""

from __future__ import annotations

import itertools
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from ..ops import threads
from .errors import DataError
from .kept import Kept
from .packed import Stored
from .raw import Raw, file_of
from .room import Room

__all__ = [
    "ArrayBlocks",
    "Beside",
    "Blocks",
    "Mapped",
    "Pass",
    "add_up",
    "explain_missing",
    "rows_in_block",
    "stacked",
]

BLOCK_BYTES = 1 << 25  # of a block of rows: small beside any machine, large beside a call
WHOLE_BYTES = 1 << 28  # tables up to this size are read whole where that is simpler
MEMORY_SHARE = 0.5  # of the machine's memory that one table may take
GROWTH = 1000  # times its files, that a table may take as a whole
GROWN_BYTES = 1 << 30  # that any table may take


@dataclass(slots=True)
class Pass:
    """A pass over a table, as far as it has got: the first `done` blocks.

    What to do is as in `Blocks.advance`; `total` and `kept` are what was found so far.
    """

    task: Callable[..., tuple[Any, ...]]
    beside: Sequence[Any]
    shared: Sequence[Any]
    combine: Callable[[list[Any]], Any]
    kept: list[Any]
    total: Any = None
    done: int = 0


class Blocks(ABC):
    """A named table of numbers whose rows come in blocks.

    Iterating reads the table once from its beginning; it can be iterated again. Holes are NaN. What
    :func:`eigenlens.open` returns; estimators take it in place of an array.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    path : str
        Where the table comes from.
    left_out : dict of str to str
        Columns of the file that are not numbers and so are not in the table, with their kind.
    nbytes : int
        About the bytes that the whole table takes in memory.
    dtype : numpy.dtype
        Of the blocks, float32 or float64.
    image_shape : tuple of int, or None
        Where each row is an image: its height and width, and 3 for colour.
    row_names : tuple of str, or None
        Names of the rows, for images those of their files.
    frame_rate : float or None
        Of a video, in frames a second.
    named : bool
        Whether `names` come with the table, rather than being x0, x1 and so on for want of any.
    files : tuple of pathlib.Path
        Those that the table is read from, if any.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import eigenlens
    >>> folder = tempfile.TemporaryDirectory()
    >>> np.save(pathlib.Path(folder.name, "big.npy"), np.arange(300_000.0).reshape(-1, 3))
    >>> table = eigenlens.open(pathlib.Path(folder.name, "big.npy"))
    >>> isinstance(table, eigenlens.Blocks), table.names, table.shape
    (True, ('x0', 'x1', 'x2'), (100000, 3))
    >>> sum(block.sum(axis=0) for block in table) / len(table)
    array([149998.5, 149999.5, 150000.5])
    >>> del table; folder.cleanup()
    """

    names: tuple[str, ...]
    path: str
    left_out: Mapping[str, str]
    nbytes: int
    dtype: np.dtype
    image_shape: tuple[int, ...] | None = None
    row_names: tuple[str, ...] | None = None
    frame_rate: float | None = None
    named: bool = True
    files: tuple[Path, ...] = ()
    _counts: list[int] | None = None

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """Yield the rows in blocks: 2-D arrays of floats, or sparse ones."""

    def blocks_from(self, i: int) -> Iterator[Any]:
        """Yield the blocks from block `i` on, the same as an iteration over all of them does.

        Parameters
        ----------
        i : int
            Number of a block, from 0 on. Those before it are skipped where the file allows it, else
            read.
        """
        return itertools.islice(self, i, None)

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows. A file that does not say it is read once to count them."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, len(self.names)

    def __len__(self) -> int:
        return self.n_rows

    @property
    def plain(self) -> Blocks:
        """The table itself, where this one also writes down what it is asked in a fit."""
        return self

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray:
        table = self.read()
        return np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=dtype)

    # ------------------------------------------------------------------------- passes over rows

    def fold(
        self,
        task: Callable[..., Any],
        *,
        shared: Sequence[Any] = (),
        combine: Callable[[list[Any]], Any] | None = None,
    ) -> Any:
        """Return what `task` makes of each block, put together: one pass over the table.

        Parameters
        ----------
        task : callable
            ``task(block, *shared)``, called on blocks with rows, here or wherever they are.
        shared : sequence
            What all tasks need, such as arrays: sent once to each machine that works.
        combine : callable, optional
            From a list of answers, in the order of the rows, to one; it may write to the first. It
            must not matter which neighbours are put together before others. By default answers are
            numbers, arrays, or tuples of these, and are added up.

        Returns
        -------
        object
            None of a table without rows.
        """
        total, _ = self.advance(_Answer(task), shared=shared, combine=combine)
        return total

    def advance(
        self,
        task: Callable[..., tuple[Any, ...]],
        beside: Sequence[Any] = (),
        *,
        shared: Sequence[Any] = (),
        keep: int = 0,
        combine: Callable[[list[Any]], Any] | None = None,
    ) -> tuple[Any, list[Any]]:
        """Do as `fold`, with rows that are kept beside the table from one pass to the next.

        Parameters
        ----------
        task : callable
            ``task(block, *own, *shared)`` returns its answer and then `keep` arrays to keep, with a
            row for each row of the block. `own` are the arrays that belong to the block; they must
            not be written to.
        beside : sequence
            What earlier passes kept.
        shared : sequence
            What all tasks need, as in `fold`.
        keep : int
            How many arrays the task returns to be kept: in memory, on disk where they are large, or
            on the machines that made them.
        combine : callable, optional
            From a list of answers to one, as in `fold`.

        Returns
        -------
        total : object
        kept : list of length `keep`
        """
        kept = [self.keeper() for _ in range(keep)]
        run = Pass(task, beside, shared, combine or add_up, kept)
        for _ in self.steps(run):
            pass
        return run.total, run.kept

    def steps(self, run: Pass) -> Iterator[None]:
        """Do the rest of a pass; yield wherever it can be left, to be taken up from there.

        Parameters
        ----------
        run : Pass
            Is brought up to date before each yield.

        Yields
        ------
        None
        """
        for block in threads.looking_ahead(self.blocks_from(run.done)):
            own = [rows[run.done] for rows in run.beside]
            made = part_of(run.task, block, own, run.shared, len(run.kept))
            run.total = joined(run.combine, [run.total, made[0]])
            for store, rows in zip(run.kept, made[1:], strict=True):
                store.append(rows)
            run.done += 1
            yield

    def keeper(self, stored: Sequence[Stored | None] = (), folder: Path | None = None) -> Any:
        """Return what keeps rows beside this table: at first those that files hold already.

        Parameters
        ----------
        stored : sequence of Stored or None
            One for each block, None if it has no rows.
        folder : Path, optional
            For rows that do not fit in memory.
        """
        return Kept(stored, folder)

    def layout(self) -> str:
        """Say how large the table is, without reading it."""
        return f"{self.nbytes} bytes"

    def of_first(self, function: Callable[[Any], Any]) -> Any:
        """Return what `function` makes of the first block, None of a table without any.

        Parameters
        ----------
        function : callable
        """
        for block in self:
            return function(block)
        return None

    def row_counts(self) -> list[int]:
        """Return the number of rows of each block; a file that does not say is read once."""
        if self._counts is None:
            self._counts = [block.shape[0] for block in self]
        return self._counts

    def beside(self, values: NDArray) -> Any:
        """Return an array with a row for each row of the table, cut as the table is.

        Parameters
        ----------
        values : ndarray of shape (n_rows, ...)

        Returns
        -------
        sequence
            For `advance`.
        """
        edges = np.cumsum([0, *self.row_counts()])
        return [values[a:b] for a, b in itertools.pairwise(edges)]

    def take(self, numbers: NDArray) -> Any:
        """Return the rows of these numbers, in their order, in one pass, up to the last of them.

        Parameters
        ----------
        numbers : ndarray of int
            From 0 on.

        Returns
        -------
        {ndarray, csr_array} of shape (len(numbers), n_columns)
        """
        order = np.argsort(numbers, kind="stable")
        wanted, found, start = np.asarray(numbers)[order], [], 0
        for block in self:
            stop = start + block.shape[0]
            first, last = np.searchsorted(wanted, [start, stop])
            if last > first:
                found.append(block[wanted[first:last] - start])
            start = stop
            if last == len(wanted):
                break
        if not found:
            return np.empty((0, len(self.names)), self.dtype)
        return stacked(found)[np.argsort(order)]

    @property
    def is_sparse(self) -> bool:
        """Whether the blocks are sparse, as the first row tells."""
        return bool(sparse.issparse(self.take(np.zeros(1, np.int64))))

    # ---------------------------------------------------------------------------- as one, in part

    def read(self) -> Any:
        """Return the whole table, as one array or sparse array.

        Returns
        -------
        {ndarray, csr_array} of shape (n_rows, n_columns)
        """
        most = self._most_bytes()
        self._require_memory(self.nbytes, most)
        blocks, nbytes = [], 0
        for block in self:
            blocks.append(block)
            nbytes += block.data.nbytes
            self._require_memory(nbytes, most)  # packed text does not say how much there is
        return stacked(blocks) if blocks else np.empty((0, len(self.names)))

    def _most_bytes(self) -> float:
        """Return how large a table may be that is read whole.

        A file of a few kilobytes can hold a billion rows that are all the same. In blocks that is
        a table like others; as one array it would fill the memory before anybody noticed.
        """
        there = [file.stat().st_size for file in self.files if file.is_file()]
        return max(GROWN_BYTES, GROWTH * sum(there)) if there else math.inf

    def _require_memory(self, nbytes: int, most: float) -> None:
        if nbytes > most:
            raise DataError(
                f"{self.path} takes {nbytes / 1e9:.2g} GB or more as a whole, over {GROWTH} times "
                "its size as a file. Take fewer columns, a sample of the rows, or a method that "
                "reads in blocks, such as PCA with a number of components; or save it as NPY."
            )
        if not hasattr(os, "sysconf"):  # Windows
            return
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if nbytes > MEMORY_SHARE * memory:
            raise DataError(
                f"{self.path} takes about {nbytes / 1e9:.0f} GB as a whole, and this machine "
                f"has {memory / 1e9:.0f} GB. Take fewer columns, a sample of the rows, or a method "
                "that reads in blocks, such as PCA with a number of components."
            )

    def select(self, names: Iterable[str]) -> Blocks:
        """Return the table of the columns `names`, in that order.

        Parameters
        ----------
        names : iterable of str

        Returns
        -------
        Blocks
        """
        wanted = tuple(names)
        if wanted == self.names:
            return self
        if missing := [name for name in wanted if name not in self.names]:
            explain_missing(missing[0], self.names, self.path)
        place = {name: j for j, name in enumerate(self.names)}
        columns = [place[name] for name in wanted]
        return self.map(lambda block: block[:, columns], wanted)

    def column(self, name: str) -> NDArray:
        """Return one whole column, as an array of n_rows.

        Parameters
        ----------
        name : str
        """
        values = self.select([name]).read()
        return np.asarray(values.toarray() if sparse.issparse(values) else values).ravel()

    def map(
        self,
        function: Callable[..., NDArray],
        names: Sequence[str] | None = None,
        *,
        beside: Sequence[Any] = (),
    ) -> Blocks:
        """Return the table that `function` makes of each block, when it is read.

        Parameters
        ----------
        function : callable
            From a block of rows to a block of as many rows.
        names : sequence of str, optional
            Of the new columns, if they are others.
        beside : sequence
            What passes kept beside the table (`advance`): the function is given the arrays that
            belong to the block too, None for a block without rows.

        Returns
        -------
        Blocks
        """
        return Mapped(self, function, self.names if names is None else tuple(names), beside)

    def as_images(self, shape: Sequence[int]) -> Blocks:
        """Return the same table, each row of which is known to be an image.

        Parameters
        ----------
        shape : sequence of int
            Height and width, and 3 for colour.

        Returns
        -------
        Blocks
            With `image_shape`.
        """
        sizes = tuple(int(size) for size in shape)
        text = "x".join(map(str, sizes))
        if not (len(sizes) == 2 or (len(sizes) == 3 and sizes[2] == 3)) or min(sizes) < 1:
            raise ValueError(f"An image of shape {text} is none. Give HxW, or HxWx3 for colour.")
        if math.prod(sizes) != len(self.names):
            raise DataError(
                f"An image of {text} has {math.prod(sizes)} values, and {self.path} has "
                f"{len(self.names)} columns of numbers. Give another size, or drop the "
                "columns that are no pixels."
            )
        images = self.map(lambda block: block)
        images.image_shape = sizes
        return images

    def sample(self, n: int, rng: np.random.Generator) -> tuple[NDArray, Any]:
        """Return `n` rows drawn without replacement, and their numbers, in one pass.

        Parameters
        ----------
        n : int
            All rows are returned if there are fewer.
        rng : Generator

        Returns
        -------
        numbers : ndarray of int
            Which rows, in order.
        rows : {ndarray, csr_array}
        """
        keys: NDArray = np.empty(0)  # the n rows with the smallest random keys
        numbers: NDArray = np.empty(0, dtype=np.int64)
        kept: Any = None
        start = 0
        for block in self:
            stop = start + block.shape[0]
            keys = np.concatenate([keys, rng.random(block.shape[0])])
            numbers = np.concatenate([numbers, np.arange(start, stop)])
            kept = block if kept is None else stacked([kept, block])
            if len(keys) > 2 * n:  # not at every block: thinning copies what is kept
                keys, numbers, kept = _smallest(n, keys, numbers, kept)
            start = stop
        if kept is None:
            return numbers, np.empty((0, len(self.names)))
        keys, numbers, kept = _smallest(n, keys, numbers, kept)
        order = np.argsort(numbers)
        return numbers[order], kept[order]

    def __repr__(self) -> str:
        columns = ", ".join(self.names[:3]) + (", ..." if len(self.names) > 3 else "")
        out = f"; left out: {', '.join(self.left_out)}" if self.left_out else ""
        return f"{type(self).__name__}({self.path!r}, {len(self.names)} columns: {columns}{out})"


def add_up(parts: list[Any]) -> Any:
    """Return the sum of numbers, of arrays, or of tuples of these; the first may be written to."""
    total, *others = parts
    for other in others:
        if isinstance(total, tuple):
            total = tuple(add_up([a, b]) for a, b in zip(total, other, strict=True))
        else:
            total += other
    return total


def part_of(
    task: Callable[..., tuple[Any, ...]],
    block: Any,
    own: Sequence[Any],
    shared: Sequence[Any],
    keep: int,
) -> tuple[Any, ...]:
    """Return what the task makes of one block, None for all if that has no rows."""
    if block.shape[0] == 0:
        return (None,) * (1 + keep)
    return task(block, *own, *shared)


def joined(combine: Callable[[list[Any]], Any], parts: list[Any]) -> Any:
    """Return the answers put together, those of blocks without rows left out."""
    there = [part for part in parts if part is not None]
    return (there[0] if len(there) == 1 else combine(there)) if there else None


class _Answer:
    """A task that keeps nothing."""

    def __init__(self, task: Callable[..., Any]) -> None:
        self.task = task

    def __call__(self, *args: Any) -> tuple[Any]:
        return (self.task(*args),)


def stacked(parts: Sequence[Any]) -> Any:
    """Return blocks of rows as one, dense or sparse as they are."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def _smallest(n: int, keys: NDArray, numbers: NDArray, rows: Any) -> tuple[NDArray, NDArray, Any]:
    if len(keys) <= n:
        return keys, numbers, rows
    best = np.argpartition(keys, n)[:n]
    return keys[best], numbers[best], rows[best]


class ArrayBlocks(Blocks):
    """Blocks of an array in memory or mapped from a file, dense or sparse."""

    def __init__(self, array: Any, names: Sequence[str] | None = None, path: str = "array") -> None:
        self.array = array
        self.path = path
        self.left_out: Mapping[str, str] = {}
        n, d = array.shape
        self.names = tuple(f"x{j}" for j in range(d)) if names is None else tuple(names)
        floats = array.dtype in (np.float32, np.float64)
        self.dtype = array.dtype if floats else np.dtype(np.float64)
        stored = array.nnz * (4 + self.dtype.itemsize) if sparse.issparse(array) else array.size
        self.nbytes = stored if sparse.issparse(array) else stored * self.dtype.itemsize
        self._rows = max(1, BLOCK_BYTES * n // max(1, self.nbytes))
        self._raw = Raw.of(array, path)
        file = file_of(array)
        self.files = () if file is None else (file,)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.array.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return self.blocks_from(0)

    def blocks_from(self, i: int) -> Iterator[Any]:
        """Yield the blocks from number `i` on; those before it are not read."""
        room = Room(len(self.names), self.dtype)
        for start in range(i * self._rows, self.n_rows, self._rows):
            stop = min(start + self._rows, self.n_rows)
            if self._raw is not None:
                block = room.rows(stop - start)
                self._raw.fill(start, block)
                yield block
            elif sparse.issparse(self.array):
                yield self.array[start:stop].astype(self.dtype)
            else:
                yield np.asarray(self.array[start:stop], dtype=self.dtype)

    def fill(self, start: int, out: NDArray) -> None:
        """Write the rows from `start` on to `out`, as many as it has; of arrays that are dense."""
        if self._raw is None:
            out[:] = self.array[start : start + len(out)]
        else:
            self._raw.fill(start, out)

    def row_counts(self) -> list[int]:
        """Return the number of rows of each block."""
        starts = range(0, self.n_rows, self._rows)
        return [min(self._rows, self.n_rows - start) for start in starts]

    def take(self, numbers: NDArray) -> Any:
        """Return the rows of these numbers, in their order."""
        rows = self.array[numbers]
        if sparse.issparse(rows):
            return rows.astype(self.dtype)
        return np.asarray(rows, dtype=self.dtype)


class Mapped(Blocks):
    """Blocks of another table, each passed through a function."""

    def __init__(
        self,
        base: Blocks,
        function: Callable[..., NDArray],
        names: tuple[str, ...],
        beside: Sequence[Any] = (),
    ) -> None:
        self.base = base
        self.function = function
        self.kept = beside
        self.names = names
        self.path = base.path
        self.left_out = base.left_out
        self.nbytes = base.nbytes * len(names) // max(1, len(base.names))
        self.dtype = base.dtype
        self.image_shape = base.image_shape if names == base.names else None
        self.row_names, self.frame_rate = base.row_names, base.frame_rate
        self.named, self.files = base.named, base.files

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.base.n_rows

    def row_counts(self) -> list[int]:
        """Return the number of rows of each block."""
        return self.base.row_counts()

    def take(self, numbers: NDArray) -> Any:
        """Return the rows of these numbers, in their order."""
        if self.kept:
            return super().take(numbers)
        return self.function(self.base.take(numbers))

    def blocks_from(self, i: int) -> Iterator[Any]:
        """Yield the blocks from number `i` on."""
        kept = (itertools.islice(rows, i, None) for rows in self.kept)
        return map(self.function, self.base.blocks_from(i), *kept)

    def __iter__(self) -> Iterator[Any]:
        return map(self.function, self.base, *self.kept)


class Beside(Mapped):
    """Blocks with the columns of a table, made of what is kept beside it, which alone is read."""

    def __init__(
        self, base: Blocks, function: Callable[..., NDArray], beside: Sequence[Any]
    ) -> None:
        super().__init__(base, function, base.names, beside)

    def __iter__(self) -> Iterator[Any]:
        return map(self.function, *self.kept)

    def blocks_from(self, i: int) -> Iterator[Any]:
        """Yield the blocks from number `i` on."""
        return itertools.islice(self, i, None)


def rows_in_block(nbytes: int) -> int:
    """Return how many rows of `nbytes` bytes a block has."""
    return max(1, BLOCK_BYTES // max(1, nbytes))


def explain_missing(name: str, names: Iterable[str], path: str) -> NoReturn:
    """Raise the error for a column that is not there, with the nearest that is."""
    names = list(names)
    near = get_close_matches(name, names, n=1)
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    remedy = f"Did you mean {near[0]!r}?" if near else f"It has: {shown}."
    raise DataError(f"{path} has no column {name!r}. {remedy}")
