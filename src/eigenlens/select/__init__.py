"""How many components: one rule a file.

Two kinds. Rules on spectra, `fraction` and `minka`, take the leading variances in falling order,
the total variance, and whether these are all variances; they return a number, or None if they must
see more of them. Rules on tables, those of `RULES`, separate factors from noise; they take a table
and a random generator, and return a `Choice` with the evidence. A table in blocks goes to them as
`FactoredBlocks`.

>>> from eigenlens import datasets, select
>>> X = datasets.planted_subspace(200, 20, rank=3, random_state=0).X
>>> select.gavish_donoho(X).k, select.deflation(X, 0).k
(3, 3)
"""

from __future__ import annotations

from ..solvers.spectral import Rank
from .choice import Choice
from .consensus import RULES, Consensus, consensus
from .cross_validation import cross_validation
from .factored import Factored, factored
from .factored_blocks import FactoredBlocks
from .gavish_donoho import gavish_donoho
from .kernel_width import KernelWidth, kernel_width
from .masked import masked_cross_validation
from .minka import minka
from .resampling import deflation, flip, parallel
from .variance import fraction

__all__ = [
    "RULES",
    "Choice",
    "Consensus",
    "Factored",
    "FactoredBlocks",
    "KernelWidth",
    "consensus",
    "cross_validation",
    "deflation",
    "factored",
    "flip",
    "fraction",
    "gavish_donoho",
    "kernel_width",
    "masked_cross_validation",
    "minka",
    "parallel",
    "rank_of",
]


def rank_of(n_components: int | float | str | None, n_samples: int, limit: int) -> Rank:
    """Return the rank or rule that `n_components` names; None stands for `limit`.

    Parameters
    ----------
    n_components : int, float, str or None
        A number; a share of the variance; ``'mle'``, Minka's; or None.
    n_samples : int
        Rows of the table.
    limit : int
        The most components there are.

    Returns
    -------
    int or callable
        A number, or a rule on spectra: `fraction` or `minka`.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.select import rank_of
    >>> rank_of(3, n_samples=100, limit=8), rank_of(None, n_samples=100, limit=8)
    (3, 8)
    >>> rule = rank_of(0.8, n_samples=100, limit=3)
    >>> rule(np.array([6.0, 3.0, 1.0]), 10.0, True)
    2
    """
    if n_components is None:
        return limit
    if isinstance(n_components, str):
        return minka(n_samples)
    if isinstance(n_components, float) and n_components < 1:
        return fraction(n_components)
    return int(n_components)
