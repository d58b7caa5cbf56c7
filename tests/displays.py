"""One way to make each display of `eigenlens.plot`, from a table with hostile names."""

from functools import cache

import numpy as np
import pandas as pd

from eigenlens import PCA
from eigenlens.measure import SparsePath
from eigenlens.plot import (
    BiplotDisplay,
    CorrelationDisplay,
    EllipseDisplay,
    HistogramsDisplay,
    LoadingsDisplay,
    OutlierMapDisplay,
    PlaneDisplay,
    ScoresDisplay,
    ScreeDisplay,
    ShepardDisplay,
    SparseLoadingsDisplay,
    SparsePathDisplay,
)

HOSTILE = ["$x^2$", r"$\frac{1", "<script>alert(1)</script>", "n" * 60, "_hidden", "a\nb", "%s {}"]


@cache
def table():
    """Return 60 rows with 7 columns, classes and a model of them, all with hostile names."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 7))
    values += 0.3 * rng.standard_normal(values.shape)
    values[4] += 8.0
    X = pd.DataFrame(values, columns=HOSTILE, index=[HOSTILE[i % 7] for i in range(60)])
    y = pd.Series([HOSTILE[i % 7] for i in range(60)], name="$y")
    return X, y, PCA(3).fit(X)


def path():
    """Return a path of two points, the second not to its tolerance."""
    components = np.zeros((2, 1, 4))
    components[0, 0, 0] = 1
    components[1, 0, :2] = 0.6, 0.8
    return SparsePath(
        columns=np.array(HOSTILE[:4], dtype=object),
        alpha=np.array([[2.0], [1.0]]),
        components=components,
        n_nonzero=np.array([[1], [2]]),
        explained_variance=np.array([[1.0], [1.5]]),
        explained_variance_ratio=np.array([[0.4], [0.6]]),
        objective=np.zeros(2),
        converged=np.array([True, False]),
        certificates=(),
    )


def _three(ax):
    X, y, _ = table()
    X = X.iloc[:, :3]
    return PlaneDisplay.from_estimator(PCA(2).fit(X), X, y, ax=ax)


def _two_models(ax):
    X, _, model = table()
    return SparseLoadingsDisplay.from_estimators(model, PCA(2).fit(X), ax=ax)


def _with(make, *parts, **options):
    """Return a factory that takes some of the table, its target and its model."""

    def made(ax):
        X, y, model = table()
        given = {"X": X, "y": y, "model": model, "two": X.iloc[:, :2]}
        return make(*(given[part] for part in parts), **options, ax=ax)

    return made


FACTORIES = {
    "BiplotDisplay": _with(BiplotDisplay.from_estimator, "model", "X", "y"),
    "CorrelationDisplay": _with(CorrelationDisplay.from_data, "X"),
    "EllipseDisplay": _with(EllipseDisplay.from_data, "two"),
    "HistogramsDisplay": _with(HistogramsDisplay.from_data, "X", "y"),
    "LoadingsDisplay": _with(LoadingsDisplay.from_estimator, "model"),
    "OutlierMapDisplay": _with(OutlierMapDisplay.from_estimator, "model", "X"),
    "PlaneDisplay": _three,
    "ScoresDisplay": _with(ScoresDisplay.from_estimator, "model", "X", "y"),
    "ScreeDisplay": _with(ScreeDisplay.from_estimator, "model"),
    "ShepardDisplay": _with(ShepardDisplay.from_estimator, "model", "X"),
    "SparseLoadingsDisplay": _two_models,
    "SparsePathDisplay": lambda ax: SparsePathDisplay.from_path(path(), dense=0.7, ax=ax),
}
