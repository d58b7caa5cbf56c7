"""The Python that makes the fits of a report again."""

from __future__ import annotations

import numpy as np
from sklearn.utils import get_tags

from .._register import methods
from ..data.scaling import SCALERS
from ..measure.trial import Fit
from .fits import Fits
from .quality import Quality
from .table import Table

__all__ = ["code_of"]


def code_of(table: Table, seen: Quality, fits: Fits, scale: str) -> str:
    """Return lines that start from ``X``, the columns of numbers as an array."""
    fitted = [fit for fit in fits.others if not fit.error]
    scaler = SCALERS[scale].scaler
    prepared = _preparation(table, seen)
    lines = ["import numpy as np"] if any("np." in line for line in prepared) else []
    lines += _imports(["PCA", *(fit.name for fit in fitted)])
    if scaler is not None:
        lines.append(f"from sklearn.preprocessing import {scaler.__name__}")
    lines += ["", f"# X: the columns of numbers, {table.n_given} x {len(table.names)}", *prepared]
    if any(_learns(fit) for fit in fitted):
        lines.append("# y: the target, one value for each row of X")
    lines.append("Z = X" if scaler is None else f"Z = {scaler.__name__}().fit_transform(X)")
    lines += [f"pca = {_one_line(fits.pca.model)}.fit(Z)", "scores = pca.transform(Z)"]
    if any(fit.filled for fit in fitted):
        lines.append("filled = pca.impute(Z)")
    for fit in fitted:
        given = "filled" if fit.filled else "Z"
        if fit.raised:
            given = f"{given} - {given}.min(axis=0)"
        if _learns(fit):
            given = f"{given}, y"
        lines.append(f"{fit.name.lower()} = {_one_line(fit.model)}.fit({given})")
    return "\n".join(lines)


def _learns(fit: Fit) -> bool:
    """Whether a method learns from a target."""
    return bool(get_tags(fit.model).target_tags.required)


def _imports(names: list[str]) -> list[str]:
    """Return the lines that import methods, of this package and of others."""
    known, modules = methods(), dict[str, list[str]]()
    for name in names:
        modules.setdefault(known[name].module, []).append(name)
    return [f"from {module} import {', '.join(found)}" for module, found in modules.items()]


def _preparation(table: Table, seen: Quality) -> list[str]:
    """Return the lines that leave out rows and columns."""
    lines = []
    if table.sampled:
        lines.append("# the report took some rows at random; this takes them all")
    if table.empty:
        lines.append("X = X[~np.isnan(X).all(axis=1)]")
    if not seen.usable.all():
        lines.append(f"X = np.delete(X, {np.flatnonzero(~seen.usable).tolist()}, axis=1)")
    return lines


def _one_line(model: object) -> str:
    return " ".join(repr(model).split())
