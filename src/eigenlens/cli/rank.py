"""``eigenlens rank DATA``: how many components stand out of the noise."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import typer

from ._options import Columns, Data, Drop, Encode, Encoding, Json, Scale, Seed, Target, echo_json

if TYPE_CHECKING:
    from eigenlens.data.blocks import Blocks

__all__ = ["choice_of", "rank"]

MOST_ROWS = 20_000  # that the rules look at: they fit the table many times


def rank(
    data: Data,
    scale: Scale = "standard",
    target: Target = None,
    columns: Columns = None,
    drop: Drop = None,
    encode: Encode = None,
    encoding: Encoding = "utf8",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Say how many components stand out of the noise."""
    from ._tables import table

    chosen: dict[str, Any] = {"columns": columns, "drop": drop, "encode": encode}
    with table(data, encoding=encoding, target=target, **chosen) as (blocks, _):
        choice, sampled = choice_of(blocks, scale, seed)
    if json:
        votes = {one.rule: {"k": one.k, "note": one.note} for one in choice.choices}
        echo_json({"k": choice.k, "rules": votes, "sample": sampled or None})
        return
    typer.echo(choice)
    if sampled:
        typer.echo(f"From {sampled}.")
    if choice.k:
        typer.echo(f"\nTry: eigenlens fit pca {data} --n-components {choice.k} --scale {scale}")


def choice_of(blocks: Blocks, scale: str, seed: int | None) -> tuple[Any, str]:
    """Return what the rules choose for a table, and which rows they looked at if not at all."""
    import numpy as np

    from eigenlens import PCA
    from eigenlens.data.blocks import ArrayBlocks
    from eigenlens.data.scaling import scaled

    from ._progress import Progress

    with Progress("reading") as progress:
        numbers, rows = progress.rows(blocks).sample(MOST_ROWS, np.random.default_rng(seed))
    _, even = scaled(ArrayBlocks(rows, blocks.names, blocks.path), scale)
    with Progress("rank") as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # none stands out: the answer says so
        pca = PCA("consensus", missing="em", random_state=seed).set_callbacks(progress)
        choice = pca.fit(even).choice_
    total = blocks.n_rows
    all_seen = total == len(numbers)
    return choice, "" if all_seen else f"{len(numbers):,} of {total:,} rows, drawn at random"
