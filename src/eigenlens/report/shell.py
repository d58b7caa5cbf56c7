"""The command lines that make the fits and the figures of a report again."""

from __future__ import annotations

import csv
import inspect
import io
import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._text import command_name, option_name
from .fits import Fits, Fitted
from .quality import Quality
from .table import Table

__all__ = ["Shell"]

DATA = "DATA"  # stands for the file, where the table came from none
SOME = 50  # columns that a line names, at most


@dataclass(frozen=True, slots=True, eq=False)
class Shell:
    """Command lines.

    Attributes
    ----------
    table : Table
    seen : Quality
    fits : Fits
    scale : str
    path : str or None
        Where the table comes from.
    """

    table: Table
    seen: Quality
    fits: Fits
    scale: str
    path: str | None

    def method(self, one: Fitted) -> str | None:
        """Return the line that fits a method; None if the table has holes and it takes none."""
        if one.fit.filled:
            return None
        name = command_name(one.fit.name)
        # columns from 0 to 1 stand for such as are raised above zero
        scale = "none" if one.unscaled else "minmax" if one.fit.raised else self.scale
        return f"{self._fit(one.fit.model, name, scale)} -o {name}.skops"

    def figure(
        self, what: str, *options: str, data: bool = True, target: bool = False, whole: bool = False
    ) -> str:
        """Return the lines that fit PCA and draw a figure of it, and of the `data` if it needs.

        The `whole` table has the columns that do not vary, without which it is no image.
        """
        parts = [what, "pca.skops", *([self._data] if data else []), *options]
        parts += self._target(target)
        fit = self._fit(self.fits.pca.model, "pca", self.scale, whole=whole)
        return f"{fit} -o pca.skops && eigenlens plot {' '.join(parts)} -o {what}.png"

    def correlation(self) -> str:
        """Return the line that draws correlations, for which there is nothing to fit."""
        drop = " ".join(self._drop(target=True))
        line = f"eigenlens plot correlation {self._data} {drop}".rstrip()
        return f"{line} --order clustered -o correlation.png"

    def comparison(self, names: list[str], k: int) -> str:
        """Return the line of the comparison."""
        methods = ",".join(map(command_name, names))
        parts = ["eigenlens compare", self._data, "--methods", methods, f"--n-components {k}"]
        parts += ["--scale", self.scale, *self._drop(), *self._target(True)]
        seed = self.fits.pca.model.random_state
        return " ".join(parts if seed is None else [*parts, f"--seed {seed}"])

    def _fit(self, model: Any, name: str, scale: str, *, whole: bool = False) -> str:
        parts = ["eigenlens fit", name, self._data]
        parts += [] if scale == "none" else ["--scale", scale]
        parts += [*_options(model), *([] if whole else self._drop()), *self._target(True)]
        return " ".join(parts)

    @property
    def _data(self) -> str:
        return DATA if self.path is None else shlex.quote(self.path)

    def _drop(self, *, target: bool = False) -> list[str]:
        out = [self.table.names[j] for j in np.flatnonzero(~self.seen.usable)[:SOME]]
        if target and self.table.target is not None:
            out.append(self.table.target.name)
        return ["--drop", shlex.quote(_joined(out))] if out else []

    def _target(self, wanted: bool) -> list[str]:
        """Return the option that keeps the target out of a fit, and gives it to those that ask."""
        target = self.table.target
        return ["--target", shlex.quote(target.name)] if wanted and target is not None else []


def _options(model: Any) -> list[str]:
    """Return the parameters of a model that are not the defaults, as options."""
    found = []
    for name, parameter in inspect.signature(type(model)).parameters.items():
        value = getattr(model, name)
        if name == "random_state":
            found += [] if value is None else [f"--seed {value}"]
        elif isinstance(value, bool) and value != parameter.default:
            found.append(option_name(name if value else f"no_{name}"))
        elif value is not parameter.default and value != parameter.default:
            found.append(f"{option_name(name)} {shlex.quote(str(value))}")
    return found


def _joined(names: list[str]) -> str:
    """Return names as one value of an option, quoted where they hold commas."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()
