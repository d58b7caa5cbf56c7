"""The other side of a comparison: one method fitted and judged, in a process of its own.

`fit`, `judge` and `repeat` are called one after the other, so that what is there is not lost if the
next takes too long; the process keeps the table and the last fit between calls.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.multiclass import type_of_target

from .._register import Method
from ..ops.memory import reset_peak, resident
from .classes import knn_accuracy, silhouette
from .comparison import Compared
from .embedding_quality import embedding_quality
from .trial import Fit, components_of, fit_one, made

__all__ = ["Task", "Until", "begin", "fit", "judge", "repeat"]

AGAIN = 0.8  # of the rows, for the second fit that says how stable the first is
NEIGHBOURS = 10
FEW = 20  # rows, to load what judges
JUDGED = 2000  # rows whose neighbours are looked at
PATIENCE = 0.5  # of the time of a method, after which a fit of ours is asked to stop


@dataclass(frozen=True, eq=False)
class Task:
    """The table, scaled, and how many components are wanted of it.

    Attributes
    ----------
    tables, filled : pair of ndarray
        Rows to fit and rows held out, with holes and with holes filled.
    targets : pair of ndarray, or None
        Their targets.
    n_components : int
    why : str
        What settled that.
    random_state : int
    """

    tables: tuple[NDArray, NDArray]
    filled: tuple[NDArray, NDArray]
    targets: tuple[NDArray, NDArray] | None
    n_components: int
    why: str
    random_state: int

    def target(self, which: int) -> NDArray | None:
        """Return the target of the rows to fit (0), or of those held out (1), if there is one."""
        return None if self.targets is None else self.targets[which]


_task: Task
_done: Fit


def begin(task: Task) -> None:
    """Keep the table, and load what judges, so that no method pays for it."""
    global _task
    _task = task
    some = task.filled[0][:FEW, :2]
    if len(some) == FEW:
        embedding_quality(some, some, n_neighbors=1, random_state=0)


class Until:
    """A callback that ends a fit of ours in good time, so that there is an answer to judge."""

    def __init__(self, seconds: float) -> None:
        self.end = time.perf_counter() + seconds

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator: Any, context: Any, **said: Any) -> bool:
        """Say whether to stop."""
        return time.perf_counter() > self.end


def fit(name: str, method: Any, seconds: float) -> Compared:
    """Fit a method to the rows that are not held out, and keep the fit for `judge`."""
    global _done
    why = "its own"
    if isinstance(method, Method):
        k, fewer = components_of(method, _task.n_components, _task.target(0))
        why = fewer or _task.why
        method = made(method, k, _task.random_state)
    if hasattr(method, "set_callbacks"):
        method.set_callbacks(Until(PATIENCE * seconds))
    before = reset_peak()
    _done = fit_one(name, method, _task.tables[0], _task.filled[0], _task.target(0))
    peak = math.nan if before is None else max(0.0, (resident("VmHWM") - before) / 1024)
    scores = _done.scores
    return Compared(
        name,
        n_components=0 if scores is None else scores.shape[1],
        why=why,
        seconds=_done.seconds,
        megabytes=peak,
        certificate=str(getattr(method, "certificate_", "")),
        warnings=_done.warnings,
        error=_done.error,
    )


def judge(row: Compared) -> Compared:
    """Return the row with what its fit keeps of rows that it saw, and of those held out."""
    model, scores = _done.model, _done.scores
    known, new = _seen()
    found: dict[str, Any] = {"sparsity": _sparsity(model)}
    placed = _attempt(model, "transform", new)
    if scores is not None:
        found |= _quality(scores, placed)
    back = None if placed is None else _attempt(model, "inverse_transform", placed)
    if back is not None:
        there = ~np.isnan(new)
        off, spread = (back - new)[there], (new - np.nanmean(known, axis=0))[there]
        found["reconstruction_error"] = float(np.linalg.norm(off) / np.linalg.norm(spread))
    return replace(row, **found)


def repeat(row: Compared) -> Compared:
    """Return the row with how well its fit agrees with one to some of the rows."""
    if _done.scores is None:
        return row
    return replace(row, stability=_stability(_done.model, _seen()[0], _done.scores))


def _seen() -> tuple[NDArray, NDArray]:
    """Return the rows that the last fit saw and those held out, as it takes them."""
    known, new = _task.filled if _done.filled else _task.tables
    if _done.raised:
        least = np.nanmin(known, axis=0)
        return known - least, np.maximum(new - least, 0.0)
    return known, new


def _attempt(model: Any, name: str, X: NDArray) -> NDArray | None:
    """Return what a method of a model makes of `X`, or None where it has none or cannot."""
    if not hasattr(model, name):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say was said by the fit
        try:
            return np.asarray(getattr(model, name)(X), dtype=np.float64)
        except Exception:  # such as an inverse that was not learned
            return None


def _sparsity(model: Any) -> float:
    """Return the share of loadings that are zero."""
    components = getattr(model, "components_", None)
    return math.nan if components is None else float(np.mean(np.asarray(components) == 0))


def _quality(scores: NDArray, placed: NDArray | None) -> dict[str, float]:
    """Return what became of neighbours and distances, and how well classes can be told."""
    known, y = _task.filled[0], _task.targets
    q = embedding_quality(known, scores, n_neighbors=_neighbours(), sample=JUDGED, random_state=0)
    found = {
        "trustworthiness": q.trustworthiness,
        "continuity": q.continuity,
        "neighbours_kept": q.neighbour_preservation,
        "shepard": q.shepard_correlation,
        "stress": q.normalised_stress,
    }
    if y is not None and type_of_target(y[0]) in ("binary", "multiclass"):
        n = len(scores)
        if 1 < len(np.unique(y[0])) < n:
            found["silhouette"] = silhouette(scores, y[0], sample=JUDGED, random_state=0)
            if placed is not None:
                out = np.arange(n, n + len(placed))
                all_rows, labels = np.concatenate([scores, placed]), np.concatenate(y)
                k = min(NEIGHBOURS, n)
                found["knn_accuracy"] = knn_accuracy(all_rows, labels, n_neighbors=k, held_out=out)
    return found


def _neighbours() -> int:
    """Return a number of neighbours that trustworthiness is defined for."""
    return max(1, min(NEIGHBOURS, (len(_task.tables[0]) - 1) // 2))


def _stability(model: Any, known: NDArray, scores: NDArray) -> float:
    """Return how well places of rows agree with those of a fit to some of the rows."""
    rng = np.random.default_rng(_task.random_state)
    n = len(known)
    rows = np.sort(rng.choice(n, max(2, int(AGAIN * n)), replace=False))
    y = None if _task.targets is None else _task.targets[0][rows]
    again = fit_one(_done.name, clone(model), known[rows], known[rows], y)
    if again.scores is None or again.scores.shape[1] != scores.shape[1]:
        return math.nan
    A, B = (part - part.mean(axis=0) for part in (scores[rows], again.scores))
    size = np.linalg.norm(A) * np.linalg.norm(B)
    return float(np.linalg.svd(A.T @ B, compute_uv=False).sum() / size) if size > 0 else math.nan
