"""Penalties that leave a wanted number of nonzeros, for sparse PCA with an l1 norm.

Each step of the solvers with an l1 norm finds, for a penalty c and what the data ask for, g,

    u(c) = argmin 1/2 u'Hu - g'u + c |u|_1,    perhaps with V u = 0.

On a face, where the support S and the signs s stay, the answer is linear in c (:class:`Face`), so
that the penalties with n nonzeros are an interval. A descent that takes c at the same place of that
interval in every step keeps the number, and where it comes to rest, the conditions of optimality
hold for the penalties that it rests at.

A search over fixed penalties does worse: where columns are strongly correlated the number of
nonzeros jumps, and stationary points with the numbers between are none that descent stays near.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .directions import Directions
from .solution import Monitor

__all__ = [
    "PLACES",
    "Face",
    "Signs",
    "along_the_path",
    "between",
    "carried_over",
    "first_without",
    "nearest",
    "top_of_the_path",
]

PLACES = (0.1, 0.5, 0.9)  # in the interval, from its low end: tried in turn
TIED = 1e-9  # of the largest penalty: an interval as short as this is rounding

T = TypeVar("T")
Found = TypeVar("Found", bound=Directions)

Signs = tuple[NDArray, NDArray]
"""The support, and the signs there."""


def nearest(attempt: Callable[[float, Monitor], Found], wanted: NDArray, monitor: Monitor) -> Found:
    """Return the first attempt that has the numbers `wanted` and converged, or else the nearest.

    An attempt gets its place in the interval of penalties, and the monitor.
    """
    stopped = False

    def watch(objective: float) -> bool:
        nonlocal stopped
        stopped = monitor(objective)
        return stopped

    def attempts() -> Iterator[Found]:
        for place in PLACES:
            yield attempt(place, watch)
            if stopped:
                break

    def shortfall(found: Found) -> tuple[int, bool]:
        counts = np.count_nonzero(found.components, axis=1)
        return int(np.abs(counts - wanted).sum()), not found.converged

    return first_without(shortfall, attempts())


def first_without(shortfall: Callable[[T], tuple[int, bool]], attempts: Iterable[T]) -> T:
    """Return the first of the attempts without a shortfall, or else the one with the least."""
    tried = []
    for one in attempts:
        tried.append((shortfall(one), one))
        if tried[-1][0] == (0, False):
            break
    return min(tried, key=lambda pair: pair[0])[1]


def between(size: NDArray, count: int, place: float) -> float:
    """Return a number that `count` of the sizes exceed; 0 if all of them shall.

    Sizes that are equal come and go together: then the number is for the nearest count, from 1 on.
    """
    if count == len(size):
        return 0.0
    falling = np.append(np.sort(size)[::-1], 0.0)
    gaps = falling[:-1] - falling[1:]
    apart = np.flatnonzero(gaps > TIED * falling[0])
    if not len(apart):
        return 0.0
    last = apart[np.argmin(np.abs(apart + 1 - count))]
    return float(falling[last + 1] + place * gaps[last])


class Face(NamedTuple):
    """Where the answer is linear in the penalty: ``u_S = p - c q``, the gradient ``r + c e``.

    The gradient is that of the smooth part off the support, with the sign of ``g - H u - V'mu``;
    r and e are zero on the support.
    """

    S: NDArray
    signs: NDArray
    p: NDArray
    q: NDArray
    r: NDArray
    e: NDArray

    def interval(self) -> tuple[float, float]:
        """Return the least and the largest c of the face; it is empty if they are out of order."""
        (low, _), (high, _) = self.edges()
        return low, high

    def edges(self) -> tuple[tuple[float, int], tuple[float, int]]:
        """Return the least and the largest c, each with the condition that ends the face there."""
        a, b = self._conditions()
        ratio = np.divide(a, b, out=np.where(a > 0, np.inf, 0.0), where=b != 0)
        low = np.where(b >= 0, ratio, 0.0)
        high = np.where(b < 0, ratio, np.inf)
        first, last = int(np.argmax(low)), int(np.argmin(high))
        return (float(low[first]), first), (float(high[last]), last)

    def slack(self, c: float) -> NDArray:
        """Return what is left of each condition of optimality at c; negative where it fails."""
        a, b = self._conditions()
        return np.asarray(c * b - a)

    def _conditions(self) -> tuple[NDArray, NDArray]:
        """Return a and b of the conditions of optimality, which are ``a <= c b``.

        First that each sign on the support stays, then that no gradient off it exceeds c, then that
        none is less than -c.
        """
        a = np.concatenate([-self.signs * self.p, self.r, -self.r])
        b = np.concatenate([-self.signs * self.q, 1 - self.e, 1 + self.e])
        return a, b

    def beyond(self, condition: int) -> Signs:
        """Return support and signs of the face on the other side of a condition."""
        size, d = len(self.S), len(self.r)
        if condition < size:
            return np.delete(self.S, condition), np.delete(self.signs, condition)
        sign = 1.0 if condition < size + d else -1.0
        return np.append(self.S, (condition - size) % d), np.append(self.signs, sign)

    def answer(self, c: float) -> NDArray:
        """Return u(c)."""
        u = np.zeros_like(self.r)
        u[self.S] = self.p - c * self.q
        return u


FaceOf = Callable[[Signs], Face]


def top_of_the_path(g: NDArray) -> Signs:
    """Return the support and the sign of what is the first to be nonzero as c falls."""
    top = int(np.argmax(np.abs(g)))
    return np.array([top]), np.sign(g[[top]])


def along_the_path(face_of: FaceOf, signs: Signs, count: int) -> tuple[Face, float, float]:
    """Return the nearest face with `count` nonzeros on the path of u(c), from one that is on it.

    With its least and its largest c. Where ties skip the number, the face with the nearest. One
    variable enters or leaves at a time, as in LARS (Efron et al. 2004).
    """
    down = len(signs[0]) <= count
    passed: list[tuple[Face, float, float]] = []
    for _ in range(_patience(count)):
        face = face_of(signs)
        (low, enters), (high, leaves) = face.edges()
        if high - low > TIED * high:
            passed.append((face, low, high))
            if low == 0 or (len(face.S) >= count if down else len(face.S) <= count):
                break
        signs = face.beyond(enters if down else leaves)
        if not len(signs[0]):
            break
    return min(passed or [(face, low, low)], key=lambda one: abs(len(one[0].S) - count))


def carried_over(before: FaceOf, after: FaceOf, signs: Signs, c: float) -> Signs:
    """Return the signs of u(c) for a new g, given those for the last one; none if they get lost.

    On the straight line from one g to the other the answer is piecewise linear too.
    """
    for _ in range(_patience(len(signs[0]))):
        face = after(signs)
        new, old = face.slack(c), before(signs).slack(c)
        fails = np.flatnonzero(new < 0)
        if not len(fails):
            return signs
        first = fails[np.argmin(old[fails] / (old[fails] - new[fails]))]
        signs = face.beyond(int(first))
        if not len(signs[0]):
            break
    return np.empty(0, np.intp), np.empty(0)


def _patience(count: int) -> int:
    """Return how many faces to walk over: more are a walk in circles, by rounding."""
    return 4 * count + 100
