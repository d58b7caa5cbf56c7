"""Sparse PCA by an l1 penalty: descent, optimality, closed forms, planted supports, the class."""

import inspect
import warnings

import numpy as np
import pytest
import sklearn.decomposition
from real_data import real_file
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from eigenlens import PCA, SparsePCA
from eigenlens.measure import align
from eigenlens.ops.lasso import lasso_rows, score_columns
from eigenlens.solvers import sparse_l1
from eigenlens.solvers.penalties import Lasso

SHAPES = {"tall": (60, 12), "wide": (15, 40), "square": (20, 20), "one column": (9, 1)}


def table(n, d, seed=0):
    """Centred rows with three factors on variables of their own, and noise."""
    rng = np.random.default_rng(seed)
    loadings = np.zeros((3, d))
    for factor, variables in zip(loadings, np.array_split(np.arange(d), 3), strict=True):
        factor[variables] = 1
    strength = np.array([3.0, 2.0, 1.5])
    X = (rng.standard_normal((n, 3)) * strength) @ loadings + 0.5 * rng.standard_normal((n, d))
    return X - X.mean(axis=0)


def spikes(seed, n=200, d=500):
    """Rows with three directions of 10 variables each, of variance 16, 8 and 4 over noise of 1."""
    rng = np.random.default_rng(seed)
    truth = np.zeros((3, d))
    truth[np.arange(3).repeat(10), rng.permutation(d)[:30]] = 10**-0.5
    X = rng.standard_normal((n, d))
    return X + (rng.standard_normal((n, 3)) * np.sqrt([16, 8, 4])) @ truth, truth != 0


def objective(A, Y, D, alpha):
    return 0.5 * np.sum((A - Y @ D.T) ** 2) + np.sum(alpha * np.abs(D))


# ------------------------------------------------------------------------------ real tables


def real(name):
    return np.load(real_file(name))["X"]


def test_objective_on_news_words():
    model = SparsePCA(20, alpha=2).fit(real("20news_w100.npz").astype(float))
    assert model.error_[-1] <= 17819.7708 * (1 + 1e-7)
    assert sum(model.n_nonzero_) == 111  # 5.6 %


def test_objective_on_faces():
    X = real("olivetti.npz") / 255
    X -= X.mean(axis=0)
    model = SparsePCA(6, alpha=0.8).fit(X - X.mean(axis=1, keepdims=True))
    assert model.error_[-1] <= 9782.8489 * (1 + 1e-7)


# ------------------------------------------------------------------------------ compiled loops


def lasso_twin(G, C, alpha, positive, sweeps=500):
    """Coordinate descent on all rows at once, without active sets."""
    D = np.zeros_like(C)
    for _ in range(sweeps):
        for a in range(len(G)):
            z = C[:, a] - D @ G[:, a] + G[a, a] * D[:, a]
            z = np.maximum(z, 0) if positive else z
            D[:, a] = np.sign(z) * np.maximum(np.abs(z) - alpha[a], 0) / G[a, a]
    return D


def scores_twin(H, B, Y, normalise, positive):
    Y = Y.copy()
    for a in np.flatnonzero(np.diag(H)):
        y = B[a] - H[a] @ Y + H[a, a] * Y[a]
        y = np.maximum(y, 0) if positive else y
        length = np.linalg.norm(y)
        Y[a] = y / (length if normalise else max(length, H[a, a]))
    return Y


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("warm", [False, True])
def test_lasso_loop_equals_its_twin(warm, positive):
    rng = np.random.default_rng(0)
    Y, C, alpha = rng.standard_normal((9, 5)), rng.standard_normal((30, 5)), np.arange(1, 6) / 5
    G = Y.T @ Y
    D = rng.standard_normal((30, 5)) if warm else np.zeros((30, 5))
    lasso_rows(G, C.copy(), alpha, D, 1e-14, 1000, positive)
    expected = lasso_twin(G, C, alpha, positive)
    np.testing.assert_allclose(D, expected, atol=1e-12)
    np.testing.assert_array_equal(D == 0, expected == 0)


