"""What a method adds to PCA: what it is for, in numbers that are its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._text import grouped, percent, short
from ..estimators.pca import PCA
from ..measure.embedding_quality import embedding_quality
from .fits import Fits, Fitted
from .gross import gross
from .readable import spanned
from .separation import most_between, separation
from .table import Table

__all__ = ["Setting", "added", "plane_map"]

NEIGHBOURS = 10
JUDGED = 2000  # rows whose neighbours are looked at
PAIRS = 200_000  # of rows, whose distances are: enough for two digits of a correlation
NAMED = 8  # columns of a line that can be read
LEAST = 0.1  # of a column, from which on a part is about it
TINY = np.finfo(float).tiny


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What all methods are set beside.

    Attributes
    ----------
    table : Table
    fits : Fits
    names : tuple of str
        Of the columns of the fits.
    drawn : ndarray of int
    map : dict or None
        What the first two components of PCA keep, as `plane_map` has it.
    """

    table: Table
    fits: Fits
    names: tuple[str, ...]
    drawn: NDArray
    map: dict[str, Any] | None


def added(one: Fitted, setting: Setting, weights: NDArray | None) -> dict[str, Any]:
    """Return sentences under ``adds``, and the numbers behind them."""
    if one.kind in ("kernel", "manifold"):
        return _as_map(one, setting)
    if one.kind == "robust" and hasattr(one.fit.model, "low_rank_"):
        return gross(one, setting)
    if one.unscaled and weights is not None:
        return _as_parts(one, setting, weights)
    if one.kind == "sparse" and weights is not None and (weights == 0).any():
        return _as_lines(one, setting, weights)
    said = _gives_back(one, setting)
    target = setting.table.target
    if one.kind == "supervised" and target is not None and one.fit.scores is not None:
        said = [separation(target, one.fit.scores), *said]
    return {"adds": said}


