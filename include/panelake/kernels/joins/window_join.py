"""Window joins over 2 to 8 streams: tuples in, results out in bounded batches, state in and out as a value.

How to join a slice [start, end):

    spec = JoinSpec(ranges=(300_000_000,) * 3, slide=60_000_000)             # microseconds; memory=n to shed
    join = WindowJoin(spec, emit_from=start)                                 # unlimited: feed bronze from start - max W
    join = WindowJoin(spec, snapshot)                                        # bounded: resume from the slice before
    for matches in join.feed(arrivals(ts, stream, key, id)):                 # any number of batches, in order
        ...                                                                  # matches.ids[i], matches.window_end
    snapshot = join.snapshot()                                               # plain arrays, see snapshot
    join.accounting()                                                        # tuples shed by pattern, results lost

Rows come in the order (event time, place in FROM, sequence number); keys are 64-bit codes, equal where the real keys
are; a NULL key is left out by the caller. However the input is cut into batches, results and snapshot are the same.
A caller may stop after any batch of results: `consumed` rows of the input are done with, and the rest, fed to this
join or to one made from its snapshot, continues in the middle of the output.
The sources, times and spaces are told in unlimited_join and bounded_join; the definition, in naive.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panelake.kernels.joins.accounting import Accounting
from panelake.kernels.joins.arrivals import Arrivals, Matches, check_order
from panelake.kernels.joins.bounded import Bounded
from panelake.kernels.joins.clock import EMITTING, IDLE, LAST_STREAM, LAST_TS, NEEDS_ROOM, PERIOD_END, make_grid
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.snapshot import Snapshot
from panelake.kernels.joins.unlimited import Unlimited

DEFAULT_RESULTS = 65_536


class WindowJoin:
    """A running join; `consumed` counts the rows of the last batch fed that are done with."""

    def __init__(
        self,
        spec: JoinSpec,
        snapshot: Snapshot | None = None,
        *,
        emit_from: int | None = None,
        most_results: int = DEFAULT_RESULTS,
    ) -> None:
        if most_results <= 0:
            raise ValueError(f"an output batch holds at least 1 result; got {most_results}")
        self.spec = spec
        self.consumed = 0
        self._grid = make_grid(spec, emit_from)
        self._most_results = most_results
        self._state = _begin(spec) if snapshot is None else _restore(spec, snapshot)

    def feed(self, batch: Arrivals) -> Iterator[Matches]:
        """The results of these tuples, at most `most_results` at a time; never an empty batch."""
        self._check(batch)
        self.consumed = 0
        while self.consumed < len(batch.ts):
            matches = self._output()
            self.consumed, filled, why = self._state.advance(self._grid, batch, self.consumed, matches)
            if filled:
                yield Matches(matches.ids[:, :filled], matches.window_end[:filled])
            if why == NEEDS_ROOM:
                self._state.make_room(int(batch.stream[self.consumed]))

    def snapshot(self) -> Snapshot:
        """The state as plain arrays, from which another join continues."""
        return self._state.snapshot()

    def horizon(self) -> int:
        """Tuples older than this can be in no result to come, nor in one that waits to be written."""
        return int(self._state.clock.now[PERIOD_END]) - max(self.spec.ranges)

    def held(self) -> list[int]:
        """Tuples in each window now."""
        return self._state.held()

    def accounting(self) -> Accounting:
        """What has been shed since the very first tuple; the difference of two tells of what came between."""
        state = self._state
        if isinstance(state, Bounded):
            return state.accounting()
        return Accounting.nothing(self.spec)

    def _output(self) -> Matches:
        ids = np.empty((self.spec.streams, self._most_results), dtype=np.int64)
        return Matches(ids, np.empty(self._most_results, dtype=np.int64))

    def _check(self, batch: Arrivals) -> None:
        now = self._state.clock.now
        last_ts, last_stream = int(now[LAST_TS]), int(now[LAST_STREAM])
        check_order(batch, self.spec.streams, last_ts, last_stream)
        if now[EMITTING] != IDLE and len(batch.ts) and (batch.ts[0], batch.stream[0]) != (last_ts, last_stream):
            raise ValueError(
                f"results of the tuple at {(last_ts, last_stream)} wait to be written; "
                f"feed the rows not yet consumed first, got one at {(int(batch.ts[0]), int(batch.stream[0]))}"
            )


def _begin(spec: JoinSpec) -> Unlimited | Bounded:
    return Unlimited.begin(spec.streams) if spec.memory is None else Bounded(spec)


def _restore(spec: JoinSpec, snapshot: Snapshot) -> Unlimited | Bounded:
    return Unlimited.restore(snapshot) if spec.memory is None else Bounded.restore(spec, snapshot)
