"""Tables for the checks, and the small things that most checks do."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from ..datasets import planted_subspace
from .compare import compare, difference
from .register import Shape, require

__all__ = [
    "allowed",
    "assert_close",
    "assert_same_fit",
    "changed",
    "easy",
    "fingerprint",
    "formats",
    "hard",
    "no_warnings",
    "noise",
    "precision",
    "ready",
    "sparse_table",
    "spiked",
    "state",
    "takes_sparse",
]

TIGHT = 1e-10  # tolerance of a fit that is compared with another
GAP = 0.01  # how far apart variances of the easy tables are, relative to the largest


def easy(estimator: Any, shape: Shape, seed: int = 0) -> NDArray:
    """Return a table with variances well apart, and a mean."""
    n, d = shape
    mean = np.random.default_rng(seed).standard_normal(d)
    X = planted_subspace(n, d, min(d, 12), noise=0.01, mean=3 * mean, random_state=seed).X
    return allowed(estimator, X)


def hard(estimator: Any, shape: Shape, seed: int = 0) -> NDArray:
    """Return a table whose variances fall so slowly that an iteration takes many steps."""
    n, d = shape
    X = np.random.default_rng(seed).standard_normal((n, d)) * np.arange(1, d + 1) ** -0.5
    return allowed(estimator, X)


def noise(estimator: Any, shape: Shape) -> NDArray:
    """Return a table with nothing in it: an iteration may well give up on it."""
    X = np.random.default_rng(0).standard_normal(shape)
    return allowed(estimator, X)


def spiked(estimator: Any, shape: Shape) -> NDArray:
    """Return a table with all variances alike but the first, which is 2.25 times as large."""
    n, d = shape
    m = min(n - 1, d)
    rng = np.random.default_rng(0)
    U = rng.standard_normal((n, m))
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    V = np.linalg.qr(rng.standard_normal((d, m)))[0]
    X = U * np.append(1.5, np.ones(m - 1)) @ V.T
    return allowed(estimator, X)


def allowed(estimator: Any, X: NDArray) -> NDArray:
    """Return `X`, raised above zero where the estimator takes nothing below."""
    return X - X.min() if get_tags(estimator).input_tags.positive_only else X


def sparse_table(estimator: Any, shape: Shape) -> NDArray:
    """Return the easy table with most cells empty."""
    X = easy(estimator, shape)
    return np.where(np.random.default_rng(1).random(shape) < 0.3, X, 0.0)


def formats(X: NDArray) -> Iterator[tuple[str, Any]]:
    """Yield `X` in every sparse format, tidy or not, with the name of it."""
    for kind in ("csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array"):
        yield kind, getattr(sparse, kind)(X)
    S = sparse.csr_array(X)
    rows = zip(S.indptr[:-1], S.indptr[1:], strict=True)
    backwards = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in rows])
    yield "unsorted indices", _csr(S.data[backwards], S.indices[backwards], S.indptr, X.shape)
    parts = np.repeat(S.data, 2) * np.tile([0.25, 0.75], S.nnz)
    yield "repeated entries", _csr(parts, np.repeat(S.indices, 2), 2 * S.indptr, X.shape)
    n, d = X.shape
    full = np.arange(0, n * d + 1, d)
    yield "stored zeros", _csr(X.ravel(), np.tile(np.arange(d), n), full, X.shape)


def _csr(data: NDArray, indices: NDArray, indptr: NDArray, shape: tuple[int, ...]) -> Any:
    return sparse.csr_array((data, indices, indptr), shape=shape)


def takes_sparse(estimator: Any) -> bool:
    """Whether the estimator says that it takes sparse input."""
    return bool(get_tags(estimator).input_tags.sparse)


def ready(estimator: Any, **params: Any) -> Any:
    """Return an unfitted copy with a seed, which solves tightly, with `params` set."""
    copy = clone(estimator)
    known = copy.get_params(deep=False)
    if "random_state" in known:
        copy.set_params(random_state=0)
    if (tol := known.get("tol")) and tol > TIGHT:
        copy.set_params(tol=TIGHT)
        if "max_iter" in known:
            copy.set_params(max_iter=max(known["max_iter"], 10_000))
    return copy.set_params(**params)


def precision(*models: Any) -> float:
    """Return how far fits of one problem may differ: rounding, or what their certificates leave."""
    bounds = [model.certificate_.value for model in models if hasattr(model, "certificate_")]
    return max(1e-10, *(bound / GAP for bound in bounds)) if bounds else 1e-10


def assert_close(reference: Any, other: Any, tolerance: float, what: str) -> None:
    """Raise unless two arrays agree to `tolerance` relative to the largest entry."""
    found = difference(reference, other)
    require(found <= tolerance, f"{what}: relative difference {found:.1e}, allowed {tolerance:.1e}")


def assert_same_fit(reference: Any, other: Any, tolerance: float, what: str) -> None:
    """Raise unless two fitted estimators agree in every attribute, signs and order included."""
    for name, found in compare(reference, other, free=False).items():
        require(
            found <= tolerance,
            f"{what}: {name} has relative difference {found:.1e}, allowed {tolerance:.1e}",
        )


@contextmanager
def no_warnings(what: str) -> Iterator[None]:
    """Turn the first warning inside into the failure of a check."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            yield
        except Warning as warning:
            message = f"{what} met with {type(warning).__name__}: {warning}"
            raise AssertionError(message) from warning


def without_a_way_back() -> AbstractContextManager[None]:
    """Let a fitted model say that it was not asked to learn what `inverse_transform` needs."""
    return suppress(NotFittedError)


def state(model: Any) -> dict[str, str]:
    """Return a fingerprint of every attribute of the model, its callbacks apart."""
    return {name: joblib.hash(value) for name, value in vars(model).items() if "_skl_" not in name}


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return the attributes that differ, came or went between two states."""
    names = sorted(before.keys() | after.keys())
    return [name for name in names if before.get(name) != after.get(name)]


def fingerprint(X: Any) -> str:
    """Return a fingerprint of the values of `X` and, if sparse, of where they are stored."""
    parts = ("data", "indices", "indptr", "coords")
    stored = [getattr(X, part, None) for part in parts] if sparse.issparse(X) else X
    return str(joblib.hash(stored))
