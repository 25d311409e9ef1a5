"""BINT: a hierarchy of dyadic intervals; level l covers 2^(l + 1) tuples, a window is O(log n) disjoint intervals.

Source: B-Int of Arasu and Widom, "Resource Sharing in Continuous Sliding-Window Aggregates" (VLDB 2004), as the
shared-pane paper describes it. Left open there: groups (here each interval has a state for every group, in one dense
array, an upper bound of what a sparse one would hold), windows that begin or end between two tuples of a level-0
interval (here the raw tuples are kept as well), and time windows (see shared_windows).
Time: O(groups) amortised a tuple, O(groups · log range) a window. Space: about one interval a tuple held.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
from panelake.kernels.compiled import compiled_as

_MOST_LEVELS = 40


class Bint(SharedWindows):
    """The tuples and one ring of intervals a level."""

    def __init__(self, queries: Sequence[Query], groups: int) -> None:
        super().__init__(queries, groups)
        self._tuples = Ring(TUPLE)
        self._levels: list[Ring] = []
        longest = max(query.range for query in queries)
        self._most = _MOST_LEVELS if self.unit else max(0, longest.bit_length() - 1)

    def held_bytes(self) -> int:
        return self._tuples.nbytes + sum(level.nbytes for level in self._levels)

    def _build(self, tuples: Tuples) -> None:
        self._tuples.append(tuples)
        below: Ring = self._tuples
        for number in range(self._most):
            if number == len(self._levels):
                if below.end // 2 <= -(-below.base // 2):
                    break
                self._levels.append(Ring(STATE, self.groups))
            _extend(self._levels[number], below)
            below = self._levels[number]

    def _states(self, number: int, ks: range) -> States:
        first, last = self.bounds(number, ks)
        states = self.no_states(len(ks))
        rings = [self._tuples, *self._levels]
        for ring in rings:
            _fold_level(ring.array, first, last, ring is rings[-1], states)
        return states

    def _free(self) -> None:
        row = min(map(self.oldest_needed, range(len(self.queries))))
        self._tuples.drop_before(row)
        for number, level in enumerate(self._levels):
            level.drop_before(row >> (number + 1))


def _extend(level: Ring, below: Ring) -> None:
    """Add the intervals whose two halves have become complete; none whose halves were freed."""
    if level.end < -(-below.base // 2):
        level.restart(-(-below.base // 2))
    count = max(0, below.end // 2 - level.end)
    level.reserve(count)
    _pair_up(below.array, level.array, level.end, level.end + count)
    level.end += count


def _add(source: Any, place: int, states: Any, row: int) -> None:
    """A tuple or an interval: chosen by what the source is, when compiled."""
    raise NotImplementedError


@compiled_as(_add)
def _choose_add(source: Any, *_: Any) -> Any:
    def one_tuple(source: Any, place: int, states: Any, row: int) -> None:
        add_tuple(source, place, states, row)

    def all_groups(source: Any, place: int, states: Any, row: int) -> None:
        add_states(source, place, states, row)

    return one_tuple if source.ndim == 1 else all_groups


@kernel
def _pair_up(below: Any, level: Any, begin: int, end: int) -> None:
    mask, mask_below = len(level) - 1, len(below) - 1
    for row in range(begin, end):
        place = row & mask
        clear(level, place, place + 1)
        for half in range(2 * row, 2 * row + 2):
            _add(below, half & mask_below, level, place)


@kernel
def _fold_level(ring: Any, first: Integers, last: Integers, is_top: bool, states: Any) -> None:  # noqa: FBT001 - a kernel's
    """Take the odd intervals at both ends of each window; the bounds of what is left are those of the next level."""
    mask = len(ring) - 1
    for window in range(len(first)):
        low, high = first[window], last[window]
        if is_top:
            for row in range(low, high):
                _add(ring, row & mask, states, window)
            continue
        if low < high and low & 1:
            _add(ring, low & mask, states, window)
            low += 1
        if low < high and high & 1:
            high -= 1
            _add(ring, high & mask, states, window)
        first[window], last[window] = low >> 1, high >> 1
