"""The contract that every estimator of the family keeps, importable by those who add one.

    >>> from eigenlens import PCA
    >>> from eigenlens.testing import check_estimator
    >>> len(check_estimator(PCA(n_components=2), layers=[1, 2])) > 20
    True

Layer 0 is scikit-learn's own ``check_estimator``. Layer 1 holds for every estimator: what a call
may touch (``purity``), the same numbers whichever way the data come (``numbers``), names, errors,
history and callbacks (``manners``), the way through files and the shell (``files``). Layer 2
(``claims``) has a check for each promise that a class may make. A class is excused from a check
only by its `excused`, with a reason. ``faulty`` has estimators with one fault each, on which the
checks are tested.

In a test file::

    @parametrize(estimators())
    def test_contract(estimator, check):
        check(estimator)
"""

from __future__ import annotations

from ..measure.align import Alignment, align, largest_angle
from .compare import compare
from .register import CLAIM_CHECKS, LARGE, LAYER1, SMALL, WIDE, Check
from .runner import ContractError, check_estimator, contract, estimators, parametrize

CHECKS: dict[str, Check] = LAYER1 | CLAIM_CHECKS
"""Every check of layers 1 and 2 by its name."""

__all__ = [
    "CHECKS",
    "LARGE",
    "SMALL",
    "WIDE",
    "Alignment",
    "Check",
    "ContractError",
    "align",
    "check_estimator",
    "compare",
    "contract",
    "estimators",
    "largest_angle",
    "parametrize",
]
