"""Exact sums of integers over sliding windows: rows are added as they enter and subtracted as they leave.

Source: "subtract on evict", as in Tangwongsan, Hirzel, Schneider (2021). Integers may be subtracted, for nothing is
rounded: sums are kept in 192 bits, which 2^64 rows of 128 bits cannot exceed, so a partial sum never overflows and a
window is refused only if its own sum does not fit, in whichever order its rows come.

Time: at most 1 addition and 1 subtraction a row, none a window. Space: O(1). Order assumed: intervals whose ends never
decrease. A 128-bit integer is a pair: high (int64) and low (uint64), value = high·2^64 + low.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.compiled import kernel

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]

INT64_BOUNDS = (-(2**63), 2**63 - 1)


class WideSums(NamedTuple):
    """128-bit sums, and which of them are out of bounds: what `high` and `low` hold there means nothing."""

    high: Integers
    low: Words
    overflowed: Mask


def decimal_bounds(precision: int) -> tuple[int, int]:
    """The least and greatest unscaled value of a decimal of so many digits."""
    return 1 - 10**precision, 10**precision - 1


def sum_intervals(high: Integers, low: Words, first: Integers, last: Integers, bounds: tuple[int, int]) -> WideSums:
    """Sums of the rows [first[j], last[j]), each compared with bounds that lie within 128 bits."""
    top, middle, bottom = np.empty((3, len(first)), dtype=np.uint64)
    _slide_sums((high.view(np.uint64), low), first, last, (top, middle, bottom))
    return _checked(top.view(np.int64), middle.view(np.int64), bottom, bounds)


def _checked(top: Integers, high: Integers, low: Words, bounds: tuple[int, int]) -> WideSums:
    least, greatest = bounds
    within_128_bits = top == high >> 63
    inside = within_128_bits & ~_below(high, low, least) & _below(high, low, greatest + 1)
    return WideSums(high, low, ~inside)


def _below(high: Integers, low: Words, limit: int) -> Mask:
    limit_high, limit_low = limit >> 64, np.uint64(limit & (2**64 - 1))
    below: Mask = (high < limit_high) | ((high == limit_high) & (low < limit_low))
    return below


@kernel
def _slide_sums(rows: tuple[Words, Words], first: Integers, last: Integers, sums: tuple[Words, Words, Words]) -> None:
    high, low = rows
    zero, one = np.uint64(0), np.uint64(1)
    total = (zero, zero, zero)
    added = removed = 0
    for window in range(len(first)):
        if first[window] >= added:
            total = (zero, zero, zero)
            added = removed = first[window]
        while added < last[window]:
            total = _plus(total, high[added], low[added], zero)
            added += 1
        while removed < first[window]:
            total = _plus(total, ~high[removed], ~low[removed], one)
            removed += 1
        sums[0][window], sums[1][window], sums[2][window] = total


@kernel
def _plus(
    total: tuple[np.uint64, np.uint64, np.uint64], high: np.uint64, low: np.uint64, carry: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """192 bits plus a sign-extended 128-bit integer plus a carry; -x is the complement of x plus a carry of 1."""
    sign = np.uint64(0) - (high >> np.uint64(63))
    bottom, carry = _plus_word(total[2], low, carry)
    middle, carry = _plus_word(total[1], high, carry)
    top, _ = _plus_word(total[0], sign, carry)
    return top, middle, bottom


@kernel
def _plus_word(left: np.uint64, right: np.uint64, carry: np.uint64) -> tuple[np.uint64, np.uint64]:
    partial = left + right
    word = partial + carry
    return word, np.uint64(partial < right) | np.uint64(word < carry)
