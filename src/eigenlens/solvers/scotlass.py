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
from itertools import islice, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .directions import EXHAUSTED, Directions, compressed, in_its_unit, per_component
from .solution import Certificate, Monitor, ignore
from .targets import PLACES, Face, Signs, between, first_without

__all__ = ["BoundedDirections", "solve", "solve_nonzero"]

GAP = "gain of the best feasible step, to first order / variance"
STARTS = 8  # of each kind: principal axes, columns, random directions
WARM = 30  # steps from each start, before the best one goes on alone
ATTEMPTS = 16  # ascents, at most, until one reaches a number of nonzeros
HALVINGS = 12  # for a multiplier with a number of nonzeros: what is as rare is near a tie
PATIENCE = 20  # steps without the number, after which an ascent is given up
BISECTIONS = 30  # for the multiplier c, to 1e-9 of g
NOISE = 1e-9  # of g: entries of u below are the rounding of larger ones
SLACK = 1e-9  # relative excess of an l1 norm that counts as rounding

Product = Callable[[NDArray], NDArray]

Begin = Callable[[NDArray, NDArray], tuple[NDArray, float]]
"""Takes the rows that are left and the earlier directions; gives a start and its bound."""


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


@in_its_unit
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

    def begin(left: NDArray, V: NDArray) -> tuple[NDArray, float]:
        bound = float(bounds[len(V)])
        v = _best_start(left, bound, V, rng)
        return v, bound if _within(v, bound) else float(np.abs(v).sum())

    return _one_by_one(A, bounds, begin, _Climb(tol, max_iter, monitor))


@in_its_unit
def solve_nonzero(
    A: NDArray,
    k: int,
    *,
    n_nonzero: ArrayLike,
    rng: np.random.Generator,
    tol: float,
    max_iter: int = 1000,
    monitor: Monitor = ignore,
) -> BoundedDirections:
    """Return `k` orthogonal directions with `n_nonzero` nonzeros each, and bounds that have them.

    One number, or one for each direction. The same ascent as in :func:`solve`, but each step has
    the multiplier of the l1 norm that leaves the number (:mod:`.targets`); where it rests, its l1
    norm is the bound. The nearest number is taken where none that is orthogonal to the earlier
    directions is found. Other parameters as for :func:`solve`.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.solvers import scotlass
    >>> A = np.array([[3.0, 3.1, 1.0], [-3.0, -2.9, 1.0], [0.0, -0.2, -2.0]])
    >>> rng = np.random.default_rng(0)
    >>> found = scotlass.solve_nonzero(A, 2, n_nonzero=[2, 1], rng=rng, tol=1e-10)
    >>> np.count_nonzero(found.components, axis=1)
    array([2, 1])
    """
    wanted = per_component(n_nonzero, k, "n_nonzero", np.int64)

    def begin(left: NDArray, V: NDArray) -> tuple[NDArray, float]:
        v = _WithNumber(left, V, int(wanted[len(V)]), tol, max_iter).at_rest(rng)
        return v, float(np.abs(v).sum())

    return _one_by_one(A, np.ones(k), begin, _Climb(tol, max_iter, monitor))


def _one_by_one(A: NDArray, bounds: NDArray, begin: Begin, climb: _Climb) -> BoundedDirections:
    """Return the directions that `climb` leads to, each from where it shall `begin`.

    With the bounds of those starts in place of `bounds`.
    """
    A = compressed(A)
    components = np.zeros((len(bounds), A.shape[1]))
    floor = EXHAUSTED * np.sum(A**2)
    for j, component in enumerate(components):
        V = components[:j]
        left = A - (A @ V.T) @ V
        if climb.stopped or np.sum(left**2) <= floor:
            break
        v, bounds[j] = begin(left, V)
        component[:] = climb.to_the_top(left, v, bounds[j], V)
    certificate = climb.certificate()
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
        value, gap = 0.0, np.inf
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

    def certificate(self) -> Certificate:
        return Certificate(GAP, self.gap, self._tol)


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


def _ascend(gradient: Product, v: NDArray, t: float, V: NDArray) -> NDArray:
    """Return where a few steps from `v` lead."""
    for _ in range(WARM):
        g = gradient(v)
        if not g.any():
            break
        before, v = v, _maximiser(g, t, V, np.sign(v))
        if np.abs(v - before).max() < 1e-6:
            break
    return v


def _within(v: NDArray, t: float) -> bool:
    """Whether `v`, of length 1, keeps the bound on the l1 norm."""
    return bool(np.abs(v).sum() <= t * (1 + SLACK))


# ------------------------------------------------------------------------- a number of nonzeros


