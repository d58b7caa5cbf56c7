"""Principal component pursuit by the textbook: alternating directions with a fixed weight.

    min over m, L, S of  |L|_* + lam |S|_1    with 1 m' + L + S = M on the observed entries

by the scheme of the lecture notes (Boyd et al. 2011, section 3), with multiplier Y and weight rho:

    m, L <- column means of A, and shrink(A - 1 m', 1 / rho)    where A = M - S + Y / rho
    S    <- shrink(M - 1 m' - L + Y / rho, lam / rho)
    Y    <- Y + rho (M - 1 m' - L - S)

The first shrinks singular values, the second entries (or rows, towards the mean). Each step takes a
full singular value decomposition and the weight stays what it is, so this is slow, and meant as a
reference: what other solvers find can be compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..ops.trim import column_medians
from ..ops.triplets import Triplets
from .duality import GAP, lower_bound
from .low_rank import LowRank
from .solution import Certificate, Monitor, ignore

__all__ = ["solve"]


class _State(NamedTuple):
    mean: NDArray
    low: Triplets
    S: NDArray
    Y: NDArray
    residual: float  # the larger of the primal and the dual one, relative


def solve(
    M: NDArray,
    *,
    lam: float,
    rows: bool = False,
    centre: bool = True,
    rho: float | None = None,
    tol: float = 1e-7,
    gap_tol: float = 1e-3,
    max_iter: int = 1000,
    monitor: Monitor = ignore,
) -> LowRank:
    """Return `M` taken apart into a mean, low rank and sparse; computed in float64.

    Parameters
    ----------
    M : ndarray of shape (n, d)
        NaN where nothing was observed.
    lam : float
        Weight of the sparse part.
    rows : bool
        Whether whole rows are outliers, rather than entries.
    centre : bool
        Whether the mean is free, rather than zero.
    rho : float, optional
        Weight of what does not fit. By default a quarter over the mean of absolute entries, about
        the medians if the mean is free.
    tol : float
        Largest residual: primal, relative to the low-rank part (to the sparse one if that is
        zero), and dual, relative to Y.
    gap_tol : float
        Duality gap, relative to the objective, up to which the certificate holds.
    max_iter : int
    monitor : Monitor
        Sees ``|L|_* + lam |S|_1``, which nears the optimum, from whatever side.

    References
    ----------
    S. Boyd, N. Parikh, E. Chu, B. Peleato, J. Eckstein, Distributed optimization and statistical
    learning via the alternating direction method of multipliers, Foundations and Trends in Machine
    Learning 3 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import datasets
    >>> from eigenlens.solvers import admm
    >>> problem = datasets.planted_pursuit(50, 40, rank=2, random_state=0)
    >>> found = admm.solve(problem.X, lam=50**-0.5)
    >>> low_rank = found.mean + found.scores @ found.components
    >>> np.allclose(low_rank, problem.low_rank, atol=1e-5)
    True
    >>> found.certificate.holds
    True
    """
    dtype, M = M.dtype, M.astype(np.float64)
    history: list[float] = []
    converged = False
    for state in _scheme(M, lam, rows, centre, rho):
        history.append(float(state.low.s.sum() + lam * _lengths(state.S, rows).sum()))
        converged = state.residual <= tol
        if monitor(history[-1]) or converged or len(history) == max_iter:
            break
    U, s, Vt = state.low
    certificate = Certificate(GAP, _gap(M, state, lam, rows, centre), gap_tol)
    return LowRank(
        solver="admm",
        mean=state.mean.astype(dtype),
        components=Vt.astype(dtype),
        singular_values=s.astype(dtype),
        scores=(U * s).astype(dtype),
        sparse=state.S.astype(dtype),
        n_iter=len(history),
        converged=converged and certificate.holds,
        objective_history=np.array(history),
        certificate=certificate,
    )


def _scheme(
    M: NDArray, lam: float, rows: bool, centre: bool, rho: float | None
) -> Iterator[_State]:
    """Yield the state after each step."""
    seen = ~np.isnan(M)
    mean = column_medians(M) if centre else np.zeros_like(M[0])
    fit = np.broadcast_to(mean, M.shape)
    if rho is None:
        size = np.abs(M - fit).sum(where=seen)
        rho = float(seen.sum() / (4 * size)) if size else 1.0
    S, Y = np.zeros_like(M), np.zeros_like(M)
    while True:
        A = np.where(seen, M, fit) - S + Y / rho
        mean = A.mean(axis=0) if centre else mean
        low = _shrink_singular_values(A - mean, 1 / rho)
        fit = mean + (low.U * low.s) @ low.Vt
        rest = np.where(seen, M - fit, 0.0)
        before, S = S, _shrink(rest + Y / rho, lam / rho, rows)
        Y = Y + rho * (rest - S)
        primal = np.linalg.norm(rest - S) / (np.linalg.norm(low.s) or np.linalg.norm(S) or 1.0)
        dual = rho * np.linalg.norm(S - before) / (np.linalg.norm(Y) or 1.0)
        yield _State(mean, low, S, Y, float(max(primal, dual)))


def _shrink_singular_values(A: NDArray, threshold: float) -> Triplets:
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > threshold
    return Triplets(U[:, kept], s[kept] - threshold, Vt[kept])


def _lengths(S: NDArray, rows: bool) -> NDArray:
    return np.linalg.norm(S, axis=1, keepdims=True) if rows else np.abs(S)


def _shrink(T: NDArray, threshold: float, rows: bool) -> NDArray:
    lengths = _lengths(T, rows)
    share = np.divide(threshold, lengths, out=np.ones_like(lengths), where=lengths > threshold)
    return T * (1 - share)


def _gap(M: NDArray, state: _State, lam: float, rows: bool, centre: bool) -> float:
    """Return the duality gap of m and L, with what they leave as sparse part, relative."""
    U, s, Vt = state.low
    rest = np.where(np.isnan(M), 0.0, M - state.mean - (U * s) @ Vt)
    objective = float(s.sum() + lam * _lengths(rest, rows).sum())
    bound = lower_bound(M, state.Y.copy(), mean=state.mean, lam=lam, rows=rows, centre=centre)
    return (objective - bound) / objective if objective else 0.0
