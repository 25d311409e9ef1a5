"""The naive twin of `slide_windows`: each window recomputed from all its pane rows, in exact arithmetic.

Time O(windows x rows), every k of the range visited; the oracle of the tests and the rival of the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.sliding import Overflow, WindowStates
from panelake.kernels.state_column import Operation, StateColumn
from panelake.kernels.window_spec import WindowSpec

Integers = NDArray[np.int64]
Row = tuple[Any, ...]

_WORD = 2**64


def recompute_windows(
    group: Integers, position: Integers, columns: Sequence[StateColumn], window: WindowSpec, ks: range
) -> WindowStates:
    """The same rows as `slide_windows`; doubles as close to the truth as doubles can be."""
    held = [
        (number, k, rows)
        for number in np.unique(group).tolist()
        for k in ks
        if len(rows := _rows_inside(group, position, number, window, k))
    ]
    answers = [[_recompute(column, rows) for _, _, rows in held] for column in columns]
    overflows = (_overflow(number, column, held) for number, column in enumerate(answers))
    return WindowStates(
        np.array([number for number, _, _ in held], dtype=np.int64),
        np.array([k for _, k, _ in held], dtype=np.int64),
        tuple(_as_column(column, answer) for column, answer in zip(columns, answers, strict=True)),
        tuple(overflow for overflow in overflows if overflow is not None),
    )


def _rows_inside(group: Integers, position: Integers, number: int, window: WindowSpec, k: int) -> Integers:
    inside = (group == number) & (position >= window.start(k)) & (position < window.end(k))
    return np.flatnonzero(inside)


def _recompute(column: StateColumn, rows: Integers) -> Row | None:
    """The window's state; None if all rows are NULL; an empty one if it overflowed."""
    valid = [row for row in rows.tolist() if column.valid is None or column.valid[row]]
    if not valid:
        return None
    if column.operation is Operation.ADD_I128:
        return _add_decimals([(int(column.arrays[0][row]), int(column.arrays[1][row])) for row in valid], column)
    states = [tuple(array[row].item() for array in column.arrays) for row in valid]
    return _EXACT[column.operation](states)


def _add_integers(states: list[Row]) -> Row:
    total = sum(value for (value,) in states)
    return (total,) if -(2**63) <= total < 2**63 else ()


def _add_decimals(states: list[Row], column: StateColumn) -> Row:
    total = sum(high * _WORD + low for high, low in states)
    return divmod(total, _WORD) if abs(total) < 10**column.precision else ()


def _add_doubles(states: list[Row]) -> Row:
    values = [value for (value,) in states]
    return (math.fsum(values) if all(map(math.isfinite, values)) else sum(values),)


def _add_moments(states: list[Row]) -> Row:
    exact = [(Fraction(count), Fraction(mean), Fraction(m2)) for count, mean, m2 in states if count]
    if not exact:
        return (0, 0.0, 0.0)
    count = sum(count for count, _, _ in exact)
    mean = sum(count * mean for count, mean, _ in exact) / count
    m2 = sum(m2 + part * (centre - mean) ** 2 for part, centre, m2 in exact)
    return (int(count), float(mean), float(m2))


def _in_spark_order(state: Row) -> tuple[bool, Any]:
    (value,) = state
    return (True, 0) if math.isnan(value) else (False, value)


_EXACT: dict[Operation, Callable[[list[Row]], Row]] = {
    Operation.ADD_I64: _add_integers,
    Operation.ADD_F64: _add_doubles,
    Operation.ADD_MOMENTS: _add_moments,
    Operation.MIN_I64: min,
    Operation.MAX_I64: max,
    Operation.MIN_F64: lambda states: min(states, key=_in_spark_order),
    Operation.MAX_F64: lambda states: max(states, key=_in_spark_order),
}


def _as_column(column: StateColumn, answers: list[Row | None]) -> StateColumn:
    nothing = (0,) * len(column.arrays)
    parts = list(zip(*(answer or nothing for answer in answers), strict=True)) or [()] * len(column.arrays)
    arrays = tuple(np.array(part, dtype=array.dtype) for part, array in zip(parts, column.arrays, strict=True))
    valid = np.array([bool(answer) for answer in answers], dtype=np.bool_)
    return StateColumn(column.operation, arrays, valid, column.precision)


def _overflow(number: int, answers: list[Row | None], held: list[tuple[int, int, Integers]]) -> Overflow | None:
    overflowed = [at for at, answer in enumerate(answers) if answer == ()]
    if not overflowed:
        return None
    group, k, _ = held[overflowed[0]]
    return Overflow(number, group, k, len(overflowed))
