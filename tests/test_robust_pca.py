"""RobustPCA: what it recovers, what it says about it, and what it refuses."""

import re
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.linalg
from pursuit_tables import with_bad_rows
from real_data import real_file
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenlens import PCA, RobustPCA, datasets
from eigenlens.measure import outlier_map
from eigenlens.solvers import admm, altproj, pursuit

SIZE = (120, 80)


def planted(**options):
    return datasets.planted_pursuit(*SIZE, 4, random_state=0, **options)


def narrow(noise=0.0, seed=0):
    """Return a 1000 x 20 table of rank 3 with one gross entry, and the table without it."""
    clean = datasets.planted_subspace(1000, 20, 3, noise=noise, decay=0.8, random_state=seed)
    X = clean.X.copy()
    X[17, 4] = 1e6
    return X, clean


def angle(A, B):
    """Return the largest angle between two subspaces, in degrees."""
    return np.degrees(scipy.linalg.subspace_angles(A.T, B.T).max())


def relative(A, B):
    return np.linalg.norm(A - B) / np.linalg.norm(B)


def caught(model, X):
    """Fit, and return the warnings."""
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        model.fit(X)
    return log


@pytest.fixture(scope="module")
def fitted():
    problem = planted()
    return problem, RobustPCA(random_state=0).fit(problem.X)


# --------------------------------------------------------------------------------- attributes


def test_finds_what_was_planted(fitted):
    problem, model = fitted
    assert (model.rank_, model.n_components_, model.solver_) == (4, 4, "ialm")
    np.testing.assert_array_equal(model.sparse_ != 0, problem.sparse != 0)
    np.testing.assert_allclose(model.low_rank_, problem.low_rank, atol=1e-6)
    assert model.support_fraction_ == np.mean(problem.sparse != 0)
    assert model.lam_ == pytest.approx(1 / np.sqrt(120))
    assert model.noise_ == 0
    assert model.converged_
    assert model.certificate_.holds
    assert model.certificate_.value < 1e-6
    assert len(model.objective_history_) == model.n_iter_ <= 24


def test_low_rank_is_made_of_its_factors(fitted):
    problem, model = fitted
    np.testing.assert_array_equal(model.low_rank_, model.mean_ + model.scores_ @ model.components_)
    np.testing.assert_allclose(model.mean_, model.low_rank_.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-12)
    s = np.linalg.svd(model.low_rank_ - model.mean_, compute_uv=False)[:4]
    np.testing.assert_allclose(model.singular_values_, s, rtol=1e-9)
    np.testing.assert_allclose(model.low_rank_ + model.sparse_, problem.X, atol=1e-6)
    largest = np.abs(model.components_).argmax(axis=1)
    assert np.all(model.components_[np.arange(4), largest] > 0)
    assert "low_rank_" not in vars(model)


@pytest.mark.parametrize(
    ("options", "module"),
    [
        ({"solver": "auto"}, pursuit),
        ({"solver": "ialm"}, pursuit),
        ({"solver": "admm", "max_iter": 1000}, admm),
        ({"solver": "auto", "n_components": 4}, altproj),
        ({"solver": "altproj", "n_components": 4}, altproj),
    ],
)
@pytest.mark.parametrize("center", [True, False])
def test_every_solver_finds_what_was_planted(options, module, center, monkeypatch):
    called = []
    real = module.solve
    monkeypatch.setattr(module, "solve", lambda *a, **k: called.append(1) or real(*a, **k))
    problem = planted(missing=0.1)
    model = RobustPCA(center=center, random_state=0, **options).fit(problem.X)
    assert called == [1]
    assert model.rank_ == 4
    np.testing.assert_allclose(model.low_rank_, problem.low_rank, atol=1e-6)
    np.testing.assert_array_equal(model.sparse_ != 0, problem.sparse != 0)
    if not center:
        np.testing.assert_array_equal(model.mean_, 0)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_weights_are_those_of_the_docstring(missing):
    X = planted(missing=missing).X
    p = np.mean(~np.isnan(X))
    quick = {"max_iter": 1, "random_state": 0}  # which warns
    expected = {
        (): 1 / np.sqrt(p * 120),
        (("noise", 0.1),): 2 / (np.sqrt(p * 120) + np.sqrt(p * 80)),
        (("outliers", "rows"),): 2 / np.sqrt(p * 120),
        (("lam", 0.3),): 0.3,
    }
    for options, lam in expected.items():
        model = RobustPCA(**dict(options), **quick)
        caught(model, X)
        assert model.lam_ == pytest.approx(lam)


