"""Compiled loops for counts: rows of codes w with no negative entry, under Kullback and Leibler.

Each row x has its own problem, and all share the parts H (k x m)::

    min over w >= 0 of  sum_j (x_j log(x_j / y_j) - x_j)  +  S'w  +  l2/2 |w|^2,    y = w H

S holds the sums of the rows of H over what is observed, plus the l1 penalty. With ``q = x / y`` and
``P = sum h q``, ``Q = sum h^2 q / y`` for the row h of H, coordinate w_a has the gradient ``g = G -
P``, ``G = S + l2 w``, and the second derivative ``Q + l2``. As its value moves to s, P becomes a
function p(s), convex and falling, with 1/p concave. Two bounds follow from what is known at w:

    p(s) >= P^2 / (P + (s - w) Q)     the tangent of 1/p
    p(s) <= P w / s                   for s <= w, as y_j >= w h_j

The first puts the minimiser at or above the root s_R of ``S + l2 s = P^2 / (P + (s - w) Q)``: a
step up to s_R stops short of it, yet goes further than Newton's. The gradient is concave in s, so
its mean between s and w is at least that of its two ends, and by the second bound a step down to

    s_D > 0,   l2 s^2 + (2 S + l2 w - P) s = P w

or less far lowers the objective. So ``max(s_R, s_D)`` never raises it, needs no search and no
further look at the data, and is Newton's step in the limit. (Hsieh, Dhillon 2011 have that step
without a guard, Hien, Gillis 2021 with one that self-concordance gives.) Where s_R is not above 0,
the gradient at 0 tells whether 0 is the minimiser.
"""

from __future__ import annotations

import numpy as np

from .jit import compiled

__all__ = ["poisson_rows"]

RIDGE = 1e-12  # of the largest diagonal entry: parts that are dependent leave a face singular
HALVINGS = 40


@compiled(fast=True)
def poisson_rows(data, columns, starts, dense, H, S, l2, W, Q, floor, sweeps, rest, newton):  # type: ignore[no-untyped-def]
    """Lower the objective of each row of a CSR matrix from its code in `W`; return what is left.

    `H` is transposed: zeros of x add nothing but what S holds, so a row takes the parts at its
    nonzeros and needs no more. `dense` rows need no `columns`, and `H` as it is.

    A row has at most `sweeps` over its coordinates, and rests when one promises less than `rest` of
    the row's sum. With `newton`, steps on the face of the nonzeros come between sweeps; then a row
    costs little to solve to the end. `Q`, like `data`, has ``x / y`` on the way out.

    What is left of a row is what its last sweep promised: the sum of the decreases by the quadratic
    models of the coordinates, one at a time, as each was met. Without sweeps, what one would.
    """
    k = W.shape[1]
    longest = 0
    for i in range(len(W)):
        longest = max(longest, starts[i + 1] - starts[i])
    near = np.empty(0 if dense else k * longest, H.dtype)
    y, v, u = np.empty(longest, H.dtype), np.empty(longest, H.dtype), np.empty(longest, H.dtype)
    A, step, face = np.empty((k, k)), np.empty(k), np.empty(k, np.int64)
    left = np.empty(len(W))
    for i in range(len(W)):
        first, m = starts[i], starts[i + 1] - starts[i]
        own = H
        if not dense:
            own = near[: k * m].reshape(k, m)
            for j in range(m):
                for a in range(k):
                    own[a, j] = H[columns[first + j], a]
        x, q = data[first : first + m], Q[first : first + m]
        left[i] = _row(
            *(x, own, S[i], l2, W[i], q, y[:m], v[:m], u[:m], A, step, face),
            *(floor, sweeps, rest, newton),
        )
    return left


@compiled(fast=True)
def _row(x, H, S, l2, w, q, y, v, u, A, step, face, floor, sweeps, rest, newton):  # type: ignore[no-untyped-def]
    """Treat one row; y, v, u, A, step and face are scratch."""
    y[:] = 0.0
    for a in range(len(w)):
        if w[a] > 0.0:
            _add(y, H[a], w[a])
    _move(y, floor - floor, y, v, floor)
    promised = least = 0.0
    move = sweeps > 0  # a constant would have the loop compiled twice
    if not move:
        promised = _sweep(x, H, S, l2, w, y, v, floor, move)
    for j in range(len(x)):
        least += x[j]
    least *= rest
    for t in range(sweeps):
        promised = _sweep(x, H, S, l2, w, y, v, floor, move)
        if promised <= least:
            break
        if newton and t > 0:  # the first sweeps find the face
            _newton(x, H, S, l2, w, y, v, u, A, step, face, floor)
    for j in range(len(x)):
        q[j] = x[j] * v[j]
    return promised


@compiled(fast=True)
def _sweep(x, H, S, l2, w, y, v, floor, move):  # type: ignore[no-untyped-def]
    """Move each coordinate in turn, or none; return the sum of the decreases they promise."""
    promised = 0.0
    for a in range(len(w)):
        old = w[a]
        P, Q = _sums(H[a], x, v)
        g, curvature = S[a] + l2 * old - P, Q + l2
        if g > curvature * old:
            promised += old * (g - 0.5 * curvature * old)
        elif g != 0.0:
            promised += 0.5 * g * g / curvature
        if move and (g < 0.0 or (g > 0.0 and old > 0.0)):
            w[a] = _better(x, H[a], S[a], l2, float(old), y, P, Q, floor)
            _move(H[a], w[a] - old, y, v, floor)
    return promised


