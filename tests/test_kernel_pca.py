"""KernelPCA: equal to its definition, to scikit-learn and to itself on every route."""

import warnings

import numpy as np
import pytest
from hostile import table
from scipy import sparse
from scipy.optimize import linprog
from sklearn import decomposition
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Perceptron
from sklearn.metrics import pairwise

import eigenlens
from eigenlens import PCA, KernelPCA
from eigenlens.ops.half import Centred
from eigenlens.ops.kernels import Rbf
from eigenlens.solvers.kernel import _Negative

KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.2},
    "matern": {"gamma": 0.2},
    "laplacian": {"gamma": 0.2},
    "poly": {"gamma": 0.5, "degree": 2, "coef0": 1.0},
    "cosine": {},
}


def rows(n=120, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * np.linspace(2, 0.5, d) + 1


def same_up_to_sign(A, B, **how):
    signs = np.sign(np.sum(A * B, axis=0))
    np.testing.assert_allclose(A, B * signs, **how)


# --------------------------------------------------------------------------------- what it finds


def test_out_of_sample_formula_is_linear_pca_in_an_explicit_feature_space():
    """``(x'y + 1)^2`` is the product of all monomials up to degree 2, rightly weighted."""

    def features(X):
        d = X.shape[1]
        i, j = np.triu_indices(d, 1)
        pairs = np.sqrt(2) * X[:, i] * X[:, j]
        return np.hstack([np.ones((len(X), 1)), np.sqrt(2) * X, X**2, pairs])

    X, new = rows(), rows(30, seed=1)
    model = KernelPCA(4, kernel="poly", gamma=1.0, degree=2, coef0=1.0).fit(X)
    linear = PCA(4).fit(features(X))
    same_up_to_sign(model.transform(new), linear.transform(features(new)), atol=1e-9)
    same_up_to_sign(model.transform(X), linear.transform(features(X)), atol=1e-9)
    ratio = linear.explained_variance_ratio_
    np.testing.assert_allclose(model.explained_variance_ratio_, ratio, atol=1e-12)


def test_minus_an_operator_is_formed_as_it_multiplies():
    K = Centred.of_points(Rbf(0.1), rows(20))
    V = np.random.default_rng(0).standard_normal((20, 3))
    expected = -K.gram(V)
    np.testing.assert_allclose(_Negative(K).gram(V), expected)
    np.testing.assert_allclose(_Negative(K).formed() @ V, expected, atol=1e-12)


@pytest.mark.parametrize("solver", ["dense", "arpack", "randomized"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_eigenpairs_and_scores_are_those_of_scikit_learn(kernel, solver):
    X, new = rows(), rows(30, seed=1)
    model = KernelPCA(3, kernel=kernel, eigen_solver=solver, **KERNELS[kernel]).fit(X)
    assert model.objective_history_[-1] == pytest.approx(model.eigenvalues_.sum())
    if kernel in ("matern", "laplacian"):  # which scikit-learn's KernelPCA does not know by name
        between = pairwise_matern if kernel == "matern" else pairwise_laplacian
        peer = decomposition.KernelPCA(3, kernel="precomputed").fit(between(X, X))
        expected = peer.transform(between(new, X))
    else:
        peer = decomposition.KernelPCA(3, kernel=kernel, **KERNELS[kernel]).fit(X)
        expected = peer.transform(new)
    np.testing.assert_allclose(model.eigenvalues_, peer.eigenvalues_, rtol=1e-9)
    same_up_to_sign(model.eigenvectors_, peer.eigenvectors_, atol=1e-8)
    same_up_to_sign(model.transform(new), expected, atol=1e-7)
    assert model.certificate_.holds
    scores = model.transform(X)
    np.testing.assert_allclose(model.explained_variance_, scores.var(axis=0, ddof=1), rtol=1e-8)


def pairwise_matern(X, Y):
    from sklearn.gaussian_process.kernels import Matern

    return Matern(length_scale=(2 * 0.2) ** -0.5, nu=2.5)(X, Y)


def pairwise_laplacian(X, Y):
    return pairwise.laplacian_kernel(X, Y, gamma=0.2)


@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_rows_of_the_fit_land_on_their_scores(solver):
    X = rows(1000, 4)
    model = KernelPCA(60, kernel="rbf", gamma=0.05, eigen_solver=solver).fit(X)
    clear = model.eigenvalues_ > 1e-8 * model.eigenvalues_[0]
    assert clear.sum() > 40
    error = np.abs(model.transform(X) - model.eigenvectors_ * np.sqrt(model.eigenvalues_))
    assert error[:, clear].max() <= 1e-8 * np.sqrt(model.eigenvalues_[0])


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_precomputed_and_callable_agree_with_the_name(kernel):
    X, new = rows(), rows(30, seed=1)
    options = KERNELS[kernel]
    named = KernelPCA(3, kernel=kernel, **options).fit(X)

    def function(x, y, scale):
        if kernel == "rbf":
            return np.exp(-scale * np.sum((x - y) ** 2))
        return (scale * x @ y + 1.0) ** 2

    called = KernelPCA(3, kernel=function, kernel_params={"scale": options["gamma"]}).fit(X)
    peer = {"rbf": pairwise.rbf_kernel, "poly": pairwise.polynomial_kernel}[kernel]
    given = KernelPCA(3, kernel="precomputed").fit(peer(X, X, **options))
    for other, there in ((called, new), (given, peer(new, X, **options))):
        np.testing.assert_allclose(other.eigenvalues_, named.eigenvalues_, rtol=1e-11)
        np.testing.assert_allclose(other.transform(there), named.transform(new), atol=1e-10)


def test_sparse_rows_are_the_same():
    X = rows()
    X[np.abs(X) < 0.8] = 0.0
    for kernel, options in KERNELS.items():
        dense = KernelPCA(3, kernel=kernel, **options).fit(X)
        thin = KernelPCA(3, kernel=kernel, **options).fit(sparse.csr_array(X))
        np.testing.assert_allclose(dense.eigenvalues_, thin.eigenvalues_, rtol=1e-10)
        np.testing.assert_allclose(
            dense.transform(X), thin.transform(sparse.csr_array(X)), atol=1e-9
        )


def test_a_fraction_of_the_variance():
    X = rows(900, 4)
    for solver in ("dense", "arpack"):
        model = KernelPCA(0.9, kernel="rbf", gamma=0.1, eigen_solver=solver).fit(X)
        share = np.cumsum(model.explained_variance_ratio_)
        assert share[-1] > 0.9 >= share[-2]
    everything = KernelPCA(kernel="rbf", gamma=0.1).fit(X)
    assert everything.explained_variance_ratio_.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_gamma_by_name(gamma):
    X = rows(200, 4)
    model = KernelPCA(2, kernel="rbf", gamma=gamma, random_state=0).fit(X)
    apart = pairwise.euclidean_distances(X, squared=True)[np.triu_indices(200, 1)]
    expected = {"scale": 1 / (4 * X.var()), "median": 1 / np.median(apart)}[gamma]
    assert model.gamma_ == pytest.approx(expected)
    other = KernelPCA(2, kernel="rbf", gamma=gamma, random_state=0).fit(sparse.csr_array(X))
    assert other.gamma_ == pytest.approx(expected)


def test_solver_by_size():
    X = rows(1000, 3)
    assert KernelPCA(2, kernel="rbf").fit(X).solver_ == "arpack"
    assert KernelPCA(2, kernel="rbf").fit(X[:300]).solver_ == "dense"
    assert KernelPCA(kernel="rbf", gamma=1e-3).fit(X).solver_ == "dense"


def test_no_more_memory_than_half_a_kernel(tmp_path):
    """The iterative route reads half the kernel and has no copy of it."""
    import tracemalloc

    X = rows(3000, 5)
    KernelPCA(2, kernel="rbf").fit(X[:900])
    tracemalloc.start()
    KernelPCA(2, kernel="rbf", gamma=0.01, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.75 * 8 * 3000**2


# -------------------------------------------------------------------------------------- landmarks


def test_scores_on_landmarks_are_exact_projections():
    """What the axes capture, taken from the kernel itself, is what the eigenvalues say."""
    X = rows(600, 3)
    model = KernelPCA(
        5, kernel="rbf", gamma=0.3, approximation="nystrom", n_landmarks=40, random_state=0
    ).fit(X)
    W, P = model.axes_.weights, model.X_fit_
    lengths = W.T @ pairwise.rbf_kernel(P, P, gamma=0.3) @ W
    np.testing.assert_allclose(lengths, np.eye(5), atol=1e-8)
    scores = model.transform(X)
    np.testing.assert_allclose(scores, model.fit_transform(X), atol=1e-7)
    np.testing.assert_allclose(np.sum(scores**2, axis=0), model.eigenvalues_, rtol=1e-7)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("landmarks", [20, 60, 0.01])
def test_the_bound_on_what_landmarks_miss_holds(landmarks):
    X = rows(600, 3)
    exact = KernelPCA(5, kernel="rbf", gamma=0.3).fit(X)
    model = KernelPCA(
        5, kernel="rbf", gamma=0.3, approximation="nystrom", n_landmarks=landmarks, random_state=0
    ).fit(X)
    found, best = model.eigenvalues_.sum(), exact.eigenvalues_.sum()
    assert found <= best * (1 + 1e-12)
    assert best <= found + model.certificate_.value * model.total_variance_ * 599
    assert model.total_variance_ >= exact.total_variance_ * (1 - 1e-12)
    if landmarks == 0.01:
        assert model.certificate_.holds
        assert model.certificate_.value <= 0.0101
        assert len(model.landmarks_) < 300


def test_enough_landmarks_give_the_exact_answer():
    X, new = rows(400, 3), rows(50, 3, seed=1)
    exact = KernelPCA(4, kernel="rbf", gamma=0.05).fit(X)
    model = KernelPCA(
        4, kernel="rbf", gamma=0.05, approximation="nystrom", n_landmarks=1e-9, random_state=0
    ).fit(X)
    assert len(model.X_fit_) < 200
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-6)
    same_up_to_sign(model.transform(new), exact.transform(new), atol=1e-4)


def test_landmarks_by_default_and_in_single_precision():
    X = rows(1500, 4).astype(np.float32)
    model = KernelPCA(3, kernel="rbf", approximation="nystrom", random_state=0).fit(X)
    assert 500 < len(model.landmarks_) <= 1000  # fewer leave nothing that float32 can see
    assert model.eigenvectors_.dtype == model.transform(X).dtype == np.float32
    exact = KernelPCA(3, kernel="rbf").fit(X.astype(np.float64))
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-3)


# ---------------------------------------------------------------------------------- the lectures


def test_circles_are_separated_by_a_line():
    X, y = make_circles(400, factor=0.3, noise=0.05, random_state=0)
    assert Perceptron(max_iter=20).fit(X, y).score(X, y) < 0.8
    scores = KernelPCA(2, kernel="rbf", gamma=2.0).fit_transform(X)
    assert Perceptron(max_iter=20).fit(scores, y).score(scores, y) == 1.0


def separated(scores, y):
    """Whether a line separates the scores of any two classes: some w, b with y (w'x + b) >= 1."""
    for a, b in ((0, 1), (0, 2), (1, 2)):
        some = (y == a) | (y == b)
        rows = np.c_[scores[some] / scores.std(), np.ones(some.sum())]
        sign = np.where(y[some] == a, 1.0, -1.0)
        ones = np.ones(some.sum())
        found = linprog(np.zeros(3), A_ub=-sign[:, None] * rows, b_ub=-ones, bounds=(None, None))
        if not found.success:
            return False
    return True


def test_the_rings_of_the_lecture_are_separated_by_lines():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 150)
    t, r = rng.uniform(0, 2 * np.pi, 450), np.repeat([1.0, 2.8, 5.0], 150)
    X = np.c_[r * np.cos(t), r * np.sin(t)] + 0.25 * rng.standard_normal((450, 2))
    assert not separated(X, y)

    def custom(x, y):  # of the features x_1, x_2 and |x|^2
        return x @ y + (x @ x) * (y @ y)

    assert separated(KernelPCA(2, kernel=custom).fit_transform(X), y)
    squares = (X**2).sum(axis=1)
    K = X @ X.T + np.outer(squares, squares)
    assert separated(KernelPCA(2, kernel="precomputed").fit_transform(K), y)
    for gamma, right in ((0.01, False), (0.2, True), (2.0, False)):
        scores = KernelPCA(2, kernel="rbf", gamma=gamma).fit_transform(X)
        assert separated(scores, y) == right


# -------------------------------------------------------------------------- kernels that are none


def test_negative_eigenvalues_are_reported():
    X = rows(100, 3)
    with pytest.warns(UserWarning, match="not positive definite"):
        model = KernelPCA(kernel="sigmoid", gamma=1.0).fit(X)
    K = pairwise.sigmoid_kernel(X, gamma=1.0)
    values = np.linalg.eigvalsh(K - K.mean(0) - K.mean(0)[:, None] + K.mean())
    assert model.smallest_eigenvalue_ == pytest.approx(values[0])
    assert (model.eigenvalues_ > 0).all()
    assert len(model.eigenvalues_) <= np.sum(values > 0)
    most = len(model.eigenvalues_)
    with pytest.raises(ValueError, match=f"negative eigenvalues.* Ask for at most {most}, or"):
        KernelPCA(99, kernel="sigmoid", gamma=1.0).fit(X)


def test_negative_eigenvalues_of_a_large_kernel_are_found_by_iteration():
    X = rows(1000, 3)
    with pytest.warns(UserWarning, match="not positive definite"):
        model = KernelPCA(2, kernel="sigmoid", gamma=1.0, random_state=0).fit(X)
    assert model.solver_ == "arpack"
    K = pairwise.sigmoid_kernel(X, gamma=1.0)
    values = np.linalg.eigvalsh(K - K.mean(0) - K.mean(0)[:, None] + K.mean())
    assert values[0] <= model.smallest_eigenvalue_ <= 0.9 * values[0]


def test_a_matrix_that_is_not_symmetric_is_said_to_be_none():
    K = pairwise.rbf_kernel(rows(30)) + np.eye(30)
    K[0, 5] += 0.5
    with pytest.warns(UserWarning, match="not symmetric"):
        model = KernelPCA(2, kernel="precomputed").fit(K)
    mean = KernelPCA(2, kernel="precomputed").fit((K + K.T) / 2)
    np.testing.assert_array_equal(model.eigenvalues_, mean.eigenvalues_)


@pytest.mark.parametrize(
    ("options", "X", "error", "words"),
    [
        ({"gamma": 0.0}, rows(), ValueError, "gamma"),
        ({"gamma": -1.0}, rows(), ValueError, "gamma"),
        ({"kernel": "precomputed"}, rows(), ValueError, "square matrix"),
        ({"kernel": lambda x, y: np.nan}, rows(20), ValueError, "gives NaN or inf"),
        ({"kernel": "precomputed", "preimage": "auto"}, np.eye(5), ValueError, "rows themselves"),
        (
            {"kernel": "precomputed", "approximation": "nystrom"},
            np.eye(5),
            ValueError,
            "rows themselves",
        ),
        (
            {"kernel": "sigmoid", "approximation": "nystrom"},
            rows(),
            ValueError,
            "positive definite",
        ),
        (
            {"kernel": lambda x, y: -x @ y, "approximation": "nystrom"},
            rows(20),
            ValueError,
            "positive definite",
        ),
        (
            {"kernel": lambda x, y: np.abs(x - y).sum() + 1, "approximation": "nystrom"},
            rows(20),
            ValueError,
            "positive definite",
        ),
        ({"kernel": "precomputed", "gamma": "scale"}, np.eye(5), ValueError, "rows themselves"),
        ({"kernel": "laplacian", "preimage": "fixed_point"}, rows(), ValueError, "learned"),
        ({"preimage": "auto"}, sparse.csr_array(rows()), NotImplementedError, "toarray"),
        ({"n_landmarks": 1.5}, rows(), ValueError, "n_landmarks"),
        ({"kernel": "rfb"}, rows(), ValueError, "kernel"),
    ],
)
def test_bad_input_gets_one_clear_error(options, X, error, words):
    with pytest.raises(error, match=words):
        KernelPCA(**options).fit(X)


def test_fewer_rows_than_components_are_said_to_be_few():
    with pytest.warns(UserWarning, match="n_components=9 is more than the 6 rows"):
        model = KernelPCA(9, kernel="rbf").fit(rows(6))
    assert model.transform(rows(6)).shape == (6, 6)


@pytest.mark.parametrize(
    "options", [{}, {"approximation": "nystrom"}, {"preimage": "learned"}, {"preimage": "auto"}]
)
def test_equal_rows_are_said_to_be_equal(options):
    with pytest.warns(UserWarning, match="equal in the feature space"):
        model = KernelPCA(2, kernel="rbf", **options).fit(np.ones((10, 3)))
    np.testing.assert_array_equal(model.transform(np.ones((4, 3))), 0.0)
    if "preimage" in options:
        np.testing.assert_allclose(model.denoise(np.ones((4, 3))), 1.0, atol=1e-12)


def test_the_way_back_from_no_components():
    """Every row is one point, whose pre-image is a ridge's: n / (n + alpha) of the rows."""
    for kernel in ("rbf", "laplacian"):
        model = KernelPCA(2, kernel=kernel, remove_zero_eig=True, fit_inverse_transform=True)
        with pytest.warns(UserWarning, match="equal in the feature space"):
            scores = model.fit_transform(np.ones((6, 3)))
        assert scores.shape == (6, 0)
        np.testing.assert_allclose(model.inverse_transform(scores), 6 / 7, rtol=1e-12)


def test_a_fraction_of_no_variance_is_one_component():
    with pytest.warns(UserWarning, match="equal in the feature space"):
        model = KernelPCA(0.5, kernel="cosine").fit(np.outer([1.0, 2.0, 3.0], [1.0, 1.0]))
    assert model.eigenvalues_.tolist() == [0.0]


def test_equal_rows_are_not_said_to_be_few_landmarks_too():
    X = np.full((5, 2), 1e-15, dtype=np.float32)
    X[2, 0] = 1e-12
    options = {"kernel": "matern", "gamma": 1e-9, "approximation": "nystrom", "random_state": 0}
    with pytest.warns(UserWarning, match="equal in the feature space") as heard:
        KernelPCA(0.99, **options).fit(X)
    assert len(heard) == 1


def test_variances_beside_large_numbers_are_not_more_than_all():
    """Of a sparse table no mean is taken off: the kernel is rounded to what the columns vary by."""
    X = np.full((5, 3), 1e16)
    X[:, 2] += [0, 10e8, 1e8, 14e8, -6e8]
    model = KernelPCA(0.99, eigen_solver="dense").fit(sparse.csr_array(X))
    assert 0 < model.explained_variance_ratio_.sum() <= 1 + 1e-12


def test_scores_that_single_precision_cannot_hold_are_refused():
    X = np.array([[1e15, 1.0], [2e15, 3.0], [-1e15, 2.0], [0.0, 9.0]], np.float32)
    model = KernelPCA(1, kernel="poly", gamma=1e9)
    with pytest.raises(ValueError, match=r"overflow float32\. Divide X by a constant"):
        model.fit(X).transform(X)
    assert np.isfinite(model.fit(X.astype(float)).transform(X.astype(float))).all()


def test_a_fit_cut_short_says_so():
    X = rows(1000, 20)
    with pytest.warns(ConvergenceWarning, match="eigen_solver='dense'"):
        model = KernelPCA(4, kernel="rbf", eigen_solver="arpack", max_iter=5).fit(X)
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPCA(4, kernel="rbf", eigen_solver="randomized", iterated_power=2).fit(X)


# ---------------------------------------------------------------------------------- the way back


def test_scikit_learns_inverse_is_kept():
    X, new = rows(), rows(30, seed=1)
    options = {"kernel": "rbf", "gamma": 0.3, "fit_inverse_transform": True, "alpha": 0.1}
    model, peer = KernelPCA(3, **options).fit(X), decomposition.KernelPCA(3, **options).fit(X)
    scores = peer.transform(new)
    same = np.sign(np.sum(model.eigenvectors_ * peer.eigenvectors_, axis=0))
    np.testing.assert_allclose(
        model.inverse_transform(scores * same), peer.inverse_transform(scores), atol=1e-7
    )
    np.testing.assert_allclose(model.dual_coef_, peer.dual_coef_, atol=1e-6)


def test_without_a_way_back_it_says_how_to_get_one():
    X = rows()
    model = KernelPCA(2, kernel="rbf").fit(X)
    for method in (model.inverse_transform, model.denoise):
        table = X[:, :2] if method == model.inverse_transform else X
        with pytest.raises(NotFittedError, match="preimage='auto'"):
            method(table)


@pytest.mark.parametrize("way", ["fixed_point", "distance"])
def test_the_linear_kernel_comes_back_like_pca(way):
    X, new = rows(), rows(20, seed=1)
    model, pca = KernelPCA(3, preimage=way).fit(X), PCA(3).fit(X)
    expected = pca.inverse_transform(pca.transform(new))
    tolerance = 1e-8 if way == "fixed_point" else 0.5
    np.testing.assert_allclose(model.denoise(new), expected, atol=tolerance)
    scores = model.transform(new)
    if way == "fixed_point":
        np.testing.assert_allclose(model.inverse_transform(scores), expected, atol=1e-8)


@pytest.mark.parametrize("way", ["fixed_point", "learned", "distance"])
@pytest.mark.parametrize("approximation", [None, "nystrom"])
def test_points_of_a_curve_come_back_to_it(way, approximation):
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 2 * np.pi, 400)
    X = np.c_[np.cos(t), np.sin(t)] + 0.02 * rng.standard_normal((400, 2))
    model = KernelPCA(
        6,
        kernel="rbf",
        gamma=1.0,
        preimage=way,
        approximation=approximation,
        n_landmarks=100 if approximation else None,
        random_state=0,
    ).fit(X)
    s = rng.uniform(0, 2 * np.pi, 60)
    circle = np.c_[np.cos(s), np.sin(s)]
    back = model.inverse_transform(model.transform(circle))
    assert np.sqrt(np.mean((back - circle) ** 2)) < 0.05
    if way == "learned":  # the regression takes what it has not seen where the scores say
        return
    noisy = circle * (1 + 0.1 * rng.standard_normal((60, 1)))
    clean = np.linalg.norm(model.denoise(noisy), axis=1)
    assert np.std(clean) < 0.6 * np.std(np.linalg.norm(noisy, axis=1))


