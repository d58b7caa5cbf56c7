"""Files that were spoiled at random, to see that each is read or refused, and nothing else happens.

``python -m tools.fuzz --minutes 10 --seed 0 --only npy,parquet`` makes small files of every kind
that is read, spoils them again and again, gives each to a process beside this one, and prints what
came of them. That process has little memory; it is replaced when it ends or takes too long. A file
is kept, under the name that is printed, if it ends the process, takes too long or too much memory,
or raises another error than ours.
"""

import argparse
import gzip
import io
import json
import os
import pickle
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

SECONDS = 60  # that a file may take
USED = 2  # that a model may be used for: what was spoiled may be how often it tries
MEMORY = 200_000  # kB that it may take
ROOM = 6 << 30  # bytes of addresses of the process that reads, which are more than its memory
ROWS = 10**7  # after which a table is long enough

TOO_LONG = "takes too long"

Spoil = Callable[[bytes, np.random.Generator, list[bytes]], bytes]

X = np.random.default_rng(0).normal(size=(20, 4)).round(3)

# --------------------------------------------------------------------------------------- seeds


def of_arrays(folder: Path) -> None:
    for dtype in ("f8", "f4", "f2", "i2", "u1", "?", ">f8", "c8", "U3", "M8[s]"):
        name = re.sub(r"\W", "", dtype) + (">" in dtype) * "big"
        np.save(folder / f"{name}.npy", np.abs(X).astype("f8").astype(dtype))
    np.save(folder / "fortran.npy", np.asfortranarray(X))
    np.save(folder / "fields.npy", np.zeros(5, [("a", "f4"), ("b", "i8")]))
    np.save(folder / "cube.npy", X.reshape(4, 5, 4))


def of_archives(folder: Path) -> None:
    from scipy import sparse

    np.savez(folder / "one.npz", X=X)
    np.savez_compressed(folder / "two.npz", X=X, y=X[:, 0])
    for form in ("csr", "csc", "coo", "dia", "bsr"):
        sparse.save_npz(folder / f"{form}.npz", sparse.eye_array(6, format=form))


def of_matrices(folder: Path) -> None:
    from scipy import io as files
    from scipy import sparse

    files.mmwrite(folder / "dense.mtx", X)
    files.mmwrite(folder / "sparse.mtx", sparse.eye_array(6, format="coo"))
    files.mmwrite(folder / "symmetric.mtx", sparse.eye_array(6, format="coo"), symmetry="symmetric")