@compiled(fast=True)
def _better(x, h, S, l2, old, y, P, Q, floor):  # type: ignore[no-untyped-def]
    """Return a value of one coordinate that is at least as good as the old."""
    if P <= 0.0:
        return 0.0
    G = S + l2 * old
    g, b = G - P, G * Q + l2 * P
    root = old - 2.0 * P * g / (b + np.sqrt(max(b * b - 4.0 * l2 * Q * P * g, 0.0)))
    if g < 0.0:
        return root
    if root <= 0.0 and _sum_at_zero(x, h, y, h.dtype.type(old), floor) <= S:
        return 0.0
    c = G + S - P
    return max(root, 2.0 * P * old / (c + np.sqrt(c * c + 4.0 * l2 * P * old)))


@compiled(fast=True)
def _dot(h, u):  # type: ignore[no-untyped-def]
    total = h.dtype.type(0)
    for j in range(len(h)):
        total += h[j] * u[j]
    return total


@compiled(fast=True)
def _sums(h, x, v):  # type: ignore[no-untyped-def]
    """Return P and Q, as float64: their products overflow float32."""
    P, Q = h.dtype.type(0), h.dtype.type(0)
    for j in range(len(h)):
        u = h[j] * v[j]
        p = u * x[j]
        P += p
        Q += p * u
    return float(P), float(Q)


@compiled(fast=True)
def _sum_at_zero(x, h, y, old, floor):  # type: ignore[no-untyped-def]
    """Return p(0): what P would be without the part h."""
    total = h.dtype.type(0)
    for j in range(len(h)):
        total += x[j] * h[j] / max(y[j] - old * h[j], floor)
    return total


@compiled(fast=True)
def _add(y, h, step):  # type: ignore[no-untyped-def]
    for j in range(len(y)):
        y[j] += step * h[j]


@compiled(fast=True)
def _move(h, step, y, v, floor):  # type: ignore[no-untyped-def]
    """Go a step along h, and keep ``v = 1 / y``; rounding must not take y to zero."""
    one = h.dtype.type(1)
    for j in range(len(h)):
        y[j] = max(y[j] + step * h[j], floor)
        v[j] = one / y[j]


@compiled(fast=True)
def _newton(x, H, S, l2, w, y, v, u, A, step, face, floor):  # type: ignore[no-untyped-def]
    """Take Newton's step on the face of the nonzeros, if some part of it lowers the objective.

    The Hessian is ``H diag(x / y^2) H' + l2``, of the nonzeros alone. At first all coordinates that
    the step takes below zero stay at zero. That may raise the objective; then the step ends where
    the first of them reaches zero, and is halved until it does not.
    """
    n = 0
    for a in range(len(w)):
        if w[a] > 0.0:
            face[n] = a
            n += 1
    face, step = face[:n], step[:n]
    largest = 0.0
    for i in range(n):
        h = H[face[i]]
        for j in range(len(x)):
            u[j] = h[j] * x[j] * v[j] * v[j]
        step[i] = _dot(y, u) - S[face[i]] - l2 * w[face[i]]
        for b in range(i + 1):
            A[i, b] = _dot(H[face[b]], u)
        A[i, i] += l2
        largest = max(largest, A[i, i])
    _solve(A, step, RIDGE * largest)
    whole = A[0]  # no longer needed
    t = 1.0
    for i in range(n):
        whole[i] = max(step[i], -w[face[i]])
        if whole[i] > step[i]:
            t = min(t, whole[i] / step[i])
    if t < 1.0 and _go(x, H, S, l2, w, y, v, u, whole, face, 1.0, floor):
        return
    for _ in range(HALVINGS):
        if _go(x, H, S, l2, w, y, v, u, step, face, t, floor):
            return
        t *= 0.5


@compiled(fast=True)
def _go(x, H, S, l2, w, y, v, u, step, face, t, floor):  # type: ignore[no-untyped-def]
    """Go t steps on the face if that does not raise the objective; return whether it did not.

    With u the change of y, that of the objective is ``S'd + l2 (w + d/2)'d - sum x log(1 + u/y)``.
    """
    change = 0.0
    u[:] = 0.0
    for i in range(len(face)):
        a, d = face[i], t * step[i]
        change += (S[a] + l2 * (w[a] + 0.5 * d)) * d
        _add(u, H[a], d)
    for j in range(len(x)):
        if x[j] > 0.0:
            ratio = u[j] * v[j]
            if ratio <= -1.0:
                return False
            change -= x[j] * np.log1p(ratio)
    if not change <= 0.0:
        return False
    for i in range(len(face)):
        w[face[i]] = max(w[face[i]] + t * step[i], 0.0)
    _move(u, x.dtype.type(1), y, v, floor)
    return True


@compiled(fast=True)
def _solve(A, z, ridge):  # type: ignore[no-untyped-def]
    """Solve ``(A + ridge) d = z`` by Cholesky; z becomes d, the first lines of A its factor."""
    n = len(z)
    for i in range(n):
        A[i, i] += ridge
        for b in range(i + 1):
            total = A[i, b]
            for j in range(b):
                total -= A[i, j] * A[b, j]
            A[i, b] = total / A[b, b] if b < i else np.sqrt(max(total, ridge))
        total = z[i]
        for j in range(i):
            total -= A[i, j] * z[j]
        z[i] = total / A[i, i]
    for i in range(n - 1, -1, -1):
        z[i] /= A[i, i]
        for j in range(i):
            z[j] -= A[i, j] * z[i]
