"""The examples on maps: side by side, of a Swiss roll, and with new rows."""

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier

from eigenlens import PCA


@pytest.fixture
def digits(run):
    return run("maps/side_by_side")


def test_each_map_is_the_best_at_its_own(digits):
    best, table, names = digits["best"], digits["table"], list(digits["places"])
    assert best == {
        "variance kept": "PCA",
        "variance of features kept": "kernel PCA",
        "neighbours kept": "t-SNE",
        "scatter between classes": "LLE",
        "stress": "MDS",
        "ways along the data missed": "Isomap",
        "error of local weights": "LLE",
    }
    for what, row in table.items():
        in_order = np.sort(row) if what in digits["smallest_is_best"] else np.sort(row)[::-1]
        assert abs(in_order[0] - in_order[1]) > 0.03, what  # not for a hair
        assert row[names.index(best[what])] == in_order[0]
    # what no plane can exceed
    kept = dict(zip(names, table["variance kept"], strict=True))
    assert kept["PCA"] == pytest.approx(1)
    features = dict(zip(names, table["variance of features kept"], strict=True))
    assert features["kernel PCA"] == pytest.approx(1)
    assert kept["kernel PCA"] < 0.96 > features["PCA"]
    neighbours = dict(zip(names, table["neighbours kept"], strict=True))
    assert neighbours["MDS"] < 0.6 * neighbours["t-SNE"]
    # LDA is the best linear map for classes, and is behind two that have not seen them
    scatter = dict(zip(names, table["scatter between classes"], strict=True))
    assert scatter["PCA"] + 0.1 < scatter["LDA"] < scatter["t-SNE"] < scatter["LLE"]
    linear = digits["places"]["LDA"]
    assert LinearRegression().fit(digits["X"], linear).score(digits["X"], linear) > 1 - 1e-9


def test_criteria_are_those_of_the_methods(digits):
    X, places, models = digits["X"], digits["places"], digits["models"]
    # the share of variance is what a linear way back explains, of maps that are not linear too
    most = PCA(2).fit(X).explained_variance_ratio_.sum()
    for Z, share in zip(places.values(), digits["table"]["variance kept"], strict=True):
        missed = np.sum((X - LinearRegression().fit(Z, X).predict(Z)) ** 2)
        explained = 1 - missed / np.sum((X - X.mean(axis=0)) ** 2)
        assert explained / most == pytest.approx(share)
    # what LLE says of itself: a sum over two coordinates, where ours is the root of the mean
    ours = 2 * digits["broken"](places["LLE"]) ** 2
    assert ours == pytest.approx(models["LLE"].reconstruction_error_, rel=1e-3)
    # the kernel, of images of one digit and of others
    kernel, same = rbf_kernel(X, gamma=digits["GAMMA"]), np.equal.outer(digits["y"], digits["y"])
    np.fill_diagonal(same, False)
    assert np.median(kernel[same]) == pytest.approx(0.4, abs=0.03)
    others = kernel[np.not_equal.outer(digits["y"], digits["y"])]
    assert np.median(others) == pytest.approx(0.15, abs=0.015)
    # Isomap's: how much of the inner products its two coordinates leave
    D = models["Isomap"].dist_matrix_
    size = np.linalg.norm(digits["centred"](D**2 / 2)) / len(D)
    left = (models["Isomap"].reconstruction_error() / size) ** 2
    assert digits["missed"](places["Isomap"]) == pytest.approx(left, rel=1e-6)


def test_what_maps_of_digits_keep(digits):
    quality, places, y = digits["quality"], digits["places"], digits["y"]
    for what in ("neighbour_preservation", "knn_accuracy", "trustworthiness"):
        assert max(quality, key=lambda name: getattr(quality[name], what)) == "t-SNE"
    assert max(quality, key=lambda name: quality[name].shepard_correlation) == "MDS"
    assert quality["t-SNE"].knn_accuracy > 0.95
    assert quality["t-SNE"].neighbour_preservation == pytest.approx(0.72, abs=0.03)
    assert quality["MDS"].shepard_correlation == pytest.approx(0.71, abs=0.02)
    # LLE: the zeros on one spot, the sixes away from the others
    lle = places["LLE"] / np.ptp(places["LLE"], axis=0)
    assert np.ptp(lle[y == 0], axis=0).max() < 0.05
    rest = np.median(lle[(y != 0) & (y != 6)], axis=0)
    for digit in (0, 6):
        assert np.linalg.norm(np.median(lle[y == digit], axis=0) - rest) > 0.5


@pytest.fixture
def roll(run):
    return run("maps/swiss_roll")


