"""Which pane rows each window holds: one interval [first, last) of rows per window, found by two pointers.

Time O(rows + windows): a stretch without panes is jumped over, whatever the slide. Space O(windows).
Order assumed: rows ascend by (group, position). Order given: windows ascend by (group, k), and `first` and `last`
never decrease, from one group to the next too; everything that folds windows relies on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.compiled import kernel
from panelake.kernels.window_spec import WindowSpec

Integers = NDArray[np.int64]
_INT64 = np.iinfo(np.int64)


class WindowIntervals(NamedTuple):
    """Windows that hold at least one row; window j holds the rows [first[j], last[j])."""

    group: Integers
    k: Integers
    first: Integers
    last: Integers


class Grid(NamedTuple):
    """A window spec as the kernels take it, with the k range [k_lo, k_hi)."""

    extent: int
    slide: int
    shift: int
    k_lo: int
    k_hi: int


def find_intervals(group: Integers, position: Integers, window: WindowSpec, ks: range) -> WindowIntervals:
    """The windows k of `ks` that hold a row of the group, for every group."""
    _require_sorted(group, position)
    grid = Grid(window.range, window.slide, window.shift, *_reachable(position, window, ks))
    found = WindowIntervals(*np.empty((4, _count_windows(group, position, grid)), dtype=np.int64))
    _fill_windows(group, position, grid, found)
    return found


def widest(intervals: WindowIntervals) -> int:
    """Rows in the fullest window."""
    return int(np.max(intervals.last - intervals.first, initial=0))


def _require_sorted(group: Integers, position: Integers) -> None:
    if len(group) != len(position):
        raise ValueError(f"group and position must be equally long; got {len(group)} and {len(position)} rows")
    row = _first_unsorted(group, position)
    if row >= 0:
        raise ValueError(
            f"pane rows must ascend by (group, position); row {row} is ({group[row]}, {position[row]}) "
            f"after ({group[row - 1]}, {position[row - 1]})"
        )


def _reachable(position: Integers, window: WindowSpec, ks: range) -> tuple[int, int]:
    """The bounds of `ks`, cut to windows that can hold a row, so that no bound computed from them leaves 64 bits."""
    if ks.step != 1:
        raise ValueError(f"windows are numbered one by one; got {ks}")
    if not len(position):
        return 0, 0
    least, greatest = int(position.min()), int(position.max())
    margin = window.range + window.slide + abs(window.shift)
    if least - margin < _INT64.min or greatest + margin > _INT64.max:
        raise ValueError(f"positions {least} … {greatest} with {window} do not fit 64 bits")
    k_lo, k_hi = max(ks.start, window.holding(least).start), min(ks.stop, window.holding(greatest).stop)
    return (k_lo, k_hi) if k_lo < k_hi else (0, 0)


@kernel
def _first_unsorted(group: Integers, position: Integers) -> int:
    for row in range(1, len(group)):
        if group[row] < group[row - 1] or (group[row] == group[row - 1] and position[row] < position[row - 1]):
            return row
    return -1


@kernel
def _count_windows(group: Integers, position: Integers, grid: Grid) -> int:
    """A row lies in one run of windows: counted is the union of these runs, row by row."""
    count = 0
    uncounted = grid.k_lo
    for row in range(len(group)):
        if row > 0 and group[row] != group[row - 1]:
            uncounted = grid.k_lo
        start = max(uncounted, _first_with(position[row], grid))
        stop = min(grid.k_hi, _first_with(position[row] + grid.extent, grid))
        if start < stop:
            count += stop - start
            uncounted = stop
    return count


@kernel
def _fill_windows(group: Integers, position: Integers, grid: Grid, found: WindowIntervals) -> None:
    filled = 0
    row = 0
    while row < len(group):
        begin = filled
        stop = _end_of_group(group, row)
        filled = _fill_group(position, (row, stop), grid, found, filled)
        found.group[begin:filled] = group[row]
        row = stop


@kernel
def _fill_group(position: Integers, rows: tuple[int, int], grid: Grid, found: WindowIntervals, filled: int) -> int:
    """Every turn of the loop fills a window or leaves a row behind for good."""
    first, stop = rows
    last = first
    k = grid.k_lo
    while first < last or last < stop:
        if first == last:
            k = max(k, _first_with(position[last], grid))
        if k >= grid.k_hi:
            break
        end = k * grid.slide + grid.shift
        last = _first_from(position, last, stop, end)
        first = _first_from(position, first, last, end - grid.extent)
        if first < last:
            found.k[filled], found.first[filled], found.last[filled] = k, first, last
            filled += 1
            k += 1
    return filled


@kernel
def _first_with(position: int, grid: Grid) -> int:
    """The least k whose window ends after the position."""
    return (position - grid.shift) // grid.slide + 1


@kernel
def _first_from(position: Integers, row: int, stop: int, bound: int) -> int:
    """The first row from `row` on whose position is not below the bound, or `stop`."""
    while row < stop and position[row] < bound:
        row += 1
    return row


@kernel
def _end_of_group(group: Integers, row: int) -> int:
    stop = row + 1
    while stop < len(group) and group[stop] == group[row]:
        stop += 1
    return stop
