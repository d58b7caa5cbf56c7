"""Every solver of PCA, on every kind of table, against the exact answer; and the PCA theorem."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse

from eigenlens.ops.finite import NonFiniteError
from eigenlens.select import fraction
from eigenlens.solvers import eigh, krylov, svd
from eigenlens.testing import largest_angle

K = 4


def rng():
    return np.random.default_rng(7)


def covariance(X, rank):
    return eigh.solve(X, rank, transposed=False, rng=rng(), tol=1e-12)


def gram(X, rank):
    return eigh.solve(X, rank, transposed=True, rng=rng(), tol=1e-12)


def full(X, rank):
    return svd.solve(X, rank, tol=1e-12)


def lanczos(X, rank):
    return krylov.solve(X, rank, wide=False, rng=rng(), tol=1e-12)


def block_krylov(X, rank):
    return krylov.solve(X, rank, wide=True, rng=rng(), tol=1e-12)


def on_sparse(solve):
    def solve_sparse(X, rank):
        return solve(sparse.csr_array(X), rank)

    solve_sparse.__name__ = f"sparse_{solve.__name__}"
    return solve_sparse


SOLVERS = [full, covariance, gram, lanczos, block_krylov]
SOLVERS += [on_sparse(s) for s in (covariance, gram, lanczos)]


def table(kind):
    r = np.random.default_rng(1)
    shapes = {"tall": (900, 40), "wide": (40, 900), "square": (120, 120), "large": (1000, 450)}
    if kind in shapes:
        n, d = shapes[kind]
        return r.standard_normal((n, d)) * np.linspace(3, 0.5, d) + r.standard_normal(d)
    if kind == "rank-deficient":
        return r.standard_normal((300, 6)) @ r.standard_normal((6, 50)) + 5
    if kind == "repeated values":  # three equal variances, exactly
        Q = np.linalg.qr(r.standard_normal((200, 30)))[0]
        Q = np.linalg.qr(Q - Q.mean(axis=0))[0]
        return (Q * np.r_[9, 9, 9, 4, np.full(26, 1.0)]) @ np.linalg.qr(
            r.standard_normal((30, 30))
        )[0]
    if kind == "ill-conditioned":
        return r.standard_normal((300, 30)) * np.logspace(0, -7, 30)
    if kind == "far from zero":
        return r.standard_normal((500, 20)) * np.linspace(3, 1, 20) + 1e7
    if kind == "constant columns":
        X = r.standard_normal((100, 12))
        X[:, [0, 5]] = 3.7
        return X
    if kind == "two rows":
        return r.standard_normal((2, 9))
    if kind == "one column":
        return r.standard_normal((50, 1)) + 3
    raise KeyError(kind)


TABLES = [
    "tall",
    "wide",
    "square",
    "large",
    "rank-deficient",
    "repeated values",
    "ill-conditioned",
    "far from zero",
    "constant columns",
    "two rows",
    "one column",
]


@cache
def exact(kind):
    """Return variances and axes of a table, and the table less its mean in more digits."""
    X = table(kind)
    A = X.astype(np.longdouble) - X.astype(np.longdouble).mean(axis=0)
    _, s, Vt = np.linalg.svd(A.astype(np.float64), full_matrices=False)
    return s**2 / (len(X) - 1), Vt, A


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("solve", SOLVERS, ids=lambda s: s.__name__)
def test_against_the_exact_answer(solve, kind):
    X = table(kind)
    variances, axes, A = exact(kind)
    k = min(K, len(variances))
    found = solve(X, k)
    top = variances[0]
    slack = 1e-7 if kind == "far from zero" and solve.__name__ == "sparse_gram" else 1e-12
    np.testing.assert_allclose(found.spectrum[:k], variances[:k], rtol=1e-10, atol=slack * top)
    assert found.total_variance == pytest.approx(variances.sum(), rel=1e-11)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-14, atol=1e-14)
    V = found.components
    np.testing.assert_allclose(V @ V.T, np.eye(k), atol=1e-12)
    assert found.certificate.holds
    assert found.objective_history[-1] == pytest.approx(variances[:k].sum(), rel=1e-9)
    # Axes of equal variance may turn among themselves: compare what they span, where there is a
    # gap.
    gap = variances[k - 1] - variances[k] if k < len(variances) else variances[k - 1]
    if gap > 1e-3 * top:
        assert largest_angle(axes[:k], V) < 1e-6
    # The PCA theorem: the error of reconstruction is the sum of the discarded eigenvalues.
    error = (A**2).sum() - ((A @ V.T) ** 2).sum()
    assert float(error) / (len(X) - 1) == pytest.approx(variances[k:].sum(), abs=1e-9 * top)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
@pytest.mark.parametrize("kind", ["tall", "wide", "large"])
@pytest.mark.parametrize("solve", SOLVERS, ids=lambda s: s.__name__)
def test_a_fraction_of_variance(solve, kind, share):
    X = table(kind)
    variances = exact(kind)[0]
    cumulative = np.cumsum(variances) / variances.sum()
    found = solve(X, fraction(share))
    assert len(found.components) == int(np.searchsorted(cumulative, share, side="right")) + 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200], ids=str)
@pytest.mark.parametrize("solve", SOLVERS, ids=lambda s: s.__name__)
def test_sums_that_are_not_finite_are_refused(solve, bad):
    X = table("tall")
    X[5, 5] = bad
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError):
        solve(X, 2)


@pytest.mark.parametrize("passes", [1, 2, 4])
def test_a_few_passes_carry_an_honest_bound(passes):
    """Stopped early the answer is rough, and the certificate says how rough."""
    X = table("large")
    variances = exact("large")[0]
    found = krylov.solve(X, 10, wide=True, rng=rng(), tol=1e-9, block=20, max_steps=passes)
    assert found.n_iter == passes
    errors = [np.abs(variances - v).min() for v in found.spectrum[:10]]
    assert max(errors) <= found.certificate.value * variances[0]
    assert not found.certificate.holds
    assert not found.converged


def test_more_passes_capture_more_variance():
    X = table("large")
    captured = [
        krylov.solve(X, 10, wide=True, rng=rng(), tol=1e-9, block=20, max_steps=p).spectrum.sum()
        for p in (1, 2, 3, 6)
    ]
    assert (np.diff(captured) > 0).all()
    assert captured[-1] <= exact("large")[0][:10].sum() * (1 + 1e-12)


def test_sparse_never_becomes_dense(monkeypatch):
    """The iterative solver only multiplies: it must not ask for the dense table."""
    X = sparse.random_array((3000, 1500), density=0.01, rng=0, format="csr")
    monkeypatch.setattr(type(X), "toarray", lambda self: pytest.fail("made dense"))
    krylov.solve(X, 3, wide=False, rng=rng(), tol=1e-6)
