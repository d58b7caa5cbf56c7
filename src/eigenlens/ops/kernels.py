"""Kernels: products of points in a feature space, computed in tiles that fit the cache.

A kernel is radial, ``k(x, y) = f(g |x - y|^2)``, or one of products, ``k(x, y) = h(g x'y + c)``, or
any function of two tables. For the first two the slope f' or h' is known, which pre-images need.

Whatever the dtype of the points, a tile is computed in float64: in single precision the distances
of near points that are far from the origin would be rounding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import threads
from .finite import NonFiniteError
from .gaussian import exp_of_distances

__all__ = [
    "Cosine",
    "Function",
    "Kernel",
    "Linear",
    "Matern",
    "Points",
    "Polynomial",
    "Radial",
    "Rbf",
    "Tanh",
    "median_square",
]

ROWS, COLUMNS = 256, 512  # of a tile: 1 MB
SAMPLE = 1000  # rows that settle an origin
ROUNDINGS = 64.0  # of squares, by which distances may be off
SINGLE = 16  # rows of a function of two tables, for the diagonal


@dataclass(frozen=True, slots=True)
class Points:
    """Rows made ready for tiles: as float64, and what else the kernel needs of each."""

    rows: Any
    squares: NDArray = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def __getitem__(self, part: slice) -> Points:
        return Points(self.rows[part], self.squares[part])


class Kernel(ABC):
    """A symmetric function of two points."""

    def origin(self, X: Any) -> NDArray | None:
        """Return what to subtract from all points for the sake of their digits, if anything."""
        return None

    @abstractmethod
    def ready(self, X: Any, origin: NDArray | None = None) -> Points:
        """Return the points made ready for `tile`."""

    @abstractmethod
    def tile(self, A: Points, B: Points) -> NDArray:
        """Return the kernel between all points of `A` and all of `B`."""

    @abstractmethod
    def diagonal(self, X: Any) -> NDArray:
        """Return the kernel of each row of `X` with itself."""

    def with_diagonal(self, K: NDArray) -> NDArray:
        """Return a tile of points with themselves, its diagonal set to what is known of it."""
        return K

    def between(self, X: Any, Y: Any) -> NDArray:
        """Return the kernel between the rows of `X` and those of `Y`."""
        origin = self.origin(Y)
        B = self.ready(Y, origin)
        K = np.empty((X.shape[0], len(B)))
        rows, columns = threads.spans(X.shape[0], ROWS), threads.spans(len(B), COLUMNS)

        def part(i: int) -> None:
            A = self.ready(X[rows[i]], origin)
            for span in columns:
                K[rows[i], span] = self.tile(A, B[span])

        threads.run(part, len(rows))
        return K

    def combine(self, X: Any, Y: Any, W: NDArray) -> NDArray:
        """Return ``between(X, Y) @ W``, of which only tiles are ever in memory."""
        origin = self.origin(Y)
        B = self.ready(Y, origin)
        rows, columns = threads.spans(X.shape[0], ROWS), threads.spans(len(B), COLUMNS)

        def part(i: int) -> NDArray:
            A = self.ready(X[rows[i]], origin)
            total = np.zeros((len(A), W.shape[1]))
            for span in columns:
                total += self.tile(A, B[span]) @ W[span]
            return total

        return np.concatenate(threads.run(part, len(rows)))


def dense(X: Any) -> NDArray:
    """Return the rows as a float64 array, without a copy where they are one."""
    rows: NDArray = (X.toarray() if sparse.issparse(X) else X).astype(np.float64, copy=False)
    return rows


def products(A: Any, B: Any) -> NDArray:
    """Return the inner products of the rows of both."""
    P = A @ B.T
    found: NDArray = P.toarray() if sparse.issparse(P) else P
    return found


def squares_of(rows: Any) -> NDArray:
    """Return the squared lengths of rows."""
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", rows, rows)


def median_square(X: Any) -> float:
    """Return the median of squared distances between rows; if that is zero, of those that are not.

    Zero if all are. What rounding explains counts as zero.
    """
    unit = Rbf(1.0)
    points = unit.ready(X, unit.origin(X))
    apart = unit.arguments(points, points)[np.triu_indices(len(points), 1)]
    nothing = ROUNDINGS * np.finfo(np.float64).eps * float(points.squares.max())
    some = apart > nothing
    if 2 * some.sum() > len(apart):
        return float(np.median(apart))
    return float(np.median(apart[some])) if some.any() else 0.0


# ----------------------------------------------------------------------------------------- radial


class Radial(Kernel):
    """``f(gamma |x - y|^2)``, with f(0) = 1."""

    def __init__(self, gamma: float) -> None:
        self.gamma = gamma

    @staticmethod
    @abstractmethod
    def profile(s: NDArray) -> NDArray:
        """Return f, and overwrite its argument."""

    @staticmethod
    @abstractmethod
    def argument(k: NDArray) -> NDArray:
        """Return where f is `k`, for 0 < k <= 1."""

    def origin(self, X: Any) -> NDArray | None:
        """Return the median of some rows, which is near to most, wherever the others are."""
        if sparse.issparse(X):
            return None
        some: NDArray = X[:: -(-len(X) // SAMPLE)].astype(np.float64)
        return np.median(some, axis=0)

    def ready(self, X: Any, origin: NDArray | None = None) -> Points:
        if origin is None:
            rows = X.astype(np.float64) if sparse.issparse(X) else dense(X)
        else:
            rows = dense(X) - origin
        return Points(rows, self.gamma * squares_of(rows))

    def arguments(self, A: Points, B: Points) -> NDArray:
        """Return ``gamma |x - y|^2`` between all points."""
        S = products(A.rows, B.rows)
        S *= -2 * self.gamma
        S += A.squares[:, None]
        S += B.squares
        return np.maximum(S, 0.0, out=S)

    def tile(self, A: Points, B: Points) -> NDArray:
        return self.profile(self.arguments(A, B))

    @abstractmethod
    def tile_and_slope(self, A: Points, B: Points) -> tuple[NDArray, NDArray]:
        """Return the kernel between all points, and -f' there up to a constant factor."""

    def with_diagonal(self, K: NDArray) -> NDArray:
        np.fill_diagonal(K, 1.0)  # where points are far away, rounding says less
        return K

    def diagonal(self, X: Any) -> NDArray:
        if not np.isfinite(X.sum()):
            raise NonFiniteError
        return np.ones(X.shape[0])


