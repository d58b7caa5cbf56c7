"""TSNE: divergence against a reference from scratch, engines, new rows, callbacks, bad input."""

import sys
from functools import cache

import numpy as np
import pytest
import sklearn.manifold
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.callback import ProgressBar
from sklearn.datasets import load_digits, load_iris
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

import eigenlens
from benchmarks import manifold_tsne
from eigenlens import TSNE
from eigenlens.estimators._tsne_engines import forces_of
from eigenlens.ops import student
from eigenlens.solvers.affinities import conditional, joint
from eigenlens.solvers.embedding import AllPairs, Schedule, Tree, descend, divergence, place
from eigenlens.testing.watch import Watch

HERE = ("exact", "tree")


def require(engine):
    """Skip the test of an engine whose package no extra of ours for developers has."""
    if engine == "intelex":
        pytest.importorskip("daal4py", reason="engine='intelex' needs daal4py")


@cache
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600], X[600:750], y[600:750]


@cache
def fitted(engine="auto"):
    return TSNE(random_state=0, engine=engine).fit(digits()[0])


def blobs(n=40, groups=3, d=6, seed=0, apart=20):
    rng = np.random.default_rng(seed)
    centres = apart * np.eye(groups, d)
    y = np.repeat(np.arange(groups), n)
    return centres[y] + rng.normal(size=(n * groups, d)), y


# ------------------------------------------------------------------------- a reference from scratch


def gaussian_affinities(X, perplexity):
    """Joint affinities over all pairs, by bisection, row by row, as the paper has them."""
    squares = cdist(X, X, "sqeuclidean")
    n = len(X)
    P = np.zeros((n, n))
    for i in range(n):
        s = np.delete(squares[i], i)
        low, high = 0.0, 1e6
        for _ in range(200):
            b = (low + high) / 2
            p = np.exp(-b * (s - s.min()))
            p /= p.sum()
            entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
            low, high = (b, high) if entropy > np.log(perplexity) else (low, b)
        P[i, np.arange(n) != i] = p
    return (P + P.T) / (2 * n)


def student_affinities(Y):
    nu = max(Y.shape[1] - 1, 1)
    W = (1 + cdist(Y, Y, "sqeuclidean") / nu) ** (-(nu + 1) / 2)
    np.fill_diagonal(W, 0)
    return W / W.sum()


def kl(P, Y):
    Q = student_affinities(Y)
    there = P > 0
    return float((P[there] * np.log(P[there] / Q[there])).sum())


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_exact_divergence_and_its_affinities_are_those_of_the_paper(k):
    X, _ = blobs(20, apart=4)
    model = TSNE(k, perplexity=10, method="exact", max_iter=250, random_state=0).fit(X)
    P = gaussian_affinities(X, 10)
    assert np.abs(model._affinities(X).toarray() - P).max() < 1e-6 * P.max()
    assert model.kl_divergence_ == pytest.approx(kl(P, model.embedding_), rel=1e-5)


def test_divergence_is_that_of_the_judge():
    X = digits()[0][:200]
    model = TSNE(max_iter=250, random_state=0).fit(X)
    judged = manifold_tsne.divergence(manifold_tsne.affinities(X), model.embedding_)
    assert model.kl_divergence_ == pytest.approx(judged, rel=1e-5)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("engine", [AllPairs, Tree])
def test_gradient_is_that_of_the_divergence(engine, k):
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(50, k))
    P = sparse.csr_array(gaussian_affinities(rng.normal(size=(50, 4)), 8).astype(np.float32))
    nu = float(max(k - 1, 1))
    forces = engine(P, nu) if engine is AllPairs else engine(P, nu, 0.0)  # a tree opened whole
    gradient, value = forces(Y, 1.0, True)
    dense, h = P.toarray().astype(float), 1e-5
    assert value == pytest.approx(kl(dense, Y), rel=1e-5)
    for i, d in [(0, 0), (7, k - 1), (49, 0)]:
        ahead, back = Y.copy(), Y.copy()
        ahead[i, d] += h
        back[i, d] -= h
        slope = (kl(dense, ahead) - kl(dense, back)) / (2 * h)
        assert gradient[i, d] == pytest.approx(slope, abs=1e-5 * np.abs(gradient).max())


