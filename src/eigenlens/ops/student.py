"""Compiled loops of embeddings by Student's t: pulls and pushes between places, widths, steps.

Places y attract each other by the affinities p that are given, and all repel each other. With nu
degrees of freedom::

    u_ij = 1 / (1 + |y_i - y_j|^2 / nu),    w_ij = u_ij^((nu + 1) / 2),    Z = sum of all w

    pull on i:  sum_j p_ij u_ij (y_i - y_j)        push on i:  sum_j w_ij u_ij (y_i - y_j)
"""

from __future__ import annotations

import numpy as np

from .jit import compiled

__all__ = [
    "attract",
    "calibrate",
    "codes_of",
    "grow",
    "misfit",
    "repel",
    "repel_by_tree",
    "settle",
    "step",
]

CHUNK = 4096  # places whose sums are in single precision
WIDTHS = 200  # trials for one width
ENTROPY = 1e-12  # error of the entropy that a width is found to


@compiled(fast=True)
def _push_plane(at, Y, mass, force):  # type: ignore[no-untyped-def]
    """Do what `push` does in two dimensions with one degree of freedom, all in registers."""
    number = np.arange(2).astype(Y.dtype)  # constants in the precision of Y
    zero, one = number[0], number[1]
    x, y, X, Z = at[0], at[1], Y[0], Y[1]
    total = across = up = 0.0
    for start in range(0, len(X), CHUNK):
        part, a, b = zero, zero, zero
        for c in range(start, min(start + CHUNK, len(X))):
            s, t = x - X[c], y - Z[c]
            u = one / (one + s * s + t * t)
            w = mass[c] * u
            part += w
            w *= u
            a += w * s
            b += w * t
        total, across, up = total + part, across + a, up + b
    force[0], force[1] = across, up
    return total


@compiled
def push(at, Y, mass, nu, force):  # type: ignore[no-untyped-def]
    """Fill `force` with the push on `at` of places, columns of Y, that stand for `mass` points.

    Returns the sum of w.
    """
    k, n = Y.shape
    if k == 2 and nu == 1:
        return _push_plane(at, Y, mass, force)
    total = 0.0
    force[:] = 0.0
    for c in range(n):
        square = 0.0
        for d in range(k):
            square += (at[d] - Y[d, c]) ** 2
        u = 1 / (1 + square / nu)
        w = mass[c] * u ** ((nu + 1) / 2)
        total += w
        for d in range(k):
            force[d] += w * u * (at[d] - Y[d, c])
    return total


@compiled
def _copy(source, target):  # type: ignore[no-untyped-def]
    """Write one place over another."""
    for d in range(len(target)):
        target[d] = source[d]


@compiled
def repel(Y, nu, first, last, forces, sums):  # type: ignore[no-untyped-def]
    """Fill rows `first` to `last` of `forces` with pushes, and of `sums` with sums of w.

    Places are columns of Y, in the precision that is to be computed in.
    """
    at = np.empty(len(Y), Y.dtype)
    mass = np.ones(Y.shape[1], Y.dtype)
    for i in range(first, last):
        _copy(Y[:, i], at)
        sums[i] = push(at, Y, mass, nu, forces[i]) - 1  # that of i with itself


@compiled
def codes_of(Y, low, scale, bits, codes):  # type: ignore[no-untyped-def]
    """Fill `codes` with the cells that places, columns of Y, are in, by the curve of Morton.

    Bits of the coordinates take turns, the highest first, so that places whose codes are near to
    each other are near to each other, and those with the same first bits share a cell.
    """
    k, n = Y.shape
    for i in range(n):
        code = np.uint64(0)
        for d in range(k):
            x = np.uint64((Y[d, i] - low[d]) * scale)
            for b in range(bits):
                bit = (x >> np.uint64(b)) & np.uint64(1)
                code |= bit << np.uint64(b * k + d)
        codes[i] = code


