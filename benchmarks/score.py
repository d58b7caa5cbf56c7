"""From the runs to a table: the better thread count, the ratio, and whether it counts."""

from dataclasses import dataclass, field

import numpy as np

from benchmarks.machine import disturbance
from benchmarks.report import Table

OURS = "eigenlens"


@dataclass
class Entry:
    """What one contestant did: its runs by thread count, and the worst of each measure."""

    name: str
    package: str
    floor: bool = False
    runs: dict[int, list[dict]] = field(default_factory=dict)
    measures: dict[str, float] = field(default_factory=dict)
    failed: str = ""
    note: str = ""

    def add(self, threads: int, run: dict) -> None:
        """Keep one run. One failure fails the contestant: no time without an answer."""
        self.failed = self.failed or run.get("failed", "")
        self.note = run.get("note", "") or self.note
        self.runs.setdefault(threads, []).append(run)

    def judge(self, score) -> None:
        """Judge every answer; keep the worst, and NaN is worse than all."""
        if self.floor or self.failed:
            return
        for runs in self.runs.values():
            for run in runs:
                for measure, value in score(run["answer"]).items():
                    worst = np.maximum(value, self.measures.get(measure, value))
                    self.measures[measure] = float(worst)

    def median(self, what: str, threads: int | None = None) -> float:
        """Median over the processes at a thread count, the better one if none is given."""
        values = [run[what] for run in self.runs[threads or self.threads]]
        return np.nan if None in values else float(np.median(values))

    @property
    def threads(self) -> int:
        """The better thread count."""
        return min(self.runs, key=lambda threads: self.median("seconds", threads))

    def counts(self, limits: dict[str, float]) -> bool:
        """Whether the answer reaches the quality asked for; NaN never does."""
        return not self.failed and all(self.measures[m] <= limits[m] for m in limits)


def tabulate(case, entries: list[Entry], absent: list[str], others: float) -> Table:
    """Write the table of one case."""
    ours = next((e for e in entries if e.package == OURS and not e.failed), None)
    floor = next((e for e in entries if e.floor and not e.failed), None)
    measures = list(dict.fromkeys(m for e in entries for m in e.measures))
    rows = []
    for e in entries:
        row = {"contestant": f"{e.name} [{e.note}]" if e.note and e.note not in e.name else e.name}
        if not e.failed:
            row |= times(e, ours, floor, case.limits) if case.timed else {}
            row |= {m: grade(v, case.limits.get(m, np.inf)) for m, v in e.measures.items()}
        rows.append(row)
    columns = list(
        dict.fromkeys(column for row in rows for column in row if column not in measures)
    )
    columns += measures
    notes = [f"to count: {m} at most {limit:.6g} (! is beyond)" for m, limit in case.limits.items()]
    notes += [f"failed: {e.name}: {e.failed}" for e in entries if e.failed]
    if absent:
        notes.append(f"not installed, skipped: {', '.join(absent)}; pip install eigenlens[bench]")
    notes += disturbance(others) if case.timed else []
    cells = [[row.get(column, "") for column in columns] for row in rows]
    return Table(case.name, case.title, columns, cells, notes)


def times(entry: Entry, ours: Entry | None, floor: Entry | None, limits: dict) -> dict[str, str]:
    """Write what was measured of one contestant, at its better thread count."""
    seconds = entry.median("seconds")
    slower = [entry.median("seconds", t) for t in entry.runs if t != entry.threads]
    row = {
        "seconds": f"{seconds:.4f}",
        "threads": str(entry.threads),
        "otherwise": " ".join(f"{s:.4f}" for s in slower),
        "fastest": f"{min(run['seconds'] for run in entry.runs[entry.threads]):.4f}",
        "first": f"{entry.median('first'):.4f}",
        "MB": f"{entry.median('MB'):.0f}",
        "peer / ours": "" if entry.floor else ratio(entry, ours, limits),
    }
    if floor:
        row["/ floor"] = f"{seconds / floor.median('seconds'):.2f}"
    return row


def ratio(entry: Entry, ours: Entry | None, limits: dict) -> str:
    """Give peer time / ours, in brackets if either side misses the quality."""
    counts = entry.counts(limits) and (ours is None or ours.counts(limits))
    value = (
        "" if ours in (None, entry) else f"{entry.median('seconds') / ours.median('seconds'):.2f}"
    )
    return value if counts else f"({value}) does not count".replace("() ", "")


def grade(value: float, limit: float) -> str:
    """Write a measure, marked if it is beyond its limit."""
    return f"{value:.1e}" if value <= limit else f"{value:.1e} !"
