"""The small numerical parts, each against a plain twin or an exact reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, sparse

from eigenlens.ops import centred, scatter
from eigenlens.ops.graded import graded_pairs, is_graded
from eigenlens.ops.lanczos import _Deflated, _next_look, lanczos, leading, top_pairs, whole
from eigenlens.ops.signs import fix_signs
from eigenlens.testing.exact import exact_variances


def exact_scatter(X):
    """Two passes in long double."""
    X = X.astype(np.longdouble)
    mean = X.mean(axis=0)
    return mean, (X - mean).T @ (X - mean)


def table(n, d, *, mean=0.0, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, d)) * np.linspace(1, 3, d) + mean).astype(dtype)


# ---------------------------------------------------------------------------------- scatter, gram


@pytest.mark.parametrize("tiled", [False, True], ids=["by rows", "by tiles"])
@pytest.mark.parametrize(
    ("dtype", "mean", "tol"),
    [(np.float64, 0, 1e-14), (np.float64, 1e8, 1e-14), (np.float32, 1e3, 1e-6)],
    ids=["float64", "float64 mean 1e8", "float32 mean 1e3"],
)
def test_scatter_keeps_its_digits(tiled, dtype, mean, tol, monkeypatch):
    if tiled:
        monkeypatch.setattr(scatter, "WIDE", 1)
        monkeypatch.setattr(scatter, "TILE", 6)
    X = table(2500, 20, mean=mean, dtype=dtype)
    found_mean, S = scatter.scatter(X)
    exact_mean, exact = exact_scatter(X)
    assert np.abs(S - exact).max() <= tol * np.abs(exact).max()
    np.testing.assert_array_equal(S, S.T)
    assert np.abs(found_mean - exact_mean).max() <= np.finfo(np.float64).eps * max(1, mean)


@pytest.mark.parametrize(("n", "d"), [(7, 3000), (60, 90)])
@pytest.mark.parametrize("mean", [0, 1e8])
def test_gram_keeps_its_digits(n, d, mean):
    X = table(n, d, mean=mean)
    found_mean, G = scatter.gram(X)
    A = X.astype(np.longdouble) - X.astype(np.longdouble).mean(axis=0)
    exact = A @ A.T
    # The column means are rounded to the spacing of numbers near 1e8, and each enters every entry.
    slack = 1e-14 + (1e-7 if mean else 0)
    assert np.abs(G - exact).max() <= slack * np.abs(exact).max()
    np.testing.assert_allclose(found_mean, X.mean(axis=0), rtol=1e-15, atol=1e-13)


def test_a_mean_that_no_sample_foresees_costs_no_digits():
    """The rows that the provisional mean is made from are all zero; the others lie at 1e8."""
    X = table(256 * 40, 3, mean=1e8)
    X[:: len(X) // scatter.SAMPLE] = 0
    _, S = scatter.scatter(X)
    exact = exact_scatter(X)[1]
    assert np.abs(S - exact).max() <= 1e-13 * np.abs(exact).max()


@pytest.mark.parametrize("unit", [1.0, 1e-12])
def test_a_mean_hidden_behind_rows_of_no_weight_costs_no_digits(unit):
    X, weight = unit * table(256 * 40, 3, mean=1e8), np.ones(256 * 40)
    hidden = slice(None, None, len(X) // scatter.SAMPLE)
    X[hidden] = weight[hidden] = 0
    _, S = scatter.scatter(X, weight)
    exact = exact_scatter(X[weight > 0])[1]
    assert np.abs(S - exact).max() <= 1e-13 * np.abs(exact).max()


def test_constant_columns_have_exactly_no_variance():
    X = np.full((1000, 4), 0.1)
    X[:, 1] = 1e9 / 3
    _, S = scatter.scatter(X)
    assert not S.any()


@pytest.mark.parametrize("view", ["F", "strided", "reversed"])
def test_layout_does_not_matter(view):
    X = table(1000, 12, mean=50)
    other = {"F": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=1)[:, ::2]}.get(view)
    if view == "reversed":
        other = X[::-1].copy()[::-1]
    for ours, theirs in zip(scatter.scatter(other), scatter.scatter(X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-10)


@given(st.integers(2, 60), st.integers(1, 9), st.integers(0, 10**6), st.floats(-1e6, 1e6))
def test_scatter_of_any_small_table(n, d, seed, mean):
    X = table(n, d, mean=mean, seed=seed)
    S, exact = scatter.scatter(X)[1], exact_scatter(X)[1]
    assert np.abs(S - exact).max() <= 1e-12 * np.abs(exact).max()


# ---------------------------------------------------------------------------------- the operator

KINDS = {
    "dense": lambda X: X,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "csr_matrix": sparse.csr_matrix,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(80, 30), (30, 80)], ids=["tall", "wide"])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_operator_equals_the_centred_matrix(kind, shape, width):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape) * (rng.random(shape) < 0.3)
    X[:, 3] = rng.standard_normal(shape[0]) + 1e3  # fully stored, its mean far above its deviation
    A = X - X.mean(axis=0)
    op = centred.centred(KINDS[kind](X))
    A = A.T if op.transposed else A
    V = rng.standard_normal((op.dim, width))
    np.testing.assert_allclose(op.gram(V), A.T @ A @ V, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(op.across(V), A @ V, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(op.formed(), A.T @ A, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(op.mean, X.mean(axis=0), rtol=1e-12, atol=1e-14)
    assert op.square == pytest.approx((A**2).sum(), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_product_with_a_given_mean(kind, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 30)) * (rng.random((80, 30)) < 0.3)
    V, mean, weight = rng.standard_normal((30, 4)), rng.standard_normal(30), rng.random(80)
    A = X - mean
    expected = A.T @ (weight[:, None] * (A @ V) if weighted else A @ V)
    found = centred.gram_of(KINDS[kind](X), weight if weighted else None, mean, V)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_a_full_sparse_column_keeps_its_digits():
    """Its mean is 1e8 times its deviation: centring after the product would leave nothing."""
    X = table(500, 6)
    X[:, 1:] *= np.random.default_rng(0).random((500, 5)) < 0.2
    X[:, 0] += 1e8
    S = centred.formed(sparse.csr_array(X), None, transposed=False)[1]
    exact = exact_scatter(X)[1]
    scale = np.sqrt(np.diag(exact))
    assert (np.abs(S - exact) / np.multiply.outer(scale, scale)).max() < 1e-12


def test_compiled_gram_rows_equals_its_plain_twin():
    Z = sparse.random_array((60, 25), density=0.2, rng=0, format="csr")
    rng = np.random.default_rng(1)
    w, uV, start = rng.random(60), rng.random(4), rng.random((25, 8))
    T = Z.toarray()[5:55] @ start[:, :4] - np.multiply.outer(w[5:55], uV)
    for loop in (centred.gram_rows, centred.gram_rows.__wrapped__):
        V, wT = start.copy(), np.zeros(4)
        loop(Z.indptr, Z.indices, Z.data, 5, 55, w, uV, V, wT)
        np.testing.assert_array_equal(V[:, :4], start[:, :4])
        np.testing.assert_allclose(V[:, 4:], start[:, 4:] + Z.toarray()[5:55].T @ T, rtol=1e-12)
        np.testing.assert_allclose(wT, w[5:55] @ T, rtol=1e-12)


# ---------------------------------------------------------------------------------- eigenpairs


def with_spectrum(values, seed=0):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values),) * 2))
    return (Q * values) @ Q.T, Q


SPECTRA = {
    "slow": 1 / np.arange(1, 901),
    "fast": 0.8 ** np.arange(900),
    "flat": np.linspace(2, 1, 900),
    "step": np.r_[np.full(5, 10.0), np.full(895, 1.0)],
    "pairs": np.repeat(np.linspace(3, 0.1, 450), 2),
    "low rank": np.r_[np.arange(7, 0, -1.0), np.zeros(893)],
    "many equal": np.r_[np.full(20, 5.0), np.linspace(2, 0.1, 880)],
    "huge first": np.r_[1e12, np.linspace(2, 1, 899)],
}


class Operator:
    """A matrix known by its products, which counts the passes."""

    def __init__(self, M):
        self.M, self.dim, self.passes, self.was_formed = M, len(M), 0, False

    def gram(self, V):
        self.passes += 1
        return self.M @ V

    def formed(self):
        self.was_formed = True
        return self.M


@pytest.mark.parametrize("block", [1, 2, 8, 30])
@pytest.mark.parametrize("name", SPECTRA)
def test_lanczos_finds_the_leading_pairs(name, block):
    M, _ = with_spectrum(SPECTRA[name])
    k, tol = 6, 1e-10
    pairs = lanczos(Operator(M), k, rng=np.random.default_rng(0), tol=tol, block=block)
    top = SPECTRA[name][0]
    np.testing.assert_allclose(pairs.values[:k], SPECTRA[name][:k], atol=10 * tol * top)
    V = pairs.vectors[:, :k]
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-13)
    assert np.linalg.norm(M @ V - V * pairs.values[:k], axis=0).max() <= 10 * tol * top
    assert (np.diff(pairs.history) >= -1e-12 * pairs.history[-1]).all()  # Ritz values only rise


def test_the_basis_stays_orthogonal_over_many_steps():
    """Without the corrections a long run finds copies of the first eigenvalue."""
    M, _ = with_spectrum(np.r_[1e6, 1e5, np.linspace(2, 1, 1998)])
    pairs = lanczos(Operator(M), 30, rng=np.random.default_rng(0), tol=1e-13, block=2)
    expected = np.r_[1e6, 1e5, np.linspace(2, 1, 1998)][:30]
    np.testing.assert_allclose(pairs.values[:30], expected, atol=1e-7)


def test_copies_that_a_narrow_block_cannot_see_are_found():
    """Twelve equal eigenvalues: a single vector sees one of them, and converges to the rest."""
    values = np.r_[np.full(12, 3.0), 2 * 0.5 ** np.arange(1488)]
    M, _ = with_spectrum(values)
    pairs = lanczos(Operator(M), 8, rng=np.random.default_rng(0), tol=1e-9, block=1)
    np.testing.assert_allclose(pairs.values[:8], values[:8], rtol=1e-8)


def test_what_is_left_of_an_operator_is_formed_as_it_multiplies():
    r = np.random.default_rng(0)
    M = with_spectrum(np.arange(9.0))[0]
    left = _Deflated(Operator(M), np.linalg.qr(r.standard_normal((9, 2)))[0])
    V = r.standard_normal((9, 3))
    np.testing.assert_allclose(left.formed() @ V, left.gram(V), atol=1e-12)
    np.testing.assert_allclose(left.formed() @ left.V, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("residual", "tol", "look"),
    [
        (0.1, 0.01, 50),  # as far again as from 1 to 0.1
        (0.1, 1e-9, 60),  # not more than half as large again
        (0.001, 1e-9, 50),  # a quarter, where the residual falls ever faster
        (0.1, 0.09, 42),  # a block at least
        (2.0, 1e-3, 60),  # it did not fall
        (0.1, 0.0, 60),
    ],
)
def test_the_basis_is_looked_at_where_it_should_be_enough(residual, tol, look):
    assert _next_look((30, 1.0), (40, residual), tol, least=42) == look


def test_a_budget_of_steps_is_kept():
    op = Operator(with_spectrum(SPECTRA["flat"])[0])
    pairs = lanczos(op, 5, rng=np.random.default_rng(0), tol=1e-12, block=15, max_steps=3)
    assert op.passes == pairs.steps == 3
    assert not op.was_formed


def test_one_pair_to_a_tolerance_relative_to_it():
    """All others are so small that their residuals are below it at once."""
    op = Operator(with_spectrum(np.r_[1e9, np.linspace(2, 1, 1499)])[0])
    pairs = lanczos(op, 1, rng=np.random.default_rng(0), tol=1e-7)
    assert pairs.values[0] == pytest.approx(1e9, rel=1e-12)
    more = lanczos(op, 3, rng=np.random.default_rng(0), tol=1e-7)
    assert max(pairs.steps, more.steps) <= 6
    assert not op.was_formed


def test_watch_can_stop_the_iteration():
    op = Operator(with_spectrum(SPECTRA["flat"])[0])
    pairs = lanczos(op, 5, rng=np.random.default_rng(0), tol=1e-12, watch=lambda captured: True)
    assert len(pairs.history) == 1


def test_pairs_are_added_until_the_rule_is_content():
    values = SPECTRA["fast"]
    share = 0.9999
    wanted = int(np.searchsorted(np.cumsum(values), share * values.sum())) + 1

    def enough(found):
        k = int(np.searchsorted(np.cumsum(found), share * values.sum())) + 1
        return k if k <= len(found) else None

    op = Operator(with_spectrum(values)[0])
    pairs = lanczos(op, 4, rng=np.random.default_rng(0), tol=1e-10, enough=enough)
    assert enough(pairs.values) == wanted
    assert not op.was_formed


@pytest.mark.parametrize("k", [3, 300, None])
def test_leading_equals_whole(k):
    """Many pairs are found by LAPACK as all of them are."""
    M, _ = with_spectrum(SPECTRA["slow"])
    pairs = leading(M, k, rng=np.random.default_rng(0), tol=1e-10)
    assert pairs.complete == (k != 3)
    np.testing.assert_allclose(pairs.values[:3], whole(M).values[:3], rtol=1e-12)


def test_graded_pairs_are_right_relative_to_each_eigenvalue():
    """Deviations over eight orders of magnitude; LAPACK's usual solver loses the small ones."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 8)) * rng.permutation(np.logspace(0, -8, 8))
    S = scatter.scatter(X)[1]
    exact = exact_variances(X) * (len(X) - 1)
    assert is_graded(S)
    values, vectors = graded_pairs(S)
    np.testing.assert_allclose(values, exact, rtol=1e-13)
    assert np.abs(whole(S).values / exact - 1).max() > 1e-10  # which is why it is there
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(8), atol=1e-14)
    np.testing.assert_allclose(S @ vectors, vectors * values, atol=1e-14 * exact[0])


