"""Minka's Bayesian choice of the number of components.

T. P. Minka, Automatic choice of dimensionality for PCA, NIPS 13 (2000), eq. 77: the Laplace
approximation of the evidence of probabilistic PCA with k components.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..solvers.spectral import Rule

__all__ = ["log_evidence", "minka"]


def minka(n_samples: int) -> Rule:
    """Return the rule that takes the number of components of largest evidence.

    Parameters
    ----------
    n_samples : int
        Rows that the variances are those of.

    Returns
    -------
    callable
        ``rule(spectrum, total, complete)`` gives a number, or None if it must see all variances.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens.select import minka
    >>> spectrum = np.array([9.0, 4.0, 1.1, 1.0, 0.9])
    >>> minka(n_samples=500)(spectrum, spectrum.sum(), True)
    2
    """

    def rule(spectrum: NDArray, total: float, complete: bool) -> int | None:
        if not complete:
            return None
        return int(np.argmax(log_evidence(spectrum, n_samples))) + 1 if len(spectrum) > 1 else 1

    return rule


def log_evidence(spectrum: NDArray, n_samples: int) -> NDArray:
    """Return the log evidence of k = 1, ..., d - 1 components, from all d variances.

    The determinant of the Hessian is a product over pairs of eigenvalues; going from k to k + 1
    only changes d of its factors, so that all k together cost O(d^2).
    """
    d, n = len(spectrum), n_samples
    eps = np.finfo(np.float64).eps
    lam = np.maximum(spectrum, eps * spectrum[0])  # in units in which rounding is below eps
    lam = lam / lam[0]
    log_lam = np.log(lam)
    tail = (lam.sum() - np.cumsum(lam))[:-1].clip(min=eps) / np.arange(d - 1, 0, -1)

    evidence = np.full(d - 1, -np.inf)
    inside = across = 0.0  # sums over pairs i < j <= k, and i <= k < j
    for k in range(1, d):
        new = lam[k - 1]
        before = np.log((lam[: k - 1] - new).clip(min=eps))
        after = np.log((new - lam[k:]).clip(min=eps))
        inside += 2 * before.sum() - log_lam[: k - 1].sum() - (k - 1) * log_lam[k - 1]
        across += after.sum() - before.sum()
        if spectrum[k - 1] <= eps * spectrum[0]:
            break  # a component without variance: so are all that follow
        v = tail[k - 1]
        noise = np.log((1 / v - 1 / lam[:k]).clip(min=eps)).sum()
        m = d * k - k * (k + 1) / 2
        log_det = inside + across + (d - k) * noise + m * np.log(n)
        i = np.arange(1, k + 1)
        half = (d - i + 1) / 2
        log_prior = -k * np.log(2) + (gammaln(half) - half * np.log(np.pi)).sum()
        evidence[k - 1] = (
            log_prior
            - n / 2 * (log_lam[:k].sum() + (d - k) * np.log(v))
            + (m + k) / 2 * np.log(2 * np.pi)
            - log_det / 2
            - k / 2 * np.log(n)
        )
    return evidence