def test_learned_serves_any_kernel():
    X, new = rows(300, 3), rows(40, 3, seed=1)
    for kernel in ("laplacian", lambda x, y: np.exp(-0.1 * np.abs(x - y).sum())):
        model = KernelPCA(20, kernel=kernel, gamma=0.1, preimage="auto", random_state=0).fit(X)
        back = model.inverse_transform(model.transform(new))
        assert np.mean((back - new) ** 2) < 0.3 * new.var()


def test_many_rows_come_back_some_at_a_time(monkeypatch):
    X = rows()
    model = KernelPCA(3, kernel="rbf", gamma=0.1, preimage="fixed_point").fit(X)
    whole = model.denoise(X), model.inverse_transform(model.transform(X))
    monkeypatch.setattr("eigenlens.estimators.kernel_pca.CHUNK", 1)
    np.testing.assert_allclose(model.denoise(X), whole[0], atol=1e-6)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), whole[1], atol=1e-6)


def test_a_saved_model_comes_back_alike(tmp_path):
    X = rows()
    for options in (
        {"preimage": "learned"},
        {"preimage": "fixed_point"},
        {"approximation": "nystrom", "n_landmarks": 30, "preimage": "auto"},
    ):
        model = KernelPCA(3, kernel="rbf", random_state=0, **options).fit(X)
        eigenlens.save(model, tmp_path / "model.skops")
        again = eigenlens.load(tmp_path / "model.skops")
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
        np.testing.assert_array_equal(again.denoise(X), model.denoise(X))


