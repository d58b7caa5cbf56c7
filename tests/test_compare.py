"""The list of all methods, and methods side by side on one table."""

import os
import re
import time
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import eigenlens
from eigenlens import PCA, compare
from eigenlens._register import KINDS, classes
from eigenlens.measure.comparison import COLUMNS, Compared, Comparison
from eigenlens.measure.trial import made


class Odd(TransformerMixin, BaseEstimator):
    """A method that does what its name says instead of a fit."""

    def __init__(self, does="fail"):
        self.does = does

    def fit(self, X, y=None):
        if self.does == "fail":
            raise ValueError("no <b>luck</b> today")
        if self.does == "hang":
            time.sleep(600)
        if self.does == "crash":
            os._exit(1)
        return self

    def transform(self, X):
        return X[:, :2] * (np.nan if self.does == "nan" else 1)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def found(wine):
    names = ["PCA", "SparsePCA", "NMF", "LinearDiscriminantAnalysis", "LocallyLinearEmbedding"]
    return compare(wine[0], names, 2, wine[1])


# ------------------------------------------------------------------------------------ the register


def test_methods_are_those_of_the_register_and_others():
    methods = eigenlens.methods()
    assert set(classes()) < set(methods)
    assert {"LocallyLinearEmbedding", "LinearDiscriminantAnalysis", "FastICA"} < set(methods)
    for name, method in methods.items():
        assert method.name == name
        assert method.kind in KINDS
        assert method.finds
        assert (method.origin == "eigenlens") == (name in classes())
        if method.origin != "umap-learn":  # which takes seconds to load
            assert method.load().__name__ == name
            assert hasattr(method.load(), "inverse_transform") == method.way_back
    assert methods["PCA"].promises == tuple(sorted(PCA.claims))
    assert [name for name, method in methods.items() if method.supervised] == [
        "LinearDiscriminantAnalysis"
    ]


def test_all_kinds_are_taken():
    assert {method.kind for method in eigenlens.methods().values()} == set(KINDS)


# --------------------------------------------------------------------------------------- the table


def test_every_method_has_a_row_with_what_can_be_said(found):
    for row in found.rows:
        assert not row.error
        assert row.n_components == 2
        assert row.why == "asked for"
        assert row.seconds > 0
        for share in (row.trustworthiness, row.continuity, row.knn_accuracy, row.stability):
            assert 0.5 < share <= 1
        assert row.stability < 1 - 1e-9  # it is of a fit to fewer rows
        assert np.isfinite(row.silhouette)
    assert found["PCA"].sparsity == 0
    assert found["SparsePCA"].sparsity > 0
    assert found["PCA"].reconstruction_error < found["NMF"].reconstruction_error < 1
    assert np.isnan(found["LocallyLinearEmbedding"].reconstruction_error)
    assert found["LinearDiscriminantAnalysis"].knn_accuracy > 0.9
    assert found["PCA"].origin == "eigenlens"
    assert found["LinearDiscriminantAnalysis"].origin == "scikit-learn"
    assert "below zero" in found["NMF"].warnings[0]
    assert found["NMF"].certificate


def test_the_error_is_of_rows_that_no_fit_saw(wine, here):
    X = wine[0]
    row = compare(X, ["PCA"], 3, random_state=5)["PCA"]
    order = np.random.default_rng(5).permutation(len(X))
    test, train = np.sort(order[:44]), np.sort(order[44:])
    scaler = StandardScaler().fit(X[train])
    model = PCA(3).fit(scaler.transform(X[train]))
    Z = scaler.transform(X[test])
    back = model.inverse_transform(model.transform(Z))
    expected = np.linalg.norm(back - Z) / np.linalg.norm(Z - model.mean_)
    assert row.reconstruction_error == pytest.approx(expected)


def test_a_rule_settles_the_number_for_all(wine, here):
    rows = compare(wine[0], ["PCA", "FastICA"], "parallel").rows
    assert rows[0].n_components == rows[1].n_components > 1
    assert rows[1].why == "PCA with n_components='parallel'"


@pytest.mark.parametrize(("default", "settled"), [(15, 6), (4, 4), (None, None)])
def test_neighbours_are_no_more_than_a_third_of_the_rows(default, settled):
    class Near(BaseEstimator):
        def __init__(self, n_neighbors=default):
            self.n_neighbors = n_neighbors

    method = SimpleNamespace(name="Near", load=lambda: Near)
    assert made(method, 2, 0, n_samples=20).n_neighbors == settled


def test_the_same_seed_gives_the_same(wine, here):
    one, two = (compare(wine[0], ["NMF"], 3, wine[1], random_state=7)["NMF"] for _ in range(2))
    for name in set(COLUMNS) - {"seconds", "megabytes"}:
        np.testing.assert_equal(getattr(one, name), getattr(two, name))


def test_frames_and_pages(found):
    frame = found.to_pandas()
    assert list(frame.index) == [row.method for row in found.rows]
    assert frame.loc["PCA", "sparsity"] == 0
    assert isinstance(found.to_polars(), pl.DataFrame)
    assert found.to_polars().shape == (5, len(COLUMNS))
    assert str(found).splitlines()[1].startswith("PCA ")
    assert str(found).splitlines()[1].endswith("holds")
    assert "reconstruction error" in str(found)
    page = found._repr_html_()
    assert page.count("<tr>") == 6
    assert page.count("<li>") == 5
    least = min(row.reconstruction_error for row in found.rows if row.reconstruction_error > 0)
    assert f"<td><b>{least:.3g}</b></td>" in page
    with pytest.raises(KeyError, match="There are: PCA, SparsePCA"):
        found["ICA"]


