"""``eigenlens export MODEL``: a model as an ONNX file, for programs in other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .transform import Model

__all__ = ["export"]

File = Annotated[
    str | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Where to write: onnx. [default: beside the model]"
    ),
]


def export(model: Model, output: File = None) -> None:
    """Write the transform of a linear model as ONNX.

    That of PCA, sparse PCA, scalers and pipelines of them, for programs in other languages.
    """
    import eigenlens

    fitted = eigenlens.load(model)
    path = eigenlens.export_onnx(
        fitted, Path(model).with_suffix(".onnx") if output is None else output
    )
    typer.echo(f"The graph: {path}")
