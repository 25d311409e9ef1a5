"""The window join that keeps everything: rings, one index, any number of results in bounded batches.

Source: Algorithm 1 of the join period paper on the ring queue of the hash index paper (see join_spec, ring_window). The
slips corrected: expiry happens only at multiples of T, whatever Te is, and a tuple of a gap (W < T: older than its
period's end - W) belongs to no window and joins nothing; the printed algorithm lets it.

Time: O(1) expected a tuple and O(1) amortised a result. Space: the windows, and one output batch.
Order assumed: see arrivals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panelake.kernels.joins.arrivals import Arrivals, stream_of
from panelake.kernels.joins.clock import EMITTING, PERIOD_END, Clock, Grid, enter_period, notice
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.key_index import HEADS, KeyIndex, claim_all, has_room_for
from panelake.kernels.joins.prefetch import fetch
from panelake.kernels.joins.ring_window import Rings, is_full, place, push, slide


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
    for nth in range(last - first):
        bucket = join.keys.found[nth]
        if _is_complete(join, batch.stream[first + nth], bucket):
            _fetch_heads(join, bucket)
    return True


@part
def _fetch_heads(join: Join, bucket: np.uint64) -> None:
    """Have each stream's newest tuple of the bucket's key brought near: its first result names them."""
    rings, buckets = join.windows, join.keys.buckets
    for stream in range(len(rings.front)):
        fetch(rings.links, place(rings, stream, buckets[bucket, HEADS + stream]))


@part
def _is_complete(join: Join, mine: int, bucket: np.uint64) -> bool:
    """Whether every stream but one's own holds the bucket's key."""
    complete = True
    for stream in range(len(join.windows.front)):
        complete &= (stream == mine) | (join.keys.buckets[bucket, HEADS + stream] >= join.windows.front[stream])
    return complete


@part
def has_room(join: Join, stream: int) -> bool:
    """Whether the stream's ring has a free place."""
    return not is_full(join.windows, stream)


@part
def take(join: Join, grid: Grid, batch: Arrivals, row: int, nth: int) -> bool:
    """Push a tuple, the head of its key's chain; True, and the odometer set, if every stream holds the key."""
    rings, clock, buckets = join.windows, join.clock, join.keys.buckets
    ts, stream, streams = batch.ts[row], stream_of(batch, row), len(grid.ranges)
    notice(clock, ts, stream)
    if ts >= clock.now[PERIOD_END]:
        enter_period(clock, grid, ts)
        for other in range(streams):
            slide(rings, other, clock.now[PERIOD_END] - grid.ranges[other])
    if ts < clock.now[PERIOD_END] - grid.ranges[stream]:
        return False
    bucket = join.keys.found[nth]
    buckets[bucket, HEADS + stream] = push(rings, batch, row, buckets[bucket, HEADS + stream])
    if ts < grid.emit_from or not _is_complete(join, stream, bucket):
        return False
    for other in range(streams):
        clock.at[other] = clock.first[other] = buckets[bucket, HEADS + other]
    clock.now[EMITTING] = stream
    return True
