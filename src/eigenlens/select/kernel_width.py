"""The width of a kernel, without labels: the one that reconstructs rows that were left out.

Rows are cut into groups. With one group left out, kernel PCA is fitted to the others, the group is
projected onto k components, and taken back to the input space by a pre-image. The search for it
begins at the fitted row whose scores are nearest, never at the row that is sought: a kernel so
narrow that nothing is near would else leave every row where it is, and look perfect.

In the feature space errors of different widths cannot be compared: each has its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ops.half import Centred
from ..ops.kernels import Matern, Radial, Rbf, median_square
from ..solvers import kernel as kernel_solver
from ..solvers.preimage import fixed_point
from .factored import Seed, checked

__all__ = ["KernelWidth", "kernel_width"]

KERNELS: dict[str, type[Radial]] = {"rbf": Rbf, "matern": Matern}
GRID = np.geomspace(0.05, 50.0, 13)  # in units of 1 / the median of squared distances
ROWS = 1500  # that are looked at, at most
GROUPS = 3
TOL = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class KernelWidth:
    """The width that was chosen, and what all of them cost.

    Attributes
    ----------
    gamma : float
        The best of `gammas`.
    gammas : ndarray
    errors : ndarray
        Mean squared error of rows left out, relative to the variance of X: 1 is the mean of X.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.select import kernel_width
    >>> t = np.random.default_rng(0).uniform(0, 2 * np.pi, 300)
    >>> ring = np.c_[np.cos(t), np.sin(t)]
    >>> found = kernel_width(ring, 7, rng=0, noise=0.1, gammas=[0.1, 1.0, 100.0])
    >>> found.gamma == found.gammas[found.errors.argmin()]
    np.True_
    >>> found.errors.round(1)  # too narrow a kernel knows nothing of rows left out
    array([0. , 0. , 0.9])
    """

    gamma: float
    gammas: NDArray = field(repr=False)
    errors: NDArray = field(repr=False)

    def __str__(self) -> str:
        lines = [f"gamma = {self.gamma:.4g} (error of rows left out / variance)"]
        for gamma, error in zip(self.gammas, self.errors, strict=True):
            mark = "  <" if gamma == self.gamma else ""
            lines.append(f"  {gamma:10.4g}  {error:8.4f}{mark}")
        return "\n".join(lines)


def kernel_width(
    X: ArrayLike,
    n_components: int,
    rng: Seed = None,
    *,
    kernel: str = "rbf",
    gammas: ArrayLike | None = None,
    noise: float = 0.0,
    groups: int = GROUPS,
) -> KernelWidth:
    """Return the gamma with which kernel PCA reconstructs rows that it has not seen.

    Parameters
    ----------
    X : array of shape (n, d)
        Of more than 1500 rows, so many random ones are taken.
    n_components : int
        Components that rows are projected onto. With as many as X has columns, a wide kernel is
        linear PCA that loses nothing, and no width could be better: ask for fewer, or add `noise`.
    rng : numpy.random.Generator, int or None
        Or a seed. Deals rows to groups.
    kernel : {'rbf', 'matern'}
    gammas : array-like, optional
        Those to be tried; by default thirteen about one over the median of squared distances.
    noise : float
        Standard deviation of noise that is added to the rows left out before they are projected;
        the error is still that to the rows themselves. For a kernel that is to de-noise.
    groups : int
        Each is left out once.

    Returns
    -------
    KernelWidth

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.select import kernel_width
    >>> t = np.random.default_rng(0).uniform(0, 2 * np.pi, 300)
    >>> ring = np.c_[np.cos(t), np.sin(t)]
    >>> print(kernel_width(ring, 7, rng=0, noise=0.1, gammas=[0.1, 1.0, 100.0]))
    gamma = 1 (error of rows left out / variance)
             0.1    0.0151
               1    0.0107  <
             100    0.8627
    """
    rows = checked(X).astype(np.float64)
    if kernel not in KERNELS:
        raise ValueError(f"kernel={kernel!r} is not one of {sorted(KERNELS)}. Take one of these.")
    rng = np.random.default_rng(rng)
    rows = rows[rng.permutation(len(rows))[:ROWS]]
    if not 2 <= groups <= len(rows):
        raise ValueError(
            f"groups={groups} cannot be cut from {len(rows)} rows. Ask for 2 at least, and for no "
            "more than there are rows."
        )
    if not isinstance(n_components, Integral) or not 1 <= n_components < len(rows) - -(
        -len(rows) // groups
    ):
        raise ValueError(
            f"n_components={n_components} is not between 1 and what {len(rows)} rows in {groups} "
            "groups leave to fit. Ask for fewer, or give more data."
        )
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise={noise} is no standard deviation. Give one, or 0 for none.")
    widths = (
        GRID / (median_square(rows) or 1.0) if gammas is None else np.asarray(gammas, np.float64)
    )
    if not (widths.ndim == 1 and len(widths) and (widths > 0).all() and np.isfinite(widths).all()):
        raise ValueError("gammas must be positive numbers, one or more. Leave them out for a grid.")
    variance = float(rows.var(axis=0).sum()) * len(rows)
    if not variance > 0:
        raise ValueError("All rows of X are equal: any width would do. Check X.")
    errors = np.zeros(len(widths))
    for g in range(groups):
        out = np.arange(len(rows)) % groups == g
        shown = rows[out] + noise * rng.standard_normal(rows[out].shape)
        for i, gamma in enumerate(widths):
            back = _back(KERNELS[kernel](gamma), rows[~out], shown, n_components, rng)
            errors[i] += ((rows[out] - back) ** 2).sum()
    errors /= variance
    return KernelWidth(float(widths[np.argmin(errors)]), widths, errors)


def _back(
    kernel: Radial, fitted: NDArray, out: NDArray, k: int, rng: np.random.Generator
) -> NDArray:
    """Return the rows left out, projected and taken back."""
    solver = kernel_solver.choose_solver(len(fitted), k)
    K = Centred.of_points(kernel, fitted)
    found = kernel_solver.solve(K, k, solver=solver, rng=rng, tol=TOL)
    scores = found.axes.project(kernel, out, fitted)
    start = fitted[np.argmin(found.axes.squared_distances(scores), axis=1)]
    back, _ = fixed_point(kernel, fitted, found.axes.coefficients(scores), start, tol=1e-5)
    return back
