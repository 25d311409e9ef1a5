"""Pane fragments: runs of tuples between two cuts, a state for each group; what SPQP and our panes are made of.

Time: O(1) a tuple, O(groups) a fragment read. Space: a state a group and the first tuple's number, for each fragment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from panelake.baselines.compiled import kernel
from panelake.baselines.ring import Ring
from panelake.baselines.shared_windows import STATE, Integers, States, Tuples, add_states, add_tuple, clear


class Fragments:
    """Fragments numbered for ever, the last of them open."""

    def __init__(self, groups: int) -> None:
        self.states = Ring(STATE, groups)
        self.starts = Ring(np.int64)

    @property
    def nbytes(self) -> int:
        return self.states.nbytes + self.starts.nbytes

    def extend(self, tuples: Tuples, first_row: int, cuts: Integers) -> None:
        """Lift tuples, the first having this number; at each cut a fragment begins."""
        self.states.reserve(len(cuts))
        _lift(tuples, first_row, cuts, self.states.array, self.states.end)
        self.states.end += len(cuts)
        self.starts.append(cuts)

    def first_from(self, row: int, fragment: int) -> int:
        """The first fragment, from this one on, that begins at the tuple or later."""
        return int(_first_from(self.starts.array, self.starts.end, max(fragment, self.starts.base), row))

    def fold(self, first: Integers, last: Integers, fragment: int, states: States) -> None:
        """Add to each row of states the fragments that begin in [first, last), linearly from this fragment on."""
        _fold(self.starts.array, self.states.array, (fragment, self.starts.end), (first, last), states)

    def drop_before(self, fragment: int) -> None:
        self.states.drop_before(fragment)
        self.starts.drop_before(fragment)


@kernel
def _lift(tuples: Any, first_row: int, cuts: Integers, states: Any, fragment: int) -> None:
    mask, at = len(states) - 1, 0
    for place in range(len(tuples)):
        if at < len(cuts) and cuts[at] == first_row + place:
            clear(states, fragment & mask, (fragment & mask) + 1)
            at += 1
            fragment += 1
        add_tuple(tuples, place, states, (fragment - 1) & mask)


@kernel
def _first_from(starts: Integers, end: int, fragment: int, row: int) -> int:
    mask = len(starts) - 1
    while fragment < end and starts[fragment & mask] < row:
        fragment += 1
    return fragment


@kernel
def _fold(starts: Integers, held: Any, span: tuple[int, int], bounds: tuple[Integers, Integers], states: Any) -> None:
    (begin, end), (first, last) = span, bounds
    mask, mask_starts = len(held) - 1, len(starts) - 1
    for window in range(len(first)):
        while begin < end and starts[begin & mask_starts] < first[window]:
            begin += 1
        fragment = begin
        while fragment < end and starts[fragment & mask_starts] < last[window]:
            add_states(held, fragment & mask, states, window)
            fragment += 1
