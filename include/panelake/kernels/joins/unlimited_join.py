"""The window join that keeps everything: rings, one index, any number of results in bounded batches.

Source: Algorithm 1 of the join period paper on the ring queue of the hash index paper (see join_spec, ring_window). The
slips corrected: expiry happens only at multiples of T, whatever Te is, and a tuple of a gap (W < T: older than its
period's end - W) belongs to no window and joins nothing; the printed algorithm lets it.

Time: O(1) expected a tuple and O(1) amortised a result. Space: the windows, and one output batch.
Order assumed: see arrivals.
"""

from __future__ import annotations

from typing import NamedTuple

from panelake.kernels.joins.arrivals import Arrivals
from panelake.kernels.joins.clock import EMITTING, PERIOD_END, Clock, Grid, enter_period, notice
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.key_index import HEADS, KeyIndex, claim_all, has_room_for
from panelake.kernels.joins.ring_window import Rings, is_full, push, slide


class Join(NamedTuple):
    """All a join without memory limit knows."""

    windows: Rings
    keys: KeyIndex
    clock: Clock


@part
def look_up(join: Join, batch: Arrivals, first: int, last: int) -> bool:
    """Find the buckets of some rows' keys; False if the index must be made anew first."""
    if not has_room_for(join.keys, last - first):
        return False
    claim_all(join.keys, batch.key, first, last)
    return True


@part
def has_room(join: Join, stream: int) -> bool:
    """Whether the stream's ring has a free place."""
    return not is_full(join.windows, stream)


@part
def take(join: Join, grid: Grid, batch: Arrivals, row: int, place: int) -> bool:
    """Push a tuple, the head of its key's chain; True, and the odometer set, if every stream holds the key."""
    rings, clock, buckets = join.windows, join.clock, join.keys.buckets
    ts, stream, streams = batch.ts[row], batch.stream[row], len(grid.ranges)
    notice(clock, ts, stream)
    if ts >= clock.now[PERIOD_END]:
        enter_period(clock, grid, ts)
        for other in range(streams):
            slide(rings, other, clock.now[PERIOD_END] - grid.ranges[other])
    if ts < clock.now[PERIOD_END] - grid.ranges[stream]:
        return False
    bucket = join.keys.found[place]
    buckets[bucket, HEADS + stream] = push(rings, batch, row, buckets[bucket, HEADS + stream])
    if ts < grid.emit_from:
        return False
    for other in range(streams):
        if buckets[bucket, HEADS + other] < rings.front[other]:
            return False
    for other in range(streams):
        clock.at[other] = clock.first[other] = buckets[bucket, HEADS + other]
    clock.now[EMITTING] = stream
    return True