def test_coordinates_that_reach_zero_together_stay_there():
    rng = np.random.default_rng(0)
    D = rng.uniform(0.5, 2.0, (500, 8))
    C = -rng.uniform(0.1, 3.0, (len(D), 1)) * D  # the same share of each way leads to zero
    C[:, 0] = 1.0
    lasso_rows(np.eye(8), C.copy(), np.zeros(8), D, 1e-12, 1000, True)
    np.testing.assert_allclose(D, np.maximum(C, 0.0), atol=1e-14)


def test_lasso_loop_leaves_a_direction_without_a_score_at_zero():
    D = np.zeros((2, 2))
    lasso_rows(np.diag([1.0, 0.0]), np.full((2, 2), 3.0), np.ones(2), D, 1e-14, 1000, False)
    np.testing.assert_array_equal(D, [[2, 0], [2, 0]])


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("normalise", [False, True])
def test_score_loop_equals_its_twin(normalise, positive):
    rng = np.random.default_rng(0)
    D, A = rng.standard_normal((8, 4)), rng.standard_normal((6, 8))
    D[:, 2] = 0
    Y = rng.standard_normal((4, 6))
    expected = scores_twin(D.T @ D, D.T @ A.T, Y, normalise, positive)
    score_columns(D.T @ D, D.T @ A.T, Y, normalise, positive)
    np.testing.assert_allclose(Y, expected, atol=1e-13)


def test_scores_whose_squares_vanish_are_in_the_unit_ball():
    Y = np.zeros((1, 3))
    score_columns(np.array([[1e-300]]), np.array([[3e-170, 4e-170, 0.0]]), Y, False, False)
    np.testing.assert_allclose(Y, [[0.6, 0.8, 0.0]])


# ------------------------------------------------------------------------------ the solver


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("k", [1, 3, 25])
@pytest.mark.parametrize("normalise", [False, True])
def test_objective_never_rises_and_is_what_it_says(shape, k, normalise):
    A = table(*shape)
    alpha = np.linspace(1, 2, k)
    found = sparse_l1.solve(A, k, alpha=alpha, normalise=normalise)
    history = found.objective_history
    assert np.diff(history).max(initial=0) <= 1e-12 * history[0]
    assert history[-1] == pytest.approx(objective(A, *found.factors, alpha), rel=1e-12)
    assert np.linalg.norm(found.factors[0], axis=0).max() <= 1 + 1e-12
    assert found.converged
    assert found.certificate.holds


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_optimality_at_the_answer(shape):
    """No subgradient differs from zero, and no feasible step of a score goes down."""
    A, alpha = table(*shape), 2.0
    found = sparse_l1.solve(A, 3, alpha=alpha, tol=1e-16, max_iter=20_000)
    Y, D = found.factors
    scale = np.abs(A.T @ Y).max()
    gradient = (Y @ D.T - A).T @ Y
    used = D != 0
    assert used.any()
    assert np.abs(gradient + alpha * np.sign(D))[used].max() <= 1e-7 * scale
    assert np.abs(gradient[~used]).max(initial=0) <= alpha + 1e-7 * scale
    # on the unit sphere, the gradient of a score points straight inwards
    down = (A - Y @ D.T) @ D
    along = np.einsum("ik,ik->k", down, Y)
    assert (along >= 0).all()
    assert np.abs(down - Y * along).max() <= 1e-7 * np.abs(A @ D).max()
    assert found.certificate.value <= 1e-7


def test_certificate_is_the_residual_of_loadings_or_of_scores():
    """Stopped after one step the loadings are off, with scores that are off by hand the scores."""
    A, alpha = table(60, 12), 2.0
    found = sparse_l1.solve(A, 3, alpha=alpha, max_iter=1)
    Y, D = found.factors
    gradient = (Y @ D.T - A).T @ Y
    at_zero = np.maximum(np.abs(gradient) - alpha, 0)
    distance = np.where(D != 0, np.abs(gradient + alpha * np.sign(D)), at_zero)
    assert found.certificate.value == pytest.approx(distance.max() / np.abs(A.T @ Y).max())
    turned = sparse_l1.solve(A, 3, alpha=alpha, start=(Y[::-1], D), max_iter=0)
    target = Y[::-1] + (A - Y[::-1] @ D.T) @ D / np.square(D).sum(axis=0)
    target /= np.maximum(1, np.linalg.norm(target, axis=0))
    step = np.linalg.norm(target - Y[::-1], axis=0).max()
    assert turned.certificate.value >= step * (1 - 1e-12) > 0.1


