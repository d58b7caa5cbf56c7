"""Tables of many files in blocks cut by bytes, and what goes wrong with files and disks."""

import contextlib
import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

import eigenlens
from eigenlens import PCA
from eigenlens.cli import app
from eigenlens.cli._run import run
from eigenlens.data import blocks as blocks_module
from eigenlens.data import columnar, delimited, kept
from eigenlens.data.blocks import ArrayBlocks
from eigenlens.data.errors import DataError
from eigenlens.data.kept import Kept
from eigenlens.data.many import Stacked
from eigenlens.data.writing import SHEETS, named, write
from eigenlens.report.report import Report

rng = np.random.default_rng(0)
X = rng.normal(size=(1200, 4)) * [3, 2, 1, 0.5] + [0, 10, -5, 100]
NAMES = ["a", "b", "c", "d"]


def put(path, rows, names=NAMES, more=None):
    """Write rows to a file, by its ending, in small row groups and record batches."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = named(rows, names)
    for column, values in (more or {}).items():
        table = table.append_column(column, pa.array(values))
    match path.suffix:
        case ".csv":
            pa.csv.write_csv(table, path)
        case ".parquet":
            pa.parquet.write_table(table, path, row_group_size=64)
        case ".arrow":
            with pa.ipc.new_file(path, table.schema) as sheet:
                sheet.write_table(table, max_chunksize=50)
        case ".feather":
            with pa.ipc.new_stream(path, table.schema) as sheet:
                sheet.write_table(table, max_chunksize=50)
        case ".npy":
            np.save(path, rows)
    return path


def scattered(folder, ending, cuts=(1, 300, 301, 701)):
    """Write X to files part-8 to part-12, whose order by letters is another."""
    for number, rows in enumerate(np.split(X, cuts)):
        put(folder / f"part-{8 + number}.{ending}", rows)
    return folder


@pytest.fixture
def small(monkeypatch):
    """Cut blocks of 64 rows of X, and batches of 50."""
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 64 * 4 * 8)
    monkeypatch.setattr(columnar, "BATCH_BYTES", 50 * 4 * 8)
    monkeypatch.setattr(delimited, "BLOCK", 3000)


# ------------------------------------------------------------------------- many files, one table


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather", "csv", "npy"])
def test_a_folder_is_one_table(tmp_path, small, ending):
    folder = scattered(tmp_path / "table", ending)
    (folder / "README.md").write_text("no table")
    (folder / "_SUCCESS").touch()
    (folder / ".part-1.csv").write_text("a mark of another program")
    table = eigenlens.open(folder)
    assert table.names == (("x0", "x1", "x2", "x3") if ending == "npy" else tuple(NAMES))
    assert table.path == "table"
    blocks = list(table)
    assert [len(block) for block in blocks] == [64] * 18 + [48]
    assert_array_equal(np.concatenate(blocks), X)
    assert_array_equal(table.read(), X)
    assert table.n_rows == 1200
    assert_array_equal(table.take(np.array([1199, 0, 300, 1])), X[[1199, 0, 300, 1]])
    assert_array_equal(table.column(table.names[2]), X[:, 2])


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "npy"])
def test_blocks_from_the_middle_are_those_of_a_whole_pass(tmp_path, small, ending):
    cuts = (
        (0, 1, 300, 300) if ending in ("parquet", "arrow") else (1, 2, 300, 301)
    )  # empty files too
    many = eigenlens.open(scattered(tmp_path / "many", ending, cuts))
    for table in (eigenlens.open(put(tmp_path / f"one.{ending}", X)), many):
        whole = list(table)
        assert table.row_counts() == [len(block) for block in whole]
        assert table.map(np.negative).row_counts() == table.row_counts()
        for i in (0, 1, 7, 18, 19, 30):
            rest = list(table.blocks_from(i))
            assert len(rest) == max(0, 19 - i)
            for ours, theirs in zip(rest, whole[i:], strict=True):
                assert_array_equal(ours, theirs)
        assert_array_equal(next(table.map(np.negative).blocks_from(5)), -whole[5])


def test_parquet_in_the_middle_reads_nothing_before_it(tmp_path, small):
    folder = scattered(tmp_path / "table", "parquet")
    table = eigenlens.open(folder)
    assert table.row_counts() == [64] * 18 + [48]
    whole = list(table)
    spoil(folder / "part-9.parquet", 0)  # rows 1 to 64
    spoil(folder / "part-12.parquet", 1)  # rows 765 to 828
    assert_array_equal(np.concatenate(list(table.blocks_from(13))), np.concatenate(whole[13:]))
    with pytest.raises(DataError, match=r"^part-12.parquet, row group 1 is damaged"):
        list(table.blocks_from(2))
    with pytest.raises(DataError, match=r"^part-9.parquet, row group 0 is damaged"):
        list(table)


def test_patterns_and_lists(tmp_path, small, monkeypatch):
    folder = scattered(tmp_path / "table", "parquet")
    put(folder / "other.parquet", X[:3, :2], ["u", "v"])
    table = eigenlens.open(folder / "part-*.parquet")
    assert_array_equal(table.read(), X)
    monkeypatch.chdir(folder)
    assert_array_equal(eigenlens.open("part-1?.parquet").read(), X[300:])
    assert_array_equal(eigenlens.open("../*/part-*.parquet").read(), X)
    backwards = [folder / "part-9.parquet", "part-8.parquet"]  # a list keeps its order
    table = eigenlens.open(backwards, columns=["d", "a"])
    assert_array_equal(table.read(), np.concatenate([X[1:300], X[:1]])[:, [3, 0]])
    assert table.path == "part-9.parquet and 1 more"
    assert_array_equal(eigenlens.open(["part-8.parquet"]).read(), X[:1])
    put(folder / "odd[1].parquet", X[:5])
    assert_array_equal(eigenlens.open("odd[1].parquet").read(), X[:5])
    with pytest.raises(FileNotFoundError, match=r"no file like 'part-\*.csv'"):
        eigenlens.open("part-*.csv")
    with pytest.raises(FileNotFoundError, match=r"no file .*part-99"):
        eigenlens.open(["part-8.parquet", "part-99.parquet"])
    with pytest.raises(DataError, match="No file is given"):
        eigenlens.open([])


def test_columns_go_by_their_names_in_every_file(tmp_path):
    put(tmp_path / "1.parquet", X[:10])
    put(tmp_path / "2.parquet", X[10:20][:, [2, 0, 3, 1]], ["c", "a", "d", "b"])
    assert_array_equal(eigenlens.open(tmp_path).read(), X[:20])
    put(tmp_path / "3.csv", X[:10])
    put(tmp_path / "4.csv", X[10:20][:, [2, 0, 3, 1]], ["c", "a", "d", "b"])
    assert_array_equal(eigenlens.open(tmp_path / "*.csv").read(), X[:20])


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a", "b", "c"], r"part-13.\w+ has no column 'd', and part-8.\w+ has one"),
        (["a", "b", "c", "d", "e"], r"part-13.\w+ has a column 'e', and part-8.\w+ has none"),
    ],
)
def test_files_with_other_columns(tmp_path, ending, names, words):
    scattered(tmp_path, ending)
    put(tmp_path / f"part-13.{ending}", rng.normal(size=(5, len(names))), names)
    with pytest.raises(DataError, match=words):
        eigenlens.open(tmp_path)


def test_a_column_that_changes_its_type(tmp_path):
    words = ["x", "y"]
    for ending in ("parquet", "arrow"):
        put(tmp_path / f"1.{ending}", X[:2], more={"e": [1.0, 2.0], "w": words})
        put(tmp_path / f"2.{ending}", X[:2], more={"e": words, "w": words})
        with pytest.raises(DataError, match=rf"'e' holds text in 2.{ending}, and number in 1."):
            eigenlens.open(tmp_path / f"*.{ending}")
    put(tmp_path / "1.csv", X[:2], more={"e": [1.0, 2.0]})
    put(tmp_path / "2.csv", X[:2], more={"e": [3.5, 4.5]})
    put(tmp_path / "3.csv", X[:2], more={"e": ["5", "six"]})
    table = eigenlens.open(tmp_path / "*.csv")
    with pytest.raises(DataError, match=r"^3.csv, line 3: 'six' in a column .* 'e'"):
        table.read()
    assert eigenlens.open(tmp_path / "*.csv", drop=["e"]).shape == (6, 4)


def test_numbers_of_several_widths_and_columns_without_values(tmp_path):
    narrow = pa.array([1.5, 2.5], pa.float32())
    kinds = [
        narrow,
        pa.array([3, None], pa.int16()),
        pa.nulls(2),
        pa.array([1.5, 2.0], pa.float16()),
    ]
    for i, array in enumerate(kinds):
        pa.parquet.write_table(pa.table({"a": array, "t": ["u", "v"]}), tmp_path / f"{i}.parquet")
    table = eigenlens.open(tmp_path, encode=True)
    assert table.dtype == np.float64
    assert_array_equal(table.read()[:, 0], [1.5, 2.5, 3, np.nan, np.nan, np.nan, 1.5, 2])
    assert_array_equal(table.read()[:, 1], [1, 0] * 4)
    both = eigenlens.open([tmp_path / "0.parquet", tmp_path / "3.parquet"])
    assert both.read().dtype == np.float32
    np.save(tmp_path / "0.npy", np.ones((2, 3), np.float32))
    np.save(tmp_path / "1.npy", np.ones((2, 3), np.float32, order="F"))
    assert eigenlens.open(tmp_path / "*.npy").read().dtype == np.float32
    np.save(tmp_path / "2.npy", np.ones((2, 4)))
    with pytest.raises(DataError, match=r"2.npy has 4 columns, and 0.npy has 3"):
        eigenlens.open(tmp_path / "*.npy")


def test_folders_that_name_values(tmp_path, small):
    for year, place, rows in ((2023, "north", X[:100]), (2024, "south%20east", X[100:140])):
        put(tmp_path / f"t/year={year}/place={place}/part-0.parquet", rows)
    put(tmp_path / "t/year=2024/place=__HIVE_DEFAULT_PARTITION__/part-0.parquet", X[140:150])
    table = eigenlens.open(tmp_path / "t")
    assert table.names == (*NAMES, "year")
    assert table.left_out == {"place": "text"}
    order = [*range(100), *range(140, 150), *range(100, 140)]  # a low line is before letters
    years = np.array([2023] * 100 + [2024] * 50)
    assert_array_equal(table.read(), np.column_stack([X[order], years]))
    assert_array_equal(eigenlens.open(tmp_path / "t", columns=["year"]).read()[:, 0], years)
    assert list(table.column("place")) == ["north"] * 100 + [None] * 10 + ["south east"] * 40
    encoded = eigenlens.open(tmp_path / "t/*/*/*.parquet", encode=True)
    assert encoded.names == (*NAMES, "year", "place=north", "place=south east")
    put(tmp_path / "t/part-0.parquet", X[:5])
    with pytest.raises(DataError, match=r"part-0.parquet lies in no folder year="):
        eigenlens.open(tmp_path / "t")


def test_folders_of_several_kinds(tmp_path):
    put(tmp_path / "labels.csv", X[:5])
    put(tmp_path / "part-0.parquet", X)
    with pytest.raises(DataError, match=r"several kinds: labels.csv, part-0.parquet"):
        eigenlens.open(tmp_path)
    for name in ("1", "2"):
        np.savez(tmp_path / name, X=X)
    with pytest.raises(DataError, match="2 files of NPZ, which are not joined"):
        eigenlens.open(tmp_path / "*.npz")


def test_a_folder_of_images_stays_one(tmp_path):
    for i in range(3):
        Image.fromarray(np.full((2, 2), i, np.uint8)).save(tmp_path / f"{i}.png")
    put(tmp_path / "labels.csv", X[:3])
    assert eigenlens.open(tmp_path).image_shape == (2, 2)
    with pytest.raises(DataError, match="Give the folder of images"):
        eigenlens.open([tmp_path / "0.png"])


def test_fits_reports_and_the_shell_take_many_files(tmp_path, small, monkeypatch, capsys):
    folder = scattered(tmp_path / "table", "parquet")
    whole = PCA(2).fit(X)
    monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 0)
    model = PCA(2).fit(eigenlens.open(folder))
    np.testing.assert_allclose(model.components_, whole.components_, atol=1e-12)
    monkeypatch.chdir(tmp_path)
    assert run(app, ["fit", "pca", "table/", "--n-components", "2", "-o", "m.skops"]) == 0
    assert run(app, ["transform", "m.skops", "table/part-*.parquet", "-o", "s.npy"]) == 0
    np.testing.assert_allclose(np.abs(np.load("s.npy")), np.abs(whole.transform(X)), atol=1e-8)
    assert run(app, ["rank", "table/part-*.parquet"]) == 0
    report = Report.of(eigenlens.open(folder), methods=(), n_components=2)
    assert report.data["table"]["rows"] == 1200
    capsys.readouterr()


# -------------------------------------------------------------------------------- blocks


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather", "csv"])
def test_blocks_do_not_follow_batches(tmp_path, small, monkeypatch, ending, many_threads):
    """A table has the same blocks whatever row groups, batches and chunks it is stored in."""
    path = put(tmp_path / f"t.{ending}", X)
    for size in (1, 7, 64, 5000):
        monkeypatch.setattr(columnar, "BATCH_BYTES", size * 4 * 8)
        monkeypatch.setattr(delimited, "BLOCK", size * 60)
        blocks = list(eigenlens.open(path))
        assert [len(block) for block in blocks] == [64] * 18 + [48]
        assert_array_equal(np.concatenate(blocks), X)
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 1 << 25)
    (block,) = eigenlens.open(path)
    assert block.base is None or block.base.nbytes < 2 * block.nbytes  # no room is kept


def test_whole_narrow_and_missing_numbers_in_regrouped_blocks(tmp_path, small):
    n = 150
    holes = [None if i % 7 == 0 else i for i in range(n)]
    table = pa.table(
        {
            "i": pa.array(holes, pa.int16()),
            "t": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in range(n)]),
            "h": pa.array(np.arange(n, dtype=np.float16)),
            "p": pa.array(holes, pa.int32()).cast(pa.decimal128(12, 2)),
        }
    )
    pa.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=37)
    nan = np.nan
    ints = [nan if i % 7 == 0 else i for i in range(n)]
    flags = [nan if i % 5 == 0 else float(i % 2 == 0) for i in range(n)]
    expected = np.column_stack([ints, flags, np.arange(n), ints])
    opened = eigenlens.open(tmp_path / "t.parquet")
    assert opened.dtype == np.float64
    assert [len(block) for block in opened] == [64, 64, 22]
    assert_array_equal(opened.read(), expected)
    half = eigenlens.open(tmp_path / "t.parquet", columns=["h"])
    assert half.read().dtype == np.float32


def test_fortran_order_on_disk_is_read_in_blocks(tmp_path, small):
    np.save(tmp_path / "t.npy", np.asfortranarray(X))
    table = eigenlens.open(tmp_path / "t.npy")
    assert_array_equal(np.concatenate(list(table)), X)
    assert len(list(table)) == 19


def test_arrays_in_memory_begin_in_the_middle(small):
    table = ArrayBlocks(X)
    assert_array_equal(np.concatenate(list(table.blocks_from(3))), X[192:])
    assert isinstance(Stacked("two", [table, table]), blocks_module.Blocks)


# -------------------------------------------------------------------------------- faults


def spoil(path, group, column=1):
    """Overwrite the beginning of a column of a row group; the footer stays."""
    whole = path.read_bytes()
    place = pa.parquet.ParquetFile(path).metadata.row_group(group).column(column)
    start = place.dictionary_page_offset or place.data_page_offset
    path.write_bytes(whole[:start] + b"\xff" * 40 + whole[start + 40 :])


def test_one_truncated_parquet_file_of_many(tmp_path):
    folder = scattered(tmp_path / "table", "parquet")
    broken = folder / "part-11.parquet"
    whole = broken.read_bytes()
    for part in (whole[:-3], whole[: len(whole) // 2], whole[:6]):
        broken.write_bytes(part)
        with pytest.raises(DataError, match=r"^part-11.parquet is damaged or cut off"):
            eigenlens.open(folder)
    broken.write_bytes(b"")
    with pytest.raises(DataError, match=r"^part-11.parquet is empty"):
        eigenlens.open(folder)


def test_damaged_bytes_are_an_error_or_numbers_never_a_crash(tmp_path):
    """Random bytes in pages give DataError or, where nothing shows it, other numbers."""
    path = put(tmp_path / "t.parquet", X[:200])
    whole, draws = path.read_bytes(), np.random.default_rng(1)
    said = []
    for _ in range(60):
        broken = bytearray(whole)
        for place in draws.integers(4, len(whole) - 3000, 8):
            broken[place] = draws.integers(256)
        path.write_bytes(broken)
        try:
            assert eigenlens.open(path).read().shape == (200, 4)
        except DataError as error:
            said.append(str(error))
    assert len(said) > 5
    assert all(text.startswith("t.parquet, row group ") for text in said)
    assert not any("\n" in text for text in said)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather", "npy"])
@pytest.mark.parametrize("mapped", [False, True])
def test_a_file_that_shrinks_while_it_is_read(tmp_path, small, monkeypatch, ending, mapped):
    if mapped:
        monkeypatch.setattr(columnar, "MAPPED_BYTES", 0)
    path = put(tmp_path / f"t.{ending}", np.tile(X, (20, 1)))
    table = eigenlens.open(path)
    rows = iter(table)
    next(rows)
    os.truncate(path, path.stat().st_size // 4)
    with pytest.raises(DataError, match=rf"t.{ending}.* cut off"):
        list(rows)
    with pytest.raises(DataError, match=rf"t.{ending}.* cut off"):
        table.read()


def test_a_file_that_is_replaced_between_passes(tmp_path, small):
    path = put(tmp_path / "t.parquet", X)
    table = eigenlens.open(path)
    for rows, how in ((X[:900], "fewer"), (np.tile(X, (2, 1)), "more")):
        text = put(tmp_path / "t.csv", X)
        later = eigenlens.open(text)
        list(later)
        put(text, rows)
        with pytest.raises(DataError, match=rf"t.csv gave {how} rows than the 1200"):
            list(later)
    path.unlink()
    with pytest.raises(DataError, match=r"^t.parquet is gone. Read"):
        list(table)


def lines(path, *last, n=1_000_000):
    """Write a table of text with a million rows, a line without cells and some more lines."""
    path.write_bytes(b"a,b\n\n" + b"1,2.5\n" * n + "".join(last).encode())
    return path


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ("3,x\n", r"^t.csv, line 1000003: 'x' in a column .* drop the column 'b'"),
        ("3\n", "^t.csv, line 1000003: 1 fields where 2 are expected"),
        ("3,4,5", "^t.csv, line 1000003: 3 fields where 2 are expected"),
    ],
)
def test_a_bad_row_at_the_end_of_a_long_file(tmp_path, last, words):
    table = eigenlens.open(lines(tmp_path / "t.csv", last))
    with pytest.raises(DataError, match=words):
        table.read()


def test_lines_are_counted_past_empty_ones_and_cells_of_several(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    good = '1,"two\nlines"\n\n\n2,one\n'  # 5 lines
    path.write_text("a,note\n" + good * 50 + "\n" * 300 + good + "x,y\n")
    for size in (20, 100, 300):
        monkeypatch.setattr(delimited, "BLOCK", size)
        with pytest.raises(DataError, match=r"^t.csv, line 557: 'x' in a column"):
            eigenlens.open(path, columns=["a"]).read()


def test_later_files_of_text_may_have_no_rows(tmp_path):
    for name, rows in (("1.csv", "1,2\n"), ("2.csv", ""), ("3.csv", "3,4.5\n")):
        (tmp_path / name).write_text("a,b\n" + rows)
    assert_array_equal(eigenlens.open(tmp_path).read(), [[1, 2], [3, 4.5]])


def test_a_csv_column_that_becomes_text_after_the_first_block(tmp_path, small, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 5000 + "high,2\n" * 5000)
    monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 0)
    with pytest.raises(DataError, match=r"^t.csv, line 5002: 'high' .* drop the column 'a'"):
        PCA(1).fit(eigenlens.open(path))


# -------------------------------------------------------------------------------- full disks


@pytest.fixture
def tiny(tmp_path):
    """Return a folder on a disk of its own that holds 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        made = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        made = False
    if not made:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("ending", SHEETS)
