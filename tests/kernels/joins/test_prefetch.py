"""Asking for memory compiles to that and no more: nothing is read, whatever the row."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from panelake.kernels.joins.prefetch import fetch
from panelake.kernels.joins.slots import TUPLE

ARRAYS = [np.arange(12).reshape(3, 4), np.arange(3, dtype=np.uint64), np.zeros(3, TUPLE)]
ROWS = [0, 2, -1, 10**12, -(10**12), np.uint64(2**64 - 1)]


@pytest.mark.parametrize("array", ARRAYS, ids=["table", "words", "records"])
def test_a_row_is_asked_for_and_none_is_wrong(array):
    @njit
    def ask(array, row):
        fetch(array, row)
        return len(array)

    before = array.copy()
    assert [ask(array, row) for row in ROWS] == [3] * len(ROWS)
    np.testing.assert_array_equal(array, before)
    assert all("call void @llvm.prefetch" in code for code in ask.inspect_llvm().values())
