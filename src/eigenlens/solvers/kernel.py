"""Principal axes in the feature space of a kernel (Schoelkopf, Smola, Mueller 1998).

With ``phi`` the map that the kernel is the product of, centred, the axes are combinations of images

    v_j = sum_i a_ij phi(p_i)        with a_j = u_j / sqrt(l_j)

where ``(l_j, u_j)`` are eigenpairs of ``H K H``, K being the kernel between all points and ``H = I
- 1 1' / n``. A score is a product with an axis, so it takes the kernel alone.

For many points the axes are sought among combinations of a few of them (Nystroem), chosen by
randomly pivoted Cholesky. With ``K ~ F F'`` the rows of F are coordinates of the projections onto
their span, and the axes are those of plain PCA of F. Scores are then exact projections onto axes of
length 1, and what better axes could add is at most the trace of what F leaves of K.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..data.blocks import Blocks
from ..ops import threads
from ..ops.half import Centred
from ..ops.kernels import Kernel, Rbf
from ..ops.lanczos import Operator, Pairs, lanczos, top_pairs
from ..ops.pivoted import pivoted_cholesky
from ..ops.pivoted_blocks import BlockFactor
from ..ops.signs import signs_of
from .solution import Certificate, Monitor, Solution, ignore
from .spectral import Rank, certify, settle

__all__ = ["Axes", "Expansion", "choose_solver", "nystrom", "solve"]

ADDED = "kernel variance that other axes may add / all"
NOTHING = 1e-12  # of the largest eigenvalue
NEGATIVE = 1e-5  # of the largest eigenvalue: beyond, it is not rounding
START = 16  # pairs to begin with where a rule decides how many
PROBE = 12  # steps of the search for negative eigenvalues
ROUNDINGS = 8.0  # of the kernel, which no tolerance goes below
SMALL = 450  # points up to which LAPACK is the quickest


@dataclass(frozen=True, slots=True, eq=False)
class Axes:
    """Axes and mean in the feature space, as combinations of images of points p_i.

    Attributes
    ----------
    weights : ndarray of shape (m, k)
        Of the axes: ``v_j = sum_i weights_ij phi(p_i)``.
    centre : ndarray of shape (m,)
        Of the mean.
    offset : ndarray of shape (k,)
        Products of the mean with the axes.
    scores : ndarray of shape (m, k)
        Of the points themselves.
    distances : ndarray of shape (m,)
        Squared distance of the image of each point from the mean plus the span of the axes.
    square : float
        Squared length of the mean.
    """

    weights: NDArray
    centre: NDArray
    offset: NDArray
    scores: NDArray
    distances: NDArray
    square: float

    def project(self, kernel: Kernel, X: Any, points: Any) -> NDArray:
        """Return the scores of the rows of `X`."""
        return kernel.combine(X, points, self.weights) - self.offset

    def coefficients(self, scores: NDArray) -> NDArray:
        """Return what has these scores, as combinations of the images: a row for each."""
        found: NDArray = scores @ self.weights.T + self.centre
        return found

    def squares(self, scores: NDArray) -> NDArray:
        """Return the squared length of what has these scores."""
        found: NDArray = self.square + 2 * scores @ self.offset + (scores**2).sum(axis=1)
        return found

    def squared_distances(self, scores: NDArray) -> NDArray:
        """Return how far what has these scores is from the images of the points, squared."""
        apart = Rbf(1.0)
        between = apart.arguments(apart.ready(scores), apart.ready(self.scores))
        return between + self.distances

    def first(self, k: int) -> Axes:
        """Return the first `k` axes, with the same mean."""
        return replace(
            self,
            weights=self.weights[:, :k],
            offset=self.offset[:k],
            scores=self.scores[:, :k],
            distances=self.distances + (self.scores[:, k:] ** 2).sum(axis=1),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Expansion(Solution):
    """Principal axes in the feature space of a kernel, and how they were found.

    Attributes
    ----------
    eigenvalues : ndarray of shape (k,)
        Of the centred kernel, in falling order; what rounding explains is zero.
    eigenvectors : ndarray of shape (n, k) or None
        Scores of the rows over the root of the eigenvalue; None if they were not to be kept.
    axes : Axes
        On all rows, or those of `landmarks`.
    total_variance : float
        Trace of the centred kernel over n - 1; for landmarks, a bound above.
    explained_variance, explained_variance_ratio : ndarray of shape (k,)
        Eigenvalues over n - 1, and as shares of the trace.
    smallest_eigenvalue : float or None
        If it was looked for: below zero for kernels that are not positive definite.
    landmarks : ndarray of shape (m,) or None
        Rows that are points; None for all.
    X_fit : array of shape (m, d) or None
        The landmarks themselves.
    """

    eigenvalues: NDArray
    eigenvectors: NDArray | None
    axes: Axes
    total_variance: float
    explained_variance: NDArray
    explained_variance_ratio: NDArray
    smallest_eigenvalue: float | None = None
    landmarks: NDArray | None = None
    X_fit: Any = None

    @property
    def scores(self) -> NDArray:
        """Scores of the rows, where they were kept."""
        if self.eigenvectors is None:
            raise ValueError("Scores of rows that are spread over machines are not kept.")
        return self.eigenvectors * np.sqrt(np.maximum(self.eigenvalues, 0.0))

    def first(self, k: int) -> Expansion:
        """Return the expansion on the first `k` axes."""
        return replace(
            self,
            eigenvalues=self.eigenvalues[:k],
            eigenvectors=None if self.eigenvectors is None else self.eigenvectors[:, :k],
            axes=self.axes.first(k),
            explained_variance=self.explained_variance[:k],
            explained_variance_ratio=self.explained_variance_ratio[:k],
        )


def choose_solver(n: int, n_components: int | float | None = None) -> str:
    """Return the name of the solver that ``eigen_solver='auto'`` takes.

    Parameters
    ----------
    n : int
        Rows of the kernel matrix.
    n_components : int, float or None
        As in :class:`eigenlens.KernelPCA`.

    Returns
    -------
    {'dense', 'arpack'}

    Examples
    --------
    >>> from eigenlens import KernelPCA
    >>> KernelPCA.choose_solver(300, 2), KernelPCA.choose_solver(4000, 2)
    ('dense', 'arpack')
    """
    if n <= SMALL or n_components is None or (n_components >= 1 and 20 * n_components > n):
        return "dense"
    return "arpack"


def solve(
    K: Centred,
    rank: Rank,
    *,
    solver: str,
    definite: bool = True,
    rng: np.random.Generator,
    tol: float,
    max_steps: int | None = None,
    monitor: Monitor = ignore,
) -> Expansion:
    """Return the leading axes of the centred kernel `K`.

    Parameters
    ----------
    K : Centred
    rank : int or rule
    solver : {'dense', 'arpack', 'randomized'}
        LAPACK, block Lanczos with narrow blocks, or with wide ones.
    definite : bool
        Whether the kernel is known to be positive semi-definite.
    rng : Generator
        Draws the first block.
    tol : float
        Largest eigen-residual relative to the first eigenvalue.
    max_steps : int, optional
        Products with K, at most.
    monitor : Monitor
    """
    least: float | None = None
    if solver == "dense" and definite and isinstance(rank, int) and 10 * rank <= K.dim:
        pairs, least = _top(K, rank), 0.0
    elif solver == "dense":
        pairs = _whole(K)
        least = float(pairs.values[-1])
    else:
        pairs = lanczos(
            K,
            rank if isinstance(rank, int) else min(START, K.dim),
            rng=rng,
            tol=tol / 2,  # the other half is for rounding
            block=8 if solver == "arpack" else 16,
            sharp=True,
            max_steps=max_steps,
            enough=None if isinstance(rank, int) else lambda v: settle(rank, v, K.trace, False),
            watch=monitor,
        )
        if pairs.complete and not definite:
            pairs = _whole(K)  # with what is below zero
            least = float(pairs.values[-1])
        elif not definite:
            least = -float(lanczos(_Negative(K), 1, rng=rng, tol=0.1, max_steps=PROBE).values[0])
    rounding = np.finfo(np.float64).eps * float(np.abs(K.diagonal).sum())
    nothing = max(NOTHING * float(pairs.values[0]), rounding)
    # what is below zero or rounding is no variance
    trace = float(pairs.values[pairs.values > nothing].sum()) if pairs.complete else K.trace
    k = settle(rank, pairs.values, trace, pairs.complete)
    k = len(pairs.values) if k is None else min(k, len(pairs.values))
    values, U = pairs.values[:k].copy(), pairs.vectors[:, :k]
    residuals = K.gram(U) - U * values
    tol = max(tol, ROUNDINGS * rounding / max(float(pairs.values[0]), rounding))
    certificate = certify(
        residuals,
        pairs.values,
        k,
        U.dtype,
        tol,
        rest=pairs.rest(K.trace, k),
        stopped=pairs.stopped,
    )
    below = max(NEGATIVE * float(pairs.values[0]), ROUNDINGS * nothing)
    values[(values <= nothing) & ((values >= -below) | definite)] = 0.0
    if least is not None and (definite or abs(least) <= ROUNDINGS * nothing):
        least = 0.0
    U = U * signs_of(U.T)
    roots, square = np.sqrt(np.maximum(values, 0.0)), float(K.means.mean())
    weights = np.divide(U, roots, out=np.zeros_like(U), where=roots > 0)
    weights -= weights.mean(axis=0)
    scores = U * roots
    lengths = K.diagonal - 2 * K.means + square
    axes = Axes(
        weights=weights,
        centre=np.full(K.dim, 1 / K.dim),
        offset=K.means @ weights,
        scores=scores,
        distances=np.maximum(lengths - (scores**2).sum(axis=1), 0.0),
        square=square,
    )
    return Expansion(
        solver=solver,
        eigenvalues=values,
        eigenvectors=U,
        axes=axes,
        **_variances(values, trace, K.dim),
        smallest_eigenvalue=least,
        n_iter=pairs.steps,
        converged=certificate.holds,
        objective_history=pairs.captured(k),
        certificate=certificate,
    )


def _nothing(n: int, k: int, first: Any, keep: bool) -> Expansion:
    """Return k axes of no length: all images of the n rows are zero, also that of the first."""
    row = np.zeros((1, k))
    axes = Axes(row, np.ones(1), np.zeros(k), row, np.zeros(1), 0.0)
    return Expansion(
        solver="nystrom",
        eigenvalues=np.zeros(k),
        eigenvectors=np.zeros((n, k)) if keep else None,
        axes=axes,
        landmarks=np.zeros(1, np.int64),
        X_fit=first,
        certificate=Certificate(ADDED, 0.0, 1.0),
        **_variances(np.zeros(k), 0.0, n),
    )


def _variances(values: NDArray, trace: float, n: int) -> dict[str, Any]:
    """Return what the eigenvalues say about n rows."""
    return {
        "total_variance": max(trace, 0.0) / (n - 1),  # of rows that are all alike, rounding
        "explained_variance": values / (n - 1),
        "explained_variance_ratio": values / trace if trace > 0 else np.zeros(len(values)),
    }


def _whole(K: Centred) -> Pairs:
    with threads.blas_for(float(K.dim) ** 3):
        values, U = scipy.linalg.eigh(
            K.formed(), driver="evd", overwrite_a=True, check_finite=False
        )
    return Pairs(values[::-1], U[:, ::-1], np.empty(0), complete=True)


def _top(K: Centred, k: int) -> Pairs:
    """Return `k` pairs and one more by LAPACK, in a third of the time that all would take."""
    with threads.blas_for(float(K.dim) ** 3):
        values, U = top_pairs(K.formed(), k + 1, check_finite=False)
    return Pairs(values, U, np.array([values[:k].sum()]), sure=True)


class _Negative:
    """Minus an operator."""

    def __init__(self, A: Operator) -> None:
        self.A, self.dim = A, A.dim

    def gram(self, V: NDArray) -> NDArray:
        return -self.A.gram(V)

    def formed(self) -> NDArray:
        return -self.A.formed()


def nystrom(
    kernel: Kernel,
    X: Any,
    rank: Rank,
    *,
    most: int,
    tol: float = 0.0,
    rng: np.random.Generator,
    dtype: Any = np.float64,
    keep: bool = True,
) -> Expansion:
    """Return the leading axes among combinations of at most `most` rows of `X`.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite.
    X : ndarray, sparse matrix or Blocks of shape (n, d)
    rank : int or rule
    most : int
        Landmarks, at most n.
    tol : float
        Share of the trace of the kernel that may be left: fewer landmarks may do.
    rng : Generator
        Draws the landmarks.
    dtype : dtype
        Of the factor, an array of n rows and a column for each landmark: all the memory it takes.
        Of a table in blocks the factor is never there as a whole.
    keep : bool
        Whether to return the eigenvectors too, of as many rows as a table in blocks has.
    """
    blocks, given = isinstance(X, Blocks), {"tol": tol, "rng": rng, "dtype": dtype}
    factor: Any = (
        BlockFactor(kernel, X, most, keep=keep, **given)
        if blocks
        else pivoted_cholesky(kernel, X, most, **given)
    )
    if not len(factor.pivots):
        first = X.take(np.zeros(1, np.int64)) if blocks else X[[0]]
        return _nothing(X.shape[0], rank if isinstance(rank, int) else 0, first, keep)
    mean, C = factor.scatter()
    L = factor.L
    with threads.blas_for(float(len(C)) ** 3):
        values, V = np.linalg.eigh(C)
    values, V = values[::-1].clip(min=0.0), V[:, ::-1]
    total = float(np.trace(C)) + factor.rest
    k = settle(rank, values, total, True)
    k = len(values) if k is None else min(k, len(values))
    values, V = values[:k].copy(), V[:, :k]
    values[values <= NOTHING * values.max(initial=0.0)] = 0.0
    scores, turned = factor.scores(V, mean)
    V = V * turned.astype(np.float64)
    back = scipy.linalg.solve_triangular(L.T, np.column_stack([V, mean]), check_finite=False)
    about = L - mean
    own = about @ V
    axes = Axes(
        weights=np.where(values > 0, back[:, :k], 0.0),
        centre=back[:, k],
        offset=np.where(values > 0, mean @ V, 0.0),
        scores=own,
        distances=np.maximum((about**2).sum(axis=1) - (own**2).sum(axis=1), 0.0),
        square=float(mean @ mean),
    )
    missed = factor.rest / total if total > 0 else 0.0
    return Expansion(
        solver="nystrom",
        eigenvalues=values,
        eigenvectors=None if scores is None else _directions(scores, turned, values),
        axes=axes,
        **_variances(values, total, X.shape[0]),
        landmarks=factor.pivots,
        X_fit=factor.X if blocks else X[factor.pivots],
        certificate=Certificate(ADDED, missed, tol or 1.0),
    )


def _directions(scores: NDArray, signs: NDArray, values: NDArray) -> NDArray:
    """Return scores, their signs set, over the roots of the eigenvalues."""
    scores = scores * signs.astype(scores.dtype)
    roots = np.sqrt(values).astype(scores.dtype)
    return np.divide(scores, roots, out=np.zeros_like(scores), where=roots > 0)
