"""Rows before and after a model: what it keeps, and what it takes off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .colours import ACCENT, BEYOND, QUIET
from .display import Panels, label
from .images import limits, shape_of, show
from .inputs import given_names, last_step, some_rows, table_of

__all__ = ["ReconstructionDisplay"]

SMALLEST = 64  # numbers in a row that is taken for a square image without being told
UNLIKE = 10.0  # the largest deviation of columns over their median, beyond which units differ
NAMED = 40  # columns, up to which their names are shown
TAKEN = "taken off"


@dataclass(eq=False)
class ReconstructionDisplay(Panels):
    """Rows before and after a model: projected onto its components and taken back.

    Images are shown with what the model took off them; other rows as two lines. With the truth
    this is a picture of de-noising, and the titles say how far off rows were before and after.

    Attributes
    ----------
    before, after : ndarray of shape (n_rows, n_features)
    truth : ndarray of shape (n_rows, n_features), or None
    rows : tuple of int
        Their places in the table.
    image_shape : tuple of int, or None
        None for lines.
    names : list of str
        Of the columns.
    unit : str
        Of lines: empty for that of the table. Columns whose scales differ much are in deviations
        from their mean.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenlens import PCA
    >>> from eigenlens.plot import ReconstructionDisplay
    >>> X = load_digits().data
    >>> display = ReconstructionDisplay.from_estimator(PCA(20).fit(X), X, rows=(0, 1))
    >>> display.after.shape, display.image_shape
    ((2, 64), (8, 8))
    """

    panel = (1.35, 1.5)

    before: NDArray
    after: NDArray
    truth: NDArray | None
    rows: tuple[int, ...]
    image_shape: tuple[int, ...] | None
    names: list[str]
    unit: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        image_shape: tuple[int, ...] | None = None,
        rows: tuple[int, ...] = (0, 1, 2, 3, 4),
        truth: Any = None,
        names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw rows of a table, and what a fitted model makes of them.

        Parameters
        ----------
        estimator : fitted estimator, or pipeline that ends with one
            With ``inverse_transform``, or with ``denoise`` as :class:`eigenlens.KernelPCA`.
        X : array-like of shape (n_samples, n_features)
        image_shape : tuple of int, optional
            (height, width), or (height, width, 3) for colours. By default a square, if `X` is an
            array whose rows have 64 or more numbers that fill one; else rows are lines.
        rows : tuple of int, default=(0, 1, 2, 3, 4)
            Those to draw.
        truth : array-like of shape (n_samples, n_features), optional
            The rows without noise.
        names : sequence of str, optional
            Of the columns. By default those of the fit or of the frame.
        ax : matplotlib Axes, or array of them, optional

        Returns
        -------
        ReconstructionDisplay
        """
        table, _ = table_of(X, None)
        rows = _existing(rows, len(table))
        shape = _image_shape(X, table.shape[1], image_shape)
        parts = [table[list(rows)], _reconstructed(estimator, some_rows(X, rows))]
        if truth is not None:
            parts.append(_checked_truth(truth, table.shape)[list(rows)])
        unit = ""
        if shape is None:
            deviation = table.std(axis=0)
            if deviation.max() > UNLIKE * np.median(deviation):
                deviation[deviation == 0] = 1
                parts = [(part - table.mean(axis=0)) / deviation for part in parts]
                unit = "deviations"
        before, after, *clean = parts
        columns = given_names(estimator, X, names, table.shape[1])
        return cls(before, after, clean[0] if clean else None, rows, shape, columns, unit).plot(ax)

    def _shape(self) -> tuple[int, int]:
        if self.image_shape is None:
            return len(self.rows), 1
        return (3 if self.truth is None else 4), len(self.rows)

    def _figure_size(self) -> tuple[float, float]:
        if self.image_shape is None:
            return 7.2, 1.3 * len(self.rows) + (1.9 if len(self.names) <= NAMED else 0.6)
        (lines, columns), (width, height) = self._shape(), self.panel
        return columns * width + 0.4, lines * height

    def _draw(self, ax: Any) -> None:
        if self.image_shape is None:
            self._draw_lines(ax[:, 0])
        else:
            self._draw_images(ax)

    # -------------------------------------------------------------------------------- images

    def _draw_images(self, ax: Any) -> None:
        kinds = {"before": self.before, "after": self.after, TAKEN: self.before - self.after}
        if self.truth is not None:
            kinds["truth"] = self.truth
        # the grey of the truth, where it is known: noise is what goes beyond black and white
        grey = limits(self.before if self.truth is None else self.truth)
        both = limits(kinds[TAKEN], signed=True)
        for line, (kind, rows) in zip(ax, kinds.items(), strict=True):
            signed = kind == TAKEN
            for panel, row, title in zip(line, rows, self._titles(kind), strict=True):
                image, within = row.reshape(self.image_shape), both if signed else grey
                show(panel, image, within, signed=signed, title=title)
            line[0].set_ylabel(kind)

    def _titles(self, kind: str) -> list[str]:
        """Return what stands over the images of one kind: the row, and how far off it is."""
        names = [f"row {row}" for row in self.rows]
        if kind == TAKEN and self.truth is None:
            return [f"size {size:.2g}" for size in _size(self.before - self.after)]
        if kind in ("before", "after") and self.truth is not None:
            errors = _size(getattr(self, kind) - self.truth)
            heads = [f"{name}: " for name in names] if kind == "before" else [""] * len(names)
            return [f"{head}off {error:.2g}" for head, error in zip(heads, errors, strict=True)]
        return names if kind == "before" else [""] * len(names)

    # --------------------------------------------------------------------------------- lines

    def _draw_lines(self, ax: Any) -> None:
        place = np.arange(len(self.names))
        few = len(place) <= NAMED
        style: dict[str, Any] = {"marker": "." if few else "", "linewidth": 1.2}
        for i, panel in enumerate(ax):
            if self.truth is not None:
                panel.plot(place, self.truth[i], color=QUIET, linewidth=5, label="truth")
            panel.plot(place, self.before[i], color=ACCENT, label="before", **style)
            panel.plot(place, self.after[i], "--", color=BEYOND, label="after", **style)
            panel.set_title(self._line_title(i), fontsize="small")
            panel.set_xlim(-0.5, len(place) - 0.5)
            panel.tick_params(labelbottom=panel is ax[-1])
        ax[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize="small")
        if few:
            names = [label(name) for name in self.names]
            for panel in ax:
                panel.set_xticks(place, names if panel is ax[-1] else [], rotation=90)
        else:
            ax[-1].set_xlabel("column")
        ax[len(ax) // 2].set_ylabel(self.unit)

    def _line_title(self, i: int) -> str:
        if self.truth is None:
            return f"row {self.rows[i]}"
        off, left = (_size(part[i] - self.truth[i]) for part in (self.before, self.after))
        return f"row {self.rows[i]}: off by {off:.2g} before, {left:.2g} after"


def _size(rows: NDArray) -> NDArray:
    """Return the root mean square of each row."""
    size: NDArray = np.sqrt(np.nanmean(rows**2, axis=-1))
    return size


def _image_shape(X: Any, d: int, given: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the shape of images, or None if rows are not taken for images."""
    named = hasattr(X, "columns")
    if given is None and (named or d < SMALLEST or math.isqrt(d) ** 2 != d):
        return None
    return shape_of(d, given)


def _existing(rows: Any, n: int) -> tuple[int, ...]:
    """Return the rows to draw; of the first ones, as many as there are."""
    wanted = tuple(int(row) for row in np.atleast_1d(rows))
    if wanted == tuple(range(len(wanted))):
        wanted = wanted[:n]
    if not wanted or not all(0 <= row < n for row in wanted):
        raise ValueError(f"rows={rows!r} are not all in X, which has {n}: 0 to {n - 1}.")
    return wanted


def _reconstructed(estimator: Any, X: Any) -> NDArray:
    """Return the rows of `X` after they went through the model and back."""
    model, seen = last_step(estimator, X)
    if not hasattr(estimator, "inverse_transform"):
        raise ValueError(
            f"{type(estimator).__name__} has no inverse_transform, the way back to rows. Take a "
            "method that has one, such as PCA, NMF or KernelPCA(preimage='auto')."
        )
    if not getattr(model, "preimage", None):
        return np.asarray(estimator.inverse_transform(estimator.transform(X)), dtype=np.float64)
    found = model.denoise(seen)
    if model is not estimator:
        found = estimator[:-1].inverse_transform(found)
    return np.asarray(found, dtype=np.float64)


def _checked_truth(truth: Any, shape: tuple[int, ...]) -> NDArray:
    clean, _ = table_of(truth, None)
    if clean.shape != shape:
        raise ValueError(
            f"truth has shape {clean.shape} and X has {shape}. Give a clean row for each of X."
        )
    return clean
