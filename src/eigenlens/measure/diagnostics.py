"""What each row and each column has to do with each component, and which rows stand out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._compat import check_array
from . import limits
from .blocks import correlations
from .frames import column_names, component_names, pandas, row_names
from .linear import Fit, Placed, Span, beyond_rounding, checked, require_linear

__all__ = ["Columns", "Diagnostics", "Rows", "diagnostics"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What rows have to do with the components.

    Attributes
    ----------
    names : ndarray of shape (n,)
        The index of a pandas table, else the numbers of the rows.
    scores : ndarray of shape (n, k)
        What `transform` gives.
    contributions : ndarray of shape (n, k) or None
        Share of each row in the sum of squared scores of a component; each column adds up to 1.
        None for supplementary rows, which had no part in it.
    cos2 : ndarray of shape (n, k)
        Squared cosine between a centred row and each component. Over all components of an
        orthonormal set it adds up to 1: what is missing lies outside the model. NaN for a row at
        the mean.
    t2 : ndarray of shape (n,)
        Hotelling's T2: squared distance from the mean within the model, in units of the variances.
    spe : ndarray of shape (n,)
        Squared prediction error (Q): squared distance from the model.
    t2_limit, spe_limit : float
        Limits that a Gaussian row passes with probability 1 - level.
    training : bool
        Whether the limits are those for rows that the model was fitted to, or for new ones.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenlens import PCA, datasets
    >>> from eigenlens.measure import diagnostics
    >>> X = datasets.planted_subspace(100, 6, rank=2, random_state=0).X
    >>> X[7] += 5  # one row far from the others
    >>> rows = diagnostics(PCA(n_components=2).fit(X), X).rows
    >>> rows.contributions.sum(axis=0).round(6)
    array([1., 1.])
    >>> int(rows.t2.argmax()), bool(rows.t2[7] > rows.t2_limit)
    (7, True)
    """

    names: NDArray
    scores: NDArray
    contributions: NDArray | None
    cos2: NDArray
    t2: NDArray
    spe: NDArray
    t2_limit: float
    spe_limit: float
    training: bool


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """What columns have to do with the components.

    Attributes
    ----------
    names : ndarray of shape (d,)
    loadings : ndarray of shape (d, k)
        Correlation of each column with the scores on each component. NaN for a constant column.
    contributions : ndarray of shape (d, k) or None
        Share of each column in the squared length of a component; each column of the array adds up
        to 1. None for supplementary columns.
    cos2 : ndarray of shape (d, k)
        Squared loadings: the share of the column's variance that the component accounts for. Over
        all components of uncorrelated scores it adds up to 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import diagnostics
    >>> X = load_iris(as_frame=True).data
    >>> columns = diagnostics(PCA(n_components=2).fit(X), X).columns
    >>> str(columns.names[columns.contributions[:, 0].argmax()])
    'petal length (cm)'
    >>> columns.contributions.sum(axis=0).round(6)
    array([1., 1.])
    """

    names: NDArray
    loadings: NDArray
    contributions: NDArray | None
    cos2: NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Diagnostics:
    """The statistician's table of a fitted linear model.

    Attributes
    ----------
    components : tuple of str
        Names of the scores.
    rows : Rows
    columns : Columns
    supplementary_rows : Rows or None
    supplementary_columns : Columns or None
    level : float
        Of the limits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import diagnostics
    >>> X = load_iris(as_frame=True).data
    >>> found = diagnostics(PCA(n_components=2).fit(X), X)
    >>> found.components
    ('pca0', 'pca1')
    >>> list(found.to_frames())
    ['rows', 'columns', 'limits']
    """

    components: tuple[str, ...]
    rows: Rows
    columns: Columns
    supplementary_rows: Rows | None
    supplementary_columns: Columns | None
    level: float

    def to_frames(self) -> dict[str, Any]:
        """Return pandas frames: one for each part that is there, and the limits."""
        parts: dict[str, Rows | Columns | None] = {
            "rows": self.rows,
            "columns": self.columns,
            "supplementary_rows": self.supplementary_rows,
            "supplementary_columns": self.supplementary_columns,
        }
        frames = {name: self._frame(part) for name, part in parts.items() if part is not None}
        bounds = {
            name: {"T2": part.t2_limit, "SPE": part.spe_limit}
            for name, part in parts.items()
            if isinstance(part, Rows)
        }
        return frames | {"limits": pandas().DataFrame(bounds)}

    def _frame(self, part: Rows | Columns) -> Any:
        pd = pandas()
        of_component = {
            "score": getattr(part, "scores", None),
            "loading": getattr(part, "loadings", None),
            "contribution": part.contributions,
            "cos2": part.cos2,
        }
        frames = {
            name: pd.DataFrame(values, index=part.names, columns=list(self.components))
            for name, values in of_component.items()
            if values is not None
        }
        if isinstance(part, Rows):
            distances = {"T2": part.t2, "SPE": part.spe}
            frames["distance"] = pd.DataFrame(distances, index=part.names)
        return pd.concat(frames, axis=1)


