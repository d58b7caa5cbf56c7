"""The Python that makes the fits and the figures of a report again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import get_tags

from .._register import methods
from ..data.scaling import SCALERS
from ..measure.trial import Fit
from .fits import Fits, Fitted
from .quality import Quality
from .table import Table

__all__ = ["Code"]

PLACED = "# the report placed some of the rows; this places them all"


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """Lines that start from ``X``, the columns of numbers as an array.

    Attributes
    ----------
    table : Table
    seen : Quality
    fits : Fits
    scale : str
    """

    table: Table
    seen: Quality
    fits: Fits
    scale: str

    def whole(self, others: list[Fitted]) -> str:
        """Return the lines of all fits."""
        fitted = [one for one in others if not one.fit.error]
        lines = [*self._pca(), "scores = pca.transform(Z)"]
        if any(one.fit.filled for one in fitted):
            lines.append("filled = pca.impute(Z)")
        for one in fitted:
            lines += self._fit(one)
        return self._text(lines, [one.fit for one in fitted])

    def method(self, one: Fitted) -> str:
        """Return the lines of one method, whether it was fitted or left out."""
        lines = self._pca() if one.fit.filled else [self._scaled()]
        if one.fit.filled:
            lines.append("filled = pca.impute(Z)")
        return self._text([*lines, *self._fit(one)], [one.fit], pca=one.fit.filled)

    def figure(self, display: str, call: str, *, table: bool = False, whole: bool = False) -> str:
        """Return the lines of a figure of PCA, or of the `table` alone.

        The `whole` table has the columns that do not vary, without which it is no image.
        """
        lines = [] if table else self._pca()
        if "filled" in call:
            lines.append("filled = pca.impute(Z)" if self.fits.holes else "filled = Z")
        lines.append(f"display = {display}.{call}")
        lines.append('display.figure_.savefig("figure.png")')
        return self._text(lines, [], display=display, pca=not table, whole=whole)

    def comparison(self, names: list[str], k: int, *, classes: bool) -> str:
        """Return the line of the comparison."""
        y = ", y" if classes else ""
        seed = self.fits.pca.model.random_state
        call = f"eigenlens.compare(X, {names!r}, {k}{y}, scale={self.scale!r}, random_state={seed})"
        prepared = self._preparation(whole=False)
        lines = ["import numpy as np"] if any("np." in line for line in prepared) else []
        lines += ["import eigenlens", "", *self._given(learns=classes), *prepared]
        return "\n".join([*lines, f"comparison = {call}", "print(comparison)"])

    def _text(
        self,
        body: list[str],
        fitted: list[Fit],
        *,
        display: str = "",
        pca: bool = True,
        whole: bool = False,
    ) -> str:
        scaler = SCALERS[self.scale].scaler
        prepared = self._preparation(whole=whole)
        numpy = any("np." in line for line in [*prepared, *body])
        lines = ["import numpy as np"] if numpy else []
        lines += _imports([*(["PCA"] if pca else []), *(fit.name for fit in fitted)])
        if display:
            lines.append(f"from eigenlens.plot import {display}")
        if scaler is not None and any("scaler" in line for line in body):
            lines.append(f"from sklearn.preprocessing import {scaler.__name__}")
        learns = any(_learns(fit) for fit in fitted) or any(", y" in line for line in body)
        named = any("names=names" in line for line in body)
        lines += ["", *self._given(learns=learns, named=named), *prepared]
        if named and not whole and not self.seen.usable.all():
            out = np.flatnonzero(~self.seen.usable).tolist()
            lines.append(f"names = [name for j, name in enumerate(names) if j not in {out}]")
        return "\n".join([*lines, *body])

    def _given(self, *, learns: bool, named: bool = False) -> list[str]:
        n, d = self.table.n_given, len(self.table.names)
        lines = [f"# X: the columns of numbers, {n} x {d}"]
        if learns:
            lines.append("# y: the target, one value for each row of X")
        if named:
            lines.append("# names: those of the columns of X")
        return lines

    def _preparation(self, *, whole: bool) -> list[str]:
        """Return the lines that leave out rows and columns."""
        lines = []
        if self.table.sampled:
            lines.append("# the report took some rows at random; this takes them all")
        if self.table.empty:
            lines.append("X = X[~np.isnan(X).all(axis=1)]")
        if not whole and not self.seen.usable.all():
            lines.append(f"X = np.delete(X, {np.flatnonzero(~self.seen.usable).tolist()}, axis=1)")
        return lines

    def _scaled(self) -> str:
        scaler = SCALERS[self.scale].scaler
        if scaler is None:
            return "Z = X"
        return f"Z = (scaler := {scaler.__name__}()).fit_transform(X)"

    def _pca(self) -> list[str]:
        return [self._scaled(), f"pca = {_one_line(self.fits.pca.model)}.fit(Z)"]

    def _fit(self, one: Fitted) -> list[str]:
        fit = one.fit
        given = "filled" if fit.filled else "Z"
        if one.unscaled:
            given = "X"
            if fit.filled:
                back = "filled" if self.fits.scaler is None else "scaler.inverse_transform(filled)"
                given = f"np.maximum({back}, 0)"
        elif fit.raised:
            given = f"{given} - {given}.min(axis=0)"
        if _learns(fit):
            given = f"{given}, y"
        line = f"{fit.name.lower()} = {_one_line(fit.model)}.fit({given})"
        return [line] if one.rows is None else [PLACED, line]


def _learns(fit: Fit) -> bool:
    """Whether a method learns from a target."""
    return bool(get_tags(fit.model).target_tags.required)


def _imports(names: list[str]) -> list[str]:
    """Return the lines that import methods, of this package and of others."""
    known, modules = methods(), dict[str, list[str]]()
    for name in names:
        modules.setdefault(known[name].module, []).append(name)
    return [f"from {module} import {', '.join(found)}" for module, found in modules.items()]


def _one_line(model: object) -> str:
    return " ".join(repr(model).split())
