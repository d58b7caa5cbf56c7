"""How many components: rules on spectra, one a file.

A rule takes the leading variances in falling order, the total variance, and whether these are all
variances; it returns a number, or None if it must see more of them.
"""

from __future__ import annotations

from ..solvers.spectral import Rank
from .minka import minka
from .variance import fraction

__all__ = ["fraction", "minka", "rank_of"]


def rank_of(n_components: int | float | str | None, n_samples: int, limit: int) -> Rank:
    """Return the rank or rule that `n_components` names; None stands for `limit`."""
    if n_components is None:
        return limit
    if isinstance(n_components, str):
        return minka(n_samples)
    if isinstance(n_components, float) and n_components < 1:
        return fraction(n_components)
    return int(n_components)