def diagnostics(
    estimator: Any,
    X: ArrayLike,
    *,
    supplementary_rows: ArrayLike | None = None,
    supplementary_columns: ArrayLike | None = None,
    level: float = 0.95,
    training: bool | None = None,
) -> Diagnostics:
    """Return loadings, contributions, cos2, T2 and SPE of the rows and columns of `X`.

    Parameters
    ----------
    estimator : fitted linear estimator
        With `components_`, `mean_` and `transform`: :class:`eigenlens.PCA`, scikit-learn's, and
        others. Components that are not orthonormal need the training table as `X`: their T2 is that
        of the coordinates in their span, and cos2 is with each component by itself, so that it does
        not add up to 1.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The table of the fit, or new rows.
    supplementary_rows : {array-like, sparse matrix} of shape (any, n_features), optional
        Rows to be placed in the model. They count as new.
    supplementary_columns : array-like of shape (n_samples,) or (n_samples, any), optional
        Variables of the rows of `X` that are not in the model, to be correlated with its scores.
    level : float, default=0.95
        Of the limits: the share of Gaussian rows that stay below each.
    training : bool, optional
        Whether `X` is the table of the fit. By default that is looked for: as many rows, with the
        means and variances that the fit has stored.

    Returns
    -------
    Diagnostics

    Notes
    -----
    Limits of training rows: the beta limit for T2, Box's g chi2(h) with the moments of the training
    rows for SPE. Limits of new rows: the F limit for T2 and Box's for SPE, both corrected for what
    the fit has taken from noise, which matters as soon as n_samples is not far above n_features.
    They need all variances of the fit or the training table. A model with only its leading
    variances, seen without its training table, has its residual taken for white noise.

    The levels hold from about ten rows a component. With fewer, limits of T2 for new rows are too
    wide. The limits know nothing of rows that are not Gaussian.

    Rows are taken in blocks: beyond the results no copy of `X` is made.

    References
    ----------
    J. E. Jackson, A User's Guide to Principal Components, Wiley (1991).
    G. E. P. Box, Some theorems on quadratic forms applied in the study of analysis of variance
    problems, I, Annals of Mathematical Statistics 25 (1954).
    N. D. Tracy, J. C. Young, R. L. Mason, Multivariate control charts for individual observations,
    Journal of Quality Technology 24 (1992).
    O. Ledoit, S. Peche, Eigenvectors of some large sample covariance matrix ensembles, Probability
    Theory and Related Fields 151 (2011).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenlens import PCA
    >>> from eigenlens.measure import diagnostics
    >>> X = load_iris().data
    >>> found = diagnostics(PCA(n_components=2).fit(X), X)
    >>> found.columns.loadings.round(2)
    array([[ 0.9 ,  0.39],
           [-0.4 ,  0.83],
           [ 1.  , -0.05],
           [ 0.97, -0.05]])
    >>> found.rows.training, (found.rows.t2 > found.rows.t2_limit).sum()
    (True, np.int64(7))
    """
    require_linear(estimator)
    if not 0 < level < 1:
        raise ValueError(f"level={level} must be between 0 and 1, such as 0.95.")
    A = checked(estimator, X)
    scores = np.asarray(estimator.transform(X))
    span = Span.of(estimator)
    placed = span.place(A)
    fit = Fit.of(estimator, span, placed, training)
    names = getattr(estimator, "feature_names_in_", None)
    varying = np.where(_live(estimator, scores), scores, 0.0)
    loadings = correlations(A, varying)
    V = np.asarray(estimator.components_, dtype=np.float64)
    return Diagnostics(
        components=component_names(estimator, len(V)),
        rows=replace(
            _rows(X, scores, span, placed, fit, level, training=fit.training),
            contributions=_shares(varying),
        ),
        columns=Columns(
            names=column_names(X, A.shape[1]) if names is None else names,
            loadings=loadings,
            contributions=_shares(V.T),
            cos2=loadings**2,
        ),
        supplementary_rows=_more_rows(estimator, supplementary_rows, span, fit, level),
        supplementary_columns=_more_columns(supplementary_columns, varying),
        level=level,
    )


