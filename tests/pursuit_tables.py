"""Tables for the tests of low rank plus sparse, and a solver that shares no code with ours."""

import numpy as np


def hard(seed=0, missing=0.0, shape=(25, 18)):
    """Return a table in which nothing is planted that could be recovered."""
    r = np.random.default_rng(seed)
    gross = 4 * r.standard_normal((shape[0], 1)) * (r.random(shape) < 0.2)
    M = 3.0 + r.standard_normal(shape) + gross
    M[r.random(shape) < missing] = np.nan
    return M


def with_bad_rows(seed, n=120, d=60, rank=2, bad=6, size=5.0):
    """Return a table of low rank with some rows replaced, its low-rank part, and which they are."""
    r = np.random.default_rng(seed)
    low_rank = r.standard_normal((n, rank)) @ r.standard_normal((rank, d))
    X, wrong = low_rank.copy(), np.zeros(n, bool)
    wrong[r.permutation(n)[:bad]] = True
    X[wrong] = size * r.standard_normal((bad, d))
    return X, low_rank, wrong


def lengths(S, rows):
    return np.linalg.norm(S, axis=1, keepdims=True) if rows else np.abs(S)


def objective(M, lam, A, *, rows=False, centre=True, delta=0.0):
    """Return that of A, the low-rank part with its mean, and of the best sparse part for it."""
    L = A - A.mean(axis=0) if centre else A
    size, knee = lengths(np.where(np.isnan(M), 0.0, M - A), rows), lam * delta
    sparse = np.where(size >= knee, size - knee / 2, size**2 / (2 * knee) if knee else 0.0)
    return np.linalg.norm(L, "nuc") + lam * sparse.sum()


def proximal_gradient(M, lam, delta, *, rows=False, centre=True, steps=3000):
    """Return the best low-rank part with its mean for a noise term, by FISTA with restarts."""
    A = np.where(np.isnan(M), 0.0, M)
    at, weight, value = A, 1.0, np.inf
    for _ in range(steps):
        mean = at.mean(axis=0) if centre else 0.0
        rest = np.where(np.isnan(M), 0.0, M - at)
        size = lengths(rest, rows)
        step = at + rest * np.minimum(1.0, lam * delta / np.maximum(size, 1e-300))
        mean = step.mean(axis=0) if centre else 0.0
        U, s, Vt = np.linalg.svd(step - mean, full_matrices=False)
        new = mean + (U * np.maximum(s - delta, 0.0)) @ Vt
        before, value = value, objective(M, lam, new, rows=rows, centre=centre, delta=delta)
        weight, last = (
            (1.0, 1.0) if value > before else ((1 + (1 + 4 * weight**2) ** 0.5) / 2, weight)
        )
        at, A = new + (last - 1) / weight * (new - A), new
    return A
