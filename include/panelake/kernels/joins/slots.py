"""The windows of a join with a memory limit: a slot a tuple, and a ring queue of references in arrival order.

Source: the ring queue of ring_window, under the shedding of existence_patterns. A shed tuple leaves from the middle, so
tuples lie in slots that are used again, and the ring holds slots; where a tuple has left, it holds nothing. A full ring
closes its gaps: at least three quarters of it are gaps then, so that costs O(1) a tuple. No tuple is ever moved.

A tuple is one cache line. Stream i's slots are numbered from i·capacity on.
Time: O(1) amortised. Space: `memory` slots a stream at most, counted in `held`; four to eight references for each.
Order assumed: tuples of a stream arrive in event-time order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.aligned import aligned_zeros
from panelake.kernels.joins.compiled import part

Integers = NDArray[np.int64]
Halves = NDArray[np.int32]
Records = NDArray[np.void]

_FIELDS = [
    ("id", "i8"), ("ts", "i8"), ("arrival", "i8"), ("entered", "i8"),
    ("entry", "i4"), ("older", "i4"), ("newer", "i4"), ("before", "i4"), ("after", "i4"), ("place", "i4"),
    ("history", "i4"), ("pattern", "i2"), ("group", "i2"),
]  # fmt: skip
TUPLE = np.dtype(_FIELDS, align=True)
NOTHING = -1


class Slots(NamedTuple):
    """`tuples[s]` is the tuple in slot s, its `arrival` NOTHING where there is none.

    `older` and `newer` link the tuples of a key, `before` and `after` those of a class; `place` is where the ring
    refers to it. Of stream i the first `used[i]` slots have been used, and the first `spare[i]` of `free[i]` are free
    again. `queue[i]` is the ring of references, from `front` to `rear`.
    """

    tuples: Records
    held: Integers
    used: Integers
    spare: Integers
    free: Halves
    queue: Halves
    front: Integers
    rear: Integers


def make_slots(streams: int, capacity: int) -> Slots:
    """No tuples, room for so many a stream."""
    references = 1 << (4 * capacity - 1).bit_length()
    held, used, spare, front, rear = np.zeros((5, streams), dtype=np.int64)
    tuples: Records = aligned_zeros(streams * capacity, TUPLE.itemsize // 8).view(TUPLE).reshape(-1)
    for name in ("arrival", "entered", "older", "newer", "before", "after"):
        tuples[name] = NOTHING
    free = np.empty((streams, capacity), dtype=np.int32)
    queue = np.full((streams, references), NOTHING, dtype=np.int32)
    return Slots(tuples, held, used, spare, free, queue, front, rear)


def capacity_of(slots: Slots) -> int:
    """Slots of each stream."""
    return int(slots.free.shape[1])


@part
def has_slot(slots: Slots, stream: int) -> bool:
    """Whether there is a slot for one more tuple."""
    return bool(slots.held[stream] < slots.free.shape[1])


@part
def occupy(slots: Slots, stream: int, ts: int, arrival: int) -> int:
    """A slot for a new tuple, the last one freed if any, referred to at the rear of the ring."""
    if slots.spare[stream] > 0:
        slots.spare[stream] -= 1
        slot = int(slots.free[stream, slots.spare[stream]])
    else:
        slot = int(stream * slots.free.shape[1] + slots.used[stream])
        slots.used[stream] += 1
    slots.held[stream] += 1
    slots.tuples[slot]["ts"] = ts
    slots.tuples[slot]["arrival"] = arrival
    refer(slots, stream, slot)
    return slot


@part
def refer(slots: Slots, stream: int, slot: int) -> None:
    """A reference at the rear of the ring."""
    mask = slots.queue.shape[1] - 1
    if slots.rear[stream] - slots.front[stream] > mask:
        _close_gaps(slots, stream, mask)
    place = slots.rear[stream] & mask
    slots.queue[stream, place] = slot
    slots.tuples[slot]["place"] = place
    slots.rear[stream] += 1


@part
def _close_gaps(slots: Slots, stream: int, mask: int) -> None:
    kept = slots.front[stream]
    for position in range(slots.front[stream], slots.rear[stream]):
        slot = slots.queue[stream, position & mask]
        if slot != NOTHING:
            slots.queue[stream, kept & mask] = slot
            slots.tuples[slot]["place"] = kept & mask
            kept += 1
    slots.rear[stream] = kept


@part
def vacate(slots: Slots, stream: int, slot: int) -> None:
    """The tuple is gone; its slot is the next to be used."""
    slots.queue[stream, slots.tuples[slot]["place"]] = NOTHING
    slots.tuples[slot]["arrival"] = NOTHING
    slots.held[stream] -= 1
    slots.free[stream, slots.spare[stream]] = slot
    slots.spare[stream] += 1


@part
def oldest(slots: Slots, stream: int) -> int:
    """The slot of the oldest tuple, or NOTHING; gaps at the front are left behind."""
    mask = slots.queue.shape[1] - 1
    front, rear = slots.front[stream], slots.rear[stream]
    slot = NOTHING
    while front < rear:
        slot = int(slots.queue[stream, front & mask])
        if slot != NOTHING:
            break
        front += 1
    slots.front[stream] = front
    return slot