def test_noise_term_has_the_spectral_norm_of_noise(monkeypatch):
    seen = []
    real = pursuit.solve
    monkeypatch.setattr(pursuit, "solve", lambda X, **o: seen.append(o["delta"]) or real(X, **o))
    X = planted(missing=0.3, noise=0.01).X
    RobustPCA(noise=0.01).fit(X)
    p = np.mean(~np.isnan(X))
    assert seen == [pytest.approx(0.01 * np.sqrt(p) * (np.sqrt(120) + np.sqrt(80)))]


def test_support_fraction_counts_what_was_observed():
    problem = planted(missing=0.3, density=0.04)
    model = RobustPCA().fit(problem.X)
    assert model.support_fraction_ == np.sum(problem.sparse != 0) / np.sum(~np.isnan(problem.X))


def test_support_fraction_counts_rows():
    X, _, bad = with_bad_rows(0)
    model = RobustPCA(outliers="rows", lam=0.4, center=False).fit(X)
    np.testing.assert_array_equal(np.any(model.sparse_ != 0, axis=1), bad)
    assert model.support_fraction_ == bad.mean()


# ------------------------------------------------------------------------------------ holes


@pytest.mark.parametrize(("missing", "density"), [(0.2, 0.05), (0.4, 0.0)])
def test_holes_are_filled(missing, density):
    problem = datasets.planted_pursuit(
        500, 500, 10, density=density, missing=missing, random_state=1
    )
    model = RobustPCA(random_state=0).fit(problem.X)
    holes = np.isnan(problem.X)
    assert model.rank_ == 10
    assert relative(model.low_rank_, problem.low_rank) < 1e-5
    assert relative(model.low_rank_[holes], problem.low_rank[holes]) < 1e-5
    assert not model.sparse_[holes].any()
    assert model.certificate_.value < 1e-5


@pytest.mark.parametrize("options", [{}, {"n_components": 4}])
def test_mask_says_the_same_as_nan(options):
    problem = planted(missing=0.1)
    seen = ~np.isnan(problem.X)
    one = RobustPCA(random_state=0, **options).fit(problem.X)
    filled = np.where(seen, problem.X, 1e9)
    before = filled.copy()
    other = RobustPCA(random_state=0, **options).fit(filled, mask=seen)
    np.testing.assert_array_equal(filled, before)
    for name in ("scores_", "components_", "mean_", "sparse_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    scores = RobustPCA(random_state=0, **options).fit_transform(filled, mask=seen)
    np.testing.assert_array_equal(scores, one.transform(problem.X))
    lists = RobustPCA(random_state=0, **options).fit(filled.tolist(), mask=seen.tolist())
    np.testing.assert_array_equal(lists.scores_, one.scores_)


def test_mask_may_hide_what_is_not_finite():
    problem = planted(missing=0.1)
    seen = ~np.isnan(problem.X)
    X = np.where(seen, problem.X, np.inf)
    model = RobustPCA().fit(X, mask=seen)
    np.testing.assert_allclose(model.low_rank_, problem.low_rank, atol=1e-6)


@pytest.mark.parametrize("as_frame", [False, True])
def test_mask_of_a_frame_keeps_the_names(as_frame):
    problem = planted(missing=0.1)
    seen = ~np.isnan(problem.X)
    frame = pd.DataFrame(np.where(seen, problem.X, 7.0), columns=[f"v{j}" for j in range(80)])
    frame.index = np.arange(120)[::-1]
    mask = pd.DataFrame(seen, columns=frame.columns, index=frame.index) if as_frame else seen
    model = RobustPCA(random_state=0).fit(frame, mask=mask)
    assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_allclose(model.low_rank_, problem.low_rank, atol=1e-6)
    exact = RobustPCA(random_state=0).fit(problem.X)
    np.testing.assert_allclose(model.scores_, exact.scores_, atol=1e-9)


def test_mask_of_a_polars_frame_keeps_the_names():
    problem = planted(missing=0.1)
    seen = ~np.isnan(problem.X)
    frame = pl.DataFrame(np.where(seen, problem.X, 7.0), schema=[f"v{j}" for j in range(80)])
    model = RobustPCA(random_state=0).fit(frame, mask=seen)
    assert list(model.feature_names_in_) == frame.columns
    np.testing.assert_allclose(model.low_rank_, problem.low_rank, atol=1e-6)


def test_mask_and_nan_add_up():
    problem = planted(missing=0.1)
    seen = np.ones(SIZE, bool)
    seen[::7, ::5] = False
    both = np.where(seen, problem.X, np.nan)
    one, other = RobustPCA(random_state=0).fit(problem.X, mask=seen), RobustPCA(random_state=0)
    np.testing.assert_array_equal(one.scores_, other.fit(both).scores_)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((3, 2), bool), r"mask has shape \(3, 2\) .* X has shape \(120, 80\)"),
        (np.ones(SIZE), "dtype float64.*boolean for each entry.*True where it was observed"),
        (np.ones(120, bool), r"mask has shape \(120,\)"),
    ],
)
def test_mask_of_another_kind_is_refused(mask, message):
    for method in ("fit", "fit_transform"):
        with pytest.raises(ValueError, match=message):
            getattr(RobustPCA(), method)(planted().X, mask=mask)


