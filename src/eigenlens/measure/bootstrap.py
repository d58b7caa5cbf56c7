"""How far variances and loadings would move on another sample: the bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.base import clone

from . import resamples
from .align import align
from .blocks import centre, correlations
from .frames import column_names, component_names, loading_frame, pandas
from .linear import checked, is_orthonormal, require_linear

__all__ = ["Bootstrap", "bootstrap"]


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrap:
    """Estimates with their bootstrap intervals.

    Attributes
    ----------
    components : tuple of str
        Names of the scores.
    columns : ndarray of shape (n_features,)
        Names of the columns.
    variances, variances_low, variances_high : ndarray of shape (k,)
        Variances along the components, and the ends of their intervals.
    loadings, loadings_low, loadings_high : ndarray of shape (n_features, k)
        Correlations of the columns with the scores, and the ends of their intervals.
    stability : ndarray of shape (k,)
        Mean absolute cosine between a component and its match in the draws: 1 if it is the same in
        all of them. Below some 0.9 the loadings of a component say little.
    variance_draws : ndarray of shape (n_draws, k)
        Variances of the matched components in each draw.
    cosines : ndarray of shape (n_draws, k)
        Of the matched components in each draw.
    matching : {'order and sign', 'procrustes'}
    level : float

    Examples
    --------
    >>> from eigenlens import PCA, datasets
    >>> from eigenlens.measure import bootstrap
    >>> X = datasets.planted_subspace(100, 6, rank=2, random_state=0).X
    >>> found = bootstrap(PCA(n_components=3), X, n_draws=50, random_state=0)
    >>> (found.stability > 0.95).tolist()  # the third is noise
    [True, True, False]
    >>> list(found.to_frames()["variances"].columns)
    ['variance', 'low', 'high', 'stability']
    """

    components: tuple[str, ...]
    columns: NDArray
    variances: NDArray
    variances_low: NDArray
    variances_high: NDArray
    loadings: NDArray
    loadings_low: NDArray
    loadings_high: NDArray
    stability: NDArray
    variance_draws: NDArray
    cosines: NDArray
    matching: str
    level: float

    def to_frames(self) -> dict[str, Any]:
        """Return two pandas frames, of the variances and of the loadings."""
        variances = {
            "variance": self.variances,
            "low": self.variances_low,
            "high": self.variances_high,
            "stability": self.stability,
        }
        loadings = {
            "loading": self.loadings,
            "low": self.loadings_low,
            "high": self.loadings_high,
        }
        return {
            "variances": pandas().DataFrame(variances, index=list(self.components)),
            "loadings": loading_frame(loadings, self.columns, self.components),
        }


def bootstrap(
    estimator: Any,
    X: ArrayLike,
    *,
    n_draws: int = 200,
    level: float = 0.95,
    procrustes: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> Bootstrap:
    """Return intervals for the variances and loadings of a linear model.

    Clones are fitted to `X` and to `n_draws` tables of rows drawn from it with replacement. Where
    `fit` takes weights, a draw is a vector of counts and no row is copied. The number of components
    is that of the fit to `X`.

    Parameters
    ----------
    estimator : linear estimator, fitted or not
        With `components_`, `mean_` and `transform` once fitted. It is left as it is.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    n_draws : int, default=200
        Number of draws. The intervals need deviations alone, for which 200 are enough.
    level : float, default=0.95
        Of the intervals.
    procrustes : bool, default=False
        Whether to turn the components of a draw within their span towards those of the full fit,
        instead of matching them one by one up to sign and order. Where variances are almost equal
        the single components are not determined, and by default wide intervals say so; turned,
        they tell how well the span is determined. Needs orthonormal components.
    random_state : int, Generator or None, default=None
        Seed. The result does not depend on the number of threads.

    Returns
    -------
    Bootstrap

    Notes
    -----
    An interval is the estimate plus and minus a multiple of the deviation of the draws, on the
    scale of the logarithm for variances and of Fisher's z for loadings, so that its ends are
    possible values. On Gaussian tables with known eigenvalues the 95 % intervals covered 93 to 97 %
    for variances and for loadings from 60 rows on, 89 and 92 % for 40 rows, and 89 and 88 % for two
    variances as close as 5 and 4 in 200 rows. Percentile intervals were no better, and covered 86 %
    of variances for 40 rows: the draws are biased once more than the sample is. Intervals corrected
    for this bias (basic, bias-corrected) did no better on average, as the bias is itself poorly
    known.

    References
    ----------
    B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap, Chapman and Hall (1993), 7.2.
    M. E. Timmerman, H. A. L. Kiers, A. K. Smilde, Estimating confidence intervals for principal
    component loadings, British Journal of Mathematical and Statistical Psychology 60 (2007).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import bootstrap
    >>> found = bootstrap(PCA(n_components=2), load_iris().data, random_state=0)
    >>> found.variances.round(2)
    array([4.23, 0.24])
    >>> bool((found.variances_low < found.variances).all())
    True
    >>> found.stability.round(1)
    array([1., 1.])
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level} must be between 0 and 1, such as 0.95.")
    if n_draws < 2:
        raise ValueError(f"n_draws={n_draws} must be at least 2. Take 200 or more.")
    rng = np.random.default_rng(random_state)
    full = resamples.seeded(clone(estimator), rng).fit(X)
    require_linear(full)
    names = getattr(full, "feature_names_in_", None)
    A = checked(full, X)
    n, d = A.shape
    target = np.asarray(full.components_, dtype=np.float64)
    if procrustes and not is_orthonormal(full.components_):
        raise ValueError(
            f"procrustes=True turns the components, and those of {type(full).__name__} are not "
            "orthonormal: turned, they would be others. Take procrustes=False."
        )
    k = len(target)
    drawn = resamples.Resamples(estimator, A, k)
    seeds = rng.spawn(n_draws)

    def draw(i: int) -> tuple[NDArray, NDArray, NDArray]:
        model, counts = drawn.fit(seeds[i])
        variances, loadings = _estimates(model, model.transform(A), A, counts)
        V = np.asarray(model.components_, dtype=np.float64)
        return (_turned if procrustes else _matched)(target, V, variances, loadings)

    variances, loadings = _estimates(full, full.transform(X), A, np.ones(n))
    parts = zip(*resamples.run(draw, n_draws), strict=True)
    variance_draws, loading_draws, cosines = (np.stack(part) for part in parts)
    if not (variance_draws > 0).all():
        raise drawn.too_few()
    # the deviation of the draws is too small by sqrt((n - 1) / n)
    factor = float(stats.t.ppf((1 + level) / 2, n - 1)) * np.sqrt(n / (n - 1))
    reach = factor * np.log(variance_draws).std(axis=0, ddof=1)
    z, z_reach = _fisher(loadings), factor * _fisher(loading_draws).std(axis=0, ddof=1)
    return Bootstrap(
        components=component_names(full, k),
        columns=column_names(X, d) if names is None else names,
        variances=variances,
        variances_low=variances * np.exp(-reach),
        variances_high=variances * np.exp(reach),
        loadings=loadings,
        loadings_low=np.tanh(z - z_reach),
        loadings_high=np.tanh(z + z_reach),
        stability=cosines.mean(axis=0),
        variance_draws=variance_draws,
        cosines=cosines,
        matching="procrustes" if procrustes else "order and sign",
        level=level,
    )