# ------------------------------------------------------------------------- rows of every kind


def outlying(size, n=200):
    """Draw rows of which one is far from all others."""
    X = np.random.default_rng(0).standard_normal((n, 3))
    return np.vstack([X, [[size, 0, 0]]])


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_rows_for_a_dense_fit(kernel, form):
    X = rows()
    model = KernelPCA(2, kernel=kernel, preimage="auto", **KERNELS[kernel]).fit(X)
    np.testing.assert_allclose(model.transform(form(X)), model.transform(X), atol=1e-9)
    np.testing.assert_allclose(model.denoise(form(X)), model.denoise(X), atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "matern"])
@pytest.mark.parametrize("size", [1e6, 1e8, 1e10])
def test_an_outlier_costs_no_digits(kernel, size):
    X = outlying(size)
    near = KernelPCA(3, kernel=kernel, gamma=1.0).fit(outlying(1e4))
    far = KernelPCA(3, kernel=kernel, gamma=1.0).fit(X)
    np.testing.assert_allclose(far.eigenvalues_, near.eigenvalues_, rtol=1e-10)
    some = KernelPCA(
        3, kernel=kernel, gamma=1.0, approximation="nystrom", n_landmarks=201, random_state=0
    ).fit(X)
    np.testing.assert_allclose(some.eigenvalues_, near.eigenvalues_, rtol=1e-6)


