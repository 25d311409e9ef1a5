"""A sample of keys that are joined without shedding, by counting alone: how many results there would have been.

Source: our own. Productivity cannot say what shedding cost: shed tuples stop producing, so what they would have brought
is starved out of it. Here keys are sampled by hash; of a sampled key every tuple is remembered by its time and counted
by stream, shed or not, so that the results it would have are a product of counts. What was found of the sampled keys'
results is held against that. A ring that is full makes the sample half as large (a bit more of the hash must be zero),
and what is counted from then on weighs twice: so few keys are all sampled, and then nothing is estimated.

Time: O(n) a sampled tuple, nothing for others. Space: a quarter of the memory in tuples of 16 bytes, at most 16,384 a
stream, and their keys. Order assumed: tuples of a stream arrive in event-time order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.arrivals import Arrivals
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.hashing import hash_of

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]

LEAST_TUPLES, MOST_TUPLES = 512, 16_384
LEVEL, ROWS_USED = range(2)
TRUE, FOUND = range(2)
_USED, _KEY, _COUNTS = 0, 1, 2
_HIGHEST_LEVEL = 24
_HALF = np.uint64(32)
_ONE = np.uint64(1)


class KeySample(NamedTuple):
    """Rings of time and key of the sampled tuples, by stream; `rows` are used, key, and count for each stream.

    `state` is the level (bits of the hash that must be zero) and how many rows are used; `sums`, results there would
    have been and results found, both for all keys.
    """

    ts: Integers
    key: Integers
    front: Integers
    rear: Integers
    rows: Integers
    state: Integers
    sums: Doubles


def make_sample(streams: int, memory: int) -> KeySample:
    """Nothing seen yet, all keys sampled."""
    tuples = min(max(memory // 4, LEAST_TUPLES), MOST_TUPLES)
    ts, key = np.empty((2, streams, tuples), dtype=np.int64)
    front, rear = np.zeros((2, streams), dtype=np.int64)
    rows = np.zeros((1 << (2 * streams * tuples).bit_length(), _COUNTS + streams), dtype=np.int64)
    return KeySample(ts, key, front, rear, rows, np.zeros(2, dtype=np.int64), np.zeros(2))


@part
def is_sampled(sample: KeySample, hashed: np.uint64) -> bool:
    """Whether the key with this hash is in the sample."""
    return bool(hashed & ((_ONE << np.uint64(sample.state[LEVEL])) - _ONE) == np.uint64(0))


@part
def note_sampled(sample: KeySample, batch: Arrivals, row: int, hashed: np.uint64, found: float) -> None:
    """Take in a tuple of a sampled key that has so many results with what is held."""
    ts, stream, key = batch.ts[row], batch.stream[row], batch.key[row]
    while sample.rear[stream] - sample.front[stream] == sample.ts.shape[1]:
        if sample.state[LEVEL] == _HIGHEST_LEVEL:
            return
        sample.state[LEVEL] += 1
        _thin(sample)
        if not is_sampled(sample, hashed):
            return
    if 8 * sample.state[ROWS_USED] >= 5 * len(sample.rows):
        count_anew(sample)
    row = _row_of(sample, hashed, key)
    results = 1.0
    for other in range(len(sample.front)):
        if other != stream:
            results *= sample.rows[row, _COUNTS + other]
    sample.rows[row, _COUNTS + stream] += 1
    place = sample.rear[stream] % sample.ts.shape[1]
    sample.ts[stream, place] = ts
    sample.key[stream, place] = key
    sample.rear[stream] += 1
    weight = float(1 << sample.state[LEVEL])
    sample.sums[TRUE] += weight * results
    sample.sums[FOUND] += weight * found


@part
def slide_sample(sample: KeySample, stream: int, bound: int) -> None:
    """A period ends: what is older than the bound counts no more."""
    tuples = sample.ts.shape[1]
    front = sample.front[stream]
    while front < sample.rear[stream] and sample.ts[stream, front % tuples] < bound:
        key = sample.key[stream, front % tuples]
        sample.rows[_row_of(sample, hash_of(key), key), _COUNTS + stream] -= 1
        front += 1
    sample.front[stream] = front


@part
def _row_of(sample: KeySample, hashed: np.uint64, key: int) -> int:
    mask = len(sample.rows) - 1
    row = int(np.int64(hashed >> _HALF)) & mask
    while sample.rows[row, _USED] == 1 and sample.rows[row, _KEY] != key:
        row = (row + 1) & mask
    if sample.rows[row, _USED] == 0:
        sample.rows[row, _USED] = 1
        sample.rows[row, _KEY] = key
        sample.state[ROWS_USED] += 1
    return row


@part
def _thin(sample: KeySample) -> None:
    """Let go the tuples whose keys are in the sample no more."""
    tuples = sample.ts.shape[1]
    for stream in range(len(sample.front)):
        kept = sample.front[stream]
        for position in range(sample.front[stream], sample.rear[stream]):
            key = sample.key[stream, position % tuples]
            if is_sampled(sample, hash_of(key)):
                sample.ts[stream, kept % tuples] = sample.ts[stream, position % tuples]
                sample.key[stream, kept % tuples] = key
                kept += 1
        sample.rear[stream] = kept
    count_anew(sample)


@part
def count_anew(sample: KeySample) -> None:
    """Make the rows anew from the rings: keys without tuples go."""
    for row in range(len(sample.rows)):
        for column in range(sample.rows.shape[1]):
            sample.rows[row, column] = 0
    sample.state[ROWS_USED] = 0
    for stream in range(len(sample.front)):
        for position in range(sample.front[stream], sample.rear[stream]):
            key = sample.key[stream, position % sample.ts.shape[1]]
            sample.rows[_row_of(sample, hash_of(key), key), _COUNTS + stream] += 1


def saved_sample(sample: KeySample) -> dict[str, NDArray[np.int64]]:
    """The sampled tuples by stream and age, as plain arrays; the sums are saved with what has been learnt."""
    held = sample.rear - sample.front
    places = [np.arange(sample.front[one], sample.rear[one]) % sample.ts.shape[1] for one in range(len(held))]
    ts, key = (np.concatenate([have[one, at] for one, at in enumerate(places)]) for have in (sample.ts, sample.key))
    return {"sampled_held": held, "sampled_ts": ts, "sampled_key": key, "sampled_level": sample.state[:1].copy()}


def resume_sample(sample: KeySample, saved: dict[str, NDArray[np.int64]]) -> None:
    """Fill an empty sample; its rows remain to be counted."""
    sample.rear[:], sample.state[LEVEL] = saved["sampled_held"], saved["sampled_level"][0]
    cuts = np.cumsum(sample.rear)[:-1]
    for column, name in ((sample.ts, "sampled_ts"), (sample.key, "sampled_key")):
        for stream, mine in enumerate(np.split(saved[name], cuts)):
            column[stream, : len(mine)] = mine
