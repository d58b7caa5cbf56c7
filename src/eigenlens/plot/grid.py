"""A grid over the plane of two columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["grid_around", "require_plane"]

MARGIN = 0.1  # of the range of the points, around them


def require_plane(points: NDArray) -> None:
    """Raise unless the points have two columns, without holes."""
    if points.shape[1] != 2:
        raise ValueError(
            f"X has {points.shape[1]} columns, and a plane has two. Fit and draw two of them."
        )
    if not np.isfinite(points).all():
        raise ValueError(
            "X has holes (NaN) or infinite values, which have no place. Leave them out."
        )


def grid_around(points: NDArray, resolution: int) -> tuple[NDArray, NDArray, NDArray]:
    """Return the places across and up of a grid around the points, and the grid as rows."""
    if resolution < 2:
        raise ValueError(f"resolution={resolution} must be at least 2.")
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.where(high > low, MARGIN * (high - low), 1.0)
    across, up = np.linspace(low - room, high + room, resolution).T
    grid = np.column_stack([side.ravel() for side in np.meshgrid(across, up)])
    return across, up, grid
