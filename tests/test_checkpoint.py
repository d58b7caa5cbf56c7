"""Fits in blocks that are killed and taken up again: the same numbers, and nothing else lost."""

import errno
import json
import os
import runpy
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from itertools import islice
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

import eigenlens
from eigenlens import NMF, PCA, DataError, IncrementalPCA, Moments, SparsePCA
from eigenlens.cli import app
from eigenlens.cli._run import run
from eigenlens.data import checkpoint as checkpoint_module
from eigenlens.data import kept as kept_module
from eigenlens.data import packed
from eigenlens.data.blocks import ArrayBlocks
from eigenlens.data.checkpoint import resumable
from eigenlens.data.dask import DaskBlocks
from eigenlens.data.journal import Journal
from eigenlens.data.kept import Kept
from eigenlens.ops.truncated import TruncatedMoments

TOOL = Path(__file__).parents[1] / "tools/kill_fits.py"
tool = runpy.run_path(str(TOOL))
loop, LOOP, METHODS = tool["loop"], tool["LOOP"], tool["METHODS"]

X = np.abs(np.random.default_rng(0).normal(size=(60, 5)) * [5, 4, 3, 2, 1] + 3)
N_BLOCKS = 6


class Stopped(Exception):
    """What ends a fit here, in the place of a kill."""


class Counted(ArrayBlocks):
    """A table of several blocks, in as many as one pass; it stops after so many."""

    def __init__(self, array=X, stop=None):
        super().__init__(array)
        self.nbytes, self._rows = 1 << 30, len(array) // N_BLOCKS
        self.n_read, self.stop = 0, stop

    def blocks_from(self, i):
        for block in super().blocks_from(i):
            if self.n_read == self.stop:
                raise Stopped
            self.n_read += 1
            yield block


@pytest.fixture(autouse=True)
def saved_at_every_block(monkeypatch):
    monkeypatch.setattr("eigenlens.data.atomic._flush", lambda path: None)  # takes most of the time
    monkeypatch.setattr(checkpoint_module, "PAUSE", 0)
    monkeypatch.setattr(checkpoint_module, "SHARE", 0)


def fit(model, table, path):
    """Return the arrays of a model, or of the loop that keeps rows."""
    if model == LOOP:
        with resumable(table, path, {"method": LOOP}) as same:
            return loop(same)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(table, checkpoint=path)
    return {key: value for key, value in vars(model).items() if isinstance(value, np.ndarray)}


def stopped(model, path, n, array=X):
    """Leave the checkpoint of a fit that ended when `n` blocks were read."""
    with pytest.raises(Stopped):
        fit(model, Counted(array, stop=n), path)


def models():
    """Return what is fitted in blocks: methods that are not yet are left out."""
    found = {name: getattr(eigenlens, name)(**given) for name, given in METHODS.items()}
    found["truncated"] = IncrementalPCA(n_components=2, max_memory=150)
    found = {name: model for name, model in found.items() if model._fits_blocks(Counted())}
    return found | {LOOP: LOOP}


# ------------------------------------------------------------------------------- taken up again


@pytest.mark.parametrize("name", models())
def test_a_fit_left_at_any_block_goes_on_to_the_same_numbers(tmp_path, name):
    model, path = models()[name], tmp_path / "checkpoint"
    whole = Counted()
    expected = loop(whole) if model == LOOP else fit(model, whole, None)
    total = whole.n_read
    # what is done after the passes that are written down, such as labels, begins anew
    after = N_BLOCKS if name == "VectorQuantizer" else 0
    for n in range(1, total + 1) if total < 30 else np.linspace(1, total - 1, 5, dtype=int):
        stopped(model, path, n)
        rest = Counted()
        found = fit(model, rest, path)
        assert not path.exists()
        assert found.keys() == expected.keys()
        for key in found:
            assert_array_equal(found[key], expected[key], err_msg=f"{key}, stopped at {n}")
        # one that was read and not yet done, one read ahead, and the first, for a look at it
        assert rest.n_read <= total - n + 3 + after


