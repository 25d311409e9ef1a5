"""The window join that keeps everything: rings, one index, any number of results in bounded batches.

Source: Algorithm 1 of the join period paper on the ring queue of the hash index paper (see join_spec, ring_window). The
slips corrected: expiry happens only at multiples of T, whatever Te is, and a tuple of a gap (W < T: older than its
period's end - W) belongs to no window and joins nothing; the printed algorithm lets it.

Time: O(1) expected a tuple and O(1) amortised a result. Space: the windows, and one output batch.
Order assumed: see arrivals. Order given: by newest tuple as it arrived; then newest first, the last stream fastest.
"""

from __future__ import annotations

from typing import NamedTuple

from panelake.kernels.joins.arrivals import Arrivals, Matches
from panelake.kernels.joins.clock import (
    CONSUMED,
    EMITTING,
    IDLE,
    NEEDS_ROOM,
    OUTPUT_FULL,
    PERIOD_END,
    Clock,
    Grid,
    enters_period,
    notice,
)
from panelake.kernels.joins.compiled import kernel, part
from panelake.kernels.joins.key_index import HEADS, KeyIndex, claim, is_filled
from panelake.kernels.joins.ring_window import ID, OLDER, Rings, is_full, place, push, slide


class Join(NamedTuple):
    """All a join without memory limit knows."""

    rings: Rings
    keys: KeyIndex
    clock: Clock


@kernel
def advance(join: Join, grid: Grid, batch: Arrivals, row: int, matches: Matches) -> tuple[int, int, int]:
    """Take rows in from `row` on; give the next row, the results written, and why it came back."""
    rings, clock = join.rings, join.clock
    filled = 0
    while row < len(batch.ts):
        stream = batch.stream[row]
        if clock.now[EMITTING] == IDLE:
            if is_full(rings, stream) or is_filled(join.keys):
                return row, filled, NEEDS_ROOM
            _take(join, grid, batch, row)
        if clock.now[EMITTING] != IDLE:
            filled = _emit(rings, clock, matches, filled)
            if clock.now[EMITTING] != IDLE:
                return row, filled, OUTPUT_FULL
        row += 1
    return row, filled, CONSUMED


@part
def _take(join: Join, grid: Grid, batch: Arrivals, row: int) -> None:
    """One tuple's change of the state; the odometer is set if there is something to write."""
    rings, clock = join.rings, join.clock
    ts, stream = batch.ts[row], batch.stream[row]
    notice(clock, ts, stream)
    if enters_period(clock, grid, ts):
        for other in range(len(grid.ranges)):
            slide(rings, other, clock.now[PERIOD_END] - grid.ranges[other])
    if ts < clock.now[PERIOD_END] - grid.ranges[stream]:
        return
    heads = join.keys.buckets[claim(join.keys, batch.key[row]), HEADS:]
    heads[stream] = push(rings, batch, row, heads[stream])
    if ts < grid.emit_from:
        return
    for other in range(len(heads)):
        if heads[other] < rings.front[other]:
            return
    for other in range(len(heads)):
        clock.at[other] = clock.first[other] = heads[other]
    clock.now[EMITTING] = stream


@part
def _emit(rings: Rings, clock: Clock, matches: Matches, filled: int) -> int:
    """Write results from the odometer's reading on; give how many there are. IDLE once all are written."""
    streams = len(clock.at)
    newest = clock.now[EMITTING]
    while filled < len(matches.window_end):
        for stream in range(streams):
            matches.ids[stream, filled] = rings.tuples[place(rings, stream, clock.at[stream]), ID]
        matches.window_end[filled] = clock.now[PERIOD_END]
        filled += 1
        if not _turn(rings, clock, newest):
            clock.now[EMITTING] = IDLE
            break
    return filled


@part
def _turn(rings: Rings, clock: Clock, newest: int) -> bool:
    """Turn the odometer by one; False once it has been all the way round."""
    for stream in range(len(clock.at) - 1, -1, -1):
        if stream == newest:
            continue
        older = rings.tuples[place(rings, stream, clock.at[stream]), OLDER]
        if older >= rings.front[stream]:
            clock.at[stream] = older
            return True
        clock.at[stream] = clock.first[stream]
    return False
