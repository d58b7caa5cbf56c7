"""Past memory: PCA of tables on disk and on a Dask cluster, against the bare loop and the peers.

Files are read in blocks. The floor is the least that can be done: read a block into one buffer,
`B.T @ B`, add it up. Cold: the system has forgotten the file, so that the disk is read; warm: what
fits of it is in memory. Each run is a process of its own; peak memory includes the imports.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from benchmarks import scale_dask, scale_methods, scale_model
from benchmarks.harness import ROOT
from benchmarks.machine import disturbance, forget, processor_time, remember, used_by_others
from benchmarks.report import Table

REPEATS = 3
K = 10
BATCH = 1 << 25  # bytes made and written at once

TELL = """
import json, re
peak = re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]
print(json.dumps({"GB": int(peak) / 2**20, "seconds": seconds, "variances": list(map(float, v))}))
"""
FLOOR = {
    ".npy": """
import sys, time
import numpy as np
begin = time.perf_counter()
table = np.load(sys.argv[1], mmap_mode="r")
n, d = table.shape
block = np.empty((2**25 // (4 * d), d), np.float32)
products = np.zeros((d, d), np.float32)
with open(sys.argv[1], "rb") as file:
    file.seek(table.offset)
    while size := file.readinto(block):
        B = block[: size // (4 * d)]
        products += B.T @ B
seconds, v = time.perf_counter() - begin, []
""",
    ".parquet": """
import sys, time
import numpy as np, pyarrow.parquet
begin = time.perf_counter()
file = pyarrow.parquet.ParquetFile(sys.argv[1])
products = 0
for group in range(file.num_row_groups):
    table = file.read_row_group(group)
    B = np.column_stack([column.to_numpy() for column in table.columns])
    products += B.T @ B
seconds, v = time.perf_counter() - begin, []
""",
}
OURS = f"""
import sys, time
import numpy as np, eigenlens
eigenlens.PCA({K}).fit(np.random.default_rng(0).normal(size=(999, 99)).astype(np.float32))
eigenlens.open(sys.argv[1])
begin = time.perf_counter()
v = eigenlens.PCA({K}).fit(eigenlens.open(sys.argv[1])).explained_variance_
seconds = time.perf_counter() - begin
"""


class Case(NamedTuple):
    """Files to be made and read; `rows` are several where the time for a row is the question."""

    name: str
    title: str
    ending: str = ""
    rows: tuple[int, ...] = ()
    columns: int = 0


CASES = (
    Case("npy", "float32, 500 columns, NPY", ".npy", (5_000_000,), 500),
    Case("parquet", "float32, 500 columns, Parquet", ".parquet", (3_000_000,), 500),
    Case("rows", "float32, 100 columns, NPY", ".npy", (10**4, 10**5, 10**6, 10**7), 100),
    Case("dask", "LocalCluster of 2 processes"),
    Case("workers", "LocalCluster of 1 and 2 processes of one thread"),
    Case("methods", "every method that fits blocks, one NPY file"),
    Case("model", "a model of time, what was measured and what is computed, float32"),
)
ELSEWHERE = {
    "dask": scale_dask.run,
    "workers": scale_dask.run_workers,
    "methods": scale_methods.run,
    "model": scale_model.run,
}


def run(options):
    """Run the chosen cases, giving each table as soon as it is there."""
    for case in CASES:
        if not options.wants(case.name):
            continue
        yield ELSEWHERE.get(case.name, run_files)(case, options)


def run_files(case, options):
    """Make the files of a case, let the programs take turns, tabulate."""
    repeats = 1 if options.smoke else options.repeats or REPEATS
    sizes = [n // 1000 for n in case.rows[:2]] if options.smoke else case.rows
    names = {"floor: read a block, B.T @ B": FLOOR[case.ending], "eigenlens": OURS}
    rows, others = [], []
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"table{case.ending}")
            truth = make(path, n, case.columns)
            before = processor_time()
            runs = {name: {"cold": [], "warm": []} for name in names}
            for turn in range(repeats):
                for how in ("cold", "warm"):
                    # whoever comes first may find the disk slower than the one after
                    for name, code in list(names.items())[:: (-1) ** turn]:
                        (forget if how == "cold" else remember)(path)
                        runs[name][how].append(measure(code, path))
            others.append(used_by_others(before))
            rows += tabulate(n, path.stat().st_size, runs, truth)
    columns = ["program", "rows", "GB", "cold s", "warm s", "cold / floor", "warm / floor",
               "warm us a row", "peak GB", "variance error"]  # fmt: skip
    notes = [] if options.smoke else disturbance(max(others))
    return Table(case.name, f"{case.title}, PCA, {K} components", columns, rows, notes)


def make(path, n, d):
    """Write a table of independent columns; give the variances of its principal axes."""
    rng = np.random.default_rng(0)
    deviations = np.linspace(3, 1, d, dtype=np.float32)
    sums, squares = np.zeros(d), np.zeros((d, d))
    size = BATCH // (4 * d)

    def blocks():
        nonlocal sums, squares
        for start in range(0, n, size):
            B = rng.standard_normal((min(size, n - start), d), dtype=np.float32) * deviations
            sums += B.sum(axis=0, dtype=np.float64)
            squares += B.T @ B  # means are near 0: nothing cancels
            yield B

    write = {".npy": write_npy, ".parquet": write_parquet}[path.suffix]
    write(path, blocks(), (n, d))
    covariance = (squares - np.outer(sums, sums) / n) / (n - 1)
    return np.linalg.eigvalsh(covariance)[::-1][:K]


def write_npy(path, blocks, shape):
    """Write blocks one after the other behind the header."""
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks:
            file.write(block)


def write_parquet(path, blocks, shape):
    """Write blocks as row groups, without compression: these numbers have nothing to compress."""
    schema = pa.schema([(f"c{j}", pa.float32()) for j in range(shape[1])])
    settings = {"compression": "none", "use_dictionary": False}
    with pa.parquet.ParquetWriter(str(path), schema, **settings) as sheet:
        for block in blocks:
            columns = [pa.array(np.ascontiguousarray(column)) for column in block.T]
            sheet.write_table(pa.table(columns, schema=schema))


def measure(code, path):
    """Run a program on a file; give its seconds, peak memory and variances."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-W", "ignore", "-c", code + TELL, str(path)]
    done = subprocess.run(
        command, cwd=path.parent, env=env, capture_output=True, text=True, check=True
    )
    time.sleep(0.2)
    return json.loads(done.stdout)


def tabulate(n, size, runs, truth):
    """Give the rows of one file."""
    seconds = {
        name: {how: np.median([run["seconds"] for run in each]) for how, each in both.items()}
        for name, both in runs.items()
    }
    floor = next(iter(seconds.values()))
    for name, both in runs.items():
        own, every = seconds[name], [*both["cold"], *both["warm"]]
        found = np.array([run["variances"] for run in every])
        error = f"{np.abs(found / truth - 1).max():.0e}" if found.size else ""
        peak = max(run["GB"] for run in every)
        yield [
            name, f"{n:.0e}", f"{size / 1e9:.2f}", f"{own['cold']:.2f}", f"{own['warm']:.2f}",
            f"{own['cold'] / floor['cold']:.2f}", f"{own['warm'] / floor['warm']:.2f}",
            f"{1e6 * own['warm'] / n:.3f}", f"{peak:.2f}", error,
        ]  # fmt: skip
