"""EPT: how productive tuples have been by the order in which their key's tuples arrived; the policy `arrival_order`.

Source: 권태형 외, "다중 윈도우 조인을 위한 튜플의 도착 순서에 기반한 효과적인 부하 감소 기법", 2010
(load shedding by the arrival order of tuples). ep(t), the existence pattern, is the BiHT vector of t's key as t is
inserted, its own bit set, and never changes. p_i(ep) = results of tuples with that pattern / tuples ever given it. Shed
is the oldest tuple of the non-empty pattern with the least p.
The slips corrected: Definition 2 divides by the tuples in the list, the note below the algorithm and the results need
all ever given it. Left open, settled: a pattern that never produced has p = 0; equal p goes to the pattern whose oldest
tuple is oldest; the newcomer is never the victim.

Time: O(2^(n-1)) a victim, O(tuples of the key) an arrival with results, whatever the number of keys or results.
Space: O(n·2^n) beside the tuples. Order assumed: tuples are appended in arrival order, so lists are oldest first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.biht import COUNT, HEAD, VECTOR, chain
from panelake.kernels.joins.class_lists import ClassLists, append, drop
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.slots import ARRIVAL, CLASS, ENTRY, NOTHING, OLDER, PATTERN
from panelake.kernels.joins.windows import Windows

Doubles = NDArray[np.float64]


class PatternTable(NamedTuple):
    """For stream i and pattern ep, at [i, ep]: tuples ever given it, their results, and those after their arrival.

    `shed` counts tuples shed, `lost` the results they would have brought by what such tuples bring after their arrival.
    Counts are doubles: a product of eight counts may exceed any integer, and up to 2^53 nothing is rounded.
    """

    given: Doubles
    results: Doubles
    later: Doubles
    shed: Doubles
    lost: Doubles


def make_table(streams: int) -> PatternTable:
    """Nothing seen yet."""
    return PatternTable(*np.zeros((5, streams, 1 << streams)))


@part
def register(table: PatternTable, windows: Windows, stream: int, slot: int, results: float) -> None:
    """Give a newcomer its pattern, and credit its results to every tuple's own pattern."""
    entry = windows.slots.rows[stream, slot, ENTRY]
    pattern = windows.biht.entries[entry, VECTOR]
    windows.slots.rows[stream, slot, PATTERN] = pattern
    table.given[stream, pattern] += 1
    if results > 0:
        table.results[stream, pattern] += results
        for other in range(len(windows.slots.held)):
            if other != stream:
                _credit(table, windows, other, entry, results / windows.biht.entries[entry, chain(other, COUNT)])


@part
def _credit(table: PatternTable, windows: Windows, stream: int, entry: int, each: float) -> None:
    slot = windows.biht.entries[entry, chain(stream, HEAD)]
    while slot != NOTHING:
        pattern = windows.slots.rows[stream, slot, PATTERN]
        table.results[stream, pattern] += each
        table.later[stream, pattern] += each
        slot = windows.slots.rows[stream, slot, OLDER]


@part
def write_off(table: PatternTable, stream: int, pattern: int) -> None:
    """Account for a tuple shed: one more of its pattern, and the results such tuples bring after their arrival."""
    table.shed[stream, pattern] += 1
    table.lost[stream, pattern] += table.later[stream, pattern] / table.given[stream, pattern]


class ByPattern(NamedTuple):
    """The policy `arrival_order`: a list of tuples for each pattern."""

    lists: ClassLists


@part
def victim_by_pattern(policy: ByPattern, table: PatternTable, windows: Windows, stream: int) -> int:
    """The oldest tuple of the least productive pattern; quotients are compared crosswise, without dividing."""
    stamps = windows.slots.stamps
    victim = NOTHING
    least_results, least_given = np.inf, 1.0
    for pattern in range(policy.lists.first.shape[1]):
        slot = policy.lists.first[stream, pattern]
        if slot == NOTHING:
            continue
        results, given = table.results[stream, pattern], table.given[stream, pattern]
        mine, least = results * least_given, least_results * given
        if mine < least or (mine == least and stamps[stream, slot, ARRIVAL] < stamps[stream, victim, ARRIVAL]):
            victim, least_results, least_given = slot, results, given
    return victim


@part
def arrived_by_pattern(policy: ByPattern, windows: Windows, stream: int, slot: int, _results: float) -> None:
    """File the newcomer under its pattern."""
    windows.slots.rows[stream, slot, CLASS] = windows.slots.rows[stream, slot, PATTERN]
    append(policy.lists, windows.slots, stream, slot)


@part
def left_by_pattern(policy: ByPattern, windows: Windows, stream: int, slot: int) -> None:
    """Take it out of its pattern's list."""
    drop(policy.lists, windows.slots, stream, slot)


@part
def kept_by_pattern(policy: ByPattern, windows: Windows, stream: int, slot: int) -> None:
    """File a tuple of a snapshot; they come in the order in which they had been filed."""
    append(policy.lists, windows.slots, stream, slot)