def test_a_disk_that_fills_while_a_table_is_written(tmp_path, tiny, ending):
    path = tiny / f"scores{ending}"
    path.write_text("old")
    table = ArrayBlocks(rng.normal(size=(20_000, 4)), NAMES)
    with pytest.raises(OSError, match=rf"^scores{ending} was not written: there is no room left"):
        write(table, path)
    assert path.read_text() == "old"
    assert [file.name for file in tiny.iterdir()] == [path.name]


def test_a_disk_that_fills_in_the_shell(tmp_path, tiny, monkeypatch, capsys):
    data = put(tmp_path / "t.parquet", np.tile(X, (4, 1)))
    monkeypatch.chdir(tmp_path)
    assert run(app, ["fit", "pca", str(data), "-o", "m.skops"]) == 0
    capsys.readouterr()
    out = tiny / "scores.csv"
    out.write_text("old")
    assert run(app, ["transform", "m.skops", str(data), "-o", str(out)]) == 1
    said = capsys.readouterr().err.strip()
    assert said.startswith("eigenlens: scores.csv was not written: there is no room left in")
    assert "\n" not in said
    assert [(file.name, file.read_text()) for file in tiny.iterdir()] == [("scores.csv", "old")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux alone has a device that is full")
def test_standard_output_that_is_full(tmp_path, monkeypatch, capsys):
    data = put(tmp_path / "t.parquet", X)
    monkeypatch.chdir(tmp_path)
    assert run(app, ["fit", "pca", str(data), "-o", "m.skops"]) == 0
    capsys.readouterr()
    with contextlib.suppress(OSError), Path("/dev/full").open("w") as full:  # closing fails too
        monkeypatch.setattr(sys, "stdout", full)
        assert run(app, ["transform", "m.skops", str(data)]) == 1
    monkeypatch.undo()
    said = capsys.readouterr().err.strip()
    assert said.startswith("eigenlens: there is no room left on the disk for the output")
    assert "\n" not in said


def test_a_write_that_fails(tmp_path, monkeypatch):
    """The same as on a full disk, where none can be mounted."""

    class Full(SHEETS[".npy"]):
        def write_table(self, table):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setitem(SHEETS, ".npy", Full)
    path = tmp_path / "scores.npy"
    path.write_text("old")
    with pytest.raises(OSError, match=r"^scores.npy was not written: there is no room left"):
        write(ArrayBlocks(X, NAMES), path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("scores.npy", "old")]


def test_a_full_disk_for_rows_that_a_fit_keeps(tiny, monkeypatch):
    monkeypatch.setattr(kept, "IN_MEMORY", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tiny))
    rows = Kept()
    rows.append(X[:100])
    with pytest.raises(OSError, match=r"no room .* environment variable TMPDIR"):
        rows.append(np.tile(X, (20, 1)))
    assert list(tiny.iterdir()) == []