def test_tree_is_near_to_all_pairs_and_nearer_for_small_angles():
    Y = np.random.default_rng(0).normal(size=(2000, 2)) * 10
    P = sparse.csr_array((2000, 2000), dtype=np.float32)
    exact = AllPairs(P, 1.0)(Y, 1.0, False)[0]
    errors = [
        np.linalg.norm(Tree(P, 1.0, angle)(Y, 1.0, False)[0] - exact) / np.linalg.norm(exact)
        for angle in (0.2, 0.5, 0.8)
    ]
    assert errors == sorted(errors)
    assert errors[0] < 2e-3
    assert errors[1] < 2e-2


def test_tree_goes_along_a_line():
    """The place at its far end is in the last cell, not in one beyond, which is the first."""
    Y = np.outer(np.arange(33.0), [1.0, 1.0])[::-1]  # 32 wide: no rounding hides it
    tree = Tree(sparse.csr_array((33, 33), dtype=np.float32), 1.0, 0.5)
    tree(Y, 1.0, False)
    np.testing.assert_array_equal(tree._order, np.arange(33)[::-1])


def test_tree_takes_places_that_coincide():
    Y = np.repeat(np.random.default_rng(0).normal(size=(5, 2)), 40, axis=0)
    P = sparse.csr_array((200, 200), dtype=np.float32)
    for places in (Y, np.zeros_like(Y)):
        found = Tree(P, 1.0, 0.0)(places, 1.0, False)[0]
        assert np.allclose(found, AllPairs(P, 1.0)(places, 1.0, False)[0], atol=1e-8)


# ---------------------------------------------------------------------------- loops and their twins


def both(loop, *args):
    """Run a loop and its twin on copies; give the arguments as each leaves them, and its answer."""
    copies = [[np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args] for _ in "ab"]
    answers = loop(*copies[0]), loop.__wrapped__(*copies[1])
    return [[*copy, answer] for copy, answer in zip(copies, answers, strict=True)]


@pytest.mark.parametrize(("k", "nu"), [(2, 1.0), (3, 2.0)])
def test_loops_equal_their_twins(k, nu):
    rng = np.random.default_rng(0)
    Y, empty = rng.normal(size=(30, k)), np.zeros((30, k))
    columns = np.ascontiguousarray(Y.T)
    P = sparse.csr_array(gaussian_affinities(rng.normal(size=(30, 4)), 5))
    graph = P.indptr, P.indices, P.data, Y, nu, 0, 30
    nearest, p = np.array([[1, 2], [3, 4]]), np.array([[0.7, 0.3], [0.5, 0.5]])
    state = [rng.normal(size=(30, k)) for _ in range(4)]
    tree = [np.zeros(60, np.int64) for _ in range(3)]
    for pair in (
        both(student.attract, *graph, empty),
        both(student.misfit, *graph),
        both(student.repel, columns, nu, 0, 30, empty, np.zeros(30)),
        both(student.step, *state, 0.8, 3.0, 5.0),
        both(student.calibrate, rng.random((5, 12)), np.log(4.0), np.empty((5, 12))),
        both(student.settle, columns, nu, nearest, p, 20, 1e-5, Y[:2]),
        both(student.codes_of, columns, columns.min(axis=1), 50.0, 8, np.zeros(30, np.uint64)),
        both(
            student.grow,
            np.arange(30, dtype=np.uint64),
            columns,
            4,
            *tree,
            np.zeros((60, k)),
            np.zeros(60),
        ),
    ):
        for one, other in zip(*pair, strict=True):
            if one is not None:
                assert np.allclose(one, other, rtol=1e-10, atol=1e-14)


def test_codes_take_bits_in_turns():
    Y = np.array([[0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 1.0, 3.0]])
    codes = np.empty(4, np.uint64)
    student.codes_of(Y, np.zeros(2), 1.0, 2, codes)
    assert codes.tolist() == [0b0000, 0b0001, 0b0110, 0b1111]


