"""Mutants: small changes to the source, each of which some test should notice.

``python -m tools.mutants --sample 400 --seed 0`` changes one operator, number or condition at a
time (the operators are cosmic-ray's) in ``solvers``, ``ops``, ``select`` or ``_base.py``, runs the
module's own tests, and prints how many changes they noticed and the diff of each that they did not.
``--only solvers/altproj`` keeps to a part. What was found is written to ``build/mutants.jsonl`` as
it comes: ``--resume`` goes on from there, ``--survivors`` tries those again that had survived.
A result counts for the test files that it was found with.

A mutant is killed when its tests fail or take three times their usual processor time. What no test
can notice is not drawn: annotations, ``__all__``, decorators, ``if TYPE_CHECKING``, the words of an
error. A mutant is known by its module, definition, line of text and operator, and drawn by a hash
of them, so that an edit elsewhere leaves the sample as it is.

**A module's own tests** are in the file of its name, ``tests/test_<module>.py``. Where there is
none, they are in the files that import it, itself or a name of it that its package passes on; where
none does, in those of the modules that import it, and so on upwards. Of several files, the three
that import least besides: these are about it. ``test_contract.py`` is about all, and belongs to
``_base.py`` alone: what it says of PCA, with the tests of tables in blocks. What ``make test``
leaves out is left out here.

Every process works on a copy of the tree, so that the checkout stays as it is. Machine code that
numba has kept is copied too. It goes by the time and size of a source file, and a compiled loop
sees nothing of other files (``tests/test_mutants.py`` holds this), so it is right beside a changed
file; but not beside a changed ``ops/jit.py``, for which all loops are compiled again.

``tools/mutants.toml`` says of survivors why they make no difference. They count as survivors.
"""

import argparse
import ast
import contextlib
import difflib
import functools
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.binary_operator_replacement import BinaryOperators

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src/eigenlens")
ROOMS = "solvers", "ops", "select"
OUTCOMES = "killed", "timed out", "survived"

MUTABLE = {"operator", "keyword", "number", "comparison", "factor", "not_test", "test"} | {
    "if_stmt", "while_stmt", "for_stmt", "assert_stmt", "except_clause"
}  # fmt: skip
"""Nodes that an operator of cosmic-ray changes; decorators are left out."""

SIGNS = {sign.value for sign in BinaryOperators}

BINARY = {"arith_expr", "term", "power", "shift_expr", "and_expr", "xor_expr", "expr"}
"""Nodes in which a sign is an operation; elsewhere it is part of a signature or a literal."""

MANY_FILES = 3
LEFT_OUT = {"test_contract.py", "test_cluster.py", "test_page.py"}
MEMORY = 8 << 30  # bytes that a process may ask for
BASE_TESTS = ["tests/test_contract.py", "tests/test_blocks.py"]
OF_CONTRACT = (
    "test_blocks or test_register and PCA and not (Incremental or Kernel or Robust or Sparse)"
)


# ------------------------------------------------------------------------------ what is drawn


@dataclass(frozen=True)
class Mutant:
    """One change: what makes it known, and where cosmic-ray finds it."""

    module: str  # from PACKAGE on
    definition: str
    operator: str
    text: str
    nth: int  # of those that are alike in all of the above
    line: int
    occurrence: int  # of the operator in the module

    @property
    def key(self) -> str:
        """What stays when other lines change."""
        return "\n".join([self.module, self.definition, self.operator, self.text, str(self.nth)])

    def rank(self, seed: int) -> bytes:
        """Return a number that is as good as drawn."""
        return hashlib.sha256(f"{seed}\n{self.key}".encode()).digest()

    def mutated(self, source: str) -> str:
        """Return the source of the module with the change."""
        operator = operators()[self.operator]
        changed = mutate_code(source, operator, self.occurrence)
        assert changed is not None
        return changed

    def diff(self, source: str) -> list[str]:
        """Return the lines that differ, with their signs."""
        lines = difflib.ndiff(source.splitlines(), self.mutated(source).splitlines())
        return [line for line in lines if line[0] in "+-"]


@functools.cache
def operators() -> dict[str, Any]:
    """Return cosmic-ray's operators that need no arguments."""
    kinds = {
        name.removeprefix("core/"): cosmic_ray.plugins.get_operator(name)
        for name in cosmic_ray.plugins.operator_names()
    }
    return {name: kind() for name, kind in kinds.items() if not kind.arguments()}


def modules(root: Path = ROOT) -> list[str]:
    """Return the modules that are changed."""
    package = root / PACKAGE
    paths = [package / "_base.py", *(path for room in ROOMS for path in (package / room).glob("*"))]
    return sorted(str(path.relative_to(package)) for path in paths if path.suffix == ".py")


