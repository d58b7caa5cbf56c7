"""VectorQuantizer: what k-means finds, as a factorisation with one 1 in each row of codes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from eigenlens import PCA, VectorQuantizer
from eigenlens.data.blocks import ArrayBlocks
from eigenlens.solvers import lloyd
from eigenlens.testing import CHECKS, WIDE, parametrize

SIZES = (40, 30, 20, 10)


def planted(noise=0.1, d=5):
    """Give rows around four centres, the centres, and to which each row belongs."""
    rng = np.random.default_rng(0)
    centres = 4 * rng.standard_normal((len(SIZES), d)) + 2
    labels = rng.permutation(np.repeat(np.arange(len(SIZES)), SIZES))
    return centres[labels] + noise * rng.standard_normal((len(labels), d)), centres, labels


def blurred(n=400, d=6):
    """Give rows without clusters, on which k-means takes some steps."""
    return np.random.default_rng(1).standard_normal((n, d)) + 3


def squared_distances(X, centres):
    return ((X[:, None, :] - centres) ** 2).sum(axis=2)


# ------------------------------------------------------------------------------ what it finds


def test_planted_clusters_are_found_the_largest_first():
    X, centres, labels = planted()
    model = VectorQuantizer(4, n_init=5, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_, centres, atol=0.15)
    np.testing.assert_array_equal(model.labels_, labels)
    means = [X[labels == j].mean(axis=0) for j in range(4)]
    np.testing.assert_allclose(model.components_, means, rtol=1e-12)


@pytest.mark.parametrize("n_init", [1, 4])
@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_same_starts_and_same_ends_as_scikit_learn(n_init, init, seed):
    X = blurred()
    peer = KMeans(7, init=init, n_init=n_init, tol=0, random_state=seed).fit(X)
    model = VectorQuantizer(7, init=init, n_init=n_init, tol=1e-10, random_state=seed).fit(X)
    assert model.inertia_ == pytest.approx(peer.inertia_, rel=1e-12)
    order = np.argsort(-np.bincount(peer.labels_), kind="stable")
    sizes = np.bincount(model.labels_)
    assert (np.diff(sizes) <= 0).all()
    if len(set(sizes)) == len(sizes):
        np.testing.assert_allclose(model.components_, peer.cluster_centers_[order], rtol=1e-10)


def test_automatic_number_of_starts_is_that_of_scikit_learn():
    X = blurred()
    for init in ("k-means++", "random"):
        peer = KMeans(7, init=init, tol=0, random_state=0).fit(X)
        model = VectorQuantizer(7, init=init, tol=1e-10, random_state=0).fit(X)
        assert model.inertia_ == pytest.approx(peer.inertia_, rel=1e-12)


def test_codes_are_one_1_a_row_and_the_way_back_is_the_centre():
    X = blurred()
    model = VectorQuantizer(6, random_state=0)
    codes = model.fit_transform(X)
    assert set(np.unique(codes)) == {0.0, 1.0}
    np.testing.assert_array_equal(codes.sum(axis=1), 1)
    np.testing.assert_array_equal(codes.argmax(axis=1), model.labels_)
    back = model.inverse_transform(codes)
    np.testing.assert_array_equal(back, model.components_[model.labels_])
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(X - back))
    assert model.inertia_ == pytest.approx(model.reconstruction_err_**2)
    assert model.score(X) == pytest.approx(-model.inertia_ / len(X))


@pytest.mark.parametrize("weighted", [False, True])
def test_optimality(weighted):
    """Each row is with its nearest centre, and each centre is the mean of its rows."""
    X = blurred()
    weight = np.random.default_rng(2).random(len(X)) if weighted else None
    model = VectorQuantizer(6, tol=1e-10, random_state=0).fit(X, sample_weight=weight)
    squares = squared_distances(X, model.components_)
    np.testing.assert_array_equal(model.labels_, squares.argmin(axis=1))
    for j, centre in enumerate(model.components_):
        own = model.labels_ == j
        mean = np.average(X[own], axis=0, weights=None if weight is None else weight[own])
        np.testing.assert_allclose(centre, mean, rtol=1e-12)
    assert model.inertia_ == pytest.approx(
        np.average(squares.min(axis=1), weights=weight)
        * (len(X) if weight is None else weight.sum())
    )
    assert model.certificate_.holds
    assert model.converged_


def test_weights_are_copies_from_the_same_start():
    X = blurred(60)
    weight = np.random.default_rng(3).integers(0, 4, len(X))
    settings = {"init": X[:5], "tol": 1e-10}
    weighted = VectorQuantizer(5, **settings).fit(X, sample_weight=weight)
    repeated = VectorQuantizer(5, **settings).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-12)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    np.testing.assert_array_equal(weighted.labels_, repeated.predict(X))  # also rows of no weight


def test_no_better_than_pca_with_as_many_components():
    """Less the mean, rows of H span k dimensions, and PCA's are the best of all these."""
    X = blurred()
    model = VectorQuantizer(5, random_state=0).fit(X)
    pca = PCA(5).fit(X)
    error = np.linalg.norm(X - pca.inverse_transform(pca.transform(X)))
    assert error < model.reconstruction_err_ < np.linalg.norm(X - X.mean(axis=0))


