"""t-SNE: places whose neighbours, by Student's t, are those that affinities name.

With affinities ``P`` of sum 1 and ``q_ij = w_ij / Z`` (:mod:`..ops.student` has the letters)::

    KL(P || Q) = sum_ij p_ij log(p_ij / q_ij)

    gradient_i = 2 (nu + 1) / nu  sum_j (p_ij - q_ij) u_ij (y_i - y_j)

It is descended with momentum and gains, at first with P multiplied by an exaggeration, so that
clusters find together while there is room between them (L. van der Maaten, G. Hinton, JMLR 9,
2008).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.student import (
    attract,
    codes_of,
    grow,
    misfit,
    repel,
    repel_by_tree,
    settle,
    step,
)
from .solution import Monitor, Solution

__all__ = ["AllPairs", "Embedding", "Forces", "Schedule", "Tree", "descend", "divergence", "place"]

EARLY = 250  # iterations with exaggeration
EVERY = 50  # iterations from one look at the divergence to the next
MOMENTA = 0.5, 0.8  # with exaggeration, and without
LONGEST = 5.0  # that a place may go in one step
BLOCKS = 8  # of rows, whatever the number of threads,
SMALL = 256  # but no smaller than that
ROWS = 16  # new points in one piece of work
BITS = {1: 32, 2: 16, 3: 16}  # of each coordinate, that a tree tells cells by
LEAF = 16  # places
STEPS = 100  # of each new point
STILL = 1e-5  # length of a step of a new point that ends its way

Forces = Callable[[NDArray, float, bool], tuple[NDArray, float]]
"""Called with places, an exaggeration, and whether the divergence is wanted.

Returns the gradient and the divergence without exaggeration, which is NaN if not wanted.
"""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How to descend; rates are those with exaggeration and without."""

    rates: tuple[float, float]
    exaggeration: float
    max_iter: int
    patience: int
    min_grad_norm: float


@dataclass(frozen=True, kw_only=True)
class Embedding(Solution):
    """Places, one a row, and their divergence from the affinities."""

    engine: str
    embedding: NDArray
    kl_divergence: float
    learning_rate: float


class AllPairs:
    """The gradient by all pairs of places, which for few places costs less than any short cut.

    Pushes are in single precision, of which vector registers hold twice as many. Each is right to
    a millionth, where a tree is right to a hundredth.
    """

    def __init__(self, P: Any, nu: float) -> None:
        self.P, self.nu = P, nu
        self._spans = _blocks(P.shape[0])

    def __call__(self, Y: NDArray, exaggeration: float, wanted: bool) -> tuple[NDArray, float]:
        """Return the gradient, and the divergence if it is wanted."""
        pulls, pushes, sums = np.empty_like(Y), np.empty_like(Y), np.empty(len(Y))
        push = self._pushing(np.ascontiguousarray(Y.T, dtype=np.float32), pushes, sums)
        graph = self.P.indptr, self.P.indices, self.P.data, Y, self.nu

        def block(s: int) -> None:
            push(s)
            attract(*graph, self._spans[s].start, self._spans[s].stop, pulls)

        threads.run(block, len(self._spans))
        total = float(sums.sum())
        gradient = 2 * (self.nu + 1) / self.nu * (exaggeration * pulls - pushes / total)
        return gradient, _divergence(self.P, Y, self.nu, total) if wanted else np.nan

    def _pushing(self, Y: NDArray, pushes: NDArray, sums: NDArray) -> Callable[[int], None]:
        """Return what fills a block of pushes and of sums of w."""

        def push(s: int) -> None:
            repel(Y, self.nu, self._spans[s].start, self._spans[s].stop, pushes, sums)

        return push


