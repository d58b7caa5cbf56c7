"""What a fitted model says of itself: as a dict for programs, as a page of text for people.

Made from what the model has (variances, components, history, certificate), not from its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens._text import clean, short

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["show", "steps", "summary"]

BAR_WIDTH = 30
N_SHOWN = 10  # components listed
N_READ = 2  # components whose loadings are shown: three of them do not fit in 80 columns
N_LOADINGS = 6  # loadings shown of each
ONE_COLUMN = 0.9  # share of a component, and of the variance, that one column should not have


def steps(model: Any) -> tuple[Any, Any]:
    """Return the scaler of a model, or None, and its estimator."""
    from sklearn.pipeline import Pipeline

    if not isinstance(model, Pipeline):
        return None, model
    scaler = model[0] if len(model) > 1 else None
    return scaler, model[-1]


def summary(model: Any) -> dict[str, Any]:
    """Return what can be said of a fitted model, in plain values that JSON has."""
    scaler, estimator = steps(model)
    names = getattr(model, "feature_names_in_", None)
    found: dict[str, Any] = {
        "method": type(estimator).__name__,
        "scale": _scale(scaler),
        "parameters": {
            name: value if isinstance(value, bool | int | float | str | None) else repr(value)
            for name, value in estimator.get_params(deep=False).items()
        },
        "rows": _whole(
            getattr(estimator, "n_samples_", getattr(estimator, "n_samples_seen_", None))
        ),
        "columns": _whole(getattr(model, "n_features_in_", None)),
        "names": None if names is None else [str(name) for name in names],
        "n_components": _whole(getattr(estimator, "n_components_", None)),
        "solver": getattr(estimator, "solver_", None),
        "n_iter": _whole(getattr(estimator, "n_iter_", None)),
        "converged": getattr(estimator, "converged_", None),
        "certificate": _text(getattr(estimator, "certificate_", None)),
        "choice": _text(getattr(estimator, "choice_", None)),
    }
    for name in ("explained_variance", "explained_variance_ratio", "components"):
        value = getattr(estimator, f"{name}_", None)
        found[name] = None if value is None else np.asarray(value, dtype=float).tolist()
    return found


def _scale(scaler: Any) -> str:
    """Return what ``--scale`` calls a scaler."""
    from eigenlens.data.scaling import SCALERS

    names = {way.scaler: name for name, way in SCALERS.items()}
    return "none" if scaler is None else names.get(type(scaler), type(scaler).__name__)


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def show(found: dict[str, Any], console: Console) -> None:
    """Print a summary for a person."""
    shape = f"{found['rows']:,} rows, " if found["rows"] else ""
    scale = "" if found["scale"] == "none" else f", scaled ({found['scale']})"
    console.print(f"[bold]{found['method']}[/bold]: {shape}{found['columns']} columns{scale}\n")
    shares = found["explained_variance_ratio"]
    if shares:
        blocks = console.encoding.lower().startswith("utf")
        console.print(_variances(found["explained_variance"], shares, blocks))
        hidden = len(shares) - N_SHOWN
        if hidden > 0:
            console.print(f"... and {hidden} more, together {100 * sum(shares):.1f} %")
        console.print()
    if found["components"]:
        console.print("[bold]What they weigh most[/bold]\n")
        names = found["names"] or [f"x{j}" for j in range(found["columns"])]
        console.print(_loadings(np.array(found["components"]), names))
        console.print()
    if found["choice"]:
        console.print(found["choice"], markup=False, soft_wrap=True)
    if found["solver"]:
        console.print(f"Solver: {found['solver']}", markup=False)
    if found["certificate"]:
        console.print(f"Certificate: {found['certificate']}", markup=False, soft_wrap=True)
    if hint := _advice(found):
        console.print(hint, markup=False, soft_wrap=True)


def _advice(found: dict[str, Any]) -> str:
    """Say so if one column with large values is all that was found."""
    if found["scale"] != "none" or not (found["components"] and found["explained_variance_ratio"]):
        return ""
    first = np.square(found["components"][0])
    if first.max() < ONE_COLUMN or found["explained_variance_ratio"][0] < ONE_COLUMN:
        return ""
    name = (found["names"] or [f"x{j}" for j in range(len(first))])[int(first.argmax())]
    return (
        f"Nearly all of it is one column, {short(clean(name))!r}, whose values vary most. "
        "Try --scale standard."
    )


def _variances(variances: list[float] | None, shares: list[float], blocks: bool) -> Table:
    """One line a component: variance, share, shares added up, and a bar of the share."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("component", "variance", "share", "together"):
        table.add_column(name, justify="right")
    table.add_column(style="cyan")
    together = np.cumsum(shares)
    for i, share in enumerate(shares[:N_SHOWN]):
        table.add_row(
            str(i + 1),
            f"{variances[i]:.4g}" if variances else "",
            f"{100 * share:.1f} %",
            f"{100 * together[i]:.1f} %",
            _bar(BAR_WIDTH * share / max(shares[0], 1e-300), blocks),
        )
    return table


def _bar(length: float, blocks: bool) -> str:
    """Draw a bar, in eighths of a character where the terminal has them."""
    if not blocks:
        return "#" * max(1, round(length))
    whole, eighths = divmod(max(1, round(8 * length)), 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[eighths].strip()


def _loadings(components: Any, names: list[str]) -> Table:
    """List the columns with the largest loadings, one column a component."""
    from rich.table import Table

    rows = components[:N_READ]
    table = Table(box=None, pad_edge=False, padding=(0, 4, 0, 0), header_style="dim")
    for i in range(len(rows)):
        table.add_column(f"component {i + 1}", no_wrap=True)
    leading = [np.abs(row).argsort()[::-1][:N_LOADINGS] for row in rows]
    for ranked in zip(*leading, strict=True):
        table.add_row(*(_loading(row[j], names[j]) for row, j in zip(rows, ranked, strict=True)))
    return table


def _loading(value: float, name: str) -> str:
    from rich.markup import escape

    colour = "green" if value > 0 else "magenta"
    return f"[{colour}]{value:+.2f}[/{colour}] {escape(short(clean(name)))}"