def test_steps_raise_gains_where_the_gradient_turns_as_published():
    Y, update, gains = np.zeros((2, 1)), np.array([[1.0], [1.0]]), np.ones((2, 1))
    gradient = np.array([[-2.0], [2.0]])
    student.step(Y, gradient, update, gains, 0.5, 0.1, 0.7)
    assert gains.ravel() == pytest.approx([1.2, 0.8])
    assert update.ravel() == pytest.approx([0.7, 0.5 - 0.1 * 0.8 * 2])  # 0.74 is too long
    assert Y.mean() == pytest.approx(0)


def test_affinities_have_the_perplexity_asked_for():
    squares = (
        np.random.default_rng(0).gamma(2.0, size=(40, 60))
        * 10.0 ** np.arange(-5, 15)[np.arange(40) % 20, None]
    )
    p = conditional(squares, 7.5)
    entropy = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=1)
    assert np.exp(entropy) == pytest.approx(7.5, rel=1e-9)
    assert p.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("squares", [np.zeros((3, 5)), np.full((3, 5), 1e300), np.ones((3, 2))])
def test_affinities_where_no_width_has_the_perplexity(squares):
    p = conditional(squares, 4.0)
    assert p == pytest.approx(1 / squares.shape[1])


def test_joint_affinities_are_symmetric_with_sum_one():
    nearest = np.array([[1, 2], [0, 2], [1, 3], [2, 0]])
    P = joint(nearest, np.random.default_rng(0).random((4, 2)), 1.5).toarray()
    assert np.array_equal(P, P.T)
    assert P.sum() == pytest.approx(1)


# ----------------------------------------------------------------------------------- bad, then good


def test_neighbours_that_pca_loses_are_kept():
    X = digits()[0]
    model = fitted()
    before = model._start(X, np.random.default_rng(0)).astype(float)
    P = model._affinities(X)
    assert trustworthiness(X, before) < 0.87
    assert trustworthiness(X, model.embedding_) > 0.98
    assert model.kl_divergence_ < 0.25 * divergence(P, before, 1.0)
    assert model.objective_history_[-1] < model.objective_history_[4]
    assert len(model.objective_history_) == 20


def test_clusters_stay_apart():
    X, y = blobs()
    model = TSNE(perplexity=10, random_state=0).fit(X)
    D = cdist(model.embedding_, model.embedding_)
    same = y[:, None] == y
    assert D[same].max() < D[~same].min()


@cache
def peers():
    """Divergences of iris by scikit-learn, and the affinities that they are judged by."""
    X, options = load_iris().data[::2], {"perplexity": 10, "random_state": 0, "max_iter": 300}
    with threadpool_limits(1):  # threads of OpenMP wait for each other by spinning
        places = sklearn.manifold.TSNE(**options).fit_transform(X)
    P = TSNE(**options)._affinities(X)
    return X, options, P, divergence(P, places.astype(float), 1.0)


@pytest.mark.parametrize("engine", [*HERE, "opentsne-bh"])
def test_engines_end_at_the_divergence_of_scikit_learn(engine):
    require(engine)
    X, options, P, reference = peers()
    with threadpool_limits(1):
        model = TSNE(engine=engine, **options).fit(X)
    assert model.engine_ == model.solver_ == engine
    assert model.kl_divergence_ == pytest.approx(divergence(P, model.embedding_, 1.0))
    assert model.kl_divergence_ < 1.03 * reference
    assert model.learning_rate_ == 50


def test_engine_of_intelex():
    require("intelex")
    X = digits()[0]
    model = TSNE(engine="intelex", random_state=0).fit(X)
    assert model.engine_ == "intelex"
    assert trustworthiness(X, model.embedding_) > 0.97
    assert fitted().kl_divergence_ < model.kl_divergence_  # which is why 'auto' does not take it
    assert np.isfinite(model.transform(digits()[2])).all()


