"""Compiled loops of sparse factorisations: many lassos that share one matrix, scores in a ball.

Every lasso is ``min over d of 1/2 d'Gd - c'd + alpha'|d|``, with its own c and the same G. Loops
start from the d that they are given and change it in place. What was c on the way in is ``r = c -
Gd`` on the way out, minus the gradient of the smooth part. Without alpha and with ``d >= 0`` it is
non-negative least squares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import threads
from .jit import compiled

__all__ = [
    "MAX_SWEEPS",
    "PANEL",
    "REST",
    "descend",
    "lasso_groups",
    "lasso_rows",
    "lassos",
    "masked_grams",
    "score_columns",
]

REST = 1e-8  # step at which a lasso rests, relative to the size of the data
MAX_SWEEPS = 1000  # over the coordinates of one lasso
ROWS = 64  # for one thread
POOLED = 1e6  # rows times entries of G, from which a pool gives more than it costs
FACE = 64  # nonzeros, at most, for which a linear system is cheaper than the sweeps it saves
AT_REST = 1e-17  # gain, relative to the size of a row, that is rounding
PANEL = 64  # rows side by side: what a sweep reads of them stays in the first or second cache
BLOCK = 4  # coordinates whose steps are taken off together, written out in `_sweep_panel`
LANES = 16  # rows to which a panel is filled up: four vectors of four
ROUNDING = 1e-14  # of the objective, relative to the square of the length of a row
SINGULAR = 1e-10  # of a diagonal entry: a pivot below says that columns are nearly collinear
UNSURE = 1e-4  # a pivot below says that rounding may be more than what a step gains


def lassos(
    G: NDArray,
    R: NDArray,
    alpha: float,
    D: NDArray,
    *,
    tol: float,
    max_sweeps: int = MAX_SWEEPS,
    positive: bool = False,
) -> None:
    """Do what `lasso_rows` does with one alpha for all coordinates, by the pool if it is much."""
    penalty = np.full(len(G), float(alpha))
    blocks = threads.spans(len(D), ROWS if len(D) * G.size > POOLED else len(D))

    def part(i: int) -> None:
        lasso_rows(G, R[blocks[i]], penalty, D[blocks[i]], tol, max_sweeps, positive)

    threads.run(part, len(blocks))


@compiled
def lasso_rows(G, R, alpha, D, tol, max_sweeps, positive, face=FACE):  # type: ignore[no-untyped-def]
    """Solve one lasso for each row of `D`, over ``d >= 0`` if `positive`; `R` has the rows c.

    From the rows as they are, in turn: to the minimum for the same signs, or by sweeps over the
    nonzeros where that cannot be had, and then a sweep that lets zeros become something else. A row
    rests when that has no step longer than `tol` in the norm of G. Most rows start near their
    answer and are done after one turn. `face` is the most nonzeros to solve a system for.
    """
    L, step, S = np.empty((face, face)), np.empty(face), np.empty(face, np.int64)
    before = np.empty((2, len(G)))
    for j in range(len(D)):
        d, r = D[j], R[j]
        for a in range(len(d)):
            if G[a, a] <= 0.0 or (positive and d[a] < 0.0):  # no use, or not allowed
                d[a] = 0.0
            _move(r, G[a], d[a])
        for _ in range(max_sweeps):
            if not _to_face_minimum(G, r, alpha, d, L, step, S, before):
                for _ in range(max_sweeps):
                    if _sweep(G, r, alpha, d, False, positive) <= tol:
                        break
            if _sweep(G, r, alpha, d, True, positive) <= tol:
                break


@compiled
def _sweep(G, r, alpha, d, zeros, positive):  # type: ignore[no-untyped-def]
    """Set each zero, or each nonzero, to its minimiser in turn; return the longest step.

    As `r` is kept up to date, a coordinate that stays zero costs one comparison.
    """
    longest = 0.0
    for a in range(len(d)):
        old = d[a]
        if (old == 0.0) != zeros or G[a, a] <= 0.0:
            continue
        z = r[a] + G[a, a] * old
        if positive and z < 0.0:
            z = 0.0
        if zeros and abs(z) <= alpha[a]:
            continue
        new = np.sign(z) * max(abs(z) - alpha[a], 0.0) / G[a, a]
        _move(r, G[a], new - old)
        d[a] = new
        longest = max(longest, abs(new - old) * np.sqrt(G[a, a]))
    return longest


@compiled(fast=True)
def _move(r, g, step):  # type: ignore[no-untyped-def]
    """Take a step along one coordinate off `r`; `g` is its row of G."""
    if step != 0.0:
        for b in range(len(r)):
            r[b] -= g[b] * step


@compiled
def _copy(source, target):  # type: ignore[no-untyped-def]
    """Write one row over another."""
    for a in range(len(target)):
        target[a] = source[a]


def descend(G: NDArray, R: NDArray, W: NDArray, sweeps: int, slow: float, out: NDArray) -> None:
    """Descend towards the minimum over ``w >= 0`` for each row of `W`, without a penalty.

    So many `sweeps` over the coordinates. Where the last still gained more than the share `slow` of
    what the first did, coordinates depend on each other too much for sweeps, and the row goes on to
    the minimum for the same zeros. `G` holds one matrix, or one for each row. `R` has the rows
    ``r = c - Gw``, and is kept up to date.

    Writes to `out`, for each row, what single steps, each of one coordinate alone, would have
    gained at the start, summed (see :func:`eigenlens.solvers.parts.certify`), and the gain.
    """
    # which of the two is decided here, so that only the one that is needed is compiled
    if len(G) == 1:
        _descend_panels(G[0], R, W, sweeps, slow, out)
    else:
        _descend_rows(G, R, W, sweeps, slow, out)


@compiled(fast=True)
def _descend_rows(G, R, W, sweeps, slow, out):  # type: ignore[no-untyped-def]
    """Do what `descend` does where each row has a matrix of its own."""
    n, k = W.shape
    room = np.empty((k, k)), np.empty((3, k)), np.empty(k, np.int64), np.zeros(k)
    inverse = np.empty(k)
    for i in range(n):
        w, r, Q = W[i], R[i], G[i]
        size = violation = total = gain = first = 0.0
        for a in range(k):
            inverse[a] = 1.0 / Q[a, a] if Q[a, a] > 0.0 else np.inf
            size += Q[a, a] * w[a] * w[a]
            violation += _gain(Q[a, a], r[a], _step(inverse[a], r[a], w[a]))
        for sweep in range(sweeps if violation > AT_REST * size else 0):
            gain = _sweep_up(Q, inverse, r, w)
            total += gain
            if sweep == 0:
                first = gain
        if gain > slow * first:
            total += _face_up(Q, inverse, r, w, room)
        out[i, 0] = violation
        out[i, 1] = total


@compiled(fast=True)
def _descend_panels(G, R, W, sweeps, slow, out):  # type: ignore[no-untyped-def]
    """Do what `descend` does where all rows share `G`, many rows at a time.

    A panel holds them side by side, a line for each coordinate, so that a step of one coordinate is
    a few vector instructions for all rows, without a branch.
    """
    n, k = W.shape
    lines = -(-k // BLOCK) * BLOCK
    Q, inverse = np.zeros((lines, lines)), np.zeros(lines)
    for a in range(k):
        inverse[a] = 1.0 / G[a, a] if G[a, a] > 0.0 else np.inf
        for b in range(k):
            Q[a, b] = G[a, b]
    w, r = np.zeros((lines, PANEL)), np.zeros((lines, PANEL))
    steps, now = np.empty((BLOCK, PANEL)), np.empty(PANEL)
    size, violation, total = np.empty(PANEL), np.empty(PANEL), np.empty(PANEL)
    first, gain = np.empty(PANEL), np.empty(PANEL)
    room = np.empty((k, k)), np.empty((3, k)), np.empty(k, np.int64), np.zeros(k)
    for start in range(0, n, PANEL):
        m = min(PANEL, n - start)
        width = -(-m // LANES) * LANES
        _fill_panel(w, W[start : start + m], width)
        _fill_panel(r, R[start : start + m], width)
        size[:], violation[:], total[:], first[:], gain[:] = 0.0, 0.0, 0.0, 0.0, 0.0
        for a in range(k):
            q, v, wa, ra = Q[a, a], inverse[a], w[a], r[a]
            for i in range(width):
                size[i] += q * wa[i] * wa[i]
                violation[i] += _gain(q, ra[i], _step(v, ra[i], wa[i]))
        for sweep in range(sweeps):
            _sweep_panel(Q, inverse, r, w, steps, now, gain, width)
            _move(total, gain, -1.0)  # that is, added
            if sweep == 0:
                _copy(gain, first)
        for i in range(m):
            j = start + i
            out[j, 0], out[j, 1] = violation[i], 0.0
            if violation[i] <= AT_REST * size[i]:
                continue  # where a step is rounding, and would never end
            for a in range(k):
                W[j, a], R[j, a] = w[a, i], r[a, i]
            if gain[i] > slow * first[i]:
                total[i] += _face_up(G, inverse, R[j], W[j], room)
            out[j, 1] = total[i]


@compiled(fast=True)
def _fill_panel(panel, rows, width):  # type: ignore[no-untyped-def]
    """Write rows side by side into the first columns of a panel, and zeros up to a width."""
    m, k = rows.shape
    for i in range(width):
        for a in range(k):
            panel[a, i] = rows[i, a] if i < m else 0.0


@compiled(fast=True)
def _sweep_panel(Q, inverse, r, w, steps, now, gain, width):  # type: ignore[no-untyped-def]
    """Set each coordinate to its minimiser above zero in turn, for all rows of a panel.

    Steps are taken off `r` for BLOCK coordinates at once, so that it is read and written less.
    """
    for i in range(width):
        gain[i] = 0.0
    s0, s1, s2, s3 = steps[0], steps[1], steps[2], steps[3]
    for a in range(0, len(Q), BLOCK):
        for j in range(BLOCK):
            q, v, wj, rj, step = Q[a + j, a + j], inverse[a + j], w[a + j], r[a + j], steps[j]
            for i in range(width):
                now[i] = rj[i]
            for b in range(j):
                g, taken = Q[a + j, a + b], steps[b]
                for i in range(width):
                    now[i] -= g * taken[i]
            for i in range(width):
                step[i] = _step(v, now[i], wj[i])
                wj[i] += step[i]
                gain[i] += _gain(q, now[i], step[i])
        for b in range(len(Q)):
            g0, g1, g2, g3, rb = Q[a, b], Q[a + 1, b], Q[a + 2, b], Q[a + 3, b], r[b]
            for i in range(width):
                rb[i] -= (g0 * s0[i] + g1 * s1[i]) + (g2 * s2[i] + g3 * s3[i])


@compiled(fast=True)
def _face_up(Q, inverse, r, w, room):  # type: ignore[no-untyped-def]
    """Go to the minimum for the same zeros, sweep once more, and return what that gained."""
    L, lines, S, nothing = room
    step, before = lines[0], lines[1:]
    _to_face_minimum(Q, r, nothing, w, L, step, S, before)
    _sweep_up(Q, inverse, r, w)
    gain = 0.0
    for a in range(len(w)):  # exact, as the objective is quadratic
        gain += 0.5 * (before[1, a] + r[a]) * (w[a] - before[0, a])
    return gain


@compiled(fast=True)
def _sweep_up(Q, inverse, r, w):  # type: ignore[no-untyped-def]
    """Set each coordinate to its minimiser above zero in turn, and return what that gained."""
    gain = 0.0
    for a in range(len(w)):
        if w[a] == 0.0 and r[a] <= 0.0:
            continue
        step = _step(inverse[a], r[a], w[a])
        gain += _gain(Q[a, a], r[a], step)
        w[a] = w[a] + step if step > -w[a] else 0.0
        _move(r, Q[a], step)
    return gain


@compiled(fast=True)
def _step(inverse, r, w):  # type: ignore[no-untyped-def]
    """Return the step to the minimum along one coordinate; to zero if nothing depends on it."""
    return -w if inverse == np.inf else max(r * inverse, -w)


@compiled(fast=True)
def _gain(q, r, step):  # type: ignore[no-untyped-def]
    """Return what a step of one coordinate takes off the objective."""
    return step * (r - 0.5 * q * step)


@compiled(fast=True)
def masked_grams(G, A, seen, trace, out):  # type: ignore[no-untyped-def]
    """Set each ``out[i]`` to the sum of ``a_j a_j'`` over the rows a_j of `A` with ``seen[i, j]``.

    Those not seen count by the weight `trace`. `G` is the sum over all rows: where most are seen,
    the others are taken off it.
    """
    n, m = seen.shape
    k = A.shape[1]
    for i in range(n):
        Q = out[i]
        count = 0
        for j in range(m):
            count += seen[i, j]
        few = 2 * count < m
        sign = -1.0 if few else 1.0
        for a in range(k):
            for b in range(k):
                Q[a, b] = 0.0 if few else G[a, b]
        for j in range(m):
            if seen[i, j] == few:
                for a in range(k):
                    _move(Q[a], A[j], sign * A[j, a])
        for a in range(k):
            for b in range(k):
                Q[a, b] += trace * (G[a, b] - Q[a, b])


@compiled(fast=True)
def _to_face_minimum(G, r, alpha, d, L, step, S, before):  # type: ignore[no-untyped-def]
    """Take `d` to its minimum among vectors with the same signs; return whether that was possible.

    There the objective is quadratic, and falls all the way: for the nonzeros S the step solves
    ``G_SS step = r_S - alpha_S sign(d_S)``. Where a coordinate reaches zero first, it stays there,
    and the others go on without it. (The feature sign search of Lee, Battle, Raina, Ng 2006, with a
    sweep to let coordinates in.) Where rounding makes the objective rise, `d` and `r` go back to
    what they were, which is noted in `before`.
    """
    _copy(d, before[0])
    _copy(r, before[1])
    n, free = len(S), not alpha.any()
    while n > 0:
        n = 0
        for a in range(len(d)):
            if d[a] != 0.0:
                if n == len(S):
                    return False
                S[n] = a
                step[n] = r[a] - alpha[a] * np.sign(d[a])
                n += 1
        pivot = _solve(G, S[:n], L, step, free)
        if pivot < 0.0:
            return False
        first, reach = -1, 1.0  # the coordinate that reaches zero first, and after how much of it
        for i in range(n):
            if -step[i] * np.sign(d[S[i]]) * reach >= abs(d[S[i]]):
                first, reach = i, -d[S[i]] / step[i]
        for i in range(n):
            move = reach * step[i]
            # those that reach zero together are not carried beyond it by rounding
            if i == first or -move * np.sign(d[S[i]]) >= abs(d[S[i]]):
                move = -d[S[i]]
            d[S[i]] += move
            _move(r, G[S[i]], move)
        if pivot < UNSURE and not _falls(G, r, alpha, d, before):
            _copy(before[0], d)
            _copy(before[1], r)
            return False
        if first < 0:
            return True
    return True


@compiled(fast=True)
def _falls(G, r, alpha, d, before):  # type: ignore[no-untyped-def]
    """Return whether the objective is lower than it was `before`, for vectors of one sign.

    Lower by more than rounding, where `d` has become longer: along columns that are nearly
    collinear it could do so without end.
    """
    gain = length = length_before = 0.0
    for a in range(len(d)):  # exact, as the objective is quadratic
        old, slope, unit = before[0, a], 0.5 * (before[1, a] + r[a]), np.sqrt(G[a, a])
        gain += (slope - alpha[a] * np.sign(old)) * (d[a] - old)
        length += unit * abs(d[a])
        length_before += unit * abs(old)
    if length > 2 * length_before:
        return gain >= ROUNDING * length * length
    return gain >= -AT_REST * length * length


@compiled(fast=True)
def _solve(G, S, L, x, free):  # type: ignore[no-untyped-def]
    """Solve ``G_SS x = x`` in place; return the least pivot, or -1 if it is too small.

    Pivots are relative to the diagonal of G. Where moves are `free` of a penalty, no pivot is too
    small: a coordinate that depends on those before it stays where it is, as they can do what it
    could.
    """
    n, least = len(S), 1.0
    for i in range(n):
        for j in range(i + 1):
            rest = G[S[i], S[j]]
            for c in range(j):
                rest -= L[i, c] * L[j, c]
            if i > j:
                L[i, j] = rest / L[j, j]
            elif rest > SINGULAR * G[S[i], S[i]]:
                L[i, i] = np.sqrt(rest)
                least = min(least, rest / G[S[i], S[i]])
            elif free:
                L[i, i] = np.inf
                least = 0.0
            else:
                return -1.0
    for i in range(n):
        for c in range(i):
            x[i] -= L[i, c] * x[c]
        x[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for c in range(i + 1, n):
            x[i] -= L[c, i] * x[c]
        x[i] /= L[i, i]
    return least


@compiled
def lasso_groups(G, R, alpha, D, starts, weights, tol, max_sweeps):  # type: ignore[no-untyped-def]
    """Solve lassos whose rows go in groups: all loadings of a group are zero, or none.

    Minimises ``1/2 tr(D G D') - tr(C'D) + sum over groups g and columns k of alpha_k w_g |D_gk|``,
    where group g has the rows from ``starts[g]`` to ``starts[g + 1]``, and weight ``w_g``. `R` is C
    on the way in. Block coordinate descent: each D_gk has a closed minimiser given the others.
    """
    k = D.shape[1]
    z = np.empty(len(D))
    for g in range(len(starts) - 1):
        begin, end = starts[g], starts[g + 1]
        for j in range(begin, end):
            for a in range(k):
                _move(R[j], G[a], D[j, a])
        everything = True
        for _ in range(max_sweeps):
            longest = 0.0
            for a in range(k):
                old = 0.0
                square = 0.0
                for j in range(begin, end):
                    z[j] = R[j, a] + G[a, a] * D[j, a]
                    old = max(old, abs(D[j, a]))
                    square += z[j] * z[j]
                threshold = alpha[a] * weights[g]
                if G[a, a] <= 0.0 or (old == 0.0 and (not everything or square <= threshold**2)):
                    continue
                shrink = 0.0
                if square > threshold**2:
                    shrink = (1.0 - threshold / np.sqrt(square)) / G[a, a]
                moved = 0.0
                for j in range(begin, end):
                    step = shrink * z[j] - D[j, a]
                    D[j, a] += step
                    moved += step * step
                    _move(R[j], G[a], step)
                longest = max(longest, np.sqrt(moved * G[a, a]))
            if longest <= tol:
                if everything:
                    break
                everything = True
            else:
                everything = False


@compiled
def score_columns(H, B, Y, normalise, positive, penalty=None):  # type: ignore[no-untyped-def]
    """Minimise ``1/2 tr(Y H Y') - tr(B'Y) + sum_i penalty_i |Y_:i|_1`` over one score at a time.

    Scores are the rows of `Y`, so that they lie together; ``H = D'D`` and ``B = (X D)'``. Each is
    set to its minimiser given the others, ``(b_k - sum_l H_kl y_l) / H_kk`` without the penalty,
    projected onto the unit ball, or its part without negative entries if `positive`; if
    `normalise`, to its minimiser on the unit sphere. Unused ones stay, or are zero if that has a
    price.
    """
    k, m = Y.shape
    target = np.empty(m)
    for a in range(k):
        if H[a, a] <= 0.0:
            if penalty is not None:
                Y[a] = 0.0
            continue
        for i in range(m):
            target[i] = B[a, i]
        for b in range(k):
            if b != a and H[a, b] != 0.0:
                for i in range(m):
                    target[i] -= H[a, b] * Y[b, i]
        if penalty is not None:
            for i in range(m):
                target[i] = np.sign(target[i]) * max(abs(target[i]) - penalty[i], 0.0)
        _to_unit_ball(target, Y[a], H[a, a], normalise, positive)


@compiled
def _to_unit_ball(target, y, curvature, normalise, positive):  # type: ignore[no-untyped-def]
    """Set `y` to what is nearest to ``target / curvature`` in the unit ball or on its sphere."""
    largest = 0.0
    for i in range(len(y)):
        y[i] = max(target[i], 0.0) if positive else target[i]
        largest = max(largest, abs(y[i]))
    if largest == 0.0:
        return  # nothing is left of it, which no length can be given to
    square = 0.0
    for i in range(len(y)):
        y[i] /= largest  # or the squares might be no numbers
        square += y[i] * y[i]
    length = np.sqrt(square)
    divisor = length if normalise else max(length, curvature / largest)
    for i in range(len(y)):
        y[i] /= divisor
