"""``eigenlens demo``: PCA of a bundled table, printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from eigenlens import PCA

BAR_WIDTH = 30
N_READ = 2  # components whose loadings are shown: three of them do not fit in 80 columns
N_LOADINGS = 6  # loadings shown of each

TRY_NEXT = """\
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from eigenlens import PCA

X = scale(load_breast_cancer().data)
pca = PCA(n_components=0.95).fit(X)   # as many as 95 % of the variance takes
scores = pca.transform(X)             # each tumour in the new coordinates
back = pca.inverse_transform(scores)  # and what they remember of it
print(pca.certificate_)               # how far to trust the answer"""


def demo() -> None:
    """PCA of the breast cancer table: variances, loadings, and what to try next."""
    from rich.console import Console
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import scale

    from eigenlens import PCA

    data = load_breast_cancer()
    n_samples, n_features = data.data.shape
    pca = PCA(n_components=0.95).fit(scale(data.data))

    # No highlighting: rich would colour every number it finds in a sentence.
    console = Console(highlight=False)
    blocks = console.encoding.lower().startswith("utf")
    console.print("[bold]Principal components of the breast cancer table[/bold]")
    console.print(f"{n_samples} tumours, {n_features} measurements, each scaled to variance 1\n")
    console.print(_variances(pca, blocks))
    console.print(f"\n{pca.n_components_} of {n_features} components carry 95 % of the variance.\n")
    console.print("[bold]What they weigh most[/bold] (loadings)\n")
    console.print(_loadings(pca, data.feature_names))
    console.print(f"\nSolver: {pca.solver_}. Certificate:\n  {pca.certificate_}\n")
    console.print("[bold]Try next[/bold], in Python:\n")
    console.print(TRY_NEXT, markup=False, soft_wrap=True)


def _variances(pca: PCA, blocks: bool) -> Table:
    """One line a component: variance, share, shares added up, and a bar of the share."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("component", "variance", "share", "together"):
        table.add_column(name, justify="right")
    table.add_column(style="cyan")
    shares = pca.explained_variance_ratio_
    together = 0.0
    for i, (variance, share) in enumerate(zip(pca.explained_variance_, shares, strict=True)):
        together += share
        table.add_row(
            str(i + 1),
            f"{variance:.2f}",
            f"{100 * share:.1f} %",
            f"{100 * together:.1f} %",
            _bar(BAR_WIDTH * share / shares[0], blocks),
        )
    return table


def _bar(length: float, blocks: bool) -> str:
    """Draw a bar, in eighths of a character where the terminal has them."""
    if not blocks:
        return "#" * max(1, round(length))
    whole, eighths = divmod(max(1, round(8 * length)), 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[eighths].strip()


def _loadings(pca: PCA, names: Sequence[str]) -> Table:
    """List the features with the largest loadings, one column a component."""
    from rich.table import Table

    rows = pca.components_[:N_READ]
    table = Table(box=None, pad_edge=False, padding=(0, 4, 0, 0), header_style="dim")
    for i in range(N_READ):
        table.add_column(f"component {i + 1}", no_wrap=True)
    leading = [abs(row).argsort()[::-1][:N_LOADINGS] for row in rows]
    for ranked in zip(*leading, strict=True):
        table.add_row(*(_loading(row[j], names[j]) for row, j in zip(rows, ranked, strict=True)))
    return table


def _loading(value: float, name: str) -> str:
    colour = "green" if value > 0 else "magenta"
    return f"[{colour}]{value:+.2f}[/{colour}] {name}"
