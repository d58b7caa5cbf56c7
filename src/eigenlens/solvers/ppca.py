"""PCA of a table with holes: maximum likelihood of probabilistic PCA on the entries that are there.

The model of Tipping, Bishop (1999): a row is ``x = mu + W z + e`` with z from N(0, I), W of shape
(d, k), and noise e of variance s in every cell, so that x is from N(mu, W W' + s I). A row with
holes is one of which a part ``o`` was seen, and the likelihood is that of the parts seen. EM needs,
with ``y = x_o - mu_o``, for each row

    M = W_o' W_o + s I,    z = M^-1 W_o' y,    S = s M^-1        (mean and covariance of z given y)

and then solves, for each column j over the rows that have it, one small least-squares problem with
the matrix ``A_j = sum ([z; 1][z; 1]' + S)``. The covariance S is what keeps a row with few entries
from being trusted as much as a full one; to fill holes and take an SVD in turn leaves it out, and
overfits. Two things make EM quick: the distribution of z is fitted too and put back into W and mu
after each step (parameter expansion: Liu, Rubin, Wu 1998), and steps are extrapolated (Anderson
1965) as long as the likelihood does not fall. On a table without holes the first guess is the
answer, which is that of PCA.

A step is one pass over X in blocks of rows, and costs about 3 k^2 products for each cell of the
rows with holes, 3 k for each of the others. Allocates these blocks, d k^2 numbers some sixteen
times over, and once, for the first guess, a few matrices of the smaller side squared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ops import threads
from ..ops.finite import require_finite
from ..ops.jit import compiled
from ..ops.lanczos import leading
from ..ops.weights import mass_of
from .solution import Certificate, Monitor, ignore
from .spectral import Spectral, assemble, cross_over

__all__ = ["conditional", "log_likelihood", "require_observed", "solve"]

GRADIENT = "scaled gradient of the log-likelihood"
BLOCK_BYTES = 1 << 20  # of a block of rows, and of what is computed of each row
CHUNKS = 16  # at most so many partial sums
MEMORY = 8  # steps that an extrapolation looks back on
START = 1e-12  # eigen-residual of the first guess
NOISELESS = 1e-12  # noise variance / total variance, below which M is too near to singular


def solve(
    X: NDArray,
    k: int,
    *,
    weight: NDArray | None = None,
    rng: np.random.Generator,
    tol: float,
    max_iter: int = 1000,
    monitor: Monitor = ignore,
) -> Spectral:
    """Return the principal axes of `X`, whose holes are NaN, by EM on the entries that are there.

    Stops when the gradient of the log-likelihood is within `tol`, or after `max_iter` passes over
    `X`. The gradient is scaled by what one step of EM would make of it: the largest of

    - the change of a cell, by new W and mu, relative to the deviation of a cell;
    - the change of the covariance, by a new distribution of z, relative to the total variance;
    - the relative change of the noise variance.

    The objective is the log-likelihood of the entries seen, a row. Rows without an entry are left
    out. Variances have ``mass - 1`` in the denominator, as without holes.

    References
    ----------
    M. E. Tipping, C. M. Bishop, Probabilistic principal component analysis, JRSS B 61 (1999).
    C. Liu, D. B. Rubin, Y. N. Wu, Parameter expansion to accelerate EM, Biometrika 85 (1998).
    D. G. Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12 (1965).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.solvers import ppca
    >>> X = np.outer([1.0, 2, 3, 4, 5], [3, 4, 0]) + 10
    >>> X[1, 0] = X[3, 1] = np.nan
    >>> found = ppca.solve(X, 1, rng=np.random.default_rng(0), tol=1e-8)
    >>> np.abs(found.components).round(4)
    array([[0.6, 0.8, 0. ]])
    >>> found.converged
    True
    """
    table = _Table.of(X, weight)
    model = _start(table, k, rng)
    path = _Path(table, model)
    history = [path.objective]
    while path.residual > tol and len(history) < max_iter and not monitor(history[-1]):
        if not path.step():
            break
        history.append(path.objective)
    certificate = Certificate(GRADIENT, path.residual, tol)
    return _assembled(
        path.model,
        table,
        n_iter=len(history),
        converged=certificate.holds,
        objective_history=np.array(history),
        certificate=certificate,
    )


def require_observed(X: NDArray) -> None:
    """Raise if a column of `X` has no entry: nothing can be said about it."""
    _scan(X)


def conditional(
    X: NDArray, mean: NDArray, components: NDArray, variances: NDArray, noise_variance: float
) -> NDArray:
    """Return `X` with each hole filled by its expectation given the entries of its row.

    That is ``mu + W z`` with z as above. Entries that are there stay as they are, to the bit. A row
    without entries gets the mean. Without noise z is the shortest least-squares solution of ``W_o z
    = y``, the limit for small noise.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.solvers import ppca
    >>> V = np.array([[0.6, 0.8, 0.0]])
    >>> X = np.array([[3.0, np.nan, np.nan]])
    >>> ppca.conditional(X, np.zeros(3), V, np.array([1.0]), 0.0)
    array([[3., 4., 0.]])
    """
    model = _Model.of(mean, components, variances, noise_variance)
    out = X.copy()
    blocks = _blocks(X)

    def fill(i: int) -> None:
        rows = np.flatnonzero(np.isnan(X[blocks[i]]).any(axis=1)) + blocks[i].start
        seen = _Seen.of(X[rows], model.mean)
        z = seen.posterior(model).z if model.is_noisy else seen.scores(model)
        guess = model.mean + z @ model.W.T
        out[rows] = np.where(seen.mask, X[rows], guess)

    threads.run(fill, len(blocks))
    return out


def log_likelihood(
    X: NDArray, mean: NDArray, components: NDArray, variances: NDArray, noise_variance: float
) -> NDArray:
    """Return the log-likelihood of the entries seen of each row of `X`; 0 for a row without any.

    Without noise it is the density on the span of W_o, and -inf for rows outside it.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.solvers import ppca
    >>> V, X = np.array([[0.6, 0.8]]), np.array([[1.0, np.nan], [np.nan, np.nan]])
    >>> ppca.log_likelihood(X, np.zeros(2), V, np.array([2.0]), 1.0).round(4)
    array([-1.4403,  0.    ])
    """
    model = _Model.of(mean, components, variances, noise_variance)
    blocks = _blocks(X)

    def score(i: int) -> NDArray:
        seen = _Seen.of(X[blocks[i]], model.mean)
        if model.noise > 0:
            return seen.posterior(model).log_likelihood
        return seen.density_on_span(model, float(np.finfo(X.dtype).eps))

    return np.concatenate(threads.run(score, len(blocks))).astype(X.dtype)


# ------------------------------------------------------------------------------------- the model


@dataclass(frozen=True)
class _Model:
    """A row is from N(mean, W W' + noise I)."""

    mean: NDArray
    W: NDArray
    noise: float

    @staticmethod
    def of(mean: NDArray, components: NDArray, variances: NDArray, noise: float) -> _Model:
        """Return the model whose covariance has these eigenvalues, and `noise` elsewhere."""
        above = np.maximum(variances.astype(np.float64) - noise, 0.0)
        return _Model(mean.astype(np.float64), components.T * np.sqrt(above), float(noise))

    @cached_property
    def products(self) -> NDArray:
        """The lower triangle of ``w_j w_j'`` for each row w_j of W."""
        r, c = np.tril_indices(self.W.shape[1])
        return self.W[:, r] * self.W[:, c]

    @property
    def is_noisy(self) -> bool:
        """Whether M, whose eigenvalues lie between the noise and |W|^2, can be inverted well."""
        return self.noise > 1e-8 * float(np.sum(self.W**2))

    def flat(self) -> NDArray:
        """Return all parameters in one vector, the noise as its logarithm."""
        return np.concatenate([self.mean, self.W.ravel(), [np.log(self.noise)]])

    def moved(self, step: NDArray, floor: float) -> _Model:
        """Return the model whose vector of parameters is larger by `step`."""
        d = len(self.mean)
        noise = max(floor, self.noise * float(np.exp(step[-1])))
        return _Model(self.mean + step[:d], self.W + step[d:-1].reshape(self.W.shape), noise)


@dataclass(frozen=True)
class _Posterior:
    """Of some rows: mean and covariance of z (lower triangles), residuals, log-likelihoods."""

    z: NDArray
    covariance: NDArray
    residuals: NDArray
    log_likelihood: NDArray


@dataclass(frozen=True)
class _Seen:
    """Some rows of X: what was seen, and less the mean, with 0 in the holes."""

    mask: NDArray
    Y: NDArray

    @staticmethod
    def of(rows: NDArray, mean: NDArray) -> _Seen:
        Y = rows - mean  # in float64 also for float32 rows: nothing is lost
        hole = np.isnan(Y)
        Y[hole] = 0.0
        return _Seen(~hole, Y)

    @cached_property
    def ones(self) -> NDArray:
        """1 where an entry was seen, and 0 in the holes."""
        return self.mask.astype(np.float64)

    def posterior(self, model: _Model) -> _Posterior:
        """Return what the rows say about their z under `model`, which has noise."""
        z = self.Y @ model.W
        covariance = self.ones @ model.products
        log_det = np.empty(len(z))
        _solve_rows(covariance, z, model.noise, log_det)
        _invert_rows(covariance, z.shape[1], model.noise)
        residuals = self.Y - self.ones * (z @ model.W.T)
        count = self.ones.sum(axis=1)
        return _Posterior(z, covariance, residuals, _density(model, z, residuals, log_det, count))

    def posterior_of_full_rows(self, model: _Model) -> _Posterior:
        """Return the same for rows without holes, which share one covariance."""
        d, k = model.W.shape
        covariance = model.products.sum(axis=0)[None]
        z, log_det = np.zeros((1, k)), np.empty(1)
        _solve_rows(covariance, z, model.noise, log_det)
        _invert_rows(covariance, z.shape[1], model.noise)
        z = self.Y @ (model.W @ (_square(covariance, k)[0] / model.noise))
        residuals = self.Y - z @ model.W.T
        return _Posterior(
            z, covariance, residuals, _density(model, z, residuals, log_det, np.array(d))
        )

    def scores(self, model: _Model) -> NDArray:
        """Return z by the SVD of each W_o, for little noise or none: M has too few digits then."""
        U, s, Vt, spans, _ = self._svd(model)
        gain = np.divide(s, s**2 + model.noise, where=spans, out=np.zeros_like(s))
        white = gain * np.einsum("ijl,ij->il", U, self.Y)
        return np.asarray(np.einsum("ilj,il->ij", Vt, white))

    def density_on_span(self, model: _Model, eps: float) -> NDArray:
        """Return log-likelihoods under `model`, which has no noise, of rows rounded to `eps`.

        What counts as zero is as in GaussianSpectrum.score_samples, for rows without holes.
        """
        U, s, _, spans, largest = self._svd(model)
        k = s.shape[1]
        along = np.einsum("ijl,ij->il", U, self.Y)
        counted = s**2 > k * eps * largest**2
        safe = np.where(counted, s, 1.0)
        distance = np.where(counted, (along / safe) ** 2, 0.0).sum(axis=1)
        outside = _squares(self.Y - np.einsum("ijl,il->ij", U, np.where(spans, along, 0.0)))
        size = _squares(self.Y + self.ones * model.mean) + self.ones @ model.mean**2
        distance[outside > max(1, k) * eps * size] = np.inf
        log_det = 2 * np.log(safe).sum(axis=1) + counted.sum(axis=1) * np.log(2 * np.pi)
        return np.asarray(0.0 - 0.5 * (distance + log_det))

    def _svd(self, model: _Model) -> tuple[NDArray, NDArray, NDArray, NDArray, float]:
        """Return the SVD of each W_o, which singular values are not zero, and the norm of W."""
        U, s, Vt = np.linalg.svd(self.ones[:, :, None] * model.W, full_matrices=False)
        largest = float(np.linalg.norm(model.W, 2)) if model.W.size else 0.0
        return U, s, Vt, s > len(model.W) * np.finfo(np.float64).eps * largest, largest


def _density(
    model: _Model, z: NDArray, residuals: NDArray, log_det: NDArray, count: NDArray
) -> NDArray:
    """Return the log-likelihood of rows, with ``|y - W z|^2 / s + |z|^2`` for ``y' C^-1 y``.

    The other way to write that, by a difference, has no digits left where the noise is small.
    """
    distance = _squares(residuals) / model.noise + _squares(z)
    log_det = log_det + (count - z.shape[1]) * np.log(model.noise)
    return np.asarray(0.0 - 0.5 * (distance + log_det + count * np.log(2 * np.pi)))


@compiled
def _solve_rows(M, z, noise, log_det):  # type: ignore[no-untyped-def]
    """Turn, in each row, ``M - noise I`` and b into the Cholesky factor of M and ``M^-1 b``.

    M is a lower triangle row by row; its factor takes the place, with the inverse of the diagonal.
    Pivots are at least `noise`, and are held to it where rounding says less.
    """
    n, k = z.shape
    for i in range(n):
        L, x, logs = M[i], z[i], 0.0
        for a in range(k):
            row = a * (a + 1) // 2
            pivot, t = L[row + a], x[a]
            for b in range(a):
                above = b * (b + 1) // 2
                u = L[row + b]
                for c in range(b):
                    u -= L[row + c] * L[above + c]
                u *= L[above + b]
                L[row + b] = u
                pivot -= u * u
                t -= u * x[b]
            pivot = max(pivot, 0.0) + noise
            logs += np.log(pivot)
            L[row + a] = 1.0 / np.sqrt(pivot)
            x[a] = t * L[row + a]
        log_det[i] = logs
        for a in range(k - 1, -1, -1):
            row = a * (a + 1) // 2
            x[a] *= L[row + a]
            for c in range(a):
                x[c] -= L[row + c] * x[a]


@compiled
def _invert_rows(M, k, noise):  # type: ignore[no-untyped-def]
    """Turn, in each row, the factor that `_solve_rows` left into ``noise M^-1``, lower triangle."""
    inverse, row = np.empty((k, k)), np.empty(k)
    for i in range(len(M)):
        L = M[i]
        for a in range(k):
            first = a * (a + 1) // 2
            row[:a] = 0.0
            for c in range(a):
                for b in range(c + 1):
                    row[b] -= L[first + c] * inverse[c, b]
            for b in range(a):
                inverse[a, b] = row[b] * L[first + a]
            inverse[a, a] = L[first + a]
        L[:] = 0.0
        for c in range(k):
            for a in range(c + 1):
                first, t = a * (a + 1) // 2, noise * inverse[c, a]
                for b in range(a + 1):
                    L[first + b] += t * inverse[c, b]


@compiled
def _weigh(z, covariance, weight, out):  # type: ignore[no-untyped-def]
    """Put side by side, each row times its weight: S, z z' + S (lower triangles), z and 1."""
    n, k = z.shape
    q = k * (k + 1) // 2
    for i in range(n):
        w, at = weight[i], 0
        for a in range(k):
            for b in range(a + 1):
                out[i, at + b] = w * covariance[i, at + b]
                out[i, q + at + b] = w * (covariance[i, at + b] + z[i, a] * z[i, b])
            at += a + 1
            out[i, 2 * q + a] = w * z[i, a]
        out[i, 2 * q + k] = w


# -------------------------------------------------------------------------------------- the table


@dataclass(frozen=True)
class _Sums:
    """What a step of EM needs of all rows: sums over rows, for each column over those that have it.

    Attributes
    ----------
    log_likelihood : float
    square : float
        Of squared residuals.
    cross : array of shape (d, k + 1)
        Of residual times [z; 1].
    spread : array of shape (d, k (k + 1) / 2)
        Of S, lower triangles.
    outer : array of shape (d, k (k + 1) / 2)
        Of z z' + S, likewise.
    first : array of shape (d, k + 1)
        Of [z; 1].
    latent_first, latent_outer : arrays
        The like of z and z z' + S over all rows, whatever they have.
    """

    log_likelihood: float
    square: float
    cross: NDArray
    spread: NDArray
    outer: NDArray
    first: NDArray
    latent_first: NDArray
    latent_outer: NDArray

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(*(a + b for a, b in zip(_values(self), _values(other), strict=True)))


def _values(sums: _Sums) -> list[NDArray]:
    return list(vars(sums).values())


@dataclass(frozen=True)
class _Table:
    """X with its holes, and what does not change from step to step.

    Attributes
    ----------
    full, holed : arrays of int
        The rows without a hole, and those with holes that have an entry.
    weighted, mean, variances : arrays of shape (d,)
        Sum of weights, mean and variance of the entries of each column.
    """

    X: NDArray
    weight: NDArray | None
    full: NDArray
    holed: NDArray
    weighted: NDArray
    mean: NDArray
    variances: NDArray

    @staticmethod
    def of(X: NDArray, weight: NDArray | None) -> _Table:
        blocks = _blocks(X)
        w = np.ones(len(X)) if weight is None else weight
        first, holes = _scan(X)

        def sums(mean: NDArray, power: int) -> NDArray:
            def part(i: int) -> NDArray:
                seen = _Seen.of(X[blocks[i]], mean)
                return np.array([w[blocks[i]] @ seen.ones, w[blocks[i]] @ seen.Y**power])

            return np.asarray(np.sum(threads.run(part, len(blocks)), axis=0))

        weighted, total = sums(first, 1)
        mean = first + total / weighted
        squares = sums(mean, 2)[1]
        require_finite(mean, float(squares.sum()))
        return _Table(
            X,
            weight,
            np.flatnonzero(holes == 0),
            np.flatnonzero((holes > 0) & (holes < X.shape[1])),
            weighted,
            mean,
            squares / weighted,
        )

    @property
    def rows(self) -> int:
        """How many rows have an entry."""
        return len(self.full) + len(self.holed)

    @cached_property
    def mass(self) -> float:
        """How many rows they count for."""
        if self.weight is None:
            return float(self.rows)
        return mass_of(0, self.weight[self.full]) + mass_of(0, self.weight[self.holed])

    @property
    def cells(self) -> float:
        """How many entries there are, by weight."""
        return float(self.weighted.sum())

    @cached_property
    def cell_variance(self) -> float:
        """Variance of an entry about the mean of its column; 1 where nothing varies."""
        return float(self.weighted @ self.variances) / self.cells or 1.0

    @cached_property
    def total_variance(self) -> float:
        """Sum of the variances of the columns; 1 where nothing varies."""
        return float(self.variances.sum()) or 1.0

    def weights(self, rows: NDArray) -> NDArray:
        return np.ones(len(rows)) if self.weight is None else self.weight[rows]

    def expect(self, model: _Model) -> _Sums:
        """Return the sums over all rows under `model`, and its log-likelihood."""
        full = self._over(self.full, lambda rows: self._of_full(rows, model), model)
        return full + self._over(self.holed, lambda rows: self._of_holed(rows, model), model)

    def _over(self, rows: NDArray, sums: Callable[[NDArray], _Sums], model: _Model) -> _Sums:
        """Return the sum of `sums` over blocks of `rows`."""
        d, k = model.W.shape
        size = max(16, BLOCK_BYTES // (8 * max(d, k * k)))
        chunks = threads.spans(len(rows), max(size, -(-len(rows) // CHUNKS)))

        def part(i: int) -> _Sums:
            total = _nothing(d, k)
            for a in range(chunks[i].start, chunks[i].stop, size):
                total += sums(rows[a : min(a + size, chunks[i].stop)])
            return total

        return sum(threads.run(part, len(chunks)), _nothing(d, k))

    def _of_full(self, rows: NDArray, model: _Model) -> _Sums:
        seen, w = _Seen.of(self.X[rows], model.mean), self.weights(rows)
        found = seen.posterior_of_full_rows(model)
        z1 = np.column_stack([found.z, np.ones(len(rows))])
        spread = w.sum() * found.covariance
        second = (z1.T * w) @ z1
        outer = second[np.tril_indices(found.z.shape[1])] + spread
        columns = np.ones((len(model.W), 1))  # all of them have the same
        return _Sums(
            float(w @ found.log_likelihood),
            float(w @ _squares(found.residuals)),
            found.residuals.T @ (z1 * w[:, None]),
            columns * spread,
            columns * outer,
            columns * second[-1],
            second[-1],
            outer[0],
        )

    def _of_holed(self, rows: NDArray, model: _Model) -> _Sums:
        seen, w = _Seen.of(self.X[rows], model.mean), self.weights(rows)
        found = seen.posterior(model)
        k, q = found.z.shape[1], found.covariance.shape[1]
        weighed = np.empty((len(rows), 2 * q + k + 1))
        _weigh(found.z, found.covariance, w, weighed)
        by_column = seen.ones.T @ weighed
        latent = weighed.sum(axis=0)
        return _Sums(
            float(w @ found.log_likelihood),
            float(w @ _squares(found.residuals)),
            found.residuals.T @ weighed[:, 2 * q :],
            by_column[:, :q],
            by_column[:, q : 2 * q],
            by_column[:, 2 * q :],
            latent[2 * q :],
            latent[q : 2 * q],
        )


def _nothing(d: int, k: int) -> _Sums:
    q = k * (k + 1) // 2
    shapes = ((d, k + 1), (d, q), (d, q), (d, k + 1), (k + 1,), (q,))
    return _Sums(0.0, 0.0, *map(np.zeros, shapes))


def _blocks(X: NDArray) -> list[slice]:
    return threads.spans(len(X), max(16, BLOCK_BYTES // (8 * X.shape[1])))


def _scan(X: NDArray) -> tuple[NDArray, NDArray]:
    """Return the first entry of each column, and the number of holes of each row."""
    blocks, columns = _blocks(X), np.arange(X.shape[1])

    def part(i: int) -> tuple[NDArray, NDArray]:
        hole = np.isnan(X[blocks[i]])
        return X[blocks[i]][hole.argmin(axis=0), columns], hole.sum(axis=1)

    entries, holes = zip(*threads.run(part, len(blocks)), strict=True)
    stacked = np.array(entries, dtype=np.float64)
    first = stacked[np.isnan(stacked).argmin(axis=0), columns]
    if (empty := np.flatnonzero(np.isnan(first))).size:
        raise ValueError(
            f"Column {empty[0]} of X has no entry but NaN ({empty.size} such of {len(first)} "
            "columns), and each column needs one. Drop such columns, or give rows that have them."
        )
    return first, np.concatenate(holes)


def _squares(A: NDArray) -> NDArray:
    """Return the sum of squares of each row."""
    return np.asarray(np.einsum("ij,ij->i", A, A))


def _square(triangles: NDArray, k: int) -> NDArray:
    """Return the symmetric matrices whose lower triangles are the rows."""
    r, c = np.tril_indices(k)
    full = np.empty((len(triangles), k, k))
    full[:, r, c] = full[:, c, r] = triangles
    return full


# ---------------------------------------------------------------------------------------- the fit


def _start(table: _Table, k: int, rng: np.random.Generator) -> _Model:
    """Return a first guess, which is the answer for a table without holes."""
    d = len(table.mean)
    axes, variances, total = (_by_pairs if d <= table.rows else _by_gram)(table, k, rng)
    noise = (total - float(variances.sum())) / (d - k) if k < d else 0.0
    if table.holed.size and k and table.variances.any():
        # Moments over pairs need not fit together: the rest may be negative, and so may the last
        # variances. EM takes long from too little noise, and never leaves W = 0.
        noise = max(noise, 1e-2 * float(np.median(table.variances)))
        variances = np.maximum(variances, 2 * noise)
    model = _Model.of(table.mean, axes, variances, noise)
    return replace(model, noise=max(noise, _floor(table)))


def _by_pairs(table: _Table, k: int, rng: np.random.Generator) -> tuple[NDArray, NDArray, float]:
    """Return axes and variances of the covariance, each entry over the rows that have both."""
    d = len(table.mean)
    S, counts = np.zeros((d, d)), np.zeros((d, d))
    with threads.blas_for(table.rows * d * d):
        for rows in (table.full, table.holed):
            for block in threads.spans(len(rows), max(d, BLOCK_BYTES // (8 * d))):
                seen = _Seen.of(table.X[rows[block]], table.mean)
                w = table.weights(rows[block])[:, None]
                S += seen.Y.T @ (w * seen.Y)
                counts += seen.ones.T @ (w * seen.ones) if rows is table.holed else w.sum()
    C = np.divide(S, counts, where=counts > 0, out=np.zeros_like(S))
    total = float(np.trace(C))
    if k == 0:
        return np.empty((0, d)), np.empty(0), total
    pairs = leading(C, k, rng=rng, tol=START)
    return pairs.vectors[:, :k].T, pairs.values[:k], total


def _by_gram(table: _Table, k: int, rng: np.random.Generator) -> tuple[NDArray, NDArray, float]:
    """Return axes and variances of a wide table with column means in its holes."""
    rows = np.concatenate([table.full, table.holed])
    d, n = len(table.mean), len(rows)
    root = np.sqrt(table.weights(rows))[:, None]
    columns = threads.spans(d, max(n, BLOCK_BYTES // (8 * n)))

    def block(i: int) -> NDArray:
        return root * _Seen.of(table.X[rows, columns[i]], table.mean[columns[i]]).Y

    with threads.blas_for(n * n * d):
        G = np.zeros((n, n))
        for i in range(len(columns)):
            B = block(i)
            G += B @ B.T
        total = float(np.trace(G)) / table.mass
        if k == 0:
            return np.empty((0, d)), np.empty(0), total
        U = leading(G, k, rng=rng, tol=START).vectors[:, :k]
        axes, singular = cross_over(np.concatenate([block(i).T @ U for i in range(len(columns))]))
    return axes, singular**2 / table.mass, total


def _floor(table: _Table) -> float:
    """Return the least noise variance: what has less has none, up to the rounding of EM."""
    return NOISELESS * table.total_variance


def _maximise(table: _Table, model: _Model, sums: _Sums) -> tuple[_Model, float]:
    """Return the model after a step of EM, and the scaled gradient at the model before it.

    All is written in what changes, so that it is right where little is left to change: with
    ``g_j = sum residual [z; 1] - [sum S w_j; 0]``, which is s times the gradient by w_j and mu_j,
    ``A_j`` gives the change of both.
    """
    d, k = model.W.shape
    spread, A = _square(sums.spread, k), np.empty((d, k + 1, k + 1))
    A[:, :k, :k] = _square(sums.outer, k)
    A[:, k, :] = A[:, :, k] = sums.first
    shrunk = np.einsum("jab,jb->ja", spread, model.W)
    g = sums.cross.copy()
    g[:, :k] -= shrunk
    # A column with few entries may leave A singular. A ridge shortens the step, but moves no
    # solution, which has g = 0.
    ridge = k * np.finfo(np.float64).eps * np.trace(A, axis1=1, axis2=2)
    delta = np.linalg.solve(A + ridge[:, None, None] * np.eye(k + 1), g[:, :, None])[:, :, 0]
    gained = np.einsum("ja,jab,jb->", delta, A, delta, optimize=True)
    square = sums.square + float(np.sum(shrunk * model.W))
    noise = (square - 2 * float(np.sum(delta * g)) + gained) / table.cells

    alpha = sums.latent_first[:k] / table.mass
    second = _square(sums.latent_outer[None], k)[0] / table.mass
    W = model.W + delta[:, :k]
    mean = model.mean + delta[:, k] + W @ alpha
    W = W @ _root(second - np.multiply.outer(alpha, alpha))
    floor = _floor(table)
    new = _Model(mean, W, max(noise, floor))

    inner = model.W.T @ model.W
    turned = (second - np.eye(k)) @ inner
    cell, total = table.cell_variance, table.total_variance
    residual = max(
        np.sqrt(gained / table.cells / cell),
        np.sqrt(alpha @ inner @ alpha / total),
        np.sqrt(abs(np.sum(turned * turned.T))) / total,
        abs(max(square / table.cells, floor) / model.noise - 1),
    )
    return new, float(residual)


def _root(A: NDArray) -> NDArray:
    """Return the symmetric square root."""
    values, vectors = np.linalg.eigh(A)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


class _Path:
    """The way of the model up the likelihood."""

    def __init__(self, table: _Table, model: _Model) -> None:
        self._table = table
        self._floor = _floor(table)
        self._unit = np.full(len(model.flat()), np.sqrt(table.cell_variance))
        self._unit[-1] = 1.0  # the logarithm of the noise
        self._memory: list[tuple[NDArray, NDArray]] = []
        self._arrive(model, table.expect(model))

    def _arrive(self, model: _Model, sums: _Sums) -> None:
        self.model = model
        self.objective = sums.log_likelihood / self._table.mass
        self._next, self.residual = _maximise(self._table, model, sums)
        self._change = (self._next.flat() - model.flat()) / self._unit

    def step(self) -> bool:
        """Go to where the last steps point, or where EM does if the likelihood falls there.

        Return whether it could: where EM falls too, rounding has the last word.
        """
        before, change = self.model, self._change
        trials = [before.moved(self._extrapolated() * self._unit, self._floor)]
        if self._memory:
            trials.append(self._next)
        for trial in trials:
            sums = self._table.expect(trial)
            if sums.log_likelihood / self._table.mass >= self.objective - self._rounding():
                self._arrive(trial, sums)
                moved = (trial.flat() - before.flat()) / self._unit
                self._memory = [*self._memory, (moved, self._change - change)][-MEMORY:]
                return True
            self._memory.clear()
        return False

    def _rounding(self) -> float:
        """Return what rounding may take off the objective: residuals carry that of the entries."""
        residuals = len(self.model.mean) * np.sqrt(self._table.cell_variance / self.model.noise)
        return float(np.finfo(np.float64).eps * (64 * abs(self.objective) + residuals))

    def _extrapolated(self) -> NDArray:
        """Return the change that, by the last steps, would leave the least to change."""
        if not self._memory:
            return self._change
        moved, changed = (np.array(part).T for part in zip(*self._memory, strict=True))
        share = np.linalg.lstsq(changed, self._change, rcond=1e-10)[0]
        step = self._change - (moved + changed) @ share
        step[-1] = np.clip(step[-1], -5.0, 5.0)
        return np.asarray(step)


def _assembled(model: _Model, table: _Table, **how: Any) -> Spectral:
    """Return the result in the terms of PCA: eigenvectors and eigenvalues of the covariance."""
    d, k = model.W.shape
    noise = model.noise if model.noise > 2 * _floor(table) else 0.0
    U, s, _ = np.linalg.svd(model.W, full_matrices=False)
    values = (s**2 + noise) * table.mass
    return assemble(
        U.T,
        values,
        float(values.sum()) + (d - k) * noise * table.mass,
        mass=table.mass,
        rows=table.rows,
        complete=False,
        solver="em",
        mean=model.mean,
        **how,
    )
