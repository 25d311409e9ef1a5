"""MJoin: one symmetric hash join of n streams; a newcomer probes the other tables, smallest first, and stops at a miss.

Source: Viglas, Naughton and Burger, "Maximizing the Output Rate of Multi-Way Join Queries over Streaming Information
Sources" (VLDB 2003). Left open here: its order of probing by observed selectivity and its spilling to disk; tables are
probed by how many tuples they hold, and memory is not limited. Windows are those of kernels/joins.
Time: O(tuples in the bucket) a table probed, O(1) a result. Space: the windows and a table of buckets a stream.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.baselines.compiled import kernel
from panelake.kernels.joins.arrivals import Arrivals
from panelake.kernels.joins.join_spec import JoinSpec

Integers = NDArray[np.int64]
TS, KEY, ID, OLDER = range(4)
_FIELDS = 4
_LEAST_PLACES, _LEAST_ROOM = 64, 4_096
_NONE = -1
_MIX = -7046029254386353131  # 2^64 divided by the golden ratio, as a signed number


class Tables(NamedTuple):
    """Rings of tuples, heads of the buckets' chains (newest first), BiHT counts (one row where there is none)."""

    rings: Integers
    heads: Integers
    front: Integers
    rear: Integers
    period_end: Integers
    counts: Integers
    probes: Integers


class Grid(NamedTuple):
    """Ranges by stream, slide and shift."""

    ranges: Integers
    slide: int
    shift: int


class Scratch(NamedTuple):
    """Positions of matches by stream, how many, which is next; the order of probing."""

    matches: Integers
    found: Integers
    at: Integers
    order: Integers


class MJoin:
    """The tables of a running join; `probes` counts tables looked into."""

    def __init__(self, spec: JoinSpec, buckets: int = 4_096, vectors: int = 1) -> None:
        streams = spec.streams
        self._grid = Grid(np.array(spec.ranges, dtype=np.int64), spec.slide, spec.shift)
        self._tables = Tables(
            np.empty((streams, _LEAST_PLACES, _FIELDS), dtype=np.int64),
            np.full((streams, buckets), _NONE, dtype=np.int64),
            np.zeros(streams, dtype=np.int64),
            np.zeros(streams, dtype=np.int64),
            np.full(1, np.iinfo(np.int64).min, dtype=np.int64),
            np.zeros((vectors, streams), dtype=np.int64),
            np.zeros(1, dtype=np.int64),
        )

    @property
    def probes(self) -> int:
        return int(self._tables.probes[0])

    def feed(self, batch: Arrivals) -> Integers:
        """The results of these tuples, one a column, the ids of stream i in row i."""
        streams, row, room = len(self._grid.ranges), 0, _LEAST_ROOM
        pieces = []
        while row < len(batch.ts):
            self._make_places(int(batch.stream[row]))
            places = self._tables.rings.shape[1]
            scratch = Scratch(np.empty((streams, places), dtype=np.int64), *np.zeros((3, streams), dtype=np.int64))
            found = np.empty((streams, room), dtype=np.int64)
            row, filled, needed = advance(self._tables, self._grid, batch, row, (scratch, found))
            pieces.append(found[:, :filled].copy())
            room = max(room, 1 << int(needed - 1).bit_length()) if needed else room
        return np.concatenate([np.empty((streams, 0), dtype=np.int64), *pieces], axis=1)

    def held_bytes(self) -> int:
        tables = self._tables
        live = int((tables.rear - tables.front).sum()) * _FIELDS * tables.rings.itemsize
        return live + tables.heads.nbytes + (tables.counts.nbytes if len(tables.counts) > 1 else 0)

    def _make_places(self, stream: int) -> None:
        """Room for one more tuple of the stream, twice as much of each ring if there is none."""
        tables = self._tables
        places = tables.rings.shape[1]
        if tables.rear[stream] - tables.front[stream] < places:
            return
        grown = np.empty((len(tables.front), 2 * places, _FIELDS), dtype=np.int64)
        for number in range(len(tables.front)):
            rows = np.arange(tables.front[number], tables.rear[number])
            grown[number, rows & (2 * places - 1)] = tables.rings[number, rows & (places - 1)]
        self._tables = tables._replace(rings=grown)


@kernel
def bucket_of(key: int, buckets: int) -> int:
    """Which of so many buckets a key is in."""
    mixed = key * _MIX
    return ((mixed ^ (mixed >> 32)) & 0x7FFFFFFFFFFFFFFF) % buckets


