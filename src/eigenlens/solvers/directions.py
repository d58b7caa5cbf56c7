"""What the solvers of sparse PCA return, whatever they optimise, and what they share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .solution import Certificate, Monitor, ignore

__all__ = [
    "EXHAUSTED",
    "Directions",
    "adjusted_variances",
    "compressed",
    "in_its_unit",
    "per_component",
]

EXHAUSTED = 1e-24  # of the squares there were: what is left is rounding

Solve = TypeVar("Solve", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Sparse directions, and how they were found.

    Attributes
    ----------
    components : ndarray of shape (k, d)
        One direction a row, of length 1, or all zero if the penalty leaves nothing.
    objective_history : ndarray
        Value of the objective after each iteration.
    n_iter : int
    converged : bool
    certificate : Certificate
        How far the answer is from meeting the conditions of optimality.
    """

    components: NDArray
    objective_history: NDArray
    n_iter: int
    converged: bool
    certificate: Certificate


def adjusted_variances(A: NDArray, components: NDArray) -> NDArray:
    """Return what each component adds to the variance that those before it explain.

    Sparse directions have correlated scores, so their variances count the shared part twice. Zou,
    Hastie, Tibshirani (2006) regress each score on those before it and count what is left: the
    squared diagonal of R in ``A V = Q R``. A score that those before explain in full, or that is
    zero, adds nothing and takes nothing from those after it. In the units of ``A'A``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.solvers.directions import adjusted_variances
    >>> V = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> adjusted_variances(np.diag([3.0, 1.0]), V).round(4)
    array([9.  , 0.64])
    """
    added = np.zeros(len(components))
    Q = np.zeros((len(A), 0))
    # Not LAPACK's QR: for a score without a part of its own, it makes up a direction, and counts
    # what later scores have along it as explained.
    for j, score in enumerate((A @ components.T).T):
        own = score - Q @ (Q.T @ score)
        own -= Q @ (Q.T @ own)  # once more, for what rounding left
        if own @ own > EXHAUSTED * (score @ score):
            added[j] = own @ own
            Q = np.column_stack([Q, own / np.linalg.norm(own)])
    return added


def in_its_unit(solve: Solve) -> Solve:
    """Decorate a solver that maximises variance: it sees A with entries of 1, about, at most.

    Its directions do not depend on the unit, but squares of squares must be finite. A power of two
    changes no digit.
    """

    @functools.wraps(solve)
    def called(A: NDArray, k: int, *, monitor: Monitor = ignore, **how: Any) -> Any:
        unit = float(np.ldexp(1.0, np.frexp(np.abs(A).max(initial=0.0))[1]))
        found = solve(A / unit, k, monitor=lambda value: monitor(value * unit**2), **how)
        return replace(found, objective_history=found.objective_history * unit**2)

    return called  # type: ignore[return-value]


def compressed(A: NDArray) -> NDArray:
    """Return a matrix with the same ``A'A`` and no more rows than columns."""
    m, d = A.shape
    return A if m <= d else np.asarray(np.linalg.qr(A, mode="r"))


def per_component(value: ArrayLike, k: int, name: str, dtype: Any = np.float64) -> NDArray:
    """Return `value`, which is one number or one a component, as an array of length `k`."""
    given = np.asarray(value, dtype=dtype)
    if given.shape not in ((), (k,)):
        raise ValueError(
            f"{name} has shape {given.shape}, and there are {k} components. "
            f"Give one number for all, or a list of {k}."
        )
    return np.broadcast_to(given, (k,))
