"""Lists of a stream's tuples by class, first come first: each tuple stands in one, and leaves it in O(1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.slots import AFTER, BEFORE, CLASS, NOTHING, Slots

Integers = NDArray[np.int64]


class ClassLists(NamedTuple):
    """The first and last slot of each stream's classes; a class is a bit vector over the streams."""

    first: Integers
    last: Integers


def make_lists(streams: int) -> ClassLists:
    """All empty."""
    return ClassLists(*np.full((2, streams, 1 << streams), NOTHING, dtype=np.int64))


@part
def append(lists: ClassLists, slots: Slots, stream: int, slot: int) -> None:
    """Put a tuple last in the list of its class."""
    group = slots.rows[stream, slot, CLASS]
    last = lists.last[stream, group]
    slots.rows[stream, slot, BEFORE] = last
    slots.rows[stream, slot, AFTER] = NOTHING
    if last == NOTHING:
        lists.first[stream, group] = slot
    else:
        slots.rows[stream, last, AFTER] = slot
    lists.last[stream, group] = slot


@part
def drop(lists: ClassLists, slots: Slots, stream: int, slot: int) -> None:
    """Take a tuple out of the list of its class."""
    group = slots.rows[stream, slot, CLASS]
    before, after = slots.rows[stream, slot, BEFORE], slots.rows[stream, slot, AFTER]
    if before == NOTHING:
        lists.first[stream, group] = after
    else:
        slots.rows[stream, before, AFTER] = after
    if after == NOTHING:
        lists.last[stream, group] = before
    else:
        slots.rows[stream, after, BEFORE] = before
