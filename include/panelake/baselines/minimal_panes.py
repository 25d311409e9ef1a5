"""Ours behind the rivals' interface: minimal cuts, time panes apart from row panes, windows at constant cost.

Source: planning/rules (cut exactly where some window starts or ends) and kernels/sliding (two stacks), the ones that
answer real queries. A tuple is lifted once; closed row panes are rolled up into the open time pane, so that a time
window keeps no row panes. Time: O(1) a tuple, O(groups) amortised a window, whatever range / slide is. Space: the row
panes of the longest tuple range and the time panes of the longest time range.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from panelake.baselines.fragments import Fragments
from panelake.baselines.ring import Ring
from panelake.baselines.shared_windows import STATE, Answers, Integers, Query, SharedWindows, States, Tuples
from panelake.baselines.spqp import cut_rows
from panelake.kernels.sliding import slide_windows
from panelake.kernels.state_column import Operation, StateColumn
from panelake.kernels.window_spec import WindowSpec
from panelake.planning.cuts import Cuts
from panelake.planning.rules import minimal_cuts

_OPERATIONS = {
    "count": Operation.ADD_I64,
    "low": Operation.MIN_I64,
    "high": Operation.MAX_I64,
    "total": Operation.ADD_I64,
}


class MinimalPanes(SharedWindows):
    """Row panes as fragments; time panes in a ring, the open one beside it."""

    def __init__(self, queries: Sequence[Query], groups: int) -> None:
        super().__init__(queries, groups)
        self._fragments = Fragments(groups)
        self._times = Ring(np.int64)
        self._panes = Ring(STATE, groups)
        self._open = self.no_states(1)
        self._rolled = 0
        self._row_cuts = _cuts(query for query in queries if not query.timed)
        self._time_cuts = _cuts(query for query in queries if query.timed)

    def held_bytes(self) -> int:
        return self._fragments.nbytes + self._times.nbytes + self._panes.nbytes + self._open.nbytes

    def answer(self, now: int) -> list[Answers]:
        if self._time_cuts is not None:
            self._roll_up(self._time_cuts, now)
        return super().answer(now)

    def _build(self, tuples: Tuples) -> None:
        high = self.rows + len(tuples)
        begun = [row for row in self._marks.values() if self.rows <= row < high]
        self._fragments.extend(tuples, self.rows, cut_rows(self._row_cuts, self.rows, high, begun))

    def _roll_up(self, cuts: Cuts, now: int) -> None:
        """Add closed fragments to the open time pane; at each cut that has passed it is done."""
        start = int(self._times.array[(self._times.end - 1) & (len(self._times.array) - 1)]) if self._times.end else 0
        start = cuts.next_cut(start) if self._times.end else 0
        for cut in [*cuts.starts_in(start + 1, now + 1)]:
            self._add_until(self.row_at(cut))
            self._panes.append(self._open)
            self._times.append(np.array([start], dtype=np.int64))
            self._open = self.no_states(1)
            start = cut
        starts = self._fragments.starts
        if starts.end > starts.base:
            self._add_until(int(starts.array[(starts.end - 1) & (len(starts.array) - 1)]))

    def _add_until(self, row: int) -> None:
        until = self._fragments.first_from(row, self._rolled)
        low, high = np.array([0], dtype=np.int64), np.array([row], dtype=np.int64)
        self._fragments.fold(low, high, self._rolled, self._open)
        self._rolled = until

    def _states(self, number: int, ks: range) -> States:
        query = self.queries[number]
        window = WindowSpec.over_rows(query.range, query.slide)
        if query.timed:
            return _slide(self._times.rows(), self._panes.rows(), window, ks)
        return _slide(self._fragments.starts.rows(), self._fragments.states.rows(), window, ks)

    def _free(self) -> None:
        rows = [self.oldest_needed(number) for number, query in enumerate(self.queries) if not query.timed]
        kept = self._fragments.first_from(min(rows, default=self.rows), 0)
        self._fragments.drop_before(min(kept, self._rolled) if self.unit else kept)
        times = [self._next[n] * query.slide for n, query in enumerate(self.queries) if query.timed]
        place = self._times.base + int(np.searchsorted(self._times.rows(), min(times, default=0)))
        self._times.drop_before(place)
        self._panes.drop_before(place)


def _cuts(queries: Iterable[Query]) -> Cuts | None:
    windows = [WindowSpec.over_rows(query.range, query.slide) for query in queries]
    return minimal_cuts(windows) if windows else None


def _slide(starts: Integers, panes: States, window: WindowSpec, ks: range) -> States:
    """Every window from its panes by the kernel, group by group."""
    groups = panes.shape[1]
    group, position = np.repeat(np.arange(groups), len(starts)), np.tile(starts, groups)
    columns = [
        StateColumn(operation, (np.ascontiguousarray(panes[name].T).ravel().astype(np.int64),))
        for name, operation in _OPERATIONS.items()
    ]
    found = slide_windows(group, position, columns, window, ks)
    states = np.empty((len(ks), groups), STATE)
    for name, column in zip(_OPERATIONS, found.columns, strict=True):
        states[name] = column.arrays[0].reshape(groups, len(ks)).T
    return states
