"""PCA by products with X alone: block Lanczos on the smaller matrix of products, never formed.

For dense X a wide block and few steps (each a pass over X): the randomised block Krylov method of
Musco, Musco (2015), which needs far fewer passes than power iteration. For sparse X a narrow block
and many steps, because there a product is cheap and the number of vectors is what costs. Centring
is part of the product, so sparse X stays sparse. Allocates the Krylov basis: some 2 k to 20 k
vectors of length min(n, d), more where the variances hardly fall.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.centred import Centred, Table, centred
from ..ops.finite import require_finite
from ..ops.lanczos import lanczos
from ..ops.weights import mass_of
from .solution import Monitor, ignore
from .spectral import Rank, Spectral, assemble, certify, cross_over, settle

__all__ = ["from_operator", "solve", "width_in_blocks"]

START = 16  # pairs to begin with where a rule decides how many
EXTRA = 16  # vectors beyond the wanted ones to multiply at once, where a step is a pass
WIDEST = 96  # beyond, products cost more than the reading


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
    A = centred(X, weight)
    require_finite(A.mean, A.square, X.dtype)
    return from_operator(
        A,
        rank,
        mass=mass_of(X.shape[0], weight),
        rows=X.shape[0],
        dtype=X.dtype,
        rng=rng,
        tol=tol,
        wide=wide,
        block=block or (16 if wide else 4),
        max_steps=max_steps,
        monitor=monitor,
    )


def width_in_blocks(rank: Rank) -> int:
    """Return how many vectors to multiply at once where each step is a pass over a table.

    More than in memory, so that steps are few: those beyond the wanted ones do their share, because
    an iteration converges as if the directions that a block of vectors has room for were gone.
    """
    return min(EXTRA + (rank if isinstance(rank, int) else START), WIDEST)


def from_operator(
    A: Centred,
    rank: Rank,
    *,
    mass: float,
    rows: int,
    dtype: np.dtype,
    rng: np.random.Generator,
    tol: float,
    wide: bool,
    block: int,
    max_steps: int | None = None,
    monitor: Monitor = ignore,
) -> Spectral:
    """Return the principal axes of the table, of `dtype`, that is known by its products.

    Its `rows` count for `mass` rows. Steps, and two to four products more for the proof.
    """
    dof = mass - 1
    total = A.square / dof
    pairs = lanczos(
        A,
        max(rank, 1) if isinstance(rank, int) else min(START, A.dim),
        rng=rng,
        tol=tol / 2,  # the other half is for rounding
        block=block,
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
        dtype,
        tol,
        rest=pairs.rest(A.square, k),
        stopped=pairs.stopped,
    )
    components = V.T
    if A.transposed:
        with threads.blas_for(len(A.mean) * k**2):
            components, singular = cross_over(A.across(V))
        values = np.concatenate([singular**2, values[k:]])
    return assemble(
        components,
        values,
        A.square,
        mass=mass,
        rows=rows,
        complete=pairs.complete,
        solver="randomized" if wide else "arpack",
        n_iter=pairs.steps,
        converged=certificate.holds,
        objective_history=pairs.captured(k) / dof,
        certificate=certificate,
        mean=A.mean,
    )
