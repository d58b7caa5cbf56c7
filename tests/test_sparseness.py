"""Hoyer's sparseness: closed forms, and what it takes."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from eigenlens import PCA, VectorQuantizer
from eigenlens.measure import sparseness

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
@pytest.mark.parametrize("scale", [1.0, -3.0, 1e-200, 1e200])
def test_ends_of_the_scale(n, scale):
    np.testing.assert_allclose(sparseness(scale * np.eye(n)), 1, rtol=1e-14)
    np.testing.assert_allclose(sparseness(np.full((2, n), scale)), 0, atol=1e-14)


@pytest.mark.parametrize("m", [1, 4, 9, 25])
def test_m_equal_entries_of_100(m):
    """|a|_1 / |a|_2 is sqrt(m), whatever their signs."""
    a = np.zeros(100)
    a[:m] = RNG.choice([-2.0, 2.0], m)
    assert sparseness([a])[0] == pytest.approx((10 - np.sqrt(m)) / 9)


def test_geometric_row():
    """Of 1, r, r^2, ...: sums of two geometric series."""
    n, r = 50, 0.9
    norms = (1 - r**n) / (1 - r), np.sqrt((1 - r ** (2 * n)) / (1 - r**2))
    expected = (np.sqrt(n) - norms[0] / norms[1]) / (np.sqrt(n) - 1)
    assert sparseness([r ** np.arange(n)])[0] == pytest.approx(expected)


def test_neither_scale_nor_sign_nor_order_matters():
    A = RNG.standard_normal((5, 30))
    expected = sparseness(A)
    assert ((expected > 0) & (expected < 1)).all()
    for same in (7 * A, -A, A * RNG.choice([-1, 1], A.shape), A[:, ::-1]):
        np.testing.assert_allclose(sparseness(same), expected, rtol=1e-13)


def test_columns():
    A = RNG.standard_normal((5, 30))
    np.testing.assert_array_equal(sparseness(A, axis=0), sparseness(A.T))


def test_row_of_zeros_has_none():
    found = sparseness([[0, 0, 0], [0, 1, 0]])
    assert np.isnan(found[0])
    assert found[1] == 1


def test_one_entry():
    np.testing.assert_array_equal(sparseness([[3.0], [0.0]]), [1, np.nan])


def test_input_is_left_alone():
    A = RNG.standard_normal((4, 6))
    before = A.copy()
    sparseness(A)
    sparseness(A, axis=0)
    np.testing.assert_array_equal(A, before)


def test_fitted_model():
    X = RNG.standard_normal((40, 6))
    pca = PCA(3).fit(X)
    np.testing.assert_array_equal(sparseness(pca), sparseness(pca.components_))
    codes = VectorQuantizer(4, random_state=0).fit_transform(X)
    np.testing.assert_allclose(sparseness(codes), 1)


def test_what_it_refuses():

    with pytest.raises(NotFittedError):
        sparseness(PCA())
    with pytest.raises(TypeError, match="no components_"):
        sparseness(LinearRegression().fit([[1.0], [2.0]], [1, 2]))
    with pytest.raises(ValueError, match="axis=2"):
        sparseness(np.eye(2), axis=2)
    with pytest.raises(ValueError, match="2D"):
        sparseness([1.0, 2.0])
    with pytest.raises(ValueError, match="NaN"):
        sparseness([[np.nan, 1.0]])
