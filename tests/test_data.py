"""Tables from files: every format, what is odd about real files, and what errors say."""

import gzip
import io
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.io
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import StandardScaler

import eigenlens
from eigenlens import PCA, IncrementalPCA
from eigenlens.data import blocks as blocks_module
from eigenlens.data import columnar, delimited, files
from eigenlens.data.blocks import ArrayBlocks
from eigenlens.data.errors import DataError
from eigenlens.data.scaling import SCALERS, scaled
from eigenlens.data.writing import SHEETS, Writer, named

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 4)) * [3, 2, 1, 0.5] + [0, 10, -5, 100]
X += 5 * rng.normal(size=(500, 1))  # one factor in all of them
NAMES = ["a", "b", "c", "d"]


def write(path, array=X, names=NAMES):
    """Write a table in the format of the path."""
    table = named(array, names)
    match path.suffix:
        case ".csv":
            pa.csv.write_csv(table, path)
        case ".tsv":
            pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter="\t"))
        case ".parquet":
            pa.parquet.write_table(table, path, row_group_size=100)
        case ".arrow":
            with pa.ipc.new_file(path, table.schema) as sheet:
                sheet.write_table(table, max_chunksize=90)
        case ".feather":
            with pa.ipc.new_stream(path, table.schema) as sheet:
                sheet.write_table(table)
        case ".npy":
            np.save(path, array)
        case ".npz":
            np.savez_compressed(path, table=array, note=np.array("hello"))
        case ".mtx":
            scipy.io.mmwrite(path, array, precision=17)
    return path


@pytest.fixture
def text(tmp_path):
    def make(content, name="table.csv", encoding="utf8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return make


# -------------------------------------------------------------------------------- formats


@pytest.mark.parametrize(
    "ending", ["csv", "tsv", "parquet", "arrow", "feather", "npy", "npz", "mtx"]
)
def test_every_format_gives_the_table(tmp_path, ending):
    table = eigenlens.open(write(tmp_path / f"table.{ending}"))
    assert_allclose(table.read(), X, rtol=1e-15)
    assert (
        table.names
        == (
            tuple(NAMES)
            if "n" not in ending[:1] + ending[-1:]
            or ending in ("csv", "tsv", "parquet", "arrow", "feather")
            else ("x0", "x1", "x2", "x3")
        )
        or ending == "mtx"
    )
    assert table.shape == X.shape
    assert len(table) == len(X)
    assert_allclose(np.asarray(table), X, rtol=1e-15)
    assert_allclose(table.select(table.names[2:0:-1]).read(), X[:, [2, 1]], rtol=1e-15)
    again = eigenlens.open(tmp_path / f"table.{ending}", drop=[table.names[0]])
    assert_allclose(again.read(), X[:, 1:], rtol=1e-15)
    last = eigenlens.open(tmp_path / f"table.{ending}", columns=[table.names[3], table.names[0]])
    assert_allclose(last.read(), X[:, [3, 0]], rtol=1e-15)


def test_formats_in_the_tests_are_all_there_are():
    assert set(files.FORMATS) == {
        ".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".npy", ".npz", ".mtx",
    }  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "npy"])
def test_blocks_are_small_and_add_up(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(columnar, "BATCH_BYTES", 4 * 8 * 50)
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 4 * 8 * 64)
    monkeypatch.setattr(delimited, "BLOCK", 4096)
    table = eigenlens.open(write(tmp_path / f"table.{ending}"))
    sizes = [len(block) for block in table]
    assert len(sizes) > 4
    assert max(sizes) <= 128
    assert sum(sizes) == len(X)
    assert_allclose(np.concatenate(list(table)), X, rtol=1e-15)  # again from the beginning


def test_npy_is_mapped_not_read(tmp_path):
    table = eigenlens.open(write(tmp_path / "table.npy"))
    assert isinstance(table.array, np.memmap)