@pytest.mark.parametrize(
    ("engine", "k", "angle", "error"),
    [("opentsne-bh", 2, 0.0, 1e-5), ("opentsne-bh", 3, 0.0, 1e-5), ("opentsne-fft", 2, 0.5, 1e-2)],
)
def test_gradients_of_other_packages_are_ours(engine, k, angle, error):
    require(engine)
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(60, k)) * 3
    P = TSNE(perplexity=5)._affinities(rng.normal(size=(60, 4)))
    nu = float(max(k - 1, 1))
    with threadpool_limits(1):
        gradient, value = forces_of(engine, P, nu, angle)(Y, 4.0, True)
    expected, exact = AllPairs(P, nu)(Y, 4.0, True)
    assert np.linalg.norm(gradient - expected) < error * np.linalg.norm(expected)
    assert value == pytest.approx(exact, rel=error)


def test_choice_of_engine():
    assert TSNE.choose_engine(500) == "exact"
    assert TSNE.choose_engine(1000) == "tree"
    assert TSNE.choose_engine(50_000) == "tree"
    assert TSNE.choose_engine(50_000, 5) == "exact"
    assert fitted().engine_ == "exact"


# ----------------------------------------------------------------------------------------- new rows


def test_new_rows_are_placed_with_their_class():
    X, y, new, truth = digits()
    places = fitted().transform(new)
    accuracy = KNeighborsClassifier(10).fit(fitted().embedding_, y).score(places, truth)
    seen = TSNE(random_state=0).fit_transform(np.vstack([X, new]))
    reference = KNeighborsClassifier(10).fit(seen[: len(X)], y).score(seen[len(X) :], truth)
    assert accuracy > reference - 0.03
    assert accuracy > 0.9


def test_new_rows_do_not_see_each_other():
    new = digits()[2]
    places = fitted().transform(new)
    assert np.array_equal(fitted().transform(new[3:4]), places[3:4])
    assert np.array_equal(fitted().transform(new[::-7]), places[::-7])


def test_a_place_is_where_no_step_lowers_the_divergence():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(100, 2)) * 5
    nearest, p = np.array([[4, 9, 20]]), np.array([[0.5, 0.3, 0.2]])
    y = place(nearest, p, Y, 1.0)[0]

    def surprise(at):
        w = 1 / (1 + ((at - Y) ** 2).sum(axis=1))
        return -(p[0] * np.log(w[nearest[0]] / w.sum())).sum()

    around = y + 0.05 * np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
    assert all(surprise(y) < surprise(at) for at in around)
    h = 1e-5
    slopes = [(surprise(y + e) - surprise(y - e)) / (2 * h) for e in h * np.eye(2)]
    assert np.abs(slopes).max() < 1e-4


def test_rows_of_the_fit_get_the_places_that_they_have():
    X = digits()[0]
    assert np.array_equal(fitted().transform(X), fitted().embedding_)
    assert np.array_equal(TSNE(random_state=0).fit_transform(X), fitted().embedding_)


@pytest.mark.parametrize("metric", ["cosine", "manhattan", lambda a, b: np.abs(a - b).max()])
def test_metrics(metric):
    X, y = blobs(15)
    model = TSNE(perplexity=8, metric=metric, max_iter=300, random_state=0).fit(X)
    labels = KNeighborsClassifier(3).fit(model.embedding_, y).predict(model.transform(X + 0.1))
    assert (labels == y).all()
    assert np.array_equal(model.transform(X), model.embedding_)


def test_precomputed_distances_are_as_good_as_rows():
    X, _ = blobs(15)
    D = cdist(X, X)
    start = np.random.default_rng(0).normal(size=(45, 2)) * 1e-4
    options = {"perplexity": 8, "max_iter": 250, "init": start}
    model = TSNE(**options).fit(X)
    given = TSNE(metric="precomputed", **options).fit(D)
    assert np.allclose(given.embedding_, model.embedding_, rtol=1e-6)
    new = X[:5] + 0.1
    assert np.allclose(given.transform(cdist(new, X)), model.transform(new), rtol=1e-6)


