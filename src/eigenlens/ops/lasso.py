"""The two block updates of a matrix factorisation with an l1 penalty on one factor, compiled.

For ``1/2 |X - Y D'|^2 + sum_k alpha_k |D_k|_1`` the rows of D are lassos of their own that share
the Gram matrix ``G = Y'Y``, and each column of Y has a closed minimiser.
"""

from __future__ import annotations

import numpy as np

from .jit import compiled

__all__ = ["lasso_rows", "score_columns"]


@compiled
def lasso_rows(G, R, alpha, D, tol, max_sweeps, positive):  # type: ignore[no-untyped-def]
    """Minimise ``1/2 d'Gd - c'd + alpha'|d|`` over each row d of `D`, in place.

    Over ``d >= 0`` if `positive`.

    `R` holds the rows ``c - G d``, and is kept up to date, so that a coordinate that stays zero
    costs one comparison. Coordinate descent from the rows as they are: a sweep over all
    coordinates, then sweeps over the nonzero ones until these rest, and again over all. A row rests
    when no step is longer than `tol` in the norm of G.
    """
    rows, k = D.shape
    for j in range(rows):
        everything = True
        for _ in range(max_sweeps):
            longest = 0.0
            for a in range(k):
                old = D[j, a]
                if G[a, a] <= 0.0 or (old == 0.0 and not everything):
                    continue
                z = R[j, a] + G[a, a] * old
                if positive and z < 0.0:
                    z = 0.0
                new = np.sign(z) * max(abs(z) - alpha[a], 0.0) / G[a, a]
                step = new - old
                if step != 0.0:
                    for b in range(k):
                        R[j, b] -= G[a, b] * step
                    D[j, a] = new
                    longest = max(longest, abs(step) * np.sqrt(G[a, a]))
            if longest <= tol:
                if everything:
                    break
                everything = True
            else:
                everything = False


@compiled
def score_columns(H, B, Y, normalise, positive):  # type: ignore[no-untyped-def]
    """Minimise ``1/2 tr(Y H Y') - tr(B'Y)`` over one score after the other, in place.

    Scores are the rows of `Y`, so that they lie together; ``H = D'D`` and ``B = (X D)'``. Each is
    set to its minimiser given the others, ``(b_k - sum_l H_kl y_l) / H_kk``, projected onto the
    unit ball, or its part without negative entries if `positive`; if `normalise`, to its minimiser
    on the unit sphere. Unused ones stay.
    """
    k, m = Y.shape
    target = np.empty(m)
    for a in range(k):
        if H[a, a] <= 0.0:
            continue
        for i in range(m):
            target[i] = B[a, i]
        for b in range(k):
            if b != a and H[a, b] != 0.0:
                for i in range(m):
                    target[i] -= H[a, b] * Y[b, i]
        if positive:
            for i in range(m):
                target[i] = max(target[i], 0.0)
        square = 0.0
        for i in range(m):
            square += target[i] * target[i]
        length = np.sqrt(square)
        divisor = length if normalise else max(length, H[a, a])
        if divisor > 0.0:
            for i in range(m):
                Y[a, i] = target[i] / divisor
