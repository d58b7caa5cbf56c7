"""Quality against time: iterative methods that are stopped after some iterations, for the figure.

Each contestant runs once for each number of iterations, from the start that all have, and is judged
by the objective that its answer reaches, in float64. The names say how many; where a method met its
own tolerance before, brackets say after how many that was. No quality is asked for: the figure
shows all of them, as excess over the least objective of all.
"""

import os
from importlib import import_module

import numpy as np

from benchmarks import manifold_mds, manifold_tsne, nonnegative, robust, sparse
from benchmarks.harness import Case, Contestant

METHOD = ""
REPEATS = 2  # of each number of iterations, which are many


def stopped(name, package, fit, steps):
    """Enter a fit with each number of iterations."""
    called = {f"{name}, {m} iterations": m for m in steps}
    return tuple(
        Contestant(label, package, lambda data, m=m: fit(data, m)) for label, m in called.items()
    )


# ------------------------------------------------------------------------------------ contestants


def nmf(module):
    """Give a factorisation by a class that follows scikit-learn's."""

    def fit(data, m):
        model = import_module(module).NMF(init="custom", solver="cd", tol=0, max_iter=m)
        return nonnegative.answer(model, data)

    return fit


def fit_tensorly_nmf(data, m):
    return nonnegative.fit_tensorly(data, "frobenius", m)


def fit_robust(data, m):
    model = import_module("eigenlens").RobustPCA(center=False, max_iter=m, random_state=0)
    model.fit(data["X"])
    return robust.answer(model.low_rank_, model.sparse_, model.n_iter_)


def textbook(threshold):
    return lambda data, m: robust.textbook(threshold, max_iter=m, whole=False)(data)


def components(module, **choice):
    """Give sparse components by a class that follows scikit-learn's."""

    def fit(X, m):
        settings = {"n_components": 10, "alpha": 1, "max_iter": m, "random_state": 0}
        model = import_module(module).SparsePCA(**settings, **choice).fit(X)
        return {"components": model.components_, "note": f"{model.n_iter_} iterations"}

    return fit


def atoms(package, **choice):
    """Give a dictionary by a class that follows scikit-learn's."""
    fit = sparse.fitting(package, "DictionaryLearning", **choice)
    return lambda X, m: fit(X, n_components=50, alpha=0.5, max_iter=m)


def mds(module, **choice):
    """Give places by a class that follows scikit-learn's."""

    def fit(data, m):
        settings = {"n_init": 1, "max_iter": m, "eps": 1e-12, "random_state": 0}
        model = import_module(module).MDS(**settings, **choice).fit(data["X"])
        return {"places": model.embedding_, "note": f"{model.n_iter_} iterations"}

    return fit


def tsne(module):
    """Give places by a class that follows scikit-learn's."""
    return lambda X, m: {
        "places": import_module(module).TSNE(max_iter=m, random_state=0).fit_transform(X)
    }


def fit_opentsne(X, m):
    from openTSNE import TSNE

    threads = int(os.environ.get("BENCHMARK_NUM_THREADS", "1"))
    model = TSNE(n_iter=m - 250, n_jobs=threads, random_state=0, negative_gradient_method="bh")
    return {"places": np.asarray(model.fit(X))}


# ------------------------------------------------------------------------------------------ judges


def by_loss(data):
    return lambda answer: {"objective": nonnegative.divergence(data["X"], answer, "frobenius")}


def by_pursuit(data):
    return lambda answer: {"objective": robust.objective(data["X"], answer["low_rank"])}


def by_components(X):
    A = np.linalg.qr(X - X.mean(axis=0), mode="r")
    return lambda answer: {"objective": sparse.group_lasso(A, answer["components"], 1)}


def by_atoms(X):
    return lambda answer: {"objective": sparse.lasso(X, answer["components"], 0.5)}


def by_stress(data):
    return lambda answer: {"objective": manifold_mds.raw_stress(data["X"], answer["places"])}


def by_divergence(X):
    P = manifold_tsne.affinities(X)
    return lambda answer: {"objective": manifold_tsne.divergence(P, answer["places"])}