def test_narrow_kernels_of_far_rows_have_a_diagonal_of_ones():
    X = 1e3 * rows(50, 3)
    model = KernelPCA(2, kernel="rbf", gamma=1e10).fit(X)
    assert model.total_variance_ == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_learned_pre_images_of_awkward_scores(seed):
    rng = np.random.default_rng(seed)
    binary = rng.integers(0, 2, (200, 1)).astype(float)
    for X, options in (
        (outlying(1e6)[:, :2], {}),
        (100 * rng.standard_normal((200, 6)), {"kernel": "laplacian"}),
        (binary, {}),
        (binary + 1, {"kernel": "rbf"}),
    ):
        model = KernelPCA(1, preimage="learned", random_state=seed, **options).fit(X)
        assert np.isfinite(model.inverse_transform(model.transform(X))).all()
    np.testing.assert_allclose(model.denoise(binary + 1), binary + 1, atol=0.01)


def test_the_median_of_mostly_equal_rows_is_not_rounding():
    X = np.vstack([np.zeros((150, 3)), 1e4 * rows(20, 3)])
    gammas = [
        KernelPCA(2, kernel="rbf", gamma="median", random_state=0).fit(X + shift).gamma_
        for shift in (0.0, 0.1, 1.0, 3.3)
    ]
    np.testing.assert_allclose(gammas, gammas[0], rtol=1e-6)
    assert gammas[0] < 1e-6


