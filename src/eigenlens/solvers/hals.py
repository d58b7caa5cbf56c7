"""Non-negative factors by least squares: hierarchical alternating least squares, extrapolated.

With H fixed, every row of W is a non-negative least squares problem, and all share ``G = H H'``:
coordinate descent needs nothing of X but ``X H'``. With W fixed it is the same for the columns of
H. A product with X costs more than a sweep over coordinates, so each is used for several sweeps
(Gillis, Glineur 2012). After each iteration both factors go on in the direction they came from,
and back where that raised the objective (after Ang, Gillis 2019). X is read once an iteration: as
soon as some rows of W are known, their part of ``W'X`` is added up while these rows are in cache.

With holes, every row has a matrix of its own, over what is observed of it. Where that shows next
to nothing of a part, its code could be anything, and what is filled in with it. So a hole counts
too: as a zero, by 1e-8 of the weight of an entry.

A table in blocks goes through the same loop: its codes lie beside the blocks, and a pass over the
blocks adds up what the parts need. That is a pass an iteration, and one more each time the codes
are solved for to the end.

Allocates some arrays of the size of W and H, and for rows with holes a transposed copy of the mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.centred import Table
from .blocked import Blocked
from .hals_blocks import InBlocks
from .hals_memory import InMemory
from .hals_problem import TRACE, Effort, Problem
from .parts import NONE, Parts, Penalty
from .solution import Monitor, ignore

__all__ = ["TRACE", "encode", "solve"]

QUICK = Effort(8, np.inf)  # a product with X is worth some sweeps over the coordinates
THOROUGH = Effort(20, 0.03)  # once extrapolation has gone too far, and now and then pays
STEADY = Effort(8, 0.03)  # in a fit that goes on and on: sweeps alone would never end it
LONG = 50  # iterations, after which columns of different size, or parts alike, are what it is up to
GROWTH, RISE, BRAKE = 1.05, 1.01, 1.5  # of the extrapolation, as in the paper
FLOOR = 0.1  # of its ceiling, so that it can grow again
SHARPEST = 1e-7  # residual: its square is a share of |X|^2, and below rounding
ROUNDING = 2e-15  # of the sum of squares of X: what an objective may be off by
SMALL = 1 << 20  # entries up to which a table in single precision is taken in double


@threads.serial_blas()  # small products between the parallel passes, which idle workers would slow
def solve(
    X: Table | Blocked,
    W: Any,
    H: NDArray,
    *,
    on_W: Penalty = NONE,
    on_H: Penalty = NONE,
    weight: NDArray | None = None,
    observed: NDArray | None = None,
    tol: float,
    max_iter: int,
    monitor: Monitor = ignore,
) -> Parts:
    """Return codes and parts of `X` from a start `W`, `H`, which is left as it is.

    Parameters
    ----------
    X : ndarray, CSR or Blocked of shape (n, d)
        No entry is negative, and those that were not observed are zero.
    W, H : ndarray of shapes (n, k) and (k, d)
        W is Codes, of a table in blocks.
    on_W, on_H : Penalty
    weight : ndarray of shape (n,), optional
        Of an array alone, like `observed`.
    observed : ndarray of bool, of the shape of X, optional
    tol : float
        For the KKT residual, see :func:`eigenlens.solvers.parts.certify`; 1e-7 if less, where
        rounding begins, and no end before `max_iter` if 0.
    max_iter : int
    monitor : callable, optional
    """
    if tol > 0:
        tol = max(tol, SHARPEST)
    problem: Problem
    if isinstance(X, Blocked):
        problem = InBlocks(X, on_W, on_H)
    else:
        problem = InMemory(_exact(X), on_W, on_H, weight, observed)
    W, Ht = problem.begin(W), np.array(H.T, np.float64, order="C")
    ahead = Ht  # the parts, extrapolated
    step, ceiling, look = 0.0, 1.0, 0  # there is no direction yet to go on in
    objective, before, history, certificate = np.inf, np.inf, list[float](), None
    for _ in range(max_iter):
        effort = QUICK if len(history) < LONG else STEADY
        effort = effort if step or not history else THOROUGH
        codes, sums = problem.codes(W, ahead, step, effort)
        parts, more, value = problem.parts(codes, sums, ahead, effort)
        gain, rounding = objective - value, ROUNDING * problem.square
        left = sums.violation + more
        if gain > rounding or not step or (gain >= -rounding and left <= before):
            before = left if step else before
            step = min(ceiling, GROWTH * step) if step else ceiling / BRAKE
            ahead = np.maximum(parts + step * (parts - Ht), 0.0)
            W, Ht, objective, ceiling = codes, parts, value, min(1.0, RISE * ceiling)
            W, gained = problem.revive(W, Ht, ahead, sums.gram)
            objective -= gained
        else:  # back, and one iteration without, which never raises the objective
            ahead, ceiling, step, before = Ht, max(step, FLOOR), 0.0, left
            del codes, parts, sums  # which would be there while the next are made
        history.append(min(objective, history[-1]) if history else objective)
        certificate = None
        if len(history) > look and problem.certify(left, tol).holds:
            W, value, certificate = problem.finish(W, Ht, tol)
            ahead, objective, history[-1] = Ht, value, min(value, history[-1])
            look = 5 + len(history) * 11 // 10  # a pair on the way may look better than it is
        if monitor(history[-1]) or (certificate and certificate.holds):
            break
    if certificate is None:
        W, value, certificate = problem.finish(W, Ht, tol)
        history[-1] = min(value, history[-1])
    return Parts(
        solver="coordinate descent",
        n_iter=len(history),
        converged=certificate.holds,
        objective_history=np.array(history),
        certificate=certificate,
        components=Ht.T,
        codes=W,
    )


@threads.serial_blas()
def encode(
    X: Table, H: NDArray, *, penalty: Penalty = NONE, observed: NDArray | None = None
) -> NDArray:
    """Return the codes of the rows of `X` with the parts `H`, each solved for to the end."""
    Ht = np.array(H.T, np.float64, order="C")
    return InMemory(_exact(X), penalty, NONE, None, observed).encode(Ht)


def _exact(X: Table) -> Table:
    """Return a small table in double: digits that cost nothing, and extrapolation needs them."""
    return X.astype(np.float64, copy=False) if X.size <= SMALL else X