@pytest.mark.parametrize("ending", ["npz", "mtx"])
def test_sparse_stays_sparse(tmp_path, ending):
    S = sparse.random_array((60, 9), density=0.2, rng=rng, format="csr")
    path = tmp_path / f"table.{ending}"
    if ending == "npz":
        sparse.save_npz(path, S)
    else:
        scipy.io.mmwrite(path, S.tocoo(), precision=17)
    table = eigenlens.open(path)
    assert sparse.issparse(table.read())
    assert_allclose(table.read().toarray(), S.toarray())
    assert_allclose(np.asarray(table), S.toarray())
    assert_allclose(table.select(["x3", "x1"]).read().toarray(), S.toarray()[:, [3, 1]])
    model = PCA(2).fit(table)
    assert_allclose(model.components_, PCA(2).fit(S).components_)
    scaler, even = scaled(table, "standard")
    assert_allclose(even.read().toarray(), S.toarray() / S.toarray().std(axis=0))
    assert scaler.with_mean is False


def test_dtype_follows_the_file(tmp_path):
    for ending in ("parquet", "arrow", "npy"):
        single = write(tmp_path / f"single.{ending}", X.astype(np.float32))
        assert eigenlens.open(single).read().dtype == np.float32
    whole = write(tmp_path / "whole.parquet", np.arange(12).reshape(3, 4))
    assert_array_equal(eigenlens.open(whole).read(), np.arange(12.0).reshape(3, 4))


def test_structured_array_has_names(tmp_path):
    records = np.array([(1, 2.5), (3, 4.5)], dtype=[("n", "i4"), ("x", "f8")])
    np.save(tmp_path / "records.npy", records)
    table = eigenlens.open(tmp_path / "records.npy")
    assert table.names == ("n", "x")
    assert_array_equal(table.read(), [[1, 2.5], [3, 4.5]])


# -------------------------------------------------------------------------------- text


def test_holes_are_nan(text):
    table = eigenlens.open(text("a,b,c\n1,,3\nNA,5,?\n7,nan,\n"))
    nan = np.nan
    assert_array_equal(table.read(), [[1, nan, 3], [nan, 5, nan], [7, nan, nan]])


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("a;b\n1,5;2\n3,25;4\n", ("a", "b")),  # as spreadsheets save it in much of Europe
        ("a|b\n1.5|2\n3.25|4\n", ("a", "b")),
        ("a\tb\n1.5\t2\n3.25\t4\n", ("a", "b")),
        ("1.5,2\n3.25,4\n", ("x0", "x1")),  # no header
        ("\n\na,b\n1.5,2\n\n3.25,4\n\n", ("a", "b")),
        ('"a","b, c"\n1.5,2\n3.25,4\n', ("a", "b, c")),
        ('"a\nx",b\n1.5,2\n3.25,4\n', ("a x", "b")),
        ("\ufeffa,b\n1.5,2\n3.25,4\n", ("a", "b")),
        ("a,b\r\n1.5,2\r\n3.25,4", ("a", "b")),
        (",a,b\n0,1.5,2\n1,3.25,4\n", ("a", "b")),  # the index that pandas and R write
        ("a,a\n1.5,2\n3.25,4\n", ("a", "a.1")),
        ("a, \n1.5,2\n3.25,4\n", ("a", "x1")),
        ("a,b\n 1.5, 2\n3.25 ,4\n", ("a", "b")),
    ],
)
def test_dialects(text, content, names):
    table = eigenlens.open(text(content))
    assert table.names == names
    assert_array_equal(table.read(), [[1.5, 2], [3.25, 4]])


def test_encodings_and_compression(text, tmp_path):
    content = "größe,b\n1.5,2\n"
    assert eigenlens.open(text(content)).names == ("größe", "b")
    latin = text(content, "latin.csv", "latin-1")
    assert eigenlens.open(latin, encoding="latin-1").names == ("größe", "b")
    with pytest.raises(DataError, match="encoding='latin-1'"):
        eigenlens.open(latin)
    with pytest.raises(DataError, match="UTF-16"):
        eigenlens.open(text(content, "wide.csv", "utf16"))
    with gzip.open(tmp_path / "packed.csv.gz", "wt", encoding="utf8") as file:
        file.write(content)
    assert_array_equal(eigenlens.open(tmp_path / "packed.csv.gz").read(), [[1.5, 2]])


