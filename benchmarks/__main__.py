"""The command ``python -m benchmarks``."""

import argparse
from importlib import import_module

from benchmarks import BENCHMARKS, report
from benchmarks.harness import Options, run_cases


def main(argv=None):
    """Run one benchmark, print its tables and, with ``--write``, put them into RESULTS.md."""
    args = parser().parse_args(argv)
    if args.list or args.name is None:
        print_list()
        return
    module = import_module(BENCHMARKS[args.name])
    check(args, module)
    options = Options(args.case, args.only, args.repeats, args.smoke)
    run = module.run(options) if hasattr(module, "run") else run_cases(args.name, module, options)
    tables = []
    for table in run:
        report.show(table)
        tables.append(table)
    if args.write:
        partial = bool(args.case)
        print("wrote", report.write(args.name, module.__doc__, tables, partial=partial).name)


def parser():
    """Describe the arguments."""
    p = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Time ours and the peers at equal quality."
    )
    names = ", ".join(BENCHMARKS)
    p.add_argument("name", nargs="?", choices=BENCHMARKS, metavar="NAME", help=f"one of: {names}")
    p.add_argument("--list", action="store_true", help="list the benchmarks and their cases")
    p.add_argument("--case", default="", metavar="SUBSTRING", help="cases with this in the name")
    p.add_argument("--only", default="", metavar="SUBSTRING,...", help="contestants likewise")
    p.add_argument("--repeats", type=int, help="processes a contestant and thread count")
    p.add_argument(
        "--smoke", action="store_true", help="tiny sizes, one repeat: does it run at all"
    )
    p.add_argument("--write", action="store_true", help="update RESULTS.md")
    return p


def check(args, module):
    """Refuse what would give an empty or a misleading table."""
    known = [case.name for case in getattr(module, "CASES", ())]
    if args.case and not any(args.case in name for name in known):
        cases = ", ".join(known) or "none"
        raise SystemExit(
            f"--case {args.case!r} is in no case of {args.name!r}. Its cases: {cases}."
        )
    if args.write and (args.smoke or args.only or args.repeats):
        raise SystemExit(
            "--write records real sizes, all contestants and the usual repeats. "
            "Leave out --smoke, --only and --repeats."
        )


def print_list():
    """Print every benchmark with its cases."""
    for name, path in BENCHMARKS.items():
        module = import_module(path)
        print(f"{name}: {module.__doc__.splitlines()[0]}")
        for case in getattr(module, "CASES", ()):
            print(f"    {case.name:10} {case.title}")


if __name__ == "__main__":
    main()
