"""A client is killed, and the job it left on the server goes on: what that still writes is never published."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable
from pyspark.sql.connect.readwriter import DataFrameWriter

from panelake.context import Context
from panelake.flow import stage_named
from panelake.home import example_workspace
from panelake.ledger import Entry
from panelake.runner import run_stage
from panelake.slices import Slice, parse_instant
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

START = parse_instant("2026-01-01T00:00:00Z")
QUERIES = ("load_of_r2", "packet_paths")


class Killed(BaseException):
    """The client was here when it was killed."""


def test_what_a_killed_clients_job_still_writes_is_not_published(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """│ windows, join: killed │ windows, join, audit │ the first two's jobs end │ publish"""
    context = packets(tmp_path / "packets", spark)
    part = Slice(START, START + context.workspace.slice_length)
    left: list[tuple[DataFrameWriter, str]] = []

    def kill(writer: DataFrameWriter, path: str, *_: Any) -> None:
        left.append((writer, path))
        raise Killed

    run(context, part, "ingest", "panes")
    for name in ("windows", "join"):
        with monkeypatch.context() as patch:
            patch.setattr(DataFrameWriter, "parquet", kill)
            with pytest.raises(Killed):
                run(context, part, name)
    staged = {entry.subject: entry.rows for entry in run(context, part, "windows", "join")}
    run(context, part, "audit")
    assert len(left) > 1
    for writer, path in left:
        writer.parquet(path)
    published = {entry.subject: entry for entry in run(context, part, "publish")}
    for query in QUERIES:
        assert published[query].status == "done"
        gold = DeltaTable(context.catalog.gold(query)).to_pyarrow_table()
        assert gold.num_rows == staged[query] > 0


def packets(root: Path, spark: SparkSession) -> Context:
    shutil.copytree(example_workspace("packets"), root, ignore=shutil.ignore_patterns("landing", "warehouse"))
    generate("packets", 900, 3.0, 1, START, root / "landing", lambda _: None)
    context = Context(load_workspace(root))
    vars(context)["spark"] = spark
    return context


def run(context: Context, part: Slice, *stages: str) -> list[Entry]:
    return [entry for name in stages for entry in run_stage(context, part, stage_named(name))]