def test_numbers_that_turn_out_to_be_fractions(text):
    content = "a,b,c\n" + "1,2,\n" * 200_000 + "1.5,,7\n"  # past the block that types are found in
    table = eigenlens.open(text(content)).read()
    assert table.shape == (200_001, 3)
    assert_array_equal(table[-1], [1.5, np.nan, 7])


def test_quotes_across_blocks(text, monkeypatch):
    """A line end in quotes is no end of a row, wherever blocks are cut; lines are still counted."""
    rows = [f'{i},"some ""text""\nwith {i} lines, and commas",{i / 4}' for i in range(300)]
    path = text("a,note,b\n" + "\n".join(rows) + "\n")
    truth = np.column_stack([np.arange(300), np.arange(300) / 4])
    for block in (7, 64, 1000, 1 << 20):
        monkeypatch.setattr(delimited, "BLOCK", block)
        table = eigenlens.open(path)
        assert_array_equal(table.read(), truth)
        assert table.column("note")[7] == 'some "text"\nwith 7 lines, and commas'
    monkeypatch.setattr(delimited, "BLOCK", 50)
    plain = text("a,b\n" + "1,2\n" * 100 + "3\n" + "1,2\n" * 100)
    with pytest.raises(DataError, match="line 102: 1 fields"):
        eigenlens.open(plain).read()


def test_a_quote_that_is_never_closed(text, monkeypatch):
    monkeypatch.setattr(delimited, "LONGEST", 1000)
    monkeypatch.setattr(delimited, "BLOCK", 100)
    path = text("a,b\n1,2\n" * 3 + '5,"6\n' + "1,2\n" * 500)
    with pytest.raises(DataError, match=r"has a quote .* that is opened and not closed"):
        eigenlens.open(path).read()


def test_old_line_ends_and_other_encodings_in_blocks(text, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 33)
    content = "größe{0}b{1}" + "1.5{0}2{1}" * 100
    for newline in ("\n", "\r\n", "\r"):
        for encoding in ("utf8", "latin-1", "utf16"):
            path = text(content.format(",", newline), encoding=encoding)
            table = eigenlens.open(path, encoding=encoding)
            assert table.names == ("größe", "b")
            assert_array_equal(table.read(), [[1.5, 2]] * 100)


def test_text_is_left_out_and_listed(text):
    table = eigenlens.open(text("id,a,when,ok\nx,1,2020-01-02,true\ny,2,2021-03-04,false\n"))
    assert table.names == ("a", "ok")
    assert table.left_out == {"id": "text", "when": "date"}
    assert "left out: id, when" in repr(table)
    assert_array_equal(table.read(), [[1, 1], [2, 0]])
    assert list(table.column("id")) == ["x", "y"]
    assert_array_equal(table.column("a"), [1, 2])


def test_encoded_text(text):
    path = text("colour,a\nred,1\nblue,2\nred,3\n,4\n")
    table = eigenlens.open(path, encode=True)
    assert table.names == ("colour=blue", "colour=red", "a")
    nan = np.nan
    assert_array_equal(table.read(), [[0, 1, 1], [1, 0, 2], [0, 1, 3], [nan, nan, 4]])
    assert eigenlens.open(path, encode=["colour"], drop=["a"]).names == table.names[:2]
    # another file with other values: columns are found again by their names
    other = eigenlens.open(text("a,colour\n5,green\n6,red\n", "other.csv"))
    assert_array_equal(other.select(table.names).read(), [[0, 0, 5], [0, 1, 6]])
    many = text("id,a\n" + "".join(f"name {i},{i}\n" for i in range(60)), "many.csv")
    assert eigenlens.open(many, encode=True).names == ("a",)  # names of rows, not classes
    assert len(eigenlens.open(many, encode=["id"]).names) == 61


