"""The window join that sheds: at most `memory` tuples a stream, the policy says who goes.

Source: the algorithm of the shedding paper (see existence_patterns) on the periods of unlimited_join; the slips
corrected are named there. On arrival for a full window with nothing to expire one tuple is shed, never the newcomer;
then the newcomer is inserted, gets its pattern, and joins if every bit of its key's vector is set.

Time: O(1) expected a tuple beside its policy and the tuples of its key, O(1) amortised a result. Space: `memory` slots
a stream, and one output batch. Order assumed and order given: as in unlimited_join.
"""

from __future__ import annotations

from typing import NamedTuple

from panelake.kernels.joins.arrivals import Arrivals, Matches
from panelake.kernels.joins.biht import HEAD, VECTOR, chain, claim, has_spare_entry, release
from panelake.kernels.joins.clock import (
    ARRIVED,
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
from panelake.kernels.joins.existence_patterns import PatternTable, register, write_off
from panelake.kernels.joins.policies import Policy, arrived, left, victim
from panelake.kernels.joins.slots import ENTRY, ID, NOTHING, OLDER, PATTERN, TS, has_room, occupy, oldest, vacate
from panelake.kernels.joins.windows import Windows, link, results_with, unlink


class Join(NamedTuple):
    """All a join with a memory limit knows."""

    policy: Policy
    table: PatternTable
    windows: Windows
    clock: Clock
    memory: int


@kernel
def advance(join: Join, grid: Grid, batch: Arrivals, row: int, matches: Matches) -> tuple[int, int, int]:
    """Take rows in from `row` on; give the next row, the results written, and why it came back."""
    windows, clock = join.windows, join.clock
    filled = 0
    while row < len(batch.ts):
        if clock.now[EMITTING] == IDLE:
            if not _has_room(join, batch.stream[row]):
                return row, filled, NEEDS_ROOM
            _take(join, grid, batch, row)
        if clock.now[EMITTING] != IDLE:
            filled = _emit(windows, clock, matches, filled)
            if clock.now[EMITTING] != IDLE:
                return row, filled, OUTPUT_FULL
        row += 1
    return row, filled, CONSUMED


@part
def is_at_limit(join: Join, stream: int) -> bool:
    """Whether a window holds all it may."""
    return bool(join.windows.slots.held[stream] >= join.memory)


@part
def _has_room(join: Join, stream: int) -> bool:
    """Whether the tables need not grow for one more tuple."""
    windows = join.windows
    return has_spare_entry(windows.biht) and (is_at_limit(join, stream) or has_room(windows.slots, stream))


@part
def _take(join: Join, grid: Grid, batch: Arrivals, row: int) -> None:
    """One tuple's change of the state; the odometer is set if there is something to write."""
    windows, clock = join.windows, join.clock
    ts, stream = batch.ts[row], batch.stream[row]
    notice(clock, ts, stream)
    if enters_period(clock, grid, ts):
        for other in range(len(grid.ranges)):
            _slide(join, other, clock.now[PERIOD_END] - grid.ranges[other])
    if ts < clock.now[PERIOD_END] - grid.ranges[stream]:
        return
    if is_at_limit(join, stream):
        _shed(join, stream)
    entry = claim(windows.biht, batch.key[row])
    slot = occupy(windows.slots, stream, ts, clock.now[ARRIVED])
    link(windows, stream, slot, entry, batch.id[row])
    results = results_with(windows, stream, entry)
    windows.biht.results[entry] += results
    register(join.table, windows, stream, slot, results)
    arrived(join.policy, windows, stream, slot, results)
    if results > 0 and ts >= grid.emit_from:
        _set_odometer(windows, clock, entry)
        clock.now[EMITTING] = stream


@part
def _shed(join: Join, stream: int) -> None:
    slot = victim(join.policy, join.table, join.windows, stream)
    write_off(join.table, stream, join.windows.slots.rows[stream, slot, PATTERN])
    _remove(join, stream, slot)


@part
def _slide(join: Join, stream: int, bound: int) -> None:
    """A period ends: what is older than the bound leaves."""
    slots = join.windows.slots
    slot = oldest(slots, stream)
    while slot != NOTHING and slots.stamps[stream, slot, TS] < bound:
        _remove(join, stream, slot)
        slot = oldest(slots, stream)


@part
def _remove(join: Join, stream: int, slot: int) -> None:
    windows = join.windows
    entry = windows.slots.rows[stream, slot, ENTRY]
    unlink(windows, stream, slot)
    left(join.policy, windows, stream, slot)
    vacate(windows.slots, stream, slot)
    if windows.biht.entries[entry, VECTOR] == 0:
        release(windows.biht, entry)


@part
def _set_odometer(windows: Windows, clock: Clock, entry: int) -> None:
    for stream in range(len(clock.at)):
        clock.at[stream] = clock.first[stream] = windows.biht.entries[entry, chain(stream, HEAD)]


@part
def _emit(windows: Windows, clock: Clock, matches: Matches, filled: int) -> int:
    """Write results from the odometer's reading on; give how many there are. IDLE once all are written."""
    newest = clock.now[EMITTING]
    while filled < len(matches.window_end):
        for stream in range(len(clock.at)):
            matches.ids[stream, filled] = windows.slots.rows[stream, clock.at[stream], ID]
        matches.window_end[filled] = clock.now[PERIOD_END]
        filled += 1
        if not _turn(windows, clock, newest):
            clock.now[EMITTING] = IDLE
            break
    return filled


@part
def _turn(windows: Windows, clock: Clock, newest: int) -> bool:
    """Turn the odometer by one; False once it has been all the way round."""
    for stream in range(len(clock.at) - 1, -1, -1):
        if stream == newest:
            continue
        older = windows.slots.rows[stream, clock.at[stream], OLDER]
        if older != NOTHING:
            clock.at[stream] = older
            return True
        clock.at[stream] = clock.first[stream]
    return False