@pytest.mark.parametrize("alpha", [0.5, 2.0, 4.0, 9.0])
def test_closed_form_for_orthogonal_columns(alpha):
    """A column of length L costs alpha L - alpha^2 / 2, or L^2 / 2 if L is at most alpha."""
    lengths = np.array([8.0, 5.0, 3.0, 1.0])
    A = np.linalg.qr(np.random.default_rng(0).standard_normal((9, 4)))[0] * lengths
    found = sparse_l1.solve(A, 4, alpha=alpha)
    cost = np.where(lengths > alpha, alpha * lengths - alpha**2 / 2, lengths**2 / 2)
    assert found.objective_history[-1] == pytest.approx(cost.sum(), rel=1e-10)
    assert found.components.any(axis=1).sum() == (lengths > alpha).sum()
    assert found.largest_alpha == pytest.approx(8.0)


def test_without_a_penalty_it_is_pca():
    A = table(60, 12)
    found = sparse_l1.solve(A, 3, alpha=0.0)
    pca = PCA(3).fit(A)
    np.testing.assert_allclose(align(pca.components_, found.components).cosines, 1, atol=1e-12)
    rest = np.linalg.svd(A, compute_uv=False)[3:]
    assert found.objective_history[-1] == pytest.approx(0.5 * np.sum(rest**2), rel=1e-10)


def test_rows_can_be_compressed_exactly():
    A = table(200, 12)
    tall, small = (sparse_l1.solve(B, 5, alpha=3.0) for B in (A, np.linalg.qr(A, mode="r")))
    assert tall.n_iter == small.n_iter
    np.testing.assert_allclose(tall.objective_history, small.objective_history, rtol=1e-10)
    np.testing.assert_allclose(np.abs(tall.factors[1]), np.abs(small.factors[1]), atol=1e-8)


@pytest.mark.parametrize("shape", [(60, 12), (15, 40), (20, 20)])
@pytest.mark.parametrize("alpha", [0.3, 3.0])
@pytest.mark.parametrize("method", ["lars", "cd"])
def test_never_above_scikit_learn(shape, alpha, method):
    X = table(*shape) + 5
    peer = sklearn.decomposition.SparsePCA(4, alpha=alpha, method=method, random_state=0).fit(X)
    ours = SparsePCA(4, alpha=alpha).fit(X)
    assert ours.objective_history_[-1] <= peer.error_[-1] * (1 + 1e-9)
    np.testing.assert_allclose(ours.components_, peer.components_, atol=2e-3)
    np.testing.assert_allclose(ours.transform(X), peer.transform(X), atol=2e-2)


def test_unused_direction_finds_its_use():
    A = table(60, 12)
    nothing = np.zeros((60, 3)), np.zeros((12, 3))
    found = sparse_l1.solve(A, 3, alpha=2.0, start=nothing)
    best = sparse_l1.solve(A, 3, alpha=2.0)
    assert found.components.any(axis=1).all()
    assert found.objective_history[-1] <= 1.05 * best.objective_history[-1]


def test_unused_direction_stays_zero_only_where_no_score_could_use_it():
    A, alpha = table(30, 6), 4.0
    found = sparse_l1.solve(A, 12, alpha=alpha)
    Y, D = found.factors
    assert not found.components.any(axis=1).all()
    longest = np.linalg.norm(A - Y @ D.T, axis=0).max()
    assert longest <= alpha + 1e-2


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr(sparse_l1, "POOLED", 0)
    monkeypatch.setattr(sparse_l1, "BLOCK_BYTES", 1 << 12)
    A = table(40, 90)
    assert (
        len(sparse_l1._Descent(A, Lasso(np.ones(4)), sparse_l1._Within(False, False, None)).blocks)
        > 4
    )
    answers = []
    for count in (1, 4):
        with threadpool_limits(count):
            answers.append(sparse_l1.solve(A, 4, alpha=2.0))
    np.testing.assert_array_equal(answers[0].components, answers[1].components)
    monkeypatch.setattr(sparse_l1, "POOLED", np.inf)
    whole = sparse_l1.solve(A, 4, alpha=2.0)
    np.testing.assert_allclose(answers[0].components, whole.components, atol=1e-9)