# ---------------------------------------------------------------------------- gross outliers


def test_one_gross_entry_does_not_move_the_directions():
    X, clean = narrow()
    plain = PCA(3).fit(X)
    assert angle(plain.components_[:1], clean.components) > 45
    model = RobustPCA().fit(X)
    assert angle(model.components_, clean.components) < 0.01
    assert model.converged_
    assert np.unravel_index(np.abs(model.sparse_).argmax(), X.shape) == (17, 4)
    np.testing.assert_allclose(model.mean_, clean.X.mean(axis=0), atol=0.05)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", [{"n_components": 3}, {"noise": "auto"}, {"noise": 0.05}])
def test_one_gross_entry_in_noise_costs_little(options, seed):
    X, clean = narrow(0.05, seed)
    best = angle(PCA(3).fit(clean.X).components_, clean.components)
    model = RobustPCA(random_state=0, **options).fit(X)
    assert model.rank_ >= 3
    assert angle(model.components_[:3], clean.components) < 1.5 * best
    assert model.noise_ == pytest.approx(0.05, rel=0.1)


def test_octane():
    """Rows 25, 26 and 36 to 39 have alcohol added (Hubert, Rousseeuw, Vanden Branden 2005)."""
    X = np.loadtxt(real_file("rrcov_octane.csv"), delimiter=",", skiprows=1)[:, 1:]
    model = RobustPCA(outliers="rows").fit(X)
    sizes = np.linalg.norm(model.sparse_, axis=1)
    order = np.argsort(-sizes)
    assert set(order[:6] + 1) == {25, 26, 36, 37, 38, 39}
    assert sizes[order[5]] > 2 * sizes[order[6]]
    assert model.converged_
    flagged = set(outlier_map(model, X).flagged + 1)
    assert {25, 26, 36, 37, 38, 39} <= flagged
    assert len(flagged) <= 7


# ------------------------------------------------------------------------------------- noise


def test_noise_is_estimated():
    problem = datasets.planted_pursuit(200, 150, 4, magnitude=3.0, random_state=0)
    noise = 0.05 * np.random.default_rng(1).standard_normal(problem.X.shape)
    X = 20 * problem.low_rank + problem.sparse + noise
    model = RobustPCA(noise="auto", random_state=0).fit(X)
    assert model.noise_ == pytest.approx(0.05, rel=0.1)
    assert np.sum(model.singular_values_ > 0.01 * model.singular_values_[0]) == 4
    assert np.all(model.sparse_[problem.sparse != 0] != 0)
    assert np.mean(model.sparse_[problem.sparse == 0] != 0) < 0.05


@pytest.mark.parametrize("noise", ["auto", 0.0])
@pytest.mark.parametrize("seed", range(4))
def test_of_an_exact_table_the_noise_is_none(noise, seed):
    problem = datasets.planted_pursuit(*SIZE, 4, random_state=seed)
    model = RobustPCA(noise=noise, random_state=0).fit(problem.X)
    assert model.noise_ == 0
    np.testing.assert_allclose(model.low_rank_, problem.low_rank, atol=1e-6)


