"""Many window queries over one stream: what Normal, BINT, LINT, SPQP and our panes have in common.

`insert` builds whatever a scheme shares; `answer` gives every window that has become due since the last call and frees
what no later window reads. Window i of a query is [i·slide, i·slide + range), of tuple numbers or of milliseconds; it
is due once so many tuples came, or once its end has passed. Every scheme keeps count, sum, min and max of each group.
Order assumed: tuples ascend by ts; at `answer(now)` all tuples before `now` have been inserted.
Left open by the papers: how tuple-based structures find the tuples of a time window. Here all of them note the first
tuple of each time unit, the gcd of all time ranges and slides.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.baselines.compiled import kernel

Integers = NDArray[np.int64]
Tuples = NDArray[np.void]
States = NDArray[np.void]

TUPLE = np.dtype([("area", "<i4"), ("car", "<i4"), ("speed", "<i4"), ("ts", "<i4")])
STATE = np.dtype([("count", "<i4"), ("low", "<i4"), ("high", "<i4"), ("total", "<i8")])
_MOST, _LEAST = np.iinfo(np.int32).max, np.iinfo(np.int32).min


@dataclass(frozen=True)
class Query:
    """Windows of `range` every `slide`: milliseconds where `timed`, else tuples of the whole stream."""

    range: int
    slide: int
    timed: bool = False


class Answers(NamedTuple):
    """Windows first, first + 1 … of a query: one row a window, one state a group."""

    query: int
    first: int
    states: States


class SharedWindows(ABC):
    """Keeps each query's pointer to its next window (QP), tuple counts and time marks; schemes do the rest."""

    def __init__(self, queries: Sequence[Query], groups: int) -> None:
        self.queries = tuple(queries)
        self.groups = groups
        self.rows = 0
        self._next = [0] * len(queries)
        lengths = [length for query in queries if query.timed for length in (query.range, query.slide)]
        self.unit = math.gcd(*lengths) if lengths else 0
        self._marks: dict[int, int] = {}
        self._marked = 0

    def insert(self, tuples: Tuples) -> None:
        """Take tuples in, in the order of their ts."""
        if self.unit and len(tuples):
            self._mark_units(tuples)
        self._build(tuples)
        self.rows += len(tuples)

    def answer(self, now: int) -> list[Answers]:
        """All windows due that were not given before."""
        found = []
        for number, query in enumerate(self.queries):
            ks = range(self._next[number], self._due(query, now))
            if len(ks) > 0:
                found.append(Answers(number, ks.start, self._states(number, ks)))
                self._next[number] = ks.stop
        self._free()
        return found

    @abstractmethod
    def held_bytes(self) -> int:
        """Bytes of all rows held now."""

    @abstractmethod
    def _build(self, tuples: Tuples) -> None: ...

    @abstractmethod
    def _states(self, number: int, ks: range) -> States: ...

    @abstractmethod
    def _free(self) -> None: ...

    def row_at(self, time: int) -> int:
        """The first tuple not before a multiple of the time unit; the next to come where there is none yet."""
        return self._marks.get(time // self.unit, self.rows)

    def bounds(self, number: int, ks: range) -> tuple[Integers, Integers]:
        """First tuple of each window, and the first behind it."""
        query = self.queries[number]
        starts = [k * query.slide for k in ks]
        if not query.timed:
            first = np.array(starts, dtype=np.int64)
            return first, first + query.range
        firsts = [self.row_at(start) for start in starts]
        lasts = [self.row_at(start + query.range) for start in starts]
        return np.array(firsts, dtype=np.int64), np.array(lasts, dtype=np.int64)

    def oldest_needed(self, number: int) -> int:
        """The first tuple that this query's next window reads, at most the next to come."""
        query, start = self.queries[number], self._next[number] * self.queries[number].slide
        return min(self.rows, self.row_at(start) if query.timed else start)

    def no_states(self, count: int) -> States:
        states = np.empty((count, self.groups), STATE)
        clear(states, 0, count)
        return states

    def _due(self, query: Query, now: int) -> int:
        reached = now if query.timed else self.rows
        return max(0, (reached - query.range) // query.slide + 1)

    def _mark_units(self, tuples: Tuples) -> None:
        units = range(self._marked, int(tuples["ts"][-1]) // self.unit + 1)
        places = np.searchsorted(tuples["ts"], np.array(units, dtype=np.int64) * self.unit)
        self._marks |= {unit: self.rows + int(place) for unit, place in zip(units, places, strict=True)}
        self._marked = units.stop


@kernel
def clear(states: Any, begin: int, end: int) -> None:
    """States of nothing in the rows [begin, end)."""
    for row in range(begin, end):
        for group in range(states.shape[1]):
            state = states[row, group]
            state.count, state.low, state.high, state.total = 0, _MOST, _LEAST, 0


@kernel
def add_tuple(tuples: Any, place: int, states: Any, row: int) -> None:
    """Lift one tuple into the state of its group."""
    one = tuples[place]
    state = states[row, one.area]
    state.count += 1
    state.total += one.speed
    state.low = min(state.low, one.speed)
    state.high = max(state.high, one.speed)


@kernel
def add_states(source: Any, place: int, states: Any, row: int) -> None:
    """Combine the states of all groups into those of another row."""
    for group in range(source.shape[1]):
        one, state = source[place, group], states[row, group]
        state.count += one.count
        state.total += one.total
        state.low = min(state.low, one.low)
        state.high = max(state.high, one.high)