@pytest.mark.parametrize("options", [{"kernel": "cosine"}, {"kernel": "poly", "degree": 2}])
def test_distances_that_a_kernel_does_not_tell(options):
    with pytest.raises(ValueError, match="Take 'fixed_point'"):
        KernelPCA(2, preimage="distance", **options).fit(rows())


def test_far_rows_come_back_whole_with_a_linear_kernel():
    X = rows()
    model, pca = KernelPCA(2, preimage="auto").fit(X), PCA(2).fit(X)
    far = np.array([[0, 0, 1e4, 0, 0], [1e9, 0, 0, 0, 1e9]])
    found, status = model.denoise(far, return_status=True)
    np.testing.assert_allclose(found, pca.inverse_transform(pca.transform(far)), rtol=1e-7)
    assert (status == "converged").all()


def test_an_outlier_does_not_stop_the_search():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 2 * np.pi, 200)
    ring = np.c_[np.cos(t), np.sin(t)] * (1 + 0.1 * rng.standard_normal((200, 1)))
    options = {"kernel": "rbf", "gamma": 1.0, "preimage": "auto"}
    alone = KernelPCA(7, **options).fit(ring).denoise(ring)
    model = KernelPCA(8, **options).fit(np.vstack([ring, [[1e8, 0.0]]]))
    np.testing.assert_allclose(model.denoise(ring), alone, atol=0.1)
    assert np.abs(alone - ring).max() > 0.15


