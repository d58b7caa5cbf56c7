"""Rows that stand out: far out among the components, or off them, and by which columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._text import count, grouped, listed
from ..measure import diagnostics
from .fits import Fits
from .plain import plain
from .table import Table

__all__ = ["Outliers", "outliers"]

LEVEL = 0.99
LISTED = 12  # rows
BLAMED = 3  # columns that are named for each


@dataclass(frozen=True, slots=True, eq=False)
class Outliers:
    """Distances of the rows from the rest, and their limits.

    Attributes
    ----------
    t2, spe : ndarray of shape (n,)
        Squared distance from the mean within the model, in units of the variances; squared distance
        from the model.
    t2_limit, spe_limit : float
        What a Gaussian row passes with probability 1 - `LEVEL`.
    ratios : ndarray of shape (2, n)
        Each distance in units of its limit.
    loadings : ndarray of shape (d, k)
        Correlation of each column with the scores.
    rows : ndarray of int
        Rows beyond a limit, the farthest first.
    """

    t2: NDArray
    spe: NDArray
    t2_limit: float
    spe_limit: float
    ratios: NDArray
    loadings: NDArray
    rows: NDArray

    def to_dict(self, table: Table, usable: NDArray, fits: Fits, drawn: NDArray) -> dict[str, Any]:
        """Return what the page shows."""
        return {
            "level": LEVEL,
            "t2": plain(self.t2[drawn]),
            # with all components in the model, no row is off it but by rounding
            "spe": None if self._complete(fits) else plain(self.spe[drawn]),
            "t2_limit": plain(self.t2_limit),
            "spe_limit": plain(self.spe_limit),
            "count": len(self.rows),
            "rows": [self._row(int(i), table, usable, fits) for i in self.rows[:LISTED]],
            "sentences": self.sentences(table),
        }

    def _complete(self, fits: Fits) -> bool:
        n, d = fits.Z.shape
        return len(fits.pca.model.components_) >= min(n - 1, d)

    def sentences(self, table: Table) -> list[str]:
        """Return what to notice, in words."""
        n, many, level = len(self.t2), len(self.rows), f"{100 * LEVEL:.0f} %"
        # a row has two limits to pass
        chance = round(2 * (1 - LEVEL) * n)
        expected = f"about {grouped(chance)} would by chance" if chance else "none would by chance"
        if not many:
            return [f"No row passes a {level} limit ({expected})."]
        farthest = listed([table.row(int(i)) for i in self.rows[:5]])
        return [
            f"{count(many, 'row')} of {grouped(n)} {'passes' if many == 1 else 'pass'} a {level} "
            f"limit ({expected}). "
            f"{'It is row' if many == 1 else 'The farthest out are rows'} {farthest}."
        ]

    def _row(self, i: int, table: Table, usable: NDArray, fits: Fits) -> dict[str, Any]:
        within, off = self.ratios[:, i]
        blame = _off_by(fits, i) if off > within else _out_by(fits, i)
        columns = np.argsort(-blame, kind="stable")[:BLAMED]
        return {
            "row": table.row(i),
            "t2": plain(self.t2[i]),
            "spe": plain(self.spe[i]),
            "times": plain(max(within, off)),
            "how": "off the components" if off > within else "far out among the components",
            "columns": [_cell(table, int(usable[j]), i) for j in columns if blame[j] > 0],
        }


def outliers(fits: Fits) -> Outliers:
    """Measure how far each row is from the rest."""
    found = diagnostics(fits.pca.model, fits.filled, level=LEVEL, training=True)
    rows = found.rows
    ratios = np.stack([rows.t2 / rows.t2_limit, rows.spe / rows.spe_limit])
    farthest = ratios.max(axis=0)
    order = np.argsort(-farthest, kind="stable")
    return Outliers(
        t2=rows.t2,
        spe=rows.spe,
        t2_limit=rows.t2_limit,
        spe_limit=rows.spe_limit,
        ratios=ratios,
        loadings=found.columns.loadings,
        rows=order[farthest[order] > 1],
    )


def _off_by(fits: Fits, i: int) -> NDArray:
    """Return the part of each column in the squared distance of row `i` from the model."""
    model = fits.pca.model
    row = fits.filled[i] - model.mean_
    return np.asarray((row - row @ model.components_.T @ model.components_) ** 2)


def _out_by(fits: Fits, i: int) -> NDArray:
    """Return the part of each column in T2 of row `i`; the parts add up to it."""
    model = fits.pca.model
    row = fits.filled[i] - model.mean_
    variances = np.maximum(model.explained_variance_, np.finfo(float).tiny)
    return np.asarray(row * ((row @ model.components_.T / variances) @ model.components_))


def _cell(table: Table, j: int, i: int) -> dict[str, Any]:
    """Return a cell of the table as it was given, and its distance from the mean of its column."""
    column = table.values[:, j]
    seen = column[~np.isnan(column)]
    deviation = seen.std(ddof=1) if len(seen) > 1 else 0.0
    away = (column[i] - seen.mean()) / deviation if deviation > 0 else np.nan
    return {"name": table.names[j], "value": plain(column[i]), "deviations": plain(away)}
