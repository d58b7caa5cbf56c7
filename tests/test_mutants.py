"""The tool that changes the source and asks the tests: what it draws, whose tests, and one kill."""

import ast
from pathlib import Path

import pytest

from tools import mutants

ROOT = Path(__file__).parents[1]

SOURCE = '''"""Half, and the rest."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Number = int | None

__all__ = ["a" + "b"]
Either = int | str


@cached(size=3)
def half(x: int | None, *, by=2, **kwargs: int | str) -> int | None:
    """Halve 1 + 1."""
    if x < 0:
        raise ValueError(f"x={x + 1} is below 0.")
    y: int | None = x / by
    return y
'''


def lines(found):
    return {mutant.text for mutant in found}


def test_what_no_test_can_notice_is_not_drawn():
    found = list(mutants.mutants("ops/half.py", SOURCE))
    numbers = [mutant for mutant in found if mutant.operator == "NumberReplacer"]
    assert lines(numbers) == {
        "def half(x: int | None, *, by=2, **kwargs: int | str) -> int | None:",
        "if x < 0:",
    }
    rest = lines(mutant for mutant in found if mutant.operator != "NumberReplacer")
    assert rest == {"if x < 0:", "y: int | None = x / by"}
    for mutant in found:
        assert ast.parse(mutant.mutated(SOURCE)).body  # each is Python
        assert mutant.mutated(SOURCE).splitlines()[mutant.line - 1].strip() != mutant.text


def test_an_edit_elsewhere_leaves_the_sample_as_it_is():
    found = list(mutants.mutants("ops/half.py", SOURCE))
    sample = mutants.drawn(found, 8, seed=0)
    assert sample == mutants.drawn(reversed(found), 8, seed=0)
    assert sample != mutants.drawn(found, 8, seed=1)
    longer = SOURCE.replace("@cached", "def one():\n    return 3 > 2\n\n\n@cached")
    later = mutants.drawn(mutants.mutants("ops/half.py", longer), 100, seed=0)
    assert [m.key for m in later if m.definition == "half"][:8] == [m.key for m in sample]


def test_own_tests():
    tests = mutants.Tests()
    assert tests.own("solvers/admm.py") == ["tests/test_admm.py"]  # by name
    assert tests.own("ops/sampled.py") == ["tests/test_divergence.py"]  # by import
    assert tests.own("solvers/hals_blocks.py") == ["tests/test_hals.py"]  # by what imports it
    for module in mutants.modules():
        assert 0 < len(tests.own(module)) <= mutants.MANY_FILES


@pytest.fixture
def toy(tmp_path):
    """A tree with one module, two of whose three numbers are tested."""
    files = {
        "src/eigenlens/__init__.py": "",
        "src/eigenlens/ops/__init__.py": "",
        "src/eigenlens/ops/toy.py": "def f(x):\n    return x + 1, x * 2, 3\n",
        "tests/test_toy.py": "from eigenlens.ops.toy import f\n\n"
        "def test_f():\n    assert f(3)[:2] == (4, 6)\n",
    }
    for name, text in files.items():
        path = tmp_path / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "toy"


def test_kills_what_the_tests_notice_and_leaves_the_checkout_alone(toy, tmp_path):
    def state():
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in toy.rglob("*.py")}

    before = state()
    source = (toy / "src/eigenlens/ops/toy.py").read_text()
    found = [m for m in mutants.mutants("ops/toy.py", source) if m.operator == "NumberReplacer"]
    assert len(found) == 6
    sample = [found[0], found[-1]]
    results = mutants.Results(tmp_path / "results.jsonl", keep=False)
    own = {"ops/toy.py": mutants.Tests(toy).own("ops/toy.py")}
    mutants.try_all(sample, own, results, 2, toy)
    assert state() == before
    outcomes = [results.found[mutant.key]["outcome"] for mutant in sample]
    assert outcomes == ["killed", "survived"]
    assert "test_f" in results.found[sample[0].key]["failed"]
    assert mutants.Results(tmp_path / "results.jsonl", keep=True).found == results.found


def test_explained_mutants_are_there():
    for module, text, operator in mutants.explained():
        source = (ROOT / mutants.PACKAGE / module).read_text(encoding="utf-8")
        assert text in {line.strip() for line in source.splitlines()}, (
            f"{module} has no line {text}"
        )
        assert operator in mutants.operators()


def test_compiled_loops_see_their_own_file_alone():
    """Else numba would go on with machine code of what has changed in another."""
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "@compiled" not in text:
            continue
        tree = ast.parse(text)
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.level
            for alias in node.names
        }
        for loop in ast.walk(tree):
            if isinstance(loop, ast.FunctionDef) and "compiled" in map(
                _called, loop.decorator_list
            ):
                names = {node.id for node in ast.walk(loop) if isinstance(node, ast.Name)}
                assert not names & imported - {"compiled"}, f"{path}: {loop.name}"


def _called(decorator):
    return getattr(decorator.func if isinstance(decorator, ast.Call) else decorator, "id", None)
