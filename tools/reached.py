"""Tell how much of the source the tests reach, file by file, and fail if that is too little.

    python tools/reached.py lines .coverage.lines
    python tools/reached.py branches .coverage.branches

Lines are counted in a run with compiled loops, which cannot be traced: theirs are left out there.
Branches are counted in a run in which loops are plain Python on small arrays, theirs among them.
``make lines`` and ``make branches`` do both steps.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from coverage import Coverage

LEAST = 95.0  # percent
COUNTS = {
    "lines": ("covered_lines", "num_statements"),
    "branches": ("covered_branches", "num_branches"),
}


def totals(data_file: str, *, loops: bool) -> dict[str, dict[str, int]]:
    """Return what coverage counts in each file, and in all under the name ``total``."""
    coverage = Coverage(data_file=data_file)
    if not loops:
        coverage.exclude("@compiled")
    coverage.load()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        coverage.json_report(outfile=str(report))
        found = json.loads(report.read_text())
    files = {name: content["summary"] for name, content in found["files"].items()}
    return files | {"total": found["totals"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["lines", "branches"])
    parser.add_argument("data_file")
    options = parser.parse_args()
    counts = totals(options.data_file, loops=options.what == "branches")
    covered, known = COUNTS[options.what]
    shares = {
        name: 100.0 * content[covered] / content[known]
        for name, content in counts.items()
        if content[known]
    }
    for name, share in shares.items():
        if name == "total" or share < LEAST:
            print(f"{share:6.1f} % of {counts[name][known]:5d} {options.what}  {name}")
    return int(shares["total"] < LEAST)


if __name__ == "__main__":
    sys.exit(main())
