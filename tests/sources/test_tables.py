from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from panelake.errors import BadInputError, PartDownError

HELPER = Path(__file__).parents[1] / "stages" / "ingest_world.py"
spec = importlib.util.spec_from_file_location("ingest_world", HELPER)
ingest_world = importlib.util.module_from_spec(spec)
sys.modules["ingest_world"] = ingest_world
spec.loader.exec_module(ingest_world)
World, minute, table, assert_conserved = (
    ingest_world.World,
    ingest_world.minute,
    ingest_world.table,
    ingest_world.assert_conserved,
)

pytestmark = pytest.mark.spark


def test_appends_of_another_table_are_taken_once_and_other_commits_refused(tmp_path, spark_server):
    world = World(tmp_path, spark_server, "{format: delta, path: other}", "lateness: 1 minute")
    other = tmp_path / "other"
    with pytest.raises(PartDownError, match="other is no Delta table"):
        world.ingest(minute(0))
    write_deltalake(other, table([(1, 1.0, 5), (2, 1.0, 65)]))
    first = world.ingest(minute(0))
    assert (first.details["accepted"], first.details["held"]) == (1, 1)
    write_deltalake(other, table([(3, 1.0, 6), (4, 1.0, 66)]), mode="append")
    second = world.ingest(minute(1))
    assert world.numbered() == [(0, 1, 5), (1, 3, 6), (2, 2, 65), (3, 4, 66)]
    assert_conserved(second)
    DeltaTable(other).delete("car = 1")
    with pytest.raises(BadInputError, match=r"commit 2 of .*other \(DELETE\) removed or changed rows"):
        world.ingest(minute(2))


def test_a_partitioned_table_gives_its_partition_columns(tmp_path, spark_server):
    world = World(tmp_path, spark_server, "{format: delta, path: other}")
    write_deltalake(tmp_path / "other", table([(1, 1.0, 5), (2, 1.0, 6), (1, 1.0, 7)]), partition_by=["car"])
    world.ingest(minute(0))
    assert world.numbered() == [(0, 1, 5), (1, 2, 6), (2, 1, 7)]


def test_a_generated_world_is_the_same_whatever_the_cut_into_slices(tmp_path, spark_server):
    columns = "{area_id: int, car_id: int, speed: double, ts: timestamp}"
    source = "{format: generator, world: traffic, rate: 20, seed: 3}"
    worlds = [World(tmp_path / name, spark_server, source, columns=columns) for name in ("minutes", "whole")]
    for index in range(2):
        worlds[0].ingest(minute(index))
    whole = ingest_world.Slice(minute(0).start, minute(1).end)
    worlds[1].ingest(whole)
    tuples = [
        DeltaTable(str(world.folder / "warehouse/bronze/cars")).to_pyarrow_table(columns=["_seq", "car_id", "ts"])
        for world in worlds
    ]
    ordered = [rows.sort_by("_seq") for rows in tuples]
    assert ordered[0].equals(ordered[1])
    assert ordered[0].num_rows == 2 * 20 * 60
    assert pc.all(pc.greater_equal(ordered[0]["ts"][1:], ordered[0]["ts"][:-1])).as_py()
