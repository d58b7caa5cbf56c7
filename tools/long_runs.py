"""Many fits in one process, and streams that go on: memory stays flat, and numbers stay true.

``python -m tools.long_runs --fits 10000`` fits every class in every setting, over and over, with
transform, clone, save and load now and then. ``--minutes 60`` feeds a stream of planted data to
every class that takes one, and compares what it finds with the truth. Either ends with an error if
memory grows, files or threads are left behind, or numbers go astray.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray
from scipy.stats import theilslopes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import eigenlens
from eigenlens import (
    IncrementalPCA,
    MiniBatchDictionaryLearning,
    MiniBatchNMF,
    MiniBatchSparsePCA,
    MinMaxScaler,
    Moments,
    SparsePCA,
    StandardScaler,
)
from eigenlens.testing import align, largest_angle
from eigenlens.testing.tables import changed, state
from tools.settings import SETTINGS

SMALL = (120, 12)
GROWTH = 0.03  # of the memory in use: what a run may add to it after its first third
ROOM = 8e6  # bytes that it may add in any case, as allocators do
HELD = ("open files", "threads", "temporary files")


@dataclass
class Traces:
    """What the process holds, looked at again and again."""

    at: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    left: list[tuple[int, int, int]] = field(default_factory=list)

    def look(self, at: float) -> None:
        """Note the memory in use, and the numbers of open files, threads and temporary files."""
        gc.collect()
        process = psutil.Process()
        self.at.append(at)
        self.memory.append(process.memory_info().rss)
        temporary = len(list(Path(tempfile.gettempdir()).iterdir()))
        self.left.append((process.num_fds(), threading.active_count(), temporary))

    def growth(self) -> float:
        """Return the bytes by which memory grows from the first third on, by a robust line."""
        first = len(self.at) // 3
        at = np.array(self.at[first:])
        slope = theilslopes(self.memory[first:], at)[0]
        return float(slope * (at[-1] - at[0]))

    def faults(self) -> list[str]:
        """Return what is wrong, in words."""
        found = []
        allowed = max(ROOM, GROWTH * self.memory[-1])
        if self.growth() > allowed:
            found.append(f"memory grows by {self.growth() / 1e6:.1f} MB")
        first = self.left[len(self.left) // 3]
        for what, before, after in zip(HELD, first, self.left[-1], strict=True):
            if after > before:
                found.append(f"{after - before} {what} more than before")
        return found

    def __str__(self) -> str:
        first = self.memory[len(self.memory) // 3]
        held = ", ".join(f"{n} {what}" for n, what in zip(self.left[-1], HELD, strict=True))
        return (
            f"memory {first / 1e6:.0f} MB after a third, {self.memory[-1] / 1e6:.0f} MB at the end "
            f"(line: {self.growth() / 1e6:+.1f} MB); {held}"
        )


@contextmanager
def own_folder() -> Iterator[Path]:
    """Have temporary files in a folder that nobody else writes to."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        try:
            yield Path(folder)
        finally:
            tempfile.tempdir = before


# ------------------------------------------------------------------------------------- many fits


def many_fits(total: int, every: int = 100) -> tuple[Traces, list[str]]:
    """Fit so many times; return the traces, and what is wrong."""
    traces, faults = Traces(), []
    with own_folder() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # of graphs in pieces
        begun = [state(s.estimator().fit(s.table(SMALL))) for s in SETTINGS]
        for i in range(total):
            setting = SETTINGS[i % len(SETTINGS)]
            model = setting.estimator()
            X = setting.table((SMALL[0] + i % 7, SMALL[1]), seed=i)
            scores = model.fit(X).transform(X)
            if i % 10 == 0:
                clone(model).fit_transform(X[:-1])
            if i % 25 == 0:
                path = folder / "model.skops"
                eigenlens.save(model, path)
                if not np.array_equal(eigenlens.load(path).transform(X), scores):
                    faults.append(f"{setting}: other scores after save and load")
                path.unlink()
            if i % every == 0:
                traces.look(i)
        traces.look(total)
        for setting, before in zip(SETTINGS, begun, strict=True):
            if names := changed(before, state(setting.estimator().fit(setting.table(SMALL)))):
                faults.append(f"{setting}: {', '.join(names)} not what they were at the beginning")
    return traces, faults + traces.faults()


# --------------------------------------------------------------------------------------- streams

FEATURES, RANK = 12, 3
LIMIT = 5.0  # errors that theory predicts: what one may be at the worst of many looks
NEAR = 0.1  # radians, where theory predicts nothing
FIRST, LARGEST = 2000, 1000  # rows of the first batch, and of one after it


