from __future__ import annotations

import json
import math
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from panelake import tables
from panelake.catalog import Catalog
from panelake.cli import main
from panelake.ledger import Entry, Ledger
from panelake.slices import Slice, parse_instant, to_datetime

LENGTH = 300_000_000
ORIGIN = parse_instant("2026-01-01T00:00:00Z")
STREAMS = """
slice: 5 minutes
streams:
  traffic:
    schema: {area: string, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
"""
QUERY = "SELECT area, avg(speed) AS mean FROM traffic [RANGE 180 SECONDS SLIDE 60 SECONDS] GROUP BY area"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "queries").mkdir()
    (tmp_path / "streams.yaml").write_text(STREAMS)
    (tmp_path / "queries" / "speeds.sql").write_text(QUERY)
    return tmp_path


def part_at(place: int) -> Slice:
    return Slice(ORIGIN + place * LENGTH, ORIGIN + (place + 1) * LENGTH)


def record(folder: Path, place: int, *, why: str | None = None, shed: int | None = None) -> None:
    part = part_at(place)
    status, details = ("refused", {"why": why}) if why else ("done", {})
    counts = {"read": 1234, "accepted": 1200, "quarantined": 34, "late": 5}
    told = {} if shed is None else {"shed": shed, "estimated_accuracy": 0.875}
    Ledger(Catalog(str(folder / "warehouse"))).record([
        Entry(part, "ingest", "traffic", "done", 1200, 1.0, counts),
        Entry(part, "ingest", "", "done", 1200, 1.0),
        Entry(part, "windows", "speeds", "done", 1200, 1.0, told),
        Entry(part, "audit", "gold/speeds", status, 0, 0.5, details),
        Entry(part, "audit", "", status, 0, 0.5),
        Entry(part, "publish", "speeds", status, 0 if why else 10, 0.25, details),
        Entry(part, "publish", "", status, 0 if why else 10, 0.25),
    ])  # fmt: skip


def publish(folder: Path, place: int, areas: list[str | None], mean: float = 50.0, revision: int = 0) -> None:
    instant = tables.timestamp_type()
    end = datetime.fromtimestamp((ORIGIN + (place + 1) * LENGTH) / 1_000_000, UTC)
    rows = [
        {"window_start": end, "window_end": end, "area": area, "mean": mean, "_slice": end, "_revision": revision}
        for area in areas
    ]
    fields = [("window_start", instant), ("window_end", instant), ("area", pa.string()), ("mean", pa.float64())]
    fields += [("_slice", instant), ("_revision", pa.int64())]
    tables.append(f"{folder}/warehouse/gold/speeds", pa.Table.from_pylist(rows, schema=pa.schema(fields)))


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(list(arguments)) == code
    out, err = capsys.readouterr()
    return err if code else out


def test_status_of_a_workspace_never_run_says_what_to_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no slice was run yet; run some with 'panelake run" in told(capsys, "status", "--workspace", str(folder))
    assert json.loads(told(capsys, "status", "--json", "--workspace", str(folder)))["slices"] == []


def test_status_has_a_row_a_slice_and_one_a_gap(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder, 0)
    record(folder, 1, why="gold/speeds: mean in range: observed -3, expected 0 to 200")
    record(folder, 4)
    lines = told(capsys, "status", "--workspace", str(folder)).splitlines()
    assert lines[0].split() == [
        "slice",
        "ingested",
        "accepted",
        "quarantined",
        "late",
        "published",
        "quality",
        "seconds",
    ]
    assert lines[2].split() == ["2026-01-01", "00:00", "1,234", "1,200", "34", "5", "10", "passed", "1.75"]
    assert lines[3].split() == ["2026-01-01", "00:05", "1,234", "1,200", "34", "5", "–", "refused", "1.75"]
    assert lines[4].split() == ["2026-01-01", "00:10", "–", "–", "–", "–", "–", "2", "missing", "–"]
    assert lines[5].split()[:2] == ["2026-01-01", "00:20"]
    assert lines[6] == ("refused: 2026-01-01T00:05:00Z gold/speeds: mean in range: observed -3, expected 0 to 200")
    assert lines[7] == "missing: panelake run --from 2026-01-01T00:10:00Z --to 2026-01-01T00:20:00Z"
    assert lines[8].startswith("answers reach to 2026-01-01T00:25:00Z, ")
    assert len(lines) == 9


def test_status_as_json_holds_every_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder, 0, why="bad")
    record(folder, 2, shed=40)
    document = json.loads(told(capsys, "status", "--json", "--workspace", str(folder)))
    refused, shedding = document["slices"]
    assert refused == {
        "slice": "2026-01-01T00:00:00Z",
        "end": "2026-01-01T00:05:00Z",
        "ingested": 1234,
        "accepted": 1200,
        "quarantined": 34,
        "late": 5,
        "published": None,
        "quality": "refused",
        "shed": None,
        "estimated_accuracy": None,
        "measured_accuracy": None,
        "seconds": 1.75,
        "refused": [{"stage": "audit", "subject": "gold/speeds", "why": "bad"}],
    }
    assert (shedding["shed"], shedding["estimated_accuracy"], shedding["measured_accuracy"]) == (40, 0.875, None)
    assert document["freshness"]["answers_until"] == "2026-01-01T00:15:00Z"
    assert document["freshness"]["age_seconds"] > 0
    assert document["missing"] == [{"from": "2026-01-01T00:05:00Z", "to": "2026-01-01T00:10:00Z", "slices": 1}]


