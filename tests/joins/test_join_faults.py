"""Every default rule of joins catches the fault it is there for: refused by table, rule, value, failing rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from panelake.flow import stage_named
from panelake.ledger import Entry
from panelake.quality.results import of_slice
from panelake.runner import run_stage
from panelake.slices import Slice, parse_instant
from panelake.staging import join_results

from .join_world import SECOND, JoinWorld

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
START = parse_instant("2026-01-01T00:00:00Z")
PARTS = [Slice(START + n * 20 * SECOND, START + (n + 1) * 20 * SECOND) for n in range(2)]
JOIN = """SELECT a.k, b.ts AS b_at FROM a [RANGE 15 SECONDS SLIDE 5 SECONDS], b [RANGE 15 SECONDS SLIDE 5 SECONDS]
WHERE a.k = b.k"""
QUERIES = {
    "doubled": JOIN,
    "moved": JOIN,
    "lost": JOIN,
    "sound": JOIN,
    "shedding": f"{JOIN} WITH (EVERY 1 SECOND, MEMORY 2 ROWS, SHED BY oldest)",
}


class World(JoinWorld):
    """Two streams, a tuple each a second, of three keys; the second slice is joined and not audited yet."""

    def fill(self) -> None:
        with (self.root / "streams.yaml").open("a") as file:
            file.write("least_accuracy: 0.99\n")
        for name, text in QUERIES.items():
            self.write_query(name, text)
        for stream in self.keys:
            tuples = [{"k": n % 3, "g": 1, "x": 0, "ts": START + n * SECOND} for n in range(40)]
            self.land(stream, tuples)
        for part in PARTS:
            for name in ("ingest", "panes", "windows", "join"):
                run_stage(self.context, part, stage_named(name))

    def restage(self, query: str, change: Any) -> None:
        """Change what is staged of the second slice for a join."""
        joined = self.context.ledger.of_slice(PARTS[1])["join", query]
        folder = Path(join_results(self.context.catalog.staged_join(query, PARTS[1]), joined.details))
        rows = change(pq.ParquetDataset(folder).read())
        shutil.rmtree(folder)
        folder.mkdir()
        pq.write_table(rows, folder / "changed.parquet")

    def audit(self) -> dict[str, Entry]:
        return {entry.subject: entry for entry in run_stage(self.context, PARTS[1], stage_named("audit"))}


def moved(rows: pa.Table) -> pa.Table:
    """The first tuple of b, an hour before its window."""
    column = next(name for name in rows.column_names if name.startswith("_ts") and name.endswith("b"))
    shift = pa.array([3_600 * SECOND] + [0] * (rows.num_rows - 1), pa.int64())
    return rows.set_column(rows.schema.get_field_index(column), column, pc.subtract(rows[column], shift))


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> tuple[dict[str, Entry], dict[Any, Any]]:
    """The audit's entries, and the rules that failed."""
    world = World(tmp_path_factory.mktemp("joins") / "world", 20, {"a": "int", "b": "int"}, spark)
    world.fill()
    passed = [Entry(PARTS[0], "audit", f"bronze/{name}", "done", 0) for name in world.keys]
    world.context.ledger.record([passed[0]])  # of b, the first slice did not pass
    world.restage("doubled", lambda rows: pa.concat_tables([rows, rows.slice(0, 1)]))
    world.restage("moved", moved)
    world.restage("lost", lambda rows: rows.slice(1))
    entries = world.audit()
    failed = of_slice(world.context.catalog.quality, PARTS[1]).filter(~pc.field("success")).to_pylist()
    return entries, {(row["table"], row["rule"]): {**row, "sample": json.loads(row["sample"])} for row in failed}


def test_streams_pass_and_joins_are_refused(audited: tuple[dict[str, Entry], dict[Any, Any]]) -> None:
    statuses = {name: entry.status for name, entry in audited[0].items() if name}
    assert statuses == {
        "bronze/a": "done", "bronze/b": "done", **{f"gold/{name}": "refused" for name in QUERIES},
    }  # fmt: skip
    assert {rule for table, rule in audited[1] if table == "gold/sound"} == {"reads_passed_slices"}


def test_a_combination_that_is_there_twice_is_named_by_its_numbers(audited: tuple[Any, dict[Any, Any]]) -> None:
    failed = audited[1]["gold/doubled", "unique_combinations"]
    assert (failed["observed"], failed["expected"]) == ("1", "0 ((_seq_a, _seq_b) is unique)")
    (row,) = failed["sample"]
    assert row.keys() == {"_seq_a", "_seq_b", "count"}
    assert row["count"] == 2
    staged = audited[1]["gold/doubled", "rows_staged"]
    assert int(staged["observed"]) == int(staged["expected"]) + 1


def test_a_tuple_outside_its_window_is_shown_with_its_combination(audited: tuple[Any, dict[Any, Any]]) -> None:
    failed = audited[1]["gold/moved", "inside_windows"]
    assert failed["observed"] == "1"
    (row,) = failed["sample"]
    assert {"_seq_a", "_seq_b", "window_end"} < row.keys()


def test_a_result_that_is_missing_is_told_by_its_key(audited: tuple[Any, dict[Any, Any]]) -> None:
    failed = audited[1]["gold/lost", "results_due"]
    assert int(failed["observed"]) == int(failed["expected"]) - 1
    (row,) = failed["sample"]
    assert row["staged"] == row["due"] - 1
    assert row.keys() == {"_key", "due", "staged", "_seq_a", "_seq_b"}


def test_a_slice_in_reach_that_did_not_pass_is_named(audited: tuple[Any, dict[Any, Any]]) -> None:
    failed = audited[1]["gold/sound", "reads_passed_slices"]
    assert failed["sample"] == [{"stream": "b", "slice": PARTS[0].name}]


def test_results_below_the_accuracy_that_was_set_are_refused(audited: tuple[dict[str, Entry], dict[Any, Any]]) -> None:
    failed = audited[1]["gold/shedding", "accuracy"]
    assert 0 < float(failed["observed"]) < 0.99
    assert failed["expected"].startswith("at least 0.99 of the results, by estimate; panelake repair ")
    assert failed["severity"] == "blocking"
    assert {row["stream"] for row in failed["sample"]} <= {"a", "b"}
    assert failed["sample"]
