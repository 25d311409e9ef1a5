"""Stream filters in a learned order, through ingest with real Spark and Delta: same tuples, exact counts."""

from __future__ import annotations

import importlib.util
import math
import random
import re
import sys
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from panelake.catalog import Catalog
from panelake.errors import BadInputError
from panelake.filters.memory import FilterMemory
from panelake.language.stream_filters import StreamFilter
from panelake.stages import filtering
from panelake.stages.filtering import DROPPED

spec = importlib.util.spec_from_file_location("ingest_world", Path(__file__).with_name("ingest_world.py"))
ingest_world = importlib.util.module_from_spec(spec)
sys.modules["ingest_world"] = ingest_world
spec.loader.exec_module(ingest_world)
World, minute, assert_conserved = ingest_world.World, ingest_world.minute, ingest_world.assert_conserved

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]  # slices one after another, on machines that may be busy

TUPLES = 6_000
# Written worst first: the last is cheapest and drops most.
SLOW = (
    "levenshtein(concat(cast(car AS string), ' is a car of many, and this is a long text'), 'to compare it with') > 1"
)
HALF, SELDOM = "speed < 50", "car % 10 = 0"
WHERE = f'where: ["{SLOW}", "{HALF}", "{SELDOM}"]'


def tuples(part, count=TUPLES):
    chance = random.Random(part)  # noqa: S311 - no secret
    return [
        (car, None if chance.random() < 0.1 else chance.random() * 100, part * 60 + car * 60 / count)
        for car in range(count)
    ]


def kept(rows):
    return [car for car, speed, _ in rows if speed is not None and speed < 50 and car % 10 == 0]


@pytest.fixture(scope="module")
def learning(tmp_path_factory, spark_server):
    """Three slices, the second of them run again at the end."""
    world = World(tmp_path_factory.mktemp("learning"), spark_server, more=WHERE)
    entries = []
    for part in range(3):
        world.land(f"{part}.parquet", tuples(part))
        entries.append(world.ingest(minute(part)))
    rows, history = world.bronze(), memory_of(world).history("stream", "cars")
    again = world.ingest(minute(1))
    return world, entries, rows, history, again


def memory_of(world):
    return FilterMemory(Catalog(str(world.folder / "warehouse")))


def test_the_tuples_kept_are_those_of_three_valued_logic(learning):
    _, entries, rows, _, _ = learning
    expected = [car for part in range(3) for car in kept(tuples(part))]
    assert [row["car"] for row in rows] == expected
    for entry in entries:
        assert_conserved(entry)
        assert sum(entry.details["filtered"].values()) == TUPLES - entry.rows


def test_the_order_is_learned_at_once_and_remembered_by_the_next_slices(learning):
    _, entries, _, history, _ = learning
    assert [known.slice for known in history] == [minute(part) for part in range(3)]
    assert all(known.used[-1] == 0 for known in history)
    assert history[1].before == history[0].after
    assert [known.after["samples"] for known in history] == [1, 2, 3]
    assert entries[0].details["filtered"].get(SLOW, 0) == 0


def test_a_slice_run_again_counts_the_same_and_leaves_what_others_resumed(learning):
    world, entries, rows, history, again = learning
    assert again.details == entries[1].details
    assert world.bronze() == rows
    assert memory_of(world).history("stream", "cars") == history


def test_samples_are_the_same_in_another_warehouse(learning, tmp_path, spark_server):
    world = World(tmp_path, spark_server, more=WHERE)
    world.land("other name.parquet", tuples(0))
    world.ingest(minute(0))
    (first,) = memory_of(world).history("stream", "cars")
    sampled = ("outcomes", "weights")
    assert [first.after[name] for name in sampled] == [learning[3][0].after[name] for name in sampled]
    assert sum(first.after["weights"]) == pytest.approx(TUPLES / 100, rel=0.5)


def test_once_enough_is_known_a_change_is_noticed_without_a_sample(tmp_path, spark_server, monkeypatch):
    monkeypatch.setattr("panelake.filters.statistics._ENOUGH", 20)
    # Both cost next to nothing: which is measured as the cheaper would be chance, and so would the order.
    monkeypatch.setattr(filtering, "costs_of", lambda readings, filters, *_: np.full(filters, 1e-6))  # noqa: ARG005
    world = World(tmp_path, spark_server, more=f'where: ["{HALF}", "{SELDOM}"]')
    tens = [(10 * car, speed, second + 60) for car, speed, second in tuples(1)]
    for part, landed in enumerate((tuples(0), tuples(1), tens)):
        world.land(f"{part}.parquet", landed)
        world.ingest(minute(part))
    first, second, changed = memory_of(world).history("stream", "cars")
    assert first.used == second.used == changed.used == (1, 0)
    assert second.after == second.before == first.after
    assert 0.0 == first.idle < second.idle < changed.idle == math.inf


def test_one_filter_is_neither_sampled_nor_remembered(tmp_path, spark_server):
    world = World(tmp_path, spark_server, more='where: ["speed < 50"]')
    world.land("a.parquet", [(1, 10.0, 1), (2, 60.0, 2), (3, None, 3)])
    entry = world.ingest(minute(0))
    assert entry.details["filtered"] == {"speed < 50": 2}
    assert not (world.folder / "warehouse" / "ledger" / "filters").exists()


def test_a_filter_that_can_raise_stays_behind_its_guard_and_is_mended_where_it_has_none(tmp_path, spark_server):
    world = World(tmp_path, spark_server, more='where: ["10 / (car % 2) > 1", "car % 2 <> 0"]')
    world.land("a.parquet", tuples(0, 400))
    with pytest.raises(
        BadInputError, match=r"streams.cars.where raised \[DIVIDE_BY_ZERO\].* mend it and run the slice"
    ):
        world.ingest(minute(0))
    assert world.bronze() == []
    world.declare(more='where: ["car % 2 <> 0", "10 / (car % 2) > 1"]')
    assert world.ingest(minute(0)).rows == 200


CONDITIONS = {"word": "`word` LIKE '%3%'", "small": "`small` > 2", "flag": "`flag`"}
FILTERS = tuple(StreamFilter(text, sql) for text, sql in CONDITIONS.items())
TYPES = {"word": "string", "small": "bigint", "flag": "boolean", "ts": "timestamp"}


def test_the_physical_plan_evaluates_filters_in_the_order_in_force(spark, capsys):
    """Nested CASEs stop at the first filter that is not TRUE; Spark keeps them as they are nested."""
    columns = "word string, small bigint, flag boolean, ts bigint"
    frame = spark.createDataFrame([("a", 1, True, 1)], columns).repartition(2)
    plain = filtering.as_written(FILTERS, TYPES, "ts")
    marks = ("Contains(word", "(small", "flag#")
    for order in permutations(range(3)):
        plan = replace(plain, used=order).judged(frame, spark_true())
        plan.select(DROPPED, "ts").explain()
        text = next(line for line in capsys.readouterr().out.splitlines() if "CASE WHEN" in line)
        text = re.sub(r"isnotnull\(\w+#\d+L?\)", "", text[text.index("CASE WHEN") :])
        assert sorted(range(3), key=lambda number: text.index(marks[number])) == list(order)


def spark_true():
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - needs a session

    return F.lit(True)  # noqa: FBT003 - Spark's signature
