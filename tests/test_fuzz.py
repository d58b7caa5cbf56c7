"""Files that were spoiled at random are read or refused in one sentence; nothing else happens.

For longer runs there is ``python -m tools.fuzz``.
"""

import sys

import pytest

from tools import fuzz

FILES = 50  # of each kind


@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="the process that reads is held by RLIMIT_AS and measured by /proc, which Linux has",
)
def test_spoiled_files_do_no_harm(tmp_path):
    found = fuzz.run(list(fuzz.KINDS), 20, tmp_path / "kept", files=FILES)
    assert {"npy", "npz", "mtx", "csv", "parquet", "arrow", "model", "checkpoint"} <= found.keys()
    for kind, tally in found.items():
        assert tally.faults == [], kind
        assert tally.tried >= FILES
        assert tally.counts["refused"] > FILES / 10, f"{kind}: hardly any was spoiled"
        assert tally.counts["read"] > 0, f"{kind}: none was read"


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_spoiled_files_are_the_same_for_the_same_seed(kind, tmp_path):
    import numpy as np

    seeds = fuzz.seeds_of(kind, tmp_path)
    if not seeds:
        pytest.skip(f"no {kind} can be made without Pillow and PyAV, of the extra media")
    content = next(iter(seeds.values()))
    for spoil in fuzz.KINDS[kind].spoils:
        one, two = (spoil(content, np.random.default_rng(3), [content]) for _ in range(2))
        assert one == two
        assert any(
            spoil(content, np.random.default_rng(seed), [content]) != content for seed in range(5)
        )


def test_harm_is_seen(tmp_path, monkeypatch):
    """A fuzzer that calls every file good would be quiet too."""
    tally = fuzz.Tally()
    assert not tally.add("refused", 0.1, 10)
    assert not tally.add("read 20", 0.1, 10)
    assert not tally.add("loaded, transform: ValueError", 0.1, 10)
    assert tally.add("KeyError: 'a'", 0.1, 10)
    assert tally.add("ended by SIGSEGV", 0.0, 0)
    assert tally.add("takes too long", 60.0, 0)
    assert tally.add("read 20", 0.1, 10**6)
    assert dict(tally.counts) == {"refused": 1, "read": 2, "fault": 4}
    reader = fuzz.Reader()
    file = tmp_path / "NMF.folder"
    file.write_bytes(b"cos\nabort\n(tR.")  # which the fuzzer, unlike us, unpickles
    assert reader.read("checkpoint", file)[0] == "ended by SIGABRT"
    file.write_bytes(b"no pickle")
    assert reader.read("checkpoint", file)[0].startswith("UnpicklingError")
    reader.end()
