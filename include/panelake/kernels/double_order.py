"""Doubles as integers of the same order, Spark's: -∞ < … < -0.0 = 0.0 < … < ∞ < NaN, all NaN equal.

IEEE 754 bits already ascend for positive doubles; for negative ones all bits but the sign are flipped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ALL_BUT_SIGN = np.int64(2**63 - 1)


def to_ordered(doubles: NDArray[np.float64]) -> NDArray[np.int64]:
    """Integers that compare as the doubles do; equal doubles have one integer."""
    positive_zero = doubles + 0.0
    return _flip(np.where(np.isnan(doubles), np.nan, positive_zero).view(np.int64))


def from_ordered(ordered: NDArray[np.int64]) -> NDArray[np.float64]:
    """The doubles again, zero and NaN with a positive sign."""
    return _flip(ordered).view(np.float64)


def _flip(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    flipped: NDArray[np.int64] = bits ^ ((bits >> 63) & _ALL_BUT_SIGN)
    return flipped
