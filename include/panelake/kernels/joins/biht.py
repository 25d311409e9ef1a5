"""BiHT: for each key an n-bit vector that says which windows hold it, with the key's chain and count in each.

Source: T. Kwon, H. Kim, M. Kim, J. Son, "An Advanced Join Algorithm for Multiple Data Streams Using a Bit-vector Hash
Table" (AMJoin, 2009), as the shedding paper uses it: a new tuple can only join if all bits are set after its own. The
slip corrected: a bit is cleared when the *last* tuple of the key leaves that window, which needs the count beside it.

Open addressing on the key with linear probing; a key that no window holds is taken out at once and the gap closed, so
the table holds live keys only. Time: O(1) expected. Space: at most twice the live keys in buckets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.key_index import spread

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]

KEY, VECTOR, CHAINS = 0, 1, 2
HEAD, TAIL, COUNT = range(3)
CHAIN_FIELDS = 3
_NOBODY = -1


class Biht(NamedTuple):
    """buckets[b] is key and entry; entries[e] is key, vector, then head, tail and count for each stream.

    `results[e]` counts the results of the key; the first `spare[0]` of `free` are unused entries.
    """

    buckets: Integers
    entries: Integers
    results: Doubles
    free: Integers
    spare: Integers


def make_biht(keys: int, streams: int) -> Biht:
    """An empty table with room for so many keys."""
    buckets = np.full((1 << (2 * keys - 1).bit_length(), 2), _NOBODY, dtype=np.int64)
    entries = np.empty((keys, CHAINS + CHAIN_FIELDS * streams), dtype=np.int64)
    free = np.arange(keys, dtype=np.int64)[::-1].copy()
    return Biht(buckets, entries, np.zeros(keys), free, np.array([keys], dtype=np.int64))


@part
def chain(stream: int, field: int) -> int:
    """The column of an entry that holds a stream's head, tail or count."""
    return CHAINS + CHAIN_FIELDS * stream + field


@part
def _bucket_of(biht: Biht, key: int) -> int:
    last = len(biht.buckets) - 1
    bucket = spread(key, last + 1)
    while biht.buckets[bucket, 1] != _NOBODY and biht.buckets[bucket, 0] != key:
        bucket = (bucket + 1) & last
    return bucket


@part
def has_spare_entry(biht: Biht) -> bool:
    """Whether there is room for one more key."""
    return bool(biht.spare[0] > 0)


@part
def claim(biht: Biht, key: int) -> int:
    """The key's entry, a fresh one if no window holds the key."""
    bucket = _bucket_of(biht, key)
    if biht.buckets[bucket, 1] != _NOBODY:
        return int(biht.buckets[bucket, 1])
    biht.spare[0] -= 1
    entry = int(biht.free[biht.spare[0]])
    biht.buckets[bucket, 0] = key
    biht.buckets[bucket, 1] = entry
    biht.entries[entry, KEY] = key
    biht.entries[entry, VECTOR] = 0
    biht.results[entry] = 0.0
    for column in range(CHAINS, biht.entries.shape[1], CHAIN_FIELDS):
        biht.entries[entry, column + HEAD] = _NOBODY
        biht.entries[entry, column + TAIL] = _NOBODY
        biht.entries[entry, column + COUNT] = 0
    return entry


@part
def release(biht: Biht, entry: int) -> None:
    """Take a key out and close the gap, so that every search still ends at an unused bucket."""
    biht.free[biht.spare[0]] = entry
    biht.spare[0] += 1
    last = len(biht.buckets) - 1
    gap = _bucket_of(biht, biht.entries[entry, KEY])
    bucket = (gap + 1) & last
    while biht.buckets[bucket, 1] != _NOBODY:
        home = spread(biht.buckets[bucket, 0], last + 1)
        if ((bucket - home) & last) >= ((bucket - gap) & last):
            biht.buckets[gap, 0] = biht.buckets[bucket, 0]
            biht.buckets[gap, 1] = biht.buckets[bucket, 1]
            gap = bucket
        bucket = (bucket + 1) & last
    biht.buckets[gap, 1] = _NOBODY
