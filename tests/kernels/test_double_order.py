from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panelake.kernels.double_order import from_ordered, to_ordered

ASCENDING = [-math.inf, -1e308, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1e308, math.inf, math.nan]


def test_the_order_is_sparks():
    assert np.all(np.diff(to_ordered(np.array(ASCENDING)).astype(object)) > 0)


def test_zeros_are_equal_and_so_are_nans():
    zeros = to_ordered(np.array([0.0, -0.0]))
    nans = to_ordered(np.array([math.nan, -math.nan]))
    assert zeros[0] == zeros[1]
    assert nans[0] == nans[1]


@given(st.lists(st.floats()))
def test_doubles_come_back(values):
    doubles = np.array(values, dtype=np.float64)
    np.testing.assert_array_equal(from_ordered(to_ordered(doubles)), doubles)
