"""Cross-validation by hidden entries, for non-negative parts.

Entries are dealt to groups at random. One group at a time is hidden, the others are fitted as a
table with holes, and the hidden ones predicted. Unlike a row that is left out, which any further
part brings closer, an entry that is left out is predicted worse once parts begin to fit noise (Wold
1978; for non-negative factors Kanagal, Sindhwani 2010).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..solvers.divergence import divergence
from ..solvers.nndsvd import nndsvd
from ..solvers.nonnegative import solve
from ..solvers.parts import NONE
from .choice import Choice
from .cross_validation import against_the_least
from .factored import Seed

__all__ = ["masked_cross_validation"]

GROUPS = 5
PATIENCE = 3  # numbers of parts to try beyond the best
TOL, MAX_ITER = 1e-3, 200  # of the fits: what is left of them is far below the noise


def masked_cross_validation(
    X: NDArray,
    rng: Seed = None,
    *,
    beta: float = 2.0,
    observed: NDArray | None = None,
    groups: int = GROUPS,
) -> Choice:
    """Return the number of non-negative parts that predicts hidden entries best.

    Parts are added until three more have not made the predictions better. Of the numbers whose loss
    is above the least one by no more than the standard error of that difference, over the groups,
    the smallest is taken.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        None of it below zero.
    rng : numpy.random.Generator, int or None
        Or a seed. Deals the entries to the groups.
    beta : float
        The loss, a beta-divergence: 2 for squares, 1 for counts.
    observed : ndarray of bool, of the shape of X, optional
        False for entries that are neither fitted nor predicted.
    groups : int
        Each is hidden once.

    Returns
    -------
    Choice
        0 if the means of the columns predict as well as parts do.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.select import masked_cross_validation
    >>> rng = np.random.default_rng(0)
    >>> X = rng.exponential(size=(80, 3)) @ rng.exponential(size=(3, 30))
    >>> masked_cross_validation(X + 0.1 * rng.random(X.shape), 0).k
    3
    """
    if groups < 2:
        raise ValueError(f"groups={groups} leaves nothing to predict from. Ask for at least 2.")
    rng = np.random.default_rng(rng)
    group = rng.permutation(X.size).reshape(X.shape) % groups
    seen = np.ones(X.shape, bool) if observed is None else observed
    costs = [[_cost_of_means(X, *_split(group, i, seen), beta) for i in range(groups)]]
    limit = min(X.shape) - 1
    while len(costs) <= limit and _best(costs) > len(costs) - 1 - PATIENCE:
        k = len(costs)

        def task(i: int, k: int = k) -> float:
            return _cost(X, *_split(group, i, seen), k, beta)

        costs.append(threads.run(task, groups))
    excess, error = against_the_least(np.array(costs).T)
    note = "loss of hidden entries, above its standard error"
    return Choice.of("cv", "excess loss", excess, error, note)


def _split(group: NDArray, i: int, seen: NDArray) -> tuple[NDArray, NDArray]:
    """Return which entries to fit and which to predict."""
    return seen & (group != i), seen & (group == i)


def _best(costs: list[list[float]]) -> int:
    return int(np.argmin(np.sum(costs, axis=1)))


def _cost_of_means(X: NDArray, fitted: NDArray, hidden: NDArray, beta: float) -> float:
    sums = np.where(fitted, X, 0.0).sum(axis=0)
    means = sums / np.maximum(fitted.sum(axis=0), 1)
    one = np.ones((len(X), 1))
    return divergence(np.where(hidden, X, 0.0), one, means[None], beta, observed=hidden)


def _cost(X: NDArray, fitted: NDArray, hidden: NDArray, k: int, beta: float) -> float:
    table = np.where(fitted, X, 0.0)
    start = nndsvd(table, k, np.random.default_rng(0), fill="nndsvda", observed=fitted)
    how: dict[str, Any] = {"on_W": NONE, "on_H": NONE, "tol": TOL, "max_iter": MAX_ITER}
    found = solve(table, *start, beta=beta, observed=fitted, **how)
    held = np.where(hidden, X, 0.0)
    return divergence(held, found.codes, found.components, beta, observed=hidden)
