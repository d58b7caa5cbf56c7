"""What a comparison of methods found: a row a method, as records, frames, text and HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

from .frames import pandas

__all__ = ["Compared", "Comparison"]


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A method of a comparison; what is not defined for it is NaN or empty.

    Attributes
    ----------
    method : str
    origin : str
        The package that it comes from.
    n_components : int
    why : str
        What settled the number of components.
    reconstruction_error : float
        Of rows held out: what their images under the model are off by, relative to what their
        means are off by.
    trustworthiness, continuity, neighbours_kept, shepard, stress : float
        See :func:`eigenlens.measure.embedding_quality`, of the rows that were fitted.
    silhouette, knn_accuracy : float
        With a target that is a class: of the rows that were fitted, and of rows held out.
    sparsity : float
        Share of the loadings that are zero.
    stability : float
        How well places of rows agree, turned and scaled at best, with those of a fit to 80 % of the
        rows: 1 if they are the same, 0 if nothing is.
    seconds : float
        Of the fit.
    megabytes : float
        Memory that the fit needed at its peak beyond the data; NaN where the system does not say.
    certificate : str
        What the fit proves of its answer.
    warnings : tuple of str
    error : str
        Why there is no answer; empty if there is.
    stopped : {'', 'late', 'untried', 'crashed'}
        What kept it from an answer, other than an error of its own: its share of the time was over,
        there was none left to begin in, or its process ended. `error` has it in words.
    """

    method: str
    origin: str = ""
    n_components: int = 0
    why: str = ""
    reconstruction_error: float = math.nan
    trustworthiness: float = math.nan
    continuity: float = math.nan
    neighbours_kept: float = math.nan
    shepard: float = math.nan
    stress: float = math.nan
    silhouette: float = math.nan
    knn_accuracy: float = math.nan
    sparsity: float = math.nan
    stability: float = math.nan
    seconds: float = math.nan
    megabytes: float = math.nan
    certificate: str = ""
    warnings: tuple[str, ...] = ()
    error: str = ""
    stopped: Literal["", "late", "untried", "crashed"] = ""

    @property
    def verdict(self) -> str:
        """Whether the certificate holds, in its own words; empty if there is none."""
        return self.certificate.rpartition(": ")[2]

    def text(self, name: str) -> str:
        """Return a value as a table shows it: three digits; nothing for what is not defined."""
        value = getattr(self, name)
        if isinstance(value, float):
            return "" if math.isnan(value) else f"{value + 0.0:.3g}"  # never -0
        return str(value)


COLUMNS = tuple(item.name for item in fields(Compared) if item.name != "stopped")
BETTER: dict[str, Callable[..., Any]] = {
    "reconstruction_error": min,
    "trustworthiness": max,
    "continuity": max,
    "neighbours_kept": max,
    "shepard": max,
    "stress": min,
    "silhouette": max,
    "knn_accuracy": max,
    "stability": max,
}
"""Measures of quality, each with the better of its values: the smaller or the larger."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """What :func:`compare` found. A notebook shows it as a table.

    Attributes
    ----------
    rows : tuple of Compared
        One a method, in the order asked for.
    seconds : float
        That it took in all.
    """

    rows: tuple[Compared, ...]
    seconds: float

    def __getitem__(self, method: str) -> Compared:
        """Return the row of a method."""
        for row in self.rows:
            if row.method == method:
                return row
        known = ", ".join(row.method for row in self.rows)
        raise KeyError(f"{method} was not compared. There are: {known}.")

    def best(self, name: str) -> str:
        """Return the best value of a column as it is shown, so that ties in a table are ties.

        Empty where there is none, or none is better than another.
        """
        texts = [text for row in self.rows if not row.error and (text := row.text(name))]
        choose = BETTER.get(name)
        return "" if choose is None or not texts else choose(texts, key=float)

    def to_pandas(self) -> Any:
        """Return a pandas frame with a row for each method."""
        return pandas().DataFrame(self._columns()).set_index("method")

    def to_polars(self) -> Any:
        """Return a polars frame with a row for each method."""
        try:
            import polars
        except ImportError:
            raise ImportError(
                "Frames of polars need it, and it is not installed. Run: pip install polars."
            ) from None
        return polars.DataFrame(self._columns(), strict=False)

    def _columns(self) -> dict[str, list[Any]]:
        columns = {name: [getattr(row, name) for row in self.rows] for name in COLUMNS}
        return columns | {"warnings": ["\n".join(row.warnings) for row in self.rows]}

    def __str__(self) -> str:
        names = ["method", *self._measured()]
        table = [[_head(name) for name in [*names, "certificate"]]]
        table += [[*(row.text(name) for name in names), row.verdict] for row in self.rows]
        wide = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(line, wide, strict=True)) for line in table]
        for i, row in enumerate(self.rows, 1):
            if row.error:
                lines[i] = f"{row.method.ljust(wide[0])}  {row.error}"
        return "\n".join(line.rstrip() for line in lines)

    def _measured(self) -> list[str]:
        """Return the names of the numbers that are there for any method."""
        return [
            name
            for name in ("n_components", *BETTER, "sparsity", "seconds", "megabytes")
            if any(row.text(name) for row in self.rows if not row.error)
        ]

    def _repr_html_(self) -> str:
        names = self._measured()
        best = {name: self.best(name) for name in names}
        heads = "".join(f"<th>{_head(name)}</th>" for name in ["method", *names, "certificate"])
        rows = "".join(_html_row(row, names, best) for row in self.rows)
        said = "".join(_html_notes(row) for row in self.rows)
        return (
            f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
            f"<details><summary>Why, proofs and warnings</summary><ul>{said}</ul></details>"
        )


def _html_row(row: Compared, names: list[str], best: dict[str, str]) -> str:
    method = f'<td style="text-align: left">{html.escape(row.method)}</td>'
    if row.error:
        left = f'<td colspan="{len(names) + 1}" style="text-align: left">'
        return f"<tr>{method}{left}{html.escape(row.error)}</td></tr>"
    cells = ""
    for name in names:
        text = row.text(name)
        mark = "b" if text and text == best[name] else "span"
        cells += f"<td><{mark}>{text}</{mark}></td>"
    return f"<tr>{method}{cells}<td>{row.verdict}</td></tr>"


def _html_notes(row: Compared) -> str:
    why = f"{row.n_components} components: {row.why}" if row.why else ""
    notes = "; ".join(note for note in (why, row.certificate, *row.warnings) if note)
    return f"<li>{html.escape(f'{row.method} ({row.origin}): {notes}')}</li>" if notes else ""


def _head(name: str) -> str:
    return name.removeprefix("n_").replace("_", " ")
