"""SparsePCA with groups of features, with a penalty on the scores, and of rows in batches."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import eigenlens
from eigenlens import Moments, SparsePCA
from eigenlens.ops.lasso import lasso_groups, lasso_rows, score_columns
from eigenlens.solvers import sparse_l1
from eigenlens.solvers.penalties import GroupLasso, Lasso


def table(n=60, d=12, seed=0):
    """Centred rows: three factors on four features each, with noise."""
    rng = np.random.default_rng(seed)
    loadings = np.repeat(np.eye(3), d // 3, axis=1)
    X = (rng.standard_normal((n, 3)) * [3, 2, 1.5]) @ loadings + rng.standard_normal((n, d)) / 2
    return X - X.mean(axis=0)


GROUPS = np.array(list("abbacacabbcc"))  # of sizes 4, 4, 4, not together


def group_penalty(D, alpha, groups=GROUPS):
    labels = np.unique(groups)
    return alpha * sum(
        np.sqrt(np.sum(groups == g)) * np.linalg.norm(D[groups == g], axis=0).sum() for g in labels
    )


# ----------------------------------------------------------------------------------- the loops


@pytest.mark.parametrize(("price", "worth"), [(0.1, True), (0.2, False)])
def test_an_unused_direction_is_used_if_that_lowers_the_objective(price, worth):
    """Alone it takes a column of length 1.5 at alpha = 1: half the square of the rest, 0.125."""
    A = np.zeros((4, 3))
    A[1, 2] = 1.5
    within = sparse_l1._Within(normalise=False, positive=False, price=np.full(4, price))
    descent = sparse_l1._Descent(A, Lasso(np.ones(1)), within)
    descent.begin((np.zeros((4, 1)), np.zeros((3, 1))))
    assert descent.use_an_unused(1e-9) == worth


def test_lasso_of_many_nonzeros_meets_its_conditions():
    """More nonzeros than a linear system is solved for, and matrices that have no inverse."""
    rng = np.random.default_rng(0)
    for k, m in ((100, 300), (20, 8)):
        Y, C = rng.standard_normal((m, k)), 5 * rng.standard_normal((7, k))
        C = C @ Y.T @ Y / m  # in the range of the matrix
        G, alpha, D = Y.T @ Y, np.full(k, 0.3), np.zeros((7, k))
        lasso_rows(G, C.copy(), alpha, D, 1e-12, 100_000, False)
        distance = Lasso(alpha).distance(D @ G - C, D)
        assert distance <= 1e-7 * np.abs(C).max()
    assert np.count_nonzero(D, axis=1).max() <= 8 + 1


@pytest.mark.parametrize("loop", [lasso_rows, lasso_rows.__wrapped__])
def test_a_coordinate_that_must_change_its_sign_does(loop):
    G = np.array([[1.0, 0.9], [0.9, 1.0]])
    c, alpha, d = np.array([[1.0, 0.0]]), np.full(2, 0.1), np.array([[0.5, 2.0]])
    loop(G, c.copy(), alpha, d, 1e-14, 1000, False)
    found = minimize(lambda x: x @ G @ x / 2 - c[0] @ x + 0.1 * np.abs(x).sum(), [1, -1])
    np.testing.assert_allclose(d[0], found.x, atol=1e-4)
    assert Lasso(alpha).distance(d @ G - c, d) <= 1e-14


def test_group_loop_equals_its_twin_and_meets_its_conditions():
    rng = np.random.default_rng(0)
    Y, C = rng.standard_normal((9, 4)), 4 * rng.standard_normal((10, 4))
    G, penalty = Y.T @ Y, GroupLasso(np.array([1.0, 2.0, 0.5, 1.0]), np.array([0, 1, 4, 10]))
    answers = []
    for loop in (lasso_groups, lasso_groups.__wrapped__):
        D = rng.standard_normal((10, 4))
        R = C.copy()
        loop(G, R, penalty.alpha, D, penalty.starts, penalty.weights, 1e-14, 1000)
        np.testing.assert_allclose(R, C - D @ G, atol=1e-10)
        assert penalty.distance(D @ G - C, D) <= 1e-10
        answers.append(D)
    np.testing.assert_allclose(*answers, atol=1e-10)
    zero = penalty._lengths(answers[0]) == 0
    assert zero.any()
    assert not zero.all()


def test_groups_of_one_are_the_lasso():
    rng = np.random.default_rng(1)
    Y, C, alpha = rng.standard_normal((9, 4)), rng.standard_normal((10, 4)), np.ones(4)
    G, single = Y.T @ Y, np.zeros((10, 4))
    lasso_rows(G, C.copy(), alpha, single, 1e-14, 1000, False)
    grouped = np.zeros((10, 4))
    lasso_groups(G, C.copy(), alpha, grouped, np.arange(11), np.ones(10), 1e-14, 1000)
    np.testing.assert_allclose(single, grouped, atol=1e-12)
    one, many = Lasso(alpha), GroupLasso(alpha, np.arange(11))
    assert one.value(single) == pytest.approx(many.value(single))
    off = single + 0.1
    assert one.distance(off @ G - C, off) == pytest.approx(many.distance(off @ G - C, off))


def test_penalised_scores_are_minimisers():
    """No other score in the ball is better, given the others: by a general optimiser."""
    rng = np.random.default_rng(0)
    D, A, price = rng.standard_normal((8, 2)), rng.standard_normal((5, 8)), np.linspace(0.1, 2, 5)
    H, B = D.T @ D, D.T @ A.T
    Y = rng.standard_normal((2, 5)) / 9
    before = Y.copy()
    score_columns(H, B, Y, False, False, price)

    def value(y):
        return H[0, 0] * y @ y / 2 - (B[0] - H[0, 1] * before[1]) @ y + price @ np.abs(y)

    assert np.linalg.norm(Y[0]) <= 1 + 1e-12
    for _ in range(2000):
        other = Y[0] + rng.standard_normal(5) * 10 ** rng.uniform(-4, 0)
        other /= max(1, np.linalg.norm(other))
        assert value(Y[0]) <= value(other) + 1e-12


# -------------------------------------------------------------------------------------- groups


def test_groups_are_used_together():
    X = table()
    model = SparsePCA(3, alpha=2, groups=GROUPS).fit(X)
    used = np.array([[np.any(v[g == GROUPS]) for g in "abc"] for v in model.components_])
    full = np.array([[np.all(v[g == GROUPS]) for g in "abc"] for v in model.components_])
    np.testing.assert_array_equal(used, full)
    assert not used.all()
    assert model.certificate_.holds


@pytest.mark.parametrize("shape", [(60, 12), (8, 12)], ids=["tall", "wide"])
def test_objective_with_groups_falls_and_is_what_it_says(shape):
    A = table(*shape)
    found = sparse_l1.solve(A, 3, alpha=1.5, groups=GROUPS)
    Y, D = found.factors
    value = 0.5 * np.sum((A - Y @ D.T) ** 2) + group_penalty(D, 1.5)
    assert found.objective_history[-1] == pytest.approx(value, rel=1e-12)
    assert np.diff(found.objective_history).max() <= 1e-12 * value
    assert found.converged


def test_groups_find_what_single_features_do_not():
    """Features too weak to be found one by one are found as a group."""
    groups = np.repeat(np.arange(20), 5)
    truth = groups == 7
    hits = {"together": 0, "one by one": 0}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = 0.5 * rng.standard_normal((80, 100))
        X[:, truth] += 0.7 / np.sqrt(5) * rng.standard_normal((80, 1))
        together = SparsePCA(1, alpha=2.6, groups=groups).fit(X)
        single = SparsePCA(1, formulation="l0", n_nonzero=5, random_state=0).fit(X)
        hits["together"] += np.array_equal(together.components_[0] != 0, truth)
        hits["one by one"] += np.array_equal(single.components_[0] != 0, truth)
    assert hits["together"] == 5
    assert hits["one by one"] < 5


def test_alpha_from_which_all_groups_are_zero():
    X = table()
    A = X - X.mean(axis=0)
    largest = max(np.linalg.norm(A[:, g == GROUPS], 2) / 2 for g in "abc")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nothing = SparsePCA(2, alpha=largest * 1.001, groups=GROUPS).fit(X)
    assert f"from {largest:.4g} on" in str(caught[0].message)
    assert not nothing.components_.any()
    assert SparsePCA(1, alpha=largest * 0.99, groups=GROUPS).fit(X).components_.any()


def test_order_of_features_does_not_matter_to_groups():
    X = table()
    order = np.random.default_rng(0).permutation(12)
    model = SparsePCA(3, alpha=2, groups=GROUPS).fit(X)
    moved = SparsePCA(3, alpha=2, groups=GROUPS[order]).fit(X[:, order])
    np.testing.assert_allclose(
        np.abs(moved.components_), np.abs(model.components_[:, order]), atol=1e-6
    )


# -------------------------------------------------------------------------------------- scores


@pytest.mark.parametrize("shape", [(60, 12), (10, 12)], ids=["tall", "wide"])
def test_objective_with_both_penalties_falls_and_is_what_it_says(shape):
    X = table(*shape)
    model = SparsePCA(3, alpha=1, alpha_scores=2).fit(X)
    A = X - X.mean(axis=0)
    Y = model.scores_
    assert 0 < np.mean(Y == 0) < 1
    assert np.linalg.norm(Y, axis=0).max() <= 1 + 1e-12
    history = model.objective_history_
    assert np.diff(history).max() <= 1e-12 * history[0]
    found = sparse_l1.solve(A, 3, alpha=1.0, alpha_scores=2.0)
    scores, D = found.factors
    value = 0.5 * np.sum((A - scores @ D.T) ** 2) + np.abs(D).sum() + 2 * np.abs(scores).sum()
    assert history[-1] == pytest.approx(value, rel=1e-9)
    # the signs of scores and components go together
    lengths = np.linalg.norm(D, axis=0)
    np.testing.assert_allclose(Y * lengths @ model.components_, scores @ D.T, atol=1e-9)
    assert model.certificate_.holds


def test_price_of_scores_kills_rows_of_noise():
    rng = np.random.default_rng(0)
    X = 0.1 * rng.standard_normal((100, 8))
    X[:10, :3] += 5 * rng.choice([-1, 1], size=(10, 1))
    model = SparsePCA(1, alpha=1, alpha_scores=15).fit(X - X.mean(axis=0))
    used = np.flatnonzero(model.scores_[:, 0])
    np.testing.assert_array_equal(used, np.arange(10))
    np.testing.assert_array_equal(np.flatnonzero(model.components_[0]), np.arange(3))


def test_a_high_price_of_scores_leaves_nothing():
    X = table()
    with pytest.warns(UserWarning, match="2 of 2 components are all zero"):
        model = SparsePCA(2, alpha=1, alpha_scores=1e4).fit(X)
    assert not model.scores_.any()


def test_weights_are_repeated_rows_for_penalised_scores():
    X = table(20, 6)
    weight = np.r_[np.full(5, 3), np.ones(15)].astype(int)
    weighted = SparsePCA(2, alpha=1, alpha_scores=0.3, tol=1e-12)
    repeated = SparsePCA(2, alpha=1, alpha_scores=0.3, tol=1e-12)
    weighted.fit(X, sample_weight=weight)
    repeated.fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-6)
    np.testing.assert_allclose(
        np.repeat(weighted.scores_, weight, axis=0), repeated.scores_, atol=1e-6
    )


# ------------------------------------------------------------------------------------- batches


@pytest.mark.parametrize("formulation", ["l1", "elastic-net", "scotlass", "l0"])
def test_batches_equal_the_whole(formulation):
    X = table(300)
    params = {"n_components": 2, "formulation": formulation, "random_state": 0, "tol": 1e-12}
    params |= {"l1": {"alpha": 5}, "elastic-net": {"alpha": 20}, "scotlass": {"l1_bound": 1.9}}.get(
        formulation, {"n_nonzero": 4}
    )
    whole = SparsePCA(**params).fit(X)
    stream, late = SparsePCA(**params), SparsePCA(**params)
    for part in np.array_split(X[::-1], [1, 7, 100]):
        stream.partial_fit(part)
    late.partial_fit(X[200:])
    both = SparsePCA(**params).partial_fit(X[:200]).merge(late)
    for model in (stream, both):
        np.testing.assert_allclose(model.components_, whole.components_, atol=1e-6)
        np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=1e-7)
        np.testing.assert_allclose(model.transform(X), whole.transform(X), atol=1e-6)
        assert model.n_samples_seen_ == 300


def test_batches_of_a_saved_model_go_on(tmp_path):
    X = table(100)
    model = SparsePCA(2, alpha=3).partial_fit(X[:50])
    eigenlens.save(model, tmp_path / "half.skops")
    resumed = eigenlens.load(tmp_path / "half.skops").partial_fit(X[50:])
    whole = SparsePCA(2, alpha=3).fit(X)
    np.testing.assert_allclose(resumed.components_, whole.components_, atol=1e-6)


def test_a_fit_forgets_the_batches():
    X, other = table(100), table(80, seed=5)
    model = SparsePCA(2, alpha=3).partial_fit(other).fit(X)
    np.testing.assert_array_equal(model.components_, SparsePCA(2, alpha=3).fit(X).components_)
    assert not hasattr(model, "n_samples_seen_")
    with pytest.raises(ValueError, match="was fitted by fit"):
        model.partial_fit(other)


# -------------------------------------------------------------------------------------- errors


BAD = {
    "groups of another length": ({"groups": [1, 2, 3]}, r"shape \(3,\).*one label for each"),
    "groups and n_nonzero": ({"groups": GROUPS, "n_nonzero": 2}, "n_nonzero counts single"),
    "groups in another form": (
        {"groups": GROUPS, "formulation": "elastic-net"},
        "groups cannot be used with formulation='elastic-net'",
    ),
    "scores in another form": (
        {"alpha_scores": 1, "formulation": "scotlass", "l1_bound": 2},
        "alpha_scores cannot be used with formulation='scotlass'",
    ),
    "a negative price": ({"alpha_scores": -1}, "alpha_scores"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_parameters(case):
    params, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        SparsePCA(2, **params).fit(table())


def test_price_of_scores_needs_rows():
    S = Moments().update(table()).covariance()
    with pytest.raises(ValueError, match="alpha_scores cannot be used with precomputed"):
        SparsePCA(2, alpha_scores=1, precomputed=True, n_samples=60).fit(S)
    with pytest.raises(ValueError, match="partial_fit keeps the sums of rows"):
        SparsePCA(2, alpha_scores=1).partial_fit(table())
    with pytest.raises(ValueError, match="was fitted by fit"):
        SparsePCA(2).fit(table()).partial_fit(table())
    with pytest.raises(ValueError, match="add up to 1"):
        SparsePCA(2).partial_fit(table()[:1]).transform(table())
