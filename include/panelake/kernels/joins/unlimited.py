"""The unlimited join's state as one value: made, enlarged, saved and restored around its kernel."""

from __future__ import annotations

import numpy as np

from panelake.kernels.joins.advance import advance
from panelake.kernels.joins.arrivals import Arrivals, Matches
from panelake.kernels.joins.clock import Clock, Grid, make_clock
from panelake.kernels.joins.compiled import kernel
from panelake.kernels.joins.key_index import (
    HEADS,
    MOST_AT_ONCE,
    KeyIndex,
    claim,
    has_room_for,
    make_index,
    without_dead_keys,
)
from panelake.kernels.joins.ring_window import (
    ID,
    KEY,
    LEAST_PLACES,
    TS,
    Rings,
    is_full,
    make_rings,
    places_of,
    push,
    with_more_places,
)
from panelake.kernels.joins.snapshot import Snapshot, restored_clock, saved_clock
from panelake.kernels.joins.unlimited_join import Join


class Unlimited:
    """Rings, index and clock of a join without memory limit."""

    def __init__(self, join: Join) -> None:
        self._join = join

    @classmethod
    def begin(cls, streams: int) -> Unlimited:
        return cls(Join(make_rings([LEAST_PLACES] * streams), make_index(0, streams), make_clock(streams)))

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Unlimited:
        """The state a snapshot was taken of; positions in the rings stay what they were."""
        front, stream = snapshot["front"], snapshot["stream"]
        held = np.bincount(stream, minlength=len(front))
        rings = make_rings([max(LEAST_PLACES, 1 << int(count).bit_length()) for count in held])
        rings = rings._replace(front=front.copy(), rear=front.copy(), border=snapshot["border"].copy())
        index = make_index(len(np.unique(snapshot["key"])), len(front))
        _refill(rings, index, Arrivals(snapshot["ts"], stream, snapshot["key"], snapshot["id"]))
        return cls(Join(rings, index, restored_clock(snapshot, len(front))))

    @property
    def clock(self) -> Clock:
        return self._join.clock

    def advance(self, grid: Grid, batch: Arrivals, row: int, matches: Matches) -> tuple[int, int, int]:
        return advance(self._join, grid, batch, row, matches)

    def make_room(self, stream: int) -> None:
        """Room for one more tuple of the stream and one more key, for many more if there is none."""
        if not has_room_for(self._join.keys, MOST_AT_ONCE):
            index = without_dead_keys(self._join.keys, self._join.windows.front)
            self._join = self._join._replace(keys=index)
        if is_full(self._join.windows, stream):
            self._join = self._join._replace(windows=with_more_places(self._join.windows))

    def held(self) -> list[int]:
        rings = self._join.windows
        return [int(count) for count in rings.rear - rings.front]

    def snapshot(self) -> Snapshot:
        """All live tuples, by stream and age."""
        rings = self._join.windows
        places = [places_of(rings, stream) for stream in range(len(rings.base))]
        live = np.concatenate(places)
        return saved_clock(self.clock) | {
            "front": rings.front.copy(),
            "border": rings.border.copy(),
            "stream": np.repeat(np.arange(len(places), dtype=np.int64), [len(one) for one in places]),
            "ts": rings.stamps[live, TS],
            "key": rings.stamps[live, KEY],
            "id": rings.links[live, ID],
        }


@kernel
def _refill(rings: Rings, index: KeyIndex, tuples: Arrivals) -> None:
    for row in range(len(tuples.ts)):
        bucket, head = claim(index, tuples.key[row]), HEADS + tuples.stream[row]
        index.buckets[bucket, head] = push(rings, tuples, row, index.buckets[bucket, head])
