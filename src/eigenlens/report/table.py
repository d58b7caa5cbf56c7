"""The table that a report is about: numbers and names, from an array, a frame or blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._text import clean, count, listed, unique
from ..data.arrow import kind_of, numbers_of
from ..data.blocks import ArrayBlocks, Blocks
from ..plot.target import Target
from .texts import Text, of_arrow, of_blocks

__all__ = ["Table", "varying"]

LARGEST = 1e150
ROUNDING = 8 * np.finfo(np.float64).eps  # relative range of a column that is constant


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The rows that a report looks at.

    Attributes
    ----------
    values : ndarray of shape (n, d)
        NaN where there is a hole.
    names : tuple of str
        Names of the columns, no two alike.
    texts : tuple of Text
        Columns that hold no numbers, and have no part in a model.
    numbers : ndarray of shape (n,)
        Number of each row in what was given, from 0.
    labels : tuple of str or None
        What a frame calls the rows, if that is more than their numbers.
    target : Target or None
    n_given : int
        Rows that were given.
    empty : int
        Rows without any value in a column that varies; they are left out.
    """

    values: NDArray
    names: tuple[str, ...]
    texts: tuple[Text, ...]
    numbers: NDArray
    labels: tuple[str, ...] | None
    target: Target | None
    n_given: int
    empty: int

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        names: Sequence[object] | None,
        target: Any,
        max_rows: int,
        rng: np.random.Generator,
    ) -> Table:
        """Read `X`; of more than `max_rows` rows take some at random."""
        if max_rows < 2:
            raise ValueError(f"max_rows={max_rows} must be at least 2: a report compares rows.")
        n_given, numbers, (values, found, texts) = _read(X, max_rows, rng)
        labels = _labels(X)
        if names is not None:
            found = list(names)
            if len(found) != values.shape[1]:
                raise ValueError(
                    f"names has {len(found)} entries and X has {values.shape[1]} columns of "
                    "numbers. Give one name for each."
                )
        whole = cls(
            values=values,
            names=tuple(unique(found)),
            texts=tuple(texts),
            numbers=numbers,
            labels=labels,
            target=None if target is None else Target.of(target, n_given).take(numbers),
            n_given=n_given,
            empty=0,
        )
        _require_sound(whole)
        filled = ~np.isnan(values[:, varying(values)]).all(axis=1)
        chosen = np.flatnonzero(filled)
        if len(chosen) > max_rows:
            chosen = np.sort(rng.choice(chosen, max_rows, replace=False))
        return whole.take(chosen, empty=int((~filled).sum()))

    def take(self, rows: NDArray, empty: int) -> Table:
        """Return the table of some of the rows."""
        return Table(
            values=self.values[rows],
            names=self.names,
            texts=tuple(text.take(rows) for text in self.texts),
            numbers=self.numbers[rows],
            labels=None if self.labels is None else tuple(self.labels[i] for i in rows),
            target=None if self.target is None else self.target.take(rows),
            n_given=self.n_given,
            empty=empty,
        )

    @property
    def text(self) -> tuple[str, ...]:
        """Names of the columns that hold no numbers."""
        return tuple(unique(text.name for text in self.texts))

    @property
    def classes(self) -> NDArray | None:
        """The target as an array, if it names classes."""
        target = self.target
        return None if target is None or target.numbers is not None else target.values

    @property
    def sampled(self) -> bool:
        """Whether only some of the rows are looked at."""
        return len(self.values) + self.empty < self.n_given

    def row(self, i: int) -> str:
        """Return what to call row `i`."""
        number = str(self.numbers[i])
        return number if self.labels is None else f"{number} ({self.labels[i]})"


def _read(
    X: Any, max_rows: int, rng: np.random.Generator
) -> tuple[int, NDArray, tuple[NDArray, list[object], list[Text]]]:
    """Return how many rows there are, the numbers of those read, and what is in them.

    Of a table in blocks no more rows are held than are looked at.
    """
    if not isinstance(X, Blocks):
        found = _numbers_of(X)
        return len(found[0]), np.arange(len(found[0])), found
    numbers, rows = X.sample(max_rows, rng)
    found = _numbers_of(ArrayBlocks(rows, X.names, X.path))
    return X.n_rows, numbers, (*found[:2], of_blocks(X, numbers))


