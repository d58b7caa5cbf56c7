"""The comparison of methods, as the page shows it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._register import fittable
from ..measure.compare import HELD_OUT, LEAST_ROWS, compare
from ..measure.comparison import BETTER, Compared, Comparison
from .plain import plain

__all__ = ["ROWS", "compared", "comparison_section"]

ROWS = 1000  # that methods are compared on
AGAIN = 0.25  # of the time, if so much is left for those that were late
COST = ("linear", "supervised", "sparse", "parts", "kernel", "robust", "manifold")
"""Kinds from the cheap to the dear. What a method does not use of its time is for those after."""
ABOUT = {
    "n_components": "Components that were asked for.",
    "reconstruction_error": "Of rows held out: what is lost, 0 for nothing, 1 for no better than "
    "the mean.",
    "trustworthiness": "Whether rows that are near each other in the scores are near in the table.",
    "continuity": "Whether rows that are near each other in the table are near in the scores.",
    "neighbours_kept": "Share of the ten nearest rows that stay among the ten nearest.",
    "shepard": "Rank correlation of distances in the table with distances in the scores.",
    "stress": "Error of distances, in units of them.",
    "silhouette": "How much nearer rows are to their own class than to the next, at most 1.",
    "knn_accuracy": "Share of rows held out whose class their ten nearest neighbours name.",
    "sparsity": "Share of weights that are zero.",
    "stability": "How well scores agree with those of a fit to 80 % of the rows; 1 is the same.",
    "seconds": "Of the fit.",
    "megabytes": "Memory that the fit needed beyond the data.",
}


def compared(
    X: NDArray,
    names: list[str],
    n_components: int,
    y: NDArray | None,
    *,
    scale: str,
    budget: float,
    random_state: Any,
) -> Comparison | None:
    """Compare methods on at most `ROWS` rows, drawn at random; None for too few rows.

    One that was not done in its share of the time gets what is left over in the end.
    """
    rng = np.random.default_rng(random_state)
    if len(X) > ROWS:
        rows = np.sort(rng.choice(len(X), ROWS, replace=False))
        X, y = X[rows], None if y is None else y[rows]
    if len(X) < LEAST_ROWS:
        return None
    options = {"scale": scale, "random_state": random_state}
    kinds = {name: method.kind for name, method in fittable().items()}
    order = sorted(names, key=lambda name: COST.index(kinds[name]))
    found = compare(X, order, n_components, y, budget=budget, **options)
    done, seconds = {row.method: row for row in found.rows}, found.seconds
    late = [name for name in names if done[name].stopped == "late"]
    if late and budget - seconds > AGAIN * budget:
        again = compare(X, late, n_components, y, budget=budget - seconds, **options)
        done |= {row.method: row for row in again.rows}
        seconds += again.seconds
    return Comparison(tuple(done[name] for name in names), seconds)


def comparison_section(found: Comparison | None, n: int) -> dict[str, Any] | None:
    """Return the table, with the best of each column."""
    if found is None:
        return None
    fitted = [row for row in found.rows if not row.error]
    keys = [key for key in ABOUT if any(row.text(key) for row in fitted)]
    best = {key: found.best(key) for key in keys}
    used = min(n, ROWS)
    return {
        "columns": [
            {"key": key, "label": _label(key), "better": _better(key), "about": ABOUT[key]}
            for key in keys
        ],
        "rows": [_row(row, keys, best) for row in found.rows],
        "seconds": found.seconds,
        "rows_used": used,
        "held_out": max(2, int(HELD_OUT * used)),
    }


def _row(row: Compared, keys: list[str], best: dict[str, str]) -> dict[str, Any]:
    values = {key: None if row.error else plain(getattr(row, key)) for key in keys}
    return {
        "method": row.method,
        "origin": row.origin,
        "values": values,
        "best": [key for key in keys if values[key] is not None and row.text(key) == best[key]],
        "certificate": row.certificate,
        "verdict": row.verdict,
        "why": row.why,
        "warnings": list(row.warnings),
        "error": row.error,
    }


def _better(key: str) -> str | None:
    if key in BETTER:
        return "low" if BETTER[key] is min else "high"
    return None


def _label(key: str) -> str:
    return {"n_components": "components", "megabytes": "MB"}.get(key, key.replace("_", " "))
