"""LINT: landmarks along the stream, and for every tuple what lies between it and the landmarks to its left and right.

Source: L-Int of Arasu and Widom (VLDB 2004), as the shared-pane paper describes it: left and right structures, so that
a window is two look-ups. Left open there: which levels are kept. Here one for each query, its landmarks a range apart,
the least that makes every window of it a right part up to a landmark and a left part from it; groups are dense and time
windows are found as in shared_windows.
Time: O(groups) a tuple and query, O(groups) a window. Space: two states a group for each tuple held, query by query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from panelake.baselines.compiled import kernel
from panelake.baselines.ring import Ring
from panelake.baselines.shared_windows import (
    STATE,
    TUPLE,
    Integers,
    Query,
    SharedWindows,
    States,
    Tuples,
    add_states,
    add_tuple,
    clear,
)


class Lint(SharedWindows):
    """The tuples, and for each query what reaches from the last landmark to a tuple and from it to the next one."""

    def __init__(self, queries: Sequence[Query], groups: int) -> None:
        super().__init__(queries, groups)
        self._tuples = Ring(TUPLE)
        self._left = [Ring(STATE, groups) for _ in queries]
        self._right = [Ring(STATE, groups) for _ in queries]

    def held_bytes(self) -> int:
        return self._tuples.nbytes + sum(ring.nbytes for ring in (*self._left, *self._right))

    def _build(self, tuples: Tuples) -> None:
        self._tuples.append(tuples)
        for number, left in enumerate(self._left):
            left.reserve(len(tuples))
            marks = self._landmarks(number, left.end, self._tuples.end)
            _fill_left(self._tuples.array, left.array, left.end, self._tuples.end, marks)
            left.end = self._tuples.end
            self._close_blocks(number)

    def _close_blocks(self, number: int) -> None:
        """Right parts, backwards from each landmark that has come."""
        right = self._right[number]
        for mark in self._landmarks(number, right.end + 1, self._tuples.end + 1).tolist():
            right.reserve(mark - right.end)
            _fill_right(self._tuples.array, right.array, right.end, mark)
            right.end = mark

    def _landmarks(self, number: int, low: int, high: int) -> Integers:
        """The landmarks in [low, high), tuples that begin a block."""
        query = self.queries[number]
        if not query.timed:
            return np.arange(-(-low // query.range) * query.range, high, query.range, dtype=np.int64)
        units = query.range // self.unit
        rows = {row for unit, row in self._marks.items() if unit % units == 0 and low <= row < high}
        return np.array(sorted(rows), dtype=np.int64)

    def _states(self, number: int, ks: range) -> States:
        query = self.queries[number]
        if query.timed:
            self._note_units((ks.stop - 1) * query.slide + query.range)
            self._close_blocks(number)
        first, last = self.bounds(number, ks)
        blocks = [-(-k * query.slide // query.range) * query.range for k in ks]
        marks = np.array([self.row_at(block) if query.timed else block for block in blocks], dtype=np.int64)
        states = self.no_states(len(ks))
        _two_look_ups(self._left[number].array, self._right[number].array, (first, marks, last), states)
        return states

    def _note_units(self, until: int) -> None:
        """Units that have begun without a tuple: the next tuple to come is their first."""
        for unit in range(self._marked, until // self.unit + 1):
            self._marks[unit] = self.rows
        self._marked = max(self._marked, until // self.unit + 1)

    def _free(self) -> None:
        for number, (left, right) in enumerate(zip(self._left, self._right, strict=True)):
            left.drop_before(self.oldest_needed(number))
            right.drop_before(self.oldest_needed(number))
        self._tuples.drop_before(min(right.end for right in self._right))


@kernel
def _fill_left(tuples: Any, left: Any, begin: int, end: int, marks: Integers) -> None:
    mask, mask_tuples, at = len(left) - 1, len(tuples) - 1, 0
    for row in range(begin, end):
        place = row & mask
        clear(left, place, place + 1)
        if at < len(marks) and marks[at] == row:
            at += 1
        elif row > 0:
            add_states(left, (row - 1) & mask, left, place)
        add_tuple(tuples, row & mask_tuples, left, place)


@kernel
def _fill_right(tuples: Any, right: Any, begin: int, end: int) -> None:
    mask, mask_tuples = len(right) - 1, len(tuples) - 1
    for row in range(end - 1, begin - 1, -1):
        place = row & mask
        clear(right, place, place + 1)
        if row + 1 < end:
            add_states(right, (row + 1) & mask, right, place)
        add_tuple(tuples, row & mask_tuples, right, place)


@kernel
def _two_look_ups(left: Any, right: Any, bounds: tuple[Integers, Integers, Integers], states: Any) -> None:
    first, marks, last = bounds
    for window in range(len(first)):
        if first[window] < marks[window]:
            add_states(right, first[window] & (len(right) - 1), states, window)
        if marks[window] < last[window]:
            add_states(left, (last[window] - 1) & (len(left) - 1), states, window)
