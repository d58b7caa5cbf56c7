"""Isomap: geodesics known in closed form, surfaces unrolled, landmarks, pieces, new rows, peers."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn.manifold
from scipy import sparse
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits, make_blobs, make_s_curve, make_swiss_roll
from sklearn.neighbors import (
    KDTree,
    KNeighborsTransformer,
    NearestNeighbors,
    kneighbors_graph,
)

import eigenlens
from eigenlens import PCA, Isomap, KernelPCA
from eigenlens.estimators import _pieces
from eigenlens.solvers import isomap as solver
from eigenlens.testing import parametrize


def unrolled(X, t):
    """Give the true coordinates of a Swiss roll: length of the spiral, and height."""
    return np.column_stack([(t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2, X[:, 1]])


def correlations(truth, found):
    """Give the correlation of each coordinate, after the best rotation, shift and scale."""
    A, B, _ = procrustes(truth, found)
    return [float(np.corrcoef(A[:, j], B[:, j])[0, 1]) for j in range(A.shape[1])]


def residual_variance(D, Z):
    """Do it plainly, over all pairs."""
    r = np.corrcoef(squareform(D, checks=False), pdist(Z.astype(np.float64)))[0, 1]
    return 1 - r**2


def same_up_to_signs(A, B, tolerance):
    signs = np.sign((A * B).sum(axis=0))
    return np.abs(A - B * signs).max() <= tolerance * np.abs(A).max()


@pytest.fixture(scope="module")
def roll():
    X, t = make_swiss_roll(1200, random_state=0)
    return X, t


@pytest.fixture(scope="module")
def model(roll):
    return Isomap(n_neighbors=10, random_state=0).fit(roll[0])


# ------------------------------------------------------------------------------- closed forms


def test_points_on_a_line():
    x = np.sort(np.random.default_rng(0).uniform(0, 10, 50))
    model = Isomap(n_neighbors=12, n_components=1).fit(np.outer(x, [3.0, 4.0]))
    assert np.allclose(model.dist_matrix_, 5 * np.abs(x[:, None] - x), rtol=1e-12)
    assert same_up_to_signs(model.embedding_, 5 * (x - x.mean())[:, None], 1e-12)
    assert model.residual_variance_ < 1e-12


def test_arc_of_a_circle_is_straightened():
    """Of points equally far apart on the arc, the way along it has chords of one length."""
    n, angle = 60, 1.5 * np.pi
    t = np.linspace(0, angle, n)
    model = Isomap(n_neighbors=2, n_components=2).fit(np.c_[np.cos(t), np.sin(t)])
    chord = 2 * np.sin(angle / (n - 1) / 2)
    # the ends have a neighbour two steps away, on whose chord the way may cut a corner
    steps = np.abs(np.arange(n)[:, None] - np.arange(n))
    inner = np.ix_(range(2, n - 2), range(2, n - 2))
    assert np.allclose(model.dist_matrix_[inner], chord * steps[inner], rtol=1e-12)
    assert np.corrcoef(model.embedding_[:, 0], t)[0, 1] ** 2 > 1 - 1e-5
    assert np.abs(model.embedding_[:, 1]).max() < 0.01 * np.abs(model.embedding_[:, 0]).max()


def test_ways_on_a_grid_go_along_its_edges():
    side = np.arange(7)
    X = np.array([(a, b) for a in side for b in side], dtype=float)
    model = Isomap(n_neighbors=None, radius=1.0).fit(X)
    assert np.array_equal(model.dist_matrix_, np.abs(X[:, None] - X).sum(axis=2))


def test_with_all_others_as_neighbours_it_is_pca():
    X = np.random.default_rng(0).normal(size=(40, 5)) * [5, 3, 2, 1, 0.5]
    model = Isomap(n_neighbors=39, n_components=3).fit(X)
    scores = PCA(3).fit_transform(X)
    assert same_up_to_signs(scores, model.embedding_, 1e-10)
    new = np.random.default_rng(1).normal(size=(10, 5))
    near = Isomap(n_neighbors=None, radius=1e3, n_components=3).fit(X)
    projected = PCA(3).fit(X).transform(new)
    assert same_up_to_signs(projected, near.transform(new), 1e-10)


def test_scale_and_order_of_rows(roll, model):
    X = roll[0]
    larger = Isomap(n_neighbors=10, random_state=0).fit(1000 * X)
    assert np.allclose(larger.dist_matrix_, 1000 * model.dist_matrix_, rtol=1e-10)
    assert same_up_to_signs(1000 * model.embedding_, larger.embedding_, 1e-8)
    assert larger.residual_variance_ == pytest.approx(model.residual_variance_, rel=1e-6)
    order = np.random.default_rng(0).permutation(len(X))
    other = Isomap(n_neighbors=10, random_state=0).fit(X[order])
    assert same_up_to_signs(model.embedding_[order], other.embedding_, 1e-8)


# ------------------------------------------------------------------------------- the Swiss roll


def test_swiss_roll_is_unrolled(roll, model):
    X, t = roll
    assert min(correlations(unrolled(X, t), model.embedding_)) > 0.99
    flat = PCA(2).fit_transform(X)
    assert min(correlations(unrolled(X, t), flat)) < 0.9  # it is no matter of course


def test_swiss_roll_as_scikit_learn(roll, model):
    X = roll[0]
    peer = sklearn.manifold.Isomap(n_neighbors=10).fit(X)
    assert np.allclose(peer.dist_matrix_, model.dist_matrix_, rtol=1e-12)
    assert same_up_to_signs(peer.embedding_, model.embedding_, 1e-8)
    theirs = residual_variance(peer.dist_matrix_, peer.embedding_)
    assert model.residual_variance_ <= 1.01 * theirs
    new = X[:50] + 0.1
    assert same_up_to_signs(peer.transform(new), model.transform(new), 1e-8)
    assert model.reconstruction_error() == pytest.approx(peer.reconstruction_error(), rel=1e-6)
    assert np.allclose(model.kernel_pca_.eigenvalues_, peer.kernel_pca_.eigenvalues_, rtol=1e-9)


def test_residual_variance_is_what_it_says(roll, model):
    assert model.residual_variance_ == pytest.approx(
        residual_variance(model.dist_matrix_, model.embedding_), rel=1e-8
    )


def test_rows_of_the_fit_get_their_own_coordinates(roll, model):
    assert (
        np.abs(model.transform(roll[0]) - model.embedding_).max()
        < 1e-9 * np.abs(model.embedding_).max()
    )


def test_new_rows_fall_where_they_belong():
    X, t = make_swiss_roll(1500, random_state=0)
    model = Isomap(n_neighbors=10, random_state=0).fit(X[:1200])
    both = np.concatenate([model.embedding_, model.transform(X[1200:])])
    assert min(correlations(unrolled(X, t)[1200:], both[1200:])) > 0.99
    assert min(correlations(unrolled(X, t), both)) > 0.99


def test_in_single_precision(roll, model):
    X = roll[0].astype(np.float32)
    single = Isomap(n_neighbors=10, random_state=0).fit(X)
    assert single.embedding_.dtype == single.dist_matrix_.dtype == np.float32
    assert single.transform(X).dtype == np.float32
    assert same_up_to_signs(model.embedding_, single.embedding_, 1e-5)


# ------------------------------------------------------------------------------- landmarks


def test_all_points_as_landmarks_are_the_whole(roll):
    X = roll[0][:300]
    whole = Isomap(n_neighbors=10).fit(X)
    graph = whole._graph()
    rules = {"solver": "dense", "rng": np.random.default_rng(0), "tol": 1e-11}
    found, _ = solver.solve(graph, 2, landmarks=np.arange(300), **rules)
    assert same_up_to_signs(whole.embedding_, found.embedding, 1e-9)
    # sums along a way, from one end or from the other
    assert np.array_equal(whole.dist_matrix_.T, found.dist_matrix)
    assert found.residual_variance == pytest.approx(whole.residual_variance_, rel=1e-7)
    capped = Isomap(n_neighbors=10, n_landmarks=300).fit(X)
    assert np.array_equal(whole.embedding_, capped.embedding_)


def test_landmarks_unroll_too(roll, model):
    X, t = roll
    few = Isomap(n_neighbors=10, n_landmarks=100, random_state=0).fit(X)
    assert few.dist_matrix_.shape == (1200, 100)
    assert np.array_equal(few.dist_matrix_, model.dist_matrix_[few.landmarks_].T)
    assert min(correlations(unrolled(X, t), few.embedding_)) > 0.99
    assert few.residual_variance_ < 1.5 * model.residual_variance_
    pairs = few.dist_matrix_ > 0
    between = np.linalg.norm(few.embedding_[:, None] - few.embedding_[few.landmarks_], axis=2)
    r = np.corrcoef(few.dist_matrix_[pairs], between[pairs])[0, 1]
    assert few.residual_variance_ == pytest.approx(1 - r**2, rel=1e-8)
    assert np.abs(few.transform(X) - few.embedding_).max() < 1e-9 * np.abs(few.embedding_).max()


def test_few_landmarks_are_spread_and_rows_that_coincide_do_no_harm(roll, model):
    X = roll[0]
    few = Isomap(n_neighbors=10, n_landmarks=20, random_state=0).fit(X)
    drawn = np.random.default_rng(0).permutation(len(X))[:20]
    apart = lambda chosen: np.sort(model.dist_matrix_[np.ix_(chosen, chosen)])[:, 1].min()  # noqa: E731
    assert apart(few.landmarks_) > 3 * apart(drawn)
    same = Isomap(n_neighbors=30, n_landmarks=12, random_state=0).fit(np.repeat(X[:5], 8, axis=0))
    assert len(set(same.landmarks_)) == 12
    assert np.abs(same.embedding_[::8] - same.embedding_[1::8]).max() < 1e-9


def test_landmarks_place_points_of_a_plane_exactly():
    """Where distances are those of a plane, the ones to a few points settle where a point is."""
    X = np.random.default_rng(0).normal(size=(60, 2)) * [3, 1]
    model = Isomap(n_neighbors=None, radius=100, n_landmarks=5, random_state=0).fit(X)
    assert same_up_to_signs(PCA(2).fit_transform(X), model.embedding_, 1e-10)
    assert model.residual_variance_ < 1e-12
    assert model.reconstruction_error() < 1e-12


@parametrize([Isomap(n_neighbors=15), Isomap(n_neighbors=15, n_landmarks=25)], layers=[1, 2])
def test_neighbours_and_landmarks_keep_the_contract(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------- pieces


def two_blobs(n=40, apart=100.0):
    X = np.random.default_rng(0).normal(size=(n, 3))
    X[n // 2 :] += apart
    return X


@pytest.mark.parametrize("seed", range(4))
def test_fewest_neighbours_that_join(seed):
    X, _ = make_blobs(60, centers=3, random_state=seed, cluster_std=0.5)

    def in_one(k):
        return sparse.csgraph.connected_components(kneighbors_graph(X, k))[0] == 1

    expected = next(k for k in range(2, 60) if in_one(k))
    finder = NearestNeighbors(n_neighbors=2).fit(X)
    assert _pieces.fewest_neighbours(finder, 60, 2) == expected


def test_pieces_are_joined_with_a_warning_that_says_how():
    X = two_blobs()
    with pytest.warns(UserWarning, match="number of connected components") as caught:
        model = Isomap(n_neighbors=4).fit(X)
    said = str(caught[0].message)
    assert "is 2 (of 20 and 20 points)" in said
    assert "n_neighbors=20 is the smallest number that joins them" in said
    assert caught[0].filename == __file__
    assert model.n_pieces_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Isomap(n_neighbors=20).fit(X).n_pieces_ == 1
    with warnings.catch_warnings(action="ignore"):
        peer = sklearn.manifold.Isomap(n_neighbors=4).fit(X)
    assert np.allclose(peer.dist_matrix_, model.dist_matrix_, rtol=1e-9)
    assert same_up_to_signs(peer.embedding_, model.embedding_, 1e-7)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_many_pieces_are_joined_as_scikit_learn_does(form):
    X = form(np.round(make_blobs(90, centers=8, random_state=1, cluster_std=0.3)[0], 2))
    with pytest.warns(UserWarning, match="and [0-9]+ smaller"):
        model = Isomap(n_neighbors=2).fit(X)
    with warnings.catch_warnings(action="ignore"):
        peer = sklearn.manifold.Isomap(n_neighbors=2).fit(X)
    assert np.allclose(peer.dist_matrix_, model.dist_matrix_, rtol=1e-7)


def test_bridges_found_some_rows_at_a_time_are_the_shortest(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    labels = rng.permutation(np.repeat([0, 1, 2, 3], [20, 17, 13, 10]))
    D = squareform(pdist(X))
    monkeypatch.setattr(_pieces, "CELLS", 60)  # three rows of a piece at a time, or one
    i, j, lengths = _pieces.bridges(X, NearestNeighbors(n_neighbors=2).fit(X), labels)
    pairs = [(one, other) for one in range(4) for other in range(one)]
    assert list(zip(labels[i], labels[j], strict=True)) == pairs
    least = [D[np.ix_(labels == one, labels == other)].min() for one, other in pairs]
    assert np.allclose(lengths, least, rtol=1e-9)
    assert np.allclose(D[i, j], least, rtol=1e-9)


def test_pieces_can_be_an_error():
    with pytest.raises(ValueError, match=r"is 2 \(of 20 and 20 points\).*n_neighbors=20"):
        Isomap(n_neighbors=4, disconnected="error").fit(two_blobs())


def test_the_radius_named_is_enough_and_hardly_more():
    X = np.array([0.0, 1, 2, 5, 6, 7, 14.0])[:, None]
    with pytest.raises(ValueError, match="radius=7 joins them"):
        Isomap(n_neighbors=None, radius=1.5, disconnected="error").fit(X)
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.warns(UserWarning, match="radius=") as caught:
        Isomap(n_neighbors=None, radius=0.2).fit(X)
    radius = float(str(caught[0].message).split("radius=")[1].split(" ")[0])
    assert Isomap(n_neighbors=None, radius=radius).fit(X).n_pieces_ == 1
    with pytest.warns(UserWarning, match="components"):
        Isomap(n_neighbors=None, radius=0.998 * radius).fit(X)


def test_pieces_too_far_apart_for_any_small_number(monkeypatch):
    monkeypatch.setattr(_pieces, "TRIED", 200)
    with pytest.raises(ValueError, match="no small n_neighbors joins them"):
        Isomap(n_neighbors=4, disconnected="error").fit(two_blobs())


# ------------------------------------------------------------------------------- forms of X


def test_precomputed_distances_and_graphs(roll):
    X = roll[0][:300]
    direct = Isomap(n_neighbors=8).fit(X)
    given = Isomap(n_neighbors=8, metric="precomputed").fit(squareform(pdist(X)))
    assert np.allclose(direct.dist_matrix_, given.dist_matrix_, rtol=1e-10)
    join = KNeighborsTransformer(n_neighbors=8).fit(X)
    graph = join.transform(X)
    shuffled = graph.copy()
    shuffled.sort_indices()  # no more by length: taken all the same, without a word
    for form in (graph, shuffled, graph.tocsc()):
        by_graph = Isomap(n_neighbors=8, metric="precomputed").fit(form)
        assert same_up_to_signs(direct.embedding_, by_graph.embedding_, 1e-8)
    assert np.allclose(
        by_graph.transform(join.transform(X[:5] + 0.1)), direct.transform(X[:5] + 0.1), rtol=1e-6
    )


def test_a_refit_to_the_same_matrix_asks_for_its_own_neighbours(roll):
    D = squareform(pdist(roll[0][:200]))
    model = Isomap(n_neighbors=8, metric="precomputed").fit(D)
    assert model.set_params(n_neighbors=12).fit(D).nbrs_.n_neighbors == 12
    fresh = Isomap(n_neighbors=12, metric="precomputed").fit(D)
    assert np.array_equal(model.dist_matrix_, fresh.dist_matrix_)


@pytest.mark.parametrize("kind", [KDTree, lambda X: NearestNeighbors().fit(X)])
def test_trees_and_searches_are_taken_for_their_rows(roll, kind):
    X = roll[0][:200]
    model = Isomap(n_neighbors=8).fit(kind(X))
    assert np.array_equal(model.embedding_, Isomap(n_neighbors=8).fit(X).embedding_)
    assert model.n_features_in_ == 3


def test_other_metrics(roll):
    X = roll[0][:200]
    for params in ({"metric": "manhattan"}, {"p": 1}, {"metric": "chebyshev"}):
        ours = Isomap(n_neighbors=8, **params).fit(X)
        peer = sklearn.manifold.Isomap(n_neighbors=8, **params).fit(X)
        assert np.allclose(peer.dist_matrix_, ours.dist_matrix_, rtol=1e-10)
    holes = X.copy()
    holes[3, 1] = np.nan
    assert np.isfinite(Isomap(n_neighbors=8, metric="nan_euclidean").fit(holes).embedding_).all()


def test_many_columns_leave_no_digits_behind():
    """Products of matrices, which find neighbours here, would put a row 1e-8 away from itself."""
    X = 100 + np.random.default_rng(0).normal(size=(80, 30))
    model = Isomap(n_neighbors=20).fit(X)
    assert model.nbrs_._fit_method == "brute"
    assert np.abs(model.transform(X) - model.embedding_).max() < 1e-10 * np.abs(X).max()
    near = model.nbrs_.kneighbors(return_distance=False)[0, 0]
    assert model.dist_matrix_[0, near] == pytest.approx(np.linalg.norm(X[0] - X[near]), rel=1e-15)


def test_repeated_rows_coincide():
    X, _ = make_s_curve(150, random_state=0)
    X = np.concatenate([X, X[:60], X[:60]])
    model = Isomap(n_neighbors=12).fit(X)
    assert np.array_equal(model.dist_matrix_[:60, 150:210], model.dist_matrix_[:60, :60])
    assert np.abs(model.embedding_[:60] - model.embedding_[150:210]).max() < 1e-9


def test_rows_that_are_all_the_same_are_one_point():
    model = Isomap(n_neighbors=3).fit(np.ones((8, 2)))
    assert not model.embedding_.any()
    assert model.residual_variance_ == 1.0


# ------------------------------------------------------------------------------- iterations


def test_lanczos_agrees_with_lapack_and_tells_callbacks(model, roll):
    dense = Isomap(n_neighbors=10, eigen_solver="dense").fit(roll[0])
    assert (model.solver_, dense.solver_) == ("arpack", "dense")
    assert same_up_to_signs(dense.embedding_, model.embedding_, 1e-9)
    assert model.certificate_.holds
    assert model.certificate_.tolerance <= 1e-10
    assert model.n_iter_ > 1
    assert isinstance(model.kernel_pca_, KernelPCA)
    K = -(model.dist_matrix_[:5] ** 2) / 2
    assert np.allclose(model.kernel_pca_.transform(K), model.embedding_[:5])


def test_stopped_early_it_says_so(roll):
    with pytest.warns(eigenlens._base.ConvergenceWarning, match="Isomap stopped"):
        model = Isomap(n_neighbors=10, max_iter=2, random_state=0).fit(roll[0])
    assert not model.converged_


def test_distances_come_back_from_their_squares():
    D = 10.0 ** np.random.default_rng(0).uniform(-100, 100, (50, 40))
    for one in (D, (D**0.15).astype(np.float32)):
        there = one.copy()
        solver._to_kernel(there)
        solver._to_distances(there)
        assert np.array_equal(there, one)


def test_sums_of_pairs_equal_their_twin():
    rng = np.random.default_rng(0)
    D, points, marks = rng.uniform(size=(5, 7)), rng.normal(size=(2, 5)), rng.normal(size=(2, 7))
    args = D, points, marks, np.array([0.4, 1.5]), np.empty(7)
    out, twin = np.empty(5), np.empty(5)
    solver.sums_of_pairs(*args, out)
    solver.sums_of_pairs.__wrapped__(*args, twin)
    assert np.allclose(out, twin, rtol=1e-12)


def test_what_finds_neighbours_is_made_again(roll, tmp_path, model):
    again = pickle.loads(pickle.dumps(model))
    loaded = eigenlens.load(eigenlens.save(model, tmp_path / "model.skops"))
    new = roll[0][:7] + 0.05
    for one in (again, loaded):
        assert np.array_equal(one.transform(new), model.transform(new))
        assert one.nbrs_.n_neighbors == 10
    refitted = pickle.loads(pickle.dumps(model)).set_params(n_neighbors=12)
    assert np.array_equal(refitted.transform(new), model.transform(new))
    with pytest.raises(ValueError, match="n_neighbors=12"):
        refitted.fit(new)
    assert np.array_equal(refitted.transform(new), model.transform(new))
    assert refitted.fit(roll[0]).nbrs_.n_neighbors == 12


# ------------------------------------------------------------------------------- bad input


D = squareform(pdist(np.random.default_rng(0).normal(size=(12, 2))))


@pytest.mark.parametrize(
    ("params", "X", "message"),
    [
        ({"n_neighbors": 12}, D, "n_neighbors=12 needs at least 13 rows.*Ask for at most 11"),
        ({"radius": 1.0}, D, "Both n_neighbors and radius"),
        ({"n_neighbors": None}, D, "Neither n_neighbors nor radius"),
        ({"n_landmarks": 2}, D, "n_landmarks=2 cannot place points in 2 dimensions"),
        ({"metric": "precomputed"}, D[:, :5], "square matrix of distances"),
        ({"metric": "precomputed"}, -D, "negative entry"),
        ({"metric": "precomputed"}, sparse.csr_array(-D), "none below zero"),
        ({"metric": "precomputed"}, np.triu(D), "not symmetric: some distance"),
        ({}, np.where(D.max() == D, np.nan, D), "NaN"),
        ({}, np.where(D.max() == D, np.inf, D), "infinity"),
        ({"metric": "no such"}, D, "metric"),
        ({"n_components": 0}, D, "n_components"),
    ],
)
def test_bad_input_is_a_clear_error(params, X, message):
    with pytest.raises(ValueError, match=message):
        Isomap(**params).fit(X)


@pytest.mark.parametrize("n_landmarks", [None, 20])
def test_units_of_the_table_do_not_matter(n_landmarks):
    X = np.random.default_rng(0).normal(size=(40, 5))
    asked = {"n_neighbors": 8, "n_landmarks": n_landmarks, "random_state": 0}
    plain = Isomap(**asked).fit(X)
    for power in (-500, -300, 300, 500):
        unit = 2.0**power
        model = Isomap(**asked).fit(X * unit)
        assert np.allclose(model.embedding_ / unit, plain.embedding_, atol=1e-12)
        assert model.residual_variance_ == pytest.approx(plain.residual_variance_, rel=1e-9)
        error = model.reconstruction_error() / unit / unit
        assert error == pytest.approx(plain.reconstruction_error(), rel=1e-9)


@pytest.mark.parametrize(("size", "dtype"), [(1e-160, "f8"), (1e-300, "f8"), (1e-25, "f4")])
def test_tables_whose_squares_vanish_are_refused(size, dtype):
    X = (size * np.random.default_rng(0).normal(size=(20, 3))).astype(dtype)
    with pytest.raises(ValueError, match=r"their squares vanish in .* Multiply X by a constant"):
        Isomap().fit(X)


def test_tables_whose_squares_overflow_are_refused():
    X = 1e160 * np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=r"squares overflow float64. Divide X by a constant"):
        Isomap().fit(X)


def test_new_row_without_neighbours():
    model = Isomap(n_neighbors=None, radius=10.0).fit(D[:, :2])
    with pytest.raises(ValueError, match=r"Row 1 of X has no neighbour within radius=10\.0"):
        model.transform([[0, 0], [100, 100]])


def test_more_coordinates_than_rows():
    with pytest.warns(UserWarning, match="n_components=20 is more than the 12 rows"):
        model = Isomap(n_components=20).fit(D[:, :2])
    assert model.embedding_.shape == (12, 12)


def test_a_sparse_graph_in_pieces_cannot_be_joined():
    graph = kneighbors_graph(two_blobs(), 4, mode="distance")
    with pytest.raises(RuntimeError, match=r"number of connected components.*A sparse graph says"):
        Isomap(n_neighbors=3, metric="precomputed").fit(graph)


def test_digits_as_scikit_learn():
    X = load_digits().data[:500]
    ours, peer = Isomap().fit(X), sklearn.manifold.Isomap().fit(X)
    assert same_up_to_signs(peer.embedding_, ours.embedding_, 1e-7)
