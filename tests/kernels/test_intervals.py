"""Windows found by two pointers: which rows they hold, what is skipped, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from panelake.kernels.intervals import find_intervals, widest
from panelake.kernels.window_spec import WindowSpec

EVERY_K = range(-(2**80), 2**80)


def found(position, window, ks=EVERY_K, group=None):
    position = np.array(position, dtype=np.int64)
    group = np.zeros_like(position) if group is None else np.array(group, dtype=np.int64)
    intervals = find_intervals(group, position, window, ks)
    return list(zip(*(part.tolist() for part in intervals), strict=True))


def test_overlapping_windows_share_panes():
    """
    position  0    5    10   15        panes of 5
    k = 1     |---------|              range 10, slide 5: [k·5 - 10, k·5)
    k = 2     |---------|
    k = 3          |---------|
    """
    assert found([0, 5, 10], WindowSpec(10, 5)) == [(0, 1, 0, 1), (0, 2, 0, 2), (0, 3, 1, 3), (0, 4, 2, 3)]


def test_gapped_windows_leave_panes_out():
    """
    position  0    5    10   15   20   25
    window         |----|         |----|     range 5, slide 15, shift 10
    """
    assert found([0, 5, 10, 15, 20, 25], WindowSpec(5, 15, shift=10)) == [(0, 0, 1, 2), (0, 1, 4, 5)]


def test_row_windows_are_numbered_by_their_start():
    assert found([0, 50, 100, 150], WindowSpec.over_rows(100, 50), range(3)) == [
        (0, 0, 0, 2),
        (0, 1, 1, 3),
        (0, 2, 2, 4),
    ]


def test_positions_before_the_origin_lie_in_negative_windows():
    assert found([-10, -1], WindowSpec(5, 5)) == [(0, -1, 0, 1), (0, 0, 1, 2)]


def test_groups_do_not_mix():
    assert found([3, 1, 3], WindowSpec(2, 2), group=[0, 4, 4]) == [(0, 2, 0, 1), (4, 1, 1, 2), (4, 2, 2, 3)]


def test_an_empty_stretch_is_jumped_over():
    """A thousand million million windows lie between the two panes: visiting them would not end."""
    assert found([0, 10**15], WindowSpec(2, 1)) == [
        (0, 1, 0, 1),
        (0, 2, 0, 1),
        (0, 10**15 + 1, 1, 2),
        (0, 10**15 + 2, 1, 2),
    ]


def test_widest_is_the_fullest_window():
    rows = np.array([0, 0, 0, 7, 8])
    assert widest(find_intervals(rows * 0, rows, WindowSpec(5, 5), EVERY_K)) == 3


@pytest.mark.parametrize(
    ("group", "position", "message"),
    [
        ([0, 0], [5, 4], r"row 1 is \(0, 4\) after \(0, 5\)"),
        ([1, 0], [4, 5], r"row 1 is \(0, 5\) after \(1, 4\)"),
        ([0], [4, 5], "equally long; got 1 and 2 rows"),
    ],
)
def test_unsorted_rows_are_refused(group, position, message):
    with pytest.raises(ValueError, match=message):
        found(position, WindowSpec(1, 1), group=group)


def test_positions_that_would_wrap_are_refused():
    with pytest.raises(ValueError, match="do not fit 64 bits"):
        found([2**63 - 5], WindowSpec(10, 1))


def test_a_stepped_range_is_refused():
    with pytest.raises(ValueError, match=r"one by one; got range\(0, 10, 2\)"):
        found([1], WindowSpec(1, 1), range(0, 10, 2))
