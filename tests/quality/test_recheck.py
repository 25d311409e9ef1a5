"""The recheck of history: it passes on what the pipeline made, and a fault put into gold by hand is found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from panelake.context import Context
from panelake.errors import GateRefusedError
from panelake.quality.recheck import recheck
from panelake.runner import run_slice
from panelake.slices import Slice
from panelake.workspace import load_workspace

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

MINUTE = 60_000_000
STREAMS = """\
slice: 1 minute
streams:
  cars:
    schema: {area: int, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
"""
QUERIES = {
    "timed": "SELECT area, count(*) AS n, avg(speed) AS mean, max(speed) - min(speed) AS spread, "
    "approx_count_distinct(speed) AS kinds FROM cars [RANGE 90 SECONDS SLIDE 30 SECONDS] WHERE speed >= 0 GROUP BY area"
    " HAVING count(*) > 1",
    "in_rows": "SELECT sum(speed) AS total FROM cars [RANGE 30 ROWS SLIDE 10 ROWS]",
}
SEEDS = 4


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory, spark_server: str) -> Iterator[Context]:
    root = tmp_path_factory.mktemp("recheck") / "town"
    (root / "landing").mkdir(parents=True)
    (root / "queries").mkdir()
    (root / "streams.yaml").write_text(STREAMS)
    for name, text in QUERIES.items():
        (root / "queries" / f"{name}.sql").write_text(text)
    generator = np.random.default_rng(3)
    times = pa.array(np.sort(generator.integers(0, 2 * MINUTE, 100))).cast(pa.timestamp("us", tz="UTC"))
    areas, speeds = generator.integers(0, 3, 100), generator.normal(50, 40, 100)
    table = pa.table([pa.array(areas).cast(pa.int32()), pa.array(speeds), times], names=["area", "speed", "ts"])
    pq.write_table(table, root / "landing" / "all.parquet")
    made = Context(load_workspace(root), spark_server)
    for minute in range(2):
        run_slice(made, Slice(minute * MINUTE, (minute + 1) * MINUTE), lambda _part, _stage: None)
    yield made
    made.close()


def test_what_the_pipeline_published_equals_bronze_and_a_seed_chooses_the_same_window(context: Context) -> None:
    found = [recheck(context, seed=f"day {day}") for day in range(SEEDS)]
    assert all(len(compared) == len(QUERIES) and min(compared.values()) >= 1 for compared in found)
    assert recheck(context, seed="day 0") == found[0]
    assert len({str(compared) for compared in found}) > 1


@pytest.mark.parametrize(("query", "column"), [("timed", "mean"), ("in_rows", "total")])
def test_a_fault_in_gold_is_found_and_told(context: Context, query: str, column: str) -> None:
    address = context.catalog.gold(query)
    sound = DeltaTable(address).to_pyarrow_table()
    off = pa.array([value + 1e-3 for value in sound[column].to_pylist()])
    place = sound.schema.get_field_index(column)
    write_deltalake(address, sound.set_column(place, sound.schema.field(place), off), mode="overwrite")
    try:
        with pytest.raises(
            GateRefusedError, match=rf"gold differs from a recompute of bronze: {query}.*{column}: .* from bronze"
        ):
            recheck(context, seed="any")
    finally:
        write_deltalake(address, sound, mode="overwrite")


def test_a_row_that_is_gone_from_gold_is_missed(context: Context) -> None:
    address = context.catalog.gold("timed")
    sound = DeltaTable(address).to_pyarrow_table()
    write_deltalake(address, sound.filter(pa.compute.not_equal(sound["area"], 1)), mode="overwrite")
    try:
        with pytest.raises(GateRefusedError, match=r"group \(1,\) is missing"):
            recheck(context, seed="any")
    finally:
        write_deltalake(address, sound, mode="overwrite")
