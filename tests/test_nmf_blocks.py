"""NMF of tables in blocks: the fit of the array, whatever the blocks and wherever they are."""

import tracemalloc

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import eigenlens
from eigenlens import NMF
from eigenlens.data.blocks import ArrayBlocks
from eigenlens.data.dask import DaskBlocks
from eigenlens.solvers import hals
from eigenlens.solvers.blocked import Blocked, Codes
from eigenlens.solvers.nndsvd import at_random, nndsvd
from eigenlens.solvers.parts import Penalty

PENALTIES = {"alpha_W": 2e-2, "alpha_H": 1e-2, "l1_ratio": 0.6}
RAGGED = (17, 1, 0, 30, 12)  # rows of blocks, one of which is empty


def planted(n=60, d=14, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n, k)) @ (rng.exponential(size=(k, d)) * (rng.random((k, d)) < 0.5))
    return np.maximum(X + 0.2 * rng.standard_normal((n, d)), 0.0)


X = planted()


class Pieces(ArrayBlocks):
    """An array in blocks of the rows that are asked for, which counts how often it is read."""

    def __init__(self, array, counts=RAGGED):
        super().__init__(array)
        self.counts, self.reads, self.nbytes = counts, 0, 1 << 40

    def row_counts(self):
        return list(self.counts)

    def blocks_from(self, i):
        self.reads += 1
        for stop, count in list(zip(np.cumsum(self.counts), self.counts, strict=True))[i:]:
            yield self.array[stop - count : stop]

    read = None  # never as a whole


@pytest.fixture
def spread():
    """Give a function that makes an array one of Dask's, in chunks of so many rows."""
    with dask.config.set(scheduler="synchronous"):
        yield lambda array, counts=RAGGED: da.from_array(array, chunks=(counts, -1))


def assert_same_fit(model, whole, rtol=1e-9):
    assert model.n_iter_ == whole.n_iter_
    assert_allclose(model.objective_history_, whole.objective_history_, rtol=rtol)
    scale = whole.components_.max()
    assert_allclose(model.components_ / scale, whole.components_ / scale, atol=10 * rtol)
    assert_allclose(model.reconstruction_err_, whole.reconstruction_err_, rtol=rtol)
    assert model.certificate_.holds == whole.certificate_.holds
    assert model.components_.dtype == whole.components_.dtype


# ------------------------------------------------------------------------------------ the fit


@pytest.mark.parametrize("how", [{}, PENALTIES])
def test_a_file_gives_the_fit_of_the_array(tmp_path, monkeypatch, how):
    monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 0)
    monkeypatch.setattr("eigenlens.data.blocks.BLOCK_BYTES", 8 * 14 * 13)
    np.save(tmp_path / "X.npy", X)
    table = eigenlens.open(tmp_path / "X.npy")
    assert len(table.row_counts()) == 5
    monkeypatch.setattr(type(table), "read", None)
    model, whole = (NMF(4, tol=1e-5, max_iter=2000, **how) for _ in range(2))
    codes = model.fit_transform(table)
    assert_same_fit(model, whole.fit(X))
    assert model.converged_
    assert_allclose(codes, whole.transform(X), atol=1e-7)


@pytest.mark.parametrize("init", [None, "nndsvd", "nndsvdar", "random"])
def test_any_start_on_dask_gives_the_fit_of_the_array(spread, init):
    how = {"tol": 0, "max_iter": 10} if init else {"max_iter": 1000}
    model, whole = (NMF(4, init=init, random_state=0, **how, **PENALTIES) for _ in range(2))
    model.fit(spread(X))
    assert_same_fit(model, whole.fit(X))
    assert init or model.converged_


@pytest.mark.parametrize("counts", [(20,), (1,) * 20, (0, 20), (9, 0, 0, 11), (3,) * 6 + (2,)])
def test_chunks_of_any_rows_give_the_same(spread, counts):
    model, whole = (NMF(4, init="nndsvdar", random_state=3, tol=0, max_iter=5) for _ in range(2))
    assert_same_fit(model.fit(spread(X[:20], counts)), whole.fit(X[:20]))


