"""Which tuple of each stream is a key's newest: open addressing on the key itself, a chain per key and stream.

Source: the hash index of the ring queue paper (see ring_window). The slip corrected: with the paper's 100 buckets a
probe walks strangers; a chain *per key* is where the gain lies. One table serves all streams, so that a probe of seven
other streams is one look, and with up to six streams one cache line: a row holds the key and each stream's head, a ring
position; a head before its ring's front says that the stream holds the key no more. That is the paper's BiHT without a
bit to keep up.

Keys are looked up a block at a time, before any of the block's tuples is joined: looks that wait for memory then wait
together. Time: O(1) expected a look. Space: 1.6 to 5 buckets a key; dead keys leave when the table is made anew, which
is amortised over the keys that came since. Order assumed: none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.aligned import aligned_zeros
from panelake.kernels.joins.compiled import kernel, part
from panelake.kernels.joins.prefetch import fetch

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

KEY, USED, HEADS = 0, 1, 2
MOST_AT_ONCE = 256
_LEAST_BUCKETS = 4 * MOST_AT_ONCE
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: consecutive codes land far apart
_FOLD = np.uint64(32)
_ONE = np.uint64(1)


class KeyIndex(NamedTuple):
    """buckets[b] is key, whether used, then the head of each stream; `used` counts them, dead keys included.

    `found` are the buckets of the block in hand.
    """

    buckets: Integers
    used: Integers
    found: Words


def make_index(keys: int, streams: int) -> KeyIndex:
    """An empty index that so many keys and a block fill to half at most."""
    size = max(_LEAST_BUCKETS, 1 << (5 * keys // 2 + 2 * MOST_AT_ONCE).bit_length())
    width = 1 << (HEADS + streams - 1).bit_length()
    return KeyIndex(aligned_zeros(size, width), np.zeros(1, dtype=np.int64), np.empty(MOST_AT_ONCE, dtype=np.uint64))


def without_dead_keys(index: KeyIndex, front: Integers) -> KeyIndex:
    """The keys that some stream still holds, with room for as many again."""
    fresh = make_index(_alive(index, front), len(front))
    _move_alive(index, front, fresh)
    return fresh


@kernel
def _alive(index: KeyIndex, front: Integers) -> int:
    alive = 0
    for bucket in range(len(index.buckets)):
        alive += _is_alive(index, front, bucket)
    return alive


@kernel
def _move_alive(index: KeyIndex, front: Integers, fresh: KeyIndex) -> None:
    for bucket in range(len(index.buckets)):
        if _is_alive(index, front, bucket):
            there = claim(fresh, index.buckets[bucket, KEY])
            for stream in range(len(front)):
                fresh.buckets[there, HEADS + stream] = index.buckets[bucket, HEADS + stream]


@part
def _is_alive(index: KeyIndex, front: Integers, bucket: int) -> bool:
    """Whether some stream holds the bucket's key; an unused bucket has heads that come before any position."""
    alive = False
    for stream in range(len(front)):
        alive |= index.buckets[bucket, HEADS + stream] >= front[stream]
    return alive


@part
def spread(index: KeyIndex, key: int) -> np.uint64:
    """The bucket where a key's search begins."""
    word = np.uint64(key)
    word = (word ^ (word >> _FOLD)) * _SPREAD
    return (word >> _FOLD) & np.uint64(len(index.buckets) - 1)


@part
def claim(index: KeyIndex, key: int) -> np.uint64:
    """The key's bucket, made its own if it is new."""
    buckets = index.buckets
    mask = np.uint64(len(buckets) - 1)
    bucket = spread(index, key)
    while buckets[bucket, USED] == 1 and buckets[bucket, KEY] != key:
        bucket = (bucket + _ONE) & mask
    if buckets[bucket, USED] == 0:
        buckets[bucket, USED] = 1
        buckets[bucket, KEY] = key
        index.used[0] += 1
    return bucket


@part
def claim_all(index: KeyIndex, keys: Integers, first: int, last: int) -> None:
    """The buckets of some rows' keys, at most MOST_AT_ONCE, into `found`."""
    block = keys[first:last]
    for nth in range(len(block)):
        fetch(index.buckets, spread(index, block[nth]))
    for nth in range(len(block)):
        index.found[nth] = claim(index, block[nth])


@part
def has_room_for(index: KeyIndex, keys: int) -> bool:
    """Whether so many new keys leave it at most five eighths full: searches stay short up to there."""
    return bool(8 * (index.used[0] + keys) <= 5 * len(index.buckets))