def test_monitor_stops_the_descent():
    found = sparse_l1.solve(table(60, 12), 3, alpha=2.0, monitor=lambda objective: True)
    assert found.n_iter == 1
    assert not found.converged


@pytest.mark.parametrize("wanted", [1, 2, 4, 5, 12, [7, 3, 1]])
@pytest.mark.parametrize("seed", range(3))
def test_path_reaches_the_number_of_nonzeros(wanted, seed):
    found = sparse_l1.solve_nonzero(table(60, 12, seed), 3, n_nonzero=wanted)
    np.testing.assert_array_equal(
        np.count_nonzero(found.components, axis=1), np.broadcast_to(wanted, 3)
    )
    assert found.certificate.holds


def test_path_can_be_stopped():
    seen = []

    def monitor(value):
        seen.append(value)
        return len(seen) == 3

    out_of_reach = np.repeat(table(60, 1), 2, axis=1)
    sparse_l1.solve_nonzero(out_of_reach, 1, n_nonzero=1, monitor=monitor)
    assert len(seen) == 3


# ------------------------------------------------------------------------------ the estimator


def test_parameters_of_scikit_learn_come_first():
    theirs = list(inspect.signature(sklearn.decomposition.SparsePCA).parameters.values())
    ours = list(inspect.signature(SparsePCA).parameters.values())
    for mine, peer in zip(ours, theirs, strict=False):
        assert (mine.name, mine.default, mine.kind) == (peer.name, peer.default, peer.kind)
    assert all(extra.kind is extra.KEYWORD_ONLY for extra in ours[len(theirs) :])


def test_attributes_of_scikit_learn_are_there():
    X = table(60, 12)
    peer = sklearn.decomposition.SparsePCA(2, random_state=0).fit(X)
    ours = SparsePCA(2).fit(X)
    for name in (name for name in vars(peer) if name.endswith("_")):
        assert hasattr(ours, name), name
    assert isinstance(ours.error_, list)


def test_planted_supports_are_found():
    """In 95 % of the draws; of the first 50 it is 49."""
    found = 0
    for seed in range(20):
        X, truth = spikes(seed)
        model = SparsePCA(3, n_nonzero=10).fit(X)
        found += {tuple(row) for row in model.components_ != 0} == {tuple(row) for row in truth}
    assert found >= 19


def test_wide_and_tall_routes_agree():
    X = table(60, 12) + 3
    tall = SparsePCA(3, alpha=2).fit(X)
    start = PCA(3).fit(X)
    U = (X - X.mean(axis=0)) @ start.components_.T
    whole = SparsePCA(3, alpha=2, U_init=U, V_init=start.components_).fit(X)
    np.testing.assert_allclose(tall.error_, whole.error_, rtol=1e-9)
    np.testing.assert_allclose(tall.components_, whole.components_, atol=1e-6)


def test_start_of_the_wrong_shape_is_refused():
    X = table(10, 4)
    with pytest.raises(ValueError, match=r"U_init has shape \(4, 2\), and \(10, 2\)"):
        SparsePCA(2, U_init=np.ones((4, 2)), V_init=np.ones((2, 4))).fit(X)


def test_normalised_scores_have_the_same_minimum():
    X = table(60, 12)
    projected, normalised = (
        SparsePCA(3, alpha=2, scores=scores).fit(X) for scores in ("projected", "normalised")
    )
    assert normalised.error_[-1] == pytest.approx(projected.error_[-1], rel=1e-6)


def test_penalty_for_each_component():
    X = table(60, 12)
    model = SparsePCA(3, alpha=[0.0, 2.0, 8.0]).fit(X)
    assert model.n_nonzero_[0] == 12
    assert model.n_nonzero_[2] < 12
    np.testing.assert_array_equal(model.alpha_, [0, 2, 8])


