"""Arrays of rows that begin where a cache line does, so that a row of 64 bytes is one look into memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LINE = 64


def aligned_zeros(rows: int, width: int) -> NDArray[np.int64]:
    """An array of rows × width 64-bit integers."""
    wanted = rows * width * 8
    memory = np.zeros(wanted + _LINE, dtype=np.uint8)
    skipped = -memory.ctypes.data % _LINE
    return memory[skipped : skipped + wanted].view(np.int64).reshape(rows, width)
