"""What is run, and how it is timed.

Every run of a contestant is a process of its own (`benchmarks.worker`), because thread pools left
behind by one library slow the next one down several times. Contestants take turns, so that a busy
minute of the machine hits all of them. Each runs at one BLAS thread and at one a core, goes on at
the better, and leaves after a quarter of a minute: what takes long needs no fifth digit, and a
comparison that takes a night is made by nobody. Then come processes that begin cold, with the first
fit at once: one with numba's cache empty, so that loops are compiled, and where there were any,
others that find them there. Answers are judged after the last run, never in between.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import joblib
import numpy as np
import scipy.sparse as sp

from benchmarks.machine import processor_time, used_by_others
from benchmarks.report import Table
from benchmarks.score import Entry, Race, settle

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("EIGENLENS_DATA", ROOT.parent / "shared" / "data"))
REPEATS = 5  # processes for each contestant and thread count, at most
COLD = 2  # and processes that begin cold, behind the one that compiles
SLOW = 6  # seconds of a fit from which its beginning does not matter
FITS = 3  # timed fits in each
TIMEOUT = 900  # seconds for one process
LIBRARIES = ("OPENBLAS", "OMP", "MKL", "NUMBA", "BENCHMARK")  # the last is for contestants to read


@dataclass(frozen=True)
class Contestant:
    """One way to solve a case: ``fit(X, **params)`` gives a dict of the arrays to be judged.

    The dict may have a ``"note"``, shown beside the name, such as the solver that was really used.
    `fit` imports `package`; where that is not installed, the contestant is skipped.
    """

    name: str
    package: str
    fit: Callable


@dataclass(frozen=True)
class Case:
    """One problem with its contestants.

    ``make(rng, **size)`` gives an array, a sparse matrix or a dict of arrays; `smoke` is a size
    for which a fit takes milliseconds. ``judge(X, **params)`` prepares a reference once and gives
    ``score(answer) -> dict`` of measures, small is good. An answer counts if every measure named
    in `limits` is at most its limit. `floor` is a bare operation to compare all times with. Cases
    that are not `timed` only compare measures.
    """

    name: str
    title: str
    make: Callable
    size: dict
    smoke: dict
    judge: Callable
    limits: dict
    contestants: tuple[Contestant, ...]
    params: dict = field(default_factory=dict)
    floor: Contestant | None = None
    timed: bool = True
    file: str = ""  # in DATA, that `make` reads
    beside: str = ""  # package that `judge` runs
    method: str = ""  # the class of ours that it is about, if not the METHOD of the module
    repeats: int = REPEATS
    cold: int = COLD

    @property
    def everyone(self) -> list[Contestant]:
        """The floor, if any, and the contestants."""
        return [*([self.floor] if self.floor else []), *self.contestants]


@dataclass(frozen=True)
class Options:
    """What the command line asked for."""

    case: str = ""
    only: str = ""
    repeats: int | None = None
    smoke: bool = False
    done: frozenset[str] = frozenset()  # cases that need not be run again

    def wants(self, case: str) -> bool:
        """Whether a case of this name is to be run."""
        return self.case in case and case not in self.done


def run_cases(benchmark: str, module, options: Options) -> Iterator[Race | Table]:
    """Run the chosen cases of a benchmark, giving each table as soon as it is there."""
    for case in module.CASES:
        if not options.wants(case.name):
            continue
        case = replace(case, method=case.method or module.METHOD)
        if case.file and not options.smoke and not (DATA / case.file).exists():
            yield skipped(case.name, case.title, no_file(case.file))
        elif case.beside and not find_spec(case.beside):
            yield skipped(case.name, case.title, f"no {case.beside}, which the judge runs")
        else:
            yield run_case(benchmark, case, options)


def skipped(name: str, title: str, why: str) -> Table:
    """Say why a case was not run."""
    return Table(name, title, ["contestant"], [], [f"skipped: {why}"])


def no_file(file: str) -> str:
    """Say where a file should be."""
    return f"no {file} in ../shared/data or EIGENLENS_DATA"


def run_case(benchmark: str, case: Case, options: Options) -> Race:
    """Make the data, let the contestants take turns, judge, sum up."""
    present, absent = choose(case, options.only)
    X = case.make(np.random.default_rng(0), **(case.smoke if options.smoke else case.size))
    entries = [Entry(c.name, floor=c is case.floor) for c in present]
    quick = options.smoke or not case.timed
    turns = 1 if quick else options.repeats or case.repeats
    threads = [1] if options.smoke else sorted({1, joblib.cpu_count()})
    # another one goes first each time: nobody always follows the same neighbour
    order = [np.roll(range(len(present)), -turn) for turn in range(turns)]
    jobs = [(i, t, turn) for turn in range(turns) for t in threads for i in order[turn]]
    with tempfile.TemporaryDirectory() as folder:
        data = save(X, Path(folder) / "data")
        tasks = [[benchmark, case.name, one.name, data] for one in present]

        def run(job):
            i, t, turn = job
            if entries[i].has_enough(t):
                return
            task, begin = [*tasks[i], 0 if quick else FITS], time.perf_counter()
            result = run_worker(task, t, Path(folder) / f"{i}-{t}-{turn}")
            entries[i].add(t, result | {"took": time.perf_counter() - begin})

        before = processor_time()
        # one at a time where times matter
        with ThreadPoolExecutor(joblib.cpu_count() if options.smoke else 1) as pool:
            list(pool.map(run, jobs))
        for i, one in enumerate(entries if case.cold and not quick else []):
            if not (one.floor or one.failed or one.median("first") > SLOW):
                one.start(run_cold(tasks[i], one.threads, Path(folder), case.cold))
        others = 0.0 if options.smoke else used_by_others(before)
    score = case.judge(X, **case.params)
    for entry in entries:
        entry.judge(score)
    race = settle(case, entries, absent, others)
    return replace(race, title="tiny version of " + race.title) if options.smoke else race


def choose(case: Case, only: str) -> tuple[list[Contestant], list[str]]:
    """Give the contestants that can run, and the names of those that are not installed."""
    chosen = [c for c in case.everyone if any(part in c.name for part in only.split(","))]
    present = [c for c in chosen if find_spec(c.package)]
    return present, [c.name for c in chosen if c not in present]


def run_cold(task: list, threads: int, folder: Path, times: int) -> dict:
    """Time the first fit of processes: with loops to be compiled, and at best with them there."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        loops, out = Path(place, "loops"), Path(place, "out")
        begin = partial(run_worker, [*task, "cold"], threads, out, NUMBA_CACHE_DIR=str(loops))
        runs, compiled = [begin()], any(loops.rglob("*.nbc"))
        while len(runs) < times + compiled and "failed" not in runs[-1]:
            runs.append(begin())
    if "failed" in runs[-1]:
        return runs[-1]
    best = {"cold": min(run["cold"] for run in runs[compiled:])}
    return best | ({"compiling": runs[0]["cold"]} if compiled else {})


def run_worker(task: list, threads: int, out: Path, **settings: str) -> dict:
    """Run one contestant in a fresh process; give its measurements, or why it failed."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.worker", *map(str, [*task, out])]
    env = os.environ | {f"{library}_NUM_THREADS": str(threads) for library in LIBRARIES} | settings
    try:
        done = subprocess.run(
            command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {TIMEOUT} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"failed": lines[-1] if lines else f"exit code {done.returncode}"}
    measured = json.loads(out.with_suffix(".json").read_text())
    return measured | {"answer": dict(np.load(out.with_suffix(".npz")))}


def save(X, path: Path) -> Path:
    """Store data for the workers."""
    if sp.issparse(X):
        sp.save_npz(path := path.with_suffix(".sparse.npz"), X, compressed=False)
    elif isinstance(X, dict):
        np.savez(path := path.with_suffix(".npz"), **X)
    else:
        np.save(path := path.with_suffix(".npy"), X)
    return path


def load(path: str):
    """Read what `save` stored, into memory."""
    if path.endswith(".sparse.npz"):
        return sp.load_npz(path)
    return dict(np.load(path)) if path.endswith(".npz") else np.load(path)
