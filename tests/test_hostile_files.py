"""Files that were made to do harm: refused in one sentence, or read in blocks, in little memory."""

import base64
import bz2
import gzip
import io
import json
import os
import pickle
import re
import select
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from parquet_bytes import in_metadata, in_page, varint, whole
from scipy import sparse

import eigenlens
from eigenlens import DataError
from eigenlens.persist import save

MOST = 200_000  # kB of memory that a bomb may take beyond what a harmless file takes

# ------------------------------------------------------------------------------ memory

MEASURE = """
import ctypes, json, resource, sys
import numpy as np, pyarrow as pa, pyarrow.parquet
import eigenlens
from eigenlens.ops.memory import reset_peak, resident

def tried(path, **options):
    try:
        if path.endswith(".skops"):
            eigenlens.load(path)
            return "loaded"
        rows = 0
        for block in eigenlens.open(path, **options):
            rows += block.shape[0]
            if rows > 10**7:
                break
        return f"read {rows}"
    except ValueError as error:
        return f"{type(error).__name__}: {error}"

for harmless in sys.argv[1:]:
    tried(harmless)
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
for line in sys.stdin:
    path, options = json.loads(line)
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    before = reset_peak()
    sentence = tried(path, **options)
    print(json.dumps([resident("VmHWM") - before, sentence]), flush=True)
"""


@pytest.fixture(scope="module")
def harmless(tmp_path_factory):
    """Files of each kind that load what there is to import."""
    folder = tmp_path_factory.mktemp("harmless")
    X = np.random.default_rng(0).normal(size=(100, 4))
    found = {"parquet": folder / "x.parquet"}
    pq.write_table(pa.table({"a": X[:, 0]}), found["parquet"])
    found["skops"] = save(eigenlens.PCA(n_components=2).fit(X), folder / "model.skops")
    found["mtx"] = folder / "x.mtx"
    found["mtx"].write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1.0\n")
    if has_media():
        from PIL import Image

        found["images"] = folder / "images"
        found["images"].mkdir()
        Image.new("RGB", (9, 9)).save(found["images"] / "a.png")
    return found


def has_media():
    try:
        import av  # noqa: F401
        import PIL  # noqa: F401
    except ImportError:
        return False
    return True


media = pytest.mark.skipif(not has_media(), reason="needs the extra media")


@pytest.fixture(scope="module")
def beside(harmless):
    """A process that reads files and says how much memory each took."""
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux says how much memory is used")
    command = [sys.executable, "-c", MEASURE, *harmless.values()]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield process
        process.kill()


@pytest.fixture
def said(beside):
    """Return what is said of bombs, once it was seen that each takes little memory."""

    def said(*paths, **options):
        sentences = [one(path, options) for path in paths]
        return sentences if len(sentences) > 1 else sentences[0]

    def one(path, options):
        assert path.is_dir() or path.stat().st_size < 400_000
        beside.stdin.write(json.dumps([str(path), options]) + "\n")
        beside.stdin.flush()
        assert select.select([beside.stdout], [], [], 300)[0], f"{path} takes too long"
        answer = beside.stdout.readline()
        assert answer, f"{path} ended the process with {beside.wait()}"
        peak, sentence = json.loads(answer)
        assert peak < MOST, f"{path}: {sentence}, {peak / 1e3:.0f} MB"
        assert "\n" not in sentence
        return sentence

    return said


