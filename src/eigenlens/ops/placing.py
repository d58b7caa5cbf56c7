"""Places of new points among fixed ones, each by its own stress: compiled, row by row.

A point with distances t_j to fixed places x_j goes to

    min over y  of  sum_j w_j (t_j - |y - x_j|)^2

by Newton's method. Where a step of it does not go down, that of majorisation does,
``y - g / sum_j w_j`` with ``g = sum_j w_j (1 - t_j / |y - x_j|) (y - x_j)`` half of the gradient.
Distances that are NaN are not known and have no part.
"""

from __future__ import annotations

import numpy as np

from .jit import compiled

__all__ = ["own_stress", "place", "trilateration"]

SAME = 1e-7  # of the mean distance: nearer than that, a point is the fixed one
TOL = 1e-13  # of the mean distance
STEPS = 200
ROUNDING = 1e-13  # of stress
SMALL = 1e-14  # of the mean distance: a place so near does not pull
RIDGE = 1e-12  # of the spread of fixed places


@compiled(fast=True)
def own_stress(y, t, w, P, floor, g, H, c, e):  # type: ignore[no-untyped-def]
    """Return the stress of a point at `y`; fill `g` and `H` with half of its two derivatives.

    Places are columns of P. One that is nearer than the root of `floor` does not pull. `c` and `e`
    are room for a number for each.
    """
    k, n = P.shape
    total = plain = 0.0
    c[:] = floor
    for q in range(k):
        at, x = y[q], P[q]
        for j in range(n):
            c[j] += (at - x[j]) * (at - x[j])
    for j in range(n):
        d = np.sqrt(c[j])
        total += w[j] * (t[j] - d) * (t[j] - d)
        pull = w[j] * t[j] / d if c[j] > 2.0 * floor else 0.0
        plain += w[j] - pull
        e[j] = pull / c[j]
        c[j] = w[j] - pull
    for q in range(k):
        at, x = y[q], P[q]
        slope = 0.0
        for j in range(n):
            slope += c[j] * (at - x[j])
        g[q] = slope
        for r in range(q + 1):
            to, z = y[r], P[r]
            curve = 0.0
            for j in range(n):
                curve += e[j] * (at - x[j]) * (to - z[j])
            H[q, r] = curve
        H[q, q] += plain
    return total


@compiled
def _solved(H, b):  # type: ignore[no-untyped-def]
    """Solve ``H x = b`` in place by Cholesky, of the lower half; return whether H is definite."""
    k = len(b)
    for q in range(k):
        for r in range(q + 1):
            s = H[q, r]
            for p in range(r):
                s -= H[q, p] * H[r, p]
            if q > r:
                H[q, r] = s / H[r, r]
            elif s <= 0.0:
                return False
            else:
                H[q, q] = np.sqrt(s)
    for q in range(k):
        for p in range(q):
            b[q] -= H[q, p] * b[p]
        b[q] /= H[q, q]
    for q in range(k - 1, -1, -1):
        for p in range(q + 1, k):
            b[q] -= H[p, q] * b[p]
        b[q] /= H[q, q]
    return True


@compiled
def trilateration(t, w, P, y):  # type: ignore[no-untyped-def]
    """Fill `y` with the place that squared distances say: ``|x_j|^2 - t_j^2 = 2 y'x_j - |y|^2``.

    A weighted regression on x_j whose slope is 2 y (Gower 1968). Return whether it has one
    solution.
    """
    k, n = P.shape
    centre, A = np.zeros(k), np.zeros((k, k))
    mass = mean = ridge = 0.0
    for j in range(n):
        mass += w[j]
        mean -= w[j] * t[j] * t[j]
        for q in range(k):
            centre[q] += w[j] * P[q, j]
            mean += w[j] * P[q, j] * P[q, j]
    y[:] = 0.0
    for j in range(n):
        v = -mean / mass - t[j] * t[j]
        for q in range(k):
            v += P[q, j] * P[q, j]
        for q in range(k):
            z = w[j] * (P[q, j] - centre[q] / mass)
            y[q] += 0.5 * v * z
            for r in range(q + 1):
                A[q, r] += z * (P[r, j] - centre[r] / mass)
    for q in range(k):
        ridge += RIDGE * A[q, q]
    for q in range(k):
        A[q, q] += ridge
    return _solved(A, y)


@compiled
def _square(v):  # type: ignore[no-untyped-def]
    s = 0.0
    for q in range(len(v)):
        s += v[q] * v[q]
    return s


@compiled
def _descend(y, t, w, P, scale, mass, c, e):  # type: ignore[no-untyped-def]
    """Take `y` to a minimum of its stress, which is returned."""
    k = len(y)
    g, H = np.empty(k), np.empty((k, k))
    slope, there, step = np.zeros(k), np.empty(k), np.empty(k)
    for q in range(k):
        there[q], step[q] = y[q], np.inf
    floor = (SMALL * scale) ** 2
    now, newton = np.inf, False
    for _ in range(STEPS):
        after = own_stress(there, t, w, P, floor, g, H, c, e)
        # near the end stress falls by less than it is rounded, and its slope tells more
        flat = newton and after <= now * (1.0 + ROUNDING) and _square(g) < 0.25 * _square(slope)
        if after < now or flat:
            now, done = after, _square(step) <= (TOL * scale) ** 2
            for q in range(k):
                y[q], slope[q], step[q] = there[q], g[q], g[q]
            if done:
                break
            newton = _solved(H, step)
        elif newton:
            newton = False
        else:
            break
        for q in range(k):
            if not newton:
                step[q] = slope[q] / mass
            there[q] = y[q] - step[q]
    return now


@compiled
def place(T, W, P, Y, value):  # type: ignore[no-untyped-def]
    """Fill the rows of `Y` with the places of points whose distances to those of `P` are in T.

    Places are columns of P. W of no rows stands for weights of 1. A row needs a distance that is
    known and has weight. Each starts where the nearest fixed point is. One that is not that point
    itself starts again where its squared distances say, and the lower end counts; `value` gets its
    stress.
    """
    k, n = P.shape
    t, w, c, e = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    y = np.empty(k)
    for i in range(len(T)):
        nearest, mass, scale = -1, 0.0, 0.0
        for j in range(n):
            known = not np.isnan(T[i, j])
            t[j] = T[i, j] if known else 0.0
            w[j] = (W[i, j] if len(W) else 1.0) if known else 0.0
            mass += w[j]
            scale += w[j] * t[j]
            if w[j] > 0.0 and (nearest < 0 or t[j] < t[nearest]):
                nearest = j
        scale /= mass
        for start in range(2):
            if start == 0:
                for q in range(k):
                    y[q] = P[q, nearest]
            elif t[nearest] <= SAME * scale or not trilateration(t, w, P, y):
                break
            end = _descend(y, t, w, P, scale, mass, c, e)
            if start == 0 or end < value[i]:
                value[i] = end
                for q in range(k):
                    Y[i, q] = y[q]