@kernel
def advance(
    tables: Tables, grid: Grid, batch: Arrivals, row: int, output: tuple[Scratch, Integers]
) -> tuple[int, int, int]:
    """Take rows in; give the next row, results written, and the room one tuple needs where there was too little."""
    scratch, found = output
    filled, places = 0, tables.rings.shape[1]
    while row < len(batch.ts):
        ts, stream, key = batch.ts[row], batch.stream[row], batch.key[row]
        _slide(tables, grid, ts)
        if tables.rear[stream] - tables.front[stream] >= places:
            return row, filled, 0
        if ts >= tables.period_end[0] - grid.ranges[stream]:
            results = _probe(tables, stream, key, scratch)
            if filled + results > found.shape[1]:
                return row, filled, results
            filled = _write(tables, (stream, batch.id[row]), scratch, found, (filled, results))
            _push(tables, batch, row)
        row += 1
    return row, filled, 0


@kernel
def _slide(tables: Tables, grid: Grid, ts: int) -> None:
    """Where a period begins, what is older than its end - range leaves, and the order of probing is made anew."""
    end = ((ts - grid.shift) // grid.slide + 1) * grid.slide + grid.shift
    if end <= tables.period_end[0]:
        return
    tables.period_end[0] = end
    mask, vectors = tables.rings.shape[1] - 1, len(tables.counts)
    for stream in range(len(grid.ranges)):
        front = tables.front[stream]
        while front < tables.rear[stream] and tables.rings[stream, front & mask, TS] < end - grid.ranges[stream]:
            if vectors > 1:
                tables.counts[bucket_of(tables.rings[stream, front & mask, KEY], vectors), stream] -= 1
            front += 1
        tables.front[stream] = front


@kernel
def _probe(tables: Tables, stream: int, key: int, scratch: Scratch) -> int:
    """Matches of a newcomer in all other tables; the number of its results."""
    streams, vectors = len(tables.front), len(tables.counts)
    if vectors > 1:
        vector = bucket_of(key, vectors)
        for other in range(streams):
            if other != stream and tables.counts[vector, other] == 0:
                return 0
    results = 1
    _order_by_size(tables, scratch.order)
    for other in scratch.order:
        if other != stream:
            results *= _walk(tables, other, key, scratch)
            if results == 0:
                return 0
    return results


@kernel
def _order_by_size(tables: Tables, order: Integers) -> None:
    for place in range(len(order)):
        at = place
        size = tables.rear[place] - tables.front[place]
        while at > 0 and tables.rear[order[at - 1]] - tables.front[order[at - 1]] > size:
            order[at] = order[at - 1]
            at -= 1
        order[at] = place


@kernel
def _walk(tables: Tables, stream: int, key: int, scratch: Scratch) -> int:
    """Note the positions of a key in one table, newest first; a chain ends at the first tuple that has left."""
    mask, count = tables.rings.shape[1] - 1, 0
    tables.probes[0] += 1
    at = tables.heads[stream, bucket_of(key, tables.heads.shape[1])]
    while at >= tables.front[stream]:
        if tables.rings[stream, at & mask, KEY] == key:
            scratch.matches[stream, count] = at
            count += 1
        at = tables.rings[stream, at & mask, OLDER]
    scratch.found[stream] = count
    return count


@kernel
def _write(tables: Tables, newcomer: tuple[int, int], scratch: Scratch, found: Integers, span: tuple[int, int]) -> int:
    """All combinations of the matches with the newcomer."""
    (stream, number), (filled, results) = newcomer, span
    mask = tables.rings.shape[1] - 1
    scratch.at[:] = 0
    for _ in range(results):
        for other in range(len(scratch.at)):
            if other == stream:
                found[other, filled] = number
            else:
                place = scratch.matches[other, scratch.at[other]] & mask
                found[other, filled] = tables.rings[other, place, ID]
        filled += 1
        for other in range(len(scratch.at)):
            if other == stream:
                continue
            scratch.at[other] += 1
            if scratch.at[other] < scratch.found[other]:
                break
            scratch.at[other] = 0
    return filled


@kernel
def _push(tables: Tables, batch: Arrivals, row: int) -> None:
    stream, key = batch.stream[row], batch.key[row]
    at, bucket = tables.rear[stream], bucket_of(key, tables.heads.shape[1])
    one = tables.rings[stream, at & (tables.rings.shape[1] - 1)]
    one[TS], one[KEY], one[ID], one[OLDER] = batch.ts[row], key, batch.id[row], tables.heads[stream, bucket]
    tables.heads[stream, bucket] = at
    tables.rear[stream] = at + 1
    if len(tables.counts) > 1:
        tables.counts[bucket_of(key, len(tables.counts)), stream] += 1
