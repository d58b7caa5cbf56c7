"""How columns go together: correlations in an order that shows blocks, and arrows of a biplot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measure.covariance import correlation
from ..plot.correlation import clustered
from .plain import plain

__all__ = ["biplot_section", "correlation_section", "related"]

MOST = 40  # columns of a matrix that can be read
PAIRS = 15
ARROWS = 30


def related(X: NDArray, most: int) -> NDArray | None:
    """Return correlations of columns with each other, 0 where there are none; None for too many."""
    d = X.shape[1]
    return np.nan_to_num(np.asarray(correlation(X))) if 1 < d <= most else None


def correlation_section(
    X: NDArray, R: NDArray | None, names: tuple[str, ...], loadings: NDArray
) -> dict[str, Any] | None:
    """Return the columns that go together most, in an order that puts alike ones side by side.

    Without `R`, of more columns than are compared, they are those that go most with components.
    """
    if len(names) < 2:
        return None
    weight = (loadings**2).sum(axis=1) if R is None else (R**2).sum(axis=1)
    chosen = np.sort(np.argsort(-np.nan_to_num(weight), kind="stable")[:MOST])
    part = related(X[:, chosen], MOST) if R is None else R[np.ix_(chosen, chosen)]
    part = np.clip(np.asarray(part), -1.0, 1.0)
    order = clustered(part)
    return {
        "names": [names[chosen[j]] for j in order],
        "matrix": [[round(float(r), 3) for r in row] for row in part[np.ix_(order, order)]],
        "more": len(names) - len(order),
        "pairs": [] if R is None else _pairs(R, names),
    }


def _pairs(R: NDArray, names: tuple[str, ...]) -> list[dict[str, Any]]:
    i, j = np.triu_indices(len(R), 1)
    size = np.abs(R[i, j])
    some = np.arange(len(size))
    if len(size) > PAIRS:
        some = np.argpartition(-size, PAIRS)[: PAIRS + 1]
    some = some[np.lexsort((some, -size[some]))][:PAIRS]
    return [{"a": names[i[k]], "b": names[j[k]], "r": plain(R[i[k], j[k]])} for k in some]


def biplot_section(loadings: NDArray, names: tuple[str, ...], shown: int) -> dict[str, Any]:
    """Return an arrow for each of the columns that go most with the components shown."""
    known = np.nan_to_num(loadings[:, :shown])
    order = np.argsort(-(known**2).sum(axis=1), kind="stable")[:ARROWS]
    return {"arrows": [{"name": names[j], "loadings": plain(known[j])} for j in order]}
