"""The join with a memory limit over Arrow batches: state comes in with the tuples and goes out with the results.

Rows come by logical partition, a partition's state first. Its own tuples are fed period by period (Te), so that the
time in which tuples were shed is known; the state that remains goes out as a last row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from panelake.join_memory import memory_of
from panelake.kernels.joins.arrivals import arrivals
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.snapshot import Snapshot
from panelake.kernels.joins.window_join import WindowJoin
from panelake.spark.join_worker import KEY, STREAM, TS, Held, JoinTask, gathered, integers

PARTITION, STATE, HELD, FACTS = "_partition", "_state", "_held", "_facts"
NEXT_ID = "next_id"
_IN_HELD = "_id"


@dataclass
class Shedding:
    """One logical partition at work: the join, the tuples its results may need, and what has happened."""

    task: JoinTask
    partition: int
    join: WindowJoin
    held: Held
    next_id: int = 0
    emitted: int = 0
    shed: int = 0
    shed_from: int | None = None
    shed_to: int | None = None

    @classmethod
    def begin(cls, task: JoinTask, partition: int, snapshot: Snapshot | None, held: pa.Table | None) -> Shedding:
        spec = _share(task.spec, partition)
        known = None if snapshot is None else {name: a for name, a in snapshot.items() if name != NEXT_ID}
        join = WindowJoin(spec, known, emit_from=task.emit_from)
        made = cls(task, partition, join, Held(task))
        if snapshot is not None and held is not None:
            made.next_id = int(snapshot[NEXT_ID][0])
            made.held.restore(held.drop_columns([_IN_HELD]), integers(held, _IN_HELD))
        made.shed = sum(join.accounting().shed_tuples())
        return made

    def feed(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """The results of some more tuples."""
        ids = np.arange(self.next_id, self.next_id + rows.num_rows, dtype=np.int64)
        self.held.append(rows, ids)
        self.next_id += rows.num_rows
        batch = arrivals(integers(rows, TS), integers(rows, STREAM), integers(rows, KEY), ids)
        for piece in self.join.spec.period_rows(batch.ts):
            for matches in self.join.feed(batch.rows(piece)):
                found = self.held.results(matches)
                self.emitted += 0 if found is None else found.num_rows
                if found is not None:
                    yield _widened(found)
            self._note(int(batch.ts[piece.start]), int(batch.ts[piece.stop - 1]))
        self.held.keep(np.sort(self.join.snapshot()["id"]))

    def _note(self, first: int, last: int) -> None:
        """Remember the time of a period in which tuples were shed."""
        shed = sum(self.join.accounting().shed_tuples())
        if shed > self.shed:
            self.shed_from = first if self.shed_from is None else self.shed_from
            self.shed_to = last
        self.shed = shed

    def state(self, schema: pa.Schema) -> pa.RecordBatch:
        """One row: the state after the slice, and what happened in it."""
        rows, ids = self.held.all()
        held = None if rows is None else rows.append_column(_IN_HELD, pa.array(ids))
        facts = {
            "emitted": self.emitted,
            "shed_from": self.shed_from,
            "shed_to": self.shed_to,
            "held": self.join.held(),
        }
        row: dict[str, Any] = dict.fromkeys(schema.names)
        row |= {PARTITION: self.partition, FACTS: json.dumps(facts)}
        snapshot = self.join.snapshot() | {NEXT_ID: np.array([self.next_id], dtype=np.int64)}
        row |= {STATE: packed(_as_row(snapshot)), HELD: None if held is None else packed(held)}
        return pa.RecordBatch.from_pylist([row], schema=schema)


def _share(spec: JoinSpec, partition: int) -> JoinSpec:
    return replace(spec, memory=memory_of(partition, spec.memory or 1), seed=spec.seed + partition)


def shed_partition(batches: Iterator[pa.RecordBatch], task: JoinTask) -> Iterator[pa.RecordBatch]:
    """Join the logical partitions that came here, one after another."""
    schema = widened_schema(task.schema)
    working: Shedding | None = None
    for rows in gathered(batches):
        for piece in _pieces(rows):
            partition = piece[PARTITION][0].as_py()
            if working is None or working.partition != partition:
                if working is not None:
                    yield working.state(schema)
                working = Shedding.begin(task, partition, *_state_in(piece))
            tuples = piece.filter(piece[STATE].is_null()) if piece[STATE].null_count < piece.num_rows else piece
            if tuples.num_rows:
                yield from working.feed(tuples.drop_columns([PARTITION, STATE, HELD]).combine_chunks())
    if working is not None:
        yield working.state(schema)


def _pieces(rows: pa.Table) -> Iterator[pa.Table]:
    """Rows cut where another logical partition begins."""
    partition = np.asarray(rows[PARTITION].to_numpy())
    cuts = [0, *(np.flatnonzero(np.diff(partition)) + 1).tolist(), len(partition)]
    for first, last in pairwise(cuts):
        yield rows.slice(first, last - first)


def _state_in(piece: pa.Table) -> tuple[Snapshot | None, pa.Table | None]:
    """The state that a partition's first row holds, if it is one."""
    state, held = piece[STATE][0].as_py(), piece[HELD][0].as_py()
    return (None if state is None else unpacked_snapshot(state)), (None if held is None else unpacked(held))


def widened_schema(schema: pa.Schema) -> pa.Schema:
    """Results with room for states beside them."""
    more = [(PARTITION, pa.int32()), (STATE, pa.binary()), (HELD, pa.binary()), (FACTS, pa.string())]
    return pa.schema([*schema, *more])


def _widened(found: pa.RecordBatch) -> pa.RecordBatch:
    schema = widened_schema(found.schema)
    more = [pa.nulls(found.num_rows, schema.field(name).type) for name in (PARTITION, STATE, HELD, FACTS)]
    return pa.RecordBatch.from_arrays([*found.columns, *more], schema=schema)


def packed(rows: pa.Table) -> bytes:
    """A table as bytes any Arrow reader understands."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue().to_pybytes())


def unpacked(data: bytes) -> pa.Table:
    """The table those bytes mean."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def _as_row(snapshot: Snapshot) -> pa.Table:
    """A snapshot's arrays as lists of one row: they differ in length."""
    lists = {name: pa.array([array], pa.list_(pa.from_numpy_dtype(array.dtype))) for name, array in snapshot.items()}
    return pa.table(dict(sorted(lists.items())))


def packed_snapshot(snapshot: Snapshot) -> bytes:
    """A snapshot as bytes."""
    return packed(_as_row(snapshot))


def unpacked_snapshot(data: bytes) -> Snapshot:
    """The snapshot those bytes mean."""
    rows = unpacked(data)
    return {name: np.array(rows[name].combine_chunks().flatten().to_numpy()) for name in rows.column_names}
