"""XJoin: a symmetric hash join of two streams that flushes partitions to disk when memory is full.

Source: Urhan and Franklin, "XJoin: A Reactively-Scheduled Pipelined Join Operator" (2000). Stage one joins what is in
memory as it arrives; `rest`, called whenever the input pauses, joins what stage one could not: the second stage (disk
against memory) and the third (disk against disk) in one pass over the partitions. A tuple carries the number of its
arrival (ATS) and of its departure to disk (DTS): stage one found a pair if the older was in memory when the newer came.
Left open there: sliding windows. Here what no later window can hold is dropped, once a `rest` has seen it: from memory
when it is full, from disk after the `rest`. The largest partition is flushed.
Time: O(tuples in the partition) a newcomer; a pause reads and writes what is on disk. Space: `memory` tuples; files.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.baselines.compiled import kernel
from panelake.baselines.mjoin import bucket_of
from panelake.kernels.joins.arrivals import Arrivals
from panelake.kernels.joins.join_spec import JoinSpec

Integers = NDArray[np.int64]
TS, KEY, ID, ATS, DTS, OLDER = range(6)
_FIELDS, _ON_DISK = 6, 5
_NONE = -1
_IN_MEMORY = np.iinfo(np.int64).max
_LEAST_ROOM = 65_536
_DONE, _MEMORY_FULL, _OUTPUT_FULL = range(3)


class Memory(NamedTuple):
    """Slots of tuples, heads of the partitions' chains by stream (newest first), their lengths, and the free slots."""

    slots: Integers
    heads: Integers
    lengths: Integers
    free: Integers
    spare: Integers