def _numbers_of(X: Any) -> tuple[NDArray, list[object], list[Text]]:
    """Return the numbers in `X`, the names of their columns, and columns without any."""
    if (series := _series(X)) is not None:
        return _of_frame(series)
    values = np.asarray(X)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(
            f"X has shape {values.shape}. Give a table of rows (samples) and columns; "
            "of a single column, X.reshape(-1, 1)."
        )
    try:
        values = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X holds what is no number ({error}). Give the columns of numbers alone, or a "
            "dataframe, of which columns of text are left out."
        ) from None
    names = getattr(X, "names", None)
    if names is None:
        names = [f"x{j}" for j in range(values.shape[1])]
    return values, list(names), []


def _series(X: Any) -> Iterable[tuple[object, Any]] | None:
    """Return the columns of a frame with their names; None for what is no frame."""
    if hasattr(X, "iter_columns"):  # polars
        return ((column.name, column.to_arrow()) for column in X.iter_columns())
    if hasattr(X, "iloc"):  # pandas
        return _pandas_series(X)
    return None


def _pandas_series(X: Any) -> Iterator[tuple[object, Any]]:
    for name, column in X.items():
        try:
            yield name, pa.Array.from_pandas(column)
        except pa.ArrowException:  # objects of several kinds
            yield name, pa.nulls(len(column), pa.string())


def _of_frame(
    series: Iterable[tuple[object, Any]],
) -> tuple[NDArray, list[object], list[Text]]:
    columns, names, texts = [], [], list[Text]()
    for name, column in series:
        if kind_of(column.type) == "number":
            columns.append(numbers_of(column))
            names.append(name)
        else:
            texts.append(of_arrow(clean(name), column))
    if not columns or not len(columns[0]):
        held = f"only text ({listed([text.name for text in texts])})" if texts else "nothing"
        raise ValueError(f"X holds {held}. Give a table with rows and columns of numbers.")
    return np.column_stack(columns), names, texts


def _labels(X: Any) -> tuple[str, ...] | None:
    """Return the index of a pandas frame as text, unless it only counts."""
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    if index is None or list(index) == list(range(len(index))):
        return None
    return tuple(clean(label) for label in index)


def varying(X: NDArray) -> NDArray:
    """Return which columns vary, by more than rounding; the others have no place in a model."""
    least, most = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    # NaN, of a column of holes, is not greater than anything
    return np.asarray(most - least > ROUNDING * np.maximum(np.abs(least), np.abs(most)))


def _require_sound(table: Table) -> None:
    """Raise where there are values that cannot be worked with, or too few of them."""
    values, names = table.values, table.names
    if (infinite := np.isinf(values)).any():
        raise ValueError(
            f"X holds infinite values in {listed(_which(names, infinite))}. Replace them by "
            "numbers, or by NaN, which counts as a hole."
        )
    if (huge := np.abs(values) > LARGEST).any():
        raise ValueError(
            f"X holds values beyond {LARGEST:g} in {listed(_which(names, huge))}, whose squares "
            "overflow. Divide these columns by a constant."
        )
    rows = int((~np.isnan(values)).any(axis=1).sum())
    if rows < 2:
        raise ValueError(
            f"X has {count(rows, 'row')} with values, and a report compares rows. "
            "Give at least two."
        )
    if not varying(values).any():
        raise ValueError(
            f"X has {count(values.shape[1], 'column')}, and none of them varies: there is nothing "
            "to report on. Check that X holds the data you mean, one row a sample."
        )


def _which(names: Sequence[str], cells: NDArray) -> list[str]:
    """Return the names of the columns in which some cell is true."""
    return [names[j] for j in np.flatnonzero(cells.any(axis=0)).tolist()]