def _estimates(model: Any, scores: Any, A: Any, counts: NDArray) -> tuple[NDArray, NDArray]:
    """Return variances and loadings of a fit to rows of `A`, each as often as `counts` says."""
    scores = np.asarray(scores)
    variances = getattr(model, "explained_variance_", None)
    if variances is None:
        variances = counts @ (scores - centre(scores, counts)) ** 2 / (counts.sum() - 1)
    return np.asarray(variances, dtype=np.float64), correlations(A, scores, counts)


def _matched(
    target: NDArray, V: NDArray, variances: NDArray, loadings: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Bring a draw into the order and signs of the full fit."""
    found = align(target, V)
    return variances[found.permutation], found.scores(loadings), found.cosines


def _turned(
    target: NDArray, V: NDArray, variances: NDArray, loadings: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Turn a draw by the rotation R that minimises ``|target - R V|``."""
    U, _, W = np.linalg.svd(target @ V.T)
    R = U @ W
    turned = (R**2) @ variances
    # columns and scores: cov(x, R t) = R cov(x, t), and the scores are uncorrelated
    shared = (loadings * np.sqrt(variances)) @ R.T / np.sqrt(turned)
    return turned, shared, np.abs(np.einsum("ij,ij->i", target, R @ V))


def _fisher(correlation: NDArray) -> NDArray:
    """Return Fisher's z, finite where a correlation is 1 but for rounding."""
    most = 1 - 1e-12
    z: NDArray = np.arctanh(np.clip(correlation, -most, most))
    return z