def test_with_a_given_rank_the_noise_is_told_from_errors():
    X, _ = narrow(0.05)
    assert RobustPCA(3).fit(X).noise_ == pytest.approx(0.05, rel=0.05)
    assert RobustPCA(3, noise=0.2).fit(X).noise_ == 0.2


# --------------------------------------------------------------------------------- new rows


def new_rows(model, seed=1, n=50):
    """Return clean rows of the fitted subspace, their scores, and the rows with a tenth wrong."""
    r = np.random.default_rng(seed)
    scores = model.scores_.std(axis=0) * r.standard_normal((n, model.rank_))
    clean = model.mean_ + scores @ model.components_
    wrong = r.random(clean.shape) < 0.1
    return clean, scores, np.where(wrong, clean + r.choice([-5.0, 5.0], clean.shape), clean)


def test_new_rows_with_wrong_entries_have_the_scores_of_clean_ones(fitted):
    _, model = fitted
    _, scores, X = new_rows(model)
    np.testing.assert_allclose(model.transform(X), scores, atol=1e-3 * scores.std())
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    np.testing.assert_allclose(model.transform(X), scores, atol=1e-3 * scores.std())


def test_training_rows_have_their_own_scores(fitted):
    problem, model = fitted
    scores = model.transform(problem.X)
    unit = np.abs(model.scores_).max()
    np.testing.assert_allclose(scores, model.scores_, atol=1e-4 * unit)
    np.testing.assert_allclose(model.inverse_transform(scores), model.low_rank_, atol=1e-4 * unit)
    fresh = RobustPCA(random_state=0).fit_transform(problem.X)
    np.testing.assert_array_equal(fresh, scores)


def test_decompose_new_rows(fitted):
    _, model = fitted
    clean, _, X = new_rows(model)
    X[0] = clean[0]
    X[3, :20] = np.nan
    low_rank, sparse = model.decompose(X)
    np.testing.assert_allclose(low_rank, clean, atol=1e-6)
    np.testing.assert_array_equal(sparse != 0, np.nan_to_num(X - clean) != 0)
    seen = ~np.isnan(X)
    np.testing.assert_allclose((low_rank + sparse)[seen], X[seen], atol=1e-6)
    assert not sparse[0].any()


def test_decompose_leaves_noise_out_of_the_sparse_part():
    X, clean = narrow(0.05)
    model = RobustPCA(3).fit(X)
    rows = clean.X[:200].copy()
    rows[:, 0] += 2.0
    low_rank, sparse = model.decompose(rows)
    assert np.all(sparse[:, 0] > 1)
    assert np.mean(sparse[:, 1:] != 0) < 0.01
    rest = rows - low_rank
    np.testing.assert_array_equal(sparse, np.where(np.abs(rest) > 3 * model.noise_, rest, 0))


def test_impute_fills_holes_and_leaves_the_rest(fitted):
    _, model = fitted
    clean, _, X = new_rows(model)
    holes = np.random.default_rng(3).random(X.shape) < 0.2
    X[holes] = np.nan
    filled = model.impute(X)
    np.testing.assert_array_equal(filled[~holes], X[~holes])
    np.testing.assert_allclose(filled[holes], clean[holes], atol=1e-6)


def test_score_samples_is_the_mean_deviation(fitted):
    _, model = fitted
    clean, _, X = new_rows(model)
    X[0] = clean[0]
    X[1, :30] = np.nan
    scores = model.score_samples(X)
    expected = -np.nanmean(np.abs(X - clean), axis=1)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    assert np.all(scores <= 0)
    assert scores.argmax() == 0


def test_empty_new_rows(fitted):
    _, model = fitted
    X = np.full((2, 80), np.nan)
    X[1] = model.mean_
    np.testing.assert_array_equal(model.transform(X), np.zeros((2, 4)))
    low_rank, sparse = model.decompose(X)
    np.testing.assert_allclose(low_rank, np.tile(model.mean_, (2, 1)))
    assert not sparse.any()
    np.testing.assert_array_equal(np.isnan(model.score_samples(X)), [True, False])


