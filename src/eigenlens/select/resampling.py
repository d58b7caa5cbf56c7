"""Singular values compared with those of the same table after its structure has been destroyed.

Two ways to destroy it. Permuting each column by itself (Horn's parallel analysis, in the form of
Buja, Eyuboglu 1992) keeps the columns' distributions. Flipping the sign of each entry by the toss
of a coin (Hong, Sheng, Dobriban 2020) keeps every entry's size: the noise may then have another
variance in every cell. Factors are spread out by both, noise stays noise.

Permuting compares the j-th singular value with the j-th of the destroyed tables, as Horn does. With
k factors in the table, the largest singular value of the noise comes k-th from there and meets one
from inside the noise of the destroyed table: that finds too many where variances differ much.
Flipping compares with the *first* of the destroyed tables instead. That keeps its level, but is
hidden by strong factors sooner, because these raise the first most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.lanczos import leading
from .choice import Choice, leading_run
from .factored import Factored, Seed, Table, factored
from .factored_blocks import FactoredBlocks
from .resampling_blocks import Flipped, Normal

__all__ = ["deflation", "flip", "parallel"]

BATCH = 8  # draws between two looks
CERTAIN = 16  # draws after which a value far above all of them is settled
FAR = 3.0  # in units of the range of the draws, which is some 3.5 standard deviations
TIE = 1e-5  # relative difference that single precision cannot tell
FORMED = 800  # matrices up to this size go to LAPACK as a whole
START = 16  # singular values of larger ones that are compared first
FLOOR = 0.1  # share of the noise of a row or column that projections are taken to leave at least
STEPS = 20  # of the iteration that finds that noise

Scramble = Callable[[NDArray, NDArray, np.random.Generator], None]
"""Write to the first array the second with its structure destroyed. Features are rows here."""

Draw = Callable[[int], NDArray] | Flipped | Normal
"""From a seed to singular values of a destroyed table; from several at once, in blocks."""

WHAT = "singular value"


def parallel(X: Table, rng: Seed = None, *, quantile: float = 0.95, n_draws: int = 39) -> Choice:
    """Return the number of components by parallel analysis: columns permuted one by one.

    Takes component j, after those before it, if the j-th singular value of the centred table
    exceeds the `quantile` of the j-th of permuted tables. Columns are not scaled: scale them before
    if PCA is to work on correlations. Assumes that the rows of the noise are exchangeable, and
    columns of about the same variance. Strong factors raise the thresholds and hide weak ones: see
    `deflation`.

    Parameters
    ----------
    X : array of shape (n, d)
        The table, or what `factored` gives for it.
    rng : numpy.random.Generator, int or None
        The draws, or a seed for them.
    quantile : float
        One minus the chance to find a component in pure noise.
    n_draws : int
        Permuted tables, at most: drawing stops when more cannot change the answer.

    Returns
    -------
    Choice

    References
    ----------
    J. L. Horn, A rationale and test for the number of factors in factor analysis, Psychometrika 30
    (1965). A. Buja, N. Eyuboglu, Remarks on parallel analysis, Multivariate Behavioral Research 27
    (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import datasets
    >>> from eigenlens.select import parallel
    >>> X = datasets.planted_subspace(200, 20, rank=3, random_state=0).X
    >>> parallel(X, np.random.default_rng(0)).k
    3
    """
    table, rng = factored(X), np.random.default_rng(rng)
    observed, side = table.singular, min(table.shape)
    top = len(observed) if side <= FORMED else min(START, len(observed))
    while True:
        found = _compare(observed[:top], _permuted(table, top), quantile, n_draws, rng)
        if found.k < top or top == len(observed):
            break
        top = min(2 * top, len(observed))
    note = _percent(f"{quantile:.0%} quantile of permuted tables, {found.draws} draws")
    return Choice.of("parallel", WHAT, observed[:top], found.thresholds, note)


def flip(X: Table, rng: Seed = None, *, quantile: float = 0.95, n_draws: int = 39) -> Choice:
    """Return the number of components by sign-flip parallel analysis.

    Takes the singular values of the centred table that exceed the `quantile` of the first of
    tables in which the sign of every entry is flipped by a fair coin. Assumes independent noise,
    symmetric about zero; its variance may differ from cell to cell. Strong factors raise the
    threshold and hide weak ones: see `deflation`.

    Parameters
    ----------
    X : array of shape (n, d)
        The table, or what `factored` gives for it.
    rng : numpy.random.Generator, int or None
        The draws, or a seed for them.
    quantile : float
        One minus the chance to find a component in pure noise.
    n_draws : int
        Flipped tables, at most: drawing stops when more cannot change the answer.

    Returns
    -------
    Choice

    References
    ----------
    D. Hong, Y. Sheng, E. Dobriban, Selecting the number of components in PCA via random signflips,
    arXiv:2012.02985 (2020).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import datasets
    >>> from eigenlens.select import flip
    >>> X = datasets.planted_subspace(200, 20, rank=3, noise=0.5, decay=1, random_state=0).X
    >>> flip(X, np.random.default_rng(0)).k
    3
    """
    table, rng = factored(X), np.random.default_rng(rng)
    found = _compare(table.singular, _flipped(table, 0), quantile, n_draws, rng)
    note = _percent(f"{quantile:.0%} quantile of sign-flipped tables, {found.draws} draws")
    return Choice.of("flip", WHAT, table.singular, found.thresholds, note)


def deflation(X: Table, rng: Seed = None, *, quantile: float = 0.99, n_draws: int = 99) -> Choice:
    """Return the number of components by sign-flipping what is left, again and again.

    The factors found so far are removed, the signs of the residual are flipped, and the next
    singular values compared with those: a strong factor no longer hides weak ones. Ends when
    nothing more is found. Assumes what `flip` does, and that no factor sits in a few cells.

    The residual of k factors has lost noise too, most in the rows and columns that they lean on.
    Cells are enlarged so that, once the flipped table is projected onto the complement of the k
    factors, where the residual lives, rows and columns have the variances of the residual. Without
    it every round would find a little too much.

    Parameters
    ----------
    X : array of shape (n, d)
        The table, or what `factored` gives for it.
    rng : numpy.random.Generator, int or None
        The draws, or a seed for them.
    quantile : float
        One minus the chance to find one component too many. There is one such chance at the end of
        every count, hence stricter than for `flip`.
    n_draws : int
        Flipped tables in a round, at most.

    Returns
    -------
    Choice

    References
    ----------
    E. Dobriban, A. B. Owen, Deterministic parallel analysis, JRSS B 81 (2019), for deflation.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import datasets
    >>> from eigenlens.select import deflation
    >>> X = datasets.planted_subspace(200, 20, rank=3, random_state=0).X
    >>> print(deflation(X, np.random.default_rng(0)))
    deflation: 3 components (99 % quantile of sign-flipped residuals, ... draws in 3 rounds)
      1  singular value ...
    """
    table, rng = factored(X), np.random.default_rng(rng)
    observed = table.singular
    thresholds = np.full(len(observed), np.nan)
    k = rounds = draws = 0
    while k < len(observed):
        found = _compare(observed[k:], _flipped(table, k), quantile, n_draws, rng)
        rounds, draws = rounds + 1, draws + found.draws
        thresholds[k:] = found.thresholds
        if found.k == 0:
            break
        k += found.k
    note = f"{quantile:.0%} quantile of sign-flipped residuals, {draws} draws in {rounds} rounds"
    return Choice.of("deflation", WHAT, observed, thresholds, _percent(note))


def _percent(note: str) -> str:
    return note.replace("%", " %")


@dataclass(frozen=True, slots=True)
class _Found:
    k: int
    thresholds: NDArray
    draws: int


def _permuted(table: Factored | FactoredBlocks, top: int) -> Draw:
    if isinstance(table, FactoredBlocks):
        return Normal(table, top, _leading)
    return _Destroyed(table, 0, _permute, top).draw


def _flipped(table: Factored | FactoredBlocks, k: int) -> Draw:
    if isinstance(table, FactoredBlocks):
        return Flipped(table, k, _leading, _restoring, FLOOR)
    return _Destroyed(table, k, _flip_signs).draw


def _compare(
    observed: NDArray,
    draw: Draw,
    quantile: float,
    n_draws: int,
    rng: np.random.Generator,
) -> _Found:
    """Count the `observed` values, in falling order, that exceed the quantile of the draws.

    `draw` gives from a seed one value for each observed one, or one for all. The test is exact
    for exchangeable draws: at most so many may be as large that, with the observed one, they are
    ``1 - quantile`` of all. Later draws can only take values away, so the count ends early where
    none is left, and where all that are left stand far above all draws.
    """
    allowed = int((1 - quantile) * (n_draws + 1) + 1e-9) - 1
    if not 0 < quantile < 1 or allowed < 0:
        raise ValueError(
            f"quantile={quantile} cannot be seen in n_draws={n_draws} draws. It must be between 0 "
            "and 1, with at least 1 / (1 - quantile) - 1 draws."
        )
    seeds = rng.integers(2**63, size=n_draws)  # one a draw: threads cannot change the answer
    draws: list[NDArray] = []
    k, thresholds = len(observed), np.zeros(len(observed))
    for batch in threads.spans(n_draws if k else 0, BATCH):
        draws += _drawn(draw, seeds[batch])
        if len(draws) <= allowed:
            continue
        values = np.sort(draws, axis=0)
        thresholds = values[-1 - allowed] * (1 + TIE)
        k = leading_run(observed > thresholds)
        far = values[-1] + FAR * (values[-1] - values[0])
        if k == 0 or (len(draws) >= CERTAIN and (observed > far)[:k].all()):
            break
    return _Found(k, thresholds, len(draws))


def _drawn(draw: Draw, seeds: NDArray) -> list[NDArray]:
    if isinstance(draw, Flipped | Normal):
        return draw.draws(seeds)
    return threads.run(lambda i: draw(seeds[i]), len(seeds))


class _Destroyed:
    """Draws of the `top` singular values of what k factors leave, its structure destroyed.

    Kept in single precision, in units of its largest entry, features as rows: far finer than the
    scatter of the draws, and half the memory and time.
    """

    def __init__(self, table: Factored, k: int, scramble: Scramble, top: int = 1) -> None:
        n = len(table.X)
        E = table.centred()
        V = table.axes[:, :k].astype(np.float64)
        scores = E @ V
        E -= scores @ V.T
        U = scores / table.singular[:k]
        self.scale = float(np.abs(E).max()) or 1.0
        E /= self.scale
        if scramble is _flip_signs:  # permutations have nothing removed, and keep the means
            mean = np.full((n, 1), n**-0.5)
            E *= _restoring(np.square(E).mean(axis=1), np.concatenate([mean, U], axis=1))[:, None]
            E *= _restoring(np.square(E).mean(axis=0), V)
        self.E = np.ascontiguousarray(E.T, dtype=np.float32)
        self.U, self.V = U.astype(np.float32), V.astype(np.float32)
        self.scramble, self.top = scramble, top
        self.buffer = threads.Scratch(self.E.size, self.E.dtype)

    def draw(self, seed: int) -> NDArray:
        """Return the leading singular values of one destroyed table."""
        rng = np.random.default_rng(seed)
        F = self.buffer.array(*self.E.shape)
        self.scramble(F, self.E, rng)
        F -= F.mean(axis=1, keepdims=True)
        if self.U.shape[1]:
            F -= (F @ self.U) @ self.U.T
            F -= self.V @ (self.V.T @ F)
        M = F @ F.T if F.shape[0] <= F.shape[1] else F.T @ F
        values = _leading(M, self.top, rng).astype(np.float64)
        return self.scale * np.sqrt(values.clip(min=0.0))


def _restoring(left: NDArray, Q: NDArray) -> NDArray:
    """Return factors that restore to cells the noise that projecting away Q took from them.

    `left` are variances after projection by ``P = I - QQ'``, whose squares mix those before it:
    ``left = (P * P) w``, entry by entry. Solved for ``w >= 0`` by multiplicative steps.
    """
    leverage = np.square(Q).sum(axis=1)
    w = left / (1 - leverage).clip(min=FLOOR)
    for _ in range(STEPS):
        W = Q.T @ (w[:, None] * Q)
        mixed = w * (1 - 2 * leverage) + ((Q @ W) * Q).sum(axis=1)
        w = np.divide(w * left, mixed, out=w, where=mixed > 0).clip(max=left / FLOOR)
    return np.sqrt(np.divide(w, left, out=np.ones_like(w), where=left > 0))


def _leading(M: NDArray, k: int, rng: np.random.Generator) -> NDArray:
    if len(M) <= FORMED:
        return np.linalg.eigvalsh(M)[::-1][:k]
    return leading(M, k, rng=rng, tol=1e-3).values[:k]


def _flip_signs(out: NDArray, E: NDArray, rng: np.random.Generator) -> None:
    coins = np.frombuffer(rng.bytes(-(-E.size // 8)), dtype=np.uint8)
    signs = np.unpackbits(coins, count=E.size).reshape(E.shape)
    np.multiply(signs, np.float32(-2), out=out)
    out += 1
    out *= E


def _permute(out: NDArray, E: NDArray, rng: np.random.Generator) -> None:
    out[...] = E
    rng.permuted(out, axis=1, out=out)
