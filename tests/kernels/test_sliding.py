"""`slide_windows` against its naive twin, operation by operation, on batches made to be awkward."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.kernels.naive import recompute_windows
from panelake.kernels.sliding import Overflow, slide_windows
from panelake.kernels.state_column import Operation, StateColumn
from panelake.kernels.window_spec import WindowSpec

UNIT_ROUNDOFF = 2.0**-53
MOST_ROWS = 30

near = st.integers(-60, 60)
far = st.sampled_from([-1_700_000_000_000_000, -1_000_003, 1_000_000, 1_700_000_000_000_000])
int64s = st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1))
decimals = st.one_of(st.integers(-9, 9), st.integers(1 - 10**38, 10**38 - 1))
finite_doubles = st.one_of(
    st.sampled_from([0.0, -0.0, 0.1, 1e16, -1e16, 5e-324]), st.floats(-1e300, 1e300, allow_nan=False)
)
doubles = st.one_of(finite_doubles, st.sampled_from([math.inf, -math.inf, math.nan, -math.nan]))
moments = st.tuples(st.integers(0, 1000), st.floats(-1e6, 1e6), st.floats(0, 1e9))
ranges = st.one_of(st.integers(1, 40), st.integers(100, 140))
windows = st.builds(WindowSpec, range=ranges, slide=st.integers(1, 40), shift=st.integers(-25, 25))
pane_start = st.tuples(st.integers(0, 2), st.one_of(near, near, near, near, far))
pane_starts = (
    st.integers(0, MOST_ROWS).flatmap(lambda rows: st.lists(pane_start, min_size=rows, max_size=rows)).map(sorted)
)


@st.composite
def batches(draw):
    """Sorted pane starts with repeats and gaps, a window spec, and windows around one of the panes."""
    starts = draw(pane_starts)
    group, position = np.array(starts, dtype=np.int64).reshape(-1, 2).T.copy()
    window = draw(windows)
    middle = window.first_with(draw(st.sampled_from(starts))[1] if starts else 0)
    ks = range(middle - draw(st.integers(0, 50)), middle + draw(st.integers(0, 50)))
    return group, position, window, ks


def mask(draw, rows):
    return draw(st.none() | st.lists(st.booleans(), min_size=rows, max_size=rows).map(np.array).map(as_mask))


def as_mask(flags):
    return flags.astype(np.bool_)


def column(draw, operation, values, rows, dtype):
    drawn = draw(st.lists(values, min_size=rows, max_size=rows))
    return StateColumn(operation, (np.array(drawn, dtype=dtype),), mask(draw, rows))


def assert_same_windows(got, expected):
    np.testing.assert_array_equal(got.group, expected.group)
    np.testing.assert_array_equal(got.k, expected.k)
    assert got.overflows == expected.overflows


def valid_values(got, expected):
    """Both columns' arrays where neither is NULL, after checking that they are NULL in the same windows."""
    valid = np.ones(len(got), dtype=np.bool_) if got.valid is None else got.valid
    np.testing.assert_array_equal(valid, expected.valid)
    return [(mine[valid], exact[valid]) for mine, exact in zip(got.arrays, expected.arrays, strict=True)]


def both(batch, states):
    group, position, window, ks = batch
    got = slide_windows(group, position, [states], window, ks)
    expected = recompute_windows(group, position, [states], window, ks)
    assert_same_windows(got, expected)
    return valid_values(got.columns[0], expected.columns[0])


@pytest.mark.parametrize("operation", [Operation.ADD_I64, Operation.MIN_I64, Operation.MAX_I64])
@settings(deadline=None, derandomize=True)
@given(batch=batches(), data=st.data())
def test_integers_equal_the_naive_answer(operation, batch, data):
    ((got, expected),) = both(batch, column(data.draw, operation, int64s, len(batch[0]), np.int64))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("operation", [Operation.MIN_F64, Operation.MAX_F64])
@settings(deadline=None, derandomize=True)
@given(batch=batches(), data=st.data())
def test_extremes_of_doubles_follow_sparks_order(operation, batch, data):
    ((got, expected),) = both(batch, column(data.draw, operation, doubles, len(batch[0]), np.float64))
    np.testing.assert_array_equal(got, expected)