@pytest.mark.parametrize("small", [True, False])
def test_single_precision_is_added_up_in_double(spread, monkeypatch, small):
    """So the fit is that in double, also of a large table, of which the array's own is noisy."""
    if not small:
        for place in ("hals", "nndsvd", "blocked"):
            monkeypatch.setattr(f"eigenlens.solvers.{place}.SMALL", 0)
    A = X.astype(np.float32)
    model, double, single = (NMF(4, tol=1e-5, max_iter=1000) for _ in range(3))
    lazy = model.fit_transform(spread(A, (29, 31)))
    double.fit(A.astype(np.float64))
    single.fit(A)
    assert model.n_iter_ == double.n_iter_
    assert_allclose(model.objective_history_[-1], double.objective_history_[-1], rtol=1e-9)
    assert_allclose(model.components_, double.components_, rtol=1e-5, atol=1e-5)
    assert model.reconstruction_err_ <= (1 + 1e-6) * single.reconstruction_err_
    assert model.components_.dtype == lazy.dtype == lazy.compute().dtype == np.float32
    assert_allclose(lazy.compute(), model.transform(A), atol=1e-5)


def test_a_dataframe_whose_rows_are_not_counted(spread):
    frame = pd.DataFrame(X, columns=[f"part {j}" for j in range(14)])
    frame["kept"] = np.arange(60) % 3 != 1
    frame.loc[40:, "kept"] = False  # partitions without any row
    rows = dd.from_pandas(frame, npartitions=6)
    rows = rows[rows["kept"]].drop(columns="kept")
    model, whole = (NMF(3, init="random", random_state=0, tol=0, max_iter=5) for _ in range(2))
    assert_same_fit(model.fit(rows), whole.fit(frame[frame["kept"]].drop(columns="kept")))
    assert list(model.feature_names_in_) == [f"part {j}" for j in range(14)]


@pytest.mark.parametrize("density", [0.15, 0.6])
def test_sparse_blocks_give_the_fit_of_the_sparse_table(density):
    """The first is fitted as it is, the second is mostly full and made dense."""
    A = sparse.random_array((60, 14), density=density, rng=np.random.default_rng(0), format="csr")
    model, whole = (NMF(3, max_iter=500) for _ in range(2))
    assert_same_fit(model.fit(Pieces(A)), whole.fit(A))


@pytest.mark.parametrize("size", [1e-120, 1e120])
def test_extreme_units(size):
    model, whole = (NMF(4, tol=0, max_iter=10) for _ in range(2))
    assert_same_fit(model.fit(Pieces(size * X)), whole.fit(size * X))


def test_more_parts_than_rows_and_as_many_as_columns():
    A = planted(7, 9)
    for k in ("auto", 12):
        model, whole = (NMF(k, random_state=0, tol=0, max_iter=5) for _ in range(2))
        assert_same_fit(model.fit(Pieces(A, (3, 0, 4))), whole.fit(A))
    with pytest.raises(ValueError, match="can only be used when n_components <= min"):
        NMF(8, init="nndsvd").fit(Pieces(A, (3, 0, 4)))


def test_a_table_of_zeros_has_no_parts():
    model = NMF(2).fit(Pieces(np.zeros((60, 14))))
    assert_array_equal(model.components_, NMF(2).fit(np.zeros((60, 14))).components_)
    assert model.converged_
    assert model.reconstruction_err_ == 0


