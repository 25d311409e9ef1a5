from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from panelake.errors import BadInputError

spec = importlib.util.spec_from_file_location("ingest_world", Path(__file__).with_name("ingest_world.py"))
ingest_world = importlib.util.module_from_spec(spec)
sys.modules["ingest_world"] = ingest_world
spec.loader.exec_module(ingest_world)
World, minute, assert_conserved, table = (
    ingest_world.World,
    ingest_world.minute,
    ingest_world.assert_conserved,
    ingest_world.table,
)

pytestmark = pytest.mark.spark


@pytest.fixture
def world(tmp_path, spark_server):
    return World(tmp_path, spark_server)


def test_tuples_are_numbered_by_time_then_file_then_position(world):
    world.land("b.parquet", [(1, 1.0, 30), (2, 1.0, 10), (3, 1.0, 10)])
    world.land("a.parquet", [(4, 1.0, 20), (5, 1.0, 10)])
    entry = world.ingest(minute(0))
    assert world.numbered() == [(0, 5, 10), (1, 2, 10), (2, 3, 10), (3, 4, 20), (4, 1, 30)]
    assert (entry.details["read"], entry.details["accepted"], entry.details["first"]) == (5, 5, 0)
    assert_conserved(entry)


def test_a_slice_run_again_is_identical(world):
    world.land("a.parquet", [(car, 1.0, car % 60) for car in range(200)])
    first = world.ingest(minute(0))
    before = world.bronze()
    again = world.ingest(minute(0))
    assert world.bronze() == before
    assert again.details == first.details


def test_an_older_slice_after_a_newer_one_counts_down_and_loses_nothing(world):
    #   minute 0      1      2
    #            -3…-1   0…1        numbers
    world.land("a.parquet", [(1, 1.0, 5), (2, 1.0, 6), (3, 1.0, 7), (4, 1.0, 65), (5, 1.0, 66)])
    world.ingest(minute(1))
    world.ingest(minute(0))
    assert world.numbered() == [(-3, 1, 5), (-2, 2, 6), (-1, 3, 7), (0, 4, 65), (1, 5, 66)]


def test_a_gap_is_refused_by_name_and_its_files_stay_for_the_slice_to_come(world):
    world.land("a.parquet", [(1, 1.0, 5), (2, 1.0, 65), (3, 1.0, 125)])
    world.ingest(minute(0))
    with pytest.raises(BadInputError, match=r"Run --from 2026-01-01T00:01:00Z --to 2026-01-01T00:02:00Z first"):
        world.ingest(minute(2))
    world.ingest(minute(1))
    assert world.numbered() == [(0, 1, 5), (1, 2, 65)]


def test_a_gap_that_was_allowed_is_filled_with_the_next_free_numbers(world):
    world.land("a.parquet", [(1, 1.0, 5), (2, 1.0, 65), (3, 1.0, 125)])
    world.ingest(minute(0))
    world.ingest(minute(2), allow_gap=True)
    world.ingest(minute(1))
    assert world.numbered() == [(0, 1, 5), (1, 3, 125), (2, 2, 65)]


def test_a_changed_file_is_refused_with_both_sizes(world):
    path = world.land("a.parquet", [(1, 1.0, 5)])
    world.ingest(minute(0))
    size = path.stat().st_size
    world.land("a.parquet", [(1, 1.0, 5), (2, 2.0, 6), (3, 2.0, 65)])
    for part in (minute(0), minute(1)):
        with pytest.raises(BadInputError, match=f"a.parquet changed .* {size} bytes then, {path.stat().st_size} now"):
            world.ingest(part)
    assert world.numbered() == [(0, 1, 5)]


def test_a_file_that_is_gone_is_refused_by_name(world):
    path = world.land("a.parquet", [(1, 1.0, 5)])
    world.ingest(minute(0))
    path.unlink()
    with pytest.raises(BadInputError, match=r"a\.parquet is recorded as this slice's input and is gone"):
        world.ingest(minute(0))


def test_null_event_times_are_quarantined_whole_once(world):
    world.land("a.parquet", [(1, 1.5, 5), (2, None, None), (3, 1.0, 65)])
    entry = world.ingest(minute(0))
    assert_conserved(entry)
    assert entry.details["reasons"] == {"event time is NULL": 1}
    assert_conserved(world.ingest(minute(1)))
    assert world.quarantined() == [('{"car":2,"speed":null,"ts":null}', "event time is NULL")]


def test_late_tuples_are_accepted_within_lateness_and_quarantined_beyond(tmp_path, spark_server):
    world = World(tmp_path, spark_server, more="lateness: 30 seconds")
    world.land("a.parquet", [(1, 1.0, 5), (2, 1.0, 40)])
    world.ingest(minute(0))
    world.land("b.parquet", [(3, 1.0, 29), (4, 1.0, 31), (5, 1.0, 70)])
    entry = world.ingest(minute(1))
    assert world.numbered() == [(0, 1, 5), (1, 2, 40), (2, 4, 31), (3, 5, 70)]
    assert entry.details["reasons"] == {"late by more than 30 seconds": 1}
    assert (entry.details["late"], entry.details["late_from"]) == (1, ingest_world.at(31))
    assert_conserved(entry)


def test_tuples_that_history_took_are_not_taken_again_as_late(tmp_path, spark_server):
    world = World(tmp_path, spark_server, more="lateness: 10 minutes")
    world.land("a.parquet", [(1, 1.0, 65)])
    world.ingest(minute(1))
    world.land("b.parquet", [(2, 1.0, 5), (3, 1.0, 66), (4, 1.0, 125)])
    world.ingest(minute(0))
    entry = world.ingest(minute(2))
    assert world.numbered() == [(-1, 2, 5), (0, 1, 65), (1, 3, 66), (2, 4, 125)]
    assert entry.details["late"] == 1


