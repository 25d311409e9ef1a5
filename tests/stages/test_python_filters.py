"""Functions of filters.py among a stream's filters, through ingest: same tuples, guards kept, mistakes named."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from functools import reduce
from itertools import permutations
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.catalog import Catalog
from panelake.errors import BadInputError
from panelake.filters.memory import FilterMemory
from panelake.language.stream_filters import StreamFilter
from panelake.slices import to_datetime
from panelake.stages import filtering
from panelake.stages.filtering import DROPPED

spec = importlib.util.spec_from_file_location("ingest_world", Path(__file__).with_name("ingest_world.py"))
ingest_world = importlib.util.module_from_spec(spec)
sys.modules["ingest_world"] = ingest_world
spec.loader.exec_module(ingest_world)
World, minute, assert_conserved = ingest_world.World, ingest_world.minute, ingest_world.assert_conserved

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]  # slices one after another, on machines that may be busy

TUPLES = 4_000
FILTERS = """
import pyarrow as pa
import pyarrow.compute as pc

LIMIT = 50

def slow_enough(speed):
    return pc.less(speed, LIMIT)

def tenth(car, speed):
    return pc.equal(pc.bit_wise_and(car, 7), 0)

def reciprocal(car):
    if 0 in car.to_pylist():
        raise ZeroDivisionError("car is 0")
    return pc.greater(car, 0)
"""
MIXED = """where:
  - python: slow_enough
    commutative: true
  - "car % 2 = 0"
  - {python: tenth, commutative: true}
  - "car <> 0"
  - {python: reciprocal}
  - "car < 3000"
"""


def tuples(part):
    return [(car, None if car % 11 == 0 else car % 100 * 1.0, part * 60 + car * 60 / TUPLES) for car in range(TUPLES)]


def kept(rows):
    return [c for c, speed, _ in rows if speed is not None and speed < 50 and c % 8 == 0 and 0 < c < 3000]


def test_sql_and_python_are_one_chain_that_is_learned_and_remembered(tmp_path, spark_server):
    world = World(tmp_path, spark_server, more=MIXED)
    (tmp_path / "filters.py").write_text(FILTERS)
    entries = []
    for part in range(2):
        world.land(f"{part}.parquet", tuples(part))
        entries.append(world.ingest(minute(part)))
        assert_conserved(entries[-1])
    assert [row["car"] for row in world.bronze()] == kept(tuples(0)) + kept(tuples(1))
    first, second = FilterMemory(Catalog(str(tmp_path / "warehouse"))).history("stream", "cars")
    assert sum(first.after["weights"]) == pytest.approx(TUPLES / 100, rel=0.6)
    assert second.before["outcomes"] == first.after["outcomes"]
    assert sorted(first.used[:4]) == [0, 1, 2, 3], "what can raise stays behind what stands before it"
    assert first.used[4:] == (4, 5)
    assert all(cost > 0 for cost in first.after["costs"])
    assert world.ingest(minute(0)).details == entries[0].details


def test_a_function_that_raises_refuses_the_slice_by_name_until_it_is_mended(tmp_path, spark_server):
    world = World(tmp_path, spark_server, more="where: [{python: reciprocal}]")
    (tmp_path / "filters.py").write_text(FILTERS)
    world.land("a.parquet", tuples(0))
    expected = (
        r"stream cars, slice .*: filters.py: reciprocal\(\) raised ZeroDivisionError: car is 0.* Nothing of the slice"
    )
    with pytest.raises(BadInputError, match=expected):
        world.ingest(minute(0))
    assert world.bronze() == []
    (tmp_path / "filters.py").write_text(FILTERS.replace("if 0 in", "if -1 in"))
    assert world.ingest(minute(0)).details["filtered"] == {"reciprocal()": 1}


COMMUTATIVE = (
    StreamFilter("even", "`car` % 2 = 0"),
    StreamFilter("slow_enough()", "", "slow_enough", ("speed",), "1", commutative=True),
    StreamFilter("known", "`speed` <> 7"),
    StreamFilter("tenth()", "", "tenth", ("car", "speed"), "2", commutative=True),
)
TYPES = {"car": "int", "speed": "double", "ts": "timestamp"}


def test_the_tuples_kept_are_the_same_in_every_order_of_sql_and_python(spark):
    """One job: some orders of four filters, NULLs among the tuples, with a sample and without."""
    columns = "car int, speed double, ts timestamp, _position bigint"
    rows = [(car, speed, to_datetime(0), car) for car, speed, _ in tuples(0)[:500]]
    frame = spark.createDataFrame(rows, columns)
    plain = filtering.as_written(COMMUTATIVE, TYPES, "ts", FILTERS)
    ways = [replace(plain, used=order, every=at % 3) for at, order in enumerate(permutations(range(4)))][1::7]
    judged = [
        way.judged(frame, F.col("car") < 450).select(F.lit(at).alias("way"), "car", DROPPED)
        for at, way in enumerate(ways)
    ]
    found = reduce(DataFrame.unionByName, judged).where(F.col(DROPPED).isNull() & (F.col("car") < 450)).collect()
    wanted = {
        car for car, speed, _ in tuples(0)[:450] if speed is not None and speed < 50 and speed != 7 and car % 8 == 0
    }
    assert wanted
    for at in range(len(ways)):
        assert {row["car"] for row in found if row["way"] == at} == wanted
