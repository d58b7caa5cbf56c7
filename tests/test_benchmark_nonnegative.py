"""The benchmark of NMF: its cases run, its judges see what is wrong, both sides start alike."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import nonnegative
from benchmarks.harness import ROOT, Options, run_cases
from benchmarks.nonnegative import (
    CASES,
    KULLBACK_LEIBLER,
    Until,
    divergence,
    filled,
    fit_ours,
    fit_sklearn,
    planted,
    problem,
    reached,
    steps_to_target,
    table,
    tiny,
    topics,
)

LOSSES = ["frobenius", KULLBACK_LEIBLER]
SIZE = {"k": 3, "iterations": 20, "n": 60, "d": 40}


def make(read, loss):
    return problem(read, loss)(np.random.default_rng(0), **SIZE)


def test_benchmark_runs_from_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "nonnegative", "--smoke", "--case", "words_kl"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "words_kl: tiny version of" in done.stdout
    assert "failed" not in done.stdout


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ours_reaches_the_quality_that_counts(case):
    data = case.make(np.random.default_rng(0), **case.smoke)
    score = case.judge(data, **case.params)
    limits = {m: limit for m, limit in case.limits.items() if "peak" not in m}  # of a tiny table
    for contestant in case.contestants:
        if contestant.package == "eigenlens":
            measures = score(contestant.fit(data, **case.params))
            assert all(measures[m] <= limit for m, limit in limits.items()), measures


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("read", [tiny, topics])
def test_scikit_learn_reaches_the_target_again(read, loss):
    data = make(read, loss)
    found = fit_sklearn(data, loss)
    assert found["note"] == "20 iterations"
    assert abs(reached(data, loss)(found)["excess loss"]) < 1e-12  # the start is as it was


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("read", [tiny, topics])
def test_ours_stops_at_the_target(read, loss):
    data = make(read, loss)
    start = divergence(table(data), data, loss)
    easy = steps_to_target(data | {"target": 0.9 * start}, loss)
    assert easy < data["steps"]
    assert fit_ours(data, loss)["note"] == f"{data['steps']} iterations"


@pytest.mark.parametrize("block", [7, 1000])
def test_judge_computes_the_losses_of_their_definitions(block):
    rng = np.random.default_rng(0)
    X, W, H = rng.poisson(2.0, (20, 10)).astype(float), rng.random((20, 3)), rng.random((3, 10))
    found, Y = {"W": W, "H": H}, W @ H
    squares = 0.5 * np.linalg.norm(X - Y) ** 2
    counts = sum(x * np.log(x / y) for x, y in zip(X.flat, Y.flat, strict=True) if x > 0)
    counts += Y.sum() - X.sum()
    for rows in (X, sp.csr_array(X)):
        assert divergence(rows, found, "frobenius", block) == pytest.approx(squares)
        assert divergence(rows, found, KULLBACK_LEIBLER, block) == pytest.approx(counts)


def test_judge_sees_a_higher_loss_and_what_is_below_zero():
    data = make(tiny, "frobenius")
    found = fit_sklearn(data, "frobenius")
    score = reached(data, "frobenius")
    assert score(found | {"W": 1.1 * found["W"]})["excess loss"] > 1e-3
    assert score(found | {"H": found["H"] - 0.5})["below zero"] > 0
    assert np.isnan(score(found | {"H": found["H"] * np.nan})["excess loss"])


def test_counts_that_a_mean_of_zero_should_explain_are_no_fit():
    X, nothing = np.ones((3, 2)), {"W": np.zeros((3, 1)), "H": np.ones((1, 2))}
    assert divergence(X, nothing, KULLBACK_LEIBLER) == np.inf


def test_holes_are_judged_by_what_was_in_them():
    data = planted(np.random.default_rng(0), n=40, d=30, rank=2, share=0.3)
    exact = {"W": data["full"], "H": np.eye(30)}
    assert filled(data)(exact) == {"error / noise": 0, "below zero": 0}
    assert filled(data)(exact | {"W": data["full"] + 0.5})["error / noise"] == pytest.approx(1)
    seen = np.where(np.isnan(data["X"]), data["full"], 0.0)
    assert filled(data)(exact | {"W": seen})["error / noise"] == 0


def test_topics_are_sparse_counts():
    X = topics(np.random.default_rng(0), n=500, d=1000)
    assert X.sum() == 5000
    assert 0.005 < X.nnz / 500_000 < 0.01
    assert X.indices.dtype == np.int32


def test_a_callback_asks_to_stop_at_its_target_alone():
    end = Until(2.0).on_fit_task_end
    assert not end(None, None)  # of the fit itself
    assert not end(None, None, metadata={"objective": 2.1})
    assert end(None, None, metadata={"objective": 2.0})


def test_images_that_are_not_there_are_skipped_with_a_word(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.harness.DATA", tmp_path)
    (table,) = run_cases("nonnegative", nonnegative, Options(case="olivetti"))
    assert table.rows == []
    assert "skipped: no olivetti.npz" in table.notes[0]
