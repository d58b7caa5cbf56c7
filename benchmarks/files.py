"""Files: `eigenlens fit pca` on tables too large to be read whole, against the reading alone.

Each contestant is a whole process, imports included, and its memory is all that it holds. The floor
does nothing but read.
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
import pyarrow.csv
import pyarrow.parquet

from benchmarks.harness import ROOT
from benchmarks.machine import disturbance, processor_time, used_by_others
from benchmarks.score import Line, Race

REPEATS = 5
K = 10
COLUMNS = 50
BATCH = 50_000
LIMITS = {"variance error": 1e-12}

MEMORY = """
import json, re
peak = re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]
print(json.dumps({"MB": int(peak) / 1024, "variances": list(map(float, variances))}))
"""
DRAIN = {
    ".csv": """
import sys, pyarrow.csv
for batch in pyarrow.csv.open_csv(sys.argv[1]): pass
variances = []
""",
    ".parquet": """
import sys, pyarrow.parquet
for batch in pyarrow.parquet.ParquetFile(sys.argv[1]).iter_batches(): pass
variances = []
""",
}
OURS = f"""
import io, json, sys
from eigenlens.cli import app
from eigenlens.cli._run import run
sys.stdout, out = io.StringIO(), sys.stdout
assert not run(app, ["fit", "pca", sys.argv[1], "--n-components", "{K}", "--json"])
sys.stdout, said = out, sys.stdout
variances = json.loads(said.getvalue())["explained_variance"]
"""
WHOLE = """
import sys, {package}
from sklearn.decomposition import PCA
table = {package}.{read}(sys.argv[1])
variances = PCA({k}).fit(table.to_numpy()).explained_variance_
"""


class Case(NamedTuple):
    """A file to be made and read."""

    name: str
    title: str
    ending: str
    rows: int


CASES = (
    Case("csv", f"1 000 000 x {COLUMNS} as CSV", ".csv", 1_000_000),
    Case("parquet", f"5 000 000 x {COLUMNS} as Parquet, 2 GB", ".parquet", 5_000_000),
)


def contestants(ending):
    """Give the programs by name; the first is the floor."""
    read = {".csv": "read_csv", ".parquet": "read_parquet"}[ending]
    reader = {".csv": "pyarrow.csv.open_csv", ".parquet": "ParquetFile.iter_batches"}[ending]
    peers = {
        f"{package} + scikit-learn": WHOLE.format(package=package, read=read, k=K)
        for package in ("pandas", "polars")
    }
    return {f"floor: {reader}": DRAIN[ending], "eigenlens fit pca": OURS, **peers}


def make(path, rows):
    """Write a table of independent columns; give the variances of its principal axes."""
    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(COLUMNS)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    writer = pa.csv.CSVWriter if path.suffix == ".csv" else pa.parquet.ParquetWriter
    sums, squares = np.zeros(COLUMNS), np.zeros((COLUMNS, COLUMNS))
    with writer(str(path), schema) as sheet:
        for start in range(0, rows, BATCH):
            size = min(BATCH, rows - start), COLUMNS
            X = (rng.standard_normal(size) * np.linspace(3, 1, COLUMNS)).round(6)
            sums += X.sum(axis=0)
            squares += X.T @ X  # means are near 0: nothing cancels
            columns = [pa.array(np.ascontiguousarray(column)) for column in X.T]
            sheet.write_table(pa.table(columns, schema=schema))
    covariance = (squares - np.outer(sums, sums) / rows) / (rows - 1)
    return np.linalg.eigvalsh(covariance)[::-1][:K]


def measure(code, path):
    """Run a program on a file; give its seconds, peak memory and variances."""
    begin = time.perf_counter()
    command = [sys.executable, "-W", "ignore", "-c", code + MEMORY, str(path)]
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, cwd=path.parent, env=env, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout) | {"seconds": time.perf_counter() - begin}


def run(options):
    """Make each file, let the programs take turns on it, sum up."""
    for case in CASES:
        if not options.wants(case.name):
            continue
        repeats = 1 if options.smoke else options.repeats or REPEATS
        programs = contestants(case.ending)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"table{case.ending}")
            truth = make(path, 1000 if options.smoke else case.rows)
            size = path.stat().st_size / 1e6
            before = processor_time()
            runs = {name: [] for name in programs}
            for _ in range(repeats):
                for name, code in programs.items():
                    runs[name].append(measure(code, path))
            others = used_by_others(before)
        yield summed(case, runs, truth, size, [] if options.smoke else disturbance(others))


def summed(case, runs, truth, size, notes):
    """Sum up the runs on one file."""
    lines = [line_of(name, each, truth, floor=not i) for i, (name, each) in enumerate(runs.items())]
    title = f"{case.title}, {size:.0f} MB, {K} components"
    return Race(case.name, title, tuple(lines), LIMITS, tuple(notes), "PCA of a file")


def line_of(name, runs, truth, floor):
    """Sum up the runs of one program."""
    seconds = [run["seconds"] for run in runs]
    found = np.array([run["variances"] for run in runs])
    error = {} if floor else {"variance error": float(np.abs(found / truth - 1).max())}
    return Line(
        name,
        floor=floor,
        seconds=float(np.median(seconds)),
        fastest=min(seconds),
        MB=max(run["MB"] for run in runs),
        measures=error,
    )