class Rbf(Radial):
    """``exp(-gamma |x - y|^2)``."""

    def tile(self, A: Points, B: Points) -> NDArray:
        return exp_of_distances(products(A.rows, B.rows), 2 * self.gamma, A.squares, B.squares)

    def tile_and_slope(self, A: Points, B: Points) -> tuple[NDArray, NDArray]:
        k = self.tile(A, B)
        return k, k

    @staticmethod
    def profile(s: NDArray) -> NDArray:
        np.negative(s, out=s)
        return np.exp(s, out=s)

    @staticmethod
    def argument(k: NDArray) -> NDArray:
        return -np.log(k)


class Matern(Radial):
    """``(1 + u + u^2 / 3) exp(-u)`` with ``u^2 = 10 gamma |x - y|^2``: Matern's of order 5/2.

    The length scale is ``(2 gamma)^(-1/2)``, as that of the Gaussian kernel of the same gamma.
    """

    @staticmethod
    def profile(s: NDArray) -> NDArray:
        u = np.sqrt(10 * s)
        return (1 + u + u * u / 3) * np.exp(-u)

    def tile_and_slope(self, A: Points, B: Points) -> tuple[NDArray, NDArray]:
        u = np.sqrt(10 * self.arguments(A, B))
        decay = np.exp(-u)
        return (1 + u + u * u / 3) * decay, (1 + u) * decay

    @staticmethod
    def argument(k: NDArray) -> NDArray:
        u = np.sqrt(np.maximum(6 * (1 - k), 0.0)) + np.maximum(-np.log(k), 0.0) / 2
        for _ in range(50):  # Newton's method on log f, which is concave in u
            value = np.log1p(u + u * u / 3) - u - np.log(k)
            slope = -u * (1 + u) / (3 + 3 * u + u * u)
            step = np.divide(value, slope, out=np.zeros_like(u), where=slope < 0)
            u = np.maximum(u - step, u / 4)
        return u * u / 10


