"""PCA: speed at equal captured variance, and accuracy.

Against scikit-learn, scikit-learn-intelex (oneDAL), fbpca and, in float32, faiss. oneDAL has the
solvers "full" and "covariance_eigh", for dense data; for all else intelex runs scikit-learn's code.
What really ran stands in brackets beside the name.
"""

import os
from importlib import import_module

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import Case, Contestant
from benchmarks.judges import captured_variance, variances

METHOD = "PCA"
LABELS = {"eigenlens": "eigenlens", "sklearn": "scikit-learn", "sklearnex": "intelex"}
LIMITS = {"float64": {"shortfall": 1e-8}, "float32": {"shortfall": 1e-6}}


def normal(rng, n, d, deviations, offset=0.0, dtype="float64"):
    """Draw normal columns: deviations evenly spaced between two ends, means up to `offset`."""
    X = rng.standard_normal((n, d)) * np.linspace(*deviations, d) + rng.uniform(-offset, offset, d)
    return X.astype(dtype)


def decaying(rng, n, d, rate, dtype="float64"):
    """Draw normal columns whose deviations fall by a rate, to a thousandth, and turn them."""
    deviations = np.maximum(rate ** np.arange(d), 1e-3)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return ((rng.standard_normal((n, d)) * deviations) @ turn).astype(dtype)


def uniform_sparse(rng, n, d, density, dtype="float64"):
    """Draw uniform entries at random places."""
    return sp.random(n, d, density=density, format="csr", rng=rng, dtype=dtype)


def uncentred(rng, n, d):
    """Draw data far from the origin, without and with one column of tiny deviation."""
    Z = rng.standard_normal((n, d)) * np.linspace(1, 3, d)
    tiny = Z * np.where(np.arange(d) == 0, 1e-4, 1.0)
    return {
        "float32, mean 1e3": (Z + 1e3).astype(np.float32),
        "float64, mean 1e8": Z + 1e8,
        "float32, one deviation 1e-4": (tiny + 1e3).astype(np.float32),
        "float64, one deviation 1e-4": tiny + 1e8,
    }


def fitted(package, X, k, solver):
    """Fit the PCA of a package that follows scikit-learn's interface."""
    params = {"svd_solver": solver, "random_state": 0}
    if package == "sklearnex":
        # oneDAL has threads of its own, which the variables for BLAS do not reach
        params["n_jobs"] = int(os.environ["BENCHMARK_NUM_THREADS"])
    module = import_module(package if package == "eigenlens" else f"{package}.decomposition")
    return module.PCA(k, **params).fit(X)


def what_ran(model):
    """Name the solver that ran, and whose it was."""
    solver = getattr(model, "solver_", None) or getattr(model, "_fit_svd_solver", "")
    intelex = type(model).__module__.startswith("sklearnex")
    return (
        f"scikit-learn's {solver}"
        if intelex and not hasattr(model, "_onedal_estimator")
        else solver
    )


def pca(package, solver="auto"):
    """Enter the PCA of a package, with one of its solvers."""

    def fit(X, k):
        m = fitted(package, X, k, solver)
        return {"components": m.components_, "variance": m.explained_variance_, "note": what_ran(m)}

    return Contestant(f"{LABELS[package]} {solver}", package, fit)


def stated_variances(package, solver="auto"):
    """Enter the variances that the PCA of a package states, for each array."""

    def fit(data):
        models = {name: fitted(package, X, None, solver) for name, X in data.items()}
        note = ", ".join({what_ran(model): "" for model in models.values()})
        return {name: model.explained_variance_ for name, model in models.items()} | {"note": note}

    return Contestant(f"{LABELS[package]} {solver}", package, fit)


def fbpca(steps):
    """Enter fbpca with so many iterations; two are for information where a spectrum is flat."""

    def fit(X, k):
        _, s, components = import_module("fbpca").pca(X, k, raw=False, n_iter=steps)
        return {"components": components, "variance": s**2 / (len(X) - 1)}

    return Contestant(f"fbpca, {steps} iterations", "fbpca", fit)


