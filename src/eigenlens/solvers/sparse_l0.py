"""Sparse PCA with a given number of nonzeros: the best few variables, and a bound on any others.

For one direction, maximise

    v'A'A v    with |v|_2 = 1 and n nonzeros.

For a given support S this is the first singular value of the columns A_S, so the search is one for
S. It goes in three stages: truncated power iteration (Yuan, Zhang 2013) from many starts at once;
from the best of these, swaps of one variable for another as long as one helps; and, as far as a
fixed amount of work goes, branch and bound (Berk, Bertsimas 2019), which proves the answer or
finds a better one. What it could not settle is the gap that the certificate states.

Later directions are found in the Schur complement (Mackey 2009): every column of A less its
regression on the scores so far. Then ``|A v|^2`` is what v adds to the variance explained, so each
direction is the best one in the sense of the adjusted variance. Projecting A off v instead is only
right for orthogonal directions, and subtracting ``v v'`` (Hotelling) for eigenvectors: of others it
can leave negative variances. Allocates a few copies of A, n d numbers, and ``A'A`` where that is no
larger than A twice.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ops import threads
from ..ops.lanczos import top_pairs
from .directions import EXHAUSTED, Directions, compressed, in_its_unit, per_component
from .solution import Certificate, Monitor, ignore

__all__ = ["solve"]

GAP = "variance that another support may add / variance"
STARTS = 32  # of each kind: columns, principal axes, random directions
POWER = 50  # truncated power iterations, at most
BEST = 2  # supports that swaps go on from
TRIED = 16  # swaps that are computed exactly, of those that promise most
TINY = float(np.finfo(np.float64).tiny)
FEW = 40  # rows of a matrix all of whose eigenpairs are found sooner than one
WORK = 2e8  # products that go into branch and bound, for each direction


@in_its_unit
def solve(
    A: NDArray,
    k: int,
    *,
    n_nonzero: ArrayLike,
    rng: np.random.Generator,
    tol: float,
    max_iter: int = 1000,
    monitor: Monitor = ignore,
) -> Directions:
    """Return `k` directions of `A`, which is centred, with `n_nonzero` nonzeros each.

    Parameters
    ----------
    A : ndarray of shape (m, d)
        The table, or any matrix with the same ``A'A``.
    k : int
    n_nonzero : int or sequence of k ints
        Between 1 and d. A direction has fewer where more would not add variance.
    rng : Generator
        For some of the starts.
    tol : float
        Relative gap at which an answer counts as proved.
    max_iter : int
        Swaps, at most, for each direction.
    monitor : callable
        Sees the adjusted variance of the directions so far, after each improvement.

    Returns
    -------
    Directions
        `converged` says that no swap that was tried helps; the certificate bounds by how much any
        other support could be better, for the worst of the directions. Directions beyond the rank
        of A are zero.

    References
    ----------
    X.-T. Yuan, T. Zhang, Truncated power method for sparse eigenvalue problems, JMLR 14 (2013).
    L. Berk, D. Bertsimas, Certifiably optimal sparse principal component analysis, Mathematical
    Programming Computation 11 (2019).
    L. Mackey, Deflation methods for sparse PCA, NIPS (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.solvers import sparse_l0
    >>> A = np.array([[3.0, 3.0, 1.0, 0.0], [3.0, 3.0, -1.0, 0.0], [0.0, 0.0, 0.0, 2.0]])
    >>> rng = np.random.default_rng(0)
    >>> found = sparse_l0.solve(A, 2, n_nonzero=[2, 1], rng=rng, tol=1e-6)
    >>> np.abs(found.components).round(3)
    array([[0.707, 0.707, 0.   , 0.   ],
           [0.   , 0.   , 0.   , 1.   ]])
    >>> found.certificate.holds
    True
    """
    counts = _counts(n_nonzero, k, A.shape[1])
    A = compressed(A)
    climb = _Climb(max_iter, monitor)
    components, gap = np.zeros((k, A.shape[1])), 0.0
    floor = EXHAUSTED * np.sum(A**2)
    with threads.blas_for(float(A.size) * len(A)):
        for component, n in zip(components, counts, strict=True):
            table = _Columns(A)
            if climb.stopped or table.squares.sum() <= floor:
                break
            starts = _starts(table, n, rng)
            best = max((climb.to_the_top(table, s) for s in starts), key=lambda b: b.value)
            best, bound = _branch_and_bound(table, best, tol)
            climb.finish(best.value)
            gap = max(gap, bound / best.value - 1)
            component[best.support] = best.vector
            scores = A @ component
            A = A - np.outer(scores, scores @ A) / (scores @ scores)
    return Directions(
        components=components,
        objective_history=np.array(climb.history),
        n_iter=len(climb.history),
        converged=not climb.stopped,
        certificate=Certificate(GAP, gap, tol),
    )


def _counts(n_nonzero: ArrayLike, k: int, d: int) -> list[int]:
    """Return the number of nonzeros of each component."""
    counts = per_component(n_nonzero, k, "n_nonzero", int)
    if counts.min(initial=1) < 1 or counts.max(initial=1) > d:
        raise ValueError(
            f"n_nonzero={n_nonzero!r} is not between 1 and the number of columns. "
            f"Ask for at least 1 and at most {d}."
        )
    return [int(n) for n in counts]


@dataclass(frozen=True)
class _Columns:
    """What the search asks of the columns of A: of their products, which are computed once.

    Where there are many more columns than rows their products would not fit, and those of the rows
    take their place.
    """

    A: NDArray

    @cached_property
    def products(self) -> NDArray | None:
        m, d = self.A.shape
        return self.A.T @ self.A if d <= 2 * m else None

    @cached_property
    def squares(self) -> NDArray:
        return np.asarray(np.sum(self.A**2, axis=0))

    def on(self, V: NDArray) -> NDArray:
        """Return ``V A'A``."""
        if self.products is None:
            return np.asarray(V @ self.A.T @ self.A)
        return np.asarray(V @ self.products)

    @cached_property
    def axes(self) -> tuple[NDArray, NDArray]:
        """The largest variances of any directions, and the directions, one a row."""
        G = self.products
        M = self.A @ self.A.T if G is None else G
        values, U = top_pairs(M, min(STARTS, len(M)), check_finite=False)
        if G is not None:
            return values, U.T
        V = U.T @ self.A
        return values, V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), TINY)

    def leading(self, S: NDArray) -> tuple[float, NDArray]:
        """Return the largest variance on the columns S, and the unit vector that has it."""
        m, n = len(self.A), len(S)
        if n == self.A.shape[1]:
            values, V = self.axes
            return float(values[0]), V[0]
        if self.products is not None and n <= m:
            return _top(self.products[np.ix_(S, S)])
        columns = self.A[:, S]
        if n <= m:
            return _top(columns.T @ columns)
        value, u = _top(columns @ columns.T)
        v = columns.T @ u
        return value, v / (np.linalg.norm(v) or 1.0)

    def values(self, supports: NDArray) -> NDArray:
        """Return the largest variance on each of the `supports`, one a row."""
        if self.products is not None and supports.shape[1] <= len(self.A):
            products = self.products[supports[:, :, None], supports[:, None, :]]
        else:
            columns = self.A.T[supports]
            rows = np.swapaxes(columns, 1, 2)
            products = columns @ rows if supports.shape[1] <= len(self.A) else rows @ columns
        return np.asarray(np.linalg.eigvalsh(products)[:, -1])


