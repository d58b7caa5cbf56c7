"""Where a descent on stress starts: classical scaling (Torgerson 1952), by Lanczos.

Of distances D it takes the leading eigenvectors of ``-H D^2 H / 2``, squares entry by entry and
``H = I - 1 1' / n``, times the roots of their eigenvalues. Where D are the Euclidean distances of
rows of a table, these are the scores of PCA of that table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from ..ops import threads
from ..ops.half import Centred
from ..ops.lanczos import lanczos
from ..ops.scatter import scatter
from ..ops.signs import signs_of
from ..ops.units import in_units, unit_of

__all__ = ["filled", "from_distances", "from_points"]

TOL = 1e-7  # eigen-residual: it is a start
ROWS = 256  # of a panel
PIVOTS = 512  # nodes that paths between any two go through


def from_points(X: NDArray, k: int) -> NDArray:
    """Return the scores of PCA of `X` on k components, of shape (k, n); zero beyond its columns."""
    unit, X = unit_of(X), in_units(X)
    mean, S = scatter(X)
    with threads.blas_for(float(len(S)) ** 3):
        _, V = np.linalg.eigh(S)
    V = V[:, ::-1][:, :k]
    scores = V.T @ (X.astype(np.float64, copy=False) - mean).T
    scores *= unit * signs_of(scores)[:, None]
    return np.concatenate([scores, np.zeros((k - len(scores), len(X)))])


def from_distances(D: NDArray, k: int, rng: np.random.Generator) -> NDArray:
    """Return the places of classical scaling, of shape (k, n); zero where there is no more.

    Allocates one half of the matrix in float64.
    """
    rows = threads.spans(len(D), ROWS)

    def panel(i: int) -> NDArray:
        half = D[rows[i], rows[i].start :].astype(np.float64)
        half *= half
        half *= -0.5
        return half

    B = Centred(threads.run(panel, len(rows)), rows)
    if not np.abs(B.means).max() > 0:
        return np.zeros((k, len(D)))
    pairs = lanczos(B, k, rng=rng, tol=TOL, block=4)
    places = pairs.vectors[:, :k].T * np.sqrt(pairs.values[:k].clip(min=0.0))[:, None]
    places *= signs_of(places)[:, None]
    return np.concatenate([places, np.zeros((k - len(places), len(D)))])


def filled(D: NDArray, known: NDArray) -> NDArray:
    """Return `D` with each distance that is not known replaced by that of a shortest path.

    Paths are those through one of at most 512 nodes, spread over all: for that many points, or
    fewer, the shortest there are. The graph of known pairs has to be connected.
    """
    n = len(D)
    graph = np.where(known, D, np.inf).astype(np.float64)
    # zero stands for no edge to scipy
    graph[known & (D == 0)] = np.finfo(np.float64).tiny
    pivots = np.unique(np.linspace(0, n - 1, min(n, PIVOTS)).astype(int))
    paths = dijkstra(np.where(np.isinf(graph), 0.0, graph), directed=False, indices=pivots)
    full = np.where(known, D, 0).astype(np.float64)
    for i in range(n):
        holes = np.flatnonzero(~known[i])
        if len(holes):
            full[i, holes] = (paths[:, holes] + paths[:, i, None]).min(axis=0)
    np.fill_diagonal(full, 0.0)
    return full