def fit_faiss(X, k):
    """Run faiss, which has float32 alone, on all rows; it states sums of squares."""
    faiss = import_module("faiss")
    n, d = X.shape
    matrix = faiss.PCAMatrix(d, k)
    matrix.max_points_per_d = n
    matrix.train(np.ascontiguousarray(X, np.float32))
    components, squares = map(faiss.vector_to_array, (matrix.PCAMat, matrix.eigenvalues))
    return {"components": components.reshape(-1, d)[:k], "variance": squares[:k] / (n - 1)}


FAISS = Contestant("faiss", "faiss", fit_faiss)


def cases(name, title, make, size, smoke, k, contestants, *, floor=None, dtypes=LIMITS):
    """Make a case for each dtype; faiss has one of them."""
    for dtype in dtypes:
        yield Case(
            name if dtype == "float64" else f"{name}32",
            f"{title}, {dtype}, {k} components",
            make,
            size | {"dtype": dtype},
            smoke | {"dtype": dtype},
            captured_variance,
            LIMITS[dtype],
            tuple(one for one in contestants if one is not FAISS or dtype == "float32"),
            {"k": k},
            floor,
        )


GRAM = Contestant("floor: X.T @ X", "numpy", lambda X, **_: {"gram": X.T @ X})

CASES = (
    *cases(
        "tall",
        "200 000 x 100, deviations 3 to 1, means up to 10",
        normal,
        {"n": 200_000, "d": 100, "deviations": (3, 1), "offset": 10},
        {"n": 400, "d": 30, "deviations": (3, 1), "offset": 10},
        10,
        (
            pca("eigenlens"),
            *(pca("sklearn", s) for s in ("auto", "covariance_eigh")),
            pca("sklearnex"),
            FAISS,
        ),
        floor=GRAM,
    ),
    *cases(
        "square",
        "5000 x 2000, deviations 2 to 0.1",
        normal,
        {"n": 5000, "d": 2000, "deviations": (2, 0.1)},
        {"n": 200, "d": 80, "deviations": (2, 0.1)},
        20,
        (
            pca("eigenlens"),
            *(pca("sklearn", s) for s in ("auto", "covariance_eigh", "arpack", "full")),
            # full takes eight times as long in oneDAL
            *(pca("sklearnex", s) for s in ("auto", "covariance_eigh")),
            fbpca(2),
            FAISS,
        ),
        floor=GRAM,
    ),
    *cases(
        "decay",
        "5000 x 2000, deviations that fall by 0.8 each to a thousandth",
        decaying,
        {"n": 5000, "d": 2000, "rate": 0.8},
        {"n": 200, "d": 80, "rate": 0.8},
        20,
        (
            *(pca("eigenlens", s) for s in ("auto", "randomized")),
            *(pca("sklearn", s) for s in ("auto", "arpack")),
            pca("sklearnex", "covariance_eigh"),
            *(fbpca(steps) for steps in (2, 7)),
            FAISS,
        ),
        floor=GRAM,
    ),
    *cases(
        "sparse",
        "50 000 x 5000 sparse, uniform, density 0.005",
        uniform_sparse,
        {"n": 50_000, "d": 5000, "density": 0.005},
        {"n": 300, "d": 100, "density": 0.05},
        20,
        (pca("eigenlens"), pca("sklearn"), pca("sklearnex")),
    ),
    *cases(
        "wide",
        "1000 x 20 000, deviations 2 to 0.1",
        normal,
        {"n": 1000, "d": 20_000, "deviations": (2, 0.1)},
        {"n": 60, "d": 200, "deviations": (2, 0.1)},
        20,
        (
            pca("eigenlens"),
            *(pca("sklearn", s) for s in ("auto", "arpack", "full")),
            # a covariance would have 3.2 GB
            *(pca("sklearnex", s) for s in ("auto", "full")),
        ),
        dtypes=("float64",),
    ),
    Case(
        "accuracy",
        "relative error of explained_variance_, 100 000 x 50, deviations 1 to 3, all components",
        uncentred,
        {"n": 100_000, "d": 50},
        {"n": 1000, "d": 10},
        variances,
        {"float32, mean 1e3": 1e-6, "float64, mean 1e8": 1e-13},
        tuple(stated_variances(package, s) for package in LABELS for s in ("auto", "full")),
        timed=False,
    ),
)