def _top(M: NDArray) -> tuple[float, NDArray]:
    """Return the largest eigenvalue of `M` and its vector; of a small one all are found sooner."""
    if len(M) <= FEW:
        values, vectors = np.linalg.eigh(M)
        return float(values[-1]), vectors[:, -1]
    values, vectors = top_pairs(M, 1, check_finite=False)
    return float(values[0]), vectors[:, 0]


@dataclass(frozen=True)
class _Best:
    """A support, and the unit vector on it that has the largest variance."""

    support: NDArray
    vector: NDArray
    value: float

    @staticmethod
    def on(table: _Columns, support: NDArray) -> _Best:
        value, vector = table.leading(support)
        return _Best(support, vector, value)


# ------------------------------------------------------------------------------------ the search


def _starts(table: _Columns, n: int, rng: np.random.Generator) -> list[NDArray]:
    """Return the best supports that truncated power iteration finds from many starts."""
    d = table.A.shape[1]
    largest = np.argsort(-table.squares, kind="stable")[:STARTS]
    given = [np.eye(1, d, j) for j in largest]
    V = np.vstack([*given, table.axes[1], rng.standard_normal((STARTS, d))])
    supports = _truncate(table.on(V), n)
    for _ in range(POWER):
        U = np.zeros_like(V)
        np.put_along_axis(U, supports, np.take_along_axis(V, supports, axis=1), axis=1)
        V = table.on(U)
        V /= np.maximum(np.linalg.norm(V, axis=1, keepdims=True), TINY)
        before, supports = supports, _truncate(V, n)
        if np.array_equal(before, supports):
            break
    supports = np.unique(supports, axis=0)
    order = np.argsort(-table.values(supports), kind="stable")
    return list(supports[order[:BEST]])


def _truncate(V: NDArray, n: int) -> NDArray:
    """Return where the `n` largest entries of each row are, in rising order."""
    return np.sort(np.argpartition(-np.abs(V), n - 1, axis=1)[:, :n], axis=1)