@pytest.mark.parametrize("beta", [1, 0, 0.5])
def test_multiplicative_updates_for_any_loss(spread, beta):
    """Exponential rows for Itakura and Saito, counts for the others, with their likelihood."""
    A = X + 0.1 if beta == 0 else np.random.default_rng(0).poisson(3 * X).astype(float)
    how = {"solver": "mu", "beta_loss": beta, "init": "nndsvda", "tol": 1e-4, "max_iter": 20}
    how |= PENALTIES if beta == 1 else {}
    model, whole = (NMF(4, **how) for _ in range(2))
    with pytest.warns(ConvergenceWarning):
        model.fit(spread(A) if beta == 1 else Pieces(A))
    with pytest.warns(ConvergenceWarning):
        whole.fit(A)
    assert_same_fit(model, whole)
    assert_allclose(model.certificate_.value, whole.certificate_.value, rtol=1e-6)
    for name in ("deviance_", "log_likelihood_"):
        assert hasattr(model, name) == (beta == 1)
        assert beta != 1 or getattr(model, name) == pytest.approx(getattr(whole, name))
    if beta == 0:
        A[55, 3] = 0.0
        with pytest.raises(ValueError, match="X contains zeros"):
            NMF(4, **how).fit(Pieces(A))


# ------------------------------------------------------------------------------------- starts


@pytest.mark.parametrize("rng", [np.random.RandomState, np.random.default_rng])
@pytest.mark.parametrize("kind", ["random", "nndsvd", "nndsvda", "nndsvdar"])
@pytest.mark.parametrize("layout", ["dense", "wide", "sparse", "large"])
def test_starts_are_those_of_the_array(monkeypatch, layout, kind, rng):
    """From products, and by the sketch that sparse and very wide tables take."""
    if layout == "large":
        monkeypatch.setattr("eigenlens.solvers.nndsvd.FORMED", 5)
    A = planted(60, 70 if layout == "wide" else 14)
    A = sparse.csr_array(np.where(A > 2, A, 0)) if layout == "sparse" else A
    blocked = Blocked.over(Pieces(A), with_products=layout != "wide")
    seed, other = rng(5), rng(5)
    if kind == "random":
        (W, H), (codes, G) = at_random(A, 4, seed, None), at_random(blocked, 4, other, None)
    else:
        W, H = nndsvd(A, 4, seed, fill=kind)
        codes, G = nndsvd(blocked, 4, other, fill=kind)
    _, (kept,) = blocked.advance(lambda block, W: (0, W), codes, keep=1)
    assert_allclose(G, H, rtol=1e-7, atol=1e-9)
    assert_allclose(kept.gather(), W, rtol=1e-7, atol=1e-9)
    assert seed.standard_normal() == other.standard_normal()  # neither has drawn more


# --------------------------------------------------------------------------------- dead parts


@pytest.mark.parametrize("on_H", [Penalty(), Penalty(0.5, 0.0), Penalty(1e4, 0.0)])
def test_parts_that_have_died_come_back_the_same(monkeypatch, on_H):
    """Two of five start without any code; where a penalty is too high for them, none returns."""
    W, H = at_random(X, 5, np.random.default_rng(0), None)
    W[:, [1, 3]] = H[[1, 3]] = 0.0
    revived = []
    for kind in (hals.InMemory, hals.InBlocks):
        plain = kind.extended

        def extended(self, *args, plain=plain):
            revived.append(plain(self, *args))
            return revived[-1]

        monkeypatch.setattr(kind, "extended", extended)
    rows = np.split(W, np.cumsum(RAGGED)[:-1])
    table = Blocked.over(Pieces(X), with_products=False)
    how = {"on_W": Penalty(0.1, 0.1), "on_H": on_H, "tol": 0.0, "max_iter": 8}
    whole = hals.solve(X, W, H, **how)
    found = hals.solve(table, Codes([rows]), H, **how)
    assert revived
    assert len(revived) % 2 == 0
    assert_allclose(found.objective_history, whole.objective_history, rtol=1e-10)
    assert_allclose(found.components, whole.components, atol=1e-8)
    (codes,) = found.codes.beside
    assert_allclose(codes.gather(), whole.codes, atol=1e-8)
    alive = np.flatnonzero(found.components.any(axis=1))
    assert len(alive) == (5 if on_H.l1 < 1e3 else 0)


# ---------------------------------------------------------------------------- passes and memory


@pytest.mark.parametrize(("init", "more"), [("random", 0), ("nndsvda", 1), ("nndsvdar", 2)])
def test_the_passes_are_those_of_the_docstring(init, more):
    """One before the start and what it needs, one an iteration, one to end, one for the error."""
    table = Pieces(X)
    NMF(4, init=init, tol=0, max_iter=7, random_state=0).fit(table)
    assert table.reads == 1 + more + 7 + 1 + 1


