"""``eigenlens transform`` and ``inverse``: tables through a fitted model, a block at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._options import Data, Encoding, Image, Rows, as_images

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eigenlens.data.blocks import Blocks

__all__ = ["Model", "columns_of", "inverse", "rows_for", "transform", "write_out"]

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model that 'fit' has written.")]


def transform(model: Model, data: Data, output: Rows = "-", encoding: Encoding = "utf8") -> None:
    """Write the scores of a table under a model.

    Columns are found by their names, whatever their order and whatever else is in the table.
    """
    import eigenlens
    from eigenlens.data.writing import require_writable

    from ._tables import file

    fitted = eigenlens.load(model)
    require(fitted, "transform")
    require_writable(output)
    with file(data) as path:
        blocks = columns_of(eigenlens.open(path, encoding=encoding), fitted)
        scores = [str(name) for name in fitted.get_feature_names_out()]
        write_out(blocks.map(rows_for(fitted, fitted.transform), scores), output)


def inverse(
    model: Model,
    data: Data,
    output: Rows = "-",
    image: Image = None,
    encoding: Encoding = "utf8",
) -> None:
    """Write the table that belongs to scores."""
    import eigenlens

    from ._tables import file

    fitted = eigenlens.load(model)
    require(fitted, "inverse_transform")
    with file(data) as path:
        blocks = eigenlens.open(path, encoding=encoding)
        scores = [str(name) for name in fitted.get_feature_names_out()]
        if set(scores) <= set(blocks.names):
            blocks = blocks.select(scores)
        names = _names_in(fitted)
        names = [f"x{j}" for j in range(fitted.n_features_in_)] if names is None else names
        table = blocks.map(fitted.inverse_transform, names)
        write_out(as_images(table, image), output)


def require(model: Any, ability: str) -> None:
    """Raise unless a model can do something."""
    if not hasattr(model, ability):
        raise ValueError(
            f"This model ({type(model).__name__}) has no {ability}. Fit another method, or leave "
            "out a scaling that cannot be undone, such as normalize."
        )


def columns_of(blocks: Blocks, model: Any) -> Blocks:
    """Return the columns that the model was fitted to."""
    names = _names_in(model)
    if names is not None:
        return blocks.select(names)
    if len(blocks.names) != model.n_features_in_:
        raise ValueError(
            f"{blocks.path} has {len(blocks.names)} columns of numbers, and the model was fitted "
            f"to {model.n_features_in_}. Give the same columns."
        )
    return blocks


def rows_for(model: Any, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of blocks of rows, with names where the model knows them."""
    from eigenlens.data.writing import named

    names = _names_in(model)
    return function if names is None else lambda block: function(named(block, names))


def write_out(blocks: Blocks, output: str) -> None:
    """Write a table, and show how far it is."""
    from eigenlens.data.writing import write

    from ._progress import Progress

    with Progress("writing") as progress:
        write(progress.rows(blocks), output)


def _names_in(model: Any) -> Sequence[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
