"""Quality of embeddings: peers, brute force, closed forms, and what must not matter."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr
from sklearn import manifold, metrics
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from eigenlens import PCA
from eigenlens.measure import (
    continuity,
    embedding_quality,
    knn_accuracy,
    neighbour_preservation,
    normalised_stress,
    shepard_correlation,
    silhouette,
    trustworthiness,
)
from eigenlens.measure.neighbourhoods import neighbourhoods
from eigenlens.measure.spaces import both_spaces

NEIGHBOURS = [trustworthiness, continuity, neighbour_preservation]
DISTANCES = [shepard_correlation, normalised_stress]
PAIRED = [*NEIGHBOURS, *DISTANCES]


def by_name(function):
    return function.__name__


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400].astype(np.float64), y[:400]
    return X, PCA(2).fit_transform(X), y


def noise(n=120, d=6, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, :k] + 0.3 * rng.standard_normal((n, k))


# ------------------------------------------------------------------------------------ brute force


def ranks_of(D):
    """Place of each point as seen from each: 1 for the nearest, ties by number."""
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    ranks = np.empty(D.shape, int)
    np.put_along_axis(ranks, np.argsort(D, axis=1, kind="stable"), np.arange(len(D))[None] + 1, 1)
    return ranks


def brute(D, E, k):
    """Trustworthiness, continuity and share of neighbours kept, from two tables of distances."""
    n = len(D)
    r, s = ranks_of(D), ranks_of(E)
    worst = n * k * (2 * n - 3 * k - 1) / 2
    off = np.eye(n, dtype=bool)
    made_up, torn = (s <= k) & (r > k) & ~off, (r <= k) & (s > k) & ~off
    kept = ((r <= k) & (s <= k) & ~off).sum() / (n * k)
    return 1 - (r - k)[made_up].sum() / worst, 1 - (s - k)[torn].sum() / worst, kept


def exact_distances(X):
    X = X.astype(np.longdouble)
    return np.sqrt(np.array([((X - x) ** 2).sum(axis=1) for x in X]))


TABLES = {
    "noise": noise(),
    "many columns": noise(100, 60, 5),
    "means of 1e6": tuple(part + 1e6 for part in noise(seed=1)),
    "float32": tuple(part.astype(np.float32) for part in noise(seed=2)),
    "ties": tuple(np.round(part).astype(int) for part in noise(seed=3)),
    "rows three times": tuple(np.tile(part[:40], (3, 1)) for part in noise(seed=4)),
    "one place": (noise(seed=5)[0], np.ones((120, 2))),
}


@pytest.mark.parametrize("k", [1, 5, 49])
@pytest.mark.parametrize("name", TABLES)
def test_neighbours_by_brute_force(name, k):
    X, Y = TABLES[name]
    expected = brute(exact_distances(X), exact_distances(Y), k)
    found = [measure(X, Y, n_neighbors=k) for measure in NEIGHBOURS]
    assert found == pytest.approx(expected, rel=0, abs=1e-15)


@pytest.mark.parametrize("name", [name for name in TABLES if name != "one place"])
def test_distances_by_brute_force(name):
    X, Y = TABLES[name]
    over = np.triu_indices(len(X), 1)
    d, e = (exact_distances(part)[over].astype(np.float64) for part in (X, Y))
    assert shepard_correlation(X, Y) == pytest.approx(spearmanr(d, e).statistic, rel=1e-12)
    raw = np.sqrt(((d - e) ** 2).sum() / (e**2).sum())
    assert normalised_stress(X, Y, scale=False) == pytest.approx(raw, rel=1e-9)
    a = d @ e / (d @ d)
    best = np.sqrt(((a * d - e) ** 2).sum() / (e**2).sum())
    assert normalised_stress(X, Y) == pytest.approx(best, rel=1e-9)


def test_more_rows_than_a_tile_has():
    """The first rows are apart, so that pairs left out or taken twice would show."""
    X, Y = noise(700, 20)
    Y[:300, 0] += 3
    d, e = pdist(X), pdist(Y)
    best = np.sqrt(1 - (d @ e) ** 2 / (d @ d) / (e @ e))
    assert normalised_stress(X, Y) == pytest.approx(best, rel=1e-9)
    y = np.arange(700) // 150
    assert silhouette(Y, y) == pytest.approx(metrics.silhouette_score(Y, y), rel=1e-9)
    expected = brute(squareform(d), squareform(e), 7)
    found = [measure(X, Y, n_neighbors=7) for measure in NEIGHBOURS]
    assert found == pytest.approx(expected, rel=0, abs=1e-15)


# ------------------------------------------------------------------------------------------ peers


@pytest.mark.parametrize("k", [1, 5, 30])
def test_trustworthiness_of_scikit_learn(digits, k):
    X, Y, _ = digits
    peer = manifold.trustworthiness(X, Y, n_neighbors=k)
    # pixels are whole numbers: two points as far as each other go by their row only here
    assert trustworthiness(X, Y, n_neighbors=k) == pytest.approx(peer, abs=1e-4)
    X = X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)
    peer = manifold.trustworthiness(X, Y, n_neighbors=k)
    assert trustworthiness(X, Y, n_neighbors=k) == pytest.approx(peer, abs=1e-14)
    assert continuity(Y, X, n_neighbors=k) == pytest.approx(peer, abs=1e-14)


def test_stress_of_scikit_learn():
    X, _ = noise(60)
    mds = manifold.MDS(2, n_init=1, init="random", normalized_stress=True, random_state=0).fit(X)
    found = normalised_stress(X, mds.embedding_, scale=False)
    # its stress is that of the place before the last step
    assert found == pytest.approx(mds.stress_, rel=1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_silhouette_of_scikit_learn(digits, dtype):
    X, Y, y = digits
    names = np.array(list("abcdefghij"))[y]
    for points in (X, Y):
        peer = metrics.silhouette_score(points, y)
        found = silhouette(points.astype(dtype), names)
        assert found == pytest.approx(peer, rel=1e-12 if dtype == np.float64 else 1e-5)


def test_silhouette_of_points_alone_and_in_one_place():
    X = np.array([[0.0], [0.0], [0.0], [0.0], [5.0]])
    y = [0, 0, 1, 1, 2]
    assert silhouette(X, y) == metrics.silhouette_score(X, y) == 0
    X = np.array([[0.0], [1.0], [4.0], [9.0]])
    y = [0, 0, 1, 2]
    assert silhouette(X, y) == pytest.approx((3 / 4 + 2 / 3) / 4)
    assert silhouette(X, y) == pytest.approx(metrics.silhouette_score(X, y))


def test_silhouette_of_tight_classes_far_from_the_third():
    """Products of matrices would lose distances of 1e-9 beside those of 1."""
    rng = np.random.default_rng(0)
    pair = 1e-9 * (rng.standard_normal((40, 2)) + np.repeat([[0.0], [9.0]], 20, axis=0))
    X = np.vstack([pair, 5 + rng.standard_normal((100, 2))])
    y = np.repeat([0, 1, 2], [20, 20, 100])
    near = silhouette(X[:40] * 1e9, y[:40])
    assert near > 0.7
    D = exact_distances(X).astype(np.float64)
    assert silhouette(X, y) == pytest.approx(metrics.silhouette_score(D, y, metric="precomputed"))


@pytest.mark.parametrize("as_mask", [True, False])
def test_knn_accuracy_of_scikit_learn(digits, as_mask):
    _, Y, y = digits
    out = np.arange(0, 400, 3)
    rest = np.setdiff1d(np.arange(400), out)
    peer = KNeighborsClassifier(7).fit(Y[rest], y[rest]).score(Y[out], y[out])
    given = np.isin(np.arange(400), out) if as_mask else out
    assert knn_accuracy(Y, y, n_neighbors=7, held_out=given) == peer


def test_knn_accuracy_leaves_each_out(digits):
    _, Y, y = digits
    D = exact_distances(Y)
    np.fill_diagonal(D, np.inf)
    votes = y[np.argsort(D, axis=1)[:, :5]]
    named = [np.bincount(vote).argmax() for vote in votes]
    assert knn_accuracy(Y, y) == np.mean(named == y)
    assert knn_accuracy(Y, y, held_out=[-1]) in (0, 1)


# ----------------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("measure", PAIRED, ids=by_name)
def test_nothing_is_lost_by_keeping_everything(measure):
    X, _ = noise()
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]
    best = 0 if measure is normalised_stress else 1
    for same in (X, -X, 7 * X, X + 3, X @ turn, np.c_[X, np.zeros(120)]):
        assert measure(X, same) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(("n", "k"), [(7, 3), (40, 1), (41, 20), (40, 19)])
def test_the_worst_embedding_has_none(n, k):
    """Near and far in each other's place, by distances 1 / d: no triangle forbids it, as given."""
    X, _ = noise(n)
    D = squareform(pdist(X))
    reverse = np.divide(1, D, out=np.zeros_like(D), where=D > 0)
    assert brute(D, reverse, k)[0] == pytest.approx(0, abs=1e-15)
    # a map into space whose order is the reverse of that of given distances: those of its images
    back = D.max() * 2 - D
    np.fill_diagonal(back, 0)
    assert trustworthiness(back, X, n_neighbors=k, metric="precomputed") == pytest.approx(0)
    assert continuity(back, X, n_neighbors=k, metric="precomputed") == pytest.approx(0)
    kept = neighbour_preservation(back, X, n_neighbors=k, metric="precomputed")
    assert kept == 0
    assert shepard_correlation(back, X, metric="precomputed") == pytest.approx(-1)