def test_of_bad_rows_the_whole_row_is_sparse():
    X, truth, bad = with_bad_rows(0)
    model = RobustPCA(outliers="rows", lam=0.4, center=False).fit(X)
    scores = (X - model.mean_) @ model.components_.T
    np.testing.assert_allclose(model.transform(X), scores, atol=1e-10)
    low_rank, sparse = model.decompose(X)
    np.testing.assert_array_equal(np.all(sparse != 0, axis=1), bad)
    np.testing.assert_array_equal(np.any(sparse != 0, axis=1), bad)
    np.testing.assert_allclose(low_rank[~bad], truth[~bad], atol=1e-3)
    rest = X - scores @ model.components_ - model.mean_
    np.testing.assert_allclose(
        model.score_samples(X), -np.sqrt(np.mean(rest**2, axis=1)), atol=1e-10
    )


def test_no_new_row_depends_on_those_beside_it(fitted):
    _, model = fitted
    _, _, X = new_rows(model)
    X[2] *= 1e6
    together = model.transform(X)
    alone = np.vstack([model.transform(x[None]) for x in X])
    np.testing.assert_allclose(alone, together, rtol=1e-7, atol=1e-7)


def test_inverse_transform_wants_one_column_a_component(fitted):
    _, model = fitted
    with pytest.raises(
        ValueError, match=r"3 columns.* scores on 4 components.* Give what transform"
    ):
        model.inverse_transform(np.ones((2, 3)))


# --------------------------------------------------------------------------------- bad input


def without(axis):
    X = planted().X.copy()
    if axis == 0:
        X[3:5] = np.nan
    else:
        X[:, 7] = np.nan
    return X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (without(0), r"Row 3 of X has no observed entry \(2 in all\).* Drop it first"),
        (without(1), r"Column 7 of X has no observed entry \(1 in all\).* Drop it first"),
        (np.full((6, 5), np.nan), "Row 0 of X has no observed entry .* Drop it first"),
        (np.ones((6, 5)), "Every column of X is constant.* Check that X holds the data"),
        (np.zeros((6, 5)), "Every column of X is constant"),
        (np.where(planted().X > 1, np.inf, planted().X), "Input X contains infinity"),
        (np.where(planted().X > 1, -np.inf, planted(missing=0.1).X), "Input X contains infinity"),
        (np.ones((1, 5)), "minimum of 2 is required"),
        (np.array([["a", "b"], ["c", "d"]]), "holds text .* needs numbers. Drop such columns"),
    ],
)
@pytest.mark.parametrize(
    "options", [{}, {"n_components": 1}, {"solver": "admm"}, {"noise": "auto"}]
)
def test_bad_tables_are_refused_with_advice(X, message, options):
    with pytest.raises(ValueError, match=message):
        RobustPCA(**options).fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 81}, r"n_components=81 is more than .*=80. Ask for at most 80"),
        ({"solver": "altproj"}, "solver='altproj' needs n_components.* Give it, or take"),
        (
            {"solver": "ialm", "n_components": 2},
            "solver='ialm' finds its own. Take solver='altproj'",
        ),
        (
            {"solver": "admm", "n_components": 2},
            "solver='admm' finds its own. Take solver='altproj'",
        ),
        ({"solver": "admm", "noise": 0.1}, "solver='admm' knows no noise. Take solver='ialm'"),
        ({"solver": "admm", "noise": "auto"}, "solver='admm' knows no noise"),
        ({"lam": 0}, "'lam' parameter"),
        ({"lam": -1.0}, "'lam' parameter"),
        ({"lam": "best"}, "'lam' parameter"),
        ({"n_components": 0}, "'n_components' parameter"),
        ({"n_components": 0.9}, "'n_components' parameter"),
        ({"solver": "svd"}, "'solver' parameter"),
        ({"outliers": "columns"}, "'outliers' parameter"),
        ({"noise": -1}, "'noise' parameter"),
        ({"tol": 0}, "'tol' parameter"),
        ({"gap_tol": 0}, "'gap_tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"center": "yes"}, "'center' parameter"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_with_advice(options, message):
    with pytest.raises(ValueError, match=message):
        RobustPCA(**options).fit(planted().X)


def test_a_failed_fit_leaves_the_model_as_it_was(fitted):
    problem, _ = fitted
    model = RobustPCA(random_state=0).fit(problem.X)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="no observed entry"):
        model.fit(without(0))
    assert vars(model) == before


