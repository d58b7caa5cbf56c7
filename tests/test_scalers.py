"""Scalers on tables in blocks are those of scikit-learn on arrays."""

import inspect
import subprocess
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from counted import Counted
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import preprocessing
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import eigenlens
from eigenlens import PCA, Blocks, Normalizer, RobustScaler, StandardScaler, datasets
from eigenlens.data.blocks import ArrayBlocks
from eigenlens.ops import order
from eigenlens.ops.columns import ColumnMoments

rng = np.random.default_rng(0)
N = 900
X = np.column_stack(
    [
        rng.standard_normal(N) + 1e6,  # a mean far above the deviations
        rng.standard_normal(N) * 1e-3,
        np.exp(3 * rng.standard_normal(N)),
        np.full(N, 7.1),
        rng.integers(0, 3, N),
    ]
)
HOLES = np.where(rng.random(X.shape) < 0.2, np.nan, X)
RAGGED = (1, 200, 3, 96, 300, 300)
SCALERS = ["StandardScaler", "MinMaxScaler", "RobustScaler", "Normalizer"]
FITTED = {
    "StandardScaler": ("mean_", "var_", "scale_", "n_samples_seen_"),
    "MinMaxScaler": ("data_min_", "data_max_", "data_range_", "scale_", "min_", "n_samples_seen_"),
    "RobustScaler": ("center_", "scale_"),
    "Normalizer": (),
}
OTHERS = [
    preprocessing.StandardScaler(with_mean=False),
    preprocessing.StandardScaler(with_std=False),
    preprocessing.StandardScaler(with_mean=False, with_std=False),
    preprocessing.MinMaxScaler((-1, 3), clip=True),
    preprocessing.RobustScaler(quantile_range=(5, 99), unit_variance=True),
    preprocessing.RobustScaler(with_centering=False),
    preprocessing.RobustScaler(with_scaling=False),
    preprocessing.Normalizer("l1"),
]


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def blocks(A, rows):
    table = ArrayBlocks(A, [f"c{j}" for j in range(A.shape[1])])
    table._rows = rows
    return table


def filtered(A):
    """Return a Dask dataframe with partitions that are empty, and of unknown sizes."""
    frame = pd.DataFrame(A, columns=[f"c{j}" for j in range(A.shape[1])])
    more = pd.concat([frame.assign(keep=1), frame.assign(keep=0)], ignore_index=True)
    table = dd.from_pandas(more, npartitions=6)
    return table[table.keep == 1].drop(columns="keep")


FORMS = {
    "whole": lambda A: blocks(A, len(A)),
    "small": lambda A: blocks(A, 37),
    "dask": lambda A: da.from_array(A, chunks=(RAGGED, 2)),
    "unknown": filtered,
}


def ours(scaler):
    return getattr(eigenlens, type(scaler).__name__)(**scaler.get_params())


def assert_same(found, whole, rtol=1e-8):
    for name in FITTED[type(whole).__name__]:
        a, b = getattr(found, name), getattr(whole, name)
        assert (a is None) == (b is None), name
        if a is not None:
            assert np.shape(a) == np.shape(b), name
            assert np.asarray(a).dtype == np.asarray(b).dtype, name
            assert_allclose(a, b, rtol=rtol, err_msg=name)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SCALERS)