def test_covariance_matrix_stands_for_the_table():
    X = table(60, 12)
    model = SparsePCA(3, alpha=4).fit(X)
    other = SparsePCA(3, alpha=4, precomputed=True, n_samples=60).fit(np.cov(X.T))
    np.testing.assert_allclose(model.components_, other.components_, atol=1e-7)
    np.testing.assert_allclose(model.explained_variance_, other.explained_variance_, rtol=1e-7)
    np.testing.assert_allclose(model.error_, other.error_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(X), other.transform(X), atol=1e-6)


@pytest.mark.parametrize(
    ("matrix", "params", "complaint"),
    [
        (np.eye(3), {}, "without n_samples"),
        (np.ones((4, 3)), {"n_samples": 9}, "not a symmetric"),
        (np.triu(np.ones((3, 3))), {"n_samples": 9}, "not a symmetric"),
        (np.diag([1.0, -1.0]), {"n_samples": 9}, "negative"),
        (np.full((3, 3), np.nan), {"n_samples": 9}, "NaN"),
    ],
)
def test_what_is_no_covariance_is_refused(matrix, params, complaint):
    with pytest.raises(ValueError, match=complaint):
        SparsePCA(1, precomputed=True, **params).fit(matrix)


def test_weights_of_a_matrix_are_refused():
    with pytest.raises(ValueError, match="weighted covariance"):
        SparsePCA(1, precomputed=True, n_samples=9).fit(np.eye(3), sample_weight=np.ones(3))


def test_variances_without_a_penalty_are_those_of_pca():
    X = table(60, 12)
    pca, model = PCA(4).fit(X), SparsePCA(4, alpha=0).fit(X)
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_)
    np.testing.assert_allclose(model.projected_variance_, pca.explained_variance_)
    np.testing.assert_allclose(model.explained_variance_ratio_, pca.explained_variance_ratio_)


def test_variances_of_correlated_scores():
    """Against regressions of each score on those before, and projections on growing spans."""
    X = table(60, 12)
    model = SparsePCA(4, alpha=6).fit(X)
    V, Z = model.components_, X @ model.components_.T
    for j in range(4):
        before = Z[:, :j] @ np.linalg.lstsq(Z[:, :j], Z[:, j], rcond=None)[0] if j else 0 * Z[:, 0]
        assert model.explained_variance_[j] == pytest.approx(np.sum((Z[:, j] - before) ** 2) / 59)
        span = np.linalg.pinv(V[: j + 1]) @ V[: j + 1]
        projected = np.sum((X @ span) ** 2) / 59
        assert model.projected_variance_[: j + 1].sum() == pytest.approx(projected)
    assert model.projected_variance_.sum() < model.total_variance_


def test_repeated_component_adds_no_variance():
    X = table(60, 12)
    models = [
        SparsePCA(len(V), U_init=np.zeros((60, len(V))), V_init=V, max_iter=0).fit(X)
        for V in (np.eye(12)[[0, 0, 1]], np.eye(12)[[0, 1]])
    ]
    for name in ("explained_variance_", "projected_variance_"):
        three, two = (getattr(model, name) for model in models)
        assert three[1] == 0
        np.testing.assert_allclose(three[[0, 2]], two)


@pytest.mark.parametrize(
    "params",
    [
        {"formulation": "elastic-net", "alpha": 20.0},
        {"formulation": "scotlass", "l1_bound": 1.9},
        {"formulation": "l0", "n_nonzero": [4, 4, 3]},
    ],
    ids=lambda params: params["formulation"],
)
def test_other_formulations_find_the_factors(params):
    X = table(60, 12) + 3
    model = SparsePCA(3, random_state=0, max_iter=10_000, **params).fit(X)
    assert model.solver_ == params["formulation"]
    variables = np.array_split(np.arange(12), 3)
    for component, of_factor in zip(model.components_, variables, strict=True):
        assert np.square(component[of_factor]).sum() > 0.95
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert model.converged_
    assert model.transform(X).shape == (60, 3)
    assert 0 < model.explained_variance_ratio_.sum() < 1