def test_before_a_fit_there_is_nothing():
    model = RobustPCA()
    for method in ("transform", "decompose", "impute", "score_samples", "inverse_transform"):
        with pytest.raises(NotFittedError, match="fit"):
            getattr(model, method)(np.ones((2, 3)))
    with pytest.raises(AttributeError):
        model.low_rank_  # noqa: B018


def test_columns_that_are_constant_or_repeated_are_harmless():
    problem = planted()
    X = np.column_stack([problem.X, np.full(120, 3.0), np.zeros(120), problem.X[:, 0]])
    model = RobustPCA().fit(X)
    np.testing.assert_allclose(model.low_rank_[:, :80], problem.low_rank, atol=1e-5)
    np.testing.assert_allclose(model.low_rank_[:, 80:82], X[:, 80:82], atol=1e-6)


# ---------------------------------------------------------------------------------- warnings


@pytest.mark.parametrize(
    "options", [{}, {"solver": "admm"}, {"n_components": 4}, {"outliers": "rows"}, {"noise": 0.01}]
)
def test_a_fit_cut_short_warns_once_and_is_of_use(options):
    problem = planted()
    model = RobustPCA(max_iter=2, random_state=0, **options)
    (warning,) = caught(model, problem.X)
    assert warning.category is ConvergenceWarning
    assert re.search("stopped after 2 iterations.*does not hold.*max_iter", str(warning.message))
    assert warning.filename == __file__
    assert not model.converged_
    assert not model.certificate_.holds
    assert np.all(np.isfinite(model.low_rank_))
    assert np.all(np.isfinite(model.transform(problem.X)))


def test_after_a_few_iterations_more_than_half_is_right():
    problem = planted()
    model = RobustPCA(max_iter=6, random_state=0)
    assert len(caught(model, problem.X)) == 1
    assert relative(model.low_rank_, problem.low_rank) < 0.5


@pytest.mark.parametrize("noise", [None, "auto"])
def test_nothing_of_low_rank_warns_once(noise):
    X = np.random.default_rng(0).standard_normal((60, 40))
    model = RobustPCA(lam=0.01, noise=noise, random_state=0)
    (warning,) = caught(model, X)
    assert warning.category is UserWarning
    assert re.search("is of low rank.*Raise lam, which was 0.01", str(warning.message))
    assert warning.filename == __file__
    assert (model.rank_, model.components_.shape, model.scores_.shape) == (0, (0, 40), (60, 0))
    assert model.transform(X).shape == (60, 0)
    np.testing.assert_allclose(model.low_rank_, np.tile(np.median(X, axis=0), (60, 1)), atol=0.05)
    low_rank, sparse = model.decompose(X)
    np.testing.assert_allclose(low_rank + sparse, X, atol=1e-6 + 3 * model.noise_)


def test_easy_tables_are_quiet():
    for options in ({}, {"n_components": 4}, {"noise": "auto"}, {"solver": "admm"}):
        assert not caught(RobustPCA(random_state=0, **options), planted(missing=0.1).X)


# ------------------------------------------------------------------------------ conventions


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(float, 1e-200), (float, 1e300), ("f4", 1e-30), ("f4", 1e30)],
)
@pytest.mark.parametrize(
    "options", [{}, {"n_components": 4}, {"noise": "auto"}, {"solver": "admm"}, {"noise": 0.01}]
)
def test_does_not_depend_on_units(dtype, scale, options):
    """Also where squares overflow or vanish."""
    X = planted(missing=0.1, noise=0.01 if "noise" in options else 0.0).X
    one = RobustPCA(random_state=0, **options).fit(X.astype(dtype))
    if options.get("noise") == 0.01:
        options = {"noise": 0.01 * scale}
    other = RobustPCA(random_state=0, **options).fit((scale * X).astype(dtype))
    tol = 1e-6 if dtype is float else 1e-3
    assert other.rank_ == one.rank_
    unit = np.abs(one.low_rank_).max()
    np.testing.assert_allclose(other.low_rank_ / scale, one.low_rank_, atol=tol * unit)
    np.testing.assert_allclose(other.sparse_ / scale, one.sparse_, atol=tol)
    np.testing.assert_allclose(other.noise_ / scale, one.noise_, rtol=0.01, atol=1e-8)
    if one.solver_ != "altproj":  # whose objective is one of squares
        last = other.objective_history_[-1] / scale
        assert last == pytest.approx(one.objective_history_[-1], rel=tol)
    scores = other.transform((scale * X[:5]).astype(dtype)) / scale
    np.testing.assert_allclose(scores, one.transform(X[:5].astype(dtype)), atol=1e3 * tol * unit)