@compiled
def grow(codes, Y, leaf, first, last, skip, middle, extent):  # type: ignore[no-untyped-def]
    """Fill a tree over places, columns of Y in the order of their codes; return its size.

    Node v has the places from ``first[v]`` to ``last[v]``, with mean ``middle[v]`` and a box that
    is at most ``extent[v]`` wide. Its children, one for each value of the first bit in which its
    codes differ, follow; the next node that is not below it is ``skip[v]``. A node with at most
    `leaf` places, or all in one cell, has no children.
    """
    k, n = Y.shape
    waiting = np.empty((130, 3), np.int64)  # no deeper than codes are long
    depth = np.empty(len(first), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, n, 0
    many, v = 1, 0
    while many > 0:
        many -= 1
        a, b, at = waiting[many, 0], waiting[many, 1], waiting[many, 2]
        first[v], last[v], depth[v] = a, b, at
        width = 0.0
        for d in range(k):
            total, least, most = 0.0, Y[d, a], Y[d, a]
            for i in range(a, b):
                total += Y[d, i]
                least, most = min(least, Y[d, i]), max(most, Y[d, i])
            middle[v, d] = total / (b - a)
            width = max(width, most - least)
        extent[v] = width
        differ = codes[a] ^ codes[b - 1]
        if b - a > leaf and differ != 0:
            while differ & (differ - np.uint64(1)):
                differ &= differ - np.uint64(1)  # only the highest bit stays
            low, high = a, b
            while low < high:
                half = (low + high) // 2
                if codes[half] & differ:
                    high = half
                else:
                    low = half + 1
            waiting[many, 0], waiting[many, 1], waiting[many, 2] = low, b, at + 1
            many += 1
            waiting[many, 0], waiting[many, 1], waiting[many, 2] = a, low, at + 1
            many += 1
        v += 1
    above = np.full(depth[:v].max() + 1, v)  # the next node no deeper than that
    for u in range(v - 1, -1, -1):
        skip[u] = above[depth[u]]
        above[depth[u] :] = u
    return v


@compiled
def repel_by_tree(  # type: ignore[no-untyped-def]
    Y, first, last, skip, middle, extent, angle, nu, start, stop, order, forces, sums
):
    """Fill `forces` and `sums` for the leaves among nodes `start` to `stop`, as `repel` does.

    A leaf goes through the tree once for all its places. A node that looks smaller than `angle`
    from the nearest point of the leaf's box stands for its places; a leaf does not.
    """
    k, n = Y.shape
    box = np.empty((2, k))
    at = np.empty(k, Y.dtype)
    seen, mass = np.empty((k, n), Y.dtype), np.empty(n, Y.dtype)
    for leaf in range(start, stop):
        if skip[leaf] != leaf + 1:
            continue
        a, b = first[leaf], last[leaf]
        for d in range(k):
            box[0, d], box[1, d] = Y[d, a:b].min(), Y[d, a:b].max()
        many, v = 0, 0
        while v < skip[0]:
            away = 0.0
            for d in range(k):
                gap = max(box[0, d] - middle[v, d], middle[v, d] - box[1, d], 0.0)
                away += gap * gap
            if extent[v] * extent[v] < angle * angle * away:
                for d in range(k):
                    seen[d, many] = middle[v, d]
                mass[many] = last[v] - first[v]
                many += 1
                v = skip[v]
            elif skip[v] == v + 1:
                for i in range(first[v], last[v]):
                    for d in range(k):
                        seen[d, many] = Y[d, i]
                    mass[many] = 1
                    many += 1
                v = skip[v]
            else:
                v += 1
        for i in range(a, b):
            _copy(Y[:, i], at)
            j = order[i]
            sums[j] = push(at, seen[:, :many], mass[:many], nu, forces[j]) - 1


@compiled(fast=True)
def attract(starts, others, affinities, Y, nu, first, last, forces):  # type: ignore[no-untyped-def]
    """Fill rows `first` to `last` of `forces` with pulls. Places are rows of Y."""
    k, share = Y.shape[1], 1 / nu
    for i in range(first, last):
        if k == 2:
            x, y = Y[i, 0], Y[i, 1]
            across = up = 0.0
            for e in range(starts[i], starts[i + 1]):
                s, t = x - Y[others[e], 0], y - Y[others[e], 1]
                pull = affinities[e] / (1 + (s * s + t * t) * share)
                across += pull * s
                up += pull * t
            forces[i, 0], forces[i, 1] = across, up
            continue
        forces[i] = 0.0
        for e in range(starts[i], starts[i + 1]):
            square = 0.0
            for d in range(k):
                square += (Y[i, d] - Y[others[e], d]) ** 2
            pull = affinities[e] / (1 + square * share)
            for d in range(k):
                forces[i, d] += pull * (Y[i, d] - Y[others[e], d])


@compiled
def misfit(starts, others, affinities, Y, nu, first, last):  # type: ignore[no-untyped-def]
    """Return the sum of p log(p / w) over rows `first` to `last`: the divergence less log Z."""
    total = 0.0
    for i in range(first, last):
        for e in range(starts[i], starts[i + 1]):
            p = np.float64(affinities[e])
            if p > 0:
                square = 0.0
                for d in range(Y.shape[1]):
                    square += (Y[i, d] - Y[others[e], d]) ** 2
                total += p * (np.log(p) + (nu + 1) / 2 * np.log1p(square / nu))
    return total


@compiled
def calibrate(squares, entropy, out):  # type: ignore[no-untyped-def]
    """Fill rows of `out` with Gaussian weights of squared distances, of sum 1 and given entropy.

    With ``p_j`` in proportion to ``exp(-b s_j)``, the entropy ``log sum exp(-b s_j) + b mean(s)``
    falls with b, at the rate ``b var(s)``: Newton's steps, kept inside of what is known of b. Where
    no b has that entropy, for there are not enough points or too many as near, the nearest.
    """
    n = squares.shape[1]
    s = np.empty(n, squares.dtype)
    for i in range(len(squares)):
        p, least, mean = out[i], np.inf, 0.0
        for j in range(n):
            least = min(least, squares[i, j])
        for j in range(n):
            s[j] = squares[i, j] - least
            mean += s[j] / n
        low, high, b = 0.0, np.inf, 1.0 / mean if mean > 0 else 1.0
        for _ in range(WIDTHS):
            total = first = second = 0.0
            for j in range(n):
                p[j] = np.exp(-b * s[j])
                total += p[j]
                first += p[j] * s[j]
                second += p[j] * s[j] * s[j]
            first /= total
            excess = np.log(total) + b * first - entropy
            if abs(excess) <= ENTROPY:
                break
            if excess > 0:
                low = b
            else:
                high = b
            slope = b * (second / total - first * first)
            trial = b + excess / slope if slope > 0 else np.inf
            if not low < trial < high or trial == np.inf:
                trial = 2 * b if high == np.inf else (low + high) / 2
            if trial == b or trial == np.inf:
                break
            b = trial
        for j in range(n):
            p[j] /= total


@compiled
def step(Y, gradient, update, gains, momentum, rate, longest):  # type: ignore[no-untyped-def]
    """Take one step of descent with momentum, and keep the mean of the places at zero.

    The rate of each coordinate has a gain: it grows while the gradient agrees with the way that the
    coordinate has taken, and falls where it turned (R. A. Jacobs, Neural Networks 1, 1988). No
    place goes further than `longest`.
    """
    n, k = Y.shape
    mean = np.zeros(k)
    for i in range(n):
        length = 0.0
        for d in range(k):
            g = gradient[i, d]
            gain = gains[i, d] + 0.2 if update[i, d] * g < 0 else gains[i, d] * 0.8
            gains[i, d] = gain = max(gain, 0.01)
            update[i, d] = momentum * update[i, d] - rate * gain * g
            length += update[i, d] ** 2
        share = min(1.0, longest / np.sqrt(length)) if length > 0 else 1.0
        for d in range(k):
            update[i, d] *= share
            Y[i, d] += update[i, d]
            mean[d] += Y[i, d] / n
    for i in range(n):
        for d in range(k):
            Y[i, d] -= mean[d]


@compiled
def _misplaced(at, Y, mass, nu, nearest, p, force):  # type: ignore[no-untyped-def]
    """Return the divergence of p from the w of `at`, up to a constant, and what a step divides by.

    `force` becomes the gradient over ``(nu + 1) / nu``.
    """
    k = len(at)
    total = push(at, Y, mass, nu, force)
    for d in range(k):
        force[d] /= -total
    value, weight = np.log(total), 0.0
    for e in range(len(nearest)):
        square = 0.0
        for d in range(k):
            square += (at[d] - Y[d, nearest[e]]) ** 2
        pull = p[e] / (1 + square / nu)
        weight += pull
        value += p[e] * (nu + 1) / 2 * np.log1p(square / nu)
        for d in range(k):
            force[d] += pull * (at[d] - Y[d, nearest[e]])
    return value, weight


@compiled
def settle(Y, nu, nearest, p, most, tol, places):  # type: ignore[no-untyped-def]
    """Move each of `places` to where its divergence from Y, columns that stay, is least.

    Pulls alone have a quadratic bound with curvature `weight`, whose minimum is one step of length
    1. Pushes make the best step longer or shorter: it grows while it succeeds, and is halved where
    the divergence would rise, until it moves a place by less than `tol`.
    """
    k = len(Y)
    mass = np.ones(Y.shape[1], Y.dtype)
    trial, force, ahead = np.empty(k), np.empty(k), np.empty(k)
    for i in range(len(places)):
        at = places[i]
        value, weight = _misplaced(at, Y, mass, nu, nearest[i], p[i], force)
        length = 1.0
        for _ in range(most):
            moved = 0.0
            for d in range(k):
                shift = length * force[d] / weight
                trial[d] = at[d] - shift
                moved += shift * shift
            if moved <= tol * tol:
                break
            reached, bent = _misplaced(trial, Y, mass, nu, nearest[i], p[i], ahead)
            if reached < value:
                _copy(trial, at)
                _copy(ahead, force)
                value, weight = reached, bent
                length *= 1.5
            else:
                length *= 0.5