def test_scores_of_single_precision_whose_squares_it_cannot_hold():
    X = (1e18 * rows()).astype(np.float32)
    model = KernelPCA(2)
    scores = model.fit_transform(X)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, model.transform(X), rtol=1e-4, atol=1e14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_landmarks_of_rows_with_a_large_mean(dtype):
    X = (rows() + 1000).astype(dtype)
    exact = KernelPCA(2).fit(X)
    model = KernelPCA(2, approximation="nystrom", random_state=0).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-5)
    same_up_to_sign(model.transform(X), exact.transform(X), atol=1e-2)


def test_too_few_landmarks_are_said_to_be_few():
    X = rows()
    options = {"kernel": "rbf", "approximation": "nystrom", "n_landmarks": 4, "random_state": 0}
    with pytest.warns(UserWarning, match="4 landmarks give 4 components, not n_components=10"):
        assert KernelPCA(10, **options).fit_transform(X).shape == (120, 4)
    with pytest.warns(UserWarning, match=r"of the variance, not n_components=0\.99"):
        KernelPCA(0.99, **options).fit(X)


def test_images_that_are_all_zero():
    for kernel in ("linear", "cosine"):
        with pytest.warns(UserWarning, match="equal in the feature space"):
            model = KernelPCA(2, kernel=kernel, approximation="nystrom").fit(np.zeros((20, 3)))
        assert model.transform(np.zeros((4, 3))).shape == (4, 2)


