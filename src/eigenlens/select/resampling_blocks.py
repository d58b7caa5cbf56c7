"""Singular values of tables in blocks whose structure has been destroyed: draws by passes.

Flipped signs need the table: every draw is a matrix of products, and a pass adds up several. With
the coins c, the residual E of k factors and ``Q = [1 / sqrt(n), U]`` for what is projected away,

    F = c * E        F (I - Q Q') F'  =  F F' - (F Q)(F Q)'        (features are rows)

so that one pass suffices though F is centred and projected.

Permuted columns do not: over the many rows of a table in blocks, products of independent columns
are normal by the central limit theorem, whatever the columns hold. So the scatter of a permuted
table is drawn as that of normal columns with the squares of the true ones (Horn's own form), by the
factorisation of Bartlett (1933), without any pass. A column that a handful of rows makes up is the
exception.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from .factored_blocks import TILE, FactoredBlocks, tiles

__all__ = ["Flipped", "Normal"]

Leading = Callable[[NDArray, int, np.random.Generator], NDArray]
"""From a matrix, a number and a generator to so many of its leading eigenvalues."""


class Normal:
    """Draws of the `top` singular values of a table with its columns permuted one by one."""

    def __init__(self, table: FactoredBlocks, top: int, leading: Leading) -> None:
        self.dof = table.shape[0] - 1
        self.squares = table.moments.squares
        self.top, self.leading = top, leading

    def draws(self, seeds: NDArray) -> list[NDArray]:
        """Return the leading singular values of one table for each seed."""
        return threads.run(lambda i: self._draw(seeds[i]), len(seeds))

    def _draw(self, seed: int) -> NDArray:
        rng = np.random.default_rng(seed)
        W = _wishart(self.dof, len(self.squares), rng)
        roots = np.sqrt(self.squares / np.diag(W))  # the squares of columns stay as they are
        M = W * np.multiply.outer(roots, roots)
        return np.sqrt(self.leading(M, self.top, rng).clip(min=0.0))


def _wishart(dof: int, d: int, rng: np.random.Generator) -> NDArray:
    """Return the scatter of `dof` rows of d independent standard normal numbers."""
    if dof < d:
        Z = rng.standard_normal((dof, d))
        return np.asarray(Z.T @ Z)
    L = np.tril(rng.standard_normal((d, d)), -1)
    L.flat[:: d + 1] = np.sqrt(rng.chisquare(dof - np.arange(d)))
    return np.asarray(L @ L.T)


class Flipped:
    """Draws of the first singular value of what k factors leave, its signs flipped.

    Cells are enlarged as in memory for the noise that the factors took with them: rows to first
    order in their leverage, which is small where there are many, columns by `restoring`.
    """

    def __init__(
        self,
        table: FactoredBlocks,
        k: int,
        leading: Leading,
        restoring: Callable[[NDArray, NDArray], NDArray],
        floor: float,
    ) -> None:
        n = table.shape[0]
        self.table, self.leading, self.floor = table, leading, floor
        self.V, self.singular = table.axes[:, :k], table.singular[:k]
        left = table.moments.squares - (self.V * self.singular) ** 2 @ np.ones(k)
        left = left.clip(min=0.0) / n
        self.scale = float(np.sqrt(left.mean())) or 1.0
        self.columns = restoring(left, self.V) / self.scale

    def draws(self, seeds: NDArray) -> list[NDArray]:
        """Return the first singular value of one flipped table for each seed, in few passes."""
        size = self.table.at_once
        return [
            value
            for start in range(0, len(seeds), size)
            for value in self._pass(seeds[start : start + size])
        ]

    def _pass(self, seeds: NDArray) -> list[NDArray]:
        n = self.table.shape[0]
        mean = self.table.moments.mean
        given = (seeds, n, mean, self.V, self.singular, self.columns, self.floor)
        products, crossed = self.table.pass_over(_flipped, *given)

        def draw(i: int) -> NDArray:
            M = products[i] - crossed[i] @ crossed[i].T
            M -= self.V @ (self.V.T @ M)
            M -= (M @ self.V) @ self.V.T
            value = self.leading((M + M.T) / 2, 1, np.random.default_rng(seeds[i]))
            return self.scale * np.sqrt(value.clip(min=0.0))

        return threads.run(draw, len(seeds))


def _flipped(
    block: NDArray,
    start: int,
    seeds: NDArray,
    n: int,
    mean: NDArray,
    V: NDArray,
    singular: NDArray,
    columns: NDArray,
    floor: float,
) -> tuple[NDArray, NDArray]:
    """Return ``F F'`` and ``F Q`` over the rows of a block, for each seed.

    In single precision, as in memory.
    """
    E = block - mean
    scores = E @ V
    E -= scores @ V.T
    Q = np.concatenate([np.full((len(E), 1), n**-0.5), scores / singular], axis=1)
    E *= columns
    E *= (1 - np.square(Q).sum(axis=1)).clip(min=floor)[:, None] ** -0.5
    E, Q = E.astype(np.float32), Q.astype(np.float32)

    def draw(i: int) -> tuple[Any, Any]:
        F = E * _signs(int(seeds[i]), start, *E.shape)
        return (F.T @ F).astype(np.float64), (F.T @ Q).astype(np.float64)

    products, crossed = zip(*threads.run(draw, len(seeds)), strict=True)
    return np.stack(products), np.stack(crossed)


def _signs(seed: int, start: int, n: int, d: int) -> NDArray:
    """Return fair coins, 1 or -1, for the `n` rows from `start` on."""
    signs = np.empty((n, d), np.float32)
    for tile, inside, rows in tiles(start, start + n):
        rng = np.random.default_rng([seed, tile])
        coins = np.frombuffer(rng.bytes(-(-TILE * d // 8)), dtype=np.uint8)
        signs[rows] = np.unpackbits(coins, count=TILE * d).reshape(TILE, d)[inside]
    signs *= np.float32(-2)
    signs += 1
    return signs
