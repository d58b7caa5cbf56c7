"""The benchmark harness: it runs, its judges see what is wrong, and only what is right counts."""

import subprocess
import sys
from decimal import Decimal, localcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import scale_methods, scale_model
from benchmarks.harness import ROOT, Case, Contestant, Options, run_case, run_worker
from benchmarks.judges import captured_variance, jacobi
from benchmarks.pca import CASES
from benchmarks.report import Table, write
from benchmarks.score import Entry, tabulate


def command(*args):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *args],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def answer_of(X, k):
    """Give the exact components and variances."""
    _, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return {"components": Vt[:k], "variance": s[:k] ** 2 / (len(X) - 1)}


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((60, 8)) * np.linspace(3, 1, 8) + 5


def test_every_case_runs_from_the_command():
    done = command("pca", "--smoke", "--only", "eigenlens auto")
    assert done.returncode == 0, done.stderr
    for case in CASES:
        assert f"{case.name}: tiny version of" in done.stdout
    assert done.stdout.count("eigenlens auto") == len(CASES)
    assert "failed" not in done.stdout


def test_peers_and_the_floor_run_from_the_command():
    everyone = ("eigenlens auto", "scikit-learn auto", "floor")
    done = command("pca", "--smoke", "--case", "tall", "--only", ",".join(everyone))
    assert done.returncode == 0, done.stderr
    for name in everyone:
        assert name in done.stdout
    assert "failed" not in done.stdout
    assert "not installed" not in done.stdout


def test_import_benchmark_runs_from_the_command():
    done = command("import", "--smoke")
    assert done.returncode == 0, done.stderr
    assert "import eigenlens" in done.stdout


def test_a_case_that_is_not_there_is_named_with_those_that_are():
    done = command("pca", "--case", "circle")
    assert done.returncode == 1
    assert "'circle'" in done.stderr
    assert "tall" in done.stderr


def test_smoke_runs_are_not_recorded():
    done = command("pca", "--smoke", "--write")
    assert done.returncode == 1
    assert "--smoke" in done.stderr


def test_judge_measures_the_shortfall(X):
    score = captured_variance(X, k=2)
    right = answer_of(X, 2)
    assert abs(score(right)["shortfall"]) < 1e-14
    assert score(right)["variance error"] < 1e-13

    # turned inside the plane: the same variance; out of it: less; longer: no more
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    assert abs(score(right | {"components": 7 * turn @ right["components"]})["shortfall"]) < 1e-14
    out = right["components"] + 0.1 * answer_of(X, 4)["components"][2:]
    assert score(right | {"components": out})["shortfall"] > 1e-3
    assert score(right | {"variance": right["variance"] * 1.01})["variance error"] > 9e-3


def test_judge_centres_sparse_data_as_dense(X):
    dense, sparse = captured_variance(X, k=3), captured_variance(sp.csr_array(X), k=3)
    wrong = {"components": np.eye(8)[:3], "variance": np.ones(3)}
    assert sparse(wrong) == pytest.approx(dense(wrong), rel=1e-10)


def test_jacobi_is_relatively_exact_for_the_smallest_eigenvalue():
    a, b, c = 1.0, 2.0**-21, 2.0**-40
    with localcontext() as context:
        context.prec = 60
        trace, det = Decimal(a) + Decimal(c), Decimal(a) * Decimal(c) - Decimal(b) ** 2
        exact = float((trace - (trace**2 - 4 * det).sqrt()) / 2)
    S = np.array([[a, b], [b, c]], dtype=np.longdouble)
    assert float(min(jacobi(S))) == pytest.approx(exact, rel=2e-16)


def test_only_right_answers_count(X):
    """Components turned out of the subspace, and NaN, are shown but do not count."""
    right = answer_of(X, 2)
    out = right["components"] + 0.1 * answer_of(X, 4)["components"][2:]
    answers = {
        "eigenlens": right,
        "equal": right,
        "turned": right | {"components": out},
        "nan": right | {"variance": np.full(2, np.nan)},
    }
    entries = [Entry(name, name) for name in answers]
    for entry in entries:
        for seconds in (2.0, 4.0, 3.0):  # at one thread; two are worse
            run = {"first": 9.0, "MB": 1.0, "answer": answers[entry.name]}
            entry.add(1, run | {"seconds": seconds})
            entry.add(2, run | {"seconds": 2 * seconds})
        entry.judge(captured_variance(X, k=2))
    limits = {"shortfall": 1e-8, "variance error": 1e-8}
    case = SimpleNamespace(name="c", title="t", limits=limits, timed=True)
    table = tabulate(case, entries, [], 0.0)
    ours, equal, turned, nan = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert (ours["seconds"], ours["threads"], ours["otherwise"]) == ("3.0000", "1", "6.0000")
    assert ours["peer / ours"] == ""
    assert equal["peer / ours"] == "1.00"
    assert turned["peer / ours"] == nan["peer / ours"] == "(1.00) does not count"
    assert turned["shortfall"].endswith("!")
    assert nan["variance error"].endswith("!")


def test_missing_peers_are_skipped_with_a_word():
    absent = Contestant("nobody", "package_that_nobody_has", None)
    case = Case("c", "t", lambda rng: rng.random(3), {}, {}, lambda X: None, {}, (absent,))
    table = run_case("none", case, Options(smoke=True))
    assert table.rows == []
    assert "not installed, skipped: nobody" in table.notes[0]


def test_failure_of_a_worker_is_reported():
    broken = Entry("broken", "broken")
    broken.add(1, run_worker(["pca", "no such case", "x", "x", 0], 1, Path("unused")))
    case = SimpleNamespace(name="c", title="t", limits={"shortfall": 1e-8}, timed=True)
    table = tabulate(case, [broken], [], 0.0)
    assert table.rows == [["broken"]]
    assert any(note.startswith("failed: broken: StopIteration") for note in table.notes)


def test_results_are_replaced_table_by_table(tmp_path):
    path = tmp_path / "RESULTS.md"

    def table(name, value):
        return Table(name, "title", ["what", "seconds"], [["a|b", value]], ["a note"])

    write("one", "About one.", [table("x", "1.0"), table("y", "2.0")], path=path)
    write("two", "About two.", [table("x", "3.0")], path=path)
    write("one", "About one.", [table("y", "4.0")], partial=True, path=path)
    text = path.read_text()
    kept = [value for value in ("1.0", "2.0", "3.0", "4.0") if f"| {value} |" in text]
    assert kept == ["1.0", "3.0", "4.0"]
    write("one", "About one.", [table("z", "5.0")], path=path)
    text = path.read_text()
    assert "1.0 |" not in text
    assert "3.0 |" in text
    assert text.count("## one") == 1

    path.write_text(text.replace("Python 3", "Python 2"))
    with pytest.raises(SystemExit, match="have changed"):
        write("one", "About one.", [table("z", "6.0")], partial=True, path=path)


def test_the_model_of_time_finds_planted_costs():
    costs = np.array([0.01, 5e-10, 1e-11])
    measured = [(n, d, scale_model.on_one_machine(costs, n, d)) for n, d in scale_model.GRID]
    np.testing.assert_allclose(scale_model.fit_files(measured), costs, rtol=1e-6)
    spread = np.array([0.1, 0.005, 5e-11])
    told = [(*at, scale_model.of_cluster(spread, at)) for at in scale_model.CLUSTER]
    np.testing.assert_allclose(scale_model.fit_cluster(told), spread, rtol=1e-6)
    assert set(scale_model.OPERATIONS) == set(scale_methods.METHODS)
