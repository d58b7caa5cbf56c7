"""A fitted linear model: the span of its components, and what is known of the variances in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._compat import validate_data
from ..data.blocks import Blocks
from . import limits
from .blocks import projections

__all__ = [
    "Fit",
    "Placed",
    "Span",
    "beyond_rounding",
    "checked",
    "is_orthonormal",
    "require_linear",
]


def require_linear(estimator: Any) -> None:
    """Raise unless `estimator` is fitted and has what a linear model has."""
    if hasattr(estimator, "steps"):
        raise TypeError(
            f"{type(estimator).__name__} has several steps, and a table of components belongs to "
            "one. Give its last step, pipeline[-1], and the data that this step has seen, "
            "pipeline[:-1].transform(X)."
        )
    check_is_fitted(estimator)
    missing = [
        name for name in ("components_", "mean_", "transform") if not hasattr(estimator, name)
    ]
    if missing:
        raise TypeError(
            f"{type(estimator).__name__} has no {' and no '.join(missing)}: it is not a linear "
            "model of centred rows. Give one that is, such as eigenlens.PCA."
        )


def checked(estimator: Any, X: Any) -> Any:
    """Return `X` as floats, dense or in rows, checked against the fitted model."""
    try:
        if isinstance(X, Blocks):  # columns go by their names
            return estimator._check(X, reset=False)
        return validate_data(
            estimator, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
    except ValueError as error:
        if "NaN" not in str(error) or not hasattr(estimator, "impute"):
            raise
        raise ValueError(
            "X has holes (NaN), and this is computed from whole rows. Give estimator.impute(X)."
        ) from None


def beyond_rounding(variances: NDArray) -> NDArray:
    """Return which variances of components are there, and not errors of rounding."""
    least = np.finfo(variances.dtype).eps * len(variances) * variances.max(initial=0.0)
    there: NDArray = variances > least
    return there


def is_orthonormal(components: NDArray) -> bool:
    """Whether the rows are orthonormal to the rounding of their dtype."""
    V = components.astype(np.float64)
    slack = 1e3 * np.finfo(components.dtype).eps
    return bool(np.abs(V @ V.T - np.eye(len(V))).max(initial=0.0) < slack)


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Rows seen from the span: coordinates in its basis, squared distances from it and the mean."""

    coordinates: NDArray
    outside: NDArray
    size: NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """The span of the components, with an orthonormal basis of it."""

    mean: NDArray
    basis: NDArray  # rows; the components themselves if they are orthonormal
    cosines: NDArray  # between the basis (rows) and the components (columns)
    orthonormal: bool
    eps: float  # of the dtype in which the model is stored

    @classmethod
    def of(cls, estimator: Any) -> Span:
        """Return the span of a fitted estimator."""
        components = np.asarray(estimator.components_)
        eps = float(np.finfo(components.dtype).eps)
        V = components.astype(np.float64)
        mean = np.asarray(estimator.mean_, dtype=np.float64)
        k = len(V)
        if is_orthonormal(components):
            return cls(mean, V, np.eye(k), True, eps)
        _, s, W = np.linalg.svd(V, full_matrices=False)
        basis = W[s > 10 * eps * s.max(initial=0.0)]
        length = np.linalg.norm(V, axis=1)
        cosines = np.divide(basis @ V.T, length, out=np.zeros((len(basis), k)), where=length > 0)
        return cls(mean, basis, cosines, False, eps)

    def place(self, A: Any) -> Placed:
        """Return where the rows of `A` lie."""
        return Placed(*projections(A, self.mean, self.basis))


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """What the limits need to know of the fit."""

    whitening: NDArray  # coordinates @ whitening are uncorrelated, of unit variance
    spectrum: limits.Spectrum
    training: bool  # whether the rows at hand are those of the fit

    @classmethod
    def of(cls, estimator: Any, span: Span, placed: Placed, training: bool | None) -> Fit:
        """Return what `estimator` and rows that it was fitted to, if they are such, tell of it."""
        n = getattr(estimator, "n_samples_", getattr(estimator, "n_samples_seen_", None))
        variances = getattr(estimator, "explained_variance_", None) if span.orthonormal else None
        if training is None:
            training = _looks_like_training(n, variances, span, placed)
        if not training and (variances is None or n is None):
            raise ValueError(
                f"{type(estimator).__name__} does not say how its scores vary together, so that "
                "T2 needs the table it was fitted to. Give that as X, and other rows as "
                "supplementary_rows."
            )
        n = int(len(placed.size) if n is None else n)
        turn = np.eye(len(span.basis))
        if variances is None:
            variances, turn = np.linalg.eigh(np.atleast_2d(np.cov(placed.coordinates.T)))
        variances = np.asarray(variances, dtype=np.float64)
        live = variances > span.eps * len(variances) * variances.max(initial=0.0)
        leading, k, d = variances[live], int(live.sum()), span.basis.shape[1]
        outside = placed.outside if training else None
        rest = _residual_variances(estimator, span, outside, n, k)
        freedom = limits.moments_of(rest, n, k, d)
        if outside is not None and outside.var() > 0:
            freedom = min(2 * float(outside.mean()) ** 2 / float(outside.var(ddof=1)), d - k)
        spectrum = limits.Spectrum(leading, rest, n, d, freedom)
        return cls(turn[:, live] / np.sqrt(leading), spectrum, training)


def _looks_like_training(
    n: int | None, variances: NDArray | None, span: Span, placed: Placed
) -> bool:
    """Whether there are as many rows as in the fit, with its means and variances to rounding."""
    C = placed.coordinates
    if n not in (None, len(C)) or len(C) < 2:
        return False
    slack = np.sqrt(span.eps)
    found = C.var(axis=0, ddof=1)
    shift = slack * np.sqrt(found.max(initial=0.0)) + 8 * span.eps * np.linalg.norm(span.mean)
    centred = np.abs(C.mean(axis=0)).max(initial=0.0) <= shift
    return bool(centred) and (
        variances is None
        or bool(np.abs(found - variances).max(initial=0.0) <= slack * found.max(initial=0.0))
    )


def _residual_variances(
    estimator: Any, span: Span, outside: NDArray | None, n: int, k: int
) -> NDArray:
    """Return the variances outside the span: all of them if known, else equal parts of the sum."""
    d = span.basis.shape[1]
    if span.orthonormal and getattr(estimator, "spectrum_complete_", False):
        spectrum = np.asarray(estimator.spectrum_, dtype=np.float64)[: n - 1]
        rest = spectrum[len(span.basis) :]
        return rest[rest > span.eps * d * spectrum.max(initial=0.0)]
    count = min(n - 1, d) - k
    if count <= 0:
        return np.zeros(0)
    if outside is not None:
        total = float(outside.sum()) / (n - 1)
    elif hasattr(estimator, "explained_variance_ratio_"):
        explained = float(np.sum(estimator.explained_variance_, dtype=np.float64))
        share = float(np.sum(estimator.explained_variance_ratio_, dtype=np.float64))
        total = max(0.0, explained / share - explained)
    else:
        total = float(estimator.noise_variance_) * count
    return np.full(count, total / count) if total > 0 else np.zeros(0)
