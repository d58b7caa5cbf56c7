"""Places by stochastic gradient over pairs (Zheng, Pawar, Goodman 2019).

One pair at a time, in random order, both points move along the line between them,

    x_i, x_j  <-  x_i - m r, x_j + m r      with r = (d_ij - t_ij) / (2 d_ij) (x_i - x_j),

``m = min(1, w_ij h)``: at 1 the pair has its distance. The step size h falls from one sweep to the
next, from where every pair is moved all the way to where the heaviest is by a tenth. Few sweeps
come near to a minimum, from a random start to a better one than a descent, which stops at the
first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..ops.jit import compiled
from ..ops.stress import NONE

__all__ = ["step_sizes", "sweep", "sweeps"]

SWEEPS = 15
SIDE = 8  # points of a block
LAST = 0.1  # share by which the heaviest pair moves in the last sweep


@compiled
def _move(X, T, W, i, j, h):  # type: ignore[no-untyped-def]
    """Move a pair towards its distance."""
    k = X.shape[1]
    square = 0.0
    for q in range(k):
        square += (X[i, q] - X[j, q]) ** 2
    if square == 0.0:
        return
    d = np.sqrt(square)
    m = min(1.0, W[i, j] * h) if len(W) else min(1.0, h)
    r = 0.5 * m * (d - T[i, j]) / d
    for q in range(k):
        move = r * (X[i, q] - X[j, q])
        X[i, q] -= move
        X[j, q] += move


@compiled
def sweep(X, T, W, stars, h, state):  # type: ignore[no-untyped-def]
    """Shuffle `stars` and move each pair in them once.

    A star is a point i and the others from ``j * SIDE`` on, at most `SIDE` of them and behind i: a
    line of memory of distances, which is read once. `state` is that of the generator (xorshift64*,
    Vigna 2016).
    """
    n = len(X)
    s = state[0]
    for p in range(len(stars) - 1, 0, -1):
        s ^= s >> np.uint64(12)
        s ^= s << np.uint64(25)
        s ^= s >> np.uint64(27)
        other = np.int64((s * np.uint64(2685821657736338717)) >> np.uint64(33)) % (p + 1)
        stars[p, 0], stars[other, 0] = stars[other, 0], stars[p, 0]
        stars[p, 1], stars[other, 1] = stars[other, 1], stars[p, 1]
    state[0] = s
    for p in range(len(stars)):
        i, b = stars[p, 0], stars[p, 1] * SIDE
        for j in range(max(b, i + 1), min(b + SIDE, n)):
            _move(X, T, W, i, j, h)


def step_sizes(lightest: float, heaviest: float) -> NDArray:
    """Return the step size of each sweep."""
    return np.geomspace(1 / lightest, LAST / heaviest, SWEEPS)


def sweeps(
    X: NDArray, T: NDArray, W: NDArray | None, rng: np.random.Generator
) -> Iterator[NDArray]:
    """Yield the places after each sweep.

    Parameters
    ----------
    X : ndarray of shape (k, n)
        The start.
    T, W : ndarray of shape (n, n)
        Distances, and weights if there are any; pairs without weight do not move.
    rng : Generator
    """
    n = X.shape[1]
    first = np.arange(1, n) // SIDE  # blocks of others that have any behind i
    count = -(-n // SIDE) - first
    before = np.cumsum(count) - count
    i = np.repeat(np.arange(n - 1), count)
    stars = np.stack([i, np.arange(len(i)) - before[i] + first[i]], axis=1)
    lightest = heaviest = 1.0
    if W is not None:
        weights = W[W > 0]
        lightest, heaviest = float(weights.min()), float(weights.max())
    places = np.ascontiguousarray(X.T)
    state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    for h in step_sizes(lightest, heaviest):
        sweep(places, T, NONE if W is None else W, stars, float(h), state)
        yield np.ascontiguousarray((places - places.mean(axis=0)).T)
