"""The policies that go by the key: `frequency` and `result`, baselines of the shedding paper.

Source: the rivals named in the paper of existence_patterns (권태형 외, 2010). A tuple's priority is, by frequency, the
product of the numbers of tuples with its key in the other windows; by result, the results its key has produced while
some window held it. Left open there, settled: ties go to the oldest, the newcomer is never the victim. The slip
corrected: "frequency is slow" is true of a scan; in an indexed heap of keys a change costs O(log keys) a stream.

A key's tuples in one window share a priority, so the heap of a stream holds keys, each with its oldest tuple there.
Time: O(n log keys) an arrival. Space: one heap place per stream and key. Order assumed: none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.biht import COUNT, TAIL, chain
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.existence_patterns import PatternTable
from panelake.kernels.joins.slots import ARRIVAL, ENTRY
from panelake.kernels.joins.windows import Windows, results_with

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]

_OUTSIDE = -1


class ByKey(NamedTuple):
    """heap[i] are entries, least first; place[i, e] is where entry e stands; `by_result` tells the policies apart."""

    heap: Integers
    place: Integers
    priority: Doubles
    size: Integers
    by_result: int


def make_heaps(streams: int, keys: int, *, by_result: bool) -> ByKey:
    """No keys yet, room for so many."""
    heap, place = np.full((2, streams, keys), _OUTSIDE, dtype=np.int64)
    return ByKey(heap, place, np.zeros((streams, keys)), np.zeros(streams, dtype=np.int64), int(by_result))


@part
def victim_by_key(policy: ByKey, _table: PatternTable, windows: Windows, stream: int) -> int:
    """The oldest tuple of the key with the least priority."""
    return int(windows.biht.entries[policy.heap[stream, 0], chain(stream, TAIL)])


@part
def arrived_by_key(policy: ByKey, windows: Windows, stream: int, slot: int, _results: float) -> None:
    """The key's priorities change in all windows that hold it."""
    refresh(policy, windows, windows.slots.rows[stream, slot, ENTRY])


@part
def left_by_key(policy: ByKey, windows: Windows, stream: int, slot: int) -> None:
    """The same; where it was the window's last, the key leaves that heap."""
    refresh(policy, windows, windows.slots.rows[stream, slot, ENTRY])


@part
def refresh(policy: ByKey, windows: Windows, entry: int) -> None:
    """Put the key where it now belongs in each heap."""
    for stream in range(len(policy.size)):
        if windows.biht.entries[entry, chain(stream, COUNT)] == 0:
            if policy.place[stream, entry] != _OUTSIDE:
                _take_out(policy, windows, stream, entry)
            continue
        wanted = windows.biht.results[entry] if policy.by_result else results_with(windows, stream, entry)
        policy.priority[stream, entry] = wanted
        if policy.place[stream, entry] == _OUTSIDE:
            _put(policy, stream, policy.size[stream], entry)
            policy.size[stream] += 1
        _settle(policy, windows, stream, policy.place[stream, entry])


@part
def _put(policy: ByKey, stream: int, place: int, entry: int) -> None:
    policy.heap[stream, place] = entry
    policy.place[stream, entry] = place


@part
def _take_out(policy: ByKey, windows: Windows, stream: int, entry: int) -> None:
    place = policy.place[stream, entry]
    policy.place[stream, entry] = _OUTSIDE
    policy.size[stream] -= 1
    last = policy.heap[stream, policy.size[stream]]
    if last != entry:
        _put(policy, stream, place, last)
        _settle(policy, windows, stream, place)


@part
def _goes_before(policy: ByKey, windows: Windows, stream: int, one: int, other: int) -> bool:
    mine, theirs = policy.priority[stream, one], policy.priority[stream, other]
    if mine != theirs:
        return bool(mine < theirs)
    entries, stamps = windows.biht.entries, windows.slots.stamps
    my_oldest, their_oldest = entries[one, chain(stream, TAIL)], entries[other, chain(stream, TAIL)]
    return bool(stamps[stream, my_oldest, ARRIVAL] < stamps[stream, their_oldest, ARRIVAL])


@part
def _settle(policy: ByKey, windows: Windows, stream: int, place: int) -> None:
    """Let the entry at a place rise or sink until the heap is in order."""
    entry = policy.heap[stream, place]
    while place > 0:
        above = policy.heap[stream, (place - 1) // 2]
        if not _goes_before(policy, windows, stream, entry, above):
            break
        _put(policy, stream, place, above)
        place = (place - 1) // 2
    while 2 * place + 1 < policy.size[stream]:
        child = 2 * place + 1
        if child + 1 < policy.size[stream] and _goes_before(
            policy, windows, stream, policy.heap[stream, child + 1], policy.heap[stream, child]
        ):
            child += 1
        below = policy.heap[stream, child]
        if not _goes_before(policy, windows, stream, below, entry):
            break
        _put(policy, stream, place, below)
        place = child
    _put(policy, stream, place, entry)
