"""MDS: stress of digits, from either start of scikit-learn's, ranks, holes, new and many rows.

Judged by raw stress, or by Kruskal's for ranks, recomputed in float64 from the places alone, as a
share of what scikit-learn reaches with the start of the case. scikit-learn has no weights, no new
points and no landmarks: those cases are compared with what a user would do instead.
"""

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_digits

from benchmarks.harness import Case, Contestant
from benchmarks.worker import peak_gigabytes

NEIGHBOURS = 10
SAMPLE = 2000  # rows whose distances are judged where all are too many

# ------------------------------------------------------------------------------------------- data


def digits(rng, n=None):
    """Load the small digits, in an order of their own."""
    X, y = load_digits(return_X_y=True)
    rows = rng.permutation(len(X))[:n]
    return {"X": X[rows].astype(np.float64), "y": y[rows]}


def cloud(rng, n, d):
    """Draw rows whose columns differ in size."""
    return {"X": rng.standard_normal((n, d)) * np.linspace(3, 0.5, d)}


def map_with_holes(rng, n, share):
    """Draw points of a plane, and their distances without a share of the pairs."""
    P = rng.uniform(size=(n, 2))
    D = squareform(pdist(P))
    holes = np.triu(rng.random((n, n)) < share, 1)
    D[holes | holes.T] = np.nan
    return {"D": D, "truth": P}


# ------------------------------------------------------------------------------------ contestants


def scaling(name, package, module, **choice):
    """Enter a class of this name and settings, with its own defaults beside."""

    def fit(data, **params):
        from importlib import import_module

        model = import_module(module).MDS(random_state=0, **params, **choice).fit(data["X"])
        return {"places": model.embedding_, "note": f"{model.n_iter_} iterations"}

    return Contestant(name, package, fit)


def fit_landmarks(data, n_landmarks):
    """Scale some rows, and place the others by their distances to these."""
    from eigenlens import MDS

    model = MDS(n_landmarks=n_landmarks, random_state=0).fit(data["X"])
    return {"places": model.embedding_, "peak": np.array(peak_gigabytes())}


def fit_pca(data, n_landmarks):
    """Take the first two components: what is left to a user for whom n^2 distances are too many."""
    from sklearn.decomposition import PCA

    places = PCA(2).fit_transform(data["X"])
    return {"places": places, "peak": np.array(peak_gigabytes())}


