from __future__ import annotations

from pathlib import Path

import pytest

from panelake.durations import MINUTE
from panelake.errors import BadInputError, WorkspaceError
from panelake.home import example_workspace
from panelake.workspace import load_workspace

STREAMS = """\
warehouse: warehouse
slice: 5 minutes
streams:
  traffic:
    schema: {area_id: int, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing/traffic}
"""
QUERY = "SELECT area_id, max(speed) AS fastest FROM traffic [RANGE 3 MINUTES SLIDE 1 MINUTE] GROUP BY area_id\n"


def make(folder: Path, streams: str = STREAMS, **queries: str) -> Path:
    (folder / "queries").mkdir(parents=True)
    (folder / "streams.yaml").write_text(streams, encoding="utf-8")
    for name, text in (queries or {"fastest": QUERY}).items():
        (folder / "queries" / f"{name}.sql").write_text(text, encoding="utf-8")
    return folder


def problems(folder: Path) -> list[str]:
    with pytest.raises(WorkspaceError) as caught:
        load_workspace(folder)
    return [str(problem) for problem in caught.value.problems]


def test_a_workspace_is_read_whole(tmp_path):
    workspace = load_workspace(make(tmp_path / "town"))
    assert (workspace.name, workspace.slice_length) == ("town", 5 * MINUTE)
    assert workspace.warehouse == str(tmp_path / "town" / "warehouse")
    assert workspace.source_path("traffic") == str(tmp_path / "town" / "landing" / "traffic")
    assert set(workspace.queries) == {"fastest"}


@pytest.mark.parametrize("name", ["traffic"])
def test_every_example_world_is_a_sound_workspace(name):
    assert load_workspace(example_workspace(name)).queries


def test_a_uri_stays_as_it_is(tmp_path):
    workspace = load_workspace(make(tmp_path / "w", STREAMS.replace("warehouse: warehouse", "warehouse: s3://b/w")))
    assert workspace.warehouse == "s3://b/w"


def test_a_folder_without_streams_yaml_is_no_workspace(tmp_path):
    with pytest.raises(BadInputError, match=r"holds no streams.yaml; give --workspace DIR"):
        load_workspace(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("slice: 5", "slcie: 5", 2, "unknown key 'slcie'; expected one of warehouse, slice, streams"),
        ("event_time: ts", "event_tme: ts", 6, "unknown key 'streams.traffic.event_tme'"),
        ("path: landing", "paht: landing", 7, "unknown key 'streams.traffic.source.paht'; expected one of format"),
        ("5 minutes", "5 parsecs", 2, "slice: '5 parsecs': unknown unit 'parsecs'"),
        ("5 minutes", "0 minutes", 2, "must be longer than nothing"),
        ("5 minutes", "1 month", 2, "months and years vary in length"),
        ("event_time: ts", "event_time: when", 4, "event_time names 'when' (no such column)"),
        ("event_time: ts", "event_time: speed", 4, "event_time names 'speed' (double)"),
        ("speed: double", "speed: doubel", 5, "'doubel' is not a supported type"),
        ("  traffic:", "  'tra ffic':", 4, "'tra ffic' is not a name"),
        ("warehouse: warehouse", "slice: 5 minutes", 2, "key 'slice' is given twice"),
        ("warehouse: warehouse", "warehouse: [", 3, "not YAML"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_key(tmp_path, old, new, line, message):
    found = problems(make(tmp_path / "w", STREAMS.replace(old, new, 1)))
    assert [text for text in found if text.startswith(f"streams.yaml:{line}:") and message in text]


def test_everything_wrong_is_said_at_once(tmp_path):
    streams = STREAMS.replace("slice: 5 minutes", "slice: soon\nsize: 3").replace("speed: double", "speed: money")
    found = problems(make(tmp_path / "w", streams))
    assert len(found) == 3


def test_what_is_wrong_with_streams_hides_nothing_wrong_with_queries_filters_and_expectations(tmp_path):
    streams = STREAMS.replace("slice: 5 minutes", "slice: soon") + "    where: [sped > 0]\n    lateness: never\n"
    folder = make(tmp_path / "w", streams, worst=QUERY.replace("max", "median"), good=QUERY)
    (folder / "filters.py").write_text("def broken(:\n")
    (folder / "expectations").mkdir()
    rule = "expectations:\n  - {type: expect_column_to_exist, kwargs: {column: x}}\n"
    (folder / "expectations" / "one.yaml").write_text(f"query: worst\n{rule}")
    (folder / "expectations" / "two.yaml").write_text(f"query: wrost\n{rule}")
    found = problems(folder)
    assert [text.split(":")[0] for text in found] == [
        "filters.py", *["streams.yaml"] * 3, "queries/worst.sql", "expectations/two.yaml",
    ]  # fmt: skip
    assert [text.split(":")[1] for text in found[1:4]] == ["2", "8", "9"]


def test_a_query_over_a_stream_that_cannot_be_read_is_not_blamed(tmp_path):
    streams = STREAMS.replace("speed: double", "speed: money")
    other = STREAMS.partition("streams:\n")[2].replace("traffic", "trains")
    median = QUERY.replace("max", "median")
    found = problems(make(tmp_path / "w", streams + other, cars=QUERY, trains=median.replace("traffic", "trains")))
    assert [text.split(":")[0] for text in found] == ["streams.yaml", "queries/trains.sql"]


def test_a_missing_key_is_told_with_what_to_write(tmp_path):
    (found,) = problems(make(tmp_path / "w", STREAMS.replace("slice: 5 minutes\n", "")))
    assert found == "streams.yaml:1: key 'slice' is missing; expected such as slice: 5 minutes"


def test_every_broken_query_is_named_with_its_place(tmp_path):
    folder = make(tmp_path / "w", one="SELECT nothing FROM", two=QUERY.replace("traffic", "trafic"), good=QUERY)
    found = problems(folder)
    assert [line.split(":")[0] for line in found] == ["queries/one.sql", "queries/two.sql"]
    assert "trafic" in found[1]


def test_queries_may_not_differ_in_case_alone(tmp_path):
    (found,) = problems(make(tmp_path / "w", Fast=QUERY, fast=QUERY))
    assert "differs from query 'Fast' only in upper and lower case" in found


def test_a_query_file_that_names_no_table_is_refused(tmp_path):
    folder = make(tmp_path / "w")
    (folder / "queries" / "no table.sql").write_text(QUERY)
    (found,) = problems(folder)
    assert found.startswith("queries/no table.sql")


def test_text_that_is_not_utf8_is_named(tmp_path):
    folder = make(tmp_path / "w")
    (folder / "queries" / "latin.sql").write_bytes(b"-- caf\xe9\n" + QUERY.encode())
    (found,) = problems(folder)
    assert "queries/latin.sql: not UTF-8 text" in found