def test_dictionary_and_decimal_columns(tmp_path):
    table = pa.table(
        {
            "kind": pa.array(["u", "v", "u"]).dictionary_encode(),
            "code": pa.array([1.5, 2.5, 1.5]).dictionary_encode(),
            "price": pa.array([1, 2, 3]).cast(pa.decimal128(25, 2)),
            "big": pa.array([1, None, 2**60]),
        }
    )
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    opened = eigenlens.open(tmp_path / "t.parquet", encode=True)
    assert opened.names == ("kind=u", "kind=v", "code", "price", "big")
    expected = [[1, 0, 1.5, 1, 1], [0, 1, 2.5, 2, np.nan], [1, 0, 1.5, 3, 2.0**60]]
    assert_array_equal(opened.read(), expected)


# -------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("", "t.csv", "t.csv is empty"),
        ("  \n\n", "t.csv", "t.csv is empty"),
        ("a,b\n", "t.csv", "t.csv has no rows"),
        ("a,b\n1,2\n3\n", "t.csv", "t.csv, line 3: 1 fields where 2 are expected"),
        ("a,b\n1,2\n" + "3,4\n" * 300_000 + "3,4,5\n", "t.csv", "line 300003: 3 fields where 2"),
        ("a,b\n" + "3,4\n" * 300_000 + "3,x\n", "t.csv", "line 300002: 'x' in a .*drop .* 'b'"),
        ("a,b\nx,y\nz,w\n", "t.csv", r"no column of numbers: a \(text\), b \(text\)"),
        (b"a,b\n1,\xff\xfe\n", "t.csv", "not UTF-8 text"),
        (b"a,b\n" + b"1,u\n" * 300_000 + b"1,\xff\n", "t.csv", "not UTF-8 text"),
        (b"\x00\x01\x02\x03", "t.csv", "not text"),
        ("a,b\n1,2\n", "t.xlsx", "no ending that is known.*CSV or Parquet"),
        ("a,b\n1,2\n", "table", "no ending that is known"),
        ("a,b\n1,2\n", "t.parquet", "named as Parquet, but does not begin as one"),
        ("a,b\n1,2\n", "t.npy", "named as NPY, but does not begin as one"),
        ("a,b\n1,2\n", "t.arrow", "t.arrow is damaged"),
        (b"PAR1" + b"x" * 50, "t.csv", "named as CSV, but what it holds is Parquet"),
        (b"PAR1" + b"x" * 50, "t.parquet", "t.parquet is damaged or cut off"),
        (b"PK\x03\x04" + b"x" * 50, "t.npz", "t.npz is damaged or cut off"),
        (b"\x1f\x8bxxxxxxxxx", "t.csv.gz", "t.csv.gz cannot be unpacked"),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n", "t.mtx", "t.mtx is damaged"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file(text, content, name, words):
    path = text(content, name)
    with pytest.raises(DataError, match=words) as caught:
        eigenlens.open(path, encode=["b"] if b"1,u" in path.read_bytes()[:99] else False).read()
    assert str(path.parent) not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3), "1 dimension"),
        (np.zeros((2, 2, 2)), "3 dimension"),
        (np.zeros((0, 3)), "0 rows"),
        (np.zeros((2, 2), complex), "complex128 values. Give real numbers"),
        (np.array([["a", "b"]]), "values. Give real numbers"),
        (np.array([[{}, 1]], dtype=object), "Python objects"),
    ],
)
def test_what_is_wrong_with_an_array(tmp_path, array, words):
    np.save(tmp_path / "t.npy", array)
    with pytest.raises(DataError, match=words):
        eigenlens.open(tmp_path / "t.npy")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nothing.csv"):
        eigenlens.open(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="holds no images"):
        eigenlens.open(tmp_path)


def test_unknown_columns_are_named(text, tmp_path):
    path = text("width,height\n1,2\n3,4\n")
    for asked in ({"columns": ["widht"]}, {"drop": ["widht"]}, {"encode": ["widht"]}):
        with pytest.raises(DataError, match=r"no column 'widht'. Did you mean 'width'?"):
            eigenlens.open(path, **asked)
    with pytest.raises(DataError, match="It has: width, height"):
        eigenlens.open(path).select(["zzz"])
    with pytest.raises(DataError, match="no column 'x7'"):
        eigenlens.open(write(tmp_path / "t.npy"), drop=["x7"])
    with pytest.raises(DataError, match=r"No column of table.csv is left"):
        eigenlens.open(path, drop=["width", "height"])
    with pytest.raises(DataError, match=r"'c' of text.csv holds text"):
        eigenlens.open(text("c,d\nu,1\nv,2\n", "text.csv"), columns=["c", "d"])


