"""A workspace with one stream, for tests that ingest it: files land, slices run, tables are read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from panelake.context import Context
from panelake.flow import stage_named
from panelake.ledger import Entry
from panelake.runner import run_stage
from panelake.slices import Slice, to_microseconds
from panelake.workspace import load_workspace

SECOND = 1_000_000
MINUTE = 60 * SECOND
START = 1_767_225_600 * SECOND  # 2026-01-01
SCHEMA = pa.schema([("car", pa.int32()), ("speed", pa.float64()), ("ts", pa.timestamp("us", tz="UTC"))])
COLUMNS = "{car: int, speed: double, ts: timestamp}"


def minute(index: int) -> Slice:
    return Slice(START + index * MINUTE, START + (index + 1) * MINUTE)


def at(second: float) -> int:
    return START + int(second * SECOND)


def table(rows: Iterable[tuple[int | None, float | None, float | None]]) -> pa.Table:
    """Tuples of (car, speed, second)."""
    values = [(car, speed, None if second is None else at(second)) for car, speed, second in rows]
    columns = [
        pa.array(list(column), field.type) for column, field in zip(zip(*values, strict=True), SCHEMA, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


class World:
    """One stream `cars` whose files land below `landing`."""

    def __init__(self, folder: Path, master: str, source: str = "", more: str = "", columns: str = COLUMNS) -> None:
        self.folder = folder
        self.master = master
        self.landing = folder / "landing"
        self.landing.mkdir(parents=True, exist_ok=True)
        self.declare(source, more, columns)

    def declare(self, source: str = "", more: str = "", columns: str = COLUMNS) -> None:
        source = source or "{format: parquet, path: landing}"
        lines = ["slice: 1 minute", "streams:", "  cars:", f"    schema: {columns}", "    event_time: ts"]
        text = "\n".join([*lines, f"    source: {source}", *(f"    {line}" for line in more.splitlines())])
        (self.folder / "streams.yaml").write_text(text + "\n")

    def land(self, name: str, rows: Iterable[tuple[int | None, float | None, float | None]] | pa.Table) -> Path:
        path = self.landing / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows if isinstance(rows, pa.Table) else table(rows), path)
        return path

    def land_text(self, name: str, lines: Sequence[str | bytes]) -> Path:
        path = self.landing / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines))
        return path

    def ingest(self, part: Slice, **asked: bool) -> Entry:
        """Run the stage and give the stream's entry."""
        context = Context(load_workspace(self.folder), self.master, **asked)
        try:
            return run_stage(context, part, stage_named("ingest"))[0]
        finally:
            context.close()

    def rows(self, table_name: str) -> list[dict[str, Any]]:
        address = self.folder / "warehouse" / table_name / "cars"
        return DeltaTable(str(address)).to_pyarrow_table().to_pylist() if address.exists() else []

    def bronze(self) -> list[dict[str, Any]]:
        return sorted(self.rows("bronze"), key=lambda row: row["_seq"])

    def numbered(self) -> list[tuple[int, int, float]]:
        """(number, car, second) of every tuple in bronze, in the order of numbers."""
        return [(row["_seq"], row["car"], (to_microseconds(row["ts"]) - START) / SECOND) for row in self.bronze()]

    def quarantined(self) -> list[tuple[str, str]]:
        """(raw, reason), in the order of their place."""
        rows = sorted(
            self.rows("quarantine"), key=lambda row: (row["_slice"], row["_source"]["file"], row["_source"]["position"])
        )
        return [(row["raw"], row["reason"]) for row in rows]

    def reasons(self) -> list[str]:
        return sorted(row["reason"] for row in self.rows("quarantine"))

    def warehouse_versions(self) -> dict[str, int]:
        return {name: DeltaTable(str(self.folder / "warehouse" / name / "cars")).version() for name in ("bronze",)}


def line(car: Any, speed: Any, second: float, **more: Any) -> str:
    stamp = f"2026-01-01T00:{int(second) // 60:02d}:{second % 60:09.6f}Z"
    return json.dumps({"car": car, "speed": speed, "ts": stamp, **more})


def assert_conserved(entry: Entry) -> None:
    counts = entry.details
    came = counts["read"] + counts["released"]
    assert came == counts["accepted"] + sum(counts["filtered"].values()) + counts["quarantined"] + counts["held"]
    assert counts["quarantined"] == sum(counts["reasons"].values())
