"""The codes of rows, with parts as they are: by the best solver for the loss."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from . import hals, kullback_leibler, multiplicative
from .parts import Penalty

__all__ = ["encode"]

MAX_ROUNDS = 1000  # to solve a row to the end


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
        codes = kullback_leibler.encode(X, H, tol=kullback_leibler.REST, max_iter=MAX_ROUNDS, **how)
    else:
        codes = multiplicative.encode(X, H, beta=beta, tol=tol, max_iter=max_iter, **how)
    return codes.astype(X.dtype, copy=False)