def npy(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def test_billion_rows_in_a_small_parquet_file(said, tmp_path):
    """A table like others in blocks; as a whole it is refused before it is read."""
    path = tmp_path / "rows.parquet"
    part = pa.table({name: np.zeros(10**6) for name in "ab"})
    with pq.ParquetWriter(path, part.schema, compression="zstd", max_rows_per_page=10**6) as file:
        for _ in range(150):
            file.write_table(part)
    assert said(path) == "read 10485760"
    table = eigenlens.open(path)
    assert table.shape == (150 * 10**6, 2)
    with pytest.raises(DataError, match=r"rows.parquet takes 2.4 GB or more as a whole, over 1000"):
        table.read()
    with pytest.raises(DataError, match="reads in blocks"):
        np.asarray(table)


def test_page_of_a_parquet_file_that_unpacks_to_a_gigabyte(said, tmp_path):
    path = tmp_path / "page.parquet"
    table = pa.table({"a": np.zeros(4 * 10**7)})
    pq.write_table(
        table,
        path,
        compression="zstd",
        use_dictionary=False,
        data_page_size=2**31 - 1,
        row_group_size=10**9,
        write_batch_size=10**9,
        max_rows_per_page=10**9,
    )
    assert "row group 0 would unpack to 320 MB at once" in said(path)


@pytest.fixture
def parquet(tmp_path):
    """A sound Parquet file of one column."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"t": [f"{i:03d}" for i in range(100)]}), path, compression=None)
    return path


@pytest.mark.parametrize(("what", "nth"), [(b"\x19\x2c", 0), (b"\x19\x1c", 0), (b"\x19\x1c", 1)])
def test_parquet_file_of_a_million_columns_that_are_not_there(said, parquet, what, nth):
    """The names of the columns, the groups of rows, the columns of a group."""
    in_metadata(parquet, what, b"\x19\xfc" + varint(999_999), nth)
    assert re.fullmatch(
        r"DataError: t.parquet is damaged or cut off \(.*\). Make or fetch it anew.", said(parquet)
    )


def test_dictionary_of_a_parquet_file_that_has_fewer_values_than_it_says(said, parquet):
    head = b"\x15%b\x15%b\x4c\x15%b"  # sizes, and the number of values
    there, said_to_be = (
        (whole(700), whole(700), whole(100)),
        (whole(698), whole(698), whole(5 * 10**7)),
    )
    in_page(parquet, head % there, head % said_to_be)
    assert "row group 0 is damaged or cut off" in said(parquet, encode=True)


@pytest.mark.parametrize("size", [1_500_000_000, -1])
def test_page_of_a_parquet_file_that_is_longer_than_the_file(said, parquet, size):
    in_page(parquet, 2 * (b"\x15" + whole(700)), b"\x15" + whole(700) + b"\x15" + whole(size))
    assert "row group 0 is damaged or cut off (a page of a size that cannot" in said(
        parquet, encode=True
    )


def test_column_of_a_parquet_file_that_does_not_fit_its_type(said, parquet):
    """Which ends the process where pyarrow is asked about the column."""
    in_metadata(parquet, b"\x25\x02\x18\x01t", b"\x25\x00\x18\x01t")  # must not be missing
    assert "row group 0 is damaged or cut off (Definition level" in said(parquet, encode=True)


def test_column_of_a_parquet_file_whose_name_is_no_text(said, parquet):
    in_metadata(parquet, b"\x19\x18\x01t", b"\x19\x18\x01\xff")
    assert "t.parquet is damaged or cut off ('utf-8' codec" in said(parquet, encode=True)


def test_long_text_that_repeats(said, tmp_path):
    path = tmp_path / "text.parquet"
    text = pa.DictionaryArray.from_arrays(np.zeros(10**6, np.int32), ["x" * 10_000])
    pq.write_table(pa.table({"a": np.zeros(10**6), "t": text}), path, store_schema=False)
    assert said(path, encode=True) == "read 1000000"


@pytest.mark.parametrize("form", ["file", "stream"])
def test_batch_of_an_arrow_file_that_unpacks_to_a_gigabyte(said, tmp_path, form):
    path = tmp_path / "zeros.arrow"
    table = pa.table({"a": np.zeros(4 * 10**7)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    make = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
    with pa.OSFile(str(path), "wb") as file, make(file, table.schema, options=options) as writer:
        writer.write_table(table)
    assert "record batch 0, would unpack to 320 MB at once" in said(path)


def test_dictionary_of_an_arrow_file_that_unpacks_to_a_gigabyte(said, tmp_path):
    path = tmp_path / "text.arrow"
    values = pa.DictionaryArray.from_arrays(np.zeros(3, np.int32), ["x" * 300_000_000])
    table = pa.table({"a": [1.0, 2.0, 3.0], "t": values})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, table.schema, options=options) as writer,
    ):
        writer.write_table(table)
    assert "a dictionary, would unpack to 300 MB at once" in said(path)


def test_text_that_unpacks_to_one_line(said, tmp_path):
    paths = []
    for ending, packed in {"gz": gzip.compress, "bz2": bz2.compress}.items():
        paths.append(tmp_path / f"line.csv.{ending}")
        paths[-1].write_bytes(packed(b"a,b\n1,2\n" + b"1" * 10**8))
    assert all("has a line of more than 64 MB" in sentence for sentence in said(*paths))


def test_text_with_a_header_without_end(said, tmp_path):
    paths = []
    for i, cell in enumerate([b"a,", b"ab;", b","]):
        paths.append(tmp_path / f"header{i}.csv.gz")
        paths[-1].write_bytes(gzip.compress(cell * 10**7))
    assert all("DataError: header" in sentence for sentence in said(*paths))


def test_text_of_many_rows(said, tmp_path):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 12_000_000))
    assert said(path) == "read 10485760"


def test_packed_text_that_grows_without_end_is_not_read_whole(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 10**6))
    monkeypatch.setattr(eigenlens.data.blocks, "GROWN_BYTES", 10**6)
    with pytest.raises(DataError, match=r"rows.csv.gz takes .* GB or more as a whole"):
        eigenlens.open(path).read()


MATRICES = {
    "wide.mtx": b"%%MatrixMarket matrix coordinate real general\n1 1000000000 1\n1 1 1.0\n",
    "tall.mtx": b"%%MatrixMarket matrix coordinate real general\n1000000000 2 1\n1 1 1.0\n",
    "dense.mtx": b"%%MatrixMarket matrix array real general\n100000 10000\n1.0\n",
    "many.mtx": b"%%MatrixMarket matrix coordinate real general\n9 9 9000000000\n1 1 1.0\n",
}


def test_matrix_of_text_that_claims_more_than_it_has(said, tmp_path):
    paths = [tmp_path / name for name in MATRICES]
    for path in paths:
        path.write_bytes(MATRICES[path.name])
    for path, sentence in zip(paths, said(*paths), strict=True):
        assert f"DataError: {path.name}" in sentence


def test_sparse_matrix_of_nothing(said, tmp_path):
    paths, none = [tmp_path / "wide.npz", tmp_path / "tall.npz"], np.zeros(0, np.int64)
    for path, shape in zip(paths, [(1, 10**9), (10**9, 1)], strict=True):
        np.savez(path, format=b"coo", data=np.zeros(0), shape=shape, row=none, col=none)
    assert all("far more than it can hold" in sentence for sentence in said(*paths))


def test_archive_that_is_packed_to_burst(said, tmp_path):
    paths = [tmp_path / "bzip2.npz", tmp_path / "lzma.npz"]
    for path, method in zip(paths, [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], strict=True):
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("X.npy", npy(np.zeros((2**19, 60))))
    assert all("packed or encrypted in a way" in sentence for sentence in said(*paths))


def test_archive_of_one_member_under_many_names(said, tmp_path):
    """What a few kilobytes unpack to, a thousand times over."""
    content = zlib.compress(npy(np.zeros((2**10, 2**10))), 9)[2:-4]
    crc, length = zlib.crc32(npy(np.zeros((2**10, 2**10)))), 8 * 2**20 + 128
    sizes = struct.pack("<III", crc, len(content), length)
    names = [f"{i:04d}.npy".encode() for i in range(1000)]
    body = b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 0) + sizes
    body += struct.pack("<HH", 8, 0) + names[0] + content
    entries = b"".join(
        b"PK\x01\x02"
        + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 0)
        + sizes
        + struct.pack("<HHHHHII", 8, 0, 0, 0, 0, 0, 0)
        + name
        for name in names
    )
    end = struct.pack("<HHHHIIH", 0, 0, 1000, 1000, len(entries), len(body), 0)
    path = tmp_path / "many.npz"
    path.write_bytes(body + entries + b"PK\x05\x06" + end)
    assert "would grow from" in said(path)


IMAGES = {
    "png": {},
    "jpg": {},
    "webp": {"lossless": True},
    "tif": {"compression": "tiff_adobe_deflate"},
}


@media
@pytest.mark.parametrize(("side", "verdict"), [(2300, "read 1"), (6000, "it is not read")])
def test_image_of_one_colour(said, tmp_path, side, verdict):
    """Up to a size it is an image like others, beyond it is refused."""
    from PIL import Image

    folders = []
    for mode in ("L", "RGB"):
        for ending, options in IMAGES.items():
            folders.append(tmp_path / f"{mode}-{ending}")
            folders[-1].mkdir()
            Image.new(mode, (side, side)).save(folders[-1] / f"a.{ending}", **options)
    assert all(verdict in sentence for sentence in said(*folders))


def png(width, height):
    def chunk(kind, content):
        crc = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + crc

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b""))


@media
def test_image_that_claims_to_be_huge(said, tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "a.png").write_bytes(png(10**6, 10**6))
    assert "million" in said(folder)


@media
@pytest.mark.parametrize(
    ("ending", "codec", "pixels"), [("mp4", "libx264", "yuv420p"), ("mkv", "ffv1", "gray")]
)
def test_video_of_one_colour(said, tmp_path, ending, codec, pixels):
    import av

    paths = []
    for height in (1080, 4320):
        path, width = tmp_path / f"{height}.{ending}", height * 16 // 9
        paths.append(path)
        with av.open(str(path), "w") as container:
            stream = container.add_stream(codec, 10)
            stream.width, stream.height, stream.pix_fmt = width, height, pixels
            frame = av.VideoFrame.from_ndarray(np.zeros((height, width, 3), np.uint8))
            for _ in range(3):
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
    small, large = said(*paths)
    assert small == "read 3"
    assert "it is not read" in large


# ------------------------------------------------------------------------------ models


def bomb(harmless, path, value, members):
    """Write a good model with `value` in the place of one of its attributes."""
    with zipfile.ZipFile(harmless["skops"]) as good:
        parts = {name: good.read(name) for name in good.namelist()}
    schema = json.loads(parts.pop("schema.json"))
    schema["content"]["content"]["tol"] = value
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", json.dumps(schema))
        for name, content in (parts | members).items():
            archive.writestr(name, content)
    return path


def node(loader, module, kind, number, **rest):
    head = {"__loader__": loader, "__module__": module, "__class__": kind, "__id__": number}
    return head | rest


def listed(values):
    return node("ListNode", "builtins", "list", 10**6, content=values)


def each(count, *head, **rest):
    return listed([node(*head, 0, **rest)] * count)  # 0: each is an object of its own


MATRIX = ("SparseMatrixNode", "scipy.sparse._dia", "dia_array")
MODELS = {  # what is in them, and what is said of it
    "matrices": (lambda: each(10, *MATRIX, type="scipy", file="matrix"), "would grow to"),
    "lengths": (
        lambda: each(10, "NdArrayNode", "numpy", "void", type="numpy", file="length"),
        "builds 'numpy.void'",
    ),
    "nodes": (lambda: each(100_000, "FunctionNode", "numpy", "exp"), "bytes of schema.json"),
    "fewer nodes": (lambda: each(18_000, "FunctionNode", "numpy", "exp"), "loaded"),
    "text": (lambda: [[]] * 1_000_000, "bytes of schema.json"),
    "less text": (lambda: [[]] * 500_000, "damaged"),
    "bytes": (
        lambda: node("BytearrayNode", "builtins", "bytearray", 10**7, file="zeros"),
        "would grow to",
    ),
    "as large as may be": (
        lambda: node("NdArrayNode", "numpy", "ndarray", 10**7, type="numpy", file="most"),
        "loaded",
    ),
}


def test_models_that_grow(said, harmless, tmp_path):
    matrix, zeros = io.BytesIO(), np.zeros((1, 10**6))
    sparse.save_npz(matrix, sparse.dia_array((zeros, [0]), shape=(10**6, 10**6)))
    members = {
        "matrices": {"matrix": matrix.getvalue()},
        "lengths": {"length": npy(np.array(2**30))},
        "bytes": {"zeros": bytes(5_000_000)},
        "as large as may be": {"most": npy(np.zeros(4_100_000))},
    }
    paths = [
        bomb(harmless, tmp_path / f"{name}.skops", make(), members.get(name, {}))
        for name, (make, _) in MODELS.items()
    ]
    for sentence, (_, verdict) in zip(said(*paths), MODELS.values(), strict=True):
        assert verdict in sentence


# ------------------------------------------------------------------------------ code


class Touch:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.fixture
def canary(tmp_path):
    """A file that comes into being if a hostile file gets something to run."""
    canary = tmp_path / "canary"
    pickle.loads(pickle.dumps(Touch(canary)))
    assert canary.exists(), "it would not tell"
    canary.unlink()
    yield canary
    assert not canary.exists(), "something ran"


def test_arrays_of_objects_are_not_unpickled(tmp_path, canary):
    objects = np.array([[Touch(canary)]])
    np.save(tmp_path / "objects.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "objects.npz", X=objects)
    np.savez(tmp_path / "format.npz", format=objects, data=np.zeros(1), shape=(1, 1))
    np.savez(tmp_path / "shape.npz", format=b"csr", data=np.zeros(1), shape=objects)
    (tmp_path / "pickle.npy").write_bytes(pickle.dumps(Touch(canary)))
    for path in sorted(tmp_path.glob("*.np?")):
        with pytest.raises(DataError, match=r"holds Python objects|does not begin"):
            eigenlens.open(path)


def test_structured_array_with_a_field_of_objects(tmp_path, canary):
    fields = np.array([(1.0, Touch(canary))], [("a", float), ("b", object)])
    np.save(tmp_path / "t.npy", fields, allow_pickle=True)
    with pytest.raises(DataError, match="Python objects"):
        eigenlens.open(tmp_path / "t.npy")


@pytest.mark.parametrize("name", [b"arrow.py_extension_type", b"unknown.type"])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_types_that_bring_a_pickle(tmp_path, canary, ending, name):
    """Arrow once unpickled the type of a column; pandas has metadata of its own."""
    content = pickle.dumps(Touch(canary))
    metadata = {b"ARROW:extension:name": name, b"ARROW:extension:metadata": content}
    fields = [pa.field("a", pa.float64()), pa.field("b", pa.int64(), metadata=metadata)]
    pandas = {b"pandas": json.dumps({"columns": base64.b64encode(content).decode()}).encode()}
    schema = pa.schema(fields, metadata=pandas | {b"PANDAS_ATTRS": content})
    table = pa.table([pa.array([1.0, 2.0]), pa.array([3, 4])], schema=schema)
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            writer.write_table(table)
    assert eigenlens.open(path, columns=["a"]).read().tolist() == [[1.0], [2.0]]


# ------------------------------------------------------------------------------ places


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
@pytest.mark.parametrize("name", ["a.csv", "a.npy", "a.parquet", "a.mp4", "a.gif"])
def test_pipe_is_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match="is a pipe or a device"):
        eigenlens.open(tmp_path / name)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="devices of POSIX")
@pytest.mark.parametrize("name", ["a.csv", "a.npy", "a.mkv"])
def test_device_is_not_read(tmp_path, name):
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(DataError, match="is a pipe or a device"):
        eigenlens.open(tmp_path / name)


@pytest.mark.parametrize(
    "name",
    ["http://127.0.0.1:9/a.csv", "s3://bucket/a.parquet", "file:///etc/hostname.csv", "a\0.csv"],
)
def test_addresses_are_names_of_files_that_are_not_there(name):
    with pytest.raises((FileNotFoundError, DataError)):
        eigenlens.open(name)


def test_links_that_go_round_and_round(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.csv").write_text("a,b\n1,2\n")
    for name in "bcd":
        (tmp_path / "a" / name).symlink_to(tmp_path / "a")
    (tmp_path / "self.csv").symlink_to(tmp_path / "self.csv")
    with pytest.raises(DataError, match=r"link to a folder that it is in"):
        eigenlens.open(tmp_path / "**" / "*.csv")
    assert eigenlens.open(tmp_path / "a").shape == (1, 2)
    with pytest.raises((FileNotFoundError, DataError)):
        eigenlens.open(tmp_path / "self.csv")


# ------------------------------------------------------------------------------ claims


def test_matrix_that_points_outside_of_itself(tmp_path):
    matrix = sparse.eye_array(4, format="csr")
    matrix.indices[-1] = 10**6
    sparse.save_npz(tmp_path / "t.npz", matrix)
    with pytest.raises(DataError, match="damaged"):
        eigenlens.open(tmp_path / "t.npz")


def test_dictionary_that_has_not_what_it_is_asked_for(tmp_path):
    """Numbers of values that are not there: pyarrow would read beyond the dictionary."""
    path = tmp_path / "t.arrow"
    indices = pa.array([0, 1, 1], pa.int32())
    column = pa.DictionaryArray.from_arrays(indices, pa.array([1.0, 2.0]))
    table = pa.table({"a": column})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    good = struct.pack("<iii", 0, 1, 1)
    content = path.read_bytes()
    assert content.count(good) == 1
    path.write_bytes(content.replace(good, struct.pack("<iii", 0, 2**30, -(2**30))))
    with pytest.raises(DataError, match=r"t.arrow, record batch 0 is damaged"):
        eigenlens.open(path).read()


def test_header_of_text_that_is_long(tmp_path):
    """As of a table of genes: longer than the first look at a file."""
    names = [f"gene{j:06d}" for j in range(20_000)]
    rows = [",".join(str(j % 7) for j in range(20_000))] * 3
    (tmp_path / "genes.csv").write_text("\n".join([",".join(names), *rows]))
    table = eigenlens.open(tmp_path / "genes.csv")
    assert table.shape == (3, 20_000)
    assert table.names == tuple(names)
    assert table.read()[0, 6] == 6


def test_many_columns_of_one_name_are_told_apart_soon(tmp_path):
    (tmp_path / "t.csv").write_text("a," * 50_000 + "a\n" + "1," * 50_000 + "1\n")
    assert eigenlens.open(tmp_path / "t.csv").names[-1] == "a.50000"


@pytest.mark.parametrize("text", [",,\n,,\n", '""\n""\n', "\ufeff\n", "\u2003\n\u2003\n"])
def test_text_without_a_cell(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match=r"t.csv (has cells|is empty)"):
        eigenlens.open(tmp_path / "t.csv")


# ------------------------------------------------------------------------------ found by spoiling


@pytest.mark.parametrize("line", ["2.2E\0\0.4\n", "2\0\n", "2.2E", "2.5"])
@pytest.mark.parametrize(
    "form", ["array real general\n2 1\n1.0\n", "coordinate real general\n2 2 1\n1 1 "]
)
def test_matrix_of_text_with_a_line_without_an_end(tmp_path, form, line):
    """scipy looks for the end of the line behind a number, and would go on to look for it."""
    path = tmp_path / "t.mtx"
    path.write_text(f"%%MatrixMarket matrix {form}{line}")
    if "\0" in line:
        with pytest.raises(DataError, match=r"t.mtx is not text"):
            eigenlens.open(path)
    else:
        assert eigenlens.open(path).read().sum() == float(line.rstrip("E")) + form.count("1.0")


def test_page_whose_head_has_no_end(tmp_path):
    """A list of as many values as there are numbers, none of which takes a byte."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0]}), path, use_dictionary=False, compression=None)
    content, start = path.read_bytes(), 4
    assert content[start] == 0x15
    for head in (b"\x19\xf1" + b"\xff" * 8 + b"\x01", b"\x15" + b"\xff" * 20, b"\x1c" * 20):
        path.write_bytes(content[:start] + head + content[start + len(head) :])
        with pytest.raises(DataError, match=r"t.parquet, row group 0 is damaged"):
            eigenlens.open(path).read()


def test_stream_whose_message_goes_back(tmp_path):
    path = tmp_path / "t.arrow"
    table = pa.table({"a": [1.0, 2.0]})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    content = path.read_bytes()
    length = struct.pack("<q", 16)  # of the body
    assert content.count(length) > 0
    at = -1
    for _ in range(content.count(length)):
        at = content.index(length, at + 1)
        path.write_bytes(content[:at] + struct.pack("<q", -400) + content[at + 8 :])
        with pytest.raises(DataError, match=r"t.arrow"):
            eigenlens.open(path).read()


@media
@pytest.mark.parametrize("ending", ["mkv", "mpg", "mp4", "gif"])
def test_video_of_anything(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    for seed in range(20):
        path.write_bytes(np.random.default_rng(seed).bytes(2000))
        with pytest.raises(DataError, match=rf"a.{ending} "):
            eigenlens.open(path)


def test_text_that_repeats_in_every_encoding(tmp_path):
    texts = ["a", None, "b", "a"]
    for encoding in ("PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"):
        path = tmp_path / f"{encoding}.parquet"
        table = pa.table({"n": [1.0, 2.0, 3.0, 4.0], "t": texts})
        pq.write_table(table, path, use_dictionary=False, column_encoding={"t": encoding})
        opened = eigenlens.open(path, encode=True)
        assert opened.names == ("n", "t=a", "t=b")
        assert opened.column("t").tolist() == texts
        assert_array_equal(opened.read()[:, 1], [1.0, np.nan, 0.0, 1.0])


# ------------------------------------------------------------------------------ checkpoints


@pytest.fixture
def begun(tmp_path):
    """The folder of a fit that was interrupted, and what takes it up."""
    from tools import fuzz

    (tmp_path / "seeds").mkdir()
    fuzz.of_checkpoints(tmp_path / "seeds")
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, content in pickle.loads((tmp_path / "seeds" / "NMF.folder").read_bytes()).items():
        (folder / name).write_bytes(content)
    return folder, lambda: fuzz.fit("NMF", folder, fuzz.in_blocks)


def test_checkpoint_with_a_generator_beyond_its_state(begun):
    folder, fit = begun
    header = json.loads((folder / "header.json").read_text())
    for spoil in (
        {"draws": header["draws"] | {"state": {**header["draws"]["state"], "pos": 2**30}}},
        {"draws": None},
        {"seed": "x"},
        {"identity": []},
        {"format": None, "identity": 1},
    ):
        (folder / "header.json").write_text(json.dumps(header | spoil))
        with pytest.raises(DataError, match=r"Delete the folder|delete the folder"):
            fit()
    (folder / "header.json").write_text(json.dumps(header))
    fit()


def test_checkpoint_that_names_files_elsewhere(begun, tmp_path):
    """What is in its folder is read, and nothing else."""
    from eigenlens.data.packed import read_packed, write_packed

    folder, fit = begun
    state = read_packed(folder / "state.npz")
    elsewhere = tmp_path / "elsewhere.npz"
    write_packed(elsewhere, [1.0] * 9)
    state["files"] = [[str(elsewhere), count] for _, count in state["files"]]
    write_packed(folder / "state.npz", state)
    with pytest.raises(DataError, match=r"folder.elsewhere.npz is damaged"):
        fit()


def test_checkpoint_that_is_packed_to_burst(begun):
    folder, fit = begun
    with zipfile.ZipFile(folder / "state.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"state.npz"
        archive.writestr("structure.npy", npy(np.zeros(10**6, np.uint8)))
    with pytest.raises(DataError, match=r"state.npz is damaged \(its arrays are packed"):
        fit()


def test_checkpoint_in_which_files_have_changed_places(begun):
    """Each is sound, so that its checksums say nothing."""
    folder, fit = begun
    for file in folder.glob("answers-*.npz"):
        shutil.copy(folder / "state.npz", file)
    with pytest.raises(DataError, match=r"is damaged \(it was written under another name"):
        fit()


# ------------------------------------------------------------------------------ promises


def test_page_names_tests_that_there_are():
    here = Path(__file__).parent
    named = set(re.findall(r"`(test_\w+)`", (here.parent / "docs" / "security.md").read_text()))
    there = {name for file in here.glob("*.py") for name in re.findall(DEFINED, file.read_text())}
    assert len(named) > 30
    assert named - there == set()


DEFINED = re.compile(r"^def (test_\w+)", re.MULTILINE)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_sparse_matrix_whose_last_pointer_says_that_it_is_empty(kind, tmp_path):
    """Of which scipy's own check looks no further."""
    data = np.ones((6, 1, 1)) if kind == "bsr" else np.ones(6)
    given = {"indices": np.arange(6, dtype=np.int32), "data": data, "shape": np.array([6, 6])}
    pointers = np.array([0, 1, 2, 3, 4, 65285, 0], dtype=np.int32)
    path = tmp_path / "matrix.npz"
    np.savez(path, indptr=pointers, format=np.bytes_(kind), _is_array=True, **given)
    with pytest.raises(ValueError, match=r"matrix\.npz"):
        eigenlens.open(path)
