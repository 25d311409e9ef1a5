"""A workspace for tests of the audit: tuples in bronze as ingest leaves them, answers staged, then broken."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from panelake import tables
from panelake.context import Context
from panelake.durations import MINUTE, SECOND
from panelake.flow import stage_named
from panelake.ledger import Entry
from panelake.numbers import Numbers
from panelake.quality.results import of_slice
from panelake.runner import run_stage
from panelake.slices import Slice, to_datetime
from panelake.staging import attempt_folder
from panelake.workspace import load_workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INSTANT = tables.timestamp_type()
STREAMS = """\
slice: 2 minutes
streams:
  s:
    schema: {area: int, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
    lateness: 1 minute
    max_quarantined: 0.2
"""
_MINUTE = "FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE]"
QUERIES = {
    "speeds": """
        SELECT area, count(*) AS cars, sum(speed) AS total, min(speed) AS slowest, avg(speed) AS mean,
               max(speed) AS fastest, stddev_samp(speed) AS spread
        FROM s [RANGE 60 SECONDS SLIDE 20 SECONDS] GROUP BY area""",
    "hours": "SELECT count(speed) AS n, avg(speed) AS mean FROM s [RANGE 1 HOUR SLIDE 1 MINUTE]",
    "many": f"SELECT area, count(*) AS n {_MINUTE} WHERE speed > 10 GROUP BY area HAVING count(*) > 12",
    "rows": "SELECT area, count(*) AS n, max(speed) AS fastest FROM s [RANGE 40 SLIDE 10 WATTR ROW] GROUP BY area",
    "ranges": f"""SELECT area, count(*) AS cars, min(speed) AS slowest, avg(speed) AS mean, max(speed) AS fastest
        {_MINUTE} GROUP BY area""",
    "plain": f"SELECT area, max(speed) AS fastest {_MINUTE} GROUP BY area",
}
TUPLES = pa.schema([("area", pa.int32()), ("speed", pa.float64()), ("ts", INSTANT)])
STAMP = [("_slice", INSTANT), ("_date", pa.date32())]
BRONZE = pa.schema([*TUPLES, ("_seq", pa.int64()), *STAMP])
QUARANTINE = pa.schema([("raw", pa.string()), ("reason", pa.string()), *STAMP])
FIRST, NEXT = Slice(0, 2 * MINUTE), Slice(2 * MINUTE, 4 * MINUTE)
PER_SLICE = 120
Failures = dict[tuple[str, str], dict[str, Any]]


class World:
    """A workspace in a folder, with tuples in bronze as ingest leaves them."""

    def __init__(self, root: Path, spark: SparkSession) -> None:
        self.context = Context(load_workspace(root))
        self.catalog = self.context.catalog
        vars(self.context)["spark"] = spark

    def ingest(self, part: Slice, first: int) -> None:
        """A tuple a second in three groups, one of them NULL, and one tuple in quarantine."""
        at = np.arange(PER_SLICE)
        stamp = {"_slice": to_datetime(part.start), "_date": to_datetime(part.start).date()}
        rows = [
            {"area": [1, 2, None][k % 3], "speed": float(k % 37), "ts": part.start + int(k) * SECOND, "_seq": first + k}
            for k in at.tolist()
        ]
        self._append(self.catalog.bronze("s"), [{**row, **stamp} for row in rows], BRONZE)
        self._append(self.catalog.quarantine("s"), [{"raw": "{}", "reason": "event time is NULL", **stamp}], QUARANTINE)
        assert Numbers(self.catalog).reserve("s", part, PER_SLICE).first == first
        details = {"read": 123, "accepted": 120, "filtered": {"speed >= 0": 2}, "quarantined": 1, "first": first}
        self.context.ledger.record([Entry(part, "ingest", "s", "done", PER_SLICE, details=details)])

    def _append(self, address: str, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
        tables.create(address, schema, partition_by=["_date"])
        write_deltalake(address, pa.Table.from_pylist(rows, schema), mode="append")

    def amend(self, part: Slice, stage: str, subject: str, **changes: Any) -> None:
        """Enter the stage again with other details."""
        entry = self.context.ledger.of_slice(part)[stage, subject]
        self.context.ledger.record([replace(entry, details=entry.details | changes)])

    def stage(self, name: str, part: Slice) -> dict[str, Entry]:
        return {entry.subject: entry for entry in run_stage(self.context, part, stage_named(name))}

    def audit(self, part: Slice = FIRST) -> dict[str, str]:
        """Audit the slice; give each table's status."""
        return {name: entry.status for name, entry in self.stage("audit", part).items() if name}

    def restage(self, query: str, change: Callable[[pa.Table], pa.Table], part: Slice = FIRST) -> None:
        """Change what is staged for a query."""
        folder = self.staged_folder(query, part)
        rows = change(pq.ParquetDataset(folder).read())
        shutil.rmtree(folder)
        folder.mkdir()
        kept = rows.drop_columns([name for name in ("_query",) if name in rows.column_names])
        pq.write_table(kept, folder / "changed.parquet")

    def staged(self, query: str, part: Slice = FIRST) -> pa.Table:
        return pq.ParquetDataset(self.staged_folder(query, part)).read()

    def staged_folder(self, query: str, part: Slice) -> Path:
        """Where the slice's windows of the query are staged."""
        details = self.context.ledger.of_slice(part)["windows", query].details
        return Path(attempt_folder(self.catalog.staging("s", part), details)) / f"_query={query}"

    def staged_column(self, query: str, column: str) -> str:
        """What a column of the query is called among the staged."""
        columns = self.context.ledger.of_slice(FIRST)["windows", query].details["columns"]
        return str(columns.get(column, column))

    def change(self, query: str, row: int, column: str, change: Callable[[Any], Any]) -> None:
        """Change one value of what is staged for a query."""
        name = self.staged_column(query, column)

        def changed(rows: pa.Table) -> pa.Table:
            values = rows[name].to_pylist()
            values[row] = change(values[row])
            return rows.set_column(rows.schema.get_field_index(name), name, pa.array(values, rows[name].type))

        self.restage(query, changed)

    def shift(self, query: str, column: str, by: float) -> None:
        """Add to a whole column of what is staged for a query."""
        name = self.staged_column(query, column)
        self.restage(
            query, lambda rows: rows.set_column(rows.schema.get_field_index(name), name, pc.add(rows[name], by))
        )

    def bronze(self) -> DeltaTable:
        return DeltaTable(self.catalog.bronze("s"))

    def panes(self) -> DeltaTable:
        return DeltaTable(self.catalog.panes("s"))

    def why(self, table: str, part: Slice = FIRST) -> str:
        """Why the audit refused a table."""
        return str(self.context.ledger.of_slice(part)["audit", table].details["why"])

    def failures(self, part: Slice = FIRST) -> Failures:
        """The failed rules that the audit of the slice recorded."""
        rows = of_slice(self.catalog.quality, part).filter(~pc.field("success")).to_pylist()
        return {(row["table"], row["rule"]): row for row in rows}


def sample_of(failed: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(failed["sample"])
    return rows


def write_world(root: Path) -> None:
    (root / "queries").mkdir(parents=True)
    (root / "streams.yaml").write_text(STREAMS)
    for name, text in QUERIES.items():
        (root / "queries" / f"{name}.sql").write_text(text)