def test_a_fit_may_be_left_again_and_again(tmp_path):
    expected = loop(Counted())
    for _ in range(200):
        try:
            found = fit(LOOP, Counted(stop=5), tmp_path / "checkpoint")
            break
        except Stopped:
            pass
    assert all(np.array_equal(found[key], expected[key]) for key in expected)


def test_processes_killed_at_random_moments():
    """The tool that kills in earnest; by hand it kills more often, and more methods."""
    names = ["PCA", LOOP]
    command = [sys.executable, str(TOOL), "--kills", "4", "--pause", "0.004", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines()[1:]:
        kills, ended, same = map(int, line[16:].split()[:3])
        assert kills >= 4
        assert ended == same >= 1


@pytest.mark.parametrize("n", [1, 3, 9])
def test_killed_while_the_folder_is_removed(tmp_path, monkeypatch, n):
    path, expected = tmp_path / "checkpoint", loop(Counted())
    stopped(LOOP, path, 32)
    removed, unlink, remove = [], Path.unlink, Journal.remove

    def unlink_some(self, *args):
        if len(removed) == n:
            raise Stopped
        removed.append(self)
        unlink(self, *args)

    def remove_some(self):
        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", unlink_some)
            remove(self)

    monkeypatch.setattr(Journal, "remove", remove_some)
    with pytest.raises(Stopped):
        fit(LOOP, Counted(), path)
    assert len(removed) == n
    monkeypatch.setattr(Journal, "remove", remove)
    found = fit(LOOP, Counted(), path)
    assert all(np.array_equal(found[key], expected[key]) for key in expected)
    assert not path.exists()


def test_saving_is_by_the_clock_and_rare(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_module, "PAUSE", 2.0)
    monkeypatch.setattr(checkpoint_module, "SHARE", 20)
    now, saves = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def save(self, state, needed):
        saves.append(now[0])
        now[0] += 0.5  # a slow disk

    monkeypatch.setattr(Journal, "save", save)

    def task(block):
        now[0] += 1.0

    with resumable(Counted(), tmp_path / "checkpoint", {}) as table:
        for _ in range(5):
            table.fold(task)
    assert saves == [2.0, 12.5, 23.0]


def test_an_answer_may_be_written_to_before_it_is_saved(tmp_path, monkeypatch):
    path, calls, seen = tmp_path / "checkpoint", [], []
    monkeypatch.setattr(checkpoint_module, "PAUSE", 1.0)
    monkeypatch.setattr(time, "monotonic", lambda: len(calls) // 8)  # saved in the second pass

    def summed(block):
        calls.append(block)
        return block.sum(axis=0)

    def solve(table):
        total = table.fold(summed)
        seen.append(total.copy())
        total *= 0  # as a solver may that has seen it
        table.fold(summed)

    with pytest.raises(Stopped), resumable(Counted(stop=11), path, {}) as table:
        solve(table)
    n = len(calls)
    with resumable(Counted(), path, {}) as table:
        solve(table)
    assert len(calls) < n + N_BLOCKS
    assert_array_equal(seen[0], seen[1])


# ------------------------------------------------------------------------------------- the draws


class Drawing(PCA):
    """Draws from both of its generators, between passes."""

    drawn = ()

    def _solve_blocks(self, X, weight, rng, monitor):
        first = X.fold(Moments.of, combine=lambda parts: parts[0]).count
        own = [] if self.random_state is None else check_random_state(self.random_state).rand(2)
        Drawing.drawn = [first, *rng.random(2), *own]
        return super()._solve_blocks(X, weight, rng, monitor)


@pytest.mark.parametrize("kind", ["none", "number", "generator"])
def test_draws_are_those_of_the_first_try(tmp_path, kind):
    state = {"none": None, "number": 3, "generator": np.random.RandomState(3)}[kind]
    model = Drawing(n_components=2, random_state=state)
    stopped(model, tmp_path / "checkpoint", 9)
    first = Drawing.drawn
    for n in (3, None):
        Drawing.drawn = ()
        with suppress(Stopped):
            fit(model, Counted(stop=n), tmp_path / "checkpoint")
        assert Drawing.drawn == first
    before = Drawing.drawn
    model.fit(Counted(), checkpoint=tmp_path / "checkpoint")
    assert (Drawing.drawn == before) == (kind == "number")  # the next fit begins anew


# --------------------------------------------------------------------------- where it is not used


def test_nothing_is_written_for_a_table_taken_whole(tmp_path):
    path = tmp_path / "checkpoint"
    small = ArrayBlocks(X)
    assert_array_equal(
        PCA(2).fit(X, checkpoint=path).components_,
        PCA(2).fit(small, checkpoint=path).components_,
    )
    weighted = PCA(2).fit(Counted(), sample_weight=np.ones(len(X)), checkpoint=path)
    assert_allclose(weighted.components_, PCA(2).fit(X).components_)
    NMF(2, random_state=0).fit_transform(X, checkpoint=path)
    assert PCA(2).fit_transform(Counted(), checkpoint=path).shape == (60, 2)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_was_there_stays(tmp_path):
    PCA(2).fit(Counted(), checkpoint=tmp_path)
    assert tmp_path.exists()
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------- other fits


def test_the_checkpoint_of_another_fit_is_refused(tmp_path, monkeypatch):
    path, file = tmp_path / "checkpoint", tmp_path / "x.npy"
    np.save(file, X)
    monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 0)

    def told(model, table=None):
        with pytest.raises(DataError, match="is that of another fit") as error:
            model.fit(eigenlens.open(file) if table is None else table, checkpoint=path)
        assert "Give another path, or delete the folder to begin anew." in str(error.value)
        assert str(path) in str(error.value)
        return str(error.value)

    begun(SparsePCA(2), eigenlens.open(file), path)
    assert "n_components was 2 and is 3" in told(SparsePCA(3))
    assert "the method was SparsePCA and is PCA" in told(PCA(2))
    assert "random_state was None and is 1" in told(SparsePCA(2, random_state=1))
    start = SparsePCA(2, V_init=np.ones((2, 5)))
    assert "V_init was None and is float64 of shape (2, 5), " in told(start)
    scaled = eigenlens.open(file).map(lambda block: 2 * block)
    assert "the first rows was" in told(SparsePCA(2), scaled)
    names = eigenlens.open(file).map(lambda block: block, [*"abcde"])
    assert "and is 5 (a, b, c, ...; " in told(SparsePCA(2), names)
    os.utime(file, (1, 1))
    assert "the time of the last change was" in told(SparsePCA(2))
    np.save(file, X[:50])
    assert "the size of the file was 2528 bytes and is 2128 bytes" in told(SparsePCA(2))
    monkeypatch.setattr("eigenlens.data.identity.version", lambda name: "0.0.7")
    assert "the version of eigenlens was" in told(SparsePCA(2))


def begun(model, table, path):
    """Leave the checkpoint of a fit that has had no more than a look at the first block."""
    looks = []

    def once(block):
        looks.append(block)
        if len(looks) > 1:
            raise Stopped
        return block

    with pytest.raises(Stopped):
        model.fit(table.map(once), checkpoint=path)


def test_what_changes_no_number_may_change(tmp_path):
    stopped(SparsePCA(2), tmp_path / "checkpoint", 4)
    SparsePCA(2, verbose=True, n_jobs=2).fit(Counted(), checkpoint=tmp_path / "checkpoint")
    assert not list(tmp_path.iterdir())


def test_a_fit_that_asks_for_something_else_is_told(tmp_path):
    path = tmp_path / "checkpoint"
    stopped(LOOP, path, 20)
    with (
        pytest.raises(DataError, match=r"asks for a pass of .* that keeps 0 where that one asked"),
        resumable(Counted(), path, {"method": LOOP}) as table,
    ):
        table.fold(len)


def test_rows_that_were_let_go_of_are_not_asked_for_again(tmp_path):
    """It would be a fault of a method, which must not end in wrong numbers."""
    path = tmp_path / "checkpoint"

    def passes(table, again):
        _, (kept,) = table.advance(lambda block: (None, block), keep=1)
        if again:
            kept.gather()
        del kept
        table.fold(len)

    with pytest.raises(Stopped), resumable(Counted(stop=9), path, {}) as table:
        passes(table, again=False)
    with (
        pytest.raises(RuntimeError, match="rows that pass 0 kept are asked for again"),
        resumable(Counted(), path, {}) as table,
    ):
        passes(table, again=True)


# ------------------------------------------------------------------------------- damage and disks


@pytest.mark.parametrize("harm", ["empty", "cut", "garbage", "changed", "gone"])
@pytest.mark.parametrize("which", ["header.json", "state.npz", "answers", "rows"])
def test_damaged_files_are_told_of_in_one_sentence(tmp_path, which, harm):
    path = tmp_path / "checkpoint"
    stopped(LOOP, path, 20)
    # the newest rows are those that the rest of the fit reads
    file = sorted(file for file in path.iterdir() if file.name.startswith(which))[-1]
    content = file.read_bytes()
    middle = len(content) // 2
    changed = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
    bad = {"empty": b"", "cut": content[:middle], "garbage": b"\x80\x04garbage" * 40}
    if harm == "gone":
        if which in ("header.json", "state.npz"):
            return  # a fit that was killed before these were there
        file.unlink()
    else:
        file.write_bytes(bad.get(harm, changed))
    with pytest.raises(DataError) as error:
        fit(LOOP, Counted(), path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    if not (which == "header.json" and harm == "changed"):  # may be the identity that is changed
        assert "is damaged" in str(error.value)
        assert f"Delete the folder {path} to begin anew." in str(error.value)


def test_killed_before_anything_was_saved(tmp_path):
    path = tmp_path / "checkpoint"
    expected = fit(PCA(2), Counted(), None)
    for left in (["lock"], ["lock", "header.json"]):
        stopped(PCA(2), path, 4)
        for file in path.iterdir():
            if file.name not in left:
                file.unlink()
        (path / ".0123456789abcdef.json").write_bytes(b"half")
        if "header.json" in left:
            (path / "eigenlens-abc").mkdir()
        assert_array_equal(fit(PCA(2), Counted(), path)["components_"], expected["components_"])
        assert not path.exists()


def test_a_full_disk_is_told_once_and_the_fit_goes_on(tmp_path, monkeypatch):
    path, full = tmp_path / "checkpoint", [False]
    written = packed.atomic

    def atomic(path):
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return written(path)

    monkeypatch.setattr(packed, "atomic", atomic)
    expected = loop(Counted())

    class Filling(Counted):
        def blocks_from(self, i):
            for block in super().blocks_from(i):
                full[0] = self.fills[0] < self.n_read < self.fills[1]
                yield block

    table = Filling(stop=30)
    table.fills = (10, 20)  # there is room again before the fit is ended
    warns = pytest.warns(UserWarning, match="No space left on device")
    with warns as warned, pytest.raises(Stopped):
        fit(LOOP, table, path)
    assert len(warned) == 1
    rest = Counted()
    found = fit(LOOP, rest, path)
    assert rest.n_read < 20
    assert all(np.array_equal(found[key], expected[key]) for key in expected)
    table = Filling()
    table.fills = (2, 1000)
    with pytest.warns(UserWarning, match="The fit goes on"):
        found = fit(LOOP, table, path)
    assert all(np.array_equal(found[key], expected[key]) for key in expected)


def test_places_that_cannot_be_written_to(tmp_path, monkeypatch):
    model = PCA(2)
    with pytest.raises(FileNotFoundError, match=r"none does not exist\. Create it"):
        model.fit(Counted(), checkpoint=tmp_path / "none" / "checkpoint")
    (tmp_path / "file").write_text("1,2")
    with pytest.raises(NotADirectoryError, match="is a file, and a checkpoint is a folder"):
        model.fit(Counted(), checkpoint=tmp_path / "file")
    with pytest.raises(DataError, match=r"holds 'file', and is no checkpoint\. Give the name"):
        model.fit(Counted(), checkpoint=tmp_path)
    assert (tmp_path / "file").read_text() == "1,2"

    def refuse(*args, **given):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(PermissionError, match=r"written in the checkpoint .*\(Permission denied\)"):
        model.fit(Counted(), checkpoint=str(tmp_path / "checkpoint"))
    assert not hasattr(model, "components_")


def test_two_fits_do_not_share_a_checkpoint(tmp_path):
    path = tmp_path / "checkpoint"
    with resumable(Counted(), path, {}):
        with (
            pytest.raises(DataError, match=f"is in use by process {os.getpid()}"),
            resumable(Counted(), path, {}),
        ):
            pass
        assert path.exists()
    assert not path.exists()
    stopped(PCA(2), path, 4)  # what holds it no longer
    fit(PCA(2), Counted(), path)


# ------------------------------------------------------------------------------------------- Dask


def dask_table(array, chunks=10):
    return DaskBlocks(da.from_array(array, chunks=(-(-len(array) // chunks), -1)))


@pytest.fixture
def dask_here():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("model", [PCA(2), LOOP], ids=str)
def test_groups_of_chunks_on_dask(tmp_path, monkeypatch, dask_here, model):
    from eigenlens.data.dask import DaskBlocks

    path, calls = tmp_path / "checkpoint", [0]
    monkeypatch.setattr(DaskBlocks, "n_groups", lambda self: groups)
    advance = DaskBlocks.advance

    def counted(self, *args, **given):
        if calls[0] == stop:
            raise Stopped
        calls[0] += 1
        return advance(self, *args, **given)

    groups, stop = 3, None
    monkeypatch.setattr(DaskBlocks, "advance", counted)
    plain = loop(Counted()) if model == LOOP else fit(model, Counted(), None)
    expected = fit(model, dask_table(X), path)
    total, key = calls[0], "H" if model == LOOP else "components_"
    assert_allclose(expected[key], plain[key], rtol=1e-10)
    for n in range(total - 1, 0, -8):
        calls[0], stop, groups = 0, n, 3
        with pytest.raises(Stopped):
            fit(model, dask_table(X), path)
        calls[0], stop, groups = 0, None, 5  # another cluster
        found = fit(model, dask_table(X), path)
        assert calls[0] == total - n
        assert_array_equal(found[key], expected[key])
    assert not path.exists()


def test_workers_that_cannot_write(tmp_path, monkeypatch, dask_here):
    from eigenlens.data import dask

    def refuse(path, arrays):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(dask, "write_arrays", refuse)
    with pytest.raises(DataError, match=r"workers of Dask cannot write in .* share"):
        fit(LOOP, dask_table(X), tmp_path / "checkpoint")
    monkeypatch.setattr(dask, "write_arrays", lambda path, arrays: None)  # to a disk of their own
    with pytest.raises(DataError, match="folder of their own"):
        fit(LOOP, dask_table(X), tmp_path / "checkpoint")


# ------------------------------------------------------------------------------------------ parts


def same(a, b):
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dict__") and not sparse.issparse(a):
        return type(a) is type(b) and all(same(vars(a)[key], vars(b)[key]) for key in vars(a))
    if sparse.issparse(a):
        return (a != b).nnz == 0 and a.dtype == b.dtype
    if isinstance(a, float | np.ndarray):
        return type(a) is type(b) and np.array_equal(a, b, equal_nan=True)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize(
    "value",
    [
        None,
        (1, -2.5, True, None),
        float("nan"),
        1e-320,
        np.float32(0.1),
        np.arange(6.0, dtype=np.float32).reshape(2, 3, order="F"),
        (np.zeros((0, 3)), [np.array([np.inf, np.nan])], ()),
        sparse.csr_array(np.eye(3)),
        Moments().update(X),
        TruncatedMoments(2, 5).add(X),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_survive_a_file_to_the_bit(tmp_path, value):
    packed.write_packed(tmp_path / "value.npz", value)
    assert same(packed.read_packed(tmp_path / "value.npz"), value)


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array([object()]), pytest])
def test_what_is_no_number_is_not_written(tmp_path, value):
    with pytest.raises((TypeError, ValueError)):
        packed.write_packed(tmp_path / "value.npz", value)
    assert not list(tmp_path.iterdir())


def test_rows_that_do_not_fit_in_memory_go_with_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_module, "IN_MEMORY", 200)
    path = tmp_path / "checkpoint"
    expected = loop(Counted())
    stopped(LOOP, path, 22)
    found = fit(LOOP, Counted(), path)
    assert all(np.array_equal(found[key], expected[key]) for key in expected)
    with resumable(Counted(), path, {}) as table:
        _, (kept,) = table.advance(lambda block: (None, 2 * block), keep=1)
        assert list(path.glob("eigenlens-*"))
    assert not path.exists()
    assert_array_equal(kept.gather(), 2 * X)  # rows that outlive the fit


def test_kept_rows_in_files(tmp_path):
    kept = Kept()
    for rows in (X[:2], None, X[2:5]):
        kept.append(rows)
    stored = [*kept.write(0, tmp_path / "a.npz")]
    kept.append(X[5:])
    stored += kept.write(3, tmp_path / "b.npz")
    again = Kept(stored)
    assert_array_equal(again.gather(), X)
    assert again[1] is None
    again.settle()
    for file in tmp_path.iterdir():
        file.unlink()
    assert_array_equal(again.gather(), X)


def test_blocks_from_the_middle(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenlens.data.blocks.BLOCK_BYTES", 400)
    monkeypatch.setattr("eigenlens.data.delimited.BLOCK", 200)
    np.save(tmp_path / "x.npy", X)
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b,c,d,e", comments="")
    for name in ("x.npy", "x.csv"):
        table = eigenlens.open(tmp_path / name)
        for each in (table, table.map(np.sqrt)):
            for i in (0, 2, 100):
                got, want = list(each.blocks_from(i)), list(islice(each, i, None))
                assert len(got) == len(want)
                assert all(map(np.array_equal, got, want))


# ---------------------------------------------------------------------------------------- the shell


def test_checkpoints_from_the_shell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 0)
    np.save("x.npy", X)
    fits = ["fit", "pca", "x.npy", "--n-components", "2", "--checkpoint", "folder"]
    assert run(app, [*fits, "-o", "model.skops", "--scale", "standard"]) == 0
    assert sorted(map(str, Path().iterdir())) == ["model.skops", "x.npy"]
    with pytest.raises(Stopped), resumable(Counted(stop=3), "folder", {"the method": "NMF"}) as t:
        t.fold(len)
    assert run(app, fits) != 0
    assert "the method was NMF and is PCA" in " ".join(capsys.readouterr().err.split())
    assert json.loads(Path("folder/header.json").read_text())["identity"] == {"the method": "NMF"}
    assert run(app, ["fit", "pca", "-", "--checkpoint", "folder"]) != 0
    assert "Standard input cannot be read again" in capsys.readouterr().err
    assert run(app, ["fit", "mds", "x.npy", "--checkpoint", "folder"]) != 0
    assert "takes its table as a whole" in capsys.readouterr().err