@settings(deadline=None, derandomize=True)
@given(batch=batches(), data=st.data())
def test_sums_of_doubles_err_by_one_rounding(batch, data):
    states = column(data.draw, Operation.ADD_F64, finite_doubles, len(batch[0]), np.float64)
    ((got, expected),) = both(batch, states)
    sizes = StateColumn(Operation.ADD_F64, (np.abs(states.arrays[0]),), states.valid)
    ((_, size),) = both(batch, sizes)
    allowed = 2 * UNIT_ROUNDOFF * np.abs(expected) + (MOST_ROWS * UNIT_ROUNDOFF) ** 2 * size
    assert np.all(np.abs(got - expected) <= allowed)


@settings(deadline=None, derandomize=True)
@given(batch=batches(), data=st.data())
def test_sums_of_doubles_carry_infinities_and_nan(batch, data):
    states = column(data.draw, Operation.ADD_F64, doubles, len(batch[0]), np.float64)
    ((got, expected),) = both(batch, states)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(got[~finite], expected[~finite])
    assert np.all(np.isfinite(got[finite]))


@settings(deadline=None, derandomize=True)
@given(batch=batches(), data=st.data(), precision=st.sampled_from([1, 2, 18, 37, 38]))
def test_decimals_equal_the_naive_answer(batch, data, precision):
    drawn = data.draw(st.lists(decimals, min_size=len(batch[0]), max_size=len(batch[0])))
    high = np.array([value >> 64 for value in drawn], dtype=np.int64)
    low = np.array([value % 2**64 for value in drawn], dtype=np.uint64)
    states = StateColumn(Operation.ADD_I128, (high, low), mask(data.draw, len(drawn)), precision)
    for got, expected in both(batch, states):
        np.testing.assert_array_equal(got, expected)


@settings(deadline=None, derandomize=True)
@given(batch=batches(), data=st.data())
def test_moments_are_close_to_the_naive_answer(batch, data):
    drawn = data.draw(st.lists(moments, min_size=len(batch[0]), max_size=len(batch[0])))
    arrays = tuple(
        np.array([state[part] for state in drawn], dtype=kind) for part, kind in enumerate((int, float, float))
    )
    (count, mean, m2) = both(batch, StateColumn(Operation.ADD_MOMENTS, arrays, mask(data.draw, len(drawn))))
    np.testing.assert_array_equal(*count)
    furthest = np.max(np.abs(arrays[1]), initial=0)
    has_some = count[1] > 0
    np.testing.assert_allclose(mean[0][has_some], mean[1][has_some], rtol=0, atol=1e-14 * furthest)
    assert np.all(np.abs(m2[0] - m2[1])[has_some] <= (1e-13 * m2[1] + 1e-14 * count[1] * furthest**2)[has_some])


@settings(deadline=None, derandomize=True)
@given(batch=batches())
def test_windows_answered_are_those_that_hold_a_pane(batch):
    group, position, window, _ = batch
    got = slide_windows(group, position, [], window, range(-(2**80), 2**80))
    held = {(g, k) for g, p in zip(group.tolist(), position.tolist(), strict=True) for k in window.holding(p)}
    assert list(zip(got.group.tolist(), got.k.tolist(), strict=True)) == sorted(held)


def test_ten_thousand_panes_a_window():
    random = np.random.default_rng(1)
    position = np.sort(random.integers(0, 30_000, size=(2, 3_000)), axis=1).ravel()
    group = np.repeat(np.arange(2), 3_000)
    values = random.normal(size=6_000)
    columns = [
        StateColumn(Operation.ADD_F64, (values,)),
        StateColumn(Operation.MIN_F64, (values,)),
        StateColumn(Operation.ADD_I64, (position,)),
    ]
    ks = range(19_990, 20_010)
    got = slide_windows(group, position, columns, WindowSpec(10_000, 1), ks)
    expected = recompute_windows(group, position, columns, WindowSpec(10_000, 1), ks)
    assert_same_windows(got, expected)
    for mine, exact in zip(got.columns, expected.columns, strict=True):
        ((left, right),) = valid_values(mine, exact)
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-12 if left.dtype == np.float64 else 0)


