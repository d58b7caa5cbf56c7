"""The report: a dict that survives JSON, and the page made from it."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._text import clean, count, listed
from ..data.atomic import atomic, require_replaceable
from ..data.scaling import SCALERS
from . import page
from .code import code_of
from .findings import findings, meanings, plane
from .fits import Fits, fit_all
from .outliers import Outliers, outliers
from .quality import Quality, quality
from .sections import SHOWN, components_section, model_section, plain, strongest
from .table import Table

__all__ = ["Report", "require_savable"]

MAX_ROWS = 20_000
DRAWN = 3000  # points in a picture
MEANT = 3  # components of which the page says what they are about


@dataclass(frozen=True, eq=False)
class Report:
    """What the methods of the register find in a table.

    Made with :meth:`of`. A notebook shows it as the value of a cell.

    Attributes
    ----------
    data : dict
        All that the page says, in plain strings, numbers, lists and dicts: it survives JSON
        unchanged, and ``Report(data)`` is the same report.

    Examples
    --------
    >>> from eigenlens import datasets
    >>> from eigenlens.report import Report
    >>> table = datasets.breast_cancer()
    >>> report = Report.of(table.X, names=table.names, methods=())
    >>> print(report.findings[1])
    Component 1, 44.3 % of the variance, rises with mean concave points, mean concavity, \
worst concave points and ... more.
    >>> report
    Report('30 columns of 569 rows')
    """

    data: dict[str, Any] = field(repr=False)

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        names: Sequence[object] | None = None,
        target: Any = None,
        title: str | None = None,
        scale: str = "standard",
        methods: str | Iterable[str] = "all",
        n_components: int | float | str | None = "consensus",
        max_rows: int = MAX_ROWS,
        random_state: int | None = 0,
        notes: Iterable[str] = (),
        callbacks: Iterable[Any] = (),
    ) -> Report:
        """Look at a table, fit the methods to it, and write down what they find.

        Parameters
        ----------
        X : array, pandas or polars dataframe, or blocks with names
            One row a sample. NaN is a hole: PCA is then fitted to the cells that are there, and
            fills them for methods that take no holes. Columns of text, constant columns and rows
            without any value are left out, and the report says so.
        names : sequence of str, optional
            Names of the columns; by default those that X carries.
        target : array-like of shape (n_samples,), optional
            A class or a number for each row. It colours the pictures; of the methods, only those
            that learn from classes are given it.
        title : str, optional
        scale : {'standard', 'minmax', 'robust', 'normalize', 'none'}, default='standard'
            What to do with the columns first ('normalize': with the rows).
        methods : 'all' or iterable of str, default='all'
            Names of the register. PCA is always there.
        n_components : int, float, str or None, default='consensus'
            As in :class:`eigenlens.PCA`.
        max_rows : int, default=20000
            Of more rows, so many are drawn at random.
        random_state : int or None, default=0
            Seed of the fits, and of what is drawn.
        notes : iterable of str
            Sentences for the head of the page.
        callbacks : iterable
            Callbacks of scikit-learn's, which watch every fit.

        Returns
        -------
        Report
        """
        rng = np.random.default_rng(random_state)
        table = Table.of(X, names=names, target=target, max_rows=max_rows, rng=rng)
        seen = quality(table)
        fits = fit_all(
            table.values[:, seen.usable],
            scale=scale,
            methods=methods,
            n_components=n_components,
            random_state=random_state,
            target=None if table.target is None else table.target.values,
            callbacks=tuple(callbacks),
        )
        measured = outliers(fits)
        drawn = _drawn(len(table.values), measured.rows, rng)
        words = [clean(note) for note in notes]
        head = _head(table, seen, fits, title, scale, words)
        return cls(head | _body(table, seen, fits, measured, drawn))

    @property
    def findings(self) -> list[str]:
        """The report in short: three to six sentences."""
        return list(self.data["findings"])

    def to_json(self) -> str:
        """Return the numbers of the report as JSON."""
        return json.dumps(self.data, allow_nan=False, ensure_ascii=False, indent=1)

    def to_html(self) -> str:
        """Return the page: one file that needs nothing else, neither files nor a network."""
        return page.whole(self.data)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page (``.html``) or its numbers (``.json``), in whole or not at all.

        Parameters
        ----------
        path : path-like
        """
        path = Path(path)
        require_savable(path)
        text = self.to_json() if path.suffix.lower() == ".json" else self.to_html()
        with atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        return page.fragment(self.data)

    def __repr__(self) -> str:
        return f"Report({self.data['title']!r})"


