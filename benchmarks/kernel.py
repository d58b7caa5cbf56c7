"""KernelPCA: the eigenproblem, the way back, and many points, at equal quality.

Against scikit-learn's KernelPCA with each of its solvers, its learned inverse, its Nystroem map
followed by PCA, and the de-noising loop of the lecture notes, point by point and row by row. The
images of digits are not part of the project; where they are not there, their case says so.
"""

import numpy as np
import scipy.linalg
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.harness import DATA, Case, Contestant
from benchmarks.worker import peak_gigabytes

METHOD = "KernelPCA"
RESIDUAL = 1e-10  # of the first eigenvalue
DIGITS = "mnist.npz"
COMPONENTS = 20
SUBSET = 5000  # rows of the exact fit that an approximation is compared with


# ------------------------------------------------------------------------------------------- data


def gaussian(rng, n, d):
    """Draw rows without structure, the hardest for an eigensolver: many eigenvalues are alike."""
    return rng.standard_normal((n, d))


def with_new(rng, n, d, new):
    """Draw rows whose columns differ in size, and new ones."""
    X = gaussian(rng, n + new, d) * np.linspace(2, 0.5, d)
    return {"X": X[:n], "new": X[n:]}


def curved(rng, n, new, d, noise=0.05):
    """Draw rows near a surface of two dimensions in d, and new ones."""
    t = rng.uniform(-1, 1, (n + new, 2))
    waves = rng.standard_normal((2, d)) * 2
    X = np.sin(t @ waves + rng.uniform(0, 2 * np.pi, d))
    X += noise * rng.standard_normal(X.shape)
    return {"X": X[:n], "new": X[n:]}


def clusters(rng, each, test, sigma=0.05, many=11):
    """Draw clusters about centres in the plane: rows to fit, rows to de-noise, their centres."""
    centres = rng.uniform(-1, 1, (many, 2))
    draw = lambda m: np.repeat(centres, m, axis=0) + sigma * rng.standard_normal((many * m, 2))  # noqa: E731
    return {
        "X": draw(each),
        "new": draw(test),
        "truth": np.repeat(centres, test, axis=0),
        "c": np.array(4 * sigma**2),
    }


def digits(rng, **size):
    """Read the images of digits, and new ones; for a tiny run, draw rows."""
    if size:
        return with_new(rng, **size)
    images = np.load(DATA / DIGITS)
    return {"X": scaled(images["X_train"]), "new": scaled(images["X_test"])}


def scaled(pixels):
    """Bring pixels to [0, 1], in single precision."""
    return pixels.astype(np.float32) / np.float32(255)


# ------------------------------------------------------------------------------------ contestants


def eigen(name, package, module, **choice):
    """Enter a solver of the eigenproblem, for two components of the Gaussian kernel."""

    def fit(X):
        from importlib import import_module

        model = import_module(module).KernelPCA(2, kernel="rbf", random_state=0, **choice).fit(X)
        return {"values": model.eigenvalues_, "vectors": model.eigenvectors_}

    return Contestant(name, package, fit)


def fit_learned(data):
    """Learn the way back, and take new rows there and back."""
    from eigenlens import KernelPCA

    model = KernelPCA(2, kernel="rbf", preimage="learned", random_state=0).fit(data["X"])
    return {"back": model.inverse_transform(model.transform(data["new"]))}


def fit_inverse(data):
    """Do the same with scikit-learn."""
    from sklearn.decomposition import KernelPCA

    model = KernelPCA(2, kernel="rbf", fit_inverse_transform=True, random_state=0).fit(data["X"])
    return {"back": model.inverse_transform(model.transform(data["new"]))}


def fit_denoise(data, n_components):
    """Fit, project and come back."""
    from eigenlens import KernelPCA

    model = KernelPCA(
        n_components, kernel="rbf", gamma=1 / float(data["c"]), preimage="fixed_point"
    ).fit(data["X"])
    return {"back": model.denoise(data["new"])}