def plane_map(Z: NDArray, scores: NDArray | None) -> dict[str, Any] | None:
    """Return what the first two coordinates keep of the rows; None without a plane."""
    if scores is None or scores.shape[1] < 2 or len(Z) < 4 or not np.isfinite(scores).all():
        return None
    k = max(1, min(NEIGHBOURS, (len(Z) - 1) // 2))
    q = embedding_quality(
        Z, scores[:, :2], n_neighbors=k, sample=JUDGED, n_pairs=PAIRS, random_state=0
    )
    return {
        "trustworthiness": q.trustworthiness,
        "continuity": q.continuity,
        "neighbours_kept": q.neighbour_preservation,
        "shepard": q.shepard_correlation,
        "stress": q.normalised_stress,
        "rows": q.n_rows,
        "neighbours": k,
    }


def _as_map(one: Fitted, setting: Setting) -> dict[str, Any]:
    found, pca = plane_map(one.table, one.fit.scores), setting.map
    said = []
    if found is not None and pca is not None:
        k = found["neighbours"]
        near = f"{k} nearest rows" if k > 1 else "nearest row"
        said.append(
            f"In its plane {percent(found['neighbours_kept'])} of the {near} of a row stay among "
            f"the nearest, in that of the first two components of PCA "
            f"{percent(pca['neighbours_kept'])}."
        )
        said.append(
            "The rank correlation of its distances with those of the table is "
            f"{found['shepard']:.2f}; for PCA it is {pca['shepard']:.2f}."
        )
    target, places, shares = setting.table.target, one.scores(setting.drawn), {}
    if target is not None and places is not None:
        some = target.take(setting.drawn)
        said.append(separation(some, places))
        if target.numbers is None:
            seen = setting.fits.scores[setting.drawn]
            shares = {"between": [most_between(some, places), most_between(some, seen)]}
    if one.rows is not None:
        rows, n = grouped(len(one.rows)), grouped(len(setting.fits.Z))
        said.append(f"It works on pairs of rows, and was fitted to the {rows} of {n} rows drawn.")
    return {"adds": said, "map": found, "map_of_pca": pca} | shares


def _as_lines(one: Fitted, setting: Setting, weights: NDArray) -> dict[str, Any]:
    """Return components of few columns, each as a line."""
    d, Z = len(setting.names), one.table
    used = weights != 0
    kept, whole = spanned(weights, Z), spanned(setting.fits.pca.model.components_, Z)
    said = [
        f"A component has {used.sum(axis=1).mean():.1f} of {d} columns on average, and all "
        f"{len(weights)} keep {percent(kept)} of the variance; those of PCA have all columns and "
        f"keep {percent(whole)}."
    ]
    if idle := int((~used.any(axis=0)).sum()):
        said.append(f"{d - idle} of {d} columns suffice: the others have no weight at all.")
    lines = [_line(j, row, setting.names) for j, row in enumerate(weights)]
    return {
        "adds": said,
        "readable": lines,
        "nonzeros": used.sum(axis=1).tolist(),
        "kept": kept,
        "kept_by_pca": whole,
        "zeros": float((~used).mean()),
    }


def _as_parts(one: Fitted, setting: Setting, weights: NDArray) -> dict[str, Any]:
    """Return parts that add up to the table as it was given."""
    X, codes, k = one.table, np.asarray(one.fit.scores), len(weights)
    pca = PCA(min(k, min(X.shape)), random_state=0).fit(X)
    kept = _of_columns(X, codes @ weights)
    whole = _of_columns(X, pca.inverse_transform(pca.transform(X)))
    said = [
        f"{k} parts that only add up explain {percent(kept)} of the variance of a column on "
        f"average, in the table as given; {k} components of PCA, which also take away, "
        f"{percent(whole)}."
    ]
    shares = weights * codes.sum(axis=0)[:, None] / np.maximum(X.sum(axis=0), TINY)
    lines = [_part(j, row, setting.names) for j, row in enumerate(shares)]
    return {"adds": said, "readable": lines, "kept": kept, "kept_by_pca": whole, "parts": k}


def _of_columns(X: NDArray, back: NDArray) -> float:
    """Return the share of the variance of a column that comes back, at least 0, on average.

    Not that of the whole table, which is the columns with large numbers.
    """
    off, spread = ((X - back) ** 2).sum(axis=0), ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    return float(np.clip(1 - off / np.maximum(spread, TINY), 0, 1).mean())


def _part(j: int, shares: NDArray, names: tuple[str, ...]) -> str:
    """Return the columns of which a part makes up the most, each with how much that is."""
    order = np.argsort(-shares, kind="stable")[:NAMED]
    named = [f"{short(names[i], 32)} ({percent(shares[i])})" for i in order if shares[i] >= LEAST]
    return f"part {j + 1}: {', '.join(named) or f'less than {percent(LEAST)} of any column'}"


def _line(j: int, row: NDArray, names: tuple[str, ...]) -> str:
    """Return the columns of a sparse component, the strongest first."""
    order = [i for i in np.argsort(-np.abs(row), kind="stable") if row[i]]
    named = ", ".join(short(names[i], 32) for i in order[:NAMED])
    more = ", ..." if len(order) > NAMED else ""
    many = f"{len(order)} of {len(names)} columns"
    return f"component {j + 1}: {named or 'no column'}{more} ({many})"


def _gives_back(one: Fitted, setting: Setting) -> list[str]:
    """Return how much of the table comes back from the scores, beside PCA."""
    fit, fits = one.fit, setting.fits
    if fit.scores is None or not hasattr(fit.model, "inverse_transform"):
        return []
    table = one.table - one.table.min(axis=0) if fit.raised else one.table
    try:
        back = np.asarray(fit.model.inverse_transform(fit.scores))
    except Exception:  # any method of anybody, such as one whose inverse was not learned
        return []
    if back.shape != table.shape or not np.isfinite(back).all():
        return []
    spread = float(((table - table.mean(axis=0)) ** 2).sum())
    kept = 1 - float(((table - back) ** 2).sum()) / spread if spread > 0 else 0.0
    k, whole = fit.scores.shape[1], spanned(fits.pca.model.components_, fits.filled)
    if kept <= 0:
        return [f"Its {k} components give back less of the table than the means of the columns do."]
    said = [
        f"Its {k} components give back {percent(kept)} of the variance; the {fits.shown} of PCA "
        f"{percent(whole)}."
    ]
    if one.kind == "sparse" and (idle := float((fit.scores == 0).mean())):
        said.append(f"A row takes {k * (1 - idle):.1f} of {k} atoms on average.")
    return said
