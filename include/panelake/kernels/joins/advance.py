"""How every window join goes forward: blocks of tuples looked up, each taken in, its results written.

What a join does with a tuple is told by its type (see unlimited_join, bounded_join); when it stops, and where it goes
on, is the same for all. Time: beside the tuples' own work, one look a block. Order assumed: see arrivals.
Order given: by newest tuple as it arrived; then newest first, the last stream fastest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from panelake.kernels.joins import bounded_join, unlimited_join
from panelake.kernels.joins.arrivals import Arrivals, Matches, stream_of
from panelake.kernels.joins.clock import CONSUMED, EMITTING, IDLE, NEEDS_ROOM, OUTPUT_FULL, Grid
from panelake.kernels.joins.compiled import kernel, part_by_type
from panelake.kernels.joins.odometer import emit

BLOCK = 128
Join = Any  # one of the two modules' Joins
_LOOK: dict[type, Callable[..., bool]] = {
    unlimited_join.Join: unlimited_join.look_up,
    bounded_join.Join: bounded_join.look_up,
}
_ROOM: dict[type, Callable[..., bool]] = {
    unlimited_join.Join: unlimited_join.has_room,
    bounded_join.Join: bounded_join.has_room,
}
_TAKE: dict[type, Callable[..., bool]] = {
    unlimited_join.Join: unlimited_join.take,
    bounded_join.Join: bounded_join.take,
}


def look_up(join: Join, batch: Arrivals, first: int, last: int) -> bool:
    """Look up the keys of some rows, at most a block; False if the tables must grow first."""
    return _LOOK[type(join)](join, batch, first, last)


def has_room(join: Join, stream: int) -> bool:
    """Whether the tables need not grow for one more tuple of the stream."""
    return _ROOM[type(join)](join, stream)


def take(join: Join, grid: Grid, batch: Arrivals, row: int, place: int) -> bool:
    """One tuple's change of the state, `place` in its block; True, and the odometer set, if it has results."""
    return _TAKE[type(join)](join, grid, batch, row, place)


part_by_type(look_up, _LOOK)
part_by_type(has_room, _ROOM)
part_by_type(take, _TAKE)


@kernel
def advance(join: Join, grid: Grid, batch: Arrivals, row: int, matches: Matches) -> tuple[int, int, int]:
    """Take rows in from `row` on; give the next row, the results written, and why it came back."""
    clock = join.clock
    filled, first, last = 0, row, row
    while row < len(batch.ts):
        if clock.now[EMITTING] == IDLE:
            if row == last:
                first, last = row, min(row + BLOCK, len(batch.ts))
                if not look_up(join, batch, first, last):
                    return row, filled, NEEDS_ROOM
            if not has_room(join, stream_of(batch, row)):
                return row, filled, NEEDS_ROOM
            if not take(join, grid, batch, row, row - first):
                row += 1
                continue
        filled = emit(join.windows, clock, matches, filled)
        if clock.now[EMITTING] != IDLE:
            return row, filled, OUTPUT_FULL
        row += 1
        last = max(last, row)
    return row, filled, CONSUMED