# ----------------------------------------------------------------------------- manners of the class


def test_seeds():
    X, _ = blobs(15)
    options = {"init": "random", "perplexity": 8, "max_iter": 250}
    one, two, other = (TSNE(**options, random_state=s).fit(X).embedding_ for s in (0, 0, 1))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert np.array_equal(  # PCA leaves nothing to chance
        TSNE(perplexity=8, max_iter=250).fit(X).embedding_,
        TSNE(perplexity=8, max_iter=250).fit(X).embedding_,
    )


@pytest.mark.parametrize("engine", [*HERE, "opentsne-bh"])
def test_callbacks_see_each_fiftieth_iteration_and_can_stop(engine):
    require(engine)
    X, _ = blobs(15)
    watch = Watch()
    with threadpool_limits(1):
        model = TSNE(perplexity=8, max_iter=300, engine=engine).set_callbacks(watch).fit(X)
        stopped = TSNE(perplexity=8, engine=engine).set_callbacks(Watch(stop_after=2)).fit(X)
    assert len(watch.objectives) == 6
    assert watch.objectives == list(model.objective_history_)
    assert stopped.n_iter_ == 100
    assert not stopped.converged_


def test_progress_bar(capsys):
    X, _ = blobs(15)
    TSNE(perplexity=8, max_iter=250).set_callbacks(ProgressBar()).fit(X)
    assert "TSNE" in "".join(capsys.readouterr())


def test_fit_ends_where_nothing_moves():
    X, _ = blobs(15)
    options = {"perplexity": 8, "max_iter": 5000, "random_state": 0}
    still = TSNE(**options, min_grad_norm=1e-2).fit(X)
    assert still.converged_
    assert still.n_iter_ < 5000


def test_fit_ends_where_the_divergence_does_not_fall():
    schedule = Schedule(
        rates=(1.0, 2.0), exaggeration=4.0, max_iter=1000, patience=100, min_grad_norm=0.0
    )
    shown = []

    def forces(Y, exaggeration, wanted):
        assert exaggeration == (4.0 if len(shown) < 5 else 1.0)
        return np.ones_like(Y), 1.0

    found = descend(forces, np.eye(3), schedule, monitor=shown.append, engine="none")
    assert found.converged
    assert found.n_iter == 450  # falls at 300, from infinity, and no more
    assert shown == [1.0] * 9


