"""Randomly pivoted Cholesky: a kernel matrix as ``F F'`` from few of its columns.

A pivot is drawn with a probability that is what the factor leaves of its diagonal entry, and its
column is added to the factor. What is left, ``K - F F'``, is positive semi-definite, and its trace
is known. In expectation it is nearly as small as that of the best factor of a somewhat smaller rank
(Chen, Epperly, Tropp, Webber 2023); k pivots take (k + 1) n entries of K.

Pivots are drawn in blocks, of which rejection keeps those that drawing one by one would have taken
(Epperly, Tropp, Webber 2024): the same distribution, at the speed of matrix products.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.linalg
from numpy.typing import DTypeLike, NDArray

from . import threads
from .finite import NonFiniteError
from .kernels import Kernel, Radial
from .scatter import scatter
from .signs import signs_of

__all__ = ["INDEFINITE", "Drawn", "Factor", "Rows", "below", "choose", "pivoted_cholesky", "places"]

BLOCK = 128  # pivots that are drawn at a time
ROWS = 1024  # of a block of work
INDEFINITE = (
    "The kernel is not positive definite, so landmarks cannot be chosen by Cholesky. Take another "
    "kernel, or no approximation."
)
BELOW = 1e-4  # of the largest entry of the diagonal: so far below zero is not rounding
EXHAUSTED = 64.0  # roundings of the trace: less is nothing


class Factor(NamedTuple):
    """``K ~ F F'``, and for any x the row of it: ``solve(L, k(pivots, x))``."""

    pivots: NDArray
    F: NDArray
    trace: float  # of K
    rest: float  # trace of K - F F'

    @property
    def L(self) -> NDArray:
        """The lower triangle with ``L L' = K`` at the pivots."""
        return np.tril(self.F[self.pivots].astype(np.float64))

    def scatter(self) -> tuple[NDArray, NDArray]:
        """Return the mean of the rows of F, and their scatter."""
        return scatter(self.F)

    def scores(self, V: NDArray, mean: NDArray) -> tuple[NDArray, NDArray]:
        """Return ``(F - mean) V``, and the signs that turn its columns by the rule for signs."""
        scores: NDArray = self.F @ V.astype(self.F.dtype) - (mean @ V).astype(self.F.dtype)
        return scores, signs_of(scores.T)


class Drawn(NamedTuple):
    """Rows that were drawn to be pivots."""

    numbers: NDArray
    X: Any  # the rows themselves
    F: NDArray  # their rows of the factor so far, in float64
    left: NDArray  # what the factor leaves of their diagonal entries

    def only(self, some: NDArray) -> Drawn:
        """Return some of them."""
        return Drawn(self.numbers[some], self.X[some], self.F[some], self.left[some])


class Rows(Protocol):
    """What drawing pivots asks of the rows, wherever they are."""

    trace: float  # of K
    origin: NDArray | None  # of the kernel

    @property
    def rank(self) -> int:
        """Number of pivots so far."""
        ...

    @property
    def rest(self) -> float:
        """Trace of what the factor so far leaves of K."""
        ...

    def draw(self, uniform: NDArray) -> Drawn:
        """Return the rows at these parts, from 0 to 1, of `rest` added up row by row."""
        ...

    def extend(self, new: Drawn, L: NDArray) -> None:
        """Add pivots; `L` is the triangle of what was left of the kernel between them."""
        ...


def pivoted_cholesky(
    kernel: Kernel,
    X: Any,
    most: int,
    *,
    tol: float = 0.0,
    rng: np.random.Generator,
    dtype: DTypeLike = np.float64,
) -> Factor:
    """Return the factor of at most `most` columns, or that which leaves `tol` of the trace.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.ops.kernels import Rbf
    >>> from eigenlens.ops.pivoted import pivoted_cholesky
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> factor = pivoted_cholesky(Rbf(1.0), X, 200, tol=1e-6, rng=np.random.default_rng(0))
    >>> len(factor.pivots) < 12
    True
    """
    rows = _InMemory(kernel, X, min(most, X.shape[0]), dtype)
    choose(kernel, rows, min(most, X.shape[0]), tol=tol, rng=rng, dtype=dtype)
    return Factor(rows.pivots, rows.F[:, : rows.rank], rows.trace, rows.rest)


