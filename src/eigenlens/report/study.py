"""The work behind a report: the table read and looked at, methods compared and fitted in time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._register import Method
from ..data.blocks import Blocks
from ..measure.comparison import Comparison
from .clock import Clock
from .compared import compared
from .fits import Fits, Fitted, chosen, fit_pca
from .images import Images
from .others import LeftOut, fit_others, without_parts
from .outliers import Outliers, outliers
from .quality import Quality, quality
from .rows import drawn_rows
from .table import Table

__all__ = ["Options", "Study"]

COMPARING = 0.6  # of the time that is left after PCA, for the comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked for; see :meth:`Report.of`."""

    names: Sequence[object] | None
    target: Any
    scale: str
    methods: str | Iterable[str]
    n_components: Any
    image_shape: Sequence[int] | None
    compare: bool
    max_rows: int
    random_state: int | None
    callbacks: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Study:
    """All that a report is written from.

    Attributes
    ----------
    asked : Options
    path : str or None
        Of the file that the table comes from.
    table : Table
    seen : Quality
    images : Images or None
    fits : Fits
    measured : Outliers
    drawn : ndarray of int
        Rows in pictures.
    compared : list of str
        Methods that were compared.
    comparison : Comparison or None
    others : list of Fitted
    left_out : list of LeftOut
    clock : Clock
    """

    asked: Options
    path: str | None
    table: Table
    seen: Quality
    images: Images | None
    fits: Fits
    measured: Outliers
    drawn: NDArray
    compared: list[str]
    comparison: Comparison | None
    others: list[Fitted]
    left_out: list[LeftOut]
    clock: Clock

    @classmethod
    def of(cls, X: Any, asked: Options, clock: Clock) -> Study:
        """Do the work."""
        rng = np.random.default_rng(asked.random_state)
        with clock.timed("reading the table"):
            table = Table.of(
                X, names=asked.names, target=asked.target, max_rows=asked.max_rows, rng=rng
            )
        wanted = chosen(asked.methods, classes=table.classes is not None)
        with clock.timed("looking at its columns"):
            seen = quality(table)
        usable = np.flatnonzero(seen.usable)
        shape, d = asked.image_shape, len(table.names)
        images = None if shape is None else Images.of(shape, d, usable)
        with clock.timed("PCA"):
            fits = fit_pca(
                table.values[:, usable],
                scale=asked.scale,
                n_components=asked.n_components,
                random_state=asked.random_state,
                callbacks=asked.callbacks,
            )
            measured = outliers(fits)
        names = tuple(table.names[j] for j in usable)
        wanted, mute = without_parts(wanted, fits, names, asked=asked.methods != "all")
        drawn = drawn_rows(len(table.values), measured.rows, rng)
        listed = ["PCA", *wanted] if asked.compare and wanted else []
        comparison = _compared(listed, fits, table, asked, clock)
        others, late = _fitted(wanted, fits, comparison, table, drawn, asked, clock)
        return cls(
            asked=asked,
            path=X.path if isinstance(X, Blocks) else None,
            table=table,
            seen=seen,
            images=images,
            fits=fits,
            measured=measured,
            drawn=drawn,
            compared=listed if comparison is not None else [],
            comparison=comparison,
            others=others,
            left_out=mute + late,
            clock=clock,
        )

    @property
    def usable(self) -> NDArray:
        """Places of the columns that vary."""
        return np.flatnonzero(self.seen.usable)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.table.names[j] for j in self.usable)


def _compared(
    names: list[str], fits: Fits, table: Table, asked: Options, clock: Clock
) -> Comparison | None:
    if not names:
        return None
    with clock.timed("comparison"):
        return compared(
            fits.X,
            names,
            fits.shown,
            table.classes,
            scale=asked.scale,
            budget=COMPARING * max(clock.left, 0.1),
            random_state=asked.random_state,
        )


def _fitted(
    wanted: dict[str, Method],
    fits: Fits,
    comparison: Comparison | None,
    table: Table,
    drawn: NDArray,
    asked: Options,
    clock: Clock,
) -> tuple[list[Fitted], list[LeftOut]]:
    return fit_others(
        wanted,
        fits,
        comparison,
        clock,
        drawn=drawn,
        target=None if table.target is None else table.target.values,
        random_state=asked.random_state,
        callbacks=asked.callbacks,
    )
