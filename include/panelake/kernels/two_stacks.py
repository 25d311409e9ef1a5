"""Folding sliding windows of states that can be combined but not taken apart: two-stacks.

Source: K. Tangwongsan, M. Hirzel, S. Schneider, "In-Order Sliding-Window Aggregation in Worst-Case Constant Time",
VLDB Journal 2021, section on Two-Stacks; the folklore queue of two stacks. Since all rows are at hand, the back stack
needs only its total, and the front stack is an array of totals up to the split: the same two scans per block as van
Herk (1992) and Gil and Werman (1993), with blocks that follow the windows, so that uneven panes cost nothing more.

Time: at most 2 combines a row and 1 a window, whatever range / slide is; none of a row that no window holds.
Space: one state per row of the fullest window. Order assumed: intervals whose ends never decrease, none empty.
States are combined left to right in the rows' order, so a combination need not be commutative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.compiled import compiled_as, kernel

Integers = NDArray[np.int64]


class Largest(NamedTuple):
    """The largest integer; with scalars one state, with arrays a column of states, as for the other two."""

    value: Any


class DoubleSum(NamedTuple):
    """A sum of doubles and the rounding it lost so far; their sum is the answer where `total` is finite.

    With u = 2^-53 a window of n rows is within u·|sum| + n²u²·Σ|x|: a million rows err by one rounding. A plain running
    sum may be off by n·u·Σ|x|, which is past 1e-12·Σ|x| from 9,000 rows on.
    """

    total: Any
    error: Any


class Moments(NamedTuple):
    """Count, mean and sum of squared deviations; count 0 is the identity."""

    count: Any
    mean: Any
    m2: Any


def _combine_largest(left: Largest, right: Largest) -> Largest:
    return Largest(max(left.value, right.value))


def _combine_double_sum(left: DoubleSum, right: DoubleSum) -> DoubleSum:
    """Knuth's TwoSum: `total` plus the rounding is exactly the sum of both totals."""
    total = left.total + right.total
    shown = total - left.total
    rounding = (left.total - (total - shown)) + (right.total - shown)
    return DoubleSum(total, left.error + right.error + rounding)


def _combine_moments(left: Moments, right: Moments) -> Moments:
    """T. Chan, G. Golub, R. LeVeque, "Updating Formulae and a Pairwise Algorithm…", 1979."""
    if left.count == 0:
        return right
    if right.count == 0:
        return left
    count = left.count + right.count
    delta = right.mean - left.mean
    share = right.count / count
    return Moments(count, left.mean + delta * share, left.m2 + right.m2 + delta * delta * left.count * share)


def _load_largest(column: Largest, at: int) -> Largest:
    return Largest(column.value[at])


def _load_double_sum(column: DoubleSum, at: int) -> DoubleSum:
    return DoubleSum(column.total[at], column.error[at])


def _load_moments(column: Moments, at: int) -> Moments:
    return Moments(column.count[at], column.mean[at], column.m2[at])


def _store_largest(column: Largest, at: int, state: Largest) -> None:
    column.value[at] = state.value


def _store_double_sum(column: DoubleSum, at: int, state: DoubleSum) -> None:
    column.total[at] = state.total
    column.error[at] = state.error


def _store_moments(column: Moments, at: int, state: Moments) -> None:
    column.count[at] = state.count
    column.mean[at] = state.mean
    column.m2[at] = state.m2


_COMBINE: dict[type, Callable[..., Any]] = {
    Largest: _combine_largest,
    DoubleSum: _combine_double_sum,
    Moments: _combine_moments,
}
_LOAD: dict[type, Callable[..., Any]] = {
    Largest: _load_largest,
    DoubleSum: _load_double_sum,
    Moments: _load_moments,
}
_STORE: dict[type, Callable[..., None]] = {
    Largest: _store_largest,
    DoubleSum: _store_double_sum,
    Moments: _store_moments,
}


def combine(left: Any, right: Any) -> Any:
    """Two states as one, by their kind: compiled in, since a function passed as an argument is never cached."""
    return _COMBINE[type(left)](left, right)


def load(column: Any, at: int) -> Any:
    """The state at an index of a column."""
    return _LOAD[type(column)](column, at)


def store(column: Any, at: int, state: Any) -> None:
    """Write a state at an index of a column."""
    _STORE[type(column)](column, at, state)


@compiled_as(combine)
def _combine_compiled(left: Any, right: Any) -> Callable[..., Any]:  # noqa: ARG001 - called like `combine`
    return _COMBINE[left.instance_class]


@compiled_as(load)
def _load_compiled(column: Any, at: Any) -> Callable[..., Any]:  # noqa: ARG001 - the same
    return _LOAD[column.instance_class]


@compiled_as(store)
def _store_compiled(column: Any, at: Any, state: Any) -> Callable[..., None]:  # noqa: ARG001 - the same
    return _STORE[column.instance_class]


@kernel
def fold_intervals(rows: Any, first: Integers, last: Integers, front: Any, result: Any) -> None:
    """Combine the rows [first[j], last[j]) into result[j]; `front` is scratch, as long as the widest interval.

    front[i - base] holds the rows [i, split) combined, and `back` the rows [split, taken).
    """
    if len(first) == 0:
        return
    base = split = taken = 0
    back = load(rows, first[0])
    for window in range(len(first)):
        if first[window] >= split:
            base, split = first[window], last[window]
            taken = split
            _stack_front(rows, base, split, front)
        while taken < last[window]:
            state = load(rows, taken)
            back = state if taken == split else combine(back, state)
            taken += 1
        answer = load(front, first[window] - base)
        store(result, window, answer if taken == split else combine(answer, back))


@kernel
def _stack_front(rows: Any, base: int, split: int, front: Any) -> None:
    state = load(rows, split - 1)
    store(front, split - 1 - base, state)
    for row in range(split - 2, base - 1, -1):
        state = combine(load(rows, row), state)
        store(front, row - base, state)