def test_random_places_have_a_half():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((1500, 5)), rng.standard_normal((1500, 2))
    for measure in (trustworthiness, continuity):
        assert measure(X, Y) == pytest.approx(0.5, abs=0.02)
    assert neighbour_preservation(X, Y) == pytest.approx(5 / 1499, abs=0.003)
    assert shepard_correlation(X, Y) == pytest.approx(0, abs=0.05)


def test_a_fold_costs_trust():
    t = np.linspace(-1, 1, 101)[:, None]
    folded = np.abs(t + 0.001)
    assert trustworthiness(t, folded) < 0.9 < continuity(t, folded)


@pytest.mark.parametrize("n", [20, 200])
def test_a_circle_that_is_cut(n):
    """On each side of the cut, a point loses two of four neighbours, and the next one loses one.

    Their places as seen from there are now the last: n - 1 and n - 2 for the first, n - 1.
    """
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)[:, None]
    circle = np.c_[np.cos(angle), np.sin(angle)]
    worst = n * 4 * (2 * n - 13) / 2
    found = continuity(circle, angle, n_neighbors=4)
    assert found == pytest.approx(1 - 2 * (3 * n - 4 - 3 * 4) / worst, rel=1e-14)
    assert found < trustworthiness(circle, angle, n_neighbors=4) < 1


