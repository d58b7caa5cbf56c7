"""Figures of what was measured: quality against time, and time against size, on log axes.

They are drawn from the benchmarks ``iterations`` and ``size`` in results.json. ``python -m
benchmarks.figures FOLDER`` draws those of a folder into it; tools/scoreboard.py draws the recorded
ones for docs/speed.md.
"""

import io
import sys
from itertools import cycle
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from PIL import Image

from benchmarks import results, score
from benchmarks.score import Race
from tools.pictures import small

OURS, PEERS = "#0072B2", ("#E69F00", "#009E73", "#D55E00", "#CC79A7", "0.55")
LEAST = 1e-6  # excess below which nothing is told apart
WIDTH = 3  # panels beside each other
DPI = 100


def draw(records, folder: Path) -> list[Path]:
    """Draw the figures for which there is something, as small PNG files."""
    paths = []
    for name, benchmark, panel, legend in (
        ("speed_iterations", "iterations", quality_against_time, "best"),
        ("speed_size", "size", time_against_size, "upper left"),  # above curves that rise
    ):
        races = [record.told for record in records if record.benchmark == benchmark]
        methods = {}
        for race in races:
            methods.setdefault(race.method, []).append(race)
        if methods:
            paths.append(folder / f"{name}.png")
            store(panels(methods, panel, legend), paths[-1])
    return paths


def panels(methods: dict[str, list[Race]], panel, legend: str) -> Figure:
    """Draw one panel for each method."""
    columns = min(WIDTH, len(methods))
    high = -(-len(methods) // columns)
    figure, axes = plt.subplots(
        high, columns, figsize=(3 * columns, 2.6 * high), layout="constrained", squeeze=False
    )
    for ax in axes.flat[len(methods) :]:
        ax.set_axis_off()
    for ax, (method, races) in zip(axes.flat, methods.items(), strict=False):
        panel(ax, races)
        ax.set_title(method, fontsize=10, fontweight="bold", loc="left")
        ax.set(xscale="log", yscale="log")
        for axis in (ax.xaxis, ax.yaxis):
            mark(axis)
        ax.grid(alpha=0.3, linewidth=0.5)
        ax.tick_params(labelsize=7)
        ax.legend(fontsize=7, framealpha=0.6, edgecolor="none", loc=legend)
    return figure


def mark(axis) -> None:
    """Mark powers of ten, or where there are not two of them, numbers between."""
    low, high = axis.get_view_interval()
    if high < 100 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def quality_against_time(ax, races: list[Race]) -> None:
    """Show how far each is above the least objective, by the time that it took."""
    (race,) = races
    ended = [line for line in race.lines if not line.failed]
    least = min(line.measures["objective"] for line in ended)
    excess = {line.name: max(LEAST, line.measures["objective"] / least - 1) for line in ended}
    curves(ax, [
        (line.name.rpartition(", ")[0], (line.seconds, excess[line.name])) for line in ended
    ])  # fmt: skip
    ax.set_xlabel("seconds", fontsize=8)
    ax.set_ylabel("excess objective", fontsize=8)


def time_against_size(ax, races: list[Race]) -> None:
    """Show the time by the number of rows; a ring is around what misses the quality."""
    points = [
        (line, race, (rows(race), line.seconds))
        for race in races
        for line in race.lines
        if not line.failed
    ]
    curves(ax, [(line.name, at) for line, _, at in points])
    missed = [at for line, race, at in points if not line.counts(race.limits)]
    if missed:
        ax.plot(*zip(*missed, strict=True), "o", mfc="none", color="0.2", ms=8)
    seconds = [at[1] for _, _, at in points]
    low, high = min(seconds), max(seconds)
    ax.set_ylim(low / 1.5, 1.5 * high * (high / low) ** 0.4)  # room for the legend
    ax.set_xlabel("rows", fontsize=8)
    ax.set_ylabel("seconds", fontsize=8)


def rows(race: Race) -> int:
    """Give the number of rows, which the name ends with."""
    return int(race.name.split()[-1])


def curves(ax, points: list[tuple[str, tuple[float, float]]]) -> None:
    """Draw a curve through the points of each contestant; ours is the first, and thick."""
    contestants = dict.fromkeys(name for name, _ in points)
    peers = cycle(PEERS)
    for name in sorted(contestants, key=lambda name: not name.startswith(score.OURS)):
        ours = name.startswith(score.OURS)
        at = zip(*(point for one, point in points if one == name), strict=True)
        style = {"color": OURS, "lw": 2, "zorder": 3} if ours else {"color": next(peers), "lw": 1.2}
        ax.plot(*at, "o-", ms=3.5, label=name, **style)


def store(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG of few colours."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=DPI)
    plt.close(figure)
    path.write_bytes(small(Image.open(buffer)))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    print(*draw(results.read(folder).values(), folder), sep="\n")
