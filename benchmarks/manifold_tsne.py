"""t-SNE: engines and peers, from the same data with the same number of iterations.

Against openTSNE, scikit-learn and scikit-learn-intelex. Whoever ends at a larger divergence than
openTSNE, or loses more neighbours, is not counted, however fast. intelex ends at one that is more
than a tenth larger: in cases of their own, ours stops where it is at that. Divergences are those of
exact affinities over all pairs of places, in float64, by code that no contestant uses. UMAP has no
such divergence: beside it, all are judged by the neighbours that they keep. The images of digits
are not part of the project; where they are not there, their case says so.
"""

import os
import warnings

import joblib
import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from benchmarks.harness import DATA, Case, Contestant

IMAGES = "mnist.npz"
PERPLEXITY = 30
ITERATIONS = 1000
SAMPLE = 2000  # rows whose neighbours are looked at
NEIGHBOURS = 5
FEW = 5000  # rows for which a run takes seconds
ROWS = 500  # of places that are compared with all at a time
LOST = 5e-4  # trustworthiness, by which three runs of openTSNE differ from their median
SPREAD = 1.15  # of neighbours lost, by which runs of UMAP differ


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
    choice = {"max_iter": ITERATIONS, "random_state": 0} | choice

    def fit(X):
        from eigenlens import TSNE

        model = TSNE(**choice).fit(X)
        return {"places": model.embedding_, "note": f"{model.engine_}, {model.n_iter_} iterations"}

    return Contestant(name, package, fit)


def run_opentsne(X, method, threads, seed=0):
    """Fit openTSNE as it comes, with the same number of iterations."""
    from openTSNE import TSNE

    settings = {"negative_gradient_method": method, "n_jobs": threads, "random_state": seed}
    return np.asarray(TSNE(n_iter=ITERATIONS - 250, **settings).fit(X))


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


def run_umap(X, seed=None):
    """Fit UMAP as it comes; with a seed it uses one thread alone."""
    from umap import UMAP

    return UMAP(random_state=seed).fit_transform(X)


def fit_umap(X):
    """Fit UMAP, which needs seconds for its import and longer to compile."""
    return {"places": run_umap(X)}


def fit_umap_seeded(X):
    """Fit UMAP on one thread, which can take less time than several."""
    return {"places": run_umap(X, 0)}


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


def truth_of_neighbours(X):
    """Give a function that says how many neighbours of some rows in places are true ones.

    Trustworthiness, of rows drawn from the table and of their neighbours among all rows.
    """
    n = len(X)
    rows = np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])
    own = np.arange(len(rows)), rows
    apart = cdist(X[rows], X)
    apart[own] = -1
    ranks = np.argsort(np.argsort(apart, axis=1), axis=1)

    def trust(Y):
        k = NEIGHBOURS
        apart = cdist(Y[rows], Y)
        apart[own] = np.inf
        nearest = np.argpartition(apart, k, axis=1)[:, :k]
        excess = np.maximum(np.take_along_axis(ranks, nearest, axis=1) - k, 0).sum()
        return 1 - 2 * excess / (len(rows) * k * (2 * n - 3 * k - 1))

    return trust


def beside(name, references):
    """Judge by divergence and by neighbours lost, both beside the median of a peer's runs."""

    def judge(X):
        P, trust = affinities(X), truth_of_neighbours(X)
        runs = references(X)
        best = np.median([divergence(P, Y) for Y in runs])
        kept = np.median([trust(Y) for Y in runs])

        def score(answer):
            value, found = divergence(P, answer["places"]), trust(answer["places"])
            return {
                "divergence": value,
                f"over {name}'s": value / best,
                "1 - trustworthiness": 1 - found,
                f"more than {name}'s": kept - found,
            }

        return score

    return judge


