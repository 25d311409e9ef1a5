from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from panelake.catalog import Catalog
from panelake.cli import main
from panelake.dirty import DirtySet
from panelake.errors import BadInputError

spec = importlib.util.spec_from_file_location("ingest_world", Path(__file__).with_name("ingest_world.py"))
ingest_world = importlib.util.module_from_spec(spec)
sys.modules["ingest_world"] = ingest_world
spec.loader.exec_module(ingest_world)
World, minute, assert_conserved, line, at = (
    ingest_world.World,
    ingest_world.minute,
    ingest_world.assert_conserved,
    ingest_world.line,
    ingest_world.at,
)

pytestmark = pytest.mark.spark


def dirty(world):
    found = DirtySet(Catalog(str(world.folder / "warehouse"))).pending("cars")
    return [(known.slice, known.low - at(0), known.high - at(0), known.why, known.tuples) for known in found]


def test_a_folder_a_slice_early_tuples_are_held_and_released_to_their_slice(tmp_path, spark_server):
    #  folder 0000: 5 s, 65 s (early), 125 s (early), 2 days (too far)     0001: 66 s, 3 s (late)     0002: nothing
    world = World(tmp_path, spark_server, '{format: json, path: "landing/{start:%H%M}"}', "lateness: 2 minutes")
    far = '{"car": 9, "speed": 1.0, "ts": "2026-01-03T00:00:00Z"}'
    world.land_text("0000/a.json", [line(1, 1.0, 5), line(2, 1.0, 65), line(3, 1.0, 125), far])
    world.land_text("0001/b.json", [line(4, 1.0, 66), line(5, 1.0, 3)])
    entries = [world.ingest(minute(index)) for index in range(3)]
    assert [(e.details["read"], e.details["released"], e.details["accepted"], e.details["held"]) for e in entries] == [
        (4, 0, 1, 2), (2, 1, 3, 0), (0, 1, 1, 0),
    ]  # fmt: skip
    assert world.numbered() == [(0, 1, 5), (1, 5, 3), (2, 2, 65), (3, 4, 66), (4, 3, 125)]
    assert world.quarantined() == [(far, "more than 1 day in the future")]
    assert dirty(world) == [(minute(1), 3_000_000, 3_000_001, "late", 1)]
    for entry in entries:
        assert_conserved(entry)
    before = world.bronze()
    world.ingest(minute(1))
    assert world.bronze() == before


def test_an_event_time_may_lie_as_far_past_the_slice_as_future_says_and_no_further(tmp_path, spark_server):
    #  folder 0000, whose slice ends at 60 s: 120 s and a microsecond later
    world = World(tmp_path, spark_server, '{format: json, path: "landing/{start:%H%M}"}', "future: 1 minute")
    far = '{"car": 2, "speed": 1.0, "ts": "2026-01-01T00:02:00.000001Z"}'
    world.land_text("0000/a.json", [line(1, 1.0, 120), far])
    entry = world.ingest(minute(0))
    assert (entry.details["held"], entry.details["quarantined"]) == (1, 1)
    assert world.quarantined() == [(far, "more than 1 minute in the future")]


def test_an_early_tuple_of_a_slice_that_is_done_is_accepted_at_once_and_marks_it_dirty(tmp_path, spark_server):
    world = World(tmp_path, spark_server, '{format: json, path: "landing/{start:%H%M}"}')
    world.land_text("0001/b.json", [line(1, 1.0, 65)])
    world.ingest(minute(1))
    world.land_text("0000/a.json", [line(2, 1.0, 5), line(3, 1.0, 70)])
    world.ingest(minute(0))
    assert world.numbered() == [(-2, 2, 5), (-1, 3, 70), (0, 1, 65)]
    assert dirty(world) == [
        (minute(0), 0, 60_000_000, "history", 2),
        (minute(0), 60_000_000, 70_000_001, "early", 2),
    ]


def test_an_early_duplicate_of_what_its_own_slice_has_is_quarantined(tmp_path, spark_server):
    world = World(tmp_path, spark_server, '{format: json, path: "landing/{start:%H%M}"}', "unique: [car, ts]")
    world.land_text("0001/b.json", [line(1, 1.0, 65)])
    world.ingest(minute(1))
    world.land_text("0000/a.json", [line(1, 1.0, 65), line(2, 1.0, 5)])
    assert world.ingest(minute(0)).details["reasons"] == {"duplicate by car, ts": 1}
    assert world.numbered() == [(-1, 2, 5), (0, 1, 65)]


