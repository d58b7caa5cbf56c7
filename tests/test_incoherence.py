"""Incoherence: closed forms, the definition, names, and models in the place of tables."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import hadamard
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from eigenlens import PCA, RobustPCA, datasets
from eigenlens.measure import incoherence
from eigenlens.measure.incoherence import incoherence as function


def low_rank(n=30, d=20, rank=4, seed=0):
    return datasets.planted_pursuit(n, d, rank, random_state=seed).low_rank


def fields(found):
    return [found.rank, found.left, found.right, found.joint]


class Factors(BaseEstimator):
    """A model that is its factors."""

    def __init__(self, scores=None, components=None):
        self.scores, self.components = scores, components

    def fit(self, X=None, y=None):
        self.mean_ = np.full(self.components.shape[1], 5.0)
        self.scores_, self.components_ = self.scores, self.components
        return self


@pytest.mark.parametrize("shape", [(7, 7), (12, 5), (3, 40), (1, 4), (1, 1)])
def test_a_flat_table_is_as_incoherent_as_can_be(shape):
    rows, columns = (np.resize([1.0, -1.0, -1.0], side) for side in shape)
    np.testing.assert_allclose(fields(incoherence(3 * np.outer(rows, columns))), 1)


def test_a_single_cell_is_as_coherent_as_can_be():
    L = np.zeros((9, 6))
    L[4, 2] = -7
    found = incoherence(L)
    np.testing.assert_allclose(fields(found), [1, 9, 6, 54])
    np.testing.assert_allclose(found.mu, 54)
    assert (found.row, found.column) == (4, "x2")


@pytest.mark.parametrize("rank", [1, 2, 5, 16])
def test_even_vectors_may_still_meet_in_one_cell(rank):
    # U = V = r columns of a Hadamard matrix: leverages are even, and (U V')_ii = r / n
    H = hadamard(16)[:, :rank].astype(float)
    found = incoherence(H @ np.diag(np.arange(rank, 0, -1.0)) @ H.T)
    np.testing.assert_allclose(fields(found), [rank, 1, 1, rank])
    np.testing.assert_allclose(found.mu, rank)


@pytest.mark.parametrize("shape", [(30, 20), (15, 50)])
def test_the_definition(shape):
    L = low_rank(*shape)
    U, _, Vt = np.linalg.svd(L)
    U, Vt = U[:, :4], Vt[:4]
    n, d = shape
    found = incoherence(L)
    # each condition holds at mu with equality
    np.testing.assert_allclose((U**2).sum(axis=1).max(), found.left * 4 / n)
    np.testing.assert_allclose((Vt**2).sum(axis=0).max(), found.right * 4 / d)
    np.testing.assert_allclose(np.abs(U @ Vt).max(), np.sqrt(found.joint * 4 / (n * d)))
    np.testing.assert_allclose(found.row_leverages, (U**2).sum(axis=1))
    np.testing.assert_allclose(found.column_leverages.sum(), 4)
    assert 1 <= found.left <= n / 4
    assert 1 <= found.joint <= 4 * found.left * found.right
    assert found.mu == max(found.left, found.right, found.joint)


def test_scale_order_and_transpose():
    L, order = low_rank(), np.random.default_rng(0).permutation(30)
    found, turned, moved = incoherence(L), incoherence(1e-9 * L.T), incoherence(L[order])
    np.testing.assert_allclose(fields(turned), np.array(fields(found))[[0, 2, 1, 3]])
    np.testing.assert_allclose(moved.row_leverages, found.row_leverages[order])
    assert order[moved.row] == found.row


def test_the_most_coherent_row_is_named():
    L = low_rank()
    L[13] = np.random.default_rng(1).standard_normal(20)  # a direction of its own
    names = [f"row {i}" for i in range(30)]
    table = pd.DataFrame(L, index=names, columns=[f"c{j}" for j in range(20)])
    found = incoherence(table)
    assert (found.rank, found.row) == (5, "row 13")
    np.testing.assert_allclose(found.row_leverages[13], 1)
    frames = found.to_frames()
    assert frames["rows"].index[0] == "row 13"
    assert frames["columns"].index[0] == found.column
    assert frames["columns"]["leverage"].is_monotonic_decreasing


def test_a_model_is_the_product_of_its_factors():
    rng = np.random.default_rng(0)
    scores, components = rng.standard_normal((50, 3)), rng.standard_normal((3, 8))
    found = incoherence(Factors(scores, components).fit())
    expected = incoherence(scores @ components)
    np.testing.assert_allclose(fields(found), fields(expected))
    np.testing.assert_allclose(found.row_leverages, expected.row_leverages)
    np.testing.assert_allclose(found.column_leverages, expected.column_leverages)
    np.testing.assert_array_equal(found.columns, expected.columns)


def test_the_low_rank_part_of_a_robust_model():
    X = datasets.planted_pursuit(80, 60, 3, density=0.05, random_state=0).X
    model = RobustPCA(random_state=0).fit(X)
    found, expected = incoherence(model), incoherence(model.low_rank_ - model.mean_, rank=3)
    assert found.rank == model.rank_ == 3
    np.testing.assert_allclose(fields(found), fields(expected), rtol=1e-6)


def test_noise_needs_the_rank():
    L = low_rank(60, 40, 3)
    noisy = L + 1e-4 * np.random.default_rng(0).standard_normal(L.shape)
    assert incoherence(noisy).rank == 40
    assert incoherence(noisy).right == pytest.approx(1)
    np.testing.assert_allclose(fields(incoherence(noisy, rank=3)), fields(incoherence(L)), rtol=0.1)


def test_float32_has_the_rank_of_its_own_rounding():
    L = low_rank()
    found = incoherence(L.astype(np.float32))
    np.testing.assert_allclose(fields(found), fields(incoherence(L)), rtol=1e-4)
    assert isinstance(found.left, float)


def test_blocks_of_rows(monkeypatch):
    L = low_rank()
    expected = incoherence(L).joint
    monkeypatch.setitem(function.__globals__, "BYTES", 8 * 20 * 7)
    assert incoherence(L).joint == pytest.approx(expected, rel=1e-12)


def test_what_cannot_be_looked_at():
    with pytest.raises(ValueError, match="L is zero"):
        incoherence(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="L is zero"):
        incoherence(Factors(np.zeros((4, 0)), np.zeros((0, 3))).fit())
    with pytest.raises(ValueError, match=r"rank=5 must be between 1 and 4"):
        incoherence(low_rank(), rank=5)
    with pytest.raises(ValueError, match="rank=0 must be"):
        incoherence(low_rank(), rank=0)
    with pytest.raises(ValueError, match="NaN"):
        incoherence([[1.0, np.nan]])
    with pytest.raises(TypeError, match=r"PCA has no scores_.*Give a fitted eigenlens.RobustPCA"):
        incoherence(PCA(2).fit(low_rank()))
    with pytest.raises(NotFittedError):
        incoherence(PCA(2))