# --------------------------------------------------------------------------------------- products


class Polynomial(Kernel):
    """``(gamma x'y + coef0)^degree``."""

    def __init__(self, gamma: float, degree: float, coef0: float) -> None:
        self.gamma, self.degree, self.coef0 = gamma, degree, coef0

    def ready(self, X: Any, origin: NDArray | None = None) -> Points:
        return Points(X.astype(np.float64) if sparse.issparse(X) else dense(X))

    def profile(self, t: NDArray) -> NDArray:
        """Return h."""
        return t**self.degree

    def slope(self, t: NDArray) -> NDArray:
        """Return h'."""
        return self.degree * t ** (self.degree - 1)

    def argument(self, k: NDArray) -> NDArray:
        """Return where h is `k`: that of the same sign, or not negative for even degrees."""
        return np.sign(k) * np.abs(k) ** (1 / self.degree)

    def arguments(self, A: Points, B: Points) -> NDArray:
        """Return ``gamma x'y + coef0`` between all points."""
        T = products(A.rows, B.rows)
        T *= self.gamma
        T += self.coef0
        return T

    def tile(self, A: Points, B: Points) -> NDArray:
        return self.profile(self.arguments(A, B))

    def diagonal(self, X: Any) -> NDArray:
        return self.profile(self.gamma * squares_of(self.ready(X).rows) + self.coef0)


class Linear(Polynomial):
    """``(x - shift)'(y - shift)``: what is centred afterwards loses fewer digits with a shift."""

    def __init__(self, shift: NDArray | None = None) -> None:
        super().__init__(1.0, 1, 0.0)
        self.shift = shift

    def ready(self, X: Any, origin: NDArray | None = None) -> Points:
        rows = super().ready(X).rows
        return Points(rows if self.shift is None else rows - self.shift)


class Tanh(Polynomial):
    """``tanh(gamma x'y + coef0)``, which is not positive definite."""

    def __init__(self, gamma: float, coef0: float) -> None:
        super().__init__(gamma, 1, coef0)

    def profile(self, t: NDArray) -> NDArray:
        return np.tanh(t)

    def slope(self, t: NDArray) -> NDArray:
        return 1 / np.cosh(np.clip(t, -300, 300)) ** 2

    def argument(self, k: NDArray) -> NDArray:
        return np.arctanh(np.clip(k, -1 + 1e-15, 1 - 1e-15))


class Cosine(Polynomial):
    """``x'y / (|x| |y|)``; a row of zeros is orthogonal to all, also to itself."""

    def __init__(self) -> None:
        super().__init__(1.0, 1, 0.0)

    def ready(self, X: Any, origin: NDArray | None = None) -> Points:
        lengths = np.sqrt(squares_of(super().ready(X).rows))
        inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        if sparse.issparse(X):
            return Points(sparse.diags_array(inverse) @ X.astype(np.float64))
        return Points(dense(X) * inverse[:, None])


# --------------------------------------------------------------------------------------- anything


class Function(Kernel):
    """A function of two tables, that returns the kernel between their rows."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def ready(self, X: Any, origin: NDArray | None = None) -> Points:
        if X.shape[1] == 0:  # rows without a number are one point, as they are to other kernels
            X = np.zeros((X.shape[0], 1))
        # some loops of scikit-learn take no array that is read-only
        return Points(X if sparse.issparse(X) else np.require(X, requirements="W"))

    def tile(self, A: Points, B: Points) -> NDArray:
        with np.errstate(invalid="ignore", over="ignore"):  # in the checks of scikit-learn
            return np.asarray(self.function(A.rows, B.rows), dtype=np.float64)

    def diagonal(self, X: Any) -> NDArray:
        points = self.ready(X)
        blocks = (points[rows] for rows in threads.spans(len(points), SINGLE))
        return np.concatenate([np.diagonal(self.tile(block, block)) for block in blocks])
