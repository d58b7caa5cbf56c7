"""Fits that are killed at random moments and taken up again, to see that their numbers stay.

``python -m tools.kill_fits`` kills each method 20 times by SIGKILL and prints what came of it;
``--kills`` and ``--seed`` say how often and when, names choose among the methods. A fit that ends
is compared with one that nobody disturbed, to the bit, and the next one begins from the start. The
table is slow on purpose, and saved far more often than usual, so that many kills strike a save.
"""

import argparse
import mmap
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import eigenlens
from eigenlens.data import checkpoint
from eigenlens.data.blocks import ArrayBlocks, Blocks

ROWS, COLUMNS, BLOCKS = 400, 6, 20

METHODS: dict[str, dict[str, Any]] = {
    "PCA": {"n_components": 3},
    "IncrementalPCA": {"n_components": 3},
    "SparsePCA": {"n_components": 3, "alpha": 5},
    "NMF": {"n_components": 3, "random_state": 0, "max_iter": 10, "tol": 1e-2},
    "RobustPCA": {"random_state": 0, "max_iter": 8},
    "KernelPCA": {
        "n_components": 3,
        "kernel": "rbf",
        "approximation": "nystrom",
        "n_landmarks": 20,
        "random_state": 0,
    },
    "VectorQuantizer": {"n_components": 3, "random_state": 0},
}
"""Methods that take a checkpoint, with parameters that make a fit of seconds."""

LOOP = "kept rows"  # a loop of passes that keeps rows, without an estimator


class Slow(ArrayBlocks):
    """A table that takes its time, and counts the blocks that were read."""

    def __init__(self, array: NDArray, count: Any, pause: float) -> None:
        super().__init__(array)
        self.nbytes, self._rows = 1 << 40, -(-len(array) // BLOCKS)  # as if it were large
        self.count, self.pause = count, pause

    def blocks_from(self, i: int) -> Iterator[NDArray]:
        """Yield the blocks, one after the other."""
        for block in super().blocks_from(i):
            time.sleep(self.pause)
            self.count[:8] = (int.from_bytes(self.count[:8], "little") + 1).to_bytes(8, "little")
            yield block


def fit_of(name: str, table: Blocks, path: Path | None) -> dict[str, NDArray]:
    """Return all arrays of a model, fitted with a checkpoint or, if `path` is None, without."""
    if name == LOOP:
        if path is None:
            return loop(table)
        with checkpoint.resumable(table, path, {"method": name}) as same:
            return loop(same)
    model = getattr(eigenlens, name)(**METHODS[name])
    model.fit(table, checkpoint=path)
    return {
        key: value
        for key, value in vars(model).items()
        if isinstance(value, np.ndarray) and value.dtype != object
    }


def loop(table: Blocks) -> dict[str, NDArray]:
    """Find codes in passes that go back to the codes before last now and then."""
    H = np.asarray(table.take(np.array([7, 3, table.n_rows - 1])))
    _, (codes,) = table.advance(_begun, shared=(H,), keep=1)
    before = codes
    for i in range(6):
        (XW, WW), (new,) = table.advance(_stepped, [codes, before], shared=(H,), keep=1)
        before, codes = (new, before) if i == 3 else (codes, new)
        H = np.linalg.solve(WW + np.eye(len(WW)), XW)
    return {"H": H, "W": codes.gather(), "counts": np.array(table.row_counts())}


def _begun(block: NDArray, H: NDArray) -> tuple[Any, NDArray]:
    return float(block.sum()), block @ H.T


def _stepped(block: NDArray, W: NDArray, before: NDArray, H: NDArray) -> tuple[Any, NDArray]:
    new = W + 0.3 * (W - before) - 0.01 * (W @ H - block) @ H.T
    return (new.T @ block, new.T @ new), new


def killed(job: Callable[[], None], seconds: float) -> bool:
    """Run a job in a process of its own, and end that after some seconds if it is still there."""
    child = os.fork()
    if child == 0:
        try:
            job()
        except BaseException as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(1)
        os._exit(0)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def tried(name: str, kills: int, rng: np.random.Generator, folder: Path, pause: float) -> dict:
    """Kill the fits of a method so many times, and return what came of it."""
    X = np.abs(rng.normal(size=(ROWS, COLUMNS)) @ rng.normal(size=(COLUMNS, COLUMNS)))
    count = mmap.mmap(-1, 8)
    table = Slow(X, count, pause)
    if name in METHODS:
        model = getattr(eigenlens, name)(**METHODS[name])
        if not model._fits_blocks(table):
            return {}
        model.fit(X)  # loads and compiles what it takes, once for all processes
    path, result = folder / "checkpoint", folder / "result.npz"

    def job(path: Path | None) -> None:
        checkpoint.PAUSE, checkpoint.SHARE = 0.01, 0
        found = fit_of(name, table, path)
        with (folder / "half").open("wb") as file:
            np.savez(file, **found)
        (folder / "half").rename(result)

    def outcome() -> dict[str, bytes]:
        with np.load(result) as file:
            found = {key: file[key].tobytes() for key in file.files}
        result.unlink()
        return found

    begin = time.monotonic()
    killed(lambda: job(None), 600)
    seconds, wanted = time.monotonic() - begin, outcome()
    report = {"blocks": int.from_bytes(count[:8], "little"), "kills": 0, "ended": 0, "same": 0}
    count[:8] = bytes(8)
    last = False
    while not last:
        last = report["kills"] >= kills
        if killed(lambda: job(path), 600 if last else rng.uniform(0, 0.7 * seconds)):
            report["kills"] += 1
        elif not result.exists():
            raise SystemExit(f"{name}: a fit that was taken up failed.")
        else:
            report["ended"] += 1
            report["same"] += outcome() == wanted
    report["read"] = int.from_bytes(count[:8], "little")
    return report


def main() -> None:
    """Print a table of what came of the fits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*METHODS, LOOP], metavar="METHOD")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.01, help="Seconds for each block.")
    given = parser.parse_args()
    print("method            kills  fits that ended  same to the bit  blocks read, of so many")
    failed = False
    for name in given.names:
        rng = np.random.default_rng([given.seed, len(name)])
        with tempfile.TemporaryDirectory() as folder:
            found = tried(name, given.kills, rng, Path(folder), given.pause)
        if not found:
            print(f"{name:16}  (not fitted in blocks)", flush=True)
            continue
        failed |= found["same"] != found["ended"]
        print(
            f"{name:16}  {found['kills']:5}  {found['ended']:15}  {found['same']:15}  "
            f"{found['read']:12} {found['blocks'] * found['ended']:10}",
            flush=True,
        )
    if failed:
        raise SystemExit("Some fits ended with other numbers.")


if __name__ == "__main__":
    main()
