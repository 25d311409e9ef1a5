"""SPQP, the shared panes of the paper as printed: one linear list of pane fragments, cut by panes and by time units.

Source: 백성하 외, "Linear Resource Sharing Method for Query Optimization of Sliding Window Aggregates in Multiple
Continuous Queries" (2006). Pane size: the gcd of all tuple ranges and slides (two alternating sizes for one
indivisible query); time unit: the gcd of the time ones. The slips of its listings are mended: a tuple at a unit's end
belongs to the next unit, the count starts anew with a pane. Left open there: indivisible queries beside others; here
the gcd cuts them.
Time: O(1) a tuple, O(range / pane) a window. Space: every fragment from the slowest query's (LP) on, since whole time
units are freed: a time window of ten seconds keeps the fine panes of tuple windows for ten seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from panelake.baselines.fragments import Fragments
from panelake.baselines.shared_windows import Integers, Query, SharedWindows, States, Tuples
from panelake.kernels.window_spec import WindowSpec
from panelake.planning.cuts import Cuts
from panelake.planning.rules import paper_cuts


class Spqp(SharedWindows):
    """Fragments, and where each query goes on reading them."""

    def __init__(self, queries: Sequence[Query], groups: int) -> None:
        super().__init__(queries, groups)
        self._fragments = Fragments(groups)
        self._pointers = [0] * len(queries)
        windows = [WindowSpec.over_rows(query.range, query.slide) for query in queries if not query.timed]
        self.cuts = paper_cuts(windows) if windows else None

    def held_bytes(self) -> int:
        return self._fragments.nbytes

    def _build(self, tuples: Tuples) -> None:
        units = [row for row in self._marks.values() if self.rows <= row < self.rows + len(tuples)]
        self._fragments.extend(tuples, self.rows, cut_rows(self.cuts, self.rows, self.rows + len(tuples), units))

    def _states(self, number: int, ks: range) -> States:
        first, last = self.bounds(number, ks)
        states = self.no_states(len(ks))
        self._pointers[number] = max(self._pointers[number], self._fragments.starts.base)
        self._fragments.fold(first, last, self._pointers[number], states)
        return states

    def _free(self) -> None:
        """Move every pointer to its next window, and free whole time units before the slowest (LP)."""
        for number, pointer in enumerate(self._pointers):
            self._pointers[number] = self._fragments.first_from(self.oldest_needed(number), pointer)
        lowest = min(map(self.oldest_needed, range(len(self.queries))))
        whole = max((row for row in self._marks.values() if row <= lowest), default=lowest if not self.unit else 0)
        self._fragments.drop_before(self._fragments.first_from(whole, 0))


def cut_rows(cuts: Cuts | None, low: int, high: int, others: Sequence[int]) -> Integers:
    """Where fragments begin among the tuples [low, high): at cuts, at the other places given, and at the very first."""
    grids = [] if cuts is None else cuts.grids
    rows = [np.arange(grid.start(low - 1) + grid.slide, high, grid.slide, dtype=np.int64) for grid in grids]
    first = [0] if low == 0 < high else []
    return np.unique(np.concatenate([*rows, np.array([*others, *first], dtype=np.int64)]))