def test_the_best_is_the_best_of_what_is_shown():
    rows = (
        Compared("a", stress=0.12341, shepard=-0.0, seconds=1.0),
        Compared("b", stress=0.12344, shepard=0.0, seconds=2.0),
        Compared("c", stress=0.2),
        Compared("d", stress=0.1, error="failed, whatever it says of its stress"),
    )
    found = Comparison(rows, 1.0)
    assert [row.text("stress") == found.best("stress") for row in rows] == [
        True,
        True,
        False,
        False,
    ]
    assert {row.text("shepard") for row in rows[:2]} == {found.best("shepard")} == {"0"}
    assert found.best("seconds") == ""  # it is no measure of quality
    assert found.best("silhouette") == ""
    assert rows[2].text("shepard") == ""
    assert rows[0].text("method") == "a"


# -------------------------------------------------------------------------------- what goes wrong


def test_what_fails_or_crashes_is_a_row(wine):
    models = {f"<i>{does}</i>": Odd(does) for does in ("fail", "crash", "nan", "work")}
    found = compare(wine[0], {"PCA": "PCA", **models}, 2)
    rows = {row.method[3:-4]: row for row in found.rows[1:]}
    assert rows["fail"].error == "no <b>luck</b> today"
    assert rows["crash"].error == "Its process ended: a crash, or not enough memory."
    assert rows["crash"].stopped == "crashed"
    assert not rows["fail"].stopped
    assert "not possible to judge it" in rows["nan"].warnings[0]
    assert not rows["work"].error
    assert rows["work"].n_components == 2
    assert rows["work"].why == "its own"
    assert not found.rows[0].error
    page = found._repr_html_()
    assert "<i>" not in page
    assert "<b>luck" not in page
    assert "no <b>luck</b> today" in str(found)


def test_what_hangs_is_ended_in_time(wine):
    found = compare(wine[0], [Odd("hang"), Odd("work")], 2, budget=16)
    assert found.seconds < 17
    assert re.match(r"Not done in its \d s. Raise budget", found.rows[0].error)
    assert found.rows[0].stopped == "late"


def test_no_time_at_all(wine):
    found = compare(wine[0], ["PCA", "NMF"], 2, budget=0)
    assert [row.error.split(".")[0] for row in found.rows] == ["The time was used up"] * 2
    assert [row.stopped for row in found.rows] == ["untried"] * 2


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "learns from a target, and there is none. Give one."),
        (np.zeros(178), "tells classes apart, and there is one, 0.0. Give a target with two"),
        (np.arange(178) / 7, "learns from classes, and the target has numbers that are none. Cut"),
    ],
)
def test_a_target_of_classes_is_asked_for(wine, here, y, message):
    row = compare(wine[0], ["LinearDiscriminantAnalysis"], 2, y).rows[0]
    assert row.error.startswith(f"LinearDiscriminantAnalysis {message}")


def test_a_target_of_words_in_a_column(wine, here):
    words = np.array(["red", "white", "rose"])[wine[1]]
    number, word = (
        compare(wine[0], ["LinearDiscriminantAnalysis"], 2, y).rows[0] for y in (wine[1], words)
    )
    assert word.knn_accuracy == number.knn_accuracy > 0.9
    assert word.silhouette == pytest.approx(number.silhouette)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        compare(wine[0], "PCA", 2, np.c_[words, words])


@pytest.mark.parametrize("hole", [None, np.nan])
def test_a_target_with_holes_is_refused(wine, hole):
    y = np.array(["a", "b"] * 89, dtype=object)
    y[[3, 5]] = hole
    with pytest.raises(ValueError, match=r"y is missing in 2 rows, row 3 for one. Leave"):
        compare(wine[0], "PCA", 2, y)


def test_few_rows_have_few_neighbours(wine, here):
    for row in compare(wine[0][::9], ["TSNE", "Isomap", "PCA"], 2, wine[1][::9]).rows:
        assert not row.error
        assert row.trustworthiness > 0.5


def test_holes_are_filled_for_those_that_take_none(wine, here):
    X = wine[0].copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    found = compare(X, ["RobustPCA", "FastICA"], 2, wine[1])
    for row in found.rows:
        assert not row.error
        assert row.reconstruction_error < 1


@pytest.mark.parametrize(
    ("X", "methods", "message"),
    [
        (np.ones((20, 3)), ["PCB"], "'PCB' is not known. Give 'all'"),
        (np.ones((20, 3)), [], "methods is empty"),
        (np.ones((5, 3)), "PCA", "X has 5 rows, too few to hold some out. Give at least 8"),
        (sparse.eye_array(20, format="csr"), "PCA", "X is sparse"),
        (np.ones((20, 3)), "StandardScaler", "is not known"),
        ([["a", 1.0]] * 20, "PCA", r"X holds text .* a comparison needs numbers. Drop such"),
        ([[np.nan, i] for i in range(20)], "PCA", "Column 0 of X has no entry but NaN"),
    ],
)
def test_wrong_calls(X, methods, message):
    with pytest.raises(ValueError, match=message):
        compare(X, methods, 1)
    with pytest.raises(ValueError, match="n_components=0 must be at least 1"):
        compare(np.eye(20), "PCA", 0)
    with pytest.raises(ValueError, match="budget='short' must be a number of seconds"):
        compare(np.eye(20), "PCA", 1, budget="short")


def test_a_target_of_another_length(wine):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        compare(wine[0], "PCA", 2, wine[1][:-1])
