"""Compiled passes of low rank plus sparse: one look at each entry, whatever is asked of it.

Of a residual R the sparse part takes what is beyond a ball, that of the dual norm: entries larger
than a threshold, or rows longer than one. What it leaves is the projection onto the ball. Where
nothing was observed (NaN) the sparse part may be anything, and leaves nothing.
"""

from __future__ import annotations

import numpy as np

from .jit import compiled

__all__ = ["ball_entries", "ball_rows", "leave_each", "leave_entries", "leave_rows"]


@compiled
def leave_entries(  # type: ignore[no-untyped-def]
    M, W, L, c, relax, shrink, threshold, knee, gross
):
    """Set `W`, which is ``L + E`` on the way in, to ``L + relax C + (1 - relax) c E``.

    C is the projection of ``shrink (M - L + c E)`` onto entries within the threshold. Returns the
    sums of ``(C - c E)^2``, of ``E^2``, of ``|M - L|`` rounded off below `knee` (Huber), and of
    what ``|M - L|`` is beyond `gross`.
    """
    n, d = M.shape
    misfit = square = size = beyond = 0.0
    for i in range(n):
        for j in range(d):
            E = W[i, j] - L[i, j]
            part = c * E
            rest = M[i, j] - L[i, j]
            left = shrink * (rest + part)
            if left != left:
                left = 0.0
            else:
                left = min(max(left, -threshold), threshold)
                rest = abs(rest)
                size += rest - 0.5 * knee if rest >= knee else 0.5 * rest * rest / knee
                beyond += max(rest - gross, 0.0)
            misfit += (left - part) ** 2
            square += E * E
            W[i, j] = L[i, j] + relax * left + (1.0 - relax) * part
    return misfit, square, size, beyond


@compiled
def leave_rows(  # type: ignore[no-untyped-def]
    M, W, L, c, relax, shrink, threshold, knee, gross
):
    """Do the same with rows: C has rows no longer than the threshold, sizes are those of rows."""
    n, d = M.shape
    misfit = square = size = beyond = 0.0
    for i in range(n):
        length = whole = 0.0
        for j in range(d):
            rest = M[i, j] - L[i, j]
            if rest == rest:
                whole += rest * rest
                length += (rest + c * (W[i, j] - L[i, j])) ** 2
        length = shrink * np.sqrt(length)
        share = shrink * min(1.0, threshold / length) if length > 0.0 else shrink
        whole = np.sqrt(whole)
        size += whole - 0.5 * knee if whole >= knee else 0.5 * whole * whole / knee
        beyond += max(whole - gross, 0.0)
        for j in range(d):
            E = W[i, j] - L[i, j]
            part = c * E
            left = share * (M[i, j] - L[i, j] + part)
            if left != left:
                left = 0.0
            misfit += (left - part) ** 2
            square += E * E
            W[i, j] = L[i, j] + relax * left + (1.0 - relax) * part
    return misfit, square, size, beyond


@compiled
def leave_each(M, W, L, c, relax, thresholds, knee, misfit, left):  # type: ignore[no-untyped-def]
    """Do what `leave_entries` does, with a threshold and a factor c for each row.

    Writes the roots of the first two sums, of each row, to `misfit` and `left`.
    """
    for i in range(len(M)):
        one = slice(i, i + 1)
        shrink = 1.0 / (1.0 + knee / thresholds[i])
        args = c[i], relax, shrink, thresholds[i], knee, np.inf
        sums = leave_entries(M[one], W[one], L[one], *args)
        misfit[i], left[i] = np.sqrt(sums[0]), np.sqrt(sums[1])


@compiled
def ball_entries(M, Z, radius):  # type: ignore[no-untyped-def]
    """Set `Z` to its nearest table with entries within the radius, zero where M is NaN."""
    n, d = Z.shape
    for i in range(n):
        for j in range(d):
            Z[i, j] = min(max(Z[i, j], -radius), radius) if M[i, j] == M[i, j] else 0.0


@compiled
def ball_rows(M, Z, radius):  # type: ignore[no-untyped-def]
    """Set `Z` to its nearest table with rows no longer than the radius, zero where M is NaN."""
    n, d = Z.shape
    for i in range(n):
        length = 0.0
        for j in range(d):
            if M[i, j] != M[i, j]:
                Z[i, j] = 0.0
            length += Z[i, j] ** 2
        length = np.sqrt(length)
        if length > radius:
            for j in range(d):
                Z[i, j] *= radius / length
