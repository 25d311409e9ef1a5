from __future__ import annotations

import base64
import importlib.util
import sys
from pathlib import Path

import pyarrow as pa
import pytest

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


def test_json_lines_bad_ones_go_whole_to_quarantine_and_never_fail_the_slice(tmp_path, spark_server):
    world = World(tmp_path, spark_server, "{format: json, path: landing, max_line: 200}")
    bad = [
        ("not json", "not a JSON object"),
        ('{"car": 1, "speed"', "not a JSON object"),
        ("[1, 2]", "not a JSON object"),
        (line(8, 1.0, 3) + line(9, 1.0, 3), "not a JSON object"),
        (line(8, 1.0, 3) + " and so on", "not a JSON object"),
        (line("seven", 1.0, 3), "wrong type"),
        (line(1.5, 1.0, 3), "wrong type"),
        ('{"car": 1, "speed": 1.0, "ts": "yesterday"}', "wrong type"),
        (line(1, 1.0, 3, colour="red"), "extra columns"),
        ('{"car": 1, "ts": "2026-01-01T00:00:03Z"}', "missing columns"),
        ('{"car": 1, "speed": 1.0}', "missing columns"),
        ('{"car": 1, "speed": 1.0, "ts": null}', "event time is NULL"),
        (line(1, 1.0, 3, colour="r" * 200), "line longer than 200 bytes"),
    ]
    good = [
        line(1, 1.5, 2),
        line(2, None, 1.000001),
        "",
        line(3, 2, 61),
        '{"speed":3,"ts":"2026-01-01 00:00:05","car":4}\r',
        line(5, 1.0, 6) + "  ",
    ]
    broken = b'{"car": 1, "speed": 1.0, "ts": "\xff\xfe"}'
    world.land_text("a.json", [*good, *(text for text, _ in bad), broken])
    entry = world.ingest(minute(0))
    assert world.numbered() == [(0, 2, 1.000001), (1, 1, 2), (2, 4, 5), (3, 5, 6)]
    kept = world.quarantined()
    assert kept[:-1] == bad
    assert kept[-1][1] == "not UTF-8"
    assert base64.b64decode(kept[-1][0].removeprefix("base64:")) == broken
    assert entry.details["drift"] == ["extra columns: colour", "missing columns: speed", "missing columns: ts"]
    assert entry.details["read"] == 4 + len(bad) + 1
    assert_conserved(entry)
    positions = sorted(row["_source"]["position"] for row in world.rows("quarantine"))
    assert positions == list(range(6, 6 + len(bad) + 1))
    second = world.ingest(minute(1))
    assert (second.details["accepted"], second.details["quarantined"]) == (1, 0)


def test_csv_columns_go_by_the_header_and_bad_lines_to_quarantine(tmp_path, spark_server):
    world = World(tmp_path, spark_server, "{format: csv, path: landing}")
    stamp = "2026-01-01T00:00:0"
    bad = [
        ("1,2", "other than the header's number of columns"),
        (f"{stamp}1Z,5,1.0,extra", "other than the header's number of columns"),
        (f"{stamp}1Z,five,1.0", "wrong type"),
        ("never,5,1.0", "wrong type"),
        (",5,1.0", "event time is NULL"),
    ]
    world.land_text("a.csv", ["ts,car,speed", f"{stamp}2Z,1,1.5", f'"{stamp}1Z",2,', *(text for text, _ in bad)])
    world.land_text("b.csv", ["car,speed,ts", f"3,1.0,{stamp}3Z"])
    world.land_text("c.csv", ["car,speed,ts,colour", f"3,1.0,{stamp}3Z,red"])
    entry = world.ingest(minute(0))
    assert world.numbered() == [(0, 2, 1), (1, 1, 2), (2, 3, 3)]
    assert world.bronze()[0]["speed"] is None
    assert world.quarantined() == [*bad, (f"3,1.0,{stamp}3Z,red", "extra columns")]
    assert entry.details["drift"] == ["extra columns: colour"]
    assert_conserved(entry)


def test_parquet_files_of_other_columns_are_converted_where_nothing_suffers_else_quarantined(tmp_path, spark_server):
    world = World(tmp_path, spark_server)
    times = pa.array([at(second) * 1000 + 7 for second in (1, 2)], pa.timestamp("ns", tz="UTC"))
    plain = pa.array([at(3), at(4)], pa.timestamp("us"))
    speed = pa.array([1.0, 2.0])
    world.land("a.parquet", pa.table({"ts": times, "car": pa.array([1, 1 << 40], pa.int64()), "speed": speed}))
    world.land("b.parquet", pa.table({"ts": plain, "car": pa.array([3, 4], pa.int32()), "speed": speed}))
    world.land("c.parquet", pa.table({"ts": plain, "car": pa.array(["5", "6"]), "speed": speed}))
    world.land("d.parquet", pa.table({"ts": plain, "car": pa.array([7, 8], pa.int32())}))
    world.land("e.parquet", pa.table({"ts": plain, "car": pa.array([9, 9], pa.int32()), "speed": speed, "x": speed}))
    entry = world.ingest(minute(0))
    assert world.numbered() == [(0, 1, 1), (1, 3, 3), (2, 4, 4)]
    assert entry.details["reasons"] == {"wrong type": 3, "missing columns": 2, "extra columns": 2}
    assert '"x":1.0' in world.quarantined()[-2][0]
    assert entry.details["drift"] == ["extra columns: x", "missing columns: speed"]
    assert_conserved(entry)


def test_a_file_that_is_no_parquet_is_refused_by_name(tmp_path, spark_server):
    world = World(tmp_path, spark_server)
    (world.landing / "half.parquet").write_bytes(b"PAR1 not finished")
    with pytest.raises(BadInputError, match=r"half\.parquet is no Parquet file"):
        world.ingest(minute(0))


def test_a_column_may_be_added_and_nothing_else_changed(tmp_path, spark_server):
    source = "{format: json, path: landing}"
    world = World(tmp_path, spark_server, source)
    world.land_text("a.json", [line(1, 1.0, 5), line(2, 1.0, 65, colour="red")])
    assert world.ingest(minute(0)).details["reasons"] == {"extra columns": 1}
    world.declare(source, columns="{car: int, speed: double, ts: timestamp, colour: string}")
    world.land_text("b.json", [line(3, 1.0, 66), line(4, 1.0, 67, colour="blue")])
    assert world.ingest(minute(1)).details["reasons"] == {}
    assert [(row["car"], row["colour"]) for row in world.bronze()] == [(1, None), (3, None), (4, "blue")]
    world.declare(source, columns="{car: bigint, speed: double, ts: timestamp, colour: string}")
    with pytest.raises(BadInputError, match="column 'car' was int in the tuples ingested, and is bigint now"):
        world.ingest(minute(2))
