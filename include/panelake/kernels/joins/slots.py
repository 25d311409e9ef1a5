"""The windows of a join with a memory limit: a slot a tuple, and a ring queue of references in arrival order.

Source: the ring queue of ring_window, under the shedding of existence_patterns. A shed tuple leaves from the middle, so
tuples lie in slots that are used again, and the ring holds (slot, arrival number); a reference whose slot has another
tuple by now is dead. A full ring closes its gaps: at least half of it is dead then, so that costs O(1) a tuple. No
tuple is ever moved.

Time: O(1) amortised. Space: `memory` slots a stream at most, counted in `held`; twice as many references.
Order assumed: tuples of a stream arrive in event-time order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.compiled import part

Integers = NDArray[np.int64]

ENTRY, ID, OLDER, NEWER, PATTERN, CLASS, BEFORE, AFTER = range(8)  # 64 bytes: one cache line a tuple
ARRIVAL, TS, ENTERED, HISTORY = range(4)
NOTHING = -1


class Slots(NamedTuple):
    """`rows[i, s]` and `stamps[i, s]` are the tuple in slot s of stream i, fields as above.

    OLDER and NEWER link the tuples of a key, BEFORE and AFTER those of a class. Slots below `used` have been used;
    the first `spare` of `free` are free again. `queue` is the ring of references, from `front` to `rear`.
    """

    rows: Integers
    stamps: Integers
    held: Integers
    used: Integers
    spare: Integers
    free: Integers
    queue: Integers
    front: Integers
    rear: Integers


def make_slots(streams: int, capacity: int) -> Slots:
    """No tuples, room for so many a stream."""
    references = 1 << (2 * capacity - 1).bit_length()
    held, used, spare, front, rear = np.zeros((5, streams), dtype=np.int64)
    return Slots(
        np.full((streams, capacity, AFTER + 1), NOTHING, dtype=np.int64),
        np.full((streams, capacity, HISTORY + 1), NOTHING, dtype=np.int64),
        held,
        used,
        spare,
        np.empty((streams, capacity), dtype=np.int64),
        np.empty((streams, references, 2), dtype=np.int64),
        front,
        rear,
    )


@part
def has_room(slots: Slots, stream: int) -> bool:
    """Whether there is a slot for one more tuple."""
    return bool(slots.held[stream] < slots.rows.shape[1])


@part
def occupy(slots: Slots, stream: int, ts: int, arrival: int) -> int:
    """A slot for a new tuple, the last one freed if any, referred to at the rear of the ring."""
    if slots.spare[stream] > 0:
        slots.spare[stream] -= 1
        slot = int(slots.free[stream, slots.spare[stream]])
    else:
        slot = int(slots.used[stream])
        slots.used[stream] += 1
    slots.held[stream] += 1
    slots.stamps[stream, slot, TS] = ts
    slots.stamps[stream, slot, ARRIVAL] = arrival
    refer(slots, stream, slot)
    return slot


@part
def refer(slots: Slots, stream: int, slot: int) -> None:
    """A reference at the rear of the ring."""
    mask = slots.queue.shape[1] - 1
    if slots.rear[stream] - slots.front[stream] > mask:
        _close_gaps(slots, stream, mask)
    place = slots.rear[stream] & mask
    slots.queue[stream, place, 0] = slot
    slots.queue[stream, place, 1] = slots.stamps[stream, slot, ARRIVAL]
    slots.rear[stream] += 1


@part
def _close_gaps(slots: Slots, stream: int, mask: int) -> None:
    kept = slots.front[stream]
    for position in range(slots.front[stream], slots.rear[stream]):
        slot, arrival = slots.queue[stream, position & mask, 0], slots.queue[stream, position & mask, 1]
        if slots.stamps[stream, slot, ARRIVAL] == arrival:
            slots.queue[stream, kept & mask, 0] = slot
            slots.queue[stream, kept & mask, 1] = arrival
            kept += 1
    slots.rear[stream] = kept


@part
def vacate(slots: Slots, stream: int, slot: int) -> None:
    """The tuple is gone; its slot is the next to be used."""
    slots.stamps[stream, slot, ARRIVAL] = NOTHING
    slots.held[stream] -= 1
    slots.free[stream, slots.spare[stream]] = slot
    slots.spare[stream] += 1


@part
def oldest(slots: Slots, stream: int) -> int:
    """The slot of the oldest tuple, or NOTHING; dead references at the front are left behind."""
    mask = slots.queue.shape[1] - 1
    while slots.front[stream] < slots.rear[stream]:
        place = slots.front[stream] & mask
        slot = int(slots.queue[stream, place, 0])
        if slots.stamps[stream, slot, ARRIVAL] == slots.queue[stream, place, 1]:
            return slot
        slots.front[stream] += 1
    return NOTHING
