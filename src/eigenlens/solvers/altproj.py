"""Robust PCA of a given rank: accelerated alternating projections (Cai, Cai, Wei 2019).

Of a table M, entries or whole rows are grossly wrong and all others lie near a mean m and a part L
of rank k. With a limit z on the residuals, the method reduces

    sum over observed entries of  min(r_ij^2, z^2)      where r = M - 1 m' - L

over m and L: least squares that what is beyond the limit cannot bend (z is one for each column, or
one for all rows). In turn,

    S <- the residuals beyond z, whole          what is sparse, or not observed, is free
    L <- truncate(L + P_T(M - 1 m' - L - S))    to rank k

where P_T projects onto the tangent space of the matrices of rank k at L. With ``L = U s V'`` and
``C = M - 1 m' - L - S``, of which columns have lost their mean to m,

    L + P_T(C) = U (s V' + U'C) + (C V - U U'C V) V'

has rank 2 k and is truncated by two thin QR factorisations and a small SVD: a step is one pass over
M and three products of k columns, and no singular vectors of a full table are computed.

The limit falls from step to step, but not below what noise explains: a multiple of the median
residual. So exact data are recovered exactly (the median goes to zero with the error), and of noisy
ones L is a trimmed least squares fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import chdtri

from ..ops import threads
from ..ops.trim import NORMAL, column_medians, most, regress, trim, typical
from ..ops.triplets import Triplets, small_svd
from .l1_regression import least_squares
from .low_rank import LowRank
from .solution import Certificate, Monitor, ignore

__all__ = ["solve"]

CHANGE = "change of low_rank_ in the last step / its size"
DEVIATIONS = 3.0  # up to which noise explains a residual
TAIL = 0.0027  # chance that noise goes beyond
FALL = 0.7  # of the limit from step to step
RESOLVED = 100  # tolerances, of a typical entry of L, from which an entry counts as sparse
ROUNDINGS = 50  # of the numbers, which no tolerance goes below
SPARE = 10  # directions beyond those wanted that the first subspace iteration takes along
POWERS = 2  # of the first subspace iteration
LOOKS = 5  # second looks, at most
EARLY = 1e-3  # change at which the first one is taken
LOST = 0.25, 0.5  # of a row or column beyond the limit, twice the usual: worth a second look
BLOCK_BYTES = 1 << 19  # of a block of rows, unless it then has few rows for its products

T = TypeVar("T")


def solve(
    M: NDArray,
    k: int,
    *,
    rows: bool = False,
    centre: bool = True,
    noise: float | None = None,
    rng: np.random.Generator,
    tol: float = 1e-7,
    max_iter: int = 500,
    monitor: Monitor = ignore,
) -> LowRank:
    """Return `M` taken apart into a mean, a part of rank `k` and a sparse one.

    Parameters
    ----------
    M : ndarray of shape (n, d)
        NaN where nothing was observed; something must be in each row and column.
    k : int
        From full rank on (``min(n - 1, d)`` with a mean, ``min(n, d)`` without) the table is its
        own low-rank part: nothing is sparse, and holes get the mean of their column.
    rows : bool
        Whether whole rows are outliers, rather than entries. They get the mean as low-rank part.
    centre : bool
        Whether the mean is free, rather than zero.
    noise : float, optional
        Standard deviation of what is neither low rank nor sparse. Estimated if not given.
    rng : Generator
        Draws the first directions.
    tol : float
        Largest change of the low-rank part and the mean in the last step, relative to the size of
        the low-rank part without the mean; at least fifty roundings.
    max_iter : int
    monitor : Monitor

    Returns
    -------
    LowRank
        The history is that of the sum at the head of this file, with the limit of each step; of
        rows, that of ``min(r^2, z^2)`` with r the root mean square of a row, times its entries.

    Notes
    -----
    A row of which most entries are beyond the limit cannot get back by itself: what is beyond is
    free. So when the steps come to rest, such rows (and columns) are given a second look, by a
    robust regression on the subspace that the others have settled. Where even that does not fit the
    most of a row, the row is left out, and has the mean as low-rank part.

    With k above the rank of the truth, the low-rank part can take in wrong entries.

    Allocates two tables of the size of M, one of which becomes the sparse part.

    References
    ----------
    H. Cai, J.-F. Cai, K. Wei, Accelerated alternating projections for robust principal component
    analysis, JMLR 20 (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import datasets
    >>> from eigenlens.solvers import altproj
    >>> problem = datasets.planted_pursuit(80, 60, rank=3, missing=0.1, random_state=0)
    >>> found = altproj.solve(problem.X, 3, rng=np.random.default_rng(0))
    >>> low_rank = found.mean + found.scores @ found.components
    >>> np.allclose(low_rank, problem.low_rank, atol=1e-6)
    True
    >>> np.array_equal(found.sparse != 0, problem.sparse != 0)
    True
    """
    with threads.serial_blas():
        if k >= min(len(M) - centre, M.shape[1]):
            return _whole(M, k, centre, tol)
        tol = max(tol, ROUNDINGS * float(np.finfo(M.dtype).eps))
        table = (_Rows if rows else _Entries)(M, k, centre, noise, tol, rng)
        history: list[float] = []
        looks, at_rest, stopped = 0, False, False
        while len(history) < max_iter and not at_rest and not stopped:
            history.append(table.step())
            stopped = monitor(history[-1])
            at_rest = table.change <= tol and table.settled
            early = looks == 0 and table.change <= EARLY and table.settled
            if (at_rest or early) and looks < LOOKS:
                looks += 1
                at_rest = not table.second_look() and at_rest
        return LowRank(
            solver="altproj",
            mean=table.mean.astype(M.dtype),
            components=table.low.Vt,
            singular_values=table.low.s,
            scores=table.low.U * table.low.s,
            sparse=table.sparse(),
            n_iter=len(history),
            converged=at_rest,
            objective_history=np.array(history),
            certificate=Certificate(CHANGE, table.change, tol),
        )


def _whole(M: NDArray, k: int, centre: bool, tol: float) -> LowRank:
    """Return the singular value decomposition of the table: its rank is not bounded."""
    mean = np.nanmean(M, axis=0) if centre else np.zeros(M.shape[1], M.dtype)
    about = np.where(np.isnan(M), 0.0, M - mean).astype(M.dtype, copy=False)
    U, s, Vt = small_svd(about).first(k)
    return LowRank(
        solver="altproj",
        mean=mean,
        components=Vt,
        singular_values=s,
        scores=U * s,
        sparse=np.zeros_like(M),
        certificate=Certificate(CHANGE, 0.0, tol),
    )


def _qr(A: NDArray) -> tuple[NDArray, NDArray]:
    Q, R = scipy.linalg.qr(A, mode="economic", overwrite_a=True, check_finite=False)
    return Q, R


def _largest(R: NDArray) -> float:
    return float(np.nanmax(np.abs(R)))


class _Table:
    """A table, its fit and the limit of the moment; what the limit cuts off is up to the heirs.

    Attributes
    ----------
    mean, low
        The fit.
    change : float
        Of the fit in the last step, relative to its size.
    settled : bool
        Whether nothing that was kept in the last step is beyond what noise explains.
    """

    start: float  # the first limit, over the typical size

    def __init__(
        self,
        M: NDArray,
        k: int,
        centre: bool,
        noise: float | None,
        tol: float,
        rng: np.random.Generator,
    ) -> None:
        n, d = M.shape
        self.M, self.k, self.centre, self.noise, self.tol, self.rng = M, k, centre, noise, tol, rng
        self.blocks = threads.spans(n, max(2 * k, BLOCK_BYTES // (M.itemsize * d)))
        self.sizes = np.empty((n, self.size(M[:1]).shape[1]), np.float32)  # enough for a median
        self._begin()

    def size(self, R: NDArray) -> NDArray:
        """Return what the limit is compared with, NaN where nothing was observed."""
        raise NotImplementedError

    def noise_limit(self) -> float:
        """Return the size up to which noise explains a residual."""
        raise NotImplementedError

    def cut(self, rows: slice) -> tuple[float, float]:
        """Set these rows of R to C: what the limit leaves; return the largest size and the loss."""
        raise NotImplementedError

    def second_look(self) -> bool:
        """Fit again what is beyond the limit as a whole; return whether that changed the fit."""
        raise NotImplementedError

    def _run(self, task: Callable[[slice], T]) -> list[T]:
        return threads.run(lambda i: task(self.blocks[i]), len(self.blocks))

    # -------------------------------------------------------------------------------- the start

    def _begin(self) -> None:
        """Fit the table with all sizes brought down to the first limit."""
        M = self.M
        self.mean = column_medians(M).astype(np.float64) if self.centre else np.zeros(M.shape[1])
        self.low = Triplets.none(M.shape, M.dtype)
        self.R = np.empty_like(M)
        self.unit = max(self._run(lambda rows: _largest(M[rows] - self.mean))) or 1.0
        self._residual()
        self.n_sizes = int(np.sum(~np.isnan(self.sizes)))
        self.schedule = self.start * self.unit * typical(self.sizes).astype(np.float64)
        self.limit = np.full_like(self.schedule, np.inf)
        self._run(self._bring_down)
        if self.centre:
            step = np.mean(self.R, axis=0, dtype=np.float64)
            self.mean += step
            self.R -= step.astype(M.dtype)
        self.low = self._leading()

    def _bring_down(self, rows: slice) -> None:
        """Shrink these rows of R to the first limit, with zeros at holes."""
        R = self.R[rows]
        sizes = self.size(R)
        R *= np.divide(self.schedule, sizes, out=np.ones_like(sizes), where=sizes > self.schedule)
        R[np.isnan(R)] = 0.0

    def _leading(self) -> Triplets:
        """Return the leading triplets of R, roughly: subspace iteration from a random start."""
        n, d = self.R.shape
        V = self.rng.standard_normal((d, min(self.k + SPARE, n, d))).astype(self.R.dtype)
        for _ in range(POWERS):
            V = _qr(self._gram(V))[0]
        Q = _qr(np.concatenate(self._run(lambda rows: self.R[rows] @ V)))[0]
        B = np.sum(self._run(lambda rows: Q[rows].T @ self.R[rows]), axis=0)
        U, s, Vt = small_svd(B).first(self.k)
        return Triplets(Q @ U, s, Vt)

    def _gram(self, V: NDArray) -> NDArray:
        """Return ``R'R V``."""
        product: NDArray = np.sum(
            self._run(lambda rows: self.R[rows].T @ (self.R[rows] @ V)), axis=0
        )
        return product

    # -------------------------------------------------------------------------------- a step

    def step(self) -> float:
        """Take one step; return the loss before it."""
        self._residual()
        floor = max(self.noise_limit(), self._resolution())
        self.limit = np.minimum(self.limit, np.maximum(self.schedule, floor))
        self.schedule = FALL * self.schedule
        U, _, Vt = self.low

        def part(rows: slice) -> tuple[NDArray, NDArray, NDArray, float, float]:
            largest, loss = self.cut(rows)
            C = self.R[rows]
            return C @ Vt.T, U[rows].T @ C, C.sum(axis=0, dtype=np.float64), largest, loss

        CV, UC, sums, largest, loss = zip(*self._run(part), strict=True)
        self.settled = max(largest) <= floor
        self._move(np.concatenate(CV), np.sum(UC, axis=0), np.sum(sums, axis=0))
        return float(np.sum(loss))

    def _residual(self) -> None:
        """Set R to what the fit of the moment leaves of M, and its sizes."""

        def part(rows: slice) -> None:
            L = self.low.table(rows) + self.mean  # float64, like the mean, until all is subtracted
            R = np.subtract(self.M[rows], L, out=self.R[rows], casting="same_kind")
            self.sizes[rows] = self.size(R) / self.unit

        self._run(part)

    def _resolution(self) -> float:
        """Return the size up to which the tolerance or rounding explains a residual."""
        typical_entry = float(np.linalg.norm(self.low.s)) / self.M.size**0.5
        rounding = float(np.finfo(self.M.dtype).eps * np.abs(self.mean).max())
        return max(RESOLVED * self.tol * typical_entry, ROUNDINGS * rounding)

    def _move(self, CV: NDArray, UC: NDArray, sums: NDArray) -> None:
        """Move the fit by the projection of C onto the tangent space."""
        n, k = len(self.M), self.k
        U, s, Vt = self.low
        step = sums / n if self.centre else np.zeros_like(sums)
        CV -= (step @ Vt.T).astype(CV.dtype)
        Q, A = _qr(np.hstack([U, CV - U @ (UC @ Vt.T)]))
        W, B = _qr(np.vstack([s[:, np.newaxis] * Vt + UC, Vt]).T)
        left, values, right = small_svd(A @ B.T).first(k)
        # in the bases Q and W the fit of before has the coordinates A[:, :k] s B[:, k:]'
        moved = np.linalg.norm((left * values) @ right - (A[:, :k] * s) @ B[:, k:].T)
        size = float(np.linalg.norm(values))
        length = float(np.hypot(moved, n**0.5 * np.linalg.norm(step)))
        self.change = length / size if size else length
        self.mean = self.mean + step
        self.low = Triplets(Q @ left, values, right @ W.T)

    def _refit(self, mean: NDArray, P: NDArray, Vt: NDArray) -> None:
        """Make the fit that of the scores P in the basis Vt, which need not be orthonormal."""
        if self.centre:
            middle = P.mean(axis=0)
            mean, P = mean + middle @ Vt, P - middle
        Q, A = _qr(P)
        W, B = _qr(Vt.T)
        left, s, right = small_svd(A @ B.T).first(self.k)
        self.mean, self.low = mean, Triplets(Q @ left, s, right @ W.T)

    def sparse(self) -> NDArray:
        """Return what the fit leaves of M beyond the limit."""
        self._residual()
        for rows in self.blocks:
            R = self.R[rows]
            R[~(self.size(R) > self.limit) | np.isnan(R)] = 0.0
        return self.R


class _Entries(_Table):
    """Single entries are wrong; the limit is one for each column.

    Attributes
    ----------
    out : ndarray
        Rows that no fit has the most of: they have no part in the steps.
    """

    start = 4.5
    out = np.zeros(0, int)

    def size(self, R: NDArray) -> NDArray:
        return np.abs(R)

    def noise_limit(self) -> float:
        if self.noise is not None:
            return DEVIATIONS * self.noise
        n, d = self.M.shape
        sizes, middle = self.sizes.reshape(-1), self.n_sizes // 2
        sizes.partition(middle)  # in place; NaN come last
        left = ((1 - self.k / n) * (1 - self.k / d)) ** 0.5  # of noise, by the fit
        return DEVIATIONS * NORMAL * self.unit * float(sizes[middle]) / left

    def cut(self, rows: slice) -> tuple[float, float]:
        R = self.R[rows]
        largest, loss = trim(R, self.limit)
        R[np.isin(np.arange(rows.start, rows.stop), self.out)] = 0.0
        return largest, loss

    def second_look(self) -> bool:
        self._residual()
        mean, P, Vt = self.mean.copy(), self.low.U * self.low.s, self.low.Vt.copy()
        rows, B, out = self._again(1, lambda rows: self.M[rows] - mean, Vt.T)
        P[rows], P[out] = B, 0.0
        A = np.column_stack([P, np.ones(len(P), P.dtype)]) if self.centre else P
        columns, B, _ = self._again(0, lambda columns: self.M[:, columns].T, A)
        Vt[:, columns] = B[:, : self.k].T
        if self.centre:
            mean[columns] = B[:, self.k]
        changed = len(rows) + len(columns) > 0 or not np.array_equal(out, self.out)
        self.out = out
        if changed:
            self._refit(mean, P, Vt)
        return changed

    def _again(
        self, axis: int, target: Callable[[NDArray], NDArray], A: NDArray
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Fit rows (axis 1) or columns (axis 0) again, those of which much is beyond the limit.

        Returns those of which A now fits the most, and more than before, with their coefficients,
        and those of which neither fit has the most.
        """
        near = np.concatenate(self._run(lambda rows: np.abs(self.R[rows]) <= self.limit))
        within = np.mean(near, axis=axis, where=~np.isnan(self.M))
        lost = np.flatnonzero(1 - within > np.clip(2 - 2 * np.median(within), *LOST))
        Y, limit = target(lost), self.limit if axis == 1 else self.limit[lost, np.newaxis]
        B, share = regress(Y, A, limit, rng=self.rng)
        enough = most(Y, A)
        fits = (share > enough) & (share > within[lost])
        out = np.maximum(share, within[lost]) <= enough
        return lost[fits], B[fits], lost[out]


class _Rows(_Table):
    """Whole rows are wrong; the limit is one for all, of the root mean square of their entries.

    The first is low: outliers that lie close together would else have a component of their own.
    """

    start = 1.5

    def size(self, R: NDArray) -> NDArray:
        squares = np.nansum(R**2, axis=1, keepdims=True)
        return np.sqrt(squares / np.sum(~np.isnan(R), axis=1, keepdims=True))

    def noise_limit(self) -> float:
        """Take the power 2/3 of sizes, which makes those of noise nearly normal.

        Of white noise it would be enough to know the median; what real tables leave is not white.
        """
        if self.noise is not None:
            observed = np.mean(~np.isnan(self.M)) * self.M.shape[1]
            return self.noise * float(chdtri(observed - self.k, TAIL) / observed) ** 0.5
        powers = np.cbrt(self.sizes.astype(np.float64)) ** 2
        middle = np.median(powers)
        deviation = NORMAL * np.median(np.abs(powers - middle))
        return self.unit * float(middle + DEVIATIONS * deviation) ** 1.5

    def cut(self, rows: slice) -> tuple[float, float]:
        R = self.R[rows]
        sizes, observed = self.size(R)[:, 0], np.sum(~np.isnan(R), axis=1)
        beyond = sizes > self.limit
        R[np.isnan(R)] = 0.0
        R[beyond] = -self.low.table(np.flatnonzero(beyond) + rows.start)  # to the mean
        loss = observed @ np.minimum(sizes, self.limit) ** 2
        return float(np.max(sizes, initial=0.0, where=~beyond)), float(loss)

    def second_look(self) -> bool:
        self._residual()
        out = np.flatnonzero(self.size(self.R)[:, 0] > self.limit)
        B = least_squares(self.M[out], self.mean, self.low.Vt)
        rest = self.M[out] - self.mean - B @ self.low.Vt
        fits = self.size(rest)[:, 0] <= self.limit
        if fits.any():
            P = self.low.U * self.low.s
            P[out[fits]] = B[fits]
            self._refit(self.mean, P, self.low.Vt)
        return bool(fits.any())
