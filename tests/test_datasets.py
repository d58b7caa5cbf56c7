import subprocess
import sys

import numpy as np
import pytest

from eigenlens import datasets


def test_planted_subspace_is_the_sum_of_its_parts():
    problem = datasets.planted_subspace(40, 7, 3, noise=0.2, mean=np.arange(7), random_state=0)
    assert problem.X.shape == (40, 7)
    np.testing.assert_allclose(problem.components @ problem.components.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(
        problem.X, problem.mean + problem.scores @ problem.components + problem.noise
    )
    np.testing.assert_array_equal(problem.mean, np.arange(7))


def test_planted_subspace_has_the_deviations_asked_for():
    problem = datasets.planted_subspace(20_000, 5, 3, noise=0.3, decay=0.5, random_state=0)
    np.testing.assert_array_equal(problem.deviations, [1, 0.5, 0.25])
    np.testing.assert_allclose(problem.scores.std(axis=0), problem.deviations, rtol=0.03)
    np.testing.assert_allclose(problem.noise.std(), 0.3, rtol=0.03)


def test_planted_subspace_follows_the_seed():
    one, two = (datasets.planted_subspace(random_state=seed).X for seed in (0, 0))
    np.testing.assert_array_equal(one, two)
    other = datasets.planted_subspace(random_state=np.random.default_rng(1)).X
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("rank", [0, 6])
def test_planted_subspace_refuses_a_rank_out_of_range(rank):
    with pytest.raises(ValueError, match=f"rank={rank} .* n_features=5"):
        datasets.planted_subspace(10, 5, rank)


def test_breast_cancer():
    table = datasets.breast_cancer()
    assert table.X.shape == (569, 30)
    assert len(table.names) == 30
    assert table.target.shape == (569,)
    assert table.target_names == ("malignant", "benign")


def test_datasets_do_not_load_estimators():
    code = (
        "import sys, eigenlens.datasets; print({'sklearn', 'eigenlens._base'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"