def test_fewer_columns_than_dimensions():
    X = np.linspace(0, 1, 30)[:, None]
    model = TSNE(perplexity=5, max_iter=250, random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("power", [-1000, -530, 530, 1000])
def test_units_of_the_table_do_not_matter(power):
    X, _ = blobs(10)
    unit = 2.0**power
    options = {"perplexity": 5, "max_iter": 250, "random_state": 0}
    for table in (X, sparse.csr_array(X)):
        model, scaled = TSNE(**options).fit(table), TSNE(**options).fit(table * unit)
        assert np.array_equal(model.embedding_, scaled.embedding_)
        new = table[:5] * 1.01
        assert np.array_equal(model.transform(new), scaled.transform(new * unit))
    D, given = cdist(X, X), options | {"metric": "precomputed", "init": "random"}
    model, scaled = TSNE(**given).fit(D), TSNE(**given).fit(D * unit)
    assert np.array_equal(model.embedding_, scaled.embedding_)
    assert np.array_equal(model.transform(D[:5] + 0.1), scaled.transform((D[:5] + 0.1) * unit))


def test_rows_that_are_all_the_same_start_at_random():
    for table in (np.ones((20, 3)), sparse.csr_array(np.ones((20, 3)))):
        found = TSNE(perplexity=5, max_iter=250, random_state=0).fit_transform(table)
        assert np.isfinite(found).all()
        assert len(np.unique(found, axis=0)) == 20


def test_sparse_rows_of_the_fit_are_known():
    X, _ = blobs(10)
    X = sparse.csr_array(np.maximum(X, 0))
    model = TSNE(perplexity=5, max_iter=250, metric="cosine", random_state=0).fit(X)
    assert np.array_equal(model.transform(X), model.embedding_)


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openTSNE", None)
    monkeypatch.delitem(sys.modules, "openTSNE.tsne", raising=False)
    X, _ = blobs(15)
    assert TSNE(perplexity=8, max_iter=250).fit(X).engine_ == "exact"
    with pytest.raises(ImportError, match=r"pip install 'eigenlens\[tsne\]'"):
        TSNE(perplexity=8, max_iter=250, engine="opentsne-bh").fit(X)


def test_parameters_and_attributes_of_scikit_learn():
    peer = sklearn.manifold.TSNE().get_params()
    ours = TSNE().get_params()
    assert {name: ours[name] for name in peer} == peer
    X, _ = blobs(15)
    made = sklearn.manifold.TSNE(perplexity=8, max_iter=250).fit(X)
    names = {name for name in vars(made) if name.endswith("_")}
    assert names <= set(vars(TSNE(perplexity=8, max_iter=250).fit(X)))


# ---------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"perplexity": 45}, r"perplexity \(45\) must be less than n_samples \(45\)"),
        ({"init": np.zeros((3, 2))}, r"init has shape \(3, 2\).*\(45, 2\)"),
        ({"init": np.full((45, 2), np.nan)}, "init contains NaN"),
        ({"init": np.full((45, 2), 1e6)}, "do not feel each other"),
        ({"n_components": 4}, "method='exact'"),
        ({"metric": "nonsense"}, "The 'metric' parameter"),
        ({"metric": "precomputed"}, "init='random'"),
        ({"metric": "precomputed", "init": "random"}, "square distance matrix"),
        ({"engine": "opentsne-fft", "n_components": 3}, "engine='tree'"),
        ({"engine": "intelex", "n_components": 3}, "n_components=2 alone"),
        ({"engine": "tree", "method": "exact"}, "method='barnes_hut'"),
        ({"max_iter": 100}, "The 'max_iter' parameter"),
    ],
)
def test_bad_parameters_are_refused_with_a_remedy(params, words):
    X, _ = blobs(15)
    with pytest.raises(ValueError, match=words):
        TSNE(**{"perplexity": 8} | params).fit(X)


def test_bad_tables_are_refused():
    X, _ = blobs(15)
    model = TSNE(perplexity=8, max_iter=250)
    holed = X.copy()
    holed[3, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(holed)
    with pytest.raises(ValueError, match="overflow"):
        model.fit(X * 5e306)
    D = cdist(X, X)
    given = TSNE(perplexity=8, metric="precomputed", init="random")
    with pytest.raises(ValueError, match="not symmetric"):
        given.fit(D + np.triu(D))
    with pytest.raises(TypeError, match="dense array"):
        given.set_params(max_iter=250).fit(D).transform(sparse.csr_array(D))
    D[0, 1] = -1
    with pytest.raises(ValueError, match="positive distances"):
        given.fit(D)
    with pytest.raises(TypeError, match="dense matrix"):
        given.set_params(method="exact").fit(sparse.csr_array(cdist(X, X)))
    with pytest.raises(ValueError, match="expecting 6 features"):
        model.fit(X).transform(X[:, :3])


def test_it_is_listed():
    assert eigenlens.methods()["TSNE"].kind == "manifold"


def test_a_table_may_be_asked_for_everywhere():
    """The PCA of the start is ours, and stays an array."""
    X = np.random.default_rng(0).standard_normal((35, 4))
    with sklearn.config_context(transform_output="pandas"):
        places = TSNE(perplexity=5).fit_transform(X)
    assert list(places.columns) == ["tsne0", "tsne1"]
    np.testing.assert_array_equal(places, TSNE(perplexity=5).fit_transform(X))


def test_a_metric_that_gives_negative_distances_is_refused():
    X = np.random.default_rng(0).standard_normal((35, 4))
    with pytest.raises(ValueError, match="metric given is not correct: it gives -1"):
        TSNE(metric=lambda a, b: -1.0, method="exact", perplexity=5).fit(X)
