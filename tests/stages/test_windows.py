"""Windows from panes through real Spark and Delta, against a recomputation from the raw tuples."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from panelake.errors import GateRefusedError

from .windows_world import COUNT, SECOND, Tuple, World, counted, ends_at_seconds, expected_counts, tuple_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("windows")


def test_windows_that_no_slice_length_divides_are_answered_once_each(folder: Path, spark: SparkSession) -> None:
    """Overlapping, tumbling and gapped windows over slices of a minute, a NULL key among the groups."""
    shapes = {"overlapping": (100, 35), "tumbling": (50, 50), "gapped": (7, 45)}
    world = World(folder / "shapes", spark, **{name: COUNT.format(*shape) for name, shape in shapes.items()})
    tuples = [tuple_at(at * 3.7, area=[1, 2, None][at % 3]) for at in range(65)]
    world.tuples = tuples
    found: dict[str, list[Tuple]] = {name: [] for name in shapes}
    for minute in range(4):
        world.run(minute)
        world.answered(minute)
        for name in shapes:
            found[name] += world.rows(name, minute)
    for name, (range_s, slide_s) in shapes.items():
        assert counted(found[name]) == expected_counts(tuples, range_s, slide_s, ends_at_seconds(range(4)))


def test_every_aggregate_equals_sql_over_the_raw_tuples(folder: Path, spark: SparkSession) -> None:
    select = (
        "SELECT count(*) AS n, count(speed) AS known, sum(speed) AS total, min(speed) AS least, max(name) AS last,"
        " avg(speed) AS mean, var_samp(speed) AS spread, stddev_samp(speed) AS deviation,"
        " sum(area * 2) AS twice, max(speed) - min(speed) AS width"
        " FROM s [RANGE 30 SECONDS SLIDE 20 SECONDS] WHERE name <> 'x' HAVING count(*) > 1"
    )
    world = World(folder / "aggregates", spark, q=select)
    tuples = [
        tuple_at(at, area=at, speed=None if at % 5 == 0 else at / 3, name=["a", "x", None, "ü"][at % 4])
        for at in range(0, 60, 2)
    ]
    world.tuples = tuples
    world.run(0)
    got = {row["_window_end"]: row for row in world.rows("q", 0)}
    for end in range(20, 61, 20):
        held = [row for row in tuples if end - 30 <= row["ts"] / SECOND < end and row["name"] not in ("x", None)]
        speeds = [row["speed"] for row in held if row["speed"] is not None]
        row = got[end * SECOND]
        assert (row["n"], row["known"], row["last"]) == (len(held), len(speeds), max(r["name"] for r in held))
        assert (row["least"], row["twice"]) == (min(speeds), sum(r["area"] * 2 for r in held))
        assert row["width"] == max(speeds) - min(speeds)
        mean = math.fsum(speeds) / len(speeds)
        variance = math.fsum((speed - mean) ** 2 for speed in speeds) / (len(speeds) - 1)
        assert row["total"] == pytest.approx(math.fsum(speeds), abs=1e-12 * math.fsum(speeds))
        assert (row["mean"], row["spread"]) == (pytest.approx(mean), pytest.approx(variance))
        assert row["deviation"] == pytest.approx(math.sqrt(variance))
    assert len(got) == 3


def test_having_drops_windows_and_a_window_without_tuples_has_no_row(folder: Path, spark: SparkSession) -> None:
    query = (
        "SELECT count(*) AS n, sum(speed) AS t FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS] WHERE speed > 0 HAVING t > 1"
    )
    world = World(folder / "having", spark, q=query)
    world.tuples = [tuple_at(1), tuple_at(11), tuple_at(12), tuple_at(21, speed=-5.0)]
    entries = world.run(0)
    assert [(row["_window_end"], row["n"]) for row in world.rows("q", 0)] == [(20 * SECOND, 2)]
    assert (entries["q"].rows, entries["q"].details["due"]) == (1, 6)


def test_sixty_queries_are_answered_in_one_job(folder: Path, spark: SparkSession) -> None:
    """As many conditions as queries: they may not make an expression too deep to send."""
    select = "SELECT area, count(*) AS n FROM s [RANGE 20 SECONDS SLIDE 20 SECONDS] WHERE speed > {} GROUP BY area"
    queries = {f"q{at}": f"{select.format(at)} HAVING count(*) > {at % 2}" for at in range(60)}
    world = World(folder / "sixty", spark, **queries)
    world.tuples = [tuple_at(at, speed=float(at)) for at in range(0, 60, 2)]
    world.run(0)
    for at in range(60):
        expected = {
            (end * SECOND, 1): n
            for end in (20, 40, 60)
            if (n := sum(end - 20 <= second < end and second > at for second in range(0, 60, 2))) > at % 2
        }
        assert counted(world.rows(f"q{at}", 0)) == expected, at


def test_an_overflowing_sum_refuses_the_slice(folder: Path, spark: SparkSession) -> None:
    query = "SELECT sum(CAST(speed AS BIGINT) * 1000000000) AS t FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS]"
    world = World(folder / "overflow", spark, q=query)
    world.tuples = [tuple_at(1, speed=9e9), tuple_at(11, speed=9e9)]
    with pytest.raises(GateRefusedError, match="a sum overflows its type in 1 windows"):
        world.run(0)


def test_sketches_are_merged_over_the_panes_of_a_window(folder: Path, spark: SparkSession) -> None:
    select = "approx_count_distinct(name) AS names, approx_percentile(speed, 0.5) AS middle, count(*) AS n"
    world = World(
        folder / "sketches",
        spark,
        timed=f"SELECT area, {select} {'FROM'} s [RANGE 40 SECONDS SLIDE 20 SECONDS] GROUP BY area",
        rows=f"SELECT {select} {'FROM'} s [RANGE 20 SLIDE 10 WATTR ROW]",
    )
    tuples = [tuple_at(at, area=None if at % 2 else 7, speed=float(at), name=f"n{at % 6}") for at in range(60)]
    world.tuples = tuples
    world.run(0)
    timed = {(row["_window_end"] // SECOND, row["area"]): row for row in world.rows("timed", 0)}
    assert {place: (row["names"], row["n"]) for place, row in timed.items()} == {
        (end, area): (3, n) for end, n in ((20, 10), (40, 20), (60, 20)) for area in (7, None)
    }
    assert abs(timed[(60, 7)]["middle"] - 39) <= 2
    rows = {row["_window_start"]: row for row in world.rows("rows", 0)}
    assert {start: (row["names"], row["n"]) for start, row in rows.items()} == dict.fromkeys(range(0, 50, 10), (6, 20))


def test_a_long_sum_of_doubles_is_within_the_bound(folder: Path, spark: SparkSession) -> None:
    """0.1 a million times: a plain sum is off by thirteen times what is allowed."""
    count = 1_000_000
    query = "SELECT sum(speed) AS total, avg(speed) AS mean FROM s [RANGE 60 SECONDS SLIDE 60 SECONDS]"
    world = World(folder / "long", spark, q=query)
    times = pa.array(range(0, count * 50, 50), pa.timestamp("us", tz="UTC"))
    columns = {"speed": pa.array([0.1] * count), "ts": times, "_seq": pa.array(range(count))}
    world.append(0, pa.table(columns), first=0)
    for name in ("panes", "windows"):
        world.stage(name, 0)
    (row,) = world.rows("q", 0)
    true = float(Fraction(0.1) * count)
    assert abs(row["total"] - true) <= 1e-12 * true
    assert row["mean"] == pytest.approx(0.1, rel=1e-12)
