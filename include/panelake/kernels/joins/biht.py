"""BiHT: for each key an n-bit vector that says which windows hold it, with the key's chain and count in each.

Source: T. Kwon, H. Kim, M. Kim, J. Son, "An Advanced Join Algorithm for Multiple Data Streams Using a Bit-vector Hash
Table" (AMJoin, 2009), as the shedding paper uses it: a new tuple can only join if all bits are set after its own. The
slip corrected: a bit is cleared when the *last* tuple of the key leaves that window, which needs the count beside it.

Open addressing with linear probing over words of hash and entry, eight a cache line; a key's entry is one line with up
to six streams. A key that no window holds is taken out at once and the gap closed, so the table holds live keys only.
Keys are looked at a block at a time before they are worked on, so that looks that wait for memory wait together.
Time: O(1) expected. Space: at most twice the live keys in buckets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.aligned import aligned_zeros
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.hashing import hash_of, mix
from panelake.kernels.joins.prefetch import fetch

Integers = NDArray[np.int64]
Halves = NDArray[np.int32]
Words = NDArray[np.uint64]
Doubles = NDArray[np.float64]

KEY = 0
VECTOR, CONTROL, CHAINS = 2, 3, 4  # in halves
NOBODY = -1
MOST_AT_ONCE = 256
_HASH = np.uint64(0xFFFFFFFF00000000)
_ENTRY = np.uint64(0x00000000FFFFFFFF)
_UNUSED = np.uint64(0)
_ONE = np.uint64(1)
_HALF = np.uint64(32)
CONTROL_SHARE = 16  # one key in so many, a power of two


class Biht(NamedTuple):
    """A bucket is a hash and 1 + entry, or 0; an entry is key, vector, control group or not, head and count by stream.

    `words[e]` and `halves[e]` are the same memory. `results[e]` counts the results of the key; the first `spare[0]` of
    `free` are unused entries. `hashes` are those of the block in hand.
    """

    buckets: Words
    words: Integers
    halves: Halves
    results: Doubles
    free: Integers
    spare: Integers
    hashes: Words


def make_biht(keys: int, streams: int) -> Biht:
    """An empty table with room for so many keys."""
    buckets = np.zeros(1 << (2 * keys - 1).bit_length(), dtype=np.uint64)
    words = aligned_zeros(keys, 1 << (CHAINS // 2 + streams - 1).bit_length())
    free = np.arange(keys, dtype=np.int64)[::-1].copy()
    spare = np.array([keys], dtype=np.int64)
    return Biht(
        buckets, words, words.view(np.int32), np.zeros(keys), free, spare, np.empty(MOST_AT_ONCE, dtype=np.uint64)
    )


@part
def head_of(stream: int) -> int:
    """The column of `halves` that holds a stream's newest tuple of the key."""
    return CHAINS + 2 * stream


@part
def count_of(stream: int) -> int:
    """The column of `halves` that holds how many tuples of the key a stream has."""
    return CHAINS + 2 * stream + 1


@part
def look_at(biht: Biht, keys: Integers, first: int, last: int) -> None:
    """The hashes of some rows' keys, at most MOST_AT_ONCE; their buckets and entries are near from now on."""
    block = keys[first:last]
    mask = np.uint64(len(biht.buckets) - 1)
    for nth in range(len(block)):
        biht.hashes[nth] = hash_of(block[nth])
        fetch(biht.buckets, (biht.hashes[nth] >> _HALF) & mask)
    for nth in range(len(block)):
        fetch(biht.words, (biht.buckets[(biht.hashes[nth] >> _HALF) & mask] & _ENTRY) - _ONE)


@part
def seen(biht: Biht, nth: int) -> np.uint64:
    """The entry that a key just looked at has, if there is one and its bucket is where its search begins."""
    bucket = biht.buckets[(biht.hashes[nth] >> _HALF) & np.uint64(len(biht.buckets) - 1)]
    return np.uint64(max(bucket & _ENTRY, _ONE) - _ONE)


@part
def _find(biht: Biht, hashed: np.uint64, key: int) -> np.uint64:
    """The key's bucket, or the unused one where it belongs."""
    mask = np.uint64(len(biht.buckets) - 1)
    place = (hashed >> _HALF) & mask
    while biht.buckets[place] != _UNUSED:
        bucket = biht.buckets[place]
        if (bucket ^ hashed) & _HASH == _UNUSED and biht.words[(bucket & _ENTRY) - _ONE, KEY] == key:
            break
        place = (place + _ONE) & mask
    return place


@part
def claim(biht: Biht, hashed: np.uint64, key: int) -> int:
    """The key's entry, a fresh one if no window holds the key."""
    place = _find(biht, hashed, key)
    if biht.buckets[place] != _UNUSED:
        return int(np.int64((biht.buckets[place] & _ENTRY) - _ONE))
    biht.spare[0] -= 1
    entry = int(biht.free[biht.spare[0]])
    biht.buckets[place] = (hashed & _HASH) | np.uint64(entry + 1)
    biht.words[entry, KEY] = key
    biht.halves[entry, VECTOR] = 0
    biht.halves[entry, CONTROL] = int(mix(np.uint64(key)) & np.uint64(CONTROL_SHARE - 1) == _UNUSED)
    biht.results[entry] = 0.0
    for column in range(CHAINS, biht.halves.shape[1], 2):
        biht.halves[entry, column] = NOBODY
        biht.halves[entry, column + 1] = 0
    return entry


@part
def release(biht: Biht, entry: int) -> None:
    """Take a key out and close the gap, so that every search still ends at an unused bucket."""
    biht.free[biht.spare[0]] = entry
    biht.spare[0] += 1
    mask = np.uint64(len(biht.buckets) - 1)
    wanted = np.uint64(entry + 1)
    gap = (hash_of(biht.words[entry, KEY]) >> _HALF) & mask
    while biht.buckets[gap] & _ENTRY != wanted:
        gap = (gap + _ONE) & mask
    place = (gap + _ONE) & mask
    while biht.buckets[place] != _UNUSED:
        home = (biht.buckets[place] >> _HALF) & mask
        if ((place - home) & mask) >= ((place - gap) & mask):
            biht.buckets[gap] = biht.buckets[place]
            gap = place
        place = (place + _ONE) & mask
    biht.buckets[gap] = _UNUSED
