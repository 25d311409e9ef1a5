"""What a join with a memory limit remembers: rings and pattern statistics after each slice, in `state/QUERY`.

A slice starts from the state before it and writes its own, so that it can be run again at any time with the same
result, and no later slice is touched. Logical partitions share their statistics: what each learnt in a slice is added
up at its end, and all start the next slice from the sum.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from panelake import tables
from panelake.context import Context
from panelake.kernels.joins.accounting import Accounting
from panelake.kernels.joins.snapshot import Snapshot
from panelake.language.query import JoinQuery
from panelake.slices import Slice, format_instant, to_datetime, to_microseconds
from panelake.spark.shed_worker import FACTS, HELD, PARTITION, STATE, packed_snapshot, unpacked_snapshot
from panelake.staging import open_parquet

_INSTANT = tables.timestamp_type()
STATES = pa.schema([
    ("slice_start", _INSTANT),
    ("slice_end", _INSTANT),
    ("fingerprint", pa.string()),
    ("partition", pa.int32()),
    ("snapshot", pa.binary()),
    ("held", pa.binary()),
])  # fmt: skip
_LEARNT = ("pattern_", "class_", "control", "sample_sums")


@dataclass(frozen=True)
class Remembered:
    """The states of all logical partitions after a slice; none before the first."""

    end: int | None
    rows: pa.Table

    def snapshots(self) -> dict[int, Snapshot]:
        return {row["partition"]: unpacked_snapshot(row["snapshot"]) for row in self.rows.to_pylist()}


def state_before(context: Context, query: JoinQuery, part: Slice) -> Remembered:
    """The newest states of the query's present meaning that were written by slices before this one."""
    known = tables.read(
        context.catalog.state(query.name), STATES, columns=["slice_start", "slice_end"], where=_mine(query)
    ).to_pylist()
    before = [
        (row["slice_end"], row["slice_start"]) for row in known if to_microseconds(row["slice_end"]) <= part.start
    ]
    if not before:
        return Remembered(None, STATES.empty_table())
    end, start = max(before)
    where = {**_mine(query), "slice_start": start, "slice_end": end}
    return Remembered(to_microseconds(end), tables.read(context.catalog.state(query.name), STATES, where=where))


def _mine(query: JoinQuery) -> dict[str, Any]:
    return {"fingerprint": query.fingerprint}


@dataclass(frozen=True)
class SliceOutcome:
    """What a slice's join did: results found, tuples shed and when, tuples held at its end."""

    accounting: Accounting
    emitted: int
    shed_span: tuple[int, int] | None
    held: list[int]

    def details(self, query: JoinQuery) -> dict[str, Any]:
        """For the ledger: shed by stream and pattern, estimated results lost, estimated accuracy."""
        shed = self.accounting.shed_tuples()
        return {
            "shed": sum(shed),
            "shed_by": {one.alias: self.accounting.shed_by_pattern(n) for n, one in enumerate(query.streams)},
            "shed_span": None if self.shed_span is None else list(self.shed_span),
            "emitted": self.emitted,
            "estimated_lost": round(self.accounting.estimated_lost, 3),
            "estimated_accuracy": round(self.accounting.estimated_accuracy(self.emitted), 6),
            "held": {one.alias: self.held[n] for n, one in enumerate(query.streams)},
        }


def keep_state(context: Context, query: JoinQuery, part: Slice, before: Remembered, folder: str) -> SliceOutcome:
    """Merge what the slice's partitions learnt and staged, write their states, and tell what happened."""
    staged = open_parquet(f"{folder}/_what=state")
    rows = [] if staged is None else staged.to_table(columns=[PARTITION, STATE, HELD, FACTS]).to_pylist()
    after = {row[PARTITION]: unpacked_snapshot(row[STATE]) for row in rows}
    facts = [json.loads(row[FACTS]) for row in rows]
    base = before.snapshots()
    merged = with_shared_statistics(after, base)
    held = {row[PARTITION]: row[HELD] for row in rows}
    _write(context, query, part, merged, held)
    return _outcome(query, merged, base, facts)


def with_shared_statistics(after: dict[int, Snapshot], base: dict[int, Snapshot]) -> dict[int, Snapshot]:
    """The snapshots, each with what all partitions together have learnt."""
    names = [name for name in next(iter(after.values()), {}) if name.startswith(_LEARNT)]
    shared = {name: _learnt(base, name) + _learnt_since(name, after, base) for name in names}
    return {partition: one | shared for partition, one in after.items()} if len(after) > 1 else after


def _learnt(base: dict[int, Snapshot], name: str) -> Any:
    """What the partitions knew when the slice began: all the same."""
    return next(iter(base.values()))[name] if base else 0.0


def _learnt_since(name: str, after: dict[int, Snapshot], base: dict[int, Snapshot]) -> Any:
    return sum(one[name] - (base[partition][name] if partition in base else 0.0) for partition, one in after.items())


def _outcome(
    query: JoinQuery, after: dict[int, Snapshot], base: dict[int, Snapshot], facts: Sequence[dict[str, Any]]
) -> SliceOutcome:
    streams = len(query.streams)
    now, then = _accounting(after, streams), _accounting(base, streams)
    spans = [(one["shed_from"], one["shed_to"]) for one in facts if one["shed_from"] is not None]
    span = (min(first for first, _ in spans), max(last for _, last in spans) + 1) if spans else None
    held = [sum(one["held"][stream] for one in facts) for stream in range(streams)]
    return SliceOutcome(now.since(then), sum(one["emitted"] for one in facts), span, held)


def _accounting(snapshots: dict[int, Snapshot], streams: int) -> Accounting:
    """The accounting of any partition: they share it."""
    if not snapshots:
        return Accounting(np.zeros((streams, 1 << streams)))
    one = next(iter(snapshots.values()))
    true, found = one["sample_sums"]
    return Accounting(one["pattern_shed"].reshape(streams, 1 << streams), float(true), float(found))


def _write(
    context: Context, query: JoinQuery, part: Slice, after: dict[int, Snapshot], held: dict[int, bytes | None]
) -> None:
    """Replace the slice's states in one commit."""
    address = context.catalog.state(query.name)
    bounds = {"slice_start": to_datetime(part.start), "slice_end": to_datetime(part.end)}
    rows = [
        {
            **bounds,
            "fingerprint": query.fingerprint,
            "partition": partition,
            "snapshot": packed_snapshot(one),
            "held": held[partition],
        }
        for partition, one in sorted(after.items())
    ]
    tables.create(address, STATES)
    fresh = pa.Table.from_pylist(rows, schema=STATES)
    predicate = f"slice_start = '{format_instant(part.start)}' AND slice_end = '{format_instant(part.end)}'"
    tables.retry_conflicts(lambda: tables.overwrite(DeltaTable(address), fresh, predicate), address)
    tables.keep_few_files(address)