class Tree(AllPairs):
    """The gradient with pushes of far places by a tree (J. Barnes, P. Hut, Nature 324, 1986).

    The places of a leaf, of which there are a few, go through the tree together, and what they
    meet there is taken as `AllPairs` takes all places: in vectors (J. E. Barnes, J. of
    Computational Physics 87, 1990). So a leaf asks for no more of the tree than its nearest place.
    """

    def __init__(self, P: Any, nu: float, angle: float) -> None:
        super().__init__(P, nu)
        self.angle = angle
        self._order = np.arange(P.shape[0])

    def _pushing(self, Y: NDArray, pushes: NDArray, sums: NDArray) -> Callable[[int], None]:
        k, n = Y.shape
        bits = BITS[k]
        low = Y.min(axis=1)
        wide = float((Y.max(axis=1) - low).max()) or 1.0
        self._sort(Y, low, (2**bits - 1) / wide, bits)
        order = self._order
        Y = np.ascontiguousarray(Y[:, order])
        size = 2 * n
        first, last, skip = np.empty((3, size), np.int64)
        middle, extent = np.empty((size, k)), np.empty(size)
        many = grow(self._codes, Y, LEAF, first, last, skip, middle, extent)
        spans = threads.spans(many, -(-many // len(self._spans)))
        tree = Y, first, last, skip, middle, extent, self.angle, self.nu

        def push(s: int) -> None:
            if s < len(spans):
                repel_by_tree(*tree, spans[s].start, spans[s].stop, order, pushes, sums)

        return push

    def _sort(self, Y: NDArray, low: NDArray, scale: float, bits: int) -> None:
        """Bring places in the order of their cells, from the order of the last time."""
        codes = np.empty(Y.shape[1], np.uint64)
        codes_of(Y, low, scale, bits, codes)
        # all but in order already, which a stable sort makes use of
        again = np.argsort(codes[self._order], kind="stable")
        self._order = self._order[again]
        self._codes = codes[self._order]


def divergence(P: Any, Y: NDArray, nu: float) -> float:
    """Return the Kullback-Leibler divergence of places from affinities, over all pairs."""
    spans = _blocks(len(Y))
    columns = np.ascontiguousarray(Y.T)
    forces, sums = np.empty_like(Y), np.empty(len(Y))
    threads.run(
        lambda s: repel(columns, nu, spans[s].start, spans[s].stop, forces, sums), len(spans)
    )
    return _divergence(P, Y, nu, float(sums.sum()))


def _blocks(n: int) -> list[slice]:
    return threads.spans(n, max(SMALL, -(-n // BLOCKS)))


def _divergence(P: Any, Y: NDArray, nu: float, total: float) -> float:
    spans = _blocks(len(Y))
    graph = P.indptr, P.indices, P.data, Y, nu
    parts = threads.run(lambda s: misfit(*graph, spans[s].start, spans[s].stop), len(spans))
    return float(sum(parts) + P.data.sum(dtype=np.float64) * np.log(total))


def descend(
    forces: Forces, start: NDArray, schedule: Schedule, *, monitor: Monitor, engine: str
) -> Embedding:
    """Descend from `start` by the gradient that `forces` gives.

    With gains ``a``, momentum ``m`` and rate ``h``: ``v <- m v - h a * gradient``, ``y <- y + v``.
    It ends after `max_iter` iterations, or, looked at after every 50 once the exaggeration is over,
    where the divergence has not fallen for `patience` of them, where the gradient is shorter than
    `min_grad_norm`, or where the monitor says so.
    """
    with threads.serial_blas():  # once for all iterations, of which each would ask for it
        return _descend(forces, start, schedule, monitor, engine)


def _descend(
    forces: Forces, start: NDArray, schedule: Schedule, monitor: Monitor, engine: str
) -> Embedding:
    Y = np.array(start, dtype=np.float64, order="C")
    history: list[float] = []
    least, least_at, converged, n_iter = np.inf, EARLY, False, 0
    while n_iter < schedule.max_iter and not converged:
        early = n_iter < EARLY
        if n_iter in (0, EARLY):
            update, gains = np.zeros_like(Y), np.ones_like(Y)
        n_iter += 1
        looked = n_iter % EVERY == 0 or n_iter == schedule.max_iter
        gradient, value = forces(Y, schedule.exaggeration if early else 1.0, looked)
        step(Y, gradient, update, gains, MOMENTA[not early], schedule.rates[not early], LONGEST)
        if not looked:
            continue
        history.append(value)
        if monitor(value):
            break
        if value < least and not early:
            least, least_at = value, n_iter
        idle = n_iter - least_at > schedule.patience
        converged = not early and bool(idle or np.linalg.norm(gradient) <= schedule.min_grad_norm)
    return Embedding(
        solver=engine,
        engine=engine,
        n_iter=n_iter,
        converged=converged,
        objective_history=np.array(history),
        embedding=Y,
        kl_divergence=forces(Y, 1.0, True)[1],
        learning_rate=schedule.rates[0],
    )


def place(nearest: NDArray, affinities: NDArray, Y: NDArray, nu: float) -> NDArray:
    """Return places of new points among places `Y` that stay: each as if it were the only one.

    A new point with affinities ``p_j`` to some of the others, of sum 1, goes to where they are the
    least surprised::

        min over y of  sum_j p_j log(p_j / q_j),    q_j = w_j(y) / sum over all of w(y)

    It starts at that of its neighbours from which the pulls of the others are the least.

    Parameters
    ----------
    nearest : ndarray of int64 of shape (m, k)
    affinities : ndarray of shape (m, k)
    Y : ndarray of shape (n, n_components)
    nu : float
    """
    columns = np.ascontiguousarray(Y.T, dtype=np.float64)
    found = np.empty((len(nearest), Y.shape[1]))
    spans = threads.spans(len(nearest), ROWS)

    def block(s: int) -> None:
        near, p = nearest[spans[s]], affinities[spans[s]]
        found[spans[s]] = _medoid(near, p, columns.T, nu)
        settle(columns, nu, near, p, STEPS, STILL, found[spans[s]])

    threads.run(block, len(spans))
    return found


def _medoid(nearest: NDArray, affinities: NDArray, Y: NDArray, nu: float) -> NDArray:
    """Return that place of each row's neighbours at which the pulls have the least potential."""
    near = Y[nearest]
    squares = ((near[:, :, None] - near[:, None]) ** 2).sum(axis=-1)
    potential = (np.log1p(squares / nu) * affinities[:, None]).sum(axis=-1)
    return near[np.arange(len(near)), potential.argmin(axis=1)]
