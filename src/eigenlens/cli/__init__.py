"""The command line: one command a file, nothing a library user cannot call.

Every command imports what it needs inside its function, so that ``eigenlens --help`` does not
wait for the numerical packages.
"""

from __future__ import annotations

from typing import Annotated

import typer

from eigenlens.cli.demo import demo

# Plain text instead of typer's panels: a mistake gets three short lines, and help looks the same
# in a terminal, in a pipe and in a log.
app = typer.Typer(
    name="eigenlens",
    help="PCA and its family, from the shell.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
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
) -> None:
    pass


def main() -> None:
    """Run the command line; the entry point of the ``eigenlens`` script."""
    app(prog_name="eigenlens")