def test_a_negative_definite_matrix_has_no_components():
    X = rows(60, 3)
    with pytest.raises(ValueError, match="significant negative eigenvalues"):
        KernelPCA(60, kernel="precomputed").fit(-X @ X.T)
    two = [[-2.00083403, -0.00224611], [-1.72235814, 0.00933186]]
    with pytest.raises(ValueError, match=r"asked for none exist. Take another kernel, such as"):
        KernelPCA(2, kernel="sigmoid").fit(two)


def test_rounding_does_not_make_a_kernel_indefinite():
    X = rows()
    KernelPCA(3, kernel="cosine").fit(X + 1e6)  # warnings are errors here
    KernelPCA(3, kernel="rbf", gamma=1e-15).fit(X)
    KernelPCA(3, kernel="poly").fit(X + 1e5)


def test_shares_of_a_kernel_that_is_not_definite_add_up_to_one():
    with pytest.warns(UserWarning, match="not positive definite"):
        model = KernelPCA(kernel="sigmoid", gamma=1.0).fit(rows(100, 3))
    assert model.explained_variance_ratio_.sum() == pytest.approx(1.0)
    with pytest.warns(UserWarning, match="not positive definite"):
        part = KernelPCA(0.9, kernel="sigmoid", gamma=1.0).fit(rows(100, 3))
    assert part.explained_variance_ratio_.sum() > 0.9


