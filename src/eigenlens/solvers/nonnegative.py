"""Non-negative factors and codes under any loss: by the best solver for it."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from . import hals, kullback_leibler, multiplicative
from .parts import Parts, Penalty

__all__ = ["encode", "solve"]


def solve(X: Any, W: NDArray, H: NDArray, *, beta: float, solver: str = "cd", **how: Any) -> Parts:
    """Return codes and parts from a start: by coordinates for beta 1 and 2, or as `solver` says.

    `how` goes on to the solver.
    """
    if solver == "mu" or beta not in (1, 2):
        return multiplicative.solve(X, W, H, beta=beta, **how)
    return (hals if beta == 2 else kullback_leibler).solve(X, W, H, **how)


def encode(
    X: Any,
    H: NDArray,
    *,
    beta: float,
    penalty: Penalty,
    observed: NDArray | None = None,
    tol: float,
    max_iter: int,
) -> NDArray:
    """Return the codes of the rows of `X`, each row by itself, in the dtype of X.

    For beta 1 and 2 each is solved for to the end. For others it takes multiplicative updates, to
    `tol` or at most `max_iter`.
    """
    how: dict[str, Any] = {"penalty": penalty, "observed": observed}
    if beta == 2:
        codes = hals.encode(X, H, **how)
    elif beta == 1:
        how |= {"tol": kullback_leibler.REST, "max_iter": kullback_leibler.ROUNDS}
        codes = kullback_leibler.encode(X, H, **how)
    else:
        codes = multiplicative.encode(X, H, beta=beta, tol=tol, max_iter=max_iter, **how)
    return codes.astype(X.dtype, copy=False)