@parametrize([VectorQuantizer(3, n_init=3)], layers=[1], shape=WIDE)
def test_contract_on_wide_tables(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------ numbers


def test_sparse_is_dense():
    X = np.where(np.random.default_rng(4).random((300, 12)) < 0.3, 1 + blurred(300, 12), 0)
    dense = VectorQuantizer(5, random_state=0).fit(X)
    model = VectorQuantizer(5, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_allclose(model.components_, dense.components_, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(model.labels_, dense.labels_)
    assert model.inertia_ == pytest.approx(dense.inertia_)
    assert model.score(sparse.csc_array(X[:7])) == pytest.approx(dense.score(X[:7]))


def test_a_sparse_table_in_order_is_not_copied():
    X = sparse.random_array((30, 8), density=0.3, rng=0, format="csr")
    rows = lloyd.csr(X)
    for name in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(rows, name), getattr(X, name))
    twice = sparse.csr_array((np.ones(3), [2, 0, 2], [0, 3]), shape=(1, 4))
    np.testing.assert_array_equal(lloyd.csr(twice).data, [1, 2])
    np.testing.assert_array_equal(twice.data, [1, 1, 1])  # which is left as it was


def test_far_from_zero():
    X = blurred()
    near = VectorQuantizer(6, random_state=0).fit(X)
    far = VectorQuantizer(6, random_state=0).fit(X + 1e8)
    np.testing.assert_array_equal(far.predict(X + 1e8), near.labels_)
    np.testing.assert_allclose(far.components_ - 1e8, near.components_, atol=1e-6)
    assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-6)


def test_float32():
    X = blurred().astype(np.float32)
    model = VectorQuantizer(6, random_state=0).fit(X)
    assert model.transform(X).dtype == model.components_.dtype == np.float32
    double = VectorQuantizer(6, random_state=0).fit(X.astype(np.float64))
    np.testing.assert_allclose(model.components_, double.components_, rtol=1e-6)


def test_threads_share_a_tall_table():
    CHECKS["threads_do_not_matter"].at((5000, 9))(VectorQuantizer(6))


def test_fewer_different_rows_than_centres_do_no_harm():
    X = np.repeat([[1.0, 2.0], [3.0, 5.0], [0.0, 7.0]], [5, 4, 3], axis=0)
    model = VectorQuantizer(6, random_state=0).fit(X)
    assert model.inertia_ < 1e-28
    assert model.components_.shape == (6, 2)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-14)
    np.testing.assert_array_equal(np.bincount(model.labels_), [5, 4, 3])


def test_rows_all_alike():
    model = VectorQuantizer(1).fit(np.ones((4, 3)))
    np.testing.assert_array_equal(model.components_, np.ones((1, 3)))
    assert model.certificate_.value == 0


