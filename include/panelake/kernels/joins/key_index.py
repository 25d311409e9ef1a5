"""Which tuple of each stream is a key's newest: open addressing on the key itself, a chain per key and stream.

Source: the hash index of the ring queue paper (see ring_window). The slip corrected: with the paper's 100 buckets a
probe walks strangers; a chain *per key* is where the gain lies. One table serves all streams, so that a probe of seven
other streams is one look: a row holds the key and each stream's head, a ring position; a head before its ring's front
says that the stream holds the key no more. That is the paper's BiHT without a bit to keep up.

Time: O(1) expected a look. Space: 1.6 to 5 buckets a key; dead keys leave when the table is made anew, which is
amortised over the keys that came since. Order assumed: none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.compiled import kernel, part

Integers = NDArray[np.int64]

KEY, USED, HEADS = 0, 1, 2
_LEAST_BUCKETS = 64
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: consecutive codes land far apart
_FOLD = np.uint64(32)


class KeyIndex(NamedTuple):
    """buckets[b] is key, whether used, then the head of each stream; `used` counts them, dead keys included."""

    buckets: Integers
    used: Integers


def make_index(keys: int, streams: int) -> KeyIndex:
    """An empty index that so many keys fill to two fifths at most."""
    size = max(_LEAST_BUCKETS, 1 << (5 * keys // 2).bit_length())
    buckets = np.full((size, HEADS + streams), -1, dtype=np.int64)
    buckets[:, USED] = 0
    return KeyIndex(buckets, np.zeros(1, dtype=np.int64))


def without_dead_keys(index: KeyIndex, front: Integers) -> KeyIndex:
    """The keys that some stream still holds, with room for as many again."""
    buckets = index.buckets
    alive = buckets[(buckets[:, USED] == 1) & (buckets[:, HEADS:] >= front).any(axis=1)]
    fresh = make_index(len(alive), len(front))
    _insert_all(fresh, alive)
    return fresh


@kernel
def _insert_all(index: KeyIndex, rows: Integers) -> None:
    for row in range(len(rows)):
        bucket = find(index, rows[row, KEY])
        for field in range(rows.shape[1]):
            index.buckets[bucket, field] = rows[row, field]
        index.used[0] += 1


@part
def spread(key: int, size: int) -> int:
    """The bucket where a key's search begins, in a table whose size is a power of two."""
    word = np.uint64(key)
    word = (word ^ (word >> _FOLD)) * _SPREAD
    return int(np.int64((word >> _FOLD) & np.uint64(size - 1)))


@part
def find(index: KeyIndex, key: int) -> int:
    """The key's bucket, or the unused one where it belongs."""
    last = len(index.buckets) - 1
    bucket = spread(key, last + 1)
    while index.buckets[bucket, USED] == 1 and index.buckets[bucket, KEY] != key:
        bucket = (bucket + 1) & last
    return bucket


@part
def is_filled(index: KeyIndex) -> bool:
    """Whether it must be made anew before the next key: searches stay short up to five eighths."""
    return bool(8 * index.used[0] >= 5 * len(index.buckets))


@part
def claim(index: KeyIndex, key: int) -> int:
    """The key's bucket, made its own if it is new."""
    bucket = find(index, key)
    if index.buckets[bucket, USED] == 0:
        index.buckets[bucket, USED] = 1
        index.buckets[bucket, KEY] = key
        index.used[0] += 1
    return bucket
