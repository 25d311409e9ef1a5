"""A workspace whose panes and windows stages are called one by one, on tuples put into bronze by hand."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import write_deltalake

from panelake import tables
from panelake.context import Context
from panelake.flow import stage_named
from panelake.ledger import Entry
from panelake.runner import run_stage
from panelake.slices import Slice, to_datetime
from panelake.staging import attempt_folder
from panelake.workspace import load_workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
MINUTE = 60 * SECOND
SCHEMA = pa.schema(
    [("area", pa.int32()), ("speed", pa.float64()), ("name", pa.string()), ("ts", pa.timestamp("us", tz="UTC"))]
)
STREAMS = """\
slice: 1 minute
streams:
  s:
    schema: {area: int, speed: double, name: string, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
    lateness: 1 hour
"""
BRONZE = pa.schema([*SCHEMA, ("_seq", pa.int64()), ("_slice", pa.timestamp("us", tz="UTC")), ("_date", pa.date32())])
Tuple = dict[str, Any]


def tuple_at(second: float, area: int | None = 1, speed: float | None = 1.0, name: str | None = "a") -> Tuple:
    return {"area": area, "speed": speed, "name": name, "ts": round(second * SECOND)}


class World:
    """A workspace in a folder, whose stages are called one by one."""

    def __init__(self, root: Path, spark: SparkSession, **queries: str) -> None:
        self.root = root
        (root / "queries").mkdir(parents=True)
        (root / "streams.yaml").write_text(STREAMS)
        for name, text in queries.items():
            (root / "queries" / f"{name}.sql").write_text(text)
        self.spark = spark
        self.tuples: list[Tuple] = []
        self.numbered = 0
        self.reload()

    def reload(self) -> None:
        """Read the workspace again, on the one session of all worlds."""
        self.context = Context(load_workspace(self.root))
        vars(self.context)["spark"] = self.spark

    def ingest(self, minute: int, tuples: list[Tuple], first: int) -> None:
        """Put tuples into bronze and the ledger as the slice's, numbered in the order of time from `first` on."""
        part = minute_slice(minute)
        ordered = sorted(tuples, key=lambda row: row["ts"])
        start = to_datetime(part.start)
        stamped = [
            {**row, "_seq": first + at, "_slice": start, "_date": start.date()} for at, row in enumerate(ordered)
        ]
        self.append(minute, pa.Table.from_pylist(stamped, schema=BRONZE), first)

    def append(self, minute: int, tuples: pa.Table, first: int) -> None:
        """Numbered tuples into bronze, and the slice's entry into the ledger."""
        part = minute_slice(minute)
        start, missing = to_datetime(part.start), [name for name in BRONZE.names if name not in tuples.column_names]
        values = {"_slice": start, "_date": start.date()}
        for name in missing:
            kind = BRONZE.field(name).type
            tuples = tuples.append_column(name, pa.repeat(pa.scalar(values.get(name), kind), len(tuples)))
        address = self.context.catalog.bronze("s")
        tables.create(address, BRONZE, partition_by=["_date"])
        write_deltalake(address, tuples.select(BRONZE.names), mode="append")
        earliest = pc.min(tuples["ts"].cast(pa.int64())).as_py()
        late = earliest if earliest is not None and earliest < part.start else None
        details = {"first": first, "accepted": len(tuples), "late_from": late}
        self.context.ledger.record([Entry(part, "ingest", "s", "done", len(tuples), details=details)])

    def run(self, minute: int, tuples: list[Tuple] | None = None, first: int | None = None) -> dict[str, Entry]:
        """The slice's own of all tuples, or those given, through panes and windows."""
        part = minute_slice(minute)
        mine = [row for row in self.tuples if part.start <= row["ts"] < part.end] if tuples is None else tuples
        self.ingest(minute, mine, self.numbered if first is None else first)
        self.numbered += len(mine) if first is None else 0
        self.stage("panes", minute)
        return {entry.subject: entry for entry in self.stage("windows", minute)}

    def stage(self, name: str, minute: int) -> list[Entry]:
        return run_stage(self.context, minute_slice(minute), stage_named(name))

    def answered(self, minute: int) -> None:
        """Enter the slice as published, so that later slices restate it."""
        names = self.context.workspace.queries
        self.context.ledger.record([Entry(minute_slice(minute), "publish", name, "done", 0) for name in names])

    def rows(self, query: str, minute: int) -> list[Tuple]:
        return self.staged(query, minute_slice(minute))

    def staged(self, query: str, part: Slice) -> list[Tuple]:
        details = self.context.ledger.of_slice(part)["windows", query].details
        folder = Path(attempt_folder(self.context.catalog.staging("s", part), details)) / f"_query={query}"
        if not folder.is_dir():
            return []
        table = pq.ParquetDataset(folder).read()
        columns = details["columns"]
        names = {name: name for name in table.column_names if name.startswith("_")} | columns
        return table.select(list(names.values())).rename_columns(list(names)).to_pylist()


def minute_slice(minute: int) -> Slice:
    return Slice(minute * MINUTE, (minute + 1) * MINUTE)


def expected_counts(tuples: list[Tuple], range_s: int, slide_s: int, ends: range) -> dict[tuple[int, Any], int]:
    counts: dict[tuple[int, Any], int] = defaultdict(int)
    for end in ends:
        if end % (slide_s * SECOND) == 0:
            for row in tuples:
                if end - range_s * SECOND <= row["ts"] < end:
                    counts[(end, row["area"])] += 1
    return dict(counts)


def counted(rows: list[Tuple]) -> dict[tuple[int, Any], int]:
    found = {(row["_window_end"], row["area"]): row["n"] for row in rows}
    assert len(found) == len(rows), "a window has two rows of one group"
    return found


def ends_at_seconds(minutes: range) -> range:
    return range(minutes.start * MINUTE + SECOND, minutes.stop * MINUTE + 1, SECOND)


COUNT = "SELECT area, count(*) AS n FROM s [RANGE {} SECONDS SLIDE {} SECONDS] GROUP BY area"
