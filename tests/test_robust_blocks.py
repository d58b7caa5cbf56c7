"""RobustPCA on tables in blocks, from files and on Dask: what the fit in memory finds."""

import copy
import gc
import pickle
from itertools import product
from typing import ClassVar

import dask
import dask.array
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pursuit_tables import hard, with_bad_rows
from scipy import sparse

import eigenlens
from eigenlens import RobustPCA, datasets
from eigenlens.cli.separate import _errors, _Parts
from eigenlens.data import kept
from eigenlens.data.blocks import ArrayBlocks, Blocks
from eigenlens.data.writing import write
from eigenlens.plot import separation
from eigenlens.solvers import pursuit
from eigenlens.solvers.pursuit_blocks import InBlocks, Surveyed
from eigenlens.solvers.pursuit_tables import Problem, Step, Whole

RAGGED = (0, 1, 1, 150, 151, 390, 400)  # where blocks begin and end: some are empty


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Let no table be so small that it is read whole."""
    monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 0)


class Pieces(Blocks):
    """A table in blocks of any sizes, which counts how often it is read."""

    left_out: ClassVar = {}
    path = "pieces"

    def __init__(self, X, edges):
        self.X, self.edges, self.reads = X, edges, 0
        self.names = tuple(f"column {j}" for j in range(X.shape[1]))
        self.dtype, self.nbytes = X.dtype, X.nbytes

    @property
    def n_rows(self):
        return len(self.X)

    def __iter__(self):
        self.reads += 1
        for start, stop in zip(self.edges[:-1], self.edges[1:], strict=True):
            block = self.X[start:stop]
            block.flags.writeable = False
            yield block


def planted(**options):
    return datasets.planted_pursuit(400, 48, 2, density=0.03, random_state=0, **options).X


def relative(A, B):
    return np.linalg.norm(np.asarray(A) - B) / np.linalg.norm(B)


def require_same(found, model, tolerance=1e-8):
    """Assert that both models are of one problem and one answer; give the parts as arrays."""
    L, S = (np.asarray(part) for part in (found.low_rank_, found.sparse_))
    assert found.rank_ == model.rank_ > 0
    assert relative(L, model.low_rank_) < tolerance
    assert relative(found.scores_, model.scores_) < tolerance
    assert_array_equal(S != 0, model.sparse_ != 0)
    assert relative(S, model.sparse_) < tolerance
    assert found.certificate_.holds
    assert found.converged_
    for name in ("components_", "singular_values_", "mean_"):
        values = getattr(model, name)
        atol = 10 * tolerance * np.abs(values).max()
        assert_allclose(getattr(found, name), values, rtol=0, atol=atol, err_msg=name)
        assert getattr(found, name).dtype == values.dtype
    for name in ("lam_", "noise_", "support_fraction_", "n_samples_", "solver_"):
        assert getattr(found, name) == getattr(model, name), name
    assert L.dtype == S.dtype == found.scores_.dtype == model.sparse_.dtype
    return L, S


# ------------------------------------------------------------------------------------- files


@pytest.fixture(scope="module")
def holes():
    """Return a table with holes, and the model of it."""
    X = planted(missing=0.05)
    return X, RobustPCA(random_state=0).fit(X)


CASES = {
    "whole": (planted(), {}),
    "a mean far off": (planted() + np.linspace(-1e4, 1e4, 48), {}),
    "no mean": (planted(), {"center": False}),
    "rows": (with_bad_rows(0)[0], {"outliers": "rows", "lam": 0.4}),
    "rows, no mean": (with_bad_rows(0)[0], {"outliers": "rows", "lam": 0.4, "center": False}),
    "noise": (planted(missing=0.05, noise=1e-3), {"noise": 1e-3, "tol": 1e-9}),
    "tiny": (1e-80 * planted(missing=0.05), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_file_gives_what_memory_gives(case):
    X, options = CASES[case]
    edges = [min(edge, len(X)) for edge in RAGGED]
    model = RobustPCA(random_state=0, **options).fit(X)
    found = RobustPCA(random_state=0, **options).fit(Pieces(X, edges))
    require_same(found, model, 1e-6 if case == "noise" else 1e-8)
    assert isinstance(found.sparse_, Blocks)
    assert isinstance(found.low_rank_, Blocks)


def test_float32_is_as_near_as_float32_is(holes):
    X, model = holes
    found = RobustPCA(random_state=0).fit(Pieces(X.astype(np.float32), RAGGED))
    assert found.scores_.dtype == found.components_.dtype == np.float32
    assert found.low_rank_.read().dtype == found.sparse_.read().dtype == np.float32
    assert found.rank_ == model.rank_
    assert found.certificate_.holds
    assert relative(found.low_rank_, model.low_rank_) < 1e-5
    assert_array_equal(found.sparse_.read() != 0, model.sparse_ != 0)


def test_one_pass_a_round_and_few_beside(holes):
    """Survey, sample, sizes, beginning, support; and for the one look at the gap 8 at most."""
    X, model = holes
    table = Pieces(X, RAGGED)
    found = RobustPCA(random_state=0).fit(table)
    assert found.n_iter_ == model.n_iter_
    assert 4 <= table.reads - (found.n_iter_ + 5) <= 8
    table = Pieces(planted(), RAGGED)
    found = RobustPCA(center=False, random_state=0).fit(table)
    assert table.reads == found.n_iter_ + 5 + 3


def test_the_parts_make_up_the_table_and_can_be_written(holes, tmp_path):
    X, _ = holes
    table = Pieces(X, RAGGED)
    found = RobustPCA(random_state=0).fit(table)
    assert found.low_rank_.names == found.sparse_.names == table.names
    assert found.low_rank_.shape == found.sparse_.shape == X.shape
    reads = table.reads
    for L, S, M in zip(found.low_rank_, found.sparse_, table, strict=True):
        wrong = S != 0
        assert_allclose((L + S)[wrong], M[wrong], atol=1e-12)
        assert np.nanmax(np.abs(L - M)[~wrong], initial=0.0) < 1e-6
    assert table.reads == reads + 2  # the low-rank part is made without the table
    write(found.sparse_, tmp_path / "sparse.parquet")
    again = eigenlens.open(tmp_path / "sparse.parquet")
    assert_array_equal(again.read(), found.sparse_.read())
    assert again.names == table.names
    assert_array_equal(found.sparse_.take(np.array([399, 7])), found.sparse_.read()[[399, 7]])


def test_on_disk_where_memory_is_short(holes, monkeypatch, tmp_path):
    monkeypatch.setattr(kept, "IN_MEMORY", 0)
    monkeypatch.setattr(kept.tempfile, "tempdir", str(tmp_path))
    X, model = holes
    found = RobustPCA(random_state=0).fit(Pieces(X, RAGGED))
    gc.collect()
    assert len(list(tmp_path.iterdir())) == 2  # scores, and where something is wrong
    require_same(found, model)
    del found
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_singular_values_over_four_orders():
    """A Gram matrix squares them: the smallest that count are still found."""
    r = np.random.default_rng(0)
    U, V = (np.linalg.qr(r.standard_normal((side, 4)))[0] for side in (1000, 60))
    X = 100 * (U * [1, 1e-1, 1e-2, 1e-4]) @ V.T
    X += (r.random(X.shape) < 0.03) * r.choice([-1.0, 1.0], X.shape)
    model = RobustPCA(random_state=0).fit(X)
    found = RobustPCA(random_state=0).fit(Pieces(X, (0, 400, 1000)))
    assert found.rank_ == model.rank_ == 4
    assert relative(found.low_rank_, model.low_rank_) < 1e-9
    assert_array_equal(found.sparse_.read() != 0, model.sparse_ != 0)
    assert_allclose(found.singular_values_, model.singular_values_, rtol=1e-6)


# ------------------------------------------------------------------ the tables, step by step


@pytest.mark.parametrize(
    ("rows", "centre", "missing", "delta"),
    list(product([False, True], [False, True], [0.0, 0.2], [0.0, 0.3])),
)
def test_both_kinds_of_tables_do_the_same(rows, centre, missing, delta):
    """Where nothing can be recovered, and so all steps count: values, sums and bounds."""
    M = hard(1, missing, shape=(40, 18))
    problem = Problem(lam=0.82 if rows else 0.22, rows=rows, centre=centre, delta=delta)
    whole = Whole(M, problem, np.random.default_rng(0))
    parts = InBlocks(Surveyed.of(Pieces(M, (0, 3, 3, 30, 40))), problem, np.random.default_rng(0))
    assert_allclose(whole.sizes(), parts.sizes(), rtol=1e-10)
    mu = 0.1
    for least in (None, 4.0, 3.0, 2.0):
        step = Step(0.7, 1.4, 1 / (1 + mu * delta), problem.lam / mu, problem.knee, 9.0)
        if least is not None:
            whole.threshold(least)
            parts.threshold(least)
        assert_allclose(parts.renew(step), whole.renew(step), rtol=1e-9)
        assert_allclose(parts.s, whole.s, rtol=1e-9)
        assert_allclose(parts.mean, whole.mean, atol=1e-9)
        if least is not None:
            assert len(parts.s) > 0
            assert parts.moved() == pytest.approx(whole.moved(), rel=1e-7)
        for slack in (0.0, np.inf):
            bound = whole.bound(mu, slack=slack)
            assert parts.bound(mu, slack=slack) == pytest.approx(bound, rel=1e-9)
    for tables in (whole, parts):
        tables.trim(2)
    limit = 8.0 if rows else 1.0
    one, other = whole.parts(limit), parts.parts(limit)
    assert_allclose(np.asarray(other["sparse"]), one["sparse"], atol=1e-8)
    wrong = one["sparse"] != 0
    share = np.mean(wrong.any(axis=1)) if rows else wrong.sum() / (~np.isnan(M)).sum()
    assert other["support_fraction"] == pytest.approx(share)
    assert 0 < share < 1


def test_means_begin_at_medians_of_some_rows_or_between_the_ends(monkeypatch):
    """Of columns that the rows have nothing of, the ends are all that is known."""
    monkeypatch.setattr("eigenlens.solvers.pursuit_blocks.SAMPLE", 40)
    M = np.random.default_rng(0).standard_normal((40, 4))
    M[::4, 2] = np.nan
    problem = Problem(lam=0.2, rows=False, centre=True, delta=0.0)
    parts = InBlocks(Surveyed.of(Pieces(M, (0, 25, 40))), problem, np.random.default_rng(0))
    expected = np.median(M[::4], axis=0)
    expected[2] = (np.nanmin(M[:, 2]) + np.nanmax(M[:, 2])) / 2
    assert_allclose(parts.mean, expected)


def test_the_longest_row_of_all_blocks_bounds_the_rest():
    """With so small a weight the rows are what must be scaled, not the norm."""
    M = hard(3, 0.2, shape=(40, 18))
    problem = Problem(lam=0.05, rows=True, centre=True, delta=0.0)
    bounds = []
    for tables in (
        Whole(M, problem, np.random.default_rng(0)),
        *(
            InBlocks(Surveyed.of(Pieces(M, edges)), problem, np.random.default_rng(0))
            for edges in ((0, 20, 40), (0, 7, 39, 40))
        ),
    ):
        tables.sizes()
        tables.renew(Step(0.7, 1.4, 1.0, 0.5, 0.0, 9.0))
        bounds.append(tables.bound(0.1, slack=np.inf))
    assert_allclose(bounds[1:], bounds[0], rtol=1e-9)


def test_slow_fits_are_steered_alike():
    M = hard(2)
    options = {"lam": 0.22, "gap_tol": 1e-4, "max_iter": 500}
    one = pursuit.solve(M, rng=np.random.default_rng(0), **options)
    table = Surveyed.of(Pieces(M, (0, 10, 25)))
    other = pursuit.solve(table, rng=np.random.default_rng(0), **options)
    assert one.n_iter == other.n_iter > 30
    assert_allclose(one.objective_history, other.objective_history, rtol=1e-8)
    assert other.certificate.value == pytest.approx(one.certificate.value, rel=1e-3)


# -------------------------------------------------------------------------------------- Dask


@pytest.fixture
def da():
    """Return dask.array, whose tasks run here, one after the other."""
    with dask.config.set(scheduler="synchronous"):
        yield dask.array


@pytest.mark.parametrize("chunks", ["one", "ragged", "columns", "single rows"])
def test_dask_gives_what_memory_gives(holes, da, chunks):
    X, model = holes
    rows = {
        "one": (400,),
        "ragged": (1, 0, 149, 200, 50),
        "columns": (250, 150),
        "single rows": (1, 1, 397, 1),
    }[chunks]
    D = da.from_array(X, chunks=(rows, 20 if chunks == "columns" else 48))
    found = RobustPCA(random_state=0).fit(D)
    for part, width in ((found.sparse_, 48), (found.low_rank_, 48), (found.scores_, 2)):
        assert isinstance(part, da.Array)
        assert part.shape == (400, width)
    require_same(found, model)


def test_a_dataframe_of_unknown_lengths(holes, da):
    X, model = holes
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(48)]).assign(there=1.0)
    gone = frame.assign(there=0.0)
    both = dd.from_pandas(pd.concat([frame[:90], gone, frame[90:]], ignore_index=True), 4)
    D = both[both["there"] > 0].drop(columns="there")
    found = RobustPCA(random_state=0).fit(D)
    require_same(found, model)
    assert list(found.feature_names_in_) == list(D.columns)
    assert_allclose(found.transform(D).compute(), model.transform(X), atol=1e-9)


def test_float32_on_dask(holes, da):
    X, model = holes
    found = RobustPCA(random_state=0).fit(da.from_array(X.astype(np.float32), chunks=(170, 48)))
    assert found.sparse_.dtype == found.low_rank_.dtype == found.scores_.dtype == np.float32
    assert relative(found.low_rank_, model.low_rank_) < 1e-5


# --------------------------------------------------------------------------- files of models


def test_a_model_travels_without_its_rows(holes, da, tmp_path):
    X, model = holes
    spread = RobustPCA(random_state=0).fit(da.from_array(X, chunks=(200, 48)))
    found = RobustPCA(random_state=0).fit(Pieces(X, RAGGED))
    some = Pieces(X[:9], (0, 9))
    for one in (spread, found):
        path = eigenlens.save(one, tmp_path / "model.skops")
        for again in (eigenlens.load(path), pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
            assert_array_equal(again.transform(some), one.transform(some))
            assert again.rank_ == model.rank_
            with pytest.raises(AttributeError, match=r"sparse_ of a table in blocks.*decompose"):
                _ = again.sparse_
        assert hasattr(one, "sparse_")
    assert_allclose(eigenlens.load(path).low_rank_, model.low_rank_, atol=1e-8)
    with pytest.raises(AttributeError, match="no attribute 'nothing_'"):
        _ = found.nothing_
    assert not hasattr(RobustPCA(), "sparse_")


# ------------------------------------------------------------------------------ what goes wrong


def broken(i, j, value):
    X = planted()
    X[i, j] = value
    return X


@pytest.mark.parametrize(
    "X",
    [
        planted()[:1],
        broken(slice(17, 19), slice(None), np.nan),
        broken(slice(None), 3, np.nan),
        broken(5, 5, np.inf),
        np.ones((20, 3)),
    ],
    ids=["one row", "empty rows", "an empty column", "infinity", "constants"],
)
def test_what_is_refused_in_memory_is_refused_in_blocks(X):
    messages = []
    for table in (X, Pieces(X, (0, 1, 1, 18, len(X)) if len(X) > 18 else (0, len(X)))):
        with pytest.raises(ValueError) as caught:  # noqa: PT011  the text is compared
            RobustPCA().fit(table)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_sparse_blocks_are_refused():
    with pytest.raises(TypeError, match=r"sparse blocks.*toarray"):
        RobustPCA().fit(ArrayBlocks(sparse.csr_array(np.eye(5))))


@pytest.mark.parametrize(
    ("options", "remedy"),
    [({"n_components": 2}, "n_components=None"), ({"noise": "auto"}, "a number")],
)
def test_what_needs_all_rows(holes, da, options, remedy):
    """Dask says so; of a file they are read."""
    X, model = holes
    with pytest.raises(ValueError, match=f"all rows in one place.*{remedy}"):
        RobustPCA(**options).fit(da.from_array(X))
    found = RobustPCA(random_state=0, **options).fit(Pieces(X, RAGGED))
    assert isinstance(found.sparse_, np.ndarray)
    assert relative(found.low_rank_, model.low_rank_) < 1e-2


def test_a_mask_of_a_table_on_dask(holes, da):
    X, _ = holes
    with pytest.raises(ValueError, match=r"mask.*dask\.array\.where"):
        RobustPCA().fit(da.from_array(X), mask=~np.isnan(X))


# ---------------------------------------------------------------------------- where it is used


def test_the_command_and_the_picture_take_parts_in_blocks(holes):
    X, model = holes
    table = Pieces(X, RAGGED)
    found = RobustPCA(random_state=0).fit(table)
    one, other = (_errors(_Parts(None, each), table) for each in (model, found))
    assert len(one) == len(other) == 10
    for a, b in zip(one, other, strict=True):
        assert (a["row"], a["column"], a["value"]) == (b["row"], b["column"], b["value"])
        assert b["expected"] == pytest.approx(a["expected"], abs=1e-8)
        assert b["error"] == pytest.approx(a["error"], abs=1e-8)
    plot = separation
    for row in (None, 151):
        for a, b in zip(plot._parts(model, None, row), plot._parts(found, None, row), strict=True):
            assert_allclose(b, a, atol=1e-8)