def test_stress_of_a_square_on_a_line():
    """Images 0, 0, 1, 1: two sides become points, and the diagonals as long as a side."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    # d: sides 4 x 1, diagonals 2 x sqrt 2; e: 1 for the two sides across and both diagonals
    cosine = (2 + 2 * np.sqrt(2)) / np.sqrt(8 * 4)
    assert normalised_stress(X, X[:, :1]) == pytest.approx(np.sqrt(1 - cosine**2))
    raw = np.sqrt((2 + 2 * (np.sqrt(2) - 1) ** 2) / 4)
    assert normalised_stress(X, X[:, :1], scale=False) == pytest.approx(raw)


def test_stress_of_points_in_one_place():
    X, Y = noise()
    one = np.ones_like(Y)
    assert normalised_stress(X, one) == normalised_stress(one, Y) == 1
    assert normalised_stress(one, one) == normalised_stress(one, one, scale=False) == 0
    assert normalised_stress(X, one, scale=False) == np.inf
    assert normalised_stress(one, Y, scale=False) == pytest.approx(1)
    assert np.isnan(shepard_correlation(X, one))


# --------------------------------------------------------------------------- what must not matter


@pytest.mark.parametrize("measure", PAIRED, ids=by_name)
def test_turns_units_and_order_of_rows_do_not_matter(measure):
    X, Y = noise()
    rng = np.random.default_rng(2)
    turn, small = (np.linalg.qr(rng.standard_normal((k, k)))[0] for k in (6, 2))
    order = rng.permutation(len(X))
    expected = measure(X, Y)
    assert 0.01 < expected < 0.99
    for A, B in [
        (X @ turn, Y @ small),
        (1e90 * X, 1e-90 * Y),
        (X[order], Y[order]),
        (X + 9, Y - 9),
    ]:
        assert measure(A, B) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("measure", PAIRED, ids=by_name)
def test_form_of_the_table_does_not_matter(measure):
    """Whole numbers have the same distances in every form, to the bit."""
    rng = np.random.default_rng(3)
    X = rng.poisson(0.7, (90, 30)).astype(np.float64)
    Y = X[:, :3] + X[:, 3:6]
    expected = measure(X, Y)
    for same in (sparse.csr_array(X), sparse.csc_matrix(X), np.asfortranarray(X), X.tolist()):
        assert measure(same, np.asfortranarray(Y)) == pytest.approx(expected, rel=1e-14)
    assert measure(X.astype(np.float32), Y.astype(np.float32)) == pytest.approx(expected, rel=1e-14)
    D = squareform(pdist(X))
    assert measure(D, Y, metric="precomputed") == pytest.approx(expected, rel=1e-12)
    single = D.astype(np.float32)
    assert measure(single, Y, metric="precomputed") == pytest.approx(expected, rel=1e-6)


def test_large_means_cost_no_digits():
    """With means of 2^30 the entries are the same numbers, shifted."""
    rng = np.random.default_rng(4)
    X = np.round(rng.standard_normal((300, 20)) * 2**10) / 2**10
    Y = np.round(rng.standard_normal((300, 2)) * 2**10) / 2**10
    plain, shifted = embedding_quality(X, Y), embedding_quality(X + 2.0**30, Y - 2.0**30)
    assert shifted.normalised_stress == pytest.approx(plain.normalised_stress, rel=1e-12)
    assert replace(shifted, normalised_stress=0) == replace(plain, normalised_stress=0)


def test_threads_do_not_matter(digits, many_threads):
    X, Y, y = digits
    X, Y, y = np.tile(X, (2, 1)) + np.arange(800)[:, None] / 1e3, np.tile(Y, (2, 1)), np.tile(y, 2)
    found = []
    for count in (1, 4):
        with threadpool_limits(count):
            found.append(
                [embedding_quality(X, Y, y=y), embedding_quality(X, Y, sample=300, random_state=0)]
            )
    assert found[0] == found[1]


def test_input_is_left_alone():
    X, Y = noise()
    y = np.arange(120) % 3
    D = squareform(pdist(X))
    before = X.copy(), Y.copy(), y.copy(), D.copy()
    embedding_quality(X, Y, y=y, held_out=[1, 2])
    embedding_quality(D, Y, metric="precomputed")
    for now, then in zip((X, Y, y, D), before, strict=True):
        np.testing.assert_array_equal(now, then)


# ----------------------------------------------------------------------------------------- samples


def test_rows_by_themselves_have_the_measures_as_their_mean():
    original, images = both_spaces(*noise(60), "euclidean")
    each = [neighbourhoods(original, images, 4, np.array([row])) for row in range(60)]
    whole = neighbourhoods(original, images, 4, np.arange(60))
    np.testing.assert_allclose(np.mean(each, axis=0), whole, rtol=1e-14)


@pytest.mark.parametrize("measure", [*NEIGHBOURS, normalised_stress, silhouette], ids=by_name)
def test_samples_are_right_on_average(measure):
    X, Y = noise(80)
    given = (Y, (X[:, 0] > 0) * 1) if measure is silhouette else (X, Y)
    found = np.array([measure(*given, sample=20, random_state=seed) for seed in range(200)])
    error = found.std() / np.sqrt(len(found))
    assert error > 0
    assert abs(found.mean() - measure(*given)) < 4 * error
    assert measure(*given, sample=80) == measure(*given, sample=10**6) == measure(*given)


def test_pairs_are_drawn_alike():
    X, Y = noise(80)
    found = [shepard_correlation(X, Y, n_pairs=300, random_state=seed) for seed in range(200)]
    assert np.std(found) < 1 / np.sqrt(300)
    assert abs(np.mean(found) - shepard_correlation(X, Y)) < 4 * np.std(found) / np.sqrt(200)


def test_record_has_what_the_functions_give(digits):
    X, Y, y = digits
    out = np.arange(0, 400, 4)
    found = embedding_quality(
        X, Y, y=y, held_out=out, n_neighbors=8, sample=100, n_pairs=5000, random_state=3
    )
    for measure in NEIGHBOURS:
        alone = measure(X, Y, n_neighbors=8, sample=100, random_state=3)
        assert getattr(found, measure.__name__) == alone
    assert found.normalised_stress == normalised_stress(X, Y, sample=100, random_state=3)
    assert found.shepard_correlation == shepard_correlation(X, Y, n_pairs=5000, random_state=3)
    assert found.silhouette == silhouette(Y, y, sample=100, random_state=3)
    assert found.knn_accuracy == knn_accuracy(Y, y, n_neighbors=8, held_out=out)
    assert (found.n_neighbors, found.n_rows, found.n_pairs) == (8, 100, 5000)
    assert not found.exact
    assert str(found).endswith("of 100 rows, 5 000 pairs, 8 neighbours")
    whole = embedding_quality(X, Y)
    assert whole.exact
    assert whole.silhouette is whole.knn_accuracy is None
    assert "silhouette" not in str(whole)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_no_table_of_distances_is_held(form):
    n = 3000
    X = np.random.default_rng(0).standard_normal((n, 20))
    Y = X[:, :2].copy()
    if form == "sparse":
        X = sparse.random_array((n, 2000), density=0.01, rng=0, format="csr")
    y = np.arange(n) % 10
    embedding_quality(X[:50], Y[:50], y=y[:50])  # what compiles holds memory too
    tracemalloc.start()
    embedding_quality(X, Y, y=y, n_pairs=10_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 8 / (8 if form == "dense" else 2)


# --------------------------------------------------------------------------------------- bad input


def test_what_it_refuses():
    X, Y = noise(20)
    with pytest.raises(ValueError, match="X has 20 rows and its embedding Y has 19"):
        trustworthiness(X, Y[:-1])
    for k in (0, 10, 2.5, "5"):
        with pytest.raises(ValueError, match=r"n_neighbors=.* less than half of the 20 rows"):
            embedding_quality(X, Y, n_neighbors=k)
    for sample in (0, -1, 2.5):
        with pytest.raises(ValueError, match=f"sample={sample} must be a number of rows"):
            continuity(X, Y, sample=sample)
    with pytest.raises(ValueError, match="n_pairs=1 must be"):
        embedding_quality(X, Y, n_pairs=1)
    with pytest.raises(ValueError, match=r"metric='cosine' must be .*pairwise_distances"):
        shepard_correlation(X, Y, metric="cosine")
    with pytest.raises(ValueError, match="held_out are rows whose class"):
        embedding_quality(X, Y, held_out=[1])
    with pytest.raises(ValueError, match="Input Y contains NaN"):
        normalised_stress(X, np.full_like(Y, np.nan))
    with pytest.raises(ValueError, match=r"largest entry of X has size 1\.0e\+200"):
        normalised_stress(np.full_like(X, 1e200), Y)
    with pytest.raises(TypeError, match="dense data is required"):
        normalised_stress(sparse.csr_array(np.eye(20)), Y, metric="precomputed")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_no_matrix_of_distances(dtype):
    X, Y = noise(20)
    D = squareform(pdist(X)).astype(dtype)

    def refuse(D, match):
        with pytest.raises(ValueError, match=match):
            trustworthiness(D, Y, metric="precomputed")

    refuse(D[:, :-1], r"shape \(20, 19\), and metric='precomputed' needs the square matrix")
    refuse(-D, "negative entry")
    refuse(np.exp(-D), "has 1 on its diagonal")
    lopsided = D.copy()
    lopsided[3, 11] += 0.1
    refuse(lopsided, "not symmetric: some distance differs by 0.1 ")
    nearly = D * (1 + np.finfo(dtype).eps * np.triu(np.ones_like(D)))
    assert 0 < trustworthiness(nearly, Y, metric="precomputed") < 1


def test_what_classes_it_refuses():
    _, Y = noise(20)
    y = np.arange(20) % 2
    for measure in (silhouette, knn_accuracy):
        with pytest.raises(ValueError, match=r"labels have shape \(19,\), and there are 20 rows"):
            measure(Y, y[:-1])
        with pytest.raises(ValueError, match="labels name 1 class for 20 rows"):
            measure(Y, np.ones(20))
        with pytest.raises(ValueError, match="labels name 20 classes for 20 rows"):
            measure(Y, np.arange(20))
    for k in (0, 20, 1.5):
        with pytest.raises(
            ValueError, match=f"n_neighbors={k} must be a whole number from 1 to 19"
        ):
            knn_accuracy(Y, y, n_neighbors=k)
    with pytest.raises(ValueError, match="from 1 to 18, the number of points that vote"):
        knn_accuracy(Y, y, n_neighbors=19, held_out=[0, 1])
    for out in ([20], [-21], [0.5], ["a"]):
        with pytest.raises(ValueError, match="from 0 to 19, or a mask of 20"):
            knn_accuracy(Y, y, held_out=out)
    with pytest.raises(ValueError, match=r"mask of shape \(3,\)"):
        knn_accuracy(Y, y, held_out=[True, False, True])
    for out in (np.zeros(20, bool), np.arange(20)):
        with pytest.raises(ValueError, match="Hold out some, and leave some to vote"):
            knn_accuracy(Y, y, held_out=out)