def test_truncated_and_damaged_parquet(tmp_path):
    path = write(tmp_path / "t.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"t.parquet is damaged or cut off"):
        eigenlens.open(path)
    middle = pa.parquet.ParquetFile(io.BytesIO(whole)).metadata.row_group(2).column(1)
    start = middle.dictionary_page_offset or middle.data_page_offset
    path.write_bytes(whole[:start] + b"\xff" * 40 + whole[start + 40 :])
    with pytest.raises(DataError, match=r"t.parquet, row group 2 is damaged"):
        eigenlens.open(path).read()


def test_npz_that_would_fill_memory_is_refused(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, X=np.zeros((40_000_000, 1), np.int64))
    assert path.stat().st_size < 1e6
    with pytest.raises(DataError, match="would grow from"):
        eigenlens.open(path)


def test_npz_with_several_tables(tmp_path):
    np.savez(tmp_path / "two.npz", A=X, B=X)
    with pytest.raises(DataError, match="several tables: A, B"):
        eigenlens.open(tmp_path / "two.npz")
    np.savez(tmp_path / "two.npz", A=X[:5], X=X)
    assert eigenlens.open(tmp_path / "two.npz").shape == X.shape


def test_table_past_memory_is_not_read_whole(tmp_path, monkeypatch):
    table = eigenlens.open(write(tmp_path / "t.npy"))
    monkeypatch.setattr(blocks_module, "MEMORY_SHARE", 1e-9)
    with pytest.raises(DataError, match="this machine has"):
        table.read()


# -------------------------------------------------------------------------------- blocks


def test_sample_is_uniform_and_in_order():
    table = ArrayBlocks(np.arange(1000.0)[:, None])
    table._rows = 37
    counts = np.zeros(1000)
    for seed in range(200):
        numbers, rows = table.sample(100, np.random.default_rng(seed))
        assert_array_equal(rows.ravel(), numbers)
        assert (np.diff(numbers) > 0).all()
        counts[numbers] += 1
    assert len(numbers) == 100
    # 200 draws of a tenth: 20 on average, deviation 4.2; the ends are not favoured
    assert counts.max() < 20 + 6 * 4.2
    assert abs(counts[:100].mean() - 20) < 6 * 0.42
    assert abs(counts[-100:].mean() - 20) < 6 * 0.42
    numbers, rows = table.sample(5000, np.random.default_rng(0))
    assert_array_equal(numbers, np.arange(1000))


@pytest.mark.parametrize("how", SCALERS)
def test_scaling_in_blocks_is_that_of_scikit_learn(tmp_path, how):
    table = eigenlens.open(write(tmp_path / "t.parquet"))
    scaler, even = scaled(table, how)
    kind = SCALERS[how].scaler
    expected = X if kind is None else kind().fit_transform(X)
    assert_allclose(even.read(), expected, rtol=1e-12, atol=1e-12)
    if scaler is not None:
        assert list(scaler.feature_names_in_) == NAMES
        assert_allclose(scaler.transform(named(X, NAMES)), expected, rtol=1e-12, atol=1e-12)


def test_unknown_scale(tmp_path):
    with pytest.raises(ValueError, match="is not one of standard, minmax"):
        scaled(ArrayBlocks(X), "standart")


@pytest.mark.parametrize("ending", SHEETS)
def test_what_is_written_is_read_again(tmp_path, ending):
    path = tmp_path / f"out{ending}"
    with Writer(path, NAMES) as writer:
        for part in np.array_split(X, 7):
            writer.write(part)
    table = eigenlens.open(path)
    assert_array_equal(table.read(), X)
    assert table.names == (("x0", "x1", "x2", "x3") if ending == ".npy" else tuple(NAMES))


def test_writing_to_no_known_ending(tmp_path):
    with pytest.raises(DataError, match="no ending that can be written"):
        Writer(tmp_path / "scores.docx", NAMES)


def test_a_failed_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("old")

    def stopped():
        with Writer(path, NAMES) as writer:
            writer.write(X)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["scores.csv"]


# -------------------------------------------------------------------------------- estimators


@pytest.fixture
def in_blocks(monkeypatch):
    """Make every table a large one."""
    monkeypatch.setattr("eigenlens._base.WHOLE_BYTES", 0)
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 4 * 8 * 64)


