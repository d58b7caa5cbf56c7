"""How long passes over rows take: a model fitted to fits on this machine, and where it leads.

A pass over n rows of d columns in float32, of `operations(d)` each, takes

    begin + n (4 d a + operations(d) cost)         on one machine, from the system's cache
    begin + chunks t + n operations(d) cost / w    on a cluster of w workers that hold the rows

with `a` seconds to take in a byte, a `cost` of each method in seconds an operation, and `t` seconds
of the scheduler's for each chunk. To passes comes what a method does between them, which does not
grow with n: as measured with as many columns as at the end. Numbers that stand for no measurement
are in `ASSUMED`.
"""

import math
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from benchmarks import scale_dask, scale_methods
from benchmarks.machine import disturbance, forget, processor_time, remember, used_by_others
from benchmarks.report import Table
from eigenlens.data.dask import ARITY

GRID = ((10**4, 100), (10**5, 100), (10**6, 100), (10**7, 100), (10**6, 20), (3 * 10**5, 1000))
HELD_OUT = ((3 * 10**6, 100), (10**6, 300))  # are computed by a model that has not seen them
CLUSTER = ((10**6, 50_000, 1), (10**6, 50_000, 2), (2 * 10**5, 50_000, 2), (10**6, 5000, 2))
CLUSTER_HELD_OUT = ((5 * 10**5, 10_000, 1), (5 * 10**5, 10_000, 2))
METHODS_AT = (3 * 10**5, 100), (3 * 10**4, 1000)  # costs: of the second, as wide as the goal
GOAL = (10**9, 10**3, 100)
ASSUMED = {
    "bytes of a chunk": 2**30,
    "bytes a second between machines": 1.25e9,
}
LANDMARKS = 200
REPEATS, PATIENCE = 5, 5.0  # fits of one kind at most, and seconds after which no other begins
OPERATIONS = {  # a row and pass, as in the documentation
    "PCA": lambda d: d**2,
    "PCA, randomized": lambda d: 4 * d * 2 * scale_dask.K,
    "IncrementalPCA": lambda d: d**2,
    "SparsePCA": lambda d: d**2,
    "StandardScaler": lambda d: 4 * d,
    "RobustScaler": lambda d: 4 * d,
    "NMF": lambda d: 4 * d * scale_methods.RANK + 16 * scale_methods.RANK**2,
    "RobustPCA": lambda d: d**2 + 4 * d * scale_methods.RANK,
    "KernelPCA, 200 landmarks": lambda d: 2 * d * LANDMARKS + LANDMARKS**2,
    "VectorQuantizer": lambda d: 2 * d * 8,
}


def run(case, options):
    """Measure, fit, and compute what was measured and what was not."""
    before, smoke = processor_time(), options.smoke
    with tempfile.TemporaryDirectory() as folder:
        seen, disk = files(Path(folder), smoke, GRID + HELD_OUT)
        methods = [of_methods(Path(folder), at, smoke) for at in METHODS_AT]
    model = fit_files([(*at, seen[at]) for at in GRID])
    rows = [
        [f"PCA, one machine{mark(at in HELD_OUT)}", f"{at[0]:.0e}", str(at[1]), "1",
         f"{seen[at]:.3f}", f"{on_one_machine(model, *at):.3f}"]
        for at in sorted(seen)
    ]  # fmt: skip
    told = {at: on_cluster(at, smoke) for at in CLUSTER + CLUSTER_HELD_OUT}
    spread = fit_cluster([(*at, told[at]) for at in CLUSTER])
    rows += [
        [f"PCA, Dask, {at[0] // at[1]} chunks{mark(at in CLUSTER_HELD_OUT)}", f"{at[0]:.0e}",
         str(scale_dask.SHAPE[1]), str(at[2]), f"{told[at]:.3f}", f"{of_cluster(spread, at):.3f}"]
        for at in told
    ]  # fmt: skip
    notes = [] if smoke else disturbance(used_by_others(before))
    notes += [
        f"fitted, one machine: begin {model[0]:.3f} s, {1e9 * model[1]:.3f} ns a byte, "
        f"{1e12 * model[2]:.1f} ps an operation of PCA",
        f"fitted, Dask: begin {spread[0]:.2f} s, {1e3 * spread[1]:.1f} ms a chunk, "
        f"{1e12 * spread[2]:.1f} ps an operation of a worker, which is one thread, in float64",
        f"measured: {disk / 1e9:.2f} GB/s of the disk, cold",
        *(f"assumed: {value:.3g} {name}" for name, value in ASSUMED.items()),
        "assumed: as many passes as at 3e5 rows, machines that compute and read as this one does",
    ]
    rows += list(of_each_method(model, spread, disk, methods))
    columns = ["fit", "rows", "columns", "machines", "measured s", "computed s"]
    return Table(case.name, case.title, columns, rows, notes)


def mark(held_out):
    """Say that a measurement had no part in the fit."""
    return ", held out" if held_out else ""