def mutants(module: str, source: str) -> Iterator[Mutant]:
    """Yield all mutants of a module that some test could notice."""
    lines = source.splitlines()
    seen: Counter[str] = Counter()
    alike: Counter[tuple[str, str, str]] = Counter()
    for node in ast_nodes(get_ast(source)):
        if node.type not in MUTABLE or (node.type == "operator" and node.value not in SIGNS):
            continue
        above = list(_above(node))
        places = [
            (name, begin[0])
            for name, operator in operators().items()
            for begin, _ in operator.mutation_positions(node)
        ]
        for name, line in places:
            occurrence = seen[name]
            seen[name] += 1
            if not _unnoticeable(node, above, name):
                parts = (_definition(above), name, lines[line - 1].strip())
                nth = alike[parts]
                alike[parts] += 1
                yield Mutant(module, *parts, nth, line, occurrence)


def _above(node: Any) -> Iterator[Any]:
    while node.parent is not None:
        yield node.parent
        node = node.parent


def _definition(above: list[Any]) -> str:
    names = [node.name.value for node in above if node.type in ("funcdef", "classdef")]
    return ".".join(reversed(names))


def _unnoticeable(node: Any, above: list[Any], operator: str) -> bool:
    """Whether a change is of no effect by its nature, or no Python at all."""
    if operator.startswith("ReplaceBinaryOperator") and node.parent.type not in BINARY:
        return True
    child = node
    for parent in [node, *above]:
        if _is_idle(parent, child):
            return True
        child = parent
    return False


def _is_idle(node: Any, child: Any) -> bool:
    """Whether what `child` of a node says does not matter to what the program does."""
    match node.type:
        case "decorator" | "raise_stmt":
            return True
        case "if_stmt":
            return bool(node.children[1].get_code().strip() == "TYPE_CHECKING")
        case "annassign":
            return child is node.children[1]
        case "param" | "funcdef":
            return child is node.annotation
        case "tfpdef":
            return child is node.children[-1]
        case "expr_stmt":
            return node.parent.parent.type == "file_input" and _is_alias(node)
    return False


def _is_alias(statement: Any) -> bool:
    """Whether a statement of a module lists its names or gives a type a name."""
    tree = ast.parse(statement.get_code().strip()).body[0]
    if not isinstance(tree, ast.Assign):
        return False
    names = {target.id for target in tree.targets if isinstance(target, ast.Name)}
    union = isinstance(tree.value, ast.BinOp) and isinstance(tree.value.op, ast.BitOr)
    return "__all__" in names or union


def drawn(found: Iterable[Mutant], size: int, seed: int) -> list[Mutant]:
    """Return a sample in which each mutant has the same chance."""
    return sorted(found, key=lambda mutant: mutant.rank(seed))[:size]


# ------------------------------------------------------------------------------ whose tests


class Tests:
    """Which test files are a module's own."""

    def __init__(self, root: Path = ROOT) -> None:
        sources = {_name(path, root / "src"): path for path in (root / "src").rglob("*.py")}
        packages = {name for name, path in sources.items() if path.name == "__init__.py"}
        self.passed_on = {
            f"{package}.{name}": origin
            for package in packages
            for path in sources[package].parent.glob("__init__.py*")  # a lazy one has a stub
            for name, origin in _imports(path, package)
        }
        self.importers = defaultdict(set)
        for name, path in sources.items():
            package = name if name in packages else name.rpartition(".")[0]
            for module in self._modules(path, package) & sources.keys():
                self.importers[module].add(name)
        paths = sorted((root / "tests").glob("test_*.py"))
        self.files = {path.name: self._modules(path, "") & sources.keys() for path in paths}

    def _modules(self, path: Path, package: str) -> set[str]:
        """Return all modules that a file imports, or imports a name of."""
        found = set()
        for name, origin in _imports(path, package):
            origin = self.passed_on.get(f"{origin}.{name}", origin)
            found |= {origin, f"{origin}.{name}"}
        return found

    def own(self, module: str) -> list[str]:
        """Return the files of a module's own tests."""
        if module == "_base.py":
            return BASE_TESTS
        level = {".".join(["eigenlens", *Path(module).with_suffix("").parts])}
        level = {name.removesuffix(".__init__") for name in level}
        seen = set(level)
        while level:
            files = set().union(*map(self._of, level)) - LEFT_OUT
            if files:
                nearest = sorted(files, key=lambda name: (len(self.files[name]), name))
                return [f"tests/{name}" for name in nearest[:MANY_FILES]]
            level = set().union(*(self.importers[name] for name in level)) - seen
            seen |= level
        raise LookupError(f"No test file imports {module}, or what imports it.")

    def _of(self, module: str) -> set[str]:
        named = f"test_{module.rpartition('.')[2].lstrip('_')}.py"
        if named in self.files:
            return {named}
        return {name for name, imported in self.files.items() if module in imported}