def fit_new(data, seen):
    """Scale the rows seen, and place the others among them."""
    from eigenlens import MDS

    seen = min(seen, len(data["X"]) * 2 // 3)
    model = MDS(random_state=0).fit(data["X"][:seen])
    return {"places": np.vstack([model.embedding_, model.transform(data["X"][seen:])])}


def fit_again(data, seen):
    """Scale all rows, as one has to without a way for new ones."""
    from sklearn.manifold import MDS

    return {"places": MDS(init="classical_mds", random_state=0).fit_transform(data["X"])}


def fit_holes(data):
    """Scale what is known."""
    from eigenlens import MDS

    model = MDS(metric="precomputed", missing="ignore", eps=1e-12, max_iter=1000, random_state=0)
    return {"places": model.fit_transform(data["D"])}


def fit_paths(data):
    """Fill holes by shortest paths, and scale as if they were distances."""
    from scipy.sparse.csgraph import shortest_path
    from sklearn.manifold import MDS

    D = shortest_path(np.nan_to_num(data["D"]), directed=False)
    model = MDS(metric="precomputed", init="classical_mds", eps=1e-12, max_iter=1000)
    return {"places": model.fit_transform(D)}


OURS = scaling("eigenlens", "eigenlens", "eigenlens")
CLASSICAL = scaling(
    "scikit-learn, classical start", "sklearn", "sklearn.manifold", init="classical_mds"
)
RANDOM = scaling("scikit-learn, random start", "sklearn", "sklearn.manifold", init="random")

# ------------------------------------------------------------------------------------------ judge


def raw_stress(X, places):
    """Sum the squared differences of distances, over the sum of squared distances of rows."""
    t, d = pdist(X), pdist(np.asarray(places, dtype=np.float64))
    return ((t - d) ** 2).sum() / (t**2).sum()


def kruskal(X, places):
    """Give Stress-1 against the best function of distances that never falls."""
    d = pdist(np.asarray(places, dtype=np.float64))[np.argsort(pdist(X))]
    return np.sqrt(((d - isotonic_regression(d).x) ** 2).sum() / (d**2).sum())


def against(peer, measure):
    """Judge by a measure of the places, over that of a peer's places."""

    def judge(data, **params):
        reference = measure(data["X"], peer.fit(data, **params)["places"])

        def score(answer):
            found = measure(data["X"], answer["places"])
            return {"stress": found, "over scikit-learn's": found / reference}

        return score

    return judge


def sampled(data, n_landmarks):
    """Judge by the stress of some rows, and by memory."""
    X = data["X"]
    some = np.random.default_rng(1).permutation(len(X))[:SAMPLE]

    def score(answer):
        stress = raw_stress(X[some], answer["places"][some])
        return {"stress": stress, "peak GB": float(answer["peak"])}

    return score


def accuracy(data, seen):
    """Judge by the labels of new rows that their neighbours among those seen get wrong."""
    y, seen = data["y"], min(seen, len(data["X"]) * 2 // 3)

    def score(answer):
        Z = answer["places"]
        nearest = np.argsort(cdist(Z[seen:], Z[:seen]), axis=1)[:, :NEIGHBOURS]
        votes = np.apply_along_axis(np.bincount, 1, y[nearest], minlength=10)
        return {"wrong": np.mean(votes.argmax(axis=1) != y[seen:])}

    return score


def recovered(data):
    """Judge by the largest error of a place after the best turn, over the spread."""

    def score(answer):
        A = data["truth"] - data["truth"].mean(axis=0)
        B = answer["places"] - answer["places"].mean(axis=0)
        U, _, V = np.linalg.svd(B.T @ A)
        return {"error": np.abs(B @ (U @ V) - A).max() / A.std()}

    return score


# ------------------------------------------------------------------------------------------ cases

CASES = (
    Case(
        "mds_digits",
        "1797 x 64 digits in the plane",
        digits,
        {},
        {"n": 60},
        against(CLASSICAL, raw_stress),
        {"over scikit-learn's": 1.0},
        (OURS, CLASSICAL),
    ),
    Case(
        "mds_random",
        "1797 x 64 digits in the plane, against random starts",
        digits,
        {},
        {"n": 60},
        against(RANDOM, raw_stress),
        {"over scikit-learn's": 1.0},
        (OURS, RANDOM),
    ),
    Case(
        "mds_ranks",
        "1797 x 64 digits in the plane, non-metric",
        digits,
        {},
        {"n": 60},
        against(CLASSICAL, kruskal),
        {"over scikit-learn's": 1.0},
        (OURS, CLASSICAL),
        {"metric_mds": False},
    ),
    Case(
        "mds_new",
        "597 new digits among 1200, neighbours in the plane",
        digits,
        {},
        {"n": 90},
        accuracy,
        {"wrong": 0.3},
        (
            Contestant("eigenlens, transform", "eigenlens", fit_new),
            Contestant("scikit-learn, all rows again", "sklearn", fit_again),
        ),
        {"seen": 1200},
    ),
    Case(
        "mds_holes",
        "distances of 300 points in the plane, 30 % of pairs not known",
        map_with_holes,
        {"n": 300, "share": 0.3},
        {"n": 40, "share": 0.3},
        recovered,
        {"error": 1e-4},
        (
            Contestant("eigenlens", "eigenlens", fit_holes),
            Contestant("scikit-learn, holes filled by paths", "sklearn", fit_paths),
        ),
    ),
    Case(
        "mds_many",
        "10 000 x 10, 500 landmarks",
        cloud,
        {"n": 10_000, "d": 10},
        {"n": 200, "d": 10},
        sampled,
        {"stress": 0.1, "peak GB": 1},
        (
            Contestant("eigenlens", "eigenlens", fit_landmarks),
            Contestant("scikit-learn, PCA instead", "sklearn", fit_pca),
        ),
        {"n_landmarks": 500},
    ),
)  # fmt: skip