def test_a_second_fit_forgets_the_first():
    problem = planted()
    model = RobustPCA(random_state=0).fit(planted(missing=0.2).X[:50, :30])
    model.fit(problem.X)
    fresh = RobustPCA(random_state=0).fit(problem.X)
    assert model.n_features_in_ == 80
    np.testing.assert_array_equal(model.low_rank_, fresh.low_rank_)
    model.set_params(n_components=4).fit(problem.X)
    assert "lam_" not in vars(model)


def test_clone_has_the_parameters_and_no_more(fitted):
    _, model = fitted
    options = {"lam": 0.3, "solver": "ialm", "outliers": "rows", "noise": 0.1, "center": False}
    copy = clone(model.__class__(**options, tol=1e-5, gap_tol=1e-4, max_iter=7, random_state=3))
    assert options.items() <= copy.get_params().items()
    assert not hasattr(clone(model), "scores_")


def test_in_a_pipeline_holes_and_names_come_through():
    problem = planted(missing=0.1)
    frame = pd.DataFrame(problem.X, columns=[f"v{j}" for j in range(80)])
    pipeline = make_pipeline(StandardScaler(), RobustPCA(random_state=0)).set_output(
        transform="pandas"
    )
    scores = pipeline.fit_transform(frame)
    rank = pipeline[-1].rank_
    assert list(scores.columns) == [f"robustpca{k}" for k in range(rank)]
    assert list(pipeline[-1].feature_names_in_) == list(frame.columns)
    np.testing.assert_allclose(scores, pipeline.transform(frame), atol=1e-9)
    back = pipeline[0].inverse_transform(pipeline[-1].low_rank_)
    np.testing.assert_allclose(back, problem.low_rank, atol=1e-4)


def test_float32():
    problem = planted(missing=0.1)
    model = RobustPCA(random_state=0).fit(problem.X.astype(np.float32))
    for name in ("low_rank_", "sparse_", "components_", "singular_values_", "scores_", "mean_"):
        assert getattr(model, name).dtype == np.float32
    assert model.rank_ == 4
    np.testing.assert_allclose(model.low_rank_, problem.low_rank, atol=1e-4)
    X = problem.X.astype(np.float32)
    for out in (model.transform(X), *model.decompose(X), model.impute(X), model.score_samples(X)):
        assert out.dtype == np.float32


@pytest.mark.parametrize("options", [{}, {"n_components": 4}, {"noise": "auto"}])
def test_same_seed_same_answer(options):
    X = planted(missing=0.1, noise=0.01).X
    one, other = (RobustPCA(random_state=7, **options).fit(X).scores_ for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_memory_stays_near_two_tables_and_one_for_the_certificate():
    problem = datasets.planted_pursuit(1500, 1500, 15, random_state=0)
    model = RobustPCA(random_state=0)
    tracemalloc.start()
    model.fit(problem.X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.rank_ == 15
    assert peak < 3.6 * problem.X.nbytes
    kept = sum(value.nbytes for value in vars(model).values() if isinstance(value, np.ndarray))
    assert kept < 1.1 * problem.X.nbytes


@pytest.mark.parametrize("outliers", ["entries", "rows"])
def test_scores_that_single_precision_cannot_hold_are_refused(outliers):
    X = np.outer(np.linspace(1.0, 1.7, 33), np.full(30, 1e38)).astype(np.float32)
    model = RobustPCA(outliers=outliers, center=False)
    with pytest.raises(ValueError, match=r"overflow float32\. Divide X by a constant"):
        model.fit_transform(X)
    with pytest.raises(ValueError, match=r"overflow float32\. Divide X by a constant"):
        model.fit(np.float32(1e-3) * X).transform(X)


def test_a_part_that_single_precision_cannot_hold_is_refused():
    X = np.random.default_rng(0).choice([-3e38, 3e38], (33, 1)).astype(np.float32)
    with pytest.raises(ValueError, match=r"overflow float32\. Divide X by a constant"):
        RobustPCA().fit(X)