def test_equals_scikit_learn(name, form):
    A = X if name == "Normalizer" else HOLES
    whole = getattr(preprocessing, name)().fit(A)
    table = FORMS[form](A)
    scaler = getattr(eigenlens, name)().fit(table)
    assert_same(scaler, whole)
    scores = scaler.transform(table)
    assert isinstance(scores, Blocks if form in ("whole", "small") else da.Array)
    assert_allclose(np.asarray(scores), whole.transform(A), rtol=1e-8, atol=1e-8)
    if name != "Normalizer":
        back = scaler.inverse_transform(scores)
        assert_allclose(np.asarray(back), A, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("scaler", OTHERS, ids=repr)
def test_parameters(scaler):
    A = X if isinstance(scaler, preprocessing.Normalizer) else HOLES
    found, whole = ours(scaler).fit(blocks(A, 100)), clone(scaler).fit(A)
    assert_same(found, whole)
    assert_allclose(
        found.transform(blocks(A, 100)).read(), whole.transform(A), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("name", SCALERS)
def test_float32_in_sums_of_float64(name):
    A = X[:, 1:].astype(np.float32)
    whole = getattr(preprocessing, name)().fit(A)
    table = da.from_array(A, chunks=(RAGGED, 4))
    scaler = getattr(eigenlens, name)().fit(table)
    assert_same(scaler, whole)
    found = scaler.transform(table)
    assert found.dtype == found.compute().dtype == np.float32
    assert_allclose(found.compute(), whole.transform(A), rtol=1e-5, atol=1e-5)


def test_a_mean_of_a_trillion_costs_no_digits():
    A = X[:, :2] * [1e-6, 1] + 1e12
    found = StandardScaler().fit(blocks(A, 7))
    exact = (A - 1e12).var(axis=0)
    assert_allclose(found.var_, exact, rtol=1e-10)


def test_weights():
    weight = rng.integers(0, 4, N).astype(float)
    whole = preprocessing.StandardScaler().fit(X, sample_weight=weight)
    for table in (blocks(X, 37), FORMS["dask"](X)):
        assert_same(StandardScaler().fit(table, sample_weight=weight), whole)
    with pytest.raises(ValueError, match="expected"):
        StandardScaler().fit(blocks(X, 37), sample_weight=weight[1:])


SPARSE = sparse.random_array((400, 6), density=0.3, rng=np.random.default_rng(1), format="csr")
SPARSE.data[::9] = np.nan
FULL = sparse.csr_array(np.column_stack([SPARSE.toarray(), 1e7 + rng.standard_normal(400)]))


@pytest.mark.parametrize(
    "scaler",
    [
        preprocessing.StandardScaler(with_mean=False),
        preprocessing.StandardScaler(with_mean=False, with_std=False),
        preprocessing.RobustScaler(with_centering=False, quantile_range=(5, 95)),
    ],
    ids=repr,
)
def test_sparse_blocks(scaler):
    found, whole = ours(scaler).fit(blocks(FULL, 33)), clone(scaler).fit(FULL)
    assert_same(found, whole)
    scaled = found.transform(blocks(FULL, 33))
    assert_allclose(scaled.read().toarray(), whole.transform(FULL).toarray(), rtol=1e-8)


@pytest.mark.parametrize("name", ["StandardScaler", "MinMaxScaler", "RobustScaler"])
def test_what_cannot_be_scaled_is_refused_as_scikit_learn_does(name):
    with pytest.raises((ValueError, TypeError)) as whole:
        getattr(preprocessing, name)().fit(SPARSE)
    with pytest.raises(type(whole.value)) as found:
        getattr(eigenlens, name)().fit(blocks(SPARSE, 33))
    assert str(found.value) == str(whole.value)
    bad = X.copy()
    bad[5, 1] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity"):
        getattr(eigenlens, name)().fit(blocks(bad, 100))
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        getattr(eigenlens, name)().fit(blocks(X[:0], 100))


def test_refused_parameters():
    with pytest.raises(ValueError, match="Invalid quantile range"):
        RobustScaler(quantile_range=(80, 20)).fit(blocks(X, 100))
    with pytest.raises(ValueError, match="'norm' parameter"):
        Normalizer("l3").fit(blocks(X, 100))
    with pytest.raises(ValueError, match="expecting 5 features"):
        StandardScaler().fit(X).transform(da.from_array(X[:, :3]))


# -------------------------------------------------------------------------------- quantiles


def hostile(n=4000):
    """Return columns that are hard to cut: sizes from 1e-300 to 1e300, repeats, tiny, few."""
    sign = rng.choice([-1.0, 1.0], n)
    few = np.full(n, np.nan)
    few[17] = 3.0
    columns = [
        np.exp(100 * rng.standard_normal(n)) * sign,
        rng.standard_cauchy(n),
        1e9 + rng.standard_normal(n),
        np.where(rng.random(n) < 0.9, 0.0, 5e-324 * rng.integers(0, 9, n)),
        -0.0 * sign,
        few,
        np.full(n, np.nan),
        sign * 1.7e308,
    ]
    return np.column_stack(columns)


@pytest.mark.parametrize("gather", [1 << 23, 500, 1])
def test_quantiles_are_exact_for_any_table(monkeypatch, gather):
    """To the bit, with room to gather everything and with none."""
    monkeypatch.setattr(order, "GATHER", gather)
    A, q = hostile(), np.array([0.0, 0.013, 0.25, 0.5, 0.75, 1.0])
    table = Counted(A, 999)
    known = order.ends(table)
    table.passes = 0
    with np.errstate(over="ignore", invalid="ignore"), pytest.warns(RuntimeWarning, match="NaN"):
        expected = np.nanquantile(A, q, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        found = order.quantiles(table, q, known)
    assert_array_equal(found, expected)
    assert table.passes <= (1 if gather > A.size * 6 else 15)


def test_a_column_without_entries_has_no_least():
    table = Counted(np.column_stack([np.arange(9.0), np.full(9, np.nan)]), 4)
    found = order.order_statistics(table, np.zeros((1, 2), np.int64), order.ends(table))
    assert_array_equal(found, [[0.0, np.nan]])


def test_easy_quantiles_take_three_passes(monkeypatch):
    monkeypatch.setattr(order, "GATHER", 200)
    passes = []
    table = blocks(rng.standard_normal((4000, 3)), 500)
    counted = table.map(lambda block: (passes.append(len(block)), block)[1])
    RobustScaler().fit(counted)
    assert sum(passes) == 3 * 4000


def test_keys_are_in_the_order_of_floats():
    x = np.array([-1.7e308, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1.7e308])
    key = order.keys(x)
    assert (np.diff(key.astype(object)) > 0).all()
    assert_array_equal(order.floats(key), x)
    assert order.keys(np.array([-0.0])) == order.keys(np.array([0.0]))


def test_column_moments_do_not_depend_on_the_cut():
    weight = rng.random(N)
    whole = ColumnMoments.of(HOLES, weight, missing=True)
    seen = ~np.isnan(HOLES)
    mass = weight @ seen
    mean = weight @ np.where(seen, HOLES - HOLES[seen].min(), 0.0) / mass + HOLES[seen].min()
    assert_allclose(whole.mass, mass)
    assert_allclose(whole.mean, mean, rtol=1e-12)
    for rows in (17, 50):
        found = ColumnMoments.over(blocks(HOLES, rows), weight, missing=True)
        assert_allclose(found.mean, whole.mean, rtol=1e-14)
        assert_allclose(found.squares, whole.squares, rtol=1e-9)


# -------------------------------------------------------------------------------- in use


@pytest.mark.parametrize("form", FORMS)
def test_pipeline_holds_no_more_than_blocks(form, monkeypatch):
    monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 0)
    A = X[:, [0, 1, 2, 4]]
    table = FORMS[form](A)
    with monkeypatch.context() as patch:
        patch.setattr(Blocks, "read", None)
        model = make_pipeline(StandardScaler(), PCA(2)).fit(table)
    whole = make_pipeline(preprocessing.StandardScaler(), PCA(2)).fit(A)
    assert_allclose(model[-1].components_, whole[-1].components_, atol=1e-8)
    assert_allclose(model[-1].explained_variance_, whole[-1].explained_variance_, rtol=1e-8)
    assert_allclose(np.asarray(model.transform(table)), whole.transform(A), atol=1e-8)
    if form != "dask":  # names are the scaler's, and go no further, as with a dataframe
        frame = pd.DataFrame(A, columns=[f"c{j}" for j in range(4)])
        assert_allclose(model.transform(frame), whole.transform(A), atol=1e-8)


def test_pipeline_on_a_file(tmp_path, monkeypatch):
    """Scaled, weighted and ruled, in blocks of some rows each."""
    monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 0)
    monkeypatch.setattr("eigenlens.data.blocks.BLOCK_BYTES", 16 * 8 * 128)
    A = datasets.planted_subspace(N, 16, rank=2, noise=0.3, decay=1, random_state=0).X
    frame = pd.DataFrame(A, columns=list("abcdefghijklmnop"))
    frame.to_parquet(tmp_path / "x.parquet")
    table = eigenlens.open(tmp_path / "x.parquet")
    assert len(table.row_counts()) > 3
    model = make_pipeline(StandardScaler(), PCA("cv", random_state=0))
    whole = clone(model).fit(frame)
    weight = rng.integers(0, 3, N)
    weighted = PCA(2).fit(A, sample_weight=weight)
    monkeypatch.setattr(Blocks, "read", None)
    found = model.fit(table)
    assert found[-1].n_components_ == whole[-1].n_components_ == 2
    assert_allclose(found[0].var_, whole[0].var_, rtol=1e-8)
    assert_allclose(found[-1].components_, whole[-1].components_, atol=1e-8)
    assert list(found[0].feature_names_in_) == list("abcdefghijklmnop")
    found = PCA(2).fit(table, sample_weight=weight)
    assert_allclose(found.components_, weighted.components_, atol=1e-8)


def test_columns_go_by_their_names():
    scaler = StandardScaler().fit(blocks(X, 100))
    assert list(scaler.feature_names_in_) == [f"c{j}" for j in range(5)]
    turned = ArrayBlocks(X[:, ::-1], [f"c{j}" for j in range(5)][::-1])
    assert_allclose(scaler.transform(turned).read(), scaler.transform(blocks(X, 9)).read())


def test_the_table_is_not_written_to():
    A = X.copy()
    scaler = StandardScaler(copy=False).fit(blocks(A, 100))
    scaler.transform(blocks(A, 100)).read()
    assert_array_equal(A, X)


def test_a_large_memory_map_is_fitted_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenlens.data.tables.WHOLE_BYTES", 0)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    with monkeypatch.context() as patch:
        patch.setattr(preprocessing.StandardScaler, "partial_fit", None)
        scaler = StandardScaler().fit(mapped)
    expected = preprocessing.StandardScaler().fit_transform(X)
    assert_allclose(scaler.transform(mapped), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", SCALERS)
def test_drop_in(name):
    theirs, mine = getattr(preprocessing, name), getattr(eigenlens, name)
    assert issubclass(mine, theirs)
    for method in ("__init__", "fit", "transform"):
        a, b = (inspect.signature(getattr(kind, method)) for kind in (theirs, mine))
        assert list(a.parameters) == list(b.parameters)
    assert_array_equal(mine().fit_transform(X), theirs().fit_transform(X))
    assert eigenlens.methods()[name].load() is mine


def test_saved_and_loaded(tmp_path):
    for package in (eigenlens, preprocessing):
        kinds = [getattr(package, name) for name in SCALERS]
        model = make_pipeline(*(kind() for kind in kinds)).fit(X)
        again = eigenlens.load(eigenlens.save(model, tmp_path / "model.skops"))
        assert [type(step) for step in again] == kinds
        assert_array_equal(again.transform(X), model.transform(X))
    # where nothing of them has been imported
    eigenlens.save(StandardScaler(), tmp_path / "alone.skops")
    code = f"import eigenlens; print(eigenlens.load({str(tmp_path / 'alone.skops')!r}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "StandardScaler()"


@parametrize_with_checks([getattr(eigenlens, name)() for name in SCALERS])
def test_check_estimator(estimator, check):
    check(estimator)
