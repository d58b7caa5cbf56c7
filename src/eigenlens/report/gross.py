"""Cells and rows that stand out of a robust fit, in the units of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._text import count, grouped, percent, short
from ..measure.outlier_map import outlier_map
from .plain import plain

if TYPE_CHECKING:
    from .adds import Setting
    from .fits import Fitted

__all__ = ["FAR", "gross"]

LISTED = 15  # cells
ROWS = 12
FAR = 6.0  # deviations, beyond which a cell is called far off: 2 in 10^9 of a normal distribution
LEAST = 0.05  # of the deviation of a column: that of its residuals counts as no less
NORMAL = 1.4826  # median absolute deviations in a standard deviation


def gross(one: Fitted, setting: Setting) -> dict[str, Any]:
    """Return the cells that the low-rank part of a robust fit does not explain."""
    fits, model = setting.fits, one.fit.model
    expected = np.asarray(model.low_rank_)
    residual = np.where(np.isnan(fits.Z), 0.0, fits.filled - expected)
    units = _units(residual, fits.Z)
    away = np.where(np.asarray(model.sparse_) != 0, residual / units, 0.0)
    far, there = np.abs(away) > FAR, ~np.isnan(fits.Z)
    pca = fits.pca.model
    other = fits.filled - pca.inverse_transform(pca.transform(fits.filled))
    near = there & ~far
    off = [float(np.sqrt(np.mean(r[near] ** 2))) for r in (residual, other)]
    order = np.argsort(-np.abs(away), axis=None, kind="stable")[:LISTED]
    places = [divmod(int(place), away.shape[1]) for place in order]
    cells = [_cell(i, j, setting, expected, away) for i, j in places if away[i, j]]
    return {
        "adds": _said(cells, int(far.sum()), int(there.sum()), *off),
        "cells": cells,
        "rows": _rows(model, setting),
        "far": int(far.sum()),
        "off": off,
    }


def _units(residual: NDArray, Z: NDArray) -> NDArray:
    """Return the deviation of the residuals of each column, which no outlier bends."""
    own = NORMAL * np.median(np.abs(residual), axis=0)
    low, high = np.nanquantile(Z, [0.25, 0.75], axis=0)
    spread = (high - low) / 1.349
    spread = np.where(spread > 0, spread, np.nanstd(Z, axis=0))
    return np.maximum(np.maximum(own, LEAST * spread), np.finfo(float).tiny)


def _cell(i: int, j: int, setting: Setting, low: NDArray, away: NDArray) -> dict[str, Any]:
    back = setting.fits.back(low[[i]], [i])[0, j]
    return {
        "row": setting.table.row(i),
        "column": setting.names[j],
        "value": plain(setting.fits.X[i, j]),
        "expected": plain(back),
        "deviations": plain(away[i, j]),
    }


def _rows(model: Any, setting: Setting) -> list[dict[str, Any]]:
    try:
        found = outlier_map(model, setting.fits.filled)
    except ValueError:  # too few rows for a scatter of scores
        return []
    off = found.orthogonal_distance / (found.orthogonal_cutoff or np.inf)
    times = np.maximum(found.score_distance / found.score_cutoff, off)
    kinds = found.kind
    return [
        {"row": setting.table.row(int(i)), "times": plain(times[i]), "kind": str(kinds[i])}
        for i in found.flagged[:ROWS]
    ]


def _said(cells: list[dict[str, Any]], far: int, size: int, own: float, pca: float) -> list[str]:
    if far:
        worst = cells[0]
        verb = "is" if far == 1 else "are"
        said = [
            f"{count(far, 'cell')} of {grouped(size)} ({percent(far / size)}) {verb} more than "
            f"{FAR:.0f} deviations from what the others let expect. The farthest is "
            f"{short(worst['column'], 32)} of row {short(worst['row'], 32)}: "
            f"{worst['value']:.4g}, where {worst['expected']:.4g} is expected."
        ]
    elif cells:
        most = abs(cells[0]["deviations"])
        said = [
            f"No cell is more than {FAR:.0f} deviations from what the others let expect; the "
            f"farthest is {most:.1f} deviations away."
        ]
    else:
        said = ["No cell stands out: 0 cells are neither explained nor noise."]
    said.append(
        f"{'The others' if far else 'Cells'} are off by {own:.3g} from its components, and by "
        f"{pca:.3g} from those of PCA (root mean square, in units of the scaled table)."
    )
    return said
