"""Kernels and what is made of them: tiles, halves, pivoted Cholesky."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise

from eigenlens.ops import kernels
from eigenlens.ops.finite import NonFiniteError
from eigenlens.ops.half import Centred
from eigenlens.ops.kernels import Cosine, Function, Matern, Polynomial, Rbf, Tanh
from eigenlens.ops.pivoted import _kept, pivoted_cholesky

PEERS = {
    "rbf": (Rbf(0.3), lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.3)),
    "linear": (Polynomial(1.0, 1, 0.0), pairwise.linear_kernel),
    "poly": (
        Polynomial(0.3, 3, 1.5),
        lambda X, Y: pairwise.polynomial_kernel(X, Y, degree=3, gamma=0.3, coef0=1.5),
    ),
    "sigmoid": (Tanh(0.3, 0.5), lambda X, Y: pairwise.sigmoid_kernel(X, Y, gamma=0.3, coef0=0.5)),
    "cosine": (Cosine(), pairwise.cosine_similarity),
    "function": (Function(pairwise.laplacian_kernel), pairwise.laplacian_kernel),
}
ALL = {name: kernel for name, (kernel, _) in PEERS.items()} | {"matern": Matern(0.3)}


@pytest.fixture
def small_tiles(monkeypatch):
    """Let few rows make many tiles."""
    for module in ("kernels", "half"):
        monkeypatch.setattr(f"eigenlens.ops.{module}.ROWS", 7)
        monkeypatch.setattr(f"eigenlens.ops.{module}.COLUMNS", 5)


def tables(d=4):
    rng = np.random.default_rng(0)
    return rng.standard_normal((23, d)), rng.standard_normal((17, d))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", PEERS)
def test_kernels_are_those_of_scikit_learn(name, form, small_tiles):
    kernel, peer = PEERS[name]
    X, Y = tables()
    np.testing.assert_allclose(kernel.between(form(X), form(Y)), peer(X, Y), atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(form(X)), np.diag(peer(X, X)), atol=1e-14)


def test_matern_is_that_of_gaussian_processes():
    from sklearn.gaussian_process.kernels import Matern as Peer

    X, Y = tables()
    peer = Peer(length_scale=(2 * 0.3) ** -0.5, nu=2.5)
    np.testing.assert_allclose(Matern(0.3).between(X, Y), peer(X, Y), atol=1e-14)


@pytest.mark.parametrize("name", ALL)
def test_combine_is_the_product_with_the_kernel(name, small_tiles):
    X, Y = tables()
    W = np.random.default_rng(1).standard_normal((len(Y), 3))
    kernel = ALL[name]
    np.testing.assert_allclose(kernel.combine(X, Y, W), kernel.between(X, Y) @ W, atol=1e-13)


def test_single_precision_far_from_the_origin_keeps_its_digits():
    X = tables()[0].astype(np.float32) + np.float32(1000)
    exact = np.exp(-((X[:, None].astype(float) - X[None].astype(float)) ** 2).sum(axis=2))
    np.testing.assert_allclose(Rbf(1.0).between(X, X), exact, atol=1e-12)


@pytest.mark.parametrize("kernel", [Rbf(0.3), Matern(0.3)])
def test_radial_slopes_and_inverses(kernel):
    s = np.geomspace(1e-4, 20, 50)
    step = 1e-6 * s
    change = kernel.profile(s + step) - kernel.profile(s - step)
    line = kernel.ready(np.sqrt(s / kernel.gamma)[:, None])
    values, slopes = kernel.tile_and_slope(kernel.ready(np.zeros((1, 1))), line)
    np.testing.assert_allclose(values[0], kernel.profile(s.copy()), rtol=1e-13)
    ratio = -change / (2 * step) / slopes[0]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)
    np.testing.assert_allclose(kernel.argument(kernel.profile(s.copy())), s, rtol=1e-7)


@pytest.mark.parametrize("kernel", [Polynomial(0.3, 3, 1.0), Tanh(0.3, 0.1)])
def test_slopes_and_inverses_of_products(kernel):
    t = np.linspace(-2, 2, 40)
    change = (kernel.profile(t + 1e-6) - kernel.profile(t - 1e-6)) / 2e-6
    np.testing.assert_allclose(kernel.slope(t), change, atol=1e-8)
    np.testing.assert_allclose(kernel.argument(kernel.profile(t)), t, atol=1e-12)


def test_the_compiled_exponential_is_that_of_numpy():
    from eigenlens.ops.gaussian import _exp, exp_of_distances

    rng = np.random.default_rng(0)
    P, a, b = rng.standard_normal((9, 40)) * 30, rng.uniform(0, 20, 9), rng.uniform(0, 90, 40)
    P[0, :4] = -1e4, -353.999, 1e4, np.nan
    exact = np.exp(np.minimum(2 * P - a[:, None] - b, 0))
    found = exp_of_distances(P.copy(), 2.0, a, b)
    np.testing.assert_allclose(found[1:], exact[1:], rtol=5e-16, atol=1e-307)
    assert found[0, 0] == 0.0
    assert found[0, 2] == 1.0
    assert np.isnan(found[0, 3])
    whole, power = np.empty(40), np.empty(40, np.int64)
    twin = P.copy()
    _exp.__wrapped__(twin, 2.0, a, b, whole, whole.view(np.int64), power, power.view(np.float64))
    np.testing.assert_allclose(twin[1:], found[1:], rtol=1e-15, atol=1e-307)


def test_median_square():
    X = np.array([[0.0], [1.0], [3.0]])
    assert kernels.median_square(X) == pytest.approx(4.0)


# ------------------------------------------------------------------------------------------- halves


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


@pytest.mark.parametrize("name", ALL)
def test_a_half_multiplies_like_the_whole(name, small_tiles):
    X = tables()[0]
    K = ALL[name].between(X, X)
    V = np.random.default_rng(1).standard_normal((len(X), 3))
    for half in (Centred.of_points(ALL[name], X), Centred.of_matrix(K)):
        np.testing.assert_allclose(half.gram(V), centred(K) @ V, atol=1e-12)
        np.testing.assert_allclose(half.formed(), centred(K), atol=1e-12)
        np.testing.assert_allclose(half.means, K.mean(axis=0), atol=1e-13)
        np.testing.assert_allclose(half.diagonal, np.diag(K), atol=1e-14)
        assert half.trace == pytest.approx(np.trace(centred(K)))


def test_each_pair_is_computed_once(small_tiles):
    computed = []

    def count(X, Y):
        computed.append(X.shape[0] * Y.shape[0])
        return pairwise.linear_kernel(X, Y)

    X = tables()[0]
    Centred.of_points(Function(count), X)
    n = len(X)
    assert sum(computed) <= n * (n + 7) / 2  # the blocks on the diagonal are whole


def test_a_half_takes_half_the_memory():
    X = np.random.default_rng(0).standard_normal((1200, 3))
    half = Centred.of_points(Rbf(1.0), X)
    assert sum(panel.nbytes for panel in half._panels) < 0.62 * 8 * 1200**2


def test_what_is_not_finite_is_found():
    X = tables()[0]
    X[3, 1] = np.nan
    with pytest.raises(NonFiniteError):
        Centred.of_points(Rbf(1.0), X)
    with pytest.raises(NonFiniteError):
        pivoted_cholesky(Rbf(1.0), X, 5, rng=np.random.default_rng(0))


def test_threads_do_not_change_a_product(many_threads):
    X = np.random.default_rng(0).standard_normal((700, 3))
    V = np.random.default_rng(1).standard_normal((700, 2))
    found = Centred.of_points(Rbf(1.0), X).gram(V)
    K = Rbf(1.0).between(X, X)
    np.testing.assert_allclose(found, centred(K) @ V, atol=1e-11)


# ---------------------------------------------------------------------------------------- Cholesky


def test_the_factor_is_that_of_cholesky_at_its_pivots():
    X = np.random.default_rng(0).standard_normal((300, 3))
    factor = pivoted_cholesky(Rbf(0.5), X, 60, rng=np.random.default_rng(1))
    K = Rbf(0.5).between(X, X)
    S = factor.pivots
    assert len(set(S)) == 60
    np.testing.assert_allclose(factor.L @ factor.L.T, K[np.ix_(S, S)], atol=1e-10)
    nystrom = K[:, S] @ np.linalg.solve(K[np.ix_(S, S)], K[S])
    np.testing.assert_allclose(factor.F @ factor.F.T, nystrom, atol=1e-8)
    assert factor.rest == pytest.approx(np.trace(K - nystrom), rel=1e-8)
    assert factor.trace == pytest.approx(300)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-8])
def test_the_tolerance_bounds_what_is_left(tol):
    X = np.random.default_rng(0).uniform(0, 1, (500, 2))
    factor = pivoted_cholesky(Rbf(1.0), X, 500, tol=tol, rng=np.random.default_rng(1))
    K = Rbf(1.0).between(X, X)
    assert np.trace(K - factor.F @ factor.F.T) <= (tol + 1e-12) * np.trace(K)
    assert len(factor.pivots) < 500


def test_a_kernel_of_low_rank_is_exhausted():
    X = np.random.default_rng(0).standard_normal((200, 3))
    factor = pivoted_cholesky(Polynomial(1.0, 1, 0.0), X, 150, rng=np.random.default_rng(1))
    assert len(factor.pivots) == 3
    np.testing.assert_allclose(factor.F @ factor.F.T, X @ X.T, atol=1e-10)


def test_the_factor_is_nearly_as_good_as_the_best_of_its_rank():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    best = np.sort(np.linalg.eigvalsh(Rbf(0.5).between(X, X)))[::-1]
    for k in (10, 20, 40):
        rest = np.mean([pivoted_cholesky(Rbf(0.5), X, k, rng=rng).rest for _ in range(10)])
        assert rest <= 6 * best[k:].sum()  # uniform pivots: 20 to 400


def test_drawing_in_blocks_is_drawing_one_by_one():
    """Of two equal points both are drawn often, and one is kept; shares follow what is left."""
    H = np.array([[1.0, 1.0], [1.0, 1.0]])
    for seed in range(20):
        assert list(_kept(H, np.ones(2), np.random.default_rng(seed))) == [0]
    H = np.array([[1.0, 0.8], [0.8, 1.0]])
    kept = [len(_kept(H, np.ones(2), np.random.default_rng(seed))) - 1 for seed in range(4000)]
    assert np.mean(kept) == pytest.approx(1 - 0.8**2, abs=0.03)


def test_single_precision_takes_half_the_memory():
    X = np.random.default_rng(0).standard_normal((300, 3)).astype(np.float32)
    factor = pivoted_cholesky(Rbf(0.5), X, 40, rng=np.random.default_rng(1), dtype=np.float32)
    assert factor.F.dtype == np.float32
    K = Rbf(0.5).between(X, X)
    S = factor.pivots
    nystrom = K[:, S] @ np.linalg.solve(K[np.ix_(S, S)], K[S])
    np.testing.assert_allclose(factor.F @ factor.F.T, nystrom, atol=1e-5)
