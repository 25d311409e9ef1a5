"""The bounded join's state as one value: made, enlarged, saved and restored around its kernel.

Tables grow by doubling up to the memory: a grown state is one restored from its own snapshot with more room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from panelake.kernels.joins.arrivals import Arrivals, Matches
from panelake.kernels.joins.biht import KEY, claim, has_spare_entry, make_biht
from panelake.kernels.joins.bounded_join import Join, advance
from panelake.kernels.joins.class_lists import make_lists
from panelake.kernels.joins.clock import Clock, Grid, make_clock
from panelake.kernels.joins.compiled import kernel
from panelake.kernels.joins.existence_growth import ByGrowth, make_growth
from panelake.kernels.joins.existence_patterns import ByPattern, PatternTable, make_table
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.key_priorities import make_heaps
from panelake.kernels.joins.plain_victims import AtRandom, Oldest
from panelake.kernels.joins.policies import Policy, kept
from panelake.kernels.joins.slots import (
    ARRIVAL,
    CLASS,
    ENTERED,
    ENTRY,
    HISTORY,
    ID,
    NOTHING,
    PATTERN,
    TS,
    Slots,
    has_room,
    make_slots,
    refer,
)
from panelake.kernels.joins.snapshot import Doubles, Integers, Snapshot, restored_clock, saved_clock
from panelake.kernels.joins.windows import Windows, link

_LEAST_ROOM = 64
_ROW_FIELDS = {"pattern": PATTERN, "class": CLASS}
_STAMP_FIELDS = {"arrival": ARRIVAL, "ts": TS, "entered": ENTERED, "history": HISTORY}

_MAKE: dict[str, Callable[[JoinSpec, int], Policy]] = {
    "arrival_order": lambda spec, _: ByPattern(make_lists(spec.streams)),
    "existence_growth": lambda spec, _: make_growth(spec.streams),
    "frequency": lambda spec, keys: make_heaps(spec.streams, keys, by_result=False),
    "result": lambda spec, keys: make_heaps(spec.streams, keys, by_result=True),
    "random": lambda spec, _: AtRandom(np.array([spec.seed % 2**64], dtype=np.uint64)),
    "oldest": lambda _, __: Oldest(np.zeros(1, dtype=np.uint64)),
}


class Kept(NamedTuple):
    """Tuples of a snapshot by arrival, already in their slots; `filed` is the order in which the policy had them."""

    stream: Integers
    slot: Integers
    key: Integers
    id: Integers
    key_results: Doubles
    filed: Integers


class Bounded:
    """Windows, statistics, policy and clock of a join with a memory limit."""

    def __init__(self, spec: JoinSpec, slots: int = _LEAST_ROOM, keys: int = _LEAST_ROOM) -> None:
        memory = spec.memory or 0
        windows = Windows(make_slots(spec.streams, min(slots, memory)), make_biht(keys, spec.streams))
        policy = _MAKE[spec.policy](spec, keys)
        self._spec = spec
        self._join = Join(policy, make_table(spec.streams), windows, make_clock(spec.streams), memory)

    @classmethod
    def restore(cls, spec: JoinSpec, snapshot: Snapshot, slots: int = _LEAST_ROOM, keys: int = _LEAST_ROOM) -> Bounded:
        """The state a snapshot was taken of, with at least so much room; slots stay what they were."""
        used, live = int(snapshot["used"].max()), len(np.unique(snapshot["key"]))
        state = cls(spec, max(slots, used), max(keys, live + 1))
        state._resume(snapshot)
        return state

    @property
    def clock(self) -> Clock:
        return self._join.clock

    @property
    def table(self) -> PatternTable:
        return self._join.table

    @property
    def control_results(self) -> float | None:
        """Results of the policy's control group; None where it has no such group."""
        policy = self._join.policy
        return float(policy.results[0]) if isinstance(policy, ByGrowth) else None

    def advance(self, grid: Grid, batch: Arrivals, row: int, matches: Matches) -> tuple[int, int, int]:
        return advance(self._join, grid, batch, row, matches)

    def make_room(self, stream: int) -> None:
        """Room for one more tuple of the stream and one more key, for twice as many if there is none."""
        windows = self._join.windows
        slots, keys = windows.slots.rows.shape[1], len(windows.biht.entries)
        slots = slots if has_room(windows.slots, stream) else 2 * slots
        keys = keys if has_spare_entry(windows.biht) else 2 * keys
        grown = Bounded.restore(self._spec, self.snapshot(), slots, keys)
        self._join = grown._join  # noqa: SLF001 - its own kind

    def held(self) -> list[int]:
        return [int(count) for count in self._join.windows.slots.held]

    def snapshot(self) -> Snapshot:
        """All live tuples by arrival, free slots, and what has been learnt."""
        slots, biht = self._join.windows.slots, self._join.windows.biht
        stream, slot = np.nonzero(slots.stamps[:, :, ARRIVAL] != NOTHING)
        order = np.argsort(slots.stamps[stream, slot, ARRIVAL])
        stream, slot = stream[order], slot[order]
        entry = slots.rows[stream, slot, ENTRY]
        return (
            saved_clock(self.clock)
            | {"used": slots.used.copy(), "spare": slots.spare.copy(), "free": _free_slots(slots)}
            | {"stream": stream, "slot": slot, "id": slots.rows[stream, slot, ID]}
            | {"key": biht.entries[entry, KEY], "key_results": biht.results[entry]}
            | {name: slots.rows[stream, slot, field] for name, field in _ROW_FIELDS.items()}
            | {name: slots.stamps[stream, slot, field] for name, field in _STAMP_FIELDS.items()}
            | {name: array.ravel().copy() for name, array in self._learnt().items()}
        )

    def _learnt(self) -> Snapshot:
        """What policy and accounting know of the past, by name: the arrays themselves."""
        policy = self._join.policy
        learnt: Snapshot = {f"pattern_{name}": array for name, array in self.table._asdict().items()}
        if isinstance(policy, ByGrowth):
            learnt |= {"class_entered": policy.entered, "class_future": policy.future, "control": policy.results}
        if isinstance(policy, AtRandom):
            learnt["random"] = policy.state.view(np.int64)
        return learnt

    def _resume(self, snapshot: Snapshot) -> None:
        slots = self._join.windows.slots
        stream, slot = snapshot["stream"], snapshot["slot"]
        self._join = self._join._replace(clock=restored_clock(snapshot, self._spec.streams))
        for name, array in self._learnt().items():
            array[...] = snapshot[name].reshape(array.shape)
        for name, field in _ROW_FIELDS.items():
            slots.rows[stream, slot, field] = snapshot[name]
        for name, field in _STAMP_FIELDS.items():
            slots.stamps[stream, slot, field] = snapshot[name]
        slots.used[:], slots.spare[:] = snapshot["used"], snapshot["spare"]
        for number, free in enumerate(np.split(snapshot["free"], np.cumsum(slots.spare)[:-1])):
            slots.free[number, : len(free)] = free
        filed = np.lexsort((snapshot["arrival"], snapshot["entered"]))
        tuples = Kept(stream, slot, snapshot["key"], snapshot["id"], snapshot["key_results"], filed)
        _link_all(self._join.policy, self._join.windows, tuples)


def _free_slots(slots: Slots) -> Integers:
    return np.concatenate([free[:count] for free, count in zip(slots.free, slots.spare.tolist(), strict=True)])


@kernel
def _link_all(policy: Policy, windows: Windows, tuples: Kept) -> None:
    """Put tuples into chains and rings by arrival, then before the policy as they were filed."""
    for row in range(len(tuples.stream)):
        stream, slot = tuples.stream[row], tuples.slot[row]
        entry = claim(windows.biht, tuples.key[row])
        windows.biht.results[entry] = tuples.key_results[row]
        link(windows, stream, slot, entry, tuples.id[row])
        windows.slots.held[stream] += 1
        refer(windows.slots, stream, slot)
    for row in tuples.filed:
        kept(policy, windows, tuples.stream[row], tuples.slot[row])
