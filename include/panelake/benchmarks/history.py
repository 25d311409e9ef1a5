"""What a long history costs the audit's results and the report: the same work after 100 slices and after 10,000.

The history is synthetic: results and ledger entries as a world of one stream and three queries leaves them. Sizes are
bytes; a report is to be built in seconds and to stay of one size.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panelake import tables
from panelake.benchmarks.targets import at_most
from panelake.benchmarks.timing import rounded, seconds
from panelake.context import Context
from panelake.flow import STAGES
from panelake.ledger import ENTRIES
from panelake.quality import results
from panelake.quality.metric import Verdict, equal
from panelake.report.build import build_report
from panelake.slices import Slice, parse_instant
from panelake.workspace import load_workspace

NEEDS_SPARK = False
SHORT, LONG = 100, 10_000
TARGET_SECONDS = 10.0
START = parse_instant("2026-01-01T00:00:00Z")
LENGTH = 300_000_000
QUERIES = ("one", "two", "three")
TABLES = ("bronze/s", "quarantine/s", "panes/s", *(f"gold/{name}" for name in QUERIES))
RULES_A_TABLE = 8
STREAMS = """\
slice: 5 minutes
streams:
  s:
    schema: {area: int, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
"""
QUERY = "SELECT area, avg(speed) AS mean FROM s [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY area"


def run(_spark: object, _folder: Path, _tuples: int) -> dict[str, Any]:
    """Both lengths of history, and how many times dearer the longer one is."""
    with tempfile.TemporaryDirectory() as folder:
        found = {slices: _measured(Path(folder) / str(slices), slices) for slices in (SHORT, LONG)}
    short, long = found[SHORT], found[LONG]
    return {
        **{f"{slices} slices": rounded(values) for slices, values in found.items()},
        "times dearer": rounded({name: long[name] / short[name] for name in short}),
        "targets": [
            at_most(f"{LONG} slices: {name}", value, TARGET_SECONDS)
            for name, value in long.items()
            if name.endswith("seconds")
        ],
    }


def _measured(root: Path, slices: int) -> dict[str, float]:
    context = _world(root, slices)
    address, newest = context.catalog.quality, slice_at(slices)
    verdicts = [
        Verdict(equal(table, f"rule {n}", 1, 1), success=True) for table in TABLES for n in range(RULES_A_TABLE)
    ]
    works: dict[str, Callable[[], object]] = {
        "record seconds": lambda: results.record(address, newest, verdicts),
        "one slice seconds": lambda: results.of_slice(address, newest),
        "all failures seconds": lambda: tables.read(address, results.RESULTS, where={"success": False}),
        "report seconds": lambda: build_report(context),
    }
    found = {name: seconds(work) for name, work in works.items()}
    report = Path(context.catalog.report)
    return {**found, "report bytes": float(sum(file.stat().st_size for file in report.rglob("*") if file.is_file()))}


def slice_at(number: int) -> Slice:
    """The slices follow one another without a gap."""
    return Slice(START + number * LENGTH, START + (number + 1) * LENGTH)


def _world(root: Path, slices: int) -> Context:
    (root / "queries").mkdir(parents=True)
    (root / "streams.yaml").write_text(STREAMS)
    for name in QUERIES:
        (root / "queries" / f"{name}.sql").write_text(QUERY)
    context = Context(load_workspace(root))
    places = range(slices)
    verdicts = _repeated(
        places, [{"table": table, "rule": f"rule {n}"} for table in TABLES for n in range(RULES_A_TABLE)]
    )
    tables.append(context.catalog.quality, _results_of(verdicts))
    entries = [_entry(stage.name, subject) for stage in STAGES for subject in (*_subjects(stage.name), "")]
    tables.append(context.catalog.ledger("stages"), _entries_of(_repeated(places, entries)))
    return context


def _subjects(stage: str) -> Sequence[str]:
    kinds = {"ingest": ("s",), "panes": ("s",), "windows": QUERIES, "publish": QUERIES, "report": ("report",)}
    return TABLES if stage == "audit" else kinds.get(stage, ())


def _entry(stage: str, subject: str) -> dict[str, Any]:
    counts = {"read": 1000, "accepted": 990, "filtered": {}, "quarantined": 10, "late": 3, "reasons": {"late": 10}}
    return {"stage": stage, "subject": subject, "details": json.dumps(counts if stage == "ingest" else {})}


def _repeated(places: range, rows: Sequence[dict[str, Any]]) -> pa.Table:
    """The rows once for each slice, with its bounds."""
    one = pa.Table.from_pylist(list(rows))
    starts = pa.array([START + place * LENGTH for place in places for _ in rows], pa.int64())
    whole = pa.concat_tables([one] * len(places))
    bounds = {"slice_start": starts, "slice_end": pc.add(starts, LENGTH)}
    for name, values in bounds.items():
        whole = whole.append_column(name, values.cast(tables.timestamp_type()))
    return whole


def _results_of(rows: pa.Table) -> pa.Table:
    """One rule in 97 failed."""
    failed = pa.array([number % 97 == 0 for number in range(rows.num_rows)])
    constants = {"severity": "warning", "observed": "12", "expected": "between 900 and 1,100", "seconds": 0.01}
    whole = _with(rows, constants).append_column("success", pc.invert(failed))
    sample = pc.if_else(failed, json.dumps([{"area": 7, "mean": -3.5}]), "[]")
    return whole.append_column("sample", sample).select(results.RESULTS.names).cast(results.RESULTS)


def _entries_of(rows: pa.Table) -> pa.Table:
    whole = _with(rows, {"status": "done", "rows": 990, "seconds": 0.5})
    recorded = pc.add(whole["slice_end"].cast(pa.int64()), 30_000_000).cast(tables.timestamp_type())
    return whole.append_column("recorded_at", recorded).select(ENTRIES.names).cast(ENTRIES)


def _with(rows: pa.Table, constants: dict[str, Any]) -> pa.Table:
    for name, value in constants.items():
        rows = rows.append_column(name, pa.array([value] * rows.num_rows))
    return rows
