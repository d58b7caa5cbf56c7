"""Multidimensional scaling: start, descent on stress or sweeps over pairs, the best of several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.laplacian import Complete, Laplacian
from ..ops.monotone import Monotone
from ..ops.placing import place
from ..ops.stress import NONE, Stress
from ..ops.units import in_units, unit_of
from .classical import filled, from_distances
from .pair_sgd import SWEEPS, sweeps
from .smacof import Descent, descend
from .solution import Monitor, Solution, ignore

__all__ = ["Configuration", "choose_solver", "landmarks", "placed", "solve"]

FLAT = 1e-6  # of the largest coordinate: a dimension in which a start has nothing
SPREAD = 1e-2  # by which it is filled
EXACT = 1e-12  # raw stress over the sum of squares: nothing is left to be found
ROUNDINGS = 8.0  # of distances and places, that a certificate allows for
FAR = 20  # powers of two by which the size of a start may be off
MANY = 500  # points from which sweeps find better minima than descent alone
BLOCK = 64  # rows that are placed in one piece of work


@dataclass(frozen=True, kw_only=True, eq=False)
class Configuration(Solution):
    """Places of points, and how they were found.

    Attributes
    ----------
    embedding : ndarray of shape (n, k)
    stress : float
        Raw.
    normalized : float
        Stress-1 of Kruskal: the root of raw stress over the sum of squared distances.
    disparity : ndarray of shape (2, m) or None
        For ranks: dissimilarities in order, and the distances that stand for them.
    """

    embedding: NDArray
    stress: float
    normalized: float | None
    disparity: NDArray | None = None


def choose_solver(n_samples: int, init: str = "classical_mds", max_iter: int = 300) -> str:
    """Return the name of the solver that ``solver='auto'`` takes.

    A descent ends in the minimum that its start leads to. The classical start leads to a good one,
    a random start often does not. For many points, sweeps over pairs before the descent make up for
    that, if there are iterations for both.

    Parameters
    ----------
    n_samples : int
        Points to place.
    init : str, default='classical_mds'
        Where the descent starts: ``'random'``, or anything else.
    max_iter : int, default=300
        Most iterations of a start.

    Returns
    -------
    {'smacof', 'sgd'}

    Examples
    --------
    >>> from eigenlens import MDS
    >>> MDS.choose_solver(1000), MDS.choose_solver(1000, init="random")
    ('smacof', 'sgd')
    """
    many = n_samples >= MANY and max_iter >= 2 * SWEEPS
    return "sgd" if init == "random" and many else "smacof"


def solve(
    D: NDArray,
    k: int,
    *,
    W: NDArray | None = None,
    ranks: bool = False,
    starts: list[NDArray | None] | int = 1,
    solver: str = "smacof",
    eps: float,
    max_iter: int,
    rng: np.random.Generator,
    monitor: Monitor = ignore,
) -> Configuration:
    """Return places in k dimensions whose distances are near to `D`.

    Parameters
    ----------
    D : ndarray of shape (n, n)
        Distances, symmetric; finite also where the weight is zero.
    k : int
    W : ndarray of shape (n, n), optional
        Weights of pairs, symmetric. The graph of positive ones has to be connected.
    ranks : bool
        Whether only the order of distances counts.
    starts : list of ndarray of shape (n, k), or int
        Where to start, None for the classical start; or the number of random starts.
    solver : {'smacof', 'sgd'}
        Descent at once, or after sweeps over pairs.
    eps, max_iter, monitor
        As in :func:`.smacof.descend`; sweeps are counted among the iterations.
    rng : Generator
    """
    # squares of tiny or huge distances would be lost; ranks have no unit
    unit, heavy = unit_of(D), 1.0 if W is None else unit_of(W)
    size = 1.0 if ranks else unit
    D, W = in_units(D), None if W is None else in_units(W)
    n = len(D)
    objective: Any = Monotone(D, W) if ranks else Stress(D, W)
    metric: Any = Complete(n) if W is None else Laplacian(W)
    best: Configuration | None = None
    stopped = False

    def watch(raw: float) -> bool:
        nonlocal stopped
        stopped = monitor(raw * heavy * size * size)
        return stopped

    for start in [None] * starts if isinstance(starts, int) else starts:
        if isinstance(starts, int):
            X = rng.uniform(size=(k, n))
        elif start is None:
            X = _classical(D, W, k, rng)
        else:
            X = np.ascontiguousarray(start.T, dtype=np.float64) / unit
        found = _one(objective, metric, X, D, W, ranks, solver, eps, max_iter, rng, watch)
        if best is None or found.stress < best.stress:
            best = found
        if stopped:
            break
    assert best is not None
    return _in_units(best, unit, size, heavy)


def _in_units(found: Configuration, unit: float, size: float, heavy: float) -> Configuration:
    """Return what was found in units of distances, of places and of weights."""
    if unit == heavy == 1:
        return found
    knots = found.disparity

    def squared(value: Any) -> NDArray:
        with np.errstate(over="ignore"):
            product = value * heavy * size * size
        return np.minimum(product, np.finfo(np.float64).max)  # of what is larger than all floats

    return replace(
        found,
        embedding=found.embedding * size,
        stress=float(squared(found.stress)),
        objective_history=squared(found.objective_history),
        disparity=None if knots is None else knots * [[unit], [1.0]],
    )


def _classical(D: NDArray, W: NDArray | None, k: int, rng: np.random.Generator) -> NDArray:
    """Return the classical start, with something in every dimension unless nothing is missing."""
    if W is not None and not (known := W > 0).all():
        np.fill_diagonal(known, True)
        D = filled(D, known)
    X = from_distances(D, k, rng)
    widths = np.abs(X).max(axis=1)
    flat = widths <= FLAT * widths.max()
    if flat.any() and widths.max() > 0:
        now = Stress(D).at(X)
        if now.raw > EXACT * now.size:  # a descent would never leave the other dimensions
            X[flat] = SPREAD * widths.max() * rng.standard_normal((int(flat.sum()), len(D)))
    return X


def _of_size(X: NDArray, size: float) -> NDArray:
    """Return a start brought to about the size of what it is to become, if it is far from that.

    The Guttman transform depends on the shape of a start alone, but a step to it is taken as a
    difference, which would leave rounding of the start and nothing else.
    """
    largest = float(np.abs(X).max())
    if not (largest > 0 and size > 0):
        return X
    powers = int(np.frexp(size)[1] - np.frexp(largest)[1])
    return X if abs(powers) <= FAR else np.ldexp(X, powers)


def _one(
    objective: Any,
    metric: Any,
    X: NDArray,
    D: NDArray,
    W: NDArray | None,
    ranks: bool,
    solver: str,
    eps: float,
    max_iter: int,
    rng: np.random.Generator,
    monitor: Monitor,
) -> Configuration:
    X = _of_size(X - X.mean(axis=1, keepdims=True), 1.0 if ranks else float(D.max()))
    history: list[float] = []
    stopped = False
    if solver == "sgd":
        targets = Stress(D, W)
        for there in sweeps(X, D, W, rng):
            X = there
            history.append(targets.at(X).raw)
            stopped = monitor(history[-1])
            if stopped or len(history) >= max_iter - 1:
                break
    first = objective.first(X) if ranks else None
    end: Descent = descend(
        objective,
        X,
        metric,
        eps=eps,
        max_iter=1 if stopped else max_iter - len(history),
        first=first,
        rounding=ROUNDINGS * float(np.finfo(D.dtype).eps),
        monitor=ignore if stopped else monitor,
    )
    history += end.history
    return Configuration(
        solver=solver,
        embedding=np.ascontiguousarray(end.X.T),
        stress=end.raw,
        normalized=float(np.sqrt(end.raw / end.size)) if end.size else 0.0,
        disparity=objective.function() if ranks else None,
        n_iter=len(history),
        converged=end.converged,
        objective_history=np.array(history),
        certificate=end.certificate,
    )


def placed(T: NDArray, P: NDArray, W: NDArray | None = None) -> NDArray:
    """Return the places of points with distances `T` (m, n) to the places `P` (n, k).

    Each has the lowest stress of its own, whatever points are beside it. NaN is not known; `W` has
    weights if there are any.
    """
    spans = threads.spans(len(T), BLOCK)
    Y, value = np.empty((len(T), P.shape[1])), np.empty(len(T))
    P = np.ascontiguousarray(P.T, dtype=np.float64)
    unit = unit_of(P)
    P, T = (P, T) if unit == 1 else (P / unit, T / unit)

    def part(s: int) -> None:
        rows = spans[s]
        place(T[rows], NONE if W is None else W[rows], P, Y[rows], value[rows])

    threads.run(part, len(spans))
    return Y * unit


def landmarks(apart: Any, n: int, m: int, rng: np.random.Generator) -> NDArray:
    """Return m of n points, in order, each drawn with the square of its distance to those before.

    Far points are seldom left out, and dense regions get more than sparse ones, as with the seeds
    of k-means (Arthur, Vassilvitskii 2007). Fewer where no others are left at a distance.

    Parameters
    ----------
    apart : callable
        Gives the squared distances of one point to all. NaN is not known, and taken as far.
    """
    drawn = [int(rng.integers(n))]
    nearest = np.full(n, np.inf)
    while True:
        nearest = np.fmin(nearest, apart(drawn[-1]))
        nearest[drawn] = 0.0
        reached = np.where(np.isinf(nearest), 0.0, nearest)
        mass = float(reached.sum())
        if len(drawn) == m or not mass > 0:
            return np.sort(np.array(drawn))
        drawn.append(int(rng.choice(n, p=reached / mass)))
