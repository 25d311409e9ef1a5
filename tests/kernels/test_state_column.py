from __future__ import annotations

import numpy as np
import pytest

from panelake.kernels.state_column import Operation, StateColumn

INTEGERS = np.arange(3)


def test_another_layout_is_refused():
    with pytest.raises(ValueError, match="ADD_I128 takes arrays of int64, uint64; got int64"):
        StateColumn(Operation.ADD_I128, (INTEGERS,))


def test_a_mask_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"equally long; got lengths \[2, 3\]"):
        StateColumn(Operation.MIN_I64, (INTEGERS,), np.array([True, False]))


def test_a_precision_spark_does_not_have_is_refused():
    with pytest.raises(ValueError, match="1 to 38 digits; got 39"):
        StateColumn(Operation.ADD_I64, (INTEGERS,), precision=39)
