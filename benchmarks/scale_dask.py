"""PCA on a Dask cluster: ours, dask-ml's and the compressed SVD, taking turns on the same rows."""

import json
import os
import subprocess
import sys

import numpy as np

from benchmarks.harness import ROOT
from benchmarks.machine import disturbance, processor_time, used_by_others
from benchmarks.report import Table
from benchmarks.score import Line, Race

K = 10
SHAPE, CHUNK = (1_000_000, 200), 50_000
REPEATS = 5
LIMITS = {"variance lost": 1e-6}

PROGRAM = """
import json, sys, time
import numpy as np
import dask, dask.array as da
from dask.distributed import Client, LocalCluster

n, d, chunk, k, repeats, workers = map(int, sys.argv[1:7])
asked = sys.argv[7:]


def block(seed, rows, d):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, d)) * np.linspace(3, 1, d) + np.linspace(0, 10, d)


def ours(X):
    import eigenlens
    return eigenlens.PCA(k).fit(X).components_


def dask_ml(X):
    from dask_ml.decomposition import PCA
    return PCA(k, svd_solver="randomized", random_state=0).fit(X).components_


def dask_ml_full(X):
    from dask_ml.decomposition import PCA
    return PCA(k, svd_solver="full").fit(X).components_


def compressed(X):
    # the rows that come back from this are as many as components
    _, _, V = da.linalg.svd_compressed(X - X.mean(axis=0), k, seed=0)
    return V.compute()


def compressed_power(X):
    _, _, V = da.linalg.svd_compressed(X - X.mean(axis=0), k, n_power_iter=4, seed=0)
    return V.compute()


if __name__ == "__main__":
    settings = {"n_workers": workers, "threads_per_worker": 1, "processes": True}
    with LocalCluster(**settings, dashboard_address=None) as cluster, Client(cluster) as client:
        parts = [
            da.from_delayed(dask.delayed(block)(i, min(chunk, n - i * chunk), d),
                            (min(chunk, n - i * chunk), d), float)
            for i in range(-(-n // chunk))
        ]
        X = da.concatenate(parts).persist()
        mean = X.mean(axis=0).compute()
        C = ((X - mean).T @ (X - mean)).compute()
        best = np.linalg.eigvalsh(C)[::-1][:k].sum()
        ways = {"eigenlens": ours, "dask-ml, randomized": dask_ml, "dask-ml, full": dask_ml_full,
                "svd_compressed": compressed, "svd_compressed, 4 power steps": compressed_power}
        ways = {name: way for name, way in ways.items() if not asked or name in asked}
        told = {name: {"seconds": [], "lost": []} for name in ways}
        for turn in range(repeats + 1):
            for name, way in ways.items():
                try:
                    begin = time.perf_counter()
                    V = np.asarray(way(X))
                    seconds = time.perf_counter() - begin
                except Exception as error:
                    told[name]["failed"] = repr(error)[:80]
                    continue
                if turn:
                    told[name]["seconds"].append(seconds)
                    told[name]["lost"].append(1 - float(np.trace(V @ C @ V.T) / best))
        print("TOLD" + json.dumps(told))
"""


def run(case, options):
    """Let all take turns on one cluster."""
    (n, d), chunk, repeats = size_of(options)
    before = processor_time()
    told = tell(n, d, chunk, repeats, workers=2)
    notes = [] if options.smoke else disturbance(used_by_others(before))
    title = f"{case.title}, {n} x {d} in chunks of {chunk} rows held by the workers, {K} components"
    return Race(case.name, title, tuple(lines_of(told)), LIMITS, tuple(notes), "PCA on Dask")


def run_workers(case, options):
    """Fit ours with one worker and with two."""
    (n, d), chunk, repeats = size_of(options)
    before = processor_time()
    seconds = [
        np.median(tell(n, d, chunk, repeats, workers, "eigenlens")["eigenlens"]["seconds"])
        for workers in (1, 2)
    ]
    rows = [
        [str(workers), f"{each:.3f}", f"{seconds[0] / each:.2f}"]
        for workers, each in zip((1, 2), seconds, strict=True)
    ]
    notes = [] if options.smoke else disturbance(used_by_others(before))
    title = f"{case.title}, {n} x {d} held by the workers, PCA, {K} components"
    return Table(case.name, title, ["workers", "seconds", "speedup"], rows, notes)


def size_of(options):
    """Give shape, rows of a chunk, and repeats."""
    if options.smoke:
        return (4000, 30), 500, 1
    return SHAPE, CHUNK, options.repeats or REPEATS


def tell(n, d, chunk, repeats, workers, *asked):
    """Run the program in a process of its own; give what it tells."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    numbers = map(str, (n, d, chunk, K, repeats, workers))
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, *numbers, *asked]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if "TOLD" not in done.stdout:
        raise SystemExit(done.stderr.strip() or "the program on the cluster told nothing")
    return json.loads(done.stdout.rpartition("TOLD")[2])


def lines_of(told):
    """Sum up what was told of each."""
    for name, each in told.items():
        if "failed" in each:
            yield Line(name, failed=each["failed"])
            continue
        yield Line(
            name,
            seconds=float(np.median(each["seconds"])),
            fastest=min(each["seconds"]),
            measures={"variance lost": max(each["lost"])},
        )
