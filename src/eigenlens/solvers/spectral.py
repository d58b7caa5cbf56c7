"""What the solvers of PCA share: their result, its rank, its proof, and the choice of solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .solution import Certificate, Solution

__all__ = ["Rank", "Spectral", "assemble", "choose_solver", "default_tol"]

Rule = Callable[[NDArray, float, bool], int | None]
"""A rule for the number of components: from the leading variances (in falling order), the total
variance, and whether these are all variances, to a number; None if more of them must be known."""

Rank = int | Rule

LEADING = "error of a variance / largest variance"
NEAREST = "distance of a variance from an eigenvalue / largest variance"
ROUNDING = 32.0  # units of rounding that sums of products in blocks of some thousand rows gather


@dataclass(frozen=True, kw_only=True)
class Spectral(Solution):
    """The leading principal axes of a centred table.

    Attributes
    ----------
    n_samples : int
        Rows that count.
    mean : array of shape (d,)
    components : array of shape (k, d)
        Orthonormal rows.
    explained_variance, explained_variance_ratio, singular_values : arrays of shape (k,)
    noise_variance : float
        Mean of the other variances.
    spectrum : array
        The variances known, in falling order: at least the first k.
    spectrum_complete : bool
        Whether `spectrum` holds all min(n, d) of them.
    total_variance : float
    """

    n_samples: int
    mean: NDArray
    components: NDArray
    explained_variance: NDArray
    explained_variance_ratio: NDArray
    singular_values: NDArray
    noise_variance: float
    spectrum: NDArray
    spectrum_complete: bool
    total_variance: float


def assemble(
    components: NDArray,
    values: NDArray,
    square: float,
    *,
    mass: float,
    rows: int,
    complete: bool,
    **how: Any,
) -> Spectral:
    """Return the result, from eigenvalues of the scatter matrix and its trace `square`.

    The `rows` count for `mass` rows: variances have ``mass - 1`` in the denominator, and as many
    as a table of that many rows has may differ from zero.
    """
    k, d, dof = *components.shape, mass - 1
    limit = min(max(rows, int(mass)), d)
    values = values[: min(rows, d)]
    square = max(square, float(values[:k].sum()))  # beside large means rounding may have lowered it
    rest = values[k:].sum() if complete else max(0.0, square - float(values[:k].sum()))
    return Spectral(
        n_samples=rows,
        components=components,
        explained_variance=values[:k] / dof,
        explained_variance_ratio=values[:k] / square if square else np.zeros(k),
        singular_values=np.sqrt(values[:k]),
        noise_variance=float(rest) / dof / (limit - k) if k < limit else 0.0,
        spectrum=values / dof,
        spectrum_complete=complete,
        total_variance=square / dof,
        **how,
    )


def default_tol(dtype: np.dtype) -> float:
    """Return the relative eigen-residual that makes variances right to the rounding of `dtype`."""
    return 1e-8 if dtype == np.float64 else 1e-5


def settle(rank: Rank, spectrum: NDArray, total: float, complete: bool) -> int | None:
    """Return the number of components that `rank` asks for, given the variances known."""
    return rank(spectrum, total, complete) if callable(rank) else rank


def certify(
    residuals: NDArray,
    values: NDArray,
    k: int,
    dtype: np.dtype,
    tol: float,
    *,
    rest: float,
    stopped: bool = False,
) -> Certificate:
    """Return the proof of the first k of `values` from the residuals ``R = C V - V diag(theta)``.

    For orthonormal V some k eigenvalues of C lie within ``|R|`` of the thetas (Kahan 1967). They
    are the leading ones, each in its place, if no eigenvalue outside exceeds theta_k; by Weyl the
    error is at most ``|R| + max(0, rest - theta_k)``, with `rest` a bound on all eigenvalues
    outside. Where `rest` is only the variance that is left, a converged answer states the first
    bound, and one that was `stopped` early the second. The rounding of C, in the arithmetic of the
    data, is added.
    """
    largest = float(values[0]) if k else 0.0
    if largest == 0.0:
        return Certificate(LEADING, 0.0, tol)
    distance = float(np.linalg.norm(residuals / largest))  # not of squares that overflow
    distance += ROUNDING * float(np.finfo(dtype).eps)
    missed = max(0.0, rest - float(values[k - 1])) / largest
    if missed and not stopped:
        return Certificate(NEAREST, distance, tol)
    return Certificate(LEADING, distance + missed, tol)


def cross_over(T: NDArray) -> tuple[NDArray, NDArray]:
    """Return axes (rows) and singular values from ``T = A'U``, U orthonormal leading left vectors.

    By QR rather than by dividing by singular values, so that axes of tiny or no variance come out
    orthonormal too.
    """
    Q, R = np.linalg.qr(T)
    left, values, _ = np.linalg.svd(R)
    # in double, as squares of what single precision holds may be more than it does
    return (Q @ left).T, values.astype(np.float64)


def choose_solver(
    shape: tuple[int, int], n_components: int | float | str | None = None, *, sparse: bool = False
) -> str:
    """Return the name of the solver that ``svd_solver="auto"`` takes.

    Parameters
    ----------
    shape : (n_samples, n_features)
    n_components : int, float, str or None
        As in :class:`eigenlens.PCA`.
    sparse : bool
        Whether X is a sparse matrix.

    Returns
    -------
    str
        ``"full"`` for small tables, and where nearly all components are wanted and X is not much
        taller than wide: the SVD keeps the digits of the smallest ones. ``"covariance_eigh"``
        (tall) and ``"gram_eigh"`` (wide) form the smaller matrix of products and are the quickest
        while that has up to some thousand rows. Beyond, ``"randomized"`` for dense and ``"arpack"``
        for sparse X only multiply by X.

    Examples
    --------
    >>> from eigenlens import PCA
    >>> PCA.choose_solver((200_000, 100), 10)
    'covariance_eigh'
    >>> PCA.choose_solver((50_000, 5000), 20, sparse=True)
    'arpack'
    """
    n, d = shape
    small = min(shape)
    k = int(n_components) if isinstance(n_components, Integral) else None
    formed = "covariance_eigh" if n >= d else "gram_eigh"
    if sparse:
        wants_all = n_components is None or n_components == "mle"
        return formed if wants_all or small <= 500 else "arpack"
    if max(shape) <= 500:
        return "full"
    wants_all = n_components is None or (k is not None and k >= 0.8 * small)
    if wants_all and max(shape) < 10 * small:
        return "full"
    # Forming the matrix costs small / 2 products with X, an iteration some 15 (k + 10).
    if k is not None and small > 4000 and small > 60 * (k + 10):
        return "randomized"
    return formed
