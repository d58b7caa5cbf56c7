"""From the runs to a table: the better thread count, the ratio, and whether it counts."""

import hashlib
from dataclasses import dataclass, field

import numpy as np

from benchmarks.machine import UNQUOTED, disturbance
from benchmarks.report import Table

OURS = "eigenlens"  # what the names of all our contestants begin with
PATIENCE = 15  # seconds of all its processes after which a contestant has no other
CLEAR = 1.25  # times as long, so that the number of threads is the wrong one


@dataclass(frozen=True)
class Line:
    """What is told of one contestant: times in seconds, and the worst of each measure.

    The names of numbers are those of the columns in which they are shown.
    """

    name: str
    note: str = ""
    failed: str = ""
    floor: bool = False
    seconds: float | None = None
    threads: int | None = None
    processes: int | None = None
    otherwise: float | None = None
    fastest: float | None = None
    first: float | None = None
    cold: float | None = None
    compiling: float | None = None
    MB: float | None = None
    measures: dict[str, float] = field(default_factory=dict)

    @property
    def ours(self) -> bool:
        """Whether it is one of ours."""
        return self.name.startswith(OURS)

    @property
    def label(self) -> str:
        """The name, with the note if that says more."""
        more = self.note and self.note not in self.name
        return f"{self.name} [{self.note}]" if more else self.name

    def counts(self, limits: dict[str, float]) -> bool:
        """Whether the answer reaches the quality asked for; NaN never does."""
        return not self.failed and all(self.measures[m] <= limits[m] for m in limits)


@dataclass(frozen=True)
class Race:
    """One case with all its contestants, of which only those within the limits count."""

    name: str
    title: str
    lines: tuple[Line, ...]
    limits: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    method: str = ""

    @property
    def ours(self) -> Line | None:
        """Ours, the first if there are several."""
        return next((line for line in self.lines if line.ours and not line.failed), None)

    @property
    def disturbed(self) -> bool:
        """Whether other programs were busy, so that the times are not to be quoted."""
        return any(UNQUOTED in note for note in self.notes)

    def table(self) -> Table:
        """Write it out."""
        floor = next((line for line in self.lines if line.floor and not line.failed), None)
        measures = list(dict.fromkeys(m for line in self.lines for m in line.measures))
        rows = [row_of(line, self.ours, floor, self.limits) for line in self.lines]
        told = {column for row in rows for column, cell in row.items() if cell}
        columns = ["contestant", *(column for column in COLUMNS if column in told), *measures]
        cells = [[row.get(column, "") for column in columns] for row in rows]
        asked = (f"{m} at most {limit:.6g}" for m, limit in self.limits.items())
        notes = [f"to count: {each} (! is beyond)" for each in asked]
        notes += [f"failed: {line.name}: {line.failed}" for line in self.lines if line.failed]
        return Table(self.name, self.title, columns, cells, [*notes, *self.notes])


