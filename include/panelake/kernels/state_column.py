"""A column of mergeable states: its operation, its arrays, and which rows are NULL.

Layout by operation: one array of int64 or float64; ADD_I128 (high int64, low uint64); ADD_MOMENTS (count int64,
mean float64, m2 float64). Strings, dates, timestamps and decimals come to MIN and MAX as int64 ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_PRECISION = 38


class Operation(Enum):
    """How two states become one. NULL is the identity of each."""

    ADD_I64 = "add_i64"
    ADD_I128 = "add_i128"
    ADD_F64 = "add_f64"
    ADD_MOMENTS = "add_moments"
    MIN_I64 = "min_i64"
    MAX_I64 = "max_i64"
    MIN_F64 = "min_f64"
    MAX_F64 = "max_f64"


_LAYOUT = {
    Operation.ADD_I64: (np.int64,),
    Operation.ADD_I128: (np.int64, np.uint64),
    Operation.ADD_F64: (np.float64,),
    Operation.ADD_MOMENTS: (np.int64, np.float64, np.float64),
    Operation.MIN_I64: (np.int64,),
    Operation.MAX_I64: (np.int64,),
    Operation.MIN_F64: (np.float64,),
    Operation.MAX_F64: (np.float64,),
}


@dataclass(frozen=True, eq=False)
class StateColumn:
    """States of equally many rows; `valid` is False where a state is NULL, and None where none is.

    What the arrays hold at a NULL means nothing. `precision` bounds the sums of ADD_I128 to so many decimal digits.
    """

    operation: Operation
    arrays: tuple[NDArray[Any], ...]
    valid: NDArray[np.bool_] | None = None
    precision: int = MAX_PRECISION

    def __post_init__(self) -> None:
        expected = tuple(np.dtype(kind) for kind in _LAYOUT[self.operation])
        got = tuple(array.dtype for array in self.arrays)
        if got != expected:
            raise ValueError(f"{self.operation.name} takes arrays of {_names(expected)}; got {_names(got)}")
        lengths = {len(array) for array in (*self.arrays, *(() if self.valid is None else (self.valid,)))}
        if len(lengths) != 1:
            raise ValueError(f"arrays of one column must be equally long; got lengths {sorted(lengths)}")
        if not 1 <= self.precision <= MAX_PRECISION:
            raise ValueError(f"a precision is 1 to {MAX_PRECISION} digits; got {self.precision}")

    def __len__(self) -> int:
        return len(self.arrays[0])


def _names(dtypes: tuple[np.dtype[Any], ...]) -> str:
    return ", ".join(str(dtype) for dtype in dtypes)
