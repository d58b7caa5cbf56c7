"""SparsePCA: the same l1 problem from the same start, against scikit-learn's two methods.

scikit-learn's default is ``method='lars'``. All cases run on tables that are not part of the
project; a case whose table is not there says so.
"""

import os
from pathlib import Path

import numpy as np

from benchmarks.harness import ROOT, Case, Contestant, run_case
from benchmarks.report import Table

DATA = Path(os.environ.get("EIGENLENS_DATA", ROOT.parent / "shared" / "data"))
FILES = {"news": "20news_w100.npz", "faces": "olivetti.npz", "digits": "mnist.npz"}


# ------------------------------------------------------------------------------------------- data


def factors(rng, n, d):
    """Draw rows with three factors on variables of their own."""
    loadings = np.repeat(np.eye(3), -(-d // 3), axis=1)[:, :d]
    return 3 * rng.standard_normal((n, 3)) @ loadings + rng.standard_normal((n, d))


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


def reader(read):
    """Give the maker of a case: the real table, or one of the asked size for a tiny run."""
    return lambda rng, **size: factors(rng, **size) if size else read()


# ------------------------------------------------------------------------------------ contestants


def eigenlens(X, **params):
    """Fit ours."""
    from eigenlens import SparsePCA

    return {"components": SparsePCA(**params).fit(X).components_}


def scikit_learn(method):
    """Fit scikit-learn's."""

    def fit(X, **params):
        from sklearn.decomposition import SparsePCA

        return {"components": SparsePCA(method=method, **params).fit(X).components_}

    return fit


CONTESTANTS = (
    Contestant("eigenlens", "eigenlens", eigenlens),
    Contestant("scikit-learn lars", "sklearn", scikit_learn("lars")),
    Contestant("scikit-learn cd", "sklearn", scikit_learn("cd")),
)


# ------------------------------------------------------------------------------------------ judge


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


# ------------------------------------------------------------------------------------------ cases


def case(name, title, read, smoke, k, alpha, max_iter=1000):
    """Enter one table."""
    params = {"n_components": k, "alpha": alpha, "max_iter": max_iter}
    limits = {"excess objective": 1e-6}
    make = reader(read)
    return Case(name, title, make, {}, smoke, objective, limits, CONTESTANTS, params)


CASES = (
    case("news", "16 242 x 100 words, 20 components, alpha 2", news, {"n": 300, "d": 30}, 20, 2),
    case("faces", "400 x 4096 pixels, 6 components, alpha 0.8", faces, {"n": 20, "d": 90}, 6, 0.8),
    case(
        "digits",
        "5000 x 784 pixels, 20 components, alpha 1, 200 iterations",
        digits,
        {"n": 100, "d": 30},
        20,
        1,
        200,
    ),
)


def run(options):
    """Run the chosen cases whose tables are there."""
    for chosen in CASES:
        if options.case not in chosen.name:
            continue
        if options.smoke or (DATA / FILES[chosen.name]).exists():
            yield run_case("sparse", chosen, options)
        else:
            note = f"skipped: no {FILES[chosen.name]} in ../shared/data or EIGENLENS_DATA"
            yield Table(chosen.name, chosen.title, ["contestant"], [], [note])