class _WithNumber:
    """The ascent in which each multiplier is one that leaves `count` nonzeros."""

    def __init__(self, A: NDArray, V: NDArray, count: int, tol: float, max_iter: int) -> None:
        self._A = A
        self._V = V
        self._count = count
        self._rest = max(0.1 * np.sqrt(tol), 1e-9)  # the gap is quadratic in the step
        self._max_iter = max_iter
        self._c = 0.0
        self._mu = np.zeros(len(V))

    def at_rest(self, rng: np.random.Generator) -> NDArray:
        """Return a direction at which the ascent rests, with the number if there is one."""
        ends = [self._ascend_freely(v) for v in _starts(self._A, self._V, rng)]
        best: dict[bytes, NDArray] = {}  # for each support, as many starts lead to the same
        for v in sorted(ends, key=lambda v: -float(np.sum((self._A @ v) ** 2))):
            best.setdefault(np.flatnonzero(v).tobytes(), v)
        tries = product(PLACES, best.values())
        attempts = (self._ascend(v, place) for place, v in islice(tries, ATTEMPTS))
        return first_without(self._shortfall, attempts)[0]

    def _shortfall(self, attempt: tuple[NDArray, bool]) -> tuple[int, bool]:
        v, rests = attempt
        return abs(int(np.count_nonzero(v)) - self._count), not rests

    def _ascend_freely(self, v: NDArray) -> NDArray:
        """Return where a few steps lead that need not be orthogonal to `V`, which are cheap."""
        for _ in range(WARM):
            g = self._A.T @ (self._A @ v)
            if not g.any():
                break
            u = _soft(g, between(np.abs(g), self._count, PLACES[0]))
            before, v = v, u / np.linalg.norm(u)
            if np.abs(v - before).max() < 1e-6:
                break
        return v

    def _ascend(self, v: NDArray, place: float) -> tuple[NDArray, bool]:
        """Return where the steps from `v` lead, and whether they rest there."""
        missed = 0
        for _ in range(self._max_iter):
            before, v = v, self._step(self._A.T @ (self._A @ v), v, place)
            missed += np.count_nonzero(v) != self._count
            if np.abs(v - before).max() <= self._rest:
                return v, True
            if missed > PATIENCE:
                break
        return v, False

    def _step(self, g: NDArray, v: NDArray, place: float) -> NDArray:
        """Return the maximiser of the tangent, on the face of `v` if it is there still."""
        u = self._placed(g, v, place) if np.count_nonzero(v) == self._count else None
        if u is None:
            v = self._bisected(g)
            u = self._placed(g, v, place)
        return _orthogonal(v if u is None else u, self._V)

    def _placed(self, g: NDArray, v: NDArray, place: float) -> NDArray | None:
        """Return the answer at a `place` on the face with the signs of `v`; None if it is empty."""
        S = np.flatnonzero(v)
        face = _face(g, self._V, (S, np.sign(v[S])))
        low, high = face.interval()
        if not low < high < np.inf:
            return None
        u = face.answer(low + place * (high - low))
        return u if np.linalg.norm(u) > NOISE * np.linalg.norm(g) else None

    def _bisected(self, g: NDArray) -> NDArray:
        """Return an answer with the number of nonzeros, or the nearest that bisection meets.

        The last multiplier comes first: in most steps it will do.
        """
        low, high = 0.0, float(np.abs(g).max())
        c, best, least = self._c or high / 2, g, np.inf
        for _ in range(HALVINGS):
            u, self._mu = _thresholded(g, c, self._V, self._mu)
            u[np.abs(u) <= NOISE * np.abs(u).max()] = 0.0
            excess = int(np.count_nonzero(u)) - self._count
            if abs(excess) < least and self._is_direction(u):
                best, least, self._c = u, abs(excess), c
            if excess == 0:
                break
            low, high = (c, high) if excess > 0 else (low, c)
            c = (low + high) / 2
        return best

    def _is_direction(self, u: NDArray) -> bool:
        """Whether `u` has a length, and is orthogonal to `V`: Newton's method may have ended."""
        along = np.linalg.norm(self._V @ u)
        return bool(u.any() and along <= 1e-6 * np.linalg.norm(u))


def _face(g: NDArray, V: NDArray, of: Signs) -> Face:
    """Return the answers ``argmin 1/2 |u - g|^2 + c |u|_1`` with ``V u = 0`` and these signs."""
    S, signs = of
    both = np.stack([g[S], signs], axis=1)
    mu = np.linalg.lstsq(V[:, S].T, both, rcond=None)[0]
    p, q = (both - V[:, S].T @ mu).T
    r, e = g - mu[:, 0] @ V, mu[:, 1] @ V
    r[S] = e[S] = 0.0
    return Face(S, signs, p, q, r, e)


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