def test_what_is_known_of_the_sheet(roll):
    truth, stress = roll["truth"], roll["stress"]
    t, length = roll["t"], roll["length"]
    for i in (0, 1):
        assert length[i] == pytest.approx(quad(lambda s: np.hypot(1, s), 0, t[i])[0])
    for name in ("PCA", "MDS"):
        assert truth[name][0] < 0.4 < 0.5 < stress[name]
    assert truth["LLE"][0] > 0.99 > 0.6 > truth["LLE"][1]
    assert truth["modified LLE"].min() > 0.99
    assert truth["Isomap"].min() > 0.98
    assert stress["Isomap"] < 0.03
    assert min(each for name, each in stress.items() if name != "Isomap") > 0.3


def test_one_edge_through_the_air(roll):
    known, cut = roll["known"], roll["cut"]
    assert roll["graph"].nnz == len(roll["stretch"]) == 11 * 800
    pairs = {frozenset(pair) for pair in zip(roll["i"], roll["j"], strict=True)}
    assert 4500 < len(pairs) < 5500
    assert np.sum(roll["stretch"] > 1.1) == 1
    assert roll["stretch"][cut] == pytest.approx(10.9, abs=0.2)
    assert roll["mended"].nnz == roll["graph"].nnz - 1
    assert known(roll["folded"])[1] < 0.3
    assert known(roll["healed"]).min() > 0.99
    numbers, residual, heights = (np.array(roll[k]) for k in ("numbers", "residual", "heights"))
    assert residual[numbers <= 10].max() < 0.005
    assert residual[numbers >= 11].min() > 0.03
    assert heights[numbers >= 11].max() < 0.3 < 0.9 < heights[numbers <= 10].min()
    assert heights[numbers == 5] < heights[numbers == 10] - 0.02
    assert roll["error_text"].startswith("The number of connected components")
    assert "is 2 " in roll["error_text"]
    assert "n_neighbors=5 is the smallest" in roll["error_text"]


def test_landmarks_of_the_sheet(roll):
    by_landmarks, counts = roll["by_landmarks"], np.array(roll["counts"])
    whole = roll["stress"]["Isomap"]
    np.testing.assert_allclose(by_landmarks[:, counts >= 10], whole, rtol=0.25)
    assert by_landmarks[:, counts == 3].min() > 1.3 * whole
    assert roll["model"].dist_matrix_.nbytes == 8 * 10 * 5000
    assert 8 * 5000**2 == 200e6


@pytest.fixture
def late(run):
    return run("maps/new_rows")


def test_new_rows_come_to_lie_where_they_belong(late):
    shares = late["shares"]
    assert (len(late["X"]), len(late["X_new"])) == (500, 250)
    for fitted, new in shares.values():
        assert new == pytest.approx(fitted, abs=0.07)
    for name, Z in late["places"].items():
        by_hand = KNeighborsClassifier(10).fit(Z, late["y"])
        right = by_hand.score(late["placed"][name], late["y_new"])
        assert shares[name][1] == pytest.approx(right, abs=0.02)  # ties are broken otherwise
    for share in shares["PCA"]:
        assert share == pytest.approx(2 / 3, abs=0.06)
    assert shares["PCA"][1] < shares["MDS"][1] < shares["t-SNE"][1]
    assert shares["t-SNE"][1] == pytest.approx(shares["64 pixels"][1], abs=0.02)
    assert max(late["moved"].values()) < 1e-9
    assert max(late["drift"][name] for name in ("PCA", "Isomap", "t-SNE")) < 1e-9
    assert 1e-6 < late["drift"]["MDS"] < 0.02


def test_rows_that_do_not_belong(late):
    away = late["away"]
    beyond = {name: np.mean(odd > new.max()) for name, (new, odd) in away.items()}
    times = {name: np.median(odd) / np.median(new) for name, (new, odd) in away.items()}
    assert times["64 pixels"] == pytest.approx(4.9, abs=0.3)
    assert beyond["64 pixels"] == beyond["MDS"] == 1
    assert beyond["PCA"] < 0.15
    assert beyond["t-SNE"] < 0.25
    assert times["PCA"] < 2 > times["t-SNE"]
    # a ring: outside of all places, at about one distance from the middle
    centre = late["places"]["MDS"].mean(axis=0)
    ring = np.linalg.norm(late["models"]["MDS"].transform(late["strange"]) - centre, axis=1)
    inside = np.linalg.norm(late["places"]["MDS"] - centre, axis=1)
    assert ring.min() > 1.5 * inside.max()
    assert ring.max() < 1.2 * ring.min()
