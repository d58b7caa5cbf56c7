"""A matrix as coloured cells, with names, and with its numbers where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .colours import DIVERGING, colour_map
from .display import label
from .labels import settle

__all__ = ["draw_cells"]

LEAST_WIDE, LEAST_HIGH = 23.0, 10.5  # points, of a cell in which a number can be read
MOST_NAMES = 60  # on a side: of more, only how many there are
DARK = 0.6  # of the largest value, from which on white letters are the better ones


def draw_cells(
    ax: Any,
    values: NDArray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    largest: float,
    meaning: str,
    numbers: bool = True,
    square: bool = False,
) -> None:
    """Draw `values` between -largest and largest, white at 0; grey where there is none.

    Numbers are written if each cell has room for one, and `numbers` lets them. Cells are square, or
    fill the axes.
    """
    image = ax.imshow(values, cmap=colour_map(DIVERGING), vmin=-largest, vmax=largest)
    ax.set_aspect("equal" if square else "auto")
    ax.figure.colorbar(image, ax=ax, label=meaning, fraction=0.05, pad=0.02)
    _write_names(ax.yaxis, rows, rotation=0)
    _write_names(ax.xaxis, columns, rotation=90 if max(map(len, columns)) > 3 else 0)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if numbers and _has_room(ax, values):
        _write_numbers(ax, values, largest)


def _write_names(axis: Any, names: Sequence[str], *, rotation: int) -> None:
    if len(names) > MOST_NAMES:
        axis.set_ticks([])
        axis.set_label_text(f"{len(names)} columns")
    else:
        axis.set_ticks(range(len(names)), [label(name) for name in names])
        axis.set_tick_params(labelsize=8, labelrotation=rotation)


def _has_room(ax: Any, values: NDArray) -> bool:
    height, width = values.shape
    if values.size > MOST_NAMES**2:
        return False
    return bool((settle(ax) >= [width * LEAST_WIDE, height * LEAST_HIGH]).all())


def _write_numbers(ax: Any, values: NDArray, largest: float) -> None:
    for (i, j), value in np.ndenumerate(values):
        if np.isnan(value):
            continue
        colour = "white" if abs(value) > DARK * largest else "black"
        text = "0" if value == 0 else f"{round(value, 2) + 0.0:.2f}".replace("0.", ".", 1)
        ax.text(j, i, text, ha="center", va="center", fontsize=7, color=colour)
