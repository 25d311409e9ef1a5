"""Compaction and vacuum of a table of many small files: fewer files, the same rows, versions kept as long as asked."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from panelake.context import Context
from panelake.ledger import Entry
from panelake.maintenance.compact import compactions
from panelake.maintenance.vacuum import vacuums
from panelake.slices import Slice, parse_instant, to_datetime
from panelake.workspace import load_workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HOUR = 3_600_000_000
START = parse_instant("2026-01-01T00:00:00Z")
OVER, TODAY = date(2026, 1, 1), date(2026, 1, 2)
SLICES = 12  # of each day, a file each
STREAMS = """\
slice: 1 hour
streams:
  s:
    schema: {x: int, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
"""


def day_slices(day: date) -> list[Slice]:
    first = START + (day - OVER).days * 24 * HOUR
    return [Slice(first + n * HOUR, first + (n + 1) * HOUR) for n in range(SLICES)]


def rows_of(part: Slice) -> pa.Table:
    start = to_datetime(part.start)
    rows = [{"x": n, "ts": start, "_slice": start, "_date": start.date()} for n in range(3)]
    instant = pa.timestamp("us", tz="UTC")
    return pa.Table.from_pylist(
        rows, pa.schema([("x", pa.int32()), ("ts", instant), ("_slice", instant), ("_date", pa.date32())])
    )


@pytest.fixture
def context(tmp_path: Path, spark: SparkSession) -> Context:
    (tmp_path / "streams.yaml").write_text(STREAMS)
    made = Context(load_workspace(tmp_path))
    vars(made)["spark"] = spark
    for part in [*day_slices(OVER), *day_slices(TODAY)]:
        write_deltalake(made.catalog.bronze("s"), rows_of(part), mode="append", partition_by=["_date"])
        made.ledger.record([Entry(part, "ingest", "", "done", 3)])
    return made


def bronze(context: Context) -> DeltaTable:
    return DeltaTable(context.catalog.bronze("s"))


def files_of(context: Context, day: date) -> list[dict[str, object]]:
    every = pa.table(bronze(context).get_add_actions(flatten=True)).to_pylist()
    return [file for file in every if file["partition._date"] == day]


def test_small_files_of_days_that_are_over_become_few_and_no_row_changes(context: Context) -> None:
    before = bronze(context).to_pyarrow_table().sort_by([("_slice", "ascending"), ("x", "ascending")])
    steps = {step.table: step for step in compactions(context)}
    assert steps["bronze/s"].facts == {"files": SLICES}
    assert "ledger/stages" in steps
    for step in steps.values():
        assert step.do() == {}
    assert (len(files_of(context, OVER)), len(files_of(context, TODAY))) == (1, SLICES)
    assert bronze(context).to_pyarrow_table().sort_by([("_slice", "ascending"), ("x", "ascending")]) == before
    assert {entry.slice for entry in context.ledger.entries()} == {*day_slices(OVER), *day_slices(TODAY)}
    assert list(compactions(context)) == [], "a second time there is nothing to do"


def test_a_slice_written_again_while_its_day_is_compacted_is_kept(context: Context) -> None:
    [step] = [step for step in compactions(context) if step.table == "bronze/s"]
    part = day_slices(OVER)[3]
    again = rows_of(part).slice(0, 1)
    predicate = f"_date = '2026-01-01' AND _slice = '{to_datetime(part.start):%Y-%m-%d %H:%M:%S}Z'"
    write_deltalake(bronze(context), again, mode="overwrite", predicate=predicate)
    step.do()
    found = bronze(context).to_pyarrow_table()
    assert found.num_rows == 2 * SLICES * 3 - 2
    assert found.filter(pa.compute.equal(found["_slice"], to_datetime(part.start))).num_rows == 1


def test_files_of_old_versions_stay_as_long_as_versions_are_kept(context: Context) -> None:
    version = bronze(context).version()
    for step in compactions(context):
        step.do()
    assert list(vacuums(context)) == [], "a week is kept where nothing else is said"
    assert DeltaTable(context.catalog.bronze("s"), version=version).to_pyarrow_table().num_rows == 2 * SLICES * 3
    gone = {step.table: step.facts["files"] for step in vacuums(context, versions=0)}
    assert gone["bronze/s"] == SLICES
    for step in vacuums(context, versions=0):
        step.do()
    assert list(vacuums(context, versions=0)) == []
    parts = list(Path(context.catalog.bronze("s")).rglob("*.parquet"))
    assert len([path for path in parts if "_delta_log" not in path.parts]) == 1 + SLICES
    assert bronze(context).to_pyarrow_table().num_rows == 2 * SLICES * 3
