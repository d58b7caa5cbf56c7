"""PCA by products with X alone: block Lanczos on the smaller matrix of products, never formed.

For dense X a wide block and few steps (each a pass over X): the randomized block Krylov method of
Musco, Musco (2015), which needs far fewer passes than power iteration. For sparse X a narrow block
and many steps, because there a product is cheap and the number of vectors is what costs. Centring
is part of the product, so sparse X stays sparse. Allocates the Krylov basis: some 2 k to 20 k
vectors of length min(n, d), more where the variances hardly fall.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.centred import Table, centred
from ..ops.finite import require_finite
from ..ops.lanczos import lanczos
from ..ops.weights import mass_of
from .solution import Monitor, ignore
from .spectral import Rank, Spectral, assemble, certify, cross_over, settle

__all__ = ["solve"]

START = 16  # pairs to begin with where a rule decides how many


def solve(
    X: Table,
    rank: Rank,
    *,
    weight: NDArray | None = None,
    rng: np.random.Generator,
    tol: float,
    wide: bool,
    block: int | None = None,
    max_steps: int | None = None,
    monitor: Monitor = ignore,
) -> Spectral:
    """Return the principal axes of `X` to the residual `tol`, or after `max_steps` steps."""
    A, mass = centred(X, weight), mass_of(X.shape[0], weight)
    require_finite(A.mean, A.square)
    dof = mass - 1
    total = A.square / dof
    pairs = lanczos(
        A,
        rank if isinstance(rank, int) else min(START, A.dim),
        rng=rng,
        tol=tol / 2,  # the other half is for rounding
        block=block or (16 if wide else 4),
        max_steps=max_steps,
        enough=None if isinstance(rank, int) else lambda v: settle(rank, v / dof, total, False),
        watch=lambda captured: monitor(captured / dof),
    )
    values = pairs.values
    k = settle(rank, values / dof, total, pairs.complete)
    if k is None:  # stopped by the monitor before the rule could answer
        k = len(values)
    V = pairs.vectors[:, :k]
    residuals = A.gram(V) - V * values[:k]
    certificate = certify(
        residuals,
        values,
        k,
        X.dtype,
        tol,
        rest=pairs.rest(A.square, k),
        stopped=pairs.stopped,
    )
    components = V.T
    if A.transposed:
        with threads.blas_for(X.shape[1] * k**2):
            components, singular = cross_over(A.across(V))
        values = np.concatenate([singular**2, values[k:]])
    return assemble(
        components,
        values,
        A.square,
        mass=mass,
        rows=X.shape[0],
        complete=pairs.complete,
        solver="randomized" if wide else "arpack",
        n_iter=pairs.steps,
        converged=certificate.holds,
        objective_history=pairs.history / dof,
        certificate=certificate,
        mean=A.mean,
    )
