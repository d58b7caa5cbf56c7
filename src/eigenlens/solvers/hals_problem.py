"""What the loop of :mod:`.hals` asks of a table, and what it does to any.

The loop hands codes on and never looks into them, so that they may lie wherever the rows do. Parts
go by their transpose, a row a feature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.lasso import PANEL, descend, masked_grams
from .parts import Penalty, certify
from .solution import Certificate

__all__ = [
    "GROUPS",
    "LOOK",
    "TRACE",
    "Effort",
    "Problem",
    "Sums",
    "Worst",
    "at_once",
    "grams_of",
    "length",
    "product",
]


class Effort(NamedTuple):
    """What a row is worth: see :func:`eigenlens.ops.lasso.descend`."""

    sweeps: int
    slow: float


LOOK = Effort(0, np.inf)
GROUPS = 12  # of rows at most, each with its own sum of W'X, so that threads cannot change them
CACHE = 1 << 20  # bytes to work on at once
TRACE = 1e-8  # weight of a hole
NOTHING = 1e-12  # of the square of a row of X: a residual that no part is wanted for


class Sums(NamedTuple):
    """What the parts need of the codes, added up over the rows, whose weights are s."""

    gram: NDArray  # W'sW
    cross: NDArray  # X'sW
    violation: float  # what single steps would have gained at the start
    penalty: float  # on W


class Worst(NamedTuple):
    """The row that is fitted worst."""

    error: float  # the square of its residual
    rest: NDArray  # its residual, times the weights of entries
    square: float  # of the row itself


class Problem(ABC):
    """The data, and what is asked of both factors."""

    on_W: Penalty
    on_H: Penalty
    square: float  # the sum of squares of X
    weight: NDArray | None = None
    across: NDArray | None = None  # what was observed, transposed

    @abstractmethod
    def begin(self, W: Any) -> Any:
        """Return the start of the codes as the other methods take it."""

    @abstractmethod
    def codes(self, W: Any, Ht: NDArray, step: float, effort: Effort) -> tuple[Any, Sums]:
        """Return codes that descend from `W` and go on by `step`, and what the parts need of them.

        `W` stays as it is.
        """

    @abstractmethod
    def ended(self, W: Any, Ht: NDArray) -> tuple[Any, Sums]:
        """Return the codes solved for to the end, from `W` if that cannot change them."""

    @abstractmethod
    def without(self, W: Any, Ht: NDArray, dead: NDArray) -> tuple[Any, Any, Worst]:
        """Return codes with zeros for `dead` parts, the errors of the rows, and the worst of them.

        `W` may be written to, like that of `extended`.
        """

    @abstractmethod
    def extended(
        self, W: Any, errors: Any, Ht: NDArray, a: int, h: NDArray, cost: float
    ) -> tuple[float, Any, Any, Worst]:
        """Return what part a gains as `h`, with the best codes beside the others, and then these.

        Then come the errors with it, and the worst. All of that is for a gain above `cost` alone.
        """

    def parts(
        self, W: Any, sums: Sums, Ht: NDArray, effort: Effort
    ) -> tuple[NDArray, float, float]:
        """Return parts that descend from `Ht`, the gain at the start, and the objective."""
        d, k = Ht.shape
        found, out = Ht.copy(), np.empty((d, 3))
        roots = W if self.weight is None else W * np.sqrt(self.weight)[:, None]
        size = max(PANEL, -(-d // GROUPS)) if self.across is None else at_once(k * k)
        blocks = threads.spans(d, size)

        def part(i: int) -> None:
            rows = blocks[i]
            C = sums.cross[rows] - self.on_H.l1
            grams = grams_of(sums.gram, roots, self.across, rows, self.on_H)
            R = C - product(grams, Ht[rows])
            out[rows, 2] = -0.5 * np.einsum("ij,ij->i", C + R, Ht[rows])  # 1/2 h'Gh - c'h
            descend(grams, R, found[rows], *effort, out[rows])

        threads.run(part, len(blocks))
        violation, gain, value = out.sum(axis=0)
        value += 0.5 * self.square + sums.penalty - gain
        return found, float(violation), float(value)

    def revive(self, W: Any, Ht: NDArray, ahead: NDArray, gram: NDArray) -> tuple[Any, float]:
        """Make of each part that no row uses the residual of a row that is fitted badly.

        A part that has died would never come back. It takes the codes that are best beside the
        others, if they are worth its penalty. The parts change in place. Returns the codes, and
        what that takes off the objective.
        """
        gained = 0.0
        dead = np.flatnonzero(np.diag(gram) <= 0.0)
        if not len(dead):
            return W, gained
        Ht[:, dead] = ahead[:, dead] = 0.0
        W, errors, worst = self.without(W, Ht, dead)
        for a in map(int, dead):
            h = np.maximum(worst.rest, 0.0)
            size = float(np.linalg.norm(h))
            if size**2 <= NOTHING * worst.square:
                break
            h *= np.linalg.norm(Ht) / np.sqrt(Ht.shape[1]) / size or 1.0
            cost = self.on_H.of(h[:, None])
            gain, *after = self.extended(W, errors, Ht, a, h, cost)
            if gain <= cost:  # as it would be for the next: nothing has changed
                break
            W, errors, worst = after
            Ht[:, a] = ahead[:, a] = h
            gained += gain - cost
        return W, gained

    def finish(self, W: Any, Ht: NDArray, tol: float) -> tuple[Any, float, Certificate]:
        """Return the codes solved for to the end, the objective there, and the certificate."""
        W, sums = self.ended(W, Ht)
        _, more, value = self.parts(W, sums, Ht, LOOK)
        return W, value, self.certify(sums.violation + more, tol)

    def certify(self, violation: float, tol: float) -> Certificate:
        """Return the certificate that a sum of gains gives."""
        return certify(violation, 0.5 * self.square, tol)


def product(grams: NDArray, V: NDArray) -> NDArray:
    """Return the product of each row of `V` with its matrix, or with the one that all share."""
    if len(grams) == 1:
        return V @ grams[0]
    return np.einsum("ia,iab->ib", V, grams)


def at_once(numbers: int) -> int:
    """Return how many rows of so many numbers to work on at once."""
    return max(PANEL, CACHE // (8 * numbers))


def grams_of(
    G: NDArray, A: NDArray, seen: NDArray | None, rows: slice, penalty: Penalty
) -> NDArray:
    """Return the matrices of the quadratic forms of some rows: one for each, or one for all."""
    if seen is None:
        return penalty.curved(G[None])
    out = np.empty((length(rows), *G.shape))
    masked_grams(G, A, seen[rows], TRACE, out)
    return penalty.curved(out)


def length(rows: slice) -> int:
    """Return how many rows a slice has."""
    return int(rows.stop - rows.start)
