"""``eigenlens separate DATA``: what is of low rank in a table, and what are errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _methods
from ._made import Later, made
from ._options import (
    Columns,
    Data,
    Drop,
    Encode,
    Encoding,
    Image,
    Json,
    Scale,
    Seed,
    echo_json,
    left_out,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from eigenlens.data.blocks import Blocks

__all__ = ["Separate"]

HELP = """\
Take a table apart: what is of low rank, and the cells that do not fit (robust PCA).

Of images and videos the first is what stays the same, and the second what moves; in pictures of
the second, grey is zero.
"""
LISTED = 10  # errors

LowRank = Annotated[
    str | None,
    typer.Option(
        "--low-rank",
        metavar="FILE",
        help="Where to write the low-rank part: a table, or for images a new folder, mp4 or mkv.",
    ),
]
Sparse = Annotated[
    str | None, typer.Option("--sparse", metavar="FILE", help="Where to write the sparse part.")
]


class Separate(Later):
    """The command, with the options of RobustPCA."""

    def __init__(self, *given: Any, **options: Any) -> None:
        words = {"help": HELP, "short_help": "Take a table apart: low rank, and errors."}
        super().__init__(*given, **options | words)

    @staticmethod
    def make() -> Any:
        """Return the command with its options."""
        from eigenlens import RobustPCA

        own = _methods.options(RobustPCA)
        return made("separate", _separate, help=HELP, shared=_shared, own=own)


def _shared(
    *,
    data: Data,
    low_rank: LowRank = None,
    sparse: Sparse = None,
    scale: Scale = "none",
    image: Image = None,
    columns: Columns = None,
    drop: Drop = None,
    encode: Encode = None,
    encoding: Encoding = "utf8",
    seed: Seed = None,
    json: Json = False,
) -> None:
    """State the options beside those of the method."""


def _separate(
    values: dict[str, Any],
    *,
    data: str,
    low_rank: str | None,
    sparse: str | None,
    scale: str,
    seed: int | None,
    json: bool,
    **chosen: Any,
) -> None:
    from eigenlens import RobustPCA
    from eigenlens.data.writing import require_writable

    from ._fitting import estimator_of, fit_to, require_way_back
    from ._summary import steps
    from ._tables import table

    require_way_back(scale)
    outputs = {"low-rank": low_rank, "sparse": sparse}
    for option, output in outputs.items():
        if output == "-":
            raise typer.BadParameter(f"--{option} asks for a file: there are two tables.")
    if low_rank is not None and low_rank == sparse:
        raise typer.BadParameter("--low-rank and --sparse are the same file. Give two.")
    estimator = estimator_of(RobustPCA, values, seed)
    with table(data, **chosen) as (blocks, _):
        for output in filter(None, outputs.values()):
            require_writable(output, blocks)
        scaler, model = steps(fit_to(estimator, blocks, scale, None))
        parts = _Parts(scaler, model)
        errors = _errors(parts, blocks)
        _write((low_rank, sparse), parts, blocks)
    found = {
        "rows": model.n_samples_,
        "columns": len(blocks.names),
        "rank": model.rank_,
        "support_fraction": model.support_fraction_,
        "outliers": model.outliers,
        "solver": model.solver_,
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "certificate": str(model.certificate_),
        "errors": errors,
        "left_out": dict(blocks.left_out),
        "low_rank": low_rank,
        "sparse": sparse,
    }
    if json:
        echo_json(found)
    else:
        _show(found, left_out(blocks))


class _Parts:
    """Both parts in the units of the table, a block of rows at a time, after what was compared."""

    def __init__(self, scaler: Any, model: Any) -> None:
        self.scaler, self.model = scaler, model

    def __iter__(self) -> Iterator[tuple[NDArray, NDArray, NDArray]]:
        for low_rank, sparse in zip(
            _in_blocks(self.model.low_rank_), _in_blocks(self.model.sparse_), strict=True
        ):
            expected, error = low_rank, sparse
            if self.scaler is not None:
                expected = self.scaler.inverse_transform(low_rank)
                error = self.scaler.inverse_transform(low_rank + sparse) - expected
            yield sparse, expected, error


def _in_blocks(part: Any) -> Any:
    """Return what a fit in memory or in blocks has made, as blocks."""
    from eigenlens.data.blocks import Blocks

    return part if isinstance(part, Blocks) else [part]


def _errors(parts: _Parts, blocks: Blocks) -> list[dict[str, Any]]:
    """Return the largest cells of the sparse part, each in the units that were compared."""
    import numpy as np

    found: list[tuple[float, int, int, float, float]] = []  # size, row, column, expected, error
    start = 0
    for sizes, expected, error in parts:
        flat = np.abs(sizes).ravel()
        most = min(LISTED, int(np.count_nonzero(flat)))
        for i in np.argpartition(flat, -most)[-most:] if most else ():
            cell = divmod(int(i), sizes.shape[1])
            both = float(expected[cell]), float(error[cell])
            found.append((float(flat[i]), start + cell[0], cell[1], *both))
        found = sorted(found, key=lambda one: -one[0])[:LISTED]
        start += len(sizes)
    values = _values(blocks, {row for _, row, *_ in found})
    names = blocks.row_names
    return [
        {
            "row": row,
            "name": None if names is None else names[row],
            "column": blocks.names[j],
            "value": float(values[row][j]),
            "expected": expected,
            "error": error,
        }
        for _, row, j, expected, error in found
    ]


def _values(blocks: Blocks, wanted: set[int]) -> dict[int, NDArray]:
    """Return some rows of a table."""
    found, start = {}, 0
    for block in blocks:
        stop = start + block.shape[0]
        inside = [row for row in wanted if start <= row < stop]
        found.update({row: block[row - start].copy() for row in inside})
        start = stop
    return found


def _write(outputs: tuple[str | None, str | None], parts: _Parts, blocks: Blocks) -> None:
    """Write the parts that are asked for; the files appear when both are complete."""
    from eigenlens.data.writing import writer

    with ExitStack() as stack:
        files: list[Any] = [
            None if output is None else stack.enter_context(writer(output, blocks, signed=signed))
            for output, signed in zip(outputs, (False, True), strict=True)
        ]
        for _, *both in parts if any(outputs) else ():
            for file, part in zip(files, both, strict=True):
                if file is not None:
                    file.write(part)


def _show(found: dict[str, Any], left: str) -> None:
    """Print what was found for a person."""
    from rich.table import Table

    from eigenlens._text import clean, short

    from ._console import Page

    console = Page()
    of = "rows" if found["outliers"] == "rows" else "cells"
    console.say(f"{found['rows']:,} rows, {found['columns']:,} columns")
    console.say(f"Low-rank part: rank {found['rank']}")
    console.say(f"Sparse part: {100 * found['support_fraction']:.3g} % of the {of} are not zero")
    console.say(f"Certificate: {found['certificate']}")
    if found["errors"]:
        console.print("\n[bold]What fits least[/bold] (rows are counted from 0)\n")
        sheet = Table(box=None, pad_edge=False, header_style="dim")
        for name in ("row", "column", "value", "expected"):
            sheet.add_column(name, justify="left" if name == "column" else "right", no_wrap=True)
        for error in found["errors"]:
            row = error["row"] if error["name"] is None else short(clean(error["name"]), 24)
            cells = f"{error['value']:.6g}", f"{error['expected']:.6g}"
            sheet.add_row(str(row), _plain(short(clean(error["column"]), 30)), *cells)
        console.print(sheet)
        console.print()
    console.say(left)
    for part in ("low_rank", "sparse"):
        console.say(f"Wrote {found[part]}" if found[part] else "")


def _plain(text: str) -> Any:
    """Return text that is not taken for markup."""
    from rich.text import Text

    return Text(text)