def _live(estimator: Any, scores: NDArray) -> NDArray:
    """Return which components have variance: the scores on others are rounding errors."""
    variances = getattr(estimator, "explained_variance_", None)
    return beyond_rounding(scores.var(axis=0) if variances is None else np.asarray(variances))


def _shares(values: NDArray) -> NDArray:
    """Return the squares of each column as parts of their sum; 0 for a column of zeros."""
    squares = values.astype(np.float64) ** 2
    total = squares.sum(axis=0)
    return np.divide(squares, total, out=squares, where=total > 0)


def _rows(
    table: Any,
    scores: NDArray,
    span: Span,
    placed: Placed,
    fit: Fit,
    level: float,
    *,
    training: bool,
) -> Rows:
    size = placed.size[:, None]
    along = (placed.coordinates @ span.cosines) ** 2
    if training:
        t2_limit = limits.t2_training(fit.whitening.shape[1], len(scores), level)
        spe_limit = limits.spe_training(placed.outside, level)
    else:
        t2_limit = limits.t2_new(fit.spectrum, level)
        spe_limit = limits.spe_new(fit.spectrum, level)
    # rows inside the span are off it by rounding, and do not stand out by that
    largest = placed.size.max(initial=0.0) + span.mean @ span.mean
    rounding = 64 * max(1, len(span.basis)) * span.eps**2 * largest
    return Rows(
        names=row_names(table, len(scores)),
        scores=scores,
        contributions=None,
        cos2=np.divide(along, size, out=np.full_like(along, np.nan), where=size > 0),
        t2=((placed.coordinates @ fit.whitening) ** 2).sum(axis=1),
        spe=placed.outside,
        t2_limit=t2_limit,
        spe_limit=max(spe_limit, float(rounding)),
        training=training,
    )


def _more_rows(
    estimator: Any, table: ArrayLike | None, span: Span, fit: Fit, level: float
) -> Rows | None:
    if table is None:
        return None
    placed = span.place(checked(estimator, table))
    scores = np.asarray(estimator.transform(table))
    return _rows(table, scores, span, placed, fit, level, training=False)


def _more_columns(table: ArrayLike | None, scores: NDArray) -> Columns | None:
    if table is None:
        return None
    values = np.asarray(table)
    values = check_array(
        values[:, None] if values.ndim == 1 else values, input_name="supplementary_columns"
    )
    if len(values) != len(scores):
        raise ValueError(
            f"supplementary_columns has {len(values)} rows and X has {len(scores)}. "
            "Give one value for each row of X."
        )
    loadings = correlations(values, scores)
    names = column_names(table, values.shape[1], prefix="supplementary")
    return Columns(names=names, loadings=loadings, contributions=None, cos2=loadings**2)