class XJoin:
    """At most `memory` tuples of both streams together in memory, the rest in files of a temporary folder."""

    def __init__(self, spec: JoinSpec, memory: int, partitions: int = 100) -> None:
        if spec.streams != 2:  # noqa: PLR2004 - it joins two
            raise ValueError(f"XJoin joins two streams; got {spec.streams}")
        self._spec = spec
        self._ranges = np.array(spec.ranges, dtype=np.int64)
        self._memory = Memory(
            np.empty((memory, _FIELDS), dtype=np.int64),
            np.full((2, partitions), _NONE, dtype=np.int64),
            np.zeros((2, partitions), dtype=np.int64),
            np.arange(memory, dtype=np.int64),
            np.array([memory], dtype=np.int64),
        )
        self._arrived = 0
        self._rested = 0
        self._period_end = np.iinfo(np.int64).min
        self._folder = TemporaryDirectory(prefix="panelake-xjoin-")
        self._spilled: set[tuple[int, int]] = set()
        self.disk_bytes = 0

    def feed(self, batch: Arrivals) -> Integers:
        """Stage one: the results of these tuples with what is in memory, one a column."""
        ends = ((batch.ts - self._spec.shift) // self._spec.slide + 1) * self._spec.slide + self._spec.shift
        row, pieces = 0, []
        while row < len(batch.ts):
            found = np.empty((2, _LEAST_ROOM + len(self._memory.slots)), dtype=np.int64)
            progress = (row, self._arrived)
            row, filled, why = _stage_one(self._memory, (batch, ends), self._ranges, progress, found)
            self._arrived += row - progress[0]
            pieces.append(found[:, :filled].copy())
            if why == _MEMORY_FULL:
                self._make_room(int(ends[row]))
        if len(ends):
            self._period_end = int(ends[-1])
        return np.concatenate([np.empty((2, 0), dtype=np.int64), *pieces], axis=1)

    def rest(self) -> Integers:
        """Stages two and three: the results that stage one has missed so far, each once."""
        partitions = sorted({partition for _, partition in self._spilled})
        pieces = [self._rest_partition(partition) for partition in partitions]
        self._rested = self._arrived
        for stream, partition in sorted(self._spilled):
            self._rewrite(stream, partition)
        return np.concatenate([np.empty((2, 0), dtype=np.int64), *pieces], axis=1)

    def held_bytes(self) -> int:
        used = len(self._memory.slots) - int(self._memory.spare[0])
        return used * _FIELDS * self._memory.slots.itemsize + self._memory.heads.nbytes

    def close(self) -> None:
        self._folder.cleanup()

    def _make_room(self, end: int) -> None:
        """Drop what has expired; if nothing had, flush the largest partition."""
        _purge(self._memory, end - self._ranges, self._rested)
        if self._memory.spare[0]:
            return
        stream, partition = np.unravel_index(int(self._memory.lengths.argmax()), self._memory.lengths.shape)
        gone = np.empty((int(self._memory.lengths[stream, partition]), _FIELDS), dtype=np.int64)
        _take_out(self._memory, int(stream), int(partition), gone)
        gone[:, DTS] = self._arrived
        with self._file(int(stream), int(partition)).open("ab") as file:
            file.write(gone[::-1, :_ON_DISK].tobytes())
        self.disk_bytes += gone[:, :_ON_DISK].nbytes
        self._spilled.add((int(stream), int(partition)))

    def _file(self, stream: int, partition: int) -> Path:
        return Path(self._folder.name) / f"{stream}-{partition}"

    def _on_disk(self, stream: int, partition: int) -> Integers:
        if (stream, partition) not in self._spilled:
            return np.empty((0, _ON_DISK), dtype=np.int64)
        return np.fromfile(self._file(stream, partition), dtype=np.int64).reshape(-1, _ON_DISK)

    def _rest_partition(self, partition: int) -> Integers:
        """Pairs of a tuple flushed and one of the other stream that arrived after that."""
        pieces = []
        disk = [self._on_disk(stream, partition) for stream in range(2)]
        for stream in range(2):
            memory = np.empty((int(self._memory.lengths[1 - stream, partition]), _FIELDS), dtype=np.int64)
            _copy_chain(self._memory, 1 - stream, partition, memory)
            newer = np.concatenate([disk[1 - stream], memory[:, :_ON_DISK]])
            pairs = self._late_pairs(disk[stream], newer, stream)
            pieces.append(pairs if stream == 0 else pairs[::-1])
        return np.concatenate(pieces, axis=1)

    def _late_pairs(self, older: Integers, newer: Integers, stream: int) -> Integers:
        """Ids of (older, newer) with equal keys that share a window, and that were not found before."""
        older = older[np.argsort(older[:, KEY], kind="stable")]
        low, high = (np.searchsorted(older[:, KEY], newer[:, KEY], side) for side in ("left", "right"))
        right = np.repeat(np.arange(len(newer)), high - low)
        left = np.arange(len(right)) - np.repeat(np.cumsum(high - low) - (high - low), high - low) + low[right]
        one, other = older[left], newer[right]
        slide, shift = self._spec.slide, self._spec.shift
        ends = ((other[:, TS] - shift) // slide + 1) * slide + shift
        unseen = (other[:, ATS] >= one[:, DTS]) & (other[:, ATS] >= self._rested)
        together = unseen & (one[:, TS] >= ends - self._ranges[stream])
        return np.stack([one[together, ID], other[together, ID]])

    def _rewrite(self, stream: int, partition: int) -> None:
        """Keep on disk what a later window can hold."""
        kept = self._on_disk(stream, partition)
        kept = kept[kept[:, TS] >= self._period_end - self._ranges[stream]]
        if len(kept):
            self._file(stream, partition).write_bytes(kept.tobytes())
        else:
            self._file(stream, partition).unlink()
            self._spilled.discard((stream, partition))


@kernel
def _stage_one(
    memory: Memory, source: tuple[Arrivals, Integers], ranges: Integers, progress: tuple[int, int], found: Integers
) -> tuple[int, int, int]:
    """Probe and insert, row by row; the next row, results written, and why it came back."""
    (batch, ends), (row, arrived) = source, progress
    filled, partitions = 0, memory.heads.shape[1]
    while row < len(batch.ts):
        ts, key, stream, end = batch.ts[row], batch.key[row], batch.stream[row], ends[row]
        if ts >= end - ranges[stream]:
            if memory.spare[0] == 0:
                return row, filled, _MEMORY_FULL
            if filled + len(memory.slots) > found.shape[1] and filled > 0:
                return row, filled, _OUTPUT_FULL
            partition = bucket_of(key, partitions)
            at = memory.heads[1 - stream, partition]
            while at != _NONE and memory.slots[at, TS] >= end - ranges[1 - stream]:
                if memory.slots[at, KEY] == key:
                    found[stream, filled], found[1 - stream, filled] = batch.id[row], memory.slots[at, ID]
                    filled += 1
                at = memory.slots[at, OLDER]
            memory.spare[0] -= 1
            slot = memory.free[memory.spare[0]]
            one = memory.slots[slot]
            one[TS], one[KEY], one[ID], one[ATS], one[DTS] = ts, key, batch.id[row], arrived, _IN_MEMORY
            one[OLDER] = memory.heads[stream, partition]
            memory.heads[stream, partition] = slot
            memory.lengths[stream, partition] += 1
        arrived += 1
        row += 1
    return row, filled, _DONE


@kernel
def _purge(memory: Memory, bounds: Integers, rested: int) -> None:
    """Cut each chain at its first tuple that has expired and was rested with: those behind it are older still."""
    for stream in range(2):
        for partition in range(memory.heads.shape[1]):
            before, at, length = _NONE, memory.heads[stream, partition], 0
            while at != _NONE and (memory.slots[at, TS] >= bounds[stream] or memory.slots[at, ATS] >= rested):
                before, at = at, memory.slots[at, OLDER]
                length += 1
            if before == _NONE:
                memory.heads[stream, partition] = _NONE
            else:
                memory.slots[before, OLDER] = _NONE
            memory.lengths[stream, partition] = length
            while at != _NONE:
                memory.free[memory.spare[0]] = at
                memory.spare[0] += 1
                at = memory.slots[at, OLDER]


@kernel
def _take_out(memory: Memory, stream: int, partition: int, gone: Integers) -> None:
    """Copy a partition's tuples, newest first, and free their slots."""
    at, row = memory.heads[stream, partition], 0
    while at != _NONE:
        gone[row] = memory.slots[at]
        memory.free[memory.spare[0]] = at
        memory.spare[0] += 1
        at = memory.slots[at, OLDER]
        row += 1
    memory.heads[stream, partition] = _NONE
    memory.lengths[stream, partition] = 0


@kernel
def _copy_chain(memory: Memory, stream: int, partition: int, copy: Integers) -> None:
    at, row = memory.heads[stream, partition], 0
    while at != _NONE:
        copy[row] = memory.slots[at]
        at = memory.slots[at, OLDER]
        row += 1
