"""The report: a dict that survives JSON, and the page made from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from ..data.atomic import atomic, require_replaceable
from . import page
from .clock import Clock
from .contents import contents
from .study import Options, Study

__all__ = ["Report", "require_savable"]

MAX_ROWS = 20_000


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
        image_shape: Sequence[int] | None = None,
        compare: bool = True,
        budget: float = 120.0,
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
        image_shape : tuple of int, optional
            Height and width, and channels of colour images, if each row is an image: components
            are then shown as images.
        compare : bool, default=True
            Whether the methods are compared by :func:`eigenlens.compare`, in a process beside this
            one. The advice on which of them to take rests on it in part.
        budget : float, default=120
            Seconds for all. A method that does not fit into them is named, with the lines that
            run it.
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
        asked = Options(
            names=names,
            target=target,
            scale=scale,
            methods=methods if isinstance(methods, str) else tuple(methods),
            n_components=n_components,
            image_shape=image_shape,
            compare=compare,
            max_rows=max_rows,
            random_state=random_state,
            callbacks=tuple(callbacks),
        )
        return cls(contents(Study.of(X, asked, Clock(budget)), title, notes))

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
    if path.suffix.lower() == ".html":
        page.require()
    require_replaceable(path)