def test_collinear_columns_are_not_graded():
    assert graded_pairs(np.ones((3, 3))) is None


# ---------------------------------------------------------------------------------- signs


def test_the_largest_entry_is_positive_and_the_first_of_equals_decides():
    a = np.sqrt(0.5)
    V = np.array([[0.1, -0.9, 0.2], [-a, a, 0.0], [a * (1 - 1e-12), -a, 0.0]])
    fixed = fix_signs(V)
    np.testing.assert_array_equal(np.sign(fixed[:, :2]), [[-1, 1], [1, -1], [1, -1]])
    np.testing.assert_array_equal(fix_signs(-V), fixed)
    assert fix_signs(np.empty((0, 3))).shape == (0, 3)


def test_all_pairs_that_are_asked_for_come_though_lapack_loses_some(monkeypatch):
    M = np.diag([3.0, 2, 2, 2, 1])
    right = linalg.eigh

    def loses(M, subset_by_index, check_finite):
        return right(M, subset_by_index=(subset_by_index[1],) * 2)

    for eigh in (right, loses):
        monkeypatch.setattr("eigenlens.ops.lanczos.linalg.eigh", eigh)
        values, V = top_pairs(M, 3)
        np.testing.assert_allclose(values, [3, 2, 2])
        np.testing.assert_allclose(M @ V, V * values, atol=1e-12)
        np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
