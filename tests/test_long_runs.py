"""Long runs, in short: memory flat, numbers true, and sums of many rows as good as of few."""

import warnings
from copy import deepcopy
from fractions import Fraction

import numpy as np
import pytest

from eigenlens import IncrementalPCA, Moments
from eigenlens.ops.columns import ColumnMoments
from eigenlens.ops.truncated import TruncatedMoments
from tools import long_runs
from tools.settings import SETTINGS

# ----------------------------------------------------------------------------- fits, streams


def test_hundreds_of_fits_leave_nothing_behind(monkeypatch):
    monkeypatch.setattr(long_runs, "ROOM", 4e7)  # loops are loaded by the first fits of each class
    traces, faults = long_runs.many_fits(3 * len(SETTINGS), every=20)
    assert not faults, traces
    assert traces.at[-1] == 3 * len(SETTINGS)


def test_hundreds_of_batches_stay_true():
    streams, traces, faults = long_runs.long_streams(lambda batches: batches < 200, every=40)
    assert not faults, traces
    assert min(stream.rows for stream in streams) > 20_000


def test_a_leak_and_a_drift_are_found():
    at = list(range(30))
    traces = long_runs.Traces(at, [1e8 + 1e6 * i for i in at], [(6 + i // 20, 1, 0) for i in at])
    assert [fault.split()[0] for fault in traces.faults()] == ["memory", "1"]
    truth = long_runs.Gaussian(0)
    stream = long_runs.Stream(Moments(), truth, long_runs._of_moments)
    stream.feed(5000, np.random.default_rng(0))
    stream.look()
    assert max(stream.worst.values()) < 1
    stream.model.mean = stream.model.mean + 0.5
    stream.look()
    assert stream.worst["mean"] > 1


# ----------------------------------------------------------------------------- exact sums

EPS = np.finfo(np.float64).eps
OFFSETS = [0.0, 1e6, 1e9]


def rows_at(offset, n=10, dtype=np.float64):
    """Return rows of which all digits are known, and so their exact mean and scatter."""
    rng = np.random.default_rng(0)
    return (np.round(rng.standard_normal((n, 3)) * [64, 32, 16]) / 32 + offset).astype(dtype)


class Exact:
    """Mean and scatter of rows that come so many times, in whole numbers."""

    def __init__(self, rows, times):
        rows = [[Fraction(float(x)) for x in row] for row in rows]
        times = [Fraction(time) for time in times]
        self.mass = sum(times)
        columns = range(len(rows[0]))
        self.mean = [self._sum(times, [row[j] for row in rows]) / self.mass for j in columns]
        away = [[row[j] - self.mean[j] for j in columns] for row in rows]
        self.scatter = [
            [self._sum(times, [row[i] * row[j] for row in away]) for j in columns] for i in columns
        ]

    @staticmethod
    def _sum(times, values):
        return sum(time * value for time, value in zip(times, values, strict=True))

    def errors(self, mean, scatter):
        """Return the errors of a mean, and of scatter over the largest, in units of rounding."""
        of_mean = [abs(Fraction(float(m)) - t) for m, t in zip(mean, self.mean, strict=True)]
        sizes = [max(abs(t), Fraction(1)) for t in self.mean]
        largest = max(self.scatter[j][j] for j in range(len(mean)))
        apart = [
            abs(Fraction(float(a)) - b) for a, b in zip(np.ravel(scatter), self.flat, strict=True)
        ]
        shares = [float(error / size) for error, size in zip(of_mean, sizes, strict=True)]
        return max(shares) / EPS, float(max(apart) / largest) / EPS

    @property
    def flat(self):
        return [entry for row in self.scatter for entry in row]


def multiplied(part, times):
    """Return a state merged with itself so many times, one after the other."""
    whole = deepcopy(part)
    for _ in range(times - 1):
        whole.merge(part)
    return whole


@pytest.mark.parametrize("offset", OFFSETS)
def test_moments_of_a_thousand_million_rows(offset):
    """In three storeys, each a thousand times the one below; then a thousand rows, one by one."""
    rows = rows_at(offset)
    thousand = multiplied(Moments().update(rows), 100)
    whole = multiplied(multiplied(thousand, 1000), 1000)
    assert whole.count == whole.mass == 10**9
    mean, scatter = Exact(rows, [10**8] * 10).errors(whole.mean, whole.scatter)
    assert mean < 1
    assert scatter < 4
    for row in np.tile(rows, (100, 1)):
        whole.update(row[None])
    mean, scatter = Exact(rows, [10**8 + 100] * 10).errors(whole.mean, whole.scatter)
    assert mean < 1
    assert scatter < 4


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("sizes", [[10], [1] * 10, [1, 9], [9, 1]], ids=str)
def test_the_same_batches_again_and_again(offset, sizes):
    """Rounding that always goes the same way is not added up, whatever the size of the batches."""
    rows, cuts = rows_at(offset), np.cumsum(sizes)[:-1]
    times = 2000 // len(sizes)
    batches = [Moments().update(batch) for batch in np.split(rows, cuts)]
    columns = [ColumnMoments.of(batch) for batch in np.split(rows, cuts)]
    found, by_columns = Moments(), deepcopy(columns[0])
    for i in range(times):
        for batch in batches:
            found.merge(batch)
        for column in columns[i == 0 :]:
            by_columns.merge(column)
    exact = Exact(rows, [times] * 10)
    mean, scatter = exact.errors(found.mean, found.scatter)
    assert mean < 1
    assert scatter < 4
    squares = [float(exact.scatter[j][j]) for j in range(3)]
    np.testing.assert_allclose(by_columns.squares, squares, rtol=8 * EPS)
    means = [float(mean) for mean in exact.mean]
    np.testing.assert_allclose(by_columns.mean, means, rtol=EPS, atol=EPS)


def test_batches_of_very_unequal_size():
    """A hundred thousand rows and a single one in turn."""
    rows = rows_at(1e6)
    many, one = multiplied(Moments().update(rows), 10_000), Moments().update(rows[:1])
    found = Moments()
    for _ in range(500):
        found.merge(many).merge(one)
    times = [500 * 10_000 + 500, *[500 * 10_000] * 9]
    mean, scatter = Exact(rows, times).errors(found.mean, found.scatter)
    assert mean < 1
    assert scatter < 4


def test_weights_that_no_number_holds_add_up():
    """Added up plainly, ten thousand times 0.1 is off by hundreds of units of rounding."""
    found = Moments()
    part = Moments().update(rows_at(0.0, n=1), [0.1])
    for _ in range(10_000):
        found.merge(part)
    assert abs(Fraction(found.mass) - 10_000 * Fraction(0.1)) < 2 * EPS * 1000


def test_single_precision_keeps_its_own_through_a_stream():
    """Products of a batch have the digits of float32, and as many after thousands of batches."""
    rows = rows_at(1024.0, dtype=np.float32)
    part = Moments().update(rows)
    found = multiplied(part, 5000)
    exact = Exact(rows, [5000] * 10)
    mean, scatter = exact.errors(found.mean, found.scatter)
    assert mean < 4
    assert scatter * EPS < 4 * np.finfo(np.float32).eps


@pytest.mark.parametrize("offset", OFFSETS)
def test_incremental_pca_of_a_thousand_million_rows(offset):
    rows = rows_at(offset)
    model = IncrementalPCA(2).partial_fit(rows)
    for times in (100, 1000, 1000):
        part = deepcopy(model)
        for _ in range(times - 1):
            model.merge(part)
    for row in rows:
        model.partial_fit(row[None])
    exact = Exact(rows, [10**8 + 1] * 10)
    assert model.n_samples_seen_ == exact.mass
    covariance = np.array([[float(s / (exact.mass - 1)) for s in row] for row in exact.scatter])
    values, vectors = np.linalg.eigh(covariance)
    np.testing.assert_allclose(model.explained_variance_, values[:0:-1], rtol=32 * EPS)
    np.testing.assert_allclose(np.abs(np.sum(model.components_ * vectors.T[:0:-1], axis=1)), 1)
    variances = [float(exact.scatter[j][j] / exact.mass) for j in range(3)]
    np.testing.assert_allclose(model.var_, variances, rtol=8 * EPS)


def test_truncated_moments_keep_means_and_variances():
    rows = rows_at(1e6)
    found, times = TruncatedMoments(2, 3), 500
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(times):
            found.add(rows)
    exact = Exact(rows, [times] * 10)
    squares = [float(exact.scatter[j][j]) for j in range(3)]
    np.testing.assert_allclose(found.squares, squares, rtol=16 * EPS)
    np.testing.assert_allclose(found.mean, [float(m) for m in exact.mean], rtol=2 * EPS)
