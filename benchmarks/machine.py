"""What the times were measured on, and how quiet it was."""

import os
import platform
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

PACKAGES = (
    "eigenlens", "numpy", "scipy", "scikit-learn", "numba", "scikit-learn-intelex", "abess", "dask",
    "dask-ml", "faiss-cpu", "fbpca", "openTSNE", "pandas", "polars", "pyarrow", "pyrpca", "rpca",
    "tensorly", "umap-learn",
)  # fmt: skip
UNQUOTED = "do not quote these times"


@cache
def describe() -> str:
    """Name the versions and the processor in one line: what times can be compared on."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    found.append(f"{blas['name']} {blas['version']}")
    return f"{', '.join(found)}; {processor()}, {os.cpu_count()} cores."


def processor() -> str:
    """Name the processor."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    return found[1] if found else platform.processor() or platform.machine()


def processor_time() -> np.ndarray:
    """Give the ticks so far of the whole machine, those idle, and those of this program."""
    try:
        ticks = np.array(Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9], float)
    except OSError:
        return np.zeros(3)  # the system does not tell
    t = os.times()
    ours = t.user + t.system + t.children_user + t.children_system
    return np.array([ticks.sum(), ticks[3] + ticks[4], ours * os.sysconf("SC_CLK_TCK")])


def used_by_others(before: np.ndarray) -> float:
    """Give the share of the machine that other programs have used since `before`."""
    total, idle, ours = processor_time() - before
    return max(0.0, 1 - (idle + ours) / total) if total else 0.0


def disturbance(others: float) -> list[str]:
    """Warn of times taken while others were busy: two threads on one free core can cost tenfold."""
    if others <= 0.05:
        return []
    return [f"other programs used {others:.0%} of the machine meanwhile: {UNQUOTED}"]


def forget(path):
    """Let the system drop what it holds of a file in memory."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def remember(path):
    """Read a file once, so that what fits of it is in memory."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 25):
            pass
