"""Model files of every method, which each later version must still load.

``python tools/golden.py`` writes those that are missing into tests/golden: ``NAME-FORMAT.skops``
and, beside it, ``NAME-FORMAT.npz`` with the table X and its scores. A file that is there stays:
it stands for those that users have.
"""

from pathlib import Path

import numpy as np

from eigenlens import datasets
from eigenlens._register import classes
from eigenlens.persist import FORMAT, save
from eigenlens.testing.tables import ready

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"


def path_of(name, folder=GOLDEN):
    return folder / f"{name}-{FORMAT}.skops"


def write(name, method, folder=GOLDEN):
    """Fit the method to a small table that every one takes, and write both files."""
    X = datasets.planted_subspace(20, 4, 2, noise=0.1, random_state=0).X
    X -= X.min()
    model = ready(method(**{**method.exemplar, "n_components": 2})).fit(X)
    path = save(model, path_of(name, folder))
    np.savez(path.with_suffix(".npz"), X=X, scores=model.transform(X))
    return path


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, method in classes().items():
        if not path_of(name).exists():
            print(write(name, method))
