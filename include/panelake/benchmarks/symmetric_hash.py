"""The symmetric hash join: a table of 100 buckets a stream, chains of strangers, nothing ever taken out.

The rival of the ring queue's paper, kept simple: each newcomer walks its bucket of the other table back to the oldest
tuple that its window may hold.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

Integers = NDArray[np.int64]
_BUCKETS = 100


def symmetric_hash_results(rows: pa.Table, extent: int, slide: int) -> int:
    """How many results two streams have."""
    columns = [np.asarray(rows[name].to_numpy(), np.int64) for name in ("_ts", "_stream", "_key")]
    return int(_count(*columns, extent, slide))


@njit  # type: ignore[untyped-decorator]  # numba is untyped
def _count(ts: Integers, stream: Integers, key: Integers, extent: int, slide: int) -> int:
    heads = np.full((2, _BUCKETS), -1, np.int64)
    older = np.empty(len(ts), np.int64)
    found = 0
    for row in range(len(ts)):
        bucket = key[row] % _BUCKETS
        bound = (ts[row] // slide + 1) * slide - extent
        at = heads[1 - stream[row], bucket]
        while at >= 0 and ts[at] >= bound:
            if key[at] == key[row]:
                found += 1
            at = older[at]
        older[row] = heads[stream[row], bucket]
        heads[stream[row], bucket] = row
    return found
