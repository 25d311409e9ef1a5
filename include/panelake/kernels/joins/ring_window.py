"""The windows of a join without memory limit: one ring queue a stream.

Source: 김상기 외, "DSMS 에서 환형 큐 버퍼 기반의 해시 색인을 이용한 조인 기법"
(joining by a hash index on a ring queue). Three pointers count positions that never wrap: `rear` (next free place),
`border` (the paper's *range*: where the tuples of the current period begin; moves by SLIDE) and `front` (oldest tuple
still within RANGE; all before it is gone). Each tuple points at the previous one with its key: the chain. Nothing is
ever moved; a chain ends at the first position before front. The slip corrected: the paper leaves open what building
chains costs; it is one store a tuple.

What a walk along a chain reads lies apart from what expiry reads in order: four tuples a cache line for either.
Time: insert and expiry O(1) amortised. Space: at most twice the fullest window, a power of two for each stream.
Order assumed: tuples of a stream arrive in event-time order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.aligned import aligned_zeros
from panelake.kernels.joins.arrivals import Arrivals, stream_of
from panelake.kernels.joins.compiled import part

Integers = NDArray[np.int64]

ID, OLDER = range(2)
TS, KEY = range(2)
LEAST_PLACES = 64
_FIRST = 1  # a position before it, such as 0, is of no tuple


class Rings(NamedTuple):
    """All streams' rings: position p of stream i lies at base[i] + (p & mask[i]).

    `links` are number and previous position of the key, `stamps` time and key.
    """

    links: Integers
    stamps: Integers
    base: Integers
    mask: Integers
    front: Integers
    border: Integers
    rear: Integers


def make_rings(places: list[int]) -> Rings:
    """Empty rings with so many places each, powers of two."""
    base = np.cumsum([0, *places[:-1]], dtype=np.int64)
    front, border, rear = np.full((3, len(places)), _FIRST, dtype=np.int64)
    links, stamps = (aligned_zeros(sum(places), 2) for _ in range(2))
    return Rings(links, stamps, base, np.array(places, dtype=np.int64) - 1, front, border, rear)


def with_more_places(rings: Rings) -> Rings:
    """The same tuples at the same positions, with twice the places for every stream that uses most of them."""
    used, places = rings.rear - rings.front, rings.mask + 1
    grown = make_rings(np.where(4 * used >= 3 * places, 2 * places, places).tolist())
    grown = grown._replace(front=rings.front, border=rings.border, rear=rings.rear)
    for stream in range(len(places)):
        _copy(rings, grown, stream)
    return grown


def _copy(rings: Rings, grown: Rings, stream: int) -> None:
    """The live tuples of a stream, up to where its smaller ring begins anew, and the rest."""
    first, rear, places = int(rings.front[stream]), int(rings.rear[stream]), int(rings.mask[stream]) + 1
    while first < rear:
        count = min(rear - first, places - first % places)
        here, there = (int(one.base[stream] + (first & one.mask[stream])) for one in (rings, grown))
        grown.links[there : there + count] = rings.links[here : here + count]
        grown.stamps[there : there + count] = rings.stamps[here : here + count]
        first += count


def places_of(rings: Rings, stream: int) -> Integers:
    """Where the live tuples of a stream lie, oldest first."""
    positions = np.arange(rings.front[stream], rings.rear[stream])
    places: Integers = rings.base[stream] + (positions & rings.mask[stream])
    return places


@part
def is_full(rings: Rings, stream: int) -> bool:
    """Whether there is no place for one more tuple."""
    return bool(rings.rear[stream] - rings.front[stream] > rings.mask[stream])


@part
def place(rings: Rings, stream: int, position: int) -> np.uint64:
    """Where a position of a stream lies."""
    return np.uint64(rings.base[stream] + (position & rings.mask[stream]))


@part
def id_at(rings: Rings, stream: int, position: int) -> int:
    """The number by which a result names the tuple."""
    return int(rings.links[place(rings, stream, position), ID])


@part
def older_at(rings: Rings, stream: int, position: int) -> int:
    """The position of the next older tuple of the same key, or -1 if that has left."""
    older = rings.links[place(rings, stream, position), OLDER]
    return int(older) if older >= rings.front[stream] else -1


@part
def push(rings: Rings, batch: Arrivals, row: int, older: int) -> int:
    """Put a tuple at the rear, at the head of its key's chain; give its position."""
    stream = stream_of(batch, row)
    position = int(rings.rear[stream])
    at = place(rings, stream, position)
    rings.stamps[at, TS] = batch.ts[row]
    rings.stamps[at, KEY] = batch.key[row]
    rings.links[at, ID] = batch.id[row]
    rings.links[at, OLDER] = older
    rings.rear[stream] = position + 1
    return position


@part
def slide(rings: Rings, stream: int, bound: int) -> None:
    """A period ends: all that has come lies before the border, and what is older than the bound is gone."""
    rings.border[stream] = rings.rear[stream]
    front = rings.front[stream]
    while front < rings.rear[stream] and rings.stamps[place(rings, stream, front), TS] < bound:
        front += 1
    rings.front[stream] = front