def require_savable(path: str | PathLike[str]) -> None:
    """Raise unless a report can be saved under that name, before the work is done."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".json"):
        raise ValueError(
            f"{path.name!r} ends in {path.suffix!r}. A report is saved as .html (the page) or "
            ".json (its numbers)."
        )
    require_replaceable(path)


def _drawn(n: int, outlying: NDArray, rng: np.random.Generator) -> NDArray:
    """Return the rows to draw: all, or the outlying ones and others at random."""
    if n <= DRAWN:
        return np.arange(n)
    first = outlying[:DRAWN]
    rest = np.setdiff1d(np.arange(n), first)
    return np.sort(np.concatenate([first, rng.choice(rest, DRAWN - len(first), replace=False)]))


def _head(
    table: Table, seen: Quality, fits: Fits, title: str | None, scale: str, notes: list[str]
) -> dict[str, Any]:
    """Return what the report is about and what was done."""
    n, d = table.n_given, len(table.names) + len(table.text)
    holes = int(seen.holes.sum())
    return {
        "title": clean(title) if title else f"{count(d, 'column')} of {count(n, 'row')}",
        "table": {
            "rows": n,
            "columns": d,
            "used_rows": len(table.values),
            "used_columns": int(seen.usable.sum()),
            "holes": holes,
            "holes_share": holes / table.values.size,
        },
        "steps": _steps(table, seen, scale),
        "notes": notes,
        "scale": scale,
        "versions": {
            "eigenlens": version("eigenlens"),
            "scikit-learn": version("scikit-learn"),
            "numpy": version("numpy"),
            "python": platform.python_version(),
        },
        "code": code_of(table, seen, fits, scale),
    }


def _steps(table: Table, seen: Quality, scale: str) -> list[str]:
    """Return what was done to the table before the fits."""
    said = []
    if table.empty:
        said.append(f"{count(table.empty, 'row')} without any value left out")
    if table.sampled:
        rows = count(len(table.values), "row")
        said.append(f"{rows} drawn at random from {count(table.n_given, 'row')}")
    still = [name for name, varies in zip(table.names, seen.usable, strict=True) if not varies]
    if still:
        said.append(f"left out because they do not vary: {listed(still)}")
    if table.text:
        said.append(f"left out because they hold no numbers: {listed(table.text)}")
    said.append(SCALERS[scale].words)
    if seen.holes[seen.usable].any():
        said.append("PCA was fitted to the cells that are there")
    return said


def _body(
    table: Table, seen: Quality, fits: Fits, measured: Outliers, drawn: NDArray
) -> dict[str, Any]:
    """Return what was found."""
    usable = np.flatnonzero(seen.usable)
    names = tuple(table.names[j] for j in usable)
    components = components_section(fits)
    reference = fits.pca.model.components_
    return {
        "findings": findings(table, seen, components, measured, fits),
        "quality": seen.to_dict(table),
        "components": components,
        "rows": _rows(table, drawn),
        "scores": plain(fits.scores[drawn, :SHOWN].T),
        "loadings": [strongest(row, names) for row in measured.loadings.T[:SHOWN]],
        "seen": {
            "scores": plane(table, fits.scores, components["shares"]),
            "loadings": meanings(measured.loadings[:, :MEANT], components["shares"], names),
        },
        "outliers": measured.to_dict(table, usable, fits, drawn),
        "methods": [model_section(fit, names, drawn, reference) for fit in fits.others],
        "pca": {"code": f"{fits.pca.model!r}", "seconds": fits.pca.seconds},
    }


def _rows(table: Table, drawn: NDArray) -> dict[str, Any]:
    """Return the names of the rows that are drawn, and what is known of them."""
    found: dict[str, Any] = {
        "all": len(table.values),
        "names": [table.row(int(i)) for i in drawn],
        "target": None,
    }
    if (target := table.target) is not None:
        some = target.take(drawn)
        found["target"] = {
            "name": target.name,
            "levels": list(target.levels),
            "classes": list(some.classes),
            "numbers": None if some.numbers is None else plain(some.numbers),
        }
    return found
