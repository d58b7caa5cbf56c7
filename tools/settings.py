"""Every class of the register with the settings that choose its algorithm, for runs of all of them.

Tables are made for each: large enough to be cut into blocks that threads share, or small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import eigenlens

__all__ = ["SETTINGS", "Setting"]


@dataclass(frozen=True)
class Setting:
    """A class, its parameters, and a table that is large enough for threads.

    Attributes
    ----------
    name : str
        Of the class.
    shape : (n_samples, n_features)
    params : dict
    shared : bool
        Whether the pool of threads shares the work on such a table. Batches and small matrices
        are left to one thread, or to LAPACK.
    """

    name: str
    shape: tuple[int, int]
    params: dict[str, Any]
    shared: bool = True

    def __str__(self) -> str:
        words = [f"{key}={value}" for key, value in self.params.items() if key != "n_components"]
        return " ".join([self.name, *words])

    def estimator(self) -> Any:
        """Return an estimator, unfitted, with a seed where it takes one."""
        kind = getattr(eigenlens, self.name)
        seed = {"random_state": 0} if "random_state" in kind().get_params() else {}
        return kind(**seed | self.params)

    def table(self, shape: tuple[int, int] | None = None, seed: int = 0) -> NDArray:
        """Return a table of parts that add up, with a little noise: never negative."""
        n, d = shape or self.shape
        rng = np.random.default_rng(seed)
        W, H = rng.gamma(1.0, size=(n, 4)) * [4, 3, 2, 1], rng.gamma(0.5, size=(4, d))
        X = W @ H + 0.05 * rng.random((n, d))
        return np.where(rng.random((n, d)) < 0.05, np.nan, X) if "missing" in self.params else X


def _settings(
    name: str,
    shape: tuple[int, int],
    *params: dict[str, Any],
    shared: bool = True,
    **same: Any,
) -> list[Setting]:
    return [Setting(name, shape, same | one, shared) for one in params]


TALL, SQUARE = (60_000, 20), (600, 400)

SETTINGS: list[Setting] = [
    *_settings(
        "PCA",
        TALL,
        {},
        {"svd_solver": "covariance_eigh"},
        {"svd_solver": "arpack"},
        {"svd_solver": "randomized"},
        n_components=3,
    ),
    *_settings("PCA", (20_000, 20), {"missing": "em"}, n_components=3),
    *_settings("PCA", TALL, {"svd_solver": "full"}, shared=False, n_components=3),
    *_settings(
        "PCA",
        SQUARE,
        {"svd_solver": "gram_eigh"},
        {"svd_solver": "arpack"},
        {"svd_solver": "randomized"},
        n_components=3,
    ),
    *_settings("IncrementalPCA", TALL, {}, n_components=3),
    *_settings("IncrementalPCA", (1000, 40), {"max_memory": 1000}, shared=False, n_components=3),
    *_settings(
        "SparsePCA",
        TALL,
        {"method": "lars"},
        {"method": "cd"},
        {"formulation": "elastic-net"},
        {"formulation": "l0", "n_nonzero": 5},
        {"formulation": "scotlass", "l1_bound": 2},
        n_components=3,
        max_iter=10,
    ),
    *_settings(
        "MiniBatchSparsePCA",
        (2000, 20),
        {"method": "lars"},
        {"method": "cd"},
        shared=False,
        n_components=3,
        max_iter=1,
    ),
    *_settings(
        "DictionaryLearning",
        (20_000, 20),
        {"fit_algorithm": "lars"},
        {"fit_algorithm": "cd"},
        n_components=3,
        max_iter=5,
    ),
    *_settings(
        "MiniBatchDictionaryLearning",
        (2000, 20),
        {"fit_algorithm": "lars"},
        {"fit_algorithm": "cd"},
        shared=False,
        n_components=3,
        max_iter=1,
    ),
    *_settings(
        "NMF",
        (10_000, 20),
        {},
        {"solver": "mu"},
        {"solver": "mu", "beta_loss": "kullback-leibler"},
        {"solver": "mu", "beta_loss": "itakura-saito"},
        {"missing": "mask"},
        n_components=3,
        max_iter=5,
    ),
    *_settings("MiniBatchNMF", (2000, 20), {}, shared=False, n_components=3, max_iter=2),
    *_settings(
        "MiniBatchNMF", (2000, 20), {"beta_loss": "kullback-leibler"}, n_components=3, max_iter=2
    ),
    *_settings(
        "RobustPCA",
        (300, 20),
        {"solver": "admm"},
        {"solver": "ialm"},
        {"outliers": "rows"},
        shared=False,
        max_iter=10,
    ),
    *_settings("RobustPCA", (20_000, 20), {"solver": "altproj"}, n_components=3, max_iter=3),
    *_settings(
        "KernelPCA",
        (700, 20),
        {"eigen_solver": "dense"},
        {"eigen_solver": "arpack"},
        {"eigen_solver": "randomized"},
        n_components=3,
        kernel="rbf",
    ),
    *_settings(
        "KernelPCA",
        (4000, 20),
        {"approximation": "nystrom", "n_landmarks": 100},
        n_components=3,
        kernel="rbf",
    ),
    *_settings("KernelPCA", (300, 20), {"kernel": "laplacian"}, n_components=3),
    *_settings(
        "VectorQuantizer", (10_000, 20), {"solver": "kmeans"}, {"solver": "minibatch"}, max_iter=10
    ),
    *_settings(
        "MDS",
        (600, 20),
        {"solver": "smacof"},
        {"solver": "sgd"},
        {"metric_mds": False},
        max_iter=10,
    ),
    *_settings(
        "Isomap",
        (700, 20),
        {"neighbors_algorithm": "brute"},
        {"neighbors_algorithm": "kd_tree", "eigen_solver": "arpack"},
        {"n_landmarks": 100},
        n_neighbors=20,
    ),
    *_settings(
        "TSNE",
        (300, 20),
        {"engine": "exact"},
        {"engine": "tree"},
        {"engine": "opentsne-bh"},
        max_iter=250,
        perplexity=10.0,
    ),
]
"""What runs of every class go through."""
