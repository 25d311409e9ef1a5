"""Samples of what a stream's quarantine holds, read from the slices that the ledger says have some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panelake import tables
from panelake.report.history import SliceFacts
from panelake.report.words import clipped
from panelake.slices import to_datetime

SAMPLES_PER_REASON = 5
MOST_REASONS = 20
_MOST_ROWS = 2_000
_MOST_SLICES = 10
_LONGEST_TUPLE = 500


@dataclass(frozen=True)
class BadTuple:
    """A quarantined tuple as it came, and where from."""

    slice_start: int
    raw: str
    detail: str
    file: str
    position: int | None


@dataclass(frozen=True)
class Reason:
    """Why tuples were quarantined, how many in the slices shown, and some of them."""

    text: str
    count: int
    samples: tuple[BadTuple, ...]


def reasons(address: str, stream: str, shown: Sequence[SliceFacts]) -> list[Reason]:
    """The reasons of the slices shown, the most frequent first."""
    counts: Counter[str] = Counter()
    for facts in shown:
        for outcome in facts.of_stage("ingest"):
            if outcome.subject == stream:
                counts.update(outcome.details.get("reasons", {}))
    samples = _samples(address, _slices_with_some(stream, shown)) if counts else {}
    return [Reason(text, count, tuple(samples.get(text, ()))) for text, count in counts.most_common()]


def _slices_with_some(stream: str, shown: Iterable[SliceFacts]) -> list[int]:
    """The newest slices that tuples of the stream were quarantined in."""
    starts = [
        facts.slice.start
        for facts in shown
        if any(o.subject == stream and o.details.get("quarantined") for o in facts.of_stage("ingest"))
    ]
    return sorted(starts)[-_MOST_SLICES:]


def _samples(address: str, starts: Sequence[int]) -> dict[str, list[BadTuple]]:
    table = tables.open_table(address)
    if table is None or not starts:
        return {}
    dates = [to_datetime(starts[0]).date() - timedelta(days=1), to_datetime(starts[-1]).date()]
    in_days = (pc.field("_date") >= pa.scalar(dates[0])) & (pc.field("_date") <= pa.scalar(dates[1]))
    chosen = pc.field("_slice").isin(pa.array(starts, tables.timestamp_type()))
    dataset = tables.dataset(table)
    columns = [name for name in ("raw", "reason", "detail", "_source", "_slice") if name in dataset.schema.names]
    return _by_reason(dataset.scanner(columns=columns, filter=in_days & chosen).head(_MOST_ROWS))


def _by_reason(rows: pa.Table) -> dict[str, list[BadTuple]]:
    index = rows.schema.get_field_index("_slice")
    plain = rows.set_column(index, "_slice", rows["_slice"].cast(pa.int64())).sort_by([("_slice", "descending")])
    found: dict[str, list[BadTuple]] = {}
    for row in plain.to_pylist():
        kept = found.setdefault(row["reason"], [])
        if len(kept) < SAMPLES_PER_REASON:
            kept.append(_bad_tuple(row))
    return found


def _bad_tuple(row: dict[str, Any]) -> BadTuple:
    source = row["_source"] or {}
    raw, detail = (clipped(row.get(name) or "", _LONGEST_TUPLE) for name in ("raw", "detail"))
    return BadTuple(row["_slice"], raw, detail, source.get("file") or "", source.get("position"))
