"""The pages on the command line in docs/cli.md, made from what ``--help`` prints.

``python tools/cli_pages.py --write`` puts them into the page, ``--check`` says whether they are
current. They are the same in every terminal and with every set of extras: what other packages
bring is left out.
"""

import contextlib
import io
import os
import sys
from pathlib import Path
from unittest.mock import patch

from eigenlens._register import classes
from eigenlens._text import command_name
from eigenlens.cli import ORDER, app
from eigenlens.cli._run import run
from eigenlens.cli.plot import Kinds

PAGE = Path(__file__).parents[1] / "docs/cli.md"
START, END = "<!-- commands: made by tools/cli_pages.py -->", "<!-- end of commands -->"
ELSEWHERE = "umap"  # listed where its package is installed


def help_of(*command: str) -> str:
    """Return what a command says of itself, in 80 columns."""
    out = io.StringIO()
    plain = {"COLUMNS": "80", "NO_COLOR": "1"}
    with patch.dict(os.environ, plain), contextlib.redirect_stdout(out):
        os.environ.pop("FORCE_COLOR", None)
        run(app, [*command, "--help"])
    lines = out.getvalue().rstrip().splitlines()
    return "\n".join(line.rstrip() for line in lines if line.split()[:1] != [ELSEWHERE])


def section(command: str) -> str:
    """Return the part of the page on a command; those that make others by name list them all."""
    text = f"### eigenlens {command}\n\n```\n{help_of(command)}\n```\n"
    for name in members(command):
        text += f"\n#### eigenlens {command} {name}\n\n```\n{help_of(command, name)}\n```\n"
    return text


def members(command: str) -> list[str]:
    """Return the commands behind a command that have a part of their own."""
    if command == "fit":
        return [command_name(name) for name in classes()]
    if command == "denoise":
        return ["pca"]  # the others have the options that they have in fit
    return list(Kinds.members()) if command == "plot" else []


def pages() -> str:
    """Return the part of the page that is made."""
    return "\n".join(section(command) for command in ORDER.split())


def with_pages(text: str) -> str:
    """Put the current pages between the markers."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    return f"{before}{START}\n\n{pages()}\n{END}{after}"


if __name__ == "__main__":
    old = PAGE.read_text(encoding="utf-8")
    new = with_pages(old)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(new, encoding="utf-8")
    elif new != old:
        sys.exit("docs/cli.md is not current. Run: python tools/cli_pages.py --write")
