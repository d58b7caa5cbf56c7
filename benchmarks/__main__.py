"""The command ``python -m benchmarks``."""

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path
from shlex import quote

from benchmarks import BENCHMARKS, report, results
from benchmarks.harness import Options, run_cases

ALL = "all"


def main(argv=None):
    """Run benchmarks, print their tables and, with ``--write``, record each when it is there."""
    args = parser().parse_args(argv)
    if args.list or args.name is None:
        print_list(args.results)
        return
    check(args)
    failed, begin = [], time.perf_counter()
    for name in BENCHMARKS if args.name == ALL else [args.name]:
        try:
            run(name, args)
        except (Exception, SystemExit) as error:  # the others may go on: they take hours
            if args.name != ALL:
                raise
            failed.append(f"{name}: {type(error).__name__}: {error}")
            print("failed:", failed[-1], file=sys.stderr)
    print(f"{args.name}: {clock(time.perf_counter() - begin)}")
    if failed:
        raise SystemExit("\n".join(["failed:", *failed]))


def run(name, args):
    """Run one benchmark."""
    module = import_module(BENCHMARKS[name])
    known = results.read(args.results)
    done = [
        case
        for case, one in cases(module).items()
        if args.missing and results.done(known.get(f"{name}/{case}"), one)
    ]
    if done:
        print(f"{name}: known of this machine and these versions: {', '.join(done)}")
    options = Options(args.case, args.only, args.repeats, args.smoke, frozenset(done))
    running = module.run(options) if hasattr(module, "run") else run_cases(name, module, options)
    first = begin = time.perf_counter()
    for told in running:
        took = time.perf_counter() - begin
        report.show(told)
        print(f"  {name}/{told.name}: {clock(took)}\n")
        if args.write and getattr(told, "rows", True):
            command = f"python -m benchmarks {name} --case {quote(told.name)}"
            results.put(name, told, command, took, args.results)
        begin = time.perf_counter()
    if args.write:
        results.prune(name, cases(module), args.results)
    print(f"{name}: {clock(time.perf_counter() - first)}", flush=True)


def cases(module):
    """Give the cases of a benchmark by name, and the names of tables that are made without one."""
    listed = {case.name: case for case in getattr(module, "CASES", ())}
    return dict.fromkeys(getattr(module, "TABLES", ())) | listed


def clock(seconds):
    """Write a time as a reader would say it."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def parser():
    """Describe the arguments."""
    p = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Time ours and the peers at equal quality."
    )
    names = ", ".join(BENCHMARKS)
    p.add_argument("name", nargs="?", choices=[*BENCHMARKS, ALL], metavar="NAME",
                   help=f"all, or one of: {names}")  # fmt: skip
    p.add_argument("--list", action="store_true", help="list the benchmarks and their cases")
    p.add_argument("--case", default="", metavar="SUBSTRING", help="cases with this in the name")
    p.add_argument("--only", default="", metavar="SUBSTRING,...", help="contestants likewise")
    p.add_argument("--repeats", type=int, help="processes a contestant and thread count")
    p.add_argument(
        "--smoke", action="store_true", help="tiny sizes, one repeat: does it run at all"
    )
    p.add_argument("--write", action="store_true", help="record results as they come")
    p.add_argument("--missing", action="store_true",
                   help="leave out what this machine has recorded with these versions")  # fmt: skip
    p.add_argument("--results", type=Path, default=results.FOLDER, metavar="FOLDER",
                   help="where results.json and RESULTS.md are, if not here")  # fmt: skip
    return p


def check(args):
    """Refuse what would give an empty or a misleading table."""
    if args.case and args.name != ALL:
        known = cases(import_module(BENCHMARKS[args.name]))
        if not any(args.case in name for name in known):
            raise SystemExit(
                f"--case {args.case!r} is in no case of {args.name!r}. "
                f"Its cases: {', '.join(known)}."
            )
    if args.write and args.results == results.FOLDER and (args.smoke or args.only or args.repeats):
        raise SystemExit(
            "--write records real sizes, all contestants and the usual repeats. "
            "Leave out --smoke, --only and --repeats, or name another folder with --results."
        )


def print_list(folder):
    """Print every benchmark with its cases, and how long they took where that is known."""
    known = results.read(folder)
    for name, path in BENCHMARKS.items():
        module = import_module(path)
        print(f"{name}: {module.__doc__.splitlines()[0]}")
        for case, one in cases(module).items():
            record = known.get(f"{name}/{case}")
            took = record.measured.took if record else None
            print(f"    {case:18} {getattr(one, 'title', '')}{f' ({clock(took)})' if took else ''}")


if __name__ == "__main__":
    main()
