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

from panelake.kernels.joins.biht import VECTOR, count_of, head_of
from panelake.kernels.joins.class_lists import ClassLists, append, judge
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.slots import NOTHING
from panelake.kernels.joins.windows import Windows

Doubles = NDArray[np.float64]


class PatternTable(NamedTuple):
    """For stream i and pattern ep, at [i, ep]: tuples ever given it, their results, and how many of them were shed.

    Counts are doubles: a product of eight counts may exceed any integer, and up to 2^53 nothing is rounded.
    """

    given: Doubles
    results: Doubles
    shed: Doubles


def make_table(streams: int) -> PatternTable:
    """Nothing seen yet."""
    return PatternTable(*np.zeros((3, streams, 1 << streams)))


@part
def register(table: PatternTable, windows: Windows, stream: int, slot: int, results: float) -> None:
    """Give a newcomer its pattern, and credit its results to every tuple's own pattern."""
    entry = windows.slots.tuples[slot]["entry"]
    pattern = windows.biht.halves[entry, VECTOR]
    windows.slots.tuples[slot]["pattern"] = pattern
    table.given[stream, pattern] += 1
    if results > 0:
        table.results[stream, pattern] += results
        for other in range(len(windows.slots.held)):
            if other != stream:
                each = results / windows.biht.halves[entry, count_of(other)]
                slot = windows.biht.halves[entry, head_of(other)]
                while slot != NOTHING:
                    table.results[other, windows.slots.tuples[slot]["pattern"]] += each
                    slot = windows.slots.tuples[slot]["older"]


class ByPattern(NamedTuple):
    """The policy `arrival_order`: the pattern table, and a list of tuples for each pattern."""

    lists: ClassLists
    table: PatternTable


@part
def judge_pattern(policy: ByPattern, stream: int, pattern: int) -> None:
    """A pattern is worth its productivity."""
    given = policy.table.given[stream, pattern]
    judge(policy.lists, stream, pattern, policy.table.results[stream, pattern] / given if given > 0 else 0.0)


@part
def judge_all_patterns(policy: ByPattern) -> None:
    """Every pattern of every stream."""
    for stream in range(len(policy.table.given)):
        for pattern in range(policy.table.given.shape[1]):
            if pattern & (1 << stream):
                judge_pattern(policy, stream, pattern)


@part
def arrived_by_pattern(policy: ByPattern, windows: Windows, stream: int, slot: int, results: float) -> None:
    """File the newcomer under its pattern; judge anew the patterns of all that were in its results."""
    tuples, halves = windows.slots.tuples, windows.biht.halves
    entry, pattern = tuples[slot]["entry"], tuples[slot]["pattern"]
    tuples[slot]["group"] = pattern
    judge_pattern(policy, stream, pattern)
    append(policy.lists, windows.slots, stream, slot, tuples[slot]["arrival"])
    if results > 0:
        for other in range(len(windows.slots.held)):
            if other != stream:
                waited = halves[entry, head_of(other)]
                while waited != NOTHING:
                    judge_pattern(policy, other, tuples[waited]["pattern"])
                    waited = tuples[waited]["older"]
