"""What a Parquet file says of itself, where pyarrow would believe it or end the process."""

import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parquet_bytes import varint

import eigenlens
from eigenlens import DataError
from eigenlens.data.pages import largest_list, row_groups, unpacked_at_once
from eigenlens.data.thrift import BINARY, I32, I64, LIST, STRUCT, Thrift

CODES = {
    "PLAIN": 0,
    "PLAIN_DICTIONARY": 2,
    "RLE": 3,
    "BIT_PACKED": 4,
    "DELTA_BINARY_PACKED": 5,
    "DELTA_BYTE_ARRAY": 7,
    "RLE_DICTIONARY": 8,
    "BYTE_STREAM_SPLIT": 9,
}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "x": rng.normal(size=1000),
            "i": rng.integers(9, size=1000),
            "t": rng.choice(["a", "bc", "ä" * 300], size=1000),
            "b": rng.random(1000) > 0.5,
            "a.b": rng.normal(size=1000),
            "s": [{"u": 1, "v": [1, 2]}] * 1000,
        }
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 300, "compression": "zstd"},
        {"use_dictionary": False, "data_page_version": "2.0", "write_page_index": True},
        {"use_dictionary": ["t"], "column_encoding": {"x": "BYTE_STREAM_SPLIT"}},
        {"data_page_size": 100, "write_batch_size": 10, "write_page_checksum": True},
        {
            "write_statistics": False,
            "store_schema": False,
            "sorting_columns": [pq.SortingColumn(0)],
        },
    ],
)
def test_places_of_pages_are_those_that_pyarrow_reads(table, tmp_path, options):
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, **options)
    metadata = pq.read_metadata(path)
    groups = list(row_groups(path))
    assert len(groups) == metadata.num_row_groups
    for i, group in enumerate(groups):
        known = [metadata.row_group(i).column(j) for j in range(metadata.num_columns)]
        assert len(group) == len(known)
        for chunk, column in zip(group, known, strict=True):
            start = column.data_page_offset
            if column.has_dictionary_page:
                start = column.dictionary_page_offset
            assert chunk.column == column.path_in_schema
            assert (chunk.start, chunk.end) == (start, start + column.total_compressed_size)
            assert chunk.encodings == {CODES[name] for name in column.encodings}
    assert largest_list(path) == 1000


def test_largest_pages_of_each_column_are_added_up(tmp_path):
    path, n = tmp_path / "t.parquet", 5000
    columns = {"a": np.arange(float(n)), "b": np.arange(n, dtype=np.int32)}
    pq.write_table(pa.table(columns), path, use_dictionary=False, compression="zstd")
    (group,) = row_groups(path)
    levels = 7  # bytes, that say that no value is missing
    assert unpacked_at_once(path, group[:1]) == 8 * n + levels
    assert unpacked_at_once(path, group) == 12 * n + 2 * levels
    assert unpacked_at_once(path, []) == 0


# --------------------------------------------------------------------------------------- Thrift


def test_every_type_of_a_structure():
    content = (
        b"\x11"  # field 1, true
        + b"\x12"  # field 2, false
        + b"\x13\x07"  # field 3, a byte
        + b"\x14\x03"  # field 4, -2
        + b"\x15\x80\x01"  # field 5, 64
        + b"\x06\x20\x02"  # field 16, given by its number: 1
        + b"\x17"
        + struct.pack("<d", 0.5)
        + b"\x18\x02ab"
        + b"\x19\x25\x02\x04"  # a list of two numbers
        + b"\x19\xf8\x01\x01z"  # a list whose length is behind its head
        + b"\x1a\x11\x01"  # a set of a truth
        + b"\x1b\x02\x58\x02\x01a\x04\x01b"  # a map of numbers to bytes
        + b"\x1b\x00"  # a map of nothing
        + b"\x1c\x15\x06\x00"  # a structure
        + b"\x00and more"
    )
    reader = Thrift(content)
    found = reader.struct()
    assert content[reader.at :] == b"and more"
    assert found[5, I32] == 64
    assert found[16, I64] == 1
    assert found[4, 4] == -2
    assert found[18, BINARY] == b"ab"
    assert found[19, LIST] == [1, 2]
    assert found[20, LIST] == [b"z"]
    assert found[24, STRUCT] == {(1, I32): 3}
    assert (1, 1) not in found
    with pytest.raises(ValueError, match="field 5 is missing"):
        found[5, I64]  # of another type


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x15",
        b"\x18\x05abcd",
        b"\x19\xf1" + varint(2**60),  # truths
        b"\x19\xf0" + varint(2**60),  # of no type
        b"\x19\xfb" + varint(2**60),  # maps
        b"\x1b" + varint(2**60) + b"\x11",  # from truths to truths
        b"\x1b" + varint(2**60) + b"\x00",
        b"\x1c" * 50,
    ],
)
def test_what_has_no_end_comes_to_the_end(content):
    with pytest.raises(IndexError):
        Thrift(content).struct()


def test_number_without_an_end():
    with pytest.raises(ValueError, match="a number without an end"):
        Thrift(b"\x15" + b"\xff" * 20).struct()


@pytest.mark.parametrize(
    "content", [b"PAR1", b"PAR1" + b"\xff" * 4 + b"PAR1", b"PAR1" + b"\0" * 100]
)
def test_no_parquet_file_has_nothing_to_say(tmp_path, content):
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    assert largest_list(path) == 1000
    with pytest.raises(DataError, match=r"^t.parquet is damaged or cut off \(.*Parquet.*\)"):
        eigenlens.open(path)
