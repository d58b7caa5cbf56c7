"""Order statistics of the columns of a table in blocks: exact, in few passes and bounded memory.

The m-th smallest entry of each column, for several m. Each is known to lie in an interval, at first
from the least to the largest entry. A pass cuts the intervals into parts and counts the entries in
each; the part that holds the wanted entry is cut next. Once what is left of all intervals fits in
memory it is gathered, sorted, and the entry read off.

Parts are alike in length or, where that does not help because the entries are of very different
sizes, in the number of floats that they hold: the bits of floats are whole numbers in the order of
the floats. So one pass finds the ends, most often one counts and one gathers; there are but 2^64
floats, so that the hardest table takes some fifteen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import threads

if TYPE_CHECKING:
    from ..data.blocks import Blocks

__all__ = ["Ends", "ends", "order_statistics", "quantiles"]

GATHER = 1 << 23  # entries that may be gathered, at 16 bytes each
COUNTS = 1 << 22  # counts that a pass may keep
PARTS = 1024  # of an interval, where there are not too many columns
CHUNK = 1 << 21  # bytes of rows that a thread takes at once
TOGETHER = 16  # columns that are turned into rows at once: as many as a line of cache holds
SHRUNK = 8  # how much less a pass must leave for its kind of parts to be taken again
TOP = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class Ends:
    """Of each column the number of entries that are no holes, the least and the largest."""

    rows: int
    counts: NDArray
    least: NDArray  # inf where there is none
    most: NDArray  # -inf where there is none


def ends(table: Blocks) -> Ends | None:
    """Return counts and ends of the columns, in one pass; None of a table without rows."""
    found = table.fold(_ends, combine=_combined_ends)
    return None if found is None else Ends(*found)


def quantiles(table: Blocks, q: NDArray, known: Ends) -> NDArray:
    """Return the quantiles `q` in [0, 1] of each column, holes left out, as numpy's default does.

    Parameters
    ----------
    table : Blocks
    q : ndarray of shape (m,)
    known : Ends
        Of the table.

    Returns
    -------
    ndarray of shape (m, d)
        NaN for columns without entries. In float64.
    """
    last = (known.counts - 1).clip(min=0)
    place = q[:, None] * last
    below = np.floor(place).astype(np.int64)
    found = order_statistics(table, np.concatenate([below, np.minimum(below + 1, last)]), known)
    low, high = found[: len(q)], found[len(q) :]
    # numpy's way to interpolate: from the nearer end, so that equal ends give themselves
    t, step = place - below, high - low
    return np.where(t < 0.5, low + step * t, high - step * (1 - t))


def order_statistics(table: Blocks, ranks: NDArray, known: Ends) -> NDArray:
    """Return the entries of the given ranks, from 0, of each column.

    Parameters
    ----------
    table : Blocks
    ranks : ndarray of int, of shape (m, d)
    known : Ends
        Of the table.

    Returns
    -------
    ndarray of shape (m, d)
        NaN for columns without entries.
    """
    some = np.broadcast_to(known.counts > 0, ranks.shape)
    low = keys(np.where(some, known.least, 0.0))
    high = keys(np.where(some, known.most, 0.0))
    ranks, held = ranks.copy(), np.where(some, known.counts, 0)
    parts = int(np.clip(COUNTS // max(1, ranks.size), 16, PARTS))
    even, before = True, 0
    while True:
        unknown = low < high
        cuts, place = _Cuts.of(low, high, unknown, parts, even)
        left = int(held[unknown][np.unique(place, return_index=True)[1]].sum())
        if left <= GATHER:
            break
        counts = table.fold(_counted, shared=(cuts,))
        upto = counts.cumsum(axis=1)[place]
        part = (upto <= ranks[unknown][:, None]).sum(axis=1)
        inside = counts[place, part]
        ranks[unknown] -= upto[np.arange(len(part)), part] - inside
        low[unknown], high[unknown] = cuts.ends(place, part)
        held[unknown] = inside
        even ^= before > 0 and left * SHRUNK > before
        before = left
    found = floats(low)
    if unknown.any():
        ids, values = table.fold(_gathered, shared=(cuts,), combine=_chained)
        order = np.lexsort((values, ids))
        starts = np.searchsorted(ids[order], place)
        found[unknown] = values[order][starts + ranks[unknown]]
    return np.where(some, found, np.nan)


def keys(x: NDArray) -> NDArray:
    """Return whole numbers in the order of the floats `x`."""
    bits = (np.asarray(x, dtype=np.float64) + 0.0).view(np.uint64)  # the negative zero is none
    return np.where(bits >= TOP, ~bits, bits | TOP)


def floats(key: NDArray) -> NDArray:
    """Return the floats with these keys."""
    return np.where(key >= TOP, key & ~TOP, ~key).view(np.float64)


@dataclass(frozen=True, slots=True)
class _Cuts:
    """Intervals of columns, sorted by column, each cut into `parts`: by length if `even`."""

    columns: NDArray
    first: NDArray  # key
    last: NDArray
    parts: int
    even: bool

    @classmethod
    def of(
        cls, low: NDArray, high: NDArray, unknown: NDArray, parts: int, even: bool
    ) -> tuple[_Cuts, NDArray]:
        """Return the distinct intervals, and the place among them of each that is `unknown`."""
        columns = np.nonzero(unknown)[1].astype(np.uint64)
        rows = np.stack([columns, low[unknown], high[unknown]], axis=1)
        distinct, place = np.unique(rows, axis=0, return_inverse=True)
        columns = distinct[:, 0].astype(np.int64)
        return cls(columns, distinct[:, 1], distinct[:, 2], parts, even), place.reshape(-1)

    def part(self, i: Any, values: NDArray) -> NDArray:
        """Return the part of interval i that holds each of the values, which are inside.

        It never falls where values rise, for all rounding.
        """
        low, scale = floats(self.first[i]), self._scale(i)
        even = np.isfinite(scale)
        if even.all():
            return self._by_length(values, low, scale)
        found = self._by_bits(values, self.first[i], self.last[i])
        if even.any():
            found[even] = self._by_length(values[even], low[even], scale[even])
        return found

    def _scale(self, i: Any) -> NDArray:
        """Return parts per length; infinite where parts are to hold as many floats each."""
        with np.errstate(over="ignore"):
            length = floats(self.last[i]) - floats(self.first[i])
            even = self.even & np.isfinite(length)
            return np.where(even, self.parts / np.where(even, length, 1.0), np.inf)

    def _by_length(self, values: NDArray, low: NDArray, scale: NDArray) -> NDArray:
        return np.minimum(((values - low) * scale).astype(np.int64), self.parts - 1)

    def _by_bits(self, values: NDArray, first: NDArray, last: NDArray) -> NDArray:
        size = (last - first) // np.uint64(self.parts) + np.uint64(1)
        return ((keys(values) - first) // size).astype(np.int64)

    def ends(self, i: NDArray, part: NDArray) -> tuple[NDArray, NDArray]:
        """Return the first and last key of a part of each of the intervals i."""
        return self._first_of(i, part), self._first_of(i, part + 1) - np.uint64(1)

    def _first_of(self, i: NDArray, part: NDArray) -> NDArray:
        """Return the first key in that part or a later one, by bisection."""
        low, high, last = self.first[i], self.last[i] + np.uint64(1), self.last[i]
        while (apart := low < high).any():
            middle = np.minimum(low + (high - low) // np.uint64(2), last)
            later = self.part(i, floats(middle)) >= part
            high = np.where(apart & later, middle, high)
            low = np.where(apart & ~later, middle + np.uint64(1), low)
        return low

    def over(self, block: Any, task: Callable[[int, NDArray], Any]) -> list[Any]:
        """Return ``task(i, entries)`` for each interval i, with the entries of a block inside."""
        some = np.unique(self.columns)
        groups = [some[a : a + TOGETHER] for a in range(0, len(some), TOGETHER)]
        by_column = block.tocsc() if sparse.issparse(block) else block
        low, high = floats(self.first), floats(self.last)

        def part(g: int) -> list[Any]:
            rows = by_column[:, groups[g]]
            rows = rows.toarray() if sparse.issparse(rows) else rows
            found = []
            for j, x in zip(groups[g], np.ascontiguousarray(rows.T, dtype=np.float64), strict=True):
                x += 0.0
                start, stop = np.searchsorted(self.columns, [j, j + 1])
                # a hole is in no interval
                found += [task(i, x[(x >= low[i]) & (x <= high[i])]) for i in range(start, stop)]
            return found

        return [one for group in threads.run(part, len(groups)) for one in group]


def _counted(block: Any, cuts: _Cuts) -> NDArray:
    """Return how many entries of a block lie in each part of each interval."""

    def task(i: int, x: NDArray) -> NDArray:
        return np.bincount(cuts.part(i, x), minlength=cuts.parts)

    return np.stack(cuts.over(block, task))


def _gathered(block: Any, cuts: _Cuts) -> tuple[NDArray, NDArray]:
    """Return the entries of a block that lie in an interval, and in which."""
    found = cuts.over(block, lambda i, x: x)
    ids = np.repeat(np.arange(len(found)), [len(x) for x in found])
    return ids, np.concatenate(found)


def _chained(parts: list[tuple[NDArray, NDArray]]) -> tuple[NDArray, NDArray]:
    ids, values = zip(*parts, strict=True)
    return np.concatenate(ids), np.concatenate(values)


def _ends(block: Any) -> tuple[int, NDArray, NDArray, NDArray]:
    n, d = block.shape
    spans = threads.spans(n, max(1, CHUNK // (8 * max(1, d))))

    def part(i: int) -> tuple[int, NDArray, NDArray, NDArray]:
        B = block[spans[i]]
        B = B.toarray() if sparse.issparse(B) else B
        counts, least, most = np.full(d, len(B)), B.min(axis=0), B.max(axis=0)
        if (holes := np.isnan(least)).any():
            C = B[:, holes]
            seen = ~np.isnan(C)
            counts[holes] = seen.sum(axis=0)
            least[holes] = np.where(seen, C, np.inf).min(axis=0)
            most[holes] = np.where(seen, C, -np.inf).max(axis=0)
        return len(B), counts, least, most

    return _combined_ends(threads.run(part, len(spans)))


def _combined_ends(parts: list[Any]) -> tuple[int, NDArray, NDArray, NDArray]:
    rows, counts, least, most = zip(*parts, strict=True)
    return sum(rows), np.sum(counts, axis=0), np.min(least, axis=0), np.max(most, axis=0)