# ------------------------------------------------------------------------------------------ cases


def case(method, title, make, size, smoke, judge, *contestants):
    """Enter one method."""
    everyone = tuple(one for each in contestants for one in each)
    return Case(method, title, make, size, smoke, judge, {}, everyone, method=method,
                repeats=REPEATS, cold=0)  # fmt: skip


FEW, MORE, MANY = (2, 5, 10, 20, 50), (5, 10, 20, 50, 100, 200, 500), (20, 50, 100, 200)
DESCENTS = (250, 350, 500, 750, 1000)

CASES = (
    case(
        "NMF",
        "1797 x 64 pixels of digits, 20 parts, Frobenius",
        nonnegative.problem(nonnegative.small_digits),
        {"k": 20, "iterations": 10},
        {"k": 3, "iterations": 10, "n": 60, "d": 40},
        by_loss,
        stopped("eigenlens", "eigenlens", nmf("eigenlens"), (*FEW, 100, 200)),
        stopped("scikit-learn", "sklearn", nmf("sklearn.decomposition"), MORE),
        stopped("TensorLy, HALS", "tensorly", fit_tensorly_nmf, MANY),
    ),
    case(
        "RobustPCA",
        "500 x 500, rank 25, 5% in error",
        robust.planted,
        {"n": 500, "rank": 25},
        {"n": 60, "rank": 3},
        by_pursuit,
        stopped("eigenlens", "eigenlens", fit_robust, (2, 4, 7, 10, 20)),
        stopped("textbook", "scipy", textbook(robust.by_svd), (5, 8, 11, 14, 20)),
        stopped("textbook, Gram matrix", "scipy", textbook(robust.by_gram), (5, 8, 11, 14, 20)),
        stopped("TensorLy, tuned", "tensorly", robust.fit_tensorly_scheduled, (10, 20, 30, 60)),
    ),
    case(
        "SparsePCA",
        "1797 x 64 pixels of digits, 10 components, alpha 1",
        sparse.reader(sparse.small_digits),
        {},
        {"n": 100, "d": 30},
        by_components,
        stopped("eigenlens", "eigenlens", components("eigenlens"), (*FEW, 200)),
        *(
            stopped(f"scikit-learn {it}", "sklearn", components("sklearn.decomposition", method=it),
                    (*FEW, 200))
            for it in ("lars", "cd")
        ),
    ),
    case(
        "DictionaryLearning",
        "1797 x 64 pixels of digits, 50 atoms, alpha 0.5",
        sparse.reader(sparse.small_digits),
        {},
        {"n": 100, "d": 30},
        by_atoms,
        stopped("eigenlens", "eigenlens", atoms("eigenlens"), (*FEW, 100)),
        stopped("scikit-learn lars", "sklearn", atoms("sklearn.decomposition"), (2, 5, 10)),
        stopped("scikit-learn cd", "sklearn",
                atoms("sklearn.decomposition", fit_algorithm="cd"), (2, 5, 10, 20, 50)),
    ),
    case(
        "MDS",
        "1797 x 64 pixels of digits, two dimensions, classical start",
        manifold_mds.digits,
        {},
        {"n": 60},
        by_stress,
        stopped("eigenlens", "eigenlens", mds("eigenlens"), (*FEW, 100)),
        stopped("scikit-learn", "sklearn", mds("sklearn.manifold", init="classical_mds"),
                (5, 10, 20, 50, 100, 200)),
    ),
    case(
        "TSNE",
        "1797 x 64 pixels of digits",
        manifold_tsne.digits,
        {"n": 1797},
        {"n": 120},
        by_divergence,
        stopped("eigenlens", "eigenlens", tsne("eigenlens"), DESCENTS),
        stopped("openTSNE", "openTSNE", fit_opentsne, DESCENTS),
        stopped("scikit-learn", "sklearn", tsne("sklearn.manifold"), DESCENTS[1::2]),
        stopped("intelex", "sklearnex", tsne("sklearnex.manifold"), DESCENTS),
    ),
)  # fmt: skip