def files(folder, smoke, sizes):
    """Fit PCA to files in the system's cache; give seconds of each, and the rate of the disk."""
    seen, rates = {}, []
    for n, d in sizes:
        path = folder / "table.npy"
        scale_methods.make(path, max(2000, n // 1000) if smoke else n, d)
        seen[n, d] = least(scale_methods.METHODS["PCA"], path)["seconds"]
        if path.stat().st_size > 10**9 or smoke:
            rates += [rate_of_disk(path) for _ in range(3)]
    return seen, float(np.median(rates))


def least(code, path):
    """Fit one method, a short fit several times; give what the fastest tells.

    Short fits at times wait for memory that the system clears, or takes from others.
    """
    runs, spent = [], 0.0
    while not runs or (len(runs) < REPEATS and spent < PATIENCE):
        runs.append(scale_methods.tell(code, path))
        if "failed" in runs[-1]:
            return runs[-1]
        spent += runs[-1]["seconds"]
    return min(runs, key=lambda told: told["seconds"])


def rate_of_disk(path):
    """Give bytes a second of a file that the system has forgotten."""
    forget(path)
    begin = time.perf_counter()
    remember(path)
    return path.stat().st_size / (time.perf_counter() - begin)


def of_methods(folder, at, smoke):
    """Fit each method to one file; give what it tells."""
    n, d = at
    path = folder / "table.npy"
    n = 2000 if smoke else n
    scale_methods.make(path, n, d)
    return {
        name: least(code, path) | {"n": n, "d": d} for name, code in scale_methods.METHODS.items()
    }


def on_cluster(at, smoke):
    """Fit PCA to rows that workers hold; give the seconds."""
    n, chunk, workers = at
    if smoke:
        n, chunk = n // 100, chunk // 100
    repeats = 1 if smoke else REPEATS
    told = scale_dask.tell(n, scale_dask.SHAPE[1], chunk, repeats, workers, "eigenlens")
    return min(told["eigenlens"]["seconds"])


def relative_fit(terms, seconds):
    """Give coefficients, none below zero, of least squared relative errors."""
    seconds = np.asarray(seconds)
    return nnls(np.asarray(terms, float) / seconds[:, None], np.ones(len(seconds)))[0]


def fit_files(measured):
    """Fit begin, seconds a byte, and seconds an operation, to (n, d, seconds)."""
    return relative_fit(
        [[1, 4 * n * d, n * d**2] for n, d, _ in measured], [each[2] for each in measured]
    )


def on_one_machine(model, n, d):
    """Compute the time of PCA of a file in the system's cache."""
    return float(model @ [1, 4 * n * d, n * d**2])


def fit_cluster(measured):
    """Fit begin, seconds a chunk, and a worker's seconds an operation."""
    terms = [terms_of_cluster(each) for each in measured]
    return relative_fit(terms, [each[3] for each in measured])


def terms_of_cluster(at):
    """Give what the time on a cluster is a sum of."""
    n, chunk, workers = at[:3]
    return [1, n / chunk, n * scale_dask.SHAPE[1] ** 2 / workers]


def of_cluster(spread, at):
    """Compute the time of PCA of rows that workers hold."""
    return float(spread @ terms_of_cluster(at))


def of_each_method(model, spread, disk, methods):
    """Give the rows of each method: as measured, and at the goal."""
    for name in OPERATIONS:
        first, wide = (each[name] for each in methods)
        if "failed" in first or "failed" in wide:
            failed = first.get("failed") or wide["failed"]
            yield [name, "", "", "", f"failed: {failed}", ""]
            continue
        cost = seconds_an_operation(model, wide, name)
        for told in (first, wide):
            computed = told["passes"] * told["n"] * a_row(model, cost, told["d"], name)
            yield [f"{name}, {told['passes']} passes", f"{told['n']:.0e}", str(told["d"]), "1",
                   f"{told['in passes']:.2f}", f"{computed:.2f}"]  # fmt: skip
        between = wide["seconds"] - wide["in passes"]
        computed = between + first["passes"] * at_goal(model, spread, disk, cost, name)
        n, d, machines = GOAL
        yield [f"{name}, {first['passes']} passes and {between:.1f} s between", f"{n:.0e}", str(d),
               str(machines), "", f"{computed:.0f}"]  # fmt: skip


def at_goal(model, spread, disk, cost, name):
    """Compute the time of a pass at the goal."""
    n, d, machines = GOAL
    share = n / machines
    work = max(share * a_row(model, cost, d, name), share * 4 * d / disk)
    chunks = 4 * n * d / ASSUMED["bytes of a chunk"]
    sent = (ARITY - 1) * 8 * d**2 / ASSUMED["bytes a second between machines"]
    return spread[0] + chunks * spread[1] + work + math.ceil(math.log(chunks, ARITY)) * sent


def a_row(model, cost, d, name):
    """Compute the seconds of a row in a pass."""
    return model[1] * 4 * d + cost * OPERATIONS[name](d)


def seconds_an_operation(model, told, name):
    """Fit a method's seconds an operation to one measurement."""
    each = told["in passes"] / (told["n"] * max(1, told["passes"]))
    return max(0.0, each - model[1] * 4 * told["d"]) / OPERATIONS[name](told["d"])
