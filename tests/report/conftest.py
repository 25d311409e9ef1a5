"""A workspace whose tables hold some slices' history, written as the stages write it, without running them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from panelake import tables
from panelake.catalog import Catalog
from panelake.context import Context
from panelake.ledger import ENTRIES
from panelake.numbers import RESERVATIONS
from panelake.quality.results import RESULTS
from panelake.slices import Slice, parse_instant, to_datetime
from panelake.workspace import Workspace, load_workspace

MINUTE = 60_000_000
LENGTH = 5 * MINUTE
ORIGIN = parse_instant("2026-01-01T00:00:00Z")
STAGES = ("ingest", "panes", "windows", "audit", "publish", "report")
INSTANT = tables.timestamp_type()
AREAS = ("north", "south", "<script>alert(1)</script>")
REASON = "<img src=x onerror=alert(2)>"
WHY = "rule volume: observed 12 <script>alert(3)</script>, expected 900 to 1,100"

STREAMS = """
slice: 5 minutes
streams:
  traffic:
    schema: {area: string, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
    where: ["speed >= 0"]
"""
QUERY = """
SELECT area, count(*) AS cars, avg(speed) AS mean
FROM traffic [RANGE 180 SECONDS SLIDE 60 SECONDS]
WHERE area <> '<script>'
GROUP BY area
"""
SHARING = """
SELECT area, min(speed) AS slowest FROM traffic [RANGE 5 MINUTES SLIDE 2 MINUTES] GROUP BY area
"""


def part_at(place: int) -> Slice:
    start = ORIGIN + place * LENGTH
    return Slice(start, start + LENGTH)


@dataclass(frozen=True)
class World:
    """A workspace, and writers of its tables."""

    context: Context

    @property
    def workspace(self) -> Workspace:
        return self.context.workspace

    @property
    def catalog(self) -> Catalog:
        return self.context.catalog

    def record(self, places: Sequence[int], refused: Sequence[int] = ()) -> None:
        """Ledger, numbers and quality results of whole slices; those refused were never published."""
        entries = [row for place in places for row in entries_of(place, refused=place in refused)]
        tables.append(self.catalog.ledger("stages"), pa.Table.from_pylist(entries, schema=ENTRIES))
        results = [row for place in places for row in results_of(place, refused=place in refused)]
        tables.append(self.catalog.quality, pa.Table.from_pylist(results, schema=RESULTS))
        given = [{"first": place * 1000, "count": 1000, "version": place} for place in places]
        numbers = [{"stream": "traffic", **bounds(at), **row} for at, row in zip(places, given, strict=True)]
        tables.append(self.catalog.ledger("numbers"), pa.Table.from_pylist(numbers, schema=RESERVATIONS))

    def publish(self, places: Sequence[int]) -> None:
        """Gold of the slices: five windows of three areas each."""
        for place in places:
            tables.append(self.catalog.gold("speeds"), answers_of(place))

    def quarantine(self, place: int, raw: str, reason: str = REASON) -> None:
        """One bad tuple."""
        start = to_datetime(part_at(place).start)
        source = {"file": "landing/<b>1</b>.parquet", "position": 7}
        row = {"raw": raw, "reason": reason, "detail": "<i>why</i>", "_source": source}
        row |= {"_slice": start, "_date": start.date()}
        tables.append(self.catalog.quarantine("traffic"), pa.Table.from_pylist([row], schema=QUARANTINE))


QUARANTINE = pa.schema([
    ("raw", pa.string()),
    ("reason", pa.string()),
    ("detail", pa.string()),
    ("_source", pa.struct([("file", pa.string()), ("position", pa.int64())])),
    ("_slice", INSTANT),
    ("_date", pa.date32()),
])  # fmt: skip


def bounds(place: int) -> dict[str, datetime]:
    part = part_at(place)
    return {"slice_start": to_datetime(part.start), "slice_end": to_datetime(part.end)}


def entries_of(place: int, *, refused: bool) -> list[dict[str, Any]]:
    ingest = {"read": 1010, "accepted": 1000, "filtered": {"speed >= 0": 3}, "quarantined": 7, "late": place % 3}
    ingest |= {"reasons": {REASON: 7}, "first": place * 1000}
    why = {"why": WHY} if refused else {}
    subjects: dict[str, list[tuple[str, int, dict[str, Any]]]] = {
        "ingest": [("traffic", 1000, ingest)],
        "panes": [("traffic", 30, {})],
        "windows": [("speeds", 15, {"due": 5})],
        "audit": [("bronze/traffic", 4, {}), ("gold/speeds", 6, why)],
        "publish": [("speeds", 0 if refused else 15, why)],
        "report": [("report", 9, {})],
    }
    rows = []
    for number, (stage, told) in enumerate(subjects.items()):
        bad = refused and stage in {"audit", "publish"}
        for subject, count, details in [*told, ("", sum(count for _, count, _ in told), {})]:
            mine = bad and subject in {"gold/speeds", "speeds", ""}
            rows.append(entry(place, stage, subject, count, details, refused=mine, number=number))
    return rows


def entry(
    place: int, stage: str, subject: str, rows: int, details: dict[str, Any], *, refused: bool = False, number: int = 0
) -> dict[str, Any]:
    return {
        **bounds(place),
        "stage": stage,
        "subject": subject,
        "status": "refused" if refused else "done",
        "rows": rows,
        "seconds": 0.5 + number / 10,
        "details": json.dumps(details),
        "recorded_at": to_datetime(part_at(place).end + (30 + number) * 1_000_000),
    }


def results_of(place: int, *, refused: bool) -> list[dict[str, Any]]:
    rows = [
        ("bronze/traffic", "conservation", "blocking", True),
        ("panes/traffic", "tuples in panes", "blocking", True),
    ]
    rows += [
        ("bronze/traffic", "volume", "warning", place % 10 != 4),
        ("gold/speeds", "mean in range", "blocking", not refused),
    ]
    return [
        {
            **bounds(place),
            "table": table,
            "rule": rule,
            "severity": severity,
            "success": success,
            "observed": "12 <script>alert(4)</script>",
            "expected": "900 to 1,100",
            "sample": "[]" if success else json.dumps([{"area": AREAS[2], "mean": -3.5}]),
            "seconds": 0.01,
        }
        for table, rule, severity, success in rows
    ]


def answers_of(place: int) -> pa.Table:
    part = part_at(place)
    rows = [
        {
            "window_start": to_datetime(end - 3 * MINUTE),
            "window_end": to_datetime(end),
            "area": area,
            "cars": 60 + (place * 7 + number * 11) % 20,
            "mean": 50.0 + number * 10 + (place * 13 % 7),
            "_slice": to_datetime(part.start),
            "_revision": 0,
        }
        for end in range(part.start + MINUTE, part.end + 1, MINUTE)
        for number, area in enumerate(AREAS)
    ]
    fields = [("window_start", INSTANT), ("window_end", INSTANT), ("area", pa.string()), ("cars", pa.int64())]
    fields += [("mean", pa.float64()), ("_slice", INSTANT), ("_revision", pa.int64())]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "town & <country>")


@pytest.fixture(scope="session")
def new_world() -> Callable[[Path], World]:
    return make_world


def make_world(root: Path) -> World:
    (root / "queries").mkdir(parents=True)
    (root / "streams.yaml").write_text(STREAMS)
    (root / "queries" / "speeds.sql").write_text(QUERY)
    (root / "queries" / "jams.sql").write_text(SHARING)
    return World(Context(load_workspace(root)))
