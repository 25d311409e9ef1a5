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

from panelake.kernels.joins.biht import COUNT, HEAD, KEY, TAIL, VECTOR, chain
from panelake.kernels.joins.class_lists import ClassLists, append, drop, make_lists
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.existence_patterns import PatternTable
from panelake.kernels.joins.plain_victims import mix
from panelake.kernels.joins.slots import ARRIVAL, CLASS, ENTERED, ENTRY, HISTORY, NEWER, NOTHING, OLDER, oldest
from panelake.kernels.joins.windows import Windows

Doubles = NDArray[np.float64]

CONTROL_SHARE = 16  # one key in so many, a power of two
_STREAM_BITS = 3
_BEGUN = 1  # a history: the streams by which the class grew, three bits each, behind a leading one


class ByGrowth(NamedTuple):
    """For stream i and class c, at [i, c]: control tuples that entered it, and the results they had after that.

    `results[0]` counts the results of the control group.
    """

    lists: ClassLists
    entered: Doubles
    future: Doubles
    results: Doubles


def make_growth(streams: int) -> ByGrowth:
    """Nothing seen yet."""
    entered, future = np.zeros((2, streams, 1 << streams))
    return ByGrowth(make_lists(streams), entered, future, np.zeros(1))


@part
def in_control(key: int) -> bool:
    """Whether a key belongs to the control group."""
    return bool(mix(np.uint64(key)) & np.uint64(CONTROL_SHARE - 1) == np.uint64(0))


@part
def victim_by_growth(policy: ByGrowth, _table: PatternTable, windows: Windows, stream: int) -> int:
    """The first tuple of the class with the least future; of the control group only if there is no one else."""
    victim = NOTHING
    least = np.inf
    for group in range(policy.lists.first.shape[1]):
        slot = policy.lists.first[stream, group]
        if slot == NOTHING:
            continue
        found = _promise(policy, stream, group)
        stamps = windows.slots.stamps
        if found < least or (found == least and stamps[stream, slot, ENTERED] < stamps[stream, victim, ENTERED]):
            least, victim = found, slot
    return oldest(windows.slots, stream) if victim == NOTHING else victim


@part
def _promise(policy: ByGrowth, stream: int, group: int) -> float:
    """Results to be expected of a tuple in a class; the number of its streams while nothing is known."""
    if policy.results[0] == 0:
        return float(_streams_in(group))
    entered = policy.entered[stream, group]
    return float(policy.future[stream, group] / entered) if entered > 0 else 0.0


@part
def _streams_in(group: int) -> int:
    count = 0
    while group:
        group &= group - 1
        count += 1
    return count


@part
def arrived_by_growth(policy: ByGrowth, windows: Windows, stream: int, slot: int, results: float) -> None:
    """Credit the classes of those who waited, let these grow, and file the newcomer."""
    entries = windows.biht.entries
    entry = windows.slots.rows[stream, slot, ENTRY]
    credited = results > 0 and in_control(entries[entry, KEY])
    policy.results[0] += results if credited else 0.0
    for other in range(len(windows.slots.held)):
        if other == stream:
            continue
        if credited:
            _credit(policy, windows, other, entry, results / entries[entry, chain(other, COUNT)])
        if entries[entry, chain(stream, COUNT)] == 1:
            _grow(policy, windows, other, stream, slot)
    windows.slots.rows[stream, slot, CLASS] = entries[entry, VECTOR]
    windows.slots.stamps[stream, slot, HISTORY] = _BEGUN
    _file(policy, windows, stream, slot, windows.slots.stamps[stream, slot, ARRIVAL])


@part
def _file(policy: ByGrowth, windows: Windows, stream: int, slot: int, now: int) -> None:
    windows.slots.stamps[stream, slot, ENTERED] = now
    if _is_control(windows, stream, slot):
        policy.entered[stream, windows.slots.rows[stream, slot, CLASS]] += 1
    else:
        append(policy.lists, windows.slots, stream, slot)


@part
def _is_control(windows: Windows, stream: int, slot: int) -> bool:
    return in_control(windows.biht.entries[windows.slots.rows[stream, slot, ENTRY], KEY])


@part
def _credit(policy: ByGrowth, windows: Windows, stream: int, entry: int, each: float) -> None:
    """Results for every class that each tuple of a key has been in so far."""
    slot = windows.biht.entries[entry, chain(stream, HEAD)]
    while slot != NOTHING:
        group = windows.slots.rows[stream, slot, CLASS]
        history = windows.slots.stamps[stream, slot, HISTORY]
        policy.future[stream, group] += each
        while history != _BEGUN:
            group &= ~(1 << (history & 7))
            history >>= _STREAM_BITS
            policy.future[stream, group] += each
        slot = windows.slots.rows[stream, slot, OLDER]


@part
def _grow(policy: ByGrowth, windows: Windows, stream: int, by: int, newcomer: int) -> None:
    """Add a stream to the class of each tuple of a key, oldest first, so that a class is ordered by entry and age."""
    rows, stamps = windows.slots.rows, windows.slots.stamps
    slot = windows.biht.entries[rows[by, newcomer, ENTRY], chain(stream, TAIL)]
    while slot != NOTHING:
        if rows[stream, slot, CLASS] & (1 << by) == 0:
            left_by_growth(policy, windows, stream, slot)
            rows[stream, slot, CLASS] |= 1 << by
            stamps[stream, slot, HISTORY] = (stamps[stream, slot, HISTORY] << _STREAM_BITS) | by
            _file(policy, windows, stream, slot, stamps[by, newcomer, ARRIVAL])
        slot = rows[stream, slot, NEWER]


@part
def left_by_growth(policy: ByGrowth, windows: Windows, stream: int, slot: int) -> None:
    """Take it out of its class; the control group stands in no list."""
    if not _is_control(windows, stream, slot):
        drop(policy.lists, windows.slots, stream, slot)


@part
def kept_by_growth(policy: ByGrowth, windows: Windows, stream: int, slot: int) -> None:
    """File a tuple of a snapshot; they come in the order in which they had been filed."""
    if not _is_control(windows, stream, slot):
        append(policy.lists, windows.slots, stream, slot)
