"""Dask arrays and dataframes in place of arrays: the same numbers, whatever the chunks.

Here in one process; a cluster and its faults are in test_cluster.py.
"""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

import eigenlens
from eigenlens import PCA, IncrementalPCA, KernelPCA, SparsePCA
from eigenlens.data.dask import ARITY, DaskBlocks


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(700, 8)) * np.linspace(3, 1, 8) @ rng.normal(size=(8, 8)) + 1000


CHUNKS = {
    "one": (700, 8),
    "several": (100, 8),
    "many, in a tree of three levels": (700 // (ARITY**2 + 5), 8),
    "ragged": ((1, 299, 2, 398), (8,)),
    "columns too": (150, 3),
}


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("kind", [PCA, IncrementalPCA, SparsePCA])
def test_any_chunks_give_the_fit_of_the_array(X, kind, chunks):
    D = da.from_array(X, chunks=chunks)
    given, spread = kind(3).fit(X), kind(3).fit(D)
    np.testing.assert_allclose(spread.components_, given.components_, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(spread.mean_, given.mean_, rtol=1e-12)
    scores = spread.transform(D)
    assert isinstance(scores, da.Array)
    assert scores.shape == (700, 3)
    np.testing.assert_allclose(scores.compute(), given.transform(X), rtol=1e-8, atol=1e-8)
    back = spread.inverse_transform(scores)
    assert isinstance(back, da.Array)
    np.testing.assert_allclose(back.compute(), given.inverse_transform(given.transform(X)))


@pytest.mark.parametrize("k", [0.9, "mle", None])
def test_the_number_of_components_by_a_rule(X, k):
    D = da.from_array(X, chunks=(90, 8))
    assert PCA(k).fit(D).n_components_ == PCA(k).fit(X).n_components_


def test_single_precision_is_summed_in_double(X):
    narrow = (X - 1000).astype(np.float32)
    spread = PCA(3).fit(da.from_array(narrow, chunks=(7, 8)))
    assert spread.components_.dtype == np.float32
    exact = PCA(3).fit(narrow.astype(np.float64))
    np.testing.assert_allclose(spread.explained_variance_, exact.explained_variance_, rtol=1e-6)
    assert spread.transform(da.from_array(narrow, chunks=(7, 8))).dtype == np.float32


@pytest.mark.parametrize("kind", [np.int16, bool, np.float16])
def test_other_numbers_become_floats(kind):
    X = np.random.default_rng(0).integers(0, 2, size=(60, 4)).astype(kind)
    given, spread = PCA(2).fit(X), PCA(2).fit(da.from_array(X, chunks=(13, 4)))
    np.testing.assert_allclose(spread.explained_variance_, given.explained_variance_, rtol=1e-5)


def test_chunks_without_rows_and_of_unknown_size(X):
    D = da.from_array(X, chunks=(100, 8))
    few = D[(D[:, 0] > np.quantile(X[:, 0], 0.9)) & (da.arange(700, chunks=100) < 350)]
    assert np.isnan(few.shape[0])
    rows = few.compute()
    given, spread = PCA(2).fit(rows), PCA(2).fit(few)
    np.testing.assert_allclose(spread.components_, given.components_, atol=1e-10)
    np.testing.assert_allclose(spread.transform(few).compute(), given.transform(rows), atol=1e-9)
    np.testing.assert_allclose(spread.score(few), given.score(rows))
    assert DaskBlocks(few).n_rows == len(rows)


def test_no_rows_at_all(X):
    D = da.from_array(X, chunks=(100, 8))
    with pytest.raises(ValueError, match="rows"):
        PCA(2).fit(D[D[:, 0] > np.inf])


def test_sparse_chunks():
    X = sparse.random_array((400, 30), density=0.1, rng=np.random.default_rng(1), format="csr")
    D = da.from_array(X.toarray(), chunks=(90, 30)).map_blocks(sparse.csr_matrix)
    given, spread = PCA(3, svd_solver="covariance_eigh").fit(X), PCA(3).fit(D)
    np.testing.assert_allclose(spread.explained_variance_, given.explained_variance_, rtol=1e-9)


class TestFrames:
    @pytest.fixture
    def table(self, X):
        return pd.DataFrame(X, columns=[f"column {j}" for j in range(8)])

    def test_names_are_kept_and_columns_found_by_them(self, table):
        F = dd.from_pandas(table, npartitions=5)
        given, spread = PCA(2).fit(table), PCA(2).fit(F)
        assert list(spread.feature_names_in_) == list(table.columns)
        np.testing.assert_allclose(spread.components_, given.components_, atol=1e-10)
        turned = F[list(table.columns[::-1])]
        np.testing.assert_allclose(spread.transform(turned).compute(), given.transform(table))
        np.testing.assert_allclose(spread.transform(table), given.transform(table))

    def test_a_missing_column_is_named_at_once(self, table):
        model = PCA(2).fit(dd.from_pandas(table, npartitions=2))
        other = dd.from_pandas(table.rename(columns={"column 3": "colum 3"}), npartitions=2)
        with pytest.raises(ValueError, match=r"no column 'column 3'. Did you mean 'colum 3'"):
            model.transform(other)

    def test_text_is_refused_with_a_remedy(self, table):
        F = dd.from_pandas(table.assign(colour="red"), npartitions=2)
        with pytest.raises(ValueError, match=r"colour.*[Dd]rop"):
            PCA(2).fit(F)

    def test_partitions_left_empty_by_a_filter(self, table):
        table = table.sort_values("column 0").reset_index(drop=True)
        F = dd.from_pandas(table, npartitions=7)
        few = F[F["column 0"] <= table["column 0"][149]]
        spread, given = PCA(2).fit(few), PCA(2).fit(table[:150])
        np.testing.assert_allclose(spread.components_, given.components_, atol=1e-10)
        assert spread.transform(few).compute().shape == (150, 2)


def test_nothing_is_computed_before_it_is_asked_for(X):
    asked = []

    def seen(block):
        asked.append(len(block))
        return block

    D = da.from_array(X, chunks=(100, 8)).map_blocks(seen, meta=np.empty((0, 0)))
    model = PCA(2).fit(X)
    asked.clear()
    scores = model.transform(D)
    assert not asked
    scores[:50].compute()
    assert asked == [100]


def test_one_pass_over_the_rows(X):
    read = []

    def seen(block):
        read.append(len(block))
        return block

    D = da.from_array(X, chunks=(100, 8)).map_blocks(seen, meta=np.empty((0, 0)))
    read.clear()
    PCA(3).fit(D)
    assert sum(read) == len(X)


def test_in_a_pipeline(X):
    D = da.from_array(X, chunks=(100, 8))
    both = make_pipeline(PCA(5), PCA(2))
    np.testing.assert_allclose(both.fit_transform(D).compute(), both.fit_transform(X), atol=1e-8)


WHOLE = {
    "MDS": eigenlens.MDS(),
    "TSNE": eigenlens.TSNE(),
    "Isomap": eigenlens.Isomap(),
    "KernelPCA": KernelPCA(),
    "PCA, full": PCA(svd_solver="full"),
    "PCA, holes": PCA(missing="em"),
}


@pytest.mark.parametrize("model", WHOLE.values(), ids=WHOLE)
def test_what_needs_all_rows_says_so_and_what_to_use(X, model):
    with pytest.raises(ValueError, match=r"in one place.*\. .*(Take|Give)") as said:
        model.fit(da.from_array(X, chunks=(100, 8)))
    assert len(str(said.value)) < 320


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_told_as_for_an_array(X, value):
    wrong = X.copy()
    wrong[456, 3] = value
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        PCA(2).fit(da.from_array(wrong, chunks=(100, 8)))


def test_a_wrong_number_of_columns_is_told_at_once(X):
    model = PCA(2).fit(X)
    with pytest.raises(ValueError, match="5 features, but PCA is expecting 8"):
        model.transform(da.from_array(X[:, :5], chunks=(100, 5)))
    with pytest.raises(ValueError, match="8 features, but PCA is expecting 2"):
        model.inverse_transform(da.from_array(X, chunks=(100, 8)))


def test_an_array_of_one_dimension(X):
    with pytest.raises(ValueError, match=r"1 dimension.*reshape"):
        PCA(2).fit(da.from_array(X[:, 0], chunks=100))


def test_rows_by_their_numbers(X):
    table = DaskBlocks(da.from_array(X, chunks=(100, 8)))
    numbers = np.array([650, 3, 3, 99, 100, 0])
    np.testing.assert_array_equal(table.take(numbers), X[numbers])


def test_kept_rows_stay_in_order(X):
    table = DaskBlocks(da.from_array(X, chunks=(100, 8)))
    total, [kept] = table.advance(lambda block: (float(block.sum()), 2 * block[:, :2]), keep=1)
    np.testing.assert_allclose(total, X.sum())
    np.testing.assert_array_equal(kept.gather(), 2 * X[:, :2])
    total, [again] = table.advance(
        lambda block, own, by: (float((block[:, :2] * own).sum()), own * by),
        [kept],
        shared=(3,),
        keep=1,
    )
    np.testing.assert_allclose(total, 2 * (X[:, :2] ** 2).sum())
    np.testing.assert_array_equal(again.gather(), 6 * X[:, :2])
    np.testing.assert_array_equal(kept.gather(), 2 * X[:, :2])
