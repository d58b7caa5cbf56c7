"""PCA from a factor of the scatter matrix that was cut as rows came in.

The eigenvalues of ``R'R`` are below those of the scatter by at most what the cuts have lost: see
:mod:`eigenlens.ops.truncated`. That is the certificate.
"""

from __future__ import annotations

import numpy as np

from ..ops.lanczos import whole
from ..ops.truncated import TruncatedMoments
from .solution import Certificate
from .spectral import LEADING, ROUNDING, Rank, Spectral, assemble, cross_over, settle

__all__ = ["solve"]


def solve(moments: TruncatedMoments, rank: Rank, *, tol: float) -> Spectral:
    """Return the principal axes of the rows whose truncated `moments` these are."""
    R, dof, square = moments.factor, moments.mass - 1, float(moments.squares.sum())
    pairs = whole(R @ R.T)
    values = pairs.values[: moments.rank]
    complete = moments.lost == 0.0
    k = settle(rank, values / dof, square / dof, complete)
    k = len(values) if k is None else min(k, len(values))
    components, singular = cross_over(R.T @ pairs.vectors[:, :k])
    largest = float(values[0]) or 1.0
    rounding = ROUNDING * float(np.finfo(moments.dtype).eps)
    certificate = Certificate(LEADING, moments.lost / largest + rounding, tol)
    return assemble(
        components,
        np.concatenate([singular**2, values[k:]]),
        square,
        mass=moments.mass,
        rows=moments.count,
        complete=complete,
        solver="truncated",
        converged=certificate.holds,
        objective_history=np.array([float((singular**2).sum()) / dof]),
        certificate=certificate,
        mean=moments.mean.copy(),
    )
