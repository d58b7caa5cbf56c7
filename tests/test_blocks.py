"""Passes over rows in blocks, rows kept beside them, and files that are read ahead."""

import threading
import time

import numpy as np
import pytest
from scipy import sparse

import eigenlens
from eigenlens import PCA
from eigenlens.data import blocks as blocks_module
from eigenlens.data import kept as kept_module
from eigenlens.data.blocks import ArrayBlocks, add_up
from eigenlens.data.kept import Kept
from eigenlens.data.raw import Raw
from eigenlens.data.room import Room
from eigenlens.data.tables import table_of
from eigenlens.ops import threads

SIZES = [1, 7, 100, 1000]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(100, 5))


def cut(X, rows):
    table = ArrayBlocks(X)
    table._rows = rows
    return table


class TestPasses:
    @pytest.mark.parametrize("rows", SIZES)
    def test_answers_are_added_up(self, X, rows):
        total, squares, count = cut(X, rows).fold(
            lambda block, by: (block.sum(axis=0), by * block.T @ block, len(block)), shared=(2.0,)
        )
        np.testing.assert_allclose(total, X.sum(axis=0))
        np.testing.assert_allclose(squares, 2 * X.T @ X)
        assert count == 100

    def test_answers_come_in_the_order_of_rows(self, X):
        joined = cut(X, 7).fold(
            lambda block: [block[0, 0]], combine=lambda parts: parts[0] + parts[1]
        )
        np.testing.assert_array_equal(joined, X[::7, 0])

    @pytest.mark.parametrize("rows", SIZES)
    def test_kept_rows_belong_to_their_block(self, X, rows):
        table = cut(X, rows)
        _, [doubled] = table.advance(lambda block: (0, 2 * block), keep=1)
        total, [first, both] = table.advance(
            lambda block, own: (np.abs(own - 2 * block).sum(), own[:, :1], own + block),
            [doubled],
            keep=2,
        )
        assert total == 0
        np.testing.assert_array_equal(first.gather(), 2 * X[:, :1])
        np.testing.assert_array_equal(both.gather(), 3 * X)

    def test_blocks_without_rows_are_passed_over(self, X):
        class Gappy(ArrayBlocks):
            def __iter__(self):
                for block in super().__iter__():
                    yield block[:0]
                    yield block

        table = Gappy(X)
        table._rows = 30
        assert table.fold(len) == 100
        _, [kept] = table.advance(lambda block: (0, block), keep=1)
        assert table.advance(lambda block, own: (len(own),), [kept])[0] == 100
        np.testing.assert_array_equal(kept.gather(), X)

    def test_a_table_without_rows(self):
        table = ArrayBlocks(np.empty((0, 3)))
        assert table.fold(len) is None

    def test_what_is_added_up_is_not_written_to_elsewhere(self):
        first, second = np.ones(3), np.ones(3)
        np.testing.assert_array_equal(add_up([first, second]), [2, 2, 2])
        np.testing.assert_array_equal(second, [1, 1, 1])

    @pytest.mark.parametrize("rows", SIZES)
    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
    def test_rows_by_their_numbers(self, X, rows, kind):
        table = cut(kind(X), rows).map(lambda block: 2 * block)  # whose rows are found in a pass
        numbers = np.array([99, 0, 50, 50, 7])
        found = table.take(numbers)
        found = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_array_equal(found, 2 * X[numbers])
        assert table.row_counts() == cut(X, rows).row_counts()


class TestKept:
    def test_what_is_large_goes_to_files_that_go_too(self, monkeypatch, X):
        monkeypatch.setattr(kept_module, "IN_MEMORY", 2000)
        kept = Kept()
        for part in np.split(X, 10):
            kept.append(part)
        folder = kept._folder
        assert len(list(folder.iterdir())) == 5
        np.testing.assert_array_equal(kept.gather(), X)
        np.testing.assert_array_equal(kept[9], X[90:])
        del kept
        assert not folder.exists()


