"""Units in which squares are sound."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from eigenlens.ops.units import in_units, powers_of_two, unit_of


@pytest.mark.parametrize(("dtype", "least", "most"), [("f8", -1074, 1023), ("f4", -149, 127)])
def test_units_are_powers_of_two_that_round_nothing(dtype, least, most):
    X = np.random.default_rng(0).standard_normal((5, 3)).astype(dtype)
    assert in_units(X) is X
    for power in range(least + 30, most - 2, 50):
        table = np.ldexp(X, power)
        unit = unit_of(table)
        assert np.frexp(unit)[0] == 0.5
        scaled = in_units(table)
        assert scaled.dtype == X.dtype
        assert_array_equal(scaled * unit, table)
        assert np.isfinite((scaled.astype(dtype) ** 2).sum())
        assert (scaled**2).max() > np.finfo(dtype).tiny / np.finfo(dtype).eps
        assert unit_of(sparse.csr_array(table)) == unit
        assert_array_equal(in_units(sparse.csr_array(table)).toarray(), scaled)
    for odd in (0.0, np.nan, np.inf, -np.inf):
        assert unit_of(np.full((2, 2), odd, dtype)) == 1


def test_each_has_its_own_power():
    sizes = np.array([0.0, 1.0, 3e200, 5e-324, np.finfo(float).max])
    assert_array_equal(powers_of_two(sizes)[[0, 1, 3, 4]], [1, 1, 5e-324, 2.0**1023])
    assert 1 <= 3e200 / powers_of_two(sizes)[2] < 2
