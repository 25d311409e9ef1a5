"""The windows of a join without memory limit: one ring queue a stream.

Source: 김상기 외, "DSMS 에서 환형 큐 버퍼 기반의 해시 색인을 이용한 조인 기법"
(joining by a hash index on a ring queue). Three pointers count positions that never wrap: `rear` (next free place),
`border` (the paper's *range*: where the tuples of the current period begin; moves by SLIDE) and `front` (oldest tuple
still within RANGE; all before it is gone). Each tuple points at the previous one with its key: the chain. Nothing is
ever moved; a chain ends at the first position before front. The slip corrected: the paper leaves open what building
chains costs; it is one store a tuple.

Time: insert and expiry O(1) amortised. Space: at most twice the fullest window, a power of two for each stream.
Order assumed: tuples of a stream arrive in event-time order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.arrivals import Arrivals
from panelake.kernels.joins.compiled import part

Integers = NDArray[np.int64]

TS, KEY, ID, OLDER = range(4)
_FIELDS = 4
LEAST_PLACES = 64


class Rings(NamedTuple):
    """All streams' rings in one array; position p of stream i lies at base[i] + (p & mask[i])."""

    tuples: Integers
    base: Integers
    mask: Integers
    front: Integers
    border: Integers
    rear: Integers


def make_rings(places: list[int]) -> Rings:
    """Empty rings with so many places each, powers of two."""
    base = np.cumsum([0, *places[:-1]], dtype=np.int64)
    front, border, rear = np.zeros((3, len(places)), dtype=np.int64)
    return Rings(
        np.empty((sum(places), _FIELDS), dtype=np.int64),
        base,
        np.array(places, dtype=np.int64) - 1,
        front,
        border,
        rear,
    )


def with_more_places(rings: Rings, stream: int) -> Rings:
    """The same tuples at the same positions, with twice the places for one stream."""
    places = (rings.mask + 1).tolist()
    places[stream] *= 2
    grown = make_rings(places)._replace(front=rings.front, border=rings.border, rear=rings.rear)
    for number in range(len(places)):
        positions = np.arange(rings.front[number], rings.rear[number])
        grown.tuples[grown.base[number] + (positions & grown.mask[number])] = rows_of(rings, number)
    return grown


def rows_of(rings: Rings, stream: int) -> Integers:
    """The live tuples of a stream, oldest first, one a row: TS, KEY, ID, OLDER."""
    positions = np.arange(rings.front[stream], rings.rear[stream])
    rows: Integers = rings.tuples[rings.base[stream] + (positions & rings.mask[stream])]
    return rows


@part
def is_full(rings: Rings, stream: int) -> bool:
    """Whether there is no place for one more tuple."""
    return bool(rings.rear[stream] - rings.front[stream] > rings.mask[stream])


@part
def place(rings: Rings, stream: int, position: int) -> int:
    """Where in `tuples` a position of a stream lies."""
    return int(rings.base[stream] + (position & rings.mask[stream]))


@part
def push(rings: Rings, batch: Arrivals, row: int, older: int) -> int:
    """Put a tuple at the rear, at the head of its key's chain; give its position."""
    stream = batch.stream[row]
    position = int(rings.rear[stream])
    at = place(rings, stream, position)
    rings.tuples[at, TS] = batch.ts[row]
    rings.tuples[at, KEY] = batch.key[row]
    rings.tuples[at, ID] = batch.id[row]
    rings.tuples[at, OLDER] = older
    rings.rear[stream] = position + 1
    return position


@part
def slide(rings: Rings, stream: int, bound: int) -> None:
    """A period ends: all that has come lies before the border, and what is older than the bound is gone."""
    rings.border[stream] = rings.rear[stream]
    front = rings.front[stream]
    while front < rings.rear[stream] and rings.tuples[place(rings, stream, front), TS] < bound:
        front += 1
    rings.front[stream] = front
