"""The bridge between Arrow columns of states and the sliding kernels' arrays, both ways.

Numbers go as they are; strings, binaries and decimals under min and max go as ranks among their own values, since a
kernel knows only numbers; decimal sums go as 128-bit integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from panelake.aggregates import State
from panelake.kernels.state_column import Operation, StateColumn

Decoder = Callable[[StateColumn], pa.Array]
_WORDS = 2  # a decimal128 is two 64-bit words, the lower first


@dataclass(frozen=True)
class Encoded:
    """A state column as a kernel takes it, and the way back."""

    column: StateColumn
    decode: Decoder


def encode(values: pa.Array, state: State) -> Encoded:
    """One Arrow column of states for the kernel."""
    kind = values.type
    if state.fold == "add":
        return _sum(values)
    if pa.types.is_floating(kind):
        return _plain(values, Operation.MIN_F64 if state.fold == "min" else Operation.MAX_F64, pa.float64())
    operation = Operation.MIN_I64 if state.fold == "min" else Operation.MAX_I64
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _plain(values, operation, pa.int64())
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _instants(values, operation)
    return _ranks(values, operation)


def encode_moments(count: pa.Array, mean: pa.Array, squares: pa.Array) -> StateColumn:
    """Count, mean and squared distances as one state; a group without values is the identity."""
    arrays = (_filled(count, pa.int64()), _filled(mean, pa.float64()), _filled(squares, pa.float64()))
    return StateColumn(Operation.ADD_MOMENTS, arrays, _valid(mean))


def decode_moments(column: StateColumn) -> tuple[pa.Array, pa.Array]:
    """Mean and squared distances of each window."""
    mask = None if column.valid is None else ~column.valid
    return pa.array(column.arrays[1], mask=mask), pa.array(column.arrays[2], mask=mask)


def _sum(values: pa.Array) -> Encoded:
    if pa.types.is_decimal(values.type):
        return _decimal_sum(values)
    floating = pa.types.is_floating(values.type)
    return _plain(
        values, Operation.ADD_F64 if floating else Operation.ADD_I64, pa.float64() if floating else pa.int64()
    )


def _plain(values: pa.Array, operation: Operation, inside: pa.DataType) -> Encoded:
    column = StateColumn(operation, (_filled(values, inside),), _valid(values))
    return Encoded(column, lambda done: _masked(done.arrays[0], done).cast(values.type))


def _instants(values: pa.Array, operation: Operation) -> Encoded:
    width = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
    column = StateColumn(operation, (_filled(values.view(width), pa.int64()),), _valid(values))
    return Encoded(column, lambda done: _masked(done.arrays[0], done).cast(width).view(values.type))


def _ranks(values: pa.Array, operation: Operation) -> Encoded:
    """Distinct values in ascending order, so that a rank compares as its value does; text compares by its bytes."""
    distinct = pc.unique(values.drop_null())
    distinct = distinct.take(pc.sort_indices(distinct))
    ranks = pc.index_in(values, value_set=distinct)
    column = StateColumn(operation, (_filled(ranks, pa.int64()),), _valid(values))
    return Encoded(column, lambda done: distinct.take(_masked(done.arrays[0], done)))


def _decimal_sum(values: pa.Array) -> Encoded:
    kind = values.type
    words = np.frombuffer(values.buffers()[1], np.uint64).reshape(-1, _WORDS)
    mine = words[values.offset : values.offset + len(values)]
    high, low = mine[:, 1].view(np.int64), mine[:, 0]
    arrays = (np.ascontiguousarray(high), np.ascontiguousarray(low))
    column = StateColumn(Operation.ADD_I128, arrays, _valid(values), kind.precision)
    return Encoded(column, lambda done: _decimals(done, kind))


def _decimals(done: StateColumn, kind: pa.Decimal128Type) -> pa.Array:
    high, low = done.arrays
    words = np.column_stack((low, high.view(np.uint64)))
    validity = None if done.valid is None else pa.array(done.valid).buffers()[1]
    return pa.Array.from_buffers(kind, len(done), [validity, pa.py_buffer(np.ascontiguousarray(words))])


def _masked(array: NDArray[np.generic], done: StateColumn) -> pa.Array:
    return pa.array(array, mask=None if done.valid is None else ~done.valid)


def _filled(values: pa.Array, kind: pa.DataType) -> NDArray[np.generic]:
    plain = values.cast(kind) if values.type != kind else values
    zero = pa.scalar(0, kind)
    filled: NDArray[np.generic] = plain.fill_null(zero).to_numpy(zero_copy_only=False)
    return filled


def _valid(values: pa.Array) -> NDArray[np.bool_] | None:
    if values.null_count == 0:
        return None
    valid: NDArray[np.bool_] = values.is_valid().to_numpy(zero_copy_only=False)
    return valid
