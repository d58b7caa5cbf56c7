"""The inverse of a graph's Laplacian, and whether the graph is in one piece.

For symmetric weights W the Laplacian is ``V = diag(W 1) - W``. It is the metric of places X whose
weighted squared distances add up to ``tr X'VX``, and singular along shifts of all places alone if
the graph of positive weights is connected.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from . import threads

__all__ = ["Complete", "Laplacian", "pieces_of"]

DENSE = 3000  # nodes up to which a factor of the matrix is kept
TOL = 1e-10  # residual of conjugate gradients, relative


class Complete:
    """Of n nodes, each joined to each with weight 1."""

    def __init__(self, n: int) -> None:
        self.n = n

    def inverse(self, G: NDArray) -> NDArray:
        """Return ``G V^+`` for G of shape (k, n)."""
        found: NDArray = (G - G.mean(axis=1, keepdims=True)) / self.n
        return found


class Laplacian:
    """Of a connected graph: by a Cholesky factor, or for many nodes by conjugate gradients.

    The factor takes the memory of W; conjugate gradients take none.
    """

    def __init__(self, W: NDArray, dense: int = DENSE) -> None:
        self._W = W
        # zero from a node to itself, whatever W has there
        self._own = W.diagonal().astype(np.float64)
        self._degree = W.sum(axis=1, dtype=np.float64) - self._own
        self._factor = self._factored() if len(W) <= dense else None

    def _factored(self) -> tuple[NDArray, bool]:
        V = -self._W.astype(np.float64)
        np.fill_diagonal(V, self._degree)
        V += self._degree.mean() / len(V)  # along the constant vector, which V maps to zero
        with threads.blas_for(float(len(V)) ** 3 / 3):
            return scipy.linalg.cho_factor(V, lower=True, overwrite_a=True, check_finite=False)

    def inverse(self, G: NDArray) -> NDArray:
        """Return ``G V^+`` for G of shape (k, n)."""
        G = G - G.mean(axis=1, keepdims=True)
        if self._factor is not None:
            with threads.serial_blas():
                found: NDArray = scipy.linalg.cho_solve(self._factor, G.T, check_finite=False).T
        else:
            found = self._iterated(G)
        return found - found.mean(axis=1, keepdims=True)

    def _product(self, P: NDArray) -> NDArray:
        """Return ``P V``, some columns at a time."""
        spans = threads.spans(len(self._W), 256)
        parts = threads.run(lambda s: P @ self._W[:, spans[s]], len(spans))
        return P * (self._degree + self._own) - np.concatenate(parts, axis=1)

    def _iterated(self, G: NDArray) -> NDArray:
        """Solve by conjugate gradients, each coordinate by itself, scaled by the degrees."""
        X, R = np.zeros_like(G), G.copy()
        Z = R / self._degree
        P = Z.copy()
        rz = (R * Z).sum(axis=1)
        enough = TOL**2 * rz
        for _ in range(2 * len(self._W)):
            if (rz <= enough).all():
                break
            Q = self._product(P)
            pq = (P * Q).sum(axis=1)
            a = np.divide(rz, pq, out=np.zeros_like(rz), where=pq > 0)[:, None]
            X += a * P
            R -= a * Q
            Z = R / self._degree
            before, rz = rz, (R * Z).sum(axis=1)
            P = Z + np.divide(rz, before, out=np.zeros_like(rz), where=before > 0)[:, None] * P
        return X


def pieces_of(joined: NDArray) -> NDArray:
    """Return the number of the piece that each node is in; `joined` has what nodes are joined."""
    n = len(joined)
    piece = np.full(n, -1)
    count = 0
    for start in range(n):
        if piece[start] >= 0:
            continue
        piece[start] = count
        front = np.array([start])
        while len(front):
            reached = joined[front].any(axis=0) & (piece < 0)
            front = np.flatnonzero(reached)
            piece[front] = count
        count += 1
    return piece
