"""Parts of counts: W and H without negative numbers under the Kullback-Leibler divergence.

    min over W, H >= 0 of  sum_i s_i (D(x_i | w_i H) + P_W(w_i)) + P_H(H),
    D(x | y) = sum_j x_j log(x_j / y_j) - x_j + y_j

that is, the likelihood of counts x from Poisson laws with means y. In turn, every row of W with H
as it is, and every column of H with W as it is: problems of k unknowns, independent and convex, for
which :mod:`..ops.poisson` has a descent by coordinates that never raises the objective.

Between iterations both factors go on a little in the direction they came (Ang, Gillis 2019). If the
next iteration then ends higher than the last, it is done again without that, so that the objective
never rises. Before the first iteration, the rows of W and the columns of H are scaled so that means
and counts have the same sums. Where a start is far too high or too low, a descent by coordinates
would mend that by the first part alone, and end in worse optima (on news words by 0.3 %).

At the end each row of W is solved to the end with H as it is, which is what `encode` does.

A fit allocates a transposed copy of X (and of the mask), and otherwise blocks. The long loops are
in the precision of X; `encode` is in float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..ops import threads
from ..ops.poisson import poisson_rows
from ..ops.weights import total
from .parts import Parts, Penalty, certify
from .solution import Monitor, ignore

__all__ = ["REST", "encode", "solve"]

BLOCK = 1 << 15  # entries of X for one thread at a time
PER_ROW = 16  # entries that cost as much as what a row costs beside them
SWEEPS = 2  # over the coordinates of a row before the other factor has its turn
REST = 1e-10  # residual at which a row is solved
ROUNDS = 1000
TRACE = (
    1e-4  # weight of a hole, which counts as a zero: else parts that a row hardly shows run away
)
SMALL = 1 << 18  # entries up to which a table in single precision is taken in double
FORWARD, FASTER, SLOWER = 0.5, 1.1, 0.5  # how far to go on, after success, after failure


def solve(
    X: NDArray | sparse.csr_array,
    W: NDArray,
    H: NDArray,
    *,
    on_W: Penalty,
    on_H: Penalty,
    weight: NDArray | None = None,
    observed: NDArray | None = None,
    tol: float,
    max_iter: int,
    monitor: Monitor = ignore,
) -> Parts:
    """Return parts H and codes W of the rows X.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
        Not negative; 0 where not observed.
    W, H : ndarrays of shapes (n, k) and (k, d)
        The start.
    on_W, on_H : Penalty
    weight : ndarray of shape (n,), optional
        Of the rows.
    observed : ndarray of bool of shape (n, d), optional
        For dense X alone.
    tol : float
        For the residual of the conditions of optimality.
    max_iter : int
    monitor : Monitor
    """
    dtype = X.dtype
    if X.size <= SMALL:
        X = X.astype(np.float64, copy=False)
    observed = None if observed is None or observed.all() else observed
    problem = _Problem(X, on_W, on_H, weight, observed)
    W, H = problem.balanced(W, H)
    before, forward, enough = (W.copy(), H.copy()), FORWARD, tol
    history: list[float] = []
    certificate = certify(np.inf, problem.total, tol)
    while len(history) < max_iter:
        W1, H1 = (_go_on(A, B, forward) for A, B in zip((W, H), before, strict=True))
        *after, value, left = problem.iterate(W1, H1)
        forward = min(FASTER * forward, 1.0)
        if history and not value <= history[-1]:
            np.copyto(W1, W)
            *after, value, left = problem.iterate(W1, H)
            forward *= SLOWER
        stalled = bool(history) and not value <= history[-1]  # single precision can do no more
        if stalled:
            after, value = [W, H], history[-1]
        before, (W, H) = (W, H), after
        history.append(value)
        stop = monitor(value) or stalled or len(history) == max_iter
        if stop or certify(left, problem.total, enough).holds:
            del W, W1, H1, after, before  # room for codes from a start of their own
            W, value, left = problem.finish(H)
            history[-1] = min(value, history[-1])
            certificate = certify(left, problem.total, tol)
            if stop or certificate.holds:
                break
            before = W.copy(), H.copy()
            enough *= 0.5  # what a turn sees on its way was too good
    return Parts(
        solver="coordinate descent",
        n_iter=len(history),
        converged=certificate.holds,
        objective_history=np.array(history),
        certificate=certificate,
        components=H.astype(dtype, copy=False),
        codes=W.astype(dtype, copy=False),
    )


def encode(
    X: NDArray | sparse.csr_array,
    H: NDArray,
    *,
    penalty: Penalty,
    observed: NDArray | None = None,
    tol: float,
    max_iter: int,
    W: NDArray | None = None,
) -> NDArray:
    """Return the code W of the rows `X` with the parts `H` as they are.

    Each row is solved on its own, from W or from the code that uses all parts alike, until its
    residual is at most `tol`.
    """
    rows = _Rows(X, observed)
    return rows.solve(W, H, penalty, tol, max_iter).astype(X.dtype, copy=False)


def _go_on(A: NDArray, before: NDArray, share: float) -> NDArray:
    """Return where A gets to, in the room of `before`, going on by this share of its way."""
    before -= A
    before *= -A.dtype.type(share)
    before += A
    return np.maximum(before, 0.0, out=before)


class _Problem:
    """Rows of X, with codes W and parts H; its columns, with codes H' and parts W'."""

    def __init__(
        self,
        X: NDArray | sparse.csr_array,
        on_W: Penalty,
        on_H: Penalty,
        weight: NDArray | None,
        observed: NDArray | None,
    ) -> None:
        self.on_W, self.on_H, self.weight = on_W, on_H, weight
        self.rows = _Rows(X, observed)
        self.columns = _Rows(
            _transposed(X, weight), None if observed is None else _transposed(observed), weight
        )
        sums = self.rows.sums
        self.total = self.constant = total(sums, weight)
        if weight is not None:  # the columns hold s x, not x, in their logarithms
            self.constant += float(sums @ (weight * np.log(weight)))

    def balanced(self, W: NDArray, H: NDArray) -> tuple[NDArray, NDArray]:
        """Return W with the best multiple of each row, and then H with that of each column.

        A row or a column of zeros has none, and would stay so: it gets the mean of its factor.
        """
        dtype = self.rows.data.dtype
        W = np.where((W.max(axis=1) == 0) & (self.rows.sums > 0), W.mean(), W.T).T
        H = np.where((H.max(axis=0) == 0) & (self.columns.sums > 0), H.mean(), H)
        W = (W * self.rows.multiples(W, H, self.on_W)[:, None]).astype(dtype, order="C")
        H = (H * self.columns.multiples(H.T, W.T, self.on_H)).astype(dtype, order="C")
        return W, H

    def iterate(self, W: NDArray, H: NDArray) -> tuple[NDArray, NDArray, float, float]:
        """Return W, in place, and H after one turn, the objective, and what is left to gain."""
        codes = H.T.copy()
        _, left = self.rows.descend(W, H, self.on_W, sweeps=SWEEPS)
        fit, rest = self.columns.descend(codes, W.T, self.on_H, sweeps=SWEEPS)
        H = codes.T
        return W, H, self._objective(fit, W, H), total(left, self.weight) + float(rest.sum())

    def finish(self, H: NDArray) -> tuple[NDArray, float, float]:
        """Return W solved to the end, the objective, and what is left to gain there."""
        enough = max(REST, 4 * float(np.finfo(H.dtype).eps))  # float32 holds no better
        # from the start that `encode` takes: where codes are not unique, they are the same
        W = self.rows.solve(None, H, self.on_W, enough, ROUNDS).astype(H.dtype, copy=False)
        W64, H64 = W.astype(float, copy=False), H.astype(float, copy=False)
        _, left = self.rows.descend(W64, H64, self.on_W, sweeps=0)
        fit, rest = self.columns.descend(H64.T.copy(), W64.T, self.on_H, sweeps=0)
        return W, self._objective(fit, W64, H64), total(left, self.weight) + float(rest.sum())

    def _objective(self, fit: float, W: NDArray, H: NDArray) -> float:
        return fit - self.constant + self.on_W.of(W, self.weight) + self.on_H.of(H)


class _Rows:
    """Rows with a code each that share parts.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, m)
    observed : ndarray of bool of shape (n, m), optional
    mass : ndarray of shape (m,), optional
        Weights of the columns. X has been multiplied by them.
    """

    def __init__(
        self,
        X: NDArray | sparse.csr_array,
        observed: NDArray | None = None,
        mass: NDArray | None = None,
    ) -> None:
        self.observed, self.mass = observed, mass
        n, m = X.shape
        self.dense = isinstance(X, np.ndarray)
        self.data, self.columns, self.starts = _by_rows(X)
        self.sums = np.asarray(X.sum(axis=1, dtype=float)).reshape(-1)
        # a mean of 0 where there are counts would have no likelihood, and no gradient
        self.floor = float(np.finfo(X.dtype).eps) ** 2 * float(self.sums.sum()) / max(n * m, 1)
        self.floor = max(self.floor, float(np.finfo(X.dtype).tiny))
        self.blocks = threads.spans(n, int(BLOCK / (self.data.size / max(n, 1) + PER_ROW)))

    def descend(
        self,
        W: NDArray,
        H: NDArray,
        penalty: Penalty,
        *,
        sweeps: int,
        rest: float = 0.0,
        newton: bool = False,
    ) -> tuple[float, NDArray]:
        """Lower the objective from the codes `W`, in place; return the fit and what is left.

        The fit is ``sum x log(x / y) + y`` at the end. What is left to gain in each row is as
        :func:`poisson_rows` says. The loops are in the precision of `H`.
        """
        shared = np.ascontiguousarray(H if self.dense else H.T)
        means = self._means(H)
        left = np.empty(len(W))

        def part(i: int) -> float:
            rows = self.blocks[i]
            first, last = self.starts[[rows.start, rows.stop]]
            data = self.data[first:last].astype(H.dtype, copy=False)
            starts = (self.starts[rows.start : rows.stop + 1] - first).astype(np.int64)
            S, Q = means(rows), np.empty_like(data)
            left[rows] = poisson_rows(
                *(data, self.columns[first:last], starts, self.dense, shared),
                *(S + penalty.l1, penalty.l2, W[rows], Q, H.dtype.type(self.floor)),
                *(sweeps, rest, newton),
            )
            logs = np.log(np.maximum(Q, np.finfo(H.dtype).tiny))
            return float(np.einsum("i,i->", data, logs, dtype=float) + np.vdot(S, W[rows]))

        return sum(threads.run(part, len(self.blocks))), left

    def solve(
        self, W: NDArray | None, H: NDArray, penalty: Penalty, tol: float, max_iter: int
    ) -> NDArray:
        """Return the codes in float64, from `W` or from codes that use all parts alike."""
        H = np.ascontiguousarray(H, float)
        if W is None:
            W, means = np.empty((len(self.sums), len(H))), self._means(H)
            for rows in self.blocks:
                S = means(rows) + penalty.l1
                W[rows] = self.sums[rows, None] / np.where(S > 0, S * len(H), np.inf)
        else:
            W = np.array(W, float, order="C")
        self.descend(W, H, penalty, sweeps=max_iter, rest=tol**2, newton=True)
        return W

    def multiples(self, W: NDArray, H: NDArray, penalty: Penalty) -> NDArray:
        """Return the c for each row w of W with which ``c w`` is best: the root of ``c G(c) = x``.

        x is the sum of the row, and G that of its mean and penalties.
        """
        S = self._all_means(H) + penalty.l1
        linear, square = (np.einsum("ij,ij->i", W, B, dtype=float) for B in (S, penalty.l2 * W))
        halves = linear + np.sqrt(linear**2 + 4 * square * self.sums)
        return 2 * self.sums / np.where(halves > 0, halves, np.inf)

    def _all_means(self, H: NDArray) -> NDArray:
        return np.concatenate([*map(self._means(H), self.blocks)])

    def _means(self, H: NDArray) -> Callable[[slice], NDArray]:
        """Return the function that says what one unit of each code adds to the sum of its row."""
        weighed = H.astype(float) if self.mass is None else H * self.mass
        if self.observed is None:
            shared = weighed.sum(axis=1)
            return lambda rows: np.tile(shared, (rows.stop - rows.start, 1))
        observed, weighed = self.observed, weighed.T
        return lambda rows: np.where(observed[rows], 1.0, TRACE) @ weighed


def _by_rows(X: NDArray | sparse.csr_array) -> tuple[NDArray, NDArray, NDArray]:
    """Return the entries, their columns (of sparse data alone) and where each row starts."""
    if isinstance(X, np.ndarray):
        return X.reshape(-1), np.empty(0, np.int32), np.arange(len(X) + 1) * X.shape[1]
    return X.data, X.indices, X.indptr


def _transposed(
    X: NDArray | sparse.csr_array, weight: NDArray | None = None
) -> NDArray | sparse.csr_array:
    """Return X' by rows, with the weights of the rows of X in it."""
    if sparse.issparse(X):
        columns = sparse.csr_array(X.T)
        if weight is not None:
            columns.data *= weight[columns.indices]
        return columns
    columns = X.T.copy(order="C")
    if weight is not None:
        columns *= weight
    return columns
