"""Slots and BiHT together: tuples put into their window and their key's chain, and taken out of both.

A chain runs from its newest tuple, the head, by `older`; the head's `newer` is the tail, so that both ends are near.
Time: O(1) a tuple. Order assumed: see slots.
"""

from __future__ import annotations

from typing import NamedTuple

from panelake.kernels.joins.biht import VECTOR, Biht, count_of, head_of, seen
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.prefetch import fetch
from panelake.kernels.joins.slots import NOTHING, Slots

_FAR, _NEAR = 16, 8  # places behind the front of the ring


class Windows(NamedTuple):
    """All that is held."""

    slots: Slots
    biht: Biht


@part
def link(windows: Windows, stream: int, slot: int, entry: int, number: int) -> None:
    """Put a tuple at the head of its key's chain and set the stream's bit."""
    tuples, halves = windows.slots.tuples, windows.biht.halves
    head = halves[entry, head_of(stream)]
    tuples[slot]["entry"] = entry
    tuples[slot]["id"] = number
    tuples[slot]["older"] = head
    if head == NOTHING:
        tuples[slot]["newer"] = slot
    else:
        tuples[slot]["newer"] = tuples[head]["newer"]
        tuples[head]["newer"] = slot
    halves[entry, head_of(stream)] = slot
    halves[entry, count_of(stream)] += 1
    halves[entry, VECTOR] |= 1 << stream


@part
def unlink(windows: Windows, stream: int, slot: int) -> None:
    """Take a tuple out of its key's chain; the stream's bit is cleared with its last one."""
    tuples, halves = windows.slots.tuples, windows.biht.halves
    entry, older, newer = tuples[slot]["entry"], tuples[slot]["older"], tuples[slot]["newer"]
    head = halves[entry, head_of(stream)]
    if slot == head:
        halves[entry, head_of(stream)] = older
        if older != NOTHING:
            tuples[older]["newer"] = newer
    else:
        tuples[newer]["older"] = older
        tuples[head if older == NOTHING else older]["newer"] = newer
    halves[entry, count_of(stream)] -= 1
    if halves[entry, count_of(stream)] == 0:
        halves[entry, VECTOR] &= ~(1 << stream)


@part
def id_at(windows: Windows, _stream: int, slot: int) -> int:
    """The number by which a result names the tuple."""
    return int(windows.slots.tuples[slot]["id"])


@part
def older_at(windows: Windows, _stream: int, slot: int) -> int:
    """The next older tuple of the same key, or NOTHING."""
    return int(windows.slots.tuples[slot]["older"])


@part
def tail_of(windows: Windows, stream: int, entry: int) -> int:
    """The oldest tuple of a key that a stream holds."""
    return int(windows.slots.tuples[windows.biht.halves[entry, head_of(stream)]]["newer"])


@part
def results_with(windows: Windows, stream: int, entry: int) -> float:
    """How many results one more tuple of a stream has: the product of the key's counts in the other windows."""
    results = 1.0
    for other in range(len(windows.slots.held)):
        if other != stream:
            results *= windows.biht.halves[entry, count_of(other)]
    return results


@part
def is_complete(windows: Windows, entry: int) -> bool:
    """Whether every bit of a key's vector is set."""
    return bool(windows.biht.halves[entry, VECTOR] == (1 << len(windows.slots.held)) - 1)


@part
def fetch_chains(windows: Windows, rows: int) -> None:
    """Have the newest tuples of so many keys just looked at brought near."""
    for nth in range(rows):
        entry = seen(windows.biht, nth)
        for stream in range(len(windows.slots.held)):
            fetch(windows.slots.tuples, windows.biht.halves[entry, head_of(stream)])


@part
def fetch_soon_oldest(windows: Windows, stream: int) -> None:
    """Have brought near what it takes to let go the tuples that follow the oldest."""
    slots = windows.slots
    mask = slots.queue.shape[1] - 1
    fetch(slots.tuples, slots.queue[stream, (slots.front[stream] + _FAR) & mask])
    soon = max(slots.queue[stream, (slots.front[stream] + _NEAR) & mask], 0)
    fetch(windows.biht.words, slots.tuples[soon]["entry"])
    fetch(slots.tuples, slots.tuples[soon]["before"])
    fetch(slots.tuples, slots.tuples[soon]["after"])
