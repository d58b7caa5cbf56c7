"""The fewest components that explain more than a given fraction of the variance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..solvers.spectral import Rule

__all__ = ["fraction"]


def fraction(target: float) -> Rule:
    """Return the rule for a share `target` of the total variance.

    Parameters
    ----------
    target : float
        Between 0 and 1.

    Returns
    -------
    callable
        ``rule(spectrum, total, complete)`` gives a number, or None if it must see more variances.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.select import fraction
    >>> fraction(0.8)(np.array([6.0, 3.0, 1.0]), 10.0, True)
    2
    """

    def rule(spectrum: NDArray, total: float, complete: bool) -> int | None:
        if not total > 0:
            return 1  # of nothing, any explains all
        share = np.cumsum(spectrum) / total
        k = int(np.searchsorted(share, target, side="right")) + 1
        if k <= len(spectrum):
            return k
        return len(spectrum) if complete else None

    return rule
