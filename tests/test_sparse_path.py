"""Paths of sparse PCA: every point is a fit of the class, as good as one from scratch, sooner."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from real_data import real_file
from scipy.stats import spearmanr
from sklearn.exceptions import ConvergenceWarning

import eigenlens
from eigenlens import SparsePCA, covariance, datasets, sparse_path
from eigenlens.ops.moments import Moments
from eigenlens.solvers import sparse_l1

MODULE = sys.modules[sparse_path.__module__]


def planted(n=300, d=40, seed=0):
    """Rows with three factors of ten variables each, of falling strength, over noise."""
    rng = np.random.default_rng(seed)
    loadings = np.zeros((3, d))
    loadings[np.arange(3).repeat(10), np.arange(30)] = rng.uniform(0.5, 1, 30)
    strength = np.array([3.0, 2.0, 1.5])
    X = (rng.standard_normal((n, 3)) * strength) @ loadings + rng.standard_normal((n, d))
    return X, loadings != 0


def cancer():
    X = datasets.breast_cancer().X
    return (X - X.mean(axis=0)) / X.std(axis=0)


def plain_fits(X, k, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of components that are all zero
        return [SparsePCA(k, alpha=alpha).fit(X) for alpha in path.alpha]


# ------------------------------------------------------------------------------ a point is a fit

POINTS = {
    "l1": {"alphas": [8.0]},
    "l1 by number": {"n_nonzero": [10]},
    "elastic-net": {"alphas": [100.0]},
    "elastic-net by number": {"n_nonzero": [5]},
    "scotlass by number": {"n_nonzero": [5]},
    "l0 by number": {"n_nonzero": [4]},
}


@pytest.mark.parametrize("kind", POINTS)
@pytest.mark.parametrize("shape", [(300, 40), (30, 40)], ids=["tall", "wide"])
def test_a_path_of_one_point_is_the_fit(kind, shape):
    X, _ = planted(*shape)
    point, formulation = POINTS[kind], kind.split()[0]
    path = sparse_path(X, 2, formulation=formulation, random_state=0, **point)
    ((name, (value,)),) = point.items()
    params = {name.replace("alphas", "alpha"): value, "random_state": 0}
    assert_same_point(path, SparsePCA(2, formulation=formulation, **params).fit(X))


def assert_same_point(path, model):
    np.testing.assert_allclose(path.components[0], model.components_, atol=1e-9)
    assert tuple(path.n_nonzero[0]) == model.n_nonzero_
    for name in ("explained_variance", "explained_variance_ratio"):
        np.testing.assert_allclose(getattr(path, name)[0], getattr(model, name + "_"), rtol=1e-9)
    if path.alpha is not None and hasattr(model, "alpha_"):
        np.testing.assert_allclose(path.alpha[0], model.alpha_)
    assert path.objective[0] == pytest.approx(model.objective_history_[-1])
    assert path.converged[0] == model.converged_
    assert path.certificates[0].what == model.certificate_.what


@pytest.mark.parametrize("scores", ["projected", "normalised"])
def test_scores_are_set_as_asked(scores, monkeypatch):
    """Both end in the same minima, so look at what the solver is told."""
    told = set()

    def solve(*args, **how):
        told.add(how["normalise"])
        return sparse_l1.solve(*args, **how)

    monkeypatch.setitem(MODULE.SOLVERS, ("l1", "alpha"), solve)
    sparse_path(planted()[0], 2, alphas=[10, 5], scores=scores)
    assert told == {scores == "normalised"}


def test_weights_count_as_copies():
    X, _ = planted(80, 30)
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = sparse_path(X, 2, sample_weight=counts)
    copied = sparse_path(np.repeat(X, counts, axis=0), 2)
    np.testing.assert_allclose(weighted.alpha, copied.alpha, rtol=1e-12)
    np.testing.assert_allclose(weighted.components, copied.components, atol=1e-6)
    np.testing.assert_allclose(weighted.total_ratio, copied.total_ratio, rtol=1e-6)


def test_a_matrix_stands_in_for_the_table():
    X, _ = planted()
    table = sparse_path(X, 3, alphas=[30, 10, 3])
    matrix = sparse_path(covariance(X), 3, alphas=[30, 10, 3], precomputed=True, n_samples=len(X))
    np.testing.assert_allclose(matrix.components, table.components, atol=1e-6)
    np.testing.assert_allclose(matrix.explained_variance, table.explained_variance, rtol=1e-6)


def test_a_file_is_taken_in_blocks_and_by_its_names(tmp_path, monkeypatch):
    X, _ = planted()
    pd.DataFrame(X).rename(columns="c{}".format).to_csv(tmp_path / "table.csv", index=False)
    monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 0)
    blocks = eigenlens.open(tmp_path / "table.csv")
    path, whole = sparse_path(blocks, 3), sparse_path(X, 3)
    np.testing.assert_allclose(path.components, whole.components, atol=1e-6)
    assert path.columns[:2].tolist() == ["c0", "c1"]
    assert whole.columns[:2].tolist() == ["x0", "x1"]


def test_float32_in_float32_out():
    X, _ = planted()
    single, double = sparse_path(X.astype(np.float32), 3), sparse_path(X, 3)
    assert single.components.dtype == single.explained_variance.dtype == np.float32
    np.testing.assert_allclose(single.total_ratio, double.total_ratio, rtol=1e-4)


def test_no_components_named_is_one_for_each_feature():
    assert sparse_path(planted()[0][:, :6], None, alphas=[1, 0]).components.shape == (2, 6, 6)


# ------------------------------------------------------------------------------ the path


TABLES = {"planted": (planted()[0], 3), "wide": (planted(60, 90)[0], 3), "cancer": (cancer(), 4)}


@pytest.mark.parametrize("name", TABLES)
def test_a_path_is_as_good_as_fits_from_scratch(name):
    """The problem has local minima, so that neither is always ahead: hold both to a bound."""
    X, k = TABLES[name]
    path = sparse_path(X, k)
    plain = np.array([fit.error_[-1] for fit in plain_fits(X, k, path)])
    above = path.objective / plain - 1
    assert above.max() < 4e-3
    assert above.mean() < 1e-6
    assert all(certificate.holds for certificate in path.certificates)
    assert path.converged.all()


@pytest.mark.parametrize("name", TABLES)
def test_variance_grows_as_nonzeros_do(name):
    X, k = TABLES[name]
    path = sparse_path(X, k)
    assert (np.diff(path.alpha, axis=0) < 0).all()
    assert spearmanr(path.total_nonzero, path.total_ratio).statistic > 0.97
    assert np.diff(path.total_ratio).min() > -0.01
    assert path.total_nonzero[0] < 0.2 * k * X.shape[1]
    assert path.total_nonzero[-1] > 0.5 * k * X.shape[1]


def test_a_path_reduces_the_table_once_and_starts_warm(monkeypatch):
    X, k = TABLES["cancer"]
    of, reductions, warm = Moments.of, [], []

    def solve(*args, **how):
        found = sparse_l1.solve(*args, **how)
        warm.append(found.n_iter)
        return found

    monkeypatch.setattr(Moments, "of", lambda *args: reductions.append(args) or of(*args))
    monkeypatch.setitem(MODULE.SOLVERS, ("l1", "alpha"), solve)
    path = sparse_path(X, k)
    assert len(reductions) == 1
    assert sum(warm) < 0.4 * sum(fit.n_iter_ for fit in plain_fits(X, k, path))


def test_the_way_back_only_helps(monkeypatch):
    X, k = planted(200, 90, seed=4)[0], 3
    both = sparse_path(X, k)
    monkeypatch.setattr(MODULE, "_and_back", lambda model, A, points, there: there)
    there = sparse_path(X, k)
    assert (both.objective <= there.objective).all()
    assert (both.objective < (1 - 1e-6) * there.objective).any()


def test_the_default_begins_where_something_is_left():
    X, k = TABLES["planted"]
    path = sparse_path(X, k)
    longest = np.linalg.norm(X - X.mean(axis=0), axis=0).max()
    assert path.alpha.shape == (20, k)
    assert path.total_nonzero.min() > 0
    np.testing.assert_allclose(path.alpha[-1], longest / 100)
    assert not sparse_path(X, k, alphas=[longest * (1 + 1e-9)]).components.any()
    assert sparse_path(X, k, alphas=[longest * (1 - 1e-3)]).components.any()


def test_the_default_for_the_elastic_net():
    X, k = TABLES["planted"]
    path = sparse_path(X, k, formulation="elastic-net", tol=1e-6)
    assert path.total_nonzero[0] > 0
    largest = path.alpha[0, 0] ** 2 / path.alpha[1, 0]
    assert not sparse_path(X, k, formulation="elastic-net", alphas=[largest]).components.any()


def test_points_come_from_few_to_many_whatever_their_order():
    X, k = TABLES["planted"]
    first, second = (sparse_path(X, k, alphas=alphas) for alphas in ([3, 30, 10], [30, 10, 3]))
    np.testing.assert_array_equal(first.components, second.components)
    np.testing.assert_array_equal(first.alpha[:, 0], [30, 10, 3])
    numbers = sparse_path(X, k, n_nonzero=[6, 2, 4], formulation="l0")
    np.testing.assert_array_equal(numbers.n_nonzero[:, 0], [2, 4, 6])
    assert numbers.alpha is None
    assert (np.diff(numbers.total_ratio) > 0).all()


def test_a_penalty_for_each_component():
    X, k = TABLES["planted"]
    alphas = np.array([[20.0, 10.0, 5.0], [8.0, 4.0, 2.0]])
    path = sparse_path(X, k, alphas=alphas)
    np.testing.assert_array_equal(path.alpha, alphas)
    for alpha, components in zip(alphas, path.components, strict=True):
        plain = SparsePCA(k, alpha=alpha).fit(X).components_
        np.testing.assert_allclose(components, plain, atol=1e-3)


def test_planted_supports_lie_on_the_path():
    X, support = planted(n=1000)
    path = sparse_path(X, 3, n_nonzero=[5, 10])
    np.testing.assert_array_equal(path.n_nonzero, [[5] * 3, [10] * 3])
    found = path.components[1] != 0
    assert {tuple(row) for row in found} == {tuple(row) for row in support}
    assert (path.alpha[0] > path.alpha[1]).all()


def test_a_path_leaves_the_table_alone():
    X, k = TABLES["planted"]
    before = X.copy()
    sparse_path(X, k, alphas=[10, 3])
    np.testing.assert_array_equal(X, before)


def test_frame():
    X, k = TABLES["planted"]
    path = sparse_path(pd.DataFrame(X).rename(columns="c{}".format), k, alphas=[30, 10, 3])
    frame = path.to_frame()
    assert path.columns[0] == "c0"
    assert frame["alpha"].tolist() == [30, 10, 3]
    np.testing.assert_array_equal(frame["n_nonzero"], path.n_nonzero.sum(axis=1))
    np.testing.assert_allclose(frame["explained_variance"], path.explained_variance.sum(axis=1))
    np.testing.assert_allclose(frame["explained_variance_ratio"], path.total_ratio)
    assert "alpha" not in sparse_path(X, k, n_nonzero=[2], formulation="l0").to_frame()


# ------------------------------------------------------------------------------ warnings, errors


def test_one_warning_for_all_points_that_did_not_converge():
    X, k = TABLES["planted"]
    with pytest.warns(ConvergenceWarning, match="of 4 points .* Raise max_iter") as caught:
        path = sparse_path(X, k, alphas=[30, 10, 3, 1], max_iter=2)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert not path.converged.all()


def test_one_warning_for_numbers_that_were_not_reached():
    x = np.random.default_rng(0).standard_normal((50, 1))
    X = np.hstack([x, x, x])  # alike: no penalty parts them
    with pytest.warns(UserWarning, match="not reached at . of 3 points") as caught:
        path = sparse_path(X, 1, n_nonzero=[1, 2, 3])
    assert len(caught) == 1
    assert path.total_nonzero[-1] == 3


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"alphas": [1], "n_nonzero": [1]}, "Leave one out"),
        ({"formulation": "scotlass"}, "'scotlass' has no alphas to make a path of"),
        ({"formulation": "l0", "alphas": [1]}, "'l0' has no alphas .* Give n_nonzero"),
        ({"formulation": "l3"}, "formulation"),
        ({"alphas": []}, r"alphas has shape \(0,\)"),
        ({"alphas": 3.0}, r"alphas has shape \(\)"),
        ({"alphas": [[1, 2]]}, r"alphas has shape \(1, 2\).* 3 columns"),
        ({"alphas": [1, -1]}, "negative number"),
        ({"alphas": [1, np.nan]}, "NaN"),
        ({"n_nonzero": [0, 1]}, "between 1 and n_features=40"),
        ({"n_nonzero": [41]}, "between 1 and n_features=40"),
        ({"n_nonzero": [2.5]}, "whole numbers"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"precomputed": True}, "n_samples"),
        ({"sample_weight": [1, 2]}, "sample_weight"),
    ],
)
def test_what_a_path_refuses(given, says):
    with pytest.raises(ValueError, match=says):
        sparse_path(TABLES["planted"][0], 3, **given)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_holes_are_named(bad):
    X = TABLES["planted"][0].copy()
    X[3, 4] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        sparse_path(X, 3)


def test_a_table_without_variance():
    with pytest.raises(ValueError, match="Every column of X is constant"):
        sparse_path(np.ones((20, 3)), 2)


# ------------------------------------------------------------------------------ real words


def test_path_of_the_news_words():
    X = np.load(real_file("20news_w100.npz"))["X"].astype(float)
    path = sparse_path(X, 20)
    plain = np.array([fit.error_[-1] for fit in plain_fits(X, 20, path)])
    assert (path.objective / plain - 1).max() < 1e-6
    assert np.mean(path.objective / plain) < 1
    assert np.diff(path.total_ratio).min() > -1e-6
