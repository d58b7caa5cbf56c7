"""VectorQuantizer: code books from the same start, against k-means of scikit-learn and the peers.

The start, rows drawn far from each other, is made outside of what is timed, as is the number of
steps that scikit-learn takes from there: faiss, which does not stop by itself, takes as many.
Judged by the squared error in float64 over that of scikit-learn. faiss computes in float32. Two of
the tables are not part of the project; where one is not there, its case says so.
"""

import os

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import kmeans_plusplus

from benchmarks.harness import DATA, Case, Contestant

METHOD = "VectorQuantizer"
FILES = {"faces": "cbcl_faces.npz", "images": "mnist.npz"}
ROWS = 1000  # that are compared with all centres at a time
AS_GOOD = {"over scikit-learn's": 1.001}


# ------------------------------------------------------------------------------------------- data


def blobs(rng, n, d):
    """Draw rows about eight centres."""
    return rng.standard_normal((8, d))[rng.integers(8, size=n)] + 0.3 * rng.standard_normal((n, d))


def small_digits():
    """Give the digits that scikit-learn carries."""
    from sklearn.datasets import load_digits

    return load_digits().data / 16


def faces():
    """Read the small faces."""
    return np.load(DATA / FILES["faces"])["X"].astype(np.float64) / 255


def images():
    """Read the images of digits, in single precision."""
    return np.load(DATA / FILES["images"])["X_train"].astype(np.float32) / np.float32(255)


def problem(read):
    """Give the maker of a case: a table, where to start, and how many steps it takes from there."""

    def make(rng, k, **size):
        X = blobs(rng, **size) if size else read()
        start, _ = kmeans_plusplus(X, k, random_state=0)
        data = {"X": X, "start": start}
        return data | {"steps": np.array(by_kmeans("sklearn.cluster", data).n_iter_)}

    return make


# ------------------------------------------------------------------------------------ contestants


def by_kmeans(module, data, **choice):
    """Fit a class that follows scikit-learn's."""
    from importlib import import_module

    start = data["start"].copy()
    return import_module(module).KMeans(len(start), init=start, n_init=1, **choice).fit(data["X"])


def fit_ours(data):
    """Fit ours."""
    from eigenlens import VectorQuantizer

    model = VectorQuantizer(len(data["start"]), init=data["start"], random_state=0).fit(data["X"])
    return {"centres": model.components_, "note": f"{model.n_iter_} steps"}


def fit_sklearn(data):
    """Fit scikit-learn's k-means."""
    model = by_kmeans("sklearn.cluster", data)
    return {"centres": model.cluster_centers_, "note": f"{model.n_iter_} steps"}


def fit_intelex(data):
    """Fit that of scikit-learn-intelex, whose threads the variables for BLAS do not reach."""
    threads = int(os.environ["BENCHMARK_NUM_THREADS"])
    from sklearnex.cluster import KMeans

    start = data["start"].copy()
    model = KMeans(len(start), init=start, n_init=1, n_jobs=threads).fit(data["X"])
    return {"centres": model.cluster_centers_, "note": f"{model.n_iter_} steps"}


def fit_faiss(data):
    """Fit that of faiss, to all rows."""
    import faiss

    X, start = (data[name].astype(np.float32) for name in ("X", "start"))
    settings = {"niter": int(data["steps"]), "max_points_per_centroid": len(X)}
    model = faiss.Kmeans(X.shape[1], len(start), min_points_per_centroid=1, **settings)
    model.train(X, init_centroids=start)
    return {"centres": model.centroids, "note": f"{settings['niter']} steps"}


CONTESTANTS = (
    Contestant("eigenlens", "eigenlens", fit_ours),
    Contestant("scikit-learn", "sklearn", fit_sklearn),
    Contestant("intelex", "sklearnex", fit_intelex),
    Contestant("faiss, float32", "faiss", fit_faiss),
)


# ------------------------------------------------------------------------------------------ judge


def squared_error(X, centres):
    """Sum the squared distances of rows from their nearest centres."""
    blocks = (X[i : i + ROWS].astype(np.float64) for i in range(0, len(X), ROWS))
    return sum(cdist(rows, centres, "sqeuclidean").min(axis=1).sum() for rows in blocks)


def beside(data):
    """Judge by the squared error over that of scikit-learn."""
    reference = squared_error(data["X"], fit_sklearn(data)["centres"])

    def score(answer):
        centres = answer["centres"].astype(np.float64)
        return {"over scikit-learn's": squared_error(data["X"], centres) / reference}

    return score


# ------------------------------------------------------------------------------------------ cases


def case(name, title, read, k, file=""):
    """Enter one table."""
    return Case(
        name,
        f"{title}, {k} centres",
        problem(read),
        {"k": k},
        {"k": 8, "n": 300, "d": 5},
        beside,
        AS_GOOD,
        CONTESTANTS,
        file=FILES.get(file, ""),
    )


CASES = (
    case("digits", "1797 x 64 pixels of digits", small_digits, 20),
    case("faces", "2429 x 361 pixels of faces", faces, 49, "faces"),
    case("images", "60 000 x 784 pixels of digits, float32", images, 49, "images"),
)
