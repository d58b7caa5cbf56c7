"""The benchmark harness: it runs, its judges see what is wrong, and only what is right counts."""

import importlib
import subprocess
import sys
import warnings
from decimal import Decimal, localcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import BENCHMARKS, harness, iterations, scale_methods, scale_model, size, sparse
from benchmarks.harness import ROOT, Case, Contestant, Options, run_case, run_cold, run_worker
from benchmarks.judges import captured_variance, jacobi
from benchmarks.pca import CASES
from benchmarks.score import Entry, settle


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
def quiet():
    """Let fits that are stopped before they converge, or are too small for a peer, say so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


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
    entries = [Entry(name) for name in answers]
    for entry in entries:
        for seconds in (2.0, 4.0, 3.0):  # at one thread; two are worse
            run = {"first": 9.0, "fastest": seconds, "MB": 1.0, "answer": answers[entry.name]}
            entry.add(1, run | {"seconds": seconds})
            entry.add(2, run | {"seconds": 2 * seconds})
        entry.judge(captured_variance(X, k=2))
    limits = {"shortfall": 1e-8, "variance error": 1e-8}
    case = SimpleNamespace(name="c", title="t", limits=limits, timed=True, method="PCA")
    table = settle(case, entries, [], 0.0).table()
    ours, equal, turned, nan = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert (ours["seconds"], ours["threads"], ours["otherwise"]) == ("3.0000", "1", "6.0000")
    assert ours["fastest"] == "2.0000"
    assert ours["peer / ours"] == ""
    assert equal["peer / ours"] == "1.00"
    assert turned["peer / ours"] == nan["peer / ours"] == "(1.00) does not count"
    assert turned["shortfall"].endswith("!")
    assert nan["variance error"].endswith("!")


def test_missing_peers_are_skipped_with_a_word():
    absent = Contestant("nobody", "package_that_nobody_has", None)
    case = Case("c", "t", lambda rng: rng.random(3), {}, {}, lambda X: None, {}, (absent,))
    table = run_case("none", case, Options(smoke=True)).table()
    assert table.rows == []
    assert "not installed, skipped: nobody" in table.notes[0]


def test_failure_of_a_worker_is_reported():
    broken = Entry("broken")
    broken.add(1, run_worker(["pca", "no such case", "x", "x", 0], 1, Path("unused")))
    limits = {"shortfall": 1e-8}
    case = SimpleNamespace(name="c", title="t", limits=limits, timed=True, method="PCA")
    table = settle(case, [broken], [], 0.0).table()
    assert table.rows == [["broken"]]
    assert any(note.startswith("failed: broken: StopIteration") for note in table.notes)


def test_equal_answers_are_judged_once_and_the_worst_stays():
    judged = []

    def score(answer):
        judged.append(float(answer["x"]))
        return {"x": float(answer["x"])}

    entry = Entry("one")
    for x in (1.0, 1.0, 3.0, 1.0, 2.0):
        entry.add(1, {"answer": {"x": np.array(x)}})
    entry.judge(score)
    assert judged == [1.0, 3.0, 2.0]
    assert entry.measures == {"x": 3.0}


def test_cases_of_quality_alone_tell_no_times():
    entry = Entry("eigenlens")
    entry.add(1, {"seconds": 1.0, "first": 1.0, "answer": {}})
    entry.judge(lambda answer: {"error": 0.1})
    case = SimpleNamespace(name="c", title="t", limits={}, timed=False, method="PCA")
    table = settle(case, [entry], [], 0.5).table()
    assert (table.columns, table.rows, table.notes) == (
        ["contestant", "error"],
        [["eigenlens", "0.1"]],
        [],
    )


@pytest.mark.parametrize("compiles", [True, False])
def test_cold_processes_compile_once_where_there_are_loops(compiles, monkeypatch, tmp_path):
    seen = []

    def worker(task, threads, out, NUMBA_CACHE_DIR):
        cache = Path(NUMBA_CACHE_DIR)
        seen.append(cache.exists())
        if compiles:
            cache.mkdir(exist_ok=True)
            (cache / "loop.nbc").touch()
        assert task[-1] == "cold"
        return {"cold": 5.0 - len(seen)}

    monkeypatch.setattr(harness, "run_worker", worker)
    found = run_cold(["pca"], 1, tmp_path, times=2)
    assert seen == ([False, True, True] if compiles else [False, False])
    assert found == ({"cold": 2.0, "compiling": 4.0} if compiles else {"cold": 3.0})
    assert not any(tmp_path.iterdir())


def test_a_cold_process_that_fails_is_the_last(monkeypatch, tmp_path):
    answers = iter([{"cold": 1.0}, {"failed": "no memory"}, {"cold": 1.0}])
    monkeypatch.setattr(harness, "run_worker", lambda *task, **settings: next(answers))
    entry = Entry("eigenlens")
    entry.add(1, RUN)
    entry.start(run_cold(["pca"], 1, tmp_path, times=3))
    assert (entry.failed, entry.cold, next(answers)) == ("no memory", {}, {"cold": 1.0})


def test_a_cold_process_tells_its_only_fit(tmp_path):
    case = next(case for case in CASES if case.name == "wide")
    data = harness.save(case.make(np.random.default_rng(0), **case.smoke), tmp_path / "data")
    found = run_worker(["pca", "wide", "scikit-learn full", data, "cold"], 1, tmp_path / "out")
    assert found["cold"] > 0
    assert found["answer"]["components"].shape == (20, 200)
    assert "seconds" not in found


RUN = {"seconds": 1.0, "fastest": 1.0, "first": 1.0, "MB": 1.0, "took": 4.0}


def test_cold_times_have_columns():
    entries = [Entry("eigenlens"), Entry("other")]
    for entry in entries:
        entry.add(1, RUN)
    entries[0].start({"cold": 3.0, "compiling": 8.0})
    entries[1].start({"cold": 3.0})
    case = SimpleNamespace(name="c", title="t", limits={}, timed=True, method="PCA")
    table = settle(case, entries, [], 0.0).table()
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["cold"] for row in rows] == ["3.0000", "3.0000"]
    assert [row["compiling"] for row in rows] == ["8.0000", ""]


@pytest.mark.parametrize(
    ("seconds", "took", "processes"),
    [
        ((1.0, 1.2), 1.0, (5, 5)),  # both numbers of threads may be the better one
        ((1.0, 1.3), 1.0, (5, 1)),
        ((1.3, 1.0), 1.0, (1, 5)),
        ((4.0, 4.5), 6.0, (2, 1)),  # no third turn once 15 s are over
        ((70.0, 60.0), 80.0, (1, 1)),
    ],
)
def test_processes_go_where_they_tell_more(seconds, took, processes, monkeypatch):
    """Each number of threads is tried once; a slow one, or a slow contestant, is left alone."""
    clock = iter(np.cumsum(np.full(99, took / 2)))
    times = dict(zip((1, 2), seconds, strict=True))

    def worker(task, threads, out):
        return RUN | {"seconds": times[threads], "fastest": times[threads], "answer": {}}

    monkeypatch.setattr(harness.joblib, "cpu_count", lambda: 2)
    monkeypatch.setattr(harness, "run_worker", worker)
    monkeypatch.setattr(harness.time, "perf_counter", lambda: 2 * next(clock))
    alone = Contestant("eigenlens", "eigenlens", None)
    judge = lambda X: lambda answer: {"error": 0.0}  # noqa: E731
    case = Case("c", "t", lambda rng: rng.random(3), {}, {}, judge, {}, (alone,), cold=0)
    (line,) = run_case("none", case, Options()).lines
    assert (line.seconds, line.processes) == (min(seconds), max(processes))
    assert line.otherwise == max(seconds)
    assert next(clock) == took / 2 * (2 * sum(processes) + 1)


def test_no_other_process_follows_a_failure(monkeypatch):
    calls = []

    def worker(task, threads, out):
        calls.append(threads)
        return {"failed": "more than 900 s"}

    monkeypatch.setattr(harness, "run_worker", worker)
    alone = Contestant("eigenlens", "eigenlens", None)
    case = Case("c", "t", lambda rng: rng.random(3), {}, {}, lambda X: None, {}, (alone,))
    (line,) = run_case("none", case, Options()).lines
    assert (line.failed, calls) == ("more than 900 s", [1])


# --------------------------------------------------------------------------------- benchmarks


@pytest.mark.parametrize("name", BENCHMARKS)
def test_names_of_cases_differ_and_qualities_belong_to_methods(name):
    module = importlib.import_module(BENCHMARKS[name])
    cases = getattr(module, "CASES", ())
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        assert not isinstance(case, Case) or case.method or module.METHOD


@pytest.mark.parametrize("case", iterations.CASES, ids=lambda case: case.name)
def test_more_iterations_of_ours_come_closer(case, quiet):
    data = case.make(np.random.default_rng(0), **case.smoke)
    score = case.judge(data)
    ours = [one for one in case.contestants if one.package == "eigenlens"]
    few, many = (score(one.fit(data))["objective"] for one in (ours[0], ours[-1]))
    assert many < few


@pytest.mark.parametrize("case", size.CASES, ids=lambda case: case.name)
def test_sizes_are_in_names_and_in_what_is_made(case):
    assert case.size["n"] == int(case.name.split()[-1])
    assert case.name.startswith(case.method)


@pytest.mark.parametrize("method", dict.fromkeys(case.method for case in size.CASES))
def test_ours_counts_at_a_tiny_size(method, quiet):
    case = next(case for case in size.CASES if case.method == method)
    data = case.make(np.random.default_rng(0), **case.smoke)
    ours, *_ = case.contestants
    found = case.judge(data, **case.params)(ours.fit(data, **case.params))
    assert all(found[measure] <= limit for measure, limit in case.limits.items())


def test_judge_of_a_subset_sees_too_many_variables_and_too_little_variance():
    X = sparse.spiked(np.random.default_rng(0), n=200, d=30, s=5)
    score = sparse.best_subset(X, s=5)
    found = sparse.fit_l0(X, s=5)["direction"]
    assert abs(score({"direction": 3 * found})["variance missed"]) < 1e-12
    assert score({"direction": np.roll(found, 1)})["variance missed"] > 0.1
    assert score({"direction": np.ones(30)})["too many"] == 25


def test_the_model_of_time_finds_planted_costs():
    costs = np.array([0.01, 5e-10, 1e-11])
    measured = [(n, d, scale_model.on_one_machine(costs, n, d)) for n, d in scale_model.GRID]
    np.testing.assert_allclose(scale_model.fit_files(measured), costs, rtol=1e-6)
    spread = np.array([0.1, 0.005, 5e-11])
    told = [(*at, scale_model.of_cluster(spread, at)) for at in scale_model.CLUSTER]
    np.testing.assert_allclose(scale_model.fit_cluster(told), spread, rtol=1e-6)
    assert set(scale_model.OPERATIONS) == set(scale_methods.METHODS)
