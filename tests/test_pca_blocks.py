"""PCA, its rules, weights, moments and covariances of tables in blocks and of Dask."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from counted import Counted
from numpy.testing import assert_allclose
from scipy import sparse

import eigenlens
from eigenlens import PCA, IncrementalPCA, Moments, SparsePCA, datasets
from eigenlens.ops.centred_blocks import CentredBlocks
from eigenlens.select import cross_validation, factored_blocks, flip, resampling_blocks
from eigenlens.select.cross_validation_blocks import Groups
from eigenlens.select.factored_blocks import FactoredBlocks

rng = np.random.default_rng(0)
WIDE = rng.standard_normal((60, 12)) * 0.6 ** np.arange(12) @ rng.standard_normal((12, 1200))
WIDE += 0.02 * rng.standard_normal(WIDE.shape) + 50
TALL = rng.standard_normal((400, 6)) @ rng.standard_normal((6, 6)) + 1e4
RULES = ["gavish-donoho", "parallel", "flip", "deflation", "cv", "consensus"]


@pytest.fixture(autouse=True)
def in_blocks(monkeypatch):
    """Make every table a large one, and Dask work here."""
    monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 0)
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def wide(monkeypatch):
    """Let no matrix of the size of the columns fit."""
    monkeypatch.setattr("eigenlens.estimators.pca.WHOLE_BYTES", 1 << 20)


def blocks(A, rows):
    table = Counted(A, rows)
    table.named = False
    return table


def filtered(A):
    """Return a Dask dataframe with partitions that are empty, and of unknown sizes."""
    frame = pd.DataFrame(A, columns=[f"c{j}" for j in range(A.shape[1])])
    more = pd.concat([frame.assign(keep=1), frame.assign(keep=0)], ignore_index=True)
    table = dd.from_pandas(more, npartitions=5)
    return table[table.keep == 1].drop(columns="keep")


def forms(A, rows=17):
    n = len(A)
    ragged = (1, n // 3, 2, 0, n - n // 3 - 3)
    return [blocks(A, rows), blocks(A, n), da.from_array(A, chunks=(ragged, -1)), filtered(A)]


def assert_same(found, whole, rtol=1e-8):
    assert found.n_components_ == whole.n_components_
    assert found.n_samples_ == whole.n_samples_
    assert found.certificate_.holds
    scale = whole.explained_variance_[:1].max(initial=0.0)
    for name in ("explained_variance_", "total_variance_", "noise_variance_"):
        assert_allclose(getattr(found, name), getattr(whole, name), atol=rtol * scale, rtol=rtol)
    assert_allclose(found.mean_, whole.mean_, rtol=rtol)
    cross = np.abs(found.components_ @ whole.components_.T)
    assert_allclose(cross, np.eye(len(cross)), atol=100 * rtol)


# -------------------------------------------------------------------------------- wide tables


@pytest.mark.parametrize("k", [3, 0.9])
def test_wide_table_equals_the_array(wide, k):
    whole = PCA(k).fit(WIDE)
    for table in forms(WIDE):
        found = PCA(k, random_state=0).fit(table)
        assert found.solver_ == "randomized"
        assert_same(found, whole)


@pytest.mark.parametrize("solver", ["arpack", "randomized"])
def test_solvers_by_products_on_request(solver):
    whole = PCA(2, svd_solver="full").fit(TALL)
    for table in forms(TALL):
        found = PCA(2, svd_solver=solver, random_state=0).fit(table)
        assert found.solver_ == solver
        assert_same(found, whole)


def test_all_components_of_a_wide_table(wide):
    A = WIDE[:20, :1000]
    found, whole = PCA(random_state=0).fit(blocks(A, 7)), PCA().fit(A)
    assert found.n_components_ == 20
    assert_allclose(found.explained_variance_[:19], whole.explained_variance_[:19], rtol=1e-8)
    assert_allclose(found.components_ @ found.components_.T, np.eye(20), atol=1e-10)


def test_passes_are_few_and_each_step_is_one(wide):
    table = blocks(WIDE, 17)
    found = PCA(5, random_state=0).fit(table)
    assert table.passes <= 10
    assert table.passes == 1 + found.n_iter_ + 2 + 1  # means, steps, probe, proof
    table = blocks(WIDE, 17)
    found = PCA(5, iterated_power=2, svd_solver="randomized", random_state=0).fit(table)
    assert found.n_iter_ == 4
    assert table.passes == 1 + 4 + 1


def test_float32_and_sparse_blocks_of_a_wide_table(wide):
    whole = PCA(3).fit(WIDE)
    found = PCA(3, random_state=0).fit(da.from_array(WIDE.astype(np.float32), chunks=(25, -1)))
    assert found.components_.dtype == np.float32
    assert_allclose(found.explained_variance_, whole.explained_variance_, rtol=1e-5)
    assert found.certificate_.holds
    S = sparse.random_array((300, 900), density=0.05, rng=np.random.default_rng(1), format="csr")
    S = sparse.hstack([S, sparse.csr_array(1e6 + rng.standard_normal((300, 1)) * 3)], format="csr")
    whole = PCA(3, svd_solver="full").fit(S.toarray())
    assert_same(PCA(3, random_state=0).fit(blocks(S, 40)), whole, 1e-7)


def test_operator_is_its_matrix():
    weight = rng.integers(0, 3, len(TALL)).astype(float)
    V = rng.standard_normal((6, 4))
    holes = TALL > 1e4
    holes[:200] = True  # blocks without an empty cell beside others
    for A in (TALL, sparse.csr_array(np.where(holes, TALL, 0.0))):
        dense = A.toarray() if sparse.issparse(A) else A
        for w in (None, weight):
            operator = CentredBlocks(blocks(A, 33), w)
            ones = np.ones(len(TALL)) if w is None else w
            C = dense - ones @ dense / ones.sum()
            expected = C.T @ (ones[:, None] * C)
            close = {"rtol": 1e-9, "atol": 1e-9 * abs(expected).max()}
            assert_allclose(operator.gram(V), expected @ V, **close)
            assert_allclose(operator.formed(), expected, **close)
            assert_allclose(operator.square, np.trace(expected), rtol=1e-11)


# -------------------------------------------------------------------------------- rules


@pytest.fixture(scope="module")
def planted():
    return datasets.planted_subspace(500, 15, rank=4, noise=0.5, decay=1, random_state=3).X + 30


@pytest.mark.parametrize("rule", RULES)
def test_rules_find_what_they_find_in_memory(planted, rule):
    whole = PCA(rule, random_state=0).fit(planted)
    choices = []
    for table in forms(planted, 111)[:: 1 if rule in ("flip", "cv") else 2]:
        found = PCA(rule, random_state=0).fit(table)
        assert found.n_components_ == whole.n_components_ == 4
        assert_same(found, whole)
        choices.append(found.choice_)
    if rule != "consensus":
        for choice in choices[1:]:  # the draws do not know how the rows are cut
            assert_allclose(choice.thresholds, choices[0].thresholds, rtol=1e-4)
            assert_allclose(choice.observed, choices[0].observed, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("rule", ["gavish-donoho", "flip", "cv", "parallel"])
def test_rules_find_nothing_in_noise(rule):
    A = np.random.default_rng(5).standard_normal((500, 15))
    with pytest.warns(UserWarning, match="nothing above the noise"):
        found = PCA(rule, random_state=0).fit(blocks(A, 60))
    assert found.n_components_ == 0


def test_thresholds_are_those_of_memory(planted):
    """Draws differ, their quantiles hardly: of flips, permutations and hidden entries."""
    table = FactoredBlocks(blocks(planted, 70))
    for rule in (flip, eigenlens.select.parallel, eigenlens.select.deflation):
        found, whole = rule(table, 1), rule(planted, 1)
        assert_allclose(found.thresholds[:5], whole.thresholds[:5], rtol=0.05)
    found, whole = cross_validation(table, 1), cross_validation(planted, 1)
    assert_allclose(found.observed, whole.observed, atol=0.03)


def test_flipped_products_are_those_of_the_flipped_table(planted):
    """Centred and projected in one pass, a draw is that of the table itself."""
    table = FactoredBlocks(blocks(planted, 70))
    source = resampling_blocks.Flipped(
        table, 2, lambda M, k, _: np.linalg.eigvalsh(M)[::-1][:k], lambda left, V: np.ones(15), 0.1
    )
    (found,) = source.draws(np.array([7]))
    n = len(planted)
    V = table.axes[:, :2]
    E = planted - planted.mean(axis=0)
    Q = np.column_stack([np.full(n, n**-0.5), E @ V / table.singular[:2]])
    F = (E - E @ V @ V.T) * (1 - np.square(Q).sum(axis=1))[:, None] ** -0.5
    F *= resampling_blocks._signs(7, 0, n, 15)
    F -= Q @ (Q.T @ F)
    F -= F @ V @ V.T
    assert_allclose(found[0], np.linalg.norm(F, 2), rtol=1e-5)


def test_signs_are_fair_and_belong_to_rows():
    whole = resampling_blocks._signs(3, 0, 1000, 7)
    assert set(np.unique(whole)) == {-1.0, 1.0}
    assert abs(whole.mean()) < 4 / np.sqrt(whole.size)
    for start, stop in ((0, 1), (255, 257), (300, 999)):
        part = resampling_blocks._signs(3, start, stop - start, 7)
        np.testing.assert_array_equal(part, whole[start:stop])
    assert not np.array_equal(whole, resampling_blocks._signs(4, 0, 1000, 7))


def test_wishart_is_the_scatter_of_normal_rows():
    for dof, d in ((50, 4), (3, 4)):
        draws = [resampling_blocks._wishart(dof, d, np.random.default_rng(s)) for s in range(400)]
        # an entry has mean 0 or dof, and a variance of dof or 2 dof
        error = np.abs(np.mean(draws, axis=0) - dof * np.eye(d))
        assert error.max() < 5 * np.sqrt(2 * dof / 400)


def test_errors_of_predictions_from_products(planted):
    """Costs from the products of groups are those of predicting the hidden entries."""
    table = FactoredBlocks(blocks(planted, 70))
    groups = cross_validation_groups(table)
    costs = groups.costs(3)
    dealt = group_of_rows(groups, len(planted))
    Z = planted - planted.mean(axis=0)
    inside, hidden = dealt == 1, groups.columns == 2
    D, B = Z[np.ix_(~inside, ~hidden)], Z[np.ix_(inside, ~hidden)]
    C, A = Z[np.ix_(~inside, hidden)], Z[np.ix_(inside, hidden)]
    U, s, Vt = np.linalg.svd(D, full_matrices=False)
    for k in range(4):
        error = np.sum((A - B @ (Vt[:k].T / s[:k]) @ (U[:, :k].T @ C)) ** 2)
        claimed = np.sum(s[:k] ** 2) * A.size / D.size
        assert_allclose(costs[1 * 5 + 2, k], error + 0.1 * claimed, rtol=1e-8)


def test_products_of_groups_far_from_zero_keep_their_digits():
    """Of the means, 1e8 away, the digits are needed that a float64 has no room for."""
    A = TALL + 1e8
    groups = cross_validation_groups(FactoredBlocks(blocks(A, 50)))
    Z = A.astype(np.longdouble) - A.astype(np.longdouble).mean(axis=0)
    dealt = group_of_rows(groups, len(A))
    for g, products in enumerate(groups.inside):
        exact = Z[dealt == g].T @ Z[dealt == g]
        assert np.abs(products - exact).max() < 1e-12 * np.abs(exact).max()


def cross_validation_groups(table):
    def deal(size, groups, rng):
        return rng.permutation(size) % groups

    def leading(M, k, rng):
        values, V = np.linalg.eigh(M)
        return values[::-1][:k], V[:, ::-1][:, :k]

    return Groups.of(table, 5, deal, np.random.default_rng(0), leading, 0.1)


def group_of_rows(groups, n):
    seed = int(np.random.default_rng(0).integers(2**63))
    size = factored_blocks.TILE
    parts = [
        np.random.default_rng([seed, tile]).permutation(min(size, n - tile * size)) % 5
        for tile in range(-(-n // size))
    ]
    dealt = np.concatenate(parts)
    np.testing.assert_array_equal(np.bincount(dealt), groups.counts)
    return dealt


def test_rules_of_a_wide_table_look_at_as_many_rows_as_fit(monkeypatch):
    A = datasets.planted_subspace(150, 200, rank=3, noise=0.3, decay=1, random_state=0).X
    monkeypatch.setattr("eigenlens.estimators.pca.WHOLE_BYTES", 8 * 200 * 150)
    whole = PCA("cv", random_state=0).fit(A)
    found = PCA("cv", random_state=0).fit(da.from_array(A, chunks=(40, -1)))
    assert_allclose(found.choice_.observed, whole.choice_.observed)  # all rows: as in memory
    assert_same(found, whole, 1e-7)
    monkeypatch.setattr("eigenlens.estimators.pca.WHOLE_BYTES", 8 * 200 * 100)
    parts = [PCA("cv", random_state=0).fit(blocks(A, rows)) for rows in (150, 11)]
    assert [part.n_components_ for part in parts] == [3, 3]
    assert_allclose(parts[0].choice_.observed, parts[1].choice_.observed)


def test_rules_refuse_sparse_blocks_and_weights():
    with pytest.raises(TypeError, match="needs dense X"):
        PCA("flip").fit(blocks(sparse.csr_array(TALL), 50))
    with pytest.raises(ValueError, match="cannot be used with sample_weight"):
        PCA("flip").fit(blocks(TALL, 50), sample_weight=np.ones(len(TALL)))


# -------------------------------------------------------------------------------- weights


@pytest.mark.parametrize(
    "model", [PCA(2), PCA(2, svd_solver="randomized", random_state=0), IncrementalPCA(2)], ids=repr
)
def test_weights_on_blocks(model):
    weight = np.random.default_rng(1).integers(0, 3, len(TALL)).astype(float)
    weight[:40] = 0.0  # whole blocks that do not count
    whole = type(model)(2).fit(TALL, sample_weight=weight)
    components, variance = whole.components_, whole.explained_variance_
    for table in forms(TALL):
        model.fit(table, sample_weight=weight)
        assert_allclose(model.components_, components, atol=1e-8)
        assert_allclose(model.explained_variance_, variance, rtol=1e-8)
    with pytest.raises(ValueError, match="expected"):
        model.fit(forms(TALL)[2], sample_weight=weight[1:])


def test_weights_of_sparse_pca_on_blocks():
    weight = np.random.default_rng(1).integers(0, 3, len(TALL)).astype(float)
    how = {"n_components": 2, "alpha": 0.5, "random_state": 0}
    whole = SparsePCA(**how).fit(TALL, sample_weight=weight)
    found = SparsePCA(**how).fit(da.from_array(TALL, chunks=(77, -1)), sample_weight=weight)
    assert_allclose(found.components_, whole.components_, atol=1e-6)


# -------------------------------------------------------------------------------- sentences


@pytest.mark.parametrize("how", [{"svd_solver": "full"}, {"missing": "em"}])
def test_what_needs_all_rows_says_so(how):
    with pytest.raises(ValueError, match=r"all rows in one place.*Take svd_solver='auto'"):
        PCA(2, **how).fit(da.from_array(TALL))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_numbers_in_a_wide_table(wide, value):
    bad = WIDE.copy()
    bad[33, 2] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        PCA(2).fit(blocks(bad, 20))


# ------------------------------------------------------------------- moments and covariances

HOLES = np.where(rng.random(TALL.shape) < 0.2, np.nan, TALL)
HOLES[-60:, 0] = np.nan  # a block without a single entry of a column


@pytest.mark.parametrize("what", ["covariance", "correlation"])
@pytest.mark.parametrize("A", [TALL, HOLES], ids=["whole", "holes"])
def test_covariance_of_blocks(what, A):
    weight = np.random.default_rng(2).integers(0, 3, len(A)).astype(float)
    function = getattr(eigenlens, what)
    for w in (None, weight):
        expected = function(A, sample_weight=w)
        for table in forms(A):
            found = function(table, sample_weight=w)
            assert isinstance(found, np.ndarray)
            assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    table = blocks(A, 50)
    function(table)
    assert table.passes == (1 if A is TALL else 2)


def test_covariance_of_a_large_memory_map(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenlens.data.tables.WHOLE_BYTES", 0)
    np.save(tmp_path / "x.npy", TALL)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    monkeypatch.setattr("eigenlens.measure.covariance.check_array", None)
    assert_allclose(eigenlens.covariance(mapped), np.cov(TALL.T), rtol=1e-8)


def test_what_has_no_covariance():
    bad = HOLES.copy()
    bad[7, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        eigenlens.covariance(blocks(bad, 50))
    bad[:, 1] = np.nan
    with pytest.raises(ValueError, match="Column 1 of X holds nothing but NaN"):
        eigenlens.covariance(blocks(bad, 50))
    with pytest.raises(ValueError, match="no rows"):
        eigenlens.covariance(blocks(TALL[:0], 50))
    S = sparse.csr_array(HOLES)
    with pytest.raises(ValueError, match="Sparse X holds NaN"):
        eigenlens.covariance(blocks(S, 50))
    constant = TALL.copy()
    constant[:, 2] = 5.0
    with pytest.warns(UserWarning, match="Column x2 is constant"):
        eigenlens.correlation(blocks(constant, 50))


def test_moments_of_blocks():
    weight = np.random.default_rng(2).integers(0, 3, len(TALL)).astype(float)
    whole = Moments().update(TALL, weight).update(TALL)
    for table in forms(TALL):
        found = Moments().update(table, weight).update(table)
        assert found.count == whole.count
        assert found.mass == whole.mass
        assert_allclose(found.mean, whole.mean, rtol=1e-12)
        assert_allclose(found.covariance(), whole.covariance(), rtol=1e-8)
    assert Moments().update(blocks(TALL[:0], 5)).count == 0
    with pytest.raises(ValueError, match="3 columns cannot be added"):
        Moments().update(TALL).update(blocks(TALL[:, :3], 50))
