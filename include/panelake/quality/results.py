"""Quality results as data: one row a rule, table and slice, replaced whole when the slice is audited again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from panelake import tables
from panelake.quality.metric import Verdict
from panelake.slices import Slice, format_instant, to_datetime

_INSTANT = tables.timestamp_type()
RESULTS = pa.schema([
    ("slice_start", _INSTANT),
    ("slice_end", _INSTANT),
    ("table", pa.string()),
    ("rule", pa.string()),
    ("severity", pa.string()),
    ("success", pa.bool_()),
    ("observed", pa.string()),
    ("expected", pa.string()),
    ("sample", pa.string()),
    ("seconds", pa.float64()),
])  # fmt: skip


def record(address: str, part: Slice, verdicts: Sequence[Verdict]) -> None:
    """Replace the slice's results by these, in one commit."""
    tables.create(address, RESULTS)
    rows = pa.Table.from_pylist([_row(part, verdict) for verdict in verdicts], schema=RESULTS)
    start, end = format_instant(part.start), format_instant(part.end)
    predicate = f"slice_start = '{start}' AND slice_end = '{end}'"
    tables.retry_conflicts(lambda: tables.overwrite(DeltaTable(address), rows, predicate), address)
    tables.keep_few_files(address)


def of_slice(address: str, part: Slice) -> pa.Table:
    """The results of one slice."""
    bounds = {"slice_start": to_datetime(part.start), "slice_end": to_datetime(part.end)}
    return tables.read(address, RESULTS, where=bounds)


def _row(part: Slice, verdict: Verdict) -> dict[str, Any]:
    metric = verdict.metric
    return {
        "slice_start": to_datetime(part.start),
        "slice_end": to_datetime(part.end),
        "table": metric.table,
        "rule": metric.rule,
        "severity": metric.severity,
        "success": verdict.success,
        "observed": str(metric.observed),
        "expected": metric.expected,
        "sample": json.dumps(list(verdict.sample), default=_plain),
        "seconds": verdict.seconds,
    }


def _plain(value: Any) -> str:
    """Keys of any type as text: instants in UTC, the rest as they print."""
    return value.isoformat() if isinstance(value, datetime) else str(value)
