"""Words of documents, as a table."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from eigenlens.datasets.originals import original

__all__ = ["Words", "docstrings", "news"]

MODULES = (
    "cluster", "covariance", "decomposition", "discriminant_analysis", "ensemble",
    "feature_selection", "gaussian_process", "impute", "linear_model", "manifold", "mixture",
    "naive_bayes", "neighbors", "neural_network", "preprocessing", "svm", "tree",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Which words occur in which documents.

    Attributes
    ----------
    X : ndarray of shape (n_documents, n_words)
        1 where the word occurs, 0 elsewhere.
    words : ndarray of str of shape (n_words,)
    source : str
        Whose documents they are.

    Examples
    --------
    >>> from eigenlens import datasets
    >>> table = datasets.news()
    >>> table.X.shape == (len(table.X), len(table.words)), sorted({*table.X.flat}) == [0, 1]
    (True, True)
    """

    X: NDArray
    words: NDArray
    source: str


def docstrings() -> dict[str, str]:
    """Return the docstrings of scikit-learn's classes by name: texts that every reader has.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> from eigenlens import datasets
    >>> datasets.docstrings()["KMeans"].splitlines()[0]
    'K-Means clustering.'
    """
    modules = [import_module(f"sklearn.{name}") for name in MODULES]
    named = {name: getattr(module, name) for module in modules for name in module.__all__}
    classes = {name: value for name, value in named.items() if inspect.isclass(value)}
    return {name: inspect.getdoc(value) or "" for name, value in classes.items()}


def news() -> Words:
    """Return a hundred words and where they occur: in news postings, or else in docstrings.

    The 16 242 postings of S. Roweis are looked for in the folder that ``EIGENLENS_DATA`` names (see
    `original`). Without them, the documents are `docstrings`, and the words those that are in
    a tenth to six tenths of them and no stop words; of these, the hundred that vary most.

    Returns
    -------
    Words

    Examples
    --------
    >>> from eigenlens import datasets
    >>> table = datasets.news()
    >>> table.X.shape[1], len(table.words)
    (100, 100)
    """
    found = original("20news_w100.npz")
    if found is not None:
        return Words(found["X"].astype(float), found["words"], "news postings")
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    counter = CountVectorizer(
        token_pattern="[a-z]{4,}", binary=True, stop_words=list(ENGLISH_STOP_WORDS),
        min_df=0.1, max_df=0.6,
    )  # fmt: skip
    X = counter.fit_transform(docstrings().values()).toarray().astype(float)
    most = np.sort(np.argsort(-X.var(axis=0), kind="stable")[:100])
    return Words(X[:, most], counter.get_feature_names_out()[most], "docstrings of scikit-learn")
