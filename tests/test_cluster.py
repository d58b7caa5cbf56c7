"""A real cluster of two processes: the same numbers as in memory, also when a worker is killed.

`make cluster` runs these; starting processes takes too long for `make test`.
"""

import contextlib
import itertools
import os
import signal
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

from eigenlens import (
    NMF,
    PCA,
    IncrementalPCA,
    KernelPCA,
    RobustPCA,
    RobustScaler,
    SparsePCA,
    StandardScaler,
    VectorQuantizer,
)

ROWS, CHUNK = 6000, 250


# a worker that was killed takes its time to come back on a busy machine
PATIENT = {
    "distributed.scheduler.allowed-failures": 10,
    "distributed.deploy.lost-worker-timeout": "120s",
    "distributed.comm.timeouts.connect": "120s",
}


@pytest.fixture(scope="module")
def client():
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        dask.config.set(PATIENT),
        LocalCluster(**settings, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def mixed():
    """Give a planted table without numbers below zero."""
    every = np.random.default_rng(0).normal(size=(ROWS, 12)) ** 2
    return every @ np.random.default_rng(1).random((12, 12)) ** 4


def corrupted():
    """Give a table of rank 2 with gross errors, which is taken apart in few rounds."""
    rng = np.random.default_rng(0)
    low_rank = rng.normal(size=(ROWS, 2)) @ rng.normal(size=(2, 60))
    return low_rank + 5 * rng.normal(size=low_rank.shape) * (rng.random(low_rank.shape) < 0.05)


def slow_rows(table, start, stop, seconds):
    time.sleep(seconds)
    return table()[start:stop]


def spread(table=mixed, seconds=0.0, edges=range(0, ROWS + 1, CHUNK)):
    """Give a table as a Dask array whose chunks the workers make, in so many seconds each."""
    width = table().shape[1]
    make = dask.delayed(slow_rows)
    return da.concatenate(
        [
            da.from_delayed(make(table, a, b, seconds), (b - a, width), np.float64)
            for a, b in itertools.pairwise(edges)
        ]
    )


# a model, what of it must agree, and how closely
METHODS = {
    "PCA": (PCA(4), "explained_variance_", 1e-8),
    "PCA, fraction": (PCA(0.9), "components_", 1e-8),
    "PCA, randomized": (PCA(3, svd_solver="randomized", random_state=0), "components_", 1e-6),
    "IncrementalPCA": (IncrementalPCA(4), "components_", 1e-8),
    "SparsePCA": (SparsePCA(3, alpha=50), "components_", 1e-6),
    "StandardScaler": (StandardScaler(), "scale_", 1e-8),
    "RobustScaler": (RobustScaler(), "scale_", 1e-8),
    "NMF": (NMF(3, tol=1e-5, max_iter=2000), "reconstruction_err_", 1e-6),
    "RobustPCA": (RobustPCA(random_state=0), "components_", 1e-5),
    "KernelPCA": (
        KernelPCA(3, kernel="rbf", approximation="nystrom", n_landmarks=40, random_state=0),
        "eigenvalues_",
        1e-8,
    ),
    "VectorQuantizer": (VectorQuantizer(3, random_state=0), "components_", 1e-8),
}
SECONDS = {"RobustPCA": 0.01, "NMF": 0.01}  # that a chunk takes: these need many passes
TABLES = {"RobustPCA": corrupted}  # mixed otherwise


def table_of(name):
    return TABLES.get(name, mixed)


@pytest.fixture(scope="module")
def in_memory():
    return {name: model.fit(table_of(name)()) for name, (model, _, _) in METHODS.items()}


def assert_agree(name, model, in_memory):
    _, what, tol = METHODS[name]
    found, known = (getattr(each, what) for each in (model, in_memory[name]))
    np.testing.assert_allclose(found, known, rtol=tol, atol=tol * np.abs(known).max())


@pytest.mark.parametrize("name", METHODS)
def test_the_numbers_of_the_fit_in_memory(client, in_memory, name):
    D = spread(table_of(name), edges=[0, 1, 1, 700, 2900, 2901, ROWS])
    model = type(METHODS[name][0])(**METHODS[name][0].get_params()).fit(D)
    assert_agree(name, model, in_memory)
    scores = model.transform(D)
    assert isinstance(scores, da.Array)
    known = in_memory[name].transform(table_of(name)())
    np.testing.assert_allclose(scores.compute(), known, atol=1e-6 * np.abs(known).max())


@contextlib.contextmanager
def killing(client, after):
    """Kill one of the workers after some seconds; see that it happened."""
    pid = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(after, os.kill, (pid, signal.SIGKILL))
    timer.start()
    try:
        yield
        assert timer.finished.is_set(), "the work was over before a worker was killed"
    finally:
        timer.cancel()
        client.wait_for_workers(2, timeout=120)


@pytest.mark.parametrize("name", METHODS)
def test_a_worker_killed_in_the_middle_of_a_fit(client, in_memory, name):
    model = type(METHODS[name][0])(**METHODS[name][0].get_params())
    with killing(client, after=0.6):
        model.fit(spread(table_of(name), SECONDS.get(name, 0.1)))
    assert_agree(name, model, in_memory)


def test_a_worker_killed_in_the_middle_of_a_transform(client, in_memory):
    model = in_memory["PCA"]
    scores = model.transform(spread(seconds=0.1))
    with killing(client, after=0.6):
        found = scores.compute()
    np.testing.assert_allclose(found, model.transform(mixed()), atol=1e-9)


def test_no_rows_come_to_the_client(client):
    """What goes between processes in a fit does not grow with the rows."""

    def sent(n):
        D = da.random.default_rng(0).normal(size=(n, 40), chunks=(n // 8, 40))
        before = bytes_sent()
        PCA(3).fit(D)
        return bytes_sent() - before

    sent(8000)
    assert sent(800_000) < 3 * sent(8000) + 1e6  # the rows themselves are 256 MB


def bytes_sent():
    """Give what has gone over the loopback interface so far."""
    lines = Path("/proc/self/net/dev").read_text().splitlines()
    return int(next(line for line in lines if line.strip().startswith("lo:")).split()[9])
