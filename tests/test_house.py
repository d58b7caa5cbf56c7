"""The house: register, pages, imports, command line and wheel."""

import ast
import contextlib
import doctest
import inspect
import io
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from commands import MODULE, piped
from packaging.requirements import Requirement

import eigenlens
from eigenlens.cli import app
from eigenlens.cli._run import run as exit_code
from eigenlens.cli.demo import TRY_NEXT
from tools import readme_table

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(*command, **kwargs):
    """Run a command to its end, as a user would in a pipe."""
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
        **kwargs,
    )


def cli(*args, cwd=None, **env):
    return run(*MODULE, *args, env=piped(**env), cwd=cwd)


# -------------------------------------------------------------------------------- register


def stub_names():
    """Names that the type stub re-exports: the register."""
    tree = ast.parse((ROOT / "src/eigenlens/__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def test_public_names_are_those_of_the_stub():
    assert set(eigenlens.__all__) == stub_names()


@pytest.mark.parametrize("name", eigenlens.__all__)
def test_public_name_is_documented_with_an_example(name):
    value = getattr(eigenlens, name)
    doc = inspect.getdoc(value) or ""
    assert doc, f"{name} has no docstring"
    if not inspect.ismodule(value):
        assert "Examples\n--------" in doc, f"the docstring of {name} has no Examples section"
        assert ">>>" in doc


def test_import_is_lazy():
    heavy = "numpy", "scipy", "sklearn", "numba", "pandas", "pyarrow", "skops", "rich", "typer"
    code = f"import sys, eigenlens; print(sorted(set({heavy!r}) & set(sys.modules)))"
    result = run(sys.executable, "-c", code)
    assert result.stdout.strip() == "[]", result.stderr


# -------------------------------------------------------------------------------- pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_of_page_runs(page, here):
    """Python blocks run in order; a text block right after one is what it prints."""
    namespace = {"__name__": page.stem}
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    printed = None
    for language, code in FENCED.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, str(page), "exec"), namespace)
            printed = out.getvalue()
        elif language == "text" and printed is not None:
            assert checker.check_output(code, printed, flags), f"printed:\n{printed}\nnot:\n{code}"
            printed = None


def test_readme_table_is_current():
    text = README.read_text(encoding="utf-8")
    assert text == readme_table.with_table(text), "run: python tools/readme_table.py --write"


def test_readme_comes_to_the_point():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert any("PCA" in line for line in lines[:5])
    assert any(line == "```python" for line in lines[:35])


def test_changelog_knows_the_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in changelog or f"## [{eigenlens.__version__}]" in changelog


# -------------------------------------------------------------------------------- command line


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1", "PYTHONIOENCODING": "ascii"}])
def test_demo_in_a_pipe(env, tmp_path):
    result = cli("demo", cwd=tmp_path, **env)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    page = tmp_path / "breast-cancer-report.html"
    for word in ("44.3 %", "mean concave points", "Try next", str(page)):
        assert word in result.stdout
    assert "\x1b" not in result.stdout
    assert "…" not in result.stdout  # nothing was cut off
    lines = [line for line in result.stdout.splitlines() if str(page) not in line]
    assert max(map(len, lines)) <= 80
    assert "mean concave points" in page.read_text(encoding="utf-8")


