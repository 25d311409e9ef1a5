"""The bounded join's state as one value: made, enlarged, saved and restored around its kernel.

Tables grow up to the memory: a grown state is one restored from its own snapshot with more room.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panelake.kernels.joins.accounting import Accounting
from panelake.kernels.joins.advance import advance
from panelake.kernels.joins.arrivals import Arrivals, Matches
from panelake.kernels.joins.biht import KEY, claim, make_biht
from panelake.kernels.joins.bounded_join import Join
from panelake.kernels.joins.clock import Clock, Grid, make_clock
from panelake.kernels.joins.compiled import kernel
from panelake.kernels.joins.existence_patterns import make_table
from panelake.kernels.joins.hashing import hash_of
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.key_sample import (
    FOUND,
    TRUE,
    KeySample,
    count_anew,
    make_sample,
    resume_sample,
    saved_sample,
)
from panelake.kernels.joins.policies import EXISTENCE_GROWTH, RANDOM, judge_all, kept, make_policy
from panelake.kernels.joins.slots import NOTHING, Slots, capacity_of, make_slots, refer
from panelake.kernels.joins.snapshot import Doubles, Integers, Snapshot, restored_clock, saved_clock
from panelake.kernels.joins.windows import Windows, link

_LEAST_ROOM = 64
_GROWTH = 4
_FIELDS = ("pattern", "group", "arrival", "ts", "entered", "history")


class Kept(NamedTuple):
    """Tuples of a snapshot by arrival, already in their slots; `filed` is the order in which the policy had them."""

    stream: Integers
    slot: Integers  # among all streams' slots
    key: Integers
    id: Integers
    key_results: Doubles
    filed: Integers


class Bounded:
    """Windows, statistics, policy and clock of a join with a memory limit."""

    def __init__(self, spec: JoinSpec, slots: int = _LEAST_ROOM, sample: KeySample | None = None) -> None:
        memory = spec.memory or 0
        slots = min(slots, memory)
        keys = spec.streams * slots + 1
        table = make_table(spec.streams)
        self._spec = spec
        self._join = Join(
            make_policy(spec, keys, table),
            table,
            Windows(make_slots(spec.streams, slots), make_biht(keys, spec.streams)),
            make_sample(spec.streams, memory) if sample is None else sample,
            make_clock(spec.streams),
            memory,
        )

    @classmethod
    def restore(cls, spec: JoinSpec, snapshot: Snapshot) -> Bounded:
        """The state a snapshot was taken of; slots stay what they were."""
        state = cls(spec, max(_LEAST_ROOM, int(snapshot["used"].max())))
        resume_sample(state._join.sample, snapshot)
        _count_sampled(state._join.sample)
        state._resume(snapshot)
        return state

    @property
    def clock(self) -> Clock:
        return self._join.clock

    def accounting(self) -> Accounting:
        """What has been shed, and what of the sampled keys' results was found."""
        sums = self._join.sample.sums
        return Accounting(self._join.table.shed.copy(), float(sums[TRUE]), float(sums[FOUND]))

    def advance(self, grid: Grid, batch: Arrivals, row: int, matches: Matches) -> tuple[int, int, int]:
        return advance(self._join, grid, batch, row, matches)

    def make_room(self, _stream: int) -> None:
        """Four times as many slots for every stream, and as many keys."""
        slots = _GROWTH * capacity_of(self._join.windows.slots)
        grown = Bounded(self._spec, slots, self._join.sample)
        grown._resume(self.snapshot())
        self._join = grown._join

    def held(self) -> list[int]:
        return [int(count) for count in self._join.windows.slots.held]

    def snapshot(self) -> Snapshot:
        """All live tuples by arrival, free slots, the sample, and what has been learnt."""
        slots, biht = self._join.windows.slots, self._join.windows.biht
        live = np.flatnonzero(slots.tuples["arrival"] != NOTHING)
        live = live[np.argsort(slots.tuples["arrival"][live])]
        tuples, capacity = slots.tuples[live], capacity_of(slots)
        entry = tuples["entry"]
        return (
            saved_clock(self.clock)
            | {"used": slots.used.copy(), "spare": slots.spare.copy(), "free": _free_slots(slots)}
            | {"stream": live // capacity, "slot": live % capacity, "id": tuples["id"].copy()}
            | {"key": biht.words[entry, KEY], "key_results": biht.results[entry]}
            | {name: tuples[name].astype(np.int64) for name in _FIELDS}
            | saved_sample(self._join.sample)
            | {name: array.ravel().copy() for name, array in self._learnt().items()}
        )

    def _learnt(self) -> Snapshot:
        """What policy and accounting know of the past, by name: the arrays themselves."""
        policy = self._join.policy
        learnt: Snapshot = {f"pattern_{name}": array for name, array in self._join.table._asdict().items()}
        learnt["sample_sums"] = self._join.sample.sums
        if policy.kind == EXISTENCE_GROWTH:
            growth = policy.growth
            learnt |= {"class_entered": growth.entered, "class_future": growth.future, "control": growth.results}
        if policy.kind == RANDOM:
            learnt["random"] = policy.random.view(np.int64)
        return learnt

    def _resume(self, snapshot: Snapshot) -> None:
        """Take up a snapshot, all but the sample's tuples."""
        slots = self._join.windows.slots
        slot = snapshot["stream"] * capacity_of(slots) + snapshot["slot"]
        self._join = self._join._replace(clock=restored_clock(snapshot, self._spec.streams))
        for name, array in self._learnt().items():
            array[...] = snapshot[name].reshape(array.shape)
        for name in _FIELDS:
            slots.tuples[name][slot] = snapshot[name]
        slots.used[:], slots.spare[:] = snapshot["used"], snapshot["spare"]
        for stream, free in enumerate(np.split(snapshot["free"], np.cumsum(slots.spare)[:-1])):
            slots.free[stream, : len(free)] = free + stream * capacity_of(slots)
        filed = np.lexsort((snapshot["arrival"], snapshot["entered"]))
        tuples = Kept(snapshot["stream"], slot, snapshot["key"], snapshot["id"], snapshot["key_results"], filed)
        _link_all(self._join, tuples)


def _free_slots(slots: Slots) -> Integers:
    """Each stream's free slots, numbered within the stream."""
    mine = zip(slots.free, slots.spare.tolist(), strict=True)
    free = [one[:count] - stream * capacity_of(slots) for stream, (one, count) in enumerate(mine)]
    return np.concatenate(free).astype(np.int64)


@kernel
def _link_all(join: Join, tuples: Kept) -> None:
    """Put tuples into chains and rings by arrival, then before the policy as they were filed."""
    windows = join.windows
    for row in range(len(tuples.stream)):
        stream, slot = tuples.stream[row], tuples.slot[row]
        entry = claim(windows.biht, hash_of(tuples.key[row]), tuples.key[row])
        windows.biht.results[entry] = tuples.key_results[row]
        link(windows, stream, slot, entry, tuples.id[row])
        windows.slots.held[stream] += 1
        refer(windows.slots, stream, slot)
    judge_all(join.policy)
    for row in tuples.filed:
        kept(join.policy, windows, tuples.stream[row], tuples.slot[row])


@kernel
def _count_sampled(sample: KeySample) -> None:
    count_anew(sample)
