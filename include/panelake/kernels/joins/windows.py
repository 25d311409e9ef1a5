"""Slots and BiHT together: tuples put into their window and their key's chain, and taken out of both.

Time: O(1) a tuple. Order assumed: see slots.
"""

from __future__ import annotations

from typing import NamedTuple

from panelake.kernels.joins.biht import COUNT, HEAD, TAIL, VECTOR, Biht, chain
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.slots import ENTRY, ID, NEWER, NOTHING, OLDER, Slots


class Windows(NamedTuple):
    """All that is held."""

    slots: Slots
    biht: Biht


@part
def link(windows: Windows, stream: int, slot: int, entry: int, number: int) -> None:
    """Put a tuple at the head of its key's chain and set the stream's bit."""
    rows, entries = windows.slots.rows, windows.biht.entries
    head = entries[entry, chain(stream, HEAD)]
    rows[stream, slot, ENTRY] = entry
    rows[stream, slot, ID] = number
    rows[stream, slot, OLDER] = head
    rows[stream, slot, NEWER] = NOTHING
    if head == NOTHING:
        entries[entry, chain(stream, TAIL)] = slot
    else:
        rows[stream, head, NEWER] = slot
    entries[entry, chain(stream, HEAD)] = slot
    entries[entry, chain(stream, COUNT)] += 1
    entries[entry, VECTOR] |= 1 << stream


@part
def unlink(windows: Windows, stream: int, slot: int) -> None:
    """Take a tuple out of its key's chain; the stream's bit is cleared with its last one."""
    rows, entries = windows.slots.rows, windows.biht.entries
    entry, older, newer = rows[stream, slot, ENTRY], rows[stream, slot, OLDER], rows[stream, slot, NEWER]
    if newer == NOTHING:
        entries[entry, chain(stream, HEAD)] = older
    else:
        rows[stream, newer, OLDER] = older
    if older == NOTHING:
        entries[entry, chain(stream, TAIL)] = newer
    else:
        rows[stream, older, NEWER] = newer
    entries[entry, chain(stream, COUNT)] -= 1
    if entries[entry, chain(stream, COUNT)] == 0:
        entries[entry, VECTOR] &= ~(1 << stream)


@part
def results_with(windows: Windows, stream: int, entry: int) -> float:
    """How many results one more tuple of a stream has: the product of the key's counts in the other windows."""
    results = 1.0
    for other in range(len(windows.slots.held)):
        if other != stream:
            results *= windows.biht.entries[entry, chain(other, COUNT)]
    return results