class Gaussian:
    """Rows of a normal distribution far from zero, and what is known of it."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.rotation = np.linalg.qr(rng.standard_normal((FEATURES, FEATURES)))[0]
        self.variances = np.append([16.0, 9.0, 4.0], np.full(FEATURES - RANK, 0.25))
        self.mean = 1000.0 * rng.standard_normal(FEATURES)
        self.covariance = self.rotation * self.variances @ self.rotation.T
        self.ends = np.array([np.full(FEATURES, np.inf), np.full(FEATURES, -np.inf)])

    def rows(self, n: int, rng: np.random.Generator) -> NDArray:
        """Draw rows, and note how far they go."""
        deviations = rng.standard_normal((n, FEATURES)) * np.sqrt(self.variances)
        X = deviations @ self.rotation.T + self.mean
        self.ends[0] = np.minimum(self.ends[0], X.min(axis=0))
        self.ends[1] = np.maximum(self.ends[1], X.max(axis=0))
        return X

    def of_mean(self, mean: NDArray, n: int) -> float:
        """Return how far a mean is off, in deviations of chance."""
        return float(np.abs((mean - self.mean) / np.sqrt(np.diag(self.covariance) / n)).max())

    def of_variances(self, found: NDArray, n: int, truth: NDArray | None = None) -> float:
        """Return how far variances are off, in deviations of chance: their share is sqrt(2 / n)."""
        truth = np.diag(self.covariance) if truth is None else truth
        return float(np.abs(found / truth - 1).max() / np.sqrt(2 / n))

    def of_components(self, components: NDArray, n: int) -> float:
        """Return how far directions are off, in deviations of chance.

        Of the squared sine of the angle to direction i theory predicts the mean
        ``sum_j l_i l_j / (n (l_i - l_j)^2)``, over all j but i.
        """
        worst = 0.0
        for i, component in enumerate(components):
            others = np.delete(self.variances, i)
            mean = (self.variances[i] * others / (self.variances[i] - others) ** 2).sum() / n
            true = self.rotation[:, i]
            sine = np.linalg.norm(component - true * (component @ true))
            worst = max(worst, float(sine / np.sqrt(mean)))
        return worst


class Parts:
    """Rows that are sums of few planted parts, each with many zeros, and a little noise."""

    def __init__(self, seed: int) -> None:
        parts = np.kron(np.eye(RANK), np.ones(FEATURES // RANK))
        parts += np.random.default_rng(seed).random(parts.shape) * (parts > 0)
        self.parts = parts / np.linalg.norm(parts, axis=1, keepdims=True)

    def rows(self, n: int, rng: np.random.Generator) -> NDArray:
        """Draw rows, none negative; most have one part alone."""
        W = rng.gamma(2.0, size=(n, RANK)) * (rng.random((n, RANK)) < 0.4)
        return W @ self.parts + 0.01 * rng.random((n, FEATURES))

    def angle(self, components: NDArray) -> float:
        """Return the largest angle of a part found to the planted one."""
        found = components / np.linalg.norm(components, axis=1, keepdims=True)
        return float(np.arccos(np.clip(align(self.parts, found).cosines.min(), 0, 1)))


Shares = dict[str, float]
"""Errors over what is allowed, by what is off."""


def _columns(mean: NDArray, variances: NDArray, truth: Gaussian, n: int) -> Shares:
    return {
        "mean": truth.of_mean(mean, n) / LIMIT,
        "variance of columns": truth.of_variances(variances, n) / LIMIT,
    }


def _of_scaler(model: Any, truth: Gaussian, n: int) -> Shares:
    return _columns(model.mean_, model.var_, truth, n)


def _of_ends(model: Any, truth: Gaussian, n: int) -> Shares:
    same = np.array_equal([model.data_min_, model.data_max_], truth.ends)
    return {"ends": 0.0 if same and model.n_samples_seen_ == n else np.inf}


def _of_moments(model: Moments, truth: Gaussian, n: int) -> Shares:
    C = model.covariance()
    variances = np.diag(truth.covariance)
    chance = np.sqrt((truth.covariance**2 + np.outer(variances, variances)) / n)
    sound = model.count == n and np.array_equal(C, C.T) and np.linalg.eigvalsh(C)[0] > 0
    return _columns(model.mean, np.diag(C), truth, n) | {
        "covariance": float((np.abs(C - truth.covariance) / chance).max()) / LIMIT,
        "count, symmetry and signs": 0.0 if sound else np.inf,
    }


def _of_subspace(model: Any, truth: Gaussian, n: int) -> Shares:
    V = model.components_
    return {"subspace": largest_angle(truth.rotation[:, :RANK].T, V) / NEAR}


def _of_truncated(model: Any, truth: Gaussian, n: int) -> Shares:
    V = model.components_
    shares = _columns(model.mean_, model.var_, truth, n) | _of_subspace(model, truth, n)
    return shares | {"orthogonality": float(np.abs(V @ V.T - np.eye(len(V))).max()) / 1e-12}


def _of_pca(model: Any, truth: Gaussian, n: int) -> Shares:
    leading = truth.of_variances(model.explained_variance_, n, truth.variances[:RANK])
    return _of_truncated(model, truth, n) | {
        "explained variance": leading / LIMIT,
        "directions": truth.of_components(model.components_, n) / LIMIT,
    }


def _of_parts(model: Any, truth: Parts, n: int) -> Shares:
    return {"parts": truth.angle(model.components_) / NEAR}


@dataclass
class Stream:
    """A model that rows are fed to, the truth, and how the two are compared."""

    model: Any
    truth: Any
    compare: Callable[[Any, Any, int], Shares]
    rows: int = 0
    worst: Shares = field(default_factory=dict)

    def feed(self, n: int, rng: np.random.Generator) -> None:
        """Draw rows, and let the model have them."""
        X = self.truth.rows(n, rng)
        (self.model.update if isinstance(self.model, Moments) else self.model.partial_fit)(X)
        self.rows += n

    def look(self) -> None:
        """Compare, and keep what was worst."""
        for what, share in self.compare(self.model, self.truth, self.rows).items():
            number = share if np.isfinite(share) else np.inf
            self.worst[what] = max(number, self.worst.get(what, 0.0))

    def __str__(self) -> str:
        worst = ", ".join(f"{what} {share:.2g}" for what, share in self.worst.items())
        return f"{type(self.model).__name__:28}{self.rows:14,} rows   {worst}"


def streams() -> list[Stream]:
    """Return a stream for every class that takes one."""
    seed = {"n_components": RANK, "random_state": 0}
    sparse = seed | {"alpha": 0.01}
    # near the planted atoms, where it shall stay: from anywhere else it is long under way
    atoms = seed | {"alpha": 0.1, "dict_init": Parts(0).parts + 0.05}
    return [
        Stream(Moments(), Gaussian(0), _of_moments),
        Stream(StandardScaler(), Gaussian(1), _of_scaler),
        Stream(MinMaxScaler(), Gaussian(2), _of_ends),
        Stream(IncrementalPCA(RANK), Gaussian(3), _of_pca),
        Stream(IncrementalPCA(RANK, max_memory=1000), Gaussian(4), _of_truncated),
        Stream(SparsePCA(**sparse), Gaussian(5), _of_subspace),
        Stream(MiniBatchSparsePCA(**sparse), Gaussian(6), _of_subspace),
        Stream(MiniBatchDictionaryLearning(**atoms), Parts(0), _of_parts),
        Stream(MiniBatchNMF(**seed), Parts(1), _of_parts),
    ]


def long_streams(
    go_on: Callable[[int], bool], every: int
) -> tuple[list[Stream], Traces, list[str]]:
    """Feed all streams batches of any size while `go_on` says so of their number."""
    traces, all_streams, rng = Traces(), streams(), np.random.default_rng(0)
    with own_folder(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of a stream that is truncated
        for batch in count():
            n = FIRST if batch == 0 else int(np.exp(rng.uniform(0, np.log(LARGEST))))
            for stream in all_streams:
                stream.feed(n, rng)
            last = not go_on(batch + 1)
            if batch % every == 0 or last:
                traces.look(batch + 1)
                for stream in all_streams if batch else ():  # steps take some batches to arrive
                    stream.look()
            if last:
                break
    faults = [
        f"{type(stream.model).__name__}: {what} is off by {share:.3g} times what is allowed"
        for stream in all_streams
        for what, share in stream.worst.items()
        if share > 1
    ]
    return all_streams, traces, faults + traces.faults()


# ------------------------------------------------------------------------------------ the command


def main() -> None:
    """Run what was asked for, and end with an error if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=0)
    given = parser.parse_args()
    faults: list[str] = []
    if given.fits:
        begin = time.monotonic()
        traces, found = many_fits(given.fits)
        print(f"{given.fits:,} fits of {len(SETTINGS)} settings, {time.monotonic() - begin:.0f} s")
        print(traces, flush=True)
        faults += found
    if given.minutes:
        until = time.monotonic() + 60 * given.minutes
        fed, traces, found = long_streams(lambda _: time.monotonic() < until, every=500)
        print(*fed, sep="\n")
        print(f"{traces.at[-1]:,.0f} batches each; {traces}", flush=True)
        faults += found
    if faults:
        raise SystemExit("\n".join(faults))


if __name__ == "__main__":
    main()