@pytest.mark.parametrize("solver", ["dense", "arpack", "randomized"])
def test_a_trace_beyond_all_numbers_is_named(solver):
    """Centred rows have small sums whatever their size, so that these do not tell."""
    X = 1.25e154 * np.array([[1.0], [-0.5], [-0.5]])
    with pytest.raises(ValueError, match="gives NaN or inf"):
        KernelPCA(1, eigen_solver=solver).fit(X)
    assert np.isfinite(KernelPCA(1, eigen_solver=solver).fit(X / 10).eigenvalues_).all()


def test_a_kernel_that_is_not_a_number_for_some_rows():
    with pytest.raises(ValueError, match="gives NaN or inf"):
        KernelPCA(
            2, kernel="poly", degree=1.5, coef0=0, approximation="nystrom", random_state=0
        ).fit(rows())


def test_huge_rows_converge():
    assert KernelPCA(2).fit(1e120 * rows()).converged_


# ------------------------------------------------------------------- tables at the edge of numbers


def test_way_back_where_alpha_is_rounded_away():
    X = 1e13 * rows()
    model = KernelPCA(2, fit_inverse_transform=True).fit(X)
    back = model.inverse_transform(model.transform(X))
    plane = PCA(2).fit(X)
    nearest = plane.inverse_transform(plane.transform(X))
    # the way back is linear and has no mean
    np.testing.assert_allclose(back, nearest - X.mean(axis=0), rtol=0, atol=1e-12 * np.abs(X).max())


def test_counts_that_are_none():
    with pytest.raises(ValueError, match="compares counts"):
        KernelPCA(2, kernel="chi2").fit(rows())
    with pytest.raises(ValueError, match=r"compares counts, which scores are not\. Take preimage"):
        KernelPCA(2, kernel="chi2", fit_inverse_transform=True).fit(np.abs(rows()))


def test_read_only_rows_of_a_kernel_of_scikit_learn():
    X = np.abs(rows())
    expected = KernelPCA(2, kernel="chi2").fit_transform(X)
    X.setflags(write=False)
    np.testing.assert_array_equal(KernelPCA(2, kernel="chi2").fit_transform(X), expected)


def test_eigenvalues_beyond_single_precision():
    X = (1e25 * rows()).astype(np.float32)
    model = KernelPCA(2).fit(X)
    expected = KernelPCA(2).fit(X.astype(np.float64)).eigenvalues_
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-5)
    assert model.transform(X).dtype == np.float32


def test_scores_whose_kernel_overflows_are_named():
    """The kernel of the rows is finite, that of their scores is not."""
    X = np.array([[1e16, 1.0], [1e16, 2e16]])
    with pytest.raises(ValueError, match=r"'poly' gives NaN or inf there. Take preimage='learned'"):
        KernelPCA(kernel="poly", gamma=1e9, fit_inverse_transform=True).fit(X)


@pytest.mark.parametrize("shape", [(20, 5), (7, 24)])  # of the other, a row is drawn twice
def test_landmarks_whose_distances_to_themselves_are_rounding(shape):
    """Squares beside 1e29 are rounded to 1e42: a row may be far from itself."""
    X = table(
        shape=shape, rank=min(shape), noise=0.0, decades=0, mean=0.0, spread=100, twice="",
        constant=0, odd="", dtype="float64", seed=0, least=None, container="C",
    )  # fmt: skip
    model = KernelPCA(kernel="rbf", approximation="nystrom", random_state=0).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, 1.0, rtol=1e-12)  # each row is alone


@pytest.mark.parametrize("n", [60, 200])
def test_few_components_by_lapack_are_the_first_of_all(n):
    X = rows(n)
    few = KernelPCA(3, kernel="rbf", eigen_solver="dense").fit(X)
    every = KernelPCA(kernel="rbf", eigen_solver="dense").fit(X)
    np.testing.assert_allclose(few.eigenvalues_, every.eigenvalues_[:3], rtol=1e-12)
    same_up_to_sign(few.transform(X), every.transform(X)[:, :3], atol=1e-9)
    # also that none is missing, which the variance that is left would not say of equal ones
    far = KernelPCA(3, kernel="rbf", gamma=1e5, eigen_solver="dense").fit(X)
    for model in (few, far):
        assert model.certificate_.holds
        assert str(model.certificate_).startswith("error of a variance")