def fit_loop(data, n_components, steps=30):
    """De-noise as the lecture notes print it: loops over points, steps and rows."""
    X, c = data["X"], float(data["c"])
    n = len(X)
    K, ones = rbf_kernel(X, X, gamma=1 / c), np.full((n, n), 1 / n)
    values, vectors = np.linalg.eigh(K - ones @ K - K @ ones + ones @ (K @ ones))
    alphas = vectors.T[-n_components:] / np.sqrt(values[-n_components:, None] / n)
    rng, spread = np.random.default_rng(0), X.std(axis=0)
    found = np.zeros_like(data["new"])
    for i, x in enumerate(data["new"]):
        beta = [alpha @ rbf_kernel(X, x[None], gamma=1 / c) for alpha in alphas]
        gamma = []
        for j in range(n):
            gamma_j = 0
            for k in range(n_components):
                gamma_j += beta[k] * alphas[k, j]
            gamma.append(gamma_j)
        z, step = x, 0
        while step < steps:
            kernel = rbf_kernel(X, z[None], gamma=1 / c)
            numerator, denominator = 0, 0
            for j in range(n):
                weight = gamma[j] * kernel[j][0]
                numerator += weight * X[j]
                denominator += weight
            if denominator != 0:
                z, step = numerator / denominator, step + 1
            else:
                z, step = x + spread * rng.standard_normal(len(x)), 0
        found[i] = z
    return {"back": found}


def fit_nystrom(data, n_landmarks):
    """Fit ours; the scores of new rows are the answer."""
    from eigenlens import KernelPCA

    model = KernelPCA(
        COMPONENTS,
        kernel="rbf",
        gamma="scale",
        approximation="nystrom",
        n_landmarks=n_landmarks,
        random_state=0,
    ).fit(data["X"])
    peak, share = peak_gigabytes(), float(model.explained_variance_ratio_.sum())
    most = share + model.certificate_.value
    note = f"at least {share:.1%}, and no axes take more than {most:.1%}"
    return {"scores": model.transform(data["new"]), "peak": np.array(peak), "note": note}


def fit_uniform(data, n_landmarks):
    """Map by scikit-learn's Nystroem, from landmarks drawn alike, and take PCA of that."""
    from sklearn.decomposition import PCA
    from sklearn.kernel_approximation import Nystroem

    X = data["X"]
    count = min(n_landmarks, len(X))
    features = Nystroem(gamma=scale_of(X), n_components=count, random_state=0)
    pca = PCA(min(COMPONENTS, len(X) - 1)).fit(features.fit_transform(X))
    peak = peak_gigabytes()
    return {"scores": pca.transform(features.transform(data["new"])), "peak": np.array(peak)}


def scale_of(X):
    """Give one over the number of columns and the variance of entries."""
    return float(1 / (X.shape[1] * np.var(X, dtype=np.float64)))


# ------------------------------------------------------------------------------------------ judge


def centred_kernel(X, gamma):
    """Give the doubly centred Gaussian kernel between all rows."""
    K = rbf_kernel(X.astype(np.float64), gamma=gamma)
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def residual(X):
    """Judge eigenpairs by their residual, and by how far the values are below the largest."""
    K = centred_kernel(X, 1 / X.shape[1])
    n = len(K)
    best = scipy.linalg.eigh(K, eigvals_only=True, subset_by_index=(n - 2, n - 1))[::-1]

    def score(answer):
        values, V = answer["values"], answer["vectors"]
        rest = np.linalg.norm(K @ V - V * values, axis=0).max() / best[0]
        return {"residual": rest, "value missed": np.abs(best - values).max() / best[0]}

    return score


def reconstruction(data):
    """Judge by the error of new rows over that of scikit-learn's inverse."""
    reference = np.sqrt(np.mean((fit_inverse(data)["back"] - data["new"]) ** 2))

    def score(answer):
        error = np.sqrt(np.mean((answer["back"] - data["new"]) ** 2))
        return {"error": error, "over scikit-learn's": error / reference}

    return score