def beside_umap(X):
    """Judge by neighbours lost, over the median of UMAP's own runs."""
    trust = truth_of_neighbours(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, of which a seed leaves one
        runs = [run_umap(X, seed) for seed in range(3 if len(X) < FEW else 1)]
    lost = np.median([1 - trust(Y) for Y in runs])

    def score(answer):
        found = 1 - trust(answer["places"])
        return {"lost over UMAP's": found / lost, "1 - trustworthiness": found}

    return score


def runs_of_opentsne(X):
    """Run openTSNE from three seeds where that is quick, else from one."""
    seeds = range(3) if len(X) < FEW else [0]
    threads = joblib.cpu_count() if len(X) > 1000 else 1  # more wait for each other
    return [run_opentsne(X, "bh", threads, seed) for seed in seeds]


def runs_of_intelex(X):
    return [fit_intelex(X)["places"]]


BESIDE_OPENTSNE = beside("openTSNE", runs_of_opentsne)
BESIDE_INTELEX = beside("intelex", runs_of_intelex)
LIMITS = {"over openTSNE's": 1.0, "more than openTSNE's": LOST}
EQUAL = {"over intelex's": 1.0}

OPENTSNE = opentsne("openTSNE, tree", "bh")
SKLEARN = Contestant("scikit-learn", "sklearn", fit_sklearn)
INTELEX = Contestant("scikit-learn-intelex", "sklearnex", fit_intelex)
UMAP = (
    Contestant("UMAP", "umap", fit_umap),
    Contestant("UMAP, with a seed", "umap", fit_umap_seeded),
)

CASES = (
    Case(
        name="tsne_digits",
        title="t-SNE of digits, 1797 x 64, 1000 iterations",
        make=digits,
        size={"n": 1797},
        smoke={"n": 120},
        judge=BESIDE_OPENTSNE,
        beside="openTSNE",
        limits=LIMITS,
        contestants=(
            ours("eigenlens"),
            ours("eigenlens, tree", engine="tree"),
            ours("eigenlens, openTSNE's tree", "openTSNE", engine="opentsne-bh"),
            ours("eigenlens, intelex's descent", "daal4py", engine="intelex"),
            OPENTSNE,
            SKLEARN,
            INTELEX,
        ),
    ),
    Case(
        name="tsne_equal_digits",
        title="t-SNE of digits, 1797 x 64, to the divergence of intelex",
        make=digits,
        size={"n": 1797},
        smoke={"n": 120},
        judge=BESIDE_INTELEX,
        beside="sklearnex",
        limits=EQUAL,
        contestants=(ours("eigenlens", max_iter=350), INTELEX),
    ),
    Case(
        name="tsne_mnist",
        title="t-SNE of 20 000 images of digits, 784 pixels, float32, 1000 iterations",
        make=images,
        size={"n": 20_000},
        smoke={"n": 120},
        judge=BESIDE_OPENTSNE,
        beside="openTSNE",
        limits=LIMITS,
        contestants=(ours("eigenlens"), OPENTSNE, INTELEX),
        file=IMAGES,
    ),
    Case(
        name="tsne_equal_mnist",
        title="t-SNE of 20 000 images of digits, 784 pixels, float32, to the divergence of intelex",
        make=images,
        size={"n": 20_000},
        smoke={"n": 120},
        judge=BESIDE_INTELEX,
        beside="sklearnex",
        limits=EQUAL,
        contestants=(ours("eigenlens", max_iter=450), INTELEX),
        file=IMAGES,
    ),
    Case(
        name="neighbours_digits",
        title="neighbours of digits in a plane, 1797 x 64",
        make=digits,
        size={"n": 1797},
        smoke={"n": 120},
        judge=beside_umap,
        limits={"lost over UMAP's": SPREAD},
        beside="umap",
        contestants=(ours("eigenlens"), OPENTSNE, SKLEARN, INTELEX, *UMAP),
    ),
    Case(
        name="neighbours_mnist",
        title="neighbours of 20 000 images of digits in a plane, 784 pixels, float32",
        make=images,
        size={"n": 20_000},
        smoke={"n": 120},
        judge=beside_umap,
        limits={"lost over UMAP's": SPREAD},
        beside="umap",
        contestants=(ours("eigenlens"), OPENTSNE, INTELEX, *UMAP),
        file=IMAGES,
    ),
)