def _name(path: Path, top: Path) -> str:
    return ".".join(path.relative_to(top).with_suffix("").parts).removesuffix(".__init__")


def _imports(path: Path, package: str) -> Iterator[tuple[str, str]]:
    """Yield the names that a file imports, each with where it is from."""
    for node in _statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            origin = ".".join(
                [*(above if node.level else []), *([node.module] if node.module else [])]
            )
            for alias in node.names:
                yield alias.name, origin
        elif isinstance(node, ast.Import):
            for alias in node.names:
                origin, _, name = alias.name.rpartition(".")
                yield name, origin


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler):
            yield child
            yield from _statements(child)


# ------------------------------------------------------------------------------ one run


@dataclass(frozen=True)
class Run:
    """How the tests of a module ended."""

    outcome: str
    seconds: float  # of the processor
    failed: str  # the first test that did


class Tree:
    """A copy of the tree, in which one mutant is tried after the other."""

    def __init__(self, source: Path, folder: Path) -> None:
        unneeded = shutil.ignore_patterns(".*", "build", "dist", "_build", "_generated")
        shutil.copytree(source, folder, ignore=unneeded)  # with times: numba looks at them
        self.source, self.folder = source, folder

    def tried(self, mutant: Mutant, tests: Iterable[str], usual: float) -> Run:
        """Run the tests with the change, and take it back."""
        path = PACKAGE / mutant.module
        source = (self.source / path).read_text(encoding="utf-8")
        try:
            if mutant.module == "ops/jit.py":
                self._drop_compiled("*")
            (self.folder / path).write_text(mutant.mutated(source), encoding="utf-8")
            return self.run(tests, 3 * usual + 30)  # of which up to 30 to compile a file again
        finally:
            self._restore(path)

    def run(self, tests: Iterable[str], seconds: float) -> Run:
        """Run test files, with so much time of the processor and ten times that of the clock."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        keywords = ["-k", OF_CONTRACT] if BASE_TESTS[0] in tests else []
        environment = os.environ | {
            "PYTHONPATH": str(self.folder / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",  # a .pyc goes by whole seconds
            "OPENBLAS_NUM_THREADS": "1",
            "HYPOTHESIS_PROFILE": "default",
        }
        with (
            tempfile.TemporaryDirectory(dir=self.folder.parent) as own,
            tempfile.TemporaryFile() as file,
        ):
            process = subprocess.Popen(
                [*command, "--hypothesis-seed=0", *tests, *keywords],
                cwd=self.folder,
                env=environment | {"TMPDIR": own},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (int(seconds) + 1,) * 2)
            resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
            used = _used(process, 10 * seconds)
            file.seek(0)
            output = file.read().decode(errors="replace")
        shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)  # no hints for the next
        late = process.returncode == -signal.SIGKILL
        outcome = "timed out" if late else "killed" if process.returncode else "survived"
        failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return Run(
            outcome, used, failed[0] if failed else output[-300:] if process.returncode else ""
        )

    def _restore(self, path: Path) -> None:
        shutil.copy2(self.source / path, self.folder / path)
        every = "*" if path.name == "jit.py" else path.stem
        self._drop_compiled(every)
        for kept in (self.source / PACKAGE).rglob(f"__pycache__/{every}.*.nb[ic]"):
            shutil.copy2(kept, self.folder / kept.relative_to(self.source))

    def _drop_compiled(self, stem: str) -> None:
        for kept in (self.folder / PACKAGE).rglob(f"__pycache__/{stem}.*.nb[ic]"):
            kept.unlink()


def _used(process: subprocess.Popen[bytes], seconds: float) -> float:
    """Wait for a process, at most so long; return the seconds that it had of the processor."""
    until = time.monotonic() + seconds
    ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    while not ended:
        if time.monotonic() > until:
            process.kill()
        time.sleep(0.05)
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # those that it started
    return usage.ru_utime + usage.ru_stime


# ------------------------------------------------------------------------------ all runs


class Results:
    """What was found so far, in a file of one line each."""

    def __init__(self, path: Path, *, keep: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.usual, self.found = path, {}, {}
        if keep and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._take(json.loads(line))
        else:
            path.write_text("", encoding="utf-8")

    def add(self, **row: Any) -> None:
        """Keep a row; of two on the same thing, the later one counts."""
        self._take(row)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def _take(self, row: dict[str, Any]) -> None:
        if "key" in row:
            self.found[row["key"]] = row
        else:
            self.usual[row["file"]] = row["usual"]


def explained(path: Path = ROOT / "tools/mutants.toml") -> dict[tuple[str, str, str], str]:
    """Return why some mutants make no difference, by module, line of text and operator."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    return {(row["module"], row["text"], row["operator"]): row["reason"] for row in rows}