def test_counts_of_l0_and_bounds_of_scotlass():
    X = table(60, 12)
    assert SparsePCA(2, formulation="l0", n_nonzero=[3, 2]).fit(X).n_nonzero_ == (3, 2)
    model = SparsePCA(2, formulation="scotlass", l1_bound=1.5).fit(X)
    assert (np.abs(model.components_).sum(axis=1) <= model.l1_bound_ + 1e-9).all()
    assert not hasattr(model, "alpha_")


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"formulation": "l0"}, "needs n_nonzero"),
        ({"formulation": "scotlass"}, "needs l1_bound"),
    ],
)
def test_formulation_says_what_it_needs(params, complaint):
    with pytest.raises(ValueError, match=complaint):
        SparsePCA(2, **params).fit(table(60, 12))


# ------------------------------------------------------------------------------ degenerate data


def test_penalty_that_leaves_nothing_is_warned_about_once():
    X = table(60, 12)
    longest = np.linalg.norm(X, axis=0).max()
    with pytest.warns(UserWarning, match=f"3 of 3 .* alpha=1000.*from {longest:.4g} on") as caught:
        model = SparsePCA(3, alpha=1000).fit(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert not model.components_.any()
    assert not model.transform(X).any()
    assert model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SparsePCA(1, alpha=0.99 * longest).fit(X).components_.any()


def test_more_components_than_columns():
    X = table(30, 6)
    with pytest.warns(UserWarning, match="of 9 components are all zero"):
        model = SparsePCA(9, alpha=4).fit(X)
    assert model.components_.shape == (9, 6)
    assert np.isfinite(model.transform(X)).all()
    assert SparsePCA(alpha=4).fit(X).n_components_ == 6  # all columns, so nothing is promised


def test_constant_and_repeated_columns():
    X = table(60, 12)
    X = np.hstack([X, X[:, :2], np.full((60, 1), 7.0)])
    model = SparsePCA(3, alpha=2).fit(X)
    assert not model.components_[:, -1].any()
    assert model.converged_


def test_nothing_but_constant_columns():
    with pytest.raises(ValueError, match="constant"):
        SparsePCA(1).fit(np.ones((5, 3)))


def test_one_row():
    with pytest.raises(ValueError, match="minimum of 2"):
        SparsePCA(1).fit(np.ones((1, 3)))


def test_number_out_of_reach_is_said():
    X = np.repeat(table(60, 1), 2, axis=1)  # two columns alike come and go together
    with pytest.warns(UserWarning, match="n_nonzero=1 was not reached: the components have [02] "):
        SparsePCA(1, n_nonzero=1).fit(X)


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"alpha": [1, 2]}, r"alpha has shape \(2,\), and there are 3"),
        ({"alpha": [1, 2, -1]}, "negative"),
        ({"n_nonzero": 13}, "n_nonzero=13 must be between 1 and n_features=12"),
        ({"n_nonzero": [1, 2, 0]}, "between 1 and"),
    ],
)
def test_bad_parameters_are_explained(params, complaint):
    with pytest.raises(ValueError, match=complaint):
        SparsePCA(3, **params).fit(table(60, 12))


def test_stopped_early_is_said_but_not_where_no_step_was_asked_for():
    X = table(60, 12)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations.*max_iter"):
        SparsePCA(3, max_iter=2).fit(X)
    model = SparsePCA(3, max_iter=0).fit(X)
    assert model.n_iter_ == 0
    assert model.error_ == []
    np.testing.assert_allclose(model.components_, PCA(3).fit(X).components_, atol=1e-10)


def test_scores_of_another_width_are_refused():
    model = SparsePCA(2).fit(table(60, 12))
    with pytest.raises(ValueError, match="takes scores on 2 components"):
        model.inverse_transform(np.ones((2, 3)))


def test_scores_that_single_precision_cannot_hold_are_refused():
    X = np.zeros((2, 40), np.float32)
    X[0] = 1.7e38
    model = SparsePCA(1, alpha=1e-3).fit(X)
    with pytest.raises(ValueError, match=r"overflow float32\. Divide X by a constant"):
        model.transform(X)
    assert np.isfinite(model.transform(X.astype(float))).all()