@dataclass
class Entry:
    """What one contestant did: its runs by thread count, and the worst of each measure."""

    name: str
    floor: bool = False
    runs: dict[int, list[dict]] = field(default_factory=dict)
    cold: dict = field(default_factory=dict)
    measures: dict[str, float] = field(default_factory=dict)
    failed: str = ""
    note: str = ""

    def add(self, threads: int, run: dict) -> None:
        """Keep one run. One failure fails the contestant: no time without an answer."""
        self.failed = self.failed or run.get("failed", "")
        self.note = run.get("note", "") or self.note
        self.runs.setdefault(threads, []).append(run)

    def has_enough(self, threads: int) -> bool:
        """Whether one more process with so many threads would tell little."""
        if self.failed or threads not in self.runs:
            return bool(self.failed)
        if sum(run["took"] for runs in self.runs.values() for run in runs) > PATIENCE:
            return True
        return self.median("seconds", threads) > CLEAR * self.median("seconds")

    def start(self, cold: dict) -> None:
        """Keep what the first fit of a process took."""
        self.failed = cold.pop("failed", "")
        self.cold = cold

    def judge(self, score) -> None:
        """Judge every answer; keep the worst, and NaN is worse than all."""
        if self.floor or self.failed:
            return
        answers = [run["answer"] for runs in self.runs.values() for run in runs]
        for answer in {digest(each): each for each in answers}.values():  # most repeat the first
            for measure, value in score(answer).items():
                worst = np.maximum(value, self.measures.get(measure, value))
                self.measures[measure] = float(worst)

    def median(self, what: str, threads: int | None = None) -> float | None:
        """Median over the processes at a thread count, the better one if none is given."""
        values = [run[what] for run in self.runs[threads or self.threads]]
        return None if None in values else float(np.median(values))

    @property
    def threads(self) -> int:
        """The better thread count."""
        return min(self.runs, key=lambda threads: self.median("seconds", threads))

    def line(self, timed: bool = True) -> Line:
        """Sum it up."""
        who = {"name": self.name, "note": self.note, "failed": self.failed, "floor": self.floor}
        if self.failed or not timed:
            return Line(**who, measures=self.measures)
        other = [self.median("seconds", t) for t in self.runs if t != self.threads]
        return Line(
            **who,
            seconds=self.median("seconds"),
            threads=self.threads,
            processes=len(self.runs[self.threads]),
            otherwise=other[0] if other else None,
            fastest=min(run["fastest"] for run in self.runs[self.threads]),
            first=self.median("first"),
            **self.cold,
            MB=self.median("MB"),
            measures=self.measures,
        )


def digest(answer: dict) -> bytes:
    """Tell answers apart by a few bytes."""
    told = hashlib.blake2b()
    for name, value in answer.items():
        array = np.ascontiguousarray(value)
        told.update(f"{name} {array.dtype} {array.shape}".encode())
        told.update(array.tobytes())
    return told.digest()


def settle(case, entries: list[Entry], absent: list[str], others: float) -> Race:
    """Sum up the runs of one case."""
    notes = disturbance(others) if case.timed else []
    if absent:
        names = ", ".join(absent)
        notes = [f"not installed, skipped: {names}; pip install eigenlens[bench]", *notes]
    lines = tuple(entry.line(case.timed) for entry in entries)
    return Race(case.name, case.title, lines, case.limits, tuple(notes), case.method)


COLUMNS = ("seconds", "threads", "processes", "otherwise", "fastest", "first", "cold", "compiling",
           "MB", "peer / ours", "/ floor")  # fmt: skip


def row_of(line: Line, ours: Line | None, floor: Line | None, limits: dict) -> dict[str, str]:
    """Write what is told of one contestant, by column."""
    row = {"contestant": line.label}
    if line.failed:
        return row
    for column in COLUMNS[:-2]:
        value = getattr(line, column, None)
        if value is not None:
            digits = {"threads": 0, "processes": 0, "MB": 0}.get(column, 4)
            row[column] = f"{value:.{digits}f}"
    if line.seconds is not None:
        row["peer / ours"] = "" if line.floor else ratio(line, ours, limits)
        if floor and floor.seconds:
            row["/ floor"] = f"{line.seconds / floor.seconds:.2f}"
    return row | {m: grade(v, limits.get(m, np.inf)) for m, v in line.measures.items()}


def ratio(line: Line, ours: Line | None, limits: dict) -> str:
    """Give peer time / ours, in brackets if either side misses the quality."""
    counts = line.counts(limits) and (ours is None or ours.counts(limits))
    value = "" if ours in (None, line) else f"{line.seconds / ours.seconds:.2f}"
    return value if counts else f"({value}) does not count".replace("() ", "")


def grade(value: float, limit: float) -> str:
    """Write a measure, marked if it is beyond its limit."""
    return f"{value:.3g}" if value <= limit else f"{value:.3g} !"
