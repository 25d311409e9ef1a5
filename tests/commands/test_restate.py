"""Queries added, changed and restated, through the command line on the shared server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from panelake.cli import main
from panelake.commands.restate import restatement
from panelake.context import Context
from panelake.errors import BadInputError
from panelake.ledger import Entry
from panelake.slices import Slice
from panelake.stages.registry import register_new
from panelake.workspace import load_workspace

pytestmark = [pytest.mark.spark, pytest.mark.end_to_end, pytest.mark.timeout(600)]

SECOND = 1_000_000
SCHEMA = pa.schema([("area", pa.int32()), ("speed", pa.float64()), ("ts", pa.timestamp("us", tz="UTC"))])
STREAMS = """\
slice: 1 minute
streams:
  s:
    schema: {area: int, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
"""
RANGE = ["--from", "1970-01-01T00:00:00Z", "--to", "1970-01-01T00:02:00Z"]


class Shop:
    """A workspace and the commands on it."""

    def __init__(self, root: Path, server: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self._server, self._capsys = root, server, capsys
        (root / "landing").mkdir(parents=True)
        (root / "queries").mkdir()
        (root / "streams.yaml").write_text(STREAMS)
        tuples = [{"area": at % 2, "speed": float(at), "ts": at * SECOND} for at in range(120)]
        pq.write_table(pa.Table.from_pylist(tuples, schema=SCHEMA), root / "landing" / "all.parquet")

    def write(self, name: str, text: str) -> None:
        (self.root / "queries" / f"{name}.sql").write_text(text)

    def panelake(self, command: str, *options: str) -> tuple[int, dict[str, Any]]:
        server = [] if command == "plan" else ["--master", self._server]
        self._capsys.readouterr()
        code = main([command, "--workspace", str(self.root), "--json", *RANGE, *server, *options])
        return code, json.loads(self._capsys.readouterr().out)

    def gold(self, name: str) -> list[dict[str, Any]]:
        table = DeltaTable(str(self.root / "warehouse" / "gold" / name)).to_pyarrow_table()
        return table.sort_by([("window_end", "ascending")]).to_pylist()


def test_a_changed_query_is_refused_until_it_is_restated_and_a_new_one_gets_its_history(
    tmp_path: Path, spark_server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = Shop(tmp_path / "shop", spark_server, capsys)
    shop.write("steady", "SELECT count(*) AS n FROM s [RANGE 60 SECONDS SLIDE 60 SECONDS]")
    shop.write("changing", "SELECT sum(speed) AS total FROM s [RANGE 60 SECONDS SLIDE 60 SECONDS]")
    assert shop.panelake("run")[0] == 0
    assert [row["total"] for row in shop.gold("changing")] == [1770.0, 5370.0]

    shop.write("changing", "SELECT max(speed) AS top, count(*) AS n FROM s [RANGE 120 SECONDS SLIDE 60 SECONDS]")
    shop.write("added", "SELECT min(speed) AS least FROM s [RANGE 60 ROWS SLIDE 30 ROWS]")
    code, document = shop.panelake("run", "--again")
    assert code == 1
    assert {refusal["subject"] for refusal in document["refused"] if refusal["stage"] == "windows"} == {"changing"}
    assert "run panelake restate --query changing" in document["refused"][0]["why"]
    assert [row["total"] for row in shop.gold("changing")] == [1770.0, 5370.0]
    assert [row["n"] for row in shop.gold("steady")] == [60, 60]

    code, document = shop.panelake("restate", "--dry-run")
    assert (code, document["changed"], document["dry_run"]) == (0, ["changing"], True)
    assert [row["total"] for row in shop.gold("changing")] == [1770.0, 5370.0]

    code, document = shop.panelake("restate", "--query", "changing")
    assert (code, document["refused"]) == (0, [])
    assert [(row["top"], row["n"]) for row in shop.gold("changing")] == [(59.0, 60), (119.0, 120)]
    assert [(row["window_start"], row["least"]) for row in shop.gold("added")] == [(0, 0.0), (30, 30.0), (60, 60.0)]
    assert [(row["n"], row["_revision"]) for row in shop.gold("steady")] == [(60, 0), (60, 0)]
    _, document = shop.panelake("plan")
    assert [one["runs"] for one in document["slices"]] == [False, False]


def test_a_part_of_a_changed_querys_history_is_not_restated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop = Shop(tmp_path / "shop", "", capsys)
    shop.write("q", "SELECT count(*) AS n FROM s [RANGE 60 SECONDS SLIDE 60 SECONDS]")
    context = Context(load_workspace(shop.root))
    slices = [Slice(at * 60 * SECOND, (at + 1) * 60 * SECOND) for at in range(2)]
    register_new(context, context.workspace.queries_of("s"))
    context.ledger.record([Entry(part, "ingest", "", "done", 0) for part in slices])
    context.ledger.record([Entry(part, "publish", "q", "done", 0) for part in slices])
    shop.write("q", "SELECT count(*) AS n FROM s [RANGE 90 SECONDS SLIDE 60 SECONDS]")
    context = Context(load_workspace(shop.root))
    with pytest.raises(BadInputError, match="--from 1970-01-01T00:00:00Z --to 1970-01-01T00:02:00Z"):
        restatement(context, slices[1:], None)
    assert restatement(context, slices, None).changed == ("q",)
