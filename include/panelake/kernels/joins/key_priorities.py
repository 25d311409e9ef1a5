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

from panelake.kernels.joins.biht import count_of
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.windows import Windows, results_with, tail_of

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]

_OUTSIDE = -1


class Heaps(NamedTuple):
    """heap[i] are entries, least first; place[i, e] is where entry e stands."""

    heap: Integers
    place: Integers
    priority: Doubles
    size: Integers


def make_heaps(streams: int, keys: int) -> Heaps:
    """No keys yet, room for so many."""
    heap, place = np.full((2, streams, keys), _OUTSIDE, dtype=np.int64)
    return Heaps(heap, place, np.zeros((streams, keys)), np.zeros(streams, dtype=np.int64))


@part
def victim_by_key(heaps: Heaps, windows: Windows, stream: int) -> int:
    """The oldest tuple of the key with the least priority."""
    return tail_of(windows, stream, heaps.heap[stream, 0])


@part
def refresh(heaps: Heaps, windows: Windows, entry: int, by_result: int) -> None:
    """Put the key where it now belongs in each heap; where a window holds it no more, it leaves that heap."""
    for stream in range(len(heaps.size)):
        if windows.biht.halves[entry, count_of(stream)] == 0:
            if heaps.place[stream, entry] != _OUTSIDE:
                _take_out(heaps, windows, stream, entry)
            continue
        wanted = windows.biht.results[entry] if by_result else results_with(windows, stream, entry)
        heaps.priority[stream, entry] = wanted
        if heaps.place[stream, entry] == _OUTSIDE:
            _put(heaps, stream, heaps.size[stream], entry)
            heaps.size[stream] += 1
        _settle(heaps, windows, stream, heaps.place[stream, entry])


@part
def _put(heaps: Heaps, stream: int, place: int, entry: int) -> None:
    heaps.heap[stream, place] = entry
    heaps.place[stream, entry] = place


@part
def _take_out(heaps: Heaps, windows: Windows, stream: int, entry: int) -> None:
    place = heaps.place[stream, entry]
    heaps.place[stream, entry] = _OUTSIDE
    heaps.size[stream] -= 1
    last = heaps.heap[stream, heaps.size[stream]]
    if last != entry:
        _put(heaps, stream, place, last)
        _settle(heaps, windows, stream, place)


@part
def _goes_before(heaps: Heaps, windows: Windows, stream: int, one: int, other: int) -> bool:
    mine, theirs = heaps.priority[stream, one], heaps.priority[stream, other]
    if mine != theirs:
        return bool(mine < theirs)
    tuples = windows.slots.tuples
    my_oldest, their_oldest = tail_of(windows, stream, one), tail_of(windows, stream, other)
    return bool(tuples[my_oldest]["arrival"] < tuples[their_oldest]["arrival"])


@part
def _settle(heaps: Heaps, windows: Windows, stream: int, place: int) -> None:
    """Let the entry at a place rise or sink until the heap is in order."""
    entry = heaps.heap[stream, place]
    while place > 0:
        above = heaps.heap[stream, (place - 1) // 2]
        if not _goes_before(heaps, windows, stream, entry, above):
            break
        _put(heaps, stream, place, above)
        place = (place - 1) // 2
    while 2 * place + 1 < heaps.size[stream]:
        child = 2 * place + 1
        if child + 1 < heaps.size[stream] and _goes_before(
            heaps, windows, stream, heaps.heap[stream, child + 1], heaps.heap[stream, child]
        ):
            child += 1
        below = heaps.heap[stream, child]
        if not _goes_before(heaps, windows, stream, below, entry):
            break
        _put(heaps, stream, place, below)
        place = child
    _put(heaps, stream, place, entry)
