"""Places by descent on stress: majorisation (SMACOF), sped up by a quasi-Newton method.

Raw stress ``sum_{i<j} w_ij (t_ij - d_ij(X))^2`` has the gradient ``2 G`` (:mod:`..ops.stress`).
With V the Laplacian of the weights, the Guttman transform

    Gamma(X) = X - V^+ G(X)

is the minimum of a quadratic that touches stress at X and lies above it elsewhere (de Leeuw 1977),
so that the step to it never goes up, by at least ``|X - Gamma(X)|_V^2`` down. It is a gradient step
in the metric of V, and no quicker than that. Here it is the first guess of a quasi-Newton method in
the same metric (limited memory, Liu, Nocedal 1989), whose steps are taken where they lower stress;
where one does not, the Guttman step is taken. Each step takes one pass over the pairs, a step that
is refused another one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..ops.stress import Pull
from .solution import Certificate, Monitor, ignore

__all__ = ["RESIDUAL", "Descent", "Metric", "Objective", "descend"]

RESIDUAL = "|X - Guttman transform of X| / |X|"
MEMORY = 8  # pairs of steps and changes of the gradient
DOWN = 1e-4  # share of what the slope promises that a step has to keep
SHARE = 0.01  # of eps: a quasi-Newton step goes as far as many of majorisation
ROUNDED = 1e-15  # of the size of stress: smaller changes are rounding


class Objective(Protocol):
    """Stress, as a function of places of shape (k, n)."""

    def at(self, X: NDArray) -> Pull:
        """Return the stress, and half of its gradient."""
        ...


class Metric(Protocol):
    """The Laplacian of the weights."""

    def inverse(self, G: NDArray) -> NDArray:
        """Return ``G V^+``."""
        ...


@dataclass(frozen=True, slots=True)
class Descent:
    """Where a descent ended, and how.

    Attributes
    ----------
    X : ndarray of shape (k, n)
    raw, size : float
        Stress there, and the weighted sum of squared distances.
    history : list of float
        Stress after each step.
    converged, stopped : bool
        Whether the tolerance was met, or the monitor asked for the end.
    certificate : Certificate
    """

    X: NDArray
    raw: float
    size: float
    history: list[float]
    converged: bool
    stopped: bool
    certificate: Certificate


class _Memory:
    """Past steps s with the changes y of the gradient, and V^+ y."""

    def __init__(self) -> None:
        self._kept: deque[tuple[NDArray, NDArray, NDArray, float]] = deque(maxlen=MEMORY)

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        self._kept.clear()

    def add(self, s: NDArray, y: NDArray, z: NDArray) -> None:
        """Keep a step, if the gradient rose along it."""
        product = float(np.vdot(s, y))
        if product > 1e-10 * float(np.vdot(y, z)):
            self._kept.append((s, y, z, product))

    def step(self, G: NDArray, R: NDArray) -> NDArray:
        """Return the quasi-Newton step for the gradient `G`, of which `R` is ``G V^+``."""
        shares = []
        G, R = G.copy(), R.copy()
        for s, y, z, product in reversed(self._kept):
            a = float(np.vdot(s, G)) / product
            shares.append(a)
            G -= a * y
            R -= a * z
        _, y, z, product = self._kept[-1]
        R *= product / float(np.vdot(y, z))
        for (s, y, _, product), a in zip(self._kept, reversed(shares), strict=True):
            R += (a - float(np.vdot(y, R)) / product) * s
        return R


def descend(
    stress: Objective,
    X: NDArray,
    metric: Metric,
    *,
    eps: float,
    max_iter: int,
    first: Pull | None = None,
    rounding: float = 0.0,
    monitor: Monitor = ignore,
) -> Descent:
    """Return places of lower stress than `X`, where a Guttman step would change little.

    Parameters
    ----------
    stress : Objective
    X : ndarray of shape (k, n)
        The start.
    metric : Metric
    eps : float
        The end is where ``|X - Gamma(X)|_V^2 <= eps |X|_V^2 / 100``: by that, and at most twice
        that, a Guttman step would lower stress. Plain majorisation that stops where a step lowers
        it by eps is still far from the minimum that it creeps to.
    max_iter : int
        Steps, at most.
    first : Pull, optional
        Settles the first step, in place of the pull of `stress` at X.
    rounding : float
        What rounding of distances and places may add to the residual that is certified.
    monitor : Monitor
        Is shown the stress after each step.
    """
    memory, n = _Memory(), X.shape[1]
    now = stress.at(X) if first is None else first
    R = metric.inverse(now.G)
    history: list[float] = []
    stopped = stalled = False
    for n_iter in range(max_iter):
        after, there = _next(stress, X, now, R, memory, free=n_iter == 0 and first is not None)
        if after is None:
            stalled = True
            if n_iter:
                break
            after, there = now, X
        S = metric.inverse(after.G)
        if first is None or n_iter:  # else they are gradients of two functions
            memory.add(there - X, after.G - now.G, S - R)
        X, now, R = there, after, S
        history.append(now.raw)
        stopped = monitor(now.raw)
        residual = _residual(now, R) + rounding
        if stopped or stalled or residual <= np.sqrt(SHARE * eps):
            break
    certificate = _certificate(_residual(now, R) + rounding, n, eps, stalled)
    return Descent(
        X, now.raw, now.size, history, certificate.holds and not stopped, stopped, certificate
    )


def _next(
    stress: Objective, X: NDArray, now: Pull, R: NDArray, memory: _Memory, free: bool
) -> tuple[Pull | None, NDArray]:
    """Return where to go from `X`; None if no step goes down. A `free` step may also go up."""
    if len(memory):
        step = memory.step(now.G, R)
        slope = float(np.vdot(now.G, step))
        there = X - step
        after = stress.at(there)
        if slope > 0 and after.raw <= now.raw - DOWN * slope:
            return after, there
        memory.clear()
    there = X - R
    after = stress.at(there)
    if free or after.raw < now.raw:
        return after, there
    return None, X


def _residual(now: Pull, R: NDArray) -> float:
    """Return ``|X - Gamma(X)|_V / |X|_V``."""
    square = max(float(np.vdot(now.G, R)), 0.0)
    return float(np.sqrt(square / now.size)) if now.size > 0 else 0.0


def _certificate(residual: float, n: int, eps: float, stalled: bool) -> Certificate:
    """Return the certificate: against what was asked for, or against rounding that ended it."""
    # a change of X by a share r changes stress by r^2, which rounding may hide
    least = ROUNDED * n if stalled else 0.0
    return Certificate(RESIDUAL, residual, float(np.sqrt(max(SHARE * eps, least))))
