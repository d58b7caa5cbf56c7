"""Tables that scikit-learn carries."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import NDArray

__all__ = ["Table", "breast_cancer"]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of numbers with names.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    names : tuple of str
        Names of the columns.
    target : ndarray of shape (n_samples,)
        A class for each row, as a number.
    target_names : tuple of str
        What the numbers stand for.

    Examples
    --------
    >>> from eigenlens import datasets
    >>> table = datasets.breast_cancer()
    >>> len(table.names) == table.X.shape[1], len(table.target) == len(table.X)
    (True, True)
    >>> [table.target_names[i] for i in table.target[-2:]]
    ['malignant', 'benign']
    """

    X: NDArray
    names: tuple[str, ...]
    target: NDArray
    target_names: tuple[str, ...]


def breast_cancer() -> Table:
    """Return the Wisconsin breast cancer table that scikit-learn carries: 569 tumours, 30 columns.

    Columns differ in scale by four orders of magnitude: scale them before PCA.

    Returns
    -------
    Table

    Examples
    --------
    >>> from eigenlens import datasets
    >>> table = datasets.breast_cancer()
    >>> table.X.shape, table.target_names
    ((569, 30), ('malignant', 'benign'))
    """
    from sklearn.datasets import load_breast_cancer  # half a second, so only when asked for

    data = load_breast_cancer()
    return Table(
        X=data.data,
        names=tuple(map(str, data.feature_names)),
        target=data.target,
        target_names=tuple(map(str, data.target_names)),
    )
