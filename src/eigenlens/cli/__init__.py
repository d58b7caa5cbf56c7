"""The command line: one command a file, nothing a library user cannot call.

Every command imports what it needs inside its function, so that ``eigenlens --help`` does not
wait for the numerical packages.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ._run import run
from .compare import compare
from .demo import demo
from .denoise import denoise
from .export import export
from .fit import fit
from .inspect import inspect
from .methods import methods
from .plot import plot
from .rank import rank
from .report import report
from .separate import Separate
from .transform import inverse, transform

ORDER = (
    "report fit transform inverse inspect export rank compare denoise separate plot methods demo"
)


class Commands(TyperGroup):
    """The commands, in the order in which a user needs them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return ORDER.split()


# Plain text instead of typer's panels: a mistake gets three short lines, and help looks the same
# in a terminal, in a pipe and in a log.
app = typer.Typer(
    name="eigenlens",
    cls=Commands,
    help="PCA and its family, from the shell.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(report)
app.add_typer(fit, name="fit")
for command in (transform, inverse, inspect, export, rank, compare):
    app.command()(command)
app.add_typer(denoise, name="denoise")
app.command(name="separate", cls=Separate)(lambda: None)
app.add_typer(plot, name="plot")
app.command()(methods)
app.command()(demo)


def _version(wanted: bool) -> None:
    if wanted:
        import eigenlens

        typer.echo(f"eigenlens {eigenlens.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,  # taken out of the arguments before they come here
) -> None:
    pass


def main() -> None:
    """Run the command line; the entry point of the ``eigenlens`` script."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal may not know the letters of a name
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(run(app, sys.argv[1:]))
