"""Which method to take for what, each sentence with a number that is on the page."""

from __future__ import annotations

import math
from typing import Any

from .._text import percent

__all__ = ["advised", "headline"]

SLIGHT = 0.01  # error, by which two methods differ without a reason to prefer one
NEARER = 0.05  # share of neighbours, the same
BENT = 1.25  # times what cells that are not far off are off: outliers have bent PCA
READ = 0.2  # share of zero weights from which on components are easier to read
COST = 0.85  # of the variance of PCA that such components must keep
APART = 0.2  # share of the variance along an axis, more between classes than PCA has
HALF = 0.5  # of what PCA explains, which parts must to be worth a look
ORDER = ("outliers", "classes", "seeing", "reading", "parts", "reconstruction")

Advice = dict[str, Any]


def advised(
    comparison: dict[str, Any] | None, methods: list[dict[str, Any]], *, classes: bool
) -> list[Advice]:
    """Return advice for each purpose that something was measured for."""
    rows = {row["method"]: row for row in (comparison or {"rows": []})["rows"] if not row["error"]}
    sections = [(f"method{i}", one) for i, one in enumerate(methods) if not one["error"]]
    found = [
        _reconstruction(rows),
        _reading(sections),
        _seeing(sections),
        _outliers(sections),
        _classes(rows, sections, (comparison or {}).get("held_out", 0)) if classes else None,
        _parts(sections),
    ]
    return [one for one in found if one is not None]


def headline(advice: list[Advice]) -> str | None:
    """Return the sentence that matters most: the first that leads away from PCA, or none does."""
    away = {one["for"]: one for one in advice if one["method"] != "PCA"}
    for purpose in ORDER:
        if purpose in away:
            return str(away[purpose]["text"])
    return str(advice[0]["text"]) if advice else None


def _advice(purpose: str, method: str, text: str, number: str, where: str) -> Advice:
    return {"for": purpose, "method": method, "text": text, "number": number, "where": where}


def _reconstruction(rows: dict[str, Any]) -> Advice | None:
    errors = _column(rows, "reconstruction_error")
    if "PCA" not in errors or len(errors) < 2:
        return None
    best, own = min(errors, key=lambda name: (errors[name], name)), errors["PCA"]
    again = max(
        SLIGHT, *(1 - value for value in _column(rows, "stability", ("PCA", best)).values())
    )
    if own - errors[best] > again:
        number = f"{errors[best]:.3g}"
        text = (
            f"To give rows back from few numbers, take {best}: its error on rows held out is "
            f"{number}, that of PCA {own:.3g}."
        )
        return _advice("reconstruction", best, text, number, "comparison")
    number = f"{own:.3g}"
    text = (
        f"To give rows back from few numbers, PCA is enough: its error on rows held out is "
        f"{number}, and no other method is lower by more than {again:.2g}, by which fits to other "
        "rows differ."
        if again > SLIGHT
        else f"To give rows back from few numbers, PCA is enough: its error on rows held out is "
        f"{number}, and no other method is lower by more than {SLIGHT:g}."
    )
    return _advice("reconstruction", "PCA", text, number, "comparison")


def _reading(sections: list[tuple[str, Any]]) -> Advice | None:
    sparse = [(where, one) for where, one in sections if "zeros" in one]
    if not sparse:
        return None
    good = [
        (where, one)
        for where, one in sparse
        if one["zeros"] >= READ and one["kept"] >= COST * one["kept_by_pca"]
    ]
    if not good:
        where, one = max(sparse, key=lambda pair: pair[1]["kept"])
        number = percent(one["kept"])
        text = (
            f"Nothing is easier to read than PCA at a fair price: {one['name']} keeps {number} of "
            f"the variance, with {percent(one['zeros'])} of its weights zero."
        )
        return _advice("reading", "PCA", text, number, where)
    where, one = max(good, key=lambda pair: (pair[1]["zeros"], pair[1]["kept"]))
    number = percent(one["kept"])
    text = (
        f"To read the components, take {one['name']}: {percent(one['zeros'])} of its weights are "
        f"zero, and it keeps {number} of the variance, PCA {percent(one['kept_by_pca'])}."
    )
    return _advice("reading", one["name"], text, number, where)


def _seeing(sections: list[tuple[str, Any]]) -> Advice | None:
    maps = [(where, one) for where, one in sections if one.get("map") and one["map_of_pca"]]
    if not maps:
        return None
    where, one = max(maps, key=lambda pair: pair[1]["map"]["neighbours_kept"])
    best, own = (part["neighbours_kept"] for part in (one["map"], one["map_of_pca"]))
    if best - own > NEARER:
        number = percent(best)
        text = (
            f"To see which rows are alike, take the map of {one['name']}: {number} of the nearest "
            f"rows of a row stay among the nearest, {percent(own)} in the plane of PCA."
        )
        return _advice("seeing", one["name"], text, number, where)
    number = percent(own)
    text = (
        f"To see which rows are alike, the plane of PCA is enough: {number} of the nearest rows of "
        f"a row stay among the nearest, and at most {percent(best)} in any other map."
    )
    return _advice("seeing", "PCA", text, number, where)


