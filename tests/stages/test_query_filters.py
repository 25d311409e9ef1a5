"""A query's WHERE in a learned order: the same panes, the order in Spark's plan, statistics that are remembered."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import sys
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path

import pytest
from deltalake import DeltaTable

from panelake.aggregates import presence
from panelake.cli import main
from panelake.context import Context
from panelake.filters.memory import FilterMemory
from panelake.flow import stage_named
from panelake.runner import run_stage
from panelake.stages import query_filters
from panelake.stages.pane_sets import pane_sets
from panelake.stages.panes import aggregated
from panelake.workspace import load_workspace

spec = importlib.util.spec_from_file_location("ingest_world", Path(__file__).with_name("ingest_world.py"))
ingest_world = importlib.util.module_from_spec(spec)
sys.modules["ingest_world"] = ingest_world
spec.loader.exec_module(ingest_world)
World, minute = ingest_world.World, ingest_world.minute

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]  # slices one after another, on machines that may be busy

TUPLES = 3_000
QUERY = """
SELECT count(*) AS n, sum(car) AS total FROM cars [RANGE 1 MINUTE SLIDE 1 MINUTE]
WHERE levenshtein(concat(cast(car AS string), ' is a car of many, and this is a long text'), 'to compare it') > 1
  AND speed < 50 AND car % 10 = 0
"""
GUARDED = "SELECT count(*) AS n FROM cars [RANGE 1 MINUTE SLIDE 1 MINUTE] WHERE car % 2 <> 0 AND 10 / (car % 2) > 1"


def tuples(part):
    chance = random.Random(part)  # noqa: S311 - no secret
    return [
        (car, None if chance.random() < 0.1 else chance.random() * 100, part * 60 + car * 60 / TUPLES)
        for car in range(TUPLES)
    ]


@pytest.fixture(scope="module")
def world(tmp_path_factory, spark_server):
    """Two slices through ingest and panes, the first of them twice."""
    made = World(tmp_path_factory.mktemp("where"), spark_server, more='where: ["speed >= 0 OR speed IS NULL"]')
    (made.folder / "queries").mkdir()
    (made.folder / "queries" / "few.sql").write_text(QUERY)
    (made.folder / "queries" / "guarded.sql").write_text(GUARDED)
    for part in range(2):
        made.land(f"{part}.parquet", tuples(part))
    context = Context(load_workspace(made.folder), spark_server)
    for part, stage in ((0, "ingest"), (0, "panes"), (1, "ingest"), (1, "panes"), (0, "panes")):
        run_stage(context, minute(part), stage_named(stage))
    yield context
    context.close()


def query_of(context, name="few"):
    return context.workspace.queries[name]


def test_panes_count_the_tuples_that_meet_all_conditions(world):
    rows = DeltaTable(world.catalog.panes("cars")).to_pyarrow_table().to_pylist()
    column = presence(query_of(world)).column
    for part in range(2):
        expected = sum(speed is not None and speed < 50 and car % 10 == 0 for car, speed, _ in tuples(part))
        found = [row[column] for row in rows if row["_slice"].minute == part and row[column] is not None]
        assert sum(found) == expected > 0


def test_the_order_is_learned_before_the_first_slice_and_resumed_by_the_next(world):
    first, second = FilterMemory(world.catalog).history("query", "few")
    assert [first.slice, second.slice] == [minute(0), minute(1)]
    assert first.used[-1] == second.used[-1] == 0
    assert second.before == first.after
    assert (first.after["samples"], second.after["samples"]) == (1, 1), "a small slice is not worth another sample"
    assert second.idle > first.idle == 0.0
    assert sum(first.after["weights"]) == TUPLES


def test_a_where_of_which_nothing_may_move_is_not_sampled(world):
    assert FilterMemory(world.catalog).history("query", "guarded") == []


def test_the_physical_plan_evaluates_a_where_in_the_order_told(world, spark, capsys):
    query = query_of(world)
    (pane_set,) = pane_sets([query])
    columns = "car int, speed double, ts timestamp, _seq bigint"
    frame = spark.createDataFrame([(1, 1.0, datetime.now(UTC), 0)], columns).repartition(2)
    marks = ("levenshtein(", "(speed#", "% 10")
    for order in permutations(range(3)):
        told = {query.conditions: tuple(query.conditions[number] for number in order)}
        aggregated(frame, pane_set, "ts", orders=told).explain()
        plan = capsys.readouterr().out
        cases = re.findall(r"CASE WHEN (.*?) THEN", plan)
        assert cases
        for case in cases:
            assert sorted(range(3), key=lambda number: case.index(marks[number])) == list(order)


def test_plan_tells_the_order_in_force_and_what_is_fixed_and_why(world, capsys):
    root = str(world.workspace.root)
    assert main(["plan", "--workspace", root, "--json"]) == 0
    stream, few, guarded = json.loads(capsys.readouterr().out)["filters"]
    assert (stream["name"], stream["why"]) == ("cars", "a single filter")
    assert few["why"] == "learned from samples of 1 slice"
    assert few["filters"][-1]["written"] == 1
    assert all(one["seconds"] > 0 and 0 < one["selectivity"] <= 1 for one in few["filters"])
    assert few["saved"] > 0.3
    assert guarded["why"] == "as written: none may be moved"
    assert guarded["filters"][1]["fixed"] == "10 / (`car` % 2) may divide by zero"
    assert main(["plan", "--workspace", root]) == 0
    assert "saves" in capsys.readouterr().out


def test_the_report_draws_the_orders_history(world):
    from panelake.filters.explained import filter_chains  # noqa: PLC0415 - used once
    from panelake.report.filter_page import filter_page  # noqa: PLC0415 - used once

    page = str(filter_page(world.workspace, filter_chains(world)))
    assert "Place in the order, slice by slice" in page
    assert "10 / (`car` % 2) may divide by zero" in page
    assert "of the cost of the order as written is saved" in page


def test_blocks_are_spread_over_the_slice_and_the_same_every_time():
    blocks = query_filters.blocks_of(-1_000_000, 1_000_000)
    assert blocks == query_filters.blocks_of(-1_000_000, 1_000_000)
    assert len(blocks) == query_filters.BLOCKS
    assert all(high - low == query_filters.BLOCK_TUPLES for low, high in blocks)
    assert all(
        -1_000_000 + at * 50_000 <= low < high <= -950_000 + at * 50_000 for at, (low, high) in enumerate(blocks)
    )
    assert query_filters.blocks_of(5, 5_005) == [(5, 5_005)]