def test_history_ingested_later_does_not_change_what_a_slice_took(tmp_path, spark_server):
    world = World(tmp_path, spark_server, more="lateness: 10 minutes")
    world.land("a.parquet", [(1, 1.0, 65)])
    world.ingest(minute(1))
    world.land("b.parquet", [(2, 1.0, 5), (3, 1.0, 66), (4, 1.0, 125)])
    world.ingest(minute(2))
    before = world.numbered()
    world.ingest(minute(0))
    world.ingest(minute(2))
    assert [row for row in world.numbered() if row[0] >= 0] == before
    assert world.numbered()[0] == (-1, 2, 5)


def test_filters_are_counted_apart_and_null_drops(tmp_path, spark_server):
    world = World(tmp_path, spark_server, more='where: ["speed >= 0", "CAR < 10"]')
    world.land("a.parquet", [(1, 1.0, 1), (2, -1.0, 2), (3, None, 3), (11, 1.0, 4), (12, -1.0, 5)])
    entry = world.ingest(minute(0))
    assert entry.details["filtered"] == {"speed >= 0": 3, "CAR < 10": 1}
    assert world.numbered() == [(0, 1, 1)]
    assert_conserved(entry)


def test_a_changed_filter_applies_from_the_next_slice_on(tmp_path, spark_server):
    world = World(tmp_path, spark_server, more='where: ["speed >= 0"]')
    world.land("a.parquet", [(1, 1.0, 1), (2, 5.0, 2), (3, 1.0, 61), (4, 5.0, 62)])
    world.ingest(minute(0))
    world.declare(more='where: ["speed >= 2"]')
    world.ingest(minute(0))
    world.ingest(minute(1))
    assert world.numbered() == [(0, 1, 1), (1, 2, 2), (2, 4, 62)]


def test_an_empty_slice_is_done_with_nothing(world):
    world.land("a.parquet", [(1, 1.0, 1), (2, 1.0, 125)])
    world.ingest(minute(0))
    assert world.ingest(minute(1)).rows == 0
    world.ingest(minute(2))
    assert world.numbered() == [(0, 1, 1), (1, 2, 125)]


def test_large_shuffled_files_are_numbered_densely_by_time(world):
    world.land("a.parquet", [(n, 1.0, (n * 7919 % 60_000) / 1000) for n in range(20_000)])
    world.land("b.parquet", [(n, 1.0, (n * 104_729 % 60_000) / 1000) for n in range(20_000)])
    entry = world.ingest(minute(0))
    rows = world.numbered()
    assert [number for number, _, _ in rows] == list(range(40_000))
    assert [second for _, _, second in rows] == sorted(second for _, _, second in rows)
    assert entry.details["in_order"] is False


def test_files_in_time_order_are_numbered_where_they_are(world):
    world.land("a.parquet", [(n, 1.0, n / 1000) for n in range(20_000)])
    world.land("b.parquet", [(n, 1.0, n / 1000) for n in range(19_999, 40_000)])
    entry = world.ingest(minute(0))
    rows = world.numbered()
    assert [number for number, _, _ in rows] == list(range(40_001))
    assert [car for _, car, _ in rows] == [*range(20_000), *range(19_999, 40_000)]
    assert entry.details["in_order"] is True


def test_duplicates_by_unique_are_quarantined_within_a_slice_and_against_what_is_ingested(tmp_path, spark_server):
    world = World(tmp_path, spark_server, more="lateness: 10 minutes\nunique: [car, ts]")
    world.land("a.parquet", [(1, 1.0, 5), (1, 2.0, 5), (None, 1.0, 5), (None, 1.0, 5), (2, 1.0, 6)])
    entry = world.ingest(minute(0))
    assert entry.details["reasons"] == {"duplicate by car, ts": 1}
    world.land("b.parquet", [(1, 3.0, 5), (7, 1.0, 5), (1, 1.0, 65)])
    second = world.ingest(minute(1))
    assert second.details["reasons"] == {"duplicate by car, ts": 1}
    assert [(car, second) for _, car, second in world.numbered()] == [
        (1, 5), (None, 5), (None, 5), (2, 6), (7, 5), (1, 65),
    ]  # fmt: skip
    before = world.bronze()
    world.ingest(minute(0))
    world.ingest(minute(1))
    assert world.bronze() == before
    assert_conserved(second)


def test_a_duplicate_is_one_however_long_ago_the_first_came(tmp_path, spark_server):
    world = World(tmp_path, spark_server, more="unique: [car]")
    world.land("a.parquet", [(1, 1.0, 5), (1, 2.0, 65), (2, 1.0, 66), (None, 1.0, 67), (1, 3.0, 125), (2, 2.0, 126)])
    reasons = [world.ingest(minute(index)).details["reasons"] for index in range(3)]
    assert reasons == [{}, {"duplicate by car": 1}, {"duplicate by car": 2}]
    assert [(car, second) for _, car, second in world.numbered()] == [(1, 5), (2, 66), (None, 67)]


def test_names_with_the_characters_of_patterns_are_plain_names(world):
    world.land("a [1] {x,y} 50%*?.parquet", [(1, 1.0, 5)])
    world.land("a 1 x.parquet", [(2, 1.0, 6)])
    assert world.ingest(minute(0)).rows == 2


def test_a_link_out_of_the_source_path_is_refused(world, tmp_path):
    outside = tmp_path / "outside.parquet"
    world.land("a.parquet", [(1, 1.0, 5)]).rename(outside)
    (world.landing / "b.parquet").symlink_to(outside)
    with pytest.raises(BadInputError, match=r"b.parquet is a link to .*outside.parquet"):
        world.ingest(minute(0))
