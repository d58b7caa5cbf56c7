"""What was measured, in results.json, and RESULTS.md, which is made of it.

A record is one case of one benchmark: what was told of each contestant (`benchmarks.score.Race`) or
a table of text (`benchmarks.report.Table`), and when, how and on what that was measured. Records
of several machines and versions may stand side by side; each says which is its own.
"""

import ast
import json
import math
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from string import ascii_lowercase

from benchmarks import BENCHMARKS, scoreboard
from benchmarks.harness import Case, choose
from benchmarks.machine import describe
from benchmarks.report import Table, markdown
from benchmarks.score import Line, Race

FOLDER = Path(__file__).parent
NOTHING = None, "", (), [], {}
HOW_TO_READ = """# Results

Made by `python -m benchmarks NAME --write` from `results.json`; do not edit. Every contestant runs
in fresh processes, taking turns with the others, at one BLAS thread and at one a core.

- *seconds*: median over the *processes*, five if 15 seconds are enough for them (two in `size` and
  `iterations`), of the median of three fits, at the better number of *threads*; *otherwise*:
  at the other number, from one process where that is clearly slower; *fastest*: the fastest fit of
  all. A contestant that takes more than six seconds is fitted once in each process.
- *first*: the first fit in a process that has only done a tiny one before.
- *cold*: the first fit of a process that has imported numpy, scipy and scikit-learn: with the
  import of the contestant's own package, and compiled loops read from numba's cache. *compiling*:
  the same with numba's cache empty, so that its loops are compiled first, which happens once on a
  machine, and is measured once; *cold* is the better of two. A contestant without *compiling*
  leaves nothing in that cache. Neither is measured where a fit takes more than six seconds.
- *MB*: peak memory of *first* above what the process and its data held.
- *peer / ours*: above 1 where ours is faster; in brackets where the quality is not reached, so that
  the ratio does not count. */ floor*: time in units of the bare operation named floor.
- All other columns: the worst over all runs, in float64 or better, by code that is no contestant's.
"""
EARLIER = """
What is marked *earlier* was measured before cold processes were: there *fastest* is the median of
the fastest process, and measures have two digits.
"""


@dataclass(frozen=True)
class Measured:
    """When, on what and how a record was measured; `took` is in seconds."""

    date: str
    on: str
    command: str
    took: float | None = None


@dataclass(frozen=True)
class Record:
    """One case of one benchmark."""

    benchmark: str
    told: Race | Table
    measured: Measured

    @property
    def name(self) -> str:
        """Benchmark and case."""
        return f"{self.benchmark}/{self.told.name}"


# ----------------------------------------------------------------------------------- the JSON file


def read(folder: Path = FOLDER) -> dict[str, Record]:
    """Read all records, by name."""
    path = folder / "results.json"
    if not path.exists():
        return {}
    stored = json.loads(path.read_text(encoding="utf-8"))
    records = [record_of(each, stored["machines"]) for each in stored["records"]]
    return {record.name: record for record in records}


def record_of(stored: dict, machines: dict[str, str]) -> Record:
    """Make a record of what the file has of it."""
    own = {one.name: stored.pop(one.name) for one in fields(Measured) if one.name in stored}
    measured = Measured(**own | {"on": machines[own["on"]]})
    benchmark = stored.pop("benchmark")
    if "columns" in stored:
        return Record(benchmark, Table(**stored), measured)
    lines = tuple(line_of(line) for line in stored.pop("lines"))
    return Record(benchmark, Race(lines=lines, **stored), measured)


def line_of(stored: dict) -> Line:
    """Make a line of what the file has of it."""
    measures = {m: float(value) for m, value in stored.get("measures", {}).items()}
    return Line(**stored | {"measures": measures})


