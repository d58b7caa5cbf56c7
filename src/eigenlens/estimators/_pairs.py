"""What is known of pairs of points: weights and holes, checked, and whether they join all."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._compat import check_array
from .._text import count
from ..ops.laplacian import pieces_of

__all__ = ["checked_weights", "known_pairs", "weights_of_new"]

ASYMMETRY = 1e-8  # of the largest weight


def checked_weights(weights: ArrayLike, n: int) -> NDArray:
    """Return a copy of the weights of pairs, once they are known to be sound."""
    W = check_array(weights, dtype=np.float64, copy=True, input_name="weights")
    if W.shape != (n, n):
        raise ValueError(
            f"weights have shape {W.shape}, and {count(n, 'row')} make {n} x {n} pairs. Give the "
            "symmetric matrix of the weights of all pairs."
        )
    if W.min() < 0:
        raise ValueError(f"weights have a negative entry, {W.min():.3g}. Take zero to leave out.")
    if np.abs(W - W.T).max() > ASYMMETRY * W.max():
        raise ValueError(
            "weights are not symmetric. Give, for instance, (weights + weights.T) / 2."
        )
    return W


def weights_of_new(weights: ArrayLike | None, shape: tuple[int, int]) -> NDArray | None:
    """Return the weights of distances of new points to those of the fit, if there are any."""
    if weights is None:
        return None
    W = np.asarray(weights, dtype=np.float64)
    if W.shape != shape or not (np.isfinite(W) & (W >= 0)).all():
        raise ValueError(
            f"weights of new points must be nonnegative numbers of shape {shape}: one for each and "
            "each point of the fit."
        )
    return W


def known_pairs(D: NDArray, W: NDArray | None) -> tuple[NDArray, NDArray | None]:
    """Return distances without holes, and weights that are zero there, if any are needed.

    A distance that is known in one direction is known. `W` may be written to.
    """
    holes = np.isnan(D)
    if holes.any():
        back = holes & ~holes.T
        T = np.where(back, D.T, D)
        holes &= holes.T
        T[holes] = 0.0
        W = np.ones(D.shape) if W is None else W
        W[holes] = 0.0
    elif W is None:
        return D, None
    else:
        T = D
    np.fill_diagonal(W, 0.0)
    _require_one_piece(W > 0)
    return T, W


def _require_one_piece(joined: NDArray) -> None:
    """Raise unless the known pairs join all points."""
    alone = np.flatnonzero(~joined.any(axis=1))
    if len(alone) and len(joined) > 1:
        raise ValueError(
            f"Row {alone[0]} of X has no known distance to any other ({len(alone)} in all), and no "
            "place can be found for it. Leave it out."
        )
    sizes = np.bincount(pieces_of(joined))
    if len(sizes) > 1:
        raise ValueError(
            f"The pairs that are known leave the points in {len(sizes)} pieces, of "
            f"{', '.join(map(str, sorted(sizes.tolist(), reverse=True)[:5]))} points, and nothing "
            "tells how far these are apart. Scale each by itself, or give a distance between them."
        )
