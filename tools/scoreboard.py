"""What the README and docs/speed.md say of speed, made from benchmarks/results.json.

``python -m tools.scoreboard`` prints it; with ``--write`` it goes into both pages, and the figures
of the second and benchmarks/RESULTS.md are made anew.
"""

import sys
from pathlib import Path
from textwrap import fill

from benchmarks import results, scoreboard

ROOT = Path(__file__).parents[1]
ELSEWHERE = """Where one takes less memory or comes closer is in [how fast](docs/speed.md), every
table with its versions in [benchmarks/RESULTS.md](benchmarks/RESULTS.md)."""
IMAGES = ROOT / "docs" / "images"
START, END = "<!-- speed: made by tools/scoreboard.py -->", "<!-- end of speed -->"
FIGURES = {
    "iterations": """![Excess of objectives against time, six methods](images/speed_iterations.png)

Each point is a fit that was stopped after some iterations, by when it ended and how far its
objective is above the least that anyone reached; one in a million or less is drawn as that.
`python -m benchmarks iterations` says what the tables are.""",
    "size": """![Time against the number of rows, six methods](images/speed_size.png)

Time of a fit from small tables to large ones. A ring is around answers that miss the quality asked
for. `python -m benchmarks size` says what the tables are.""",
}


def readme(records) -> str:
    """Write what the README says."""
    told = f"{scoreboard.behind(records)} {scoreboard.measured(records)} {ELSEWHERE}"
    return f"{scoreboard.by_method(records)}\n\n{fill(told, 100)}"


def speed(records) -> str:
    """Write what docs/speed.md says."""
    listed = scoreboard.quoted(records)
    leads = "\n".join(f"- {each}" for each in scoreboard.ahead(listed)) or "Nowhere."
    drawn = {record.benchmark for record in records}
    figures = [text for benchmark, text in FIGURES.items() if benchmark in drawn]
    if figures:
        figures = ["## Time, quality and size", *figures]
    table, when = scoreboard.by_method(records), scoreboard.measured(records)
    parts = [table, when, "## Where a peer is ahead", leads, *figures]
    return "\n\n".join(parts)


PAGES = {ROOT / "README.md": readme, ROOT / "docs" / "speed.md": speed}


def with_speed(text: str, made: str) -> str:
    """Put what was made between the markers of a page."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    return f"{before}{START}\n{made}\n{END}{after}"


def write(records) -> None:
    """Put it into both pages, and draw the figures."""
    from benchmarks import figures  # a second of imports, for nothing else

    for page, make in PAGES.items():
        text = page.read_text(encoding="utf-8")
        page.write_text(with_speed(text, make(records)), encoding="utf-8")
    figures.draw(records, IMAGES)


if __name__ == "__main__":
    known = list(results.read().values())
    if "--write" in sys.argv[1:]:
        results.write(results.read())
        write(known)
    else:
        print(*(make(known) for make in PAGES.values()), sep="\n\n\n")
