"""The window join that sheds: at most `memory` tuples a stream, the policy says who goes.

Source: the algorithm of the shedding paper (see existence_patterns) on the periods of unlimited_join; the slips
corrected are named there. On arrival for a full window with nothing to expire one tuple is shed, never the newcomer;
then the newcomer is inserted, gets its pattern, and joins if every bit of its key's vector is set.

Time: O(1) expected a tuple beside its policy and the tuples of its key, O(1) amortised a result. Space: `memory` slots
a stream, and one output batch. Order assumed: see arrivals.
"""

from __future__ import annotations

from typing import NamedTuple

from panelake.kernels.joins.arrivals import Arrivals
from panelake.kernels.joins.biht import VECTOR, claim, head_of, look_at, release
from panelake.kernels.joins.clock import ARRIVED, EMITTING, PERIOD_END, Clock, Grid, enter_period, notice
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.existence_patterns import PatternTable, register
from panelake.kernels.joins.key_sample import KeySample, is_sampled, note_sampled, slide_sample
from panelake.kernels.joins.policies import Policy, arrived, left, victim
from panelake.kernels.joins.slots import NOTHING, has_slot, occupy, oldest, vacate
from panelake.kernels.joins.windows import (
    Windows,
    fetch_chains,
    fetch_soon_oldest,
    is_complete,
    link,
    results_with,
    unlink,
)


class Join(NamedTuple):
    """All a join with a memory limit knows."""

    policy: Policy
    table: PatternTable
    windows: Windows
    sample: KeySample
    clock: Clock
    memory: int


@part
def look_up(join: Join, batch: Arrivals, first: int, last: int) -> bool:
    """Look at the entries of some rows' keys."""
    look_at(join.windows.biht, batch.key, first, last)
    fetch_chains(join.windows, last - first)
    return True


@part
def has_room(join: Join, stream: int) -> bool:
    """Whether the tables need not grow for one more tuple; there are as many entries as slots, and one more."""
    slots = join.windows.slots
    return bool(slots.held[stream] >= join.memory or has_slot(slots, stream))


@part
def take(join: Join, grid: Grid, batch: Arrivals, row: int, place: int) -> bool:
    """Expire, shed, insert, learn; True, and the odometer set, if there is something to write."""
    windows, clock = join.windows, join.clock
    ts, stream = batch.ts[row], batch.stream[row]
    notice(clock, ts, stream)
    if not _make_way(join, grid, ts, stream):
        return False
    hashed = windows.biht.hashes[place]
    entry = claim(windows.biht, hashed, batch.key[row])
    slot = occupy(windows.slots, stream, ts, clock.now[ARRIVED])
    link(windows, stream, slot, entry, batch.id[row])
    results = results_with(windows, stream, entry) if is_complete(windows, entry) else 0.0
    windows.biht.results[entry] += results
    register(join.table, windows, stream, slot, results)
    arrived(join.policy, windows, stream, slot, results)
    if is_sampled(join.sample, hashed):
        note_sampled(join.sample, batch, row, hashed, results)
    if results == 0 or ts < grid.emit_from:
        return False
    for other in range(len(grid.ranges)):
        clock.at[other] = clock.first[other] = windows.biht.halves[entry, head_of(other)]
    clock.now[EMITTING] = stream
    return True


@part
def _make_way(join: Join, grid: Grid, ts: int, stream: int) -> bool:
    """At a period's end all that is too old leaves; from a full window one is shed. False for a tuple of a gap.

    All who leave do so in one place, since the compiler puts a copy of all that follows wherever that is called.
    """
    slots, now = join.windows.slots, join.clock.now
    expiring = len(grid.ranges)
    if ts >= now[PERIOD_END]:
        enter_period(join.clock, grid, ts)
        expiring = 0
    belongs = ts >= now[PERIOD_END] - grid.ranges[stream]
    while expiring < len(grid.ranges) or (belongs and slots.held[stream] >= join.memory):
        leaves, slot = stream, NOTHING
        if expiring < len(grid.ranges):
            leaves, slot = expiring, _too_old(join, grid, expiring)
            expiring += slot == NOTHING
        else:
            slot = victim(join.policy, join.windows, stream)
            join.table.shed[stream, slots.tuples[slot]["pattern"]] += 1
        if slot != NOTHING:
            _remove(join, leaves, slot)
    return bool(belongs)


@part
def _too_old(join: Join, grid: Grid, stream: int) -> int:
    """The oldest tuple of a stream if it is older than its range; NOTHING once all such are gone."""
    bound = join.clock.now[PERIOD_END] - grid.ranges[stream]
    slot = oldest(join.windows.slots, stream)
    if slot != NOTHING and join.windows.slots.tuples[slot]["ts"] < bound:
        fetch_soon_oldest(join.windows, stream)
        return slot
    slide_sample(join.sample, stream, bound)
    return NOTHING


@part
def _remove(join: Join, stream: int, slot: int) -> None:
    windows = join.windows
    entry = windows.slots.tuples[slot]["entry"]
    unlink(windows, stream, slot)
    left(join.policy, windows, stream, slot)
    vacate(windows.slots, stream, slot)
    if windows.biht.halves[entry, VECTOR] == 0:
        release(windows.biht, entry)