def _outliers(sections: list[tuple[str, Any]]) -> Advice | None:
    for where, one in sections:
        if "cells" not in one:
            continue
        without, own = one["off"]
        far, name = one["far"], one["name"]
        if not far:
            text = f"No outlier speaks against PCA: {name} finds 0 cells far off."
            if one["cells"]:
                number = f"{abs(one['cells'][0]['deviations']):.1f}"
                text = (
                    f"No outlier speaks against PCA: {name} finds no cell far off, the farthest "
                    f"{number} deviations away."
                )
                return _advice("outliers", "PCA", text, number, where)
            return _advice("outliers", "PCA", text, "0 cells", where)
        number = f"{far:,}".replace(",", " ") + (" cell" if far == 1 else " cells")
        if own > BENT * without:
            text = (
                f"Against outliers, take {name}: {number} {'is' if far == 1 else 'are'} far off, "
                f"and bend PCA, from which the others are off by {own:.3g} instead of "
                f"{without:.3g}."
            )
            return _advice("outliers", name, text, number, where)
        text = (
            f"{name} finds {number} far off, worth a look, but they hardly bend PCA: the others "
            f"are off by {own:.3g} from it, by {without:.3g} from {name}."
        )
        return _advice("outliers", "PCA", text, number, where)
    return None


def _classes(rows: dict[str, Any], sections: list[tuple[str, Any]], held_out: int) -> Advice | None:
    shares = _column(rows, "knn_accuracy")
    compared = "PCA" in shares and len(shares) > 1
    best, own = (
        max(shares, key=lambda name: (shares[name], name == "PCA"), default=""),
        shares.get("PCA", 0),
    )
    # two standard errors of a share of so many rows
    chance = 2 * math.sqrt(max(own * (1 - own), 1 / held_out) / held_out) if compared else 1.0
    if compared and shares[best] - own > chance:
        number = f"{shares[best]:.3g}"
        text = (
            f"To tell the classes apart, take {best}: its neighbours name the class of a share of "
            f"{number} of the rows held out, those of PCA of {own:.3g}."
        )
        return _advice("classes", best, text, number, "comparison")
    if (axis := _along_an_axis(sections)) is not None:
        return axis
    if not compared:
        return None
    number = f"{own:.3g}"
    ahead = f"the best ({best}, {shares[best]:.3g}) is not ahead by more than chance among"
    text = (
        f"To tell the classes apart, PCA is enough: its neighbours name the class of a share of "
        f"{number} of the rows held out, and "
        f"{'no other does better on' if best == 'PCA' else ahead} {held_out} rows."
    )
    return _advice("classes", "PCA", text, number, "comparison")


def _along_an_axis(sections: list[tuple[str, Any]]) -> Advice | None:
    """Return the map on an axis of which classes lie apart that do not so on any of PCA."""
    maps = [(where, one) for where, one in sections if "between" in one]
    if not maps:
        return None
    where, one = max(maps, key=lambda pair: pair[1]["between"][0])
    best, own = one["between"]
    if best - own <= APART:
        return None
    number = percent(best)
    text = (
        f"To see the classes apart, take {one['name']}: {number} of the variance along one of its "
        f"axes lies between them, at most {percent(own)} along those of PCA."
    )
    return _advice("classes", one["name"], text, number, where)


def _parts(sections: list[tuple[str, Any]]) -> Advice | None:
    parts = [(where, one) for where, one in sections if one.get("parts")]
    if not parts:
        return None
    where, one = max(parts, key=lambda pair: pair[1]["kept"])
    number, own = percent(one["kept"]), percent(one["kept_by_pca"])
    if one["kept"] >= HALF * one["kept_by_pca"]:
        text = (
            f"To see the rows as sums of parts, take {one['name']}: it explains {number} of the "
            f"variance of a column on average, PCA of the same table {own}."
        )
        return _advice("parts", one["name"], text, number, where)
    text = (
        f"Parts that only add up say little here: those of {one['name']} explain {number} of the "
        f"variance of a column on average, PCA of the same table {own}."
    )
    return _advice("parts", "PCA", text, number, where)


def _column(
    rows: dict[str, Any], key: str, names: tuple[str, ...] | None = None
) -> dict[str, float]:
    return {
        name: row["values"][key]
        for name, row in rows.items()
        if row["values"].get(key) is not None and (names is None or name in names)
    }