def test_codes_go_to_disk_where_they_are_many(monkeypatch):
    monkeypatch.setattr("eigenlens.data.kept.IN_MEMORY", 200)
    model, whole = (NMF(4, tol=0, max_iter=10) for _ in range(2))
    assert_same_fit(model.fit(Pieces(X)), whole.fit(X))


def test_neither_the_table_nor_its_codes_are_held_whole(monkeypatch):
    monkeypatch.setattr("eigenlens.data.kept.IN_MEMORY", 0)
    rows = 5000
    A = planted(40 * rows, 20)
    model = NMF(8, tol=0, max_iter=1).fit(Pieces(A[: 2 * rows], (rows,) * 2))  # compiles
    table = Pieces(A, (rows,) * 40)
    tracemalloc.start()
    model.fit(table)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    codes = 8 * 8 * len(A)
    assert peak < codes / 2 < A.nbytes / 4


# -------------------------------------------------------------------------------------- errors


def test_a_negative_entry_is_named_by_its_place_in_the_table(spread):
    A = X.copy()
    A[49, 3], A[50, 1], A[21, 5] = -2.0, -3.0, -1.0
    with pytest.raises(ValueError, match="Negative values") as expected:
        NMF(3).fit(A)
    assert "3 of 840 entries, the first in row 21, column 5, the least -3" in str(expected.value)
    for table in (Pieces(A), spread(A)):
        with pytest.raises(ValueError, match="Negative values") as said:
            NMF(3).fit(table)
        assert str(said.value) == str(expected.value)


@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_what_is_no_number_is_refused(spread, value, words):
    A = X.copy()
    A[30, 2] = value
    for table in (Pieces(A), spread(A)):
        with pytest.raises(ValueError, match=words):
            NMF(3).fit(table)


def test_a_table_without_rows_is_refused(spread):
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        NMF(3).fit(spread(X[:0], (0,)))


@pytest.mark.parametrize(
    "how",
    [
        {"missing": "mask"},
        {"beta_loss": "kullback-leibler"},
        {"init": "custom"},
        {"n_components": "cv"},
    ],
)
def test_what_needs_all_rows_says_so_on_dask(spread, how):
    with pytest.raises(ValueError, match=r"all rows in one place for a fit like this.*solver='mu'"):
        NMF(**({"n_components": 3} | how)).fit(spread(X))


def test_weights_need_all_rows(spread):
    with pytest.raises(ValueError, match=r"all rows in one place for sample_weight"):
        NMF(3).fit(spread(X), sample_weight=np.ones(60))


def test_a_file_is_read_whole_for_what_blocks_cannot(monkeypatch):
    monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 0)
    table = ArrayBlocks(X)
    for how in ({"beta_loss": 1}, {"missing": "mask"}):
        model, whole = (NMF(3, tol=0, max_iter=3, **how) for _ in range(2))
        assert_array_equal(model.fit(table).components_, whole.fit(X).components_)


def test_a_task_writes_to_nothing_that_it_is_given(spread):
    """Blocks and what is kept beside them stay as they are: a task may be done again."""
    A = X.copy()
    A.flags.writeable = False
    seen = []
    plain = DaskBlocks.advance

    def advance(self, task, beside=(), **how):
        total, kept = plain(self, task, beside, **how)
        again, more = plain(self, task, beside, **how)
        seen.append(len(kept))
        for a, b in zip(_flat(total), _flat(again), strict=True):
            assert_array_equal(a, b)
        for a, b in zip(kept, more, strict=True):
            assert_array_equal(a.gather(), b.gather())
        return total, kept

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DaskBlocks, "advance", advance)
        NMF(4, init="nndsvdar", random_state=0, tol=0, max_iter=3).fit(spread(A, (30, 30)))
    assert sum(seen) == 4


def _flat(answer):
    return answer if isinstance(answer, tuple) else (answer,)
