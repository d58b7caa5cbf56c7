"""The table of methods in the README, made from the register.

``python tools/readme_table.py`` prints it, with ``--write`` puts it into README.md.
"""

import inspect
import sys
from pathlib import Path

from sklearn.base import BaseEstimator

import eigenlens

README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- methods: made by tools/readme_table.py -->", "<!-- end of methods -->"


def estimators() -> dict[str, type]:
    """Find the estimators in the register, by their public names."""
    public = {name: getattr(eigenlens, name) for name in eigenlens.__all__}
    return {
        name: value
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, BaseEstimator)
    }


def table() -> str:
    """Write one line a method: name, what it finds, the claims it is tested for."""
    lines = ["| method | what it finds | tested promises |", "|---|---|---|"]
    for name, cls in estimators().items():
        summary = inspect.getdoc(cls).splitlines()[0].rstrip(".")
        claims = ", ".join(sorted(cls.claims)).replace("_", " ")
        lines.append(f"| `{name}` | {summary} | {claims} |")
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
