"""One contestant on one problem, in a process of its own.

The order is the same for all: read the data, one fit of a tiny problem of the same kind (imports,
compiles, starts thread pools), the first fit of the real problem (its time and its peak memory are
kept), then the timed fits, whose median is this process's time. Slow ones stop once six seconds
are spent; where the first takes as long, it is the only one.

A cold process has no tiny fit: it imports scikit-learn, which is no contestant's own there, and
times one fit, with the imports and the compiling that it takes.
"""

import json
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np

from benchmarks import BENCHMARKS
from benchmarks.harness import load
from eigenlens.ops.memory import reset_peak, resident

BUDGET = 6.0
COMMON = "sklearn.decomposition", "sklearn.manifold", "sklearn.cluster"


def main(benchmark, case, contestant, data, fits, out):
    """Fit and measure; store the answer in ``out.npz`` and the measurements in ``out.json``."""
    case = next(c for c in import_module(BENCHMARKS[benchmark]).CASES if c.name == case)
    fit = next(c.fit for c in case.everyone if c.name == contestant)
    X = load(data)
    if fits == "cold":
        for name in COMMON:
            import_module(name)
        cold, answer = clock(fit, X, case.params)
        measured = {"cold": cold}
    else:
        fit(case.make(np.random.default_rng(1), **case.smoke), **case.params)
        measured, answer = warm(fit, X, case.params, int(fits))
    measured["note"] = answer.pop("note", "")
    np.savez(Path(out).with_suffix(".npz"), **answer)
    Path(out).with_suffix(".json").write_text(json.dumps(measured))


def warm(fit, X, params, fits):
    """Give the times and the peak memory of several fits, and the answer of the first."""
    before = reset_peak()
    first, answer = clock(fit, X, params)
    memory = None if before is None else (resident("VmHWM") - before) / 1024
    seconds = []
    while len(seconds) < fits and first + sum(seconds) < BUDGET:
        seconds.append(clock(fit, X, params)[0])
    seconds = seconds or [first]
    times = {"first": first, "seconds": float(np.median(seconds)), "fastest": min(seconds)}
    return times | {"MB": memory}, answer


def clock(fit, X, params):
    """Give the seconds a fit takes, and its answer."""
    start = time.perf_counter()
    answer = fit(X, **params)
    return time.perf_counter() - start, answer


def peak_gigabytes():
    """Give the peak memory of this process; NaN, which never counts, if nobody tells."""
    try:
        return resident("VmHWM") * 1024 / 1e9
    except OSError:
        return np.nan


if __name__ == "__main__":
    main(*sys.argv[1:])
