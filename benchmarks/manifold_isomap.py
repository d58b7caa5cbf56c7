"""Isomap: the Swiss roll with all ways and with landmarks, and digits, at equal quality.

Against scikit-learn's Isomap. Answers are judged by the residual variance, from ways that scipy
finds on a graph that the judge makes, and by the correlation with the true coordinates of the roll,
the length of its spiral and the height.
"""

import numpy as np
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.neighbors import kneighbors_graph

from benchmarks.harness import Case, Contestant
from benchmarks.worker import peak_gigabytes

NEIGHBOURS = 10
JUDGED = 500  # points from which the judge measures


# ------------------------------------------------------------------------------------------- data


def roll(rng, n, larger=0):
    """Draw a Swiss roll, and a larger one, with their true coordinates."""
    found = {}
    for name, size in (("", n), ("larger ", larger)):
        if size:
            X, t = make_swiss_roll(size, random_state=int(rng.integers(2**31)))
            arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
            found |= {f"{name}X": X, f"{name}truth": np.column_stack([arc, X[:, 1]])}
    return found


def digits(rng, n):
    """Give the small images of digits that scikit-learn has."""
    return {"X": load_digits().data[:n]}


# ------------------------------------------------------------------------------------ contestants


def isomap(name, package, module, data="X", **choice):
    """Enter an Isomap of one of the tables; its coordinates are the answer."""

    def fit(tables, neighbours):
        from importlib import import_module

        model = import_module(module).Isomap(n_neighbors=neighbours, **choice).fit(tables[data])
        return {"embedding": model.embedding_, "peak": np.array(peak_gigabytes())}

    return Contestant(name, package, fit)


# ------------------------------------------------------------------------------------------ judge


class Ruler:
    """Ways from some points of a table to all others, by scipy."""

    def __init__(self, X, neighbours):
        graph = kneighbors_graph(X, neighbours, mode="distance")
        rng = np.random.default_rng(0)
        self.points = np.sort(rng.permutation(len(X))[:JUDGED])
        self.D = shortest_path(graph, directed=False, indices=self.points)

    def residual_variance(self, Z):
        """Give 1 - r^2 of these ways and the distances of coordinates."""
        Z = Z.astype(np.float64)
        apart = self.D > 0
        r = np.corrcoef(self.D[apart], cdist(Z[self.points], Z)[apart])[0, 1]
        return 1 - r**2


def missed(truth, Z):
    """Give one less the correlation with the truth, of the worse coordinate, after Procrustes."""
    A, B, _ = procrustes(truth, Z.astype(np.float64))
    return 1 - min(np.corrcoef(A[:, j], B[:, j])[0, 1] for j in range(A.shape[1]))


def beside(data, neighbours):
    """Judge by the residual variance over that of scikit-learn, and by the truth if it is known.

    An answer with more rows is one of the larger table, which has ways and a truth of its own, and
    is measured beside scikit-learn's answer for the smaller one.
    """
    import sklearn.manifold

    ruler = Ruler(data["X"], neighbours)
    peer = sklearn.manifold.Isomap(n_neighbors=neighbours).fit_transform(data["X"])
    reference = ruler.residual_variance(peer)

    def score(answer):
        Z = answer["embedding"]
        name = "" if len(Z) == len(data["X"]) else "larger "
        mine = ruler if not name else Ruler(data["larger X"], neighbours)
        variance = mine.residual_variance(Z)
        found = {"residual variance": variance, "over scikit-learn's": variance / reference}
        if f"{name}truth" in data:
            found["1 - correlation with truth"] = missed(data[f"{name}truth"], Z)
        return found | {"peak GB": float(answer["peak"])}

    return score


# ------------------------------------------------------------------------------------------ cases

OURS, PEER = (
    ("eigenlens", "eigenlens", "eigenlens"),
    ("scikit-learn", "sklearn", "sklearn.manifold"),
)
BOTH = isomap(*OURS), isomap(*PEER)
AS_GOOD = {"over scikit-learn's": 1.01}
TRUE = {"1 - correlation with truth": 0.01}

CASES = (
    Case(
        "isomap_roll",
        "Swiss roll, 5000 points, all ways",
        roll,
        {"n": 5000},
        {"n": 800},
        beside,
        AS_GOOD | TRUE,
        BOTH,
        {"neighbours": NEIGHBOURS},
    ),
    Case(
        "isomap_landmarks",
        "Swiss roll, 20 000 points with 500 landmarks, beside scikit-learn with 5000 points",
        roll,
        {"n": 5000, "larger": 20_000},
        {"n": 800, "larger": 1000},
        beside,
        AS_GOOD | TRUE | {"peak GB": 2},
        (
            isomap("eigenlens, 20 000 points", *OURS[1:], data="larger X",
                   n_landmarks=500, random_state=0),
            isomap("scikit-learn, 5000 points", *PEER[1:]),
        ),
        {"neighbours": NEIGHBOURS},
    ),
    Case(
        "isomap_digits",
        "1797 x 64 digits, all ways",
        digits,
        {"n": 1797},
        {"n": 600},
        beside,
        AS_GOOD,
        BOTH,
        {"neighbours": NEIGHBOURS},
    ),
)  # fmt: skip
