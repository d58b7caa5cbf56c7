"""The optimal hard threshold for singular values of a matrix in white noise.

M. Gavish, D. L. Donoho, The optimal hard threshold for singular values is 4/sqrt(3), IEEE Trans.
Information Theory 60 (2014).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import integrate, optimize

from .choice import Choice
from .factored import Seed, Table, factored

__all__ = ["gavish_donoho", "hard_threshold", "marchenko_pastur_median", "noise_deviation"]


def gavish_donoho(X: Table, rng: Seed = None, *, noise: float | None = None) -> Choice:
    """Return the number of singular values above the optimal hard threshold.

    Keeping these, and no others, gives the least asymptotic error of the rebuilt table: a factor
    that is there but too weak to be rebuilt with profit (below some 1.7 times the limit of
    detection) is left out. Assumes white noise, the same variance in every cell: anything else
    makes it find far too many. Without `noise` the deviation comes from the median singular value,
    so fewer than half of them may be factors.

    Parameters
    ----------
    X : array of shape (n, d)
        The table, or what `factored` gives for it.
    rng : numpy.random.Generator, int or None
        Not used; here because every rule takes one.
    noise : float, optional
        Standard deviation of the noise in a cell, if it is known.

    Returns
    -------
    Choice

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import datasets
    >>> from eigenlens.select import gavish_donoho
    >>> X = datasets.planted_subspace(200, 20, rank=3, noise=0.1, random_state=0).X
    >>> gavish_donoho(X).k, gavish_donoho(X, noise=0.1).k
    (3, 3)
    """
    table = factored(X)
    n, d = table.shape
    values = table.singular
    how = "noise given"
    if noise is None:
        known = np.zeros(min(n - 1, d))
        known[: len(values)] = values  # those that are rounding count in the median
        noise = noise_deviation(float(np.median(known)), n - 1, d)
        how = "noise from the median singular value"
    note = f"optimal hard threshold, {how}: {noise:.4g}"
    threshold = hard_threshold(n - 1, d) * noise  # centring takes one row
    return Choice.of("gavish-donoho", "singular value", values, threshold, note)


def hard_threshold(n: int, d: int) -> float:
    """Return the optimal threshold for an n x d matrix in white noise of deviation 1 (eq. 11).

    Examples
    --------
    >>> from eigenlens.select.gavish_donoho import hard_threshold
    >>> round(hard_threshold(100, 100) / 10, 4)  # 4 / sqrt(3)
    2.3094
    """
    beta, long = min(n, d) / max(n, d), max(n, d)
    root = np.sqrt(beta**2 + 14 * beta + 1)
    return float(np.sqrt((2 * (beta + 1) + 8 * beta / (beta + 1 + root)) * long))


def noise_deviation(median: float, n: int, d: int) -> float:
    """Return the deviation of white noise whose n x d matrix has this median singular value."""
    return float(median / np.sqrt(max(n, d) * marchenko_pastur_median(min(n, d) / max(n, d))))


@lru_cache(maxsize=64)
def marchenko_pastur_median(beta: float) -> float:
    """Return the median of the Marchenko-Pastur law of aspect ratio `beta` in (0, 1].

    The density of the eigenvalues x is ``sqrt((b - x)(x - a)) / (2 pi beta x)`` between ``(1 -+
    sqrt(beta))^2``. With ``x = 1 + beta - 2 sqrt(beta) cos(t)`` its roots at the ends vanish, and
    the integral is smooth.

    Examples
    --------
    >>> from eigenlens.select.gavish_donoho import marchenko_pastur_median
    >>> round(marchenko_pastur_median(1.0), 4)
    0.6528
    """
    root = np.sqrt(beta)

    def density(t: float) -> float:
        # 4 beta sin^2 / (2 pi beta x), where at beta = 1 and t -> 0 both vanish: sin^2 is written
        # through the half angle, as x is
        half = np.sin(t / 2) ** 2
        x = (1 - root) ** 2 + 4 * root * half
        return float(8 * half * (1 - half) / (np.pi * x)) if x > 0 else 2 / np.pi

    def below(t: float) -> float:
        return float(integrate.quad(density, 0, t, epsabs=1e-13, epsrel=1e-13)[0]) - 0.5

    t = float(optimize.brentq(below, 0, np.pi, xtol=1e-14))
    return float((1 - root) ** 2 + 4 * root * np.sin(t / 2) ** 2)