def test_a_centre_for_each_row():
    X = blurred(9)
    model = VectorQuantizer(9, random_state=0).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, rtol=1e-14)


# ------------------------------------------------------------------------------ how it ends


def test_stopped_before_its_tolerance_it_says_so():
    X = blurred(2000)
    with pytest.warns(ConvergenceWarning, match="VectorQuantizer stopped after 1 iter.*max_iter"):
        model = VectorQuantizer(20, max_iter=1, random_state=0).fit(X)
    assert not model.converged_
    cells = squared_distances(X, model.components_).argmin(axis=1)
    means = np.array([X[cells == j].mean(axis=0) for j in range(20)])
    away = np.bincount(cells) @ ((means - model.components_) ** 2).sum(axis=1)
    spread = ((X - X.mean(axis=0)) ** 2).sum()
    assert model.certificate_.value == pytest.approx(np.sqrt(away / spread))


def test_history_falls_and_steps_are_bounded():
    X = blurred(2000)
    with pytest.warns(ConvergenceWarning, match="25 iterations"):
        model = VectorQuantizer(30, max_iter=25, tol=1e-8, random_state=0).fit(X)
    assert model.n_iter_ == 25
    assert len(model.objective_history_) == 3
    assert (np.diff(model.objective_history_) < 0).all()
    assert model.objective_history_[-1] == model.inertia_


def test_batches_come_near_and_say_how_near():
    X, centres, _ = planted()
    model = VectorQuantizer(4, solver="minibatch", n_init=10, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_, centres, atol=0.15)
    X = blurred(3000)
    exact = VectorQuantizer(10, random_state=0).fit(X)
    model = VectorQuantizer(10, solver="minibatch", batch_size=256, random_state=0).fit(X)
    assert (exact.solver_, model.solver_) == ("kmeans", "minibatch")
    assert model.inertia_ < 1.1 * exact.inertia_
    assert not model.converged_  # and no warning: batches were asked for
    assert 1e-4 < model.certificate_.value < 0.2


def test_batches_that_were_not_asked_for_are_warned_of(monkeypatch):
    monkeypatch.setattr("eigenlens.estimators.vector_quantizer.LARGE", 1.0)
    with pytest.warns(ConvergenceWarning, match="solver='kmeans'"):
        model = VectorQuantizer(10, random_state=0).fit(blurred(3000))
    assert model.solver_ == "minibatch"


def test_start_that_is_given():
    X, centres, labels = planted()
    model = VectorQuantizer(4, init=centres[::-1]).fit(X)
    np.testing.assert_array_equal(model.labels_, labels)
    model = VectorQuantizer(4, init=centres, solver="minibatch").fit(X)
    np.testing.assert_array_equal(model.labels_, labels)


# ------------------------------------------------------------------------------ rows in blocks


def descend(X, centres, **how):
    """Go down in passes over a table, as the solver does that for rows in blocks."""
    mean = X.mean(axis=0)
    spread = np.linalg.norm(X - mean)
    return lloyd.descend(ArrayBlocks(X), centres - mean, mean=mean, spread=spread, **how), mean


def steps_of_lloyd(X, centres, n):
    """Give the centres before each step, the square there, and how far the means are."""
    found = []
    for _ in range(n):
        squares = squared_distances(X, centres)
        labels = squares.argmin(axis=1)
        means = np.array([X[labels == j].mean(axis=0) for j in range(len(centres))])
        away = np.linalg.norm((means - centres)[labels])
        found.append((centres, squares.min(axis=1).sum(), away))
        centres = means
    return found


@pytest.mark.parametrize(("stride", "looks"), [(1, [1, 2, 3, 4, 5, 6, 7]), (3, [3, 6, 7])])
def test_passes_take_the_steps_of_lloyd(stride, looks):
    X = blurred()
    found, mean = descend(X, X[:5], tol=0.0, most=7, stride=stride)
    expected = steps_of_lloyd(X, X[:5], 8)
    assert found.n_steps == 7
    np.testing.assert_allclose(found.history, [expected[look - 1][1] for look in looks])
    np.testing.assert_allclose(found.cells.centres + mean, expected[6][0])
    np.testing.assert_allclose(found.cells.means + mean, expected[7][0])
    assert found.cells.square == found.history[-1]


