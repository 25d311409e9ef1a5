"""Lists of a stream's tuples by class, first come first, and what the tuples of each are worth.

Each tuple stands in one list and leaves it in O(1); the first tuple of the list worth least, by what it is worth and
then by how long it has stood there, is found in O(classes): a look at a few cache lines, whatever the tuples.
A class is a bit vector over the streams; a stream's own bit is always set, so that half of the vectors need a list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.prefetch import fetch
from panelake.kernels.joins.slots import NOTHING, Slots
from panelake.kernels.joins.windows import Windows

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]


class ClassLists(NamedTuple):
    """At [i, place of a class]: the first and last slot, since when the first stands there, and what it is worth.

    `standing` is the worth where there are tuples, else infinite.
    """

    first: Integers
    last: Integers
    since: Integers
    worth: Doubles
    standing: Doubles


def make_lists(streams: int) -> ClassLists:
    """All empty, all worth nothing."""
    first, last, since = np.full((3, streams, 1 << (streams - 1)), NOTHING, dtype=np.int64)
    worth = np.zeros(first.shape)
    return ClassLists(first, last, since, worth, np.full(first.shape, np.inf))


@part
def place_of(stream: int, group: int) -> int:
    """A class's place: its vector without the stream's own bit."""
    return ((group >> (stream + 1)) << stream) | (group & ((1 << stream) - 1))


@part
def judge(lists: ClassLists, stream: int, group: int, worth: float) -> None:
    """Say what the tuples of a class are worth."""
    place = place_of(stream, group)
    lists.worth[stream, place] = worth
    if lists.first[stream, place] != NOTHING:
        lists.standing[stream, place] = worth


@part
def append(lists: ClassLists, slots: Slots, stream: int, slot: int, now: int) -> None:
    """Put a tuple last in the list of its class."""
    tuples = slots.tuples
    place = place_of(stream, tuples[slot]["group"])
    last = lists.last[stream, place]
    tuples[slot]["entered"] = now
    tuples[slot]["before"] = last
    tuples[slot]["after"] = NOTHING
    if last == NOTHING:
        lists.first[stream, place] = slot
        lists.since[stream, place] = now
        lists.standing[stream, place] = lists.worth[stream, place]
    else:
        tuples[last]["after"] = slot
    lists.last[stream, place] = slot


@part
def drop(lists: ClassLists, windows: Windows, stream: int, slot: int) -> None:
    """Take a tuple out of the list of its class; what is wanted of the new first one, should it go next, is fetched."""
    tuples = windows.slots.tuples
    place = place_of(stream, tuples[slot]["group"])
    before, after = tuples[slot]["before"], tuples[slot]["after"]
    if after == NOTHING:
        lists.last[stream, place] = before
    else:
        tuples[after]["before"] = before
    if before != NOTHING:
        tuples[before]["after"] = after
        return
    lists.first[stream, place] = after
    if after == NOTHING:
        lists.standing[stream, place] = np.inf
    else:
        lists.since[stream, place] = tuples[after]["entered"]
        fetch(windows.biht.words, tuples[after]["entry"])
        fetch(tuples, tuples[after]["after"])


@part
def least(lists: ClassLists, stream: int) -> int:
    """The first tuple of the list worth least, of several the one that stands longest; NOTHING if all are empty."""
    best = 0
    for place in range(1, lists.first.shape[1]):
        mine, other = lists.standing[stream, place], lists.standing[stream, best]
        if mine < other or (mine == other and lists.since[stream, place] < lists.since[stream, best]):
            best = place
    return int(lists.first[stream, best]) if lists.standing[stream, best] < np.inf else NOTHING
