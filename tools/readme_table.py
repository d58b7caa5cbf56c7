"""The table of methods in the README, made from the register.

``python tools/readme_table.py`` prints it, with ``--write`` puts it into README.md.
"""

import sys
from pathlib import Path

from eigenlens._claims import RELATIONS
from eigenlens._register import classes, summary

README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- methods: made by tools/readme_table.py -->", "<!-- end of methods -->"


def table() -> str:
    """Write one line a method: name, what it finds, the claims it is tested for.

    How answers move with the table, which most have in common, is in docs/contract.md.
    """
    lines = ["| method | what it finds | tested promises |", "|---|---|---|"]
    for name, method in classes().items():
        claims = ", ".join(sorted(method.claims - set(RELATIONS))).replace("_", " ")
        lines.append(f"| `{name}` | {summary(method)} | {claims} |")
    return "\n".join(lines)


def with_table(text: str) -> str:
    """Put the current table between the markers of a page."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    return f"{before}{START}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table())
