"""Sorted pane states in, window states out, at amortised constant cost per pane row and window.

Sources: two-stacks (Tangwongsan, Hirzel, Schneider 2021) in blocks like van Herk's and Gil and Werman's for what has no
inverse: see two_stacks; subtract-on-evict for integer sums: see integer_sums. Doubles are never subtracted.
Time: O(rows + windows) to find the windows (see intervals), then per column at most 2 combines a row and 1 a window,
whatever range / slide is. Space: O(windows + rows).
Order assumed: rows ascend by (group, position), positions being where panes start; rows that share both are fragments
of one pane and are combined. No pane straddles a window's bound. Order given: (group, k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.double_order import from_ordered, to_ordered
from panelake.kernels.integer_sums import INT64_BOUNDS, WideSums, decimal_bounds, sum_intervals
from panelake.kernels.intervals import Integers, WindowIntervals, find_intervals, widest
from panelake.kernels.state_column import Operation, StateColumn
from panelake.kernels.two_stacks import DoubleSum, Largest, Moments, fold_intervals
from panelake.kernels.window_spec import WindowSpec

_LEAST = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Overflow:
    """A column whose sum does not fit in `windows` windows, the first of them being (group, k)."""

    column: int
    group: int
    k: int
    windows: int


@dataclass(frozen=True, eq=False)
class WindowStates:
    """One row per (group, k) whose window holds a pane row, with the columns in the order given.

    A sum that overflowed is NULL, never wrapped, and its column is listed in `overflows`: the caller must look.
    """

    group: Integers
    k: Integers
    columns: tuple[StateColumn, ...]
    overflows: tuple[Overflow, ...] = ()


def slide_windows(
    group: Integers, position: Integers, columns: Sequence[StateColumn], window: WindowSpec, ks: range
) -> WindowStates:
    """The combined states of every window k of `ks` that holds a pane row, for every group."""
    for number, column in enumerate(columns):
        if len(column) != len(group):
            raise ValueError(f"column {number} has {len(column)} rows; group has {len(group)}")
    intervals = find_intervals(_read_only(group), _read_only(position), window, ks)
    folded = [_fold(column, intervals) for column in columns]
    overflows = (_overflow(number, mask, intervals) for number, (_, mask) in enumerate(folded))
    return WindowStates(
        intervals.group,
        intervals.k,
        tuple(column for column, _ in folded),
        tuple(overflow for overflow in overflows if overflow is not None),
    )


Folded = tuple[StateColumn, NDArray[np.bool_] | None]


def _fold(column: StateColumn, intervals: WindowIntervals) -> Folded:
    """The windows' states, and where they overflowed if they can."""
    valid = _any_valid(column, intervals)
    if column.operation in {Operation.ADD_I64, Operation.ADD_I128}:
        return _fold_integers(column, valid, intervals)
    if column.operation is Operation.ADD_F64:
        arrays = _fold_doubles(column, intervals)
    elif column.operation is Operation.ADD_MOMENTS:
        arrays = _fold_moments(column, intervals)
    else:
        arrays = _fold_extremes(column, intervals)
    return StateColumn(column.operation, arrays, valid), None


def _fold_integers(column: StateColumn, valid: NDArray[np.bool_] | None, intervals: WindowIntervals) -> Folded:
    sums = _sum_integers(column, intervals)
    mask = sums.overflowed
    if mask.any():
        valid = ~mask if valid is None else valid & ~mask
    arrays = (sums.low.view(np.int64),) if column.operation is Operation.ADD_I64 else (sums.high, sums.low)
    zeroed = tuple(np.where(mask, array.dtype.type(0), array) for array in arrays) if mask.any() else arrays
    return StateColumn(column.operation, zeroed, valid, column.precision), mask


def _sum_integers(column: StateColumn, intervals: WindowIntervals) -> WideSums:
    if column.operation is Operation.ADD_I64:
        value = _without_null(column, 0, 0)
        high, low, bounds = value >> 63, value.view(np.uint64), INT64_BOUNDS
    else:
        high, low = _without_null(column, 0, 0), _without_null(column, 1, 0)
        bounds = decimal_bounds(column.precision)
    return sum_intervals(_read_only(high), _read_only(low), intervals.first, intervals.last, bounds)


def _fold_doubles(column: StateColumn, intervals: WindowIntervals) -> tuple[NDArray[Any], ...]:
    rows = DoubleSum(_without_null(column, 0, 0.0), np.zeros(len(column)))
    total, error = _fold_two_stacks(rows, intervals)
    # Past infinity the lost rounding is NaN and means nothing.
    return (np.add(total, error, out=total, where=np.isfinite(total)),)


def _fold_moments(column: StateColumn, intervals: WindowIntervals) -> tuple[NDArray[Any], ...]:
    return _fold_two_stacks(Moments(_without_null(column, 0, 0), *column.arrays[1:]), intervals)


def _fold_extremes(column: StateColumn, intervals: WindowIntervals) -> tuple[NDArray[Any], ...]:
    """All four as the largest integer: doubles by their order, a minimum by its complement, which reverses it."""
    doubles = column.operation in {Operation.MIN_F64, Operation.MAX_F64}
    least_wanted = column.operation in {Operation.MIN_I64, Operation.MIN_F64}
    key = to_ordered(column.arrays[0]) if doubles else column.arrays[0]
    key = ~key if least_wanted else key
    key = key if column.valid is None else np.where(column.valid, key, _LEAST)
    (largest,) = _fold_two_stacks(Largest(key), intervals)
    largest = ~largest if least_wanted else largest
    return (from_ordered(largest) if doubles else largest,)


def _fold_two_stacks(rows: Any, intervals: WindowIntervals) -> tuple[NDArray[Any], ...]:
    kind = type(rows)
    front = kind(*(np.empty(widest(intervals), array.dtype) for array in rows))
    result = kind(*(np.empty(len(intervals.k), array.dtype) for array in rows))
    fold_intervals(kind(*map(_read_only, rows)), intervals.first, intervals.last, front, result)
    return tuple(result)


def _without_null(column: StateColumn, part: int, identity: float) -> NDArray[Any]:
    array = column.arrays[part]
    return array if column.valid is None else np.where(column.valid, array, array.dtype.type(identity))


def _any_valid(column: StateColumn, intervals: WindowIntervals) -> NDArray[np.bool_] | None:
    if column.valid is None:
        return None
    before = np.concatenate(([0], np.cumsum(column.valid)))
    some: NDArray[np.bool_] = before[intervals.last] > before[intervals.first]
    return some


def _overflow(number: int, mask: NDArray[np.bool_] | None, intervals: WindowIntervals) -> Overflow | None:
    if mask is None or not mask.any():
        return None
    at = int(mask.argmax())
    return Overflow(number, int(intervals.group[at]), int(intervals.k[at]), int(np.count_nonzero(mask)))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Arrow's buffers are read-only, others not: seen alike, they share one compiled kernel."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
