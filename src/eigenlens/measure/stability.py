"""How sure the loadings of a sparse model are: which of them stay on other samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..ops.weights import weighted_rows
from . import resamples
from .align import Alignment, align
from .frames import column_names, component_names, loading_frame, pandas
from .linear import checked

__all__ = ["Stability", "stability"]

WELL = 0.9  # cosine from which a component counts as found again


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """Loadings of a model, and what became of them on resampled rows.

    Attributes
    ----------
    components : tuple of str
        Names of the scores.
    columns : ndarray of shape (n_features,)
        Names of the columns.
    loadings : ndarray of shape (n_features, k)
        Components of the fit to all rows, one a column, at length 1.
    frequency : ndarray of shape (n_features, k)
        Share of the draws in which the loading is not zero.
    sign_agreement : ndarray of shape (n_features, k)
        Of the draws in which the loading is not zero, the share that has its more common sign: from
        a half, where the sign is chance, to 1. NaN for a loading that is zero in all of them.
    mean, std : ndarray of shape (n_features, k)
        Of the loading over the draws, its zeros included.
    low, high : ndarray of shape (n_features, k)
        Quantiles of the draws that hold a share of `level` between them.
    matched : ndarray of shape (k,)
        Share of the draws in which the component was found again, with a cosine of at least 0.9.
        The other fields say little of a component for which this is low.
    cosines : ndarray of shape (n_bootstrap, k)
        Between each component and its match in each draw.
    level : float

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import SparsePCA
    >>> from eigenlens.measure import stability
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.standard_normal((200, 2)) * [3, 2]
    >>> X = np.repeat(hidden, 3, axis=1) + rng.standard_normal((200, 6))
    >>> found = stability(SparsePCA(2, alpha=8), X, n_bootstrap=20, random_state=0)
    >>> sure = found.frequency == 1
    >>> bool((found.loadings[sure] != 0).all()), bool((found.sign_agreement[sure] == 1).all())
    (True, True)
    >>> list(found.to_frames())
    ['components', 'loadings']
    """

    components: tuple[str, ...]
    columns: NDArray
    loadings: NDArray
    frequency: NDArray
    sign_agreement: NDArray
    mean: NDArray
    std: NDArray
    low: NDArray
    high: NDArray
    matched: NDArray
    cosines: NDArray
    level: float

    def to_frames(self) -> dict[str, Any]:
        """Return two pandas frames, of the components and of the loadings."""
        components = {"matched": self.matched, "cosine": self.cosines.mean(axis=0)}
        loadings = {
            "loading": self.loadings,
            "frequency": self.frequency,
            "sign_agreement": self.sign_agreement,
            "mean": self.mean,
            "std": self.std,
            "low": self.low,
            "high": self.high,
        }
        return {
            "components": pandas().DataFrame(components, index=list(self.components)),
            "loadings": loading_frame(loadings, self.columns, self.components),
        }


def stability(
    estimator: Any,
    X: ArrayLike,
    *,
    n_bootstrap: int = 100,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Stability:
    """Return how often each loading is nonzero on rows drawn with replacement.

    Clones are fitted to `X` and to `n_bootstrap` draws of as many rows. The components of a draw
    are matched to those of the fit to `X` by :func:`~eigenlens.measure.align`, up to order and
    sign. A loading that is zero in some draws was a close decision; one that is nonzero in all of
    them is there. For intervals of dense loadings use :func:`~eigenlens.measure.bootstrap`.

    Parameters
    ----------
    estimator : estimator, fitted or not
        With `components_` once fitted: of this package, of scikit-learn, or like one of them. It is
        left as it is.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    n_bootstrap : int, default=100
        Number of draws. A frequency is known to about ``0.5 / sqrt(n_bootstrap)``.
    level : float, default=0.95
        Share of the draws between `low` and `high`.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row counts. Rows are drawn as from a table with so many copies of each. Needs
        an estimator whose `fit` takes weights.
    random_state : int, Generator or None, default=None
        Seed. The result does not depend on the number of threads.

    Returns
    -------
    Stability

    Notes
    -----
    The draws hold ``n_bootstrap * n_features * k`` numbers. A draw has about 63 % of the rows, some
    of them twice, and so more noise than a new sample would have: frequencies of variables that
    matter little are rather too large. Warnings of single draws are gathered into one.

    References
    ----------
    N. Meinshausen, P. Bühlmann, Stability selection, JRSS B 72 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import SparsePCA
    >>> from eigenlens.measure import stability
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.standard_normal((200, 2)) * [3, 2]
    >>> X = np.repeat(hidden, 3, axis=1) + rng.standard_normal((200, 6))
    >>> found = stability(SparsePCA(2, alpha=8), X, n_bootstrap=20, random_state=0)
    >>> found.frequency.T
    array([[1., 1., 1., 0., 0., 0.],
           [0., 0., 0., 1., 1., 1.]])
    >>> found.matched
    array([1., 1.])
    """
    _check(estimator, n_bootstrap, level, sample_weight)
    rng = np.random.default_rng(random_state)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    full = resamples.seeded(clone(estimator), rng).fit(X, **weights)
    target = _components(full)
    A, weight = weighted_rows(checked(full, X), sample_weight)
    k, d = target.shape
    drawn = resamples.Resamples(estimator, A, k, weight)
    seeds = rng.spawn(n_bootstrap)

    def draw(i: int) -> Alignment:
        return align(target, _components(drawn.fit(seeds[i])[0]))

    matches = resamples.run(draw, n_bootstrap)
    loadings = np.stack([match.aligned.T for match in matches])
    cosines = np.stack([match.cosines for match in matches])
    low, high = np.quantile(loadings, [(1 - level) / 2, (1 + level) / 2], axis=0)
    names = getattr(full, "feature_names_in_", None)
    return Stability(
        components=component_names(full, k),
        columns=column_names(X, d) if names is None else names,
        loadings=target.T,
        frequency=(loadings != 0).mean(axis=0),
        sign_agreement=_sign_agreement(loadings),
        mean=loadings.mean(axis=0),
        std=loadings.std(axis=0, ddof=1),
        low=low,
        high=high,
        matched=(cosines >= WELL).mean(axis=0),
        cosines=cosines,
        level=level,
    )


def _check(estimator: Any, n_bootstrap: int, level: float, sample_weight: ArrayLike | None) -> None:
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise TypeError(
            f"estimator={estimator!r} cannot be fitted. Give an estimator with its parameters, "
            "such as eigenlens.SparsePCA(n_components=5)."
        )
    if n_bootstrap < 2:
        raise ValueError(
            f"n_bootstrap={n_bootstrap} is less than 2, and shares need many draws. Take 100."
        )
    if not 0 < level < 1:
        raise ValueError(f"level={level} must be between 0 and 1, such as 0.95.")
    if sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"sample_weight is given, and {type(estimator).__name__}.fit takes no weights. Leave "
            "it out, or give an estimator that does, such as eigenlens.SparsePCA."
        )


def _components(model: Any) -> NDArray:
    """Return the components of a fitted model, as rows of length 1."""
    if not hasattr(model, "components_"):
        raise TypeError(
            f"{type(model).__name__} has no components_ once fitted, so there are no loadings to "
            "compare. Give an estimator that has, such as eigenlens.SparsePCA. Of a pipeline, give "
            "the last step, pipeline[-1], and what it has seen, pipeline[:-1].transform(X)."
        )
    V = np.asarray(model.components_, dtype=np.float64)
    lengths = np.linalg.norm(V, axis=1, keepdims=True)
    return V / np.where(lengths > 0, lengths, 1.0)


def _sign_agreement(loadings: NDArray) -> NDArray:
    """Return, of the draws that are not zero, the share with the more common sign."""
    positive, negative = (loadings > 0).sum(axis=0), (loadings < 0).sum(axis=0)
    nonzero, common = positive + negative, np.maximum(positive, negative)
    return np.divide(common, nonzero, out=np.full(nonzero.shape, np.nan), where=nonzero > 0)
