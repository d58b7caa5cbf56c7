"""t-SNE: engines and peers, from the same data with the same number of iterations.

Against openTSNE, scikit-learn and scikit-learn-intelex. Whoever ends at a larger divergence than
openTSNE, or loses more neighbours, is not counted, however fast. Divergences are those of exact
affinities over all pairs of places, in float64, by code that no contestant uses. The images of
digits are not part of the project; where they are not there, their case says so.
"""

import os

import joblib
import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness
from sklearn.neighbors import NearestNeighbors

from benchmarks.harness import DATA, Case, Contestant

IMAGES = "mnist.npz"
PERPLEXITY = 30
ITERATIONS = 1000
SAMPLE = 2000  # rows whose neighbours are looked at
ROWS = 500  # of places that are compared with all at a time
WORSE = 1.01  # divergence over that of openTSNE
LOST = 0.003  # trustworthiness less than that of openTSNE's places


# ------------------------------------------------------------------------------------------- data


def digits(rng, n):
    """Read the small images that scikit-learn brings."""
    return load_digits().data[:n]


def images(rng, n):
    """Read the images of digits, in single precision; for a tiny run, the small ones."""
    if n < 1000:
        return digits(rng, n)
    return np.load(DATA / IMAGES)["X_train"][:n].astype(np.float32) / np.float32(255)


# ------------------------------------------------------------------------------------ contestants


def ours(name, package="eigenlens", **choice):
    """Enter an engine of ours."""

    def fit(X):
        from eigenlens import TSNE

        model = TSNE(max_iter=ITERATIONS, random_state=0, **choice).fit(X)
        return {"places": model.embedding_, "note": model.engine_}

    return Contestant(name, package, fit)


def run_opentsne(X, method, threads):
    """Fit openTSNE as it comes, with the same number of iterations."""
    from openTSNE import TSNE

    model = TSNE(
        n_iter=ITERATIONS - 250, negative_gradient_method=method, n_jobs=threads, random_state=0
    )
    return np.asarray(model.fit(X))


def opentsne(name, method):
    """Enter openTSNE, with as many threads as the harness allows."""

    def fit(X):
        threads = int(os.environ.get("BENCHMARK_NUM_THREADS", "1"))
        return {"places": run_opentsne(X, method, threads)}

    return Contestant(name, "openTSNE", fit)


def fit_sklearn(X):
    """Fit scikit-learn's."""
    from sklearn.manifold import TSNE

    return {"places": TSNE(max_iter=ITERATIONS, random_state=0).fit_transform(X)}


def fit_intelex(X):
    """Fit scikit-learn-intelex's."""
    from sklearnex.manifold import TSNE

    return {"places": TSNE(max_iter=ITERATIONS, random_state=0).fit_transform(X)}


# ------------------------------------------------------------------------------------------ judge


def affinities(X):
    """Give affinities to the nearest 91 rows, by bisection, all rows at once."""
    X = X.astype(np.float64)
    n, k = len(X), min(len(X) - 1, 3 * PERPLEXITY + 1)
    distances, nearest = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X).kneighbors()
    squares = distances**2
    squares -= squares.min(axis=1, keepdims=True)
    low, high = np.zeros((n, 1)), np.full((n, 1), 1e6)
    for _ in range(100):
        b = (low + high) / 2
        p = np.exp(-b * squares)
        p /= p.sum(axis=1, keepdims=True)
        entropy = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=1, keepdims=True)
        wide = entropy > np.log(PERPLEXITY)
        low, high = np.where(wide, b, low), np.where(wide, high, b)
    P = sparse.csr_array((p.ravel(), nearest.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return sparse.coo_array(P + P.T) / (2 * n)


def divergence(P, Y):
    """Give the Kullback-Leibler divergence of places, with all pairs in the normaliser."""
    Y = Y.astype(np.float64)
    total = -len(Y)  # of each with itself
    for first in range(0, len(Y), ROWS):
        total += (1 / (1 + cdist(Y[first : first + ROWS], Y, "sqeuclidean"))).sum()
    P = sparse.coo_array(P)
    i, j = P.coords
    q = 1 / (1 + ((Y[i] - Y[j]) ** 2).sum(axis=1)) / total
    there = P.data > 0
    return float((P.data[there] * np.log(P.data[there] / q[there])).sum())


def judged(X):
    """Judge by divergence and by neighbours lost, both beside those of openTSNE with its tree."""
    P = affinities(X)
    some = np.sort(np.random.default_rng(0).permutation(len(X))[:SAMPLE])

    def lost(Y):
        return 1 - trustworthiness(X[some], Y[some], n_neighbors=5)

    reference = run_opentsne(X, "bh", joblib.cpu_count())
    best, missed = divergence(P, reference), lost(reference)

    def score(answer):
        Y = answer["places"]
        value, untrue = divergence(P, Y), lost(Y)
        return {
            "divergence": value,
            "over openTSNE's": value / best,
            "untrustworthy": untrue,
            "more than openTSNE's": untrue - missed,
        }

    return score


ALL = (
    ours("ours"),
    ours("ours, all pairs", engine="exact"),
    ours("ours, tree", engine="tree"),
    ours("ours, openTSNE's tree", "openTSNE", engine="opentsne-bh"),
    ours("ours, openTSNE's grid", "openTSNE", engine="opentsne-fft"),
    ours("ours, intelex's descent", "daal4py", engine="intelex"),
    opentsne("openTSNE, tree", "bh"),
    opentsne("openTSNE, grid", "fft"),
    Contestant("scikit-learn", "sklearn", fit_sklearn),
    Contestant("scikit-learn-intelex", "sklearnex", fit_intelex),
)
LIMITS = {"over openTSNE's": WORSE, "more than openTSNE's": LOST}

CASES = [
    Case(
        name="tsne-digits",
        title="t-SNE of digits, 1797 x 64, 1000 iterations",
        make=digits,
        size={"n": 1797},
        smoke={"n": 120},
        judge=judged,
        limits=LIMITS,
        contestants=ALL,
    ),
    Case(
        name="tsne-mnist",
        title="t-SNE of 20 000 images of digits, 784 pixels, float32, 1000 iterations",
        make=images,
        size={"n": 20_000},
        smoke={"n": 120},
        judge=judged,
        limits=LIMITS,
        contestants=tuple(c for c in ALL if "all pairs" not in c.name),
        file=IMAGES,
    ),
]
