"""The judges: numpy and scipy in float64 or better, no code of any contestant."""

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh


def captured_variance(X, k):
    """Judge principal components by the variance they capture and the variances they state.

    ``shortfall`` is the share that the span of the components misses of the variance that the best
    k directions have; ``variance error`` is the largest relative error of the stated variances.
    """
    X = X.astype(np.float64)
    mean = np.asarray(X.mean(axis=0)).ravel()
    if not sp.issparse(X):
        X, mean = X - mean, np.zeros_like(mean)
    best = spectrum(X, mean, k)

    def score(answer):
        # orthonormalised, so that nobody gains from long or repeated directions
        Q = scipy.linalg.qr(answer["components"].T.astype(np.float64), mode="economic")[0]
        captured = np.sum((X @ Q - mean @ Q) ** 2) / (X.shape[0] - 1)
        error = np.abs(answer["variance"] / best - 1).max()
        return {"shortfall": 1 - captured / best.sum(), "variance error": error}

    return score


def spectrum(X, mean, k):
    """Find the k largest eigenvalues of the covariance to machine precision, largest first.

    Dense X comes centred, with a mean of zero; sparse X is centred by an operator.
    """
    n, d = X.shape
    if sp.issparse(X):

        def gram(v):
            Xv = X @ v - mean @ v
            return X.T @ Xv - mean * Xv.sum()

        # tol=0 is machine precision; a fixed start makes the reference repeatable
        operator = LinearOperator((d, d), matvec=gram, dtype=np.float64)
        top = eigsh(operator, k, tol=0, v0=np.ones(d), ncv=min(d, 80), return_eigenvectors=False)
    else:
        S = X.T @ X if d <= n else X @ X.T
        top = scipy.linalg.eigvalsh(S, subset_by_index=[len(S) - k, len(S) - 1])
    return np.sort(top)[::-1] / (n - 1)


def variances(data):
    """Judge stated variances, for each array in `data`, against a reference in long double."""
    exact = {name: longdouble_variances(X) for name, X in data.items()}

    def score(answer):
        return {name: np.abs(answer[name] / exact[name] - 1).max() for name in exact}

    return score


def longdouble_variances(X):
    """Find the variances along all principal axes, the smallest as exactly as the largest."""
    X = X.astype(np.longdouble)
    X -= X.mean(axis=0)
    X -= X.mean(axis=0)  # what rounding left of the mean
    columns = np.ascontiguousarray(X.T)  # no BLAS here: contiguous dot products are the fast way
    S = np.array([[a @ b for b in columns] for a in columns]) / (len(X) - 1)
    return np.sort(jacobi(S))[::-1]


def jacobi(S):
    """Find the eigenvalues of a positive definite matrix by cyclic Jacobi rotations.

    LAPACK has no long double, and its errors are relative to the largest eigenvalue. Those of
    Jacobi are relative to each one if S is well conditioned once its diagonal is scaled to one
    (Demmel, Veselic 1992), as a covariance of nearly independent columns is.
    """
    S = S.copy()
    eps = np.finfo(S.dtype).eps
    turned = True
    while turned:
        turned = False
        for p, q in zip(*np.triu_indices(len(S), 1), strict=True):
            if abs(S[p, q]) <= eps * np.sqrt(S[p, p] * S[q, q]):
                continue
            turned = True
            tau = (S[q, q] - S[p, p]) / (2 * S[p, q])
            t = (1 if tau >= 0 else -1) / (abs(tau) + np.sqrt(1 + tau * tau))
            c = 1 / np.sqrt(1 + t * t)
            rotation = np.array([[c, t * c], [-t * c, c]])
            # these two by their own formula: the product would err by the size of the larger one
            diagonal = S[p, p] - t * S[p, q], S[q, q] + t * S[p, q]
            S[:, [p, q]] = S[:, [p, q]] @ rotation
            S[[p, q], :] = rotation.T @ S[[p, q], :]
            (S[p, p], S[q, q]), S[p, q], S[q, p] = diagonal, 0, 0
    return np.diag(S).copy()
