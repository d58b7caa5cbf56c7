"""Every method that fits blocks, on one file: passes, time of a pass, memory."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import ROOT
from benchmarks.machine import disturbance, processor_time, used_by_others
from benchmarks.report import Table

ROWS, COLUMNS, RANK = (100_000, 1_000_000), 100, 5

METHODS = {
    "PCA": "eigenlens.PCA(10)",
    "PCA, randomized": "eigenlens.PCA(10, svd_solver='randomized', random_state=0)",
    "IncrementalPCA": "eigenlens.IncrementalPCA(10)",
    "SparsePCA": "eigenlens.SparsePCA(5, alpha=1000)",
    "StandardScaler": "eigenlens.StandardScaler()",
    "RobustScaler": "eigenlens.RobustScaler()",
    "NMF": "eigenlens.NMF(5, tol=1e-3, max_iter=50)",
    "RobustPCA": "eigenlens.RobustPCA(random_state=0)",
    "KernelPCA, 200 landmarks": (
        "eigenlens.KernelPCA(5, kernel='rbf', gamma=1e-3, approximation='nystrom', "
        "n_landmarks=200, random_state=0)"
    ),
    "VectorQuantizer": "eigenlens.VectorQuantizer(8, random_state=0)",
}
PROGRAM = """
import json, re, sys, time, warnings
import numpy as np, eigenlens
import eigenlens._base, eigenlens.data.tables
from eigenlens.data.blocks import Blocks

warnings.simplefilter("ignore")
eigenlens._base.WHOLE_BYTES = 0
passes, spent = [0], [0.0]


def counted(method):
    def count(self, *args, **given):
        passes[0] += 1
        begin = time.perf_counter()
        try:
            return method(self, *args, **given)
        finally:
            spent[0] += time.perf_counter() - begin

    return count


Blocks.advance, Blocks.sample = counted(Blocks.advance), counted(Blocks.sample)
table = eigenlens.open(sys.argv[1])
tiny = table.take(np.arange(min(2000, table.n_rows)))
eval(sys.argv[2]).fit(tiny)  # compiles what it needs
model, passes[0], spent[0] = eval(sys.argv[2]), 0, 0.0
begin = time.perf_counter()
model.fit(table)
seconds = time.perf_counter() - begin
peak = re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]
told = {"GB": int(peak) / 2**20, "seconds": seconds, "in passes": spent[0], "passes": passes[0]}
print(json.dumps(told))
"""


def make(path, n, d=COLUMNS):
    """Write rows of few parts, with noise and some gross errors, none of it below zero."""
    rng = np.random.default_rng(0)
    parts = rng.random((RANK, d)) ** 4
    header = {"descr": "<f4", "fortran_order": False, "shape": (n, d)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n, 100_000):
            size = min(100_000, n - start)
            X = rng.random((size, RANK)) @ parts + 0.01 * rng.random((size, d))
            X[rng.random(X.shape) < 0.02] += 1.0
            file.write(X.astype(np.float32))


def run(case, options):
    """Fit each method to a small and to a large file."""
    rows, before = [], processor_time()
    for n in (2000,) if options.smoke else ROWS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "table.npy")
            make(path, n)
            rows += [[name, *fitted(code, path, n)] for name, code in METHODS.items()]
    columns = ["method", "rows", "passes", "seconds", "in passes", "us a row and pass", "peak GB"]
    notes = [] if options.smoke else disturbance(used_by_others(before))
    return Table(case.name, f"{case.title}, {COLUMNS} columns, float32", columns, rows, notes)


def fitted(code, path, n):
    """Fit one method in a process of its own; give what is shown of it."""
    told = tell(code, path)
    if "failed" in told:
        return [f"{n:.0e}", "", f"failed: {told['failed']}", "", "", ""]
    each = 1e6 * told["in passes"] / n / max(1, told["passes"])
    return [
        f"{n:.0e}", str(told["passes"]), f"{told['seconds']:.2f}", f"{told['in passes']:.2f}",
        f"{each:.3f}", f"{told['GB']:.2f}",
    ]  # fmt: skip


def tell(code, path):
    """Fit one method in a process of its own; give what it tells, or how it failed."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", PROGRAM, str(path), code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1][:60]}
    return json.loads(done.stdout.splitlines()[-1])
