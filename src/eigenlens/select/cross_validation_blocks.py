"""Bi-cross-validation of a table in blocks: the errors of predictions from products, in one pass.

With the products ``G = D'D`` over the rows outside a group and ``C`` over those inside, visible
columns v and hidden columns h, eigenpairs (theta, V) of ``G_vv`` and ``W_k = V_k' G_vh / theta_k``,
the rows inside are predicted in the hidden columns by ``X_v V_k W_k``, and

    |X_h - X_v V_k W_k|^2 = tr C_hh - 2 tr W_k'V_k' C_vh + tr W_k'V_k' C_vv V_k W_k

so that moments of each group of rows are all that is needed of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.moments import Moments
from .factored_blocks import TILE, FactoredBlocks, tiles

__all__ = ["Groups"]

Leading = Callable[[NDArray, int, np.random.Generator], tuple[NDArray, NDArray]]


@dataclass(frozen=True, slots=True)
class Groups:
    """Moments of groups of rows, and a group for each column."""

    counts: NDArray  # rows of each group
    inside: list[NDArray]  # products over the rows of each group, centred by the means of all
    columns: NDArray
    rng: np.random.Generator
    leading: Leading
    charge: float

    @classmethod
    def of(
        cls,
        table: FactoredBlocks,
        groups: int,
        deal: Callable[[int, int, np.random.Generator], NDArray],
        rng: np.random.Generator,
        leading: Leading,
        charge: float,
    ) -> Groups:
        """Read the table once; rows are dealt tile by tile, columns by `deal`."""
        n, d = table.shape
        groups, seed = min(groups, n), int(rng.integers(2**63))
        found = table.pass_over(_by_group, seed, groups, n, combine=_merged)
        mean, tail = table.moments.mean, table.moments._tail
        inside = []
        for part in found:
            step = (part.mean - mean) + (part._tail - tail)
            inside.append(part.scatter + part.count * np.multiply.outer(step, step))
        counts = np.array([part.count for part in found])
        return cls(counts, inside, deal(d, groups, rng), rng, leading, charge)

    @property
    def limit(self) -> int:
        """The most components that every block D has."""
        n, d = int(self.counts.sum()), len(self.columns)
        return int(min(n - self.counts.max(), d - np.bincount(self.columns).max()))

    def costs(self, tried: int) -> NDArray:
        """Return the cost of 0 to `tried` components, a row for each block."""
        parts = self.columns.max() + 1
        total = np.sum(self.inside, axis=0)
        seeds = self.rng.integers(2**63, size=len(self.inside) * parts)

        def task(t: int) -> NDArray:
            i, j = divmod(t, parts)
            return self._costs_in(i, self.columns == j, total, tried, int(seeds[t]))

        return np.array(threads.run(task, len(seeds)))

    def _costs_in(self, i: int, hidden: NDArray, total: NDArray, tried: int, seed: int) -> NDArray:
        C, n = self.inside[i], int(self.counts.sum())
        G = total - C
        values, V = self.leading(G[np.ix_(~hidden, ~hidden)], tried, np.random.default_rng(seed))
        values = values.clip(min=0.0)
        safe = values > np.finfo(np.float64).eps * n * values[0]
        W = np.zeros((tried, int(hidden.sum())))
        W[safe] = (V.T @ G[np.ix_(~hidden, hidden)])[safe] / values[safe, None]
        explained = np.einsum("kh,kh->k", W, V.T @ C[np.ix_(~hidden, hidden)])
        between = (V.T @ C[np.ix_(~hidden, ~hidden)] @ V) * (W @ W.T)
        predicted = np.diag(between.cumsum(axis=0).cumsum(axis=1))
        nothing = np.trace(C[np.ix_(hidden, hidden)])
        errors = nothing - 2 * np.cumsum(explained) + predicted
        area = self.counts[i] * hidden.sum()
        claimed = np.cumsum(values) * area / ((n - self.counts[i]) * (~hidden).sum())
        return np.concatenate([[nothing], errors + self.charge * claimed])


def _by_group(block: NDArray, start: int, seed: int, groups: int, n: int) -> tuple[Moments, ...]:
    """Return the moments of the rows of each group."""
    group = np.empty(len(block), dtype=np.int64)
    for tile, inside, rows in tiles(start, start + len(block)):
        size = min(TILE, n - tile * TILE)
        group[rows] = (np.random.default_rng([seed, tile]).permutation(size) % groups)[inside]
    found = [block[group == g].astype(np.float64, copy=False) for g in range(groups)]
    return tuple(Moments.of(rows) if len(rows) else Moments() for rows in found)


def _merged(parts: list[tuple[Moments, ...]]) -> tuple[Moments, ...]:
    first, *others = parts
    for other in others:
        first = tuple(a.merge(b) for a, b in zip(first, other, strict=True))
    return first
