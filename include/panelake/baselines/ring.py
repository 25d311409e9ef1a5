"""Rows numbered for ever, of which the newest are held: what every baseline keeps its state in.

Row p lies at p modulo the capacity, a power of two. Bytes held are those of live rows: room kept for later ones is a
matter of allocation and would favour whoever guesses best.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST = 64


class Ring:
    """Rows [base, end) of one type, each of `width` items."""

    def __init__(self, dtype: Any, width: int | None = None) -> None:
        self._shape = () if width is None else (width,)
        self.array: NDArray[Any] = np.empty((_LEAST, *self._shape), dtype)
        self.base = 0
        self.end = 0

    @property
    def nbytes(self) -> int:
        return (self.end - self.base) * (self.array.nbytes // len(self.array))

    def reserve(self, count: int) -> None:
        """Room for so many rows more."""
        needed = self.end - self.base + count
        if needed <= len(self.array):
            return
        capacity = 1 << (needed - 1).bit_length()
        grown = np.empty((capacity, *self._shape), self.array.dtype)
        rows = np.arange(self.base, self.end)
        grown[rows & (capacity - 1)] = self.array[rows & (len(self.array) - 1)]
        self.array = grown

    def append(self, rows: NDArray[Any]) -> None:
        self.reserve(len(rows))
        places = np.arange(self.end, self.end + len(rows)) & (len(self.array) - 1)
        self.array[places] = rows
        self.end += len(rows)

    def rows(self) -> NDArray[Any]:
        """The live rows in order, copied."""
        found: NDArray[Any] = self.array[np.arange(self.base, self.end) & (len(self.array) - 1)]
        return found

    def drop_before(self, row: int) -> None:
        self.base = min(max(self.base, row), self.end)

    def restart(self, row: int) -> None:
        """Nothing held, the next row being this one."""
        self.base = self.end = row