def write(records: dict[str, Record], folder: Path = FOLDER) -> None:
    """Write results.json, and RESULTS.md from it."""
    order = list(BENCHMARKS)
    ordered = sorted(records.values(), key=lambda record: order.index(record.benchmark))
    machines = letters(ordered)
    stored = {
        "machines": {letter: on for on, letter in machines.items()},
        "records": [
            {"benchmark": record.benchmark}
            | plain(asdict(record.told))
            | plain(asdict(record.measured) | {"on": machines[record.measured.on]})
            for record in ordered
        ],
    }
    unfinished = folder / "results.json.part"  # who ends this meanwhile loses nothing
    unfinished.write_text(pretty(stored) + "\n", encoding="utf-8")
    unfinished.replace(folder / "results.json")
    (folder / "RESULTS.md").write_text(page(list(read(folder).values())), encoding="utf-8")


def letters(records: list[Record]) -> dict[str, str]:
    """Give each machine, with its versions, a letter."""
    machines = dict.fromkeys(record.measured.on for record in records)
    return dict(zip(machines, ascii_lowercase, strict=False))


def plain(value):
    """Leave out what was not told, and round numbers to six digits; JSON has no NaN."""
    if isinstance(value, dict):
        told = (pair for pair in value.items() if pair[1] is not False and pair[1] not in NOTHING)
        return {key: plain(each) for key, each in told}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else str(value)
    return value


def pretty(value, depth: int = 0) -> str:
    """Write JSON with one contestant, or one row of a table, in each line."""
    if depth == 4 or not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    begin, end = "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, dict):
        inside = [f"{json.dumps(key)}: {pretty(each, depth + 1)}" for key, each in value.items()]
    else:
        inside = [pretty(each, depth + 1) for each in value]
    space = " " * depth
    body = ",\n".join(f"{space} {each}" for each in inside)
    return f"{begin}\n{body}\n{space}{end}"


# ------------------------------------------------------------------------------------ what is done


def put(benchmark: str, told: Race | Table, command: str, took: float, folder: Path) -> None:
    """Record one case in place of what was known of it."""
    folder.mkdir(parents=True, exist_ok=True)
    measured = Measured(time.strftime("%Y-%m-%d"), describe(), command, took)
    record = Record(benchmark, told, measured)
    known = {name: each for name, each in read(folder).items() if name != record.name}
    write(known | {record.name: record}, folder)


def prune(benchmark: str, cases, folder: Path) -> None:
    """Forget cases of a benchmark that are none any more."""
    known = read(folder)
    own = {f"{benchmark}/{case}" for case in cases}
    kept = {n: one for n, one in known.items() if one.benchmark != benchmark or n in own}
    if len(kept) < len(known):
        write(kept, folder)


def done(record: Record | None, case) -> bool:
    """Say whether this machine has measured a case with these versions and these contestants.

    What was disturbed by other programs is to be measured again.
    """
    if record is None or record.measured.on != describe():
        return False
    if isinstance(record.told, Race) and record.told.disturbed:
        return False
    if not isinstance(case, Case):
        return True
    present, _ = choose(case, "")
    names = {line.name for line in record.told.lines}
    return record.told.title.endswith(case.title) and names == {one.name for one in present}


# ---------------------------------------------------------------------------------------- the page


def page(records: list[Record]) -> str:
    """Write RESULTS.md."""
    machines = letters(records)
    parts = [HOW_TO_READ]
    if any(record.measured.took is None for record in records):
        parts.append(EARLIER)
    listed = [f"- ({letter}): {on}" for on, letter in machines.items()]
    parts += ["## Measured on", "\n".join(listed)]
    parts += ["## The scoreboard", scoreboard.markdown(records)]
    for benchmark, path in BENCHMARKS.items():
        own = [record for record in records if record.benchmark == benchmark]
        if own:
            parts += [f"## {benchmark}", about(path), *(section(each, machines) for each in own)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def about(path: str) -> str:
    """Give the first paragraph of a module's docstring; to import it would take its time."""
    source = (FOLDER.parent / path.replace(".", "/")).with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
    return " ".join(docstring.split("\n\n")[0].split())


def section(record: Record, machines: dict[str, str]) -> str:
    """Write one record."""
    told, measured = record.told, record.measured
    took = "earlier" if measured.took is None else f"{measured.took:.0f} s in all"
    how = f"`{measured.command}` on ({machines[measured.on]}), {measured.date}, {took}"
    table = told if isinstance(told, Table) else told.table()
    return f"### {record.name}\n\n{markdown(table)}\n\n{how}"
