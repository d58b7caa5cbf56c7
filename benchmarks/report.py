"""Tables on the terminal and in RESULTS.md."""

import re
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from benchmarks.machine import describe

RESULTS = Path(__file__).with_name("RESULTS.md")
HOW_TO_READ = """# Results

Made by `python -m benchmarks NAME --write`; do not edit. Every contestant runs in fresh processes,
taking turns with the others, at one BLAS thread and at one a core.

- *seconds*: median over five processes of the median of three fits, at the better number of
  *threads*; *otherwise*: at the other number; *fastest*: the best process. A contestant that takes
  more than ten seconds is fitted once in each, and in one only if it takes more than thirty.
- *first*: the first fit in a process that has only done a tiny one before.
- *MB*: peak memory of that fit above what the process and its data held.
- *peer / ours*: above 1 where ours is faster; in brackets where the quality is not reached, so that
  the ratio does not count. */ floor*: time in units of the bare operation named floor.
- All other columns: the worst over all runs, in float64 or better, by code that is no contestant's.
"""


@dataclass(frozen=True)
class Table:
    """One table of text, ready for any medium."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str]


def show(table: Table) -> None:
    """Print a table."""
    # wide enough for every column where the output is a file or a pipe
    console = Console() if Console().is_terminal else Console(width=180)
    rich = RichTable(box=box.SIMPLE_HEAD)
    for i, column in enumerate(table.columns):
        rich.add_column(column, justify="right" if i else "left", overflow="fold")
    for row in table.rows:
        rich.add_row(*map(escape, row))
    console.print(f"[bold]{table.name}[/bold]: {escape(table.title)}", rich, end="")
    for note in table.notes:
        console.print(f"  {escape(note)}", style="dim", highlight=False)
    console.print()


def markdown(table: Table) -> str:
    """Write a table as Markdown."""
    lines = [table.columns, ["---"] + ["---:"] * (len(table.columns) - 1), *table.rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    grid = "\n".join(f"| {' | '.join(line)} |" for line in cells)
    notes = "\n".join(f"- {note}" for note in table.notes)
    return f"### {table.name}\n\n{table.title}\n\n{grid}\n\n{notes}"


def write(name: str, about: str, tables: list[Table], *, partial=False, path=RESULTS) -> Path:
    """Put the tables of a benchmark into RESULTS.md and leave the others alone.

    A `partial` write keeps its other tables too, if they come from the same versions and machine.
    """
    text = path.read_text() if path.exists() else HOW_TO_READ
    old = between(text, name)
    if partial and old and describe() not in old:
        raise SystemExit(
            "Versions or machine have changed since the last --write: run all cases, no --case."
        )
    summary = " ".join(about.split("\n\n")[0].split())
    head = f"## {name}\n\n{summary}\n\n`python -m benchmarks {name}` with {describe()}"
    section = old if partial and old else head
    for table in tables:
        section = put(section, f"{name}/{table.name}", markdown(table))
    path.write_text(put(text, name, section))
    return path


def between(text: str, key: str) -> str:
    """Give what stands between the markers of `key`; nothing if they are not there."""
    found = re.search(f"<!-- begin {key} -->\n(.*)\n<!-- end {key} -->", text, re.DOTALL)
    return found[1] if found else ""


def put(text: str, key: str, body: str) -> str:
    """Put `body` between the markers of `key`, at the end if they are not there."""
    begin, end = f"<!-- begin {key} -->", f"<!-- end {key} -->"
    if begin not in text:
        return f"{text.rstrip()}\n\n{begin}\n{body.strip()}\n{end}\n"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{body.strip()}\n{end}{rest.partition(end)[2]}"