def test_files_by_arrival_belong_to_the_slice_that_first_sees_them(tmp_path, spark_server):
    world = World(tmp_path, spark_server, "{format: parquet, path: landing, arrival: file}", "lateness: 1 minute")
    world.land("b.parquet", [(1, 1.0, 5)])
    world.ingest(minute(0))
    world.land("a.parquet", [(2, 1.0, 6), (3, 1.0, 65)])
    world.ingest(minute(1))
    world.ingest(minute(0))
    assert world.numbered() == [(0, 1, 5), (1, 2, 6), (2, 3, 65)]


def test_a_burst_of_late_tuples_is_capped_and_the_rest_comes_with_the_next_slices(tmp_path, spark_server):
    world = World(tmp_path, spark_server, more="lateness: 10 minutes\nmax_late: 2")
    world.land("a.parquet", [(1, 1.0, 50)])
    world.ingest(minute(0))
    world.land("b.parquet", [(10 + n, 1.0, 10 + n) for n in range(5)] + [(2, 1.0, 65), (3, 1.0, 125)])
    first = world.ingest(minute(1))
    assert (first.details["late"], first.details["queued"], first.details["held"]) == (2, 3, 3)
    second = world.ingest(minute(2))
    assert (second.details["late"], second.details["queued"], second.details["released"]) == (2, 1, 3)
    assert world.numbered() == [
        (0, 1, 50), (1, 10, 10), (2, 11, 11), (3, 2, 65), (4, 12, 12), (5, 13, 13), (6, 3, 125),
    ]  # fmt: skip
    third = world.ingest(minute(3))
    assert world.numbered()[-1] == (7, 14, 14)
    before = world.bronze()
    world.ingest(minute(2))
    assert world.bronze() == before
    for entry in (first, second, third):
        assert_conserved(entry)


def test_refresh_takes_what_is_there_now_and_restate_moves_the_numbers(tmp_path, spark_server):
    world = World(tmp_path, spark_server)
    world.land("a.parquet", [(1, 1.0, 5), (2, 1.0, 65)])
    world.ingest(minute(0))
    world.ingest(minute(1))
    world.land("b.parquet", [(3, 1.0, 6)])
    world.ingest(minute(0))
    assert world.numbered() == [(0, 1, 5), (1, 2, 65)]
    with pytest.raises(BadInputError, match="1 tuples were numbered before, 2 are there now"):
        world.ingest(minute(0), refresh=True)
    entry = world.ingest(minute(0), refresh=True, restate=True)
    assert world.numbered() == [(0, 1, 5), (1, 3, 6), (2, 2, 65)]
    assert entry.details["renumbered"] == ["2026-01-01T00:01:00Z"]
    assert [(part, why) for part, _, _, why, _ in dirty(world)] == [(minute(0), "restated"), (minute(1), "renumbered")]
    world.ingest(minute(0))
    assert world.numbered() == [(0, 1, 5), (1, 3, 6), (2, 2, 65)]


def test_after_a_fix_replay_brings_quarantined_tuples_in_with_the_next_slice_once(tmp_path, spark_server, capsys):
    source = "{format: json, path: landing}"
    world = World(tmp_path, spark_server, source)
    stamped = '{"car": 2, "speed": 1.0, "ts": "2026-01-01T00:00:05.000001Z", "colour": "red"}'
    world.land_text("a.json", [line(1, 1.0, 5), stamped, "no json"])
    world.ingest(minute(0))
    world.declare(source, columns="{car: int, speed: double, ts: timestamp, colour: string}")
    arguments = ["replay", "cars", "--workspace", str(tmp_path), "--master", spark_server]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "1 tuples pass now, 1 stay in quarantine" in said
    assert "panelake run --from 2026-01-01T00:01:00Z --to 2026-01-01T00:02:00Z" in said
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"stream": "cars", "replayed": 0, "quarantined": 1}
    entry = world.ingest(minute(1))
    assert (entry.details["released"], entry.details["late"]) == (1, 1)
    assert_conserved(entry)
    world.ingest(minute(2))
    assert world.numbered() == [(0, 1, 5), (1, 2, 5.000001)]
    assert world.bronze()[1]["colour"] == "red"
    assert len(world.quarantined()) == 2