class TestFiles:
    @pytest.fixture
    def file(self, tmp_path, X):
        np.save(tmp_path / "table.npy", X)
        return tmp_path / "table.npy"

    def test_a_mapped_array_is_read_not_mapped(self, file, X, monkeypatch):
        monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 800)
        mapped = np.load(file, mmap_mode="r")
        read, fill = [], Raw.fill
        monkeypatch.setattr(Raw, "fill", lambda *a: read.append(1) or fill(*a))
        for part in (mapped, mapped[13:77], mapped[5:]):
            np.testing.assert_array_equal(np.concatenate(list(ArrayBlocks(part))), part)
        assert len(read) > 10

    def test_views_that_are_not_rows_in_a_row(self, file, X):
        mapped = np.load(file, mmap_mode="r")
        for part in (mapped[::2], mapped[:, 1:3], mapped[::-1], mapped.T):
            np.testing.assert_array_equal(np.concatenate(list(ArrayBlocks(part))), part)

    def test_a_file_cut_off_while_it_is_read(self, file):
        table = eigenlens.open(file)
        with file.open("rb+") as stream:
            stream.truncate(1000)
        with pytest.raises(ValueError, match=r"table.npy was cut off while it was read"):
            table.read()

    def test_a_large_mapped_array_is_fitted_in_blocks(self, file, X, monkeypatch):
        monkeypatch.setattr("eigenlens.data.tables.WHOLE_BYTES", 100)
        monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 100)
        monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 800)
        mapped = np.load(file, mmap_mode="r")
        assert table_of(mapped) is not None
        assert table_of(X) is None
        passes = []
        fold = ArrayBlocks.fold
        monkeypatch.setattr(
            ArrayBlocks, "fold", lambda self, *a, **k: passes.append(1) or fold(self, *a, **k)
        )
        model = PCA(2).fit(mapped)
        assert passes == [1]
        assert not hasattr(model, "feature_names_in_")
        np.testing.assert_allclose(model.components_, PCA(2).fit(X).components_)
        np.testing.assert_allclose(model.transform(mapped), model.transform(X))
        # what cannot take blocks maps the array, as before
        np.testing.assert_allclose(PCA(2, svd_solver="full").fit(mapped).mean_, X.mean(axis=0))


class TestReadingAhead:
    def test_the_next_is_fetched_meanwhile(self):
        fetched = []

        def slow():
            for i in range(3):
                fetched.append(i)
                yield i

        for item in threads.looking_ahead(slow()):
            time.sleep(0.05)
            assert fetched[-1] == min(item + 1, 2)

    def test_errors_come_through(self):
        def broken():
            yield 1
            raise KeyError("here")

        items = threads.looking_ahead(broken())
        assert next(items) == 1
        with pytest.raises(KeyError, match="here"):
            next(items)

    def test_a_caller_who_has_seen_enough(self):
        items = threads.looking_ahead(iter(range(10)))
        assert next(items) == 0
        items.close()

    @pytest.mark.usefixtures("many_threads")
    def test_several_at_once_do_not_wait_for_each_other(self):
        """Each fetch runs work of its own, for which no thread of the pool may be left."""

        def heavy():
            for _ in range(5):
                yield sum(threads.run(lambda i: i, 8))
                yield sum(threads.ahead(lambda i: i, range(8)))

        found = []

        def consume():
            items = threads.looking_ahead(heavy())
            found.append([item + sum(threads.run(int, 4)) for item in items])

        crowd = [threading.Thread(target=consume, daemon=True) for _ in range(8)]
        for each in crowd:
            each.start()
        for each in crowd:
            each.join(timeout=20)
        assert len(found) == 8
        assert all(each == [6 + 28] * 10 for each in found)


class TestRoom:
    def test_is_used_again_when_no_view_is_left(self):
        room = Room(5, np.dtype(np.float32))
        block = room.rows(7)
        assert block.shape == (7, 5)
        assert block.dtype == np.float32
        place, corner = block.ctypes.data, block[2:4, 1:3]
        corner[:] = 3
        del block
        other = room.rows(7)
        other[:] = 0  # not where the corner still is
        assert (corner == 3).all()
        del corner
        assert room.rows(3).ctypes.data == place
        assert len(room.rows(100)) == 100  # more than there was

    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f4", "<i2"])
    def test_blocks_of_a_file_that_are_kept_stay_as_they_were(self, X, tmp_path, order, dtype):
        values = np.asarray(np.round(100 * X), dtype, order=order)
        np.save(tmp_path / "x.npy", values)
        table = cut(np.load(tmp_path / "x.npy", mmap_mode="r"), 7)
        kept = list(table)
        np.testing.assert_array_equal(np.concatenate(kept), values)
        assert all(block.dtype == table.dtype for block in kept)

    def test_a_pass_over_a_file_needs_few_blocks_at_a_time(self, X, tmp_path):
        np.save(tmp_path / "x.npy", X)
        table = cut(np.load(tmp_path / "x.npy", mmap_mode="r"), 5)
        places = set()
        table.fold(lambda block: places.add(block.ctypes.data))
        assert len(places) <= 4
