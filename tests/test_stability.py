"""Stability of loadings: planted supports stay, noise does not; the draws are the bootstrap's."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.decomposition
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import eigenlens
from eigenlens import PCA, DictionaryLearning, SparsePCA
from eigenlens.measure import align, bootstrap, stability


def planted(n=300, seed=0):
    """Rows with two factors of four variables each, and four more of noise."""
    rng = np.random.default_rng(seed)
    support = np.zeros((2, 12), dtype=bool)
    support[[0] * 4 + [1] * 4, np.arange(8)] = True
    loadings = support * np.r_[np.tile([1, -1], 4), np.ones(4)]
    X = (rng.standard_normal((n, 2)) * [3, 2]) @ loadings + rng.standard_normal((n, 12))
    return X, support


MODEL = SparsePCA(2, alpha=12)
FIELDS = ("frequency", "sign_agreement", "mean", "std", "low", "high", "matched", "cosines")


def test_planted_supports_stay():
    X, support = planted()
    found = stability(MODEL, X, n_bootstrap=60, random_state=0)
    truth = support.T[:, align(found.loadings.T, support).permutation]
    assert found.frequency[truth].min() == 1
    assert found.frequency[~truth].max() < 0.1
    assert (found.matched == 1).all()
    np.testing.assert_array_equal(found.sign_agreement[truth], 1)
    assert (found.loadings[truth] > found.low[truth]).all()
    assert (found.loadings[truth] < found.high[truth]).all()
    np.testing.assert_array_equal(np.sign(found.mean[truth]), np.sign(found.loadings[truth]))


def test_a_table_from_a_file(tmp_path):
    X, _ = planted()
    names = [f"x{j}" for j in range(12)]
    pd.DataFrame(X, columns=names).to_parquet(tmp_path / "table.parquet")
    table = eigenlens.open(tmp_path / "table.parquet")
    found = stability(MODEL, table, n_bootstrap=5, random_state=0)
    expected = stability(MODEL, X, n_bootstrap=5, random_state=0)
    np.testing.assert_array_equal(found.frequency, expected.frequency)
    assert list(found.columns) == names
    assert bootstrap(PCA(2), table, n_draws=3, random_state=0).loadings.shape == (12, 2)


@pytest.mark.parametrize(
    "model", [PCA(3), SparsePCA(3, formulation="l0", n_nonzero=4)], ids=["dense", "sparse"]
)
def test_a_component_of_noise_is_seen_as_such(model):
    X, _ = planted()
    found = stability(model, X, n_bootstrap=40, random_state=0)
    assert found.matched[:2].min() == 1
    assert found.matched[2] < 0.5
    assert found.std[:, 2].max() > 3 * found.std[:, :2].max()


def test_fields_by_their_definitions():
    """From the draws of the bootstrap, fitted and matched one by one."""
    X, _ = planted(80)
    model = SparsePCA(2, alpha=14)
    found = stability(model, X, n_bootstrap=15, level=0.8, random_state=3)
    target = model.fit(X).components_
    draws, cosines = [], []
    for rng in np.random.default_rng(3).spawn(15):
        counts = rng.multinomial(len(X), np.full(len(X), 1 / len(X)))
        matched = align(
            target, SparsePCA(2, alpha=14).fit(np.repeat(X, counts, axis=0)).components_
        )
        draws.append(matched.aligned.T)
        cosines.append(matched.cosines)
    draws = np.array(draws)
    close = {"atol": 1e-4}  # counted rows and copied ones end a tolerance apart
    np.testing.assert_allclose(found.loadings, target.T)
    np.testing.assert_array_equal(found.frequency, (draws != 0).mean(axis=0))
    np.testing.assert_allclose(found.mean, draws.mean(axis=0), **close)
    np.testing.assert_allclose(found.std, draws.std(axis=0, ddof=1), **close)
    np.testing.assert_allclose(found.low, np.quantile(draws, 0.1, axis=0), **close)
    np.testing.assert_allclose(found.high, np.quantile(draws, 0.9, axis=0), **close)
    np.testing.assert_allclose(found.cosines, cosines, **close)
    np.testing.assert_array_equal(found.matched, (np.array(cosines) >= 0.9).mean(axis=0))
    positive, negative = (draws > 0).sum(axis=0), (draws < 0).sum(axis=0)
    used = positive + negative > 0
    expected = np.maximum(positive, negative)[used] / (positive + negative)[used]
    np.testing.assert_array_equal(found.sign_agreement[used], expected)
    assert np.isnan(found.sign_agreement[~used]).all()
    assert not used.all()


def test_the_draws_are_those_of_the_bootstrap():
    X, _ = planted(80)
    found = stability(PCA(2), X, n_bootstrap=10, random_state=1)
    drawn = bootstrap(PCA(2), X, n_draws=10, random_state=1)
    np.testing.assert_allclose(found.cosines, drawn.cosines, rtol=1e-12)
    assert (found.frequency == 1).all()


@pytest.mark.parametrize(
    "model",
    [
        DictionaryLearning(2, alpha=1.0, max_iter=200),
        sklearn.decomposition.SparsePCA(2, alpha=12),
        sklearn.decomposition.TruncatedSVD(2),
        sklearn.decomposition.NMF(2, max_iter=2000),
        sklearn.decomposition.FactorAnalysis(2),
    ],
    ids=lambda model: type(model).__module__.split(".")[0] + "." + type(model).__name__,
)
def test_any_estimator_with_components(model):
    X = np.abs(planted(120)[0])
    found = stability(model, X, n_bootstrap=4, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(found.loadings, axis=0), 1)
    assert found.cosines.shape == (4, 2)
    assert np.isfinite(found.mean).all()
    assert not hasattr(model, "components_")


def test_the_seed_settles_all():
    X, _ = planted(80)
    model = sklearn.decomposition.TruncatedSVD(2, algorithm="randomized", n_iter=0, n_oversamples=1)
    first = stability(model, X, n_bootstrap=6, random_state=7)
    with threadpool_limits(1):
        again = stability(model, X, n_bootstrap=6, random_state=np.random.default_rng(7))
    other = stability(model, X, n_bootstrap=6, random_state=8)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert (first.cosines != other.cosines).any()


def test_estimator_and_table_are_left_alone():
    X, _ = planted(80)
    before, model = X.copy(), SparsePCA(2, alpha=3)
    stability(model, X, n_bootstrap=3)
    np.testing.assert_array_equal(X, before)
    assert not hasattr(model, "components_")
    fitted = SparsePCA(2, alpha=3).fit(X[:40])
    components = fitted.components_.copy()
    stability(fitted, X, n_bootstrap=3)
    np.testing.assert_array_equal(fitted.components_, components)


# ------------------------------------------------------------------------------ weights


def test_rows_without_weight_are_left_out():
    X, _ = planted(80)
    weight = np.r_[np.ones(60), np.zeros(20)]
    found = stability(MODEL, X, n_bootstrap=8, sample_weight=weight, random_state=0)
    fewer = stability(MODEL, X[:60], n_bootstrap=8, random_state=0)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(found, name), getattr(fewer, name), atol=1e-6)


def test_weights_count_as_copies():
    """A table of copies is drawn from alike: the same loadings, and deviations but for chance."""
    X, _ = planted(60)
    counts = np.random.default_rng(0).integers(1, 6, len(X))
    weighted = stability(PCA(2), X, n_bootstrap=300, sample_weight=counts, random_state=0)
    copied = stability(PCA(2), np.repeat(X, counts, axis=0), n_bootstrap=300, random_state=0)
    unweighted = stability(PCA(2), X, n_bootstrap=300, random_state=0)
    np.testing.assert_allclose(weighted.loadings, copied.loadings, atol=1e-9)
    ratio = weighted.std.mean() / copied.std.mean()
    assert ratio == pytest.approx(1, abs=0.1)
    assert unweighted.std.mean() > 1.4 * weighted.std.mean()


# ------------------------------------------------------------------------------ names, warnings


def test_names_and_frames():
    X, _ = planted(80)
    named = pd.DataFrame(X).rename(columns="c{}".format)
    found = stability(MODEL, named, n_bootstrap=3, random_state=0)
    assert found.columns[:2].tolist() == ["c0", "c1"]
    assert found.components == ("sparsepca0", "sparsepca1")
    frames = found.to_frames()
    assert frames["components"]["matched"].tolist() == found.matched.tolist()
    loadings = frames["loadings"]
    assert loadings.index.tolist() == named.columns.tolist()
    np.testing.assert_array_equal(loadings["frequency"], found.frequency)
    np.testing.assert_array_equal(loadings["loading", "sparsepca1"], found.loadings[:, 1])


class Complains(BaseEstimator):
    """Has the first axes as its components, and warns of whatever it is told to."""

    def __init__(self, *categories):
        self.categories = categories

    def get_params(self, deep=True):
        return {}

    def __sklearn_clone__(self):
        return Complains(*self.categories)

    def fit(self, X):
        self.n_features_in_ = X.shape[1]
        self.components_ = np.eye(2, X.shape[1])
        if len(np.unique(X[:, 0])) < len(X):  # a draw
            for category in self.categories:
                warnings.warn("too bad", category, stacklevel=2)
        return self


@pytest.mark.parametrize(
    ("categories", "category", "says"),
    [
        (
            [ConvergenceWarning],
            ConvergenceWarning,
            "In 9 fits .*: 9 ConvergenceWarning. .* too bad",
        ),
        (
            [RuntimeWarning, ConvergenceWarning],
            UserWarning,
            "9 RuntimeWarning, 9 ConvergenceWarning",
        ),
    ],
)
def test_warnings_of_the_draws_become_one(categories, category, says):
    X, _ = planted(80)
    with pytest.warns(category, match=says) as caught:
        stability(Complains(*categories), X, n_bootstrap=9, random_state=0)
    assert len(caught) == 1
    assert caught[0].category is category
    assert caught[0].filename == __file__


def test_warnings_of_the_bootstrap_become_one():
    X, _ = planted(80)
    model = SparsePCA(2, alpha=5, max_iter=1)
    with pytest.warns(ConvergenceWarning) as caught:
        bootstrap(model, X, n_draws=5, random_state=0)
    assert ["In 5 fits" in str(warning.message) for warning in caught] == [False, True]


# ------------------------------------------------------------------------------ errors


@pytest.mark.parametrize("n_bootstrap", [0, 1, -3])
def test_too_few_draws(n_bootstrap):
    with pytest.raises(ValueError, match=f"n_bootstrap={n_bootstrap} is less than 2.* Take 100"):
        stability(MODEL, planted()[0], n_bootstrap=n_bootstrap)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_that_is_none(level):
    with pytest.raises(ValueError, match=f"level={level} must be between 0 and 1"):
        stability(MODEL, planted()[0], level=level)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (3, "estimator=3 cannot be fitted"),
        (SparsePCA, "with its parameters"),
        (KMeans(2, n_init=1), "KMeans has no components_"),
        (make_pipeline(StandardScaler(), SparsePCA(2)), r"pipeline\[-1\]"),
    ],
    ids=["number", "class", "no components", "pipeline"],
)
def test_what_is_no_estimator_for_this(model, says):
    with pytest.raises(TypeError, match=says):
        stability(model, planted()[0], n_bootstrap=2)


def test_weights_that_nobody_takes():
    X, _ = planted()
    with pytest.raises(ValueError, match=r"PCA\.fit takes no weights"):
        stability(sklearn.decomposition.PCA(2), X, sample_weight=np.ones(len(X)))


def test_more_components_than_a_draw_has_rows():
    X = np.random.default_rng(0).standard_normal((7, 9))
    with pytest.raises(ValueError, match="Ask for fewer components"):
        stability(PCA(6), X, n_bootstrap=20, random_state=0)
