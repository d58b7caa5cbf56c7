"""``eigenlens demo``: the report of a bundled table."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["demo"]

TRY_NEXT = """\
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from eigenlens import PCA

X = scale(load_breast_cancer().data)
pca = PCA(n_components=0.95).fit(X)   # as many as 95 % of the variance takes
scores = pca.transform(X)             # each tumour in the new coordinates
back = pca.inverse_transform(scores)  # and what they remember of it
print(pca.certificate_)               # how far to trust the answer"""


def demo(
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Where to write the page.")
    ] = "breast-cancer-report.html",
) -> None:
    """Write the report of a bundled table."""
    from pathlib import Path

    from eigenlens import Report, datasets

    from ._console import Page

    table = datasets.breast_cancer()
    report = Report.of(
        table.X,
        names=table.names,
        target=[table.target_names[i] for i in table.target],
        title="Breast cancer in Wisconsin",
    )
    report.save(output)
    console = Page()
    n_samples, n_features = table.X.shape
    console.print(f"[bold]{n_samples} tumours, {n_features} measurements[/bold]\n")
    for finding in report.findings:
        console.print(f"- {finding}", markup=False)
    console.print(f"\nThe page, for a browser: {Path(output).resolve()}\n", soft_wrap=True)
    console.print("[bold]Try next[/bold], on a table of your own:\n")
    console.print("eigenlens report data.csv -o report.html\n")
    console.print("or in Python:\n")
    console.print(TRY_NEXT, markup=False, soft_wrap=True)