def test_status_shows_accuracy_where_a_join_sheds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder, 0)
    record(folder, 1, shed=40)
    lines = told(capsys, "status", "--workspace", str(folder)).splitlines()
    assert "shed  estimated accuracy  measured accuracy  seconds" in lines[0]
    assert lines[3].split()[-4:] == ["40", "87.50%", "–", "1.75"]


def test_status_shows_the_newest_slices_alone_when_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in range(4):
        record(folder, place)
    document = json.loads(told(capsys, "status", "--json", "--last", "2", "--workspace", str(folder)))
    assert [row["slice"] for row in document["slices"]] == ["2026-01-01T00:10:00Z", "2026-01-01T00:15:00Z"]
    error = told(capsys, "status", "--last", "0", "--workspace", str(folder), code=2)
    assert "--last 0: expected how many slices to show, at least 1" in error


def test_a_green_run_for_nothing_is_told_even_before_the_first_slice(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = folder / "airflow.db"
    with sqlite3.connect(database) as connection:
        connection.execute(
            "CREATE TABLE dag_run (dag_id TEXT, run_id TEXT, state TEXT, data_interval_start TIMESTAMP,"
            " data_interval_end TIMESTAMP)"
        )
        for place in (0, 1, 2):
            bounds = [f"{to_datetime(instant):%Y-%m-%d %H:%M:%S}" for instant in vars(part_at(place)).values()]
            row = (f"slices_{folder.name}", f"run_{place}", "success", *bounds)
            connection.execute("INSERT INTO dag_run VALUES (?, ?, ?, ?, ?)", row)
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", f"sqlite:///{database}")
    record(folder, 1)
    record(folder, 2)
    out = told(capsys, "status", "--workspace", str(folder))
    assert "airflow: 2026-01-01T00:00:00Z: run run_0 succeeded and nothing is published for it" in out
    assert "run_0" not in told(capsys, "status", "--workspace", str(folder), "--last", "2")


def test_a_reason_cannot_steer_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder, 0, why="area \x1b[2J")
    shown = told(capsys, "status", "--workspace", str(folder))
    assert "\x1b" not in shown
    assert "area \\x1b[2J" in shown


def test_show_prints_the_newest_answers_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(folder, 1, ["south", "north"])
    publish(folder, 0, ["south", "north"])
    publish(folder, 2, [None, "[red]\x07", "east"])
    lines = told(capsys, "show", "speeds", "--last", "4", "--workspace", str(folder)).splitlines()
    assert lines[0].split() == ["window_start", "window_end", "area", "mean"]
    assert [line.split()[3:5] for line in lines[2:]] == [
        ["00:15", "[red]\\x07"],
        ["00:15", "east"],
        ["00:15", "–"],
        ["00:10", "north"],
    ]


def test_show_has_columns_in_the_order_of_the_query(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "SELECT area, max(speed) AS z, min(speed) AS a FROM traffic [RANGE 3 MINUTES SLIDE 1 MINUTE] GROUP BY area"
    (folder / "queries" / "speeds.sql").write_text(text)
    instant = tables.timestamp_type()
    row = {"window_start": datetime(2026, 1, 1, tzinfo=UTC), "window_end": datetime(2026, 1, 1, 0, 3, tzinfo=UTC)}
    row |= {"_slice": row["window_end"]}
    fields = [("a", pa.int64()), ("area", pa.string()), ("window_start", instant), ("window_end", instant)]
    fields += [("z", pa.int64()), ("_slice", instant), ("_revision", pa.int64())]
    rows = pa.Table.from_pylist([{**row, "a": 1, "area": "x", "z": 2, "_revision": 0}], schema=pa.schema(fields))
    tables.append(f"{folder}/warehouse/gold/speeds", rows)
    shown = told(capsys, "show", "speeds", "--workspace", str(folder)).splitlines()
    assert shown[0].split() == ["window_start", "window_end", "area", "z", "a"]


def test_show_as_json_is_json_whatever_the_values(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(folder, 0, ["north"], mean=math.nan, revision=3)

    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    text = told(capsys, "show", "speeds", "--json", "--workspace", str(folder))
    (row,) = json.loads(text, parse_constant=refuse)["rows"]
    assert row["window_end"] == "2026-01-01T00:05:00Z"
    assert (row["mean"], row["_revision"]) == ("nan", 3)


def test_show_says_when_rows_were_revised(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(folder, 0, ["north"], revision=3)
    assert "_revision" in told(capsys, "show", "speeds", "--workspace", str(folder)).splitlines()[0]


def test_show_of_an_unknown_query_names_the_known_ones(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = told(capsys, "show", "speed", "--workspace", str(folder), code=2)
    assert "has no query 'speed'; expected one of: speeds" in error


def test_show_of_what_is_not_published_says_what_to_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, "show", "speeds", "--workspace", str(folder))
    assert "query speeds: nothing is published yet; run slices with 'panelake run" in shown
    document = json.loads(told(capsys, "show", "speeds", "--json", "--workspace", str(folder)))
    assert document == {"query": "speeds", "rows": []}


def test_report_prints_the_path_of_its_first_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder, 0)
    path = told(capsys, "report", "--workspace", str(folder)).strip()
    assert path == str(folder / "warehouse" / "report" / "index.html")
    assert "2026-01-01 00:00" in Path(path).read_text()
    document = json.loads(told(capsys, "report", "--json", "--workspace", str(folder)))
    assert document == {"path": path, "pages": 5}
