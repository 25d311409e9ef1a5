"""The plan as `panelake plan` tells it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from panelake.cli import main
from panelake.commands.plan import in_turn
from panelake.context import Context
from panelake.dirty import DirtyRange, DirtySet
from panelake.ledger import Entry
from panelake.numbers import Numbers
from panelake.planning.explain import Explained
from panelake.planning.plan import build_plan
from panelake.slices import Slice
from panelake.sources.inputs import Inputs, SliceInput
from panelake.stages.intake import rules_of
from panelake.stages.registry import register_new
from panelake.workspace import load_workspace

STREAMS = """\
slice: 1 minute
streams:
  traffic:
    schema: {area_id: int, car_id: int, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
"""
QUERIES = {
    "q1": "SELECT area_id, min(speed) AS a FROM traffic [RANGE 180 SECONDS SLIDE 60 SECONDS] GROUP BY area_id",
    "q2": "SELECT area_id, avg(speed) AS a FROM traffic [RANGE 200 SLIDE 50 WATTR ROW] GROUP BY area_id",
    "q3": "SELECT area_id, max(speed) AS a FROM traffic [RANGE 400 SLIDE 100 WATTR ROW] GROUP BY area_id",
}
MINUTE = 60_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "landing").mkdir()
    (tmp_path / "queries").mkdir()
    (tmp_path / "streams.yaml").write_text(STREAMS)
    for name, text in QUERIES.items():
        (tmp_path / "queries" / f"{name}.sql").write_text(text)
    return tmp_path


def plan_of_paper(root: Path) -> dict[str, object]:
    queries = load_workspace(root).queries_of("traffic")
    return Explained(build_plan("traffic", queries)).document()


def test_the_papers_example_in_figures(root: Path) -> None:
    """P = 50 and TU = 60 s; windows of 3, 4 and 8 panes; per million tuples 20,000 row panes and 16.7 of time."""
    document = plan_of_paper(root)
    assert document["time_unit"] == 60
    panes = {query["name"]: query["panes_per_window"] for query in document["queries"]}
    assert panes == {"q1": 3, "q2": 4, "q3": 8}
    rows, time = document["groups"]
    assert (rows["kind"], rows["cuts"], rows["sizes"]) == ("AD", [{"slide": 50, "residue": 0}], [50])
    assert (rows["queries"], time["queries"]) == (["q2", "q3"], ["q1"])
    assert (rows["stored_per_million"], rows["read_per_million"]) == (20_000, 80_000 + 80_000)
    assert (document["stored_per_million"], document["read_per_million"]) == (20_016.6667, 160_050)
    assert document["saving"] == round(1 - (2_000_000 + 160_050) / 11_000_000, 4)
    assert document["statistics"] == {"measured": False, "tuples_per_second": 1000.0, "groups": {"`area_id`": 10}}


def test_a_time_unit_of_microseconds_is_told_exactly(root: Path) -> None:
    text = "SELECT count(*) AS n FROM traffic [RANGE 250 MICROSECONDS SLIDE 25 MICROSECONDS]"
    (root / "queries" / "fine.sql").write_text(text)
    for name in QUERIES:
        (root / "queries" / f"{name}.sql").unlink()
    document = plan_of_paper(root)
    assert document["time_unit"] == 0.000025
    assert [group["time_sizes"] for group in document["groups"]] == [[0.000025]]


def test_plan_prints_one_document(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--workspace", str(root), "--json"]) == 0
    (stream,) = json.loads(capsys.readouterr().out)["streams"]
    assert stream == json.loads(json.dumps(plan_of_paper(root)))


def test_plan_tells_a_person_the_same(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--workspace", str(root)]) == 0
    told = capsys.readouterr().out
    assert "time unit 60 s" in told
    assert "panes of rows: sizes 50 tuples" in told
    assert "apart: fragments of both would hold" in told
    assert "ROW 400 / 100" in told


def ingested(root: Path, minute: int) -> None:
    """Enter a slice as ingest does, by the rules that streams.yaml has now."""
    context, part = Context(load_workspace(root)), Slice(minute * MINUTE, (minute + 1) * MINUTE)
    Inputs(context.catalog, "traffic").record(part, SliceInput((), rules=rules_of(context, "traffic")))
    Numbers(context.catalog).reserve("traffic", part, 10)


def with_where(root: Path, where: str) -> None:
    (root / "streams.yaml").write_text(f"{STREAMS}    where: {where}\n" if where else STREAMS)


def test_a_changed_where_shows_its_border(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """│ 0, 1: speed >= 0 │ 2: the same, in another order with one more │ the next: none."""
    for minute, where in enumerate(["[speed >= 0]", "[speed >= 0]", "[car_id > 1, speed >= 0]"]):
        with_where(root, where)
        ingested(root, minute)
    with_where(root, "[speed >= 0, car_id > 1]")
    assert main(["plan", "--workspace", str(root), "--json"]) == 0
    change = {"stream": "traffic", "from": "1970-01-01T00:02:00Z", "before": ["speed >= 0"]}
    change |= {"after": ["car_id > 1", "speed >= 0"]}
    assert json.loads(capsys.readouterr().out)["borders"] == [change]
    with_where(root, "")
    assert main(["plan", "--workspace", str(root)]) == 0
    told = capsys.readouterr().out
    assert "where of stream traffic changed: speed >= 0; from slice 1970-01-01T00:02:00Z on: car_id > 1 AND" in told
    assert "car_id > 1 AND speed >= 0; from the next ingested slice on: no filter; older tuples stay" in told


def test_slices_that_would_run_are_told_with_the_reason(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    context = Context(load_workspace(root))
    register_new(context, context.workspace.queries_of("traffic"))
    first, second = Slice(0, MINUTE), Slice(MINUTE, 2 * MINUTE)
    refused = {"why": "too many NULLs"}
    context.ledger.record([Entry(first, "publish", name, "done", 1) for name in ("q1", "q2", "")])
    context.ledger.record([Entry(second, "publish", "q1", "refused", 0, details=refused)])
    context.ledger.record([Entry(second, "publish", name, "done", 1) for name in ("q2", "q3")])
    context.ledger.record([Entry(second, "publish", "", "refused", 1)])
    DirtySet(context.catalog).mark("traffic", first, [DirtyRange(first, 0, MINUTE, "renumbered", 7)])
    (root / "queries" / "q2.sql").write_text(QUERIES["q2"].replace("200", "250"))
    options = ["--from", "1970-01-01T00:00:00Z", "--to", "1970-01-01T00:03:00Z"]
    assert main(["plan", "--workspace", str(root), "--json", *options]) == 0
    changed = "changed query q2: refused until restated"
    late = "late data in traffic: 7 tuples (renumbered), changed since they were answered; restate them"
    assert json.loads(capsys.readouterr().out)["slices"] == [
        {
            "slice": "1970-01-01T00:00:00Z",
            "runs": False,
            "why": [changed, "new query q3: its history comes by restate", late],
        },
        {"slice": "1970-01-01T00:01:00Z", "runs": True, "why": ["refused q1: too many NULLs", changed], "turn": 1},
        {"slice": "1970-01-01T00:02:00Z", "runs": True, "why": ["missing"], "turn": 2},
    ]


def test_the_order_in_which_slices_would_run_is_told_and_where_a_run_would_stop(root: Path) -> None:
    context = Context(load_workspace(root))
    minutes = [Slice(minute * MINUTE, (minute + 1) * MINUTE) for minute in range(8)]
    context.ledger.record([Entry(minutes[3], "ingest", name, "done", 1) for name in ("", "traffic")])
    Numbers(context.catalog).reserve("traffic", minutes[3], 10)
    assert [one.get("turn") for one in in_turn(context, minutes[1:6])] == [2, 1, 3, 4, 5]
    stopped = in_turn(context, minutes[5:7])
    assert [one["runs"] for one in stopped] == [False, False]
    assert "run stops here: stream traffic: slice" in stopped[0]["why"][0]
    assert "--from 1970-01-01T00:04:00Z --to 1970-01-01T00:05:00Z first" in stopped[0]["why"][0]