def test_a_terminal_that_knows_ascii_alone(tmp_path):
    table = "a,é\n1,2\n3,5\n4,4\n9,1\n"
    (tmp_path / "table.csv").write_text(table, encoding="utf-8")
    result = cli("fit", "pca", "table.csv", cwd=tmp_path, NO_COLOR="1", PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr
    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout
    assert "\\xe9" in result.stdout


def test_what_the_demo_proposes_runs():
    with contextlib.redirect_stdout(io.StringIO()):
        exec(TRY_NEXT, {})


def test_version_and_help():
    assert cli("--version").stdout.strip() == f"eigenlens {eigenlens.__version__}"
    result = cli("--help")
    assert result.returncode == 0
    assert "demo" in result.stdout


@pytest.mark.parametrize("args", [["dmo"], ["--verison"], ["demo", "extra"]])
def test_a_mistake_is_two_and_says_what_to_try(args, capsys):
    assert exit_code(app, args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) <= 4
    assert args[-1] in err
    assert "--help" in err


def test_help_does_not_load_the_numerical_packages():
    code = "import sys, eigenlens.cli; print({'numpy', 'sklearn', 'numba'} & set(sys.modules))"
    assert run(sys.executable, "-c", code).stdout.strip() == "set()"


# -------------------------------------------------------------------------------- wheel

SMOKE = """
import importlib.util
for name in ("pytest", "hypothesis", "pandas", "mypy", "plotly", "jinja2"):
    assert importlib.util.find_spec(name) is None, f"{name} is here: not a clean environment"

import numpy as np
import eigenlens
for name in eigenlens.__all__:
    getattr(eigenlens, name)

X = np.random.default_rng(0).normal(size=(200, 5)) + 100
pca = eigenlens.PCA(n_components=2).fit(X)
truth = np.linalg.eigvalsh(np.cov(X.T))[::-1][:2]
np.testing.assert_allclose(pca.explained_variance_, truth, rtol=1e-12)
print(eigenlens.__file__)
"""


def dependencies(wheel):
    """Return the packages that a wheel needs, and those that they need, as installed here."""
    (itself,) = metadata.distributions(path=[str(wheel)])
    found, todo = set(), [(line, "") for line in itself.requires]
    while todo:
        line, extra = todo.pop()
        need = Requirement(line)
        if need.marker is None or need.marker.evaluate({"extra": extra}):
            new = {(need.name, extra) for extra in need.extras | {""}} - found
            found |= new
            todo += [(line, e) for name, e in new for line in metadata.requires(name) or []]
    return {package for package, _ in found}


def link(package, folder):
    """Put an installed package into another environment, without a copy and without a download."""
    installed = metadata.distribution(package)
    for name in {file.parts[0] for file in installed.files} - {"..", "__pycache__"}:
        (folder / name).symlink_to(installed.locate_file(name))


@pytest.mark.slow
def test_wheel_alone_in_a_clean_environment(tmp_path):
    """Without the checkout and the development packages, as a user gets it."""
    built = run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    files = zipfile.ZipFile(wheel).namelist()
    needed = {"py.typed", "__init__.pyi", "report/templates/page.html.j2"}
    assert {f"eigenlens/{name}" for name in needed} <= set(files)
    assert {file.split("/")[0].split("-")[0] for file in files} == {"eigenlens"}
    assert not any("__pycache__" in file for file in files)

    clean = tmp_path / "clean"
    venv.create(clean)
    paths = sysconfig.get_paths("venv", vars={"base": str(clean), "platbase": str(clean)})
    scripts, packages = Path(paths["scripts"]), Path(paths["purelib"])
    for package in dependencies(wheel):
        link(package, packages)
    # Neither the checkout nor the settings of this test run may leak in.
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", clean]
    for command in (["install", "--quiet", "--no-index", "--no-deps", wheel], ["check"]):
        done = run(*pip, *command, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stdout + done.stderr

    smoke = run(scripts / "python", "-W", "error", "-c", SMOKE, cwd=tmp_path, env=env)
    assert smoke.returncode == 0, smoke.stderr
    assert str(clean) in smoke.stdout
    table = tmp_path / "table.csv"
    table.write_text("a,b,c\n1,2,3\n2,4,7\n3,5,8\n5,1,2\n")
    eigenlens_ = scripts / "eigenlens"
    fitted = run(eigenlens_, "fit", "pca", table, "-o", "m.skops", cwd=tmp_path, env=env)
    assert fitted.returncode == 0, fitted.stderr
    scores = run(eigenlens_, "transform", "m.skops", table, cwd=tmp_path, env=env)
    assert scores.stdout.startswith('"pca0"'), scores.stderr
    page = run(eigenlens_, "report", table, "--methods", "pca", cwd=tmp_path, env=env)
    assert page.returncode == 1
    assert "pip install 'eigenlens[report]'" in page.stderr
