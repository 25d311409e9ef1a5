"""Shared nested-loop window joins of two streams: what LWO and SWF have in common, the scan apart.

Several queries join the same two streams, each with its own range; all slide alike. Source: Hammad, Franklin, Aref and
Elmagarmid, "Scheduling for shared window joins over data streams" (VLDB 2003). Left open there: windows that move by a
slide; here a newcomer of a period that ends at kT sees what is not before kT − range, as in kernels/joins.
Time: O(largest window) a tuple. Space: the largest window. Order assumed: see kernels/joins/arrivals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.arrivals import Arrivals
from panelake.kernels.joins.join_spec import JoinSpec

Integers = NDArray[np.int64]
TS, KEY, ID = range(3)
_FIELDS = 3
_LEAST_ROOM = 1_024


class Scan(NamedTuple):
    """Newcomers (ts, key, id, stream, end of the period, tuples of the other stream before them) and both windows."""

    newcomers: Integers
    first: Integers
    second: Integers
    ranges: Integers


class NestedLoops:
    """The tuples of both streams that are in the largest window, and a way to scan them."""

    def __init__(self, specs: Sequence[JoinSpec], scan: Callable[[Scan, Integers], int]) -> None:
        self._slide, self._shift = specs[0].slide, specs[0].shift
        if any((spec.slide, spec.shift) != (self._slide, self._shift) or len(set(spec.ranges)) != 1 for spec in specs):
            raise ValueError(f"queries that share nested loops slide alike, each with one range; got {list(specs)}")
        ranges = np.array([spec.ranges[0] for spec in specs], dtype=np.int64)
        self._order = np.argsort(ranges, kind="stable")
        self._ranges = ranges[self._order]
        self._scan = scan
        self._held = [np.empty((0, _FIELDS), dtype=np.int64) for _ in range(2)]

    def feed(self, batch: Arrivals) -> list[Integers]:
        """For each query the results of these tuples, one a column."""
        scan = self._with(batch)
        room = _LEAST_ROOM
        while (count := self._scan(scan, found := np.empty((room, 3), dtype=np.int64))) > room:
            room = 1 << (count - 1).bit_length()
        self._held = [scan.first, scan.second]
        if len(batch.ts):
            end = int(scan.newcomers[-1, 4])
            self._held = [tuples[tuples[:, TS] >= end - self._ranges[-1]] for tuples in self._held]
        place = np.argsort(self._order)
        return [found[:count][found[:count, 0] == number, 1:].T for number in place.tolist()]

    def held_bytes(self) -> int:
        return sum(tuples.nbytes for tuples in self._held)

    def _with(self, batch: Arrivals) -> Scan:
        end = ((batch.ts - self._shift) // self._slide + 1) * self._slide + self._shift
        windows = []
        for stream, held in enumerate(self._held):
            mine = batch.stream == stream
            fresh = np.stack([batch.ts[mine], batch.key[mine], batch.id[mine]], axis=1)
            windows.append(np.ascontiguousarray(np.concatenate([held, fresh])))
        before = [np.cumsum(batch.stream == stream) + len(held) for stream, held in enumerate(self._held)]
        seen = np.where(batch.stream == 0, before[1], before[0])
        newcomers = np.stack([batch.ts, batch.key, batch.id, batch.stream, end, seen], axis=1)
        return Scan(np.ascontiguousarray(newcomers), windows[0], windows[1], self._ranges)