class _Climb:
    """The way up by swaps, watched by a monitor, for one direction after the other."""

    def __init__(self, max_iter: int, monitor: Monitor) -> None:
        self.history: list[float] = []
        self.stopped = False
        self._max_iter = max_iter
        self._monitor = monitor
        self._before = 0.0  # variance of the directions that are finished

    def to_the_top(self, table: _Columns, support: NDArray) -> _Best:
        """Swap variables as long as the variance grows."""
        best = _Best.on(table, support)
        self._report(best.value)
        for _ in range(self._max_iter):
            better = None if self.stopped else _swapped(table, best)
            if better is None:
                return best
            best = better
            self._report(best.value)
        self.stopped = True
        return best

    def finish(self, value: float) -> None:
        """Go on to the next direction, with `value` in hand."""
        self._report(value)
        self._before += value

    def _report(self, value: float) -> None:
        """Note the variance, where it is the largest so far."""
        total = self._before + value
        if not self.history or total > self.history[-1]:
            self.history.append(total)
            self.stopped = self._monitor(total) or self.stopped


def _swapped(table: _Columns, best: _Best) -> _Best | None:
    """Return the best of the promising swaps, if it gains more than rounding."""
    supports = _promising(table, best)
    if not len(supports):
        return None
    values = table.values(supports)
    winner = int(np.argmax(values))
    gains = values[winner] > best.value * (1 + 64 * np.finfo(np.float64).eps)
    return _Best.on(table, supports[winner]) if gains else None


def _promising(table: _Columns, best: _Best) -> NDArray:
    """Return the supports, after one swap, that are sure of the largest variance.

    With variable i out and j in, the variance is at least the largest on the span of e_j and of
    what v has left without i: the larger eigenvalue of a matrix of two by two, for all pairs at
    once.
    """
    S, v, value = best.support, best.vector, best.value
    A, G, squares = table.A, table.products, table.squares
    outside = np.setdiff1d(np.arange(A.shape[1]), S)
    products = A[:, S].T @ A if G is None else G[S]
    left = 1 - v**2
    scale = np.divide(1.0, left, out=np.zeros_like(left), where=left > 0)
    kept = (value * (1 - 2 * v**2) + v**2 * squares[S]) * scale
    cross = (v @ products - v[:, None] * products)[:, outside] * np.sqrt(scale)[:, None]
    mean = (kept[:, None] + squares[outside]) / 2
    sure = mean + np.hypot((kept[:, None] - squares[outside]) / 2, cross)
    tried = min(TRIED, sure.size)
    pairs = np.argpartition(-sure, tried - 1, axis=None)[:tried] if tried else np.arange(0)
    out, into = np.unravel_index(pairs, sure.shape)
    supports = np.repeat(S[None], tried, axis=0)
    supports[np.arange(tried), out] = outside[into]
    return supports


# ------------------------------------------------------------------------------------- the proof


def _branch_and_bound(table: _Columns, best: _Best, tol: float) -> tuple[_Best, float]:
    """Return the best support known, and what no support exceeds.

    A node is a set of variables that may be used, some of which must be. Two bounds hold for it:
    the largest variance on all that may be used, and the sum of the variances of the n largest.
    The most promising node is split first, on the variable with the largest loading.
    """
    n = len(best.support)
    m, d = table.A.shape
    budget = max(1, int(WORK // (min(m, d) ** 2 * max(m, d))))
    nodes = [_node(table, n, frozenset(), np.arange(d))]
    while nodes and -nodes[0][0] > best.value * (1 + tol) and budget > 0:
        _, _, must, may, loadings = heapq.heappop(nodes)
        free = np.flatnonzero([i not in must for i in may])
        split = free[np.argmax(np.abs(loadings[free]))]
        for child in (
            _node(table, n, must | {int(may[split])}, may),
            _node(table, n, must, np.delete(may, split)),
        ):
            bound, _, must_be, may_be, _ = child
            if len(must_be) == n or len(may_be) == n:
                support = np.array(sorted(must_be)) if len(must_be) == n else may_be
                best = max(best, _Best.on(table, support), key=lambda b: b.value)
            elif -bound > best.value:
                heapq.heappush(nodes, child)
        budget -= 1
    return best, max(best.value, -nodes[0][0] if nodes else 0.0)


_Node = tuple[float, tuple[int, ...], frozenset[int], NDArray, NDArray]


def _node(table: _Columns, n: int, must: frozenset[int], may: NDArray) -> _Node:
    """Return a node: minus its bound, what settles ties, the two sets, and loadings."""
    value, loadings = table.leading(may)
    squares = table.squares
    required = list(must)
    others = np.sort(squares[np.setdiff1d(may, required)])[::-1]
    trace = squares[required].sum() + others[: n - len(required)].sum()
    ties = (*sorted(must), -1, *(int(i) for i in may))
    return -min(value, float(trace)), ties, must, may, loadings
