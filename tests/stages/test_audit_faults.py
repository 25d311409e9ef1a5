"""Every default rule catches the fault it is there for: the slice is refused by table, rule, value, failing rows."""

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
import pytest
from deltalake import DeltaTable, write_deltalake

from panelake import tables
from panelake.context import Context
from panelake.durations import MINUTE, SECOND
from panelake.flow import stage_named
from panelake.ledger import Entry
from panelake.quality.results import of_slice
from panelake.runner import run_stage
from panelake.slices import Slice, to_datetime
from panelake.workspace import load_workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

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
QUERIES = {
    "speeds": """
        SELECT area, count(*) AS cars, sum(speed) AS total, min(speed) AS slowest, avg(speed) AS mean,
               max(speed) AS fastest, stddev_samp(speed) AS spread
        FROM s [RANGE 60 SECONDS SLIDE 20 SECONDS] GROUP BY area""",
    "hours": "SELECT count(speed) AS n, avg(speed) AS mean FROM s [RANGE 1 HOUR SLIDE 1 MINUTE]",
    "many": """SELECT area, count(*) AS n FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE] WHERE speed > 10
        GROUP BY area HAVING count(*) > 12""",
    "rows": "SELECT area, count(*) AS n, max(speed) AS fastest FROM s [RANGE 40 SLIDE 10 WATTR ROW] GROUP BY area",
}
TUPLES = pa.schema([("area", pa.int32()), ("speed", pa.float64()), ("ts", INSTANT)])
STAMP = [("_slice", INSTANT), ("_date", pa.date32())]
BRONZE = pa.schema([*TUPLES, ("_seq", pa.int64()), *STAMP])
QUARANTINE = pa.schema([("raw", pa.string()), ("reason", pa.string()), *STAMP])
FIRST, SECOND_SLICE = Slice(0, 2 * MINUTE), Slice(2 * MINUTE, 4 * MINUTE)
PER_SLICE = 120


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
        details = {"read": 123, "accepted": 120, "filtered": {"speed >= 0": 2}, "quarantined": 1, "first": first}
        self.record(part, "ingest", "s", details, PER_SLICE)

    def _append(self, address: str, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
        tables.create(address, schema, partition_by=["_date"])
        write_deltalake(address, pa.Table.from_pylist(rows, schema), mode="append")

    def record(self, part: Slice, stage: str, subject: str, details: dict[str, Any], rows: int) -> None:
        self.context.ledger.record([Entry(part, stage, subject, "done", rows, details=details)])

    def amend(self, part: Slice, stage: str, subject: str, **changes: Any) -> None:
        """Enter the stage again with other details."""
        entry = self.context.ledger.of_slice(part)[stage, subject]
        self.context.ledger.record([replace(entry, details=entry.details | changes)])

    def stage(self, name: str, part: Slice) -> dict[str, Entry]:
        return {entry.subject: entry for entry in run_stage(self.context, part, stage_named(name))}

    def restage(self, query: str, change: Callable[[pa.Table], pa.Table], part: Slice = FIRST) -> None:
        """Change what is staged for a query."""
        folder = Path(self.catalog.staging("s", part)) / f"_query={query}"
        rows = change(pq.ParquetDataset(folder).read())
        shutil.rmtree(folder)
        folder.mkdir()
        pq.write_table(
            rows.drop_columns(["_query"]) if "_query" in rows.column_names else rows, folder / "changed.parquet"
        )

    def change_column(self, query: str, column: str, change: Callable[[Any], Any], part: Slice = FIRST) -> None:
        """Change one column of the first staged row."""
        name = f"{query}/{column}" if not column.startswith("_") else column

        def changed(rows: pa.Table) -> pa.Table:
            values = rows[name].to_pylist()
            values[0] = change(values[0])
            return rows.set_column(rows.schema.get_field_index(name), name, pa.array(values, rows[name].type))

        self.restage(query, changed, part)

    def failures(self, part: Slice = FIRST) -> dict[tuple[str, str], dict[str, Any]]:
        """The failed rules that the audit of the slice recorded."""
        rows = of_slice(self.catalog.quality, part).filter(~pc.field("success")).to_pylist()
        return {(row["table"], row["rule"]): row for row in rows}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """The folder of a world of which two slices are answered and not audited yet."""
    root = tmp_path_factory.mktemp("audit") / "world"
    (root / "queries").mkdir(parents=True)
    (root / "streams.yaml").write_text(STREAMS)
    for name, text in QUERIES.items():
        (root / "queries" / f"{name}.sql").write_text(text)
    world = World(root, spark)
    for number, part in enumerate((FIRST, SECOND_SLICE)):
        world.ingest(part, number * PER_SLICE)
        world.stage("panes", part)
        world.stage("windows", part)
    return root


@pytest.fixture
def world(sound: Path, tmp_path: Path, spark: SparkSession) -> World:
    """A copy that the test may break."""
    shutil.copytree(sound, tmp_path / "world")
    return World(tmp_path / "world", spark)


def refused(world: World, table: str, rule: str, part: Slice = FIRST) -> dict[str, Any]:
    """Audit, and give the failed rule; every query of a refused stream must be refused."""
    entries = world.stage("audit", part)
    failed = world.failures(part)
    assert (table, rule) in failed, failed
    subject = table if table.startswith("gold") else "bronze/s"
    assert entries[subject].status == "refused"
    if subject == "bronze/s":
        assert {name: entry.status for name, entry in entries.items() if name} == dict.fromkeys(
            ["bronze/s", *(f"gold/{query}" for query in QUERIES)], "refused"
        )
    else:
        assert entries["bronze/s"].status == "done"
    return failed[table, rule]


def sample_of(failed: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(failed["sample"])
    return rows


def test_a_sound_slice_passes_every_rule_and_another_audit_changes_nothing(world: World) -> None:
    for part in (FIRST, SECOND_SLICE):
        entries = world.stage("audit", part)
        assert {entry.status for entry in entries.values()} == {"done"}, world.failures(part)
    rules = of_slice(world.catalog.quality, FIRST)
    world.stage("audit", FIRST)
    again = of_slice(world.catalog.quality, FIRST)
    assert again.drop_columns(["seconds"]).equals(rules.drop_columns(["seconds"]))
    assert {row["table"] for row in again.to_pylist()} == {
        "bronze/s", "quarantine/s", "panes/s", *(f"gold/{query}" for query in QUERIES)
    }  # fmt: skip


def test_a_tuple_lost_from_bronze_is_named_by_its_number(world: World) -> None:
    DeltaTable(world.catalog.bronze("s")).delete("_seq = 17")
    failed = refused(world, "bronze/s", "bronze_rows")
    assert (failed["observed"], failed["expected"], failed["severity"]) == ("119", "120", "blocking")
    assert sample_of(failed) == [{"_seq": 17, "times": 0}]
    why = world.context.ledger.of_slice(FIRST)["audit", "bronze/s"].details["why"]
    assert why == "bronze/s: bronze_rows: observed 119, expected 120; for example {'_seq': 17, 'times': 0}"


def test_a_number_given_twice_and_one_given_to_nobody_are_named(world: World) -> None:
    DeltaTable(world.catalog.bronze("s")).update(updates={"_seq": "5"}, predicate="_seq = 6")
    failed = refused(world, "bronze/s", "sequence_dense")
    assert (failed["observed"], failed["expected"]) == ("119", "120")
    assert sample_of(failed) == [{"_seq": 5, "times": 2}, {"_seq": 6, "times": 0}]


def test_an_event_time_outside_the_slice_is_named(world: World) -> None:
    moved = "arrow_cast('1970-01-02', 'Timestamp(Microsecond, Some(\"UTC\"))')"
    bronze = DeltaTable(world.catalog.bronze("s"))
    bronze.update(updates={"ts": moved}, predicate="_seq = 6")
    bronze.update(updates={"ts": "NULL"}, predicate="_seq = 9")
    failed = refused(world, "bronze/s", "event_times")
    assert failed["observed"] == "2"
    assert sorted(row["_seq"] for row in sample_of(failed)) == [6, 9]


def test_a_quarantined_tuple_that_was_not_kept_is_missed_and_too_many_of_them_refuse_the_stream(world: World) -> None:
    streams = world.context.workspace.streams
    streams["s"] = streams["s"].model_copy(update={"max_quarantined": 0.001})
    world.amend(FIRST, "ingest", "s", quarantined=2, read=124)
    failed = refused(world, "quarantine/s", "quarantine_rows")
    assert (failed["observed"], failed["expected"]) == ("1", "2")
    share = world.failures()["bronze/s", "quarantine_share"]
    assert (float(share["observed"]), share["expected"]) == (2 / 124, "at most 0.001")
    assert sample_of(share) == [{"raw": "{}", "reason": "event time is NULL"}]


def pane_of(world: World, column: str) -> str:
    """The name of the one pane column of a kind."""
    names = [field.name for field in DeltaTable(world.catalog.panes("s")).schema().fields]
    return next(name for name in names if name.startswith(column))


def test_a_dropped_pane_is_named_by_group_and_unit(world: World) -> None:
    panes = DeltaTable(world.catalog.panes("s"))
    key = pane_of(world, "k_")
    assert panes.delete(f"{key} = 2 AND _unit = {40 * SECOND} AND _slice = '1970-01-01T00:00:00Z'")["num_deleted_rows"]
    failed = refused(world, "panes/s", "pane_counts(speeds)")
    assert int(failed["observed"]) < int(failed["expected"]) == 120
    assert [(row["area"], row["_unit"], row["panes"]) for row in sample_of(failed)] == [(2, 40 * SECOND, 0)]


def test_a_corrupted_sum_in_a_pane_is_told_by_state(world: World) -> None:
    total = pane_of(world, "s_sum")
    DeltaTable(world.catalog.panes("s")).update(updates={total: f"{total} + 0.001"}, predicate="_unit = 0")
    failed = refused(world, "panes/s", "pane_states(speeds)")
    assert failed["observed"] == "1"
    (row,) = sample_of(failed)
    assert row["state"] == "sum(speed)"
    assert row["panes"] > row["tuples"]


def test_a_staged_row_that_is_missing_is_named_by_window_and_group(world: World) -> None:
    gone = []

    def shortened(rows: pa.Table) -> pa.Table:
        gone.extend(rows.slice(0, 1).to_pylist())
        return rows.slice(1)

    world.restage("speeds", shortened)
    failed = refused(world, "gold/speeds", "rows_due")
    assert int(failed["observed"]) == int(failed["expected"]) - 1
    (row,) = sample_of(failed)
    assert (row["area"], row["staged"], row["due"]) == (gone[0]["speeds/area"], None, gone[0]["speeds/cars"])
    assert ("gold/speeds", "rows_staged") in world.failures()


def test_a_row_that_having_drops_is_not_missed_and_one_too_many_is(world: World) -> None:
    rows = of_rows(world, "many")
    assert 0 < rows.num_rows < 6, "HAVING must drop some rows for this test to tell anything"
    world.restage("many", lambda rows: pa.concat_tables([rows] * 20))
    failed = refused(world, "gold/many", "rows_due")
    assert failed["expected"] == "at most 6: HAVING may drop any"


def of_rows(world: World, query: str) -> pa.Table:
    return pq.ParquetDataset(Path(world.catalog.staging("s", FIRST)) / f"_query={query}").read()


def test_corrupted_sums_and_counts_are_told_by_column(world: World) -> None:
    world.change_column("speeds", "total", lambda value: value + 0.5)
    world.change_column("rows", "n", lambda value: value + 1)
    totals = sample_of(refused(world, "gold/speeds", "window_totals"))[0]
    assert (totals["column"], totals["staged"] - totals["expected"]) == ("total", 0.5)
    totals = sample_of(world.failures()["gold/rows", "window_totals"])[0]
    assert (totals["column"], totals["staged"] - totals["expected"]) == ("n", 1)


def test_answers_that_differ_from_a_raw_recompute_are_shown_with_window_and_group(world: World) -> None:
    def shifted(name: str) -> Callable[[pa.Table], pa.Table]:
        return lambda rows: rows.set_column(rows.schema.get_field_index(name), name, pc.add(rows[name], 0.25))

    world.restage("speeds", shifted("speeds/spread"))
    world.restage("rows", shifted("rows/fastest"))
    world.restage("hours", shifted("hours/mean"))
    refused(world, "gold/speeds", "recompute")
    failed = world.failures()
    for query, column in (("speeds", "spread"), ("rows", "fastest"), ("hours", "mean")):
        row = sample_of(failed[f"gold/{query}", "recompute"])[0]
        assert set(row) - {"area"} == {"window_end", "column", "staged", "recomputed"}
        assert ("area" in row) == (query != "hours")
        assert (row["column"], row["staged"]) == (column, pytest.approx(row["recomputed"] + 0.25))
    assert {rule for _, rule in failed} == {"recompute"}


def test_a_query_that_fails_is_refused_alone(world: World) -> None:
    world.change_column("speeds", "cars", lambda _: 0)
    statuses = {name: entry.status for name, entry in world.stage("audit", FIRST).items()}
    assert statuses == {
        "bronze/s": "done", "gold/speeds": "refused", "gold/hours": "done", "gold/many": "done", "gold/rows": "done",
        "": "refused",
    }  # fmt: skip


def test_a_refused_slice_blocks_later_windows_that_read_it_and_no_others_until_it_is_fixed(world: World) -> None:
    # slice     |--- first, refused ---|--- second ---|
    # speeds                    |------|--|              reaches back
    # many                             |------|          does not
    DeltaTable(world.catalog.quarantine("s")).delete("_slice = '1970-01-01T00:00:00Z'")
    assert world.stage("audit", FIRST)["bronze/s"].status == "refused"
    later = world.stage("audit", SECOND_SLICE)
    statuses = {name: entry.status for name, entry in later.items() if name}
    assert statuses == {
        "bronze/s": "done", "gold/speeds": "refused", "gold/hours": "refused", "gold/many": "done",
        "gold/rows": "refused",
    }  # fmt: skip
    assert "reads_passed_slices: observed 1" in later["gold/speeds"].details["why"]
    assert "1970-01-01T00:00:00Z" in later["gold/speeds"].details["why"]
    world.amend(FIRST, "ingest", "s", quarantined=0, read=122)
    assert world.stage("audit", FIRST)["bronze/s"].status == "done"
    assert {entry.status for entry in world.stage("audit", SECOND_SLICE).values()} == {"done"}


def test_a_slice_that_was_not_audited_yet_blocks_like_a_refused_one(world: World) -> None:
    assert world.stage("audit", SECOND_SLICE)["gold/speeds"].status == "refused"
    assert world.stage("audit", FIRST)[""].status == "done"
    assert world.stage("audit", SECOND_SLICE)[""].status == "done"


def test_the_users_own_expectations_refuse_and_warn_like_the_default_rules(world: World, spark: SparkSession) -> None:
    root = world.context.workspace.root
    (root / "expectations").mkdir()
    (root / "expectations" / "stream.yaml").write_text(OF_STREAM)
    (root / "expectations" / "query.yaml").write_text(OF_QUERY)
    own = World(root, spark)
    entries = own.stage("audit", FIRST)
    statuses = {name: entry.status for name, entry in entries.items() if name}
    assert statuses == {
        "bronze/s": "done", "gold/speeds": "refused", "gold/hours": "done", "gold/many": "done", "gold/rows": "done",
    }  # fmt: skip
    failed = own.failures()
    warned = failed["bronze/s", "expect_column_values_to_be_between(speed)"]
    assert (warned["severity"], warned["observed"]) == ("warning", "3 of 120 unexpected")
    assert sorted(row["_seq"] for row in sample_of(warned)) == [36, 73, 110]
    assert (
        entries["bronze/s"].details["warnings"][0].startswith("bronze/s: expect_column_values_to_be_between(speed): ")
    )
    refusing = failed["gold/speeds", "few cars"]
    assert refusing["severity"] == "blocking"
    assert {"window_end", "area", "cars"} <= sample_of(refusing)[0].keys()


OF_STREAM = """
stream: s
expectations:
  - {type: expect_column_values_to_be_between, kwargs: {column: speed, max_value: 35}, severity: warning}
  - {type: expect_column_values_to_be_unique, kwargs: {column: _seq}}
"""
OF_QUERY = """
query: speeds
expectations:
  - {type: expect_column_values_to_be_between, kwargs: {column: cars, max_value: 5}, name: few cars}
"""
