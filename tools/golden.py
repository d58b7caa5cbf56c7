"""Model files of every method, which each later version must still load.

``python tools/golden.py`` writes those that are missing into tests/golden: ``NAME-FORMAT.skops``
and, beside it, ``NAME-FORMAT.npz`` with the table X and its scores. A file that is there stays:
it stands for those that users have.
"""

import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union

from eigenlens import (
    PCA,
    IncrementalPCA,
    KernelPCA,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
    datasets,
)
from eigenlens._register import classes
from eigenlens.persist import FORMAT, save
from eigenlens.testing.tables import ready

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"

OTHERS = {
    "StandardScaler": StandardScaler(),
    "MinMaxScaler": MinMaxScaler(),
    "RobustScaler": RobustScaler(),
    "Normalizer": Normalizer(),
    "pipeline": make_pipeline(SimpleImputer(), StandardScaler(), PCA(n_components=2)),
    "union": make_union(PCA(n_components=1), make_pipeline(MinMaxScaler(), PCA(n_components=2))),
    "consensus": PCA(n_components="consensus", random_state=np.random.RandomState(0)),
    "truncated": IncrementalPCA(n_components=2, max_memory=100),
    "learned": KernelPCA(
        n_components=2, kernel="rbf", fit_inverse_transform=True, preimage="learned", random_state=0
    ),
}
"""What else users save: scalers, pipelines, and methods whose parameters add to what they keep."""


def models():
    """Return every model that has a golden file, not fitted, by its name."""
    methods = {
        name: ready(method(**{**method.exemplar, "n_components": 2}))
        for name, method in classes().items()
    }
    return methods | OTHERS


def path_of(name, folder=GOLDEN):
    return folder / f"{name}-{FORMAT}.skops"


def write(name, model, folder=GOLDEN):
    """Fit the model to a small table that every one takes, and write both files."""
    X = datasets.planted_subspace(20, 4, 2, noise=0.1, random_state=0).X
    X -= X.min()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # that it had to truncate
        model.fit(X)
    path = save(model, path_of(name, folder))
    np.savez(path.with_suffix(".npz"), X=X, scores=model.transform(X))
    return path


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, model in models().items():
        if not path_of(name).exists():
            print(write(name, model))
