"""The scoreboard: ours against the fastest peer at equal or better quality, a row for each case.

A case has a row if it asks for a quality and has a peer. Where no peer reaches the quality, the one
that comes nearest stands there, in brackets. Peers that are ahead are named, in time, in quality or
in memory. RESULTS.md has all of it; the README and docs/speed.md have it by method, which
tools/scoreboard.py puts there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.report import grid
from benchmarks.score import Line, Race

SAME = 0.1  # of what a limit allows: qualities that differ by less are alike
FEW = 10  # MB, below which memory is not compared
PACKAGES = ("scikit-learn-intelex", "scikit-learn", "intelex", "fbpca", "TensorLy", "UMAP")


@dataclass(frozen=True)
class Row:
    """One case: ours and one peer, and the measure by which they are alike."""

    record: Any
    peer: Line

    @property
    def name(self) -> str:
        """Benchmark and case."""
        return self.record.name

    @property
    def race(self) -> Race:
        """All contestants."""
        return self.record.told

    @property
    def ours(self) -> Line:
        """Ours."""
        return self.race.ours

    @property
    def counts(self) -> bool:
        """Whether both are as good as was asked for."""
        return all(line.counts(self.race.limits) for line in (self.ours, self.peer))

    @property
    def measure(self) -> str:
        """The measure that was asked for first."""
        return next(iter(self.race.limits))

    @property
    def time(self) -> float | None:
        """Time of the peer in units of ours."""
        return None if self.ours.seconds is None else self.peer.seconds / self.ours.seconds

    @property
    def memory(self) -> float | None:
        """Memory of the peer in units of ours, where that says something."""
        ours, peer = self.ours.MB, self.peer.MB
        return None if None in (ours, peer) or min(ours, peer) < FEW else peer / ours


def rows(records) -> list[Row]:
    """Give the rows of all records that make one."""
    races = [record for record in records if isinstance(record.told, Race)]
    found = [(record, rivals(record.told)) for record in races]
    return [Row(record, best(record.told, peers)) for record, peers in found if peers]


def rivals(race: Race) -> list[Line]:
    """Give the peers of ours, if a quality was asked for."""
    if not race.limits or race.ours is None:
        return []
    return [line for line in race.lines if not (line.ours or line.floor or line.failed)]


def best(race: Race, peers: list[Line]) -> Line:
    """Give the fastest of the peers that count, or else the one that comes nearest."""
    counting = [line for line in peers if line.counts(race.limits)]
    measure = next(iter(race.limits))
    if counting and race.ours.seconds is not None:
        return min(counting, key=lambda line: line.seconds)
    quality = lambda line: np.nan_to_num(line.measures[measure], nan=np.inf)  # noqa: E731
    return min(counting or peers, key=quality)


# ------------------------------------------------------------------------------------ what is told


def markdown(records) -> str:
    """Write the scoreboard: time and memory at equal quality, who is ahead, and cold starts."""
    listed = rows(records)
    if not listed:
        return "Nothing has been measured yet."
    columns = ["case", "fastest peer of that quality", "seconds, ours", "the peer's", "ratio",
               "MB, ours", "the peer's", "ratio", "quality", "ours", "the peer's",
               "measured"]  # fmt: skip
    parts = [grid(columns, [cells(row) for row in listed]), NOTE, "### Where a peer is ahead"]
    parts.append("\n".join(f"- {each}" for each in ahead(listed)) or "Nowhere.")
    begun = [row for row in listed if row.ours.cold]
    if begun:
        columns = ["case", "ours", "cold", "compiling", "peer", "its seconds", "cold", "compiling"]
        grid_of_starts = grid(columns, [starts(row) for row in begun])
        parts += ["### The first fit of a process", COLD, grid_of_starts]
    return "\n\n".join(parts)


NOTE = """Ratios are the peer's over ours: above 1 where ours takes less. A peer in brackets misses
the quality, and is the one that comes nearest; its ratios do not count. Times that were disturbed
by other programs are not quoted elsewhere."""
COLD = """Seconds of the fit as above, of the first fit of a process, and of the first one on a
machine, which compiles loops with numba."""


def cells(row: Row) -> list[str]:
    """Write a row."""
    name = row.peer.label if row.counts else f"({row.peer.label})"
    ratios = [bracketed(value, row.counts) for value in (row.time, row.memory)]
    asked = f"{row.measure} {limit(row)}"
    quality = [f"{line.measures[row.measure]:.3g}" for line in (row.ours, row.peer)]
    seconds = [number(line.seconds, 4) for line in (row.ours, row.peer)]
    memory = [number(line.MB, 0) for line in (row.ours, row.peer)]
    when = row.record.measured.date + ("" if row.record.measured.took else ", earlier")
    when += ", disturbed" if row.race.disturbed else ""
    return [row.name, name, *seconds, ratios[0], *memory, ratios[1], asked, *quality, when]


def starts(row: Row) -> list[str]:
    """Write how long a fit takes that is the first."""
    ours, peer = (
        [number(seconds, 3) for seconds in (line.seconds, line.cold, line.compiling)]
        for line in (row.ours, row.peer)
    )
    return [row.name, *ours, row.peer.name, *peer]


def times(ratio: float) -> str:
    """Write a ratio with two digits."""
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.1f}" if ratio >= 0.995 else f"{ratio:.2f}"


def number(value: float | None, digits: int) -> str:
    """Write a number, or nothing."""
    return "" if value is None else f"{value:.{digits}f}"


def bracketed(value: float | None, counts: bool) -> str:
    """Write a ratio, in brackets if it does not count."""
    return number(value, 2) if counts or value is None else f"({value:.2f})"


def ahead(listed: list[Row]) -> list[str]:
    """Name the peers that are ahead: in time, quality or memory, and where ours falls short."""
    told = []
    for row in listed:
        limits, ours = row.race.limits, row.ours
        if not ours.counts(limits):
            told.append(f"{row.name}: ours misses the quality asked for.")
            continue
        for peer in rivals(row.race):
            leads = advantages(ours, peer, limits) if peer.counts(limits) else []
            told += [f"{row.name}: `{peer.label}` {lead}." for lead in leads]
    return told


def advantages(ours: Line, peer: Line, limits: dict[str, float]) -> list[str]:
    """Say in which ways a peer is ahead of ours."""
    measure = next(iter(limits))
    a, b = ours.measures[measure], peer.measures[measure]
    told, beside = [], ""
    if ours.seconds is not None and peer.seconds > ours.seconds:
        beside = f", in {times(peer.seconds / ours.seconds)} times the time"
    if ours.seconds is not None and peer.seconds < ours.seconds:
        told.append(f"takes {peer.seconds / ours.seconds:.2f} of the time of ours")
    if a - b > SAME * abs(limits[measure]):
        told.append(f"is closer, {b:.3g} against {a:.3g} ({measure}){beside}")
    if None not in (ours.MB, peer.MB) and ours.MB - peer.MB > FEW:
        told.append(f"takes {peer.MB:.0f} MB where ours takes {ours.MB:.0f}{beside}")
    return told


# -------------------------------------------------------------------------------------- by method


def quoted(records) -> list[Row]:
    """Give the rows whose times may be quoted."""
    return [row for row in rows(records) if not row.race.disturbed]


def by_method(records) -> str:
    """Write a table with a row for each method: ratios over its cases, and what quality means."""
    methods = {}
    for row in quoted(records):
        methods.setdefault(row.race.method, []).append(row)
    columns = ["", "cases", "time", "memory", "peers", "equal at"]
    return grid(columns, [summary(name, own) for name, own in methods.items()])


def summary(method: str, listed: list[Row]) -> list[str]:
    """Sum up the rows of one method; those that do not count say so by their number."""
    counting = [row for row in listed if row.counts]
    out = len(listed) - len(counting)
    cases = f"{len(listed)}" + (f", {out} where no peer is as good" if out else "")
    ratios = [
        spread([value for value in map(what, counting) if value is not None])
        for what in (lambda row: row.time, lambda row: row.memory)
    ]
    peers = dict.fromkeys(whose(row.peer) for row in counting)
    asked = {}
    for row in counting:
        asked.setdefault(row.measure, set()).add(limit(row))
    equal = "; ".join(f"{measure} {' or '.join(sorted(at))}" for measure, at in asked.items())
    return [f"`{method}`" if method.isalnum() else method, cases, *ratios, ", ".join(peers), equal]


def whose(line: Line) -> str:
    """Name the package of a peer, without its settings."""
    known = (package for package in PACKAGES if line.name.startswith(package))
    return next(known, line.name.partition(",")[0])


def limit(row: Row) -> str:
    """Write what was asked for."""
    return f"≤ {row.race.limits[row.measure]:.3g}".replace("e-0", "e-")


def spread(ratios: list[float]) -> str:
    """Write the median of ratios, and from where to where they go."""
    if not ratios:
        return ""
    middle = times(float(np.median(ratios)))
    ends = [times(end) for end in (min(ratios), max(ratios))]
    return middle if len(ratios) == 1 else f"{middle} ({ends[0]} to {ends[1]})"


def behind(records) -> str:
    """Say in a sentence where a peer takes less time."""
    listed = [row for row in quoted(records) if row.counts and row.time is not None]
    slower = [row for row in listed if row.time < 1]
    if not slower:
        return f"In none of {len(listed)} cases is a peer of the same quality faster."
    named = ", ".join(f"`{row.peer.name}` in {row.name} ({times(row.time)})" for row in slower)
    return f"In {len(slower)} of {len(listed)} cases a peer of the same quality is faster: {named}."


def measured(records) -> str:
    """Say when and where, by the processors; RESULTS.md has the versions."""
    own = [row.record.measured for row in quoted(records)]
    dates = sorted({one.date for one in own})
    machines = dict.fromkeys(one.on.rpartition("; ")[2].rstrip(".") for one in own)
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"Measured {when} on {' and '.join(machines)}."