def of_text(folder: Path) -> None:
    lines = ["a,b,c,d", *(",".join(map(str, row)) for row in X.tolist())]
    text = "\n".join(lines)
    (folder / "plain.csv").write_text(text)
    (folder / "tabs.tsv").write_text(text.replace(",", "\t"))
    (folder / "german.csv").write_text(text.replace(",", ";").replace(".", ","))
    (folder / "headless.csv").write_text("\r\n".join(lines[1:]))
    (folder / "quoted.csv").write_text('"a","b ""c"""\n"1","x\ny"\n2,z\n' + "3,\n" * 5)
    (folder / "marked.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (folder / "packed.csv.gz").write_bytes(gzip.compress(text.encode()))


def columns() -> Any:
    import pyarrow as pa

    n = len(X)
    decimals = pa.array([round(value, 3) for value in X[:, 0]]).cast(pa.decimal128(9, 3))
    return pa.table(
        {
            "a": X[:, 0],
            "b": pa.array(X[:, 1], mask=X[:, 1] > 1),
            "c": pa.array(np.arange(n), pa.int16()),
            "d": pa.array(X[:, 2] > 0),
            "e": pa.array(["x", "y"] * (n // 2)).dictionary_encode(),
            "f": pa.array(["text"] * n),
            "g": decimals,
            "h": pa.array([[1, 2]] * n),
            "i": pa.array([1.5, 2.5] * (n // 2)).dictionary_encode(),
            "j": pa.nulls(n),
            "k": pa.array(np.arange(n), pa.timestamp("s")),
            "l": pa.array(X[:, 3].astype("f2")),
        }
    )


def of_parquet(folder: Path) -> None:
    import pyarrow.parquet as pq

    for codec in ("none", "snappy", "gzip", "zstd", "lz4", "brotli"):
        pq.write_table(columns(), folder / f"{codec}.parquet", compression=codec, row_group_size=8)
    plain = {"use_dictionary": False, "data_page_version": "2.0", "write_page_checksum": True}
    pq.write_table(columns().select(["a", "b", "c"]), folder / "plain.parquet", **plain)
    coded = {"a": "BYTE_STREAM_SPLIT", "c": "DELTA_BINARY_PACKED", "f": "DELTA_BYTE_ARRAY"}
    some = columns().select(list(coded))
    pq.write_table(some, folder / "coded.parquet", use_dictionary=False, column_encoding=coded)


def of_arrow(folder: Path) -> None:
    import pyarrow as pa

    for codec in (None, "lz4", "zstd"):
        options = pa.ipc.IpcWriteOptions(compression=codec)
        for form, make in (("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream)):
            path = str(folder / f"{form}-{codec}.arrow")
            schema = columns().schema
            with pa.OSFile(path, "wb") as file, make(file, schema, options=options) as writer:
                writer.write_table(columns(), max_chunksize=8)


def of_images(folder: Path) -> None:
    from PIL import Image

    pixels = (np.random.default_rng(0).random((9, 11, 3)) * 255).astype(np.uint8)
    for ending in ("png", "jpg", "tif", "bmp", "webp", "ppm"):
        Image.fromarray(pixels).save(folder / f"colour.{ending}")
    for ending in ("png", "jpg", "tif", "pgm"):
        Image.fromarray(pixels[:, :, 0]).save(folder / f"grey.{ending}")
    Image.fromarray(pixels.astype(np.int32)[:, :, 0]).save(folder / "whole.tif")
    Image.fromarray(pixels).save(folder / "lzw.tif", compression="tiff_lzw")
    Image.fromarray(pixels).quantize(8).save(folder / "palette.png")


def of_videos(folder: Path) -> None:
    import av

    kinds = {
        "a.mp4": ("libx264", "yuv420p"),
        "a.mkv": ("ffv1", "gray"),
        "a.avi": ("mpeg4", "yuv420p"),
        "a.gif": ("gif", "rgb8"),
        "a.mpg": ("mpeg1video", "yuv420p"),
    }
    frames = (np.random.default_rng(0).random((4, 16, 16, 3)) * 255).astype(np.uint8)
    for name, (codec, pixels) in kinds.items():
        with av.open(str(folder / name), "w") as container:
            stream = container.add_stream(codec, 25)
            stream.width = stream.height = 16
            stream.pix_fmt = pixels
            for frame in frames:
                container.mux(stream.encode(av.VideoFrame.from_ndarray(frame)))
            container.mux(stream.encode())


def of_models(folder: Path) -> None:
    for path in Path(__file__).parents[1].glob("tests/golden/*.skops"):
        shutil.copy(path, folder)


def of_checkpoints(folder: Path) -> None:
    """Interrupt fits; their folders are one file each, which `read` unpacks."""
    from eigenlens.data import checkpoint

    for name, blocks in {"PCA": 4, "NMF": 30}.items():
        with (
            tempfile.TemporaryDirectory() as place,
            mock.patch.multiple(checkpoint, PAUSE=0, SHARE=0),
        ):
            try:
                fit(name, Path(place, "folder"), lambda array, n=blocks: interrupted(array, n))
            except KeyboardInterrupt:
                parts = {file.name: file.read_bytes() for file in Path(place, "folder").iterdir()}
                (folder / f"{name}.folder").write_bytes(pickle.dumps(parts))


def fit(name: str, folder: Path, table: Any) -> None:
    import eigenlens

    method = {"PCA": eigenlens.PCA, "NMF": eigenlens.NMF}[name]
    start = np.random.RandomState(3)
    method(n_components=2, random_state=start).fit(table(np.abs(X)), checkpoint=folder)


def in_blocks(array: Any) -> Any:
    """Return a table that is fitted in blocks, as if it were large."""
    from eigenlens.data.blocks import ArrayBlocks

    table = ArrayBlocks(array)
    table.nbytes, table._rows = 1 << 40, 3
    return table


def interrupted(array: Any, blocks: int) -> Any:
    """Return the same table, which a fit cannot read any further after so many blocks."""
    from eigenlens.data.blocks import ArrayBlocks

    left = iter(range(blocks))

    class Interrupting(ArrayBlocks):
        def blocks_from(self, i: int) -> Iterator[Any]:
            for block in super().blocks_from(i):
                if next(left, None) is None:
                    raise KeyboardInterrupt
                yield block

    table = in_blocks(array)
    table.__class__ = Interrupting
    return table


# ----------------------------------------------------------------------------------- mutations

EDGES = [0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF]
NUMBERS = [0, 1, 2, 7, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1]
TOKENS = [b"", b",", b";", b'"', b"\n", b"\r", b"\0", b"\xff", b"nan", b"1e999", b"-", b"9" * 400]
TOKENS += [b"'", b"=1+1", b"\xef\xbb\xbf", b"\t", b"a" * 5000, b"1,5", b"\xf0\x9f\x98\x80", b"\xc3"]


def bytewise(content: bytes, rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    """Return the content after one to four small accidents anywhere."""
    made = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        _accident(made, rng, seeds)
    return bytes(made)


def _accident(made: bytearray, rng: np.random.Generator, seeds: list[bytes]) -> None:
    at = int(rng.integers(len(made) + 1))
    length = int(min(2 ** rng.integers(0, 10), len(made) - at))
    kind = rng.integers(9)
    if kind == 0 and at < len(made):
        made[at] ^= 1 << rng.integers(8)
    elif kind == 1 and at < len(made):
        made[at] = rng.choice(EDGES)
    elif kind == 2:
        width, order = rng.choice([2, 4, 8]), rng.choice(["<", ">"])
        value = int(NUMBERS[rng.integers(len(NUMBERS))]) & (256 ** int(width) - 1)
        made[at : at + width] = value.to_bytes(width, "little" if order == "<" else "big")
    elif kind == 3:
        del made[at:]
    elif kind == 4:
        del made[at : at + length]
    elif kind == 5:
        made[at:at] = rng.bytes(length)
    elif kind == 6:
        made[at:at] = made[at : at + length]
    elif kind == 7:
        other = seeds[rng.integers(len(seeds))]
        made[at:] = other[int(rng.integers(len(other) + 1)) :]
    else:
        made[at : at + length] = made[: len(made) - at][:length]


def in_header(content: bytes, rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    """Return an NPY file whose header says something else, at a length that fits."""
    version, size = content[6], struct.unpack("<H", content[8:10])[0]
    header, rest = content[10 : 10 + size].decode("latin-1"), content[10 + size :]
    odd = [
        "0",
        "-1",
        "1e5",
        "10**9",
        "True",
        "None",
        "()",
        "{}",
        "'O'",
        "'|V0'",
        "'<f4'",
        "('<f8',)",
    ]
    odd += ["9" * 30, "-" * 50 + "1", "(" * 60, "[('a','<f8'),('a','<f8')]", "'<M8[s]'", "2", "'U'"]
    tokens = list(re.finditer(r"'[^']*'|\d+|True|False|[(),{}:]", header))
    for _ in range(rng.integers(1, 3)):
        token = tokens[rng.integers(len(tokens))]
        header = header[: token.start()] + str(rng.choice(odd)) + header[token.end() :]
        tokens = list(re.finditer(r"'[^']*'|\d+|True|False|[(),{}:]", header)) or tokens[:1]
    version = int(rng.choice([version, 1, 2, 3]))
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return content[:6] + bytes([version, 0]) + length + header.encode("latin-1") + rest


def in_text(content: bytes, rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    """Return text with odd signs and cells in it; packed text is unpacked for it."""
    if content[:2] == b"\x1f\x8b":
        return gzip.compress(in_text(gzip.decompress(content), rng, seeds))
    made = content
    for _ in range(rng.integers(1, 6)):
        at, length = int(rng.integers(len(made) + 1)), int(rng.choice([0, 0, 1, 5]))
        made = made[:at] + TOKENS[rng.integers(len(TOKENS))] + made[at + length :]
    return made


def in_directory(content: bytes, rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    """Return a zip archive with another number in the head of a member or in the directory."""
    made = bytearray(content)
    marks = [match.start() for match in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06)", content)]
    if not marks:
        return bytewise(content, rng, seeds)
    at = marks[rng.integers(len(marks))] + int(rng.integers(4, 46))
    width = int(rng.choice([1, 2, 4]))
    value = int(NUMBERS[rng.integers(len(NUMBERS))]) & (256**width - 1)
    made[at : at + width] = value.to_bytes(width, "little")
    return bytes(made)


def in_members(content: bytes, rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    """Return a zip archive, sound as such, with a member that is not."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = list(parts)[rng.integers(len(parts))]
    part = parts[name]
    if part[:2] == b"PK":
        spoil: Spoil = in_members
    elif part[:6] == b"\x93NUMPY":
        spoil = [in_header, bytewise, in_values][rng.integers(3)]
    else:
        spoil = [bytewise, in_text][rng.integers(2)]
    parts[name] = spoil(part, rng, list(parts.values()))
    return _zipped(parts, rng)


def in_values(content: bytes, rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    """Return an array of another shape, of another kind, or with odd numbers."""
    array = np.load(io.BytesIO(content))
    change = rng.integers(4) if array.dtype.kind in "fiub" else 3
    if change == 0:
        array = np.resize(array, tuple(rng.integers(0, 7, size=rng.integers(0, 4))))
    elif change == 1:
        array = array.astype(rng.choice(["f8", "f4", "i8", "i4", "u1", "c16", "S3", "?"]))
    elif change == 2 and array.size:
        array = array.copy()
        odd = [0, -1, 1e300, np.nan, np.inf, 2**31, 2**62, -(2**31)]
        with np.errstate(all="ignore"):
            array.flat[rng.integers(array.size)] = np.array(odd[rng.integers(8)]).astype(
                array.dtype
            )
    else:
        array = array.T
    made = io.BytesIO()
    np.save(made, array)
    return made.getvalue()


def _zipped(parts: dict[str, bytes], rng: np.random.Generator) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", int(rng.choice([0, 8]))) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return made.getvalue()


def in_schema(content: bytes, rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    """Return a model file with nodes of its schema that are others, elsewhere, or gone."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(parts["schema.json"])
    for _ in range(rng.integers(1, 4)):
        places = list(_places(schema))
        holder, key = places[rng.integers(len(places))]
        other, name = places[rng.integers(len(places))]
        odd: list[Any] = [None, 0, -1, 1e308, 2**70, "", "os.system", "\n", [], {}, True, "[1]"]
        odd += ["NdArrayNode", "ObjectNode", "DictNode", "JsonNode", "null", "624", "NaN", "1e9"]
        change = rng.integers(4)
        if change == 0:
            holder[key] = odd[rng.integers(len(odd))]
        elif change == 1:
            holder[key] = json.loads(json.dumps(other[name]))
        elif change == 2 and isinstance(holder, dict):
            del holder[key]
        else:
            holder[key], other[name] = (
                json.loads(json.dumps(other[name])),
                json.loads(json.dumps(holder[key])),
            )
    parts["schema.json"] = json.dumps(schema).encode()
    return _zipped(parts, rng)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a tree of JSON: what holds it, and its key there."""
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(part, dict | list):
            yield from _places(part)


def at_the_end(content: bytes, rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    """Return a file whose last part, where Parquet and Arrow say what it holds, is spoiled."""
    length = int(struct.unpack("<I", content[-8:-4])[0])
    start = max(0, len(content) - 8 - length) if length < len(content) else len(content) // 2
    made = bytearray(content[start:-8])
    for _ in range(rng.integers(1, 4)):
        if made:
            made[rng.integers(len(made))] = rng.choice([*EDGES, rng.integers(256)])
    return content[:start] + bytes(made) + content[-8:]


def in_chunks(content: bytes, rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    """Return a PNG file with chunks that are spoiled, but have the right checksums."""
    if content[:4] != b"\x89PNG":
        return bytewise(content, rng, seeds)
    made, at = content[:8], 8
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        body = content[at + 4 : at + 8 + length]
        if rng.random() < 0.4:
            body = body[:4] + bytewise(body[4:], rng, seeds)[: 2**12]
        made += struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
        at += 12 + length
    return made


def in_folder(content: bytes, rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    parts = pickle.loads(content)
    name = list(parts)[rng.integers(len(parts))]
    parts[name] = bytewise(parts[name], rng, list(parts.values()))
    return pickle.dumps(parts)


# ---------------------------------------------------------------------------------------- kinds


@dataclass(frozen=True)
class Kind:
    """Files of one kind: what makes the seeds, and how they are spoiled."""

    make: Callable[[Path], None]
    spoils: tuple[Spoil, ...] = (bytewise,)


KINDS = {
    "npy": Kind(of_arrays, (bytewise, in_header)),
    "npz": Kind(of_archives, (bytewise, in_directory, in_members, in_members)),
    "mtx": Kind(of_matrices, (bytewise, in_text)),
    "csv": Kind(of_text, (bytewise, in_text, in_text)),
    "parquet": Kind(of_parquet, (bytewise, at_the_end)),
    "arrow": Kind(of_arrow, (bytewise, at_the_end)),
    "image": Kind(of_images, (bytewise, in_chunks)),
    "video": Kind(of_videos),
    "model": Kind(of_models, (bytewise, in_directory, in_members, in_schema, in_schema)),
    "checkpoint": Kind(of_checkpoints, (in_folder,)),
}


def seeds_of(kind: str, folder: Path) -> dict[str, bytes]:
    """Return good files of a kind by their names; none if what makes them is not installed."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        KINDS[kind].make(folder)
    except ImportError:
        return {}
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# --------------------------------------------------------------------------------- the one beside


def read(kind: str, path: Path) -> str:
    """Read a file as a user would; return what came of it."""
    import eigenlens

    if kind == "model":
        model = eigenlens.load(path)
        print(json.dumps("loaded"), flush=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for method in ("transform", "inverse_transform"):
                try:
                    getattr(model, method)(np.abs(X) if method == "transform" else X[:, :2])
                except Exception as error:  # of numbers that are others, which nobody can know
                    return f"loaded, {method}: {type(error).__name__}"
        return "loaded"
    if kind == "checkpoint":
        parts = pickle.loads(path.read_bytes())
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "folder")
            folder.mkdir()
            for name, content in parts.items():
                (folder / name).write_bytes(content)
            fit(path.name.split(".")[0], folder, in_blocks)
        return "fitted"
    rows = 0
    table = eigenlens.open(path.parent if kind == "image" else path, encode=kind != "image")
    for block in table:
        rows += block.shape[0]
        if rows > ROWS:
            break
    if rows < 10**4:
        table.read()
    return f"read {rows}"


def serve() -> None:
    """Read the files that are named on standard input, and say of each what came of it."""
    import resource

    from sklearn.exceptions import InconsistentVersionWarning

    import eigenlens
    from eigenlens.ops.memory import reset_peak, resident
    from eigenlens.persist import ModelFileError

    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", InconsistentVersionWarning)  # of a number that was spoiled
    warnings.simplefilter("ignore", ResourceWarning)
    for line in sys.stdin:
        kind, path = json.loads(line)
        before, start = reset_peak() or 0, time.monotonic()
        try:
            verdict = read(kind, Path(path))
        except (eigenlens.DataError, ModelFileError) as error:
            verdict = "refused" if "\n" not in str(error) else f"several lines: {error}"
        except BaseException as error:
            verdict = f"{type(error).__name__}: {error}"
        peak = resident("VmHWM") - before if before else 0
        print(json.dumps([verdict, time.monotonic() - start, peak]), flush=True)


class Reader:
    """The process beside this one that reads; made anew when it has ended."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def read(self, kind: str, path: Path) -> tuple[str, float, int]:
        """Return what came of a file, the seconds that it took, and the memory in kB."""
        if self.process is None:
            environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([kind, str(path)]).encode() + b"\n")
        self.process.stdin.flush()
        loaded = False
        while True:
            seconds = USED if loaded else SECONDS
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                self.end()
                return ("loaded, without end" if loaded else TOO_LONG), seconds, 0
            line = self.process.stdout.readline()
            if not line:
                code = self.process.wait()
                self.end()
                name = signal.Signals(-code).name if code < 0 else f"exit {code}"
                return f"ended by {name}", 0.0, 0
            if (answer := json.loads(line)) == "loaded":
                loaded = True
                continue
            verdict, seconds, peak = answer
            return verdict, seconds, peak

    def end(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


# ------------------------------------------------------------------------------------- the run


@dataclass
class Tally:
    """What came of the files of one kind."""

    counts: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    peak: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        return sum(self.counts.values())

    def add(self, verdict: str, seconds: float, peak: int) -> bool:
        """Count a file; return whether it did what no file may."""
        self.slowest, self.peak = max(self.slowest, seconds), max(self.peak, peak)
        good = verdict.split()[0].rstrip(",") in ("refused", "read", "loaded", "fitted")
        fault = not good or peak > MEMORY
        self.counts["fault" if fault else "refused" if verdict == "refused" else "read"] += 1
        return fault

    def __str__(self) -> str:
        counts = "".join(f"{self.counts[name]:9d}" for name in ("refused", "read", "fault"))
        return f"{self.tried:8d}{counts}{self.slowest:9.2f}{self.peak / 1e3:9.0f}"


def run(
    kinds: list[str],
    seed: int,
    folder: Path,
    *,
    seconds: float = np.inf,
    files: float = np.inf,
) -> dict[str, Tally]:
    """Spoil files of these kinds in turn, until the time is over or each had its number of files.

    Files that did harm are kept in `folder`.
    """
    rng, end, found = np.random.default_rng(seed), time.monotonic() + seconds, {}
    reader = Reader()
    with tempfile.TemporaryDirectory() as place:
        seeds = {kind: seeds_of(kind, Path(place, "seeds", kind)) for kind in kinds}
        found = {kind: Tally() for kind in kinds if seeds[kind]}
        for kind in found:  # what is not spoiled must do no harm
            for name, content in seeds[kind].items():
                _try(reader, found[kind], kind, name, content, Path(place), folder)
        while time.monotonic() < end and any(tally.tried < files for tally in found.values()):
            for kind, tally in found.items():
                if tally.tried >= files:
                    continue
                names = list(seeds[kind])
                name = names[rng.integers(len(names))]
                spoil = KINDS[kind].spoils[rng.integers(len(KINDS[kind].spoils))]
                made = spoil(seeds[kind][name], rng, list(seeds[kind].values()))
                _try(reader, tally, kind, name, made, Path(place), folder)
    reader.end()
    return found


def _try(
    reader: Reader,
    tally: Tally,
    kind: str,
    name: str,
    content: bytes,
    place: Path,
    folder: Path,
) -> None:
    file = place / "one" / name
    shutil.rmtree(file.parent, ignore_errors=True)
    file.parent.mkdir()
    file.write_bytes(content)
    verdict, seconds, peak = reader.read(kind, file)
    if verdict == TOO_LONG:  # the machine may have been busy
        verdict, seconds, peak = reader.read(kind, file)
    if tally.add(verdict, seconds, peak):
        folder.mkdir(parents=True, exist_ok=True)
        kept = folder / f"{kind}-{tally.tried}-{name}"
        kept.write_bytes(content)
        tally.faults.append(f"{kept}: {verdict} ({seconds:.1f} s, {peak / 1e3:.0f} MB)")
        print(tally.faults[-1][:300], flush=True)


def main() -> int:
    """Run by the clock, print the counts; return 1 if a file did harm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(KINDS), help="kinds, with commas between")
    parser.add_argument("--keep", type=Path, default=Path("fuzz"), help="folder of harmful files")
    parser.add_argument("--read", nargs=2, metavar=("KIND", "FILE"), help="read one file, here")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return 0
    if given.read:
        kind, file = given.read
        print(read(kind, Path(file)))
        return 0
    found = run(given.only.split(","), given.seed, given.keep, seconds=60 * given.minutes)
    heads = ("tried", "refused", "read", "fault", "slowest", "peak MB")
    print(f"{'':12s}{heads[0]:>8s}" + "".join(f"{head:>9s}" for head in heads[1:]))
    for kind, tally in found.items():
        print(f"{kind:12s}{tally}")
    return int(any(tally.faults for tally in found.values()))


if __name__ == "__main__":
    sys.exit(main())
