"""The outlier map: planted rows of each kind, levels, breakdown, and the octane spectra."""

import numpy as np
import pandas as pd
import pytest
import sklearn.decomposition
from real_data import real_file
from scipy import sparse, stats
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenlens import PCA, RobustPCA, SparsePCA
from eigenlens.measure import outlier_map

DIRECTIONS = np.linalg.qr(np.random.default_rng(5).standard_normal((8, 8)))[0]


class Plane(BaseEstimator):
    """A linear model that is given."""

    def __init__(self, components, mean):
        self.components, self.mean = components, mean

    def fit(self, X=None, y=None):
        self.components_, self.mean_ = self.components, self.mean
        self.n_features_in_ = len(self.mean)
        return self

    def transform(self, X):
        return (X - self.mean_) @ self.components_.T


PLANE = Plane(DIRECTIONS[:2], np.arange(8.0)).fit()


def gaussian(n=200, seed=0, noise=0.1):
    """Rows about `PLANE`, with variances 9 and 1 in it."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n, 2)) * [3, 1]
    return PLANE.mean_ + scores @ DIRECTIONS[:2] + noise * rng.standard_normal((n, 8))


def planted():
    """The same with rows 0 to 3 moved: not at all, out, off, both."""
    X = gaussian()
    X[:4] = PLANE.mean_ + np.array([[0, 0], [20, 0], [0, 3], [20, 3]]) @ DIRECTIONS[[0, 4]]
    return X


def name(model):
    return f"{type(model).__module__.split('.')[0]}.{type(model).__name__}"


@pytest.mark.parametrize(
    "model",
    [
        PLANE,
        PCA(2).fit(gaussian()),
        sklearn.decomposition.PCA(2).fit(gaussian()),
        SparsePCA(2, alpha=0.05, tol=1e-6, max_iter=5000).fit(gaussian()),
        RobustPCA(outliers="rows").fit(planted()),
    ],
    ids=name,
)
def test_each_kind_of_row(model):
    X = planted()
    found = outlier_map(model, X)
    assert found.kind[:4].tolist() == [
        "regular",
        "good leverage",
        "orthogonal outlier",
        "bad leverage",
    ]
    assert set(found.flagged[:3]) == {1, 2, 3}
    assert len(found.flagged) < 0.1 * len(X)


def test_distances_and_cutoffs_are_those_of_the_definition():
    X = planted()
    found = outlier_map(PLANE, X)
    off = (X - PLANE.mean_) @ DIRECTIONS[2:].T
    np.testing.assert_allclose(found.orthogonal_distance, np.linalg.norm(off, axis=1), atol=1e-12)
    roots = found.orthogonal_distance ** (2 / 3)
    normal = stats.norm(np.median(roots), stats.median_abs_deviation(roots, scale="normal"))
    np.testing.assert_allclose(found.orthogonal_cutoff, normal.ppf(0.975) ** 1.5)
    np.testing.assert_allclose(found.score_cutoff, np.sqrt(stats.chi2(2).ppf(0.975)))
    # far outliers do not move the scatter, which is known
    expected = np.linalg.norm(PLANE.transform(X) / [3, 1], axis=1)
    np.testing.assert_allclose(found.score_distance, expected, rtol=0.15, atol=0.25)
    wider = outlier_map(PLANE, X, level=0.999)
    assert wider.orthogonal_cutoff > found.orthogonal_cutoff
    assert wider.score_cutoff > found.score_cutoff
    assert set(wider.flagged) <= set(found.flagged)


def test_flagged_rows_are_those_that_are_not_regular_the_farthest_first():
    found = outlier_map(PLANE, planted())
    assert set(found.flagged) == set(np.flatnonzero(found.kind != "regular"))
    times = np.maximum(
        found.score_distance / found.score_cutoff,
        found.orthogonal_distance / found.orthogonal_cutoff,
    )
    assert (np.diff(times[found.flagged]) <= 0).all()
    assert found.flagged[0] == times.argmax()


@pytest.mark.parametrize("n", [60, 400])
def test_the_level_of_gaussian_rows(n):
    found = [outlier_map(PLANE, gaussian(n, seed)) for seed in range(20)]
    out = np.mean([part.score_distance > part.score_cutoff for part in found])
    off = np.mean([part.orthogonal_distance > part.orthogonal_cutoff for part in found])
    assert 0.015 < out < 0.05
    assert 0.015 < off < 0.05


def test_a_third_of_the_rows_may_be_anything():
    X = gaussian(300)
    clean = outlier_map(PLANE, X)
    bad = np.arange(100)
    X[bad] += 1e5 * DIRECTIONS[[0, 1, 4]].sum(axis=0)
    found = outlier_map(PLANE, X)
    assert (found.kind[bad] == "bad leverage").all()
    good = np.arange(100, 300)
    ratio = found.score_distance[good] / clean.score_distance[good]
    assert 0.2 < np.median(ratio) < 1.2
    assert found.orthogonal_cutoff < 2 * clean.orthogonal_cutoff


def test_scores_may_be_correlated():
    # off a narrow ellipse, though neither score by itself is unusual
    X = gaussian(400)
    scores = PLANE.transform(X) / [3, 1]
    scores[:, 1] = 0.98 * scores[:, 0] + 0.1 * scores[:, 1]
    scores[0] = [1.0, -1.0]
    model = Plane(np.eye(8)[:2], np.zeros(8)).fit()
    table = np.hstack([scores * [1e3, 1e-3], X[:, 2:] - PLANE.mean_[2:]])
    found = outlier_map(model, table)
    assert found.score_distance.argmax() == 0
    assert found.score_distance[0] > 3 * found.score_cutoff
    # units do not matter
    rescaled = np.hstack([scores, X[:, 2:] - PLANE.mean_[2:]])
    np.testing.assert_allclose(outlier_map(model, rescaled).score_distance, found.score_distance)


def test_components_need_not_be_orthonormal():
    X = planted()
    mixed = Plane(np.array([[2.0, 1.0], [-1.0, 0.5]]) @ DIRECTIONS[:2], PLANE.mean_).fit()
    found, expected = outlier_map(mixed, X), outlier_map(PLANE, X)
    np.testing.assert_allclose(found.orthogonal_distance, expected.orthogonal_distance, atol=1e-12)
    np.testing.assert_allclose(found.score_distance, expected.score_distance, rtol=0.15, atol=0.1)


def test_octane():
    X = np.loadtxt(real_file("rrcov_octane.csv"), delimiter=",", skiprows=1)[:, 1:]
    alcohol = np.array([25, 26, 36, 37, 38, 39]) - 1
    found = outlier_map(RobustPCA(outliers="rows").fit(X), X)
    assert set(alcohol) <= set(found.flagged)
    assert len(found.flagged) <= 7
    assert (found.kind[alcohol] == "bad leverage").all()
    # plain components have turned towards these rows, which then are not off them
    plain = outlier_map(PCA(3).fit(X), X)
    assert (plain.orthogonal_distance[alcohol] < plain.orthogonal_cutoff).any()


def test_new_rows_are_judged_by_the_reference():
    X = planted()
    found = outlier_map(PLANE, X[:5], reference=X)
    expected = outlier_map(PLANE, X)
    np.testing.assert_allclose(found.score_distance, expected.score_distance[:5])
    np.testing.assert_allclose(found.orthogonal_distance, expected.orthogonal_distance[:5])
    assert found.orthogonal_cutoff == expected.orthogonal_cutoff
    with pytest.raises(ValueError, match=r"X has 3 rows.*at least 4.*as reference"):
        outlier_map(PLANE, X[:3])
    with pytest.raises(ValueError, match="reference has 1 rows"):
        outlier_map(PLANE, X, reference=X[:1])


def test_names_and_frame():
    X = pd.DataFrame(planted(), index=[f"r{i}" for i in range(200)])
    frame = outlier_map(PCA(2).fit(X.to_numpy()), X.set_axis(range(8), axis=1)).to_frame()
    assert frame.index[3] == "r3"
    assert frame.loc["r3", "kind"] == "bad leverage"
    assert list(frame) == ["score_distance", "orthogonal_distance", "kind"]


def test_sparse_and_float32():
    X = planted()
    expected = outlier_map(PLANE, X)
    for table, rtol in ((sparse.csr_array(X), 1e-10), (X.astype(np.float32), 1e-4)):
        found = outlier_map(PLANE, table)
        np.testing.assert_allclose(found.score_distance, expected.score_distance, rtol, 1e-5)
        np.testing.assert_allclose(found.orthogonal_distance, expected.orthogonal_distance, 0, 1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_row_is_off_a_full_set_of_components(dtype):
    X = (1e6 + planted()).astype(dtype)
    found = outlier_map(PCA().fit(X), X)
    assert not np.isin(found.kind, ["orthogonal outlier", "bad leverage"]).any()


def test_tables_without_scatter():
    X = planted()
    none = outlier_map(Plane(np.zeros((0, 8)), PLANE.mean_).fit(), X)
    assert not none.score_distance.any()
    assert {1, 3} <= set(none.flagged)
    same = outlier_map(PLANE, np.tile(PLANE.mean_ + DIRECTIONS[0], (9, 1)))
    assert not len(same.flagged)
    zero = outlier_map(Plane(DIRECTIONS[:2], np.zeros(8)).fit(), np.zeros((9, 8)))
    assert not len(zero.flagged)


def test_most_rows_may_be_the_same():
    X = np.tile(PLANE.mean_, (50, 1))
    X[:10] += np.arange(1, 11)[:, None] * DIRECTIONS[0]
    found = outlier_map(PLANE, X)
    assert np.isfinite(found.score_distance).all()
    assert not found.score_distance[10:].any()
    assert found.score_distance.argmax() == 9


def test_what_cannot_be_mapped():
    X = planted()
    with pytest.raises(TypeError, match=r"pipeline\[-1\]"):
        outlier_map(make_pipeline(StandardScaler(), PCA(2)).fit(X), X)
    with pytest.raises(TypeError, match="no mean_"):
        outlier_map(sklearn.decomposition.TruncatedSVD(2).fit(X), X)
    with pytest.raises(ValueError, match=r"level=1.2 must be between 0 and 1"):
        outlier_map(PLANE, X, level=1.2)
    X[3, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        outlier_map(PLANE, X)
