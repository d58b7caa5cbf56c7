"""The dict of a report, from the work behind it."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._text import clean, count, listed
from ..data.scaling import SCALERS
from .adds import Setting, plane_map
from .advice import advised, headline
from .code import Code
from .compared import comparison_section
from .findings import findings, meanings, plane
from .lines import lines_section
from .plain import plain
from .quality import Quality
from .relations import biplot_section, correlation_section
from .rows import rows_section
from .sections import SHOWN, components_section, model_section, strongest
from .shell import Shell
from .study import Study
from .table import Table

__all__ = ["contents"]

MEANT = 3  # components of which the page says what they are about


def contents(study: Study, title: str | None, notes: Iterable[str]) -> dict[str, Any]:
    """Return all that the page says."""
    asked, clock = study.asked, study.clock
    code = Code(study.table, study.seen, study.fits, asked.scale)
    shell = Shell(study.table, study.seen, study.fits, asked.scale, study.path)
    with clock.timed("writing it down"):
        found = {
            "title": clean(title) if title else _title(study.table),
            "notes": [clean(note) for note in notes],
            **_head(study.table, study.seen, asked.scale),
            "seed": asked.random_state,
            "code": code.whole(study.others),
            **_pca(study),
            **_others(study, code, shell),
            "lines": lines_section(
                code,
                shell,
                compared=study.compared,
                classes=study.table.classes is not None,
                image_shape=None if study.images is None else tuple(asked.image_shape or ()),
            ),
        }
        best = headline(found["advice"])
        found["findings"] = findings(
            study.table, study.seen, found["components"], study.measured, study.fits, best
        )
    return found | {"times": clock.times, "budget": _budget(study, code, shell)}


def _title(table: Table) -> str:
    columns = count(len(table.names) + len(table.text), "column")
    return f"{columns} of {count(table.n_given, 'row')}"


def _head(table: Table, seen: Quality, scale: str) -> dict[str, Any]:
    """Return what the report is about and what was done."""
    holes = int(seen.holes.sum())
    return {
        "table": {
            "rows": table.n_given,
            "columns": len(table.names) + len(table.text),
            "used_rows": len(table.values),
            "used_columns": int(seen.usable.sum()),
            "holes": holes,
            "holes_share": holes / table.values.size,
        },
        "steps": _steps(table, seen, scale),
        "scale": scale,
        "versions": {
            "eigenlens": version("eigenlens"),
            "scikit-learn": version("scikit-learn"),
            "numpy": version("numpy"),
            "python": platform.python_version(),
        },
        "quality": seen.to_dict(table),
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


def _pca(study: Study) -> dict[str, Any]:
    """Return what PCA found, and what pictures of it need."""
    table, fits, measured, names = study.table, study.fits, study.measured, study.names
    components, loadings, images = components_section(fits), measured.loadings, study.images
    telling = study.usable[_telling(loadings)] if images is None else np.empty(0, dtype=int)
    return {
        "components": components,
        "rows": rows_section(table, study.drawn, telling),
        "scores": plain(fits.scores[study.drawn, :SHOWN].T),
        "loadings": [strongest(row, names) for row in loadings.T[:SHOWN]],
        "biplot": {"arrows": []} if images else biplot_section(loadings, names, SHOWN),
        "correlation": None
        if images
        else correlation_section(fits.X, study.seen.R, names, loadings),
        "image": None if images is None else images.section(),
        "images": None if images is None else images.pictures(table, fits, _examples(study)),
        "seen": {
            "scores": plane(table, fits.scores, components["shares"]),
            "loadings": meanings(loadings[:, :MEANT], components["shares"], names),
        },
        "outliers": measured.to_dict(table, study.usable, fits, study.drawn),
        "pca": {"code": f"{fits.pca.model!r}", "seconds": fits.pca.seconds},
    }


def _telling(loadings: NDArray) -> NDArray:
    """Return the columns in the order of what the first components say of them."""
    weight = (np.nan_to_num(loadings[:, :MEANT]) ** 2).sum(axis=1)
    return np.argsort(-weight, kind="stable")


def _examples(study: Study) -> NDArray:
    """Return rows to show as images: the first of each class, or from the whole table."""
    classes = study.table.classes
    if classes is not None:
        return np.sort(np.unique(classes, return_index=True)[1])
    return np.linspace(0, len(study.table.values) - 1, 6).astype(int)


def _others(study: Study, code: Code, shell: Shell) -> dict[str, Any]:
    """Return what the other methods add, how they compare, and what to take for what."""
    fits, drawn = study.fits, study.drawn
    pca = plane_map(fits.filled[drawn], fits.scores[drawn]) if study.others else None
    setting = Setting(study.table, fits, study.names, study.usable, drawn, pca)
    sections = [
        model_section(one, setting, study.images)
        | {"python": code.method(one), "shell": shell.method(one)}
        for one in study.others
    ]
    comparison = comparison_section(study.comparison, len(fits.Z))
    classes = study.table.classes is not None
    return {
        "map": pca,
        "methods": sections,
        "comparison": comparison,
        "advice": advised(comparison, sections, classes=classes),
    }


def _budget(study: Study, code: Code, shell: Shell) -> dict[str, Any]:
    left_out = [
        {
            "name": out.one.fit.name,
            "why": out.why,
            "python": code.method(out.one),
            "shell": shell.method(out.one),
        }
        for out in study.left_out
    ]
    clock = study.clock
    return {"seconds": clock.budget, "used": clock.used, "left_out": left_out}
