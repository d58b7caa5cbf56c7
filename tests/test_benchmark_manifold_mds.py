"""The benchmark of MDS: its contestants run, and its judges see what is wrong."""

import numpy as np
import pytest

from benchmarks.manifold_mds import CASES


def made(case):
    return case.make(np.random.default_rng(0), **case.smoke)


@pytest.mark.filterwarnings("ignore")  # of peers, on tables this small
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_contestants_run_and_ours_counts(case):
    data = made(case)
    answers = [one.fit(data, **case.params) for one in case.contestants]
    score = case.judge(data, **case.params)
    ours, *peers = [score(answer) for answer in answers]
    for name, limit in case.limits.items():
        assert np.isfinite(ours[name])
        if name != "wrong":  # of thirty labels, chance settles too many
            assert ours[name] <= limit
    assert all(np.isfinite(list(peer.values())).all() for peer in peers)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_judges_see_places_that_say_nothing(case):
    data = made(case)
    answer = case.contestants[0].fit(data, **case.params)
    wrong = answer | {"places": np.random.default_rng(1).permutation(answer["places"])}
    score = case.judge(data, **case.params)
    good, bad = score(answer), score(wrong)
    measures = [name for name in good if name != "peak GB"]
    assert all(bad[name] > 1.05 * good[name] for name in measures)
