"""What a comparison of methods found: a row a method, as records, frames, text and HTML."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, fields
from typing import Any

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


COLUMNS = tuple(item.name for item in fields(Compared))


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

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads of the columns that hold anything, and the cells as text."""
        columns = {name: [_text(value) for value in held] for name, held in self._columns().items()}
        columns = {name: held for name, held in columns.items() if any(held)}
        return list(columns), [list(cells) for cells in zip(*columns.values(), strict=True)]

    def __str__(self) -> str:
        heads, cells = self._shown()
        brief = [i for i, name in enumerate(heads) if name not in ("warnings", "origin", "why")]
        table = [[line[i].split("\n")[0] for i in brief] for line in [heads, *cells]]
        wide = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(line, wide, strict=True)) for line in table]
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        heads, cells = self._shown()
        top = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in heads)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
            for line in cells
        )
        return f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.3g}"
    return str(value)
