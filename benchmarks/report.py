"""Tables, on the terminal and as Markdown."""

from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable


@dataclass(frozen=True)
class Table:
    """One table of text, ready for any medium."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


def show(told) -> None:
    """Print a table, or that of a race."""
    table = told if isinstance(told, Table) else told.table()
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
    """Write a table as Markdown, without its name."""
    notes = "\n".join(f"- {note}" for note in table.notes)
    return f"{table.title}\n\n{grid(table.columns, table.rows)}\n\n{notes}".strip()


def grid(columns: list[str], rows: list[list[str]]) -> str:
    """Write columns and rows as Markdown: text in the first column, numbers in the others."""
    lines = [columns, ["---"] + ["---:"] * (len(columns) - 1), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