def try_all(
    sample: list[Mutant], own: dict[str, list[str]], results: Results, jobs: int, root: Path = ROOT
) -> None:
    """Try each mutant of a sample on its own tests, several at once."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        unchanged = Tree(root, Path(folder, "unchanged"))

        def measure(file: str) -> None:
            run = unchanged.run([file], 600)
            if run.outcome != "survived":
                raise SystemExit(f"{file} fails without any change. {run.failed}")
            results.add(file=file, usual=run.seconds)

        files = {file for mutant in sample for file in own[mutant.module]}
        list(pool.map(measure, sorted(files - results.usual.keys())))
        trees: SimpleQueue[Tree] = SimpleQueue()
        for i in range(jobs):
            trees.put(Tree(unchanged.folder, Path(folder, f"tree{i}", "tree")))

        def try_one(mutant: Mutant) -> None:
            tests, tree = own[mutant.module], trees.get()
            try:
                run = tree.tried(mutant, tests, sum(results.usual[file] for file in tests))
            finally:
                trees.put(tree)
            results.add(**asdict(mutant), key=mutant.key, tests=tests, **asdict(run))
            print(f"{run.outcome:9}  {mutant.module}:{mutant.line}  {mutant.operator}", flush=True)

        list(pool.map(try_one, sample))


def table(sample: list[Mutant], found: dict[str, dict[str, Any]]) -> str:
    """Write how many were killed, by room, and what survived."""
    reasons = explained()
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    survivors = []
    for mutant in sample:
        outcome = found[mutant.key]["outcome"]
        why = reasons.get((mutant.module, mutant.text, mutant.operator))
        for room in (mutant.module.split("/")[0], "all"):
            rooms[room].update([outcome, *(["explained"] if why and outcome == "survived" else [])])
        if outcome == "survived":
            source = (ROOT / PACKAGE / mutant.module).read_text(encoding="utf-8")
            head = f"{mutant.module}:{mutant.line} {mutant.definition} {mutant.operator}"
            survivors.append(
                "\n".join([head, *mutant.diff(source), *([f"# {why}"] if why else [])])
            )
    lines = ["room      killed  timed out  survived  (explained)  killed or timed out"]
    for room, count in sorted(rooms.items(), key=lambda item: item[0] == "all"):
        total = sum(count[outcome] for outcome in OUTCOMES)
        share = 1 - count["survived"] / total
        lines.append(
            f"{room:8} {count['killed']:7} {count['timed out']:10} {count['survived']:9}"
            f" {count['explained']:12} {share:20.1%}"
        )
    return "\n\n".join([*survivors, "\n".join(lines)])


def main() -> None:
    """Draw mutants, try them, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=400, help="Mutants to draw.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", nargs="+", default=[""], help="Modules, or how their paths begin."
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=ROOT / "build/mutants.jsonl")
    parser.add_argument("--resume", action="store_true", help="Try those that have no result yet.")
    parser.add_argument("--survivors", action="store_true", help="And those that survived.")
    given = parser.parse_args()
    chosen = [name for name in modules() if name.startswith(tuple(given.only))]
    sources = {name: (ROOT / PACKAGE / name).read_text(encoding="utf-8") for name in chosen}
    every = [mutant for name, source in sources.items() for mutant in mutants(name, source)]
    sample = drawn(every, given.sample, given.seed)
    results = Results(given.results, keep=given.resume or given.survivors)
    tests = Tests()
    own = {module: tests.own(module) for module in chosen}

    def is_known(mutant: Mutant) -> bool:
        row = results.found.get(mutant.key, {"tests": None})
        again = given.survivors and row.get("outcome") == "survived"
        return row["tests"] == own[mutant.module] and not again

    left = [mutant for mutant in sample if not is_known(mutant)]
    print(f"{len(every)} mutants, {len(sample)} drawn, {len(left)} to try.", flush=True)
    try_all(left, own, results, given.jobs)
    print(table(sample, results.found))


if __name__ == "__main__":
    main()
