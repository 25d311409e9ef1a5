"""The ledger: what was done, in append-only Delta tables. It decides; every other table follows it.

Delta has no commit over several tables, so a stage writes its tables first and its ledger entry last: a slice
without an entry is not done, and is simply run again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from panelake import tables
from panelake.catalog import Catalog
from panelake.slices import Slice, to_datetime, to_microseconds

Status = Literal["done", "refused"]

_INSTANT = tables.timestamp_type()
ENTRIES = pa.schema([
    ("slice_start", _INSTANT),
    ("slice_end", _INSTANT),
    ("stage", pa.string()),
    ("subject", pa.string()),
    ("status", pa.string()),
    ("rows", pa.int64()),
    ("seconds", pa.float64()),
    ("details", pa.string()),
    ("recorded_at", _INSTANT),
])  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One stage of one slice, for one subject (a stream, a query, or '' for the slice itself)."""

    slice: Slice
    stage: str
    subject: str
    status: Status
    rows: int
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


class Ledger:
    """Reads and appends entries; the newest entry of a (slice, stage, subject) counts."""

    def __init__(self, catalog: Catalog) -> None:
        self._address = catalog.ledger("stages")

    def record(self, entries: Iterable[Entry]) -> None:
        now = tables.next_moment(self._address)
        rows = [_row(entry, now) for entry in entries]
        if rows:
            tables.append(self._address, pa.Table.from_pylist(rows, schema=ENTRIES))

    def record_unless_overtaken(
        self, entries: Iterable[Entry], stages: Iterable[str], apart_from: Slice, known: int
    ) -> bool:
        """Record in one commit, unless `times_recorded` of others is no longer what is known; give whether it did."""
        now = tables.next_moment(self._address)
        rows = pa.Table.from_pylist([_row(entry, now) for entry in entries], schema=ENTRIES)
        return tables.append_while(self._address, rows, _of_others(stages, apart_from), known)

    def entries(
        self, *, stage: str | None = None, subject: str | None = None, within: Slice | None = None
    ) -> list[Entry]:
        """The entries that count, of all stages and subjects or of one, oldest slice first.

        `within` asks for the slices that overlap it alone: a long history is then left unread.
        """
        wanted = {"stage": stage, "subject": subject}
        values = {column: value for column, value in wanted.items() if value is not None}
        return self._newest(values, None if within is None else _overlaps(within))

    def of_slice(self, part: Slice) -> dict[tuple[str, str], Entry]:
        """The slice's entries by (stage, subject)."""
        bounds = {"slice_start": to_datetime(part.start), "slice_end": to_datetime(part.end)}
        return {(entry.stage, entry.subject): entry for entry in self._newest(bounds)}

    def done(self, stage: str) -> set[Slice]:
        """The slices for which the stage as a whole is done."""
        return {entry.slice for entry in self.entries(stage=stage, subject="") if entry.status == "done"}

    def times_recorded(self, stages: Iterable[str], apart_from: Slice) -> int:
        """How often any of the stages was recorded for other slices: it has grown when another run was at work."""
        return tables.count(self._address, _of_others(stages, apart_from))

    def _newest(self, values: Mapping[str, Any], also: pc.Expression | None = None) -> list[Entry]:
        rows = tables.read(self._address, ENTRIES, where=values, also=also).sort_by("recorded_at").to_pylist()
        newest = {(row["slice_start"], row["slice_end"], row["stage"], row["subject"]): row for row in rows}
        return sorted((_entry(row) for row in newest.values()), key=lambda entry: entry.slice)


def _of_others(stages: Iterable[str], apart_from: Slice) -> pc.Expression:
    """Whole stages of other slices."""
    others = (pc.field("slice_start") != _instant(apart_from.start)) | (
        pc.field("slice_end") != _instant(apart_from.end)
    )
    return others & pc.field("stage").isin(list(stages)) & (pc.field("subject") == "")


def _overlaps(part: Slice) -> pc.Expression:
    return (pc.field("slice_start") < _instant(part.end)) & (pc.field("slice_end") > _instant(part.start))


def _instant(microseconds: int) -> pa.Scalar:
    return pa.scalar(microseconds, _INSTANT)


def _row(entry: Entry, now: datetime) -> dict[str, Any]:
    return {
        "slice_start": to_datetime(entry.slice.start),
        "slice_end": to_datetime(entry.slice.end),
        "stage": entry.stage,
        "subject": entry.subject,
        "status": entry.status,
        "rows": entry.rows,
        "seconds": entry.seconds,
        "details": json.dumps(entry.details),
        "recorded_at": now,
    }


def _entry(row: dict[str, Any]) -> Entry:
    part = Slice(to_microseconds(row["slice_start"]), to_microseconds(row["slice_end"]))
    details = json.loads(row["details"] or "{}")
    return Entry(part, row["stage"], row["subject"], row["status"], row["rows"], row["seconds"], details)