def cleaned(data, n_components):
    """Judge by the mean squared distance to the true centres, over that of the rows themselves."""

    def score(answer):
        distance = lambda Z: np.mean(np.sum((Z - data["truth"]) ** 2, axis=1))  # noqa: E731
        return {"error": distance(answer["back"]) / distance(data["new"])}

    return score


def captured(data, n_landmarks):
    """Judge by the kernel variance of new rows that the axes capture.

    It is compared with what the best axes of the first rows, found exactly, capture of the same.
    """
    rows, gamma = data["X"][:SUBSET].astype(np.float64), scale_of(data["X"])
    K = centred_kernel(rows, gamma)
    n, k = len(K), min(COMPONENTS, len(K) - 1)
    values, V = scipy.linalg.eigh(K, subset_by_index=(n - k, n - 1))
    across = rbf_kernel(data["new"].astype(np.float64), rows, gamma=gamma)
    exact = variance(across @ (V / np.sqrt(values)))

    def score(answer):
        missed = 1 - variance(answer["scores"].astype(np.float64)) / exact
        return {"variance missed": missed, "peak GB": float(answer["peak"])}

    return score


def variance(scores):
    """Give the sum of variances of scores."""
    return scores.var(axis=0).sum()


# ------------------------------------------------------------------------------------------ cases

EIGEN = (
    eigen("eigenlens", "eigenlens", "eigenlens", tol=RESIDUAL),
    eigen("scikit-learn, arpack", "sklearn", "sklearn.decomposition", tol=RESIDUAL,
          eigen_solver="arpack"),
    eigen("scikit-learn, randomized", "sklearn", "sklearn.decomposition",
          eigen_solver="randomized", iterated_power=60),
    eigen("scikit-learn, dense", "sklearn", "sklearn.decomposition", eigen_solver="dense"),
)  # fmt: skip
NYSTROM = (
    Contestant("eigenlens", "eigenlens", fit_nystrom),
    Contestant("scikit-learn, Nystroem and PCA", "sklearn", fit_uniform),
)

CASES = (
    Case(
        "rbf4000",
        "4000 x 20, Gaussian kernel, 2 components",
        gaussian,
        {"n": 4000, "d": 20},
        {"n": 60, "d": 4},
        residual,
        {"residual": RESIDUAL, "value missed": RESIDUAL},
        EIGEN,
    ),
    Case(
        "learned",
        "4000 x 20 near a surface, 2 components, learned way back of 400 new rows",
        curved,
        {"n": 4000, "new": 400, "d": 20},
        {"n": 60, "new": 10, "d": 4},
        reconstruction,
        {"over scikit-learn's": 1.0},
        (
            Contestant("eigenlens", "eigenlens", fit_learned),
            Contestant("scikit-learn", "sklearn", fit_inverse),
        ),
    ),
    Case(
        "denoise",
        "363 points against 1100 in the plane, 20 components",
        clusters,
        {"each": 100, "test": 33},
        {"each": 4, "test": 2},
        cleaned,
        {"error": 0.4},
        (
            Contestant("eigenlens", "eigenlens", fit_denoise),
            Contestant("loop of the lecture notes, 30 steps", "sklearn", fit_loop),
        ),
        {"n_components": 20},
    ),
    Case(
        "digits",
        "60 000 x 784 pixels, 20 components, 2000 landmarks",
        digits,
        {},
        {"n": 200, "d": 4, "new": 50},
        captured,
        {"variance missed": 0.01, "peak GB": 2},
        NYSTROM,
        {"n_landmarks": 2000},
        file=DIGITS,
    ),
    Case(
        "many",
        "200 000 x 20, 20 components, 1000 landmarks",
        with_new,
        {"n": 200_000, "d": 20, "new": 5000},
        {"n": 200, "d": 4, "new": 50},
        captured,
        {"variance missed": 0.01, "peak GB": 4},
        NYSTROM,
        {"n_landmarks": 1000},
    ),
)  # fmt: skip
