"""Import: seconds of ``import eigenlens`` in a fresh interpreter above an empty one."""

import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np

from benchmarks.harness import ROOT
from benchmarks.machine import disturbance, processor_time, used_by_others
from benchmarks.report import Table

TABLES = ("import",)
REPEATS = 11
TARGET = 0.1
MODULES = ("eigenlens", "numpy", "sklearn.decomposition")  # the last two for comparison


def run(options):
    """Import each module in turn; the first round, which fills the caches, does not count."""
    if not options.wants("import"):
        return
    modules = [m for m in MODULES if find_spec(m.partition(".")[0])]
    repeats = 1 if options.smoke else options.repeats or REPEATS
    before = processor_time()
    rounds = [[start(module) for module in (None, *modules)] for _ in range(repeats + 1)]
    others = used_by_others(before)
    empty, *seconds = np.median(rounds[1:], axis=0)
    _, *fastest = np.min(rounds[1:], axis=0) - empty
    rows = [
        [f"import {module}", f"{s - empty:.3f}", f"{f:.3f}"]
        for module, s, f in zip(modules, seconds, fastest, strict=True)
    ]
    notes = [f"to count: eigenlens at most {TARGET} s; an empty interpreter takes {empty:.3f} s"]
    notes += [f"not installed, skipped: {m}" for m in MODULES if m not in modules]
    title = f"seconds above an empty interpreter, median of {repeats}"
    columns = ["what", "seconds", "fastest"]
    yield Table("import", title, columns, rows, notes + disturbance(others))


def start(module):
    """Give the seconds from the start to the end of an interpreter that imports `module`."""
    begin = time.perf_counter()
    code = f"import {module}" if module else "pass"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    return time.perf_counter() - begin