@pytest.mark.parametrize("kind", [PCA, IncrementalPCA])
@pytest.mark.parametrize("k", [2, 0.9, None, "mle"])
def test_fit_in_blocks_equals_fit_of_the_array(tmp_path, in_blocks, monkeypatch, kind, k):
    table = eigenlens.open(write(tmp_path / "t.parquet"))
    with monkeypatch.context() as patch:
        patch.setattr(type(table), "read", None)  # never as a whole
        model = kind(k).fit(table)
    whole = kind(k).fit(X)
    assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=1e-12)
    assert_allclose(model.components_, whole.components_, atol=1e-12)
    assert_allclose(model.mean_, whole.mean_, rtol=1e-14)
    assert_allclose(model.noise_variance_, whole.noise_variance_, rtol=1e-10)
    assert list(model.feature_names_in_) == NAMES
    assert model.certificate_.holds
    assert_allclose(model.transform(table), whole.transform(X), atol=1e-11)


def test_small_tables_are_fitted_whole(tmp_path):
    table = eigenlens.open(write(tmp_path / "t.csv"))
    for model in (PCA(2), PCA("cv", random_state=0), PCA(2, svd_solver="full")):
        fitted = model.fit(table)
        assert_allclose(fitted.components_, model.fit(X).components_, rtol=1e-15)


def test_rules_and_weights_of_a_large_table(tmp_path, in_blocks):
    table = eigenlens.open(write(tmp_path / "t.parquet"))
    weight = rng.integers(1, 4, len(X))
    model = PCA(2).fit(table, sample_weight=weight)
    assert_allclose(model.components_, PCA(2).fit(X, sample_weight=weight).components_)
    assert PCA("cv", random_state=0).fit(table).choice_ is not None


def test_columns_go_by_their_names(tmp_path):
    model = PCA(2).fit(eigenlens.open(write(tmp_path / "t.csv")))
    shuffled = [2, 0, 3, 1]
    names = [NAMES[j] for j in shuffled]
    more = np.column_stack([np.zeros(len(X)), X[:, shuffled]])
    other = eigenlens.open(write(tmp_path / "other.csv", more, ["zero", *names]))
    assert_allclose(model.transform(other), model.transform(named(X, NAMES)), atol=1e-12)
    with pytest.raises(DataError, match="no column 'a'"):
        model.transform(eigenlens.open(write(tmp_path / "few.csv", X[:, 1:], NAMES[1:])))


@pytest.mark.parametrize("kind", [PCA, IncrementalPCA])
def test_bad_numbers_in_blocks(tmp_path, in_blocks, kind):
    for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = X.copy()
        bad[333, 2] = value
        with pytest.raises(ValueError, match=word):
            kind(2).fit(eigenlens.open(write(tmp_path / "t.parquet", bad)))
    with pytest.raises(ValueError, match="add up to 1"):
        kind(1).fit(eigenlens.open(write(tmp_path / "row.parquet", X[:1])))
    with pytest.raises(ValueError, match="n_components=9"):
        kind(9).fit(eigenlens.open(write(tmp_path / "t.parquet")))


def test_scaled_blocks_in_a_pipeline(tmp_path, in_blocks):
    _, even = scaled(eigenlens.open(write(tmp_path / "t.parquet")), "standard")
    model = PCA(3).fit(even)
    whole = PCA(3).fit(StandardScaler().fit_transform(X))
    assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=1e-12)


def test_estimators_do_not_load_pyarrow():
    import subprocess

    code = "import sys; from eigenlens import PCA; print('pyarrow.csv' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
