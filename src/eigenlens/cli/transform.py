"""``eigenlens transform`` and ``inverse``: tables through a fitted model, a block at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._options import Data, Encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eigenlens.data.blocks import Blocks

__all__ = ["Model", "inverse", "transform"]

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model that 'fit' has written.")]
Table = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Where to write: csv, tsv, parquet, arrow, npy; - is standard output, as CSV.",
    ),
]


def transform(model: Model, data: Data, output: Table = "-", encoding: Encoding = "utf8") -> None:
    """Write the scores of a table under a model.

    Columns are found by their names, whatever their order and whatever else is in the table.
    """
    import eigenlens

    from ._tables import file

    fitted = eigenlens.load(model)
    _require(fitted, "transform")
    with file(data) as path:
        blocks = _columns(eigenlens.open(path, encoding=encoding), _names_in(fitted), fitted)
        _write(fitted.transform, blocks, _names_in(fitted), _names_out(fitted), output)


def inverse(model: Model, data: Data, output: Table = "-", encoding: Encoding = "utf8") -> None:
    """Write the table that belongs to scores."""
    import eigenlens

    from ._tables import file

    fitted = eigenlens.load(model)
    _require(fitted, "inverse_transform")
    with file(data) as path:
        blocks = eigenlens.open(path, encoding=encoding)
        scores = _names_out(fitted)
        if set(scores) <= set(blocks.names):
            blocks = blocks.select(scores)
        names = _names_in(fitted)
        names = [f"x{j}" for j in range(fitted.n_features_in_)] if names is None else names
        _write(fitted.inverse_transform, blocks, None, names, output)


def _require(model: Any, ability: str) -> None:
    if not hasattr(model, ability):
        raise ValueError(
            f"This model ({type(model).__name__}) has no {ability}. Fit another method, or leave "
            "out a scaling that cannot be undone, such as normalize."
        )


def _names_in(model: Any) -> Sequence[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _names_out(model: Any) -> list[str]:
    return [str(name) for name in model.get_feature_names_out()]


def _columns(blocks: Blocks, names: Sequence[str] | None, model: Any) -> Blocks:
    """Return the columns that the model was fitted to."""
    if names is not None:
        return blocks.select(names)
    if len(blocks.names) != model.n_features_in_:
        raise ValueError(
            f"{blocks.path} has {len(blocks.names)} columns of numbers, and the model was fitted "
            f"to {model.n_features_in_}. Give the same columns."
        )
    return blocks


def _write(
    function: Callable[[Any], Any],
    blocks: Blocks,
    names: Sequence[str] | None,
    names_out: Sequence[str],
    output: str,
) -> None:
    from eigenlens.data.writing import Writer, named

    from ._progress import Progress

    with Progress("writing") as progress, Writer(output, names_out) as writer:
        for block in progress.rows(blocks):
            writer.write(function(block if names is None else named(block, names)))
