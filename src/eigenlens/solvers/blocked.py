"""Tables in blocks as the solvers of ``X = W H`` take them: rows in blocks, W in blocks, H small.

What a solver asks of a table as a whole comes from one pass, at the beginning. W lies beside the
rows from one pass to the next, in memory, on disk or on the machines that hold the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..data.blocks import Blocks
from ..ops.scatter import products
from ..ops.units import divided

__all__ = ["Blocked", "Codes"]

SMALL = 1 << 20  # entries up to which a block in single precision is multiplied in double


class Codes(NamedTuple):
    """A factor W whose rows are kept beside a table in blocks.

    Attributes
    ----------
    beside : sequence
        What is kept.
    made : callable, optional
        ``made(block, *own, *shared)`` returns the rows of W; else what is kept is W. So a start is
        made by the pass that needs it.
    shared : sequence
    """

    beside: Sequence[Any]
    made: Callable[..., NDArray] | None = None
    shared: Sequence[Any] = ()


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """A table in blocks, and what a pass over it has shown. Like an array, as far as it goes.

    Attributes
    ----------
    table : Blocks
        Its blocks are dense and in C order, or CSR without repeated entries.
    shape : tuple of int
    total, square : float
        The sum of the entries, and of their squares.
    filled, nonzero, negative : int
        How many entries are stored, are not zero, and are below zero.
    sparse : bool
    products : ndarray of shape (d, d), optional
        ``X'X``.
    """

    table: Blocks
    shape: tuple[int, int]
    total: float
    square: float
    filled: int
    nonzero: int
    negative: int
    sparse: bool
    products: NDArray | None

    @classmethod
    def over(cls, table: Blocks, *, with_products: bool, dense: bool = False) -> Blocked:
        """Return a table after one pass; sparse blocks are made dense if `dense`.

        The matrix of products is that of dense blocks alone: for sparse ones, None.
        """
        table = table.map(_dense if dense else _by_rows)
        found = table.fold(_seen, shared=(with_products,))
        counts, total, square, gram = found or (np.zeros(5, np.int64), 0.0, 0.0, None)
        n, filled, nonzero, negative, stored = map(int, counts)
        return cls(
            table=table,
            shape=(n, len(table.names)),
            total=float(total),
            square=float(square),
            filled=filled,
            nonzero=nonzero,
            negative=negative,
            sparse=stored > 0,
            products=gram if with_products and not stored else None,
        )

    @property
    def dtype(self) -> np.dtype:
        """Of the blocks."""
        return self.table.dtype

    def sum(self, dtype: Any = np.float64) -> float:
        """Return the sum of all entries."""
        return self.total

    def astype(self, dtype: Any, copy: bool = False) -> Blocked:
        """Return the table with blocks of another dtype, made as they are read."""
        if self.dtype == dtype:
            return self
        table = self.table.map(partial(_cast, dtype=np.dtype(dtype)))
        table.dtype = np.dtype(dtype)
        return replace(self, table=table)

    def divided(self, number: float) -> Blocked:
        """Return the table divided by a number, after another pass: squares may have been lost."""
        table = self.table.map(partial(_quotient, number=number))
        return Blocked.over(table, with_products=self.products is not None)

    def advance(
        self,
        task: Callable[..., tuple[Any, ...]],
        W: Codes,
        *beside: Any,
        shared: Sequence[Any] = (),
        keep: int = 0,
        combine: Callable[[list[Any]], Any] | None = None,
    ) -> tuple[Any, list[Any]]:
        """Do as :meth:`eigenlens.Blocks.advance`, with ``task(block, w, *own, *shared)``.

        w are the rows of `W`, and `own` those of what else is `beside`.
        """
        if W.made is not None:
            task = _Made(task, W, len(beside))
        return self.table.advance(
            task,
            [*W.beside, *beside],
            shared=(*W.shared, *shared),
            keep=keep,
            combine=combine,
        )


class _Made:
    """A task for rows of W that are made in it."""

    def __init__(self, task: Callable[..., Any], W: Codes, others: int) -> None:
        self.task, self.made = task, W.made
        self.own = slice(0, len(W.beside))
        self.others = slice(self.own.stop, self.own.stop + others)
        self.shared = slice(self.others.stop, self.others.stop + len(W.shared))

    def __call__(self, block: Any, *given: Any) -> Any:
        assert self.made is not None
        W = self.made(block, *given[self.own], *given[self.shared])
        return self.task(block, W, *given[self.others], *given[self.shared.stop :])


def _by_rows(block: Any) -> Any:
    """Return a block whose rows can be cut without a copy."""
    if not sparse.issparse(block):
        return np.ascontiguousarray(block)
    rows = sparse.csr_array(block)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _dense(block: Any) -> NDArray:
    return np.ascontiguousarray(block.toarray() if sparse.issparse(block) else block)


def _cast(block: Any, dtype: np.dtype) -> Any:
    return block.astype(dtype, copy=False)


def _quotient(block: Any, number: float) -> Any:
    return divided(block, block.dtype.type(number))


def _seen(block: Any, with_products: bool) -> tuple[Any, ...]:
    """Return the counts and sums of a block, and the products of its columns."""
    stored = sparse.issparse(block)
    values = block.data if stored else block.reshape(-1)
    nonzero, negative = np.count_nonzero(values), np.count_nonzero(values < 0)
    total = values.sum(dtype=np.float64)
    square = np.einsum("i,i->", values, values, dtype=np.float64)
    gram: Any = 0.0
    if with_products and not stored:
        gram = products(block.astype(np.float64) if block.size <= SMALL else block)
    counts = np.array([block.shape[0], values.size, nonzero, negative, stored], np.int64)
    return counts, total, square, gram