def test_small_terms_are_not_lost_beside_a_large_one():
    """One and 20,000 halves of its last bit: a running sum would stay at 1 and be off by more than 1e-12."""
    values = np.full(20_001, UNIT_ROUNDOFF)
    values[0] = 1.0
    rows = np.arange(len(values))
    states = StateColumn(Operation.ADD_F64, (values,))
    got = slide_windows(np.zeros_like(rows), rows, [states], WindowSpec.over_rows(len(rows), 1), range(-5, 1))
    truth = [math.fsum(values[: len(rows) + k]) for k in range(-5, 1)]
    np.testing.assert_array_equal(got.columns[0].arrays[0], truth)


def test_an_overflow_is_reported_and_its_window_is_null():
    """
    position  0    1    2    3
    value     max  1    -1   5
    range 2:  [0,2) overflows, [1,3) = 0, [2,4) = 4
    """
    values = np.array([2**63 - 1, 1, -1, 5])
    states = StateColumn(Operation.ADD_I64, (values,))
    got = slide_windows(np.full(4, 7), np.arange(4), [states], WindowSpec.over_rows(2, 1), range(3))
    assert got.overflows == (Overflow(column=0, group=7, k=0, windows=1),)
    assert got.columns[0].valid.tolist() == [False, True, True]
    assert got.columns[0].arrays[0].tolist() == [0, 0, 4]


def test_a_sum_that_fits_is_answered_though_its_parts_overflow():
    values = np.array([2**63 - 1, 2**63 - 1, -(2**63), -(2**63), 1])
    states = StateColumn(Operation.ADD_I64, (values,))
    got = slide_windows(np.zeros(5, dtype=np.int64), np.arange(5), [states], WindowSpec(5, 5), range(1, 2))
    assert (got.columns[0].arrays[0].tolist(), got.overflows) == ([-1], ())


def test_a_decimal_sum_past_128_bits_is_an_overflow():
    most = 10**38 - 1
    high, low = np.full(9, most >> 64), np.full(9, most % 2**64, dtype=np.uint64)
    states = StateColumn(Operation.ADD_I128, (high, low))
    got = slide_windows(np.zeros(9, dtype=np.int64), np.arange(9), [states], WindowSpec.over_rows(7, 1), range(3))
    assert got.overflows == (Overflow(column=0, group=0, k=0, windows=3),)


def test_fragments_of_one_pane_are_combined():
    states = StateColumn(Operation.ADD_I64, (np.array([1, 2, 4]),))
    got = slide_windows(np.zeros(3, dtype=np.int64), np.array([5, 5, 5]), [states], WindowSpec(10, 10), range(3))
    assert (got.k.tolist(), got.columns[0].arrays[0].tolist()) == ([1], [7])


def test_nothing_in_gives_nothing_out():
    none = np.empty(0, dtype=np.int64)
    columns = [StateColumn(Operation.ADD_I64, (none,)), StateColumn(Operation.MAX_F64, (none.astype(float),))]
    got = slide_windows(none, none, columns, WindowSpec(10, 5), range(-100, 100))
    assert [len(column) for column in got.columns] == [0, 0]
    assert (len(got.group), len(got.k), got.overflows) == (0, 0, ())


def test_panes_outside_the_k_range_give_nothing():
    one = np.array([3])
    states = StateColumn(Operation.MIN_I64, (one,))
    got = slide_windows(np.zeros_like(one), one, [states], WindowSpec(10, 5), range(100, 200))
    assert len(got.k) == len(got.columns[0]) == 0


def test_read_only_and_strided_arrays_are_taken():
    values = np.arange(20)[::2]
    values.flags.writeable = False
    got = slide_windows(values * 0, values, [StateColumn(Operation.ADD_I64, (values,))], WindowSpec(4, 4), range(1, 6))
    assert got.columns[0].arrays[0].tolist() == [2, 10, 18, 26, 34]


def test_a_column_of_another_length_is_refused():
    rows = np.arange(3)
    with pytest.raises(ValueError, match="column 0 has 2 rows; group has 3"):
        slide_windows(rows, rows, [StateColumn(Operation.ADD_I64, (rows[:2],))], WindowSpec(1, 1), range(1))
