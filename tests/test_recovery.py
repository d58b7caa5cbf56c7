"""The phase transition: certain on one side, hopeless on the other; the same tables for all."""

import warnings
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from eigenlens import PCA, RobustPCA
from eigenlens.measure import recovery_region

SMALL = {"n": 20, "ranks": [0.1, 0.2], "densities": [0.0, 0.1, 0.3], "trials": 2}


class Recorder(BaseEstimator):
    """Takes every table for low rank, and keeps it with the seed it was given."""

    seen: ClassVar[list] = []

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        type(self).seen.append((X, self.random_state))
        warnings.warn("no", ConvergenceWarning, stacklevel=2)
        self.low_rank_ = X
        return self


@pytest.fixture
def recorder():
    Recorder.seen = []
    return Recorder()


@pytest.mark.parametrize("problem", ["random", "coherent", "completion"])
def test_both_sides_of_the_transition(problem):
    found = recovery_region(
        n=80, ranks=[0.05, 0.5], densities=[0.05, 0.5], problem=problem, trials=3, random_state=0
    )
    np.testing.assert_array_equal(found.ranks, [4, 40])
    assert found.recovered[0, 0] == 1
    assert found.recovered[1, 1] == 0
    assert (found.problem, found.n, found.errors.shape) == (problem, 80, (2, 2, 3))


@pytest.mark.parametrize(("rank", "density"), [(0.1, 0.1), (0.05, 0.2)])
def test_published_points_of_the_diagram(rank, density):
    # Candes et al. 2011, figure 1: n = 400, ten trials, success at a relative error of 1e-3
    found = recovery_region(n=400, ranks=rank, densities=density, trials=10, random_state=0)
    assert found.recovered >= 0.9


def test_holes_are_easier_than_errors():
    at = {"n": 60, "ranks": [0.05], "densities": [0.4], "trials": 3, "random_state": 0}
    assert recovery_region(**at).recovered == 0
    assert recovery_region(problem="completion", **at).recovered == 1


def test_each_trial_is_judged_by_its_low_rank_part(recorder):
    # the recorder returns the table, which is the planted part where nothing is wrong
    found = recovery_region(recorder, random_state=0, **SMALL)
    np.testing.assert_array_equal(found.recovered, [[1, 0, 0], [1, 0, 0]])
    assert found.errors[:, 0].max() == 0
    # errors of size 1 in a share p of the cells; entries of variance r / n^2
    for rank, errors in zip(found.ranks, found.errors, strict=True):
        expected = np.sqrt(found.densities[1:]) * 20 / np.sqrt(rank)
        np.testing.assert_allclose(errors[1:].mean(axis=1), expected, rtol=0.35)
    np.testing.assert_array_equal(found.recovered, (found.errors <= 1e-3).mean(axis=2))
    assert recovery_region(recorder, tol=1e3, random_state=0, **SMALL).recovered.all()


def test_tables_are_those_that_were_asked_for(recorder):
    recovery_region(recorder, random_state=0, **SMALL)
    tables = [X for X, _ in recorder.seen]
    assert len(tables) == 2 * 3 * 2
    clean = [np.linalg.matrix_rank(tables[i]) for i in (0, 1, 6, 7)]
    assert clean == [2, 2, 4, 4]
    assert len({X.tobytes() for X in tables}) == len(tables)
    recorder.seen.clear()
    recovery_region(recorder, problem="completion", random_state=0, **SMALL)
    holes = [np.isnan(X).mean() for X, _ in recorder.seen]
    np.testing.assert_allclose(holes, np.tile(np.repeat([0, 0.1, 0.3], 2), 2), atol=0.05)


def test_signs_of_the_errors(recorder):
    for problem, agreeing in (("random", 0.5), ("coherent", 1.0)):
        recorder.seen.clear()
        recovery_region(
            recorder,
            n=60,
            ranks=[0.1],
            densities=[0.2],
            problem=problem,
            trials=1,
            random_state=0,
        )
        X = recorder.seen[0][0]
        errors = np.abs(X) > 0.6  # entries of the low-rank part have a deviation of 0.04
        assert errors.mean() == pytest.approx(0.2, abs=0.03)
        # with its own signs an error only adds to the size of a cell
        assert (np.abs(X[errors]) > 1).mean() == pytest.approx(agreeing, abs=0.1)


def test_the_same_tables_for_any_estimator(recorder):
    recovery_region(recorder, random_state=1, **SMALL)
    recovery_region(Recorder(random_state=7), random_state=1, **SMALL)
    half = len(recorder.seen) // 2
    for (first, drawn), (second, given) in zip(
        recorder.seen[:half], recorder.seen[half:], strict=True
    ):
        np.testing.assert_array_equal(first, second)
        assert isinstance(drawn, int)  # a seed that was left open comes from random_state
        assert given == 7
    recovery_region(recorder, random_state=2, **SMALL)
    assert not np.array_equal(recorder.seen[0][0], recorder.seen[-len(recorder.seen) // 3][0])


def test_same_seed_same_answer():
    at = {"n": 30, "ranks": [0.1, 0.3], "densities": [0.1], "trials": 2, "random_state": 3}
    np.testing.assert_array_equal(recovery_region(**at).errors, recovery_region(**at).errors)


def test_any_estimator_that_inverts_its_scores():
    found = recovery_region(PCA(0.999999), random_state=0, **SMALL)
    np.testing.assert_array_equal(found.recovered[:, 0], 1)
    np.testing.assert_array_equal(found.recovered[:, 1:], 0)
    robust = recovery_region(RobustPCA(), random_state=0, **SMALL | {"densities": [0.05]})
    assert (robust.errors < found.errors[:, 1:2]).all()


def test_an_unseen_row_cannot_be_recovered(recorder):
    found = recovery_region(
        recorder, n=8, ranks=[0.2], densities=[0.95], problem="completion", trials=3, random_state=0
    )
    assert np.isinf(found.errors).all()
    assert not recorder.seen
    assert found.recovered == 0


def test_frame(recorder):
    frame = recovery_region(recorder, random_state=0, **SMALL).to_frame()
    assert (frame.index.name, frame.columns.name) == ("rank", "density")
    assert frame.loc[4, 0.0] == 1
    assert frame.loc[4, 0.3] == 0


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"ranks": [5, 10]}, r"ranks=\[5, 10\] must be a list of fractions"),
        ({"densities": [-0.1]}, "densities=.*fractions between 0 and 1"),
        ({"densities": [np.nan]}, "densities=.*fractions between 0 and 1"),
        ({"problem": "signs"}, "problem='signs' is not known. Take one of random, coherent, comp"),
        ({"trials": 0}, "trials=0 must be at least"),
        ({"n": 1}, "n=1 and"),
    ],
)
def test_bad_parameters_are_named(bad, message):
    with pytest.raises(ValueError, match=message):
        recovery_region(**bad)