def test_passes_end_where_the_means_are_near_or_the_centres_stay():
    X = blurred()
    spread = np.linalg.norm(X - X.mean(axis=0))
    ended, _ = descend(X, X[:5], tol=0.0, most=1000)
    assert ended.cells.residual < 1e-12 * spread
    steps = steps_of_lloyd(X, X[:5], ended.n_steps)
    near, _ = descend(X, X[:5], tol=0.01, most=1000)
    enough = next(i for i, (_, _, away) in enumerate(steps) if away <= 0.01 * spread)
    assert near.n_steps == 1 + enough
    assert near.cells.residual == pytest.approx(steps[enough][2])
    seen = []
    descend(X, X[:5], tol=0.0, most=1000, monitor=lambda square: seen.append(square) or True)
    assert seen == pytest.approx([steps[0][1]])


def test_a_cell_without_rows_takes_the_row_that_is_farthest_from_its_centre():
    X = np.array([[0.0], [1.0], [10.0]])
    found, mean = descend(X, np.array([[0.4], [100.0]]), tol=0.0, most=10)
    np.testing.assert_allclose(found.cells.centres + mean, [[0.5], [10.0]])
    np.testing.assert_allclose(found.cells.mass, [2, 1])
    np.testing.assert_allclose(found.history, [0.4**2 + 0.6**2 + 9.6**2, 0.5])


def test_rows_that_are_all_at_their_centres_are_left_there():
    """A third of 1 is not where the mean of some thirds is; that is no distance."""
    X = np.repeat([[1 / 3], [0.7]], [50, 30], axis=0)
    found, mean = descend(X, np.array([[1 / 3], [0.7], [9.0]]), tol=0.0, most=10)
    np.testing.assert_allclose(found.cells.centres + mean, [[1 / 3], [0.7], [1 / 3]])
    assert found.cells.square < 1e-28


# ------------------------------------------------------------------------------ what it refuses


def test_more_centres_than_rows():
    with pytest.raises(ValueError, match="n_components=8 is more than n_samples=5"):
        VectorQuantizer(8).fit(blurred(5))
    with pytest.raises(ValueError, match="n_components=3 is more than n_samples=2"):
        VectorQuantizer(3).fit(blurred(4), sample_weight=[1, 0, 0, 1])


@pytest.mark.parametrize("shape", [(3, 6), (4, 5), (4,)])
def test_start_of_a_wrong_shape(shape):
    with pytest.raises(ValueError, match="init"):
        VectorQuantizer(4, init=np.zeros(shape)).fit(blurred())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none(value):
    X = blurred()
    with pytest.raises(ValueError, match="init"):
        VectorQuantizer(2, init=np.full((2, X.shape[1]), value)).fit(X)
    X[3, 2] = value
    with pytest.raises(ValueError, match=r"VectorQuantizer|infinity|NaN"):
        VectorQuantizer(2).fit(X)


@pytest.mark.parametrize("blocks", [False, True])
def test_squares_of_sparse_rows_that_are_no_numbers_are_refused(blocks):
    """Rows that are all alike have no spread, but distances of sparse ones are sums of squares."""
    X = sparse.csr_array(np.full((3, 3), 2e154))
    with pytest.raises(ValueError, match="squares overflow"):
        VectorQuantizer(1, random_state=0).fit(ArrayBlocks(X) if blocks else X)
    VectorQuantizer(1, random_state=0).fit(X.toarray())


def test_codes_of_a_wrong_shape():
    model = VectorQuantizer(3, random_state=0).fit(blurred())
    with pytest.raises(ValueError, match="2 columns"):
        model.inverse_transform(np.ones((1, 2)))