def choose(
    kernel: Kernel,
    rows: Rows,
    most: int,
    *,
    tol: float,
    rng: np.random.Generator,
    dtype: DTypeLike,
) -> None:
    """Draw pivots until there are `most`, or `tol` of the trace is left, or none but rounding."""
    definite = isinstance(kernel, Radial)
    nothing = max(tol, EXHAUSTED * float(np.finfo(dtype).eps)) * rows.trace
    while rows.rank < most and rows.rest > nothing:
        drawn = rows.draw(rng.random(min(BLOCK, most - rows.rank)))
        points = kernel.ready(drawn.X, rows.origin)
        H = kernel.with_diagonal(kernel.tile(points, points))
        same = drawn.numbers[:, None] == drawn.numbers  # drawn twice, and not far from itself
        H[same] = np.broadcast_to(np.diag(H), H.shape)[same]
        H -= drawn.F @ drawn.F.T
        kept = _kept(H, drawn.left, rng)
        try:
            L = scipy.linalg.cholesky(H[np.ix_(kept, kept)], lower=True)
        except np.linalg.LinAlgError:
            if definite:  # rounding is all that is left
                break
            raise ValueError(INDEFINITE) from None
        except ValueError:
            raise NonFiniteError from None
        rows.extend(drawn.only(kept), L)


def places(masses: NDArray, uniform: NDArray) -> tuple[NDArray, NDArray]:
    """Return in which of the masses these parts of them all lie, and how far from its beginning.

    As numpy's `Generator.choice` draws.
    """
    ends = (masses / masses.sum()).cumsum()
    ends /= ends[-1]
    found = ends.searchsorted(uniform, side="right")
    return found, uniform - np.where(found > 0, ends[found - 1], 0.0)


def below(kernel: Kernel, largest: float) -> float:
    """Return what a diagonal that is left must not fall below, if its largest entry was that."""
    return -np.inf if isinstance(kernel, Radial) else -BELOW * largest


def _kept(H: NDArray, drawn_by: NDArray, rng: np.random.Generator) -> NDArray:
    """Return those that drawing one by one keeps; H is what is left of the kernel between all."""
    H = H.copy()
    kept: list[int] = []
    least = EXHAUSTED * float(np.finfo(np.float64).eps) * float(np.diag(H).max(initial=0.0))
    for i, chance in enumerate(rng.random(len(H))):
        if H[i, i] > max(chance * drawn_by[i], least) or not kept:
            kept.append(i)
            column = H[:, i] / np.sqrt(H[i, i])
            H -= np.outer(column, column)
    return np.array(kept)


class _InMemory:
    """Rows in memory, with the whole factor."""

    def __init__(self, kernel: Kernel, X: Any, most: int, dtype: DTypeLike) -> None:
        self.kernel, self.X, self.origin = kernel, X, kernel.origin(X)
        self.left = kernel.diagonal(X).astype(np.float64)
        self.trace = self.rest
        if not np.isfinite(self.trace):
            raise NonFiniteError
        if self.left.min() < 0:
            raise ValueError(INDEFINITE)
        self.least = below(kernel, float(self.left.max()))
        # memory that is not reached is never taken
        self.F = np.empty((X.shape[0], most), dtype, order="F")
        self.pivots = np.empty(0, np.int64)

    @property
    def rank(self) -> int:
        return len(self.pivots)

    @property
    def rest(self) -> float:
        return float(self.left.sum())

    def draw(self, uniform: NDArray) -> Drawn:
        at, _ = places(self.left, uniform)
        F = self.F[at, : self.rank].astype(np.float64)
        return Drawn(at, self.X[at], F, self.left[at])

    def extend(self, new: Drawn, L: NDArray) -> None:
        F, k = self.F, self.rank
        B, known = self.kernel.ready(new.X, self.origin), new.F.astype(F.dtype)
        blocks = threads.spans(len(F), ROWS)

        def part(i: int) -> None:
            rows = blocks[i]
            G = self.kernel.tile(self.kernel.ready(self.X[rows], self.origin), B)
            G -= F[rows, :k] @ known.T
            G = scipy.linalg.solve_triangular(
                L, G.T, lower=True, overwrite_b=True, check_finite=False
            )
            F[rows, k : k + len(known)] = G.T
            left = self.left[rows] - np.einsum("ij,ij->j", G, G)
            if not np.isfinite(left).all():
                raise NonFiniteError
            if left.min() < self.least:
                raise ValueError(INDEFINITE)
            self.left[rows] = np.maximum(left, 0.0)

        threads.run(part, len(blocks))
        F[new.numbers, k : k + len(known)] = L  # where distances to themselves are rounding, too
        self.pivots = np.concatenate([self.pivots, new.numbers])
        self.left[self.pivots] = 0.0
