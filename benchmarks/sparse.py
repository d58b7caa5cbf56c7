"""SparsePCA and dictionaries against scikit-learn's two methods for each, and against abess.

The same l1 problem from the same start. scikit-learn's default is ``'lars'``. abess has the l0
problem, one direction of so many variables. Most cases run on tables that are not part of the
project; one whose table is not there says so.
"""

import os
import warnings
from importlib import import_module

import numpy as np

from benchmarks.harness import DATA, Case, Contestant

METHOD = "SparsePCA"
FILES = {"news": "20news_w100.npz", "faces": "olivetti.npz", "digits": "mnist.npz"}
POWER_STEPS = 100  # of the judge of the l0 problem


# ------------------------------------------------------------------------------------------- data


def factors(rng, n, d):
    """Draw rows with three factors on variables of their own."""
    loadings = np.repeat(np.eye(3), -(-d // 3), axis=1)[:, :d]
    return 3 * rng.standard_normal((n, 3)) @ loadings + rng.standard_normal((n, d))


def spiked(rng, n, d, s, strength=3):
    """Draw rows with one factor on s variables."""
    v = np.zeros(d)
    v[rng.choice(d, s, replace=False)] = rng.choice([-1, 1], s) / np.sqrt(s)
    return strength * rng.standard_normal((n, 1)) * v + rng.standard_normal((n, d))


def news():
    """Read the presence of 100 words in postings."""
    return np.load(DATA / FILES["news"])["X"].astype(np.float64)


def faces():
    """Read images of faces, each pixel and each image centred."""
    X = np.load(DATA / FILES["faces"])["X"] / 255.0
    X -= X.mean(axis=0)
    return X - X.mean(axis=1, keepdims=True)


def digits(n=5000):
    """Read the first images of digits."""
    return np.load(DATA / FILES["digits"])["X_train"][:n] / 255.0


def small_digits():
    """Give the digits that scikit-learn carries, centred."""
    from sklearn.datasets import load_digits

    X = load_digits().data / 16
    return X - X.mean(axis=0)


def reader(read):
    """Give the maker of a case: the real table, or one of the asked size for a tiny run."""
    return lambda rng, **size: factors(rng, **size) if size else read()


# ------------------------------------------------------------------------------------ contestants


def fitting(package, name, **choice):
    """Give a fit by the class of that name."""

    def fit(X, **params):
        if "Dictionary" in name:
            params["dict_init"] = first_atoms(X, params["n_components"])
        if name == "DictionaryLearning":
            params["code_init"] = np.zeros((len(X), params["n_components"]))
        model = getattr(import_module(package), name)(random_state=0, **choice, **params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of iterations, whose number is the same for all
            return {"components": model.fit(X).components_}

    return fit


def first_atoms(X, k):
    """Draw rows, of length 1, that all dictionaries start from."""
    rows = X[np.random.default_rng(0).choice(len(X), k, replace=k > len(X))]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def contestants(name, choice):
    """Enter ours and scikit-learn's two, which go by the parameter `choice`."""
    peers = [
        Contestant(
            f"scikit-learn {it}", "sklearn", fitting("sklearn.decomposition", name, **{choice: it})
        )
        for it in ("lars", "cd")
    ]
    return (Contestant("eigenlens", "eigenlens", fitting("eigenlens", name)), *peers)


def fit_l0(X, s):
    """Fit ours to the first direction of s variables."""
    from eigenlens import SparsePCA

    return {"direction": SparsePCA(1, formulation="l0", n_nonzero=s).fit(X).components_[0]}


def fit_abess(X, s):
    """Fit abess; a support size that is more than a number makes it end without a word."""
    from abess.decomposition import SparsePCA

    threads = int(os.environ.get("BENCHMARK_NUM_THREADS", "1"))
    return {"direction": np.ravel(SparsePCA(support_size=s, thread=threads).fit(X).coef_)}


# ------------------------------------------------------------------------------------------ judge


def best_subset(X, s):
    """Judge a direction of s variables by the variance that it misses of the best that is known.

    That is of the supports where truncated power steps end that start at each of the variables.
    """
    C = np.cov(X.T)
    V = np.eye(len(C))
    for _ in range(POWER_STEPS):
        V = C @ V
        V[np.abs(V) < np.sort(np.abs(V), axis=0)[-s]] = 0
        V /= np.linalg.norm(V, axis=0)
    supports = {tuple(np.flatnonzero(v)) for v in V.T}
    best = max(np.linalg.eigvalsh(C[np.ix_(where, where)])[-1] for where in supports)

    def score(answer):
        v = answer["direction"].astype(np.float64)
        missed = 1 - (v @ C @ v) / (v @ v) / best
        return {"variance missed": missed, "too many": max(0, np.count_nonzero(v) - s)}

    return score


def objective(X, n_components, alpha, max_iter):
    """Judge directions by the least objective that they allow, relative to a plain descent's.

    For given directions v_k of length 1 the problem is convex in what they are multiplied with,
    ``1/2 |X - Z V|^2 + alpha sum_k |v_k|_1 |z_k|``, and solved here block by block.
    """
    A = np.linalg.qr(X - X.mean(axis=0), mode="r")
    reference = descent(A, n_components, alpha, max_iter)

    def score(answer):
        V = answer["components"].astype(np.float64)
        return {"excess objective": group_lasso(A, V, alpha) / reference - 1}

    return score


def descent(A, k, alpha, max_iter, tol=1e-8, sweeps=50):
    """Give the objective that block descent from the singular vectors reaches."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    Y, D, values = U[:, :k] * s[:k], Vt[:k].T.copy(), [np.inf]
    for _ in range(max_iter):
        G, C = Y.T @ Y, A.T @ Y
        for _ in range(sweeps):
            for a in range(k):
                z = C[:, a] - D @ G[:, a] + G[a, a] * D[:, a]
                D[:, a] = np.sign(z) * np.maximum(np.abs(z) - alpha, 0) / G[a, a]
        H, B = D.T @ D, A @ D
        for a in np.flatnonzero(np.diag(H)):
            y = Y[:, a] + (B[:, a] - Y @ H[:, a]) / H[a, a]
            Y[:, a] = y / max(1, np.linalg.norm(y))
        values.append(0.5 * np.sum((A - Y @ D.T) ** 2) + alpha * np.abs(D).sum())
        if values[-2] - values[-1] < tol * values[-1]:
            break
    return values[-1]


def group_lasso(A, V, alpha, sweeps=1000, tol=1e-12):
    """Give the least objective with the directions V."""
    penalty, G, C = alpha * np.abs(V).sum(axis=1), V @ V.T, A @ V.T
    Z = np.zeros_like(C)
    for _ in range(sweeps):
        before = Z.copy()
        for a in np.flatnonzero(np.diag(G)):
            z = C[:, a] - Z @ G[:, a] + G[a, a] * Z[:, a]
            Z[:, a] = z * max(0, 1 - penalty[a] / max(np.linalg.norm(z), 1e-300)) / G[a, a]
        if np.abs(Z - before).max() <= tol * np.abs(Z).max():
            break
    return 0.5 * np.sum((A - Z @ V) ** 2) + penalty @ np.linalg.norm(Z, axis=0)


def coding(X, n_components, alpha, **_):
    """Judge atoms by the least objective that they allow, relative to that of the first ones."""
    start = lasso(X, first_atoms(X, n_components), alpha)

    def score(answer):
        atoms = answer["components"].astype(np.float64)
        if np.linalg.norm(atoms, axis=1).max() > 1 + 1e-6:
            return {"objective": np.inf}
        return {"objective": lasso(X, atoms, alpha) / start}

    return score


def lasso(X, atoms, alpha, sweeps=2000, tol=1e-9):
    """Give the least of ``1/2 |X - C atoms|^2 + alpha |C|_1`` over C."""
    G, C = atoms @ atoms.T, np.zeros((len(X), len(atoms)))
    R = X @ atoms.T
    for _ in range(sweeps):
        longest = 0.0
        for a in np.flatnonzero(np.diag(G) > 0):
            z = R[:, a] + G[a, a] * C[:, a]
            step = np.sign(z) * np.maximum(np.abs(z) - alpha, 0) / G[a, a] - C[:, a]
            C[:, a] += step
            R -= np.outer(step, G[a])
            longest = max(longest, np.abs(step).max())
        if longest <= tol:
            break
    return 0.5 * np.sum((X - C @ atoms) ** 2) + alpha * np.abs(C).sum()


# ------------------------------------------------------------------------------------------ cases


def components(name, title, read, smoke, k, alpha, max_iter=1000):
    """Enter one table for SparsePCA."""
    params = {"n_components": k, "alpha": alpha, "max_iter": max_iter}
    limits = {"excess objective": 1e-6}
    everyone = contestants("SparsePCA", "method")
    file = FILES[name]
    return Case(
        name, title, reader(read), {}, smoke, objective, limits, everyone, params, file=file
    )


def atoms(name, alpha, reached, method="DictionaryLearning", **params):
    """Enter the small digits for a dictionary; `reached` is scikit-learn's objective."""
    params = {"n_components": 100, "alpha": alpha, "max_iter": 60} | params
    title = f"{method}, 1797 x 64 pixels, 100 atoms, alpha {alpha}, {params['max_iter']} iterations"
    everyone = contestants(method, "fit_algorithm")
    smoke, limits = {"n": 100, "d": 30}, {"objective": reached}
    make = reader(small_digits)
    return Case(name, title, make, {}, smoke, coding, limits, everyone, params, method=method)


def subset(name, title, make, size, smoke, s, file=""):
    """Enter one table for the l0 problem."""
    return Case(
        name,
        f"SparsePCA, {title}, one direction of {s} variables",
        make,
        size,
        smoke,
        best_subset,
        {"variance missed": 1e-8, "too many": 0},
        (Contestant("eigenlens", "eigenlens", fit_l0), Contestant("abess", "abess", fit_abess)),
        {"s": s},
        file=FILES.get(file, ""),
    )


CASES = (
    components(
        "news",
        "SparsePCA, 16 242 x 100 words, 20 components, alpha 2",
        news,
        {"n": 300, "d": 30},
        20,
        2,
    ),
    components(
        "faces",
        "SparsePCA, 400 x 4096 pixels, 6 components, alpha 0.8",
        faces,
        {"n": 20, "d": 90},
        6,
        0.8,
    ),
    components(
        "digits",
        "SparsePCA, 5000 x 784 pixels, 20 components, alpha 1, 200 iterations",
        digits,
        {"n": 100, "d": 30},
        20,
        1,
        200,
    ),
    subset("l0 news", "16 242 x 100 words", reader(news), {}, {"n": 100, "d": 30}, 10, "news"),
    *(
        subset(
            f"l0 {d}",
            f"{n} x {d}, one planted factor",
            spiked,
            {"n": n, "d": d, "s": 15},
            {"n": 200, "d": 30, "s": 15},
            15,
        )
        for n, d in ((500, 300), (1000, 1000))
    ),
    atoms("many atoms", 0.2, 0.810570),
    atoms("few atoms", 1, 0.928739),
    atoms(
        "batches",
        0.2,
        0.84463,
        "MiniBatchDictionaryLearning",
        max_iter=3,
        tol=0,
        max_no_improvement=None,
    ),
)
