"""Normal: raw tuples are shared, every window is computed from them anew.

Source: the plain rival of the shared-pane paper (백성하 외, SPQP, 2006). Left open: nothing.
Time: O(1) a tuple to insert, O(range) a window. Space: the tuples that some later window reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from panelake.baselines.compiled import kernel
from panelake.baselines.ring import Ring
from panelake.baselines.shared_windows import TUPLE, Integers, Query, SharedWindows, States, Tuples, add_tuple


class Normal(SharedWindows):
    """All tuples in one ring."""

    def __init__(self, queries: Sequence[Query], groups: int) -> None:
        super().__init__(queries, groups)
        self._tuples = Ring(TUPLE)

    def held_bytes(self) -> int:
        return self._tuples.nbytes

    def _build(self, tuples: Tuples) -> None:
        self._tuples.append(tuples)

    def _states(self, number: int, ks: range) -> States:
        first, last = self.bounds(number, ks)
        states = self.no_states(len(ks))
        fold_tuples(self._tuples.array, first, last, states)
        return states

    def _free(self) -> None:
        self._tuples.drop_before(min(map(self.oldest_needed, range(len(self.queries)))))


@kernel
def fold_tuples(ring: Any, first: Integers, last: Integers, states: Any) -> None:
    """Each window from all its tuples."""
    mask = len(ring) - 1
    for window in range(len(first)):
        for row in range(first[window], last[window]):
            add_tuple(ring, row & mask, states, window)
