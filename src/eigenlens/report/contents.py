"""The dict of a report, from the work behind it."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._register import Method, summary
from .._text import clean, count, listed
from ..data.scaling import SCALERS
from ..measure.trial import fit_one
from .adds import Setting, plane_map
from .advice import advised, headline
from .code import Code
from .compared import comparison_section
from .findings import findings, meanings, plane
from .fits import Fitted, fit_pca
from .lines import lines_section
from .plain import plain
from .quality import Quality
from .relations import biplot_section, correlation_section
from .rows import rows_section
from .sections import SHOWN, components_section, model_section, strongest
from .shell import Shell
from .study import Study
from .table import Table

__all__ = ["contents", "section_of"]

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
        }
        found["lines"] = lines_section(
            code,
            shell,
            compared=study.compared,
            classes=study.table.classes is not None,
            image_shape=None if study.images is None else tuple(asked.image_shape or ()),
        ) | {
            f"method{i}": {"python": one["python"], "shell": one["shell"]}
            for i, one in enumerate(found["methods"])
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
        "images": None if images is None else images.of_pca(table, fits),
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


def _others(study: Study, code: Code, shell: Shell) -> dict[str, Any]:
    """Return what the other methods add, how they compare, and what to take for what."""
    fits, drawn = study.fits, study.drawn
    pca = plane_map(fits.filled[drawn], fits.scores[drawn]) if study.others else None
    setting = Setting(study.table, fits, study.names, drawn, pca)
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


def section_of(estimator: Any, X: NDArray, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the section of any estimator, fitted to a table as it is."""
    rng = np.random.default_rng(0)
    table = Table.of(X, names=names, target=None, max_rows=len(X), rng=rng)
    fits = fit_pca(table.values, scale="none", n_components=2, random_state=0, callbacks=())
    kind = type(estimator)
    method = Method(kind.__name__, kind.kind, summary(kind), (), "", kind.__module__)
    fit = fit_one(kind.__name__, estimator, fits.Z, fits.filled)
    every = np.arange(len(X))
    setting = Setting(table, fits, table.names, every, plane_map(fits.filled, fits.scores))
    return model_section(Fitted(fit, method, None, False, fits.filled), setting, None)
