"""The contract as a whole: which checks an estimator must pass, and ways to run them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from unittest import SkipTest

from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from .._register import classes
from . import claims, files, manners, numbers, purity  # noqa: F401  they enter their checks
from .register import CLAIM_CHECKS, LAYER1, SMALL, Check, Shape

__all__ = ["ContractError", "check_estimator", "contract", "estimators", "parametrize"]

Pair = tuple[Any, Check]


class ContractError(AssertionError):
    """An estimator breaks a rule of the contract, or is excused from one without right.

    Examples
    --------
    >>> from eigenlens import PCA
    >>> from eigenlens.testing import check_estimator
    >>> class Boastful(PCA):
    ...     claims = PCA.claims | {"nonnegative"}
    >>> check_estimator(Boastful(n_components=2), layers=[2])
    Traceback (most recent call last):
        ...
    eigenlens.testing.runner.ContractError: Boastful(n_components=2) fails nonnegative: ...
    """


def estimators() -> list[Any]:
    """Return one estimator of each class in the register, with its defaults or its `exemplar`.

    Returns
    -------
    list of estimators

    Examples
    --------
    >>> from eigenlens.testing import estimators
    >>> "PCA" in {type(estimator).__name__ for estimator in estimators()}
    True
    """
    return [kind(**kind.exemplar) for kind in classes().values()]


def contract(
    estimators: Iterable[Any], *, layers: Iterable[int] = (0, 1, 2), shape: Shape = SMALL
) -> list[Pair]:
    """Return every (estimator, check) that must pass: call the check with the estimator.

    Parameters
    ----------
    estimators : iterable of unfitted estimators
        They are left as they are.
    layers : iterable of int, default=(0, 1, 2)
        0: scikit-learn's own checks. 1: what every estimator keeps. 2: what the class claims.
    shape : (n_samples, n_features), default=(60, 9)
        Of the tables used in layers 1 and 2.

    Returns
    -------
    list of (estimator, Check)

    Examples
    --------
    >>> from eigenlens import PCA
    >>> from eigenlens.testing import contract
    >>> pairs = contract([PCA(n_components=2)], layers=[2])
    >>> sorted(check.name for _, check in pairs)[:2]
    ['certificate', 'column_order']
    """
    wanted = set(layers)
    return [pair for one in estimators for pair in _pairs(one, shape) if pair[1].layer in wanted]


def _pairs(estimator: Any, shape: Shape) -> list[Pair]:
    foreign = _all_foreign(estimator)
    # a class may be excused from a check that the parameters of this estimator rule out
    default = _all_foreign(type(estimator)())
    known = LAYER1.keys() | {check.name for check in (*foreign, *default)}
    for name, reason in estimator.excused.items():
        _allow_excuse(type(estimator).__name__, name, reason, known)
    if unknown := estimator.claims - CLAIM_CHECKS.keys():
        raise ContractError(f"{type(estimator).__name__} claims {sorted(unknown)}: no such claim.")
    claimed = [CLAIM_CHECKS[name] for name in sorted(estimator.claims)]
    ours = [check.at(shape) for check in (*LAYER1.values(), *claimed)]
    return [(estimator, c) for c in (*foreign, *ours) if c.name not in estimator.excused]


def _all_foreign(estimator: Any) -> list[Check]:
    return [_foreign(check) for _, check in estimator_checks_generator(estimator)]


def _foreign(check: partial[None]) -> Check:
    """Return a check of scikit-learn's, made for its own tables, as one of ours."""
    options = "".join(f"[{key}={value}]" for key, value in check.keywords.items())
    inner = check.func
    while isinstance(inner, partial):
        options = "".join(f"[{key}={value}]" for key, value in inner.keywords.items())
        inner = inner.func
    return Check(inner.__name__ + options, 0, lambda estimator, shape: check(clone(estimator)))


def _allow_excuse(owner: str, name: str, reason: str, known: Iterable[str]) -> None:
    if name not in known:
        raise ContractError(
            f"{owner} is excused from {name!r}, which is no check. Name one of "
            "eigenlens.testing.CHECKS or of scikit-learn's; a claim is dropped, not excused."
        )
    if not reason.strip():
        raise ContractError(
            f"{owner} is excused from {name!r} without a reason. Write one beside it."
        )


def check_estimator(
    estimator: Any, *, layers: Iterable[int] = (0, 1, 2), shape: Shape = SMALL
) -> list[str]:
    """Run the contract on one estimator.

    Parameters
    ----------
    estimator : unfitted estimator
        It is left as it is.
    layers, shape
        As in :func:`contract`.

    Returns
    -------
    list of str
        The names of the checks that were passed. What does not apply in this environment, by
        raising ``unittest.SkipTest``, is not among them.

    Raises
    ------
    ContractError
        At the first check that fails, with its name and the reason.

    Examples
    --------
    >>> from eigenlens import PCA
    >>> from eigenlens.testing import check_estimator
    >>> passed = check_estimator(PCA(n_components=2), layers=[2])
    >>> "orthonormal" in passed
    True
    """
    passed = []
    for one, check in contract([estimator], layers=layers, shape=shape):
        try:
            check(one)
        except SkipTest:
            continue
        except Exception as error:
            raise ContractError(f"{one!r} fails {check.name}: {error}") from error
        passed.append(check.name)
    return passed


def parametrize(
    estimators: Iterable[Any], *, layers: Iterable[int] = (0, 1, 2), shape: Shape = SMALL
) -> Callable[[Callable[..., None]], Any]:
    """Return a pytest decorator for a test that takes `estimator` and `check`.

    Parameters
    ----------
    estimators, layers, shape
        As in :func:`contract`.

    Returns
    -------
    decorator

    Examples
    --------
    >>> from eigenlens import PCA
    >>> from eigenlens.testing import parametrize
    >>> @parametrize([PCA(n_components=2)])
    ... def test_contract(estimator, check):
    ...     check(estimator)
    """
    import pytest  # a package for development: not needed to use the rest of this module

    pairs = [
        pytest.param(estimator, check, id=f"{_name(estimator)}-{check.name}")
        for estimator, check in contract(estimators, layers=layers, shape=shape)
    ]
    return pytest.mark.parametrize(("estimator", "check"), pairs)


def _name(estimator: Any) -> str:
    return " ".join(repr(estimator).split())  # over one line, however many parameters are shown
