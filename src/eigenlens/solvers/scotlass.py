"""SCoTLASS: principal components with a bound on their l1 norm (Jolliffe, Trendafilov, Uddin 2003).

One direction after the other, maximise

    v'A'A v    with |v|_2 <= 1, |v|_1 <= t, and V v = 0 for the earlier directions V (rows).

The objective is convex, so it lies above its tangent, and going to where the tangent at v is
largest never lowers it:

    v <- argmax <g, u> over the same set,    g = A'A v.

That problem is convex and small. For a multiplier c of the l1 norm its answer has the direction of

    u = argmin 1/2 |u - g|^2 + c |u|_1    with V u = 0,

which is soft thresholding of ``g - V'mu`` for the right mu, found by Newton's method; and |u|_1 /
|u|_2 falls as c grows, so c is found by bisection (Witten, Tibshirani, Hastie 2009, have it without
V). Once the signs of u are known, c and mu are known in closed form: that ends the bisection, and
makes it needless in most steps. Several starts, because the maximum of a convex function may be
local. Allocates a few copies of A.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .directions import EXHAUSTED, Directions, compressed, per_component
from .solution import Certificate, Monitor, ignore

__all__ = ["BoundedDirections", "solve"]

GAP = "gain of the best feasible step, to first order / variance"
STARTS = 8  # of each kind: principal axes, columns, random directions
WARM = 30  # steps from each start, before the best one goes on alone
BISECTIONS = 30  # for the multiplier c, to 1e-9 of g
NOISE = 1e-9  # of g: entries of u below are the rounding of larger ones
SLACK = 1e-9  # relative excess of an l1 norm that counts as rounding

Product = Callable[[NDArray], NDArray]


@dataclass(frozen=True, slots=True, eq=False)
class BoundedDirections(Directions):
    """Directions with a bound on the l1 norm.

    Attributes
    ----------
    l1_bounds : ndarray of shape (k,)
        The bound that each direction keeps: `t`, or more where no unit vector that is orthogonal
        to the earlier directions was found within `t`. Then it is the smallest l1 norm found.
    """

    l1_bounds: NDArray


def solve(
    A: NDArray,
    k: int,
    *,
    t: ArrayLike,
    rng: np.random.Generator,
    tol: float,
    max_iter: int = 1000,
    monitor: Monitor = ignore,
) -> BoundedDirections:
    """Return `k` orthogonal directions of `A`, which is centred, with l1 norms of at most `t`.

    Parameters
    ----------
    A : ndarray of shape (m, d)
        The table, or any matrix with the same ``A'A``.
    k : int
    t : float or sequence of k floats
        At least 1, where directions are single variables; from ``sqrt(d)`` on this is PCA.
    rng : Generator
        For some of the starts.
    tol : float
        Relative gain, to first order, of the best feasible step at which a direction is done.
    max_iter : int
        Steps, at most, for each direction.
    monitor : callable
        Sees the variance of the directions so far, after each step.

    Returns
    -------
    BoundedDirections
        Directions beyond the rank of A are zero.

    References
    ----------
    I. T. Jolliffe, N. T. Trendafilov, M. Uddin, A modified principal component technique based on
    the lasso, J. Computational and Graphical Statistics 12 (2003).
    D. M. Witten, R. Tibshirani, T. Hastie, A penalized matrix decomposition, Biostatistics 10
    (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.solvers import scotlass
    >>> A = np.array([[3.0, 3.1, 1.0], [-3.0, -2.9, 1.0], [0.0, -0.2, -2.0]])
    >>> found = scotlass.solve(A, 2, t=1.4, rng=np.random.default_rng(0), tol=1e-10)
    >>> np.abs(found.components).round(3)
    array([[0.6  , 0.8  , 0.   ],
           [0.054, 0.041, 0.998]])
    >>> found.l1_bounds
    array([1.4, 1.4])
    """
    bounds = per_component(t, k, "t").copy()
    if bounds.min(initial=1.0) < 1:
        raise ValueError(
            f"t={t!r} is less than 1, and no unit vector has so small an l1 norm. "
            f"Give at least 1, or from sqrt(d)={np.sqrt(A.shape[1]):.3g} on for plain PCA."
        )
    A = compressed(A)
    climb = _Climb(tol, max_iter, monitor)
    components = np.zeros((k, A.shape[1]))
    floor = EXHAUSTED * np.sum(A**2)
    for j, component in enumerate(components):
        V = components[:j]
        left = A - (A @ V.T) @ V
        if climb.stopped or np.sum(left**2) <= floor:
            break
        v = _best_start(left, bounds[j], V, rng)
        if not _within(v, bounds[j]):
            bounds[j] = np.abs(v).sum()
        component[:] = climb.to_the_top(left, v, bounds[j], V)
    certificate = Certificate(GAP, climb.gap, tol)
    return BoundedDirections(
        components=components,
        objective_history=np.array(climb.history),
        n_iter=len(climb.history),
        converged=certificate.holds and not climb.stopped,
        certificate=certificate,
        l1_bounds=bounds,
    )


# ------------------------------------------------------------------------------------ the ascent


class _Climb:
    """The way up from the best start, watched by a monitor, for one direction after the other."""

    def __init__(self, tol: float, max_iter: int, monitor: Monitor) -> None:
        self.history: list[float] = []
        self.gap = 0.0  # of the worst direction
        self.stopped = False
        self._tol = tol
        self._max_iter = max_iter
        self._monitor = monitor
        self._before = 0.0  # variance of the directions that are finished

    def to_the_top(self, A: NDArray, v: NDArray, t: float, V: NDArray) -> NDArray:
        """Step up from `v`, which is feasible, until no step gains."""
        for step in range(1, self._max_iter + 1):
            g = A.T @ (A @ v)
            value = float(v @ g)
            self.history.append(self._before + value)
            u = _maximiser(g, t, V, np.sign(v))
            # A step to outside the bound means that no unit vector within it leads further.
            gap = float(g @ u) / value - 1 if _within(u, t) else 0.0
            self.stopped = self._monitor(self.history[-1])
            if gap <= self._tol or self.stopped or step == self._max_iter:
                break
            v = u
        self.gap = max(self.gap, gap)
        self._before += value
        return v


def _best_start(A: NDArray, t: float, V: NDArray, rng: np.random.Generator) -> NDArray:
    """Return the best direction that a few steps from each start lead to.

    Where none of them is within `t`, the one with the smallest l1 norm that is found.
    """
    starts = _starts(A, V, rng)
    found = [_ascend(lambda v: A.T @ (A @ v), v, t, V) for v in starts]
    found = [v for v in found if _within(v, t)]
    if found:
        return max(found, key=lambda v: float(np.sum((A @ v) ** 2)))
    # The largest l2 norm for a given l1 norm: the same ascent, for the identity.
    shortest = [_ascend(lambda v: v, v, 1.0, V) for v in starts]
    return min(shortest, key=lambda v: float(np.abs(v).sum()))


def _starts(A: NDArray, V: NDArray, rng: np.random.Generator) -> list[NDArray]:
    """Return unit vectors to start from, orthogonal to `V`."""
    d = A.shape[1]
    _, s, axes = np.linalg.svd(A, full_matrices=False)
    axes = axes[: max(1, min(STARTS, int(np.sum(s > 1e-10 * s[0]))))]
    largest = np.argsort(-np.sum(A**2, axis=0), kind="stable")[:STARTS]
    rows = np.vstack([axes, np.eye(d)[largest], rng.standard_normal((STARTS, d))])
    rows -= (rows @ V.T) @ V
    lengths = np.linalg.norm(rows, axis=1)
    kept = lengths > 1e-6
    return list(rows[kept] / lengths[kept, None])


def _ascend(product: Product, v: NDArray, t: float, V: NDArray) -> NDArray:
    """Return where a few steps from `v` lead."""
    for _ in range(WARM):
        g = product(v)
        if not g.any():
            break
        before, v = v, _maximiser(g, t, V, np.sign(v))
        if np.abs(v - before).max() < 1e-6:
            break
    return v


def _within(v: NDArray, t: float) -> bool:
    """Whether `v`, of length 1, keeps the bound on the l1 norm."""
    return bool(np.abs(v).sum() <= t * (1 + SLACK))


# ---------------------------------------------------------------------------------- one step up


def _maximiser(g: NDArray, t: float, V: NDArray, signs: NDArray) -> NDArray:
    """Return the unit vector with ``V u = 0`` and an l1 norm of at most `t` that has most of `g`.

    `signs` is a guess of its signs. Where orthogonality leaves no unit vector on the way down to
    the bound, return the last one on that way, which exceeds it.
    """
    u = g - (V @ g) @ V
    if _within(u / np.linalg.norm(u), t):
        return u / np.linalg.norm(u)
    on_face = _on_face(g, t, V, signs)
    low, high, mu = 0.0, float(np.abs(g).max()), np.zeros(len(V))
    above, below = u, None
    for _ in range(BISECTIONS):
        if on_face is not None:
            return on_face
        c = (low + high) / 2
        u, mu = _thresholded(g, c, V, mu)
        if np.abs(u).sum() > t * np.linalg.norm(u):
            low, above = c, u
        else:
            high, below = c, u if u.any() else below
        on_face = _on_face(g, t, V, np.sign(u))
    return _orthogonal(above if below is None else below, V)


def _on_face(g: NDArray, t: float, V: NDArray, signs: NDArray) -> NDArray | None:
    """Return the maximiser if its signs are `signs`, and None if they are not.

    On the support, ``u = g - V'mu - c signs`` up to scale. With p and q what is left of g and of
    the signs after regression on V (and, for p, on q), ``u = p + b q`` and ``|u|_1 = b |q|^2``, so
    that ``|u|_1 = t |u|_2`` has one solution b > 0 if |q| > t.
    """
    S = np.flatnonzero(signs)
    both = np.stack([signs[S], g[S]], axis=1)
    mu = np.linalg.lstsq(V[:, S].T, both, rcond=None)[0]
    q, h = (both - V[:, S].T @ mu).T
    square = q @ q
    if square <= t**2 * (1 + SLACK):
        return None
    along = q @ h / square
    p = h - along * q
    b = t * np.linalg.norm(p) / np.sqrt(square * (square - t**2))
    c = along - b
    u = np.zeros_like(g)
    u[S] = p + b * q
    outside = np.abs(g - (mu[:, 1] - c * mu[:, 0]) @ V)[signs == 0]
    optimal = c >= 0 and np.array_equal(np.sign(u), signs)
    if not optimal or outside.max(initial=0.0) > c + SLACK * np.abs(g).max():
        return None
    return _orthogonal(u, V)


def _thresholded(g: NDArray, c: float, V: NDArray, mu: NDArray) -> tuple[NDArray, NDArray]:
    """Return ``argmin 1/2 |u - g|^2 + c |u|_1`` with ``V u = 0``, and the multiplier of V.

    The dual, ``1/2 |soft(g - V'mu, c)|^2``, is convex, smooth and piecewise quadratic in mu:
    Newton's method, with steps halved until they gain, ends after finitely many.
    """
    size = np.abs(g).max()
    u = _soft(g - mu @ V, c)
    for _ in range(50):
        slope = V @ u
        if np.abs(slope).max(initial=0.0) <= 1e-14 * size or np.abs(u).max() <= NOISE * size:
            break
        S = np.flatnonzero(u)
        step = np.linalg.lstsq(V[:, S] @ V[:, S].T, slope, rcond=None)[0]
        new = _soft(g - (mu + step) @ V, c)
        while new @ new > u @ u - 1e-4 * (slope @ step) and np.abs(step).max() > 1e-14 * size:
            step = step / 2
            new = _soft(g - (mu + step) @ V, c)
        if new @ new >= u @ u:
            break
        mu, u = mu + step, new
    return np.where(np.abs(u).max() > NOISE * size, u, 0.0), mu


def _soft(z: NDArray, c: float) -> NDArray:
    """Return `z` drawn to zero by `c`."""
    return np.asarray(np.sign(z) * np.maximum(np.abs(z) - c, 0.0))


def _orthogonal(u: NDArray, V: NDArray) -> NDArray:
    """Return `u` less its part along `V` on its own support, with length 1."""
    S = np.flatnonzero(np.abs(u) > NOISE * np.abs(u).max())
    out = np.zeros_like(u)
    out[S] = u[S] - V[:, S].T @ np.linalg.lstsq(V[:, S].T, u[S], rcond=None)[0]
    return np.asarray(out / np.linalg.norm(out))
