"""The policy `existence_growth`: what a tuple may still bring, by how far its key has come since it was inserted.

Source: our own, after the shedding paper (see existence_patterns), whose p credits a newcomer's own results to the full
pattern, so that finished unique keys look best and are kept although they are done. Here a tuple's class is the union
of its key's vectors since it was inserted: it grows, never shrinks. Productivity counts *future* results only: those
that come after the tuple entered the class. It is measured on a control group of keys, chosen by hash, whose tuples are
never shed while others can be, so that shedding cannot starve its own statistics. Until the control group has had its
first result nothing is known, and the class that lacks most streams goes first.

Time: O(2^(n-1)) a victim, O(tuples of the key) an arrival. Space: O(n·2^n) beside the tuples.
Order assumed: tuples enter a class one after another; the one that entered first is shed first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.biht import CONTROL, VECTOR, count_of, head_of
from panelake.kernels.joins.class_lists import ClassLists, append, drop, judge, make_lists
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.slots import NOTHING
from panelake.kernels.joins.windows import Windows, tail_of

Doubles = NDArray[np.float64]

_STREAM_BITS = 3
_BEGUN = 1  # a history: the streams by which the class grew, three bits each, behind a leading one


class Growth(NamedTuple):
    """For stream i and class c, at [i, c]: control tuples that entered it, and the results they had after that.

    `lists` hold the tuples that may be shed. `results[0]` counts the results of the control group.
    """

    lists: ClassLists
    entered: Doubles
    future: Doubles
    results: Doubles


def make_growth(streams: int) -> Growth:
    """Nothing seen yet: until there is, a class is worth the number of its streams."""
    lists = make_lists(streams)
    lists.worth[...] = [1.0 + place.bit_count() for place in range(lists.worth.shape[1])]
    entered, future = np.zeros((2, streams, 1 << streams))
    return Growth(lists, entered, future, np.zeros(1))


@part
def judge_class(growth: Growth, stream: int, group: int) -> None:
    """A class is worth the results to be expected of its tuples; while nothing is known, the number of its streams."""
    if growth.results[0] == 0:
        judge(growth.lists, stream, group, float(_streams_in(group)))
    else:
        entered = growth.entered[stream, group]
        judge(growth.lists, stream, group, growth.future[stream, group] / entered if entered > 0 else 0.0)


@part
def judge_all_classes(growth: Growth) -> None:
    """Every class of every stream."""
    for stream in range(len(growth.entered)):
        for group in range(growth.entered.shape[1]):
            if group & (1 << stream):
                judge_class(growth, stream, group)


@part
def _streams_in(group: int) -> int:
    count = 0
    while group:
        group &= group - 1
        count += 1
    return count


@part
def arrived_by_growth(growth: Growth, windows: Windows, stream: int, slot: int, results: float) -> None:
    """Credit the classes of those who waited, let these grow, and file the newcomer."""
    tuples, halves = windows.slots.tuples, windows.biht.halves
    entry, now = tuples[slot]["entry"], tuples[slot]["arrival"]
    credited = results > 0 and halves[entry, CONTROL] == 1
    if credited:
        is_first = growth.results[0] == 0
        growth.results[0] += results
        if is_first:
            judge_all_classes(growth)
    for other in range(len(windows.slots.held)):
        if other == stream or halves[entry, head_of(other)] == NOTHING:
            continue
        if credited:
            _credit(growth, windows, other, entry, results / halves[entry, count_of(other)])
        if halves[entry, count_of(stream)] == 1:
            _grow(growth, windows, other, stream, slot)
    tuples[slot]["group"] = halves[entry, VECTOR]
    tuples[slot]["history"] = _BEGUN
    _file(growth, windows, stream, slot, now)


@part
def _file(growth: Growth, windows: Windows, stream: int, slot: int, now: int) -> None:
    tuples = windows.slots.tuples
    if windows.biht.halves[tuples[slot]["entry"], CONTROL] == 1:
        tuples[slot]["entered"] = now
        group = tuples[slot]["group"]
        growth.entered[stream, group] += 1
        judge_class(growth, stream, group)
    else:
        append(growth.lists, windows.slots, stream, slot, now)


@part
def _credit(growth: Growth, windows: Windows, stream: int, entry: int, each: float) -> None:
    """Results for every class that each tuple of a key has been in so far."""
    tuples = windows.slots.tuples
    slot = windows.biht.halves[entry, head_of(stream)]
    while slot != NOTHING:
        group, history = int(tuples[slot]["group"]), int(tuples[slot]["history"])
        growth.future[stream, group] += each
        judge_class(growth, stream, group)
        while history != _BEGUN:
            group &= ~(1 << (history & 7))
            history >>= _STREAM_BITS
            growth.future[stream, group] += each
            judge_class(growth, stream, group)
        slot = tuples[slot]["older"]


@part
def _grow(growth: Growth, windows: Windows, stream: int, by: int, newcomer: int) -> None:
    """Add a stream to the class of each tuple of a key, oldest first, so that a class is ordered by entry and age."""
    tuples = windows.slots.tuples
    entry, now = tuples[newcomer]["entry"], tuples[newcomer]["arrival"]
    head = windows.biht.halves[entry, head_of(stream)]
    slot = tail_of(windows, stream, entry)
    while True:
        if tuples[slot]["group"] & (1 << by) == 0:
            left_by_growth(growth, windows, stream, slot)
            tuples[slot]["group"] |= 1 << by
            tuples[slot]["history"] = (tuples[slot]["history"] << _STREAM_BITS) | by
            _file(growth, windows, stream, slot, now)
        if slot == head:
            break
        slot = tuples[slot]["newer"]


@part
def left_by_growth(growth: Growth, windows: Windows, stream: int, slot: int) -> None:
    """Take it out of its class; the control group stands in no list."""
    if windows.biht.halves[windows.slots.tuples[slot]["entry"], CONTROL] == 0:
        drop(growth.lists, windows, stream, slot)


@part
def kept_by_growth(growth: Growth, windows: Windows, stream: int, slot: int) -> None:
    """File a tuple of a snapshot; they come in the order in which they had been filed."""
    tuples = windows.slots.tuples
    if windows.biht.halves[tuples[slot]["entry"], CONTROL] == 0:
        append(growth.lists, windows.slots, stream, slot, tuples[slot]["entered"])
